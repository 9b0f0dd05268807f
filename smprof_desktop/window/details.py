"""The Current Selection pane: everything recorded about the selected slice and its launch, as rows that can be
copied."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QHideEvent, QPalette, QShowEvent
from PySide6.QtWidgets import QApplication, QHeaderView, QVBoxLayout, QWidget

from smprof_desktop.analysis import slices
from smprof_desktop.analysis.names import FORMS
from smprof_desktop.progress import CancelCheck, Progress
from smprof_desktop.session import Session, SliceRef
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline.memory import trim
from smprof_desktop.window.fields import CopyTable, label

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

DETAILS = "details"
"""The kind of the task that works out what is told of a slice."""
NOTHING_SELECTED = "Nothing is selected. Click a slice to see everything that was recorded about it."
LEADS = "→"
_CHOOSING = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


class DetailsPane(QWidget):
    """The rows of `analysis.slices.describe`; a click or Enter on a row with an arrow selects that slice.

    They are worked out by a task, the newest selection's only, and not while nobody sees them; until they are there the
    former ones are greyed.

    Signals:
        followed(): the user goes where a row leads; sent before it is selected.
    """

    followed = Signal()

    def __init__(self, session: Session, tasks: Tasks, settings: Settings | None = None) -> None:
        """`settings` choose in which form the name of a kernel is shown: as recorded without."""
        super().__init__()
        self._session = session
        self._tasks = tasks
        self._settings = settings
        self._refs: list[SliceRef | None] = []
        self._is_stale = False
        self._clicked_at_s = 0.0
        self._nothing = label(NOTHING_SELECTED, "muted", wraps=True)
        self.table = CopyTable(columns=3)
        self.table.setAccessibleName("Current Selection")
        header = self.table.horizontalHeader()
        header.setMinimumSectionSize(20)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(2, QHeaderView.ResizeMode.ResizeToContents)
        header.moveSection(2, 1)  # the arrow is seen beside its text
        self.table.offer_values()
        layout = self._layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 6, 10, 6)
        layout.setSpacing(4)
        layout.addWidget(self._nothing)
        layout.addWidget(self.table, 1)
        self._filler = QWidget()
        layout.addWidget(self._filler, 1)
        self.table.cellClicked.connect(self._click)
        self.table.cellActivated.connect(self._activate)
        session.selection_changed.connect(self._renew)
        session.profile_changed.connect(self._renew)
        if settings is not None:
            settings.changed.connect(lambda key: self._renew() if key == "names" else None)
        self._renew()

    @property
    def is_final(self) -> bool:
        """Whether what is shown is of the present selection."""
        return not self._is_stale or not self.isVisible()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is selected."""
        return self._session.selection is None

    @property
    def least_height_px(self) -> int:
        """How high what is shown while nothing is selected is."""
        return self._layout.totalHeightForWidth(self.width())

    def _renew(self, _changed: object = None) -> None:
        """Another slice is selected, or none."""
        profile, selection = self._session.profile, self._session.selection
        if profile is None or selection is None:
            self._is_stale = False
            self._tasks.cancel_kind(DETAILS)
            self._show(())
            return
        self._is_stale = True
        self.table.setEnabled(False)
        if not self.isVisible():
            return
        form: str = FORMS[0] if self._settings is None else self._settings.get("names")
        self._tasks.start(DETAILS, partial(_describe, profile, selection, form), self._show, self._fail, reads=profile)

    def _fail(self, sentence: str) -> None:
        self._show(())
        self._nothing.setText(sentence)

    def _show(self, sections: tuple[slices.Section, ...]) -> None:
        self._is_stale = False
        self._nothing.setText(NOTHING_SELECTED)
        self.table.setEnabled(True)
        self.table.setVisible(bool(sections))
        self._filler.setVisible(not sections)
        self._nothing.setVisible(not sections)
        self.table.clearSpans()
        self._refs = []
        rows: list[tuple[str, str, str]] = []
        headings: list[int] = []
        for section in sections:
            headings.append(len(rows))
            rows.append((section.title, "", ""))
            self._refs.append(None)
            for (name, value), ref in zip(section.rows, section.refs, strict=True):
                rows.append((name, value, "" if ref is None else LEADS))
                self._refs.append(ref)
        self.table.fill(rows)
        for row in headings:
            self.table.add_heading(row)
        tips = [tip for section in sections for tip in ("", *section.tips)]
        for row, tip in enumerate(tips):
            if tip:
                self.table.set_tip(row, 0, tip)
        for row, ref in enumerate(self._refs):
            if ref is not None:
                self.table.set_tip(row, 2, "Click or Enter: select that slice and go there")
        self._colour_leads()
        self.table.scrollToTop()

    def _colour_leads(self) -> None:
        colour = self.palette().color(QPalette.ColorRole.Link)
        for row, ref in enumerate(self._refs):
            for column in (1, 2):
                item = self.table.item(row, column)
                if ref is not None and item is not None:
                    item.setForeground(colour)

    def _click(self, row: int, _column: int) -> None:
        """With Ctrl or Shift a click chooses rows to copy; the second of a double click falls on other rows."""
        is_second = time.monotonic() - self._clicked_at_s < QApplication.doubleClickInterval() / 1000
        if is_second or QApplication.keyboardModifiers() & _CHOOSING:
            return
        if self._refs[row] is not None:
            self._clicked_at_s = time.monotonic()
            self._follow(row)

    def _activate(self, row: int, _column: int) -> None:
        """Enter, or what is left of a click that was followed already."""
        if time.monotonic() - self._clicked_at_s >= QApplication.doubleClickInterval() / 1000:
            self._follow(row)

    def _follow(self, row: int) -> None:
        ref = self._refs[row]
        if ref is not None:
            self.followed.emit()
            self._session.select(ref)

    def changeEvent(self, event: QEvent) -> None:
        """Colour the rows with an arrow again when the theme changes."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "table"):
            self._colour_leads()

    def showEvent(self, event: QShowEvent) -> None:
        """Work out what was selected meanwhile."""
        super().showEvent(event)
        if self._is_stale:
            self._renew()

    def hideEvent(self, event: QHideEvent) -> None:
        """Nobody sees them: what is being worked out would only keep a worker."""
        super().hideEvent(event)
        if self._is_stale:
            self._tasks.cancel_kind(DETAILS)


def _describe(
    profile: Profile, ref: SliceRef, form: str, _progress: Progress, _cancelled: CancelCheck
) -> tuple[slices.Section, ...]:
    try:
        return slices.describe(profile, ref, form)
    finally:
        trim(profile.processes[ref.process])
