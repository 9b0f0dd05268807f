"""The Slices pane: a number of the dashboard leads to exactly the slices that sum to it, and these to the timeline."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from smprof_desktop.analysis.doors import Chosen, Door, Found, of_moments
from smprof_desktop.dashboard.legend import Legend
from smprof_desktop.dashboard.scope import Scope
from smprof_desktop.dashboard.view import DashboardView, Opened
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.window import slices_pane
from smprof_desktop.window.main_window import MainWindow
from smprof_desktop.window.slices_pane import NAME, NOTHING, SlicesPane
from smprof_desktop.window.timeline_page import TimelinePage
from tests.make_profile import write_profile

TEXT = (
    "process 0\nkernel 0/7 100+30 gemm\nkernel 0/7 1000+40 gemm\nkernel 0/7 2000+10 relu\nloss no_duration 3 here\n"
    "process 1\nkernel 0/7 500+20 gemm\nkernel 0/7 700+15 relu"
)
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def loaded(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> MainWindow:
    window.load([str(write_profile(tmp_path / "kernels", TEXT))])
    qtbot.waitUntil(lambda: window.is_final and window.session.profile is not None)
    return window


def pane_of(window: MainWindow) -> SlicesPane:
    page = window.page
    assert isinstance(page, TimelinePage) and page.panes.currentWidget() is page.slices
    return page.slices


def open_door(window: MainWindow, qtbot: QtBot, door: Door, processes: tuple[int, ...] | None = None) -> SlicesPane:
    profile = window.session.profile
    assert profile is not None
    scope = Scope(profile)
    scope.report()
    window.show_slices(Opened("Time spent", door, scope, processes))
    qtbot.waitUntil(lambda: window.is_final)
    return pane_of(window)


def rows(pane: SlicesPane) -> list[list[str]]:
    return [[pane.model.text(row, column) for column in range(5)] for row in range(pane.model.rowCount())]


def click(pane: SlicesPane, qtbot: QtBot, row: int, column: int = 0) -> None:
    at = pane.table.visualRect(pane.model.index(row, column)).center()
    qtbot.mouseClick(pane.table.viewport(), LEFT, pos=at)


def test_a_click_in_a_legend_lists_the_slices_of_that_number(loaded: MainWindow, qtbot: QtBot) -> None:
    dashboard = loaded.page
    assert isinstance(dashboard, DashboardView)
    legend = next(card for card in dashboard.cards if card.panel.key == "top_kernels_by_time").findChild(Legend)
    assert isinstance(legend, Legend)
    place = [row[0] for row in legend.rows.rows].index("gemm")
    assert legend.rows.rows[place][1] == "90 ns"
    qtbot.mouseClick(legend.viewport(), LEFT, pos=legend.visualRect(legend.rows.index(place, 0)).center())
    qtbot.waitUntil(lambda: loaded.page_key == "timeline" and loaded.is_final)
    pane = pane_of(loaded)
    assert rows(pane) == [
        ["gemm", "900 ns", "40 ns", "GPU-0, stream 7", "algo-1 · 0"],
        ["gemm", "0 ns", "30 ns", "GPU-0, stream 7", "algo-1 · 0"],
        ["gemm", "400 ns", "20 ns", "GPU-0, stream 7", "algo-1 · 1"],
    ]
    assert "3 slices, 90 ns in all." in pane.head.text()
    assert "3 × a slice without a readable duration" in pane.losses.text() and pane.losses.isVisible()
    assert loaded.session.selection == SliceRef(0, "device", 1)  # the longest, selected and framed
    assert (loaded.session.begin_ns, loaded.session.end_ns) == (960, 1080)


def test_a_row_leads_to_its_slice_by_a_click_and_by_enter(loaded: MainWindow, qtbot: QtBot) -> None:
    pane = open_door(loaded, qtbot, Chosen("device", names=frozenset(("gemm",))).door("gemm", "all kernel time"))
    assert pane.head.text().endswith("Of: all kernel time.")
    click(pane, qtbot, 2)
    assert loaded.session.selection == SliceRef(1, "device", 0)
    assert (loaded.session.begin_ns, loaded.session.end_ns) == (480, 540)
    pane.table.setFocus()
    pane.table.setCurrentIndex(pane.model.index(1, 0))
    qtbot.keyClick(pane.table, Qt.Key.Key_Return)
    assert loaded.session.selection == SliceRef(0, "device", 0)
    loaded.go_back()
    assert (loaded.session.begin_ns, loaded.session.end_ns) == (480, 540)


@pytest.mark.parametrize("at_once", [0, 200_000], ids=["beside the window", "at once"])
def test_it_is_sorted_by_any_heading(
    loaded: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(slices_pane, "AT_ONCE", at_once)
    pane = open_door(loaded, qtbot, Chosen("device").door("All"))
    header = pane.table.horizontalHeader()
    for column, expected in ((1, "100 ns"), (0, "relu"), (4, "algo-1 · 1")):
        at = QPoint(header.sectionViewportPosition(column) + 15, header.height() // 2)
        for _ in range(2 if column != 1 else 1):
            qtbot.mouseClick(header.viewport(), LEFT, pos=at)
        qtbot.waitUntil(lambda: pane.is_final)
        orders = {rows(pane)[0][column], rows(pane)[-1][column]}
        assert expected in orders or column == 1
    starts = [row[1] for row in rows(pane)]
    assert len(starts) == 5 and rows(pane)[0][4] == "algo-1 · 1"


def test_moments_without_a_slice_are_shown_as_ranges(loaded: MainWindow, qtbot: QtBot) -> None:
    door = Door("Idle", lambda _p, _c: of_moments(1, np.array([520, 720]), np.array([700, 730])), "the window")
    pane = open_door(loaded, qtbot, door)
    assert "2 moments without a slice, 190 ns in all. Of: the window." in pane.head.text()
    assert rows(pane)[0] == ["(no slice)", "420 ns", "180 ns", "–", "algo-1 · 1"]
    assert loaded.session.selection is None and (loaded.session.begin_ns, loaded.session.end_ns) == (340, 880)


def test_a_row_of_one_process_is_found_in_the_whole_profile(loaded: MainWindow, qtbot: QtBot) -> None:
    profile = loaded.session.profile
    assert profile is not None
    from smprof_desktop.dashboard.scope import narrowed

    scope = Scope(narrowed(profile, (1,)))
    loaded.show_slices(Opened("Time spent", Chosen("device").door("All"), scope, (1,)))
    qtbot.waitUntil(lambda: loaded.is_final)
    assert loaded.session.selection == SliceRef(1, "device", 0) and pane_of(loaded).model.rowCount() == 2


def test_a_door_to_nothing_and_one_that_fails_say_so(loaded: MainWindow, qtbot: QtBot) -> None:
    pane = open_door(loaded, qtbot, Door("None", lambda _p, _c: Found.joined(())))
    assert pane.head.text() == "Time spent · None: no slices." and pane.is_empty

    def broken(_profile: object, _cancelled: object) -> Found:
        raise ZeroDivisionError("of all things")

    pane = open_door(loaded, qtbot, Door("Broken", broken))
    assert "fault of the program" in pane.head.text()
    loaded.session.close()
    assert pane.head.text() == NOTHING


def test_rows_are_copied_with_exact_times(loaded: MainWindow, qtbot: QtBot) -> None:
    pane = open_door(loaded, qtbot, Chosen("device").door("All"))
    pane.table.setFocus()
    qtbot.keyClick(pane.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = QGuiApplication.clipboard().text().split("\n")
    assert lines[0] == "Name\tStart\tDuration\tLane\tProcess"
    assert len(lines) == 2 and lines[1].startswith("gemm\t900 ns")


def test_millions_of_slices_are_listed_by_what_is_seen(loaded: MainWindow, qtbot: QtBot) -> None:
    count = 3_000_000
    starts = np.arange(count, dtype=np.int64) * 10
    pane = open_door(loaded, qtbot, Door("Many", lambda _p, _c: of_moments(0, starts, starts + 5)))
    assert pane.model.rowCount() == count and f"{count:,} moments" in pane.head.text()
    asked: list[int] = []
    text = pane.model.text

    def counted(row: int, column: int, exact: bool = False) -> str:
        asked.append(row)
        return text(row, column, exact)

    pane.model.text = counted  # type: ignore[method-assign]
    pane.table.scrollToBottom()
    pane.table.grab()
    assert max(asked) == count - 1 and len(set(asked)) < 100 and NAME == 0


def test_a_moment_of_a_line_is_shown_on_the_timeline(loaded: MainWindow, qtbot: QtBot) -> None:
    dashboard = loaded.page
    assert isinstance(dashboard, DashboardView)
    card = next(card for card in dashboard.cards if card.panel.key == "gpu_utilization_over_time")
    assert card.chart is not None
    card.chart.setFocus()
    qtbot.keyClick(card.chart, Qt.Key.Key_Home)
    qtbot.keyClick(card.chart, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: loaded.page_key == "timeline" and loaded.is_final)
    assert loaded.session.begin_ns == 100 and loaded.session.end_ns < 120


def test_after_a_sort_the_keyboard_is_on_the_same_slice(loaded: MainWindow, qtbot: QtBot) -> None:
    pane = open_door(loaded, qtbot, Chosen("device").door("all"))
    click(pane, qtbot, 1)
    qtbot.waitUntil(lambda: loaded.is_final)
    before = pane.model.text(pane.table.currentIndex().row(), 1, exact=True)
    for column in (1, 2, 1):
        pane.table.sortByColumn(column, Qt.SortOrder.AscendingOrder)
        assert pane.model.text(pane.table.currentIndex().row(), 1, exact=True) == before
        assert len(pane.table.selectionModel().selectedRows()) == 1
