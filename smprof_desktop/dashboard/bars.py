"""Bars, one a step or rank, stacked of parts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPalette, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from smprof_desktop.dashboard.cells import axis_unit, cell_text, exact_text, ticks
from smprof_desktop.dashboard.chart import LEADS, Chart, door_at, hint_at_door
from smprof_desktop.dashboard.figures import Bars
from smprof_desktop.dashboard.legend import Legend, colour
from smprof_desktop.plain_label import label

LEAST_BAR_PX, MOST_BAR_PX, MARK_PX = 4, 60, 7
NAME_ROOM_PX = 104


class BarsPlot(QWidget):
    """The bars with their axes. Where they are more than there is room for, one stands for several: the greatest of
    them, of those that stand out where any does. Left and Right move from bar to bar.

    Signals:
        pointed(int): the pointer or the keyboard is on that bar of the figure; -1 when on none.
        chosen(int): that bar was clicked, or Enter pressed on it.
        merged(int): from now on so many bars share one.
    """

    pointed = Signal(int)
    chosen = Signal(int)
    merged = Signal(int)

    def __init__(self, figure: Bars) -> None:
        super().__init__()
        self._figure = figure
        self._colours = [colour(index, name) for index, name in enumerate(figure.parts)]
        count = len(figure.names)
        self._values = [np.asarray(part, np.float64) for part in figure.values]
        self._totals: NDArray[np.float64] = sum(self._values, np.zeros(count))
        self._marked = np.zeros(count, bool)
        self._marked[list(figure.marked)] = True
        self._most = float(self._totals.max(initial=0.0))
        self._unit, self.unit_text = axis_unit(self._most, figure.kind)
        self._ticks = ticks(self._most / self._unit, figure.kind == "count")
        self._shown: NDArray[np.int64] = np.arange(count)
        self._each = 1
        self._current = -1
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumHeight(170)
        self.setAccessibleName("Bars")

    @property
    def shown(self) -> list[int]:
        """The bars of the figure that are drawn, from the left."""
        return [int(place) for place in self._shown]

    def bar_at(self, x_px: float) -> int:
        """The bar of the figure at that place across, counted in `shown`; -1 where there is none."""
        area = self._area()
        if not len(self._shown) or not area.left() <= x_px < area.left() + self._pitch_px() * len(self._shown):
            return -1
        return min(int((x_px - area.left()) / self._pitch_px()), len(self._shown) - 1)

    def bar_rect(self, place: int) -> QRectF:
        """Where the bar that is drawn at that place stands, all parts together."""
        area = self._area()
        pitch_px = self._pitch_px()
        width_px = max(pitch_px - 2 if pitch_px >= 6 else pitch_px - 0.5, 1.0)
        height_px = self._height_px(float(self._totals[self._shown[place]]))
        x_px = area.left() + place * pitch_px + (pitch_px - width_px) / 2
        return QRectF(x_px, area.bottom() - height_px, width_px, height_px)

    def sizeHint(self) -> QSize:
        return QSize(400, 200)

    def _area(self) -> QRectF:
        metrics = self.fontMetrics()
        left_px = max(metrics.horizontalAdvance(text) for _, text in self._ticks) + 12
        bottom_px = metrics.height() + 8
        top_px = metrics.height() + MARK_PX + 6
        return QRectF(
            left_px, top_px, max(self.width() - left_px - 6.0, 1.0), max(self.height() - top_px - bottom_px, 1.0)
        )

    def _pitch_px(self) -> float:
        return min(self._area().width() / max(len(self._shown), 1), MOST_BAR_PX)

    def _height_px(self, value: float) -> float:
        top = max(self._most, self._ticks[-1][0] * self._unit)
        return value / top * self._area().height() if top else 0.0

    def _merge(self) -> None:
        """Choose the bars that there is room for."""
        count = len(self._figure.names)
        room = max(int(self._area().width() // LEAST_BAR_PX), 1)
        each = -(-count // room) if count else 1
        if each == self._each and len(self._shown) == -(-count // max(each, 1)):
            return
        self._each = each
        keys = np.where(self._marked, self._totals + self._most + 1, self._totals)
        padded = np.full(-(-count // each) * each, -1.0)
        padded[:count] = keys
        groups = padded.reshape(-1, each)
        self._shown = np.arange(len(groups)) * each + groups.argmax(axis=1)
        self._current = -1
        self.merged.emit(each)

    def _point(self, place: int) -> None:
        if place != self._current:
            self._current = place
            bar = int(self._shown[place]) if place >= 0 else -1
            hint_at_door(self, door_at(self._figure.doors, bar) is not None)
            self.pointed.emit(bar)
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        area = self._area()
        self._paint_axes(painter, area)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        base = self.palette().color(QPalette.ColorRole.Base)
        text = self.palette().color(QPalette.ColorRole.Text)
        for place, bar in enumerate(self._shown.tolist()):
            whole = self.bar_rect(place)
            bottom_px = whole.bottom()
            for part, values in enumerate(self._values):
                height_px = self._height_px(float(values[bar]))
                painter.fillRect(
                    QRectF(whole.left(), bottom_px - height_px, whole.width(), height_px), self._colours[part]
                )
                bottom_px -= height_px
            if self._marked[bar]:  # by shape, not by colour
                middle_px, tip_px = whole.center().x(), whole.top() - 2
                half_px = max(MARK_PX / 2, min(whole.width() / 2, MARK_PX))
                painter.setPen(QPen(base, 1))
                painter.setBrush(text)
                painter.drawPolygon(
                    QPolygonF(
                        [
                            QPointF(middle_px, tip_px),
                            QPointF(middle_px - half_px, tip_px - MARK_PX),
                            QPointF(middle_px + half_px, tip_px - MARK_PX),
                        ]
                    )
                )
            if place == self._current:
                painter.setPen(QPen(text, 1))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(whole.adjusted(-1, -1, 1, 0))
        painter.end()

    def _paint_axes(self, painter: QPainter, area: QRectF) -> None:
        muted = self.palette().color(QPalette.ColorRole.PlaceholderText)
        line = self.palette().color(QPalette.ColorRole.Mid)
        metrics = self.fontMetrics()
        for value, text in self._ticks:
            y_px = round(area.bottom() - self._height_px(value * self._unit))
            painter.setPen(line)
            painter.drawLine(round(area.left()), y_px, round(area.right()), y_px)
            painter.setPen(muted)
            painter.drawText(
                QRectF(0, y_px - metrics.height() / 2, area.left() - 6, metrics.height()),
                Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
                text,
            )
        painter.drawText(QRectF(0, 0, area.width(), metrics.height()), Qt.AlignmentFlag.AlignLeft, self.unit_text)
        pitch_px = self._pitch_px()
        names = [self._figure.names[bar] for bar in self._shown.tolist()]
        widest_px = max((metrics.horizontalAdvance(name) for name in names[:200]), default=0)
        every = max(1, -(-min(widest_px + 10, NAME_ROOM_PX) // max(int(pitch_px), 1)))
        for place in range(0, len(names), every):
            room_px = int(every * pitch_px) - 4
            text = metrics.elidedText(_one_line(names[place]), Qt.TextElideMode.ElideMiddle, room_px)
            x_px = area.left() + (place + 0.5) * pitch_px - room_px / 2
            if every > 1:
                x_px = area.left() + place * pitch_px
            if x_px + metrics.horizontalAdvance(text) <= self.width():
                where = Qt.AlignmentFlag.AlignHCenter if every == 1 else Qt.AlignmentFlag.AlignLeft
                painter.drawText(QRectF(x_px, area.bottom() + 4, room_px, metrics.height()), where, text)

    # Overrides of Qt methods.

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._merge()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._point(self.bar_at(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        place = self.bar_at(event.position().x())
        if event.button() == Qt.MouseButton.LeftButton and place >= 0:
            self.chosen.emit(int(self._shown[place]))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        last = len(self._shown) - 1
        goals = {
            Qt.Key.Key_Left: max(self._current - 1, 0),
            Qt.Key.Key_Right: min(self._current + 1, last),
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        goal = goals.get(Qt.Key(event.key()))
        if goal is not None and last >= 0:
            self._point(goal)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._current >= 0:
            self.chosen.emit(int(self._shown[self._current]))
        else:
            super().keyPressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point(-1)


class BarsChart(Chart):
    """Bars beside the legend of their parts; the line beneath says which bar the pointer is on, and its sum."""

    def __init__(self, figure: Bars) -> None:
        super().__init__()
        self._figure = figure
        self._each = 1
        self.plot = BarsPlot(figure)
        self.legend = Legend()
        self.where = label("", "muted", wraps=True, selectable=True)
        self.plot.pointed.connect(self.show_bar)
        self.plot.chosen.connect(lambda bar: self.open_door(door_at(figure.doors, bar)))
        self.plot.merged.connect(self._on_merged)
        middle = QHBoxLayout()
        middle.addWidget(self.plot, 1)
        middle.addWidget(self.legend, 0, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(middle, 1)
        layout.addWidget(self.where)
        self.show_bar(-1)
        widest_px = max((self.fontMetrics().horizontalAdvance(part) for part in figure.parts), default=0)
        self.legend.setFixedWidth(min(widest_px, 170) + 130)
        self.legend.setMaximumHeight(max(self.legend.wanted_height_px(), 20))

    def show_bar(self, bar: int) -> None:
        """Tell of a bar of the figure; of all of them for -1."""
        figure = self._figure
        values = [int(part[bar]) if bar >= 0 else sum(part.tolist()) for part in figure.values]
        texts = [cell_text(value, figure.kind) for value in values]
        rows = [[part, text] for part, text in zip(figure.parts, texts, strict=True)]
        tips = [f"{part}\n{exact_text(value, figure.kind)}" for part, value in zip(figure.parts, values, strict=True)]
        self.legend.rows.fill(rows, tips, [colour(index, name) for index, name in enumerate(figure.parts)])
        self.where.setText(self._bar_text(bar, sum(values)) if bar >= 0 else self._all_text())

    def _bar_text(self, bar: int, whole: int) -> str:
        figure = self._figure
        stands_out = " · stands out (▼)" if bar in figure.marked else ""
        leads = f" · {LEADS}" if door_at(figure.doors, bar) is not None else ""
        return f"{_one_line(figure.names[bar])}: {exact_text(whole, figure.kind)}{stands_out}{leads}"

    def _all_text(self) -> str:
        count = len(self._figure.names)
        parts = ["1 bar" if count == 1 else f"{count:,} bars"]
        if self._each > 1:
            parts.append(f"each drawn one is the greatest of {self._each:,}; make the window wider to see more")
        if self._figure.marked:
            parts.append(f"▼ {len(self._figure.marked):,} stand out")
        return " · ".join(parts)

    def _on_merged(self, each: int) -> None:
        self._each = each
        self.show_bar(-1)


def _one_line(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
