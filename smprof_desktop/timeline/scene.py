"""From tree, view and selection to one frame's draw list, and from a point back to what lies there. No Qt.

Headers and lanes come from the same layout, so they stay level whatever the font, scale or scroll position.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import SLICE_TABLES
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline import arrows, overlays
from smprof_desktop.timeline.all_links import LinksInView, Request
from smprof_desktop.timeline.arrangement import NOTE_KIND, Arrangement
from smprof_desktop.timeline.axis import Axis, base_label, ticks
from smprof_desktop.timeline.colours import COUNTER, CURVE, DENSITY
from smprof_desktop.timeline.curves import curve_rects, mean_in_view, share_line, share_text, value_text
from smprof_desktop.timeline.draw_list import Arrow, Box, DrawList, Header, Hit, Rects
from smprof_desktop.timeline.labels import Elider, TextWidth
from smprof_desktop.timeline.ladder import UNKNOWN_NAME, Columns
from smprof_desktop.timeline.lanes import GROUPS, SLICE_LANES, Lane, LaneTree, Row, build
from smprof_desktop.timeline.layout import Frame, Layout, Metrics, Placed, layout_of
from smprof_desktop.timeline.links import Link, Selected, look_up
from smprof_desktop.timeline.maker import Curve, Maker, RowPicture, Window
from smprof_desktop.timeline.masses import GAP_FROM_PX, Masses, Parts, below
from smprof_desktop.timeline.memory import Later
from smprof_desktop.timeline.pictures import FRAME_BUDGET_S, Key, Pictures, Want
from smprof_desktop.timeline.shown_names import ShownNames
from smprof_desktop.timeline.strips import Strips
from smprof_desktop.timeline.viewport import Limits, Viewport

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

HIT_PX = 2.0
"""A slice this near to the pointer counts as hit where none lies under it."""
_FAR_PX = 1e6


class DrawnRow(NamedTuple):
    """Row `number` of a lane's `rows`, and its top in the widget."""

    lane: Lane
    number: int
    y_px: float


@dataclass(frozen=True, eq=False)
class Opened:
    """What a scene is made of, read beforehand: the cost grows with the lanes and the stored ladder."""

    profile: Profile
    tree: LaneTree
    maker: Maker

    @staticmethod
    def read(profile: Profile) -> Opened:
        """Read it. For a task."""
        limits = Limits(profile.begin_ns, max(profile.end_ns, profile.begin_ns + 1))
        return Opened(profile, build(profile), Maker(profile, limits))


class Scene:
    """The frames of one profile. Costs what is in view, not what the profile holds.

    One that `waits` reads what it needs. One that does not draws what is in memory, and lists in `wanted` what a task
    has to make by `pictures.fetch` and bring by `install`, until a frame is final; `selected` is brought the same way.
    """

    def __init__(
        self, opened: Opened, text_width: TextWidth, metrics: Metrics | None = None, waits: bool = True
    ) -> None:
        self.opened = opened
        self.profile = opened.profile
        self.tree = opened.tree
        self.metrics = metrics or Metrics()
        self.limits = opened.maker.limits
        self.axis = Axis(self.profile.begin_ns)
        self.selected: Selected | None = None
        self.all_links: LinksInView | None = None
        """None: they are not asked for, or not there yet."""
        self.matches: tuple[NDArray[np.bool_], ...] | None = None
        """Of each process by `names.id`, and one more for lost names, which names are not dimmed; None: none are."""
        self.shown_names = ShownNames()
        """How kernels are called in labels and where the pointer is."""
        self._waits = waits
        self._maker = opened.maker if waits else opened.maker.held()
        self._elider = Elider(text_width)
        self.strips = Strips(self.metrics, self._elider, self.axis)
        self._pictures = Pictures(self._maker)
        self._masses = Masses(self._maker.names, self._elider, self.metrics, self.shown_names)
        self.area_runs = overlays.AreaRuns()
        self._layout: tuple[frozenset[str], Arrangement, Layout] | None = None

    @property
    def wanted(self) -> list[Want]:
        """What the last frame could not show yet."""
        return self._pictures.wanted

    @property
    def is_late(self) -> bool:
        """Whether the last frame lacked time, so that another one shows more."""
        return self._pictures.is_late or self.shown_names.is_late

    def painted(self) -> None:
        """The frame drawn last is painted: what has given way to it may go on."""
        self._maker.frames.end()

    def install(self, made: list[tuple[Key, RowPicture | Curve | None]]) -> None:
        """Take over what a task has made of what was wanted."""
        for key, picture in made:
            self._pictures.install(key, picture)

    @property
    def top_px(self) -> float:
        """Where the lanes begin, below overview, axis and strips."""
        return self.axis_bottom_px + self.strips.marks_px + self.strips.steps_px

    @property
    def axis_bottom_px(self) -> float:
        """Where the axis ends and the strips begin."""
        return self.metrics.overview_px + self.metrics.axis_px

    def layout(self, frame: Frame) -> Layout:
        """Where each visible lane lies, unscrolled. Worked out when something opens, closes or is arranged."""
        known = self._layout
        # Comparing thousands of keys would cost each frame what most frames do not need.
        if known is not None and known[0] is frame.expanded and known[1] is frame.arrangement:
            return known[2]
        if known is None or known[0] != frame.expanded or known[1] != frame.arrangement:
            layout = layout_of(self.tree, frame.expanded, frame.arrangement, self.metrics)
        else:
            layout = known[2]
        self._layout = frame.expanded, frame.arrangement, layout
        return layout

    def placed(self, frame: Frame) -> Placed:
        """Where the lanes lie in a frame, from `top_px` down."""
        return self.layout(frame).placed(frame.scroll_px, frame.height_px - self.top_px)

    def replace_tree(self, tree: LaneTree) -> None:
        """Show the same slices in other lanes."""
        self.tree = tree
        self._layout = None

    def draw(self, frame: Frame, budget_s: float | None = None) -> DrawList:
        """The draw list of one frame.

        With a budget of seconds, lanes whose turn comes after it is spent show columns of a neighbouring grid, up to
        four times as wide or narrow, where they were drawn before; the list is not `is_final` then.
        """
        self._pictures.begin_frame(budget_s, None if self._waits else FRAME_BUDGET_S)
        placed = self.placed(frame)
        in_sight = placed.in_sight()
        parts = Parts([], [], self.top_px + placed.stuck_px)
        headers = [self._draw_header(index, placed, frame, parts) for index in in_sight]
        if headers:
            shown = [placed.layout.lanes[index] for index in in_sight]
            keys = {lane.key for lane in shown} | {_overview_key(frame)}
            self._pictures.forget_hidden({r for lane in shown for r in lane.rows}, keys)
        columns, slices, instants, labels = self._masses.of(parts, frame, self.top_px, self.matches)
        linked, links = self._arrows(frame), self._all_links(frame)
        view, strips = frame.view, self.strips.draw(frame)
        self._maker.frames.drawn()
        return DrawList(
            width_px=frame.header_px + view.width_px,
            height_px=frame.height_px,
            header_px=frame.header_px,
            overview_px=self.metrics.overview_px,
            top_px=self.top_px,
            line_px=self.metrics.line_px,
            curves=Rects.joined(parts.curves),
            columns=columns,
            slices=slices,
            ticks=instants,
            labels=labels,
            headers=tuple(headers),
            axis=ticks(view, frame.axis or self.axis),
            axis_base=base_label(view, frame.axis or self.axis) or "time from start",
            outside=self._outside(frame),
            selection=self._selection_box(frame),
            arrows=linked.arrows,
            arrow_note=linked.note,
            link_notes=linked.notes,
            broken=linked.broken,
            links=links,
            links_note=arrows.all_note(self.all_links) if self.all_links is not None else "",
            overview=self._draw_overview(frame),
            overview_window=self.overview_window(frame),
            marks_px=self.strips.marks_px,
            marks=strips.marks,
            steps_px=self.strips.steps_px,
            steps=strips.steps,
            pinned_px=placed.stuck_px,
            pin_px=self.metrics.pin_px,
            area=overlays.area_band(self, frame, self._elider.width_px),
            ruler=overlays.ruler_line(frame, self._elider.width_px),
            snapped=overlays.snapped_edge(frame),
            drop_px=frame.drop_px,
            is_final=not self._pictures.wanted and not self.is_late,
        )

    def hit(self, frame: Frame, x_px: float, y_px: float) -> Hit | None:
        """What lies at a point of the widget; None where nothing does."""
        if y_px < self.metrics.overview_px:
            return Hit("overview") if x_px >= frame.header_px else None
        if y_px < self.top_px:
            below_px = y_px - self.axis_bottom_px
            return Hit("axis") if below_px < 0 else self.strips.hit(frame, x_px, below_px)
        for note in self._arrows(frame).notes:
            if 0 <= x_px - note.x_px < note.width_px and 0 <= y_px - note.y_px < note.height_px:
                return Hit("link", ref=note.ref, name=note.text)
        placed = self.placed(frame)
        layout = placed.layout
        index = placed.at(y_px - self.top_px) if y_px < frame.height_px else None
        if index is None:
            return None
        lane = layout.lanes[index]
        if lane.kind == NOTE_KIND:
            return Hit("note", lane.key)
        if x_px < frame.header_px:
            return Hit("pin" if x_px >= frame.header_px - self.metrics.pin_px else "header", lane.key)
        row = self.row_at(frame, y_px)
        if row is None:
            return Hit("lane", lane.key)
        return self._slice_at(lane, row.number, frame.view, x_px - frame.header_px) or Hit("lane", lane.key)

    def row_at(self, frame: Frame, y_px: float) -> DrawnRow | None:
        """The row of slices at a height of the widget; None where none is drawn."""
        placed = self.placed(frame)
        index = placed.at(y_px - self.top_px) if self.top_px <= y_px < frame.height_px else None
        if index is None:
            return None
        lane = placed.layout.lanes[index]
        top_px = self.top_px + placed.y_px(index) + self.metrics.gap_px / 2
        number = int((y_px - top_px) // self.metrics.row_px)
        if not 0 <= number < self._rows_shown(lane, placed.layout):
            return None
        return DrawnRow(lane, number, top_px + number * self.metrics.row_px)

    def edges_in(self, row: Row, begin_ns: int, end_ns: int, bin_level: int) -> NDArray[np.int64]:
        """Starts and ends of a row's slices that touch [begin_ns, end_ns), as far as they are in memory.

        Where slices are drawn as columns, those of the longest one of each.
        """
        ladder = self._maker.ladders[row.process]
        try:
            found = ladder.window(row.lane_rows, begin_ns, end_ns, bin_level)
        except Later:
            found = ladder.stored_columns(row.lane_rows, begin_ns, end_ns, bin_level)
        return np.concatenate((found.start_ns, found.end_ns))

    def overview_time_ns(self, frame: Frame, x_px: float) -> int:
        """The time at a point of the overview strip."""
        return self._whole(frame).time_ns(x_px - frame.header_px)

    def overview_window(self, frame: Frame) -> Box:
        """The handle in the overview strip: what of the whole profile is in view."""
        whole, width = self._whole(frame), frame.view.width_px
        x0 = min(max(whole.x_px(frame.view.begin_ns), 0.0), width - 3)
        x1 = max(min(whole.x_px(frame.view.end_ns), width), x0 + 3)
        return Box(frame.header_px + x0, 0.0, x1 - x0, self.metrics.overview_px - 1)

    def lanes_between(self, frame: Frame, top_px: float, bottom_px: float) -> tuple[str, ...]:
        """Keys of the lanes of which anything lies between two heights of the widget, from top to bottom."""
        placed = self.placed(frame)
        top_px -= self.top_px
        found = (placed.layout.lanes[at] for at in placed.between(top_px, max(bottom_px - self.top_px, top_px + 1.0)))
        return tuple(lane.key for lane in found if lane.kind != NOTE_KIND)

    def lanes_of_area(self, frame: Frame, top_px: float, bottom_px: float) -> tuple[str, ...]:
        """Keys of the lanes between two heights, but for open groups of which only the header lies there.

        Where nothing else does, such a group stands for all below it, as a collapsed one does.
        """
        keys = self.lanes_between(frame, top_px, bottom_px)
        expanded, held = self.layout(frame).expanded, set(keys)
        kept = []
        for key in keys:
            children = self.tree.by_key[key].children if key in expanded else ()
            if not children or any(child.key in held for child in children):
                kept.append(key)
        return tuple(kept) or keys

    def times_of(self, ref: SliceRef) -> tuple[int, int]:
        """[start, end) of a slice. Raises Later."""
        if self.selected is not None and self.selected.ref == ref:
            return self.selected.begin_ns, self.selected.end_ns
        return self._maker.times_of(ref.process, ref.table, ref.row)

    def name_of(self, ref: SliceRef) -> str:
        """The name of a slice. Raises Later."""
        names = self._maker.names[ref.process]
        return names.text(int(names.ids(SLICE_TABLES.index(ref.table), np.array([ref.row]))[0]))

    def looked_up(self, ref: SliceRef) -> Selected:
        """What has to be known of the selected slice. Raises Later."""
        if self.selected is None or self.selected.ref != ref:
            if not self._waits:
                raise Later
            self.selected = look_up(self.profile, ref)
        return self.selected

    def link_of(self, ref: SliceRef) -> Link | None:
        """The link that the selected slice takes part in. Raises Later."""
        return self.looked_up(ref).link

    def links_request(self, frame: Frame) -> Request:
        """What `all_links` of a frame are asked for: of the lanes in sight, and of those that their groups hide."""
        placed = self.placed(frame)
        layout = placed.layout
        rows: set[Row] = set()
        for index in placed.in_sight():
            lane = layout.lanes[index]
            shown = (lane,) if lane.key in layout.expanded and lane.children else tuple(lane.walk())
            rows.update(row for found in shown if found.kind in ("stream", "thread") for row in found.rows)
        return Request(frame.view.begin_ns, frame.view.end_ns, frozenset(rows))

    def neighbour(self, ref: SliceRef, step: int, waits: bool = False) -> SliceRef | None:
        """The next slice (`step` 1) or the one before (-1) in the drawn row of a slice; None at the ends.

        Raises Later, unless it is asked by a task, which `waits`.
        """
        place = self.tree.place(ref)
        if place is None:
            return None
        lane = self.tree.by_key[place[0]]
        row = lane.rows[place[1]]
        maker = self.opened.maker if waits else self._maker
        return maker.ladders[row.process].neighbour(row.process, row.lane_rows, ref, step)

    def anchor(self, frame: Frame, ref: SliceRef, start_ns: int) -> tuple[float, float] | None:
        """Where arrows to a slice end: its start edge, in the middle of its row or of the collapsed group around it."""
        place = self.tree.place(ref)
        if place is None:
            return None
        y_px = self._middle_px(self.placed(frame), *place)
        if y_px is None:
            return None
        return frame.header_px + min(max(frame.view.x_px(start_ns), -_FAR_PX), _FAR_PX), y_px

    def _middle_px(self, placed: Placed, key: str, row: int) -> float | None:
        """The middle of a lane's row in the widget, or of the group that hides it; None where a filter does."""
        layout = placed.layout
        shown = layout.nearest(self.tree, key)
        if shown is None:
            return None
        index = layout.index[shown]
        middle_px = placed.y_px(index)
        if shown != key:
            middle_px += float(layout.height_px[index]) / 2
        else:
            middle_px += self.metrics.gap_px / 2 + self.metrics.row_px / 2
            middle_px += (row if key in layout.expanded else 0) * self.metrics.row_px
        # What is scrolled away below the pinned lanes must not seem to lie in one of them.
        least_px = placed.stuck_px if placed.stuck and index >= placed.stuck else -_FAR_PX
        return self.top_px + max(middle_px, least_px)

    def lane_text(self, frame: Frame, key: str) -> str:
        """What there is to say of a lane: its name, where it stands, and its share in view with what that is of."""
        lane = self.tree.by_key[key]
        around = " · ".join(self.tree.by_key[group].label for group in self.tree.ancestors(key))
        lines = [lane.label, lane.detail, around]
        curve = self._pictures.busy(lane, frame.view) if lane.busy and not lane.counters else None
        if curve is not None:
            lines.append(share_line(curve, frame.view, self.limits, lane.is_of_windows, len(lane.busy)))
        return "\n".join(line for line in lines if line)

    def stream_of(self, ref: SliceRef) -> str:
        """The lane that a slice was recorded on where it is drawn in one that several were packed into, else empty."""
        place, recorded = self.tree.place(ref), self.opened.tree.place(ref)
        if place is None or recorded is None or not self.tree.by_key[place[0]].packed:
            return ""
        return self.opened.tree.by_key[recorded[0]].label

    def lane_span_px(self, frame: Frame, key: str, row: int = 0) -> tuple[float, float]:
        """Top and bottom of a visible lane's row in the scrolled area."""
        layout = self.layout(frame)
        index = layout.index[key]
        top_px = float(layout.top_px[index])
        if layout.lanes[index].kind in SLICE_LANES and key in layout.expanded:
            top_px += self.metrics.gap_px / 2 + row * self.metrics.row_px
            return top_px, top_px + self.metrics.row_px
        return top_px, top_px + float(layout.height_px[index])

    def _draw_header(self, index: int, placed: Placed, frame: Frame, parts: Parts) -> Header:
        """Add what a lane shows; its header."""
        layout = placed.layout
        lane = layout.lanes[index]
        y_px, height_px = self.top_px + placed.y_px(index), float(layout.height_px[index])
        is_stuck = index < placed.stuck
        share = self._draw_lane(lane, frame, y_px, height_px, parts, is_stuck)
        # The line of text of a tall lane stays in sight while the lane is scrolled.
        least_px = y_px if is_stuck else max(y_px, parts.scrolled_px)
        is_pinned = lane.key in frame.arrangement.pinned
        detail = lane.detail
        if is_pinned:
            groups = (self.tree.by_key[key] for key in self.tree.ancestors(lane.key))
            around = [group.label for group in groups if group.kind != "gpus"]
            detail = " · ".join([*around, detail] if detail else around)
        return Header(
            lane.key,
            lane.label,
            detail,
            share,
            y_px,
            height_px,
            min(least_px, y_px + max(height_px - self.metrics.group_px, 0.0)),
            layout.levels[index],
            (1 if lane.key in layout.expanded else 0) if lane.can_expand else -1,
            lane.kind in GROUPS,
            lane.key == frame.focus,
            is_pinned,
            lane.key == frame.hovered and lane.kind != NOTE_KIND,
            lane.kind == NOTE_KIND,
        )

    @staticmethod
    def _rows_shown(lane: Lane, layout: Layout) -> int:
        """How many rows of slices a lane shows; 0 where it shows something else."""
        if lane.kind not in SLICE_LANES:
            return 0
        if lane.key in layout.expanded or len(lane.rows) == 1:
            return len(lane.rows)
        return 0 if lane.is_dense_when_collapsed else 1

    def _draw_lane(self, lane: Lane, frame: Frame, y_px: float, height_px: float, parts: Parts, is_stuck: bool) -> str:
        """Add what a lane shows; the text of its share or value in view."""
        view, layout = frame.view, self.layout(frame)
        if lane.counters:
            return self._draw_counter(lane, frame, y_px, height_px, parts, is_stuck)
        curve = self._pictures.busy(lane, view) if lane.busy else None
        rows = lane.rows[: self._rows_shown(lane, layout)]
        top_px = self.top_px if is_stuck else parts.scrolled_px
        for index, row in enumerate(rows):
            row_y = y_px + self.metrics.gap_px / 2 + index * self.metrics.row_px
            if row_y < frame.height_px and row_y + self.metrics.row_px > top_px:
                parts.pictures.append((self._pictures.row(row, lane.kind, view), row_y, row.process))
        if curve is not None and not rows and (lane.kind == "utilization" or lane.key not in layout.expanded):
            colour = CURVE if lane.kind == "utilization" else DENSITY
            inset = 2.0 if lane.kind == "utilization" else 4.0
            self._add_curve(curve, (0.0, 1.0), frame, y_px + inset, height_px - 2 * inset, colour, parts, is_stuck)
        return share_text(curve, view, self.limits) if curve is not None else ""

    def _add_curve(
        self,
        curve: Curve,
        bounds: tuple[float, float],
        frame: Frame,
        y_px: float,
        height_px: float,
        colour: int,
        parts: Parts,
        is_stuck: bool,
    ) -> None:
        rects = curve_rects(curve, bounds, frame.view, frame.header_px, y_px, height_px, colour)
        if not is_stuck and parts.scrolled_px > self.top_px and y_px < parts.scrolled_px:
            rects = below(rects, np.full(len(rects), True), parts.scrolled_px)
        parts.curves.append(rects)

    def _draw_counter(
        self, lane: Lane, frame: Frame, y_px: float, height_px: float, parts: Parts, is_stuck: bool
    ) -> str:
        found = self._pictures.counter(lane, frame.view)
        if found is None:
            return ""
        curve, (low, high) = found
        if high == low:
            high = low + 1.0
        self._add_curve(curve, (low, high), frame, y_px + 2, height_px - 4, COUNTER, parts, is_stuck)
        mean = mean_in_view(curve, frame.view)
        return value_text(mean, lane.unit) if mean is not None else ""

    def _selection_box(self, frame: Frame) -> Box | None:
        ref = frame.selection
        place = self.tree.place(ref) if ref is not None else None
        placed = self.placed(frame)
        layout = placed.layout
        if ref is None or place is None or place[0] not in layout.index:
            return None
        lane = self.tree.by_key[place[0]]
        if place[1] >= self._rows_shown(lane, layout):
            return None
        try:
            start_ns, end_ns = self.times_of(ref)
        except Later:
            return None
        x0 = min(max(frame.view.x_px(start_ns), -GAP_FROM_PX), _FAR_PX)
        x1 = min(max(frame.view.x_px(end_ns), -GAP_FROM_PX), frame.view.width_px + GAP_FROM_PX)
        index = layout.index[lane.key]
        y_px = self.top_px + placed.y_px(index) + self.metrics.gap_px / 2 + place[1] * self.metrics.row_px
        bottom_px = y_px + self.metrics.row_px - 1
        least_px = self.top_px + (placed.stuck_px if index >= placed.stuck else 0.0)
        if x1 < 0 or x0 > frame.view.width_px or y_px > frame.height_px or bottom_px + 1 < least_px:
            return None
        y_px = max(y_px, least_px) if placed.stuck else y_px
        return Box(x0 + frame.header_px, y_px, max(x1 - x0, 2.0), max(bottom_px - y_px, 0.0))

    def _arrows(self, frame: Frame) -> arrows.Arrows:
        """Those of the selection's link, once it is looked up."""
        if frame.selection is None:
            return arrows.Arrows()
        try:
            selected = self.looked_up(frame.selection)
        except Later:
            return arrows.Arrows()
        anchor = partial(self.anchor, frame)
        return arrows.of_selection(
            selected, frame, self._arrow_area(frame), anchor, self._elider.width_px, self.metrics.line_px
        )

    def _all_links(self, frame: Frame) -> tuple[Arrow, ...]:
        if self.all_links is None:
            return ()
        placed = self.placed(frame)
        return tuple(
            arrows.of_all(
                self.all_links, frame, self._arrow_area(frame), lambda key, row: self._middle_px(placed, key, row)
            )
        )

    def _arrow_area(self, frame: Frame) -> arrows.Area:
        return arrows.Area(frame.header_px, self.top_px, frame.header_px + frame.view.width_px, frame.height_px)

    def _slice_at(self, lane: Lane, row: int, view: Viewport, x_px: float) -> Hit | None:
        """The longest slice under the pixel, or the nearest one within HIT_PX of it."""
        drawn = lane.rows[row]
        ladder, names = self._maker.ladders[drawn.process], self._maker.names[drawn.process]
        pixel = view.time_ns(x_px)
        for reach_px in (0.0, HIT_PX):
            begin, end = view.time_ns(x_px - reach_px), max(view.time_ns(x_px + reach_px), pixel) + 1
            try:
                found = ladder.window(drawn.lane_rows, begin, end, view.bin_level)
            except Later:
                found = ladder.stored_columns(drawn.lane_rows, begin, end, view.bin_level)
            if len(found) == 0:
                continue
            if isinstance(found, Columns):
                best = int(np.argmax(found.end_ns - found.start_ns))
                name_id = int(found.name_id[best])
            else:
                away = np.maximum(np.maximum(found.start_ns - pixel, pixel + 1 - found.end_ns), 0)
                best = int(np.lexsort((found.start_ns - found.end_ns, away))[0])
                name_id = UNKNOWN_NAME
            ref = SliceRef(drawn.process, SLICE_TABLES[int(found.table[best])], int(found.row[best]))
            try:
                name = self.name_of(ref) if name_id == UNKNOWN_NAME else names.text(name_id)
            except Later:
                name = ""
            if ref.table == "device":
                name = self.shown_names.text_now(name)
            return Hit("lane", lane.key, ref, int(found.start_ns[best]), int(found.end_ns[best]), name)
        return None

    def _outside(self, frame: Frame) -> tuple[Box, ...]:
        boxes = []
        left, right = frame.view.x_px(self.limits.begin_ns), frame.view.x_px(self.limits.end_ns)
        height = frame.height_px - self.top_px
        if left > 0:
            boxes.append(Box(frame.header_px, self.top_px, min(left, frame.view.width_px), height))
        if right < frame.view.width_px:
            x_px = max(right, 0.0)
            boxes.append(Box(frame.header_px + x_px, self.top_px, frame.view.width_px - x_px, height))
        return tuple(boxes)

    def _whole(self, frame: Frame) -> Viewport:
        return Viewport(self.limits.begin_ns, self.limits.end_ns, frame.view.width_px)

    def _draw_overview(self, frame: Frame) -> Rects:
        """Mean busy share of the whole profile, over the width of the lanes."""
        whole = self._whole(frame)
        level = whole.bin_level
        begin, end = self.limits.begin_ns >> level, ((self.limits.end_ns - 1) >> level) + 1
        window = Window(begin << level, end << level, level)
        sources = tuple(source for root in self.tree.roots for source in root.busy)
        curve = self._pictures.curve_in(
            _overview_key(frame), lambda maker: maker.busy_in(sources, window, True, bound=True)
        )
        if curve is None:
            return Rects.empty()
        return curve_rects(curve, (0.0, 1.0), whole, frame.header_px, 3.0, self.metrics.overview_px - 5, DENSITY)


def with_scroll(frame: Frame, scroll_px: float, scene: Scene) -> Frame:
    """The frame scrolled to `scroll_px`, as far as there are lanes."""
    most = max(0.0, scene.layout(frame).total_px - (frame.height_px - scene.top_px))
    return replace(frame, scroll_px=min(max(scroll_px, 0.0), most))


def _overview_key(frame: Frame) -> str:
    """What the overview's curve is kept under: it follows the width alone."""
    return f"overview {int(frame.view.width_px)}"
