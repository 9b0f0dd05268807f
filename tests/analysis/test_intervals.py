"""Intervals against twins that count nanosecond by nanosecond."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smprof_desktop.analysis import intervals

INTERVALS = st.lists(st.tuples(st.integers(-30, 60), st.integers(0, 25)), max_size=14).map(
    lambda pairs: [(start, start + duration) for start, duration in pairs]
)


def columns(pairs: list[tuple[int, int]]) -> tuple[intervals.Int64s, intervals.Int64s]:
    array = np.array(pairs, np.int64).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def moments(pairs: list[tuple[int, int]]) -> set[int]:
    """The slow twin: every ns that some interval covers."""
    return {moment for start, end in pairs for moment in range(start, end)}


@given(INTERVALS)
def test_union_covers_the_same_moments_with_disjoint_sorted_intervals(pairs: list[tuple[int, int]]) -> None:
    starts, ends = intervals.union(*columns(pairs))
    merged = list(zip(starts.tolist(), ends.tolist(), strict=True))
    assert moments(merged) == moments(pairs)
    assert all(start < end for start, end in merged)
    assert all(end < start for (_, end), (start, _) in pairwise(merged)), "they may not even touch"
    assert intervals.length(*columns(pairs)) == len(moments(pairs))


@given(INTERVALS, st.integers(-40, 90), st.integers(-40, 90))
def test_clip_keeps_what_lies_inside(pairs: list[tuple[int, int]], begin: int, end: int) -> None:
    starts, ends = intervals.clip(*columns(pairs), begin, end)
    clipped = list(zip(starts.tolist(), ends.tolist(), strict=True))
    assert moments(clipped) == {moment for moment in moments(pairs) if begin <= moment < end}
    assert all(begin <= start < finish <= end for start, finish in clipped)


@given(INTERVALS, INTERVALS)
def test_intersect_covers_what_both_cover(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    starts, ends = intervals.intersect(*columns(one), *columns(other))
    assert moments(list(zip(starts.tolist(), ends.tolist(), strict=True))) == moments(one) & moments(other)
    assert (starts < ends).all()


@given(INTERVALS, st.lists(st.integers(-40, 90), min_size=1, max_size=9).map(sorted))
def test_busy_per_bin_counts_each_moment_of_a_bin_once(pairs: list[tuple[int, int]], edges: list[int]) -> None:
    busy = intervals.busy_per_bin(*columns(pairs), np.array(edges))
    covered = moments(pairs)
    assert busy.tolist() == [
        len([moment for moment in range(begin, end) if moment in covered]) for begin, end in pairwise(edges)
    ]


@given(INTERVALS, INTERVALS)
def test_length_within_windows(pairs: list[tuple[int, int]], windows: list[tuple[int, int]]) -> None:
    disjoint = intervals.union(*columns(windows))
    edges = list(zip(*(edge.tolist() for edge in disjoint), strict=True))
    assert intervals.length_within(*intervals.union(*columns(pairs)), edges) == len(moments(pairs) & moments(windows))


@given(INTERVALS, st.integers(-40, 90), st.none() | st.integers(-40, 90))
def test_overlapping_takes_an_empty_interval_where_it_stands(
    pairs: list[tuple[int, int]], begin: int, end: int | None
) -> None:
    last = 1_000 if end is None else end
    expected = [
        (begin <= start < last) if start == finish else bool(set(range(start, finish)) & set(range(begin, last)))
        for start, finish in pairs
    ]
    if end is None or begin < end:
        assert intervals.overlapping(*columns(pairs), begin, end).tolist() == expected


def test_times_of_this_decade_stay_exact() -> None:
    """A float64 of nanoseconds since 1970 moves in steps of 256."""
    origin = 1_750_000_000_123_456_789
    starts = np.array([origin, origin + 5, origin + 11], np.int64)
    ends = np.array([origin + 7, origin + 9, origin + 12], np.int64)
    assert intervals.length(starts, ends) == 10
    assert intervals.busy_per_bin(starts, ends, np.array([origin + 1, origin + 10, origin + 20])).tolist() == [8, 1]


FAR_APART = st.lists(
    st.tuples(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-(1 << 63), (1 << 63) - 1)), max_size=6
).map(lambda pairs: [(min(pair), max(pair)) for pair in pairs])


def merged(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The slow twin of `union` for times that no set of moments can hold."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(pair for pair in pairs if pair[0] < pair[1]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


@given(FAR_APART, st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=2, max_size=6, unique=True))
def test_lengths_are_exact_where_times_lie_further_apart_than_64_bits(
    pairs: list[tuple[int, int]], edges: list[int]
) -> None:
    edges = sorted(edges)
    inside = [
        sum(max(0, min(end, behind) - max(start, begin)) for start, end in merged(pairs))
        for begin, behind in pairwise(edges)
    ]
    starts, ends = intervals.union(*columns(pairs))
    assert intervals.length(*columns(pairs)) == sum(end - start for start, end in merged(pairs))
    assert intervals.busy_per_bin(*columns(pairs), np.array(edges, np.int64)).tolist() == inside
    assert intervals.length_within(starts, ends, list(pairwise(edges))) == sum(inside)


def test_an_end_behind_the_last_int64_is_the_last_int64() -> None:
    last = (1 << 63) - 1
    starts, durations = np.array([0, last - 5, last - 5, last]), np.array([10, 3, 9, 0])
    assert intervals.ends_of(starts, durations).tolist() == [10, last - 2, last, last]
