"""Where lanes are filtered by name: a funnel above the headers that opens a line to write in, with a count."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QKeyEvent, QPainter, QPalette, QPixmap, QPolygonF
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QToolButton, QWidget

MAX_CHARACTERS = 500
FILTER_TIP = "Filter lanes by name (Ctrl+L)"


class FilterBar(QWidget):
    """A funnel, or the line that it opens. What is written filters at once; Esc clears it and closes the line.

    Signals:
        changed(str): the filter.
        left(): the keyboard goes back to the lanes.
        resized(): the line has opened or closed, and needs another room.
    """

    changed = Signal(str)
    left = Signal()
    resized = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.button = QToolButton(self)
        self.button.setAutoRaise(True)
        self.button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.button.setToolTip(FILTER_TIP)
        self.button.setAccessibleName("Filter lanes by name")
        self.button.clicked.connect(self.open)
        self.edit = _Line(self)
        self.edit.setMaxLength(MAX_CHARACTERS)
        self.edit.setFrame(False)
        self.edit.setPlaceholderText("Filter lanes")
        self.edit.setAccessibleName("Filter lanes by name")
        self.edit.textChanged.connect(self.changed)
        self.edit.escaped.connect(self.close_line)
        self.edit.finished.connect(self._finish)
        self.count = QLabel(self)
        self.count.setTextFormat(Qt.TextFormat.PlainText)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(2, 0, 8, 0)
        layout.setSpacing(3)
        layout.addWidget(self.button)
        layout.addWidget(self.edit, 1)
        layout.addWidget(self.count)
        self._show_line(False)

    @property
    def is_open(self) -> bool:
        """Whether the line shows."""
        return not self.edit.isHidden()

    def place(self, width_px: int, height_px: int) -> None:
        """Take that room at the top left corner; only the funnel's while the line is closed."""
        self.button.setFixedSize(height_px - 2, height_px - 2)
        self.setGeometry(QRect(0, 0, width_px if self.is_open else height_px + 4, height_px - 1))

    def open(self) -> None:
        """Open the line and give it the keyboard."""
        self._show_line(True)
        self.edit.setFocus()
        self.edit.selectAll()

    def close_line(self) -> None:
        """Clear the filter and close the line."""
        self.edit.clear()
        self._show_line(False)
        self.left.emit()

    def tell(self, matching: int | None, total: int) -> None:
        """Tell how many lanes the filter finds; None without a filter."""
        self.count.setText(f"{matching:,} of {total:,} lanes" if matching is not None else "")

    def dress(self, ink: QColor) -> None:
        """Draw the funnel in that colour."""
        ratio = self.devicePixelRatioF()
        size_px = max(self.button.height() - 6, 8)
        pixmap = QPixmap(round(size_px * ratio), round(size_px * ratio))
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink)
        unit = size_px / 12
        shape = ((1, 2), (11, 2), (7, 6.5), (7, 11), (5, 9.5), (5, 6.5))
        painter.drawPolygon(QPolygonF([QPointF(x * unit, y * unit) for x, y in shape]))
        painter.end()
        self.button.setIcon(QIcon(pixmap))
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.WindowText, ink)
        self.count.setPalette(palette)

    def _finish(self) -> None:
        if not self.edit.text().strip():
            self._show_line(False)
        self.left.emit()

    def _show_line(self, is_shown: bool) -> None:
        self.edit.setVisible(is_shown)
        self.count.setVisible(is_shown)
        self.setAutoFillBackground(is_shown)
        self.resized.emit()


class _Line(QLineEdit):
    """Signals: escaped() on Esc; finished() on Return and Down."""

    escaped = Signal()
    finished = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc, Return and Down leave the line; everything else is written."""
        if event.key() == Qt.Key.Key_Escape:
            self.escaped.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down):
            self.finished.emit()
        else:
            super().keyPressEvent(event)
