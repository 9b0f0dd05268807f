"""The Histogram pane: bars of the selected name, the selected slice among them, and where bars lead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from smprof_desktop.session import Session, SliceRef
from smprof_desktop.tasks import Tasks
from smprof_desktop.window.bar_chart import BarChart
from smprof_desktop.window.histogram_pane import NOTHING_SELECTED, HistogramPane
from tests.make_profile import make_profile

TEXT = """
process 0
kernel 0/7 0+1000 gemm<float>
kernel 0/7 2000+1100 gemm<float>
kernel 0/7 4000+9000 gemm<float>
kernel 0/8 60000+500 relu
process 1
kernel 0/7 0+5000 gemm<float>
"""


@pytest.fixture
def pane(qtbot: QtBot, tmp_path: Path) -> Iterator[HistogramPane]:
    session, tasks = Session(), Tasks()
    session.open(make_profile(tmp_path, TEXT))
    made = HistogramPane(session, tasks)
    qtbot.addWidget(made)
    made.resize(900, 260)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    assert tasks.close()


def ref_of(pane: HistogramPane, start_ns: int, process: int = 0) -> SliceRef:
    profile = pane._session.profile
    assert profile is not None
    starts = profile.processes[process].table("device")["start_ns"].tolist()
    return SliceRef(process, "device", starts.index(start_ns))


def select(pane: HistogramPane, qtbot: QtBot, ref: SliceRef) -> None:
    pane._session.select(ref)
    qtbot.waitUntil(lambda: pane.is_final)


def test_it_says_what_to_do_while_nothing_is_selected(pane: HistogramPane) -> None:
    assert pane.head.text() == NOTHING_SELECTED and pane.is_empty and not pane.chart.isVisible()


def test_the_selected_slice_is_marked_among_those_of_its_name(pane: HistogramPane, qtbot: QtBot) -> None:
    select(pane, qtbot, ref_of(pane, 2000))
    chart, bins = pane.chart, pane.bins
    assert bins is not None and sum(chart.counts) == 3 and chart.counts[0] == 2 and chart.counts[-1] == 1
    assert chart.marked == 0 and pane.head.text() == "gemm<float>"
    assert pane.foot.text().startswith("selected: 1.100 µs · 3 in its process · least 1.000 µs")
    select(pane, qtbot, ref_of(pane, 4000))
    assert chart.marked == len(chart.counts) - 1
    pane._session.select(None)
    assert pane.head.text() == NOTHING_SELECTED and not chart.counts


def test_all_processes_are_counted_when_asked_for(pane: HistogramPane, qtbot: QtBot) -> None:
    select(pane, qtbot, ref_of(pane, 2000))
    qtbot.mouseClick(pane.everywhere, Qt.MouseButton.LeftButton, pos=pane.everywhere.rect().center() * 0.2)
    qtbot.waitUntil(lambda: pane.is_final and sum(pane.chart.counts) == 4)
    assert "4 in all processes" in pane.foot.text()


def test_a_bar_leads_to_a_slice_in_it(pane: HistogramPane, qtbot: QtBot) -> None:
    select(pane, qtbot, ref_of(pane, 0))
    last = len(pane.chart.counts) - 1
    at = pane.chart.bar(last).center().toPoint()
    qtbot.mouseMove(pane.chart, at)
    qtbot.waitUntil(lambda: pane.chart.current == last)
    assert "1 of 3, 33.3 % · click to go to one of them" in pane.foot.text()
    assert pane.foot.text().split(":")[0].endswith("µs")
    qtbot.mouseClick(pane.chart, Qt.MouseButton.LeftButton, pos=at)
    assert pane._session.selection == ref_of(pane, 4000)
    qtbot.waitUntil(lambda: pane.is_final)
    assert pane.chart.marked == last


def test_an_empty_bin_leads_nowhere(pane: HistogramPane, qtbot: QtBot) -> None:
    select(pane, qtbot, ref_of(pane, 0))
    empty = pane.chart.counts.index(0)
    qtbot.mouseClick(pane.chart, Qt.MouseButton.LeftButton, pos=pane.chart.bar(empty).center().toPoint())
    assert pane._session.selection == ref_of(pane, 0)


def test_bars_are_reached_by_keys(pane: HistogramPane, qtbot: QtBot) -> None:
    select(pane, qtbot, ref_of(pane, 0))
    pane.chart.setFocus()
    qtbot.keyClick(pane.chart, Qt.Key.Key_Right)
    assert pane.chart.current == 0
    qtbot.keyClick(pane.chart, Qt.Key.Key_Right)
    qtbot.keyClick(pane.chart, Qt.Key.Key_Left)
    assert pane.chart.current == 0
    qtbot.keyClick(pane.chart, Qt.Key.Key_End)
    qtbot.keyClick(pane.chart, Qt.Key.Key_Return)
    assert pane._session.selection == ref_of(pane, 4000)


def test_logarithmic_bins_hold_the_same_slices(pane: HistogramPane, qtbot: QtBot) -> None:
    select(pane, qtbot, ref_of(pane, 4000))
    before = pane.chart.edges_ns
    pane.logarithmic.setChecked(True)
    assert pane.chart.edges_ns != before and sum(pane.chart.counts) == 3
    assert pane.chart.marked == len(pane.chart.counts) - 1


def test_another_slice_of_the_same_name_gathers_nothing_anew(pane: HistogramPane, qtbot: QtBot) -> None:
    select(pane, qtbot, ref_of(pane, 0))
    shown = pane._shown
    select(pane, qtbot, ref_of(pane, 4000))
    assert pane._shown is shown
    select(pane, qtbot, ref_of(pane, 60_000))
    assert pane._shown is not shown and pane.head.text() == "relu"


def test_nothing_is_gathered_while_nobody_sees_it(pane: HistogramPane, qtbot: QtBot) -> None:
    pane.hide()
    pane._session.select(ref_of(pane, 0))
    assert pane._tasks.is_idle
    pane.show()
    qtbot.waitUntil(lambda: pane.is_final)
    assert sum(pane.chart.counts) == 3


def test_a_bar_is_as_high_as_its_count_and_never_unseen(qtbot: QtBot) -> None:
    chart = BarChart()
    qtbot.addWidget(chart)
    chart.resize(500, 200)
    chart.show_bins((0, 10, 20, 30), (1_000_000, 1, 0), 1)
    heights_px = [chart.bar(index).height() for index in range(3)]
    assert heights_px[0] > 100 and heights_px[1] >= 2 and heights_px[2] == 0
    assert [chart.bin_at(chart.bar(index).center()) for index in range(3)] == [0, 1, 2]
    picture = QImage(chart.size(), QImage.Format.Format_RGB32)
    chart.render(picture)
    inside = chart.bar(0).center().toPoint()
    assert picture.pixel(inside) != picture.pixel(chart.bar(2).center().toPoint())
