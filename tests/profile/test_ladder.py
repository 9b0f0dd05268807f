"""Level of detail against a slow, obvious twin on random lane rows."""

from __future__ import annotations

import collections
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof.profile import ladder
from smprof.profile.ladder import LEVEL_STEP, MIN_SLICES, Columns, coarser, columns_of, ladder_of, union_ladder_of


@st.composite
def lane_rows(draw: st.DrawFn, most: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Sorted slices that do not overlap, some touching, some of no length."""
    at = draw(st.integers(-200, 200))
    start, duration = [], []
    for gap, length in draw(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 60)), max_size=most)):
        at += gap
        start.append(at)
        duration.append(length)
        at += length
    return np.array(start, np.int64), np.array(duration, np.int64)


def obvious(start: np.ndarray, duration: np.ndarray, level: int) -> list[tuple[int, int, int, int]]:
    """(bin, busy, longest, slices) nanosecond by nanosecond."""
    bins: dict[int, list[int]] = {}
    for index, (begin, length) in enumerate(zip(start.tolist(), duration.tolist(), strict=True)):
        for time in range(begin, begin + max(length, 1)):
            found = bins.setdefault(time >> level, [0, index, 0])
            found[0] += 1 if length else 0
            if length > duration[found[1]]:
                found[1] = index
        bins[begin >> level][2] += 1
    return [(number, bins[number][0], bins[number][1], bins[number][2]) for number in sorted(bins)]


def rows_of(columns: Columns) -> list[tuple[int, int, int, int]]:
    parts = (columns.bin, columns.busy_ns, columns.longest, columns.slices)
    return list(zip(*(part.tolist() for part in parts), strict=True))


@given(lane_rows(), st.integers(0, 9))
def test_columns_equal_the_twin(row: tuple[np.ndarray, np.ndarray], level: int) -> None:
    assert rows_of(columns_of(*row, level)) == obvious(*row, level)


@given(lane_rows(), st.integers(0, 4), st.integers(0, 5))
def test_coarser_columns_are_those_made_from_the_slices(
    row: tuple[np.ndarray, np.ndarray], level: int, more: int
) -> None:
    made = coarser(columns_of(*row, level), level + more, row[1])
    assert rows_of(made) == rows_of(columns_of(*row, level + more))


def test_columns_do_not_get_finer() -> None:
    with pytest.raises(ValueError, match="finer"):
        coarser(columns_of(np.array([0]), np.array([5]), 3), 2, np.array([5]))


def test_a_slice_over_many_bins_counts_in_each() -> None:
    made = columns_of(np.array([10]), np.array([100]), 4)
    assert rows_of(made) == [(0, 6, 0, 1), *((b, 16, 0, 0) for b in range(1, 6)), (6, 14, 0, 0)]


def test_every_stored_level_holds_the_whole_busy_time() -> None:
    rng = np.random.default_rng(7)
    duration = rng.integers(0, 50_000, 20_000)
    start = np.cumsum(duration + rng.integers(0, 9_000, 20_000)) - duration
    steps = ladder_of(start, duration)
    assert len(steps) > 3
    assert {int(step.busy_ns.sum()) for step in steps} == {int(duration.sum())}
    assert {int(step.slices.sum()) for step in steps} == {20_000}
    assert all(b.level - a.level == LEVEL_STEP for a, b in itertools.pairwise(steps))
    assert len(steps[0]) * 14 < len(start)


def test_few_slices_have_no_ladder() -> None:
    start = np.arange(MIN_SLICES - 1, dtype=np.int64)
    assert ladder_of(start, np.zeros_like(start)) == []


def obvious_union(rows: list[tuple[np.ndarray, np.ndarray]], level: int) -> list[tuple[int, int, int, int]]:
    """(bin, busy, longest, slices) of rows taken as one, ns by ns; `longest` counts on from row to row."""
    slices = [pair for row in rows for pair in zip(*(column.tolist() for column in row), strict=True)]
    covered = collections.Counter(
        time >> level for time in {time for start, length in slices for time in range(start, start + length)}
    )
    bins: dict[int, tuple[int, int, int]] = {}
    for index, (start, length) in enumerate(slices):
        for number in range(start >> level, ((start + max(length, 1) - 1) >> level) + 1):
            bins[number] = min(bins.get(number, (1, 0, 0)), (-length, start, index))
    return [
        (
            number,
            covered[number],
            bins[number][2],
            len([start for start, _ in slices if start >> level == number]),
        )
        for number in sorted(bins)
    ]


@given(st.lists(lane_rows(12), min_size=1, max_size=4), st.sampled_from([1, 2, 5]), st.sampled_from([1, 3]))
def test_a_union_of_rows_equals_the_twin_at_every_level(
    rows: list[tuple[np.ndarray, np.ndarray]], per_bin: int, chunk: int
) -> None:
    start, duration = (np.concatenate(columns) for columns in zip(*rows, strict=True))
    bounds = np.cumsum([0, *(len(row[0]) for row in rows)]).tolist()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"MIN_SLICES": 1, "SLICES_PER_BIN": per_bin, "MIN_BINS": 3, "_UNION_BINS": chunk}.items():
            patch.setattr(ladder, name, value)
        steps = union_ladder_of(start, duration, bounds)
    assert len(steps) > 0 or len(start) == 0
    for step in steps:
        assert rows_of(step) == obvious_union(rows, step.level)


def test_columns_at_the_ends_of_int64() -> None:
    top, bottom = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    made = columns_of(np.array([bottom, top - 7]), np.array([5, 7]), 8)
    assert made.busy_ns.tolist() == [5, 7]
