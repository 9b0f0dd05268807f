"""What one frame of the timeline consists of: plain arrays and small tuples, for any painter and for tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline.axis import Tick

F64 = NDArray[np.float64]


@dataclass(frozen=True)
class Rects:
    """Filled rectangles in pixels; `colour` is a colour code. Later ones lie on top."""

    x_px: F64
    y_px: F64
    width_px: F64
    height_px: F64
    colour: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.x_px)

    @staticmethod
    def empty() -> Rects:
        none = np.zeros(0)
        return Rects(none, none, none, none, np.zeros(0, np.uint8))

    @staticmethod
    def joined(parts: list[Rects]) -> Rects:
        """All of them, in order."""
        if not parts:
            return Rects.empty()
        return Rects(
            np.concatenate([p.x_px for p in parts]),
            np.concatenate([p.y_px for p in parts]),
            np.concatenate([p.width_px for p in parts]),
            np.concatenate([p.height_px for p in parts]),
            np.concatenate([p.colour for p in parts]),
        )


class Box(NamedTuple):
    """A rectangle in pixels."""

    x_px: float
    y_px: float
    width_px: float
    height_px: float


class Label(NamedTuple):
    """Text inside a slice, already elided: its left edge, the top and height of the line."""

    x_px: float
    y_px: float
    height_px: float
    text: str
    is_dimmed: bool = False


class Header(NamedTuple):
    """The header of a lane. `state`: 1 open, 0 collapsed, -1 neither.

    `text_y_px` is the top of its line of text, which stays in sight while a tall lane is scrolled. A note is a line
    that tells of something that a click on it does.
    """

    key: str
    label: str
    detail: str
    share: str
    y_px: float
    height_px: float
    text_y_px: float
    level: int
    state: int
    is_group: bool
    is_focused: bool
    is_pinned: bool = False
    is_hovered: bool = False
    is_note: bool = False


class Arrow(NamedTuple):
    """An arrow from a launch's start edge to an execution's start edge; `is_backward` where that starts first.

    An end out of view is drawn at the edge of the lanes."""

    from_x_px: float
    from_y_px: float
    to_x_px: float
    to_y_px: float
    is_backward: bool = False


class LinkNote(NamedTuple):
    """Beside the end of an arrow at the edge: how far away the slice is that a click on it selects."""

    x_px: float
    y_px: float
    width_px: float
    height_px: float
    text: str
    ref: SliceRef


class MarkFlag(NamedTuple):
    """A mark: a line at `x_px`, for a range another at `end_x_px`, and a flag in the strip of marks.

    `number` is its position among all marks. `text` is elided, and empty where there is no room for any.
    """

    number: int
    x_px: float
    end_x_px: float
    flag_x_px: float
    width_px: float
    text: str
    is_range: bool
    is_selected: bool


class StepBar(NamedTuple):
    """A step, or `joined` neighbours too narrow to be told apart; `number` is the position of the first.

    `shade` is 0 and 1 in turn, and 2 for several. `text` is elided, and empty where there is no room for any.
    """

    number: int
    joined: int
    x_px: float
    width_px: float
    shade: int
    text_x_px: float
    text: str


class AreaBand(NamedTuple):
    """The selected area: [x_px, end_px) on the axis, `boxes` over its lanes, and its length in a field of the axis."""

    x_px: float
    end_px: float
    boxes: tuple[Box, ...]
    text: str
    text_x_px: float
    text_width_px: float


class RulerLine(NamedTuple):
    """What the ruler measures: from `x_px` to `end_px` at the height `y_px`, and the length in a field beside it."""

    x_px: float
    end_px: float
    y_px: float
    text: str
    text_x_px: float
    text_width_px: float


class Hit(NamedTuple):
    """What lies under a point. `part`: overview, axis, header, pin (of a header), lane, note; `ref` is the slice
    [begin_ns, end_ns), if any.

    `name` is empty where it is not in memory.
    """

    part: str
    key: str = ""
    ref: SliceRef | None = None
    begin_ns: int = 0
    end_ns: int = 0
    name: str = ""
    number: int = -1


@dataclass(frozen=True)
class DrawList:
    """One frame. The header column is [0, header_px), the lanes lie below top_px; everything is in widget pixels."""

    width_px: float
    height_px: float
    header_px: float
    overview_px: float
    top_px: float
    line_px: float
    curves: Rects = field(default_factory=Rects.empty)
    columns: Rects = field(default_factory=Rects.empty)
    slices: Rects = field(default_factory=Rects.empty)
    ticks: Rects = field(default_factory=Rects.empty)
    """Slices of no length."""
    labels: tuple[Label, ...] = ()
    headers: tuple[Header, ...] = ()
    axis: tuple[Tick, ...] = ()
    """Positions from the left edge of the lanes, not of the widget."""
    axis_base: str = ""
    outside: tuple[Box, ...] = ()
    """What lies before and behind the profile."""
    selection: Box | None = None
    arrows: tuple[Arrow, ...] = ()
    arrow_note: Label | None = None
    link_notes: tuple[LinkNote, ...] = ()
    broken: Label | None = None
    """What is missing of the selected slice's link, at the slice's start edge and in the middle of its row."""
    links: tuple[Arrow, ...] = ()
    """Of all links in view, below the selection's arrows."""
    links_note: str = ""
    overview: Rects = field(default_factory=Rects.empty)
    overview_window: Box | None = None
    marks_px: float = 0.0
    """Height of the strip of marks, below the axis; that of the steps lies between it and the lanes."""
    marks: tuple[MarkFlag, ...] = ()
    steps_px: float = 0.0
    steps: tuple[StepBar, ...] = ()
    pinned_px: float = 0.0
    """Height of the lanes on top that are not scrolled. What is scrolled is cut off below them, but for its text."""
    pin_px: float = 0.0
    """Width at the right end of a header in which its pin stands."""
    area: AreaBand | None = None
    ruler: RulerLine | None = None
    snapped: Box | None = None
    """The edge that measuring snaps to; of no width."""
    drop_px: float | None = None
    """Where a header that is dragged would come to stand."""
    is_final: bool = True
    """False where some lanes show columns of a neighbouring grid for want of time."""

    @property
    def axis_bottom_px(self) -> float:
        """Where the axis ends, and the strips of marks and steps begin."""
        return self.top_px - self.marks_px - self.steps_px

    @property
    def scrolled_px(self) -> float:
        """Where the lanes begin that are scrolled, below the pinned ones."""
        return self.top_px + self.pinned_px
