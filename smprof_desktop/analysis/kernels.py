"""Totals by name of kernels and host calls, and of memory operations by kind. Plain sums: overlap counts twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import COPY_KINDS, DEVICE_KINDS, LOST_NAME
from smprof_desktop.analysis.executions import Part
from smprof_desktop.analysis.statistics import Totals, divide, exact_sum, grouped, sums

KERNEL, MEMCPY, MEMSET = (DEVICE_KINDS.index(kind) for kind in ("kernel", "memcpy", "memset"))
_OTHER_COPY = COPY_KINDS.index("Other")


@dataclass
class NamedTotal:
    """Count and times of all slices of one name."""

    name: str
    count: int
    total_ns: int
    min_ns: int
    max_ns: int

    @property
    def mean_ns(self) -> int:
        """The mean to the nearest ns, halves to even."""
        return divide(self.total_ns, self.count)

    def add(self, other: NamedTotal) -> None:
        """Take in the slices of the same name from elsewhere."""
        self.count += other.count
        self.total_ns += other.total_ns
        self.min_ns = min(self.min_ns, other.min_ns)
        self.max_ns = max(self.max_ns, other.max_ns)


@dataclass
class CopyTotal:
    """Count, time and bytes of the memory operations of one kind."""

    kind: str
    count: int
    total_ns: int
    bytes: int


def by_name(name_ids: NDArray[Any], durations_ns: NDArray[Any], texts: list[str]) -> list[NamedTotal]:
    """One total for each name that occurs; ids of the same text are one name, ids outside `texts` are "(name lost)"."""
    name_ids = np.where((name_ids >= 0) & (name_ids < len(texts)), name_ids, len(texts))
    return _named(grouped(name_ids, durations_ns, len(texts) + 1), np.arange(len(texts) + 1), texts)


def kernels_by_name(device: Part, shape_names: NDArray[Any], texts: list[str]) -> list[NamedTotal]:
    """One total for each kernel name. `shape_names` is `shapes.name_id`."""
    # Grouping by launch shape reads one column instead of two; shapes are few, so their names come afterwards.
    shape_ids, durations_ns, kinds = device.column("shape_id"), device.duration_ns, device.column("kind")
    if not (kinds == KERNEL).all():
        kernel = kinds == KERNEL
        shape_ids, durations_ns = shape_ids[kernel], durations_ns[kernel]
    known = len(shape_names)
    shape_ids = np.where((shape_ids >= 0) & (shape_ids < known), shape_ids, known)
    return _named(grouped(shape_ids, durations_ns, known + 1), np.append(shape_names, -1), texts)


def merged(totals: Iterable[NamedTotal]) -> list[NamedTotal]:
    """One entry a name, total descending, then name."""
    found: dict[str, NamedTotal] = {}
    for total in totals:
        if total.name in found:
            found[total.name].add(total)
        else:
            found[total.name] = NamedTotal(total.name, total.count, total.total_ns, total.min_ns, total.max_ns)
    return sorted(found.values(), key=lambda total: (-total.total_ns, total.name))


def memory_by_kind(device: Part) -> list[CopyTotal]:
    """Copies by direction, then memsets; bytes where recorded. A range trims times, never bytes."""
    kinds = device.column("kind")
    moves = device.where(kinds != KERNEL)
    if not len(moves):
        return []
    kinds, directions = moves.column("kind"), moves.column("copy_kind").astype(np.int64)
    groups = np.where(kinds == MEMSET, len(COPY_KINDS), np.where(directions < 0, _OTHER_COPY, directions))
    size = len(COPY_KINDS) + 1
    counts = np.bincount(groups, minlength=size)
    times_ns = sums(groups, moves.duration_ns, size)
    moved = sums(groups, np.maximum(moves.column("bytes"), 0), size)
    return [
        CopyTotal(kind, int(counts[group]), int(times_ns[group]), int(moved[group]))
        for group, kind in enumerate((*COPY_KINDS, "Memset"))
        if counts[group]
    ]


def time_by_kind(kinds: NDArray[Any], durations_ns: NDArray[Any]) -> tuple[int, int, int]:
    """Plain sums of kernel, memcpy and memset time."""
    if (kinds == KERNEL).all():
        return exact_sum(durations_ns), 0, 0
    kernel_ns, memcpy_ns, memset_ns = sums(kinds, durations_ns, len(DEVICE_KINDS)).tolist()
    return kernel_ns, memcpy_ns, memset_ns


def _named(totals: Totals, name_ids: NDArray[Any], texts: list[str]) -> list[NamedTotal]:
    rows = []
    for group in np.flatnonzero(totals.count).tolist():
        name_id = int(name_ids[group])
        name = texts[name_id] if 0 <= name_id < len(texts) else LOST_NAME
        columns = (totals.count, totals.total, totals.least, totals.greatest)
        rows.append(NamedTotal(name, *(int(column[group]) for column in columns)))
    return merged(rows)
