"""What a figure is drawn with: curves and histograms on pyqtgraph; pies are in `pie`."""

from __future__ import annotations

import math

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import (
    QEvent,
    QPointF,
    Qt,
)
from PySide6.QtGui import (
    QPalette,
)
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from smprof_desktop.analysis.quantities import time_text
from smprof_desktop.dashboard.cells import cell_text
from smprof_desktop.dashboard.figures import Bars, Histogram, Lines, Pie, Table
from smprof_desktop.dashboard.legend import UNITS, Legend, brief_time_text, colour, share_text
from smprof_desktop.dashboard.pie import PieChart

NO_BREAK_SPACE = "\u00a0"
CURSOR_COLOUR = "#8893a0"


class Plot(pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no types
    """A plot that only shows, in the colours and the font of the window: nothing is dragged, nothing drops."""

    _is_built = False

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, background=None)
        self.setMenuEnabled(False)
        self.setMouseEnabled(False, False)
        self.hideButtons()
        self.setAcceptDrops(False)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.showGrid(x=False, y=True, alpha=0.2)
        for axis in ("bottom", "left"):
            self.getAxis(axis).enableAutoSIPrefix(False)
            self.getAxis(axis).setZValue(-10)  # the grid behind the bars
        self._is_built = True
        self._dress()

    def _dress(self) -> None:
        self.setBackground(self.palette().color(QPalette.ColorRole.Base))
        for name in ("bottom", "left"):
            axis = self.getAxis(name)
            axis.setPen(self.palette().color(QPalette.ColorRole.Mid))
            axis.setTextPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
            axis.setTickFont(self.font())

    def changeEvent(self, event: QEvent) -> None:
        """Follow the theme. The plot must hear of it itself: what holds it hears first, while this palette is old."""
        super().changeEvent(event)
        if self._is_built and event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._dress()


class LinesChart(QWidget):
    """Curves in percent over time; the legend shows each mean, and under the pointer each value there."""

    def __init__(self, figure: Lines) -> None:
        super().__init__()
        self._figure = figure
        self.plot = Plot(self)
        self.legend = Legend()
        unit_ns, unit = _unit(int(figure.edges_ns[-1]))
        self._edges = figure.edges_ns / unit_ns
        self._unit = unit
        for index, line in enumerate(figure.lines):
            pen = pg.mkPen(colour(index), width=1.4)
            self.plot.addItem(pg.PlotDataItem(self._edges, line.values, stepMode="center", pen=pen, connect="finite"))
        self.plot.setLabel("bottom", f"Time from the profile's start ({unit})")
        self.plot.setLabel("left", "Active (%)")
        self.plot.setXRange(float(self._edges[0]), float(self._edges[-1]), padding=0.01)
        self.plot.setYRange(0, 100, padding=0.07)  # room for the labels of 0 and 100
        self.plot.getAxis("left").setTicks([[(percent, str(percent)) for percent in (0, 25, 50, 75, 100)]])
        self._cursor = pg.InfiniteLine(angle=90, pen=pg.mkPen(CURSOR_COLOUR))
        self._cursor.hide()
        self.plot.addItem(self._cursor)
        self.plot.scene().sigMouseMoved.connect(self._point)
        self.where = QLabel()
        self.where.setTextFormat(Qt.TextFormat.PlainText)
        self.where.setObjectName("muted")
        side = QVBoxLayout()
        side.addWidget(self.where)
        side.addWidget(self.legend, 1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.plot, 1)
        layout.addLayout(side)
        self.legend.setFixedWidth(170)
        self.plot.setMinimumHeight(180)
        self.show_values_at(None)

    def show_values_at(self, bin_index: int | None) -> None:
        """Let the legend show the values of that bin; the means for None."""
        lines = self._figure.lines
        values = [line.mean if bin_index is None else float(line.values[bin_index]) for line in lines]
        texts = ["–" if math.isnan(value) else f"{value:.1f} %" for value in values]
        self.where.setText("Mean" if bin_index is None else f"At {self._edges[bin_index]:,.3f} {self._unit}")
        rows = [[line.name, text] for line, text in zip(lines, texts, strict=True)]
        tips = [f"{line.name}\nmean {line.mean:.1f} %, {self._figure.basis}" for line in lines]
        self.legend.rows.fill(rows, tips, [colour(index) for index in range(len(lines))])

    def _point(self, position: QPointF) -> None:
        view = self.plot.getViewBox()
        if not view.sceneBoundingRect().contains(position):
            self._leave()
            return
        bin_index = int(np.searchsorted(self._edges, view.mapSceneToView(position).x(), "right")) - 1
        if not 0 <= bin_index < len(self._edges) - 1:
            self._leave()
            return
        self._cursor.setValue((self._edges[bin_index] + self._edges[bin_index + 1]) / 2)
        self._cursor.show()
        self.show_values_at(bin_index)

    def _leave(self) -> None:
        if self._cursor.isVisible():
            self._cursor.hide()
            self.show_values_at(None)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._leave()


class HistogramChart(QWidget):
    """Bars of counts over durations; the line beneath says what the pointer is on, else the facts."""

    def __init__(self, figure: Histogram) -> None:
        super().__init__()
        self._figure = figure
        self.plot = Plot(self)
        unit_ns, unit = _unit(int(figure.edges_ns[-1]))
        self._edges = figure.edges_ns / unit_ns
        bars = pg.BarGraphItem(x0=self._edges[:-1], x1=self._edges[1:], height=figure.counts, brush=colour(0), pen=None)
        self.plot.addItem(bars)
        self.plot.setLabel("bottom", f"Duration ({unit})")
        self.plot.setLabel("left", "Count")
        most = int(figure.counts.max())
        self.plot.setYRange(0, most, padding=0.1)
        ticks = range(0, most + 1, _whole_step(most))
        self.plot.getAxis("left").setTicks([[(count, f"{count:,}") for count in ticks]])
        self.plot.setXRange(float(self._edges[0]), float(self._edges[-1]), padding=0.03)
        self.plot.scene().sigMouseMoved.connect(self._point)
        self.where = QLabel()
        self.where.setTextFormat(Qt.TextFormat.PlainText)
        self.where.setObjectName("muted")
        self.where.setWordWrap(True)
        self.where.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        facts = (f"{name} {brief_time_text(value_ns)}" for name, value_ns in figure.facts)
        self._facts = " · ".join(fact.replace(" ", NO_BREAK_SPACE) for fact in facts)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.plot, 1)
        layout.addWidget(self.where)
        self.plot.setMinimumHeight(150)
        self.show_bin(None)

    def show_bin(self, index: int | None) -> None:
        """Say what a bin holds; the facts for None."""
        if index is None:
            self.where.setText(self._facts)
            return
        begin_ns, end_ns = int(self._figure.edges_ns[index]), int(self._figure.edges_ns[index + 1])
        count = int(self._figure.counts[index])
        share = share_text(count, int(self._figure.counts.sum()))
        self.where.setText(f"{time_text(begin_ns)} to {time_text(end_ns)}: {count:,}, {share} of {self._figure.basis}")

    def _point(self, position: QPointF) -> None:
        view = self.plot.getViewBox()
        index = -1
        if view.sceneBoundingRect().contains(position):
            index = int(np.searchsorted(self._edges, view.mapSceneToView(position).x(), "right")) - 1
        self.show_bin(index if 0 <= index < len(self._figure.counts) else None)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.show_bin(None)


def chart(figure: Pie | Lines | Histogram | Table | Bars) -> QWidget:
    """The widget that draws a figure."""
    if isinstance(figure, Pie):
        return PieChart(figure)
    if isinstance(figure, Lines):
        return LinesChart(figure)
    if isinstance(figure, Histogram):
        return HistogramChart(figure)
    rows = figure.rows if isinstance(figure, Table) else list(zip(figure.names, *figure.values, strict=True))
    kinds = (
        [c.kind for c in figure.columns]
        if isinstance(figure, Table)
        else ["text", *([figure.kind] * len(figure.parts))]
    )
    legend = Legend()
    texts = [[cell_text(value, kind) for value, kind in zip(row, kinds, strict=True)] for row in rows]
    legend.rows.fill(texts, ["\n".join(row) for row in texts], [])
    return legend


def _whole_step(most: int) -> int:
    """The step of about four ticks from 0 to `most` that is 1, 2 or 5 times a power of ten: counts are whole."""
    step = 1
    while most / step > 5:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return step


def _unit(largest_ns: int) -> tuple[int, str]:
    """The unit of an axis that reaches `largest_ns`: its length in ns and its name."""
    return next((length_ns, name) for length_ns, name in UNITS if largest_ns >= 2 * length_ns or length_ns == 1)
