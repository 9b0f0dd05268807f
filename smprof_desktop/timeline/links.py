"""The selected slice and the link that it takes part in, and which of its ends get an arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import HOST_KINDS
from smprof_desktop.analysis import launches
from smprof_desktop.analysis.enclosing import backward_of, forward_of
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline.viewport import Viewport

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

MAX_ARROWS = 200
"""Arrows drawn from one launch; its note says how many executions there are."""
ARROWS_APART_PX = 6.0


@dataclass(frozen=True, eq=False)
class Link:
    """A launch, its start, and its executions: positions in `table` and their starts, by start.

    Where `table` is host, it is a forward operator and the backward operators that belong to it.
    """

    launch: SliceRef
    launch_ns: int
    executions: NDArray[np.int64]
    starts_ns: NDArray[np.int64]
    table: str = "device"

    @property
    def words(self) -> tuple[str, str, str]:
        """What its beginning, one of its ends and several of them are called."""
        if self.table == "device":
            return "launch", "execution", "executions"
        return "forward operator", "backward operator", "backward operators"

    def end(self, row: int) -> SliceRef:
        """An execution, by its position in the table."""
        return SliceRef(self.launch.process, self.table, row)


@dataclass(frozen=True, eq=False)
class Selected:
    """What has to be known of the selected slice: [begin_ns, end_ns) and its link, where it takes part in one.

    `missing` says why one that should take part in a link does not.
    """

    ref: SliceRef
    begin_ns: int
    end_ns: int
    link: Link | None
    missing: str = ""


def look_up(profile: Profile, ref: SliceRef) -> Selected:
    """What has to be known of a slice. It may have to be read first: for a task."""
    begin_ns, duration_ns = (_value(profile, ref, name) for name in ("start_ns", "duration_ns"))
    link = link_of(profile, ref)
    return Selected(ref, begin_ns, begin_ns + duration_ns, link, "" if link is not None else _missing(profile, ref))


def in_view(link: Link, view: Viewport) -> list[tuple[int, int]]:
    """Executions in view and their starts, at most MAX_ARROWS, evenly chosen; the nearest one where none is in view."""
    first, behind = np.searchsorted(link.starts_ns, (view.begin_ns, view.end_ns)).tolist()
    if first == behind:
        first = min(first, len(link.executions) - 1) if first == 0 else first - 1
        behind = first + 1
    seen = np.arange(first, behind)
    if len(seen) > MAX_ARROWS:
        seen = seen[np.linspace(0, len(seen) - 1, MAX_ARROWS).astype(np.int64)]
    return list(zip(link.executions[seen].tolist(), link.starts_ns[seen].tolist(), strict=True))


def link_of(profile: Profile, ref: SliceRef) -> Link | None:
    """The link that a slice takes part in, at either end; None where there is none."""
    process = profile.processes[ref.process]
    if ref.table == "device":
        launch = launches.launch_of(process, ref.row)
        if launch is None:
            return None
        ref = SliceRef(ref.process, "host", launch)
    elif ref.table != "host":
        return None
    elif process.table("host").value("kind", ref.row) == HOST_KINDS.index("op"):
        return _forward_link(profile, ref)
    executions = np.asarray(launches.executions_of(process, ref.row), np.int64)
    return _link(profile, ref, executions, "device") if len(executions) else None


def apart(ends: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The first end of each few pixels: more arrows there would be a blot."""
    kept: dict[tuple[int, float], tuple[float, float]] = {}
    for x_px, y_px in ends:
        kept.setdefault((int(x_px // ARROWS_APART_PX), y_px), (x_px, y_px))
    return list(kept.values())


def _forward_link(profile: Profile, ref: SliceRef) -> Link | None:
    process = profile.processes[ref.process]
    forward = forward_of(process, ref.row)
    ref = ref if forward is None else SliceRef(ref.process, "host", forward)
    backward = np.array(backward_of(process, ref.row), np.int64)
    return _link(profile, ref, backward, "host") if len(backward) else None


def _link(profile: Profile, launch: SliceRef, executions: NDArray[np.int64], table: str) -> Link:
    starts_ns = profile.processes[launch.process].table(table).at("start_ns", executions)
    order = np.argsort(starts_ns, kind="stable")
    return Link(launch, _value(profile, launch, "start_ns"), executions[order], starts_ns[order], table)


def _missing(profile: Profile, ref: SliceRef) -> str:
    """Why a slice that should take part in a link does not; empty where none is to be expected."""
    process = profile.processes[ref.process]
    if ref.table == "device":
        return f"launch not known: {launches.why_unlinked(process, ref.row)}"
    if ref.table == "host" and process.table("host").value("kind", ref.row) == HOST_KINDS.index("api"):
        why = launches.why_nothing_ran(process, ref.row)
        return f"execution not known: {why}" if why else ""
    return ""


def _value(profile: Profile, ref: SliceRef, name: str) -> int:
    return profile.processes[ref.process].table(ref.table).value(name, ref.row)
