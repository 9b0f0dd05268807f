"""The Marks pane: every mark with its time and text; a click goes there."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QTableWidgetItem, QVBoxLayout, QWidget

from smprof_desktop.notes import MAX_TEXT, Notes
from smprof_desktop.plain_text import tooltip
from smprof_desktop.session import Session
from smprof_desktop.timeline import marks
from smprof_desktop.timeline.axis import Axis
from smprof_desktop.timeline.marks import Mark
from smprof_desktop.timeline.viewport import duration_text
from smprof_desktop.timeline.widget import TimelineWidget
from smprof_desktop.window.fields import CopyTable, label

NO_MARKS = "There are no marks. Press M in the timeline to mark a moment, Shift+M to mark the selected range."
TIME, LENGTH, TEXT = range(3)
_MARK = Qt.ItemDataRole.UserRole
_SORTED_BY = Qt.ItemDataRole.UserRole + 1


class MarksPane(QWidget):
    """A sortable table of the marks: a click or Enter centres one, F2 or a double click edits its text, Del removes.

    Signals:
        filled(): the rows are others; there may be none.
    """

    filled = Signal()

    def __init__(self, session: Session, timeline: TimelineWidget) -> None:
        super().__init__()
        self._session = session
        self._timeline = timeline
        self._notes: Notes | None = None
        self._is_filling = False
        self._nothing = label(NO_MARKS, "muted", wraps=True)
        self.table = CopyTable(("Time", "Length", "Text"))
        self.table.setAccessibleName("Marks")
        self.table.setSortingEnabled(True)
        self.table.sortByColumn(TIME, Qt.SortOrder.AscendingOrder)
        self.table.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked | QAbstractItemView.EditTrigger.EditKeyPressed
        )
        self._add_action("Edit text", "F2", self.edit)
        self._add_action("Remove", "Del", self.remove)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(10, 6, 10, 6)
        self._layout.addWidget(self._nothing)
        self._layout.addWidget(self.table, 1)
        self._filler = QWidget()
        self._layout.addWidget(self._filler, 1)
        self.table.cellClicked.connect(self._go_to)
        self.table.cellActivated.connect(self._go_to)
        self.table.itemChanged.connect(self._on_edited)
        session.profile_changed.connect(self._follow)
        timeline.settings.changed.connect(self._on_setting)
        timeline.marking.followed = self._show_row
        self._follow()

    @property
    def is_empty(self) -> bool:
        """Whether there are no marks."""
        return self.table.rowCount() == 0

    @property
    def least_height_px(self) -> int:
        """How high what is shown while there are no marks is."""
        return self._layout.totalHeightForWidth(self.width())

    def edit(self) -> None:
        """Edit the current mark's text in place."""
        item = self.table.item(self.table.currentRow(), TEXT)
        if item is not None:
            self.table.editItem(item)

    def remove(self) -> None:
        """Forget the selected marks."""
        rows = sorted({index.row() for index in self.table.selectedIndexes()})
        marks.remove(self._session.notes, *(self.mark_at(row) for row in rows))
        if rows and not self.is_empty:
            self.table.selectRow(min(rows[0], self.table.rowCount() - 1))

    def mark_at(self, row: int) -> Mark:
        """The mark of a row."""
        item = self.table.item(row, TIME)
        assert item is not None
        mark: Mark = item.data(_MARK)
        return mark

    def _add_action(self, title: str, key: str, slot: object) -> None:
        action = QAction(title, self.table)
        action.setShortcut(QKeySequence(key))
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        action.triggered.connect(slot)
        self.table.addAction(action)

    def _follow(self, _profile: object = None) -> None:
        """Another profile is open, or none."""
        if self._notes is not None:
            self._notes.changed.disconnect(self._on_note, missing_ok=True)
        self._notes = self._session.notes
        self._notes.changed.connect(self._on_note)
        self._fill()

    def _on_note(self, key: str) -> None:
        if key == marks.KEY:
            self._fill()

    def _on_setting(self, key: str) -> None:
        if key == "time":
            self._fill()

    def _fill(self) -> None:
        profile, table = self._session.profile, self.table
        found = marks.marks_of(self._session.notes) if profile is not None else ()
        axis = self._timeline.axis or Axis(profile.begin_ns if profile is not None else 0)
        self._is_filling = True
        table.setSortingEnabled(False)  # or rows would move while they are filled
        table.setRowCount(0)
        table.setRowCount(len(found))
        for row, mark in enumerate(found):
            length_ns = mark.end_ns - mark.begin_ns
            times = (axis.text(mark.begin_ns), duration_text(length_ns) if length_ns else "")
            keys: tuple[object, ...] = (mark.begin_ns, length_ns, mark.text.casefold())
            for column, text in enumerate((*times, mark.text)):
                item = _Item(text)
                item.setData(_MARK, mark)
                item.setData(_SORTED_BY, _Key(keys[column], mark))
                flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
                item.setFlags(flags | Qt.ItemFlag.ItemIsEditable if column == TEXT else flags)
                item.setToolTip(tooltip(text) if len(text) > 24 else "")
                table.setItem(row, column, item)
        table.setSortingEnabled(True)
        self._is_filling = False
        table.setVisible(bool(found))
        self._filler.setVisible(not found)
        self._nothing.setVisible(not found)
        self.filled.emit()

    def _go_to(self, row: int, _column: int) -> None:
        if self._timeline.scene is not None:
            self._timeline.marking.go_to(self.mark_at(row))

    def _on_edited(self, item: QTableWidgetItem) -> None:
        if self._is_filling or item.column() != TEXT:
            return
        # Once the line that it was written in is closed: the rows are made anew.
        QTimer.singleShot(0, self, partial(self._rename, item.data(_MARK), item.text().strip()[:MAX_TEXT]))

    def _rename(self, mark: Mark, text: str) -> None:
        renamed = marks.rename(self._session.notes, mark, text)
        if self._timeline.marking.selected == mark:
            self._timeline.marking.select(renamed)
        self._show_row(renamed)

    def _show_row(self, mark: Mark) -> None:
        """Make a mark's row the current one."""
        for row in range(self.table.rowCount()):
            if self.mark_at(row) == mark and row != self.table.currentRow():
                self.table.setCurrentCell(row, TEXT)


class _Key:
    """What a cell is sorted by: Qt's own data would round a time to a float."""

    def __init__(self, first: object, mark: Mark) -> None:
        self.whole = (first, mark)


class _Item(QTableWidgetItem):
    def __lt__(self, other: QTableWidgetItem) -> bool:
        mine, theirs = self.data(_SORTED_BY), other.data(_SORTED_BY)
        return bool(mine.whole < theirs.whole)
