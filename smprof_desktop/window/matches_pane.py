"""The Matches pane: the names that a search has found, with how many slices carry them and how long these take."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHeaderView, QTableWidgetItem, QVBoxLayout, QWidget

from smprof_desktop.analysis.search import MatchedNames, NameList
from smprof_desktop.plain_text import tooltip
from smprof_desktop.settings import Settings
from smprof_desktop.timeline.searching import Searching
from smprof_desktop.timeline.viewport import duration_text
from smprof_desktop.window.fields import CopyTable, label

NOTHING = "Press / in the timeline to search all names of the profile; what matches is listed here."
NO_MATCHES = "No slice has a name that matches."
MAX_ROWS = 1_000
"""Names that are listed; a table of more would take longer than a person reads."""
NAME, COUNT, TOTAL, MEAN = range(4)
_NUMBER = Qt.ItemDataRole.UserRole
_SORTED_BY = Qt.ItemDataRole.UserRole + 1


class MatchesPane(QWidget):
    """A sortable table of names: a click or Enter goes to the first slice of one.

    Signals:
        filled(): the rows are others; there may be none.
    """

    filled = Signal()

    def __init__(self, searching: Searching, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._searching = searching
        self._shown: MatchedNames | None = None
        self._note = label("", "muted", wraps=True)
        self.table = CopyTable(("Name", "Slices", "Total", "Mean"))
        self.table.setAccessibleName("Matches")
        header = self.table.horizontalHeader()
        header.setMaximumSectionSize(1 << 16)
        header.setSectionResizeMode(MEAN, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        self.table.setSortingEnabled(True)
        self.table.sortByColumn(TOTAL, Qt.SortOrder.DescendingOrder)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(10, 6, 10, 6)
        self._layout.addWidget(self._note)
        self._layout.addWidget(self.table, 1)
        self._filler = QWidget()
        self._layout.addWidget(self._filler, 1)
        self.table.cellClicked.connect(self._go_to)
        self.table.cellActivated.connect(self._go_to)
        searching.changed.connect(self._follow)
        settings.changed.connect(self._on_setting)
        self._follow()

    @property
    def is_empty(self) -> bool:
        """Whether no names are listed."""
        return self.table.rowCount() == 0

    @property
    def least_height_px(self) -> int:
        """How high what is shown while there are none is."""
        return self._layout.totalHeightForWidth(self.width())

    def _on_setting(self, key: str) -> None:
        if key == "names":
            self._shown = None
            self._follow()

    def _follow(self) -> None:
        searching = self._searching
        search = searching.search
        found = search.names if search is not None else None
        if (found is self._shown and found is not None) or (found is None and searching.is_busy and self._shown):
            return  # the former names stand until there are others
        self._shown = found
        rows = min(len(found.numbers), MAX_ROWS) if found is not None else 0
        if found is not None and searching.names is not None:
            self._fill(found, searching.names, rows)
        else:
            self.table.setRowCount(0)
        is_cut = found is not None and rows < len(found.numbers)
        self.table.setVisible(rows > 0)
        self._filler.setVisible(rows == 0)
        self._note.setVisible(rows == 0 or is_cut)
        if is_cut and found is not None:
            self._note.setText(f"The {rows:,} names with most time of {len(found.numbers):,} are listed.")
        elif searching.query is None:
            self._note.setText(NOTHING)
        else:
            self._note.setText(NO_MATCHES if found is not None else searching.text)
        self.filled.emit()

    def _fill(self, found: MatchedNames, names: NameList, rows: int) -> None:
        table = self.table
        table.setSortingEnabled(False)  # or rows would move while they are filled
        table.setRowCount(0)
        table.setRowCount(rows)
        form: str = self._settings.get("names")
        columns = (found.numbers, found.counts, found.total_ns, found.on_device)
        parts = (column[:rows].tolist() for column in columns)
        for row, (number, count, total_ns, is_on_device) in enumerate(zip(*parts, strict=True)):
            recorded, mean_ns = names.text(number), round(total_ns / count)
            name = names.text_in(number, form) if is_on_device else recorded
            texts = (name, f"{count:,}", duration_text(total_ns), duration_text(mean_ns))
            keys: tuple[object, ...] = (name.casefold(), count, total_ns, mean_ns)
            for column, text in enumerate(texts):
                item = _Item(text)
                item.setData(_NUMBER, number)
                item.setData(_SORTED_BY, _Key(keys[column], number))
                item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
                if column == NAME and len(recorded) > 24:
                    item.setToolTip(tooltip(recorded))
                if column != NAME:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                table.setItem(row, column, item)
        table.setSortingEnabled(True)

    def _go_to(self, row: int, _column: int) -> None:
        item = self.table.item(row, NAME)
        if item is not None:
            self._searching.go_to_first(int(item.data(_NUMBER)))


class _Key:
    """What a cell is sorted by: Qt's own data would round a time to a float."""

    def __init__(self, first: object, number: int) -> None:
        self.whole = (first, number)


class _Item(QTableWidgetItem):
    def __lt__(self, other: QTableWidgetItem) -> bool:
        mine, theirs = self.data(_SORTED_BY), other.data(_SORTED_BY)
        return bool(mine.whole < theirs.whole)
