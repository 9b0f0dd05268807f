"""What a figure is drawn with: pie, curves and histogram, each beside a legend that holds names of any length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QAction,
    QColor,
    QGuiApplication,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QTableView,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from smprof_desktop.analysis.quantities import exact_time_text, time_text
from smprof_desktop.dashboard.panels import Histogram, Lines, Pie
from smprof_desktop.plain_text import table_text, tooltip

COLOURS = (
    "#4c8edb", "#e8903a", "#4fa866", "#c9565b", "#8f72c4", "#2fa8b5", "#d0b13c", "#d279a6", "#7a8794", "#9b6b4a",
    "#6fb4f2", "#f2b877", "#8bcf9b", "#e59a9c", "#b9a5e0",
)  # fmt: skip
"""Fifteen that differ, on white and on near-black."""
IDLE_COLOUR = "#8893a0"
_UNITS = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))
NO_BREAK_SPACE = "\u00a0"
_PIXELS_PER_ROW = 6
_SHORT_LEGEND, _SMALL_RING_PX, _LARGE_RING_PX = 6, 125, 200
"""Rows up to which a legend leaves the ring small: what is left of the width belongs to the names."""


def colour(index: int, name: str = "") -> QColor:
    """The colour of the curve or sector of that place; idle time is grey wherever it stands."""
    return QColor(IDLE_COLOUR if name == "Idle" else COLOURS[index % len(COLOURS)])


def share_text(part: float, whole: float) -> str:
    """A part of a whole in percent; `–` where the whole is nothing. What is not all is never called 100 %."""
    if whole <= 0:
        return "–"
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "< 0.1 %"
    if 99.9 < percent < 100:
        return "> 99.9 %"
    return f"{percent:.1f} %"


def brief_time_text(duration_ns: int) -> str:
    """A duration to four digits, for where space is short and the exact one is a hover away: `239.4 s`."""
    length_ns, unit = next((length, name) for length, name in _UNITS if duration_ns >= length or length == 1)
    if length_ns == 1:
        return f"{duration_ns} ns"
    value = duration_ns / length_ns
    return f"{value:,.{max(0, 4 - len(str(int(value))))}f} {unit}"


class LegendModel(QAbstractTableModel):
    """Rows of a legend: name, then values as text; `tips` say each row in full."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tips: list[str] = []
        self.colours: list[QColor] = []
        self._columns = 1

    def fill(self, rows: list[list[str]], tips: list[str], colours: list[QColor]) -> None:
        """Show these rows in place of the present ones."""
        self.beginResetModel()
        self.rows, self.tips, self.colours = rows, tips, colours
        self._columns = max((len(row) for row in rows), default=1)
        self.endResetModel()

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008 - as Qt calls it
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else self._columns

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, column = index.row(), index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self.rows[row][column]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip(self.tips[row])
        if role == Qt.ItemDataRole.DecorationRole and column == 0 and self.colours:
            return _swatch(self.colours[row])
        if role == Qt.ItemDataRole.TextAlignmentRole and column > 0:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None


class Legend(QTableView):
    """Names elided in the middle, values to the right; Ctrl+C copies the chosen rows, or all, in full.

    Signals:
        pointed(int): the pointer is on that row; -1 when it has left.
    """

    pointed = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.rows = LegendModel()
        self.setModel(self.rows)
        self.setObjectName("legend")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalHeader().hide()
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setMouseTracking(True)
        self.setIconSize(QSize(10, 10))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        copy = QAction("Copy", self)
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self.copy)
        self.addAction(copy)
        self.entered.connect(lambda index: self.pointed.emit(index.row()))
        self.rows.modelReset.connect(self._fit)
        self._fit()

    def copy(self) -> None:
        """Put the chosen rows on the clipboard as tab-separated text; all of them where none is chosen."""
        chosen = sorted({index.row() for index in self.selectedIndexes()}) or range(self.rows.rowCount())
        QGuiApplication.clipboard().setText(table_text(self.rows.rows[row] for row in chosen))

    def wanted_height_px(self) -> int:
        """The height that shows every row."""
        return self.rows.rowCount() * self.verticalHeader().defaultSectionSize() + 4

    def _fit(self) -> None:
        self.verticalHeader().setMinimumSectionSize(8)
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + _PIXELS_PER_ROW)
        header = self.horizontalHeader()
        header.setMinimumSectionSize(20)
        for column in range(self.rows.columnCount()):
            is_name = column == 0
            header.setSectionResizeMode(
                column, QHeaderView.ResizeMode.Stretch if is_name else QHeaderView.ResizeMode.ResizeToContents
            )

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.pointed.emit(-1)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()


class Ring(QWidget):
    """A pie with a hole: sectors in proportion, the one pointed at stands out.

    Signals:
        pointed(int): the pointer is on that sector; -1 when on none.
    """

    pointed = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._values: Sequence[int] = ()
        self._colours: list[QColor] = []
        self._tips: list[str] = []
        self._centre = ""
        self._chosen = -1
        self.setMouseTracking(True)
        self.setMinimumSize(100, 100)

    def show_values(self, values: Sequence[int], colours: list[QColor], tips: list[str], centre: str) -> None:
        """Draw these; `centre` is written in the hole."""
        self._values, self._colours, self._tips, self._centre, self._chosen = values, colours, tips, centre, -1
        self.update()

    def choose(self, index: int) -> None:
        """Let that sector stand out; -1 for none."""
        if index != self._chosen:
            self._chosen = index
            self.update()

    def sector_at(self, point: QPointF) -> int:
        """The sector at a place of this widget; -1 where there is none."""
        area = self._area()
        offset = point - area.center()
        radius_px = math.hypot(offset.x(), offset.y())
        whole = sum(self._values)
        if not whole or not self._hole_share() * area.width() / 2 <= radius_px <= area.width() / 2:
            return -1
        turn = (math.atan2(offset.x(), -offset.y()) / math.tau) % 1.0
        return int(np.searchsorted(np.cumsum(np.asarray(self._values, float)) / whole, turn, "right"))

    def _area(self) -> QRectF:
        side_px = min(self.width(), self.height()) - 8
        return QRectF((self.width() - side_px) / 2, (self.height() - side_px) / 2, side_px, side_px)

    @staticmethod
    def _hole_share() -> float:
        return 0.58

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = self._area()
        whole = sum(self._values)
        background = self.palette().color(QPalette.ColorRole.Base)
        if whole:
            before = 0
            for index, value in enumerate(self._values):
                begin = before * 5760 / whole
                before += value
                span = before * 5760 / whole - begin
                is_faint = self._chosen not in (-1, index)
                fill = QColor(self._colours[index])
                fill.setAlphaF(0.35 if is_faint else 1.0)
                # A thin line between sectors, none around a sector thinner than it.
                painter.setPen(
                    QPen(background, 1) if span > 60 and len(self._values) > 1 and span < 5759 else Qt.PenStyle.NoPen
                )
                painter.setBrush(fill)
                painter.drawPie(area, round(1440 - begin - span), max(round(span), 1 if value else 0))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(background)
        hole_px = area.width() * self._hole_share()
        hole = QRectF(0, 0, hole_px, hole_px)
        hole.moveCenter(area.center())
        painter.drawEllipse(hole)
        painter.setPen(self.palette().color(QPalette.ColorRole.Text))
        painter.drawText(hole, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self._centre)
        painter.end()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        index = self.sector_at(event.position())
        self.choose(index)
        self.pointed.emit(index)
        QToolTip.showText(event.globalPosition().toPoint(), tooltip(self._tips[index]) if index >= 0 else "", self)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.choose(-1)
        self.pointed.emit(-1)


class PieChart(QWidget):
    """A ring beside its legend."""

    def __init__(self, pie: Pie) -> None:
        super().__init__()
        self.ring, self.legend = Ring(), Legend()
        values = [share.value for share in pie.shares]
        colours = [colour(index, share.name) for index, share in enumerate(pie.shares)]
        rows, tips = [], []
        for share in pie.shares:
            amount = brief_time_text(share.value) if pie.unit == "ns" else f"{share.value:,}"
            percent = share_text(share.value, pie.whole)
            rows.append([share.name, amount, percent])
            exact = exact_time_text(share.value) if pie.unit == "ns" else f"{share.value:,} launches"
            ran = f", {share.count:,} times" if share.count is not None else ""
            tips.append(f"{share.name}\n{exact}{ran}\n{percent} of {pie.basis}")
        self.legend.rows.fill(rows, tips, colours)
        self.ring.show_values(values, colours, tips, _centre_text(pie))
        self.legend.pointed.connect(self.ring.choose)
        self.ring.pointed.connect(
            lambda index: self.legend.selectRow(index) if index >= 0 else self.legend.clearSelection()
        )
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        is_long = len(pie.shares) > _SHORT_LEGEND
        self.ring.setMaximumWidth(_LARGE_RING_PX if is_long else _SMALL_RING_PX)
        self.ring.setMinimumWidth(160 if is_long else 100)
        layout.addWidget(self.ring, 2)
        layout.addWidget(self.legend, 5, Qt.AlignmentFlag.AlignVCenter)
        self.legend.setMinimumHeight(min(self.legend.wanted_height_px(), 330))
        self.legend.setMaximumHeight(self.legend.wanted_height_px())


class LinesChart(QWidget):
    """Curves in percent over time; the legend shows each mean, and under the pointer each value there."""

    def __init__(self, figure: Lines) -> None:
        super().__init__()
        self._figure = figure
        self.plot = _plot(self)
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
        self._cursor = pg.InfiniteLine(angle=90)
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

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            _colour_plot(self.plot)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._leave()


class HistogramChart(QWidget):
    """Bars of counts over durations; the line beneath says what the pointer is on, else the facts."""

    def __init__(self, figure: Histogram) -> None:
        super().__init__()
        self._figure = figure
        self.plot = _plot(self)
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

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            _colour_plot(self.plot)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.show_bin(None)


def chart(figure: Pie | Lines | Histogram) -> QWidget:
    """The widget that draws a figure."""
    if isinstance(figure, Pie):
        return PieChart(figure)
    return LinesChart(figure) if isinstance(figure, Lines) else HistogramChart(figure)


def _plot(parent: QWidget) -> pg.PlotWidget:
    """A plot that only shows: the wheel scrolls the page, nothing is dragged, nothing drops."""
    plot = pg.PlotWidget(parent, background=None)
    plot.setMenuEnabled(False)
    plot.setMouseEnabled(False, False)
    plot.hideButtons()
    plot.setAcceptDrops(False)
    plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    plot.setFrameShape(QFrame.Shape.NoFrame)
    plot.showGrid(x=False, y=True, alpha=0.2)
    for axis in ("bottom", "left"):
        plot.getAxis(axis).enableAutoSIPrefix(False)
        plot.getAxis(axis).setZValue(-10)  # the grid behind the bars
    _colour_plot(plot)
    return plot


def _colour_plot(plot: pg.PlotWidget) -> None:
    plot.setBackground(plot.palette().color(QPalette.ColorRole.Base))
    text = plot.palette().color(QPalette.ColorRole.PlaceholderText)
    for name in ("bottom", "left"):
        axis = plot.getAxis(name)
        axis.setPen(plot.palette().color(QPalette.ColorRole.Mid))
        axis.setTextPen(text)
        axis.setTickFont(plot.font())


def _whole_step(most: int) -> int:
    """The step of about four ticks from 0 to `most` that is 1, 2 or 5 times a power of ten: counts are whole."""
    step = 1
    while most / step > 5:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return step


def _unit(largest_ns: int) -> tuple[int, str]:
    """The unit of an axis that reaches `largest_ns`: its length in ns and its name."""
    return next((length_ns, name) for length_ns, name in _UNITS if largest_ns >= 2 * length_ns or length_ns == 1)


def _swatch(fill: QColor) -> QPixmap:
    pixmap = QPixmap(10, 10)
    pixmap.fill(fill)
    return pixmap


def _centre_text(pie: Pie) -> str:
    shown = sum(share.value for share in pie.shares)
    if [share.name for share in pie.shares] == ["Active", "Idle"]:
        return f"{share_text(pie.shares[0].value, pie.whole)}\nactive"
    amount = brief_time_text(shown) if pie.unit == "ns" else f"{shown:,}"
    return amount if shown == pie.whole else f"{amount}\n{share_text(shown, pie.whole)} of all"
