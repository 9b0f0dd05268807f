"""Lines of lanes: against slow, obvious twins on random slices, and the cases users reported."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smprof.profile.layout import free_rows, group_bounds, nesting

SLICES = st.lists(st.tuples(st.integers(0, 2), st.integers(-20, 40), st.integers(0, 25)), max_size=40)


def columns(slices: list[tuple[int, int, int]], longest_first: bool) -> list[np.ndarray]:
    """Group, start and duration in the order that the functions want."""
    ordered = sorted(slices, key=lambda s: (s[0], s[1], -s[2] if longest_first else s[2]))
    return [np.array([s[i] for s in ordered], np.int64) for i in range(3)]


def obvious_nesting(group: np.ndarray, start: np.ndarray, duration: np.ndarray) -> tuple[list[int], list[int]]:
    depths: list[int] = []
    parents: list[int] = []
    for index in range(len(start)):
        still_open = [
            other
            for other in range(index)
            if group[other] == group[index] and start[other] + max(duration[other], 1) > start[index]
        ]
        deepest = max(still_open, key=lambda other: depths[other], default=-1)
        depths.append(depths[deepest] + 1 if deepest >= 0 else 0)
        parents.append(deepest)
    return depths, parents


def obvious_rows(group: np.ndarray, start: np.ndarray, duration: np.ndarray) -> list[int]:
    rows: list[int] = []
    for index in range(len(start)):
        busy = {
            rows[other]
            for other in range(index)
            if group[other] == group[index] and start[other] + duration[other] > start[index]
        }
        rows.append(next(row for row in range(len(start) + 1) if row not in busy))
    return rows


@given(SLICES)
def test_nesting_equals_its_definition(slices: list[tuple[int, int, int]]) -> None:
    group, start, duration = columns(slices, longest_first=True)
    depth, parent = nesting(group_bounds(group), start, duration)
    assert (depth.tolist(), parent.tolist()) == obvious_nesting(group, start, duration)


@given(SLICES)
def test_no_two_slices_of_a_line_overlap(slices: list[tuple[int, int, int]]) -> None:
    group, start, duration = columns(slices, longest_first=True)
    depth, _ = nesting(group_bounds(group), start, duration)
    for line in {*zip(group.tolist(), depth.tolist(), strict=True)}:
        mine = [i for i in range(len(start)) if (group[i], depth[i]) == line]
        assert all(start[a] + duration[a] <= start[b] for a, b in itertools.pairwise(mine))


@given(SLICES)
def test_free_rows_equal_their_definition(slices: list[tuple[int, int, int]]) -> None:
    group, start, duration = columns(slices, longest_first=False)
    assert free_rows(group_bounds(group), start, duration).tolist() == obvious_rows(group, start, duration)


def test_a_kernel_that_starts_before_its_predecessor_ends_gets_a_row_of_its_own() -> None:
    start, duration = np.array([3_000, 5_000, 9_000]), np.array([3_776, 2_000, 10])
    assert free_rows(np.array([0, 3]), start, duration).tolist() == [0, 1, 0]


def test_five_thousand_levels_nest() -> None:
    count = 5_000
    start = np.arange(count, dtype=np.int64)
    duration = 2 * (count - start)
    depth, parent = nesting(np.array([0, count]), start, duration)
    assert depth.tolist() == list(range(count))
    assert parent.tolist() == list(range(-1, count - 1))


def test_times_near_the_end_of_int64_do_not_wrap() -> None:
    top = np.iinfo(np.int64).max
    depth, _ = nesting(np.array([0, 2]), np.array([top - 10, top - 5]), np.array([10, 5]))
    assert depth.tolist() == [0, 1]
