"""Lanes pinned, hidden, moved, filtered and packed through Qt's own events, and kept in the notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from smprof.profile.reader import Profile
from smprof_desktop.notes import Notes
from smprof_desktop.session import Session
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline.draw_list import DrawList, Header
from smprof_desktop.timeline.widget import TimelineWidget
from tests.make_profile import make_profile

TEXT = """
process 0 pid=1 rank=0 window=0:100000
thread 1 main
device 0 H100 used
annotation 1 0+40000 step_0
api 1 10000+2000 cudaLaunchKernel corr=5
kernel 0/7 30000+20000 gemm corr=5
kernel 0/8 70000+1000 copy
kernel 0/9 80000+1000 "a & <b>b</b>"
process 1 pid=2 rank=1 window=0:100000
device 1 H100 used
kernel 1/7 30000+20000 gemm
"""
DEVICE = "host:algo-1/gpus/process:0/gpu:0/device"
STREAMS = [f"host:algo-1/gpus/process:0/gpu:0/stream:{number}" for number in (7, 8, 9)]
CTRL, SHIFT, NO = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.NoModifier
LEFT = Qt.MouseButton.LeftButton

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # offscreen says so of every menu


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "run.notes.json"


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return make_profile(tmp_path / "run", TEXT)


@pytest.fixture
def widget(qtbot: QtBot, profile: Profile, notes: Path) -> Iterator[TimelineWidget]:
    session, tasks = Session(lambda _profile: Notes(notes)), Tasks()
    session.open(profile)
    made = TimelineWidget(session, tasks)
    qtbot.addWidget(made)
    made.resize(1270, 600)
    with qtbot.waitExposed(made):
        made.show()
    made.setFocus()
    qtbot.waitUntil(lambda: made.is_final)
    yield made
    assert tasks.close()


def drawing(widget: TimelineWidget) -> DrawList:
    found = widget.draw_list()
    assert found is not None
    return found


def header(widget: TimelineWidget, key: str) -> Header:
    return next(header for header in drawing(widget).headers if header.key == key)


def keys(widget: TimelineWidget) -> list[str]:
    return [header.key for header in drawing(widget).headers]


def labels(widget: TimelineWidget) -> list[str]:
    return [header.label for header in drawing(widget).headers]


def point(widget: TimelineWidget, key: str, x_px: int = 60) -> QPoint:
    found = header(widget, key)
    return QPoint(x_px, round(found.y_px + min(found.height_px, 20) / 2))


def click(qtbot: QtBot, widget: TimelineWidget, at: QPoint, modifiers: Qt.KeyboardModifier = NO) -> None:
    qtbot.mouseClick(widget.viewport(), LEFT, modifiers, at)


def focus(widget: TimelineWidget, key: str) -> None:
    widget.focus_key = key
    widget.viewport().update()


def order(widget: TimelineWidget) -> list[int]:
    """Positions of the three streams among the lanes, as they stand."""
    return [STREAMS.index(key) for key in keys(widget) if key in STREAMS]


def menu_of(widget: TimelineWidget, key: str) -> QMenu:
    """The menu that a right click on a header opens."""
    at = point(widget, key)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, widget.viewport().mapToGlobal(at))
    QApplication.sendEvent(widget.viewport(), event)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    return menu


def choose(menu: QMenu, title: str) -> None:
    action = next(action for action in menu.actions() if action.text() == title)
    assert action.isEnabled()
    action.trigger()
    menu.close()


def test_p_pins_the_lane_and_unpins_it(widget: TimelineWidget, qtbot: QtBot) -> None:
    focus(widget, STREAMS[1])
    qtbot.keyClick(widget, Qt.Key.Key_P)
    assert keys(widget)[0] == STREAMS[1] and drawing(widget).pinned_px > 0
    assert widget.session.notes.get("pinned") == [STREAMS[1]]
    qtbot.keyClick(widget, Qt.Key.Key_P)
    assert keys(widget)[0] == "host:algo-1" and drawing(widget).pinned_px == 0


def test_a_click_on_the_pin_pins_and_does_not_collapse(widget: TimelineWidget, qtbot: QtBot) -> None:
    pin_px = round(widget.header_px) - 9
    qtbot.mouseMove(widget.viewport(), point(widget, DEVICE, pin_px))
    assert header(widget, DEVICE).is_hovered
    click(qtbot, widget, point(widget, DEVICE, pin_px))
    assert keys(widget)[0] == DEVICE and header(widget, DEVICE).is_pinned and header(widget, DEVICE).state == 1
    click(qtbot, widget, point(widget, DEVICE, pin_px))
    assert not header(widget, DEVICE).is_pinned


def test_pins_outlast_loading_and_unpinning_another(
    widget: TimelineWidget, qtbot: QtBot, profile: Profile, notes: Path
) -> None:
    """Case 71, and also where a part of the profile is not there yet."""
    widget.session.notes.set("pinned", ["host:algo-9/gone", STREAMS[2], STREAMS[0]])
    assert keys(widget)[:2] == [STREAMS[2], STREAMS[0]]
    focus(widget, STREAMS[2])
    qtbot.keyClick(widget, Qt.Key.Key_P)
    assert keys(widget)[0] == STREAMS[0]
    widget.session.close()
    widget.session.open(profile)
    qtbot.waitUntil(lambda: widget.is_final)
    assert keys(widget)[0] == STREAMS[0]
    assert Notes(notes).get("pinned") == ["host:algo-9/gone", STREAMS[0]]


def test_h_hides_the_lane_and_the_line_shows_it_again(widget: TimelineWidget, qtbot: QtBot) -> None:
    focus(widget, STREAMS[0])
    qtbot.keyClick(widget, Qt.Key.Key_H)
    assert STREAMS[0] not in keys(widget) and "1 lane hidden" in labels(widget)
    assert widget.focus_key == STREAMS[1]
    qtbot.keyClick(widget, Qt.Key.Key_H)
    note = next(header for header in drawing(widget).headers if header.label == "2 lanes hidden")
    assert widget.session.notes.get("hidden") == sorted(STREAMS[:2])
    click(qtbot, widget, point(widget, note.key))
    assert order(widget) == [0, 1, 2] and widget.session.notes.get("hidden") == []


def test_the_keyboard_reaches_the_line_that_tells_of_hidden_lanes(widget: TimelineWidget, qtbot: QtBot) -> None:
    widget.arranging.hide(STREAMS[2])
    focus(widget, STREAMS[1])
    qtbot.keyClick(widget, Qt.Key.Key_Down)
    assert header(widget, widget.focus_key).label == "1 lane hidden"
    qtbot.keyClick(widget, Qt.Key.Key_Return)
    assert STREAMS[2] in keys(widget)
    widget.arranging.hide("host:algo-1")
    assert labels(widget) == ["1 lane hidden"]
    qtbot.keyClick(widget, Qt.Key.Key_H, SHIFT)
    assert "algo-1" in labels(widget)


def test_ctrl_up_and_down_move_the_lane_in_its_group(widget: TimelineWidget, qtbot: QtBot) -> None:
    focus(widget, STREAMS[0])
    qtbot.keyClick(widget, Qt.Key.Key_Down, CTRL)
    assert order(widget) == [1, 0, 2]
    qtbot.keyClick(widget, Qt.Key.Key_Down, CTRL)
    qtbot.keyClick(widget, Qt.Key.Key_Down, CTRL)
    assert order(widget) == [1, 2, 0]
    qtbot.keyClick(widget, Qt.Key.Key_Up, CTRL)
    assert order(widget) == [1, 0, 2]
    assert widget.session.notes.get("order") == {DEVICE: [STREAMS[1], STREAMS[0], STREAMS[2]]}


def test_ctrl_down_moves_a_pinned_lane_among_the_pinned(widget: TimelineWidget, qtbot: QtBot) -> None:
    widget.session.notes.set("pinned", [STREAMS[2], STREAMS[0]])
    focus(widget, STREAMS[2])
    qtbot.keyClick(widget, Qt.Key.Key_Down, CTRL)
    assert keys(widget)[:2] == [STREAMS[0], STREAMS[2]] and widget.session.notes.get("order") == {}


def test_a_header_is_dragged_to_another_place_with_a_line(widget: TimelineWidget, qtbot: QtBot) -> None:
    port, start = widget.viewport(), point(widget, STREAMS[0])
    below = header(widget, STREAMS[2])
    qtbot.mousePress(port, LEFT, pos=start)
    for step in range(1, 6):
        qtbot.mouseMove(port, start + QPoint(0, 2 * step))
    qtbot.mouseMove(port, QPoint(70, round(below.y_px + 2)))
    assert drawing(widget).drop_px == below.y_px
    qtbot.mouseRelease(port, LEFT, pos=QPoint(70, round(below.y_px + 2)))
    assert order(widget) == [1, 0, 2] and drawing(widget).drop_px is None
    # To the end of the group, however far below the pointer is.
    start = point(widget, STREAMS[1])
    qtbot.mousePress(port, LEFT, pos=start)
    qtbot.mouseMove(port, start + QPoint(0, 20))
    qtbot.mouseMove(port, QPoint(70, 500))
    qtbot.mouseRelease(port, LEFT, pos=QPoint(70, 500))
    assert order(widget) == [0, 2, 1]
    assert header(widget, STREAMS[1]).state == -1  # nothing was collapsed


def test_a_drag_that_ends_where_it_began_changes_nothing(widget: TimelineWidget, qtbot: QtBot) -> None:
    port, start = widget.viewport(), point(widget, STREAMS[1])
    qtbot.mousePress(port, LEFT, pos=start)
    qtbot.mouseMove(port, start + QPoint(0, 6))
    qtbot.mouseMove(port, start + QPoint(0, -1))
    qtbot.mouseRelease(port, LEFT, pos=start + QPoint(0, -1))
    assert order(widget) == [0, 1, 2] and widget.session.notes.get("order") == {}


def test_esc_lets_go_of_a_dragged_header(widget: TimelineWidget, qtbot: QtBot) -> None:
    port, start = widget.viewport(), point(widget, STREAMS[0])
    qtbot.mousePress(port, LEFT, pos=start)
    qtbot.mouseMove(port, start + QPoint(0, 20))
    qtbot.mouseMove(port, start + QPoint(0, 50))
    assert drawing(widget).drop_px is not None
    qtbot.keyClick(widget, Qt.Key.Key_Escape)
    assert drawing(widget).drop_px is None
    qtbot.mouseRelease(port, LEFT, pos=start + QPoint(0, 50))
    assert order(widget) == [0, 1, 2] and STREAMS[0] in keys(widget)


def test_a_dragged_header_scrolls_at_the_edge(widget: TimelineWidget, qtbot: QtBot) -> None:
    widget.resize(1270, 260)
    root = "host:algo-1/gpus/process:0"
    port, start = widget.viewport(), point(widget, root)
    qtbot.mousePress(port, LEFT, pos=start)
    for step in range(30):
        qtbot.mouseMove(port, QPoint(70, port.height() - 3 - step % 2))
    assert widget.verticalScrollBar().value() > 0
    qtbot.mouseRelease(port, LEFT, pos=QPoint(70, port.height() - 3))
    assert widget.session.notes.get("order") != {}
    widget.resize(1270, 900)
    assert keys(widget).index(root) > keys(widget).index("host:algo-1/gpus/process:1")


def test_a_lane_is_brought_into_sight_wherever_it_is(widget: TimelineWidget) -> None:
    widget.arranging.hide(DEVICE)
    widget.arranging.set_open_below("host:algo-1", False)
    widget.arranging.bar.edit.setText("cpu")
    widget.show_lane(STREAMS[1])
    assert STREAMS[1] in keys(widget) and widget.focus_key == STREAMS[1]


def test_shift_click_and_shift_return_open_and_close_all_below(widget: TimelineWidget, qtbot: QtBot) -> None:
    root = "host:algo-1"
    click(qtbot, widget, point(widget, root), SHIFT)
    assert keys(widget) == [root]
    click(qtbot, widget, point(widget, root), SHIFT)
    assert widget.expanded >= {lane.key for lane in widget.opened_scene().tree.walk() if lane.can_expand}
    click(qtbot, widget, point(widget, root), SHIFT)
    focus(widget, root)
    qtbot.keyClick(widget, Qt.Key.Key_Return)
    assert len(keys(widget)) == 2  # only one level: what lies below was closed too
    qtbot.keyClick(widget, Qt.Key.Key_Return, SHIFT)
    assert STREAMS[0] in keys(widget)


def test_the_menu_of_a_header_does_what_it_says(widget: TimelineWidget) -> None:
    menu = menu_of(widget, STREAMS[2])
    titles = [action.text() for action in menu.actions() if action.text()]
    assert titles == [
        "Pin to the top", "Hide", "Show hidden lanes", "Move up", "Move down", "Expand all below", "Collapse all below",
        "Pack streams by role", "Filter lanes…", "Copy name",
    ]  # fmt: skip
    enabled = {action.text() for action in menu.actions() if action.isEnabled()}
    assert not enabled & {"Show hidden lanes", "Move down", "Expand all below"}
    choose(menu, "Copy name")
    assert QGuiApplication.clipboard().text() == "stream 9"
    choose(menu_of(widget, STREAMS[2]), "Move up")
    assert order(widget) == [0, 2, 1]
    choose(menu_of(widget, STREAMS[2]), "Pin to the top")
    choose(menu_of(widget, STREAMS[2]), "Unpin")
    assert widget.session.notes.get("pinned") == []
    choose(menu_of(widget, STREAMS[2]), "Hide")
    choose(menu_of(widget, STREAMS[0]), "Hide")
    menu = menu_of(widget, STREAMS[1])
    shown = next(action.menu() for action in menu.actions() if action.text() == "Show hidden lanes")
    assert isinstance(shown, QMenu)
    assert [action.text() for action in shown.actions() if action.text()] == [
        "All (2)", "stream 7 · GPU-0 device · HOST-0 PID-1 · rank 0", "stream 9 · GPU-0 device · HOST-0 PID-1 · rank 0",
    ]  # fmt: skip
    shown.actions()[2].trigger()
    menu.close()
    assert order(widget) == [0, 1]
    choose(menu_of(widget, DEVICE), "Collapse all below")
    assert STREAMS[1] not in keys(widget)


def test_the_menu_key_opens_the_menu_of_the_lane_in_focus(widget: TimelineWidget, qtbot: QtBot) -> None:
    focus(widget, STREAMS[1])
    qtbot.keyClick(widget, Qt.Key.Key_Menu)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    choose(menu, "Hide")
    assert STREAMS[1] not in keys(widget)


def test_the_filter_counts_opens_groups_and_esc_clears_it(widget: TimelineWidget, qtbot: QtBot) -> None:
    widget.arranging.set_open_below("host:algo-1", False)
    qtbot.keyClick(widget, Qt.Key.Key_L, CTRL)
    edit = widget.arranging.bar.edit
    assert edit.hasFocus()
    qtbot.keyClicks(edit, "rank 0 stream")
    assert labels(widget)[-3:] == ["stream 7", "stream 8", "stream 9"]
    total = len(widget.opened_scene().tree.by_key)
    assert widget.arranging.bar.count.text() == f"3 of {total} lanes"
    qtbot.keyClicks(edit, " nonsense")
    assert keys(widget) == [] and widget.arranging.bar.count.text() == f"0 of {total} lanes"
    assert not widget.grab().isNull()
    qtbot.keyClick(edit, Qt.Key.Key_Escape)
    assert widget.hasFocus() and not edit.isVisible()
    assert labels(widget) == ["algo-1"]
    assert widget.session.notes.get("hidden") == []


def test_return_goes_to_the_lanes_and_keeps_the_filter(widget: TimelineWidget, qtbot: QtBot) -> None:
    qtbot.mouseClick(widget.arranging.bar.button, LEFT)
    qtbot.keyClicks(widget.arranging.bar.edit, "rank 1 stream")
    qtbot.keyClick(widget.arranging.bar.edit, Qt.Key.Key_Return)
    assert widget.hasFocus() and widget.arranging.bar.edit.isVisible()
    qtbot.keyClick(widget, Qt.Key.Key_Down)
    assert widget.focus_key == "host:algo-1"
    # A slice that the filter leaves out is selected elsewhere: it comes into sight.
    widget.session.select(SliceRef(0, "device", 0))
    assert not widget.arranging.bar.edit.isVisible() and drawing(widget).selection is not None


def test_a_selection_in_a_hidden_lane_shows_it(widget: TimelineWidget, qtbot: QtBot) -> None:
    widget.arranging.hide(DEVICE)
    widget.session.select(SliceRef(0, "device", 0))
    qtbot.waitUntil(lambda: widget.is_final)
    assert drawing(widget).selection is not None
    assert widget.session.notes.get("hidden") == []


def test_a_selection_in_a_pinned_lane_opens_nothing_else(widget: TimelineWidget, qtbot: QtBot) -> None:
    widget.arranging.set_open_below("host:algo-1", False)
    widget.session.notes.set("pinned", [STREAMS[0]])
    widget.session.select(SliceRef(0, "device", 0))
    qtbot.waitUntil(lambda: widget.is_final)
    assert keys(widget) == [STREAMS[0], "host:algo-1"] and drawing(widget).selection is not None


def test_a_device_of_many_streams_offers_to_pack_them(qtbot: QtBot, tmp_path: Path, notes: Path) -> None:
    lines = ["process 0 pid=1 window=0:100000"]
    lines += [f"kernel 0/{20 + number} {1000 * number}+900 gemm" for number in range(40)]
    session, tasks = Session(lambda _profile: Notes(notes)), Tasks()
    session.open(make_profile(tmp_path / "graphs", "\n".join(lines)))
    widget = TimelineWidget(session, tasks)
    qtbot.addWidget(widget)
    widget.resize(1270, 1400)
    with qtbot.waitExposed(widget):
        widget.show()
    qtbot.waitUntil(lambda: widget.is_final)
    offer = next(header for header in drawing(widget).headers if header.is_note)
    assert offer.label == "Pack 40 streams by role"
    click(qtbot, widget, point(widget, offer.key))
    assert not widget.is_final
    qtbot.waitUntil(lambda: widget.is_final)
    assert "compute" in labels(widget)
    assert len(drawing(widget).slices) == 40
    assert session.notes.get("packed") == [DEVICE]
    slices = drawing(widget).slices
    at = QPoint(round(slices.x_px[3] + slices.width_px[3] / 2), round(slices.y_px[3] + 5))
    qtbot.mouseMove(widget.viewport(), at)
    assert widget.hover.text().splitlines()[-1].startswith("stream 2")
    session.close()
    session.open(make_profile(tmp_path / "graphs again", "\n".join(lines)))
    qtbot.waitUntil(lambda: "compute" in labels(widget))
    note = next(header for header in drawing(widget).headers if header.is_note)
    assert note.label == "Show each of 40 streams"
    click(qtbot, widget, point(widget, note.key))
    assert "stream 20" in labels(widget) and session.notes.get("packed") == []
    assert tasks.close()


def test_another_font_keeps_the_arrangement(widget: TimelineWidget, qtbot: QtBot) -> None:
    widget.session.notes.set("pinned", [STREAMS[2]])
    font = widget.font()
    font.setPointSizeF(font.pointSizeF() * 1.7)
    widget.setFont(font)
    qtbot.waitUntil(lambda: widget.is_final)
    assert keys(widget)[0] == STREAMS[2]
    bar = widget.arranging.bar
    assert bar.height() <= widget.opened_scene().metrics.overview_px


def test_nothing_is_arranged_without_a_profile(widget: TimelineWidget, qtbot: QtBot) -> None:
    widget.session.close()
    for key in (Qt.Key.Key_P, Qt.Key.Key_H, Qt.Key.Key_Menu):
        qtbot.keyClick(widget, key)
    at = QPoint(30, 100)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, widget.viewport().mapToGlobal(at))
    QApplication.sendEvent(widget.viewport(), event)
    assert QApplication.activePopupWidget() is None and not widget.arranging.bar.isVisible()
