"""Edges that measuring snaps to: starts and ends of slices near the pointer, of marks and of steps. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from smprof_desktop.timeline.layout import Frame
    from smprof_desktop.timeline.scene import Scene

SNAP_PX = 7.0
"""An edge this near to the pointer draws it in."""
ROWS_AROUND = 1
"""Rows above and below that of the pointer whose edges do as well, where its own has none."""


@dataclass(frozen=True)
class Snapped:
    """An edge near the pointer: its exact time, where it lies in the widget, and how high what it is an edge of is."""

    time_ns: int
    x_px: float
    y_px: float
    height_px: float


def snap(scene: Scene, frame: Frame, x_px: float, y_px: float) -> Snapped | None:
    """The nearest edge of the pointer's row, else of the rows around it; in the axis and the strips below it that of a
    mark or a step. None where none lies within SNAP_PX.
    """
    view = frame.view
    at_px = x_px - frame.header_px
    if not 0 <= at_px <= view.width_px:
        return None
    begin_ns, end_ns = view.time_ns(at_px - SNAP_PX), view.time_ns(at_px + SNAP_PX) + 1
    if y_px < scene.top_px:
        strips = scene.strips
        times = [np.array([t for mark in strips.marks for t in (mark.begin_ns, mark.end_ns)], np.int64)]
        times += [strips.steps.start_ns, strips.steps.end_ns]
        return _nearest(np.concatenate(times), frame, at_px, scene.axis_bottom_px, scene.top_px - scene.axis_bottom_px)
    seen: set[tuple[str, int]] = set()
    for away in sorted(range(-ROWS_AROUND, ROWS_AROUND + 1), key=abs):
        found = scene.row_at(frame, y_px + away * scene.metrics.row_px)
        if found is None or (found.lane.key, found.number) in seen:
            continue
        seen.add((found.lane.key, found.number))
        edges_ns = scene.edges_in(found.lane.rows[found.number], begin_ns, end_ns, view.bin_level)
        snapped = _nearest(edges_ns, frame, at_px, found.y_px, scene.metrics.row_px - 1)
        if snapped is not None:
            return snapped
    return None


def _nearest(times_ns: NDArray[np.int64], frame: Frame, at_px: float, y_px: float, height_px: float) -> Snapped | None:
    if not len(times_ns):
        return None
    xs_px = frame.view.xs_px(times_ns)
    place = int(np.abs(xs_px - at_px).argmin())
    x_px = float(xs_px[place])
    if abs(x_px - at_px) > SNAP_PX:
        return None
    return Snapped(int(times_ns[place]), frame.header_px + x_px, y_px, height_px)
