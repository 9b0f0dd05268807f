"""Why a device was idle: for each gap between its slices, what its end waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import NONE
from smprof_desktop.analysis.executions import Part, blocks
from smprof_desktop.analysis.intervals import Int64s, differences, pieces_within, union
from smprof_desktop.analysis.statistics import exact_sum
from smprof_desktop.analysis.utilization import Windows

CAUSES = ("host", "kernels", "other", "unknown")
"""Waiting for the host; between kernels; launched in time and still not running; nothing tells."""
HOST, KERNELS, OTHER, UNKNOWN = range(len(CAUSES))
CONSECUTIVE_NS = 30_000
"""Gaps shorter than this are what one kernel after another costs. HolisticTraceAnalysis calls its default of 30
nanoseconds, but compares it with times in µs."""


@dataclass(frozen=True)
class Gaps:
    """The idle time of one device inside its windows, as disjoint sorted pieces with the cause of each."""

    start_ns: Int64s
    end_ns: Int64s
    cause: NDArray[np.int8]

    def totals(self) -> list[tuple[int, int]]:
        """Per cause: how many pieces, and their time in ns."""
        lengths = differences(self.end_ns, self.start_ns)
        causes = [self.cause == cause for cause in range(len(CAUSES))]
        return [(int(np.count_nonzero(mine)), exact_sum(lengths[mine])) for mine in causes]


def gaps(
    device: Part,
    host_start_ns: NDArray[Any],
    recorded: Windows,
    windows: Windows,
    consecutive_ns: int = CONSECUTIVE_NS,
) -> Gaps:
    """The gaps of one device by cause: their sum is the windows less the active time.

    A gap waits for what ends it, the slice that starts then. The host is the cause when the launch of that slice began
    after everything before it had ended (before anything ran: after recording began). Otherwise a gap shorter than
    `consecutive_ns` is the way from one kernel to the next, and a longer one has another cause: a dependency on another
    stream, a full queue, a copy. Nothing tells of a gap whose end has no recorded launch, or that lasts to the end.

    Args:
        device: all slices of the device, in or out of the windows, in the order of their table.
        host_start_ns: start of every host slice of the process, by position.
        recorded: disjoint sorted [start, end) in which the process recorded.
        windows: what counts of them: all, or their parts in a range.
    """
    edges = np.asarray(windows, np.int64).reshape(-1, 2)
    if not len(edges):
        empty = np.zeros(0, np.int64)
        return Gaps(empty, empty, empty.astype(np.int8))
    starts_ns, ends_ns = union(device.start_ns, device.end_ns)
    launch = _launches_at(device, starts_ns)
    low_ns, high_ns = min(recorded[0][0], int(edges[0, 0])), int(edges[-1, 1])
    gap_start_ns = np.append(min(low_ns, int(starts_ns[0])) if len(starts_ns) else low_ns, ends_ns)
    gap_end_ns = np.append(starts_ns, max(high_ns, int(ends_ns[-1])) if len(ends_ns) else high_ns)
    linked = launch >= 0
    launched_ns = np.zeros(len(launch), np.int64)
    launched_ns[linked] = host_start_ns[launch[linked]]
    cause = np.full(len(gap_start_ns), UNKNOWN, np.int8)
    lengths = differences(gap_end_ns[:-1], gap_start_ns[:-1])
    cause[:-1] = np.where(lengths < consecutive_ns, KERNELS, OTHER)
    cause[:-1][launched_ns > gap_start_ns[:-1]] = HOST
    cause[:-1][~linked] = np.where(lengths[~linked] < consecutive_ns, KERNELS, UNKNOWN)
    place, piece_start_ns, piece_end_ns = pieces_within(gap_start_ns, gap_end_ns, edges[:, 0], edges[:, 1])
    return Gaps(piece_start_ns, piece_end_ns, cause[place])


def _launches_at(device: Part, starts_ns: Int64s) -> Int64s:
    """The launch of a slice that starts at each of these times, -1 where none was recorded.

    Of several that start at once, the one on the first line of a lane counts that has a launch.
    """
    found = np.full(len(starts_ns), NONE, np.int64)
    launch = device.column("launch")
    keys = [device.column(name) for name in ("device", "stream", "row")]
    for first, behind in blocks(*keys):  # one line of a lane: sorted by start
        lane_ns = device.start_ns[first:behind]
        if 4 * (behind - first) < len(starts_ns):
            place = np.searchsorted(starts_ns, lane_ns, "left")
            hit = (place < len(starts_ns)) & (starts_ns[np.minimum(place, len(starts_ns) - 1)] == lane_ns)
            hit &= device.end_ns[first:behind] > lane_ns
            at, rows = place[hit], first + np.flatnonzero(hit)
        else:
            place = np.searchsorted(lane_ns, starts_ns, "right") - 1
            hit = (place >= 0) & (lane_ns[np.maximum(place, 0)] == starts_ns)
            hit &= device.end_ns[first:behind][np.maximum(place, 0)] > starts_ns
            at, rows = np.flatnonzero(hit), first + place[hit]
        fresh = found[at] < 0
        found[at[fresh]] = launch[rows[fresh]]
    return found
