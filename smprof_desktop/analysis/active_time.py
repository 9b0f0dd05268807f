"""What the active and the idle time of devices consist of: slices, each with its part, and moments without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from smprof.profile.schema import SLICE_TABLES
from smprof_desktop.analysis import utilization
from smprof_desktop.analysis.doors import Found, of_moments
from smprof_desktop.analysis.executions import Part, blocks, part
from smprof_desktop.analysis.intervals import Int64s, clip, parts_apart, union
from smprof_desktop.progress import CancelCheck, Cancelled, never

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

_DEVICE = SLICE_TABLES.index("device")


def active(begin_ns: int | None, end_ns: int | None, profile: Profile, cancelled: CancelCheck = never) -> Found:
    """The slices of all devices that make up their active time inside the windows, each with what it adds to it.

    Where slices of a device overlap, the moment counts for the one that started first, so that it counts once. A slice
    that adds nothing is not there; one that reaches over several windows is there for each. Raises Cancelled.
    """
    found = []
    for process, device, windows in _recorded(profile, begin_ns, end_ns, cancelled):
        for first, behind in blocks(device.column("device")):
            found += _adding(process, device.between(first, behind), windows)
    return Found.joined(found)


def idle(begin_ns: int | None, end_ns: int | None, profile: Profile, cancelled: CancelCheck = never) -> Found:
    """The moments inside the windows in which a device that was used had nothing to do. Raises Cancelled."""
    found = []
    for process, device, windows in _recorded(profile, begin_ns, end_ns, cancelled):
        edges = {
            int(device.column("device")[first]): (first, behind) for first, behind in blocks(device.column("device"))
        }
        for index in utilization.devices_of(profile.processes[process]):
            mine = device.between(*edges.get(index, (0, 0)))
            starts_ns, ends_ns = union(mine.start_ns, mine.end_ns)
            for window in windows:
                found.append(of_moments(process, *_gaps(*clip(starts_ns, ends_ns, *window), *window)))
    return Found.joined(found)


def _recorded(
    profile: Profile, begin_ns: int | None, end_ns: int | None, cancelled: CancelCheck
) -> list[tuple[int, Part, list[tuple[int, int]]]]:
    """Of each process the executions in the range, and the windows cut to it."""
    found = []
    for index, process in enumerate(profile.processes):
        if cancelled():
            raise Cancelled
        windows = utilization.windows_within(utilization.windows_of(process), begin_ns, end_ns)
        found.append((index, part(process.table("device"), begin_ns, end_ns), windows))
    return found


def _adding(process: int, device: Part, windows: list[tuple[int, int]]) -> list[Found]:
    """What each slice of one device adds to the union of those before it, by window."""
    order = np.argsort(device.start_ns, kind="stable")
    rows = device.positions()[order]
    starts_ns, ends_ns = parts_apart(device.start_ns[order], device.end_ns[order])
    found = []
    for begin_ns, end_ns in windows:
        from_ns, to_ns = np.maximum(starts_ns, begin_ns), np.minimum(ends_ns, end_ns)
        adds = np.flatnonzero(from_ns < to_ns)
        found.append(
            Found(
                np.full(len(adds), process, np.int32),
                np.full(len(adds), _DEVICE, np.int8),
                rows[adds],
                from_ns[adds],
                to_ns[adds],
            )
        )
    return found


def _gaps(starts_ns: Int64s, ends_ns: Int64s, begin_ns: int, end_ns: int) -> tuple[Int64s, Int64s]:
    """What disjoint sorted intervals inside [begin, end) leave of it."""
    from_ns = np.concatenate((np.array([begin_ns], np.int64), ends_ns))
    to_ns = np.concatenate((starts_ns, np.array([end_ns], np.int64)))
    left = from_ns < to_ns
    return from_ns[left], to_ns[left]
