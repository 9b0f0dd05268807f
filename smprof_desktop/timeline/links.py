"""The selected slice and the link that it takes part in, and which of its executions get an arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.analysis import launches
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline.viewport import Viewport

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

MAX_ARROWS = 200
"""Arrows drawn from one launch; its note says how many executions there are."""
ARROWS_APART_PX = 6.0


@dataclass(frozen=True, eq=False)
class Link:
    """A launch, its start, and its executions: positions in `device` and their starts, by start."""

    launch: SliceRef
    launch_ns: int
    executions: NDArray[np.int64]
    starts_ns: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Selected:
    """What has to be known of the selected slice: [begin_ns, end_ns) and its link, where it takes part in one."""

    ref: SliceRef
    begin_ns: int
    end_ns: int
    link: Link | None


def look_up(profile: Profile, ref: SliceRef) -> Selected:
    """What has to be known of a slice. Its cost grows with the profile, because a launch may own any executions."""
    begin_ns, duration_ns = (_value(profile, ref, name) for name in ("start_ns", "duration_ns"))
    return Selected(ref, begin_ns, begin_ns + duration_ns, _link_of(profile, ref))


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


def _link_of(profile: Profile, ref: SliceRef) -> Link | None:
    """The link that a slice takes part in, as launch or as execution; None where there is none."""
    process = profile.processes[ref.process]
    if ref.table == "device":
        launch = launches.launch_of(process, ref.row)
        if launch is None:
            return None
        ref = SliceRef(ref.process, "host", launch)
    if ref.table != "host":
        return None
    executions = np.asarray(launches.executions_of(process, ref.row), np.int64)
    if len(executions) == 0:
        return None
    starts_ns = process.table("device").at("start_ns", executions)
    order = np.argsort(starts_ns, kind="stable")
    return Link(ref, _value(profile, ref, "start_ns"), executions[order], starts_ns[order])


def _value(profile: Profile, ref: SliceRef, name: str) -> int:
    return int(profile.processes[ref.process].table(ref.table).part(name, ref.row, ref.row + 1)[0])


def apart(ends: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The first end of each few pixels: more arrows there would be a blot."""
    kept: dict[tuple[int, float], tuple[float, float]] = {}
    for x_px, y_px in ends:
        kept.setdefault((int(x_px // ARROWS_APART_PX), y_px), (x_px, y_px))
    return list(kept.values())
