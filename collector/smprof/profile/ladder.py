"""The level of detail of one lane row, or of several as one: columns on a power-of-two grid of ns. Pure functions.

A bin b of level L covers [b * 2^L, (b + 1) * 2^L) ns. Stored levels are four times as wide from one to the next; what
lies between is the exact sum of neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from smprof.profile.layout import ends_of

I64 = NDArray[np.int64]

SLICES_PER_BIN = 32
"""Slices in an average bin of the finest stored level: 9 B per bin make 0.5 B per slice over all levels and unions."""

MIN_SLICES = 256
"""Lane rows with fewer slices have no ladder: their slices are as quick to read."""

MIN_BINS = 32
"""A level with fewer bins than this is the last one."""

LEVEL_STEP = 2

_MOST_TOUCHED = 8
"""Bins that a slice of a union may touch on the average at its finest level."""

_UNION_BINS = 1 << 14
"""Bins whose slices are compared at a time: about a million slices."""


@dataclass(frozen=True)
class Columns:
    """Non-empty bins of one level, ascending. `longest` is a position among the slices it was made from."""

    level: int
    bin: I64
    busy_ns: I64
    longest: I64
    slices: I64

    def __len__(self) -> int:
        return len(self.bin)


def columns_of(start_ns: I64, duration_ns: I64, level: int) -> Columns:
    """Columns of `level` from slices that are sorted and do not overlap.

    `busy_ns` is the exact covered time of each bin. `longest` is the slice touching the bin with the greatest full
    duration, the earlier one of equals; a slice of no length touches the bin it stands in.
    """
    if len(start_ns) == 0:
        empty = np.zeros(0, np.int64)
        return Columns(level, empty, empty, empty, empty)
    touch_end = ends_of(start_ns, duration_ns)
    first, last = start_ns >> level, (touch_end - 1) >> level
    new_bins = np.maximum.accumulate(last)
    begins = np.concatenate((first[:1], np.maximum(first[1:], new_bins[:-1] + 1)))
    counts = np.maximum(new_bins - begins + 1, 0)
    offsets = np.cumsum(counts) - counts
    bins = np.repeat(begins - offsets, counts) + np.arange(int(counts.sum()), dtype=np.int64)

    low = np.searchsorted(last, bins, "left")
    high = np.searchsorted(first, bins, "right")
    busy = _covered_before(start_ns, duration_ns, bins + 1, level) - _covered_before(start_ns, duration_ns, bins, level)
    starts_in = high - np.searchsorted(first, bins, "left")
    return Columns(level, bins, busy, _first_greatest(duration_ns, low, high), starts_in)


def _covered_before(start_ns: I64, duration_ns: I64, bins: I64, level: int) -> I64:
    """Time covered by slices before bin edge `bins` << `level`, in ns from an arbitrary origin."""
    total = np.concatenate(([0], np.cumsum(duration_ns)))
    # Edges are compared in bin space and clipped by the remaining time, so that none passes int64.
    top = np.int64(np.iinfo(np.int64).max)
    edge = np.where(bins > (top >> level), top, np.minimum(bins, top >> level) << level)
    index = np.searchsorted(start_ns, edge, "left") - 1
    at = np.maximum(index, 0)
    # A difference of times from one end of int64 to the other would wrap: it is taken only inside a slice.
    part = np.where(edge >= start_ns[at] + duration_ns[at], duration_ns[at], edge - start_ns[at])
    covered: I64 = np.where(index >= 0, total[at] + part, 0)
    return covered


def _first_greatest(values: I64, low: I64, high: I64) -> I64:
    """Position of the first greatest value in each [low, high); no range is empty."""
    lengths = high - low
    offsets = np.cumsum(lengths) - lengths
    owner = np.repeat(np.arange(len(low)), lengths)
    position = np.arange(len(owner), dtype=np.int64) - offsets[owner] + low[owner]
    taken = values[position]
    best = np.maximum.reduceat(taken, offsets)
    hits = np.flatnonzero(taken == best[owner])
    hit_owner = owner[hits]
    keep = np.concatenate(([True], hit_owner[1:] != hit_owner[:-1])) if len(hits) else np.zeros(0, bool)
    first: I64 = position[hits[keep]]
    return first


def coarser(columns: Columns, level: int, duration_ns: I64) -> Columns:
    """The same lane row at a coarser level. `duration_ns` holds the durations that `longest` points into."""
    if level < columns.level:
        raise ValueError(f"level {level} is finer than {columns.level}")
    if level == columns.level or len(columns) == 0:
        return Columns(level, columns.bin, columns.busy_ns, columns.longest, columns.slices)
    bins = columns.bin >> (level - columns.level)
    begins = np.concatenate(([0], np.flatnonzero(bins[1:] != bins[:-1]) + 1))
    ends = np.append(begins[1:], len(bins))
    best = _first_greatest(duration_ns[columns.longest], begins, ends)
    return Columns(
        level,
        bins[begins],
        np.add.reduceat(columns.busy_ns, begins),
        columns.longest[best],
        np.add.reduceat(columns.slices, begins),
    )


def ladder_of(start_ns: I64, duration_ns: I64) -> list[Columns]:
    """All stored levels of one lane row, finest first; none for a row of few slices."""
    if len(start_ns) < MIN_SLICES:
        return []
    end_ns = int(ends_of(start_ns[-1:], duration_ns[-1:])[0])
    level = finest_level(end_ns - int(start_ns[0]), len(start_ns))
    return _with_coarser(columns_of(start_ns, duration_ns, level), duration_ns)


def union_ladder_of(start_ns: I64, duration_ns: I64, bounds: Sequence[int]) -> list[Columns]:
    """All stored levels of several lane rows taken as one, finest first; none where they hold few slices.

    Row k is [bounds[k], bounds[k + 1]) of the columns, which need not be in order from one row to the next. `busy_ns`
    is the time that at least one of the rows covers; `longest` and `slices` are of all of them, and of slices of equal
    length and start the one of the first row is `longest`.
    """
    if len(start_ns) < MIN_SLICES:
        return []
    level = _level_of_union(start_ns, ends_of(start_ns, duration_ns))
    parts = [columns_of(start_ns[low:high], duration_ns[low:high], level) for low, high in pairwise(bounds)]
    bins = np.concatenate([part.bin for part in parts])
    longest = np.concatenate([part.longest + low for part, low in zip(parts, bounds, strict=False)])
    order = np.lexsort((start_ns[longest], -duration_ns[longest], bins))
    bins = bins[order]
    heads = np.concatenate(([0], np.flatnonzero(bins[1:] != bins[:-1]) + 1))
    each_ns = np.concatenate([part.busy_ns for part in parts])[order]
    busy_ns = np.minimum(np.add.reduceat(each_ns, heads), np.int64(1) << np.int64(level))
    # Where one row alone is busy, or one fills the bin, nothing has to be compared.
    unclear = np.flatnonzero(busy_ns > np.maximum.reduceat(each_ns, heads))
    for chunk in np.array_split(unclear, -(-len(unclear) // _UNION_BINS) or 1):
        if len(chunk):
            busy_ns[chunk] = _covered_by_any(start_ns, duration_ns, bounds, bins[heads[chunk]], level)
    slices = np.add.reduceat(np.concatenate([part.slices for part in parts])[order], heads)
    return _with_coarser(Columns(level, bins[heads], busy_ns, longest[order[heads]], slices), duration_ns)


def union_of(start_ns: I64, end_ns: I64) -> tuple[I64, I64]:
    """The union of intervals in any order, as starts and ends of intervals that are sorted and do not overlap."""
    if len(start_ns) == 0:
        return start_ns, end_ns
    order = np.argsort(start_ns, kind="stable")  # quick where the intervals are a few sorted runs
    start_ns = start_ns[order]
    reach = np.maximum.accumulate(end_ns[order])
    heads = np.flatnonzero(np.concatenate(([True], start_ns[1:] > reach[:-1])))
    return start_ns[heads], reach[np.append(heads[1:] - 1, len(reach) - 1)]


def finest_level(span_ns: int, slices: int) -> int:
    """The finest level stored for so many slices: about `SLICES_PER_BIN` of them to a bin."""
    return max(0, (span_ns * SLICES_PER_BIN // max(slices, 1)).bit_length() - 1)


def _level_of_union(start_ns: I64, touch_end_ns: I64) -> int:
    """`finest_level`, or a coarser one where slices that overlap by the thousand would fill thousands of bins each."""
    level = finest_level(int(touch_end_ns.max()) - int(start_ns.min()), len(start_ns))
    while level + LEVEL_STEP < 62:
        touched = int((((touch_end_ns - 1) >> level) - (start_ns >> level) + 1).astype(np.float64).sum())
        if touched <= _MOST_TOUCHED * len(start_ns):
            break
        level += LEVEL_STEP
    return level


def _with_coarser(finest: Columns, duration_ns: I64) -> list[Columns]:
    steps = [finest]
    while len(steps[-1]) >= MIN_BINS and steps[-1].level + LEVEL_STEP < 62:
        steps.append(coarser(steps[-1], steps[-1].level + LEVEL_STEP, duration_ns))
    return steps


def _covered_by_any(start_ns: I64, duration_ns: I64, bounds: Sequence[int], bins: I64, level: int) -> I64:
    """Time in each of some bins, ascending, that at least one of the lane rows covers."""
    low_ns, high_ns = int(bins[0]) << level, (int(bins[-1]) + 1) << level
    starts, ends = [], []
    for begin, end in pairwise(bounds):
        start = start_ns[begin:end]
        # The slice before the first one that starts inside may reach in.
        first = begin + max(int(np.searchsorted(start, low_ns, "left")) - 1, 0)
        behind = begin + int(np.searchsorted(start, min(high_ns, np.iinfo(np.int64).max), "left"))
        starts.append(start_ns[first:behind])
        ends.append(starts[-1] + duration_ns[first:behind])
    start, end_ns = union_of(np.concatenate(starts), np.concatenate(ends))
    length = end_ns - start
    return _covered_before(start, length, bins + 1, level) - _covered_before(start, length, bins, level)
