"""All links with an end in view, up to a stated number, evenly chosen. For a task: it reads what it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from smprof.profile.reader import Profile
from smprof.profile.schema import SLICE_TABLES
from smprof_desktop.analysis.enclosing import Surroundings
from smprof_desktop.progress import Cancelled
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline.lanes import LaneTree, Row

MAX_LINKS = 500
"""Links in view that get an arrow."""
MAX_COUNTED = 2_000_000
"""Executions in view that are looked at one by one; of more, so many as tell the share that has a launch."""
MAX_CALLS = 200_000
"""API calls in view that are asked for executions out of view."""
_SAMPLES = 8 * MAX_LINKS

Place = tuple[str, int]
Runs = dict[int, list[tuple[int, int]]]
"""Per process the rows [begin, end) of a table, run by run."""

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Request:
    """What links are wanted of: a range of time, and the lanes in sight with those that their groups hide."""

    begin_ns: int
    end_ns: int
    rows: frozenset[Row]


@dataclass(frozen=True, eq=False)
class LinksInView:
    """Links in view, by the start of their executions: where both ends stand (key of a lane, row in it) and start.

    `total` is how many there are, `is_exact` or estimated.
    """

    request: Request
    launch_ns: NDArray[np.int64] = field(default_factory=lambda: _NONE)
    start_ns: NDArray[np.int64] = field(default_factory=lambda: _NONE)
    launch_places: tuple[Place, ...] = ()
    execution_places: tuple[Place, ...] = ()
    total: int = 0
    is_exact: bool = True


def find(profile: Profile, tree: LaneTree, request: Request, cancelled: Callable[[], bool]) -> LinksInView:
    """The links of which an end starts in the range, on one of the lanes. Raises Cancelled."""
    executions, calls = _in_range(profile, request, cancelled)
    count = sum(end - begin for runs in executions.values() for begin, end in runs)
    is_exact = count <= MAX_COUNTED
    found: list[tuple[int, NDArray[np.int64], NDArray[np.int64]]] = []
    looked_at = 0
    for process, rows in _rows(executions, count, MAX_COUNTED if is_exact else _SAMPLES):
        if cancelled():
            raise Cancelled
        launch = profile.processes[process].table("device").at("launch", rows)
        looked_at += len(rows)
        found.append((process, rows[launch >= 0], launch[launch >= 0]))
    called = sum(end - begin for runs in calls.values() for begin, end in runs)
    if is_exact and called <= MAX_CALLS:
        for process, runs in calls.items():
            if cancelled():
                raise Cancelled
            launched = Surroundings(profile.processes[process]).launched_by(runs)
            rows = _outside(launched.rows, executions.get(process, []))
            found.append((process, rows, profile.processes[process].table("device").at("launch", rows)))
    linked = sum(len(rows) for _, rows, _ in found)
    total = linked if is_exact else round(count * linked / max(looked_at, 1))
    return _placed(profile, tree, request, found, total, is_exact and called <= MAX_CALLS)


def _in_range(profile: Profile, request: Request, cancelled: Callable[[], bool]) -> tuple[Runs, Runs]:
    """The executions and the API calls on the lanes that start in the range."""
    found: dict[str, Runs] = {"device": {}, "host": {}}
    kinds = {process: profile.processes[process].table("lane_rows").texts("kind") for process in _processes(request)}
    for row in sorted(request.rows, key=lambda row: (row.process, row.lane_rows)):
        lanes = profile.processes[row.process].table("lane_rows")
        for lane_row in row.lane_rows:
            if cancelled():
                raise Cancelled
            table = SLICE_TABLES[int(lanes["table"][lane_row])]
            if table == "annotation" or (table == "host" and kinds[row.process][lane_row] != "api"):
                continue
            columns = profile.processes[row.process].table(table)
            first = min(max(int(lanes["begin_row"][lane_row]), 0), len(columns))
            behind = min(max(int(lanes["end_row"][lane_row]), first), len(columns))
            begin = columns.last_at("start_ns", first, behind, request.begin_ns - 1) + 1
            end = columns.last_at("start_ns", begin, behind, request.end_ns - 1) + 1
            if begin < end:
                found[table].setdefault(row.process, []).append((begin, end))
    return found["device"], found["host"]


def _processes(request: Request) -> set[int]:
    return {row.process for row in request.rows}


def _rows(runs: Runs, count: int, most: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """The rows, process by process; of more than `most` so many, evenly chosen."""
    step = max(count / most, 1.0)
    for process, mine in runs.items():
        rows = np.concatenate([np.arange(begin, end) for begin, end in sorted(mine)])
        if step > 1.0:
            rows = rows[np.unique(np.arange(0, len(rows), step).astype(np.int64))]
        yield process, rows


def _outside(rows: NDArray[np.int64], runs: list[tuple[int, int]]) -> NDArray[np.int64]:
    """Those of the rows that lie in none of the runs."""
    if not runs:
        return rows
    edges = np.array(sorted(runs), np.int64)
    at = np.searchsorted(edges[:, 0], rows, "right") - 1
    outside: NDArray[np.bool_] = (at < 0) | (rows >= edges[np.maximum(at, 0), 1])
    return rows[outside]


def _placed(
    profile: Profile,
    tree: LaneTree,
    request: Request,
    found: list[tuple[int, NDArray[np.int64], NDArray[np.int64]]],
    total: int,
    is_exact: bool,
) -> LinksInView:
    """At most MAX_LINKS of what was found, evenly chosen by their starts."""
    if not any(len(rows) for _, rows, _ in found):
        return LinksInView(request)
    owner = np.concatenate([np.full(len(rows), process) for process, rows, _ in found])
    rows, launch = (np.concatenate([part[index] for part in found]) for index in (1, 2))
    tables = [profile.processes[process].table for process in range(len(profile.processes))]
    starts_ns = np.concatenate([tables[process]("device").at("start_ns", mine) for process, mine, _ in found])
    order = np.argsort(starts_ns, kind="stable")
    if len(order) > MAX_LINKS:
        order = order[np.linspace(0, len(order) - 1, MAX_LINKS).astype(np.int64)]
    launch_ns, launch_places, places, kept = [], [], [], []
    for index in order.tolist():
        process, row, call = int(owner[index]), int(rows[index]), int(launch[index])
        first, last = tree.place(SliceRef(process, "host", call)), tree.place(SliceRef(process, "device", row))
        if first is not None and last is not None:
            kept.append(index)
            launch_ns.append(tables[process]("host").value("start_ns", call))
            launch_places.append(first)
            places.append(last)
    return LinksInView(
        request, np.array(launch_ns, np.int64), starts_ns[kept], tuple(launch_places), tuple(places), total, is_exact
    )
