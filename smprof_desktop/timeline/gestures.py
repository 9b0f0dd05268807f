"""What the mouse does in the timeline: presses, drags, clicks and the wheel, each a call of the widget's methods."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QMouseEvent, QNativeGestureEvent, QWheelEvent

from smprof_desktop.slice_ref import Area
from smprof_desktop.timeline.draw_list import Box

if TYPE_CHECKING:
    from smprof_desktop.timeline.widget import TimelineWidget

DRAG_FROM_PX = 4
GRIP_PX = 5
GRIP_OVER_LANES_PX = 1
OVERVIEW_GRIP_PX = 6.0
EDGE_PX = 5.0
"""An end of the area is held this near to it."""
WHEEL_NOTCH = 120.0
NOTCH_FACTOR = 1.3
LOCK_FROM_PX = 3.0
"""So far two fingers move before it is known whether they move in time or among lanes."""
PAUSE_S = 0.25
"""After so long without news fingers begin a gesture anew, where the system does not tell of beginnings."""
_CURSORS = {
    "grip": Qt.CursorShape.SplitHCursor,
    "overview": Qt.CursorShape.OpenHandCursor,
    "overview_begin": Qt.CursorShape.SizeHorCursor,
    "overview_end": Qt.CursorShape.SizeHorCursor,
    "area_begin": Qt.CursorShape.SizeHorCursor,
    "area_end": Qt.CursorShape.SizeHorCursor,
}
_AREAS = ("area", "axis", "area_begin", "area_end")
"""Drags that make an area or change it."""


def drag_mode(button: Qt.MouseButton, modifiers: Qt.KeyboardModifier, setting: str) -> str:
    """What a drag over the lanes does: `lanes` moves them, `area` selects; by the setting `drag`, Shift does the other.

    The middle button always moves.
    """
    is_shifted = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
    return "area" if button == Qt.MouseButton.LeftButton and is_shifted != (setting == "select") else "lanes"


def overview_part(window: Box, x_px: float) -> str:
    """What of the handle in the overview strip lies at `x_px`: an edge, its body, or nothing."""
    inner_px = min(OVERVIEW_GRIP_PX / 2, window.width_px / 4)
    left, right = window.x_px, window.x_px + window.width_px
    if left - OVERVIEW_GRIP_PX <= x_px <= left + inner_px:
        return "overview_begin"
    if right - inner_px <= x_px <= right + OVERVIEW_GRIP_PX:
        return "overview_end"
    return "overview" if left <= x_px <= right else ""


class Gestures:
    """The mouse's part of a timeline with a scene.

    `dragged` is what is being dragged: grip, overview or an edge of its handle, lanes, area, an edge of it, axis (an
    area of all lanes), ruler, or ''.
    """

    def __init__(self, timeline: TimelineWidget) -> None:
        self.dragged = ""
        self._timeline = timeline
        self._press: QPointF | None = None
        self._last = QPointF()
        self._mode = ""
        self._button = Qt.MouseButton.NoButton
        self._held_ns = 0.0
        """From the view's beginning to where its handle is held, in ns."""
        self._fixed_ns = 0
        """The end of the area that is not dragged."""
        self._wheel = _Wheel()

    def press(self, event: QMouseEvent) -> None:
        """A button went down."""
        if event.button() not in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            return
        position = event.position()
        self._press = self._last = position
        self._button = event.button()
        self.dragged = ""
        timeline = self._timeline
        self._mode = drag_mode(event.button(), event.modifiers(), timeline.settings.get("drag"))
        part = self._part_at(position)
        if part.startswith("overview"):
            window = timeline.opened_scene().overview_window(timeline.frame())
            if part == "overview" and not window.x_px <= position.x() <= window.x_px + window.width_px:
                self._centre_on(position.x())
            self._held_ns = float(self._overview_ns(position.x()) - timeline.view.begin_ns)
        area = timeline.session.area
        if part.startswith("area") and area is not None:
            self._fixed_ns = area.end_ns if part == "area_begin" else area.begin_ns
        self.dragged = part

    def move(self, event: QMouseEvent) -> None:
        """The pointer moved, with or without a button."""
        timeline, position = self._timeline, event.position()
        is_free = bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        if self._press is not None and event.buttons() == Qt.MouseButton.NoButton:
            self.cancel()  # the release went elsewhere
        if self._press is None:
            self.show_cursor(position)
            timeline.show_hover(position)
            timeline.measuring.point(position, is_free)
            return
        if not self.dragged and (position - self._press).manhattanLength() >= DRAG_FROM_PX:
            self.dragged = self._drag_of(self._press)
            self._last = self._press
            timeline.hover.hide()
            if self.dragged in ("area", "axis"):
                self._fixed_ns = timeline.measuring.time_at(self._press, is_free)
            elif self.dragged == "ruler":
                timeline.measuring.begin(self._press, is_free)
        moved, self._last = position - self._last, position
        if self.dragged == "grip":
            timeline.set_header(position.x())
        elif self.dragged == "overview":
            begin_ns = self._overview_ns(position.x()) - self._held_ns
            timeline.go_to(timeline.view.panned(timeline.view.x_px(round(begin_ns)), timeline.opened_scene().limits))
        elif self.dragged in ("overview_begin", "overview_end"):
            self._resize_to(position.x())
        elif self.dragged == "header":
            timeline.arranging.drag_to(position.y())
        elif self.dragged in _AREAS:
            self._area_to(position, is_free)
        elif self.dragged == "ruler":
            timeline.measuring.drag_to(position, is_free)
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
        if dragged == "header":
            self._timeline.arranging.drop()
        elif dragged == "lanes" or dragged.startswith("overview"):
            self._timeline.come_to_rest()
        elif dragged in _AREAS or dragged == "ruler":
            self._end_measuring(dragged)
        elif not dragged and event.button() == Qt.MouseButton.LeftButton:
            self._click(event.position(), bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))

    def cancel(self) -> None:
        """Let go of what is dragged: the button went up where it was not heard of."""
        if self._press is not None:
            self._press, dragged, self.dragged = None, self.dragged, ""
            if dragged == "header":
                self._timeline.arranging.cancel_drag()
            if dragged in ("lanes", "overview", "overview_begin", "overview_end") and self._timeline.scene is not None:
                self._timeline.come_to_rest()
            if dragged in _AREAS or dragged == "ruler":
                self._end_measuring(dragged)

    def double_click(self, event: QMouseEvent) -> None:
        """The second press of a double click."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        timeline = self._timeline
        if timeline.marking.double_click(event.position()):
            return
        hit = timeline.opened_scene().hit(timeline.frame(), event.position().x(), event.position().y())
        if hit is not None and hit.part == "step":
            timeline.stepping.zoom_to(hit.begin_ns, hit.end_ns)
        elif hit is not None and hit.part == "lane" and hit.ref is not None:
            timeline.session.select(hit.ref)
            timeline.selecting.fit_range(hit.begin_ns, hit.end_ns)
        elif hit is not None and hit.part == "header":
            # The second press of a double click is a press like any other, or every other quick click would be lost.
            self.press(event)

    def wheel(self, event: QWheelEvent) -> None:
        """The wheel turned, or two fingers moved on a touchpad."""
        timeline, position = self._timeline, event.position()
        event.accept()
        what, amount = self._wheel.turned(event)
        if not amount:
            return
        if self._part_at(position).startswith("overview"):
            what = "zoom" if what == "scroll" else what
            position = QPointF(timeline.header_px + timeline.view.width_px / 2, 0.0)
            amount = amount if event.modifiers() & Qt.KeyboardModifier.ControlModifier else amount * 2.0
        if what == "zoom":
            timeline.zoom(NOTCH_FACTOR ** (-amount / WHEEL_NOTCH), position.x() - timeline.header_px)
        elif what == "pan":
            timeline.go_to(timeline.view.panned(-amount, timeline.opened_scene().limits))
        else:
            timeline.scroll_by(-amount)
            timeline.hover.hide()

    def pinch(self, event: QNativeGestureEvent) -> bool:
        """Two fingers moved apart or together; whether that was for the timeline."""
        if event.gestureType() != Qt.NativeGestureType.ZoomNativeGesture:
            return False
        factor = min(max(1.0 + event.value(), 0.1), 10.0)
        self._timeline.zoom(1.0 / factor, event.position().x() - self._timeline.header_px)
        return True

    def show_cursor(self, position: QPointF) -> None:
        """Show by the pointer what a press there would do."""
        timeline = self._timeline
        other = Qt.CursorShape.ArrowCursor
        if timeline.measuring.is_on and position.x() > timeline.header_px:
            other = Qt.CursorShape.CrossCursor
        timeline.viewport().setCursor(_CURSORS.get(self._part_at(position), other))

    def _area_to(self, position: QPointF, is_free: bool) -> None:
        """Select from the end that is held fast to a point, in whole lanes: those dragged over, all, or as before."""
        timeline, area = self._timeline, self._timeline.session.area
        begin_ns, end_ns = sorted((self._fixed_ns, timeline.measuring.time_at(position, is_free)))
        lanes = area.lanes if area is not None and self.dragged != "axis" else None
        if self.dragged == "area" and self._press is not None:
            tops = sorted((self._press.y(), position.y()))
            lanes = timeline.opened_scene().lanes_of_area(timeline.frame(), *tops)
        timeline.session.select_area(Area(begin_ns, max(end_ns, begin_ns + 1), lanes))

    def _end_measuring(self, dragged: str) -> None:
        self._timeline.measuring.let_go()
        if dragged in _AREAS:
            self._timeline.area_made.emit()

    def _drag_of(self, press: QPointF) -> str:
        """What a drag from there does that is not over a part of its own."""
        timeline = self._timeline
        if press.x() <= timeline.header_px:
            return self._header_drag()
        if self._button == Qt.MouseButton.LeftButton and timeline.measuring.is_on:
            return "ruler"
        return "axis" if self._button == Qt.MouseButton.LeftButton and self._is_on_axis(press) else self._mode

    def _is_on_axis(self, position: QPointF) -> bool:
        scene = self._timeline.opened_scene()
        return scene.metrics.overview_px <= position.y() < scene.axis_bottom_px

    def _click(self, position: QPointF, is_shifted: bool) -> None:
        timeline = self._timeline
        hit = timeline.opened_scene().hit(timeline.frame(), position.x(), position.y())
        if hit is None:
            return
        if hit.part == "mark":
            timeline.marking.click(hit, position)
            return
        timeline.marking.select(None)
        if hit.part == "axis" and position.x() < timeline.header_px:
            timeline.switch_time()
        elif hit.part == "pin":
            timeline.arranging.toggle_pin(hit.key)
        elif hit.part in ("header", "note"):
            timeline.focus_key = hit.key
            if is_shifted:
                timeline.arranging.toggle_below(hit.key)
            else:
                timeline.toggle(hit.key)
            timeline.viewport().update()
        elif hit.part == "link":
            timeline.session.select(hit.ref)
        elif hit.part == "lane":
            timeline.focus_key = hit.key
            timeline.session.select(hit.ref)
            timeline.viewport().update()

    def _header_drag(self) -> str:
        """What a drag in the header column does: with the left button it moves the lane that was pressed."""
        timeline, press = self._timeline, self._press
        hit = timeline.opened_scene().hit(timeline.frame(), press.x(), press.y()) if press is not None else None
        is_header = self._button == Qt.MouseButton.LeftButton and hit is not None and hit.part in ("header", "pin")
        return "header" if is_header and hit is not None and timeline.arranging.drag_from(hit.key) else "lanes"

    def _part_at(self, position: QPointF) -> str:
        """What a press there drags at once: grip, overview, an edge of its handle; empty elsewhere."""
        timeline, scene = self._timeline, self._timeline.opened_scene()
        # Hardly any of it lies over the lanes: an area that begins at their edge is dragged from there.
        if -GRIP_PX <= position.x() - timeline.header_px < GRIP_OVER_LANES_PX:
            return "grip"
        if position.y() < scene.metrics.overview_px and position.x() > timeline.header_px:
            return overview_part(scene.overview_window(timeline.frame()), position.x()) or "overview"
        return self._edge_at(position.x()) if self._is_on_axis(position) else ""

    def _edge_at(self, x_px: float) -> str:
        """Which end of the area lies at `x_px` of the axis, the nearer one of both; empty where neither does."""
        timeline, area = self._timeline, self._timeline.session.area
        if area is None:
            return ""
        ends_ns = {"area_begin": area.begin_ns, "area_end": area.end_ns}
        away_px = {
            part: abs(timeline.header_px + timeline.view.x_px(time_ns) - x_px) for part, time_ns in ends_ns.items()
        }
        nearest = min(away_px, key=lambda part: away_px[part])
        return nearest if away_px[nearest] <= EDGE_PX else ""

    def _overview_ns(self, x_px: float) -> int:
        return self._timeline.opened_scene().overview_time_ns(self._timeline.frame(), x_px)

    def _centre_on(self, x_px: float) -> None:
        """Move the view to where the overview strip was pressed."""
        timeline = self._timeline
        at_px = timeline.view.x_px(self._overview_ns(x_px))
        timeline.go_to(timeline.view.panned(at_px - timeline.view.width_px / 2, timeline.opened_scene().limits))

    def _resize_to(self, x_px: float) -> None:
        """Move the dragged edge of the handle to there, no further than the other edge."""
        timeline, view = self._timeline, self._timeline.view
        at_ns = self._overview_ns(x_px)
        begin_ns, end_ns = view.begin_ns, view.end_ns
        if self.dragged == "overview_begin":
            begin_ns = min(at_ns, end_ns - 1)
        else:
            end_ns = max(at_ns, begin_ns + 1)
        timeline.go_to(view.fitted(begin_ns, end_ns, timeline.opened_scene().limits))


class _Wheel:
    """What a turn of the wheel asks for. A touchpad's gesture keeps to what it began with: it never does two things."""

    def __init__(self) -> None:
        self._locked = ""
        self._dx = self._dy = 0.0
        self._last_s = 0.0

    def turned(self, event: QWheelEvent) -> tuple[str, float]:
        """`zoom` with its angle, or `pan` or `scroll` with its pixels."""
        angle, pixels, modifiers = event.angleDelta(), event.pixelDelta(), event.modifiers()
        is_touchpad = event.phase() != Qt.ScrollPhase.NoScrollPhase or not pixels.isNull()
        if not is_touchpad:
            self._locked = ""
            return self._by_modifiers(angle.x(), angle.y(), modifiers, 0.5)
        now_s = time.monotonic()
        is_new = event.phase() == Qt.ScrollPhase.ScrollBegin
        is_new = is_new or (event.phase() == Qt.ScrollPhase.NoScrollPhase and now_s - self._last_s > PAUSE_S)
        self._last_s = now_s
        if is_new:
            self._locked, self._dx, self._dy = "", 0.0, 0.0
        dx, dy = (pixels.x(), pixels.y()) if not pixels.isNull() else (angle.x() * 0.5, angle.y() * 0.5)
        if not self._locked:
            self._dx, self._dy = self._dx + dx, self._dy + dy
            if modifiers & Qt.KeyboardModifier.ControlModifier:
                self._locked = "zoom"
            elif max(abs(self._dx), abs(self._dy)) >= LOCK_FROM_PX:
                is_sideways = abs(self._dx) > abs(self._dy) or modifiers & Qt.KeyboardModifier.ShiftModifier
                self._locked = "pan" if is_sideways else "scroll"
                dx, dy = self._dx, self._dy
        if self._locked == "zoom":
            is_coasting = event.phase() == Qt.ScrollPhase.ScrollMomentum
            return "zoom", 0.0 if is_coasting else float(angle.y() or dy * 2.0)
        if self._locked == "pan":
            return "pan", float(dx if abs(dx) >= abs(dy) or not modifiers & Qt.KeyboardModifier.ShiftModifier else dy)
        return "scroll", float(dy) if self._locked else 0.0

    @staticmethod
    def _by_modifiers(dx: float, dy: float, modifiers: Qt.KeyboardModifier, scale: float) -> tuple[str, float]:
        if modifiers & Qt.KeyboardModifier.ControlModifier:
            return "zoom", float(dy or dx)
        if modifiers & Qt.KeyboardModifier.ShiftModifier and not dx:
            dx, dy = dy, 0.0
        # A tilted wheel reports both; the greater one counts, or lanes would slide while one moves in time.
        return ("pan", dx * scale) if abs(dx) > abs(dy) else ("scroll", dy * scale)
