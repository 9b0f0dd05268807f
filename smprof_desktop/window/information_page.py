"""The Information page: everything the profile says about itself, and everything that was lost."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from smprof_desktop.progress import CancelCheck, Progress
from smprof_desktop.session import Session
from smprof_desktop.tasks import Tasks
from smprof_desktop.window.facts import FactTable, information
from smprof_desktop.window.fields import CopyTable, label

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

INFORMATION = "information"
"""The kind of the task that gathers the tables."""


class InformationPage(QScrollArea):
    """Tables of the manifest and the ledger of losses; every row can be copied. Gathered by a task when first seen."""

    def __init__(self, session: Session, tasks: Tasks) -> None:
        super().__init__()
        self._session = session
        self._tasks = tasks
        self._is_stale = True
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        session.profile_changed.connect(self._renew)
        self._renew()

    @property
    def is_final(self) -> bool:
        """Whether the tables are those of the open profile."""
        return not self._is_stale

    def _renew(self, _changed: object = None) -> None:
        profile = self._session.profile
        self._is_stale = profile is not None
        if profile is None:
            self._tasks.cancel_kind(INFORMATION)
            self._say("No profile is loaded.")
            return
        self._say("Working…")
        if self.isVisible():
            self._tasks.start(INFORMATION, partial(_gather, profile), self._fill, self._fail, reads=profile)

    def _fail(self, sentence: str) -> None:
        self._is_stale = False
        self._say(sentence)

    def _say(self, sentence: str) -> None:
        self._fill([FactTable("", (), (), sentence)])
        self._is_stale = self._session.profile is not None

    def _fill(self, tables: list[FactTable]) -> None:
        self._is_stale = False
        body = QWidget()
        layout = QVBoxLayout(body)
        layout.setContentsMargins(16, 12, 16, 16)
        layout.setSpacing(6)
        for facts in tables:
            if facts.title:
                layout.addWidget(label(facts.title, "section"))
            if facts.rows:
                table = CopyTable(facts.headings)
                table.setAccessibleName(facts.title)
                table.fill(facts.rows)
                table.fit_height()
                layout.addWidget(table)
            else:
                layout.addWidget(label(facts.empty, "muted"))
            layout.addSpacing(6)
        layout.addStretch()
        self.setWidget(body)

    def showEvent(self, event: QShowEvent) -> None:
        """Gather what changed while nobody saw it."""
        super().showEvent(event)
        if self._is_stale:
            self._renew()


def _gather(profile: Profile, _progress: Progress, _cancelled: CancelCheck) -> list[FactTable]:
    return information(profile)
