"""The timeline as a widget: it turns gestures and keys into views, and paints the scene's draw list.

It is a scroll area that paints itself, not a pyqtgraph view: a view box holds its range in float64 (steps of 256 ns at
today's dates) and costs an item for each thing drawn, while one frame here is one draw list painted in one pass.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QEvent, QKeyCombination, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFontMetricsF,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from smprof_desktop.progress import CancelCheck, Progress
from smprof_desktop.session import Session
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline import links, pictures
from smprof_desktop.timeline.colours import DARK, LIGHT
from smprof_desktop.timeline.draw_list import DrawList, Hit
from smprof_desktop.timeline.hover import HoverText
from smprof_desktop.timeline.keys import COMMANDS
from smprof_desktop.timeline.layout import Frame, Metrics
from smprof_desktop.timeline.links import Selected
from smprof_desktop.timeline.maker import Curve, Maker, RowPicture
from smprof_desktop.timeline.memory import Later
from smprof_desktop.timeline.paint_raster import RasterPainter
from smprof_desktop.timeline.pictures import Key, Want
from smprof_desktop.timeline.scene import Opened, Scene, with_scroll
from smprof_desktop.timeline.viewport import Viewport, duration_text, time_text

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

ZOOM_STEP = 1.5
PAN_SHARE = 0.2
WHEEL_NOTCH = 120.0
NOTCH_FACTOR = 1.3
SETTLE_MS = 500
"""A view that has stood so long is one that `back` returns to."""
MOVING_BUDGET_S = 0.006
DRAG_FROM_PX = 4
HEADER_PX = 290.0
MIN_HEADER_PX, MAX_HEADER_SHARE = 90.0, 0.6
GRIP_PX = 4
AROUND_ROWS = 4
FIT_PADDING = 0.15
SURROUNDINGS = 8.0
NO_PROFILE = "No profile is loaded."
PREPARING = "Preparing the timeline…"
OPENING, FETCHING, LOOKING, WALKING = "timeline", "pictures", "selection", "neighbour"
"""Kinds of tasks."""


class TimelineWidget(QAbstractScrollArea):
    """Lanes of the session's profile over its visible range. Selection and range live in the session.

    Signals of the session are obeyed, whoever caused them. Nothing here waits: what is not in memory is fetched by a
    task, one at a time, while what there is is drawn.

    Signals:
        faulted(str): something of the profile could not be read, as one sentence.
    """

    faulted = Signal(str)

    def __init__(self, session: Session, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.scene: Scene | None = None
        self._tasks = tasks
        self._note = NO_PROFILE
        self._is_opening = self._is_fetching = self._is_looking = False
        self._after_look: Callable[[], None] | None = None
        self._seen = (session.begin_ns, session.end_ns)
        """The range when the selection was made."""
        self.expanded: frozenset[str] = frozenset()
        self.focus_key = ""
        self.header_px = HEADER_PX
        self.view = Viewport(0, 1, 1.0)
        self._fit_view: Viewport | None = None
        self._press: QPointF | None = None
        self._drag = ""
        self._last = QPointF()
        self._painter: RasterPainter | None = None
        self._keys = {_combined(key): command.id for command in COMMANDS for key in command.keys}
        self._actions: dict[str, Callable[[], None]] = {
            "zoom_in": lambda: self.zoom(1 / ZOOM_STEP),
            "zoom_out": lambda: self.zoom(ZOOM_STEP),
            "pan_left": lambda: self._move(self.view.panned(-PAN_SHARE * self.view.width_px, self._scene().limits)),
            "pan_right": lambda: self._move(self.view.panned(PAN_SHARE * self.view.width_px, self._scene().limits)),
            "fit_selection": self.fit_selection,
            "fit_all": self.fit_all,
            "lane_up": lambda: self._focus_by(-1),
            "lane_down": lambda: self._focus_by(1),
            "page_up": lambda: self._scroll_by(-0.8 * self.viewport().height()),
            "page_down": lambda: self._scroll_by(0.8 * self.viewport().height()),
            "toggle_lane": lambda: self.toggle(self.focus_key),
            "link_back": lambda: self._walk_link(-1),
            "link_forward": lambda: self._walk_link(1),
            "previous_slice": lambda: self._walk_lane(-1),
            "next_slice": lambda: self._walk_lane(1),
            "deselect": lambda: self.session.select(None),
            "back": self.session.back,
            "forward": self.session.forward,
        }
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLE_MS)
        self._settle.timeout.connect(self._remember)
        self._hover = HoverText(self.viewport())
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Timeline")
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        session.profile_changed.connect(self._on_profile)
        session.range_changed.connect(self._on_range)
        session.selection_changed.connect(self._on_selection)
        self._on_profile(session.profile)

    @property
    def is_final(self) -> bool:
        """Whether the picture shows all it will. Has what is missing fetched, also while nothing paints it."""
        if self.scene is None or self._is_looking:
            return not self._is_opening and not self._is_looking
        drawing = self.draw_list()
        self._fetch()
        return drawing is None or drawing.is_final

    def run(self, command_id: str) -> None:
        """Do what a command of `keys.COMMANDS` says, unless no profile is open. Raises KeyError for an unknown id."""
        action = self._actions[command_id]
        if self.scene is not None:
            action()

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
        self._move(self.view.zoomed(factor, x_px, self._scene().limits))

    def fit_all(self) -> None:
        """Show the whole profile."""
        limits = self._scene().limits
        self._move(self.view.fitted(limits.begin_ns, limits.end_ns, limits), remember=True)

    def fit_selection(self) -> None:
        """Show the selected slice; where it already fits, its surroundings."""
        if self.session.selection is None:
            return
        if self._fit_view is not None and self.view == self._fit_view:
            self._move(self.view.zoomed(SURROUNDINGS, self.view.width_px / 2, self._scene().limits), remember=True)
            return
        try:
            begin, end = self._scene().times_of(self.session.selection)
        except Later:
            self._after_look = self.fit_selection
            return
        self._move(self.view.fitted(begin, end, self._scene().limits, FIT_PADDING), remember=True)
        self._fit_view = self.view
        self._bring_into_sight(self.session.selection)

    def toggle(self, key: str) -> None:
        """Expand or collapse a lane."""
        lane = self._scene().tree.by_key.get(key)
        if lane is not None and lane.can_expand:
            self.expanded = self.expanded ^ {key}
            self._update_scroll_bar()
            self.viewport().update()

    def reveal(self, ref: SliceRef) -> None:
        """Bring a slice into sight: open the groups around it, scroll, and move in time where it lies outside.

        Raises Later where its times are not in memory.
        """
        scene = self._scene()
        if scene.tree.place(ref) is None:
            return
        begin, end = scene.times_of(ref)
        if begin >= self.view.end_ns or max(end, begin + 1) <= self.view.begin_ns:
            at_px = self.view.x_px(begin)
            self._move(self.view.panned(at_px - self.view.width_px / 2, scene.limits), remember=True)
        self._bring_into_sight(ref)

    def _scene(self) -> Scene:
        if self.scene is None:
            raise RuntimeError("the timeline has no profile")
        return self.scene

    def _move(self, view: Viewport, remember: bool = False) -> None:
        """Make a view the present one. A movement is remembered once it has come to rest."""
        self.view = view
        self._settle.stop() if remember else self._settle.start()
        self._hover.hide()
        self.session.show(view.begin_ns, view.end_ns, remember=remember)
        self.viewport().update()

    def _remember(self) -> None:
        if self.scene is not None:
            self.session.show(self.view.begin_ns, self.view.end_ns, remember=True)

    def _on_profile(self, profile: Profile | None) -> None:
        self._settle.stop()
        self._hover.hide()
        self._fit_view = None
        self._after_look = None
        self._is_fetching = self._is_looking = False
        for kind in (FETCHING, LOOKING):
            self._tasks.cancel_kind(kind)
        self._show_scene(None)
        self._is_opening = profile is not None
        self._note = NO_PROFILE if profile is None else PREPARING
        if profile is None:
            self._tasks.cancel_kind(OPENING)
            return
        self._tasks.start(
            OPENING, partial(_read, profile), self._on_opened, self._on_not_opened, reads=profile, alone=True
        )

    def _on_opened(self, opened: Opened) -> None:
        self._is_opening = False
        self._show_scene(opened)
        if self.session.selection is not None:
            self._look_at(self.session.selection)

    def _on_not_opened(self, sentence: str) -> None:
        self._is_opening = False
        self._note = sentence
        self.viewport().update()

    def _show_scene(self, opened: Opened | None) -> None:
        self.scene = self._make_scene(opened) if opened is not None else None
        self.expanded = opened.tree.default_expanded() if opened is not None else frozenset()
        self.focus_key = ""
        self._on_range(self.session.begin_ns, self.session.end_ns)
        self._update_scroll_bar()
        self.verticalScrollBar().setValue(0)
        self.viewport().update()

    def _make_scene(self, opened: Opened) -> Scene:
        painter = self._raster()
        line_px = round(QFontMetricsF(painter.font).height())
        width = QFontMetricsF(painter.small).horizontalAdvance
        return Scene(opened, width, Metrics(float(line_px)), waits=False)

    def _fetch(self) -> None:
        """Have a task make what the last frame could not show. One at a time: its answer tells what is wanted next."""
        scene = self.scene
        if scene is None or not scene.wanted or self._is_fetching or self._tasks.is_closed:
            return
        self._is_fetching = True
        # Rows first: they are what is looked at, and the exact share of many streams takes longest.
        wants = sorted(scene.wanted, key=lambda want: isinstance(want.key, str))
        self._tasks.start(
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

    def _on_selection(self, ref: SliceRef | None) -> None:
        self._after_look = None
        self._is_looking = False
        self._seen = (self.session.begin_ns, self.session.end_ns)
        self.viewport().update()
        if self.scene is None:
            return
        self.scene.selected = None
        if ref is None:
            self._tasks.cancel_kind(LOOKING)
        else:
            self._look_at(ref)

    def _look_at(self, ref: SliceRef) -> None:
        """Bring the selected slice into sight, at once if its times are in memory, and have its link looked up."""
        scene = self._scene()
        is_revealed = True
        try:
            self._reveal_unless_moved(ref)
        except Later:
            is_revealed = False
        self._is_looking = True
        self._tasks.start(
            LOOKING,
            partial(_look_up, scene.profile, ref),
            partial(self._on_looked_up, scene, is_revealed),
            self._on_not_looked_up,
            reads=scene.profile,
        )

    def _reveal_unless_moved(self, ref: SliceRef) -> None:
        """`reveal`, but whoever moved the view since the slice was selected wants to be there."""
        if self._seen == (self.session.begin_ns, self.session.end_ns):
            self.reveal(ref)
        else:
            self._bring_into_sight(ref)

    def _on_looked_up(self, scene: Scene, is_revealed: bool, selected: Selected) -> None:
        self._is_looking = False
        scene.selected = selected
        if scene is not self.scene:
            return
        if not is_revealed:
            self._reveal_unless_moved(selected.ref)
        following, self._after_look = self._after_look, None
        if following is not None:
            following()
        self.viewport().update()

    def _on_not_looked_up(self, sentence: str) -> None:
        self._is_looking = False
        self._after_look = None
        self.faulted.emit(sentence)

    def _lanes_width(self) -> float:
        return max(float(self.viewport().width()) - self.header_px, 1.0)

    def _raster(self) -> RasterPainter:
        theme = DARK if self.palette().color(QPalette.ColorRole.Base).lightness() < 128 else LIGHT
        if self._painter is None or self._painter.theme is not theme or self._painter.font != self.font():
            self._painter = RasterPainter(theme, self.font())
        return self._painter

    def _update_scroll_bar(self) -> None:
        bar = self.verticalScrollBar()
        if self.scene is None:
            bar.setRange(0, 0)
            return
        seen = max(self.viewport().height() - self.scene.top_px, 0.0)
        bar.setRange(0, max(0, round(self.scene.layout(self.expanded).total_px - seen)))
        bar.setPageStep(max(1, round(seen)))
        bar.setSingleStep(round(self.scene.metrics.row_px))

    def _scroll_by(self, dy_px: float) -> None:
        bar = self.verticalScrollBar()
        bar.setValue(round(with_scroll(self.frame(), bar.value() + dy_px, self._scene()).scroll_px))

    def _scroll_to(self, top_px: float, bottom_px: float) -> None:
        """Scroll as little as brings [top_px, bottom_px) of the lanes into sight, with some rows around it."""
        bar = self.verticalScrollBar()
        seen = self.viewport().height() - self._scene().top_px
        around = min(AROUND_ROWS * self._scene().metrics.row_px, max(seen - (bottom_px - top_px), 0.0) / 2)
        if top_px - around < bar.value():
            bar.setValue(round(top_px - around))
        elif bottom_px + around > bar.value() + seen:
            bar.setValue(round(bottom_px + around - seen))

    def _bring_into_sight(self, ref: SliceRef) -> None:
        scene = self._scene()
        place = scene.tree.place(ref)
        if place is None:
            return
        key, row = place
        opened = self.expanded | set(scene.tree.ancestors(key)) | ({key} if row > 0 else set())
        if opened != self.expanded:
            self.expanded = opened
            self._update_scroll_bar()
        self._scroll_to(*scene.lane_span_px(self.expanded, key, row))
        self.focus_key = key
        self.viewport().update()

    def _focus_by(self, step: int) -> None:
        layout = self._scene().layout(self.expanded)
        if not layout.lanes:
            return
        at = layout.index.get(self.focus_key, -1 if step > 0 else len(layout.lanes))
        key = layout.lanes[min(max(at + step, 0), len(layout.lanes) - 1)].key
        self.focus_key = key
        self._scroll_to(*self._scene().lane_span_px(self.expanded, key))
        self.viewport().update()

    def _walk_lane(self, step: int) -> None:
        selected, scene = self.session.selection, self._scene()
        if selected is None:
            return
        try:
            found = scene.neighbour(selected, step)
        except Later:
            self._tasks.start(
                WALKING,
                partial(_neighbour, scene, selected, step),
                partial(self._on_walked, selected),
                self.faulted.emit,
                reads=scene.profile,
            )
            return
        self._on_walked(selected, found)

    def _on_walked(self, origin: SliceRef, found: SliceRef | None) -> None:
        if found is not None and self.session.selection == origin:
            self.session.select(found)

    def _walk_link(self, step: int) -> None:
        """Along the selected slice's link: launch, first execution, next execution, … and back to the launch."""
        selected = self.session.selection
        try:
            link = self._scene().link_of(selected) if selected is not None else None
        except Later:
            self._after_look = partial(self._walk_link, step)
            return
        if selected is None or link is None:
            return
        launch, executions = link.launch, link.executions
        if selected.table != "device":
            if step > 0:
                self.session.select(SliceRef(launch.process, "device", int(executions[0])))
        elif step < 0:
            self.session.select(launch)
        else:
            rows = executions.tolist()
            following = rows[rows.index(selected.row) + 1 :]
            if following:
                self.session.select(SliceRef(launch.process, "device", following[0]))

    def _hover_text(self, hit: Hit | None) -> str:
        if hit is None or self.scene is None:
            return ""
        if hit.ref is not None:
            since = time_text(hit.begin_ns - self.scene.profile.begin_ns)
            return f"{hit.name or '…'}\n{duration_text(hit.end_ns - hit.begin_ns)} from {since}"
        if hit.part == "header":
            lane = self.scene.tree.by_key[hit.key]
            return f"{lane.label}\n{lane.detail}" if lane.detail else lane.label
        return ""

    def _on_grip(self, x_px: float) -> bool:
        return abs(x_px - self.header_px) <= GRIP_PX

    def _centre_on(self, x_px: float) -> None:
        """Move the view to where the overview strip was pressed."""
        time_ns = self._scene().overview_time_ns(self.frame(), x_px)
        self._move(self.view.panned(self.view.x_px(time_ns) - self.view.width_px / 2, self._scene().limits))

    def _set_header(self, width_px: float) -> None:
        self.header_px = min(
            max(width_px, MIN_HEADER_PX), max(MIN_HEADER_PX, self.viewport().width() * MAX_HEADER_SHARE)
        )
        self.view = self.view.resized(self._lanes_width())
        self.viewport().update()

    def _release_click(self, position: QPointF) -> None:
        hit = self._scene().hit(self.frame(), position.x(), position.y())
        if hit is None:
            return
        if hit.part == "header":
            self.focus_key = hit.key
            self.toggle(hit.key)
            self.viewport().update()
        elif hit.part == "lane":
            self.focus_key = hit.key
            self.session.select(hit.ref)
            self.viewport().update()

    # Overrides of Qt methods.

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._command_of(event):
            event.accept()
            return True
        return super().event(event)

    def _command_of(self, event: QKeyEvent) -> str:
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        found = self._keys.get(int(event.key()) | int(modifiers.value))
        if found is None and event.text() in ("[", "]", ",", ".") and not modifiers & Qt.KeyboardModifier.AltModifier:
            # Layouts that reach brackets by AltGr or Shift report other modifiers with the same character.
            found = self._keys.get(_combined(event.text()))
        return found or ""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        command = self._command_of(event)
        if not command or self.scene is None:
            super().keyPressEvent(event)
            return
        self.run(command)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.scene is None:
            return
        event.accept()
        angle, pixels = event.angleDelta(), event.pixelDelta()
        modifiers = event.modifiers()
        if modifiers & Qt.KeyboardModifier.ControlModifier:
            delta = angle.y() or angle.x()
            if delta:
                self.zoom(NOTCH_FACTOR ** (-delta / WHEEL_NOTCH), event.position().x() - self.header_px)
            return
        dx, dy = (pixels.x(), pixels.y()) if not pixels.isNull() else (angle.x() * 0.5, angle.y() * 0.5)
        if modifiers & Qt.KeyboardModifier.ShiftModifier and not dx:
            dx, dy = dy, 0
        # A touchpad reports both; the greater one counts, or lanes would slide while one moves in time.
        if abs(dx) > abs(dy):
            self._move(self.view.panned(-dx, self.scene.limits))
        elif dy:
            self._scroll_by(-dy)
            self._hover.hide()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self.scene is None or event.button() not in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            return
        position = event.position()
        self._press = self._last = position
        self._drag = ""
        if self._on_grip(position.x()):
            self._drag = "grip"
        elif position.y() < self.scene.metrics.overview_px and position.x() > self.header_px:
            self._drag = "overview"
            self._centre_on(position.x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.scene is None:
            return
        position = event.position()
        if self._press is None:
            self.viewport().setCursor(
                Qt.CursorShape.SplitHCursor if self._on_grip(position.x()) else Qt.CursorShape.ArrowCursor
            )
            hit = self.scene.hit(self.frame(), position.x(), position.y())
            self._hover.show_at(position.toPoint(), self._hover_text(hit))
            return
        if not self._drag and (position - self._press).manhattanLength() >= DRAG_FROM_PX:
            self._drag = "lanes"
            self._last = self._press
            self._hover.hide()
        moved, self._last = position - self._last, position
        if self._drag == "grip":
            self._set_header(position.x())
        elif self._drag == "overview":
            self._centre_on(position.x())
        elif self._drag == "lanes":
            if moved.y():
                self._scroll_by(-moved.y())
            if moved.x() and self._press.x() > self.header_px:
                self._move(self.view.panned(-moved.x(), self.scene.limits))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, dragged = self._press, self._drag
        self._press, self._drag = None, ""
        if self.scene is None or pressed is None:
            return
        if dragged in ("lanes", "overview"):
            self._settle.stop()
            self._remember()
        elif not dragged and event.button() == Qt.MouseButton.LeftButton:
            self._release_click(event.position())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.scene is None or event.button() != Qt.MouseButton.LeftButton:
            return
        hit = self.scene.hit(self.frame(), event.position().x(), event.position().y())
        if hit is not None and hit.ref is not None:
            self.session.select(hit.ref)
            self._move(self.view.fitted(hit.begin_ns, hit.end_ns, self.scene.limits, FIT_PADDING), remember=True)
            self._fit_view = self.view
        elif hit is not None and hit.part == "header":
            # The second press of a double click is a press like any other, or every other quick click would be lost.
            self.mousePressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self._hover.hide()
        super().leaveEvent(event)

    def hideEvent(self, event: QEvent) -> None:
        self._settle.stop()
        self._hover.hide()

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
                selected, self.scene = self.scene.selected, self._make_scene(self.scene.opened)
                self.scene.selected = selected
                self._update_scroll_bar()
            self.viewport().update()

    def focusInEvent(self, event: QEvent) -> None:
        self.viewport().update()

    def focusOutEvent(self, event: QEvent) -> None:
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        raster = self._raster()
        painter = QPainter(self.viewport())
        # While it moves, a picture in time counts for more than the last detail, which follows in the next ones.
        drawing = self.draw_list(MOVING_BUDGET_S if self._settle.isActive() else None)
        if drawing is not None:
            raster.paint(drawing, painter)
            if self.scene is not None and self.scene.is_late:
                self.viewport().update()
            self._fetch()
        if drawing is None or not drawing.headers:
            painter.fillRect(self.viewport().rect(), self.palette().color(QPalette.ColorRole.Base))
            painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
            empty = "This profile holds no slices: Information lists what was read and lost."
            text = self._note if drawing is None else empty
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(self.viewport().rect().adjusted(40, 0, -40, 0), flags, text)
        painter.end()


def _read(profile: Profile, _progress: Progress, _cancelled: CancelCheck) -> Opened:
    return Opened.read(profile)


def _make(
    maker: Maker, wants: list[Want], _progress: Progress, cancelled: CancelCheck
) -> list[tuple[Key, RowPicture | Curve | None]]:
    return pictures.fetch(maker, wants, cancelled)


def _look_up(profile: Profile, ref: SliceRef, _progress: Progress, _cancelled: CancelCheck) -> Selected:
    return links.look_up(profile, ref)


def _neighbour(scene: Scene, ref: SliceRef, step: int, _progress: Progress, _cancelled: CancelCheck) -> SliceRef | None:
    return scene.neighbour(ref, step, waits=True)


def _combined(key: str) -> int:
    """The key and modifiers of a one-key sequence as one number."""
    sequence = QKeySequence(key)
    return cast(QKeyCombination, sequence[0]).toCombined()  # type: ignore[index]
