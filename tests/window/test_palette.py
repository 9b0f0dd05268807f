"""The palettes of commands and lanes, by the keyboard alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from smprof_desktop.window.main_window import MainWindow
from smprof_desktop.window.palette import MAX_SHOWN, Entry, Palette
from smprof_desktop.window.timeline_page import TimelinePage

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


def texts(palette: Palette) -> list[tuple[str, str]]:
    """What a palette shows."""
    rows = range(palette.table.rowCount())
    items = [[palette.table.item(row, column) for column in range(2)] for row in rows]
    return [(first.text(), second.text()) for first, second in items if first is not None and second is not None]


def open_palette(qtbot: QtBot, window: MainWindow) -> Palette:
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.keyClick(window, Qt.Key.Key_P, CTRL | SHIFT)
    palette = window._palette
    assert palette.isVisible() and palette.edit.hasFocus()
    return palette


def test_a_command_is_found_by_letters_and_done_by_enter(window: MainWindow, qtbot: QtBot) -> None:
    palette = open_palette(qtbot, window)
    qtbot.keyClicks(palette.edit, "go sett")
    assert texts(palette)[0] == ("Settings", "Ctrl+6")
    qtbot.keyClick(palette.edit, Qt.Key.Key_Return)
    assert window.page_key == "settings" and not palette.isVisible()


def test_what_cannot_be_done_is_greyed_and_says_why(window: MainWindow, qtbot: QtBot) -> None:
    palette = open_palette(qtbot, window)
    qtbot.keyClicks(palette.edit, "unload")
    assert texts(palette)[0] == ("Unload profile", "No profile is loaded")
    item = palette.table.item(0, 0)
    assert item is not None and not item.flags() & Qt.ItemFlag.ItemIsEnabled
    qtbot.keyClick(palette.edit, Qt.Key.Key_Return)
    assert palette.isVisible(), "nothing was done"
    palette.edit.clear()
    qtbot.keyClicks(palette.edit, "mark")
    shown = [text for text, _ in texts(palette)]
    assert "mark" in shown[0].lower() and shown.index("Next step") > shown.index("List the marks"), "groups come last"
    palette.edit.clear()
    qtbot.keyClicks(palette.edit, "cancel loading")
    assert texts(palette)[0][1] == "Nothing is being loaded"


def test_escape_gives_the_keyboard_back(window: MainWindow, qtbot: QtBot) -> None:
    window.go_to_page("settings")
    before = QApplication.focusWidget()
    palette = open_palette(qtbot, window)
    qtbot.keyClick(palette.edit, Qt.Key.Key_Down)
    assert palette.table.currentRow() == 1
    qtbot.keyClick(palette.edit, Qt.Key.Key_PageDown)
    qtbot.keyClick(palette.edit, Qt.Key.Key_Up)
    assert palette.table.currentRow() == 14
    qtbot.keyClick(palette.edit, Qt.Key.Key_Escape)
    assert not palette.isVisible() and QApplication.focusWidget() is before


def test_a_click_elsewhere_closes_it(window: MainWindow, qtbot: QtBot) -> None:
    palette = open_palette(qtbot, window)
    window._navigation.setFocus()
    assert not palette.isVisible() and window._navigation.hasFocus()


def test_commands_of_the_timeline_are_done_there(window: MainWindow, qtbot: QtBot, load: Callable[[], None]) -> None:
    load()
    window.go_to_page("timeline")
    qtbot.waitUntil(lambda: window.is_final)
    page = window.page
    assert isinstance(page, TimelinePage)
    window.session.show(10, 20)
    window.go_to_page("dashboard")
    palette = open_palette(qtbot, window)
    qtbot.keyClicks(palette.edit, "fit whole")
    assert texts(palette)[0] == ("Fit the whole profile", "Home")
    qtbot.keyClick(palette.edit, Qt.Key.Key_Return)
    assert window.page_key == "timeline" and page.timeline.view.begin_ns <= 0


def test_a_lane_is_found_by_its_path_and_focused(window: MainWindow, qtbot: QtBot, load: Callable[[], None]) -> None:
    load()
    window.go_to_page("timeline")
    qtbot.waitUntil(lambda: window.is_final)
    page = window.page
    assert isinstance(page, TimelinePage)
    timeline = page.timeline
    timeline.set_expanded(frozenset())
    window.activateWindow()
    timeline.setFocus()
    qtbot.waitUntil(timeline.hasFocus)
    qtbot.keyClick(timeline, Qt.Key.Key_P, CTRL)
    palette = window._palette
    assert palette.edit.hasFocus()
    assert len(texts(palette)) == sum(1 for _ in timeline.opened_scene().tree.walk())
    qtbot.keyClicks(palette.edit, "dev str 7")
    assert " › " in texts(palette)[0][0] and texts(palette)[0][0].endswith("stream 7")
    qtbot.keyClick(palette.edit, Qt.Key.Key_Return)
    tree = timeline.opened_scene().tree
    assert tree.by_key[timeline.focus_key].label == "stream 7" and timeline.hasFocus()
    assert timeline.focus_key in timeline.opened_scene().layout(timeline.frame()).index, "its groups are open"


def test_ten_thousand_entries_are_plain_text_and_few_are_shown(window: MainWindow, qtbot: QtBot) -> None:
    done: list[int] = []
    palette = window._palette
    entries = [Entry(f"host › <b>stream {number}</b>", partial(done.append, number)) for number in range(10_000)]
    palette.ask(entries, "Find")
    assert len(texts(palette)) == MAX_SHOWN
    qtbot.keyClicks(palette.edit, "9876")
    assert texts(palette)[0] == ("host › <b>stream 9876</b>", "")
    qtbot.keyClick(palette.edit, Qt.Key.Key_Return)
    assert done == [9876]
    palette.ask(entries, "Find")
    qtbot.keyClicks(palette.edit, "no such lane")
    assert texts(palette) == [] and palette.note.text() == "Nothing is called so."
    qtbot.keyClick(palette.edit, Qt.Key.Key_Return)
    qtbot.keyClick(palette.edit, Qt.Key.Key_Escape)
