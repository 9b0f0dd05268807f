"""Trace-event JSON of programs other than PyTorch's profiler → one process for each pid."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Raw

from smprof.profile.manifest import Clock, Process
from smprof.profile.writer import ProfileWriter
from smprof_desktop.importers import spans
from smprof_desktop.importers.document import Event, Lose, TraceDocument
from smprof_desktop.importers.facts import describe
from smprof_desktop.importers.kineto import KINETO_CATEGORIES, TraceImport
from smprof_desktop.importers.threads import Id, number

MOST_PROCESSES = 100
"""A trace of more pids is one process, whose threads say whose they are: each process is a folder of files."""

_FLOWS = frozenset("stf")
_ZERO = Raw(b"0")
_PIECE_EVENTS = 50_000
_READ_SHARE = 0.4


class _Events:
    """Some events of a document, as a document of their own."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events

    def pieces(self) -> Iterator[tuple[list[Event], float]]:
        for begin in range(0, len(self._events), _PIECE_EVENTS):
            piece = self._events[begin : begin + _PIECE_EVENTS]
            yield piece, (begin + len(piece)) / len(self._events)

    def finish(self) -> dict[str, Any]:
        return {}


def import_events(
    document: TraceDocument,
    writer: ProfileWriter,
    new_process: Callable[[], Process],
    shift_ns: int,
    file_name: str,
    lose: Lose,
    advance: Callable[[float], None] = lambda share: None,
) -> Clock:
    """Write every process of a trace, each made by `new_process` and then described; gives their clock.

    What the trace says about itself goes to the first process. A trace that turns out to be of PyTorch's profiler is
    one process, as are those of very many pids.
    """
    groups, loose = _by_pid(document, advance)
    keys = document.finish()
    is_kineto = any(
        event.cat in KINETO_CATEGORIES and event.ph == "X" for events in groups.values() for event in events
    )
    if is_kineto or not 0 < len(groups) <= MOST_PROCESSES:
        groups = {None: [event for events in groups.values() for event in events]}
    first = next(iter(groups))
    groups[first] = loose + groups[first]
    clock: Clock | None = None
    for index, (pid, events) in enumerate(groups.items()):
        process = writer.process(new_process())
        trace = TraceImport(process, lose, shift_ns)
        trace.run(_Events(events if is_kineto else [_shown(event) for event in events]))
        its_clock = describe(process.info, trace, keys, file_name)
        if len(groups) > 1:
            _name(process.info, pid, trace)
        if clock is None or its_clock.kind == "unix":
            clock = its_clock
        keys = {key: value for key, value in keys.items() if key == "baseTimeNanoseconds"}
        advance(_READ_SHARE + (1 - _READ_SHARE) * (index + 1) / len(groups))
        # The events are the largest thing in memory.
        events.clear()
    assert clock is not None
    return clock


def _by_pid(document: TraceDocument, advance: Callable[[float], None]) -> tuple[dict[Id, list[Event]], list[Event]]:
    """The events of each pid, in the order in which pids are met; and metadata without one."""
    groups: defaultdict[Id, list[Event]] = defaultdict(list)
    loose: list[Event] = []
    for events, share in document.pieces():
        for event in events:
            (loose if event.ph == "M" and event.pid is None else groups[number(event.pid)]).append(event)
        advance(share * _READ_SHARE)
    return dict(groups), loose


def _shown(event: Event) -> Event:
    """A flow event as a slice of no length where it begins, steps or ends; the id of the others among their arguments.

    Nothing else in a trace without launches can say what a flow joins.
    """
    if event.ph in _FLOWS:
        shown = spans.instant(event)
        shown.dur, shown.ts = _ZERO, event.ts
        return shown
    if len(event.id) and event.ph in ("X", "B"):
        event.args = spans.with_id(event)
    return event


def _name(process: Process, pid: Id, trace: TraceImport) -> None:
    """What distinguishes one process of a trace from the others: its pid."""
    process.pid = pid if isinstance(pid, int) and -(1 << 63) <= pid < 1 << 63 else None
    process.process = str(pid) if pid is not None else ""
    named = [_name_in(args) for (kind, _pid, _tid), args in trace.metadata_rows.items() if kind == "process_name"]
    process.name = next(filter(None, named), f"pid {pid}" if pid is not None else "no pid")


def _name_in(args: bytes) -> str:
    try:
        fields = msgspec.json.decode(args)
    except msgspec.DecodeError:
        return ""
    return str(fields.get("name", "")).strip() if isinstance(fields, dict) else ""
