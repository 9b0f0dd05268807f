"""The Area pane: what it shows of an area, and where its rows lead."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from smprof_desktop.dashboard.figures_table import FiguresTable, harmless
from smprof_desktop.session import Area, Session, SliceRef
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline.lanes import build
from smprof_desktop.window.area_pane import NO_AREA, lanes_in, percent_text
from smprof_desktop.window.timeline_page import TimelinePage
from tests.make_profile import make_profile
from tests.timeline.test_gestures import LEFT, mouse

TEXT = """
host algo-1
process 0 pid=100
annotation 1 0+100000 step_0
api 1 2000+4000 cudaLaunchKernel corr=5
kernel 0/7 30000+20000 gemm corr=5
kernel 0/7 60000+1000 =HYPERLINK("x")
kernel 0/8 70000+1000 gemm
kernel 0/8 71000+500 <b>
"""
STREAM_7, STREAM_8 = (f"host:algo-1/gpus/process:0/gpu:0/stream:{stream}" for stream in (7, 8))


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path) -> Iterator[TimelinePage]:
    session, tasks = Session(), Tasks()
    session.open(make_profile(tmp_path, TEXT.replace('=HYPERLINK("x")', "'=HYPERLINK(x)'")))
    made = TimelinePage(session, tasks, Settings(None))
    qtbot.addWidget(made)
    made.resize(1300, 800)
    with qtbot.waitExposed(made):
        made.show()
    qtbot.waitUntil(lambda: made.is_final)
    yield made
    assert tasks.close()


def select(page: TimelinePage, qtbot: QtBot, area: Area) -> None:
    page.show_pane(page.area)
    page._session.select_area(area)
    assert not page.area.is_final  # it waits until the area is at rest
    qtbot.waitUntil(lambda: page.area.is_final)


def rows(table: FiguresTable) -> list[list[str]]:
    return [table.model.texts(row) for row in range(table.model.rowCount())]


def click(table: FiguresTable, row: int, qtbot: QtBot, column: int = 0) -> None:
    at = table.view.visualRect(table.model.index(row, column)).center()
    qtbot.mouseClick(table.view.viewport(), Qt.MouseButton.LeftButton, pos=at)


def test_it_says_how_to_select_an_area_while_there_is_none(page: TimelinePage) -> None:
    page.show_pane(page.area)
    assert page.area.head.text() == NO_AREA and page.area.is_empty
    assert page.area.least_height_px < 100


def test_names_and_lanes_are_summed_up_within_the_area(page: TimelinePage, qtbot: QtBot) -> None:
    select(page, qtbot, Area(40_000, 70_500, (STREAM_7, STREAM_8)))
    assert rows(page.area.names) == [
        ["All 2 names", "", "3", "11.500 µs", "18.9 %", "1.000 µs", "7.333 µs", "20.000 µs"],
        ["gemm", "device", "2", "10.500 µs", "17.2 %", "1.000 µs", "10.500 µs", "20.000 µs"],
        ["=HYPERLINK(x)", "device", "1", "1.000 µs", "1.6 %", "1.000 µs", "1.000 µs", "1.000 µs"],
    ]
    assert [row[:4] for row in rows(page.area.lanes)] == [
        ["All 2 lanes", "3", "11.500 µs", "18.9 %"],
        ["stream 7", "2", "11.000 µs", "36.1 %"],
        ["stream 8", "1", "500 ns", "1.6 %"],
    ]
    assert "30.500 µs from" in page.area.head.text() and "× 2 lanes = 61.000 µs" in page.area.head.text()


def test_a_drag_over_the_lanes_brings_the_pane_to_the_front(page: TimelinePage, qtbot: QtBot) -> None:
    timeline = page.timeline
    y_px = round(timeline.opened_scene().metrics.overview_px) + 8
    begin = QPoint(round(timeline.header_px) + 200, y_px)
    qtbot.mousePress(timeline.viewport(), Qt.MouseButton.LeftButton, pos=begin)
    for x_px in (10, 60, 120):
        mouse(timeline, QEvent.Type.MouseMove, begin + QPoint(x_px, 0), LEFT)
    assert page.panes.currentWidget() is not page.area  # not while it would push the lanes away
    qtbot.mouseRelease(timeline.viewport(), Qt.MouseButton.LeftButton, pos=begin + QPoint(120, 0))
    assert page.panes.currentWidget() is page.area
    qtbot.waitUntil(lambda: page.area.is_final)
    assert page.area.lanes.model.rowCount() > 2


def test_the_panes_are_reached_by_keys(page: TimelinePage, qtbot: QtBot) -> None:
    select(page, qtbot, Area(40_000, 70_500, (STREAM_7, STREAM_8)))
    page.timeline.setFocus()
    qtbot.keyClick(page.timeline, Qt.Key.Key_A, Qt.KeyboardModifier.AltModifier)
    assert page.area.names.view.hasFocus()
    qtbot.keyClick(page.area.names.view, Qt.Key.Key_Down)
    qtbot.keyClick(page.area.names.view, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page._session.selection is not None)
    page.timeline.setFocus()
    qtbot.keyClick(page.timeline, Qt.Key.Key_D, Qt.KeyboardModifier.AltModifier)
    assert page.panes.currentWidget() is page.histogram
    qtbot.waitUntil(lambda: page.is_final and bool(page.histogram.chart.counts))


def test_a_click_on_a_name_selects_its_longest_slice_in_the_area(page: TimelinePage, qtbot: QtBot) -> None:
    select(page, qtbot, Area(55_000, 90_000, (STREAM_7, STREAM_8)))
    session = page._session
    assert [row[0] for row in rows(page.area.names)] == ["All 3 names", "=HYPERLINK(x)", "gemm", "<b>"]
    click(page.area.names, 0, qtbot)
    click(page.area.names, 2, qtbot)
    qtbot.waitUntil(lambda: session.selection is not None)
    profile = session.profile
    assert profile is not None
    starts = profile.processes[0].table("device")["start_ns"].tolist()
    assert session.selection == SliceRef(0, "device", starts.index(70_000))  # not the longer one before the area
    assert page.panes.currentWidget() is page.area


def test_a_click_on_a_lane_reveals_it(page: TimelinePage, qtbot: QtBot) -> None:
    select(page, qtbot, Area(0, 90_000))
    timeline = page.timeline
    timeline.set_expanded(frozenset())
    labels = [row[0] for row in rows(page.area.lanes)]
    click(page.area.lanes, labels.index("stream 8"), qtbot)
    assert timeline.focus_key == STREAM_8
    assert STREAM_8 in timeline.opened_scene().layout(timeline.frame()).index


def test_tables_are_sorted_by_a_click_on_a_heading_under_their_sum(page: TimelinePage, qtbot: QtBot) -> None:
    select(page, qtbot, Area(0, 90_000, (STREAM_7, STREAM_8)))
    header = page.area.names.view.horizontalHeader()
    for expected in (["<b>", "=HYPERLINK(x)", "gemm"], ["gemm", "=HYPERLINK(x)", "<b>"]):
        at = QPoint(header.sectionViewportPosition(0) + 20, header.height() // 2)
        qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)
        assert [row[0] for row in rows(page.area.names)] == ["All 3 names", *expected]
        assert page.area.names.view.isRowHidden(0) and page.area.names.sum.isVisible()  # it is pinned below them
    view, pinned = page.area.names.view, page.area.names.sum
    view.setColumnWidth(2, 300)
    assert pinned.columnWidth(2) == 300 and pinned.rowAt(3) == 0 and pinned.height() < 2 * pinned.rowHeight(0)


def test_a_filter_finds_names_and_sums_them_up(page: TimelinePage, qtbot: QtBot) -> None:
    select(page, qtbot, Area(0, 90_000, (STREAM_7, STREAM_8)))
    qtbot.keyClicks(page.area.names.filter, "GEM")
    assert [row[:4] for row in rows(page.area.names)] == [
        ["1 name", "", "2", "21.000 µs"],
        ["gemm", "device", "2", "21.000 µs"],
    ]
    page.area.names.filter.setText("nothing")
    assert rows(page.area.names) == [] and not page.area.names.save_button.isEnabled()


def test_rows_are_copied_with_their_headings(page: TimelinePage, qtbot: QtBot) -> None:
    select(page, qtbot, Area(0, 90_000, (STREAM_8,)))
    view = page.area.names.view
    view.setFocus()
    view.clearSelection()
    qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = QGuiApplication.clipboard().text().split("\n")
    assert lines[0].split("\t")[:4] == ["Name", "On", "Count", "Total"] and len(lines) == 4
    view.selectRow(2)
    qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().split("\t")[:3] == ["<b>", "device", "1"]


def test_csv_holds_whole_ns_and_no_formula(
    page: TimelinePage, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    select(page, qtbot, Area(40_000, 70_500, (STREAM_7, STREAM_8)))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "totals"), ""))
    qtbot.mouseClick(page.area.names.save_button, Qt.MouseButton.LeftButton)
    text = (tmp_path / "totals.csv").read_bytes().decode("utf-8-sig")
    found = list(csv.reader(io.StringIO(text, newline="")))
    assert found[0] == ["name", "on", "count", "total_ns", "share", "min_ns", "mean_ns", "max_ns"]
    assert found[1][:4] == ["gemm", "device", "2", "10500"] and found[1][5:] == ["1000", "10500", "20000"]
    assert found[2][0] == "'=HYPERLINK(x)"
    assert page.area.head.text().endswith(f"\nSaved as {tmp_path / 'totals.csv'}.")
    page.area.names.save_to(tmp_path / "none" / "x.csv")
    assert "cannot be written" in page.area.head.text()


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_what_a_spreadsheet_would_work_out_is_quoted(text: str) -> None:
    assert harmless(text) == f"'{text}" and harmless("a=1") == "a=1" and harmless(-1) == -1


def test_only_the_newest_area_is_shown(page: TimelinePage, qtbot: QtBot) -> None:
    page.show_pane(page.area)
    for end_ns in range(40_000, 70_000, 1_000):
        page._session.select_area(Area(30_000, end_ns, (STREAM_7,)))
    qtbot.waitUntil(lambda: page.area.is_final)
    assert rows(page.area.names)[0][3] == "21.000 µs" and "39 µs from" in page.area.head.text()
    page._session.select_area(None)
    assert rows(page.area.names) == [] and page.area.head.text() == NO_AREA


def test_an_area_is_not_added_up_while_nobody_sees_it(page: TimelinePage, qtbot: QtBot) -> None:
    page._session.select_area(Area(0, 90_000))
    qtbot.wait(250)
    assert page.area.names.model.rowCount() == 0 and page._session.selection is None
    page.show_pane(page.area)
    qtbot.waitUntil(lambda: page.area.is_final)
    assert page.area.names.model.rowCount() > 1


def test_collapsed_groups_count_with_all_lanes_below_them(tmp_path: Path) -> None:
    tree = build(make_profile(tmp_path, TEXT))
    gpus = "host:algo-1/gpus"
    below = [lane.key for lane in tree.by_key[gpus].walk() if lane.rows]
    assert {STREAM_7, STREAM_8} < set(below)
    assert [lane.key for lane in lanes_in(tree, Area(0, 1, (gpus,)))] == below
    assert [lane.key for lane in lanes_in(tree, Area(0, 1, (gpus, STREAM_7)))] == [STREAM_7]
    assert [lane.key for lane in lanes_in(tree, Area(0, 1, (gpus,)), frozenset({STREAM_7}))] == [
        key for key in below if key != STREAM_7
    ]
    assert [lane.key for lane in lanes_in(tree, Area(0, 1))] == [lane.key for lane in tree.walk() if lane.rows]
    assert lanes_in(tree, Area(0, 1, ("gone",))) == []


def test_shares_never_claim_all_of_what_is_not() -> None:
    assert [percent_text(*pair) for pair in ((0, 0), (1, 1), (99_999, 100_000), (1, 100_000), (0, 5))] == [
        "–", "100.0 %", "99.9 %", "<0.1 %", "0.0 %",
    ]  # fmt: skip


def test_a_lane_that_is_hidden_no_longer_counts(page: TimelinePage, qtbot: QtBot) -> None:
    select(page, qtbot, Area(0, 100_000, (STREAM_7, STREAM_8)))
    assert "2 lanes · 4 slices" in page.area.head.text()
    page._session.notes.set("hidden", [STREAM_8])
    qtbot.waitUntil(lambda: page.area.is_final and "1 lane · 2 slices" in page.area.head.text())
