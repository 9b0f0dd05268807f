"""What a figure is drawn with: curves and histograms on pyqtgraph; pies are in `pie`."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from pyqtgraph.GraphicsScene.mouseEvents import MouseClickEvent
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from smprof_desktop.analysis.doors import Door
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.analysis.quantities import share_text, time_text
from smprof_desktop.dashboard.bars import BarsChart
from smprof_desktop.dashboard.cells import axis_title, axis_unit, cell_text, ticks
from smprof_desktop.dashboard.chart import LEADS, Chart, door_at, hint_at_door
from smprof_desktop.dashboard.figures import Bars, Histogram, Lines, Pie, Table
from smprof_desktop.dashboard.legend import Legend, brief_time_text, colour
from smprof_desktop.dashboard.pie import PieChart
from smprof_desktop.dashboard.table_chart import TableChart
from smprof_desktop.plain_label import label
from smprof_desktop.plain_text import tooltip

NO_BREAK_SPACE = "\u00a0"
MOST_EDGE_TICKS = 9
CURSOR_COLOUR = "#8893a0"
ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


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


class LinesChart(Chart):
    """Curves over time; the legend shows each mean, and under the pointer each value there. A click goes there."""

    def __init__(self, figure: Lines) -> None:
        super().__init__()
        self._figure = figure
        self.plot = Plot(self)
        self.legend = Legend()
        unit_ns, unit = axis_unit(int(figure.edges_ns[-1]), "ns")
        self._edges = figure.edges_ns / unit_ns
        self._unit = unit
        self._bin: int | None = None
        self._draw_lines()
        self.plot.setLabel("bottom", f"Time from the profile's start ({unit})")
        self.plot.setXRange(float(self._edges[0]), float(self._edges[-1]), padding=0.01)
        self._cursor = pg.InfiniteLine(angle=90, pen=pg.mkPen(CURSOR_COLOUR))
        self._cursor.hide()
        self.plot.addItem(self._cursor)
        self.plot.scene().sigMouseMoved.connect(self._point)
        self.plot.scene().sigMouseClicked.connect(self._click)
        self.plot.setCursor(Qt.CursorShape.PointingHandCursor)
        self.plot.setToolTip(tooltip("Click or Enter: this time in the timeline"))
        self.where = label("", "muted")
        side = QVBoxLayout()
        side.addWidget(self.where)
        side.addWidget(self.legend, 1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.plot, 1)
        layout.addLayout(side)
        self.legend.setFixedWidth(170 if figure.kind == "percent" else 200)
        self.plot.setMinimumHeight(180)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.show_values_at(None)

    def show_values_at(self, bin_index: int | None) -> None:
        """Let the legend show the values of that bin; the means for None."""
        lines = self._figure.lines
        kind = self._figure.kind
        values = [line.mean if bin_index is None else float(line.values[bin_index]) for line in lines]
        self.where.setText("Mean" if bin_index is None else f"At {self._edges[bin_index]:,.3f} {self._unit}")
        rows = [[line.name, cell_text(value, kind)] for line, value in zip(lines, values, strict=True)]
        tips = [f"{line.name}\nmean {cell_text(line.mean, kind)}, {self._figure.basis}" for line in lines]
        self.legend.rows.fill(rows, tips, [colour(index) for index in range(len(lines))])

    def _draw_lines(self) -> None:
        figure = self._figure
        known = [line.values[np.isfinite(line.values)] for line in figure.lines]
        most = max((float(values.max()) for values in known if len(values)), default=0.0)
        least = min((float(values.min()) for values in known if len(values)), default=0.0)
        is_percent = figure.kind == "percent"
        unit, unit_text = (1, "%") if is_percent else axis_unit(most, figure.kind)
        for index, line in enumerate(figure.lines):
            pen = pg.mkPen(colour(index), width=1.4)
            values = line.values / unit
            self.plot.addItem(pg.PlotDataItem(self._edges, values, stepMode="center", pen=pen, connect="finite"))
        self.plot.setLabel("left", axis_title(figure.label, unit_text))
        if is_percent:
            self.plot.setYRange(0, 100, padding=0.07)  # room for the labels of 0 and 100
            self.plot.getAxis("left").setTicks([[(percent, str(percent)) for percent in (0, 25, 50, 75, 100)]])
            return
        self.plot.setYRange(min(least / unit, 0.0), most / unit or 1.0, padding=0.07)
        if least >= 0:
            self.plot.getAxis("left").setTicks([ticks(most / unit, is_whole=figure.kind == "count")])

    def _bin_at(self, position: QPointF) -> int | None:
        view = self.plot.getViewBox()
        if not view.sceneBoundingRect().contains(position):
            return None
        found = int(np.searchsorted(self._edges, view.mapSceneToView(position).x(), "right")) - 1
        return found if 0 <= found < len(self._edges) - 1 else None

    def _choose(self, bin_index: int | None) -> None:
        self._bin = bin_index
        if bin_index is None:
            self._leave()
            return
        self._cursor.setValue((self._edges[bin_index] + self._edges[bin_index + 1]) / 2)
        self._cursor.show()
        self.show_values_at(bin_index)

    def _point(self, position: QPointF) -> None:
        self._choose(self._bin_at(position))

    def _click(self, event: MouseClickEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._go(self._bin_at(event.scenePos()))

    def _go(self, bin_index: int | None) -> None:
        if bin_index is not None:
            edges = self._figure.edges_ns
            self.moment_opened.emit(int(edges[bin_index]), int(edges[bin_index + 1]))

    def _leave(self) -> None:
        if self._cursor.isVisible():
            self._cursor.hide()
            self.show_values_at(None)

    # Overrides of Qt methods.

    def keyPressEvent(self, event: QKeyEvent) -> None:
        goal = moved(event, self._bin, len(self._edges) - 1)
        if goal is not None:
            self._choose(goal)
        elif event.key() in ENTER:
            self._go(self._bin)
        else:
            super().keyPressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._choose(None)


class HistogramChart(Chart):
    """Bars of counts over durations; the line beneath says what the pointer is on, else the facts."""

    def __init__(self, figure: Histogram) -> None:
        super().__init__()
        self._figure = figure
        self._bin: int | None = None
        self.plot = Plot(self)
        unit_ns, unit = axis_unit(int(figure.edges_ns[-1]), "ns")
        is_even = _are_even(figure.edges_ns)
        # Bins that grow, such as ten a decade, get bars of one width: to scale all but the last would be a line.
        self._edges = figure.edges_ns / unit_ns if is_even else np.arange(len(figure.edges_ns), dtype=np.float64)
        most = int(figure.counts.max())
        bars = pg.BarGraphItem(x0=self._edges[:-1], x1=self._edges[1:], height=figure.counts, brush=colour(0), pen=None)
        self.plot.addItem(bars)
        self._chosen = pg.BarGraphItem(x0=[0], x1=[0], height=[0], brush=None, pen=pg.mkPen(CURSOR_COLOUR, width=2))
        self._chosen.hide()
        self.plot.addItem(self._chosen)
        self.plot.setLabel("bottom", f"Duration ({unit})" if is_even else "Duration, bins of growing width")
        if not is_even:
            self.plot.getAxis("bottom").setTicks([_edge_ticks(figure.edges_ns)])
        self.plot.setLabel("left", "Count")
        self.plot.setYRange(0, most, padding=0.1)
        self.plot.getAxis("left").setTicks([ticks(most, is_whole=True)])
        self.plot.setXRange(float(self._edges[0]), float(self._edges[-1]), padding=0.03)
        self.plot.scene().sigMouseMoved.connect(self._point)
        self.plot.scene().sigMouseClicked.connect(self._click)
        self.where = label("", "muted", wraps=True, selectable=True)
        facts = (f"{name} {brief_time_text(value_ns)}" for name, value_ns in figure.facts)
        self._facts = " · ".join(fact.replace(" ", NO_BREAK_SPACE) for fact in facts)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.plot, 1)
        layout.addWidget(self.where)
        self.plot.setMinimumHeight(150)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.show_bin(None)

    def show_bin(self, index: int | None) -> None:
        """Say what a bin holds; the facts for None."""
        self._bin = index
        self._chosen.setVisible(index is not None)
        hint_at_door(self.plot, self._door(index) is not None)
        if index is None:
            self.where.setText(self._facts)
            return
        begin_ns, end_ns = int(self._figure.edges_ns[index]), int(self._figure.edges_ns[index + 1])
        count = int(self._figure.counts[index])
        self._chosen.setOpts(x0=[self._edges[index]], x1=[self._edges[index + 1]], height=[count])
        share = share_text(count, int(self._figure.counts.sum()))
        leads = f" · {LEADS}" if self._door(index) is not None else ""
        self.where.setText(
            f"{time_text(begin_ns)} to {time_text(end_ns)}: {count:,}, {share} of {self._figure.basis}{leads}"
        )

    def _door(self, index: int | None) -> Door | None:
        return None if index is None else door_at(self._figure.doors, index)

    def _bin_at(self, position: QPointF) -> int | None:
        view = self.plot.getViewBox()
        if not view.sceneBoundingRect().contains(position):
            return None
        found = int(np.searchsorted(self._edges, view.mapSceneToView(position).x(), "right")) - 1
        return found if 0 <= found < len(self._figure.counts) else None

    def _point(self, position: QPointF) -> None:
        self.show_bin(self._bin_at(position))

    def _click(self, event: MouseClickEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.open_door(self._door(self._bin_at(event.scenePos())))

    # Overrides of Qt methods.

    def keyPressEvent(self, event: QKeyEvent) -> None:
        goal = moved(event, self._bin, len(self._figure.counts))
        if goal is not None:
            self.show_bin(goal)
        elif event.key() in ENTER:
            self.open_door(self._door(self._bin))
        else:
            super().keyPressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.show_bin(None)


def moved(event: QKeyEvent, place: int | None, count: int) -> int | None:
    """Where a key leads from a place among so many; None for a key that leads nowhere."""
    goals = {
        Qt.Key.Key_Left: 0 if place is None else place - 1,
        Qt.Key.Key_Right: 0 if place is None else place + 1,
        Qt.Key.Key_Home: 0,
        Qt.Key.Key_End: count - 1,
    }
    goal = goals.get(Qt.Key(event.key()))
    return None if goal is None or not count else max(0, min(goal, count - 1))


def chart(figure: Pie | Lines | Histogram | Table | Bars, title: str) -> Chart:
    """The widget that draws the figure of a panel."""
    if isinstance(figure, Pie):
        return PieChart(figure)
    if isinstance(figure, Lines):
        return LinesChart(figure)
    if isinstance(figure, Histogram):
        return HistogramChart(figure)
    return TableChart(figure, title) if isinstance(figure, Table) else BarsChart(figure)


def _are_even(edges_ns: Int64s) -> bool:
    """Whether bins are of one width, but for the last, which may be cut off."""
    widths_ns = edges_ns[1:-1] - edges_ns[:-2]
    return not len(widths_ns) or int(widths_ns.max()) <= int(widths_ns.min()) + 1


def _edge_ticks(edges_ns: Int64s) -> list[tuple[float, str]]:
    """Some of the edges, about evenly chosen, by their place."""
    step = max(1, -(-len(edges_ns) // MOST_EDGE_TICKS))
    return [(float(place), brief_time_text(int(edges_ns[place]))) for place in range(0, len(edges_ns), step)]
