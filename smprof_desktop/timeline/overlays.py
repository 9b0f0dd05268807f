"""What lies over the lanes of a frame: the selected area, the ruler, and the edge that either snaps to. No Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from smprof_desktop.timeline.draw_list import AreaBand, Box, RulerLine
from smprof_desktop.timeline.lanes import GROUPS, LaneTree
from smprof_desktop.timeline.layout import Layout
from smprof_desktop.timeline.viewport import duration_text

if TYPE_CHECKING:
    from smprof_desktop.slice_ref import Area
    from smprof_desktop.timeline.labels import TextWidth
    from smprof_desktop.timeline.layout import Frame
    from smprof_desktop.timeline.scene import Scene

BEYOND_PX = 4.0
PADDING_PX = 6.0
_RATES = ((1, "GHz"), (10**3, "MHz"), (10**6, "kHz"), (10**9, "Hz"), (10**12, "mHz"), (10**15, "µHz"))


class AreaRuns:
    """Which visible lanes an area takes in, kept from frame to frame: an area may be of thousands of lanes."""

    def __init__(self) -> None:
        self._known: tuple[Area, Layout, list[tuple[int, int]]] | None = None

    def of(self, area: Area, tree: LaneTree, layout: Layout) -> list[tuple[int, int]]:
        """First and last position of each run of visible lanes that the area takes in.

        A collapsed group is taken in where anything below it is; an open one where lanes on both sides of it are.
        """
        known = self._known
        if known is None or known[0] is not area or known[1] is not layout:
            known = self._known = area, layout, _runs(area, tree, layout)
        return known[2]


def area_band(scene: Scene, frame: Frame, text_width: TextWidth) -> AreaBand | None:
    """The area of a frame; None where there is none, or where its time is out of sight."""
    area, view = frame.area, frame.view
    if area is None:
        return None
    left_px, right_px = view.x_px(area.begin_ns), view.x_px(area.end_ns)
    if right_px < 0 or left_px > view.width_px:
        return None
    left_px, right_px = max(left_px, -BEYOND_PX), min(right_px, view.width_px + BEYOND_PX)
    x_px, end_px = frame.header_px + left_px, frame.header_px + max(right_px, left_px + 1)
    placed = scene.placed(frame)
    boxes = []
    for first, last in scene.area_runs.of(area, scene.tree, placed.layout):
        for begin, end in ((first, min(last, placed.stuck - 1)), (max(first, placed.stuck), last)):
            if begin > end:
                continue
            least_px = scene.top_px + (placed.stuck_px if begin >= placed.stuck else 0.0)
            top_px = max(scene.top_px + placed.y_px(begin), least_px)
            bottom_px = scene.top_px + placed.y_px(end) + float(placed.layout.height_px[end])
            if bottom_px > least_px and top_px < frame.height_px:
                boxes.append(Box(x_px, top_px, end_px - x_px, min(bottom_px, frame.height_px) - top_px))
    text = duration_text(area.end_ns - area.begin_ns)
    text_px, width_px = _text_place(text_width(text), x_px, end_px, frame)
    return AreaBand(x_px, end_px, tuple(boxes), text, text_px, width_px)


def ruler_line(frame: Frame, text_width: TextWidth) -> RulerLine | None:
    """The ruler of a frame; None where there is none, or where it is out of sight."""
    ruler, view = frame.ruler, frame.view
    if ruler is None:
        return None
    begin_ns, end_ns = sorted((ruler.from_ns, ruler.to_ns))
    left_px, right_px = view.x_px(begin_ns), view.x_px(end_ns)
    if right_px < 0 or left_px > view.width_px:
        return None
    x_px = frame.header_px + max(left_px, -BEYOND_PX)
    end_px = frame.header_px + min(right_px, view.width_px + BEYOND_PX)
    text = ruler_text(end_ns - begin_ns)
    text_px, width_px = _text_place(text_width(text), x_px, end_px, frame)
    return RulerLine(x_px, end_px, ruler.y_px, text, text_px, width_px)


def snapped_edge(frame: Frame) -> Box | None:
    """The edge that the pointer snaps to, if any."""
    edge = frame.snapped
    return Box(edge.x_px, edge.y_px, 0.0, edge.height_px) if edge is not None else None


def ruler_text(duration_ns: int) -> str:
    """A duration with every digit, and how often that is in a second: `12.345 µs · 81.00 kHz`."""
    if duration_ns == 0:
        return duration_text(0)
    return f"{duration_text(duration_ns)} · {rate_text(duration_ns)}"


def rate_text(period_ns: int) -> str:
    """How often something happens that does once in `period_ns`, above 0, to four digits: `81.00 kHz`."""
    unit_ns, unit = next((pair for pair in _RATES if period_ns <= pair[0]), _RATES[-1])
    rate = unit_ns / period_ns
    places = 3 if rate < 9.9995 else 2 if rate < 99.995 else 1 if rate < 999.95 else 0
    return f"{rate:,.{places}f} {unit}"


def _text_place(wide_px: float, x_px: float, end_px: float, frame: Frame) -> tuple[float, float]:
    """Left edge and width of a text: in the middle of what is seen of [x_px, end_px), else beside it."""
    width_px = wide_px + 2 * PADDING_PX
    first_px, last_px = frame.header_px, frame.header_px + frame.view.width_px
    begin_px, behind_px = max(x_px, first_px), min(end_px, last_px)
    if behind_px - begin_px >= width_px + 2:
        text_px = (begin_px + behind_px - width_px) / 2
    elif behind_px + 4 + width_px <= last_px:
        text_px = behind_px + 4
    else:
        text_px = max(begin_px - 4 - width_px, first_px)
    return text_px, width_px


def _is_open_group(layout: Layout, index: int) -> bool:
    lane = layout.lanes[index]
    return lane.kind in GROUPS and lane.key in layout.expanded


def _runs(area: Area, tree: LaneTree, layout: Layout) -> list[tuple[int, int]]:
    if not layout.lanes:
        return []
    if area.lanes is None:
        return [(0, len(layout.lanes) - 1)]
    shown = (layout.nearest(tree, key) for key in area.lanes if key in tree.by_key)
    found = np.unique(np.array([layout.index[key] for key in shown if key is not None], np.int64)).tolist()
    runs: list[tuple[int, int]] = []
    for index in found:
        if runs and all(_is_open_group(layout, between) for between in range(runs[-1][1] + 1, index)):
            runs[-1] = runs[-1][0], index
        else:
            runs.append((index, index))
    return runs
