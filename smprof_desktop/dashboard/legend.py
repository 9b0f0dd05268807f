"""Legends: names of any length, values beside them, copied in full; and how figures are written in them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QAction,
    QColor,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPixmap,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from smprof_desktop.plain_text import table_text, tooltip

COLOURS = (
    "#4c8edb", "#e8903a", "#4fa866", "#c9565b", "#8f72c4", "#2fa8b5", "#d0b13c", "#d279a6", "#7a8794", "#9b6b4a",
    "#6fb4f2", "#f2b877", "#8bcf9b", "#e59a9c", "#b9a5e0",
)  # fmt: skip
"""Fifteen that differ, on white and on near-black."""
IDLE_COLOUR = "#8893a0"
GREY = ("Idle", "Others", "unknown")
"""Sectors that are grey wherever they stand: what is not there, not named, not known."""
UNITS = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))
_PIXELS_PER_ROW = 6
_HEAD, _WORD = 6, 24
"""Characters kept of the beginning of a name that is cut there, and of a word before the place where it differs."""
_AROUND_NAME_PX = 22


def colour(index: int, name: str = "") -> QColor:
    """The colour of the curve or sector of that place; idle time and what has no name is grey wherever it stands."""
    return QColor(IDLE_COLOUR if name in GREY else COLOURS[index % len(COLOURS)])


def brief_time_text(duration_ns: int) -> str:
    """A duration to four digits, for where space is short and the exact one is a hover away: `239.4 s`."""
    length_ns, unit = next((length, name) for length, name in UNITS if duration_ns >= length or length == 1)
    if length_ns == 1:
        return f"{duration_ns} ns"
    value = duration_ns / length_ns
    return f"{value:,.{max(0, 4 - len(str(int(value))))}f} {unit}"


class LegendModel(QAbstractTableModel):
    """Rows of a legend: name, then values as text; `tips` say each row in full."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tips: list[str] = []
        self.colours: list[QColor] = []
        self.differs_at: list[int] = []
        """Of each name, up to where another one reads the same."""
        self._columns = 1

    def fill(self, rows: list[list[str]], tips: list[str], colours: list[QColor]) -> None:
        """Show these rows in place of the present ones."""
        self.beginResetModel()
        self.rows, self.tips, self.colours = rows, tips, colours
        self.differs_at = first_differences([row[0] for row in rows])
        self._columns = max((len(row) for row in rows), default=1)
        self.endResetModel()

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008 - as Qt calls it
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else self._columns

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, column = index.row(), index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self.rows[row][column]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip(self.tips[row])
        if role == Qt.ItemDataRole.DecorationRole and column == 0 and self.colours:
            return _swatch(self.colours[row])
        if role == Qt.ItemDataRole.TextAlignmentRole and column > 0:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None


class _NameDelegate(QStyledItemDelegate):
    """Cuts names so that no two rows read the same: kernels share long beginnings and endings."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        super().initStyleOption(option, index)
        model = index.model()
        if index.column() == 0 and isinstance(model, LegendModel):
            room_px = option.rect.width() - option.decorationSize.width() - _AROUND_NAME_PX
            option.text = cut_apart(option.text, model.differs_at[index.row()], option.fontMetrics, room_px)


def cut_apart(text: str, differs_at: int, metrics: QFontMetrics, room_px: int) -> str:
    """`text` within `room_px`: its middle left out, or, where that would hide `differs_at`, what stands before it."""
    plain = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room_px)
    head, dots, tail = plain.partition("…")
    if not dots or differs_at < len(head) or differs_at >= len(text) - len(tail):
        return plain
    begin = differs_at
    while begin > max(differs_at - _WORD, 0) and (text[begin - 1].isalnum() or text[begin - 1] == "_"):
        begin -= 1  # from the beginning of the word that differs
    return metrics.elidedText(f"{text[:_HEAD]}…{text[begin:]}", Qt.TextElideMode.ElideRight, room_px)


def first_differences(texts: Sequence[str]) -> list[int]:
    """For each text the position up to which the one most like it reads the same."""
    order = sorted(range(len(texts)), key=texts.__getitem__)
    found = [0] * len(texts)
    for one, other in pairwise(order):
        pairs = zip(texts[one], texts[other], strict=False)
        same = next((place for place, (mine, theirs) in enumerate(pairs) if mine != theirs), len(texts[one]))
        found[one], found[other] = max(found[one], same), max(found[other], same)
    return found


class Legend(QTableView):
    """Names cut so that they stay apart, values to the right; Ctrl+C copies the chosen rows, or all, in full.

    Signals:
        pointed(int): the pointer is on that row; -1 when it has left.
        opened(int): that row was clicked, or chosen and Enter pressed. With Ctrl or Shift a click chooses rows to copy.
    """

    pointed = Signal(int)
    opened = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.rows = LegendModel()
        self.setModel(self.rows)
        self.setItemDelegate(_NameDelegate(self))
        self.setObjectName("legend")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalHeader().hide()
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setMouseTracking(True)
        self.setIconSize(QSize(10, 10))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        copy = QAction("Copy", self)
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self.copy)
        self.addAction(copy)
        self.entered.connect(lambda index: self.pointed.emit(index.row()))
        self.clicked.connect(self._on_clicked)
        self.rows.modelReset.connect(self._fit)
        self._fit()

    def copy(self) -> None:
        """Put the chosen rows on the clipboard as tab-separated text; all of them where none is chosen."""
        chosen = sorted({index.row() for index in self.selectedIndexes()}) or range(self.rows.rowCount())
        QGuiApplication.clipboard().setText(table_text(self.rows.rows[row] for row in chosen))

    def wanted_height_px(self) -> int:
        """The height that shows every row."""
        return self.rows.rowCount() * self.verticalHeader().defaultSectionSize() + 4

    def _on_clicked(self, index: QModelIndex) -> None:
        held = QGuiApplication.keyboardModifiers()
        if not held & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier):
            self.opened.emit(index.row())

    def _fit(self) -> None:
        self.verticalHeader().setMinimumSectionSize(8)
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + _PIXELS_PER_ROW)
        header = self.horizontalHeader()
        header.setMinimumSectionSize(20)
        for column in range(self.rows.columnCount()):
            is_name = column == 0
            header.setSectionResizeMode(
                column, QHeaderView.ResizeMode.Stretch if is_name else QHeaderView.ResizeMode.ResizeToContents
            )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open the chosen row with Enter."""
        chosen = {index.row() for index in self.selectedIndexes()}
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and len(chosen) == 1:
            self.opened.emit(chosen.pop())
            return
        super().keyPressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.pointed.emit(-1)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()


def _swatch(fill: QColor) -> QPixmap:
    pixmap = QPixmap(10, 10)
    pixmap.fill(fill)
    return pixmap
