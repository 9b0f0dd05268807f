"""The search of the timeline through Qt's own events: what is found, counted, gone to and lit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from smprof_desktop.session import Session
from smprof_desktop.settings import Settings
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline.colours import DIMMED
from smprof_desktop.window.timeline_page import TimelinePage
from tests.make_profile import make_profile

TEXT = """
process 0 pid=1 window=0:100000
thread 1 main
device 0 H100 used
annotation 1 0+40000 step_0
annotation 1 50000+50000 step_1
kernel 0/7 30000+20000 gemm<b>
kernel 0/7 60000+1000 copy
kernel 0/8 70000+10 gemm<b>
kernel 0/8 90000+1000 gemm_last
"""


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path) -> Iterator[TimelinePage]:
    session, tasks = Session(), Tasks()
    session.open(make_profile(tmp_path, TEXT))
    made = TimelinePage(session, tasks, Settings(None))
    qtbot.addWidget(made)
    made.resize(1270, 700)
    with qtbot.waitExposed(made):
        made.show()
    made.activateWindow()
    made.timeline.setFocus()
    qtbot.waitUntil(lambda: made.is_final and made.timeline.hasFocus())
    yield made
    assert tasks.close()


def search(qtbot: QtBot, page: TimelinePage, text: str) -> None:
    """Open the search by its key, write, and wait until it is counted."""
    qtbot.keyClick(page.timeline, Qt.Key.Key_Slash)
    assert page.search_bar.edit.hasFocus()
    qtbot.keyClicks(page.search_bar.edit, text)
    settle(qtbot, page, text)


def settle(qtbot: QtBot, page: TimelinePage, text: str) -> None:
    """Wait until that text is searched for and nothing more is to come."""
    searching = page.timeline.searching
    qtbot.waitUntil(lambda: searching.query is not None and searching.query.text == text and not searching.is_busy)
    qtbot.waitUntil(lambda: page.is_final)


def key(qtbot: QtBot, page: TimelinePage, code: Qt.Key, shift: bool = False) -> SliceRef | None:
    """Press a key in the search's line; the slice that is selected then."""
    modifier = Qt.KeyboardModifier.ShiftModifier if shift else Qt.KeyboardModifier.NoModifier
    qtbot.keyClick(page.search_bar.edit, code, modifier)
    qtbot.waitUntil(lambda: page.is_final)
    return page.timeline.session.selection


def test_slash_searches_all_names_and_counts_them(qtbot: QtBot, page: TimelinePage) -> None:
    search(qtbot, page, "gemm")
    assert page.search_bar.count.text() == "3 slices of 2 names"
    page.search_bar.edit.clear()
    qtbot.keyClicks(page.search_bar.edit, "nothing like it")
    settle(qtbot, page, "nothing like it")
    assert page.search_bar.count.text() == "0 slices of 0 names" and not page.search_bar.next.isEnabled()


def test_enter_and_f3_walk_the_matches_by_start_and_around(qtbot: QtBot, page: TimelinePage) -> None:
    search(qtbot, page, "gemm")
    first, second, third = (SliceRef(0, "device", row) for row in (0, 2, 3))
    assert key(qtbot, page, Qt.Key.Key_Return) == first
    assert page.search_bar.edit.hasFocus(), "the next Enter goes on"
    assert key(qtbot, page, Qt.Key.Key_F3) == second
    assert key(qtbot, page, Qt.Key.Key_Return) == third
    assert key(qtbot, page, Qt.Key.Key_Return) == first
    assert "other end" in page.search_bar.count.text()
    assert key(qtbot, page, Qt.Key.Key_Return, shift=True) == third
    assert key(qtbot, page, Qt.Key.Key_F3, shift=True) == second


def test_what_is_gone_to_is_in_sight_and_wide_enough(qtbot: QtBot, page: TimelinePage) -> None:
    search(qtbot, page, "gemm<b>")
    key(qtbot, page, Qt.Key.Key_Return)
    view = page.timeline.view
    assert view.begin_ns <= 0, "a slice that is seen well leaves the view as it is"
    key(qtbot, page, Qt.Key.Key_Return)
    view = page.timeline.view
    assert view.begin_ns < 70_000 and view.end_ns > 70_010 and view.x_px(70_010) - view.x_px(70_000) >= 8


def test_the_search_covers_the_whole_profile_not_the_view(qtbot: QtBot, page: TimelinePage) -> None:
    page.timeline.session.show(1_000, 2_000)
    search(qtbot, page, "gemm_last")
    assert page.search_bar.count.text() == "1 slice of 1 name"
    assert key(qtbot, page, Qt.Key.Key_Return) == SliceRef(0, "device", 3)
    assert page.timeline.view.begin_ns < 90_000 < page.timeline.view.end_ns


def test_n_walks_from_the_timeline_and_goes_on_from_the_view(qtbot: QtBot, page: TimelinePage) -> None:
    search(qtbot, page, "gemm")
    page.timeline.setFocus()
    page.timeline.session.show(65_000, 95_000)
    qtbot.keyClick(page.timeline, Qt.Key.Key_N)
    qtbot.waitUntil(lambda: page.is_final)
    assert page.timeline.session.selection == SliceRef(0, "device", 2)
    qtbot.keyClick(page.timeline, Qt.Key.Key_N, Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: page.is_final)
    assert page.timeline.session.selection == SliceRef(0, "device", 0)
    assert page.timeline.hasFocus()


def test_n_without_a_search_opens_it(qtbot: QtBot, page: TimelinePage) -> None:
    qtbot.keyClick(page.timeline, Qt.Key.Key_N)
    assert page.search_bar.edit.hasFocus()


def test_others_are_dimmed_until_the_search_is_closed(qtbot: QtBot, page: TimelinePage) -> None:
    search(qtbot, page, "gemm")
    drawing = page.timeline.draw_list()
    assert drawing is not None
    assert int(np.sum(drawing.slices.colour != DIMMED)) >= 1 and (drawing.slices.colour == DIMMED).any()
    qtbot.keyClick(page.search_bar.edit, Qt.Key.Key_Escape)
    assert page.timeline.hasFocus() and not page.search_bar.isVisible()
    drawing = page.timeline.draw_list()
    assert drawing is not None and (drawing.slices.colour != DIMMED).all()
    qtbot.keyClick(page.timeline, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert page.search_bar.edit.hasFocus() and page.search_bar.edit.selectedText() == "gemm"


def test_a_regular_expression_is_asked_for_and_its_faults_are_said(qtbot: QtBot, page: TimelinePage) -> None:
    search(qtbot, page, "^gemm.b")
    assert page.search_bar.count.text() == "0 slices of 0 names"
    page.search_bar.regex.click()
    qtbot.waitUntil(lambda: page.search_bar.count.text() == "2 slices of 1 name")
    qtbot.keyClicks(page.search_bar.edit, "(")
    qtbot.waitUntil(lambda: "missing )" in page.search_bar.count.text())
    assert "\n" not in page.search_bar.count.text() and not page.search_bar.next.isEnabled()
    qtbot.keyClick(page.search_bar.edit, Qt.Key.Key_Backspace)
    qtbot.waitUntil(lambda: page.search_bar.count.text() == "2 slices of 1 name")


def test_the_names_are_listed_and_lead_to_their_first_slice(qtbot: QtBot, page: TimelinePage) -> None:
    search(qtbot, page, "gemm")
    page.search_bar.list.click()
    pane = page.matches
    assert page.panes.currentWidget() is pane and pane.table.hasFocus()
    assert [pane.table.texts(row) for row in range(2)] == [
        ["gemm<b>", "2", "20.010 µs", "10.005 µs"],
        ["gemm_last", "1", "1 µs", "1 µs"],
    ]
    pane.table.sortByColumn(2, Qt.SortOrder.AscendingOrder)
    assert pane.table.texts(0)[0] == "gemm_last"
    item = pane.table.item(0, 0)
    assert item is not None
    qtbot.mouseClick(pane.table.viewport(), Qt.MouseButton.LeftButton, pos=pane.table.visualItemRect(item).center())
    qtbot.waitUntil(lambda: page.is_final and page.timeline.session.selection == SliceRef(0, "device", 3))


def test_another_profile_is_searched_for_the_same(qtbot: QtBot, page: TimelinePage, tmp_path: Path) -> None:
    search(qtbot, page, "gemm")
    other = make_profile(tmp_path / "other", "process 0 window=0:9\ndevice 0 X used\nkernel 0/7 1+1 gemm")
    page.timeline.session.open(other)
    qtbot.waitUntil(lambda: page.is_final and page.search_bar.count.text() == "1 slice of 1 name")
    page.timeline.session.close()
    assert not page.timeline.searching.is_busy
    qtbot.keyClick(page.search_bar.edit, Qt.Key.Key_Return)


def test_names_in_the_list_follow_the_form_of_kernel_names(qtbot: QtBot, page: TimelinePage) -> None:
    profile = make_profile(
        page.timeline.session.profile.processes[0].folder / "other",  # type: ignore[union-attr]
        "process 0 window=0:9\nthread 1 main\ndevice 0 X used\nkernel 0/7 1+3 _ZN2at4copyEi\nannotation 1 1+2 copy(1)",
    )
    page.timeline.session.open(profile)
    qtbot.waitUntil(lambda: page.is_final)
    search(qtbot, page, "copy")
    table = page.matches.table
    for form, name in (("recorded", "_ZN2at4copyEi"), ("demangled", "at::copy(int)"), ("base", "at::copy")):
        page.timeline.settings.set("names", form)
        assert [table.texts(row)[0] for row in range(2)] == [name, "copy(1)"]


def test_keys_that_a_pane_has_no_use_for_are_the_timelines(qtbot: QtBot, page: TimelinePage) -> None:
    page.show_pane(page.marks)
    page.marks.table.setFocus()
    qtbot.keyClick(page.marks.table, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert page.search_bar.isVisible()


def test_walking_shows_what_each_match_is(qtbot: QtBot, page: TimelinePage) -> None:
    page.show_pane(page.marks)
    qtbot.keyClick(page.timeline, Qt.Key.Key_Slash)
    qtbot.keyClicks(page.search_bar.edit, "gemm")
    qtbot.waitUntil(lambda: not page.timeline.searching.is_busy)
    qtbot.keyClick(page.search_bar.edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page.timeline.session.selection is not None)
    assert page.panes.currentWidget() is page.details
