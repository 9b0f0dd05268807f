"""The Connections pane: both ends of every link of the selected slice, as a table that leads to either."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QEvent, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QAction, QGuiApplication, QHideEvent, QKeyEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView, QVBoxLayout, QWidget

from smprof_desktop.analysis.linked import FROM_END, FROM_START
from smprof_desktop.analysis.names import FORMS, in_form
from smprof_desktop.analysis.quantities import exact_time_text, time_text
from smprof_desktop.plain_text import table_text, tooltip
from smprof_desktop.progress import CancelCheck, Cancelled, Progress
from smprof_desktop.session import Session, SliceRef
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline import connections
from smprof_desktop.timeline.connections import Connections
from smprof_desktop.window.fields import ROW_PADDING_PX, label

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

CONNECTIONS, NAMES = "connections", "names of connections"
"""The kinds of the tasks that gather them and make their names readable."""
NOTHING_SELECTED = "Nothing is selected. Click a slice to see what launched it, or what it launched."
MAX_COPIED = 5_000
"""Lines that are copied at most: more would hold up the window."""
_FROM, _TO = (0, 1, 2), (3, 4, 5, 6, 7, 8)
"""Columns of either end; a click on one leads there."""
_NAME = 3
"""The column with the names of the executions."""
_HEADINGS = (
    ("From", "The launch, or the forward operator. A click centres it."),
    ("Lane", "Where it stands."),
    ("Start", "From the profile's start."),
    ("To", "The execution, or the backward operator. A click centres it."),
    ("Lane", "Where it stands."),
    ("Start", "From the profile's start."),
    ("Duration", "Of the execution."),
    ("Latency from start", FROM_START),
    ("Latency from end", FROM_END),
)
_WIDEST = (
    "cudaLaunchKernelExC",
    "thread 4711 (python3)",
    "1,234.567 ms",
    "",
    "GPU-0, stream 1234",
    "1,234.567 ms",
    "1,234.567 ms",
    "Latency from start",
    "Latency from end",
)
"""What the columns have room for; the name of the execution takes what is left."""
PADDING_PX = 22
_Index = QModelIndex | QPersistentModelIndex


class ConnectionsModel(QAbstractTableModel):
    """The lines of some connections, sorted as asked for; a text is made when it is seen."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._found: Connections | None = None
        self._form = FORMS[0]
        self._begin_ns = 0
        self._order: NDArray[np.int64] = np.zeros(0, np.int64)
        self._times: dict[int, NDArray[Any]] = {}

    @property
    def found(self) -> Connections | None:
        """What is shown."""
        return self._found

    def show(self, found: Connections | None, begin_ns: int) -> None:
        """Show these, by the start of their executions; times count from `begin_ns`."""
        self.beginResetModel()
        self._found, self._begin_ns = found, begin_ns
        self._order = np.arange(len(found) if found is not None else 0)
        self._times = {}
        if found is not None:
            self._times = {
                2: np.full(len(found), found.link.launch_ns), 5: found.link.starts_ns, 6: found.duration_ns,
                7: found.latency_ns, 8: found.after_ns,
            }  # fmt: skip
        self.endResetModel()

    def use_names(self, form: str) -> None:
        """Show names of executions in one of `analysis.names.FORMS`; their tips keep the recorded ones."""
        self._form = form
        if self.rowCount():
            self.dataChanged.emit(self.index(0, _NAME), self.index(self.rowCount() - 1, _NAME))

    def ref_at(self, row: int, column: int) -> tuple[SliceRef, int] | None:
        """The slice that a cell speaks of, and its start."""
        if self._found is None or not 0 <= row < len(self._order):
            return None
        link, place = self._found.link, int(self._order[row])
        if column in _FROM:
            return link.launch, link.launch_ns
        return link.end(int(link.executions[place])), int(link.starts_ns[place])

    def row_of(self, ref: SliceRef) -> int | None:
        """The line of an execution; None where it is none of them."""
        if self._found is None or ref.table != self._found.link.table:
            return None
        found = np.flatnonzero(self._found.link.executions[self._order] == ref.row)
        return int(found[0]) if len(found) else None

    def texts(self, row: int) -> list[str]:
        """The cells of a line, in full, times with their exact ns."""
        return [self._text(row, column, exact_time_text) for column in range(len(_HEADINGS))]

    def _text(self, row: int, column: int, as_text: Callable[[int], str] = time_text) -> str:
        found, place = self._found, int(self._order[row])
        assert found is not None
        if column in self._times:
            value = int(self._times[column][place])
            return as_text(value - self._begin_ns if column in (2, 5) else value)
        if column == 0:
            return found.launch_name
        if column == 1:
            return found.launch_lane
        if column != _NAME:
            return found.lanes[int(found.lane[place])]
        name = found.names[int(found.name[place])]
        return in_form(name, self._form) if found.link.table == "device" else name

    # Overrides of Qt methods.

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._order)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(_HEADINGS)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(index.row(), index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            if index.column() == _NAME and self._found is not None:
                return tooltip(self._found.names[int(self._found.name[self._order[index.row()]])])
            return tooltip(self._text(index.row(), index.column(), exact_time_text))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if index.column() in self._times else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return _HEADINGS[section][0]
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.ToolTipRole:
            return tooltip(_HEADINGS[section][1])
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        found = self._found
        if found is None:
            return
        self.layoutAboutToBeChanged.emit()
        if column in self._times:
            keys: NDArray[Any] = self._times[column]
        elif column in (_NAME, _NAME + 1):
            if column == _NAME and found.link.table == "device":
                texts, codes = tuple(in_form(name, self._form) for name in found.names), found.name
            else:
                texts, codes = (found.names, found.name) if column == _NAME else (found.lanes, found.lane)
            ranks = np.empty(len(texts), np.int64)
            ranks[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
            keys = ranks[codes]
        else:
            keys = np.zeros(len(found), np.int64)
        if order == Qt.SortOrder.DescendingOrder:
            keys = -keys
        former, self._order = self._order, np.argsort(keys, kind="stable")
        row_of = np.empty(len(found), np.int64)
        row_of[self._order] = np.arange(len(found))
        before = self.persistentIndexList()
        self.changePersistentIndexList(
            before, [self.index(int(row_of[former[index.row()]]), index.column()) for index in before]
        )
        self.layoutChanged.emit()


class ConnectionsPane(QWidget):
    """The links of the selected slice; a click or Enter centres the end that the cell speaks of.

    They are gathered by a task, and not while nobody sees them. Going from one end to the other leaves them in place.
    """

    def __init__(
        self,
        session: Session,
        tasks: Tasks,
        centre: Callable[[SliceRef, int], None],
        settings: Settings | None = None,
    ) -> None:
        """`centre` selects a slice and puts its start in the middle; `settings` choose the form of names of kernels."""
        super().__init__()
        self._session = session
        self._tasks = tasks
        self._centre = centre
        self._settings = settings
        self._is_stale = False
        self._of: SliceRef | None = None
        self._note = label(NOTHING_SELECTED, "muted", wraps=True)
        self.model = ConnectionsModel(self)
        self.table = _table(self.model)
        self.table.clicked.connect(self._click)
        copy = QAction("Copy", self.table)
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self.copy_selected)
        self.table.addAction(copy)
        self.table.installEventFilter(self)
        layout = self._layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 6, 10, 6)
        layout.setSpacing(4)
        layout.addWidget(self._note)
        layout.addWidget(self.table, 1)
        self._filler = QWidget()
        layout.addWidget(self._filler, 1)
        session.selection_changed.connect(self._renew)
        session.profile_changed.connect(self._renew)
        if settings is not None:
            settings.changed.connect(lambda key: self._renew_names() if key == "names" else None)
        self._renew()

    @property
    def is_final(self) -> bool:
        """Whether what is shown is of the present selection."""
        return not self._is_stale or not self.isVisible()

    @property
    def is_empty(self) -> bool:
        """Whether there is no table to show."""
        return self.model.found is None and not self._is_stale

    @property
    def least_height_px(self) -> int:
        """How high the note is that stands for a table."""
        return self._layout.totalHeightForWidth(self.width())

    @property
    def _wanted_form(self) -> str:
        form: str = FORMS[0] if self._settings is None else self._settings.get("names")
        return form

    def copy_selected(self) -> None:
        """Put the selected lines on the clipboard with their headings; all of them where none is selected.

        At most MAX_COPIED, and then a last line says so.
        """
        selection = self.table.selectionModel().selection()
        parts = [selection.at(place) for place in range(selection.count())]
        ranges = [range(part.top(), part.bottom() + 1) for part in parts]
        every = ranges or [range(self.model.rowCount())]
        count = sum(map(len, every))
        rows = sorted(islice(chain.from_iterable(every), MAX_COPIED))
        lines = [[heading for heading, _ in _HEADINGS], *(self.model.texts(row) for row in rows)]
        if count > len(rows):
            lines.append([f"and {count - len(rows):,} more"])
        QGuiApplication.clipboard().setText(table_text(lines))

    def _renew(self, _changed: object = None) -> None:
        """Another slice is selected, or none."""
        profile, ref = self._session.profile, self._session.selection
        if profile is None or ref is None:
            self._is_stale = False
            self._tasks.cancel_kind(CONNECTIONS)
            self._show(None, NOTHING_SELECTED)
            return
        found = self.model.found
        if (
            found is not None
            and not self._is_stale
            and (ref == found.link.launch or self.model.row_of(ref) is not None)
        ):
            self._mark(ref)
            return
        self._is_stale = True
        if self.isVisible():
            self._tasks.start(
                CONNECTIONS,
                partial(_gather, profile, ref, self._wanted_form),
                partial(self._on_gathered, ref),
                self._fail,
                reads=profile,
            )

    def _renew_names(self) -> None:
        """Show names in the form that the settings choose; making them readable may take long, so beside the window."""
        found = self.model.found
        if found is None:
            return
        form = self._wanted_form
        done = partial(self._use_names, form)
        self._tasks.start(NAMES, partial(_work_out_names, found, form), done, done)

    def _use_names(self, form: str, _result: object) -> None:
        self.model.use_names(form)

    def _on_gathered(self, ref: SliceRef, found: Connections | str) -> None:
        if isinstance(found, str):
            self._show(None, found)
        else:
            self._show(found, found.summary)
            self._mark(ref)

    def _fail(self, sentence: str) -> None:
        self._show(None, sentence)

    def _show(self, found: Connections | None, note: str) -> None:
        self._is_stale = False
        self._note.setText(note)
        profile = self._session.profile
        self.model.use_names(self._wanted_form)
        self.model.show(found, profile.begin_ns if found is not None and profile is not None else 0)
        self.table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.table.setVisible(found is not None)
        self._filler.setVisible(found is None)

    def _mark(self, ref: SliceRef) -> None:
        """Have the line of the selected execution in sight, whatever cell of it the keyboard is on."""
        row = self.model.row_of(ref)
        if row is not None and row != self.table.currentIndex().row():
            self.table.setCurrentIndex(self.model.index(row, _TO[0]))

    def _click(self, index: QModelIndex) -> None:
        """With Ctrl or Shift a click chooses lines to copy."""
        chooses = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        if not QGuiApplication.keyboardModifiers() & chooses:
            self._follow(index)

    def _follow(self, index: QModelIndex) -> None:
        found = self.model.ref_at(index.row(), index.column())
        if found is not None:
            self._centre(*found)

    # Overrides of Qt methods.

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.table and event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._follow(self.table.currentIndex())
                return True
            if event.matches(QKeySequence.StandardKey.Copy):  # before the view, which copies one cell
                self.copy_selected()
                return True
        return super().eventFilter(watched, event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._is_stale:
            self._renew()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if self._is_stale:
            self._tasks.cancel_kind(CONNECTIONS)


def _table(model: ConnectionsModel) -> QTableView:
    """A table of which only what is seen costs anything."""
    table = QTableView()
    table.setModel(model)
    table.setAccessibleName("Connections")
    table.setSortingEnabled(True)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    table.setAlternatingRowColors(True)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setTabKeyNavigation(False)
    table.setFrameShape(QFrame.Shape.NoFrame)
    table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
    table.verticalHeader().setVisible(False)
    table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    table.verticalHeader().setMinimumSectionSize(8)
    table.verticalHeader().setDefaultSectionSize(table.fontMetrics().height() + ROW_PADDING_PX)
    header = table.horizontalHeader()
    header.setHighlightSections(False)
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    for column, widest in enumerate(_WIDEST):
        header.resizeSection(column, table.fontMetrics().horizontalAdvance(widest) + PADDING_PX)
    header.setMinimumSectionSize(40)
    for column in (_FROM[0], _TO[0]):
        header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
    header.setStretchLastSection(False)
    return table


def _gather(
    profile: Profile, ref: SliceRef, form: str, progress: Progress, cancelled: CancelCheck
) -> Connections | str:
    found = connections.of(profile, ref)
    if not isinstance(found, str):
        _work_out_names(found, form, progress, cancelled)
    return found


def _work_out_names(found: Connections, form: str, _progress: Progress, cancelled: CancelCheck) -> None:
    """Have names.in_form know all names in a form. On a task's thread; raises Cancelled."""
    if form != FORMS[0] and found.link.table == "device":
        for name in found.names:
            if cancelled():
                raise Cancelled
            in_form(name, form)
