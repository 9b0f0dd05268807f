"""Tables and bars, and how every chart leads to the slices behind a number: by a click and by the keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from smprof_desktop.analysis.doors import Door, Found
from smprof_desktop.dashboard.bars import BarsChart
from smprof_desktop.dashboard.chart import Chart
from smprof_desktop.dashboard.charts import HistogramChart, LinesChart, chart
from smprof_desktop.dashboard.figures import Bars, Column, Histogram, Line, Lines, Pie, Share, Table
from smprof_desktop.dashboard.pie import PieChart
from smprof_desktop.dashboard.table_chart import TableChart

LEFT = Qt.MouseButton.LeftButton
COLUMNS = (Column("Kernel", "name"), Column("Count", "count"), Column("Total", "ns", "All of them"))


def door(title: str) -> Door:
    return Door(title, lambda _profile, _cancelled: Found.joined(()))


def shown(qtbot: QtBot, widget: Chart, width: int = 700, height: int = 360) -> list[str]:
    """Shows a chart; the titles of the doors that are opened from then on."""
    qtbot.addWidget(widget)
    widget.resize(width, height)
    with qtbot.waitExposed(widget):
        widget.show()
    opened: list[str] = []
    widget.opened.connect(lambda found: opened.append(found.title))
    return opened


def table(rows: list[tuple[Any, ...]], totals: tuple[Any, ...] | None = None) -> TableChart:
    doors = [door(str(row[0])) for row in rows]
    made = chart(Table(COLUMNS, rows, "all kernel time", doors, totals), "All kernels")
    assert isinstance(made, TableChart)
    return made


def texts(made: TableChart) -> list[list[str]]:
    model = made.table.model
    return [model.texts(row) for row in range(1, model.rowCount())]


def click(qtbot: QtBot, view: Any, row: int, column: int = 0) -> None:
    at = view.visualRect(view.model().index(row, column)).center()
    qtbot.mouseClick(view.viewport(), LEFT, pos=at)


def sort_by(qtbot: QtBot, made: TableChart, column: int) -> None:
    header = made.table.view.horizontalHeader()
    at = QPoint(header.sectionViewportPosition(column) + 15, header.height() // 2)
    qtbot.mouseClick(header.viewport(), LEFT, pos=at)


def test_a_table_is_sorted_exactly_and_each_row_is_a_door(qtbot: QtBot) -> None:
    big = (1 << 62) + 1
    made = table([("b", 2, big - 1), ("a<1>", 10, big), ("c", None, None)], ("All", 12, 2 * big - 1))
    opened = shown(qtbot, made)
    assert [row[0] for row in texts(made)] == ["b", "a<1>", "c"]
    sort_by(qtbot, made, 2)
    assert [row[0] for row in texts(made)] == ["a<1>", "b", "c"]  # float64 would take both for equal
    sort_by(qtbot, made, 2)
    assert [row[0] for row in texts(made)] == ["b", "a<1>", "c"] and texts(made)[2] == ["c", "–", "–"]
    assert made.table.model.texts(0)[:2] == ["All", "12"] and made.table.sum.isVisible()
    click(qtbot, made.table.view, 2)
    made.table.view.setFocus()
    made.table.view.selectRow(3)
    qtbot.keyClick(made.table.view, Qt.Key.Key_Return)
    assert opened == ["a<1>", "c"]


def test_a_filter_finds_rows_and_copies_are_in_full(qtbot: QtBot, tmp_path: Path) -> None:
    name = "k" * 3_000
    made = table([(name, 1, 5), ("=gemm", 2, 7)])
    shown(qtbot, made)
    assert not made.table.sum.isVisible()
    view = made.table.view
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().split("\n") == [
        "Kernel\tCount\tTotal",
        f"{name}\t1\t5 ns",
        "=gemm\t2\t7 ns",
    ]
    qtbot.keyClicks(made.table.filter, "GEM")
    assert texts(made) == [["=gemm", "2", "7 ns"]]
    made.table.save_to(tmp_path / "kernels.csv")
    saved = (tmp_path / "kernels.csv").read_bytes().decode("utf-8-sig")
    assert saved.splitlines() == ["Kernel,Count,Total (ns)", "'=gemm,2,7"]


def test_thousands_of_rows_are_only_read_where_they_are_seen(qtbot: QtBot) -> None:
    made = table([(f"kernel {place}", place, place * 1_000) for place in range(5_000)])
    shown(qtbot, made)
    asked: set[int] = set()
    model, data = made.table.model, made.table.model.data

    def counted(index: Any, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        asked.add(index.row())
        return data(index, role)

    model.data = counted  # type: ignore[method-assign]
    made.grab()
    assert 3 < len(asked) < 60


def test_a_table_wider_than_its_place_is_scrolled_with_its_sum(qtbot: QtBot) -> None:
    columns = (Column("Kernel", "name"), *(Column(f"Column {place}", "ns") for place in range(12)))
    made = chart(Table(columns, [("gemm", *[10**9] * 12)], "", (), ("All", *[10**9] * 12)), "Wide")
    assert isinstance(made, TableChart)
    shown(qtbot, made, 500)
    bar = made.table.view.horizontalScrollBar()
    assert bar.maximum() > 0 and made.table.view.columnWidth(0) >= 170
    bar.setValue(bar.maximum())
    assert made.table.sum.columnViewportPosition(12) == made.table.view.columnViewportPosition(12)


def bars(count: int, marked: tuple[int, ...] = ()) -> BarsChart:
    figure = Bars(
        tuple(f"step_{place}" for place in range(count)),
        ("compute", "idle"),
        (np.arange(1, count + 1) * 1_000, np.full(count, 500, np.int64)),
        "ns",
        "the steps",
        marked,
        tuple(door(f"step_{place}") for place in range(count)),
    )
    made = chart(figure, "Steps")
    assert isinstance(made, BarsChart)
    return made


def test_a_bar_tells_its_parts_and_is_a_door(qtbot: QtBot) -> None:
    made = bars(5, (3,))
    opened = shown(qtbot, made)
    assert made.legend.rows.rows == [["compute", "15.000 µs"], ["idle", "2.500 µs"]]
    assert made.where.text() == "5 bars · ▼ 1 stand out"
    at = made.plot.bar_rect(3).center().toPoint()
    qtbot.mouseMove(made.plot, at)
    qtbot.waitUntil(lambda: made.legend.rows.rows[0][1] == "4.000 µs")
    assert made.where.text().startswith("step_3: 4.500 µs (4,500 ns) · stands out (▼)")
    qtbot.mouseClick(made.plot, LEFT, pos=at)
    made.plot.setFocus()
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Right, Qt.Key.Key_Return, Qt.Key.Key_End, Qt.Key.Key_Enter):
        qtbot.keyClick(made.plot, key)
    assert opened == ["step_3", "step_1", "step_4"]


def test_a_marked_bar_is_told_apart_by_shape(qtbot: QtBot) -> None:
    plain, marked = bars(5), bars(5, (3,))
    for made in (plain, marked):
        shown(qtbot, made)
    rect = marked.plot.bar_rect(3)
    at = (round(rect.center().x()), round(rect.top()) - 5)
    colours = [made.plot.grab().toImage().pixelColor(*at).lightness() for made in (plain, marked)]
    assert abs(colours[0] - colours[1]) > 80


@pytest.mark.parametrize("count", [10_000, 301])
def test_many_bars_share_the_room_and_none_that_stands_out_is_lost(qtbot: QtBot, count: int) -> None:
    made = bars(count, (7, count // 2))
    opened = shown(qtbot, made, 700)
    drawn = made.plot.shown
    assert len(drawn) < 250 and {7, count // 2, count - 1} <= set(drawn)
    assert "each drawn one is the greatest of" in made.where.text()
    qtbot.mouseClick(made.plot, LEFT, pos=made.plot.bar_rect(drawn.index(count // 2)).center().toPoint())
    assert opened == [f"step_{count // 2}"]
    made.resize(700 + 8 * count, 360)
    assert made.plot.shown == list(range(count)) and "each" not in made.where.text()


def test_no_bar_and_bars_of_nothing_are_drawn(qtbot: QtBot) -> None:
    for count in (0, 3):
        figure = Bars(("a",) * count, ("x",), (np.zeros(count, np.int64),), "count", "")
        made = chart(figure, "Nothing")
        shown(qtbot, made)
        assert not made.grab().isNull()


def test_a_sector_and_a_row_of_the_legend_are_doors(qtbot: QtBot) -> None:
    made = chart(Pie((Share("gemm", 3, door=door("gemm")), Share("Idle", 1)), 4, "ns", "all of it"), "Time")
    assert isinstance(made, PieChart)
    opened = shown(qtbot, made)
    centre, radius_px = made.ring.rect().center(), min(made.ring.width(), made.ring.height()) / 2 - 12
    for turn in (0.25, 0.9):
        offset = QPointF(radius_px * np.sin(turn * 2 * np.pi), -radius_px * np.cos(turn * 2 * np.pi))
        qtbot.mouseClick(made.ring, LEFT, pos=centre + offset.toPoint())
    assert opened == ["gemm"]
    click(qtbot, made.legend, 0)
    click(qtbot, made.legend, 1)
    assert opened == ["gemm"] * 2


def at_value(made: Any, x: float) -> QPoint:
    """The place of the viewport of a plot where the axis has that value."""
    view = made.plot.getViewBox()
    middle = view.viewRange()[1]
    scene = view.mapViewToScene(QPointF(x, sum(middle) / 2))
    return QPoint(made.plot.mapFromScene(scene))


def test_a_bin_is_a_door(qtbot: QtBot) -> None:
    edges = np.array([0, 10, 20, 30], np.int64) * 1_000
    figure = Histogram(edges, np.array([3, 0, 1]), (("Mean", 9),), "4 steps", (door("low"), None, door("high")))
    made = chart(figure, "Steps")
    assert isinstance(made, HistogramChart)
    opened = shown(qtbot, made)
    for value in (25, 15, 5):
        qtbot.mouseClick(made.plot.viewport(), LEFT, pos=at_value(made, value))
    assert opened == ["high", "low"]
    made.setFocus()
    for key in (Qt.Key.Key_End, Qt.Key.Key_Return, Qt.Key.Key_Left, Qt.Key.Key_Return):
        qtbot.keyClick(made, key)
    assert opened == ["high", "low", "high"]
    assert made.where.text().startswith("10.000 µs to 20.000 µs: 0")


def test_a_moment_of_a_line_leads_to_that_time(qtbot: QtBot) -> None:
    edges = np.array([0, 10, 20, 25], np.int64) * 10**9
    made = chart(Lines(edges, (Line("algo-1", np.array([50.0, np.nan, 100.0]), 62.5),), "mean"), "GPU utilization")
    assert isinstance(made, LinesChart)
    shown(qtbot, made)
    gone: list[tuple[int, int]] = []
    made.moment_opened.connect(lambda begin_ns, end_ns: gone.append((begin_ns, end_ns)))
    qtbot.mouseClick(made.plot.viewport(), LEFT, pos=at_value(made, 15))
    made.setFocus()
    qtbot.keyClick(made, Qt.Key.Key_End)
    assert made.legend.rows.rows == [["algo-1", "100.0 %"]]
    qtbot.keyClick(made, Qt.Key.Key_Return)
    assert gone == [(10 * 10**9, 20 * 10**9), (20 * 10**9, 25 * 10**9)]


def test_lines_of_bytes_have_an_axis_in_their_unit(qtbot: QtBot) -> None:
    edges = np.array([0, 10, 20], np.int64) * 10**9
    figure = Lines(edges, (Line("GPU 0", np.array([1.0, 6.0]) * 2**30, 3.5 * 2**30),), "", "bytes", "Allocated")
    made = chart(figure, "Memory")
    assert isinstance(made, LinesChart)
    shown(qtbot, made)
    axis = made.plot.getAxis("left")
    assert axis.labelText == "Allocated (GiB)" and axis.range[1] > 6 and [t for _, t in axis._tickLevels[0]][-1] == "6"
    assert made.legend.rows.rows == [["GPU 0", "3.50 GiB"]]


def test_every_chart_but_the_empty_takes_the_keyboard(qtbot: QtBot) -> None:
    made = bars(3)
    shown(qtbot, made)
    assert [w for w in made.findChildren(QWidget) if w.focusPolicy() & Qt.FocusPolicy.TabFocus]


def test_bins_that_grow_are_bars_of_one_width_and_still_doors(qtbot: QtBot) -> None:
    edges_ns = np.array([1, 10, 100, 1_000, 10_000, 1_000_000], np.int64)
    counts = np.array([1, 2, 3, 4, 5], np.int64)
    doors = tuple(door(f"bin {number}") for number in range(5))
    made = chart(Histogram(edges_ns, counts, (), "all launches", doors), "Launch latency")
    assert isinstance(made, HistogramChart)
    opened = shown(qtbot, made)
    made.show_bin(1)
    assert "10 ns to 100 ns: 2" in made.where.text()
    box = made.plot.getViewBox()
    at = made.plot.mapFromScene(box.mapViewToScene(QPointF(1.5, 0.5)))
    qtbot.mouseClick(made.plot.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert opened == ["bin 1"]


def test_a_number_that_leads_elsewhere_than_its_row_has_its_own_door(qtbot: QtBot) -> None:
    figure = Table(
        (Column("Name", "text"), Column("Time", "ns")),
        (("a", 5),),
        "all",
        (door("row"),),
        column_doors={1: (door("time"),)},
    )
    made = TableChart(figure, "Title")
    opened = shown(qtbot, made)
    click(qtbot, made.table.view, 1, 0)
    click(qtbot, made.table.view, 1, 1)
    assert opened == ["row", "time"]
