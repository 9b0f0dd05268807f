"""Which line of its lane each slice stands on. Pure functions on columns."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]


def ends_of(start_ns: I64, duration_ns: I64) -> I64:
    """Ends of slices for laying out: a slice of no length counts as 1 ns, and nothing passes the last int64."""
    room = np.int64(np.iinfo(np.int64).max) - np.maximum(start_ns, 0)
    return start_ns + np.minimum(np.maximum(duration_ns, 1), room)


def group_bounds(*keys: NDArray[np.generic]) -> I64:
    """Positions where a new group starts in columns sorted by `keys`, and the length at the end."""
    length = len(keys[0])
    if length == 0:
        return np.zeros(1, np.int64)
    changed = np.zeros(length - 1, bool)
    for key in keys:
        changed |= key[1:] != key[:-1]
    return np.concatenate(([0], np.flatnonzero(changed) + 1, [length])).astype(np.int64)


def nesting(bounds: I64, start_ns: I64, duration_ns: I64) -> tuple[NDArray[np.int32], I64]:
    """Depth of each slice, and the position of the slice it lies under (-1 where none).

    Args:
        bounds: group k covers positions bounds[k] to bounds[k + 1]; a group is one lane.
        start_ns: starts, ascending within a group; of equal starts the longest stands first.
        duration_ns: lengths, 0 or more.

    Depth is 1 + the greatest depth still open at the slice's start, 0 where nothing is open: nested slices lie one
    under the other, and a slice that crosses another's end gets a line below it, so no two slices of one depth overlap.
    """
    depth = np.zeros(len(start_ns), np.int32)
    parent = np.full(len(start_ns), -1, np.int64)
    # At the last int64 there is no room for the 1 ns of a slice of no length: it stands 1 ns earlier.
    start_ns = np.minimum(start_ns, np.int64(np.iinfo(np.int64).max - 1))
    end_ns = ends_of(start_ns, duration_ns)
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        group = slice(begin, end)
        depth[group], under = _nesting_of_lane(start_ns[group], end_ns[group])
        parent[group] = np.where(under >= 0, under + begin, -1)
    return depth, parent


def _nesting_of_lane(start_ns: I64, end_ns: I64) -> tuple[NDArray[np.int32], I64]:
    """Depth = number of slices still open at the start: exact where slices nest, which is checked."""
    count = len(start_ns)
    position = np.arange(count, dtype=np.int64)
    depth = (position - np.searchsorted(np.sort(end_ns, kind="stable"), start_ns, "right")).astype(np.int32)
    parent = np.full(count, -1, np.int64)
    by_depth = np.argsort(depth, kind="stable")
    levels = np.concatenate(([0], np.cumsum(np.bincount(depth))))
    for level in range(1, len(levels) - 1):
        above = by_depth[levels[level - 1] : levels[level]]
        here = by_depth[levels[level] : levels[level + 1]]
        found = np.searchsorted(above, here) - 1
        parent[here] = np.where(found >= 0, above[np.maximum(found, 0)], -1)
    crossing = (depth > 0) & ((parent < 0) | (end_ns[np.maximum(parent, 0)] < end_ns))
    if crossing.any():
        clusters = np.append(np.flatnonzero(depth == 0), count)
        hit = np.unique(np.searchsorted(clusters, np.flatnonzero(crossing), "right") - 1)
        for begin, end in zip(clusters[hit].tolist(), clusters[hit + 1].tolist(), strict=True):
            _nest_crossing(begin, end, start_ns, end_ns, depth, parent)
    return depth, parent


def _nest_crossing(begin: int, end: int, start_ns: I64, end_ns: I64, depth: NDArray[np.int32], parent: I64) -> None:
    """The definition, slice by slice, for a stretch in which slices cross."""
    starts, ends = start_ns[begin:end].tolist(), end_ns[begin:end].tolist()
    depths, parents = [0] * len(starts), [-1] * len(starts)
    still_open: list[int] = []
    for index, start in enumerate(starts):
        while still_open and ends[still_open[-1]] <= start:
            still_open.pop()
        if still_open:
            depths[index] = depths[still_open[-1]] + 1
            parents[index] = still_open[-1] + begin
        still_open.append(index)
    depth[begin:end] = depths
    parent[begin:end] = parents


def free_rows(bounds: I64, start_ns: I64, duration_ns: I64) -> NDArray[np.int32]:
    """The lowest line that is free at each slice's start: 0 everywhere unless slices of a group overlap.

    Args:
        bounds: group k covers positions bounds[k] to bounds[k + 1]; a group is one stream.
        start_ns: starts, ascending within a group; of equal starts the shortest stands first.
        duration_ns: lengths, 0 or more. A slice of no length occupies no line, but avoids one that is busy.
    """
    rows = np.zeros(len(start_ns), np.int32)
    end_ns = start_ns + np.minimum(duration_ns, np.int64(np.iinfo(np.int64).max) - np.maximum(start_ns, 0))
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        latest = np.maximum.accumulate(end_ns[begin:end])
        fresh = np.append(True, start_ns[begin + 1 : end] >= latest[:-1])
        if fresh.all():
            continue
        clusters = np.append(np.flatnonzero(fresh), end - begin)
        for first, last in zip(clusters[:-1].tolist(), clusters[1:].tolist(), strict=True):
            if last - first > 1:
                rows[begin + first : begin + last] = _free_rows_of_cluster(
                    start_ns[begin + first : begin + last].tolist(), end_ns[begin + first : begin + last].tolist()
                )
    return rows


def _free_rows_of_cluster(starts: list[int], ends: list[int]) -> list[int]:
    rows: list[int] = []
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    used = 0
    for start, end in zip(starts, ends, strict=True):
        while busy and busy[0][0] <= start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            row = heapq.heappop(free)
        else:
            row, used = used, used + 1
        rows.append(row)
        if end > start:
            heapq.heappush(busy, (end, row))
        else:
            heapq.heappush(free, row)
    return rows
