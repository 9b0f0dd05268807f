"""Framework operators: their time on the host, with and without what they call, and the device time they caused."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.layout import nesting
from smprof.profile.schema import HOST_KINDS, LOST_NAME
from smprof_desktop.analysis.executions import Columns, Part, blocks
from smprof_desktop.analysis.intervals import Int64s, ends_of, greatest_so_far
from smprof_desktop.analysis.statistics import sums

_OP = HOST_KINDS.index("op")
MOST_LINES = 16
"""Lines of its thread in which an operator's caller is looked for, on average, before a thread is sorted instead."""
FEWEST_ON_LINE = 8
"""Operators on a line, on average, for which searching line by line pays."""


@dataclass
class OperatorTotal:
    """All calls of one operator."""

    name: str
    count: int
    host_total_ns: int
    host_self_ns: int
    device_ns: int


@dataclass(frozen=True)
class OperatorTree:
    """The operators of one process and who called whom.

    The operators are rows `first`, `first + 1`, … of the host table. All columns are as long as there are operators,
    and count from `first` too.
    """

    first: int
    parent: Int64s
    """The operator in which each one was called, on the same thread; -1 where none."""
    depth: NDArray[np.int32]
    """How many operators stand around it."""
    start_ns: Int64s
    threads: list[tuple[int, int]]
    """[first, behind) of each thread's operators."""

    @cached_property
    def levels(self) -> list[Int64s]:
        """The operators by their depth, 0 first."""
        deepest = int(self.depth.max()) if len(self.depth) else 0
        # 16 bits are sorted by counting, in a fifth of the time.
        depth = self.depth.astype(np.int16) if deepest < 1 << 15 else self.depth
        by_depth = np.argsort(depth, kind="stable")
        edges = np.concatenate(([0], np.cumsum(np.bincount(self.depth)))).tolist()
        return [by_depth[low:high] for low, high in pairwise(edges)]

    @cached_property
    def order(self) -> Int64s:
        """Every operator, thread by thread: before those called in it, and after those called before it."""
        order = np.empty(len(self.parent), np.int64)
        for low, high in self.threads:
            # A thread's rows come depth by depth, so equal starts keep the outermost first.
            order[low:high] = low + np.argsort(self.start_ns[low:high], kind="stable")
        return order


def tree(host: Columns) -> OperatorTree:
    """Who called whom among the operators of the host table."""
    kinds = host["kind"]
    first, behind = int(np.searchsorted(kinds, _OP, "left")), int(np.searchsorted(kinds, _OP, "right"))
    starts_ns, durations_ns = host["start_ns"][first:behind], host["duration_ns"][first:behind]
    lines = host["depth"][first:behind]
    parent, depth = np.full(behind - first, -1, np.int64), np.zeros(behind - first, np.int32)
    threads = blocks(host["thread"][first:behind])
    found = OperatorTree(first, parent, depth, starts_ns, threads)
    laid_out_ns = starts_ns
    if len(starts_ns) and int(starts_ns.max()) == np.iinfo(np.int64).max:
        laid_out_ns = np.minimum(starts_ns, np.iinfo(np.int64).max - 1)
    ends_ns = ends_of(laid_out_ns, np.maximum(durations_ns, 1))  # as they were laid out: no length counts as 1 ns
    for low, high in threads:
        levels = [(low + begin, low + end) for begin, end in blocks(lines[low:high])]
        if not _call_by_line(levels, laid_out_ns, ends_ns, parent, depth):
            rows = found.order[low:high]
            depth[rows], above = nesting(np.array([0, high - low], np.int64), starts_ns[rows], durations_ns[rows])
            parent[rows] = np.where(above >= 0, rows[np.maximum(above, 0)], -1)
    return found


def _call_by_line(
    levels: list[tuple[int, int]], starts_ns: Int64s, ends_ns: Int64s, parent: Int64s, depth: NDArray[np.int32]
) -> bool:
    """Fill in parent and depth of one thread's operators; False where that would take too long.

    Each level is a line of the thread's lane, from above: its slices ascend and do not overlap. Of the slices open at
    a moment the one that started last lies lowest, so the caller is what is open on the nearest line that has any.
    Searching line after line is quick where lines are long and callers near, as in all but the deepest stacks.
    """
    if FEWEST_ON_LINE * len(levels) > levels[-1][1] - levels[0][0] > FEWEST_ON_LINE:
        return False
    searched, most = 0, MOST_LINES * (levels[-1][1] - levels[0][0])
    for place, (low, high) in enumerate(levels):
        waiting = np.arange(low, high)
        for above_low, above_high in levels[place - 1 :: -1] if place else ():
            times_ns = starts_ns[waiting]
            above = above_low - 1 + np.searchsorted(starts_ns[above_low:above_high], times_ns, "right")
            open_there = (above >= above_low) & (ends_ns[above] > times_ns)
            called = waiting[open_there]
            parent[called] = above[open_there]
            depth[called] = depth[above[open_there]] + 1
            waiting = waiting[~open_there]
            if not len(waiting):
                break
            searched += len(waiting)
            if searched > most:
                return False
    return True


def self_times(operators: OperatorTree, starts_ns: Int64s, ends_ns: Int64s) -> Int64s:
    """Each operator's duration minus the time of the operators called directly in it.

    Where operators cross, each moment belongs to the one that started last, so self time is never negative.
    """
    result = np.asarray(ends_ns - starts_ns, np.int64)
    called = np.flatnonzero(operators.parent >= 0)
    callers = operators.parent[called]
    np.subtract.at(result, callers, result[called].copy())
    crosses = called[ends_ns[called] > ends_ns[callers]]
    if len(crosses):
        cluster = np.empty(len(result), np.int64)
        cluster[operators.order] = np.cumsum(operators.parent[operators.order] < 0)
        rows = operators.order[np.isin(cluster[operators.order], cluster[crosses])]
        for low, high in blocks(cluster[rows]):
            result[rows[low:high]] = _uncovered(starts_ns[rows[low:high]].tolist(), ends_ns[rows[low:high]].tolist())
    return result


def _uncovered(starts_ns: list[int], ends_ns: list[int]) -> list[int]:
    """Of each interval the length that no later one covers. Starts ascend, but for those of empty intervals."""
    result = [0] * len(starts_ns)
    behind: list[tuple[int, int]] = []  # the union of the later ones, the first of them on top
    for index in range(len(starts_ns) - 1, -1, -1):
        start_ns, end_ns = starts_ns[index], ends_ns[index]
        if start_ns >= end_ns:
            continue
        covered_ns, reached_ns = 0, end_ns
        while behind and behind[-1][0] < end_ns:
            begin_ns, until_ns = behind.pop()
            covered_ns += min(until_ns, end_ns) - begin_ns
            reached_ns = max(reached_ns, until_ns)
        result[index] = end_ns - start_ns - covered_ns
        behind.append((start_ns, reached_ns))
    return result


def device_times(operators: OperatorTree, host: Columns, device: Part, launch: NDArray[Any]) -> NDArray[Any]:
    """Device time launched in each operator and in all it calls: a plain sum over the executions.

    An execution belongs to the operator of its launch (the column `op`) and to every operator around that one.
    """
    times_ns: NDArray[Any] = np.zeros(len(operators.parent), np.int64)
    if not len(times_ns) or not len(device):
        return times_ns
    linked = launch >= 0
    operator = host["op"][launch[linked]] - operators.first
    known = (operator >= 0) & (operator < len(times_ns))
    times_ns = sums(operator[known], device.duration_ns[linked][known], len(times_ns))
    for rows in reversed(operators.levels[1:]):
        np.add.at(times_ns, operators.parent[rows], times_ns[rows])
    return times_ns


def totals(host: Part, device: Part, launch: NDArray[Any], texts: list[str]) -> list[OperatorTotal]:
    """One total for each operator name among the rows of `host`; times trimmed as the parts are.

    `launch` is the position in the host table of each execution's launch, negative where there is none.

    `device_ns` of a name counts each execution once, also where an operator calls one of its own name.
    """
    table = host.table
    operators = tree(table)
    count = len(operators.parent)
    if not count:
        return []
    kinds = host.column("kind")
    called = host.between(int(np.searchsorted(kinds, _OP, "left")), int(np.searchsorted(kinds, _OP, "right")))
    starts_ns, ends_ns = called.start_ns, called.end_ns
    name_ids = table["name_id"][operators.first : operators.first + count]
    groups, size = (
        np.where((name_ids >= 0) & (name_ids < len(texts)), name_ids, len(texts)).astype(np.int64),
        len(texts) + 1,
    )
    if len(called) < count:  # rows outside the range have no length, and lie before everything
        place = called.positions() - operators.first
        starts_ns, ends_ns = np.full((2, count), np.iinfo(np.int64).min)
        starts_ns[place], ends_ns[place] = called.start_ns, called.end_ns
        counts = np.bincount(groups[place], minlength=size)
    else:
        counts = np.bincount(groups, minlength=size)
    host_total_ns = sums(groups, ends_ns - starts_ns, size)
    host_self_ns = sums(groups, self_times(operators, starts_ns, ends_ns), size)
    device_ns = device_times(operators, table, device, launch)
    caused = device_ns > 0
    outermost = np.flatnonzero(caused & ~within_same_name(operators, groups, caused))
    device_total_ns = sums(groups[outermost], device_ns[outermost], size)
    return merged(
        OperatorTotal(
            texts[group] if group < len(texts) else LOST_NAME,
            int(counts[group]),
            int(host_total_ns[group]),
            int(host_self_ns[group]),
            int(device_total_ns[group]),
        )
        for group in np.flatnonzero((counts > 0) | (device_total_ns > 0)).tolist()
    )


def merged(found: Any) -> list[OperatorTotal]:
    """One entry a name, host time descending, then name."""
    by_name: dict[str, OperatorTotal] = {}
    for total in found:
        entry = by_name.setdefault(total.name, OperatorTotal(total.name, 0, 0, 0, 0))
        entry.count += total.count
        entry.host_total_ns += total.host_total_ns
        entry.host_self_ns += total.host_self_ns
        entry.device_ns += total.device_ns
    return sorted(by_name.values(), key=lambda total: (-total.host_total_ns, total.name))


def within_same_name(operators: OperatorTree, names: Int64s, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which operators stand, at any distance, inside one of their own name. `names` are 0 or more.

    Asked of the operators for which `among` is true, which must then be true of all that stand around them.
    """
    found = np.zeros(len(names), bool)
    rows = operators.order[among[operators.order]]
    if not len(rows):
        return found
    names, depths = names[rows], operators.depth[rows]
    most = int(names.max()) + 1
    shallow, deep = np.full(most, depths.max() + 1, depths.dtype), np.zeros(most, depths.dtype)
    np.minimum.at(shallow, names, depths)
    np.maximum.at(deep, names, depths)
    nests = (shallow < deep)[names]  # what always stands equally deep is never inside itself
    if not nests.any():
        return found
    # In this order each operator is followed by all that stand in it: `size` of them, itself included.
    size = among.astype(np.int64)
    for level in reversed(operators.levels[1:]):
        np.add.at(size, operators.parent[level], size[level])
    place = np.flatnonzero(nests)
    by_name = place[np.argsort(names[place], kind="stable")]
    fresh = np.append(True, names[by_name[1:]] != names[by_name[:-1]])
    behind = greatest_so_far(by_name + size[rows[by_name]], fresh)
    inside = np.append(False, by_name[1:] < behind[:-1]) & ~fresh
    found[rows[by_name[inside]]] = True
    return found
