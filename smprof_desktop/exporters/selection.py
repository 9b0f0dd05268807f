"""Which rows of one process belong to a range of time: those that overlap it, and what they cannot do without. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.manifest import ProfileError
from smprof.profile.reader import ProcessProfile, Profile
from smprof.profile.schema import HOST_KINDS, NONE
from smprof_desktop.analysis import operators
from smprof_desktop.analysis.causes import Operators, forward_threads
from smprof_desktop.analysis.executions import Columns
from smprof_desktop.analysis.intervals import overlapping
from smprof_desktop.analysis.steps import operators_of

I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

KEPT_TABLES = ("device", "host", "annotation", "counter")

_API = HOST_KINDS.index("api")
_INT64_MIN = -(1 << 63)
_NAMED_AT_MOST = 8


@dataclass(frozen=True)
class Selection:
    """Positions in the tables of one process, ascending; `rows` has every table of KEPT_TABLES.

    `recorded`: whether anything lies in the range itself.
    """

    rows: dict[str, I64]
    recorded: bool

    def __len__(self) -> int:
        return sum(len(rows) for rows in self.rows.values())


def named(profile: Profile, names: Sequence[str]) -> list[ProcessProfile]:
    """The processes called HOST/PROCESS, in the profile's order. Raises ProfileError where there is none of a name."""
    known = {f"{process.info.host}/{process.info.process}": process for process in profile.processes}
    for name in names:
        if name not in known:
            some = ", ".join(list(known)[:_NAMED_AT_MOST]) + (", …" if len(known) > _NAMED_AT_MOST else "")
            raise ProfileError(f"No process is called {name}; the profile has {some or 'none'}.")
    return [process for name, process in known.items() if name in names]


def select(process: ProcessProfile, begin_ns: int | None, end_ns: int | None) -> Selection:
    """The rows of a process that an excerpt of [begin_ns, end_ns) keeps; None is no limit.

    Kept is every slice that overlaps the range, every counter sample in it and the last one before it. From outside
    come the launches of kept executions and all executions of kept launches, so that no link is cut; the operators in
    which kept calls were made; and for each thread that runs a backward pass the operators that tell for whom, so that
    device time still counts for the same operators and annotations.
    """
    if begin_ns is None and end_ns is None:
        rows = {name: np.arange(len(process.table(name)), dtype=np.int64) for name in KEPT_TABLES}
        return Selection(rows, any(len(some) for some in rows.values()))
    begin_ns = _INT64_MIN if begin_ns is None else begin_ns
    device, host, annotation = process.table("device"), process.table("host"), process.table("annotation")
    device_keep, host_keep = _touching(device, begin_ns, end_ns), _touching(host, begin_ns, end_ns)
    annotation_keep = _touching(annotation, begin_ns, end_ns)
    samples, inside = _samples(process.table("counter"), begin_ns, end_ns)
    recorded = any(bool(some.any()) for some in (device_keep, host_keep, annotation_keep, inside))
    launch = device["launch"]
    linked = (launch >= 0) & (launch < len(host))
    host_keep[launch[device_keep & linked]] = True
    executions = np.flatnonzero(linked)
    device_keep[executions[host_keep[launch[executions]]]] = True
    _keep_operators(host, host_keep)
    return Selection(
        {
            "device": np.flatnonzero(device_keep),
            "host": np.flatnonzero(host_keep),
            "annotation": np.flatnonzero(annotation_keep),
            "counter": np.flatnonzero(samples),
        },
        recorded,
    )


def _touching(table: Columns, begin_ns: int, end_ns: int | None) -> Mask:
    start_ns = table["start_ns"]
    return overlapping(start_ns, start_ns + table["duration_ns"], begin_ns, end_ns)


def _samples(counter: Columns, begin_ns: int, end_ns: int | None) -> tuple[Mask, Mask]:
    """Samples to keep, and those in the range: besides these the last one before it of each counter is kept."""
    time_ns = counter["time_ns"]
    before = time_ns < begin_ns
    inside: Mask = ~before if end_ns is None else ~before & (time_ns < end_ns)
    # The table is sorted by counter, then time.
    last = np.ones(len(time_ns), np.bool_)
    last[:-1] = ~before[1:]
    for key in ("device", "cpu", "name_id"):
        last[:-1] |= counter[key][1:] != counter[key][:-1]
    return inside | (before & last), inside


def _keep_operators(host: Columns, keep: Mask) -> None:
    """Keep, too, the operators that tell what the kept calls were made for."""
    calls = np.flatnonzero(keep & (host["kind"] == _API))
    owners = host["op"][calls]
    keep[owners[(owners >= 0) & (owners < len(keep))]] = True
    tree = operators.tree(host)
    kept = keep[tree.first : tree.first + len(tree.parent)]
    _keep_forward(operators_of(host), kept)
    rows = np.flatnonzero(kept)
    while len(rows):
        around = tree.parent[rows]
        rows = np.unique(around[around >= 0])
        rows = rows[~kept[rows]]
        kept[rows] = True


def _keep_forward(columns: Operators, kept: Mask) -> None:
    """Keep the forward operators of kept backward ones, and a backward one for each thread and forward thread.

    `causes.forward_threads` then finds the same threads among the kept operators as among all.
    """
    ordered = columns.sequence >= 0
    for number, thread in forward_threads(columns).items():
        backward = np.flatnonzero(ordered & (columns.forward_thread == number))
        forward = np.flatnonzero(ordered & (columns.forward_thread <= 0) & (columns.thread == thread))
        meets = backward[np.isin(columns.sequence[backward], columns.sequence[forward])]
        for runner in np.unique(columns.thread[backward]).tolist():
            mine = meets[columns.thread[meets] == runner]
            if len(mine) and not kept[mine].any():
                kept[mine[0]] = True
        wanted = columns.sequence[backward[kept[backward]]]
        kept[forward[np.isin(columns.sequence[forward], wanted)]] = True


def counts(process: ProcessProfile, selection: Selection | None) -> dict[str, int]:
    """How many rows of each table the selection leaves out; all of them where there is none."""
    return {
        name: len(process.table(name)) - (0 if selection is None else len(selection.rows[name])) for name in KEPT_TABLES
    }


def new_positions(length: int, rows: I64, ids: Any) -> I64:
    """For each old position its new id, NONE where the row is not kept."""
    place = np.full(length, NONE, np.int64)
    place[rows] = ids
    return place
