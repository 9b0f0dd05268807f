"""Sets of half-open intervals [start, end) in int64 ns: unions, lengths, overlap. Exact, and vectorised throughout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]


def union(starts: NDArray[Any], ends: NDArray[Any]) -> tuple[Int64s, Int64s]:
    """The union as disjoint, sorted intervals that do not touch; empty intervals add nothing.

    Any order is taken; what is sorted already, or made of a few sorted runs, costs least.
    """
    starts, ends = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    empty = starts >= ends
    if empty.any():
        starts, ends = starts[~empty], ends[~empty]
    if not len(starts):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # Starts and ends may be sorted apart: when the i-th start (from 0) lies behind the (i-1)-th end, then i intervals
    # have begun and all of them have ended, so a gap lies between. No argsort, and no running maximum.
    starts, ends = _in_order(starts), _in_order(ends)
    gap = starts[1:] > ends[:-1]
    return (
        np.concatenate((starts[:1], starts[1:][gap])),
        np.concatenate((ends[:-1][gap], ends[-1:])),
    )


def length(starts: NDArray[Any], ends: NDArray[Any]) -> int:
    """Length of the union in ns: overlap counts once."""
    merged_starts, merged_ends = union(starts, ends)
    return int((merged_ends - merged_starts).sum())


def clip(starts: NDArray[Any], ends: NDArray[Any], begin: int, end: int) -> tuple[Int64s, Int64s]:
    """The parts of the intervals inside [begin, end), in the same order; what has no part there is left out."""
    clipped_starts, clipped_ends = np.maximum(starts, begin), np.minimum(ends, end)
    inside = clipped_starts < clipped_ends
    return clipped_starts[inside], clipped_ends[inside]


def intersect(
    starts: NDArray[Any], ends: NDArray[Any], other_starts: NDArray[Any], other_ends: NDArray[Any]
) -> tuple[Int64s, Int64s]:
    """The intersection of two sets, as disjoint sorted intervals."""
    starts, ends = union(starts, ends)
    other_starts, other_ends = union(other_starts, other_ends)
    if not len(starts) or not len(other_starts):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # Of two disjoint sorted sets, each interval of one meets a contiguous run of the other.
    first = np.searchsorted(other_ends, starts, side="right")
    behind = np.searchsorted(other_starts, ends, side="left")
    counts = np.maximum(behind - first, 0)
    mine = np.repeat(np.arange(len(starts)), counts)
    theirs = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    return np.maximum(starts[mine], other_starts[theirs]), np.minimum(ends[mine], other_ends[theirs])


def covered_before(starts: NDArray[Any], ends: NDArray[Any], times: NDArray[Any]) -> Int64s:
    """For each time, the length before it of a set of disjoint sorted intervals (what `union` returns)."""
    times = np.asarray(times, np.int64)
    if not len(starts):
        return np.zeros(len(times), np.int64)
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(ends - starts)))
    last = np.maximum(np.searchsorted(starts, times, side="right") - 1, 0)
    return np.asarray(before[last] + np.clip(np.minimum(times, ends[last]) - starts[last], 0, None), np.int64)


def length_within(starts: NDArray[Any], ends: NDArray[Any], windows: Sequence[Sequence[int]]) -> int:
    """Length of a set of disjoint sorted intervals inside disjoint windows [start, end)."""
    if not len(windows):
        return 0
    edges = np.asarray(windows, np.int64)
    return int((covered_before(starts, ends, edges[:, 1]) - covered_before(starts, ends, edges[:, 0])).sum())


def busy_per_bin(starts: NDArray[Any], ends: NDArray[Any], edges: NDArray[Any]) -> Int64s:
    """Length of the union inside each bin [edges[i], edges[i+1]); `edges` ascend and may be unevenly spaced."""
    return np.diff(covered_before(*union(starts, ends), edges))


def overlapping(starts: NDArray[Any], ends: NDArray[Any], begin: int, end: int | None) -> NDArray[np.bool_]:
    """Which intervals have a part in [begin, end); an empty one where it stands in there. No `end`: no limit."""
    inside: NDArray[np.bool_] = (ends > begin) | (starts >= begin)
    if end is not None:
        inside &= starts < end
    return inside


def _in_order(times: Int64s) -> Int64s:
    if (times[1:] >= times[:-1]).all():
        return times
    return np.sort(times, kind="stable")  # merges sorted runs, of which a device's lanes consist
