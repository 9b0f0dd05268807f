"""Sums, means and quantiles against Python's unbounded integers and fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smprof_desktop.analysis import statistics

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
VALUES = st.lists(st.integers(-50, 50) | INT64, max_size=20)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1000) | INT64), max_size=25))
def test_grouped_is_exact_even_beyond_64_bits(rows: list[tuple[int, int]]) -> None:
    groups = np.array([group for group, _ in rows], np.int32)
    totals = statistics.grouped(groups, np.array([value for _, value in rows], np.int64), 5)
    for group in range(5):
        mine = [value for other, value in rows if other == group]
        assert int(totals.count[group]) == len(mine)
        assert int(totals.total[group]) == sum(mine)
        assert int(totals.least[group]) == min(mine, default=0)
        assert int(totals.greatest[group]) == max(mine, default=0)


@given(VALUES)
def test_exact_sum(values: list[int]) -> None:
    assert statistics.exact_sum(np.array(values, np.int64)) == sum(values)


@given(INT64, st.integers(1, 1 << 40))
def test_divide_rounds_halves_to_even(total: int, count: int) -> None:
    assert statistics.divide(total, count) == round(Fraction(total, count))


@given(VALUES, st.sampled_from([(1, 2), (99, 100), (0, 1), (1, 1), (1, 4)]))
def test_quantiles_interpolate_between_neighbours(values: list[int], share: tuple[int, int]) -> None:
    (found,) = statistics.quantiles(np.array(values, np.int64), (share,))
    if not values:
        assert found is None
        return
    ordered = sorted(values)
    place = Fraction(*share) * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    assert found == round(ordered[low] + (ordered[high] - ordered[low]) * (place - low))


def test_a_half_goes_to_the_even_neighbour() -> None:
    median, p99 = statistics.quantiles(np.array([5_496, 5_497], np.int64), (statistics.MEDIAN, statistics.P99))
    assert (median, p99) == (5_496, 5_497)
    assert statistics.quantiles(np.array([1, 2, 3, 4], np.int64), (statistics.MEDIAN,)) == [2]
