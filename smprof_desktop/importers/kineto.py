"""Trace-event JSON of PyTorch's profiler (Kineto), in every dialect, → the tables of one process.

Rows stream: host slices are written piece by piece, device slices are held back until every launch is known.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Raw
from numpy.typing import NDArray

from smprof.profile.schema import ANNOTATION_SOURCES, HOST_KINDS, NONE, SIDES
from smprof.profile.writer import ProcessWriter
from smprof_desktop.importers import times
from smprof_desktop.importers.arguments import ArgumentReader, Arguments, Leftover
from smprof_desktop.importers.document import Event, Lose, TraceDocument
from smprof_desktop.importers.executions import Executions, place, write_leftovers
from smprof_desktop.importers.flows import Flows
from smprof_desktop.importers.pairs import Lane, pair
from smprof_desktop.importers.threads import Id, Threads, number

I64 = NDArray[np.int64]

CATEGORIES: dict[str, tuple[str, str]] = {
    "kernel": ("device", "kernel"),
    "Kernel": ("device", "kernel"),
    "gpu_memcpy": ("device", "memcpy"),
    "Memcpy": ("device", "memcpy"),
    "gpu_memset": ("device", "memset"),
    "Memset": ("device", "memset"),
    "cuda_runtime": ("host", "api"),
    "cuda_driver": ("host", "api"),
    "Runtime": ("host", "api"),
    "hip_runtime": ("host", "api"),
    "rocm_runtime": ("host", "api"),
    "mtia_runtime": ("host", "api"),
    "xpu_runtime": ("host", "api"),
    "glow_runtime": ("host", "api"),
    "privateuse1_runtime": ("host", "api"),
    "privateuse1_driver": ("host", "api"),
    "cpu_op": ("host", "op"),
    "Operator": ("host", "op"),
    "python_function": ("host", "python"),
    "overhead": ("host", "overhead"),
    "cuda_sync": ("host", "sync"),
    "user_annotation": ("annotation", "host"),
    "gpu_user_annotation": ("annotation", "device"),
}
"""Category of a slice → table, and kind or side. Any other is a host slice of kind `other`."""

KINETO_CATEGORIES = frozenset(CATEGORIES) - {"overhead"}

_OTHER = ("host", "other")
_MEMORY = b'"[memory]"'
_MEMORY_COUNTERS = (
    ("Total Allocated", "memory allocated [bytes]"),
    ("Total Reserved", "memory reserved [bytes]"),
    ("Bytes", "memory change [bytes]"),
)
_MOST_DETAILS = 20


class TraceImport:
    """Reads one document into one process."""

    def __init__(self, process: ProcessWriter, lose: Lose, shift_ns: int = 0) -> None:
        """`lose` is told what is lost; `shift_ns` is added to every time."""
        self.threads = Threads()
        self.executions = Executions(process)
        self.flows = Flows()
        self.metadata_rows: dict[tuple[str, Id, Id], bytes] = {}
        self.pids: Counter[int] = Counter()
        """Host slices by pid."""
        self.recorded: set[str] = set()
        self.window_ns: tuple[int, int] | None = None
        self.first_ns: int | None = None
        """First start of all slices and counters."""
        self._process = process
        self._lose = lose
        self._shift_ns = shift_ns
        self._readers: defaultdict[tuple[str, str], ArgumentReader] = defaultdict(ArgumentReader)
        self._name_ids: dict[bytes, int] = {}
        self._name_texts: dict[int, str] = {}
        self._calls: list[tuple[I64, I64, I64]] = []
        self._call_lanes: list[tuple[I64, I64]] = []
        self._calls_without_correlation: list[tuple[Event, int, int]] = []
        self._made: dict[int, int] = {}
        self._pair_events: list[tuple[int, Event]] = []
        self._instants: Counter[str] = Counter()
        self._phases: Counter[str] = Counter()

    def run(self, document: TraceDocument, advance: Callable[[float], None] = lambda share: None) -> dict[str, Any]:
        """Read everything and write it; gives the document's other top-level keys."""
        for events, share in document.pieces():
            self._piece(events)
            advance(share)
        self._write_pairs(document)
        self._link_by_flows(document)
        self._write_calls_without_correlation()
        columns = [np.concatenate(parts) for parts in zip(*self._calls, strict=True)] or [np.zeros(0, np.int64)] * 3
        correlation, external, start_ns = columns
        self.executions.write(correlation, external, start_ns)
        self.flows.count_losses(
            np.concatenate((correlation, self.executions.column("correlation"))),
            "op" in self.recorded,
            self._lose,
        )
        self._count_by_name("instant", self._instants)
        self._count_by_name("unknown_phase", self._phases)
        return document.finish()

    def _piece(self, events: list[Event]) -> None:
        by_phase: defaultdict[str, list[Event]] = defaultdict(list)
        for event in events:
            by_phase[event.ph].append(event)
        for phase, group in by_phase.items():
            if phase == "X":
                self._slices(group)
            elif phase in ("B", "E"):
                pass
            elif phase in ("s", "f", "t"):
                self.flows.add(group)
            elif phase == "M":
                self._metadata(group)
            elif phase in ("i", "I", "R"):
                self._instant(group)
            elif phase == "C":
                self._counters(group)
            else:
                self._phases[f"phase {phase[:20]}" if phase else "no phase"] += len(group)
        if "B" in by_phase or "E" in by_phase:
            # One list for both: their order in the file decides between events of equal times.
            self._pair_events += self._timed([event for event in events if event.ph in ("B", "E")])

    def _slices(self, events: list[Event]) -> None:
        start_ns, start_fate = times.nanoseconds([event.ts for event in events])
        duration_ns, duration_fate = times.nanoseconds([event.dur for event in events])
        start_ns, start_fate = self._shifted(start_ns, start_fate)
        overflow = (start_fate == times.OVERFLOW) | (duration_fate == times.OVERFLOW)
        overflow |= (duration_ns > 0) & (start_ns > times.INT64_MAX - np.maximum(duration_ns, 0))
        faults = {
            "no_start": start_fate == times.UNREADABLE,
            "no_duration": (start_fate == times.GOOD) & (duration_fate == times.UNREADABLE),
            "negative_duration": (start_fate == times.GOOD) & (duration_fate == times.GOOD) & (duration_ns < 0),
            "time_overflow": overflow & (start_fate != times.UNREADABLE) & (duration_fate != times.UNREADABLE),
        }
        bad = np.logical_or.reduce(list(faults.values()))
        if bad.any():
            for kind, mask in faults.items():
                self._lose(kind, int(mask.sum()), "")
            good = np.flatnonzero(~bad)
            events = [events[index] for index in good.tolist()]
            start_ns, duration_ns = start_ns[good], duration_ns[good]
        self._timed_slices(events, start_ns, duration_ns)

    def _timed_slices(self, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        rows: defaultdict[str, list[int]] = defaultdict(list)
        for index, event in enumerate(events):
            rows[event.cat].append(index)
        if events:
            first = int(start_ns.min())
            self.first_ns = first if self.first_ns is None else min(first, self.first_ns)
        for category, positions in rows.items():
            at = np.array(positions, dtype=np.int64)
            group = [events[index] for index in positions]
            if category != "Trace":
                self._widen_window(group, start_ns[at], duration_ns[at])
            table, kind = CATEGORIES.get(category, _OTHER)
            self.recorded.add(kind if table == "host" else table)
            if table == "device":
                self._device(kind, group, start_ns[at], duration_ns[at])
            elif table == "host":
                self._host(kind, group, start_ns[at], duration_ns[at])
            else:
                self._annotation(kind, group, start_ns[at], duration_ns[at])

    def _device(self, kind: str, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        arguments = self._readers["device", kind].read([event.args for event in events])
        names = self._names(events)
        unplaced = self.executions.add(
            kind, events, start_ns, duration_ns, names, arguments, self._name_texts.__getitem__
        )
        self._lose("unplaced_slice", unplaced, "")

    def _host(self, kind: str, events: list[Event], start_ns: I64, duration_ns: I64, made: I64 | None = None) -> None:
        """Write host slices. `made`: correlation ids of API calls that recorded none; without it such calls wait."""
        arguments = self._readers["host", kind].read([event.args for event in events])
        columns: dict[str, Any] = {}
        if kind in ("api", "sync"):
            columns["correlation"] = arguments.take_integers("correlation", low=1)
        if kind == "api" and made is None:
            waiting = columns["correlation"] == NONE
            if waiting.any():
                rows = np.flatnonzero(waiting).tolist()
                self._calls_without_correlation += [
                    (events[row], int(start_ns[row]), int(duration_ns[row])) for row in rows
                ]
                good = np.flatnonzero(~waiting)
                if len(good):
                    self._host(kind, [events[row] for row in good.tolist()], start_ns[good], duration_ns[good])
                return
        if made is not None:
            columns["correlation"] = made
        columns["external_id"] = arguments.take_integers("External id", "external id")
        if kind == "sync":
            columns["device"], columns["stream"], _unplaced = place(events, arguments)
            thread = np.full(len(events), NONE, dtype=np.int64)
        else:
            pids = [event.pid for event in events]
            thread = self.threads.ids(pids, [event.tid for event in events])
            if kind != "overhead":
                self._count_pids(pids)
        if kind == "op":
            columns["sequence"] = arguments.take_integers("Sequence number", low=0)
            columns["forward_thread"] = arguments.take_integers("Fwd thread id", low=1)
        if kind == "api":
            self._calls.append((columns["correlation"], columns["external_id"], start_ns))
            self._call_lanes.append((thread, duration_ns))
        kinds = np.full(len(events), HOST_KINDS.index(kind), dtype=np.uint8)
        ids = self._process.append(
            "host",
            {
                "kind": kinds,
                "thread": thread,
                "start_ns": start_ns,
                "duration_ns": duration_ns,
                "name_id": self._names(events),
                **columns,
            },
        )
        write_leftovers(self._process, "host", ids, list(arguments.leftovers()))
        if kind == "other" and events[0].cat:
            self._write_category(events[0].cat, ids)

    def _write_category(self, category: str, ids: I64) -> None:
        texts = pa.repeat(pa.scalar(json.dumps(category), pa.large_string()), len(ids))
        write_leftovers(self._process, "host", ids, [Leftover("cat", np.arange(len(ids)), None, texts)])

    def _annotation(self, side: str, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        arguments = self._readers["annotation", side].read([event.args for event in events])
        columns: dict[str, Any] = {"external_id": arguments.take_integers("External id", "external id")}
        if side == "device":
            columns["device"], columns["stream"], unplaced = place(events, arguments)
            self._lose("unplaced_slice", unplaced, "")
        else:
            pids = [event.pid for event in events]
            columns["thread"] = self.threads.ids(pids, [event.tid for event in events])
            self._count_pids(pids)
        ids = self._process.append(
            "annotation",
            {
                "side": np.full(len(events), SIDES.index(side), dtype=np.uint8),
                "start_ns": start_ns,
                "duration_ns": duration_ns,
                "name_id": self._names(events),
                "source": np.full(len(events), ANNOTATION_SOURCES.index("user_annotation"), dtype=np.uint8),
                **columns,
            },
        )
        write_leftovers(self._process, "annotation", ids, list(arguments.leftovers()))

    def _instant(self, events: list[Event]) -> None:
        """Memory records become counters; what else happens at a point in time is not shown."""
        memory = []
        for event in events:
            name = bytes(event.name)
            if name == _MEMORY:
                memory.append(event)
            else:
                self._instants[_text(name)[:60]] += 1
        timed = self._timed(memory)
        if not timed:
            return
        self.recorded.add("memory")
        memory = [event for _time, event in timed]
        arguments = self._readers["counter", "memory"].read([event.args for event in memory])
        device = arguments.take_integers("Device Id", low=0, high=(1 << 31) - 1)
        # c10::DeviceType: 0 is the CPU, whose device id says nothing.
        device[arguments.take_integers("Device Type", low=0) <= 0] = NONE
        self._write_memory(np.array([time for time, _event in timed], dtype=np.int64), device, arguments)

    def _write_memory(self, time_ns: I64, device: I64, arguments: Arguments) -> None:
        owner = np.full(len(time_ns), NONE, dtype=np.int64)
        for key, name in _MEMORY_COUNTERS:
            values = arguments.take_floats(key)
            rows = np.flatnonzero(~np.isnan(values))
            if len(rows):
                name_id = np.full(len(rows), self._process.name_id(name), dtype=np.int64)
                columns = {"name_id": name_id, "device": device[rows], "time_ns": time_ns[rows], "value": values[rows]}
                owner[rows] = self._process.append("counter", columns)
        without = int(np.count_nonzero(owner == NONE))
        self._lose("gap_value", without, "memory records without a value")
        for left in arguments.leftovers():
            has = owner[left.rows] != NONE
            left.rows = left.rows[has]
            left.integers = None if left.integers is None else left.integers[has]
            left.texts = None if left.texts is None else left.texts.filter(pa.array(has))
            write_leftovers(self._process, "counter", owner, [left])

    def _counters(self, events: list[Event]) -> None:
        names, times_ns, values = [], [], []
        for time_ns, event in self._timed(events):
            name = _text(bytes(event.name))
            for series, value in _series(event.args):
                names.append(self._process.name_id(name if series in ("", "value", name) else f"{name} {series}"))
                times_ns.append(time_ns)
                values.append(value)
        gaps = sum(value is None for value in values)
        self._lose("gap_value", gaps, "")
        if names:
            self.recorded.add("counter")
            columns = {"name_id": np.array(names, np.int64), "time_ns": np.array(times_ns, np.int64)}
            self._process.append("counter", {**columns, "value": np.array(values, np.float64)})

    def _metadata(self, events: list[Event]) -> None:
        """Keep the last of each kind for each thread: files repeat them up to hundreds of thousands of times."""
        for event in events:
            self.metadata_rows[_text(bytes(event.name)), number(event.pid), number(event.tid)] = bytes(event.args)

    def _timed(self, events: list[Event]) -> list[tuple[int, Event]]:
        """Events with their times; those without a readable one are counted."""
        time_ns, fate = self._shifted(*times.nanoseconds([event.ts for event in events]))
        self._lose("no_start", int(np.count_nonzero(fate == times.UNREADABLE)), "")
        self._lose("time_overflow", int(np.count_nonzero(fate == times.OVERFLOW)), "")
        return [
            (time, event)
            for time, event, what in zip(time_ns.tolist(), events, fate.tolist(), strict=True)
            if what == times.GOOD
        ]

    def _shifted(self, time_ns: I64, fate: NDArray[np.uint8]) -> tuple[I64, NDArray[np.uint8]]:
        if self._shift_ns:
            room = (
                time_ns > times.INT64_MAX - self._shift_ns
                if self._shift_ns > 0
                else time_ns < times.INT64_MIN - self._shift_ns
            )
            fate = np.where(room & (fate == times.GOOD), np.uint8(times.OVERFLOW), fate)
            time_ns = np.where(fate == times.GOOD, time_ns, 0) + np.where(fate == times.GOOD, self._shift_ns, 0)
        return time_ns, fate

    def _widen_window(self, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        if any(not isinstance(pid, int) for pid in {event.pid for event in events}):
            numeric = np.array([isinstance(event.pid, int) for event in events])
            start_ns, duration_ns = start_ns[numeric], duration_ns[numeric]
            if not len(start_ns):
                return
        begin, end = int(start_ns.min()), int((start_ns + duration_ns).max())
        known = self.window_ns
        self.window_ns = (begin, end) if known is None else (min(begin, known[0]), max(end, known[1]))

    def _count_pids(self, pids: list[Id]) -> None:
        counts = {pids[0]: len(pids)} if len(set(pids)) == 1 else Counter(pids)
        for pid, count in counts.items():
            if isinstance(pid, int):
                self.pids[pid] += count

    def _names(self, events: Iterable[Event]) -> I64:
        """Name ids of events. Equal raw texts are looked at once."""
        known, ids = self._name_ids, []
        for event in events:
            raw = bytes(event.name)
            found = known.get(raw)
            if found is None:
                text = _name(raw)
                found = known[raw] = self._process.name_id(text)
                if isinstance(text, bytes):
                    self._lose("invalid_text", 1, "")
                self._name_texts[found] = text if isinstance(text, str) else text.decode(errors="replace")
            ids.append(found)
        return np.array(ids, dtype=np.int64)

    def _write_pairs(self, document: TraceDocument) -> None:
        pairs = pair(self._pair_events, lambda lanes: self._last_ends(document, lanes))
        self._lose("unmatched_begin", pairs.unmatched_begins, "")
        self._lose("unmatched_end", pairs.unmatched_ends, "")
        if pairs.events:
            self._timed_slices(
                pairs.events, np.array(pairs.starts_ns, np.int64), np.array(pairs.durations_ns, np.int64)
            )

    def _last_ends(self, document: TraceDocument, lanes: set[Lane]) -> dict[Lane, int]:
        """The last end of the slices of each lane, from a second reading: only a file cut short needs it."""
        ends: dict[Lane, int] = {}
        for events, _share in document.pieces():
            chosen = [event for event in events if event.ph == "X" and (event.pid, event.tid) in lanes]
            start_ns, fate = self._shifted(*times.nanoseconds([event.ts for event in chosen]))
            duration_ns, duration_fate = times.nanoseconds([event.dur for event in chosen])
            good = (fate == times.GOOD) & (duration_fate == times.GOOD) & (duration_ns >= 0)
            for event, start, duration, ok in zip(
                chosen, start_ns.tolist(), duration_ns.tolist(), good.tolist(), strict=True
            ):
                if ok and start + duration <= times.INT64_MAX:
                    lane = event.pid, event.tid
                    ends[lane] = max(start + duration, ends.get(lane, start))
        return ends

    def _link_by_flows(self, document: TraceDocument) -> None:
        """Give executions without correlation id that of the call that a flow comes from."""
        bare = self.executions.without_correlation()
        if not bare or not self.flows.any:
            return
        calls: dict[tuple[int, int], list[Any]] = defaultdict(list)
        for (correlation, _external, start_ns), (thread, duration_ns) in zip(
            self._calls, self._call_lanes, strict=True
        ):
            for key, length, value in zip(
                zip(thread.tolist(), start_ns.tolist(), strict=True),
                duration_ns.tolist(),
                correlation.tolist(),
                strict=True,
            ):
                calls[key].append((length, value, None))
        for index, (event, start, duration) in enumerate(self._calls_without_correlation):
            calls[self.threads.id(event.pid, event.tid), start].append((duration, NONE, index))
        highest = max(
            (
                int(column.max())
                for column in (*(call[0] for call in self._calls), self.executions.column("correlation"))
                if len(column)
            ),
            default=0,
        )
        self._made = self.flows.link(self._flow_events(document), bare, calls, self.threads, max(highest, 0) + 1)

    def _flow_events(self, document: TraceDocument) -> Iterable[tuple[int, Event]]:
        for events, _share in document.pieces():
            flows = [event for event in events if event.ph in ("s", "f")]
            time_ns, fate = self._shifted(*times.nanoseconds([event.ts for event in flows]))
            yield from (
                (time, flow)
                for time, flow, what in zip(time_ns.tolist(), flows, fate.tolist(), strict=True)
                if what == times.GOOD
            )

    def _write_calls_without_correlation(self) -> None:
        waiting = self._calls_without_correlation
        if waiting:
            made = np.full(len(waiting), NONE, dtype=np.int64)
            for index, correlation in self._made.items():
                made[index] = correlation
            events, starts, durations = zip(*waiting, strict=True)
            self._host("api", list(events), np.array(starts, np.int64), np.array(durations, np.int64), made)

    def _count_by_name(self, kind: str, counts: Counter[str]) -> None:
        for name, count in counts.most_common(_MOST_DETAILS):
            self._lose(kind, count, name)
        self._lose(
            kind, sum(counts.values()) - sum(count for _name, count in counts.most_common(_MOST_DETAILS)), "others"
        )


def _name(raw: bytes) -> str | bytes:
    """The name that a JSON text holds; its bytes where they are not valid Unicode."""
    if not raw:
        return ""
    try:
        value = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        try:
            value = json.loads(raw.decode("utf-8", "surrogateescape"), strict=False)
        except ValueError:
            return raw
    if not isinstance(value, str):
        return raw
    try:
        value.encode()
    except UnicodeEncodeError:
        try:
            return value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value


def _text(raw: bytes) -> str:
    name = _name(raw)
    return name if isinstance(name, str) else name.decode(errors="replace")


def _series(args: Raw) -> list[tuple[str, float | None]]:
    """The values of a counter event by series; None where one is not a finite number."""
    try:
        fields = msgspec.json.decode(bytes(args) or b"{}")
    except msgspec.DecodeError:
        fields = None
    if not isinstance(fields, dict):
        return [("", None)]
    series: list[tuple[str, float | None]] = []
    for key, value in fields.items():
        try:
            number_of = float(value) if isinstance(value, (int, float, str)) else None
        except (ValueError, OverflowError):
            number_of = None
        series.append((key, number_of if number_of is not None and math.isfinite(number_of) else None))
    return series
