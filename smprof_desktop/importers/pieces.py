"""The events of one piece of a trace → rows, and what else they say: all that needs no other piece, so that processes
can share the work."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smprof.profile.schema import ANNOTATION_SOURCES, HOST_KINDS, NONE, SIDES
from smprof_desktop.importers import spans, times
from smprof_desktop.importers.arguments import ArgumentReader, Arguments, Leftover
from smprof_desktop.importers.counters import FIRST, Counters
from smprof_desktop.importers.document import Event
from smprof_desktop.importers.executions import WRITTEN, Chunk, Executions, place, write_leftovers
from smprof_desktop.importers.flows import FlowIds, flow_ids
from smprof_desktop.importers.names import Names, text_of
from smprof_desktop.importers.rows import Recorder, Rows, compact
from smprof_desktop.importers.threads import Id, number

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

MOST_MARKERS = 200

_OTHER = ("host", "other")
_MEMORY = b'"[memory]"'
_EXTERNAL_ID = ("External id", "external id")
_ARGS, _PID, _TID, _TS, _DUR = map(attrgetter, ("args", "pid", "tid", "ts", "dur"))


class TimedEvents:
    """Events with their times, and with durations where they are slices."""

    def __init__(self, events: Sequence[Event] = (), times_ns: Iterable[int] = (), durations_ns: Iterable[int] = ()):
        self.events = list(events)
        self.times_ns = list(times_ns)
        self.durations_ns = list(durations_ns)

    def extend(self, other: TimedEvents) -> None:
        """Put others behind."""
        self.events += other.events
        self.times_ns += other.times_ns
        self.durations_ns += other.durations_ns

    def pairs(self) -> list[tuple[int, Event]]:
        """Time and event, in order."""
        return list(zip(self.times_ns, self.events, strict=True))


@dataclass
class Piece:
    """What some events say. Ids of names, threads and shapes are those of `rows`; times are already shifted."""

    rows: Rows = field(default_factory=Rows)
    chunks: list[Chunk] = field(default_factory=list)
    calls: TimedEvents = field(default_factory=TimedEvents)
    """API calls without correlation id, which wait for what flows may tell."""
    pairs: TimedEvents = field(default_factory=TimedEvents)
    """Begin and end events."""
    asynchronous: TimedEvents = field(default_factory=TimedEvents)
    markers: TimedEvents = field(default_factory=TimedEvents)
    """Instants of no process, MOST_MARKERS at most."""
    instants: dict[str, int] = field(default_factory=dict)
    """Further ones, by name."""
    flows: dict[str, FlowIds] = field(default_factory=dict)
    metadata: list[tuple[str, Id, Id, bytes]] = field(default_factory=list)
    """Kind, pid, tid and arguments: the last of each."""
    pids: list[tuple[int, int]] = field(default_factory=list)
    """Pids of host slices, and how many have them."""
    recorded: list[str] = field(default_factory=list)
    phases: dict[str, int] = field(default_factory=dict)
    """Events of phases that are not shown."""
    losses: list[tuple[str, int, str]] = field(default_factory=list)
    """Kind, count and detail; one that begins with FIRST stands for all of its kind."""
    first_ns: int | None = None
    """First start of all slices."""
    window_ns: tuple[int, int] | None = None
    session_ns: tuple[int, int] | None = None
    """From the first start to the last end of what the profiler says it recorded."""


class PieceReader:
    """Reads one piece after the other; keeps only what makes the next one quicker."""

    def __init__(self, shift_ns: int = 0) -> None:
        """`shift_ns` is added to every time."""
        self._shift_ns = shift_ns
        self._readers: defaultdict[tuple[str, str], ArgumentReader] = defaultdict(ArgumentReader)
        self._texts: dict[bytes, str | bytes] = {}
        self._begin()

    def read(self, events: Sequence[Event]) -> Piece:
        """What events as they stand in the file say."""
        self._begin()
        by_phase: dict[str, list[Event]] = {}
        slices: dict[str, list[Event]] = {}
        for event in events:
            phase = event.ph
            found = slices.get(event.cat) if phase == "X" else by_phase.get(phase)
            if found is not None:
                found.append(event)
            elif phase == "X":
                slices[event.cat] = [event]
                by_phase["X"] = []
            else:
                by_phase[phase] = [event]
        for phase, group in by_phase.items():
            if phase == "X":
                self._slices(slices)
            else:
                self._others(phase, group)
        if "B" in by_phase or "E" in by_phase:
            # One list for both: their order in the file decides between events of equal times.
            self._piece.pairs = TimedEvents(*self.timed([event for event in events if event.ph in ("B", "E")]))
        return self._finish()

    def slices(self, events: Sequence[Event], start_ns: I64, duration_ns: I64) -> Piece:
        """Slices that were made of several events."""
        self._begin()
        self._timed_slices(events, start_ns, duration_ns)
        return self._finish()

    def calls(self, events: list[Event], start_ns: I64, duration_ns: I64, correlation: I64) -> Piece:
        """API calls whose correlation ids others have told."""
        self._begin()
        arguments = self._readers["host", "api"].read(list(map(_ARGS, events)))
        self._write_calls(events, start_ns, duration_ns, arguments, correlation)
        return self._finish()

    def timed(self, events: Sequence[Event]) -> tuple[list[Event], list[int]]:
        """Events with a readable time, and their times; the others are counted."""
        time_ns, fate = self.shifted(*times.nanoseconds(list(map(_TS, events))))
        if not fate.any():
            return list(events), time_ns.tolist()
        self._lose_events("no_start", events, fate == times.UNREADABLE)
        self._lose_events("time_overflow", events, fate == times.OVERFLOW)
        good = np.flatnonzero(fate == times.GOOD)
        return [events[index] for index in good.tolist()], time_ns[good].tolist()

    def shifted(self, time_ns: I64, fate: NDArray[np.uint8]) -> tuple[I64, NDArray[np.uint8]]:
        """Times and fates as `times.nanoseconds` gives them, moved by the shift."""
        if self._shift_ns:
            room = (
                time_ns > times.INT64_MAX - self._shift_ns
                if self._shift_ns > 0
                else time_ns < times.INT64_MIN - self._shift_ns
            )
            fate = np.where(room & (fate == times.GOOD), np.uint8(times.OVERFLOW), fate)
            time_ns = np.where(fate == times.GOOD, time_ns, 0) + np.where(fate == times.GOOD, self._shift_ns, 0)
        return time_ns, fate

    def _begin(self) -> None:
        self._piece = Piece()
        self._recorder = Recorder()
        self._names = Names(self._recorder, self._texts)
        self._executions = Executions(self._recorder)
        self._counters = Counters(self._recorder, self._lose, self._readers["counter", ""])
        self._pids: Counter[int] = Counter()
        self._recorded: dict[str, None] = {}

    def _finish(self) -> Piece:
        piece = self._piece
        piece.rows = self._recorder.finish()
        piece.chunks = self._executions.chunks
        for chunk in piece.chunks:
            for name in WRITTEN:
                setattr(chunk, name, compact(getattr(chunk, name)))
        piece.pids = list(self._pids.items())
        piece.recorded = list(self._recorded)
        return piece

    def _lose(self, kind: str, count: int, detail: str = "") -> None:
        if count:
            self._piece.losses.append((kind, count, detail))

    def _lose_events(self, kind: str, events: Sequence[Event], mask: NDArray[np.bool_]) -> None:
        """Count events, and say which the first is."""
        rows = np.flatnonzero(mask)
        if len(rows):
            self._lose(kind, len(rows), _place(events[int(rows[0])]))

    def _others(self, phase: str, events: list[Event]) -> None:
        """Events of one phase that are no slices."""
        if phase in ("B", "E"):
            return
        if phase in ("s", "f", "t"):
            self._piece.flows |= {
                category: ids.joined(self._piece.flows.get(category)) for category, ids in flow_ids(events).items()
            }
        elif phase == "M":
            # Files repeat them up to hundreds of thousands of times.
            last = {(text_of(bytes(e.name)), number(e.pid), number(e.tid)): bytes(e.args) for e in events}
            self._piece.metadata += [(*key, args) for key, args in last.items()]
        elif phase in spans.INSTANTS:
            self._instants(events)
        elif phase in spans.ASYNC:
            more, times_ns = self.timed(events)
            self._piece.asynchronous.events += more
            self._piece.asynchronous.times_ns += times_ns
        elif phase == "C":
            self._recorded["counter"] = None
            good, times_ns = self.timed(events)
            self._counters.values(list(zip(times_ns, good, strict=True)))
        else:
            name = f"phase {phase[:20]}" if phase else "no phase"
            self._piece.phases[name] = self._piece.phases.get(name, 0) + len(events)

    def _instants(self, events: list[Event]) -> None:
        """Memory records become counters, what else happens in a process a slice of no length."""
        memory: list[tuple[int, Event]] = []
        others: list[tuple[int, Event]] = []
        markers, counts = self._piece.markers, Counter(self._piece.instants)
        good, times_ns = self.timed(events)
        for time_ns, event in zip(times_ns, good, strict=True):
            if bytes(event.name) == _MEMORY:
                memory.append((time_ns, event))
            elif isinstance(number(event.pid), int):
                others.append((time_ns, spans.instant(event)))
            elif len(markers.events) < MOST_MARKERS:
                markers.events.append(event)
                markers.times_ns.append(time_ns)
            else:
                counts[text_of(bytes(event.name))[:60]] += 1
        self._piece.instants = dict(counts)
        if memory:
            self._recorded["memory"] = None
            self._counters.memory(memory)
        if others:
            at = np.array([time_ns for time_ns, _event in others], dtype=np.int64)
            self._timed_slices([event for _time, event in others], at, np.zeros(len(at), np.int64))

    def _slices(self, by_category: dict[str, list[Event]]) -> None:
        for category, events in by_category.items():
            start_ns, start_fate = times.nanoseconds(list(map(_TS, events)))
            duration_ns, duration_fate = times.nanoseconds(list(map(_DUR, events)))
            start_ns, start_fate = self.shifted(start_ns, start_fate)
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
                    self._lose_events(kind, events, mask)
                good = np.flatnonzero(~bad)
                events = [events[index] for index in good.tolist()]
                start_ns, duration_ns = start_ns[good], duration_ns[good]
            if events:
                self._slices_of(category, events, start_ns, duration_ns)

    def _timed_slices(self, events: Sequence[Event], start_ns: I64, duration_ns: I64) -> None:
        rows: defaultdict[str, list[int]] = defaultdict(list)
        for index, event in enumerate(events):
            rows[event.cat].append(index)
        for category, positions in rows.items():
            at = np.array(positions, dtype=np.int64)
            self._slices_of(category, [events[index] for index in positions], start_ns[at], duration_ns[at])

    def _slices_of(self, category: str, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        first = int(start_ns.min())
        self._piece.first_ns = first if self._piece.first_ns is None else min(first, self._piece.first_ns)
        if category == "Trace":
            self._piece.session_ns = widened(self._piece.session_ns, start_ns, duration_ns)
        else:
            self._widen_window(events, start_ns, duration_ns)
        table, kind = CATEGORIES.get(category, _OTHER)
        self._recorded[kind if table == "host" else table] = None
        self._writer_of(table, kind)(events, start_ns, duration_ns)

    def _writer_of(self, table: str, kind: str) -> Callable[[list[Event], I64, I64], None]:
        if table == "device":
            return partial(self._device, kind)
        if table == "annotation":
            return partial(self._annotation, kind)
        return {"api": self._calls, "op": self._operators, "sync": self._syncs}.get(kind, partial(self._host, kind))

    def _device(self, kind: str, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        arguments = self._readers["device", kind].read(list(map(_ARGS, events)))
        names = self._names.ids(events)
        unplaced = self._executions.add(kind, events, start_ns, duration_ns, names, arguments, self._names.text)
        if len(unplaced):
            self._lose("unplaced_slice", len(unplaced), _place(events[int(unplaced[0])]))

    def _calls(self, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        """API calls; those without correlation id are set aside."""
        arguments = self._readers["host", "api"].read(list(map(_ARGS, events)))
        correlation = arguments.take_integers("correlation", low=1)
        if not (correlation == NONE).any():
            self._write_calls(events, start_ns, duration_ns, arguments, correlation)
            return
        bare = np.flatnonzero(correlation == NONE)
        self._piece.calls.events += [events[row] for row in bare.tolist()]
        self._piece.calls.times_ns += start_ns[bare].tolist()
        self._piece.calls.durations_ns += duration_ns[bare].tolist()
        good = np.flatnonzero(correlation != NONE)
        if len(good):
            self._calls([events[row] for row in good.tolist()], start_ns[good], duration_ns[good])

    def _write_calls(
        self, events: list[Event], start_ns: I64, duration_ns: I64, arguments: Arguments, correlation: I64
    ) -> None:
        columns = {"correlation": correlation, "external_id": arguments.take_integers(*_EXTERNAL_ID)}
        columns["thread"] = self._threads_of(events)
        self._write_host("api", start_ns, duration_ns, self._names.ids(events), columns, arguments)

    def _operators(self, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        """Operators. Up to torch 1.11 the profiler's steps are filed among them: they are annotations."""
        names = self._names.ids(events)
        steps = np.isin(names, self._names.steps) if self._names.steps else np.zeros(len(names), dtype=np.bool_)
        if steps.any():
            rows = np.flatnonzero(steps)
            self._recorded["annotation"] = None
            self._annotation("host", [events[row] for row in rows.tolist()], start_ns[rows], duration_ns[rows])
            rows = np.flatnonzero(~steps)
            events = [events[row] for row in rows.tolist()]
            start_ns, duration_ns, names = start_ns[rows], duration_ns[rows], names[rows]
        if events:
            arguments = self._readers["host", "op"].read(list(map(_ARGS, events)))
            columns = {
                "external_id": arguments.take_integers(*_EXTERNAL_ID),
                "sequence": arguments.take_integers("Sequence number", low=0),
                # 0 marks a forward operator, and stays among the arguments.
                "forward_thread": arguments.take_integers("Fwd thread id", low=1),
                "thread": self._threads_of(events),
            }
            self._write_host("op", start_ns, duration_ns, names, columns, arguments)

    def _syncs(self, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        arguments = self._readers["host", "sync"].read(list(map(_ARGS, events)))
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
        """Host slices of the kinds that have no columns of their own."""
        arguments = self._readers["host", kind].read(list(map(_ARGS, events)))
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
        ids = self._recorder.append("host", {**times_and_names, **columns})
        write_leftovers(self._recorder, "host", ids, arguments.leftovers())
        return ids

    def _threads_of(self, events: list[Event], counted: bool = True) -> I64:
        """The threads of events. `counted`: their pids may be the process's own."""
        pids = list(map(_PID, events))
        if counted:
            counts = {pids[0]: len(pids)} if len(set(pids)) == 1 else Counter(pids)
            for pid, count in counts.items():
                if isinstance(pid, int):
                    self._pids[pid] += count
        return self._recorder.thread_ids(pids, list(map(_TID, events)))

    def _write_category(self, category: str, ids: I64) -> None:
        texts = pa.repeat(pa.scalar(json.dumps(category), pa.large_string()), len(ids))
        write_leftovers(self._recorder, "host", ids, [Leftover("cat", np.arange(len(ids)), None, texts)])

    def _annotation(self, side: str, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        arguments = self._readers["annotation", side].read(list(map(_ARGS, events)))
        columns: dict[str, Any] = {"external_id": arguments.take_integers(*_EXTERNAL_ID)}
        if side == "device":
            columns["device"], columns["stream"], unplaced = place(events, arguments)
            if len(unplaced):
                self._lose("unplaced_slice", len(unplaced), _place(events[int(unplaced[0])]))
        else:
            columns["thread"] = self._threads_of(events)
        ids = self._recorder.append(
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
        write_leftovers(self._recorder, "annotation", ids, arguments.leftovers())

    def _widen_window(self, events: list[Event], start_ns: I64, duration_ns: I64) -> None:
        if any(not isinstance(pid, int) for pid in set(map(_PID, events))):
            numeric = np.array([isinstance(event.pid, int) for event in events])
            start_ns, duration_ns = start_ns[numeric], duration_ns[numeric]
            if not len(start_ns):
                return
        self._piece.window_ns = widened(self._piece.window_ns, start_ns, duration_ns)


def _place(event: Event) -> str:
    """The first of several events, for people who look for them in the file."""
    category = f" ({event.cat[:60]})" if event.cat else ""
    name = text_of(bytes(event.name))[:60] or "without a name"
    return f"{FIRST} {name}{category}, pid {event.pid}, tid {event.tid}"


def widened(known: tuple[int, int] | None, start_ns: I64, duration_ns: I64) -> tuple[int, int]:
    """From the first start to the last end of what is known and of some slices."""
    begin, end = int(start_ns.min()), int((start_ns + duration_ns).max())
    return (begin, end) if known is None else (min(begin, known[0]), max(end, known[1]))
