"""The line in which all names of the profile are searched, with what was found beside it."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QLineEdit, QPushButton, QSizePolicy, QWidget

from smprof_desktop.analysis.search import MAX_PATTERN
from smprof_desktop.plain_text import tooltip
from smprof_desktop.timeline.searching import Searching

PAUSE_MS = 80
"""A search begins once nothing was written for so long."""


class SearchBar(QWidget):
    """Opened by `open`; what is written is searched at once. Esc closes it and lights everything again.

    Signals:
        left(): the keyboard goes back to the timeline.
    """

    left = Signal()

    def __init__(self, searching: Searching, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._searching = searching
        self.edit = _Line(self)
        self.edit.setMaxLength(MAX_PATTERN)
        self.edit.setClearButtonEnabled(True)
        self.edit.setAcceptDrops(False)  # what is dropped is for the window
        self.edit.setPlaceholderText("Search all names of the profile")
        self.edit.setAccessibleName("Search all names of the profile")
        self.regex = QCheckBox("Regular expression")
        self.regex.setToolTip("Read the search as a regular expression (RE2)")
        self.count = QLabel()
        self.count.setTextFormat(Qt.TextFormat.PlainText)
        self.count.setObjectName("search_count")
        self.count.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.previous = QPushButton("Previous")
        self.previous.setToolTip("Go to the match before (Shift+Enter, Shift+F3)")
        self.next = QPushButton("Next")
        self.next.setToolTip("Go to the next match (Enter, F3)")
        self.list = QPushButton("List")
        self.list.setToolTip("List the matching names below")
        self.close_button = QPushButton("Close")
        self.close_button.setToolTip("End the search (Esc)")
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self._find)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(10, 4, 10, 4)
        layout.setSpacing(8)
        layout.addWidget(self.edit, 2)
        layout.addWidget(self.regex)
        layout.addWidget(self.count, 1)
        for button in (self.previous, self.next, self.list, self.close_button):
            button.setAutoDefault(False)
            layout.addWidget(button)
        self.edit.textChanged.connect(lambda _text: self._pause.start())
        self.edit.escaped.connect(self.close_bar)
        self.edit.stepped.connect(self._walk)
        self.regex.toggled.connect(lambda _is_on: self._find())
        self.previous.clicked.connect(lambda: self._walk(-1))
        self.next.clicked.connect(lambda: self._walk(1))
        self.list.clicked.connect(searching.list_asked)
        self.close_button.clicked.connect(self.close_bar)
        searching.changed.connect(self._tell)
        self.hide()
        self._tell()

    def open(self) -> None:
        """Show the line and give it the keyboard."""
        self.show()
        self.edit.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.edit.selectAll()

    def close_bar(self) -> None:
        """Search for nothing, and go back to the timeline. What was written is kept for the next time."""
        self._pause.stop()
        self.hide()
        self._searching.clear()
        self.left.emit()

    def _find(self) -> None:
        self._pause.stop()
        if self.isVisible():
            self._searching.find(self.edit.text(), self.regex.isChecked())

    def _walk(self, step: int) -> None:
        self._find()  # what was just written counts
        if self.edit.text():
            self._searching.walk(step)

    def _tell(self) -> None:
        searching = self._searching
        self.count.setText(searching.text)
        self.count.setToolTip(tooltip(searching.fault) if searching.fault else "")
        has_matches = searching.search is not None and searching.search.slices > 0
        for button in (self.previous, self.next, self.list):
            button.setEnabled(has_matches)


class _Line(QLineEdit):
    """Signals: escaped() on Esc; stepped(int) on Return and F3 (1), and with Shift (-1)."""

    escaped = Signal()
    stepped = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc, Return and F3 are the search's; everything else is written."""
        if event.key() == Qt.Key.Key_Escape:
            self.escaped.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F3):
            self.stepped.emit(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)
