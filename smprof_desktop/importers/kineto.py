"""Trace-event JSON of PyTorch's profiler (Kineto), in every dialect, → the tables of one process.

Rows stream: host slices are written piece by piece, device slices are held back until every launch is known.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import HOST_KINDS, NONE
from smprof.profile.writer import ProcessWriter
from smprof_desktop.importers import spans, times
from smprof_desktop.importers.counters import FIRST
from smprof_desktop.importers.crew import PieceCrew
from smprof_desktop.importers.document import Event, EventSource, Lose, TraceDocument
from smprof_desktop.importers.executions import Executions
from smprof_desktop.importers.flows import Call, Flows, free_ids
from smprof_desktop.importers.names import text_of
from smprof_desktop.importers.pairs import Lane, pair
from smprof_desktop.importers.pieces import CATEGORIES, MOST_MARKERS, Piece, PieceReader, TimedEvents
from smprof_desktop.importers.rows import append_rows
from smprof_desktop.importers.threads import Id, Threads

I64 = NDArray[np.int64]

KINETO_CATEGORIES = frozenset(CATEGORIES) - {"overhead"}

_API = HOST_KINDS.index("api")
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
        self.markers: list[dict[str, Any]] = []
        """Instants of no process, such as where the profiler's own recording ends."""
        self.window_ns: tuple[int, int] | None = None
        self.first_ns: int | None = None
        """First start of all slices."""
        self._process = process
        self._lose = lose
        self._reader = PieceReader(shift_ns)
        self._call_columns: list[tuple[I64, I64, I64]] = []
        self._call_lanes: list[tuple[I64, I64]] = []
        self._calls_without_correlation = TimedEvents()
        self._made: dict[int, int] = {}
        self._pair_events: list[tuple[int, Event]] = []
        self._async_events: list[tuple[int, Event]] = []
        self._session_ns: tuple[int, int] | None = None
        self._losses: dict[tuple[str, str], list[Any]] = {}
        """Count and detail of each kind of loss and what begins its detail."""
        self._instants: Counter[str] = Counter()
        self._phases: Counter[str] = Counter()

    def run(
        self,
        document: EventSource,
        advance: Callable[[float], None] = lambda share: None,
        crew: PieceCrew | None = None,
    ) -> dict[str, Any]:
        """Read everything and write it; gives the document's other top-level keys.

        A `crew` reads the pieces of a text beside this process, and is dismissed when there are no more.
        """
        if crew is not None and isinstance(document, TraceDocument):
            for piece, share in document.pieces_by(crew, self._reader.read):
                self._add(piece)
                advance(share)
            crew.dismiss()
        else:
            for events, share in document.pieces():
                self._add(self._reader.read(events))
                advance(share)
        self._count_losses()
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
        self._count_losses()
        self._count_outside_session()
        self._count_by_name("instant", self._instants)
        self._count_by_name("unknown_phase", self._phases)
        return document.finish()

    def _add(self, piece: Piece) -> None:
        """Put a piece behind those before."""
        threads = [self.threads.id(pid, tid) for pid, tid in piece.rows.threads]
        shapes, tables = append_rows(self._process, piece.rows, threads)
        if "host" in tables:
            self._note_calls(tables["host"])
        for chunk in piece.chunks:
            chunk.shape_id = shapes[chunk.shape_id]
            self.executions.chunks.append(chunk)
        self._calls_without_correlation.extend(piece.calls)
        self._pair_events += piece.pairs.pairs()
        self._async_events += piece.asynchronous.pairs()
        for time_ns, event in piece.markers.pairs():
            if len(self.markers) < MOST_MARKERS:
                self.markers.append(_marker(time_ns, event))
            else:
                self._instants[text_of(bytes(event.name))[:60]] += 1
        self._instants.update(piece.instants)
        self.flows.add(piece.flows)
        for kind, pid, tid, args in piece.metadata:
            self.metadata_rows[kind, pid, tid] = args
        self.pids.update(dict(piece.pids))
        self.recorded.update(piece.recorded)
        self._phases.update(piece.phases)
        for kind, count, detail in piece.losses:
            known = self._losses.setdefault((kind, FIRST if detail.startswith(FIRST) else detail), [0, detail])
            known[0] += count
        if piece.first_ns is not None:
            self.first_ns = piece.first_ns if self.first_ns is None else min(piece.first_ns, self.first_ns)
        if piece.window_ns is not None:
            begin, end = self.window_ns or piece.window_ns
            self.window_ns = min(begin, piece.window_ns[0]), max(end, piece.window_ns[1])
        if piece.session_ns is not None:
            begin, end = self._session_ns or piece.session_ns
            self._session_ns = min(begin, piece.session_ns[0]), max(end, piece.session_ns[1])

    def _note_calls(self, host: dict[str, Any]) -> None:
        """Keep of API calls what executions are linked by."""
        if "correlation" not in host:
            return
        rows = np.flatnonzero(host["kind"] == _API)
        if len(rows):
            columns = (host[name][rows] for name in ("correlation", "external_id", "start_ns", "thread", "duration_ns"))
            correlation, external, start_ns, thread, duration_ns = columns
            self._call_columns.append((correlation, external, start_ns))
            self._call_lanes.append((thread, duration_ns))

    def _write_pairs(self, document: EventSource) -> None:
        nested = pair(self._pair_events, lambda lanes: self._last_ends(document, lanes))
        for pairs in (nested, spans.asynchronous(self._async_events)):
            self._lose("unmatched_begin", pairs.unmatched_begins, "")
            self._lose("unmatched_end", pairs.unmatched_ends, "")
            if pairs.events:
                start_ns, duration_ns = np.array(pairs.starts_ns, np.int64), np.array(pairs.durations_ns, np.int64)
                self._add(self._reader.slices(pairs.events, start_ns, duration_ns))

    def _last_ends(self, document: EventSource, lanes: set[Lane]) -> dict[Lane, int]:
        """The last end of the slices of each lane, from a second reading: only a file cut short needs it."""
        ends: dict[Lane, int] = {}
        for events, _share in document.pieces():
            chosen = [event for event in events if event.ph == "X" and (event.pid, event.tid) in lanes]
            start_ns, fate = self._reader.shifted(*times.nanoseconds([event.ts for event in chosen]))
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
        for (correlation, _external, start_ns), (thread, duration_ns) in zip(
            self._call_columns, self._call_lanes, strict=True
        ):
            rows = (column.tolist() for column in (thread, start_ns, duration_ns, correlation))
            for lane, start, duration, value in zip(*rows, strict=True):
                calls[lane, start].append((duration, value, None))
        waiting = self._calls_without_correlation
        for index, (event, start, duration) in enumerate(
            zip(waiting.events, waiting.times_ns, waiting.durations_ns, strict=True)
        ):
            calls[self.threads.id(event.pid, event.tid), start].append((duration, NONE, index))
        taken = [correlation for correlation, _external, _start_ns in self._call_columns]
        free = free_ids(np.concatenate((*taken, self.executions.column("correlation"))))
        self._made = self.flows.link(self._flow_events(document), bare, calls, self.threads, free)

    def _flow_events(self, document: EventSource) -> Iterable[tuple[int, Event]]:
        for events, _share in document.pieces():
            flows = [event for event in events if event.ph in ("s", "f")]
            time_ns, fate = self._reader.shifted(*times.nanoseconds([event.ts for event in flows]))
            yield from (
                (time, flow)
                for time, flow, what in zip(time_ns.tolist(), flows, fate.tolist(), strict=True)
                if what == times.GOOD
            )

    def _write_calls_without_correlation(self) -> None:
        waiting = self._calls_without_correlation
        if waiting.events:
            made = np.full(len(waiting.events), NONE, dtype=np.int64)
            for index, correlation in self._made.items():
                made[index] = correlation
            start_ns, duration_ns = np.array(waiting.times_ns, np.int64), np.array(waiting.durations_ns, np.int64)
            self._add(self._reader.calls(waiting.events, start_ns, duration_ns, made))

    def _count_losses(self) -> None:
        for (kind, _), (count, detail) in self._losses.items():
            self._lose(kind, count, detail)
        self._losses.clear()

    def _count_outside_session(self) -> None:
        """Count executions that lie outside of what the profiler says it recorded, as those by another clock do."""
        if self._session_ns is None:
            return
        start_ns, duration_ns = self.executions.column("start_ns"), self.executions.column("duration_ns")
        outside = np.flatnonzero((start_ns > self._session_ns[1]) | (start_ns + duration_ns < self._session_ns[0]))
        if len(outside):
            first = outside[np.argmin(start_ns[outside])]
            place = ", ".join(
                f"{label} {self.executions.column(name)[first]}"
                for label, name in (("GPU", "device"), ("stream", "stream"), ("correlation", "correlation"))
            )
            self._lose("outside_session", len(outside), f"the first on {place}")

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
