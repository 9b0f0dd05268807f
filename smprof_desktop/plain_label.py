"""Labels of plain text, which pages, panes and panels are made of."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

ROW_PADDING_PX = 7
"""What a row of a table is higher than its text."""


def label(text: str = "", name: str = "", wraps: bool = False, selectable: bool = False) -> QLabel:
    """A label that shows its text literally. `name` is what the style sheet knows it by."""
    result = QLabel()
    result.setTextFormat(Qt.TextFormat.PlainText)
    result.setText(text)
    result.setObjectName(name)
    result.setWordWrap(wraps)
    result.setIndent(0)
    if selectable:
        result.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
    return result
