"""How fast memory operations moved their bytes: by kind, and over time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import COPY_KINDS
from smprof_desktop.analysis.executions import Part
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.analysis.kernels import KERNEL, MEMSET
from smprof_desktop.analysis.statistics import exact_sum

KINDS = (*COPY_KINDS, "Memset")
_OTHER_COPY = COPY_KINDS.index("Other")


@dataclass(frozen=True)
class Moves:
    """Memory operations: place in KINDS, time inside the range, and of the whole operation time and bytes (-1: not
    recorded)."""

    kind: Int64s
    duration_ns: Int64s
    start_ns: Int64s
    whole_ns: Int64s
    bytes: Int64s

    def of_kind(self, kind: int) -> Moves:
        """Those of one kind."""
        mine = self.kind == kind
        return Moves(
            self.kind[mine], self.duration_ns[mine], self.start_ns[mine], self.whole_ns[mine], self.bytes[mine]
        )

    @staticmethod
    def joined(parts: Iterable[Moves]) -> Moves:
        """All of them."""
        every = [*parts, Moves(*(np.zeros(0, np.int64) for _ in range(5)))]
        return Moves(
            *(
                np.concatenate([getattr(part, name) for part in every])
                for name in ("kind", "duration_ns", "start_ns", "whole_ns", "bytes")
            )
        )


@dataclass(frozen=True)
class Rate:
    """Bytes per second of the operations whose bytes were recorded and that took time; None where there are none."""

    counted: int
    mean: float | None
    """All their bytes over all their time: long operations weigh more."""
    greatest: float | None


def moves(device: Part) -> Moves:
    """The memory operations among device slices."""
    found = device.where(device.column("kind") != KERNEL)
    directions = found.column("copy_kind").astype(np.int64)
    kinds = np.where(directions < 0, _OTHER_COPY, directions)
    return Moves(
        np.where(found.column("kind") == MEMSET, len(COPY_KINDS), kinds),
        found.duration_ns,
        found.column("start_ns"),
        found.column("duration_ns"),
        found.column("bytes"),
    )


def rate(found: Moves) -> Rate:
    """How fast these operations were. A range trims times, never bytes, so whole operations count."""
    counted = (found.bytes >= 0) & (found.whole_ns > 0)
    if not counted.any():
        return Rate(0, None, None)
    moved, took_ns = found.bytes[counted], found.whole_ns[counted]
    return Rate(len(moved), exact_sum(moved) / exact_sum(took_ns) * 1e9, float((moved / took_ns).max() * 1e9))


def bytes_per_bin(found: Moves, edges_ns: Int64s) -> NDArray[np.float64]:
    """The bytes that were moved in each bin [edges[i], edges[i+1]), those of an operation spread evenly over its time.

    One that takes no time counts where it stands. What lies outside the bins is left out.
    """
    bins = len(edges_ns) - 1
    known = found.bytes >= 0
    starts_ns, took_ns, moved = found.start_ns[known], found.whole_ns[known], found.bytes[known].astype(np.float64)
    instant = took_ns == 0
    ends_ns = starts_ns + np.where(instant, 1, took_ns)
    low_ns, high_ns = np.maximum(starts_ns, edges_ns[0]), np.minimum(ends_ns, edges_ns[-1])
    seen = low_ns < high_ns
    low_ns, high_ns = low_ns[seen], high_ns[seen]
    rates = moved[seen] / (ends_ns - starts_ns)[seen]
    first = np.searchsorted(edges_ns, low_ns, "right") - 1
    last = np.searchsorted(edges_ns, high_ns, "left") - 1
    result = np.zeros(bins)
    alone = first == last
    np.add.at(result, first[alone], ((high_ns - low_ns) * rates)[alone])
    first, last, low_ns, high_ns, rates = (column[~alone] for column in (first, last, low_ns, high_ns, rates))
    np.add.at(result, first, (edges_ns[first + 1] - low_ns) * rates)
    np.add.at(result, last, (high_ns - edges_ns[last]) * rates)
    # Bins that are filled from end to end: the rate begins behind the first and ends with the last.
    change = np.zeros(bins + 1)
    np.add.at(change, first + 1, rates)
    np.add.at(change, last, -rates)
    whole = np.cumsum(change)[:-1]
    if len(rates):
        whole[np.abs(whole) < 1e-9 * rates.max()] = 0  # what rounding leaves of rates that ended
    return np.asarray(result + whole * np.diff(edges_ns))
