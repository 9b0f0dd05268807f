"""What a device did at each moment: compute, communicate, both, move memory or nothing. Each moment counts once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.analysis.communication import operation_of
from smprof_desktop.analysis.executions import Part
from smprof_desktop.analysis.intervals import (
    Int64s,
    covered_before,
    differences,
    intersect,
    parts_apart,
    pieces_within,
    subtract,
    union,
)
from smprof_desktop.analysis.kernels import KERNEL
from smprof_desktop.analysis.utilization import Windows

PARTS = ("compute", "overlapped", "exposed", "memory", "idle")
"""Compute alone, compute and communication at once, communication without compute, memory operations alone, nothing."""
COMPUTE, OVERLAPPED, EXPOSED, MEMORY, IDLE = range(len(PARTS))

Set = tuple[Int64s, Int64s]
"""Disjoint sorted intervals: starts and ends."""


@dataclass(frozen=True)
class Activity:
    """What one device did, as unions over its streams."""

    busy: Set
    compute: Set
    communication: Set
    both: Set
    """Where compute and communication run at once."""


def communicating_shapes(shape_names: NDArray[Any], texts: list[str]) -> NDArray[np.bool_]:
    """For each launch shape whether its kernel communicates, and False behind the last one, for what has no shape."""
    by_name = np.array([operation_of(text) is not None for text in texts] + [False])
    known = (shape_names >= 0) & (shape_names < len(texts))
    result: NDArray[np.bool_] = np.append(by_name[np.where(known, shape_names, len(texts))], False)
    return result


def is_communication(device: Part, communicating: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which slices are kernels that communicate; `communicating` is what `communicating_shapes` returns."""
    if not communicating.any():
        return np.zeros(len(device), bool)
    shape_ids = device.column("shape_id")
    last = len(communicating) - 1
    known = (shape_ids >= 0) & (shape_ids < last)
    result: NDArray[np.bool_] = communicating[np.where(known, shape_ids, last)] & (device.column("kind") == KERNEL)
    return result


def activity(device: Part, communicates: NDArray[np.bool_]) -> Activity:
    """The activity of one device from all of its slices."""
    is_kernel = device.column("kind") == KERNEL
    compute = union(*_times(device, is_kernel & ~communicates))
    communication = union(*_times(device, communicates))
    busy = compute if (is_kernel & ~communicates).all() else union(device.start_ns, device.end_ns)
    return Activity(busy, compute, communication, intersect(*compute, *communication))


def split(found: Activity, windows: Windows) -> list[int]:
    """ns of each of PARTS inside disjoint windows; they sum to the windows' length."""
    edges = np.asarray(windows, np.int64).reshape(-1, 2)
    parts = split_each(found, edges[:, 0], edges[:, 1])
    return [sum(part.tolist()) for part in parts]


def split_each(found: Activity, starts_ns: Int64s, ends_ns: Int64s) -> list[NDArray[Any]]:
    """ns of each of PARTS inside each of some intervals, which may overlap; they sum to the intervals' lengths."""
    busy, compute, communication, both = (
        covered_before(*each, ends_ns) - covered_before(*each, starts_ns)
        for each in (found.busy, found.compute, found.communication, found.both)
    )
    lengths = differences(ends_ns, starts_ns)
    return [compute - both, both, communication - both, busy - (compute + communication - both), lengths - busy]


def overlap_percent(parts: Sequence[int]) -> float | None:
    """Share of the communication during which something was computed, as HolisticTraceAnalysis defines it."""
    communication = parts[OVERLAPPED] + parts[EXPOSED]
    return 100 * parts[OVERLAPPED] / communication if communication else None


def rows_of(
    device: Part, communicates: NDArray[np.bool_], windows: Windows, part: int
) -> tuple[Int64s, Int64s, Int64s]:
    """The slices of one device behind one of PARTS: (position in `device`, start, end) of what counts of each.

    Each moment belongs to the slice that had begun first, so that they sum to the part. Idle moments have the
    position -1.
    """
    found = activity(device, communicates)
    edges = np.asarray(windows, np.int64).reshape(-1, 2)
    within: Set = (edges[:, 0], edges[:, 1])
    if part == IDLE:
        starts_ns, ends_ns = subtract(*within, *found.busy)
        return np.full(len(starts_ns), -1, np.int64), starts_ns, ends_ns
    is_kernel = device.column("kind") == KERNEL
    if part == COMPUTE:
        chosen, within = is_kernel & ~communicates, subtract(*within, *found.communication)
    elif part == OVERLAPPED:
        chosen, within = communicates, intersect(*within, *found.both)
    elif part == EXPOSED:
        chosen, within = communicates, subtract(*within, *found.compute)
    else:
        kernels = union(*(np.concatenate(pair) for pair in zip(found.compute, found.communication, strict=True)))
        chosen, within = ~is_kernel, subtract(*within, *kernels)
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(device.start_ns[rows], kind="stable")]
    apart = parts_apart(device.start_ns[rows], device.end_ns[rows])
    place, starts_ns, ends_ns = pieces_within(*apart, *within)
    return rows[place], starts_ns, ends_ns


def exposed_each(found: Activity, starts_ns: Int64s, ends_ns: Int64s) -> NDArray[Any]:
    """How much of each interval nothing is computed in."""
    covered = covered_before(*found.compute, ends_ns) - covered_before(*found.compute, starts_ns)
    return np.asarray(differences(ends_ns, starts_ns) - covered)


def _times(device: Part, chosen: NDArray[np.bool_]) -> Set:
    return device.start_ns[chosen], device.end_ns[chosen]
