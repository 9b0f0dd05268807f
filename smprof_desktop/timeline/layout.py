"""What a frame depends on, and where its lanes lie. Headers and lanes share this one layout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.slice_ref import Area, SliceRef
from smprof_desktop.timeline.arrangement import AS_RECORDED, NOTE_KIND, Arrangement, shown
from smprof_desktop.timeline.axis import Axis
from smprof_desktop.timeline.lanes import GROUPS, SLICE_LANES, Lane, LaneTree
from smprof_desktop.timeline.snapping import Snapped
from smprof_desktop.timeline.viewport import Viewport

MAX_STUCK_SHARE = 0.6
"""Of the height of the lanes that pinned ones may take for good; what is pinned beyond it is scrolled."""


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
    def note_px(self) -> float:
        return self.line_px + 3

    @property
    def curve_px(self) -> float:
        return self.line_px + 14

    @property
    def pin_px(self) -> float:
        """Width at the right end of a header in which its pin stands."""
        return self.line_px + 3

    @property
    def gap_px(self) -> float:
        return 4.0

    @property
    def axis_px(self) -> float:
        return self.line_px + 9

    @property
    def overview_px(self) -> float:
        return self.line_px + 7

    @property
    def strip_px(self) -> float:
        """Height of a strip between axis and lanes."""
        return self.line_px + 3


@dataclass(frozen=True)
class Ruler:
    """Two moments that are measured between, in the order in which they were chosen; `y_px` is in the widget."""

    from_ns: int
    to_ns: int
    y_px: float


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
    axis: Axis | None = None
    """None: times from the profile's start."""
    arrangement: Arrangement = AS_RECORDED
    hovered: str = ""
    """Key of the lane whose header the pointer is on."""
    area: Area | None = None
    ruler: Ruler | None = None
    snapped: Snapped | None = None
    """The edge that the pointer snaps to."""
    drop_px: float | None = None
    """Height in the widget at which a header that is dragged would come to stand."""


@dataclass(frozen=True)
class Layout:
    """Visible lanes from top to bottom; `top_px` from the top of the first one. Unscrolled: see `Placed`.

    The first `pinned` lanes are the pinned ones with what lies below them. `expanded` are the lanes that are open,
    those that a filter opens among them; `matching` is the number of lanes that it finds, None without one.
    """

    lanes: tuple[Lane, ...]
    levels: tuple[int, ...]
    top_px: NDArray[np.float64]
    height_px: NDArray[np.float64]
    index: dict[str, int]
    pinned: int
    expanded: frozenset[str]
    matching: int | None

    @property
    def total_px(self) -> float:
        return float(self.top_px[-1] + self.height_px[-1]) if self.lanes else 0.0

    def nearest(self, tree: LaneTree, key: str) -> str | None:
        """The lane if it is visible, else the innermost group around it that is; None where none is."""
        found: str | None = key
        while found is not None and found not in self.index:
            found = tree.parents.get(found)
        return found

    def placed(self, scroll_px: float, seen_px: float) -> Placed:
        """Where the lanes lie in `seen_px` that are scrolled to `scroll_px`."""
        bottoms_px = self.top_px[: self.pinned] + self.height_px[: self.pinned]
        stuck = int(np.searchsorted(bottoms_px, MAX_STUCK_SHARE * seen_px, "right"))
        return Placed(self, scroll_px, seen_px, stuck, float(bottoms_px[stuck - 1]) if stuck else 0.0)


@dataclass(frozen=True)
class Placed:
    """A layout as it is scrolled. The first `stuck` lanes, `stuck_px` high, stay where they are.

    These are the pinned lanes, as many as leave room for the others; the rest of them is scrolled. Heights are from
    where the lanes begin.
    """

    layout: Layout
    scroll_px: float
    seen_px: float
    stuck: int
    stuck_px: float

    def y_px(self, index: int) -> float:
        """Top of a lane."""
        return float(self.layout.top_px[index]) - (self.scroll_px if index >= self.stuck else 0.0)

    def between(self, top_px: float, bottom_px: float) -> range | list[int]:
        """Positions of the lanes of which anything shows between two heights, from top to bottom."""
        tops = self.layout.top_px
        first = int(np.searchsorted(tops, max(top_px, self.stuck_px) + self.scroll_px, "right")) - 1
        last = int(np.searchsorted(tops, bottom_px + self.scroll_px, "left"))
        below = range(max(first, self.stuck), max(last, 0))
        if top_px >= self.stuck_px:
            return below
        first = max(int(np.searchsorted(tops[: self.stuck], top_px, "right")) - 1, 0)
        last = int(np.searchsorted(tops[: self.stuck], bottom_px, "left"))
        return [*range(first, last), *(below if bottom_px > self.stuck_px else ())]

    def in_sight(self) -> range | list[int]:
        """Positions of the lanes of which anything shows."""
        return self.between(0.0, self.seen_px)

    def at(self, y_px: float) -> int | None:
        """Position of the lane at a height; None where there is none."""
        layout = self.layout
        is_stuck = y_px < self.stuck_px
        at_px = y_px if is_stuck else y_px + self.scroll_px
        index = int(np.searchsorted(layout.top_px, at_px, "right")) - 1
        return index if index >= 0 and at_px < layout.total_px else None


def layout_of(tree: LaneTree, expanded: frozenset[str], arrangement: Arrangement, metrics: Metrics) -> Layout:
    """Where each visible lane lies while exactly the lanes in `expanded` are open."""
    found = shown(tree, expanded, arrangement)
    heights = np.array([_lane_height(lane, found.expanded, metrics) for lane in found.lanes], np.float64)
    tops = np.concatenate(([0.0], np.cumsum(heights)[:-1])) if found.lanes else np.zeros(0)
    index = {lane.key: index for index, lane in enumerate(found.lanes)}
    return Layout(found.lanes, found.levels, tops, heights, index, found.pinned, found.expanded, found.matching)


def _lane_height(lane: Lane, expanded: frozenset[str], metrics: Metrics) -> float:
    if lane.kind == NOTE_KIND:
        return metrics.note_px
    if lane.kind in GROUPS:
        return metrics.group_px
    if lane.kind not in SLICE_LANES:
        return metrics.curve_px
    return (len(lane.rows) if lane.key in expanded else 1) * metrics.row_px + metrics.gap_px
