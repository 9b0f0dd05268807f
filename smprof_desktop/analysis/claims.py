"""Under which operators, modules and annotations device time counts: for each name once, and once in all.

Two ways to count. *Beneath* a slice is what was launched inside it, so an outer slice counts what an inner one counts
too. The *own* device time is that of the innermost slice alone: summed over all names, with what nothing claims, it is
the device time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.layout import group_bounds, nesting
from smprof_desktop.analysis.executions import blocks
from smprof_desktop.analysis.intervals import Int64s, ends_of, greatest_so_far
from smprof_desktop.analysis.operators import OperatorTree
from smprof_desktop.analysis.statistics import exact_sum

NOBODY = -1


@dataclass(frozen=True)
class Claimants:
    """The slices of one kind that may claim device time: columns by thread, start and, longest first, duration.

    `group` numbers their names; `rows` are their positions in their table. Recorded times, not trimmed.
    """

    rows: Int64s
    thread: NDArray[Any]
    start_ns: Int64s
    end_ns: Int64s
    group: Int64s
    tree: OperatorTree

    def __len__(self) -> int:
        return len(self.rows)

    @staticmethod
    def of(rows: Int64s, thread: NDArray[Any], start_ns: Int64s, duration_ns: Int64s, group: NDArray[Any]) -> Claimants:
        """Of columns in any order."""
        order = np.lexsort((~duration_ns, start_ns, thread))
        rows, thread, start_ns, duration_ns, group = (
            column[order] for column in (rows, thread, start_ns, duration_ns, group)
        )
        depth, parent = nesting(group_bounds(thread), start_ns, duration_ns)
        tree = OperatorTree(0, parent, depth, start_ns, blocks(thread))
        return Claimants(
            np.asarray(rows, np.int64),
            thread,
            start_ns,
            ends_of(start_ns, duration_ns),
            np.asarray(group, np.int64),
            tree,
        )


@dataclass(frozen=True)
class Moments:
    """Executions at the moments by which they are claimed, `time_ns` on `thread`: columns of equal length.

    `execution` numbers them; the same one may stand at several moments. By thread and time.
    """

    execution: Int64s
    thread: NDArray[Any]
    time_ns: NDArray[Any]

    def __len__(self) -> int:
        return len(self.execution)

    @staticmethod
    def of(execution: Int64s, thread: NDArray[Any], time_ns: NDArray[Any]) -> Moments:
        """Of columns in any order."""
        order = np.lexsort((time_ns, thread))
        return Moments(execution[order], thread[order], time_ns[order])


@dataclass(frozen=True)
class Beneath:
    """Per claimant the moments inside it, as [low, high) of `moments`."""

    moments: Moments
    low: Int64s
    high: Int64s


def beneath(claimants: Claimants, moments: Moments) -> Beneath:
    """The moments in [start, end) of each claimant on its thread."""
    low, high = np.zeros((2, len(claimants)), np.int64)
    edges = {int(moments.thread[first]): (first, behind) for first, behind in blocks(moments.thread)}
    for first, behind in claimants.tree.threads:
        run = edges.get(int(claimants.thread[first]))
        if run is not None:
            times_ns = moments.time_ns[run[0] : run[1]]
            low[first:behind] = run[0] + np.searchsorted(times_ns, claimants.start_ns[first:behind], "left")
            high[first:behind] = run[0] + np.searchsorted(times_ns, claimants.end_ns[first:behind], "left")
    return Beneath(moments, low, np.maximum(low, high))


def executions_by_group(found: Beneath, groups: Int64s, wanted: NDArray[np.bool_]) -> Int64s:
    """The executions beneath any claimant of the groups for which `wanted` is true, each once, ascending."""
    mine = wanted[groups]
    low, high = found.low[mine], found.high[mine]
    steps = np.zeros(len(found.moments) + 1, np.int64)
    np.add.at(steps, low, 1)
    np.add.at(steps, high, -1)
    return np.unique(found.moments.execution[np.cumsum(steps[:-1]) > 0])


def times_by_group(found: Beneath, groups: Int64s, size: int, durations_ns: Int64s) -> list[int]:
    """For each group the time of the executions beneath its claimants, each counted once.

    `durations_ns` is that of each execution.
    """
    totals = [0] * size
    filled = np.flatnonzero(found.high > found.low)
    if not len(filled):
        return totals
    order = filled[np.lexsort((found.low[filled], groups[filled]))]
    groups_of, low, high = groups[order], found.low[order], found.high[order]
    fresh = np.append(True, groups_of[1:] != groups_of[:-1])
    reached = greatest_so_far(high, fresh)
    low = np.where(fresh, low, np.maximum(low, np.append(0, reached[:-1])))  # what an earlier one of the name holds
    high = np.maximum(low, high)
    times_ns = durations_ns[found.moments.execution]
    if exact_sum(np.abs(times_ns)) >= 1 << 63:
        times_ns = times_ns.astype(object)
    before = np.concatenate((np.zeros(1, times_ns.dtype), np.cumsum(times_ns)))
    firsts = np.flatnonzero(fresh)
    sums = np.add.reduceat(before[high] - before[low], firsts)
    for group, total in zip(groups_of[firsts].tolist(), sums.tolist(), strict=True):
        totals[group] = int(total)
    _count_once(found, totals, (groups_of, low, high), durations_ns)
    return totals


def innermost(claimants: Claimants, thread: NDArray[Any], time_ns: NDArray[Any]) -> Int64s:
    """For each moment the claimant that is open then on that thread and started last; NOBODY where none is."""
    found = np.full(len(time_ns), NOBODY, np.int64)
    parent = claimants.tree.parent
    for first, behind in claimants.tree.threads:
        mine = np.flatnonzero(thread == claimants.thread[first])
        times_ns = time_ns[mine]
        place = first - 1 + np.searchsorted(claimants.start_ns[first:behind], times_ns, "right")
        waiting = np.flatnonzero(place >= first)
        while len(waiting):
            open_then = claimants.end_ns[place[waiting]] > times_ns[waiting]
            done = waiting[open_then]
            found[mine[done]] = place[done]
            waiting = waiting[~open_then]
            place[waiting] = parent[place[waiting]]
            waiting = waiting[place[waiting] >= 0]
    return found


def _count_once(found: Beneath, totals: list[int], runs: tuple[Int64s, Int64s, Int64s], durations_ns: Int64s) -> None:
    """Correct the totals of groups that hold an execution at two moments: on its thread, and on whose behalf it ran."""
    executions = found.moments.execution
    twice = np.bincount(executions, minlength=1)[executions] > 1
    if not twice.any():
        return
    before = np.concatenate(([0], np.cumsum(twice)))
    groups, low, high = runs
    suspect = before[high] > before[low]
    for group in np.unique(groups[suspect]).tolist():
        mine = suspect & (groups == group)
        held = expanded(low[mine], high[mine])
        held = executions[held[twice[held]]]
        ids, counts = np.unique(held, return_counts=True)
        totals[group] -= exact_sum(durations_ns[ids[counts > 1]])


def expanded(low: Int64s, high: Int64s) -> Int64s:
    """All positions of some runs [low, high)."""
    lengths = high - low
    first = np.repeat(low - (np.cumsum(lengths) - lengths), lengths)
    return np.asarray(first + np.arange(len(first)), np.int64)


def forward_operators(
    thread: NDArray[Any],
    depth: NDArray[Any],
    start_ns: NDArray[Any],
    sequence: NDArray[Any],
    forward_thread: NDArray[Any],
) -> Int64s:
    """For each operator its forward operator where it is a backward one and that is known, else NOBODY.

    The rule of `enclosing.forward_of`: of the operators with the same sequence number on other threads that are no
    backward ones themselves, the first by start, and of those the outermost.
    """
    result = np.full(len(thread), NOBODY, np.int64)
    numbered = sequence >= 0
    backward = np.flatnonzero(numbered & (forward_thread > 0))
    if not len(backward):
        return result
    forward = np.flatnonzero(numbered & (forward_thread <= 0))
    forward = forward[np.isin(sequence[forward], np.unique(sequence[backward]))]
    if not len(forward):
        return result
    forward = forward[np.lexsort((depth[forward], start_ns[forward], sequence[forward]))]
    fresh = np.append(True, sequence[forward[1:]] != sequence[forward[:-1]])
    firsts = np.flatnonzero(fresh)
    number = np.cumsum(fresh) - 1
    other = np.flatnonzero(thread[forward] != thread[forward[firsts[number]]])
    numbers, place = np.unique(number[other], return_index=True)
    second = np.full(len(firsts), NOBODY, np.int64)
    second[numbers] = forward[other[place]]
    at = np.searchsorted(sequence[forward[firsts]], sequence[backward])
    known = at < len(firsts)
    known[known] = sequence[forward[firsts[at[known]]]] == sequence[backward[known]]
    at, backward = at[known], backward[known]
    first = forward[firsts[at]]
    result[backward] = np.where(thread[first] != thread[backward], first, second[at])
    return result


def inherited(tree: OperatorTree, values: Int64s) -> Int64s:
    """For each operator its own value, else that of the nearest one around it that has one; NOBODY where none has."""
    result = values.copy()
    for rows in tree.levels[1:]:
        rows = rows[result[rows] == NOBODY]
        result[rows] = result[tree.parent[rows]]
    return result


def names_to_groups(name_ids: NDArray[Any], texts: Sequence[str]) -> Int64s:
    """A number for each name: its id, and one behind them for a name that is lost."""
    return np.where((name_ids >= 0) & (name_ids < len(texts)), name_ids, len(texts)).astype(np.int64)
