"""What the mouse does in the timeline: presses, drags, clicks and the wheel, each a call of the widget's methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent

if TYPE_CHECKING:
    from smprof_desktop.timeline.widget import TimelineWidget

DRAG_FROM_PX = 4
GRIP_PX = 4
WHEEL_NOTCH = 120.0
NOTCH_FACTOR = 1.3


class Gestures:
    """The mouse's part of a timeline with a scene; `dragged` is what is being dragged: grip, overview, lanes or ''."""

    def __init__(self, timeline: TimelineWidget) -> None:
        self.dragged = ""
        self._timeline = timeline
        self._press: QPointF | None = None
        self._last = QPointF()

    def press(self, event: QMouseEvent) -> None:
        """A button went down."""
        if event.button() not in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            return
        position = event.position()
        self._press = self._last = position
        self.dragged = ""
        timeline = self._timeline
        if self._on_grip(position.x()):
            self.dragged = "grip"
        elif position.y() < timeline.opened_scene().metrics.overview_px and position.x() > timeline.header_px:
            self.dragged = "overview"
            self._centre_on(position.x())

    def move(self, event: QMouseEvent) -> None:
        """The pointer moved, with or without a button."""
        timeline, position = self._timeline, event.position()
        if self._press is None:
            timeline.viewport().setCursor(
                Qt.CursorShape.SplitHCursor if self._on_grip(position.x()) else Qt.CursorShape.ArrowCursor
            )
            timeline.show_hover(position)
            return
        if not self.dragged and (position - self._press).manhattanLength() >= DRAG_FROM_PX:
            self.dragged = "lanes"
            self._last = self._press
            timeline.hover.hide()
        moved, self._last = position - self._last, position
        if self.dragged == "grip":
            timeline.set_header(position.x())
        elif self.dragged == "overview":
            self._centre_on(position.x())
        elif self.dragged == "lanes":
            if moved.y():
                timeline.scroll_by(-moved.y())
            if moved.x() and self._press.x() > timeline.header_px:
                timeline.go_to(timeline.view.panned(-moved.x(), timeline.opened_scene().limits))

    def release(self, event: QMouseEvent) -> None:
        """A button went up."""
        pressed, dragged = self._press, self.dragged
        self._press, self.dragged = None, ""
        if pressed is None:
            return
        if dragged in ("lanes", "overview"):
            self._timeline.come_to_rest()
        elif not dragged and event.button() == Qt.MouseButton.LeftButton:
            self._click(event.position())

    def double_click(self, event: QMouseEvent) -> None:
        """The second press of a double click."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        timeline = self._timeline
        hit = timeline.opened_scene().hit(timeline.frame(), event.position().x(), event.position().y())
        if hit is not None and hit.ref is not None:
            timeline.session.select(hit.ref)
            timeline.selecting.fit_range(hit.begin_ns, hit.end_ns)
        elif hit is not None and hit.part == "header":
            # The second press of a double click is a press like any other, or every other quick click would be lost.
            self.press(event)

    def wheel(self, event: QWheelEvent) -> None:
        """The wheel turned, or two fingers moved on a touchpad."""
        timeline = self._timeline
        event.accept()
        angle, pixels = event.angleDelta(), event.pixelDelta()
        modifiers = event.modifiers()
        if modifiers & Qt.KeyboardModifier.ControlModifier:
            delta = angle.y() or angle.x()
            if delta:
                timeline.zoom(NOTCH_FACTOR ** (-delta / WHEEL_NOTCH), event.position().x() - timeline.header_px)
            return
        dx, dy = (pixels.x(), pixels.y()) if not pixels.isNull() else (angle.x() * 0.5, angle.y() * 0.5)
        if modifiers & Qt.KeyboardModifier.ShiftModifier and not dx:
            dx, dy = dy, 0
        # A touchpad reports both; the greater one counts, or lanes would slide while one moves in time.
        if abs(dx) > abs(dy):
            timeline.go_to(timeline.view.panned(-dx, timeline.opened_scene().limits))
        elif dy:
            timeline.scroll_by(-dy)
            timeline.hover.hide()

    def _click(self, position: QPointF) -> None:
        timeline = self._timeline
        hit = timeline.opened_scene().hit(timeline.frame(), position.x(), position.y())
        if hit is None:
            return
        if hit.part == "header":
            timeline.focus_key = hit.key
            timeline.toggle(hit.key)
            timeline.viewport().update()
        elif hit.part == "lane":
            timeline.focus_key = hit.key
            timeline.session.select(hit.ref)
            timeline.viewport().update()

    def _on_grip(self, x_px: float) -> bool:
        return abs(x_px - self._timeline.header_px) <= GRIP_PX

    def _centre_on(self, x_px: float) -> None:
        """Move the view to where the overview strip was pressed."""
        timeline, scene = self._timeline, self._timeline.opened_scene()
        time_ns = scene.overview_time_ns(timeline.frame(), x_px)
        timeline.go_to(timeline.view.panned(timeline.view.x_px(time_ns) - timeline.view.width_px / 2, scene.limits))
