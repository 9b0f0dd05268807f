"""Tables of figures: sorted by any column, filtered by name, copied, saved as CSV; their sum is pinned below."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QAbstractTableModel, QEvent, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QAction, QFont, QGuiApplication, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from smprof.profile.manifest import ProfileError
from smprof_desktop import destination
from smprof_desktop.plain_label import ROW_PADDING_PX, label
from smprof_desktop.plain_text import table_text, tooltip

MAX_ROWS = 20_000
"""Rows that are shown; the others are summed up and saved with them."""
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""
LONG_TEXT = 24
"""Characters from which a text may be elided, so that a tooltip shows it in full."""
MAX_TEXT_PX = 180
"""Width of a column of texts but the first, unless there is room to spare."""
MIN_NAME_PX = 220
"""Width of the first column; where there is no more room, the table is scrolled to the side."""
COLUMN_PADDING_PX = 4

R = TypeVar("R")
Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


@dataclass(frozen=True)
class Column(Generic[R]):
    """One column: its heading, what is shown of a row, what rows are sorted by and what is saved, under `saved_as`."""

    title: str
    text: Callable[[R], str]
    value: Callable[[R], Any]
    saved_as: str
    is_number: bool = True
    tip: str = ""
    exact: Callable[[R], str] | None = None
    """What is told of a cell under the pointer, where that is more than its text."""
    order: Callable[[R], Any] | None = None
    """What rows are sorted by, where that is not the value."""


class FiguresModel(QAbstractTableModel, Generic[R]):
    """Rows of figures; row 0 sums up those that are shown and those that there is no room for.

    It is there also where there is no sum, for views to show apart from the others or to hide.
    """

    def __init__(
        self, columns: Sequence[Column[R]], total: Callable[[Sequence[R]], R | None], name: Callable[[R], str]
    ) -> None:
        """`total` makes one row of several, or none; `name` is what the filter looks in."""
        super().__init__()
        self.columns = tuple(columns)
        self._total_of = total
        self._name = name
        self._all: Sequence[R] = ()
        self._total_of_all: R | None = None
        self._filter = ""
        self._sorted_by = -1
        self._order = Qt.SortOrder.DescendingOrder
        self.rows: list[R] = []
        """All that the filter finds, sorted."""
        self.total: R | None = None
        self._bold = QFont()

    @property
    def unshown(self) -> int:
        """How many rows are found but not shown."""
        return max(len(self.rows) - MAX_ROWS, 0)

    def fill(self, rows: Sequence[R], total: R | None = None) -> None:
        """Hold these rows in place of the present ones. `total` is their sum where a task has worked it out."""
        self._all, self._total_of_all = rows, total
        self._renew()

    def renew(self) -> None:
        """Filter and sort the rows again: what is shown of them is another."""
        self._renew()

    def set_filter(self, text: str) -> None:
        """Show only rows whose name contains a text, in any case."""
        if text != self._filter:
            self._filter = text
            self._renew()

    def set_font(self, font: QFont) -> None:
        """The font of the first row follows that of the table."""
        self._bold = QFont(font)
        self._bold.setBold(True)

    def row_of(self, index: Index) -> R | None:
        """The row that a cell is of; None for the first one, which is none by itself."""
        return self.rows[index.row() - 1] if index.isValid() and index.row() > 0 else None

    def texts(self, row: int) -> list[str]:
        """The cells of a row as they are shown; none of a sum that is not there."""
        shown = self._shown(row)
        return [column.text(shown) for column in self.columns] if shown is not None else []

    def csv(self) -> bytes:
        """All rows that the filter finds, with headings: numbers in full, no text that a spreadsheet would work out."""
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow([column.saved_as for column in self.columns])
        for row in self.rows:
            writer.writerow([harmless(column.value(row)) for column in self.columns])
        return out.getvalue().encode("utf-8-sig", "surrogatepass")

    def _shown(self, row: int) -> R | None:
        return self.total if row == 0 else self.rows[row - 1]

    def _renew(self) -> None:
        self.beginResetModel()
        wanted = self._filter.casefold()
        self.rows = [row for row in self._all if wanted in self._name(row).casefold()] if wanted else list(self._all)
        self._sort()
        self.total = self._total_of_all if not wanted else None
        if self.total is None and self.rows:
            self.total = self._total_of(self.rows)
        self.endResetModel()

    def _sort(self) -> None:
        if 0 <= self._sorted_by < len(self.columns):
            column = self.columns[self._sorted_by]
            is_down = self._order == Qt.SortOrder.DescendingOrder
            if column.is_number:
                unknown = [row for row in self.rows if not _is_known(column.value(row))]
                known = [row for row in self.rows if _is_known(column.value(row))] if unknown else self.rows
                known.sort(key=column.value, reverse=is_down)
                self.rows = known + unknown  # last in either order
            else:
                order = column.order or column.value
                self.rows.sort(key=lambda row: str(order(row)).casefold(), reverse=is_down)

    # Overrides of Qt methods.

    def rowCount(self, parent: Index = _ROOT) -> int:
        return 0 if parent.isValid() or not self.rows else 1 + min(len(self.rows), MAX_ROWS)

    def columnCount(self, parent: Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        column = self.columns[index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.FontRole and index.row() == 0:
            return self._bold
        row = self._shown(index.row())
        if row is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            text = column.text(row)
            return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
        if role == Qt.ItemDataRole.ToolTipRole:
            text = column.exact(row) if column.exact is not None else column.text(row)
            return tooltip(text) if column.exact is not None or len(text) > LONG_TEXT else None
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            return Qt.SortOrder.DescendingOrder if column.is_number else Qt.SortOrder.AscendingOrder
        if role == Qt.ItemDataRole.ToolTipRole and column.tip:
            return tooltip(column.tip)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self.layoutAboutToBeChanged.emit()
        held = self.persistentIndexList()
        rows = [self.row_of(index) for index in held]
        self._sorted_by, self._order = column, order
        self._sort()
        # What is selected stays so, wherever it stands now.
        places = (
            {id(row): place for place, row in enumerate(self.rows, 1)} if any(row is not None for row in rows) else {}
        )
        for index, row in zip(held, rows, strict=True):
            place = 0 if row is None else places[id(row)]
            is_shown = place < self.rowCount()
            self.changePersistentIndex(index, self.index(place, index.column()) if is_shown else QModelIndex())
        self.layoutChanged.emit()


class FiguresTable(QWidget):
    """A title, a filter, a button that saves, the table and its sum. A click or Enter on a row chooses it.

    Signals:
        chosen(object): a row of figures.
        chosen_at(object, int): the same with the column of the cell.
        saved(str), failed(str): what became of saving, as a sentence.
    """

    chosen = Signal(object)
    chosen_at = Signal(object, int)
    saved = Signal(str)
    failed = Signal(str)

    def __init__(
        self,
        title: str,
        model: FiguresModel[Any],
        file_name: str,
        sorted_by: int | None,
        filtered: str = "",
        shows_title: bool = True,
    ) -> None:
        """`sorted_by` is the column that is greatest first, None for the order given; `filtered` says of what."""
        super().__init__()
        self.model = model
        self._title = title
        self._file_name = file_name
        self._wanted_px: dict[int, int] = {}
        """Widths that show the texts of columns in full."""
        self._title_label = label(title, "section")
        self.filter = QLineEdit()
        self.filter.setPlaceholderText(f"Filter {filtered or title.lower()}")
        self.filter.setAccessibleName(f"Filter {filtered or title.lower()}")
        self.filter.setClearButtonEnabled(True)
        self.filter.setAcceptDrops(False)  # what is dropped is for the window
        self.filter.textChanged.connect(self._on_filter)
        self.save_button = QPushButton("Save as CSV…")
        self.save_button.setToolTip(tooltip("Times in ns"))
        self.save_button.clicked.connect(self.save)
        self.view = self._make_view(title)
        self.view.setSortingEnabled(True)
        self.view.sortByColumn(-1 if sorted_by is None else sorted_by, Qt.SortOrder.DescendingOrder)
        self.view.horizontalHeader().sectionResized.connect(self._on_resized)
        self.view.horizontalScrollBar().valueChanged.connect(self._follow)
        self.view.viewport().installEventFilter(self)
        self.sum = self._make_sum()
        self.unshown = label("", "muted", wraps=True)
        self.unshown.hide()
        top = QHBoxLayout()
        if shows_title:
            top.addWidget(self._title_label)
        top.addWidget(self.filter, 1)
        top.addWidget(self.save_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(top)
        layout.addWidget(self.view, 1)
        layout.addWidget(self.sum)
        layout.addWidget(self.unshown)
        model.modelReset.connect(self._on_reset)
        model.layoutChanged.connect(self._on_sorted)
        self._on_reset()

    def copy_selected(self) -> None:
        """Put the selected rows on the clipboard, all that are shown where none is; with headings where several are."""
        rows = sorted({index.row() for index in self.view.selectedIndexes()}) or range(self.model.rowCount())
        texts = [cells for cells in (self.model.texts(row) for row in rows) if cells]
        if len(texts) > 1:
            texts.insert(0, [column.title for column in self.model.columns])
        QGuiApplication.clipboard().setText(table_text(texts))

    def save(self) -> None:
        """Ask where to, and save what the filter finds."""
        name, _ = QFileDialog.getSaveFileName(self, "Save as CSV", self._file_name, "CSV (*.csv)")
        if name:
            self.save_to(Path(name) if Path(name).suffix else Path(f"{name}.csv"))

    def save_to(self, path: Path) -> None:
        """Save what the filter finds."""
        try:
            destination.write(path, self.model.csv())
        except ProfileError as error:
            self.failed.emit(str(error))
        else:
            self.saved.emit(f"Saved as {path}.")

    def height_px(self, rows: int) -> int:
        """The height that shows that many rows beside all else."""
        row_px = self.view.verticalHeader().defaultSectionSize()
        around_px = self.filter.sizeHint().height() + self.view.horizontalHeader().sizeHint().height() + 12
        around_px += self.view.horizontalScrollBar().sizeHint().height()
        return around_px + (rows + (self.model.total is not None)) * row_px

    def _make_view(self, name: str) -> QTableView:
        view = QTableView()
        view.setAccessibleName(name)
        view.setModel(self.model)
        view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        view.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        view.setAlternatingRowColors(True)
        view.setShowGrid(False)
        view.setWordWrap(False)
        view.setTabKeyNavigation(False)
        view.setFrameShape(QFrame.Shape.NoFrame)
        view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.verticalHeader().setVisible(False)
        view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        view.verticalHeader().setMinimumSectionSize(8)
        header = view.horizontalHeader()
        header.setHighlightSections(False)
        header.setMinimumSectionSize(40)
        view.clicked.connect(self._on_clicked)
        view.activated.connect(self._choose)
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        for title, key, slot in (
            ("Copy", QKeySequence(QKeySequence.StandardKey.Copy), self.copy_selected),
            ("Save as CSV…", QKeySequence(), self.save),
        ):
            action = QAction(title, view)
            action.setShortcut(key)
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(slot)
            view.addAction(action)
        return view

    def _make_sum(self) -> QTableView:
        """The first row of the model by itself: as high as one row, it has no place for more."""
        result = self._make_view(f"{self._title}, all")
        result.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        result.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        result.horizontalHeader().hide()
        result.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        result.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return result

    def _fit_rows(self) -> None:
        row_px = self.view.fontMetrics().height() + ROW_PADDING_PX
        for view in (self.view, self.sum):
            view.verticalHeader().setDefaultSectionSize(row_px)
        self.sum.setFixedHeight(row_px)
        self.model.set_font(self.view.font())

    def _fit_columns(self) -> None:
        """Give the columns their widths, and what is left to the first, which holds the names."""
        for column in range(1, self.model.columnCount()):
            hints_px = (view.sizeHintForColumn(column) for view in (self.view, self.sum))  # the sum is bold, and wider
            width_px = max(*hints_px, self.view.horizontalHeader().sectionSizeHint(column))
            width_px += COLUMN_PADDING_PX
            if not self.model.columns[column].is_number:
                self._wanted_px[column] = width_px
                width_px = min(width_px, MAX_TEXT_PX + COLUMN_PADDING_PX)
            self.view.setColumnWidth(column, width_px)
        self._wanted_px[0] = self.view.sizeHintForColumn(0) + COLUMN_PADDING_PX
        self._fit_names()

    def _fit_names(self) -> None:
        others_px = sum(self.view.columnWidth(column) for column in range(1, self.model.columnCount()))
        spare_px = self.view.viewport().width() - others_px - max(self._wanted_px.get(0, 0), MIN_NAME_PX)
        for column, wanted_px in self._wanted_px.items():
            more_px = min(wanted_px - self.view.columnWidth(column), spare_px) if column else 0
            if more_px > 0:  # what would be cut takes what the names do not need
                self.view.setColumnWidth(column, self.view.columnWidth(column) + more_px)
                spare_px -= more_px
                others_px += more_px
        self.view.setColumnWidth(0, max(self.view.viewport().width() - others_px, MIN_NAME_PX))

    def _hide_sum_among_rows(self) -> None:
        if self.model.rowCount():
            self.view.setRowHidden(0, True)

    def _on_sorted(self) -> None:
        """What comes first now is what was asked for, unless a row is chosen: that stays in sight."""
        self._hide_sum_among_rows()
        chosen = self.view.selectionModel().selectedRows() if self.view.selectionModel() is not None else []
        if chosen:
            self.view.scrollTo(chosen[0])
        else:
            self.view.scrollToTop()

    def _follow(self, value: int) -> None:
        self.sum.horizontalScrollBar().setValue(value)

    def _on_resized(self, column: int, _before_px: int, width_px: int) -> None:
        self.sum.setColumnWidth(column, width_px)

    def _on_clicked(self, index: QModelIndex) -> None:
        """With Ctrl or Shift a click chooses rows to copy."""
        held = QGuiApplication.keyboardModifiers()
        if not held & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier):
            self._choose(index)

    def _choose(self, index: QModelIndex) -> None:
        row = self.model.row_of(index)
        if row is not None:
            self.chosen.emit(row)
            self.chosen_at.emit(row, index.column())

    def _on_filter(self, text: str) -> None:
        self.model.set_filter(text)

    def _on_reset(self) -> None:
        self._fit_rows()
        self._hide_sum_among_rows()
        self.sum.setVisible(self.model.total is not None)
        self.save_button.setEnabled(bool(self.model.rows))
        self._fit_columns()
        unshown = self.model.unshown
        self.unshown.setVisible(bool(unshown))
        self.unshown.setText(f"{unshown:,} more are summed up and saved, but not listed; the filter finds them.")

    # Overrides of Qt methods.

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "sum"):
            self._fit_rows()
            self._fit_columns()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched is self.view.viewport():
            self._fit_names()  # also when a scroll bar has come or gone
        return super().eventFilter(watched, event)


def _is_known(value: Any) -> bool:
    """Whether there is a value to sort by: NaN is neither less nor more than anything."""
    return value is not None and value == value


def harmless(value: Any) -> Any:
    """What is saved of a value: a text that a spreadsheet would take for a formula has an apostrophe before it."""
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return value
