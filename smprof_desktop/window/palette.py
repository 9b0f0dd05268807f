"""A palette: a line to write a few letters in, above what they find; for commands and for lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QFrame,
    QHeaderView,
    QLineEdit,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from smprof_desktop.analysis.quantities import elide_middle
from smprof_desktop.fuzzy import Choices
from smprof_desktop.window.fields import label

if TYPE_CHECKING:
    from smprof_desktop.timeline.widget import TimelineWidget

MAX_SHOWN = 100
"""Entries that are shown; who wants another one writes more."""
MAX_WRITTEN = 200
WIDTH_PX, ROWS = 640, 14
_MARGIN_PX = 12
_MAX_CHARACTERS = 300


@dataclass(frozen=True)
class Entry:
    """One line of a palette. `detail` stands on the right; what has a `reason` cannot be done now."""

    text: str
    do: Callable[[], None]
    detail: str = ""
    reason: str = ""
    also: str = ""
    """What it is found by besides its text."""


def lane_entries(timeline: TimelineWidget) -> list[Entry]:
    """Every lane of a timeline by its path, from the outermost group."""
    tree = timeline.opened_scene().tree
    labels = {lane.key: lane.label for lane in tree.walk()}
    return [
        Entry(
            " › ".join(labels[key] for key in reversed([lane.key, *tree.ancestors(lane.key)])),
            partial(timeline.focus_lane, lane.key),
        )
        for lane in tree.walk()
    ]


class Palette(QFrame):
    """Lies over the window until something is chosen or it is left: Enter does what is chosen, Esc nothing."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._entries: Sequence[Entry] = ()
        self._shown: list[Entry] = []
        self._choices = Choices(())
        self._return_to: QWidget | None = None
        self.setObjectName("palette")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAutoFillBackground(True)
        self.edit = QLineEdit()
        self.edit.setMaxLength(MAX_WRITTEN)
        self.edit.setAcceptDrops(False)
        self.edit.installEventFilter(self)
        self.table = QTableWidget(0, 2)
        self.table.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.table.setShowGrid(False)
        self.table.setWordWrap(False)
        self.table.setFrameShape(QFrame.Shape.NoFrame)
        self.table.horizontalHeader().hide()
        self.table.verticalHeader().hide()
        self.table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.table.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.table.viewport().setAcceptDrops(False)
        self.table.cellClicked.connect(lambda row, _column: self._do(row))
        self.note = label("", "muted")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.addWidget(self.edit)
        layout.addWidget(self.table, 1)
        layout.addWidget(self.note)
        self.edit.textChanged.connect(self._find)
        window.installEventFilter(self)
        self.hide()

    def ask(self, entries: Sequence[Entry], what: str) -> None:
        """Show these entries; `what` says what is looked for."""
        if self.isHidden():
            self._return_to = QApplication.focusWidget()
        self._entries = entries
        self._choices = Choices([entry.text for entry in entries], [entry.also for entry in entries])
        self.edit.setPlaceholderText(what)
        self.edit.setAccessibleName(what)
        self.table.setAccessibleName(what)
        self.table.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 8)
        self.edit.clear()
        self._find("")
        self._place()
        self.show()
        self.raise_()
        self.edit.setFocus(Qt.FocusReason.PopupFocusReason)

    def leave(self) -> None:
        """Go, and give the keyboard back to who had it."""
        back, self._return_to = self._return_to, None
        had_keyboard = self.edit.hasFocus()
        self.hide()
        if had_keyboard and back is not None:
            back.setFocus(Qt.FocusReason.PopupFocusReason)

    def _find(self, text: str) -> None:
        self._shown = [self._entries[at] for at in self._choices.best(text, MAX_SHOWN)]
        self.table.setRowCount(0)
        self.table.setRowCount(len(self._shown))
        for row, entry in enumerate(self._shown):
            for column, cell in enumerate((entry.text, entry.reason or entry.detail)):
                item = QTableWidgetItem(elide_middle(cell, _MAX_CHARACTERS))
                can_be_done = Qt.ItemFlag.NoItemFlags if entry.reason else Qt.ItemFlag.ItemIsEnabled
                item.setFlags(Qt.ItemFlag.ItemIsSelectable | can_be_done)
                if column:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.table.setItem(row, column, item)
        self._choose(0)
        if not self._shown:
            self.note.setText("Nothing is called so.")
        elif len(self._shown) == MAX_SHOWN:
            self.note.setText(f"The first {MAX_SHOWN} of {len(self._entries):,} or fewer; write more to find others.")
        else:
            self.note.setText(f"{len(self._shown):,} of {len(self._entries):,}")

    def _choose(self, row: int) -> None:
        if self._shown:
            row = min(max(row, 0), len(self._shown) - 1)
            index = self.table.model().index(row, 0)
            flags = self.table.selectionModel().SelectionFlag
            # The view itself would not go to a row that is greyed.
            self.table.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
            self.table.scrollTo(index)

    def _do(self, row: int) -> None:
        if not 0 <= row < len(self._shown) or self._shown[row].reason:
            return
        do = self._shown[row].do
        self.leave()
        do()

    def _place(self) -> None:
        """Below the upper edge of the window, in its middle."""
        around = self._window.size()
        rows_px = ROWS * self.table.verticalHeader().defaultSectionSize()
        least_px = self.minimumSizeHint().height()
        size = QSize(
            min(WIDTH_PX, around.width() - 2 * _MARGIN_PX),
            min(max(rows_px + 90, least_px), around.height() - 2 * _MARGIN_PX),
        )
        self.resize(size)
        self.move((around.width() - size.width()) // 2, min(60, max(0, around.height() - size.height()) // 2))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keys of the line that move in the list; the window's size; and when the keyboard goes elsewhere."""
        if isinstance(event, QResizeEvent) and watched is self._window:
            self._place()
        elif watched is self.edit and event.type() == QEvent.Type.FocusOut and not self.isHidden():
            self._return_to = None
            if self.isActiveWindow():
                self.leave()
        elif watched is self.edit and event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._press(Qt.Key(event.key()))
        return super().eventFilter(watched, event)

    def _press(self, key: Qt.Key) -> bool:
        row = self.table.currentRow()
        moves = {
            Qt.Key.Key_Up: row - 1,
            Qt.Key.Key_Down: row + 1,
            Qt.Key.Key_PageUp: row - ROWS,
            Qt.Key.Key_PageDown: row + ROWS,
        }
        if key in moves:
            self._choose(moves[key])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._do(row)
        elif key == Qt.Key.Key_Escape:
            self.leave()
        elif key not in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            return False
        return True
