"""What a frame depends on, and where its lanes lie. Headers and lanes share this one layout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline.lanes import GROUPS, SLICE_LANES, Lane, LaneTree
from smprof_desktop.timeline.viewport import Viewport


@dataclass(frozen=True)
class Metrics:
    """Sizes in px; all follow the height of a line of text."""

    line_px: float = 15.0

    @property
    def row_px(self) -> float:
        return self.line_px + 3

    @property
    def group_px(self) -> float:
        return self.line_px + 8

    @property
    def curve_px(self) -> float:
        return self.line_px + 14

    @property
    def gap_px(self) -> float:
        return 4.0

    @property
    def axis_px(self) -> float:
        return self.line_px + 9

    @property
    def overview_px(self) -> float:
        return self.line_px + 7


@dataclass(frozen=True)
class Frame:
    """Everything one picture depends on besides the profile. `height_px` is the whole widget's."""

    view: Viewport
    expanded: frozenset[str]
    height_px: float
    header_px: float = 260.0
    scroll_px: float = 0.0
    selection: SliceRef | None = None
    focus: str = ""


    @property
    def strip_px(self) -> float:
        """Height of a strip between axis and lanes."""
        return self.line_px + 3

@dataclass(frozen=True)
class Layout:
    """Visible lanes from top to bottom; `top_px` from the top of the first one."""

    lanes: tuple[Lane, ...]
    top_px: NDArray[np.float64]
    height_px: NDArray[np.float64]
    index: dict[str, int]

    @property
    def total_px(self) -> float:
        return float(self.top_px[-1] + self.height_px[-1]) if self.lanes else 0.0

    def row_top_px(self, key: str, row: int, expanded: frozenset[str], metrics: Metrics) -> float:
        """Top of a drawn row of a visible lane; a collapsed lane shows its rows as its first."""
        top_px = float(self.top_px[self.index[key]]) + metrics.gap_px / 2
        return top_px + (row if key in expanded else 0) * metrics.row_px

    def in_sight(self, scroll_px: float, seen_px: float) -> tuple[int, int]:
        """Positions [first, last) of the lanes of which anything shows in `seen_px` from `scroll_px` on."""
        first = int(np.searchsorted(self.top_px, scroll_px, "right")) - 1
        last = int(np.searchsorted(self.top_px, scroll_px + seen_px, "left"))
        return max(first, 0), max(last, 0)


def layout_of(tree: LaneTree, expanded: frozenset[str], metrics: Metrics) -> Layout:
    """Where each visible lane lies while exactly the lanes in `expanded` are open."""
    lanes = tuple(tree.visible(expanded))
    heights = np.array([_lane_height(lane, expanded, metrics) for lane in lanes], np.float64)
    tops = np.concatenate(([0.0], np.cumsum(heights)[:-1])) if lanes else np.zeros(0)
    return Layout(lanes, tops, heights, {lane.key: index for index, lane in enumerate(lanes)})


def _lane_height(lane: Lane, expanded: frozenset[str], metrics: Metrics) -> float:
    if lane.kind in GROUPS:
        return metrics.group_px
    if lane.kind not in SLICE_LANES:
        return metrics.curve_px
    return (len(lane.rows) if lane.key in expanded else 1) * metrics.row_px + metrics.gap_px
