"""Mouse, wheel, touchpad and held keys, through Qt's own events; and a long flight that leaves nothing behind."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QMouseEvent, QNativeGestureEvent, QPointingDevice, QWheelEvent
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from smprof_desktop.session import Area, Session
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline.draw_list import Box
from smprof_desktop.timeline.gestures import NOTCH_FACTOR, drag_mode, overview_part
from smprof_desktop.timeline.scene import Scene
from smprof_desktop.timeline.widget import HEADER_PX, TimelineWidget
from tests.make_profile import make_profile

TEXT = """
host algo-1
process 0 pid=100
annotation 1 0+100000 step_0
api 1 2000+4000 cudaLaunchKernel corr=5
kernel 0/7 30000+20000 gemm corr=5
kernel 0/7 60000+1000 node_a
kernel 0/8 70000+1000 node_b
"""
LEFT, MIDDLE, NO_BUTTON = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton, Qt.MouseButton.NoButton
NONE, SHIFT, CTRL = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
)
BEGIN, UPDATE, END, MOMENTUM, NO_PHASE = (
    Qt.ScrollPhase.ScrollBegin,
    Qt.ScrollPhase.ScrollUpdate,
    Qt.ScrollPhase.ScrollEnd,
    Qt.ScrollPhase.ScrollMomentum,
    Qt.ScrollPhase.NoScrollPhase,
)


@pytest.fixture
def settings() -> Settings:
    return Settings(None)


@pytest.fixture
def widget(qtbot: QtBot, tmp_path: Path, settings: Settings) -> Iterator[TimelineWidget]:
    session, tasks = Session(), Tasks()
    session.open(make_profile(tmp_path, TEXT))
    made = TimelineWidget(session, tasks, settings)
    qtbot.addWidget(made)
    made.resize(1290, 160)
    with qtbot.waitExposed(made):
        made.show()
    made.setFocus()
    qtbot.waitUntil(lambda: made.is_final)
    made.go_to(made.view.fitted(20_000, 80_000, made.opened_scene().limits), remember=True)
    yield made
    assert tasks.close()


def at_px(widget: TimelineWidget, share: float, y_px: int = 100) -> QPoint:
    """A point of the lanes at that share of their width."""
    return QPoint(round(widget.header_px + share * widget.view.width_px), y_px)


def mouse(
    widget: TimelineWidget,
    kind: QEvent.Type,
    at: QPoint,
    button: Qt.MouseButton = LEFT,
    buttons: Qt.MouseButton | None = None,
    modifiers: Qt.KeyboardModifier = NONE,
) -> None:
    held = buttons if buttons is not None else (NO_BUTTON if kind == QEvent.Type.MouseButtonRelease else button)
    place = widget.viewport().mapToGlobal(at)
    moved = NO_BUTTON if kind == QEvent.Type.MouseMove else button
    event = QMouseEvent(kind, QPointF(at), QPointF(place), moved, held, modifiers)
    QApplication.sendEvent(widget.viewport(), event)


def drag(
    widget: TimelineWidget,
    begin: QPoint,
    end: QPoint,
    button: Qt.MouseButton = LEFT,
    modifiers: Qt.KeyboardModifier = NONE,
) -> None:
    """Press, move in steps, release."""
    mouse(widget, QEvent.Type.MouseButtonPress, begin, button, modifiers=modifiers)
    for step in range(1, 6):
        mouse(widget, QEvent.Type.MouseMove, begin + (end - begin) * (step / 5), button, modifiers=modifiers)
    mouse(widget, QEvent.Type.MouseButtonRelease, end, button, modifiers=modifiers)


def turn(
    widget: TimelineWidget,
    at: QPoint,
    angle: tuple[int, int] = (0, 0),
    pixels: tuple[int, int] = (0, 0),
    phase: Qt.ScrollPhase = NO_PHASE,
    modifiers: Qt.KeyboardModifier = NONE,
) -> None:
    """Turn the wheel, or move two fingers."""
    place = QPointF(widget.viewport().mapToGlobal(at))
    event = QWheelEvent(QPointF(at), place, QPoint(*pixels), QPoint(*angle), NO_BUTTON, modifiers, phase, False)
    QApplication.sendEvent(widget.viewport(), event)


def span(widget: TimelineWidget) -> tuple[int, int]:
    return widget.view.begin_ns, widget.view.end_ns


@pytest.mark.parametrize(
    ("button", "modifiers", "setting", "mode"),
    [
        (LEFT, NONE, "pan", "lanes"),
        (LEFT, SHIFT, "pan", "area"),
        (LEFT, NONE, "select", "area"),
        (LEFT, SHIFT, "select", "lanes"),
        (MIDDLE, NONE, "select", "lanes"),
        (MIDDLE, SHIFT, "pan", "lanes"),
    ],
)
def test_the_setting_and_shift_decide_what_a_drag_does(
    button: Qt.MouseButton, modifiers: Qt.KeyboardModifier, setting: str, mode: str
) -> None:
    assert drag_mode(button, modifiers, setting) == mode


@given(st.floats(0, 1000), st.floats(3, 500))
def test_body_and_edges_of_the_handle_can_all_be_reached(left_px: float, width_px: float) -> None:
    window = Box(left_px, 0.0, width_px, 20.0)
    assert overview_part(window, left_px + width_px / 2) == "overview"
    assert overview_part(window, left_px - 2) == "overview_begin"
    assert overview_part(window, left_px + width_px + 2) == "overview_end"
    assert overview_part(window, left_px - 20) == overview_part(window, left_px + width_px + 20) == ""


def test_a_drag_moves_the_lanes_and_one_step_back_returns(widget: TimelineWidget) -> None:
    before = span(widget)
    drag(widget, at_px(widget, 0.5), at_px(widget, 0.4))
    assert span(widget)[0] - before[0] == span(widget)[1] - before[1] == pytest.approx(6_000, abs=100)
    widget.session.back()
    assert span(widget) == before


@pytest.mark.parametrize(("setting", "modifiers"), [("pan", SHIFT), ("select", NONE)])
def test_a_drag_that_selects_leaves_the_view_and_selects_time_and_lanes(
    widget: TimelineWidget, settings: Settings, setting: str, modifiers: Qt.KeyboardModifier
) -> None:
    settings.set("drag", setting)
    before = span(widget)
    drag(widget, at_px(widget, 0.75, 100), at_px(widget, 0.25, 140), modifiers=modifiers)
    area = widget.session.area
    assert span(widget) == before and isinstance(area, Area)
    assert [area.begin_ns, area.end_ns] == pytest.approx([35_000, 65_000], abs=100)
    drawn = widget.draw_list()
    assert drawn is not None
    touched = [header.key for header in drawn.headers if header.y_px < 140 and header.y_px + header.height_px > 100]
    # Of an open group of which only the header was touched nothing is taken in.
    assert touched[-1] == "host:algo-1/gpus/process:0" in widget.expanded and area.lanes == tuple(touched[:-1])


def test_the_middle_button_moves_also_where_dragging_selects(widget: TimelineWidget, settings: Settings) -> None:
    settings.set("drag", "select")
    before = span(widget)
    drag(widget, at_px(widget, 0.5), at_px(widget, 0.4), MIDDLE)
    assert widget.session.area is None and span(widget)[0] == pytest.approx(before[0] + 6_000, abs=100)


def test_escape_deselects_the_slice_first_and_then_the_area(widget: TimelineWidget, qtbot: QtBot) -> None:
    drag(widget, at_px(widget, 0.25), at_px(widget, 0.75), modifiers=SHIFT)
    assert widget.session.area is not None
    qtbot.keyClick(widget, Qt.Key.Key_F)
    assert widget.view.begin_ns <= widget.session.area.begin_ns < widget.session.area.end_ns <= widget.view.end_ns
    assert widget.view.span_ns < 2 * (widget.session.area.end_ns - widget.session.area.begin_ns)
    qtbot.keyClick(widget, Qt.Key.Key_Escape)
    assert widget.session.area is None


def test_a_release_that_was_not_heard_of_leaves_nothing_held(widget: TimelineWidget) -> None:
    mouse(widget, QEvent.Type.MouseButtonPress, at_px(widget, 0.5))
    mouse(widget, QEvent.Type.MouseMove, at_px(widget, 0.45), LEFT)
    before = span(widget)
    mouse(widget, QEvent.Type.MouseMove, at_px(widget, 0.2), buttons=NO_BUTTON)
    mouse(widget, QEvent.Type.MouseMove, at_px(widget, 0.1), buttons=NO_BUTTON)
    assert span(widget) == before


@pytest.mark.parametrize("kind", [QEvent.Type.WindowDeactivate, QEvent.Type.UngrabMouse])
def test_a_window_that_loses_the_mouse_lets_go(widget: TimelineWidget, kind: QEvent.Type) -> None:
    mouse(widget, QEvent.Type.MouseButtonPress, at_px(widget, 0.5))
    mouse(widget, QEvent.Type.MouseMove, at_px(widget, 0.45), LEFT)
    QApplication.sendEvent(widget if kind == QEvent.Type.WindowDeactivate else widget.viewport(), QEvent(kind))
    before = span(widget)
    mouse(widget, QEvent.Type.MouseMove, at_px(widget, 0.2), LEFT)
    assert span(widget) == before


def test_a_held_key_is_let_go_with_the_focus(widget: TimelineWidget, qtbot: QtBot) -> None:
    qtbot.keyPress(widget, Qt.Key.Key_D)
    assert any(timer.isActive() and timer.interval() == 16 for timer in widget.findChildren(QTimer))
    widget.clearFocus()
    assert not any(timer.isActive() and timer.interval() == 16 for timer in widget.findChildren(QTimer))


def test_the_handle_moves_by_its_body_and_widens_by_its_edges(widget: TimelineWidget) -> None:
    scene = widget.opened_scene()
    handle = scene.overview_window(widget.frame())
    middle = QPoint(round(handle.x_px + handle.width_px / 2), 8)
    before = span(widget)
    drag(widget, middle, middle + QPoint(50, 0))
    assert span(widget)[1] - span(widget)[0] == before[1] - before[0] and span(widget)[0] > before[0] + 1_000
    drag(widget, middle + QPoint(50, 0), middle)
    assert abs(span(widget)[0] - before[0]) < 300
    edge = QPoint(round(handle.x_px + handle.width_px), 8)
    drag(widget, edge, edge + QPoint(60, 0))
    assert span(widget)[1] > before[1] + 4_000 and abs(span(widget)[0] - before[0]) < 300
    left = QPoint(round(scene.overview_window(widget.frame()).x_px), 8)
    drag(widget, left, left + QPoint(100, 0))
    assert span(widget)[0] > before[0] + 8_000


def test_an_edge_goes_no_further_than_the_other(widget: TimelineWidget) -> None:
    handle = widget.opened_scene().overview_window(widget.frame())
    edge = QPoint(round(handle.x_px), 8)
    drag(widget, edge, edge + QPoint(900, 0))
    assert widget.view.end_ns - widget.view.begin_ns >= 1


def test_a_press_beside_the_handle_brings_it_there(widget: TimelineWidget) -> None:
    drag(widget, at_px(widget, 0.95, 8), at_px(widget, 0.95, 8))
    middle_ns = (widget.view.begin_ns + widget.view.end_ns) / 2
    assert middle_ns > 60_000


def test_the_wheel_over_the_strip_zooms_about_the_middle(widget: TimelineWidget) -> None:
    before = widget.view
    turn(widget, at_px(widget, 0.1, 8), angle=(0, 120))
    assert widget.view.span_ns < before.span_ns
    middle = [(view.begin_ns + view.end_ns) / 2 for view in (before, widget.view)]
    assert middle[0] == pytest.approx(middle[1], abs=2)


def test_a_touchpad_never_does_two_things_in_one_gesture(widget: TimelineWidget) -> None:
    bar = widget.verticalScrollBar()
    assert bar.maximum() > 40
    before = span(widget)
    turn(widget, at_px(widget, 0.5), pixels=(0, -10), phase=BEGIN)
    for _ in range(3):
        turn(widget, at_px(widget, 0.5), pixels=(-30, -4), phase=UPDATE)
    assert span(widget) == before and bar.value() == 22
    turn(widget, at_px(widget, 0.5), phase=END)
    turn(widget, at_px(widget, 0.5), pixels=(0, -8), phase=MOMENTUM, modifiers=CTRL)
    assert span(widget) == before and bar.value() == 30


def test_a_zoom_on_a_touchpad_does_not_coast(widget: TimelineWidget) -> None:
    turn(widget, at_px(widget, 0.5), pixels=(0, 10), angle=(0, 40), phase=BEGIN, modifiers=CTRL)
    zoomed, scrolled = widget.view.span_ns, widget.verticalScrollBar().value()
    turn(widget, at_px(widget, 0.5), pixels=(0, 40), angle=(0, 160), phase=MOMENTUM)
    assert widget.view.span_ns == zoomed and widget.verticalScrollBar().value() == scrolled


def test_a_sideways_gesture_moves_in_time_by_its_pixels(widget: TimelineWidget) -> None:
    before = span(widget)
    turn(widget, at_px(widget, 0.5), pixels=(-50, 3), phase=BEGIN)
    turn(widget, at_px(widget, 0.5), pixels=(-50, 9), phase=UPDATE)
    assert span(widget)[0] - before[0] == pytest.approx(100 * widget.view.ns_per_px, abs=2)
    assert widget.verticalScrollBar().value() == 0


def test_fine_turns_of_a_wheel_add_up(widget: TimelineWidget) -> None:
    for _ in range(10):
        turn(widget, at_px(widget, 0.5), angle=(0, -3))
    assert widget.verticalScrollBar().value() == 15


def test_fingers_apart_zoom_at_their_place(widget: TimelineWidget) -> None:
    at = at_px(widget, 0.25)
    time_ns = widget.view.time_ns(at.x() - widget.header_px)
    before = widget.view.span_ns
    event = QNativeGestureEvent(
        Qt.NativeGestureType.ZoomNativeGesture,
        QPointingDevice.primaryPointingDevice(),
        2,
        QPointF(at),
        QPointF(at),
        QPointF(widget.viewport().mapToGlobal(at)),
        0.25,
        QPointF(),
    )
    QApplication.sendEvent(widget.viewport(), event)
    assert widget.view.span_ns == pytest.approx(before / 1.25, rel=1e-6)
    assert abs(widget.view.time_ns(at.x() - widget.header_px) - time_ns) <= widget.view.ns_per_px


def test_a_click_left_of_the_axis_counts_times_in_the_next_way(
    widget: TimelineWidget, settings: Settings, qtbot: QtBot
) -> None:
    said: list[str] = []
    widget.faulted.connect(said.append)
    scene = widget.opened_scene()
    point = QPoint(40, round(scene.metrics.overview_px + 5))
    qtbot.mouseClick(widget.viewport(), LEFT, pos=point)
    assert settings.get("time") == "clock"
    assert said == ["This profile's clock counts from an unknown moment; times stay from its start."]
    scene.profile.manifest.clock.kind = "unix"
    qtbot.keyClick(widget, Qt.Key.Key_T, Qt.KeyboardModifier.AltModifier)
    drawn = widget.draw_list()
    assert settings.get("time") == "UTC" and drawn is not None and drawn.axis_base.startswith("1970-01-01 00:00")


def test_a_long_flight_leaves_no_timer_thread_or_warning_behind(widget: TimelineWidget, qtbot: QtBot) -> None:
    """Warnings of Qt and Python are errors in this suite."""
    threads = threading.active_count()
    chosen = random.Random(7)
    keys = [Qt.Key.Key_W, Qt.Key.Key_S, Qt.Key.Key_A, Qt.Key.Key_D, Qt.Key.Key_F, Qt.Key.Key_Home, Qt.Key.Key_Comma]
    keys += [Qt.Key.Key_Period, Qt.Key.Key_BracketLeft, Qt.Key.Key_BracketRight, Qt.Key.Key_Down, Qt.Key.Key_Return]
    for _ in range(300):
        what = chosen.randrange(5)
        point = at_px(widget, chosen.random(), chosen.randrange(160))
        if what == 0:
            turn(widget, point, angle=(0, chosen.choice((-120, 120))), modifiers=chosen.choice((NONE, CTRL)))
        elif what == 1:
            drag(
                widget,
                point,
                at_px(widget, chosen.random(), chosen.randrange(160)),
                modifiers=chosen.choice((NONE, SHIFT)),
            )
        elif what == 2:
            qtbot.mouseClick(widget.viewport(), LEFT, pos=point)
        else:
            qtbot.keyClick(widget, chosen.choice(keys))
        limits = widget.opened_scene().limits
        assert limits.first_ns <= widget.view.begin_ns < widget.view.end_ns <= limits.last_ns
        if chosen.random() < 0.1:
            QApplication.processEvents()
    qtbot.waitUntil(lambda: widget.is_final)
    widget.hide()
    assert not any(timer.isActive() for timer in widget.findChildren(QTimer))
    qtbot.waitUntil(lambda: threading.active_count() <= threads + 8)
    assert widget.header_px >= 90 and HEADER_PX > 0 and NOTCH_FACTOR > 1


def test_i64_another_screen_scale_has_everything_drawn_anew(widget: TimelineWidget, qtbot: QtBot) -> None:
    before = widget.viewport().grab().toImage()
    painter = widget.painter()
    QApplication.sendEvent(widget, QEvent(QEvent.Type.DevicePixelRatioChange))
    assert widget.painter() is not painter
    qtbot.waitUntil(lambda: widget.is_final)
    assert widget.viewport().grab().toImage() == before


def test_e48_after_fast_scrolling_and_zooming_the_picture_is_whole(widget: TimelineWidget, qtbot: QtBot) -> None:
    """What was asked for and is out of sight again neither blocks nor leaves a lane half drawn."""
    for step in range(60):
        turn(widget, at_px(widget, 0.5), angle=(0, -120 if step % 3 else 240))
        turn(widget, at_px(widget, 0.3 + 0.01 * (step % 40)), angle=(0, 120 if step % 2 else -240), modifiers=CTRL)
        if step % 7 == 0:
            QApplication.processEvents()
        if step == 30:
            widget.tasks.cancel_kind("pictures")
    qtbot.waitUntil(lambda: widget.is_final)
    drawn = widget.draw_list()
    waiting = Scene(widget.opened_scene().opened, lambda text: 7.0 * len(text), widget.opened_scene().metrics)
    waiting.strips.steps = widget.opened_scene().strips.steps
    whole = waiting.draw(widget.frame())
    assert drawn is not None and drawn.is_final and whole.is_final
    for part in ("slices", "columns", "curves"):
        mine, right = getattr(drawn, part), getattr(whole, part)
        assert mine.x_px.tolist() == right.x_px.tolist() and mine.y_px.tolist() == right.y_px.tolist(), part
        assert mine.width_px.tolist() == right.width_px.tolist() and mine.colour.tolist() == right.colour.tolist(), part


def test_i67_in_a_window_of_its_own_it_goes_on_drawing(widget: TimelineWidget, qtbot: QtBot) -> None:
    holder = QWidget()
    qtbot.addWidget(holder)
    QVBoxLayout(holder).addWidget(widget)
    holder.resize(900, 300)
    with qtbot.waitExposed(holder):
        holder.show()
    painted = widget.frames_painted
    qtbot.keyClick(widget, Qt.Key.Key_W)
    qtbot.waitUntil(lambda: widget.is_final and widget.frames_painted > painted)
    widget.setParent(None)
    with qtbot.waitExposed(widget):
        widget.show()
    painted = widget.frames_painted
    qtbot.keyClick(widget, Qt.Key.Key_S)
    qtbot.waitUntil(lambda: widget.is_final and widget.frames_painted > painted)
