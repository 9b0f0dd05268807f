"""Charts: sectors under the pointer, names of any length, literal tooltips, copies in full, both themes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QGuiApplication, QImage, QPalette, QTextDocument
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from smprof_desktop.analysis.quantities import share_text
from smprof_desktop.dashboard.card import Card
from smprof_desktop.dashboard.cells import cell_text, ticks
from smprof_desktop.dashboard.charts import HistogramChart, LinesChart, Plot
from smprof_desktop.dashboard.figures import Histogram, Kind, Line, Lines, Pie, Share
from smprof_desktop.dashboard.legend import COLOURS, Legend, brief_time_text, cut_apart, first_differences
from smprof_desktop.dashboard.panels import PANELS
from smprof_desktop.dashboard.pie import PieChart, Ring
from smprof_desktop.settings import Settings
from smprof_desktop.window.theme import DARK, LIGHT, ThemeSwitch

TEMPLATE = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>&&>(int, <b>x</b>)"


def pie(*values: int, names: tuple[str, ...] = ()) -> Pie:
    """A pie of these values."""
    names = names or tuple(f"kernel {index}" for index in range(len(values)))
    return Pie(
        tuple(Share(name, value) for name, value in zip(names, values, strict=True)), sum(values), "ns", "all of it"
    )


def test_names_that_begin_and_end_alike_are_cut_apart(qtbot: QtBot) -> None:
    head, tail = (
        "void at::native::vectorized_elementwise_kernel<4, at::native::",
        "<float>, at::detail::Array<char*, 2> >",
    )
    names = [f"{head}{functor}{tail}" for functor in ("AddFunctor", "AddcmulFunctor", "MulFunctor")]
    names += ["volta_sgemm_128x32_nt", "void cub::DeviceScan"]
    metrics = QFontMetrics(QGuiApplication.font())
    places = first_differences(names)
    for letters in (20, 26, 40):
        room_px = metrics.horizontalAdvance("n" * letters)
        shown = [cut_apart(name, place, metrics, room_px) for name, place in zip(names, places, strict=True)]
        assert len(set(shown)) == len(names)
        assert all(metrics.horizontalAdvance(text) <= room_px for text in shown)
    assert [cut_apart(name, place, metrics, 10_000) for name, place in zip(names, places, strict=True)] == names
    assert first_differences([]) == [] and first_differences(["same", "same"]) == [4, 4]


@pytest.mark.parametrize(("turn", "sector"), [(0.01, 0), (0.24, 0), (0.26, 1), (0.74, 1), (0.76, 2), (0.99, 2)])
def test_the_sector_under_the_pointer(qtbot: QtBot, turn: float, sector: int) -> None:
    chart = PieChart(pie(25, 50, 25))
    qtbot.addWidget(chart)
    chart.ring.setFixedSize(208, 208)
    radius_px, angle = 80, turn * 2 * np.pi
    assert chart.ring.sector_at(QPointF(104 + radius_px * np.sin(angle), 104 - radius_px * np.cos(angle))) == sector


@pytest.mark.parametrize("point", [QPointF(104, 104), QPointF(0, 0), QPointF(207, 207)])
def test_no_sector_in_the_hole_and_outside(qtbot: QtBot, point: QPointF) -> None:
    chart = PieChart(pie(25, 50, 25))
    qtbot.addWidget(chart)
    chart.ring.setFixedSize(208, 208)
    assert chart.ring.sector_at(point) == -1


def test_sectors_are_painted_where_the_pointer_finds_them(qtbot: QtBot) -> None:
    chart = PieChart(pie(25, 50, 25))
    qtbot.addWidget(chart)
    chart.ring.setFixedSize(208, 208)
    image = chart.ring.grab().toImage()
    for x, y, index in ((104 + 57, 104 - 57, 0), (104, 104 + 80, 1), (104 - 57, 104 - 57, 2)):
        assert image.pixelColor(x, y).name() == chart.legend.rows.colours[index].name()


def test_a_sector_has_the_colour_it_was_given(qtbot: QtBot) -> None:
    chart = PieChart(Pie((Share("gemm", 3, colour=4), Share("relu", 1)), 4, "ns", "all of it"))
    qtbot.addWidget(chart)
    assert [shown.name() for shown in chart.legend.rows.colours] == [COLOURS[4], COLOURS[1]]
    assert [shown.name() for shown in chart.ring._colours] == [COLOURS[4], COLOURS[1]]


def test_empty_and_single_sectors(qtbot: QtBot) -> None:
    for values in ((7,), (0, 5), (1, 10**18)):
        chart = PieChart(pie(*values))
        qtbot.addWidget(chart)
        chart.resize(400, 200)
        assert not chart.grab().isNull()
        assert chart.ring.sector_at(QPointF(0, 0)) == -1


def test_a_tooltip_shows_a_name_literally(qtbot: QtBot) -> None:
    chart = PieChart(pie(3, names=(TEMPLATE,)))
    qtbot.addWidget(chart)
    document = QTextDocument()
    document.setHtml(chart.legend.rows.data(chart.legend.rows.index(0, 0), Qt.ItemDataRole.ToolTipRole))
    assert document.toPlainText().splitlines()[0] == TEMPLATE


def test_a_name_of_a_hundred_thousand_characters_is_copied_in_full(qtbot: QtBot) -> None:
    name = "k" * 100_000 + "\twith a tab"
    chart = PieChart(pie(3, 1, names=(name, "short")))
    qtbot.addWidget(chart)
    chart.resize(420, 240)
    assert not chart.grab().isNull()
    chart.legend.copy()
    first, second = QGuiApplication.clipboard().text().splitlines()
    assert first == f"{'k' * 100_000} with a tab\t3 ns\t75.0 %" and second == "short\t1 ns\t25.0 %"
    tip = chart.legend.rows.data(chart.legend.rows.index(0, 0), Qt.ItemDataRole.ToolTipRole)
    assert len(tip) < 4_000
    chart.legend.selectRow(1)
    chart.legend.copy()
    assert QGuiApplication.clipboard().text() == "short\t1 ns\t25.0 %"


def test_the_legend_follows_the_ring_and_back(qtbot: QtBot) -> None:
    chart = PieChart(pie(1, 2, 3))
    qtbot.addWidget(chart)
    chart.ring.pointed.emit(2)
    assert [index.row() for index in chart.legend.selectionModel().selectedRows()] == [2]
    chart.ring.pointed.emit(-1)
    assert not chart.legend.selectedIndexes()


@pytest.mark.parametrize("of_kernels", [True, False])
def test_a_row_of_a_kernel_without_a_door_is_opened_by_a_click_and_enter(qtbot: QtBot, of_kernels: bool) -> None:
    chart = PieChart(Pie((Share("gemm<1>", 3), Share("relu", 1)), 4, "ns", "all of it", of_kernels=of_kernels))
    qtbot.addWidget(chart)
    chart.resize(420, 240)
    chart.show()
    opened: list[str] = []
    chart.kernel_opened.connect(opened.append)
    legend = chart.legend
    place = legend.visualRect(legend.rows.index(1, 0)).center()
    qtbot.mouseClick(legend.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier, place)
    assert opened == []
    qtbot.mouseClick(legend.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert opened == (["relu"] if of_kernels else [])
    legend.selectRow(0)
    qtbot.keyClick(legend, Qt.Key.Key_Return)
    qtbot.keyClick(legend, Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier)
    assert opened[1:] == (["gemm<1>"] * 2 if of_kernels else [])
    legend.clearSelection()
    qtbot.keyClick(legend, Qt.Key.Key_Return)
    assert len(opened) == (3 if of_kernels else 0)
    tip = legend.rows.data(legend.rows.index(0, 0), Qt.ItemDataRole.ToolTipRole)
    assert ("longest execution" in tip) is of_kernels


def test_values_under_the_pointer_and_means_without_it(qtbot: QtBot) -> None:
    edges_ns = np.array([0, 10, 20, 25], np.int64) * 10**9
    figure = Lines(edges_ns, (Line("<i>algo-1</i>", np.array([50.0, np.nan, 100.0]), 62.5),), "mean over 1 device")
    chart = LinesChart(figure)
    qtbot.addWidget(chart)
    assert chart.legend.rows.rows == [["<i>algo-1</i>", "62.5 %"]] and chart.where.text() == "Mean"
    chart.show_values_at(2)
    assert chart.legend.rows.rows == [["<i>algo-1</i>", "100.0 %"]] and chart.where.text() == "At 20.000 s"
    chart.show_values_at(1)
    assert chart.legend.rows.rows == [["<i>algo-1</i>", "–"]]
    assert not chart.grab().isNull()


def test_a_bin_says_what_it_holds(qtbot: QtBot) -> None:
    figure = Histogram(
        np.array([1_000, 2_000, 3_000]), np.array([3, 1]), (("Mean", 1_700), ("Greatest", 3_000)), "4 steps"
    )
    chart = HistogramChart(figure)
    qtbot.addWidget(chart)
    assert chart.where.text() == "Mean 1.700 µs · Greatest 3.000 µs".replace(" µ", "\u00a0µ").replace(
        "n 1", "n\u00a01"
    ).replace("t 3", "t\u00a03")
    chart.show_bin(0)
    assert chart.where.text() == "1.000 µs to 2.000 µs: 3, 75.0 % of 4 steps"
    assert not chart.grab().isNull()


def test_a_pie_is_repainted_in_the_other_theme(qtbot: QtBot) -> None:
    chart = PieChart(pie(1, 1))
    qtbot.addWidget(chart)
    chart.resize(400, 200)

    def hole(base: str) -> str:
        palette = QPalette()
        palette.setColor(QPalette.ColorRole.Base, QColor(base))
        palette.setColor(QPalette.ColorRole.Text, QColor(base))
        chart.setPalette(palette)
        image: QImage = chart.ring.grab().toImage()
        return image.pixelColor(image.width() // 2, image.height() // 2 - 18).name()  # above the text

    assert (hole("#ffffff"), hole("#101010")) == ("#ffffff", "#101010")


@pytest.mark.parametrize("kind", ["lines", "histogram", "pie"])
def test_every_chart_follows_a_switch_of_the_theme_while_it_is_shown(
    qtbot: QtBot, qapp: QApplication, kind: str
) -> None:
    """A chart hears of a new palette before the plot inside has it: asking the plot's then left it in the old theme."""
    edges = np.array([0, 10, 20], np.int64) * 10**9
    figures: dict[str, Lines | Histogram | Pie] = {
        "lines": Lines(edges, (Line("algo-1", np.array([50.0, 100.0]), 75.0),), "mean"),
        "histogram": Histogram(edges, np.array([3, 1]), (("Mean", 1_700),), "4 steps"),
        "pie": pie(1, 1),
    }
    sheet, palette, font = qapp.styleSheet(), qapp.palette(), qapp.font()
    settings = Settings(None)
    settings.set("theme", "light")
    switch = ThemeSwitch(qapp, settings)
    try:
        outer = QWidget()
        qtbot.addWidget(outer)
        card = Card(PANELS[0])
        QVBoxLayout(outer).addWidget(card)
        card.show_figure(figures[kind])
        outer.resize(700, 300)
        outer.show()
        shown = card.chart
        assert shown is not None
        for theme in (DARK, LIGHT, DARK):
            settings.set("theme", theme.name)
            image = card.grab().toImage()
            parts = [part for part in shown.findChildren(QWidget) if isinstance(part, (Plot, Ring, Legend))]
            for part in (shown, *parts):
                corner = part.mapTo(card, part.rect().bottomRight())
                assert image.pixelColor(corner).name() == theme.base, (type(part).__name__, theme.name)
            for plot in shown.findChildren(Plot):
                assert plot.getAxis("left").textPen().color() == QColor(theme.muted)
    finally:
        switch.deleteLater()
        qapp.setStyleSheet(sheet)
        qapp.setPalette(palette)
        qapp.setFont(font)


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 0, "–"),
        (0, 5, "0.0 %"),
        (1, 2, "50.0 %"),
        (1, 10**6, "< 0.1 %"),
        (10**6 - 1, 10**6, "> 99.9 %"),
        (3, 3, "100.0 %"),
    ],
)
def test_what_is_not_all_is_never_called_all(part: int, whole: int, text: str) -> None:
    assert share_text(part, whole) == text


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.000 µs"),
        (701_621_000, "701.6 ms"),
        (259_520_000_000, "259.5 s"),
        (10**13, "10,000 s"),
    ],
)
def test_brief_times(duration_ns: int, text: str) -> None:
    assert brief_time_text(duration_ns) == text


@pytest.mark.parametrize(("most", "step"), [(1, 1), (5, 1), (6, 2), (11, 5), (30, 10), (240, 50), (1_000, 200)])
def test_ticks_of_counts_are_whole(most: int, step: int) -> None:
    places = [place for place, _ in ticks(most, is_whole=True)]
    assert places == list(range(0, most + 1, step))


@pytest.mark.parametrize(
    ("most", "texts"),
    [
        (0.0, ["0"]),
        (float("nan"), ["0"]),
        (0.9, ["0.0", "0.2", "0.4", "0.6", "0.8"]),
        (1.0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (100.0, ["0", "20", "40", "60", "80", "100"]),
        (12_345.0, ["0", "5,000", "10,000"]),
        (0.00031, ["0.0000", "0.0001", "0.0002", "0.0003"]),
    ],
)
def test_ticks_are_round(most: float, texts: list[str]) -> None:
    assert [text for _, text in ticks(most)] == texts


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, "ns", "–"),
        (float("nan"), "percent", "–"),
        (1_234_567, "ns", "1.235 ms"),
        (1_234_567, "count", "1,234,567"),
        (3 << 30, "bytes", "3.00 GiB"),
        (12.34, "percent", "12.3 %"),
        (2.5e9, "bytes_per_s", "2.500 GB/s"),
        (0.5, "number", "0.500"),
        (7, "number", "7"),
        ("<b>", "name", "<b>"),
    ],
)
def test_values_are_written_by_their_kind(value: Any, kind: Kind, text: str) -> None:
    assert cell_text(value, kind) == text
