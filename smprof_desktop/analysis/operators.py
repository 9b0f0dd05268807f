"""Framework operators: their time on the host, with and without what they call, and the device time they caused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.layout import nesting
from smprof.profile.schema import HOST_KINDS, LOST_NAME
from smprof_desktop.analysis.executions import Columns, Part, blocks
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.analysis.statistics import sums

_OP = HOST_KINDS.index("op")


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

    The operators are rows `first`, `first + 1`, … of the host table; `parent` counts from `first` too, -1 where none.
    """

    first: int
    parent: Int64s


def tree(host: Columns) -> OperatorTree:
    """The operator in which each one was called, on the same thread."""
    kinds = host["kind"]
    first, behind = int(np.searchsorted(kinds, _OP, "left")), int(np.searchsorted(kinds, _OP, "right"))
    starts_ns, durations_ns = host["start_ns"][first:behind], host["duration_ns"][first:behind]
    parent = np.full(behind - first, -1, np.int64)
    for low, high in blocks(host["thread"][first:behind]):
        # A thread's rows come depth by depth, so equal starts keep the outermost first.
        order = low + np.argsort(starts_ns[low:high], kind="stable")
        _, above = nesting(np.array([0, high - low], np.int64), starts_ns[order], durations_ns[order])
        parent[order] = np.where(above >= 0, order[np.maximum(above, 0)], -1)
    return OperatorTree(first, parent)


def self_times(parent: Int64s, starts_ns: Int64s, ends_ns: Int64s) -> Int64s:
    """Each operator's duration minus the time of the operators called directly in it.

    Where operators cross, each moment belongs to the one that started last, so self time is never negative.
    """
    result = np.asarray(ends_ns - starts_ns, np.int64)
    rows = np.flatnonzero(parent >= 0)
    callers, reached_ns = parent[rows], starts_ns[rows]
    while len(rows):
        # What an operator covers is taken from the one around it, and what sticks out of that one from the next.
        until_ns = np.maximum(np.minimum(ends_ns[rows], ends_ns[callers]), reached_ns)
        np.subtract.at(result, callers, until_ns - np.maximum(reached_ns, np.minimum(starts_ns[callers], until_ns)))
        callers = parent[callers]
        sticks_out = (until_ns < ends_ns[rows]) & (callers >= 0)
        rows, callers, reached_ns = rows[sticks_out], callers[sticks_out], until_ns[sticks_out]
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
    for rows in reversed(_levels(operators.parent)[1:]):
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
    rows = slice(operators.first, operators.first + count)
    never = np.iinfo(np.int64).min  # rows outside the range have no length, and lie before everything
    starts_ns, ends_ns = np.full(count, never), np.full(count, never)
    shown = np.zeros(count, bool)
    kinds = host.column("kind")
    called = host.between(int(np.searchsorted(kinds, _OP, "left")), int(np.searchsorted(kinds, _OP, "right")))
    place = called.positions() - operators.first
    starts_ns[place], ends_ns[place], shown[place] = called.start_ns, called.end_ns, True
    name_ids = np.clip(table["name_id"][rows], -1, len(texts) - 1).astype(np.int64)
    device_ns = device_times(operators, table, device, launch)
    outermost = ~_within_same_name(operators.parent, name_ids)
    groups, size = np.where(name_ids < 0, len(texts), name_ids), len(texts) + 1
    counts = np.bincount(groups[shown], minlength=size)
    host_total_ns = sums(groups, ends_ns - starts_ns, size)
    host_self_ns = sums(groups, self_times(operators.parent, starts_ns, ends_ns), size)
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


def _levels(parent: Int64s) -> list[Int64s]:
    """Rows by how many operators stand around them, 0 first."""
    depth = np.zeros(len(parent), np.int64)
    ancestor = parent.copy()
    rows = np.flatnonzero(ancestor >= 0)
    while len(rows):
        depth[rows] += 1
        ancestor[rows] = parent[ancestor[rows]]
        rows = rows[ancestor[rows] >= 0]
    order = np.argsort(depth, kind="stable")
    edges = np.concatenate(([0], np.cumsum(np.bincount(depth)))) if len(depth) else np.zeros(1, np.int64)
    return [order[low:high] for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]


def _within_same_name(parent: Int64s, name_ids: Int64s) -> NDArray[np.bool_]:
    """Which operators stand, at any distance, inside one of their own name."""
    found = np.zeros(len(parent), bool)
    ancestor = parent.copy()
    rows = np.flatnonzero(ancestor >= 0)
    while len(rows):
        found[rows] |= name_ids[ancestor[rows]] == name_ids[rows]
        ancestor[rows] = parent[ancestor[rows]]
        rows = rows[(ancestor[rows] >= 0) & ~found[rows]]
    return found
