"""The text beside the pointer: plain, whatever a name holds, and never in the pointer's way."""

from __future__ import annotations

import re

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QFrame, QLabel, QWidget

MAX_CHARACTERS = 2_000
MAX_WIDTH_PX = 560


class HoverText(QLabel):
    """A label over its parent. A tool tip would guess from `<` and `>` in a kernel's name that it is rich text."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setMargin(5)
        self.setAutoFillBackground(True)
        self.setFrameShape(QFrame.Shape.Box)
        self.hide()

    def show_at(self, pointer: QPoint, text: str) -> None:
        """Show a text below the pointer, above it where there is no room; hide where the text is empty."""
        around = self.parentWidget()
        if not text or around is None:
            self.hide()
            return
        room = around.size()
        self.setText(breakable(text[:MAX_CHARACTERS]))
        self.setMaximumWidth(min(MAX_WIDTH_PX, max(room.width() - 20, 100)))
        self.adjustSize()
        x_px = min(pointer.x() + 14, room.width() - self.width() - 4)
        y_px = pointer.y() + 18
        if y_px + self.height() > room.height():
            y_px = pointer.y() - self.height() - 8
        self.move(max(x_px, 0), max(y_px, 0))
        self.show()


class PointerTime(QLabel):
    """The time at the pointer with every digit, in the place of the axis' header."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setContentsMargins(4, 0, 8, 0)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAutoFillBackground(True)
        self.hide()


def breakable(text: str, longest: int = 40) -> str:
    """`text` with places to break in words longer than that: kernel names have no space for hundreds of letters."""
    return re.sub(rf"(\S{{{longest}}})(?=\S)", "\\1\u200b", text)
