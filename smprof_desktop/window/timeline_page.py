"""The Timeline page: the timeline above the Current Selection pane."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from smprof_desktop.session import Session
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline.widget import TimelineWidget
from smprof_desktop.window.details import DetailsPane


class TimelinePage(QWidget):
    """A splitter whose place is kept in the settings."""

    def __init__(self, session: Session, tasks: Tasks, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self.timeline = TimelineWidget(session, tasks)
        self.details = DetailsPane(session, tasks)
        self._splitter = QSplitter(Qt.Orientation.Vertical)
        self._splitter.addWidget(self.timeline)
        self._splitter.addWidget(self.details)
        self._splitter.setStretchFactor(0, 1)
        self._splitter.setCollapsible(0, False)
        self._splitter.setSizes([700, 230])
        self._splitter.setHandleWidth(3)
        if settings.get("details_split"):
            self._splitter.restoreState(QByteArray.fromHex(settings.get("details_split").encode("ascii", "replace")))
        self._splitter.splitterMoved.connect(self._keep)
        self.setFocusProxy(self.timeline)
        # The details are greyed for a moment, and what is greyed cannot keep the keyboard.
        self.details.followed.connect(self.timeline.setFocus)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._splitter)

    @property
    def is_final(self) -> bool:
        """Whether timeline and details show all they will."""
        return self.timeline.is_final and self.details.is_final

    def _keep(self) -> None:
        self._settings.set("details_split", bytes(self._splitter.saveState().toHex().data()).decode("ascii"))
