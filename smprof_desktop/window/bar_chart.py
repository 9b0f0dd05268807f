"""Bars of equal width over bins of durations: hovered, chosen by mouse or keyboard, one of them marked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from smprof_desktop.analysis.quantities import time_text

MIN_BAR_PX = 2.0
"""Height of the lowest bar that holds anything."""
MAX_BAR_PX = 90.0
TICK_GAP_PX = 18.0
PADDING_PX = 8.0


class BarChart(QWidget):
    """Counts between edges of whole ns. `marked` is the bin to mark, -1 for none.

    Signals:
        pointed(int): the bin that the pointer or the keyboard is on, -1 for none.
        chosen(int): a bin that holds something was clicked, or Enter pressed on it.
    """

    pointed = Signal(int)
    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.edges_ns: Sequence[int] = ()
        self.counts: Sequence[int] = ()
        self.marked = -1
        self.current = -1
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Histogram of durations")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(70)

    def show_bins(self, edges_ns: Sequence[int], counts: Sequence[int], marked: int) -> None:
        """Show these bins in place of the present ones."""
        self.edges_ns, self.counts, self.marked = edges_ns, counts, marked
        self.current = -1
        self.update()

    def bar(self, index: int) -> QRectF:
        """Where a bar stands; of no height where nothing is in its bin."""
        area = self._area()
        width_px = self._bar_px()
        count, most = self.counts[index], max(self.counts, default=0)
        height_px = max(area.height() * count / most, MIN_BAR_PX) if count else 0.0
        gap_px = 1.0 if width_px >= 4 else 0.0
        return QRectF(area.left() + index * width_px, area.bottom() - height_px, width_px - gap_px, height_px)

    def bin_at(self, position: QPointF) -> int:
        """The bin at a point, over and under its bar as well; -1 beside all of them."""
        area = self._area()
        if not self.counts or not area.left() <= position.x() or position.y() > self.height():
            return -1
        index = int((position.x() - area.left()) / self._bar_px())
        return index if index < len(self.counts) else -1

    def sizeHint(self) -> QSize:
        """Room for some lines of text."""
        return QSize(400, 160)

    def _area(self) -> QRectF:
        line_px = self.fontMetrics().height()
        left_px = QFontMetricsF(self.font()).horizontalAdvance(f"{max(self.counts, default=0):,}") + 2 * PADDING_PX
        return QRectF(left_px, line_px / 2 + 2, max(self.width() - left_px - PADDING_PX, 1), self._bottom_px())

    def _bottom_px(self) -> float:
        return max(self.height() - 2.0 * self.fontMetrics().height() - 8, 1.0)

    def _bar_px(self) -> float:
        return min(self._area().width() / max(len(self.counts), 1), MAX_BAR_PX)

    def _point(self, index: int) -> None:
        if index != self.current:
            self.current = index
            self.pointed.emit(index)
            self.update()

    def _choose(self, index: int) -> None:
        if 0 <= index < len(self.counts) and self.counts[index]:
            self.chosen.emit(index)

    # Overrides of Qt methods.

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        palette, area = self.palette(), self._area()
        painter.fillRect(self.rect(), palette.color(QPalette.ColorRole.Base))
        if not self.counts:
            return
        muted = palette.color(QPalette.ColorRole.PlaceholderText)
        accent, text = palette.color(QPalette.ColorRole.Highlight), palette.color(QPalette.ColorRole.Text)
        soft = palette.color(QPalette.ColorRole.Highlight)
        soft.setAlpha(120)
        pointed = palette.color(QPalette.ColorRole.Highlight)
        pointed.setAlpha(180)
        metrics = QFontMetricsF(self.font())
        painter.setPen(muted)
        for count, y_px in ((max(self.counts), area.top()), (0, area.bottom())):
            box = QRectF(0, y_px - metrics.height() / 2, area.left() - PADDING_PX, metrics.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, f"{count:,}")
        for index in range(len(self.counts)):
            bar = self.bar(index)
            if index == self.current:
                hover = palette.color(QPalette.ColorRole.AlternateBase)
                painter.fillRect(QRectF(bar.left(), area.top(), bar.width(), area.height()), hover)
            painter.fillRect(bar, accent if index == self.marked else pointed if index == self.current else soft)
        painter.setPen(QPen(palette.color(QPalette.ColorRole.Mid), 1))
        painter.drawLine(area.bottomLeft(), QPointF(area.left() + len(self.counts) * self._bar_px(), area.bottom()))
        if 0 <= self.marked < len(self.counts):
            self._draw_mark(painter, self.bar(self.marked), area, text)
        painter.setPen(muted)
        self._draw_edges(painter, area, metrics)
        if self.hasFocus():
            painter.setPen(QPen(accent, 1))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()

    @staticmethod
    def _draw_mark(painter: QPainter, bar: QRectF, area: QRectF, colour: QColor) -> None:
        """A triangle under the bar, and a line up along it."""
        x_px = bar.center().x()
        painter.setPen(QPen(colour, 1, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(x_px, area.top()), QPointF(x_px, area.bottom()))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        y_px = area.bottom() + 1
        painter.drawPolygon([QPointF(x_px, y_px), QPointF(x_px - 5, y_px + 7), QPointF(x_px + 5, y_px + 7)])
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setBrush(Qt.BrushStyle.NoBrush)

    def _draw_edges(self, painter: QPainter, area: QRectF, metrics: QFontMetricsF) -> None:
        """The edges of the bins, as many as have room."""
        free_px = 0.0
        top_px = area.bottom() + 9
        for index, edge_ns in enumerate(self.edges_ns):
            text = time_text(edge_ns)
            width_px = metrics.horizontalAdvance(text)
            x_px = area.left() + index * self._bar_px()
            left_px = min(max(x_px - width_px / 2, 0.0), self.width() - width_px - 1)
            if left_px < free_px:
                continue
            painter.drawLine(QPointF(x_px, area.bottom()), QPointF(x_px, area.bottom() + 3))
            painter.drawText(QPointF(left_px, top_px + metrics.ascent()), text)
            free_px = left_px + width_px + TICK_GAP_PX

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        index = self.bin_at(event.position())
        self._point(index)
        is_door = index >= 0 and self.counts[index] > 0
        self.setCursor(Qt.CursorShape.PointingHandCursor if is_door else Qt.CursorShape.ArrowCursor)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._choose(self.bin_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        self._point(-1)
        super().leaveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        last = len(self.counts) - 1
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        if event.key() in steps and last >= 0:
            begin = self.current if self.current >= 0 else max(self.marked, 0) - steps[Qt.Key(event.key())]
            self._point(min(max(begin + steps[Qt.Key(event.key())], 0), last))
        elif event.key() in (Qt.Key.Key_Home, Qt.Key.Key_End) and last >= 0:
            self._point(0 if event.key() == Qt.Key.Key_Home else last)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._choose(self.current)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QEvent) -> None:
        self.update()

    def focusOutEvent(self, event: QEvent) -> None:
        self.update()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self.update()
