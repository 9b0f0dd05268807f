"""The Keyboard shortcuts page: made from the tables of commands and of the timeline's keys."""

from __future__ import annotations

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from smprof_desktop.timeline.keys import COMMANDS as TIMELINE_COMMANDS
from smprof_desktop.timeline.keys import GESTURES
from smprof_desktop.window.commands import COMMANDS
from smprof_desktop.window.fields import CopyTable, label


class ShortcutsPage(QScrollArea):
    """One table for each group: keys, what they do."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        body = QWidget()
        layout = QVBoxLayout(body)
        layout.setContentsMargins(16, 12, 16, 16)
        layout.setSpacing(6)
        for title, rows in (("Window", window_rows()), ("Timeline", timeline_rows())):
            table = CopyTable()
            table.setAccessibleName(f"Keys: {title}")
            table.fill(rows)
            table.fit_height()
            layout.addWidget(label(title, "section"))
            layout.addWidget(table)
            layout.addSpacing(6)
        layout.addWidget(
            label(
                "In tables and legends Ctrl+C copies what is chosen, or everything; Tab moves between controls.",
                "muted",
                wraps=True,
            )
        )
        layout.addStretch()
        self.setWidget(body)


def window_rows() -> list[tuple[str, str]]:
    """Keys of the window and what they do."""
    return [(_keys_text(command.keys), command.meaning) for command in COMMANDS if command.keys]


def timeline_rows() -> list[tuple[str, str]]:
    """Keys and mouse gestures of the timeline and what they do; those of the window are not told twice."""
    taken = {key for command in COMMANDS for key in command.keys}
    keys = [(_keys_text(command.keys), command.title) for command in TIMELINE_COMMANDS if not taken & {*command.keys}]
    return keys + [(gesture.gesture, gesture.title) for gesture in GESTURES]


def _keys_text(keys: tuple[str, ...]) -> str:
    """Key sequences as this system writes them."""
    return " or ".join(QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText) for key in keys)
