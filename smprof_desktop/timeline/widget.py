"""The timeline as a widget: it turns gestures and keys into views, and paints the scene's draw list.

It is a scroll area that paints itself, not a pyqtgraph view: a view box holds its range in float64 (steps of 256 ns at
today's dates) and costs an item for each thing drawn, while one frame here is one draw list painted in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from smprof.profile.clock import unix_ns
from smprof_desktop.progress import CancelCheck, Progress
from smprof_desktop.session import Session
from smprof_desktop.settings import SETTINGS, Settings
from smprof_desktop.slice_ref import Area, SliceRef
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline import pictures
from smprof_desktop.timeline.arranging import Arranging
from smprof_desktop.timeline.axis import Axis
from smprof_desktop.timeline.colours import DARK, LIGHT, Theme
from smprof_desktop.timeline.draw_list import DrawList, Hit
from smprof_desktop.timeline.gestures import Gestures
from smprof_desktop.timeline.glide import Glide
from smprof_desktop.timeline.hover import HoverText, PointerTime
from smprof_desktop.timeline.key_events import KeyMap
from smprof_desktop.timeline.keys import COMMANDS
from smprof_desktop.timeline.layout import Frame, Metrics
from smprof_desktop.timeline.linking import AllLinks
from smprof_desktop.timeline.maker import Curve, Maker, RowPicture
from smprof_desktop.timeline.marking import Marking
from smprof_desktop.timeline.measuring import Measuring
from smprof_desktop.timeline.paint_frame import FramePainter, PaintFault
from smprof_desktop.timeline.paint_raster import RasterPainter
from smprof_desktop.timeline.pictures import Key, Want
from smprof_desktop.timeline.restoring import Restoring
from smprof_desktop.timeline.scene import Opened, Scene, with_scroll
from smprof_desktop.timeline.searching import Searching
from smprof_desktop.timeline.selecting import Selecting
from smprof_desktop.timeline.stepping import Stepping
from smprof_desktop.timeline.viewport import Viewport, duration_text

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

ZOOM_STEP = 1.5
PAN_SHARE = 0.2
SETTLE_MS = 500
"""A view that has stood so long is one that `back` returns to."""
MOVING_BUDGET_S = 0.006
HEADER_PX = 290.0
MIN_HEADER_PX, MAX_HEADER_SHARE = 90.0, 0.6
AROUND_ROWS = 4
NO_PROFILE = "No profile is loaded."
PREPARING = "Preparing the timeline…"
OPENING, FETCHING = "timeline", "pictures"
"""Kinds of tasks."""


class TimelineWidget(QAbstractScrollArea):
    """Lanes of the session's profile over its visible range. Selection and range live in the session.

    Signals of the session are obeyed, whoever caused them. Nothing here waits: what is not in memory is fetched by a
    task, one at a time, while what there is is drawn.

    Signals:
        faulted(str): something of the profile could not be read, as one sentence.
        marks_asked(): the list of marks is to be shown.
        area_made(): an area was made, or changed, and whoever did that has ended.
        area_asked(), histogram_asked(): the area's totals, or the durations of the selected name, are to be shown.
        painting_failed(str): the painter cannot paint, and why, to go on a sentence with; another has to be given.
    """

    faulted = Signal(str)
    marks_asked = Signal()
    painting_failed = Signal(str)
    area_made = Signal()
    area_asked = Signal()
    histogram_asked = Signal()

    def __init__(
        self, session: Session, tasks: Tasks, settings: Settings | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.session = session
        self.settings = settings or Settings(None)
        self.scene: Scene | None = None
        self.tasks = tasks
        self._note = NO_PROFILE
        self._is_opening = self._is_fetching = False
        self.selecting = Selecting(self)
        self.linking = AllLinks(self)
        self.marking = Marking(self)
        self.stepping = Stepping(self)
        self.restoring = Restoring(self)
        self.arranging = Arranging(self)
        self.measuring = Measuring(self)
        self.searching = Searching(self)
        self._gestures = Gestures(self)
        self.expanded: frozenset[str] = frozenset()
        self.focus_key = ""
        self.header_px = HEADER_PX
        self.axis: Axis | None = None
        """How times read; None without a profile."""
        self._scroll_rest_px = 0.0
        """What fine turns of a wheel have scrolled beyond whole pixels."""
        self.view = Viewport(0, 1, 1.0)
        self.frames_painted = 0
        """By the present painter, or those of its kind before it."""
        self._painter: FramePainter | None = None
        self._make_painter: Callable[[Theme, QFont], FramePainter] = RasterPainter
        self.keys: Mapping[str, tuple[str, ...]] = {command.id: command.keys for command in COMMANDS}
        """Of each command, as they are in force."""
        self._keys = KeyMap(COMMANDS)
        self._held = {command.id for command in COMMANDS if command.is_held}
        self._glide = Glide(self)
        self._actions: dict[str, Callable[[], None]] = {
            **{key: partial(self._step, key, 1.0) for key in ("zoom_in", "zoom_out", "pan_left", "pan_right")},
            "fit_selection": self.selecting.fit,
            "fit_all": self.fit_all,
            "lane_up": lambda: self._focus_by(-1),
            "lane_down": lambda: self._focus_by(1),
            "page_up": lambda: self.scroll_by(-0.8 * self.viewport().height()),
            "page_down": lambda: self.scroll_by(0.8 * self.viewport().height()),
            "toggle_lane": lambda: self.toggle(self.focus_key),
            "toggle_below": self.arranging.toggle_below,
            "pin_lane": self.arranging.toggle_pin,
            "hide_lane": self.arranging.hide,
            "show_lanes": self.arranging.show_all,
            "move_lane_up": partial(self.arranging.move, -1),
            "move_lane_down": partial(self.arranging.move, 1),
            "filter_lanes": self.arranging.open_filter,
            "lane_menu": self._show_lane_menu,
            "all_links": self.linking.switch,
            "link_back": lambda: self.selecting.walk_link(-1),
            "link_forward": lambda: self.selecting.walk_link(1),
            "previous_slice": lambda: self.selecting.walk_lane(-1),
            "next_slice": lambda: self.selecting.walk_lane(1),
            "search": self.searching.asked.emit,
            "next_match": lambda: self.searching.walk(1),
            "previous_match": lambda: self.searching.walk(-1),
            "list_matches": self.searching.list_asked.emit,
            "deselect": self.deselect,
            "ruler": self.measuring.toggle,
            "select_area": self.measuring.select_area,
            "show_area": self.area_asked.emit,
            "show_histogram": self.histogram_asked.emit,
            "mark": self.marking.mark_moment,
            "mark_range": self.marking.mark_range,
            "edit_mark": self.marking.edit,
            "remove_mark": self.marking.remove,
            "list_marks": self.marks_asked.emit,
            "previous_step": lambda: self.stepping.walk(-1),
            "next_step": lambda: self.stepping.walk(1),
            "switch_time": self.switch_time,
            "back": self.session.back,
            "forward": self.session.forward,
        }
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLE_MS)
        self._settle.timeout.connect(self._remember)
        self.hover = HoverText(self.viewport())
        self._time_at = PointerTime(self.viewport())
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Timeline")
        self._prepare_viewport()
        session.profile_changed.connect(self._on_profile)
        session.range_changed.connect(self._on_range)
        session.selection_changed.connect(self.selecting.on_selection)
        session.selection_changed.connect(self.marking.on_selection)
        session.selection_changed.connect(self.stepping.follow)
        session.area_changed.connect(self._on_area)
        self.settings.changed.connect(self._on_setting)
        self.settings.changed.connect(self.linking.on_setting)
        self._on_profile(session.profile)

    @property
    def is_final(self) -> bool:
        """Whether the picture shows all it will. Has what is missing fetched, also while nothing paints it."""
        if self.scene is None or self.selecting.is_looking:
            return not self._is_opening and not self.selecting.is_looking
        drawing = self.draw_list()
        self._fetch()
        self.linking.renew()
        is_busy = self.stepping.is_reading or self.searching.is_busy or self.arranging.is_packing
        return (drawing is None or drawing.is_final) and not is_busy and self.linking.is_final

    def run(self, command_id: str) -> None:
        """Do what a command of `keys.COMMANDS` says, unless no profile is open. Raises KeyError for an unknown id."""
        action = self._actions[command_id]
        if self.scene is not None:
            action()

    def use_keys(self, keys: Mapping[str, tuple[str, ...]]) -> None:
        """Obey other keys: those of each command by its id. What this does not name has none."""
        self.keys = {command.id: keys.get(command.id, ()) for command in COMMANDS}
        self._keys = KeyMap([replace(command, keys=self.keys[command.id]) for command in COMMANDS])

    def frame(self) -> Frame:
        """What the present picture depends on."""
        return Frame(
            view=self.view,
            expanded=self.expanded,
            height_px=float(self.viewport().height()),
            header_px=self.header_px,
            scroll_px=float(self.verticalScrollBar().value()),
            selection=self.session.selection,
            focus=self.focus_key if self.hasFocus() else "",
            arrangement=self.arranging.arrangement,
            hovered=self.arranging.hovered,
            drop_px=self.arranging.drop_px,
            axis=self.axis,
            area=self.session.area,
            ruler=self.measuring.ruler,
            snapped=self.measuring.snapped,
        )

    def draw_list(self, budget_s: float | None = None) -> DrawList | None:
        """The present picture, before it is painted; `budget_s` as in `Scene.draw`."""
        return self.scene.draw(self.frame(), budget_s) if self.scene is not None else None

    def zoom(self, factor: float, x_px: float | None = None) -> None:
        """Zoom about a point of the lanes, the pointer's or, where it is elsewhere, the middle."""
        if x_px is None:
            x_px = self.viewport().mapFromGlobal(self.cursor().pos()).x() - self.header_px
            if not (self.viewport().underMouse() and 0 <= x_px <= self.view.width_px):
                x_px = self.view.width_px / 2
        self.go_to(self.view.zoomed(factor, x_px, self.opened_scene().limits))

    def paint_on(self, canvas: QWidget, make_painter: Callable[[Theme, QFont], FramePainter]) -> None:
        """Paint on this widget, which becomes the viewport, by painters that are made for it."""
        for child in self.viewport().findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
            child.setParent(canvas)  # hidden, but not gone with the old viewport
        self._make_painter, self._painter = make_painter, None
        self.frames_painted = 0
        canvas.setAcceptDrops(self.viewport().acceptDrops())
        self.setViewport(canvas)
        self._prepare_viewport()
        canvas.update()

    def fit_all(self) -> None:
        """Show the whole profile."""
        limits = self.opened_scene().limits
        self.go_to(self.view.fitted(limits.begin_ns, limits.end_ns, limits), remember=True)

    def switch_time(self) -> None:
        """Count times in the next way that there is: from the profile's start, by the clock here, in UTC."""
        ways = SETTINGS["time"].choices
        following = ways[(ways.index(self.settings.get("time")) + 1) % len(ways)]
        self.settings.set("time", following)
        if following != "start" and self.axis is not None and not self.axis.is_clock:
            self.faulted.emit("This profile's clock counts from an unknown moment; times stay from its start.")

    def toggle(self, key: str) -> None:
        """Expand or collapse a lane; do what a note among the lanes offers."""
        lane = self.opened_scene().tree.by_key.get(key)
        if not self.arranging.activate(key) and lane is not None and lane.can_expand:
            self.set_expanded(self.expanded ^ {key})

    def set_expanded(self, keys: frozenset[str]) -> None:
        """Open exactly those lanes."""
        if keys != self.expanded:
            self.expanded = keys
            self.lanes_changed()

    def lanes_changed(self) -> None:
        """Other lanes show, or in another order."""
        self._update_scroll_bar()
        self.viewport().update()

    def focus_lane(self, key: str) -> None:
        """Bring a lane into sight, whatever hides it, and give it the keyboard."""
        self.arranging.uncover(key)
        self.focus_key = key
        self.scroll_to_lane(key)
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.viewport().update()

    def scroll_to_lane(self, key: str, row: int = 0) -> None:
        """Scroll a lane that shows into sight."""
        if key in self.opened_scene().layout(self.frame()).index:
            self._scroll_to(*self.opened_scene().lane_span_px(self.frame(), key, row))

    def opened_scene(self) -> Scene:
        """The scene. Raises RuntimeError where no profile is shown."""
        if self.scene is None:
            raise RuntimeError("the timeline has no profile")
        return self.scene

    def go_to(self, view: Viewport, remember: bool = False) -> None:
        """Make a view the present one. A movement is remembered once it has come to rest."""
        self.view = view
        self._settle.stop() if remember else self._settle.start()
        self.hover.hide()
        self.session.show(view.begin_ns, view.end_ns, remember=remember)
        self.viewport().update()

    def scroll_by(self, dy_px: float) -> None:
        """Scroll the lanes, as far as there are any."""
        bar = self.verticalScrollBar()
        exact_px = bar.value() + self._scroll_rest_px + dy_px
        bar.setValue(round(with_scroll(self.frame(), exact_px, self.opened_scene()).scroll_px))
        self._scroll_rest_px = min(max(exact_px - bar.value(), -0.5), 0.5)

    def set_header(self, width_px: float) -> None:
        """Give the header column that width, within bounds."""
        self.header_px = min(
            max(width_px, MIN_HEADER_PX), max(MIN_HEADER_PX, self.viewport().width() * MAX_HEADER_SHARE)
        )
        self.view = self.view.resized(self._lanes_width())
        self.arranging.place_bar()
        self.viewport().update()

    def bring_into_sight(self, ref: SliceRef) -> None:
        """Open the groups around a slice and scroll to it; time stays."""
        scene = self.opened_scene()
        place = scene.tree.place(ref)
        if place is None:
            return
        self.show_lane(*place)

    def show_lane(self, key: str, row: int = 0) -> None:
        """Bring a lane into sight, hidden, filtered out or in closed groups as it may be; the keyboard goes there."""
        self.arranging.uncover(key, row)
        self.scroll_to_lane(key, row)
        self.focus_key = key
        self.viewport().update()

    def show_hover(self, position: QPointF) -> None:
        """Tell beside the pointer what lies under it."""
        scene, frame = self.opened_scene(), self.frame()
        hit = scene.hit(frame, position.x(), position.y())
        self.arranging.hover(hit.key if hit is not None and hit.part in ("header", "pin") else "")
        if hit is not None and hit.part in ("pin", "note"):
            self.viewport().setCursor(Qt.CursorShape.PointingHandCursor)
        self.hover.show_at(position.toPoint(), self._hover_text(hit))
        self.marking.pointer = position
        is_over_lanes = position.x() >= self.header_px and position.y() >= scene.metrics.overview_px
        if is_over_lanes and self.axis is not None:
            self._time_at.setText(self.axis.text(self.view.time_ns(position.x() - self.header_px)))
            top_px, height_px = round(scene.metrics.overview_px), round(scene.metrics.axis_px) - 1
            self._time_at.setGeometry(0, top_px, max(round(self.header_px) - 1, 1), height_px)
        self._time_at.setVisible(is_over_lanes)

    def deselect(self) -> None:
        """Put the ruler away; without it select no mark, where none is, no slice, and no area."""
        if not self.measuring.leave() and not self.marking.deselect():
            self.selecting.deselect()

    def show_cursor(self) -> None:
        """Show by the pointer what a press would do, now that it is another thing."""
        self._gestures.show_cursor(QPointF(self.viewport().mapFromGlobal(self.cursor().pos())))

    def come_to_rest(self) -> None:
        """A movement has ended: `back` returns to this view."""
        self._settle.stop()
        self._remember()

    def _step(self, command_id: str, steps: float) -> None:
        """Zoom or move by so many steps; less than one while a key is held."""
        if command_id in ("zoom_in", "zoom_out"):
            self.zoom(ZOOM_STEP ** (steps if command_id == "zoom_out" else -steps))
        else:
            share = PAN_SHARE * (steps if command_id == "pan_right" else -steps)
            self.go_to(self.view.panned(share * self.view.width_px, self.opened_scene().limits))

    def _on_setting(self, key: str) -> None:
        if key == "time":
            self.axis = self._make_axis(self.session.profile)
            self._time_at.hide()
            self.viewport().update()
        elif key == "names" and self.scene is not None:
            self.scene.shown_names.use(self.settings.get("names"))
            self.hover.hide()
            self.viewport().update()

    def _make_axis(self, profile: Profile | None) -> Axis | None:
        """How the profile's times are to read: by the clock where that is asked for and known."""
        if profile is None:
            return None
        way = self.settings.get("time")
        moment_ns = unix_ns(profile.manifest.clock, profile.begin_ns) if way != "start" else None
        if moment_ns is not None:
            with suppress(ValueError):
                return Axis.by_clock(moment_ns - profile.begin_ns, profile.begin_ns, way == "UTC")
        return Axis(profile.begin_ns)

    def _on_area(self, _area: Area | None) -> None:
        self.viewport().update()

    def _let_go(self) -> None:
        """The keyboard or the mouse goes elsewhere: what is held is not, whatever is heard of it."""
        self._glide.stop()
        self._gestures.cancel()

    def _prepare_viewport(self) -> None:
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def _remember(self) -> None:
        if self.scene is not None:
            self.session.show(self.view.begin_ns, self.view.end_ns, remember=True)

    def _on_profile(self, profile: Profile | None) -> None:
        self._let_go()
        self._settle.stop()
        self.hover.hide()
        self.measuring.forget()
        self.selecting.forget()
        self.linking.forget()
        self.stepping.forget()
        self.searching.forget()
        self.marking.follow_notes()
        self.restoring.forget()
        self._is_fetching = False
        self.tasks.cancel_kind(FETCHING)
        self.axis = self._make_axis(profile)
        self._show_scene(None)
        self._is_opening = profile is not None
        self._note = NO_PROFILE if profile is None else PREPARING
        if profile is None:
            self.tasks.cancel_kind(OPENING)
            return
        self.tasks.start(
            OPENING, partial(_read, profile), self._on_opened, self._on_not_opened, reads=profile, alone=True
        )

    def _on_opened(self, opened: Opened) -> None:
        self._is_opening = False
        self._show_scene(opened)
        self.stepping.follow(self.session.selection)
        if self.session.selection is not None:
            self.selecting.look_at(self.session.selection)
        self.restoring.go_on()

    def _on_not_opened(self, sentence: str) -> None:
        self._is_opening = False
        self._note = sentence
        self.viewport().update()

    def _show_scene(self, opened: Opened | None) -> None:
        self.scene = self._make_scene(opened) if opened is not None else None
        self.expanded = opened.tree.default_expanded() if opened is not None else frozenset()
        self.focus_key = ""
        self.arranging.on_scene(self.scene)
        self._on_range(self.session.begin_ns, self.session.end_ns)
        self._update_scroll_bar()
        self.verticalScrollBar().setValue(0)
        self.viewport().update()

    def _make_scene(self, opened: Opened) -> Scene:
        painter = self.painter()
        line_px = round(QFontMetricsF(painter.font).height())
        width = QFontMetricsF(painter.small).horizontalAdvance
        scene = Scene(opened, width, Metrics(float(line_px)), waits=False)
        self.marking.show_in(scene)
        self.stepping.show_in(scene)
        self.searching.show_in(scene)
        scene.shown_names.use(self.settings.get("names"))
        return scene

    def _fetch(self) -> None:
        """Have a task make what the last frame could not show. One at a time: its answer tells what is wanted next."""
        scene = self.scene
        if scene is None or not scene.wanted or self._is_fetching or self.tasks.is_closed:
            return
        self._is_fetching = True
        # Rows first: they are what is looked at, and the exact share of many streams takes longest.
        wants = sorted(scene.wanted, key=lambda want: isinstance(want.key, str))
        self.tasks.start(
            FETCHING,
            partial(_make, scene.opened.maker, wants),
            partial(self._on_fetched, scene),
            self._on_not_fetched,
            self._on_fetch_cancelled,
            reads=scene.profile,
            alone=True,
        )

    def _on_fetched(self, scene: Scene, made: list[tuple[Key, RowPicture | Curve | None]]) -> None:
        self._is_fetching = False
        scene.install(made)
        self.viewport().update()
        if any(picture is None for _, picture in made):
            self.faulted.emit("A part of this profile cannot be read and is not drawn; load the profile again.")

    def _on_not_fetched(self, sentence: str) -> None:
        """A fault of the program: asking again would only repeat it, until the view changes."""
        self._is_fetching = False
        self.faulted.emit(sentence)

    def _on_fetch_cancelled(self) -> None:
        self._is_fetching = False

    def _on_range(self, begin_ns: int, end_ns: int) -> None:
        if self.scene is None:
            return
        if (begin_ns, end_ns) != (self.view.begin_ns, self.view.end_ns):
            plain = Viewport(begin_ns, max(end_ns, begin_ns + 1), self._lanes_width())
            self.view = plain.zoomed(1.0, 0.0, self.scene.limits)
        self.viewport().update()

    def _lanes_width(self) -> float:
        return max(float(self.viewport().width()) - self.header_px, 1.0)

    def painter(self) -> FramePainter:
        """What paints frames, in the present theme and font."""
        theme = DARK if self.palette().color(QPalette.ColorRole.Base).lightness() < 128 else LIGHT
        if self._painter is None or self._painter.theme is not theme or self._painter.font != self.font():
            self._painter = self._make_painter(theme, self.font())
        return self._painter

    def _update_scroll_bar(self) -> None:
        bar = self.verticalScrollBar()
        if self.scene is None:
            bar.setRange(0, 0)
            return
        seen = max(self.viewport().height() - self.scene.top_px, 0.0)
        bar.setRange(0, max(0, round(self.scene.layout(self.frame()).total_px - seen)))
        bar.setPageStep(max(1, round(seen)))
        bar.setSingleStep(round(self.scene.metrics.row_px))

    def _scroll_to(self, top_px: float, bottom_px: float) -> None:
        """Scroll as little as brings [top_px, bottom_px) of the lanes into sight, with some rows around it."""
        bar = self.verticalScrollBar()
        stuck_px = self.opened_scene().placed(self.frame()).stuck_px
        if bottom_px <= stuck_px:
            return  # it is pinned, and always in sight
        top_px, bottom_px = top_px - stuck_px, bottom_px - stuck_px
        seen = self.viewport().height() - self.opened_scene().top_px - stuck_px
        around = min(AROUND_ROWS * self.opened_scene().metrics.row_px, max(seen - (bottom_px - top_px), 0.0) / 2)
        if top_px - around < bar.value():
            bar.setValue(round(top_px - around))
        elif bottom_px + around > bar.value() + seen:
            bar.setValue(round(bottom_px + around - seen))

    def _focus_by(self, step: int) -> None:
        layout = self.opened_scene().layout(self.frame())
        if not layout.lanes:
            return
        at = layout.index.get(self.focus_key, -1 if step > 0 else len(layout.lanes))
        key = layout.lanes[min(max(at + step, 0), len(layout.lanes) - 1)].key
        self.focus_key = key
        self.scroll_to_lane(key)
        self.viewport().update()

    def _hover_text(self, hit: Hit | None) -> str:
        if hit is None or self.scene is None:
            return ""
        if hit.part == "link":
            return "Click to select it and go there"
        if hit.ref is not None:
            since = (self.axis or self.scene.axis).text(hit.begin_ns)
            text = f"{hit.name or '…'}\n{duration_text(hit.end_ns - hit.begin_ns)} from {since}"
            stream = self.scene.stream_of(hit.ref)
            return f"{text}\n{stream}" if stream else text
        if hit.part in ("mark", "step"):
            since = (self.axis or self.scene.axis).text(hit.begin_ns)
            length = f"{duration_text(hit.end_ns - hit.begin_ns)} from " if hit.end_ns > hit.begin_ns else ""
            return f"{hit.name}\n{length}{since}".strip()
        if hit.part == "header":
            return self.scene.lane_text(self.frame(), hit.key)
        if hit.part == "note" and hit.key.startswith("note:hidden"):
            return "Click to show them again"
        if hit.part == "pin":
            return "Unpin" if hit.key in self.arranging.arrangement.pinned else "Pin to the top"
        return ""

    def _show_lane_menu(self) -> None:
        """The menu of the lane that the keyboard is on, beside its header."""
        scene, frame = self.opened_scene(), self.frame()
        placed = scene.placed(frame)
        at = placed.layout.index.get(self.focus_key)
        if at is not None:
            self.scroll_to_lane(self.focus_key)
            y_px = scene.top_px + scene.placed(self.frame()).y_px(at) + float(placed.layout.height_px[at])
            point = QPointF(40.0, min(max(y_px, scene.top_px), float(self.viewport().height())))
            self.arranging.menu(self.focus_key, self.viewport().mapToGlobal(point.toPoint()))

    # Overrides of Qt methods.

    def event(self, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._keys.command_of(event):
            event.accept()
            return True
        if kind == QEvent.Type.WindowDeactivate:
            self._let_go()
        elif kind == QEvent.Type.DevicePixelRatioChange and self.scene is not None:
            self._painter = None  # what it keeps was drawn for the former screen
            self._update_scroll_bar()
            self.viewport().update()
        return super().event(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QNativeGestureEvent) and self.scene is not None:
            return self._gestures.pinch(event)
        if event.type() == QEvent.Type.UngrabMouse:
            self._gestures.cancel()
        return super().viewportEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        command = self._keys.command_of(event)
        if event.key() == Qt.Key.Key_Escape and self._gestures.dragged == "header":
            self._gestures.cancel()
        elif not command or self.scene is None:
            super().keyPressEvent(event)
        elif command not in self._held:
            self.run(command)
        elif not event.isAutoRepeat() or not self._glide.is_active:
            self._glide.start(event.key(), partial(self._step, command))

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if not event.isAutoRepeat():
            self._glide.release(event.key())
        super().keyReleaseEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.scene is not None:
            self._gestures.wheel(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self.scene is not None:
            self._gestures.press(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.scene is not None:
            self._gestures.move(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self.scene is not None:
            self._gestures.release(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.scene is not None:
            self._gestures.double_click(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """The menu of a header. The keyboard's own event follows the key, which is a command of the table."""
        scene = self.scene
        is_by_mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        hit = scene.hit(self.frame(), event.pos().x(), event.pos().y()) if scene is not None and is_by_mouse else None
        if hit is not None and hit.part in ("header", "pin"):
            self.hover.hide()
            self.arranging.menu(hit.key, event.globalPos())
        elif is_by_mouse:
            super().contextMenuEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self.hover.hide()
        self.arranging.hover("")
        self._time_at.hide()
        self.marking.pointer = None
        super().leaveEvent(event)

    def hideEvent(self, event: QEvent) -> None:
        self._settle.stop()
        self._let_go()
        self.hover.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.view = self.view.resized(self._lanes_width())
        self._update_scroll_bar()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        kinds = (
            QEvent.Type.FontChange,
            QEvent.Type.PaletteChange,
            QEvent.Type.StyleChange,
            QEvent.Type.ApplicationFontChange,
        )
        if event.type() in kinds and hasattr(self, "_painter"):
            if self._painter is not None and self._painter.font != self.font() and self.scene is not None:
                before, self.scene = self.scene, self._make_scene(self.scene.opened)
                self.scene.selected = before.selected
                self.scene.replace_tree(before.tree)
                self._update_scroll_bar()
            self.arranging.place_bar()
            self.viewport().update()

    def focusInEvent(self, event: QEvent) -> None:
        self.viewport().update()

    def focusOutEvent(self, event: QEvent) -> None:
        self._glide.stop()
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        if not painter.isActive():
            self.painting_failed.emit("it has nothing to paint on")
            return
        # While it moves, a picture in time counts for more than the last detail, which follows in the next ones.
        drawing = self.draw_list(MOVING_BUDGET_S if self._settle.isActive() else None)
        if drawing is not None:
            try:
                self.painter().paint(drawing, painter)
            except PaintFault as fault:
                self.painting_failed.emit(str(fault))
            if self.scene is not None:
                self.scene.painted()
                if self.scene.is_late:
                    self.viewport().update()
            self._fetch()
            self.linking.renew()
        if drawing is None or not drawing.headers:
            painter.fillRect(self.viewport().rect(), self.palette().color(QPalette.ColorRole.Base))
            painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
            empty = "This profile holds no slices: Information lists what was read and lost."
            if self.arranging.arrangement.filter.strip():
                empty = "No lane has that name. Esc in the filter shows all lanes."
            text = self._note if drawing is None else empty
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(self.viewport().rect().adjusted(40, 0, -40, 0), flags, text)
        painter.end()
        self.frames_painted += 1


def _read(profile: Profile, _progress: Progress, _cancelled: CancelCheck) -> Opened:
    return Opened.read(profile)


def _make(
    maker: Maker, wants: list[Want], _progress: Progress, cancelled: CancelCheck
) -> list[tuple[Key, RowPicture | Curve | None]]:
    return pictures.fetch(maker, wants, cancelled)
