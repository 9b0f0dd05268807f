"""Launches and what they executed: links, and the latency from the start of a launch to the start of its execution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.analysis.executions import Columns
from smprof_desktop.analysis.intervals import Int64s, differences
from smprof_desktop.analysis.statistics import MEDIAN, P99, quantiles

GRAPH_LAUNCH = "GraphLaunch"
"""Part of the name of every API call that launches a whole graph: `cudaGraphLaunch`, `hipGraphLaunch`, …"""


class Tables(Protocol):
    """A process of an open profile."""

    def table(self, name: str) -> Columns: ...


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
    reasons = {
        "no correlation id was recorded": without_id,
        "no API call with its correlation id was recorded": missing - without_id,
    }
    return {reason: count for reason, count in reasons.items() if count}


def executions_of(process: Tables, host_row: int) -> Int64s:
    """Positions in `device` of everything that one API call launched: several for a graph."""
    return np.flatnonzero(process.table("device")["launch"] == host_row).astype(np.int64)


def launch_of(process: Tables, device_row: int) -> int | None:
    """Position in `host` of the launch of an execution; None where it was not recorded."""
    launch = int(process.table("device")["launch"][device_row])
    return launch if launch >= 0 else None
