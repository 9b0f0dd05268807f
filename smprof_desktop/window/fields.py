"""Labels and tables of plain text that can be selected and copied: what most pages are made of."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QSizePolicy,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from smprof_desktop.plain_label import ROW_PADDING_PX, label
from smprof_desktop.plain_text import table_text, tooltip

__all__ = ["ROW_PADDING_PX", "CopyTable", "label"]


class CopyTable(QTableWidget):
    """Read-only rows of text: Ctrl+C copies what is selected as tab-separated text, in full also where it is elided."""

    def __init__(self, headings: Sequence[str] = (), columns: int = 2, parent: QWidget | None = None) -> None:
        super().__init__(0, len(headings) or columns, parent)
        self._fits_height = False
        self._copied_columns = self.columnCount()
        self.setHorizontalHeaderLabels(list(headings) or [""] * columns)
        self.horizontalHeader().setVisible(bool(headings))
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.horizontalHeader().setSectionResizeMode(self.columnCount() - 1, QHeaderView.ResizeMode.Stretch)
        self.horizontalHeader().setMaximumSectionSize(520)
        self.verticalHeader().setVisible(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setAlternatingRowColors(True)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self._copy = QAction("Copy", self)
        self._copy.setShortcut(QKeySequence.StandardKey.Copy)
        self._copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self._copy.triggered.connect(self.copy_selected)
        self.addAction(self._copy)
        self._set_row_height()

    def fill(self, rows: Sequence[Sequence[str]]) -> None:
        """Show these rows in place of the present ones."""
        self.setRowCount(0)
        self.setRowCount(len(rows))
        for row, cells in enumerate(rows):
            for column, text in enumerate(cells):
                item = QTableWidgetItem(text)
                item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
                item.setToolTip(tooltip(text) if len(text) > 24 else "")
                self.setItem(row, column, item)
        if self._fits_height:
            self._fit_height()

    def add_heading(self, row: int) -> None:
        """Make a row a heading: bold, over all columns."""
        item = self.item(row, 0)
        if item is not None:
            font = item.font()
            font.setBold(True)
            item.setFont(font)
        self.setSpan(row, 0, 1, self.columnCount())

    def set_tip(self, row: int, column: int, text: str) -> None:
        """Say more about a cell while the pointer is on it."""
        item = self.item(row, column)
        if item is not None:
            item.setToolTip(tooltip(text))

    def fit_height(self) -> None:
        """Be as high as the rows, without a scroll bar: for a page that scrolls as a whole."""
        self._fits_height = True
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._fit_height()

    def copy_selected(self) -> None:
        """Put the selected rows on the clipboard; all of them where none is selected."""
        rows = sorted({index.row() for index in self.selectedIndexes()}) or range(self.rowCount())
        QGuiApplication.clipboard().setText(table_text(self.texts(row)[: self._copied_columns] for row in rows))

    def copy_values(self) -> None:
        """Put the second cell of the selected rows on the clipboard, a line each; of all where none is selected."""
        rows = sorted({index.row() for index in self.selectedIndexes()}) or range(self.rowCount())
        values = (self.texts(row)[1:2] for row in rows)
        QGuiApplication.clipboard().setText(table_text(cells for cells in values if cells and cells[0]))

    def offer_values(self) -> None:
        """For rows of a label and a value: Ctrl+C copies the bare value, Ctrl+Shift+C both."""
        self._copied_columns = 2
        value = QAction("Copy value", self)
        value.setShortcut(QKeySequence.StandardKey.Copy)
        value.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        value.triggered.connect(self.copy_values)
        self.insertAction(self._copy, value)
        self._copy.setText("Copy row")
        self._copy.setShortcut(QKeySequence("Ctrl+Shift+C"))

    def texts(self, row: int) -> list[str]:
        """The cells of a row, in full."""
        items = [self.item(row, column) for column in range(self.columnCount())]
        return [item.text() for item in items if item is not None]

    def _fit_height(self) -> None:
        header_px = self.horizontalHeader().sizeHint().height() if self.horizontalHeader().isVisibleTo(self) else 0
        self.setFixedHeight(self.verticalHeader().length() + header_px + 4)

    def _set_row_height(self) -> None:
        header = self.verticalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setMinimumSectionSize(8)
        header.setDefaultSectionSize(self.fontMetrics().height() + ROW_PADDING_PX)

    def changeEvent(self, event: QEvent) -> None:
        """Keep the rows as high as their text when the font changes."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._set_row_height()
            if self._fits_height:
                self._fit_height()
