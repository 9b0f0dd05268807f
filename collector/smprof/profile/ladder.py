"""The level of detail of one lane row: columns on a power-of-two grid of ns. Pure functions.

A bin b of level L covers [b * 2^L, (b + 1) * 2^L) ns. Stored levels are four times as wide from one to the next; what
lies between is the exact sum of neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smprof.profile.layout import ends_of

I64 = NDArray[np.int64]

SLICES_PER_BIN = 64
"""Slices in an average bin of the finest stored level: 16 B per bin make 0.3 B per slice over all levels."""

MIN_SLICES = 256
"""Lane rows with fewer slices have no ladder: their slices are as quick to read."""

MIN_BINS = 32
"""A level with fewer bins than this is the last one."""

LEVEL_STEP = 2


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


def finest_level(start_ns: I64, duration_ns: I64) -> int:
    """The finest level stored for these slices: about `SLICES_PER_BIN` slices to a bin."""
    span = int(ends_of(start_ns[-1:], duration_ns[-1:])[0]) - int(start_ns[0])
    return max(0, (span * SLICES_PER_BIN // max(len(start_ns), 1)).bit_length() - 1)


def ladder_of(start_ns: I64, duration_ns: I64) -> list[Columns]:
    """All stored levels of one lane row, finest first; none for a row of few slices."""
    if len(start_ns) < MIN_SLICES:
        return []
    steps = [columns_of(start_ns, duration_ns, finest_level(start_ns, duration_ns))]
    while len(steps[-1]) >= MIN_BINS and steps[-1].level + LEVEL_STEP < 62:
        steps.append(coarser(steps[-1], steps[-1].level + LEVEL_STEP, duration_ns))
    return steps
