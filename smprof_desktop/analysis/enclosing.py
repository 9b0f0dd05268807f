"""What stands around a host slice, and what was launched inside one. Reads no more than it needs of a long profile.

`lane_rows` tell where the slices of one kind, thread and depth stand: a stretch in which starts and ends both ascend.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import HOST_KINDS, NONE, SLICE_TABLES
from smprof_desktop.analysis.causes import Operators, causing_threads
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.analysis.statistics import exact_sum

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile


VOTES = 8
"""Backward operators for each forward thread that are asked for their forward operator."""
AROUND = 64
"""Operators before and behind a range that tell, line by line, whom a thread runs for."""
_ANNOTATED = ("annotation", "host")
_MOST = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class Launched:
    """What was launched inside a slice: how many calls launched something, and what they launched, by start.

    `rows` are positions in `device`; `start_ns` and `duration_ns` are theirs.
    """

    calls: int
    rows: Int64s
    start_ns: Int64s
    duration_ns: Int64s

    @property
    def total_ns(self) -> int:
        """The sum of the durations, overlap counted twice."""
        return exact_sum(self.duration_ns)

    @property
    def longest(self) -> int:
        """Position in `device` of the longest, of several the first. Raises ValueError where there is none."""
        return int(self.rows[int(self.duration_ns.argmax())])


class Surroundings:
    """The host lanes of one process, to be asked what stands around or inside a slice."""

    def __init__(self, process: ProcessProfile) -> None:
        self._process = process
        lanes = process.table("lane_rows")
        kinds = lanes.texts("kind")
        lengths = [len(process.table(name)) for name in SLICE_TABLES]
        self._lines: dict[tuple[str, str, int], list[tuple[int, int, int]]] = {}
        columns = [lanes[name].tolist() for name in ("table", "thread", "row", "begin_row", "end_row")]
        for kind, table, thread, depth, begin, end in zip(kinds, *columns, strict=True):
            begin = min(max(begin, 0), lengths[table])  # what a damaged file says is held to what the table holds
            line = depth, begin, min(max(end, begin), lengths[table])
            self._lines.setdefault((SLICE_TABLES[table], str(kind), thread), []).append(line)
        for lines in self._lines.values():
            lines.sort()

    def around(self, table: str, kind: str, thread: int, start_ns: int, end_ns: int) -> list[int]:
        """Slices of one kind (an annotation's is its side) and thread that contain [start_ns, end_ns), outermost
        first: at most one per depth."""
        columns = self._process.table(table)
        found = []
        for _depth, begin, end in self._lines.get((table, kind, thread), ()):
            row = columns.last_at("start_ns", begin, end, start_ns)
            if row >= begin and sum(self.times(table, row)) >= end_ns:
                found.append(row)
        return found

    def times(self, table: str, row: int) -> tuple[int, int]:
        """Start and duration of a slice."""
        columns = self._process.table(table)
        return columns.value("start_ns", row), columns.value("duration_ns", row)

    def operators_around(self, row: int) -> list[int]:
        """The operators that a host slice stands in, outermost first. Of an API call `op` names the innermost."""
        host = self._process.table("host")
        inner = host.value("op", row)
        innermost = inner if inner != NONE else row
        thread = host.value("thread", innermost)
        start_ns, duration_ns = self.times("host", innermost)
        around = self.around("host", "op", thread, start_ns, start_ns + duration_ns)
        around = [found for found in around if found not in (row, inner)]
        return [*around, inner] if inner != NONE else around

    def launched_inside(self, thread: int, begin_ns: int, end_ns: int) -> Launched:
        """What the API calls of one thread launched that start in [begin_ns, end_ns). Costs what starts therein."""
        return self.launched_by(self._starting("api", thread, begin_ns, end_ns))

    def caused_inside(self, thread: int, begin_ns: int, end_ns: int) -> Launched:
        """The same, and what other threads launched therein on behalf of this one, by the rules of `causes`.

        Whose behalf it was is told by the backward operators near that time; the whole recording is not asked.
        """
        own, process = self.launched_inside(thread, begin_ns, end_ns), self._process
        others = sorted({lane for _, kind, lane in self._lines if kind == "api"} - {thread})
        found = self.launched_by([run for lane in others for run in self._starting("api", lane, begin_ns, end_ns)])
        if not len(found.rows):
            return own
        host = process.table("host")
        launch = process.table("device").at("launch", found.rows)
        annotated = np.array(
            sorted({lane for table, kind, lane in self._lines if (table, kind) == _ANNOTATED}), np.int64
        )
        operators = self._backward(others, begin_ns, end_ns)
        if not len(operators.thread) and self._knows_forward():
            return own  # the source tells whose behalf work is on, and tells it of none here
        owners = causing_threads(operators, host.at("thread", launch), host.at("start_ns", launch), np.array(annotated))
        mine = owners == thread
        launch = np.concatenate((process.table("device").at("launch", own.rows), launch[mine]))
        rows, starts_ns, durations_ns = (
            np.concatenate((getattr(own, name), getattr(found, name)[mine]))
            for name in ("rows", "start_ns", "duration_ns")
        )
        order = np.argsort(starts_ns, kind="stable")
        return Launched(len(np.unique(launch)), rows[order], starts_ns[order], durations_ns[order])

    def launched_by(self, calls: list[tuple[int, int]]) -> Launched:
        """What the API calls of some runs [first, behind) of rows of `host` launched."""
        host, device = self._process.table("host"), self._process.table("device")
        none = Launched(0, *np.zeros((3, 0), np.int64))
        ids = np.concatenate([host.part("correlation", *run) for run in calls]) if calls else none.rows
        ids = ids[ids > 0]
        if not len(ids):
            return none
        # Who launched what is decided by `launch`; the ids only tell where to look.
        runs = np.array(sorted(calls), np.int64)
        rows, launch = [none.rows], [none.rows]
        for begin, end in device.stretches("correlation", int(ids.min()), int(ids.max())):
            launches = device.part("launch", begin, end)
            at = np.searchsorted(runs[:, 0], launches, "right") - 1
            mine = np.flatnonzero((at >= 0) & (launches < runs[np.maximum(at, 0), 1]))
            rows.append(begin + mine)
            launch.append(launches[mine])
        found = np.concatenate(rows)
        starts_ns = device.at("start_ns", found)
        order = np.argsort(starts_ns, kind="stable")
        found = found[order]
        return Launched(
            len(np.unique(np.concatenate(launch))), found, starts_ns[order], device.at("duration_ns", found)
        )

    def _starting(self, kind: str, thread: int, begin_ns: int, end_ns: int) -> list[tuple[int, int]]:
        """Rows [first, behind) of host slices of a kind and thread that start in [begin_ns, end_ns), line by line."""
        host = self._process.table("host")
        runs = []
        for _depth, begin, end in self._lines.get(("host", kind, thread), ()):
            first = host.last_at("start_ns", begin, end, begin_ns - 1) + 1
            behind = host.last_at("start_ns", first, end, end_ns - 1) + 1
            if first < behind:
                runs.append((first, behind))
        return runs

    def _backward(self, threads: list[int], begin_ns: int, end_ns: int) -> Operators:
        """Backward operators of some threads in [begin_ns, end_ns) and around it, and forward ones of some of them.

        Those around it tell whom a thread runs for between its backward operators.
        """
        host = self._process.table("host")
        rows = [np.zeros(0, np.int64)]
        for thread in threads:
            for _depth, first, behind in self._lines.get(("host", "op", thread), ()):
                begin = host.last_at("start_ns", first, behind, begin_ns) - AROUND
                end = host.last_at("start_ns", first, behind, end_ns) + AROUND
                rows.append(np.arange(max(begin, first), min(end, behind)))
        found = np.concatenate(rows)
        found = found[(host.at("forward_thread", found) > 0) & (host.at("sequence", found) >= 0)]
        numbers, forward = host.at("forward_thread", found), []
        for number in np.unique(numbers).tolist():
            mine = found[numbers == number]
            asked = host.at("sequence", mine[:: 1 + len(mine) // VOTES])
            for sequence in np.unique(asked).tolist():
                same = _of_sequence(self._process, sequence)
                forward.append(same[host.at("forward_thread", same) <= 0])
        every = np.unique(np.concatenate([found, *forward]))
        names = ("thread", "start_ns", "duration_ns", "sequence", "forward_thread")
        return Operators(*(host.at(name, every) for name in names))

    def _knows_forward(self) -> bool:
        """Whether any operator of the process tells which thread it runs for."""
        host = self._process.table("host")
        stretches = host.stretches("forward_thread", 1, _MOST)
        return any((host.part("forward_thread", begin, end) > 0).any() for begin, end in stretches)


def forward_of(process: ProcessProfile, row: int) -> int | None:
    """The forward operator of a backward one: the outermost with its sequence number; None where it cannot be told.

    The framework counts sequences per thread; the profile keeps no more of it than these numbers.
    """
    host = process.table("host")
    if host.value("forward_thread", row) <= 0:  # most operators, told without reading more
        return None
    sequence, thread = host.value("sequence", row), host.value("thread", row)
    if sequence < 0:
        return None
    same = _of_sequence(process, sequence)
    same = same[(host.at("forward_thread", same) <= 0) & (host.at("thread", same) != thread)]
    if not len(same):
        return None
    return int(same[np.lexsort((host.at("depth", same), host.at("start_ns", same)))[0]])


def backward_of(process: ProcessProfile, row: int) -> list[int]:
    """The outermost backward operators of a forward one, by start."""
    host = process.table("host")
    sequence, forward_thread = (host.value(name, row) for name in ("sequence", "forward_thread"))
    if sequence < 0 or forward_thread > 0:
        return []
    same = _of_sequence(process, sequence)
    same = same[host.at("forward_thread", same) > 0]
    starts_ns = host.at("start_ns", same)
    ends_ns = starts_ns + host.at("duration_ns", same)
    order = np.lexsort((host.at("depth", same), starts_ns)).tolist()
    found: list[int] = []
    reached_ns: dict[int, int] = {}
    for index in order:  # one stands inside another of its number and thread where that one is still open
        thread = host.value("thread", int(same[index]))
        if int(starts_ns[index]) >= reached_ns.get(thread, int(starts_ns[index])):
            found.append(int(same[index]))
            reached_ns[thread] = int(ends_ns[index])
    return [backward for backward in found if forward_of(process, backward) == row]


def _of_sequence(process: ProcessProfile, sequence: int) -> Int64s:
    host = process.table("host")
    same = host.rows_with("sequence", sequence)
    is_operator: NDArray[np.bool_] = host.at("kind", same) == HOST_KINDS.index("op")
    return same[is_operator]
