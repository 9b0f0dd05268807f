"""Where the arrows of links run in one frame: of the selected slice's link, and of all links in view. No Qt.

An end that lies out of view is drawn at the edge, with a note that says how far away it is and that a click follows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from smprof_desktop.analysis.quantities import time_text
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline.all_links import LinksInView
from smprof_desktop.timeline.draw_list import Arrow, Label, LinkNote
from smprof_desktop.timeline.layout import Frame
from smprof_desktop.timeline.links import Link, Selected, apart, in_view

EDGE_PX = 10.0
"""How far from the edge of the lanes an arrow ends whose end lies beyond it: its head must show."""
_NOTE_PADDING_PX = 8.0

Point = tuple[float, float]
Anchor = Callable[[SliceRef, int], Point | None]
"""Where arrows to a slice that starts at a time end; None where no lane holds it."""


@dataclass(frozen=True)
class Area:
    """The lanes in the widget, in px; what is scrolled begins at `top_px`."""

    left_px: float
    top_px: float
    right_px: float
    bottom_px: float

    def side(self, point: Point) -> tuple[int, int]:
        """-1 left of it or above, 1 right of it or below, 0 inside."""
        x_px, y_px = point
        return (
            int(x_px > self.right_px) - int(x_px < self.left_px),
            int(y_px > self.bottom_px) - int(y_px < self.top_px),
        )

    def nearest(self, point: Point) -> Point:
        """The point, or where an arrow to it meets the edge."""
        side_x, side_y = self.side(point)
        x_px = self.left_px + EDGE_PX if side_x < 0 else self.right_px - EDGE_PX if side_x > 0 else point[0]
        y_px = self.top_px + EDGE_PX if side_y < 0 else self.bottom_px - EDGE_PX if side_y > 0 else point[1]
        return x_px, y_px

    def sees(self, begin: Point, end: Point) -> bool:
        """Whether anything of an arrow can be seen: its ends do not both lie beyond the same edge."""
        first, last = self.side(begin), self.side(end)
        return not any(one == other != 0 for one, other in zip(first, last, strict=True))


@dataclass(frozen=True)
class Arrows:
    """What is drawn of the selected slice's link. `broken` marks one that should be there and is not."""

    arrows: tuple[Arrow, ...] = ()
    note: Label | None = None
    notes: tuple[LinkNote, ...] = ()
    broken: Label | None = None


def of_selection(
    selected: Selected, frame: Frame, area: Area, anchor: Anchor, width_px: Callable[[str], float], line_px: float
) -> Arrows:
    """Of the selected slice's link: from the launch to the selected execution, or from a selected launch to those in
    view, or the nearest one."""
    link = selected.link
    if link is None:
        return Arrows(broken=_broken(selected, area, anchor, line_px))
    begin = anchor(link.launch, link.launch_ns)
    if begin is None:
        return Arrows()
    is_end = selected.ref != link.launch
    targets = [(selected.ref.row, selected.begin_ns)] if is_end else in_view(link, frame.view)
    ends: dict[Point, tuple[int, int, Point]] = {}
    for row, at_ns in targets:
        end = anchor(link.end(row), at_ns)
        if end is not None and area.sees(begin, end):
            ends.setdefault(area.nearest(end), (row, at_ns, end))
    start = area.nearest(begin)
    kept = [ends[point] for point in apart(list(ends))]
    arrows = tuple(
        Arrow(*start, *area.nearest(end), is_backward=link.table == "device" and at_ns < link.launch_ns)
        for _, at_ns, end in kept
    )
    if not arrows:
        return Arrows()
    notes = []
    word, end_word, _ = link.words
    if is_end and area.side(begin) != (0, 0):
        text = _away(word, link.launch_ns - selected.begin_ns)
        notes.append(_note(text, begin, link.launch, area, width_px, line_px))
    out = [(row, at_ns, end) for row, at_ns, end in kept if area.side(end) != (0, 0)]
    if not is_end and out:
        row, at_ns, end = out[0]
        text = _away(end_word, at_ns - link.launch_ns)
        notes.append(_note(text, end, link.end(row), area, width_px, line_px))
    return Arrows(arrows, _count(link, is_end, start, area, bool(notes) and is_end, line_px), tuple(notes))


def of_all(found: LinksInView, frame: Frame, area: Area, middle_px: Callable[[str, int], float | None]) -> list[Arrow]:
    """Of links in view; `middle_px` is the height of a lane's row in the widget, or of the group that hides it."""
    heights: dict[tuple[str, int], float | None] = {}
    for place in (*found.launch_places, *found.execution_places):
        if place not in heights:
            heights[place] = middle_px(*place)
    left_px = frame.header_px
    launch_px = (frame.view.xs_px(found.launch_ns) + left_px).tolist()
    start_px = (frame.view.xs_px(found.start_ns) + left_px).tolist()
    backward = (found.start_ns < found.launch_ns).tolist()
    arrows = []
    for index, (first, last) in enumerate(zip(found.launch_places, found.execution_places, strict=True)):
        from_y_px, to_y_px = heights[first], heights[last]
        if from_y_px is None or to_y_px is None:
            continue
        begin, end = (launch_px[index], from_y_px), (start_px[index], to_y_px)
        if area.sees(begin, end):
            arrows.append(Arrow(*area.nearest(begin), *area.nearest(end), is_backward=backward[index]))
    return arrows


def all_note(found: LinksInView) -> str:
    """How many of the links in view have an arrow."""
    drawn = len(found.start_ns)
    about = "" if found.is_exact else "about "
    if not drawn:
        return "no links in view"
    every = f"{about}{found.total:,} link{'' if found.total == 1 else 's'} in view"
    return every if drawn == found.total else f"{drawn:,} of {every}"


def _count(link: Link, is_end: bool, start: Point, area: Area, is_below: bool, line_px: float) -> Label | None:
    count = len(link.executions)
    if count <= 1:
        return None
    text = f"{'1 of ' if is_end else ''}{count:,} {link.words[2]}"
    y_px = start[1] + 6 if is_below or start[1] - line_px - 4 < area.top_px else start[1] - line_px - 4
    return Label(start[0] + 6, y_px, line_px, text)


def _away(word: str, after_ns: int) -> str:
    return f"{word} {time_text(abs(after_ns))} {'later' if after_ns >= 0 else 'earlier'}"


def _note(
    text: str, point: Point, ref: SliceRef, area: Area, width_px: Callable[[str], float], line_px: float
) -> LinkNote:
    side_x, side_y = area.side(point)
    text = f"← {text}" if side_x < 0 else f"{text} →" if side_x > 0 else f"{'↑' if side_y < 0 else '↓'} {text}"
    wide_px, high_px = width_px(text) + _NOTE_PADDING_PX, line_px + 2
    x_px, y_px = area.nearest(point)
    x_px = area.right_px - wide_px - 2 if side_x > 0 else area.left_px + 2 if side_x < 0 else x_px + 8
    y_px = y_px - high_px - 4 if y_px - high_px - 4 >= area.top_px else y_px + 6
    return LinkNote(max(min(x_px, area.right_px - wide_px - 2), area.left_px + 2), y_px, wide_px, high_px, text, ref)


def _broken(selected: Selected, area: Area, anchor: Anchor, line_px: float) -> Label | None:
    """At the start of the slice: what is missing, without the reason, which the details tell."""
    point = anchor(selected.ref, selected.begin_ns) if selected.missing else None
    if point is None or area.side(area.nearest(point)) != area.side(point):
        return None
    return Label(*point, line_px, selected.missing.partition(":")[0])
