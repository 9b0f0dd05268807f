"""The Slices pane: exactly the slices that sum to a figure of the dashboard, its denominator and its losses."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QEvent, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QFileDialog, QFrame, QHeaderView, QTableView, QVBoxLayout, QWidget

from smprof_desktop import destination
from smprof_desktop.analysis import listing
from smprof_desktop.analysis.listing import Listing
from smprof_desktop.analysis.names import in_form
from smprof_desktop.analysis.quantities import exact_time_text, time_text
from smprof_desktop.dashboard.figures_table import harmless
from smprof_desktop.plain_text import table_text, tooltip
from smprof_desktop.progress import CancelCheck, Cancelled, Progress, never
from smprof_desktop.session import Session, SliceRef
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.window.fields import ROW_PADDING_PX, label

if TYPE_CHECKING:
    from smprof.profile.reader import Profile
    from smprof_desktop.dashboard.view import Opened

FINDING, SORTING, SAVING = "slices of a figure", "order of the slices", "saving the slices"
"""Kinds of tasks."""
NOTHING = "Click a number on the dashboard: the slices that sum to it are listed here."
AT_ONCE = 200_000
"""Up to so many rows are sorted while the window waits; more, beside it."""
MAX_COPIED = 5_000
SAVED_AT_ONCE = 100_000
MAX_LOSSES = 4
AROUND = 1.0
"""What is shown to either side of a slice, as a share of its length."""
NAME, START, DURATION, LANE, PROCESS = range(5)
HEADINGS = (
    ("Name", ""),
    ("Start", "From the profile's start, of the part that counts"),
    ("Duration", "What counts of it: trimmed to the range of the figure"),
    ("Lane", ""),
    ("Process", "Host and process"),
)
_WIDEST = ("", "1,234.567 ms", "1,234.567 ms", "GPU-0, stream 1234", "algo-1 · 1234")
_Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, eq=False)
class Listed:
    """What a task has found behind a door."""

    listing: Listing
    processes: tuple[int, ...] | None
    total_ns: int
    losses: list[str]
    order: NDArray[np.int64]


class SlicesModel(QAbstractTableModel):
    """The rows of a listing in the order asked for; a text is made when it is seen."""

    sort_asked = Signal(int, Qt.SortOrder)

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._begin_ns = 0
        self.listing: Listing | None = None
        self.order: NDArray[np.int64] = np.zeros(0, np.int64)

    def show(self, found: Listing | None, order: NDArray[np.int64], begin_ns: int) -> None:
        """Show these rows; times count from `begin_ns`."""
        self.beginResetModel()
        self.listing, self.order, self._begin_ns = found, order, begin_ns
        self.endResetModel()

    def show_order(self, order: NDArray[np.int64]) -> None:
        """Show the same rows in another order."""
        self.layoutAboutToBeChanged.emit()
        self.order = order
        self.layoutChanged.emit()

    def text(self, row: int, column: int, exact: bool = False) -> str:
        """A cell of a row."""
        assert self.listing is not None
        shown, place = self.listing, int(self.order[row])
        found = shown.found
        as_text = exact_time_text if exact else time_text
        if column == START:
            return as_text(int(found.start_ns[place]) - self._begin_ns)
        if column == DURATION:
            return as_text(int(found.end_ns[place]) - int(found.start_ns[place]))
        if column == NAME:
            return str(in_form(shown.names[int(shown.name[place])], self._settings.get("names")))
        return shown.lanes[int(shown.lane[place])] if column == LANE else shown.processes[int(found.process[place])]

    # Overrides of Qt methods.

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.order)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(HEADINGS)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            text = self.text(index.row(), index.column())
            return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip(self.text(index.row(), index.column(), exact=True))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            is_number = index.column() in (START, DURATION)
            side = Qt.AlignmentFlag.AlignRight if is_number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return HEADINGS[section][0]
        return tooltip(HEADINGS[section][1]) if role == Qt.ItemDataRole.ToolTipRole and HEADINGS[section][1] else None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self.sort_asked.emit(column, order)


class SlicesPane(QWidget):
    """The slices behind a number, the longest first. A click or Enter selects one in the timeline and frames it.

    They are found by a task. Of moments without a slice, such as idle time, their range is shown.

    Signals:
        filled(): there are slices to show, or none any more.
    """

    filled = Signal()

    def __init__(self, session: Session, tasks: Tasks, settings: Settings) -> None:
        super().__init__()
        self._session = session
        self._tasks = tasks
        self._processes: tuple[int, ...] | None = None
        self._is_busy = False
        self._summary = NOTHING
        self.head = label(NOTHING, "muted", wraps=True, selectable=True)
        self.losses = label("", "muted", wraps=True, selectable=True)
        self.model = SlicesModel(settings, self)
        self.table = self._make_table()
        self.model.sort_asked.connect(self._sort)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(10, 6, 10, 6)
        self._layout.setSpacing(4)
        self._layout.addWidget(self.head)
        self._layout.addWidget(self.losses)
        self._layout.addWidget(self.table, 1)
        self._filler = QWidget()
        self._layout.addWidget(self._filler, 1)
        session.profile_changed.connect(lambda _profile: self._clear(NOTHING))
        settings.changed.connect(lambda key: self.table.viewport().update() if key == "names" else None)
        self._clear(NOTHING)

    @property
    def is_final(self) -> bool:
        """Whether what was asked for last is shown."""
        return not self._is_busy

    @property
    def is_empty(self) -> bool:
        """Whether no slices are listed."""
        return self.model.rowCount() == 0

    @property
    def least_height_px(self) -> int:
        """How high what is shown while there are none is."""
        return self._layout.totalHeightForWidth(self.width())

    def show_door(self, opened: Opened) -> None:
        """List the slices behind a door that was opened, and go to the longest."""
        self._clear(f"{opened.panel} · {opened.door.title}: looking for the slices…")
        self._is_busy = True
        self._tasks.start(
            FINDING,
            partial(_find, opened),
            partial(self._fill, opened),
            self._fail,
            partial(self._fail, "This was cancelled."),
            reads=self._session.profile,
        )

    def copy_selected(self) -> None:
        """Put the selected rows on the clipboard, with headings; all of them where none is, but no more than fit."""
        # By ranges: asked for each row, Qt takes half a minute for millions.
        selection = self.table.selectionModel().selection()
        parts = (selection.at(place) for place in range(selection.count()))
        every = chain.from_iterable(range(part.top(), part.bottom() + 1) for part in parts)
        rows = sorted(islice(every, MAX_COPIED))
        if len(rows) < 2:
            rows = rows or list(range(min(self.model.rowCount(), MAX_COPIED)))
        columns = range(len(HEADINGS))
        texts = [[self.model.text(row, column, exact=True) for column in columns] for row in sorted(rows)[:MAX_COPIED]]
        QGuiApplication.clipboard().setText(table_text([[heading for heading, _ in HEADINGS], *texts]))

    def save(self) -> None:
        """Ask where to, and save all slices in the order shown."""
        name, _ = QFileDialog.getSaveFileName(self, "Save as CSV", "slices.csv", "CSV (*.csv)")
        if name:
            self.save_to(Path(name) if Path(name).suffix else Path(f"{name}.csv"))

    def save_to(self, path: Path) -> None:
        """Save all slices in the order shown, by a task: they may be millions."""
        shown, profile = self.model.listing, self._session.profile
        if shown is not None and profile is not None:
            work = partial(_save, path, shown, self.model.order, profile.begin_ns)
            self._tasks.start(SAVING, work, self._say, self._say)

    def _say(self, sentence: str) -> None:
        """What became of saving, below what the slices are of."""
        self.head.setText(f"{self._summary}\n{sentence}")

    def _make_table(self) -> QTableView:
        table = QTableView()
        table.setAccessibleName("Slices of the figure")
        table.setModel(self.model)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        table.setAlternatingRowColors(True)
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.setTabKeyNavigation(False)
        table.setFrameShape(QFrame.Shape.NoFrame)
        table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        table.verticalHeader().setVisible(False)
        table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        table.verticalHeader().setMinimumSectionSize(8)
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        table.setSortingEnabled(True)
        header.setSortIndicator(DURATION, Qt.SortOrder.DescendingOrder)
        table.clicked.connect(self._on_clicked)
        table.activated.connect(self._go_to)
        table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        copy = QAction("Copy", table)
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self.copy_selected)
        table.addAction(copy)
        save = QAction("Save as CSV…", table)
        save.triggered.connect(self.save)
        table.addAction(save)
        return table

    def _clear(self, text: str) -> None:
        self._tasks.cancel_kind(FINDING)
        self._tasks.cancel_kind(SORTING)
        self._is_busy = False
        self.model.show(None, np.zeros(0, np.int64), 0)
        self._show(text, [])

    def _show(self, text: str, losses: list[str]) -> None:
        self._summary = text
        self.head.setText(text)
        more = len(losses) - MAX_LOSSES
        told = "; ".join(losses[:MAX_LOSSES]) + (f"; {more} more kinds" if more > 0 else "")
        self.losses.setText(f"Losses that may bear on it: {told}. Information tells of them all." if losses else "")
        self.losses.setVisible(bool(losses))
        self.table.setVisible(not self.is_empty)
        self._filler.setVisible(self.is_empty)
        self.filled.emit()

    def _fill(self, opened: Opened, found: Listed) -> None:
        profile = self._session.profile
        self._is_busy = False
        if profile is None:
            return
        self._processes = found.processes
        self._fit_rows()
        header = self.table.horizontalHeader()
        header.blockSignals(True)
        header.setSortIndicator(DURATION, Qt.SortOrder.DescendingOrder)
        header.blockSignals(False)
        self.model.show(found.listing, found.order, profile.begin_ns)
        self._show(_summary(opened, found), found.losses)
        if not self.is_empty:
            self.table.selectRow(0)
            self._go_to(self.model.index(0, 0))
            if self.table.isVisible():
                self.table.setFocus(Qt.FocusReason.OtherFocusReason)

    def _fail(self, sentence: str) -> None:
        self._clear(sentence)

    def _on_clicked(self, index: QModelIndex) -> None:
        held = QGuiApplication.keyboardModifiers()
        if not held & Qt.KeyboardModifier.ShiftModifier:
            self._go_to(index)

    def _go_to(self, index: QModelIndex) -> None:
        """Select the slice of a row and show it with its surroundings; of a moment without one, its range."""
        if self.model.listing is None or self._session.profile is None or not index.isValid():
            return
        found, place = self.model.listing.found, int(self.model.order[index.row()])
        begin_ns, end_ns = int(found.start_ns[place]), int(found.end_ns[place])
        aside_ns = max(1, round((end_ns - begin_ns) * AROUND))
        ref = found.ref(place)
        if ref is not None and self._processes is not None:
            ref = SliceRef(self._processes[ref.process], ref.table, ref.row)
        self._session.show(begin_ns - aside_ns, end_ns + aside_ns)
        self._session.select(None)  # what is selected already would not be brought into sight again
        self._session.select(ref)

    def _sort(self, column: int, order: Qt.SortOrder) -> None:
        shown = self.model.listing
        if shown is None or not 0 <= column < len(HEADINGS):
            return
        is_down = order == Qt.SortOrder.DescendingOrder
        if len(shown) <= AT_ONCE:
            self._show_order(shown, sorted_rows(shown, column, is_down))
            return
        self._is_busy = True
        self._tasks.start(
            SORTING,
            partial(_sort_beside, shown, column, is_down),
            partial(self._show_order, shown),
            self._on_not_sorted,
            partial(self._on_not_sorted, ""),
        )

    def _show_order(self, shown: Listing, order: NDArray[np.int64]) -> None:
        self._is_busy = False
        if shown is not self.model.listing:
            return
        # The row that the keyboard is on stays that slice; more that were selected stand apart now.
        current = self.table.currentIndex()
        place = int(self.model.order[current.row()]) if current.isValid() else None
        self.table.clearSelection()
        self.model.show_order(order)
        if place is not None:
            self.table.setCurrentIndex(self.model.index(int(np.flatnonzero(order == place)[0]), current.column()))

    def _on_not_sorted(self, sentence: str) -> None:
        self._is_busy = False
        if sentence:
            self.head.setText(sentence)

    def _fit_rows(self) -> None:
        self.table.verticalHeader().setDefaultSectionSize(self.table.fontMetrics().height() + ROW_PADDING_PX)
        for column, text in enumerate(_WIDEST):
            if text:
                self.table.setColumnWidth(column, self.table.fontMetrics().horizontalAdvance(text) + 24)

    # Overrides of Qt methods.

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "table"):
            self._fit_rows()


def sorted_rows(shown: Listing, column: int, is_down: bool) -> NDArray[np.int64]:
    """The rows of a listing in the order of a column; those that are equal, by start."""
    found = shown.found
    keys: NDArray[Any]
    if column == START:
        keys = found.start_ns
    elif column == DURATION:
        keys = found.end_ns - found.start_ns
    else:
        texts, codes = {
            NAME: (shown.names, shown.name),
            LANE: (shown.lanes, shown.lane),
            PROCESS: (shown.processes, found.process),
        }[column]
        ranks = np.empty(len(texts), np.int64)
        ranks[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
        keys = ranks[codes]
    return np.argsort(-keys if is_down else keys, kind="stable")


def csv_lines(
    shown: Listing, order: NDArray[np.int64], begin_ns: int, cancelled: CancelCheck = never
) -> Iterator[bytes]:
    """Slices in an order as parts of a CSV file: names as recorded, times in ns, starts from `begin_ns`.

    Raises Cancelled.
    """
    yield _csv([("name", "start_ns", "duration_ns", "lane", "process")]).encode("utf-8-sig")
    names, lanes, processes = (
        [harmless(text) for text in texts] for texts in (shown.names, shown.lanes, shown.processes)
    )
    found = shown.found
    for first in range(0, len(order), SAVED_AT_ONCE):
        if cancelled():
            raise Cancelled
        rows = order[first : first + SAVED_AT_ONCE]
        parts = (shown.name, found.start_ns, found.end_ns, shown.lane, found.process)
        yield _csv(
            (names[name], start_ns - begin_ns, end_ns - start_ns, lanes[lane], processes[process])
            for name, start_ns, end_ns, lane, process in zip(*(part[rows].tolist() for part in parts), strict=True)
        ).encode("utf-8", "surrogatepass")


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


def _save(
    path: Path,
    shown: Listing,
    order: NDArray[np.int64],
    begin_ns: int,
    _progress: Progress,
    cancelled: CancelCheck,
) -> str:
    destination.write(path, b"".join(csv_lines(shown, order, begin_ns, cancelled)))
    return f"Saved as {path}."


def _sort_beside(
    shown: Listing, column: int, is_down: bool, _progress: Progress, _cancelled: CancelCheck
) -> NDArray[np.int64]:
    return sorted_rows(shown, column, is_down)


def _find(opened: Opened, _progress: Progress, cancelled: CancelCheck) -> Listed:
    """Go through a door, on a task's thread."""
    profile: Profile = opened.scope.profile
    found = opened.door.find(profile, cancelled)
    made = listing.listed(profile, found, cancelled)
    ready = opened.scope.ready
    losses = listing.bearing(ready["losses"], found) if ready is not None else []
    return Listed(made, opened.processes, found.total_ns, losses, sorted_rows(made, DURATION, is_down=True))


def _summary(opened: Opened, found: Listed) -> str:
    count = len(found.listing)
    moments = int((found.listing.found.table < 0).sum())
    one, several = ("moment without a slice", "moments without a slice") if moments == count else ("slice", "slices")
    basis = f" Of: {opened.door.basis}." if opened.door.basis else ""
    if not count:
        return f"{opened.panel} · {opened.door.title}: no slices.{basis}"
    amount = f"{count:,} {one if count == 1 else several}, {exact_time_text(found.total_ns)} in all"
    return f"{opened.panel} · {opened.door.title}: {amount}.{basis}"
