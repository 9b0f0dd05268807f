"""Sets of half-open intervals [start, end) in int64 ns: unions, lengths, overlap. Exact, and vectorised throughout.

Two times that fit in 64 bits may lie further apart than 64 bits hold. Where they do, lengths are Python integers (dtype
object) instead of int64.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
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
    return length_of_disjoint(*union(starts, ends))


def length_of_disjoint(starts: NDArray[Any], ends: NDArray[Any]) -> int:
    """Length in ns of a set of disjoint intervals: what `union` returns."""
    return int(differences(ends, starts).sum()) if len(starts) else 0


def ends_of(starts: NDArray[Any], durations: NDArray[Any]) -> Int64s:
    """starts + durations; what would pass the last int64 ends there. Importers count such times as lost."""
    ends = np.asarray(starts + durations, np.int64)
    if len(ends) and int(starts.max()) + int(durations.max()) > np.iinfo(np.int64).max:
        ends[(ends < starts) & (durations > 0)] = np.iinfo(np.int64).max
    return ends


def differences(times: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    """times - others, pair by pair: int64, or Python integers where a difference of any two could leave 64 bits.

    So sums of disjoint differences are exact as well.
    """
    if fit(times, others):
        return np.asarray(times - others, np.int64)
    return np.asarray(times.astype(object) - others.astype(object))


def fit(*times: NDArray[Any]) -> bool:
    """Whether the distance between any two of these times fits in 64 bits."""
    filled = [column for column in times if len(column)]
    if not filled:
        return True
    return max(int(column.max()) for column in filled) - min(int(column.min()) for column in filled) < 1 << 63


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


def subtract(
    starts: NDArray[Any], ends: NDArray[Any], other_starts: NDArray[Any], other_ends: NDArray[Any]
) -> tuple[Int64s, Int64s]:
    """The parts of a set outside another, as disjoint sorted intervals."""
    starts, ends = union(starts, ends)
    other_starts, other_ends = union(other_starts, other_ends)
    if not len(starts) or not len(other_starts):
        return starts, ends
    low, high = min(starts[0], other_starts[0]), max(ends[-1], other_ends[-1])
    return intersect(starts, ends, np.append(low, other_ends), np.append(other_starts, high))


def pieces_within(
    starts: NDArray[Any], ends: NDArray[Any], other_starts: NDArray[Any], other_ends: NDArray[Any]
) -> tuple[Int64s, Int64s, Int64s]:
    """The parts of intervals, which may overlap, inside a set of disjoint sorted ones: (place in `starts`, start, end).

    In the order of `starts`, then of time.
    """
    first = np.searchsorted(other_ends, starts, side="right")
    behind = np.searchsorted(other_starts, ends, side="left")
    counts = np.where(starts < ends, np.maximum(behind - first, 0), 0)
    mine = np.repeat(np.arange(len(starts)), counts)
    theirs = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    return mine, np.maximum(starts[mine], other_starts[theirs]), np.minimum(ends[mine], other_ends[theirs])


def parts_apart(starts: Int64s, ends: Int64s) -> tuple[Int64s, Int64s]:
    """Of intervals by start, the part of each in which none of those before it runs; empty where there is none.

    They are disjoint and make up the union, so that each moment of it belongs to one of the intervals.
    """
    if not len(starts):
        return starts, ends
    reached = np.maximum.accumulate(ends)
    apart = np.append(starts[:1], np.maximum(starts[1:], reached[:-1]))
    return apart, np.maximum(ends, apart)


def covered_before(starts: NDArray[Any], ends: NDArray[Any], times: NDArray[Any]) -> NDArray[Any]:
    """For each time, the length before it of a set of disjoint sorted intervals (what `union` returns)."""
    times = np.asarray(times, np.int64)
    if not len(starts):
        return np.zeros(len(times), np.int64)
    last = np.maximum(np.searchsorted(starts, times, side="right") - 1, 0)
    upto = np.maximum(np.minimum(times, ends[last]), starts[last])
    lengths = differences(ends, starts)
    before = np.concatenate((np.zeros(1, lengths.dtype), np.cumsum(lengths)))
    return np.asarray(before[last] + differences(upto, starts[last]))


def length_within(starts: NDArray[Any], ends: NDArray[Any], windows: Sequence[Sequence[int]]) -> int:
    """Length of a set of disjoint sorted intervals inside disjoint windows [start, end)."""
    if not len(windows):
        return 0
    edges = np.asarray(windows, np.int64)
    covered = covered_before(starts, ends, edges.ravel()).reshape(edges.shape)
    return sum((covered[:, 1] - covered[:, 0]).tolist())


def busy_per_bin(starts: NDArray[Any], ends: NDArray[Any], edges: NDArray[Any]) -> NDArray[Any]:
    """Length of the union inside each bin [edges[i], edges[i+1]); `edges` ascend and may be unevenly spaced."""
    busy = np.diff(covered_before(*union(starts, ends), edges))
    return busy.astype(np.int64) if fit(edges) else busy


def overlapping(starts: NDArray[Any], ends: NDArray[Any], begin: int, end: int | None) -> NDArray[np.bool_]:
    """Which intervals have a part in [begin, end); an empty one where it stands in there. No `end`: no limit."""
    inside: NDArray[np.bool_] = (ends > begin) | (starts >= begin)
    if end is not None:
        inside &= starts < end
    return inside


def greatest_so_far(values: Int64s, fresh: NDArray[np.bool_]) -> Int64s:
    """The running maximum, which begins anew wherever `fresh` is true."""
    least = int(values.min())
    reach = int(values.max()) - least + 1
    groups = np.cumsum(fresh)
    if reach * int(groups[-1] + 1) < 1 << 62:
        # Each group is lifted above the one before it, so that one running maximum does for all.
        lift = groups * reach - least
        return np.asarray(np.maximum.accumulate(values + lift) - lift, np.int64)
    edges = [*np.flatnonzero(fresh).tolist(), len(values)]
    return np.concatenate([np.maximum.accumulate(values[low:high]) for low, high in pairwise(edges)])


def _in_order(times: Int64s) -> Int64s:
    if (times[1:] >= times[:-1]).all():
        return times
    return np.sort(times, kind="stable")  # merges sorted runs, of which a device's lanes consist
