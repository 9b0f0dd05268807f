"""How much of its window a device was active: per device, per stream, and over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import NONE, SLICE_TABLES
from smprof_desktop.analysis.executions import Part, blocks
from smprof_desktop.analysis.intervals import (
    Int64s,
    busy_per_bin,
    clip,
    intersect,
    length_of_disjoint,
    length_within,
    union,
)
from smprof_desktop.analysis.kernels import time_by_kind

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile

_DEVICE = SLICE_TABLES.index("device")

Windows = Sequence[Sequence[int]]
"""Disjoint sorted [start, end) in ns."""


@dataclass(frozen=True)
class StreamUse:
    """One stream: its slices, and the length of their union inside the window."""

    stream: int
    slices: int
    active_ns: int


@dataclass(frozen=True)
class DeviceUse:
    """One device of one process. Times by kind are plain sums of all slices; active time lies inside the window."""

    device: int
    active_ns: int
    outside_window_ns: int
    """Active time outside the window: in no share, but not hidden."""
    kernel_ns: int
    memcpy_ns: int
    memset_ns: int
    streams: tuple[StreamUse, ...]
    busy: tuple[Int64s, Int64s]
    """The union over all streams, as disjoint sorted intervals."""


def devices_of(process: ProcessProfile) -> list[int]:
    """The devices that report, panels and timeline show of a process, by index.

    They are those with device slices, in or out of any range, and those that the process is known to have used; -1
    stands for slices whose device was not recorded. A device that only holds marks, or could merely be seen, is none.
    Reads the lane rows, not the slices.
    """
    used = {device.index for device in process.info.devices if device.used}
    slices, lanes = process.table("device"), process.table("lane_rows")
    if not len(slices):
        return sorted(used)
    mine = (lanes["table"] == _DEVICE) & (lanes["row"] != NONE)  # lines of lanes, not what unites them
    if int((lanes["end_row"][mine] - lanes["begin_row"][mine]).sum()) == len(slices):
        return sorted(used.union(lanes["device"][mine].tolist()))
    return sorted(used.union(np.unique(slices["device"]).tolist()))  # lane rows that do not fit prove nothing


def windows_of(process: ProcessProfile) -> list[list[int]]:
    """When a process recorded: its windows; where none was recorded, first start to last end over its slices."""
    if process.info.windows_ns:
        return process.info.windows_ns
    lanes = process.table("lane_rows")
    return [[int(lanes["begin_ns"].min()), int(lanes["end_ns"].max())]] if len(lanes) else []


def windows_within(windows: Windows, begin_ns: int | None, end_ns: int | None) -> list[tuple[int, int]]:
    """The windows cut to a range, merged where they overlap."""
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    edges = np.asarray(windows, np.int64).reshape(-1, 2)
    starts, ends = union(edges[:, 0], edges[:, 1])
    starts, ends = clip(starts, ends, low if begin_ns is None else begin_ns, high if end_ns is None else end_ns)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def devices(device: Part, windows: Windows) -> list[DeviceUse]:
    """The use of each device that has slices, by index. `device` keeps the order of its table."""
    indices, streams, kinds = device.column("device"), device.column("stream"), device.column("kind")
    durations_ns = device.duration_ns
    result = []
    for first, behind in blocks(indices):
        stream_uses, stream_starts, stream_ends = [], [], []
        for low, high in blocks(streams[first:behind]):
            rows = slice(first + low, first + high)
            starts, ends = union(device.start_ns[rows], device.end_ns[rows])
            stream_uses.append(StreamUse(int(streams[first + low]), high - low, length_within(starts, ends, windows)))
            stream_starts.append(starts)
            stream_ends.append(ends)
        busy = union(np.concatenate(stream_starts), np.concatenate(stream_ends))
        active_ns = length_within(*busy, windows)
        result.append(
            DeviceUse(
                int(indices[first]),
                active_ns,
                length_of_disjoint(*busy) - active_ns,
                *time_by_kind(kinds[first:behind], durations_ns[first:behind]),
                tuple(stream_uses),
                busy,
            )
        )
    return result


def share(active_ns: int, window_ns: int) -> float | None:
    """active ÷ window; None where nothing was recorded."""
    return active_ns / window_ns if window_ns else None


@dataclass(frozen=True)
class Binned:
    """Active time and window of one device in each of some bins of time, in ns."""

    active_ns: NDArray[Any]
    window_ns: NDArray[Any]


def binned(use: DeviceUse | None, windows: Windows, edges: NDArray[Any]) -> Binned:
    """How one device was used over time. `use` is None for a device that was used but has no slices; bin i is
    [edges[i], edges[i+1])."""
    window_edges = np.asarray(windows, np.int64).reshape(-1, 2)
    window_ns = busy_per_bin(window_edges[:, 0], window_edges[:, 1], edges)
    if use is None:
        return Binned(np.zeros_like(window_ns), window_ns)
    starts, ends = inside = use.busy
    if not any(len(starts) and begin <= starts[0] and ends[-1] <= end for begin, end in windows):
        inside = intersect(*use.busy, window_edges[:, 0], window_edges[:, 1])
    return Binned(busy_per_bin(*inside, edges), window_ns)


def shares_per_bin(devices: Sequence[Binned]) -> NDArray[np.float64]:
    """Utilization over time of a set of devices, at least one: the mean over their shares of each bin.

    A bin in which no device has a window is NaN: nothing is known of it. Where some have none it is the others' mean.
    """
    total, known = (np.zeros(len(devices[0].window_ns)) for _ in range(2))
    for device in devices:
        seen = device.window_ns > 0
        total[seen] += (device.active_ns[seen] / device.window_ns[seen]).astype(np.float64)
        known += seen
    with np.errstate(invalid="ignore"):
        return np.asarray(total / known)
