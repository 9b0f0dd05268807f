"""Gestures and keys through Qt's own events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QKeySequence, QPalette, QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from smprof_desktop.session import Session
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline.colours import DARK
from smprof_desktop.timeline.hover import breakable
from smprof_desktop.timeline.keys import COMMANDS
from smprof_desktop.timeline.widget import TimelineWidget
from tests.make_profile import make_profile

TEXT = """
process 0 pid=1 window=0:100000
thread 1 main
device 0 H100 used
annotation 1 0+40000 step_0
annotation 1 50000+50000 step_1
api 1 10000+2000 cudaLaunchKernel corr=5
kernel 0/7 30000+20000 gemm corr=5
api 1 20000+2000 cudaGraphLaunch corr=9
kernel 0/7 60000+1000 node_a corr=9
kernel 0/7 62000+1000 node_b corr=9
kernel 0/8 70000+1000 "odd <b>name</b>"
"""


@pytest.fixture
def widget(qtbot: QtBot, tmp_path: Path) -> Iterator[TimelineWidget]:
    session, tasks = Session(), Tasks()
    session.open(make_profile(tmp_path, TEXT))
    made = TimelineWidget(session, tasks)
    qtbot.addWidget(made)
    made.resize(1270, 600)
    with qtbot.waitExposed(made):
        made.show()
    made.setFocus()
    qtbot.waitUntil(lambda: made.is_final)
    yield made
    assert tasks.close()


def press(qtbot: QtBot, widget: TimelineWidget, key: Qt.Key) -> None:
    """Press a key, and wait until all is there that it asks for."""
    qtbot.keyClick(widget, key)
    qtbot.waitUntil(lambda: widget.is_final)


def click(qtbot: QtBot, widget: TimelineWidget, point: QPoint) -> None:
    """Click, and wait until all is there that it asks for."""
    qtbot.mouseClick(widget.viewport(), Qt.MouseButton.LeftButton, pos=point)
    qtbot.waitUntil(lambda: widget.is_final)


def point_of(widget: TimelineWidget, name: str) -> QPoint:
    """The middle of a slice as it is drawn."""
    scene = widget.scene
    assert scene is not None
    for table in ("device", "host", "annotation"):
        for row in range(len(scene.profile.processes[0].table(table))):
            ref = SliceRef(0, table, row)
            if scene.name_of(ref) == name:
                start, end = scene.times_of(ref)
                anchor = scene.anchor(widget.frame(), ref, start)
                assert anchor is not None
                return QPoint(round((anchor[0] + widget.header_px + widget.view.x_px(end)) / 2), round(anchor[1]))
    raise AssertionError(name)


def header_point(widget: TimelineWidget, label: str) -> QPoint:
    drawing = widget.draw_list()
    assert drawing is not None
    header = next(header for header in drawing.headers if header.label == label)
    return QPoint(30, round(header.y_px + 8))


def name(widget: TimelineWidget) -> str:
    assert widget.scene is not None
    selection = widget.session.selection
    return widget.scene.name_of(selection) if selection is not None else ""


def wheel(
    widget: TimelineWidget, at: QPoint, angle: QPoint, modifiers: Qt.KeyboardModifier, pixels: QPoint | None = None
) -> None:
    position = QPointF(at)
    event = QWheelEvent(
        position,
        QPointF(widget.viewport().mapToGlobal(at)),
        pixels or QPoint(),
        angle,
        Qt.MouseButton.NoButton,
        modifiers,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget.viewport(), event)


def test_a_click_selects_and_a_click_beside_deselects(widget: TimelineWidget, qtbot: QtBot) -> None:
    point = point_of(widget, "gemm")
    click(qtbot, widget, point)
    assert name(widget) == "gemm"
    drawing = widget.draw_list()
    assert drawing is not None and len(drawing.arrows) == 1
    click(qtbot, widget, point + QPoint(-250, 0))
    assert widget.session.selection is None


def test_a_click_on_a_header_collapses_and_expands(widget: TimelineWidget, qtbot: QtBot) -> None:
    point = header_point(widget, "GPU-0 device")
    before = widget.draw_list()
    click(qtbot, widget, point)
    after = widget.draw_list()
    assert before is not None and after is not None
    assert len(after.headers) == len(before.headers) - 2
    click(qtbot, widget, point)
    again = widget.draw_list()
    assert again is not None and len(again.headers) == len(before.headers)


def test_ctrl_wheel_zooms_at_the_pointer(widget: TimelineWidget) -> None:
    at = QPoint(round(widget.header_px) + 300, 200)
    under = widget.view.time_ns(300.0)
    span = widget.view.span_ns
    wheel(widget, at, QPoint(0, 240), Qt.KeyboardModifier.ControlModifier)
    assert widget.view.span_ns == pytest.approx(span / 1.3**2)
    assert abs(widget.view.time_ns(300.0) - under) <= 1
    assert (widget.session.begin_ns, widget.session.end_ns) == (widget.view.begin_ns, widget.view.end_ns)


def test_a_plain_wheel_scrolls_lanes_and_never_zooms(widget: TimelineWidget) -> None:
    widget.resize(1270, 200)
    span, begin = widget.view.span_ns, widget.view.begin_ns
    wheel(widget, QPoint(600, 150), QPoint(0, -120), Qt.KeyboardModifier.NoModifier)
    assert widget.verticalScrollBar().value() == 60
    assert (widget.view.span_ns, widget.view.begin_ns) == (span, begin)


def test_a_touchpad_moves_along_its_greater_direction_only(widget: TimelineWidget) -> None:
    widget.resize(1270, 200)
    widget.run("zoom_in")
    begin = widget.view.begin_ns
    wheel(widget, QPoint(600, 150), QPoint(-30, -8), Qt.KeyboardModifier.NoModifier, QPoint(-30, -8))
    assert widget.view.begin_ns > begin
    assert widget.verticalScrollBar().value() == 0


def test_a_drag_pans_time_and_lanes_and_selects_nothing(widget: TimelineWidget, qtbot: QtBot) -> None:
    widget.resize(1270, 220)
    widget.run("zoom_in")
    begin, per_px = widget.view.begin_ns, widget.view.ns_per_px
    port = widget.viewport()
    start = QPoint(700, 150)
    qtbot.mousePress(port, Qt.MouseButton.LeftButton, pos=start)
    for step in range(1, 11):
        qtbot.mouseMove(port, start + QPoint(-10 * step, -4 * step))
    qtbot.mouseRelease(port, Qt.MouseButton.LeftButton, pos=start + QPoint(-100, -40))
    assert widget.view.begin_ns == pytest.approx(begin + 100 * per_px, abs=2)
    assert widget.verticalScrollBar().value() == 40
    assert widget.session.selection is None


def test_a_double_click_zooms_to_the_slice(widget: TimelineWidget, qtbot: QtBot) -> None:
    point = point_of(widget, "step_1")
    click(qtbot, widget, point)
    qtbot.mouseDClick(widget.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert name(widget) == "step_1"
    assert widget.view.span_ns == pytest.approx(50_000 * 1.3, rel=0.05)


def test_w_a_s_d_and_arrows_move(widget: TimelineWidget, qtbot: QtBot) -> None:
    span = widget.view.span_ns
    press(qtbot, widget, Qt.Key.Key_W)
    assert widget.view.span_ns == pytest.approx(span / 1.5)
    begin = widget.view.begin_ns
    press(qtbot, widget, Qt.Key.Key_D)
    assert widget.view.begin_ns > begin
    press(qtbot, widget, Qt.Key.Key_A)
    assert widget.view.begin_ns == begin
    press(qtbot, widget, Qt.Key.Key_Right)
    press(qtbot, widget, Qt.Key.Key_Left)
    assert widget.view.begin_ns == begin
    press(qtbot, widget, Qt.Key.Key_S)
    assert widget.view.span_ns == pytest.approx(span)
    press(qtbot, widget, Qt.Key.Key_W)
    press(qtbot, widget, Qt.Key.Key_Home)
    assert (widget.view.begin_ns, widget.view.end_ns) == (0, 100_000)


def test_f_fits_the_selection_then_its_surroundings(widget: TimelineWidget, qtbot: QtBot) -> None:
    click(qtbot, widget, point_of(widget, "gemm"))
    press(qtbot, widget, Qt.Key.Key_F)
    assert (widget.view.begin_ns, widget.view.end_ns) == (27_000, 53_000)
    press(qtbot, widget, Qt.Key.Key_F)
    assert widget.view.span_ns > 100_000


def test_brackets_walk_the_link(widget: TimelineWidget, qtbot: QtBot) -> None:
    click(qtbot, widget, point_of(widget, "cudaGraphLaunch"))
    walked = []
    for key in (Qt.Key.Key_BracketRight, Qt.Key.Key_BracketRight, Qt.Key.Key_BracketRight, Qt.Key.Key_BracketLeft):
        press(qtbot, widget, key)
        walked.append(name(widget))
    assert walked == ["node_a", "node_b", "node_b", "cudaGraphLaunch"]


def test_comma_and_full_stop_walk_the_lane(widget: TimelineWidget, qtbot: QtBot) -> None:
    click(qtbot, widget, point_of(widget, "gemm"))
    walked = []
    for key in (Qt.Key.Key_Period, Qt.Key.Key_Period, Qt.Key.Key_Period, Qt.Key.Key_Comma):
        press(qtbot, widget, key)
        walked.append(name(widget))
    assert walked == ["node_a", "node_b", "node_b", "node_a"]


def test_walking_into_a_collapsed_group_opens_it(widget: TimelineWidget, qtbot: QtBot) -> None:
    click(qtbot, widget, header_point(widget, "GPU-0 device"))
    click(qtbot, widget, point_of(widget, "cudaLaunchKernel"))
    press(qtbot, widget, Qt.Key.Key_BracketRight)
    assert name(widget) == "gemm"
    drawing = widget.draw_list()
    assert drawing is not None and drawing.selection is not None


def test_up_and_down_walk_the_headers_and_return_toggles(widget: TimelineWidget, qtbot: QtBot) -> None:
    press(qtbot, widget, Qt.Key.Key_Down)
    press(qtbot, widget, Qt.Key.Key_Down)
    press(qtbot, widget, Qt.Key.Key_Up)
    drawing = widget.draw_list()
    assert drawing is not None
    assert [header.label for header in drawing.headers if header.is_focused] == ["algo-1"]
    press(qtbot, widget, Qt.Key.Key_Return)
    drawing = widget.draw_list()
    assert drawing is not None and [header.label for header in drawing.headers] == ["algo-1"]


def test_back_and_forward_lead_through_past_views(widget: TimelineWidget, qtbot: QtBot) -> None:
    press(qtbot, widget, Qt.Key.Key_W)
    there = (widget.view.begin_ns, widget.view.end_ns)
    qtbot.keyClick(widget, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert (widget.view.begin_ns, widget.view.end_ns) == (0, 100_000)
    qtbot.keyClick(widget, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert (widget.view.begin_ns, widget.view.end_ns) == there


def test_hovering_shows_the_name_as_plain_text(widget: TimelineWidget, qtbot: QtBot) -> None:
    qtbot.mouseMove(widget.viewport(), point_of(widget, "odd <b>name</b>"))
    assert widget.hover.isVisible()
    assert widget.hover.textFormat() == Qt.TextFormat.PlainText
    assert widget.hover.text().splitlines() == ["odd <b>name</b>", "1 µs from 0.000\u202f070 s"]
    qtbot.mouseMove(widget.viewport(), QPoint(round(widget.header_px) + 2, 590))
    assert not widget.hover.isVisible()


def test_a_long_name_breaks_into_lines_and_loses_nothing() -> None:
    text = "void cutlass::" + "k" * 300
    assert max(map(len, breakable(text).replace("\u200b", " ").split())) == 40
    assert breakable(text).replace("\u200b", "") == text


def test_the_header_column_can_be_resized(widget: TimelineWidget, qtbot: QtBot) -> None:
    port = widget.viewport()
    edge = QPoint(round(widget.header_px), 300)
    qtbot.mousePress(port, Qt.MouseButton.LeftButton, pos=edge)
    qtbot.mouseMove(port, edge + QPoint(60, 0))
    qtbot.mouseRelease(port, Qt.MouseButton.LeftButton, pos=edge + QPoint(60, 0))
    assert widget.header_px == edge.x() + 60
    assert widget.view.width_px == port.width() - widget.header_px


def test_the_overview_moves_the_view(widget: TimelineWidget, qtbot: QtBot) -> None:
    for _ in range(4):
        widget.run("zoom_in")
    right = QPoint(widget.viewport().width() - 150, 6)
    click(qtbot, widget, right)
    middle = (widget.view.begin_ns + widget.view.end_ns) / 2
    assert middle == pytest.approx(85_000, abs=500)


def test_the_session_moves_the_view_and_selects(widget: TimelineWidget) -> None:
    widget.session.show(1_000, 2_000)
    assert (widget.view.begin_ns, widget.view.end_ns) == (1_000, 2_000)
    widget.session.select(SliceRef(0, "device", 0))
    assert widget.view.begin_ns <= 30_000 < widget.view.end_ns


def test_closing_the_profile_leaves_an_empty_timeline(widget: TimelineWidget, qtbot: QtBot) -> None:
    widget.session.close()
    assert widget.draw_list() is None
    for command in COMMANDS:
        widget.run(command.id)
    click(qtbot, widget, QPoint(400, 200))
    assert not widget.grab().isNull()


def test_every_key_of_the_table_is_one_key_and_belongs_to_one_command() -> None:
    keys = [QKeySequence(key) for command in COMMANDS for key in command.keys]
    assert all(key.count() == 1 for key in keys)
    assert len({key.toString() for key in keys}) == len(keys)


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # offscreen says so of every menu
def test_every_command_runs(widget: TimelineWidget) -> None:
    for command in COMMANDS:
        widget.run(command.id)
    with pytest.raises(KeyError):
        widget.run("no such command")


def test_the_picture_holds_the_colours_of_its_draw_list(widget: TimelineWidget, qtbot: QtBot) -> None:
    point = point_of(widget, "step_1")
    image = widget.viewport().grab().toImage()
    drawing = widget.draw_list()
    assert drawing is not None
    at = int((abs(drawing.slices.y_px - point.y()) + abs(drawing.slices.x_px - point.x()) / 1e3).argmin())
    painter = widget.painter()
    fill = QColor(*painter.theme.fills[int(drawing.slices.colour[at])])
    x_px, y_px = int(drawing.slices.x_px[at]), int(drawing.slices.y_px[at])
    assert image.pixelColor(x_px + 1, y_px + 1) == fill
    dark = QPalette(widget.palette())
    dark.setColor(QPalette.ColorRole.Base, QColor(*DARK.background))
    widget.setPalette(dark)
    image = widget.viewport().grab().toImage()
    assert image.pixelColor(x_px + 1, y_px + 1) == QColor(*DARK.fills[int(drawing.slices.colour[at])])
