"""The link that a slice takes part in, and which of its executions get an arrow."""

from __future__ import annotations

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

Link = tuple[SliceRef, NDArray[np.int64]]
"""A launch and its executions: positions in `device`, by start."""


class Links:
    """Links of one profile; the last one asked for is kept, because every frame asks for the selection's."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._last: tuple[SliceRef, Link | None] | None = None

    def of(self, ref: SliceRef) -> Link | None:
        """The link that a slice takes part in, as launch or as execution; None where there is none."""
        if self._last is None or self._last[0] != ref:
            self._last = ref, self._find(ref)
        return self._last[1]

    def in_view(self, executions: NDArray[np.int64], process: int, view: Viewport) -> list[int]:
        """Executions in view, at most MAX_ARROWS of them, evenly chosen; the nearest one where none is in view."""
        starts = self.profile.processes[process].table("device").at("start_ns", executions)
        seen = executions[(starts >= view.begin_ns) & (starts < view.end_ns)]
        if len(seen) == 0:
            seen = executions[:1] if len(starts) and int(starts[0]) >= view.end_ns else executions[-1:]
        if len(seen) > MAX_ARROWS:
            seen = seen[np.linspace(0, len(seen) - 1, MAX_ARROWS).astype(np.int64)]
        chosen: list[int] = seen.tolist()
        return chosen

    def _find(self, ref: SliceRef) -> Link | None:
        process = self.profile.processes[ref.process]
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
        starts = process.table("device").at("start_ns", executions)
        return ref, executions[np.argsort(starts, kind="stable")]


def apart(ends: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The first end of each few pixels: more arrows there would be a blot."""
    kept: dict[tuple[int, float], tuple[float, float]] = {}
    for x_px, y_px in ends:
        kept.setdefault((int(x_px // ARROWS_APART_PX), y_px), (x_px, y_px))
    return list(kept.values())
