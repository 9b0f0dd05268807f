"""The launch latency of each execution in its parts: the call, the wait behind earlier work of its stream, the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.analysis import intervals
from smprof_desktop.analysis.executions import Columns, Part, blocks
from smprof_desktop.analysis.intervals import Int64s, ends_of
from smprof_desktop.analysis.launches import latencies


@dataclass(frozen=True)
class LatencyParts:
    """Latencies of linked executions; all columns are as long as there are such, in the order of the device table.

    total = api + queued + overhead + early, exactly. Times are int64, or Python integers (dtype object) where 64 bits
    may not hold a latency.
    """

    row: Int64s
    """Positions in `device`."""
    launch: Int64s
    """Positions in `host`."""
    total_ns: NDArray[Any]
    """Start of the execution minus start of its launch; never clamped."""
    api_ns: NDArray[Any]
    """The part during which the call had not returned."""
    queued_ns: NDArray[Any]
    """Of what follows the call the time in which earlier work of the same stream still ran."""
    overhead_ns: NDArray[Any]
    """What neither the call nor earlier work explains."""
    early_ns: NDArray[Any]
    """Below 0 where the execution is recorded to start before its launch does, else 0."""

    def __len__(self) -> int:
        return len(self.row)


def of_executions(executions: Part, device: Columns, host: Columns) -> LatencyParts:
    """The parts of the latencies of those of `executions`, rows of the table `device`, that have a launch in `host`.

    Recorded times count, also where the executions are trimmed to a range.
    """
    launches = executions.column("launch")
    linked = np.flatnonzero(launches >= 0)
    row, launch = executions.positions()[linked], launches[linked].astype(np.int64)
    start_ns = executions.column("start_ns")[linked]
    total_ns = latencies(launch, start_ns, host["start_ns"])
    call_ns = host["duration_ns"][launch].astype(total_ns.dtype)
    returned_ns = ends_of(host["start_ns"][launch], host["duration_ns"][launch])
    late = start_ns > returned_ns
    queued_ns = np.zeros(len(row), total_ns.dtype)
    for first, behind in blocks(device["device"], device["stream"]):
        low, high = np.searchsorted(row, (first, behind))
        mine = low + np.flatnonzero(late[low:high])
        if len(mine):
            began_ns = device["start_ns"][first:behind]
            union = intervals.union(began_ns, ends_of(began_ns, device["duration_ns"][first:behind]))
            queued_ns[mine] = intervals.covered_before(*union, start_ns[mine]) - intervals.covered_before(
                *union, returned_ns[mine]
            )
    waited_ns = np.where(late, total_ns - call_ns, 0).astype(total_ns.dtype)
    early_ns = np.minimum(total_ns, 0)
    return LatencyParts(
        row,
        launch,
        total_ns,
        total_ns - waited_ns - early_ns,
        queued_ns,
        waited_ns - queued_ns,
        early_ns,
    )


def greatest(parts: LatencyParts, most: int) -> Int64s:
    """Places of the `most` greatest latencies, the greatest first; of equal ones the earlier row."""
    count = len(parts)
    if not count or not most:
        return np.zeros(0, np.int64)
    totals_ns = parts.total_ns
    if count > most:
        least = np.partition(totals_ns, count - most)[count - most]
        places = np.flatnonzero(totals_ns >= least)
    else:
        places = np.arange(count)
    order = np.argsort(~totals_ns[places], kind="stable")  # ~ turns the order round, and unlike - of any time
    return np.asarray(places[order[:most]], np.int64)


_STEPS = (100, 125, 160, 200, 250, 320, 400, 500, 630, 800)
EDGES_NS: Int64s = np.array(
    [0, 1, 10, *(step * 10**power for power in range(16) for step in _STEPS if step * 10**power < 1 << 62)], np.int64
)
"""Edges of logarithmic bins in whole ns: ten in each power of ten from 100 ns on. The same for any latencies, so that
what several processes count adds up."""


def bins_of(times_ns: NDArray[Any]) -> Int64s:
    """The bin of each time: 0 is below 0, i is [EDGES_NS[i - 1], EDGES_NS[i]), the last one is all behind."""
    if times_ns.dtype == object:
        times_ns = np.array([min(max(time, -1), int(EDGES_NS[-1])) for time in times_ns.tolist()], np.int64)
    return np.searchsorted(EDGES_NS, times_ns, "right")


def counts_per_bin(times_ns: NDArray[Any]) -> Int64s:
    """How many lie in each of these bins."""
    return np.bincount(bins_of(times_ns), minlength=len(EDGES_NS) + 1).astype(np.int64)
