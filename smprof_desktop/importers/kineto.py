"""Trace-event JSON of PyTorch's profiler (Kineto), in every dialect, → the tables of one process.

Rows stream: host slices are written piece by piece, device slices are held back until every launch is known.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smprof.profile.schema import ANNOTATION_SOURCES, HOST_KINDS, NONE, SIDES
from smprof.profile.writer import ProcessWriter
from smprof_desktop.importers import spans, times
from smprof_desktop.importers.arguments import ArgumentReader, Arguments, Leftover
from smprof_desktop.importers.counters import Counters
from smprof_desktop.importers.document import Event, EventSource, Lose
from smprof_desktop.importers.executions import Executions, place, write_leftovers
from smprof_desktop.importers.flows import Call, Flows
from smprof_desktop.importers.names import Names, text_of
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
_EXTERNAL_ID = ("External id", "external id")
_MOST_DETAILS = 20
_MOST_MARKERS = 200


class TraceImport:
    """Reads one document into one process."""

    def __init__(self, process: ProcessWriter, lose: Lose, shift_ns: int = 0) -> None:
        """`lose` is told what is lost; `shift_ns` is added to every time."""
        self.threads = Threads()
        self.executions = Executions(process)
        self.flows = Flows()
        self.counters = Counters(process, lose)
        self.metadata_rows: dict[tuple[str, Id, Id], bytes] = {}
        self.pids: Counter[int] = Counter()
        """Host slices by pid."""
        self.recorded: set[str] = set()
        self.markers: list[dict[str, Any]] = []
        """Instants of no process, such as where the profiler's own recording ends."""
        self.window_ns: tuple[int, int] | None = None
        self.first_ns: int | None = None
        """First start of all slices and counters."""
        self._process = process
        self._lose = lose
        self._shift_ns = shift_ns
        self._readers: defaultdict[tuple[str, str], ArgumentReader] = defaultdict(ArgumentReader)
        self._names = Names(process)
        self._call_columns: list[tuple[I64, I64, I64]] = []
        self._call_lanes: list[tuple[I64, I64]] = []
        self._calls_without_correlation: list[tuple[Event, int, int]] = []
        self._made: dict[int, int] = {}
        self._pair_events: list[tuple[int, Event]] = []
        self._async_events: list[tuple[int, Event]] = []
        self._instants: Counter[str] = Counter()
        self._phases: Counter[str] = Counter()

    def run(self, document: EventSource, advance: Callable[[float], None] = lambda share: None) -> dict[str, Any]:
        """Read everything and write it; gives the document's other top-level keys."""
        for events, share in document.pieces():
            self._piece(events)
            advance(share)
        self._write_pairs(document)
        self._link_by_flows(document)
        self._write_calls_without_correlation()
        columns = [np.concatenate(parts) for parts in zip(*self._call_columns, strict=True)] or [
            np.zeros(0, np.int64)
        ] * 3
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
            elif phase in spans.INSTANTS:
                self._instant(group)
            elif phase in spans.ASYNC:
                self._async_events += self._timed(group)
            elif phase == "C":
                self.recorded.add("counter")
                self.counters.values(self._timed(group))
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
            write = self._writer_of(table, kind)
            write(group, start_ns[at], duration_ns[at])

    def _writer_of(self, table: str, kind: str) -> Callable[[list[Event], I64, I64], None]:
        if table == "device":
            return partial(self._device, kind)
        if table == "annotation":
            return partial(self._annotation, kind)
        return {"api": self._calls, "op": self._operators, "sync": self._syncs}.get(kind, partial(self._host, kind))

    def _device(self, kind: str, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        arguments = self._readers["device", kind].read([event.args for event in events])
        names = self._names.ids(events)
        unplaced = self.executions.add(kind, events, start_ns, duration_ns, names, arguments, self._names.text)
        self._lose("unplaced_slice", unplaced, "")

    def _calls(self, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        """Write API calls; those without correlation id wait for what flows may tell."""
        arguments = self._readers["host", "api"].read([event.args for event in events])
        correlation = arguments.take_integers("correlation", low=1)
        if not (correlation == NONE).any():
            self._write_calls(events, start_ns, duration_ns, arguments, correlation)
            return
        for row in np.flatnonzero(correlation == NONE).tolist():
            self._calls_without_correlation.append((events[row], int(start_ns[row]), int(duration_ns[row])))
        good = np.flatnonzero(correlation != NONE)
        if len(good):
            self._calls([events[row] for row in good.tolist()], start_ns[good], duration_ns[good])

    def _write_calls(
        self, events: list[Event], start_ns: I64, duration_ns: I64, arguments: Arguments, correlation: I64
    ) -> None:
        columns = {"correlation": correlation, "external_id": arguments.take_integers(*_EXTERNAL_ID)}
        columns["thread"] = self._threads_of(events)
        self._call_columns.append((correlation, columns["external_id"], start_ns))
        self._call_lanes.append((columns["thread"], duration_ns))
        self._write_host("api", start_ns, duration_ns, self._names.ids(events), columns, arguments)

    def _operators(self, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        """Write operators. Up to torch 1.11 the profiler's steps are filed among them: they are annotations."""
        names = self._names.ids(events)
        steps = np.isin(names, self._names.steps) if self._names.steps else np.zeros(len(names), dtype=np.bool_)
        if steps.any():
            rows = np.flatnonzero(steps)
            self.recorded.add("annotation")
            self._annotation("host", [events[row] for row in rows.tolist()], start_ns[rows], duration_ns[rows])
            rows = np.flatnonzero(~steps)
            events = [events[row] for row in rows.tolist()]
            start_ns, duration_ns, names = start_ns[rows], duration_ns[rows], names[rows]
        if events:
            arguments = self._readers["host", "op"].read([event.args for event in events])
            columns = {
                "external_id": arguments.take_integers(*_EXTERNAL_ID),
                "sequence": arguments.take_integers("Sequence number", low=0),
                # 0 marks a forward operator, and stays among the arguments.
                "forward_thread": arguments.take_integers("Fwd thread id", low=1),
                "thread": self._threads_of(events),
            }
            self._write_host("op", start_ns, duration_ns, names, columns, arguments)

    def _syncs(self, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        arguments = self._readers["host", "sync"].read([event.args for event in events])
        device, stream, _unplaced = place(events, arguments)
        columns = {
            "correlation": arguments.take_integers("correlation", low=1),
            "external_id": arguments.take_integers(*_EXTERNAL_ID),
            "device": device,
            "stream": stream,
            "thread": np.full(len(events), NONE, dtype=np.int64),
        }
        self._write_host("sync", start_ns, duration_ns, self._names.ids(events), columns, arguments)

    def _host(self, kind: str, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        """Write host slices of the kinds that have no columns of their own."""
        arguments = self._readers["host", kind].read([event.args for event in events])
        columns = {"external_id": arguments.take_integers(*_EXTERNAL_ID)}
        columns["thread"] = self._threads_of(events, counted=kind != "overhead")
        ids = self._write_host(kind, start_ns, duration_ns, self._names.ids(events), columns, arguments)
        if kind == "other" and events[0].cat:
            self._write_category(events[0].cat, ids)

    def _write_host(
        self, kind: str, start_ns: I64, duration_ns: I64, names: I64, columns: dict[str, I64], arguments: Arguments
    ) -> I64:
        code = np.full(len(names), HOST_KINDS.index(kind), dtype=np.uint8)
        times_and_names = {"kind": code, "start_ns": start_ns, "duration_ns": duration_ns, "name_id": names}
        ids = self._process.append("host", {**times_and_names, **columns})
        write_leftovers(self._process, "host", ids, arguments.leftovers())
        return ids

    def _threads_of(self, events: list[Event], counted: bool = True) -> I64:
        """The threads of events. `counted`: their pids may be the process's own."""
        pids = [event.pid for event in events]
        if counted:
            counts = {pids[0]: len(pids)} if len(set(pids)) == 1 else Counter(pids)
            for pid, count in counts.items():
                if isinstance(pid, int):
                    self.pids[pid] += count
        return self.threads.ids(pids, [event.tid for event in events])

    def _write_category(self, category: str, ids: I64) -> None:
        texts = pa.repeat(pa.scalar(json.dumps(category), pa.large_string()), len(ids))
        write_leftovers(self._process, "host", ids, [Leftover("cat", np.arange(len(ids)), None, texts)])

    def _annotation(self, side: str, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        arguments = self._readers["annotation", side].read([event.args for event in events])
        columns: dict[str, Any] = {"external_id": arguments.take_integers(*_EXTERNAL_ID)}
        if side == "device":
            columns["device"], columns["stream"], unplaced = place(events, arguments)
            self._lose("unplaced_slice", unplaced, "")
        else:
            columns["thread"] = self._threads_of(events)
        ids = self._process.append(
            "annotation",
            {
                "side": np.full(len(events), SIDES.index(side), dtype=np.uint8),
                "start_ns": start_ns,
                "duration_ns": duration_ns,
                "name_id": self._names.ids(events),
                "source": np.full(len(events), ANNOTATION_SOURCES.index("user_annotation"), dtype=np.uint8),
                **columns,
            },
        )
        write_leftovers(self._process, "annotation", ids, arguments.leftovers())

    def _instant(self, events: list[Event]) -> None:
        """Memory records become counters, what else happens in a process a slice of no length."""
        memory, others = [], []
        for time_ns, event in self._timed(events):
            if bytes(event.name) == _MEMORY:
                memory.append((time_ns, event))
            elif isinstance(number(event.pid), int):
                others.append((time_ns, spans.instant(event)))
            elif len(self.markers) < _MOST_MARKERS:
                self.markers.append(_marker(time_ns, event))
            else:
                self._instants[text_of(bytes(event.name))[:60]] += 1
        if memory:
            self.recorded.add("memory")
            self.counters.memory(memory)
        if others:
            at = np.array([time_ns for time_ns, _event in others], dtype=np.int64)
            self._timed_slices([event for _time, event in others], at, np.zeros(len(at), np.int64))

    def _metadata(self, events: list[Event]) -> None:
        """Keep the last of each kind for each thread: files repeat them up to hundreds of thousands of times."""
        for event in events:
            self.metadata_rows[text_of(bytes(event.name)), number(event.pid), number(event.tid)] = bytes(event.args)

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

    def _write_pairs(self, document: EventSource) -> None:
        nested = pair(self._pair_events, lambda lanes: self._last_ends(document, lanes))
        for pairs in (nested, spans.asynchronous(self._async_events)):
            self._lose("unmatched_begin", pairs.unmatched_begins, "")
            self._lose("unmatched_end", pairs.unmatched_ends, "")
            if pairs.events:
                self._timed_slices(
                    pairs.events, np.array(pairs.starts_ns, np.int64), np.array(pairs.durations_ns, np.int64)
                )

    def _last_ends(self, document: EventSource, lanes: set[Lane]) -> dict[Lane, int]:
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

    def _link_by_flows(self, document: EventSource) -> None:
        """Give executions without correlation id that of the call that a flow comes from."""
        bare = self.executions.without_correlation()
        if not bare or not self.flows.any:
            return
        calls: defaultdict[tuple[int, int], list[Call]] = defaultdict(list)
        highest = 0
        for (correlation, _external, start_ns), (thread, duration_ns) in zip(
            self._call_columns, self._call_lanes, strict=True
        ):
            highest = max(highest, int(correlation.max(initial=0)))
            rows = (column.tolist() for column in (thread, start_ns, duration_ns, correlation))
            for lane, start, duration, value in zip(*rows, strict=True):
                calls[lane, start].append((duration, value, None))
        for index, (event, start, duration) in enumerate(self._calls_without_correlation):
            calls[self.threads.id(event.pid, event.tid), start].append((duration, NONE, index))
        highest = max(highest, int(self.executions.column("correlation").max(initial=0)))
        self._made = self.flows.link(self._flow_events(document), bare, calls, self.threads, highest + 1)

    def _flow_events(self, document: EventSource) -> Iterable[tuple[int, Event]]:
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
            arguments = self._readers["host", "api"].read([event.args for event in events])
            start_ns, duration_ns = np.array(starts, np.int64), np.array(durations, np.int64)
            self._write_calls(list(events), start_ns, duration_ns, arguments, made)

    def _count_by_name(self, kind: str, counts: Counter[str]) -> None:
        for name, count in counts.most_common(_MOST_DETAILS):
            self._lose(kind, count, name)
        self._lose(
            kind, sum(counts.values()) - sum(count for _name, count in counts.most_common(_MOST_DETAILS)), "others"
        )


def _marker(time_ns: int, event: Event) -> dict[str, Any]:
    try:
        args = json.loads(bytes(event.args) or b"{}")
    except (ValueError, RecursionError):
        args = bytes(event.args).decode(errors="replace")
    fields = {"name": text_of(bytes(event.name)), "time_ns": time_ns, "pid": event.pid, "tid": event.tid}
    return {**fields, "ph": event.ph, "s": event.s, "cat": event.cat, "args": args}
