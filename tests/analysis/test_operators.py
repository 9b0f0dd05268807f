"""Operators' self time and device time against twins that walk moment by moment and launch by launch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from smprof.profile.layout import group_bounds, nesting
from smprof.profile.schema import HOST_KINDS
from smprof_desktop.analysis import operators
from smprof_desktop.analysis.executions import part

Calls = list[tuple[int, int, int, int]]
"""(thread, start, duration, name) of each operator."""

CALLS = st.lists(st.tuples(st.integers(1, 2), st.integers(0, 30), st.integers(0, 20), st.integers(0, 2)), max_size=12)


class Memory(dict[str, NDArray[np.int64]]):
    """A table in memory: its length is that of its columns."""

    def __len__(self) -> int:
        return len(next(iter(self.values())))


def host_table(calls: Calls) -> Memory:
    """Operators laid out and sorted as in a merged profile."""
    rows = np.array(calls, np.int64).reshape(-1, 4)
    rows = rows[np.lexsort((-rows[:, 2], rows[:, 1], rows[:, 0]))]
    depth, _ = nesting(group_bounds(rows[:, 0]), rows[:, 1], rows[:, 2])
    order = np.lexsort((rows[:, 2], rows[:, 1], depth, rows[:, 0]))
    thread, start_ns, duration_ns, name_id = rows[order].T
    return Memory(
        kind=np.full(len(rows), HOST_KINDS.index("op")),
        thread=thread,
        depth=depth[order].astype(np.int64),
        start_ns=start_ns,
        duration_ns=duration_ns,
        name_id=name_id,
        op=np.full(len(rows), -1),
    )


def innermost_at(table: Memory, thread: int, moment: int) -> int | None:
    """The operator of a thread that started last among those open at a moment, the deepest of those that tie."""
    best: tuple[int, int, int] | None = None
    for row in range(len(table)):
        start, duration = int(table["start_ns"][row]), int(table["duration_ns"][row])
        if int(table["thread"][row]) == thread and start <= moment < start + duration:
            candidate = (start, int(table["depth"][row]), row)
            best = max(best, candidate) if best else candidate
    return best[2] if best else None


LINES = st.lists(
    st.tuples(st.sampled_from(HOST_KINDS[:3]), *(st.integers(*ends) for ends in ((1, 2), (0, 30), (0, 20)))),
    max_size=25,
)


@given(LINES, st.sampled_from([0, 1, operators.MOST_LINES]))
def test_the_caller_is_the_operator_that_started_last_among_those_open(
    lines: list[tuple[str, int, int, int]], most_lines: int
) -> None:
    """Also with other slices on the lines between, where operators cross, and where lines are sorted instead."""
    rows = np.array([(HOST_KINDS.index(kind), *rest) for kind, *rest in lines], np.int64).reshape(-1, 4)
    rows = rows[np.lexsort((-rows[:, 3], rows[:, 2], rows[:, 1]))]
    depth, _ = nesting(group_bounds(rows[:, 1]), rows[:, 2], rows[:, 3])
    order = np.lexsort((rows[:, 2], depth, rows[:, 1], rows[:, 0]))
    kind, thread, start_ns, duration_ns = rows[order].T
    table = Memory(
        kind=kind, thread=thread, depth=depth[order].astype(np.int64), start_ns=start_ns, duration_ns=duration_ns
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operators, "MOST_LINES", most_lines)
        patch.setattr(operators, "FEWEST_ON_LINE", 1)
        tree = operators.tree(table)
    for row in range(len(tree.parent)):
        at = tree.first + row
        seen = [
            (int(start_ns[other]), int(table["depth"][other]), other - tree.first)
            for other in range(tree.first, tree.first + len(tree.parent))
            if thread[other] == thread[at]
            and table["depth"][other] < table["depth"][at]
            and start_ns[other] <= start_ns[at] < start_ns[other] + max(int(duration_ns[other]), 1)
        ]
        parent = max(seen)[2] if seen else -1
        assert tree.parent[row] == parent
        assert tree.depth[row] == (tree.depth[parent] + 1 if seen else 0)


@given(CALLS)
def test_self_time_belongs_to_the_innermost_operator(calls: Calls) -> None:
    """Also where operators cross, so that no self time is negative (a trace cut to µs once showed −6.49 %)."""
    table = host_table(calls)
    expected = [0] * len(table)
    for thread in (1, 2):
        for moment in range(60):
            row = innermost_at(table, thread, moment)
            if row is not None:
                expected[row] += 1
    ends_ns = table["start_ns"] + table["duration_ns"]
    found = operators.self_times(operators.tree(table), table["start_ns"], ends_ns)
    assert found.tolist() == expected


@given(CALLS, st.lists(st.tuples(st.integers(0, 11), st.integers(0, 9)), max_size=8))
def test_device_time_counts_an_execution_once_a_name(calls: Calls, launched: list[tuple[int, int]]) -> None:
    """Each execution belongs to all operators around its launch; of one name nested in itself it counts once."""
    table = host_table(calls)
    launched = [(op, duration) for op, duration in launched if op < len(table)]
    parent = operators.tree(table).parent.tolist()
    expected: dict[int, int] = {}
    for op, duration in launched:
        names = set()
        while op >= 0:
            names.add(int(table["name_id"][op]))
            op = parent[op]
        for name in names:
            expected[name] = expected.get(name, 0) + duration
    # Each execution has an API call of its own, behind the operators in the host table's rows.
    calls_made = Memory({name: np.append(column, np.zeros(len(launched), np.int64)) for name, column in table.items()})
    calls_made["op"][len(table) :] = [op for op, _ in launched]
    calls_made["kind"][len(table) :] = HOST_KINDS.index("python")  # any kind that sorts behind operators
    device = Memory(
        start_ns=np.zeros(len(launched), np.int64), duration_ns=np.array([d for _, d in launched], np.int64)
    )
    launch = len(table) + np.arange(len(launched))
    totals = operators.totals(part(calls_made), part(device), launch, ["a", "b", "c"])
    found = {"abc".index(total.name): total.device_ns for total in totals}
    assert {name: time for name, time in found.items() if time} == {n: t for n, t in expected.items() if t}
    assert sum(total.count for total in totals) == len(table)
    assert sum(total.host_total_ns for total in totals) == int(table["duration_ns"].sum())


def test_deep_nesting_is_worked_out_level_by_level() -> None:
    """Every name stands in itself, 10,000 deep: walking from each to all above it would be 50 million steps."""
    deep = 10_000
    table = host_table([(1, index, 3 * deep - 2 * index, index % 3) for index in range(deep)])
    tree = operators.tree(table)
    assert tree.depth.tolist() == list(range(deep))
    assert sum(map(len, tree.levels)) == deep
    within = operators.within_same_name(tree, table["name_id"], np.ones(deep, bool))
    assert np.flatnonzero(~within).tolist() == [0, 1, 2]
    ends_ns = table["start_ns"] + table["duration_ns"]
    own_ns = operators.self_times(tree, table["start_ns"], ends_ns)
    assert own_ns.tolist() == [2] * (deep - 1) + [deep + 2]


def test_long_chains_of_crossing_operators_are_walked_once() -> None:
    """Each starts before the one before it ends, so all are one cluster; the last started owns each moment."""
    count = 10_000
    table = host_table([(1, 2 * index, 2 * count, 0) for index in range(count)])
    ends_ns = table["start_ns"] + table["duration_ns"]
    own_ns = operators.self_times(operators.tree(table), table["start_ns"], ends_ns)
    assert own_ns.tolist() == [2] * (count - 1) + [2 * count]
