"""Marks and steps by key and mouse, through Qt's own events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from smprof.profile.reader import Profile
from smprof_desktop.notes import Notes
from smprof_desktop.session import Area, Session
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline import marks
from smprof_desktop.timeline.draw_list import DrawList, MarkFlag
from smprof_desktop.timeline.marking import MarkEditor
from smprof_desktop.timeline.marks import Mark
from smprof_desktop.timeline.widget import TimelineWidget
from tests.make_profile import write_profile
from tests.timeline.test_widget import click, point_of, press

TEXT = """
process 0 pid=1 window=0:100000
thread 1 main
device 0 H100 used
annotation 1 0+40000 step_0
annotation 1 50000+25000 step_1
annotation 1 75000+25000 step_2
api 1 10000+2000 cudaLaunchKernel corr=5
kernel 0/7 30000+20000 gemm corr=5
kernel 0/8 70000+1000 "odd <b>name</b>"
process 1 pid=2 window=0:100000
thread 1 main
annotation 1 3000+40000 iteration_7
kernel 1/7 20000+9000 other
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_profile(tmp_path / "run", TEXT)


@pytest.fixture
def widget(qtbot: QtBot, folder: Path) -> Iterator[TimelineWidget]:
    session, tasks = Session(Notes.of), Tasks()
    session.open(Profile.open(folder))
    made = TimelineWidget(session, tasks)
    qtbot.addWidget(made)
    made.resize(1270, 600)
    with qtbot.waitExposed(made):
        made.show()
    made.setFocus()
    qtbot.waitUntil(lambda: made.is_final)
    yield made
    assert tasks.close()


def shown(widget: TimelineWidget) -> DrawList:
    drawing = widget.draw_list()
    assert drawing is not None
    return drawing


def marks_in(widget: TimelineWidget) -> list[Mark]:
    return list(marks.marks_of(widget.session.notes))


def flag_of(widget: TimelineWidget, text: str) -> MarkFlag:
    return next(flag for flag in shown(widget).marks if flag.text == text)


def flag_point(widget: TimelineWidget, text: str) -> QPoint:
    flag = flag_of(widget, text)
    return QPoint(round(flag.flag_x_px + flag.width_px / 2), round(shown(widget).axis_bottom_px + 4))


def step_point(widget: TimelineWidget, text: str) -> QPoint:
    bar = next(bar for bar in shown(widget).steps if bar.text == text)
    return QPoint(round(bar.x_px + bar.width_px / 2), round(shown(widget).top_px - 6))


def point_at(widget: TimelineWidget, at: QPoint) -> None:
    """Move the pointer there."""
    event = QMouseEvent(
        QEvent.Type.MouseMove,
        QPointF(at),
        QPointF(widget.viewport().mapToGlobal(at)),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(widget.viewport(), event)


def editor_of(widget: TimelineWidget) -> MarkEditor:
    editor = widget.viewport().findChild(MarkEditor)
    assert isinstance(editor, MarkEditor)
    return editor


def test_m_marks_the_start_of_the_selected_slice_by_its_name(
    widget: TimelineWidget, qtbot: QtBot, folder: Path
) -> None:
    before = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    click(qtbot, widget, point_of(widget, "gemm"))
    bare = shown(widget)
    press(qtbot, widget, Qt.Key.Key_M)
    assert marks_in(widget) == [Mark(30_000, 30_000, "gemm")]
    drawing = shown(widget)
    assert drawing.marks[0].x_px == pytest.approx(widget.header_px + widget.view.x_px(30_000))
    assert drawing.marks[0].is_selected
    assert drawing.top_px > bare.top_px
    press(qtbot, widget, Qt.Key.Key_M)
    assert len(marks_in(widget)) == 1  # the same place is not marked twice
    assert json.loads(folder.with_name("run.notes.json").read_bytes())["marks"][0]["text"] == "gemm"
    assert {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_m_marks_the_time_under_the_pointer_where_nothing_is_selected(widget: TimelineWidget, qtbot: QtBot) -> None:
    at = QPoint(round(widget.header_px) + 300, 200)
    point_at(widget, at)
    press(qtbot, widget, Qt.Key.Key_M)
    time_ns = widget.view.time_ns(at.x() - widget.header_px)
    assert marks_in(widget) == [Mark(time_ns, time_ns)]
    assert shown(widget).marks[0].text  # a mark without a text shows its time
    QApplication.sendEvent(widget, QEvent(QEvent.Type.Leave))
    press(qtbot, widget, Qt.Key.Key_M)
    assert widget.view.x_px(marks_in(widget)[-1].begin_ns) == pytest.approx(widget.view.width_px / 2, abs=1)


def test_shift_m_marks_the_selected_slice_or_area_as_a_range(widget: TimelineWidget, qtbot: QtBot) -> None:
    click(qtbot, widget, point_of(widget, "gemm"))
    qtbot.keyClick(widget, Qt.Key.Key_M, Qt.KeyboardModifier.ShiftModifier)
    assert marks_in(widget) == [Mark(30_000, 50_000, "gemm")]
    assert shown(widget).marks[0].is_range
    widget.session.select_area(Area(1_000, 2_000))
    qtbot.keyClick(widget, Qt.Key.Key_M, Qt.KeyboardModifier.ShiftModifier)
    assert Mark(1_000, 2_000) in marks_in(widget)


def test_f2_edits_in_place_enter_keeps_and_escape_does_not(widget: TimelineWidget, qtbot: QtBot) -> None:
    click(qtbot, widget, point_of(widget, "gemm"))
    press(qtbot, widget, Qt.Key.Key_M)
    expanded = widget.expanded
    press(qtbot, widget, Qt.Key.Key_F2)
    editor = editor_of(widget)
    assert editor.selectedText() == "gemm"
    qtbot.keyClicks(editor, "why <b>so late</b>?")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert marks_in(widget) == [Mark(30_000, 30_000, "why <b>so late</b>?")]
    assert widget.expanded == expanded  # Enter did not go on to the lanes
    assert widget.hasFocus()
    press(qtbot, widget, Qt.Key.Key_F2)
    qtbot.waitUntil(lambda: len(widget.viewport().findChildren(MarkEditor)) == 1)
    editor = editor_of(widget)
    qtbot.keyClicks(editor, "no")
    qtbot.keyClick(editor, Qt.Key.Key_Escape)
    assert marks_in(widget)[0].text == "why <b>so late</b>?"
    assert widget.session.selection is not None  # Escape did not go on either


def test_a_click_on_a_flag_goes_there_and_a_double_click_edits_it(widget: TimelineWidget, qtbot: QtBot) -> None:
    marks.add(widget.session.notes, Mark(70_000, 70_000, "late"))
    marks.add(widget.session.notes, Mark(40_000, 40_000, "early"))
    widget.session.show(30_000, 75_000)
    at = flag_point(widget, "late")
    qtbot.mouseClick(widget.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert widget.marking.selected == Mark(70_000, 70_000, "late")
    assert widget.view.x_px(70_000) == pytest.approx(widget.view.width_px / 2, abs=2)
    qtbot.mouseDClick(widget.viewport(), Qt.MouseButton.LeftButton, pos=at)  # the flag is elsewhere by now
    qtbot.keyClicks(editor_of(widget), "later")
    click(qtbot, widget, QPoint(round(widget.header_px) + 20, 200))  # what was written is kept
    assert Mark(70_000, 70_000, "later") in marks_in(widget)
    assert widget.marking.selected is None


def test_a_range_that_is_wider_than_the_view_is_fitted(widget: TimelineWidget, qtbot: QtBot) -> None:
    marks.add(widget.session.notes, Mark(20_000, 80_000, "wide"))
    widget.session.show(30_000, 31_000)
    qtbot.mouseClick(widget.viewport(), Qt.MouseButton.LeftButton, pos=flag_point(widget, "wide"))
    assert widget.view.begin_ns < 20_000 < 80_000 < widget.view.end_ns


def test_delete_removes_the_selected_mark_only(widget: TimelineWidget, qtbot: QtBot) -> None:
    marks.add(widget.session.notes, Mark(80_000, 80_000, "late"))
    marks.add(widget.session.notes, Mark(20_000, 20_000, "early"))
    press(qtbot, widget, Qt.Key.Key_Delete)
    assert len(marks_in(widget)) == 2
    qtbot.mouseClick(widget.viewport(), Qt.MouseButton.LeftButton, pos=flag_point(widget, "late"))
    press(qtbot, widget, Qt.Key.Key_Delete)
    assert [mark.text for mark in marks_in(widget)] == ["early"]
    qtbot.mouseClick(widget.viewport(), Qt.MouseButton.LeftButton, pos=flag_point(widget, "early"))
    press(qtbot, widget, Qt.Key.Key_Escape)
    press(qtbot, widget, Qt.Key.Key_Delete)
    assert [mark.text for mark in marks_in(widget)] == ["early"]
    qtbot.mouseClick(widget.viewport(), Qt.MouseButton.LeftButton, pos=flag_point(widget, "early"))
    click(qtbot, widget, point_of(widget, "odd <b>name</b>"))
    press(qtbot, widget, Qt.Key.Key_Delete)  # it is the slice that is selected now
    assert [mark.text for mark in marks_in(widget)] == ["early"]


def test_alt_m_asks_for_the_list(widget: TimelineWidget, qtbot: QtBot) -> None:
    with qtbot.waitSignal(widget.marks_asked):
        qtbot.keyClick(widget, Qt.Key.Key_M, Qt.KeyboardModifier.AltModifier)


def test_marks_of_another_window_appear(widget: TimelineWidget, folder: Path) -> None:
    marks.add(Notes.of(Profile.open(folder)), Mark(5, 5, "theirs"))
    marks.add(widget.session.notes, Mark(90_000, 90_000, "mine"))
    assert [flag.text for flag in shown(widget).marks] == ["theirs", "mine"]


def test_steps_are_walked_with_shift_and_arrows(widget: TimelineWidget, qtbot: QtBot) -> None:
    assert [bar.text for bar in shown(widget).steps] == ["step_0", "step_1", "step_2"]
    seen = []
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Left, Qt.Key.Key_Left):
        qtbot.keyClick(widget, key, Qt.KeyboardModifier.ShiftModifier)
        seen.append((widget.view.begin_ns, widget.view.end_ns))
    assert seen == [(74_500, 100_500), (74_500, 100_500), (49_500, 75_500), (-800, 40_800), (-800, 40_800)]
    assert widget.session.can_go_back


def test_a_double_click_on_a_step_fits_it_and_the_pointer_on_it_tells_its_duration(
    widget: TimelineWidget, qtbot: QtBot
) -> None:
    at = step_point(widget, "step_1")
    point_at(widget, at)
    assert widget.hover.text() == "step_1\n25 µs from 0.000\u202f050 s"
    qtbot.mouseDClick(widget.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert (widget.view.begin_ns, widget.view.end_ns) == (49_500, 75_500)


def test_steps_follow_the_process_of_the_selected_slice(widget: TimelineWidget, qtbot: QtBot) -> None:
    click(qtbot, widget, point_of_process(widget, 1))
    qtbot.waitUntil(lambda: widget.is_final)
    assert [bar.text for bar in shown(widget).steps] == ["iteration_7"]
    press(qtbot, widget, Qt.Key.Key_Escape)
    assert [bar.text for bar in shown(widget).steps] == ["iteration_7"]
    click(qtbot, widget, point_of(widget, "gemm"))
    assert [bar.text for bar in shown(widget).steps] == ["step_0", "step_1", "step_2"]


def point_of_process(widget: TimelineWidget, process: int) -> QPoint:
    """The middle of the first execution of a process as it is drawn."""
    from smprof_desktop.slice_ref import SliceRef

    scene = widget.opened_scene()
    ref = SliceRef(process, "device", 0)
    start, end = scene.times_of(ref)
    anchor = scene.anchor(widget.frame(), ref, start)
    assert anchor is not None
    return QPoint(round((anchor[0] + widget.header_px + widget.view.x_px(end)) / 2), round(anchor[1]))
