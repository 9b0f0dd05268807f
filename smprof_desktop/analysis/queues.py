"""How much work waits on a stream: executions that are launched and not yet finished."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.analysis import intervals
from smprof_desktop.analysis.executions import Columns, blocks
from smprof_desktop.analysis.intervals import Int64s, ends_of
from smprof_desktop.analysis.statistics import exact_sum

FULL = 1024
"""Launches that a CUDA stream takes before the next call has to wait."""


@dataclass(frozen=True)
class Waiting:
    """The linked executions of one stream that are launched or unfinished in a range: each is waited for in
    [launched_ns, finished_ns), trimmed to the range; `row` are their positions in `device`."""

    device: int
    stream: int
    row: Int64s
    launched_ns: Int64s
    finished_ns: Int64s

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True)
class Queue:
    """The queue of one stream. `waited_ns` is the sum over its executions in each bin of time: its mean length there
    times the width of the bin."""

    device: int
    stream: int
    executions: int
    waited_ns: list[int]
    longest: int
    full_ns: int

    @property
    def total_ns(self) -> int:
        """The sum over all bins."""
        return sum(self.waited_ns)


def waiting(device: Columns, host: Columns, begin_ns: int, end_ns: int) -> list[Waiting]:
    """What waits on each stream in [begin_ns, end_ns), from the start of the call to the end of the execution.

    An execution that ends before its launch starts, by clocks that disagree, never waited.
    """
    found = []
    for first, behind in blocks(device["device"], device["stream"]):
        launch = device["launch"][first:behind]
        linked = np.flatnonzero(launch >= 0)
        rows = first + linked
        finished_ns = ends_of(device["start_ns"][rows], device["duration_ns"][rows])
        launched_ns = np.maximum(host["start_ns"][launch[linked]], begin_ns)
        finished_ns = np.minimum(finished_ns, end_ns)
        inside = launched_ns < finished_ns
        if not inside.all():
            rows, launched_ns, finished_ns = rows[inside], launched_ns[inside], finished_ns[inside]
        if len(rows):
            found.append(
                Waiting(int(device["device"][first]), int(device["stream"][first]), rows, launched_ns, finished_ns)
            )
    return found


def queue(work: Waiting, edges_ns: Int64s, full: int = FULL) -> Queue:
    """The length of a queue over time, its greatest, and how long it was `full` or longer.

    `edges_ns` cover all of `work`.
    """
    launched_ns, finished_ns = (np.sort(times, kind="stable") for times in (work.launched_ns, work.finished_ns))
    began, ended = _sums_up_to(launched_ns, edges_ns), _sums_up_to(finished_ns, edges_ns)
    covered = [before - after for before, after in zip(began, ended, strict=True)]
    longest = int((np.arange(1, len(work) + 1) - np.searchsorted(finished_ns, launched_ns, "right")).max())
    full_ns = intervals.length_of_disjoint(*_at_least(launched_ns, finished_ns, full)) if longest >= full else 0
    return Queue(
        work.device,
        work.stream,
        len(work),
        [later - earlier for earlier, later in pairwise(covered)],
        longest,
        full_ns,
    )


def full_moments(work: Waiting, full: int = FULL) -> tuple[Int64s, Int64s]:
    """When the queue is `full` or longer: disjoint intervals, sorted."""
    return _at_least(np.sort(work.launched_ns), np.sort(work.finished_ns), full)


def _at_least(launched_ns: Int64s, finished_ns: Int64s, length: int) -> tuple[Int64s, Int64s]:
    """When at least `length` intervals are open, from their starts and their ends, both sorted.

    Between the start number j + length and the end number j (counted from 1) no more than j - 1 have ended and as many
    as j + length - 1 have begun; elsewhere fewer are open.
    """
    if len(launched_ns) < length:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return intervals.union(launched_ns[length - 1 :], finished_ns[: len(finished_ns) - length + 1])


def _sums_up_to(times_ns: NDArray[Any], edges_ns: Int64s) -> list[int]:
    """For each edge the sum of its distances to all earlier times: Python integers, as sums leave 64 bits."""
    places = [0, *np.searchsorted(times_ns, edges_ns, "left").tolist()]
    origin_ns = int(edges_ns[0])
    found, count, total_ns = [], 0, 0
    for low, high, edge_ns in zip(places[:-1], places[1:], edges_ns.tolist(), strict=True):
        if high > low:
            run = times_ns[low:high]
            total_ns += exact_sum(intervals.differences(run, np.full(1, origin_ns, np.int64)))
            count += high - low
        found.append(count * (edge_ns - origin_ns) - total_ns)
    return found
