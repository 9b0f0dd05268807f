"""Launches and what they executed: links, and the latency from the start of a launch to the start of its execution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import HOST_KINDS, NONE, SLICE_TABLES
from smprof_desktop.analysis import intervals
from smprof_desktop.analysis.intervals import Int64s, differences
from smprof_desktop.analysis.statistics import MEDIAN, P99, quantiles

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile

NO_ID = "no correlation id was recorded"
NO_CALL = "no API call with its correlation id was recorded"
"""Why an execution has no launch."""
SHARED_ID = "an earlier call carries the same correlation id and counts as the launch"
NOT_RECORDED = "nothing with its correlation id was recorded on a GPU"
"""Why a launch has no execution."""
_LAUNCHES = ("launch", "memcpy", "memset")

GRAPH_LAUNCH = "GraphLaunch"
"""Part of the name of every API call that launches a whole graph: `cudaGraphLaunch`, `hipGraphLaunch`, …"""


@dataclass(frozen=True)
class Latency:
    """Launch latencies of a set of executions; the times are None where no execution is linked."""

    linked: int
    unlinked: int
    min_ns: int | None
    median_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    negative: int
    via_graph_launch: int


def latencies(launch: NDArray[Any], start_ns: NDArray[Any], launch_start_ns: NDArray[Any]) -> NDArray[Any]:
    """Execution start − launch start of each linked execution, never clamped.

    Python integers (dtype object) where 64 bits may not hold a difference.

    Args:
        launch: position of the launch, negative where there is none.
        start_ns: recorded start of each execution.
        launch_start_ns: recorded start of every host slice.
    """
    linked = launch >= 0
    if not linked.all():
        launch, start_ns = launch[linked], start_ns[linked]
    return differences(start_ns, launch_start_ns[launch])


def summary(latencies_ns: NDArray[Any], unlinked: int, via_graph_launch: int) -> Latency:
    """Least, median, 99th percentile (linear interpolation) and greatest of the latencies."""
    count = len(latencies_ns)
    median_ns, p99_ns = quantiles(latencies_ns, (MEDIAN, P99))
    return Latency(
        count,
        unlinked,
        int(latencies_ns.min()) if count else None,
        median_ns,
        p99_ns,
        int(latencies_ns.max()) if count else None,
        int(np.count_nonzero(latencies_ns < 0)),
        via_graph_launch,
    )


def via_graph(launch: NDArray[Any], launch_name_ids: NDArray[Any], texts: list[str]) -> int:
    """How many executions were launched by a call whose name contains `GraphLaunch`."""
    graph_names = [name_id for name_id, text in enumerate(texts) if GRAPH_LAUNCH in text]
    if not graph_names:
        return 0
    return int(np.isin(launch_name_ids[launch[launch >= 0]], graph_names).sum())


def unlinked_by_reason(launch: NDArray[Any], column: Callable[[str], NDArray[Any]]) -> dict[str, int]:
    """Executions without a launch, counted by the reason that can be told.

    `column` gives further columns of the same executions, and is asked only where one has no launch.
    """
    unlinked = launch < 0
    missing = int(np.count_nonzero(unlinked))
    if not missing:
        return {}
    without_id = int(np.count_nonzero(column("correlation")[unlinked] <= 0))
    reasons = {NO_ID: without_id, NO_CALL: missing - without_id}
    return {reason: count for reason, count in reasons.items() if count}


def executions_of(process: ProcessProfile, host_row: int) -> Int64s:
    """Positions in `device` of everything that one API call launched: several for a graph.

    They carry its correlation id, which the file tells where to look for.
    """
    host, device = process.table("host"), process.table("device")
    correlation = host.value("correlation", host_row)
    if correlation <= 0:
        return np.zeros(0, np.int64)
    rows = device.rows_with("correlation", correlation)
    is_mine: NDArray[np.bool_] = device.at("launch", rows) == host_row
    return rows[is_mine]


def launch_of(process: ProcessProfile, device_row: int) -> int | None:
    """Position in `host` of the launch of an execution; None where it was not recorded."""
    launch = process.table("device").value("launch", device_row)
    return launch if launch >= 0 else None


def calls_with(process: ProcessProfile, correlation: int) -> list[int]:
    """Positions in `host` of every API call that carries an id, by start: the first is the launch that is taken."""
    if correlation <= 0:
        return []
    host = process.table("host")
    rows = host.rows_with("correlation", correlation)
    rows = rows[host.at("kind", rows) == HOST_KINDS.index("api")]
    order = np.lexsort((host.at("depth", rows), host.at("start_ns", rows)))
    return [int(row) for row in rows[order]]


def why_unlinked(process: ProcessProfile, device_row: int) -> str:
    """Why an execution has no launch."""
    return NO_ID if process.table("device").value("correlation", device_row) <= 0 else NO_CALL


def why_nothing_ran(process: ProcessProfile, host_row: int) -> str:
    """Why an API call that carries a correlation id owns no execution; empty where none is to be expected.

    Most calls carry an id and launch nothing (`cudaMalloc`): only what is called a launch, a copy or a set by its name,
    or shares the id of an execution, is missed.
    """
    host = process.table("host")
    correlation = host.value("correlation", host_row)
    if correlation <= 0:
        return ""
    first = calls_with(process, correlation)
    if first and first[0] != host_row and len(executions_of(process, first[0])):
        return SHARED_ID
    name = process.names.text(host.value("name_id", host_row)).lower()
    return NOT_RECORDED if any(word in name for word in _LAUNCHES) else ""


@dataclass(frozen=True)
class Queue:
    """What an execution waited for on its stream: earlier work not yet done when its launch returned, and that time."""

    ahead: int
    queued_ns: int


def queue_of(process: ProcessProfile, device_row: int, launch_end_ns: int) -> Queue:
    """What stood before an execution on its stream from the end of its launch to its own start.

    Costs what ran in between.
    """
    device, lanes = process.table("device"), process.table("lane_rows")
    start_ns = device.value("start_ns", device_row)
    mine = (lanes["table"] == SLICE_TABLES.index("device")) & (lanes["row"] != NONE)  # no union, which has no stream
    for name in ("device", "stream"):
        mine &= lanes[name] == device.value(name, device_row)
    starts, ends, ahead = [], [], 0
    for begin, end in zip(lanes["begin_row"][mine].tolist(), lanes["end_row"][mine].tolist(), strict=True):
        first = max(device.last_at("start_ns", begin, end, launch_end_ns), begin)
        behind = device.last_at("start_ns", first, end, start_ns) + 1
        rows = np.arange(first, behind)
        rows = rows[rows != device_row]
        began_ns = device.at("start_ns", rows)
        ended_ns = intervals.ends_of(began_ns, device.at("duration_ns", rows))
        late = (ended_ns > launch_end_ns) & (began_ns < start_ns)
        ahead += int(late.sum())
        starts.append(np.maximum(began_ns[late], launch_end_ns))
        ends.append(np.minimum(ended_ns[late], start_ns))
    if not ahead:
        return Queue(0, 0)
    return Queue(ahead, intervals.length(np.concatenate(starts), np.concatenate(ends)))
