"""The Timeline page: the timeline above the Current Selection pane."""

from __future__ import annotations

from contextlib import suppress

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from smprof_desktop.session import Session, SliceRef
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline.memory import Later
from smprof_desktop.timeline.widget import TimelineWidget
from smprof_desktop.window.details import DetailsPane

LEAST_SHARE, MOST_SHARE = 0.05, 0.9


class TimelinePage(QWidget):
    """A splitter whose place is kept in the settings. While nothing is selected the details are as low as they can."""

    def __init__(self, session: Session, tasks: Tasks, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self.timeline = TimelineWidget(session, tasks)
        self.details = DetailsPane(session, tasks)
        self._splitter = QSplitter(Qt.Orientation.Vertical)
        self._splitter.addWidget(self.timeline)
        self._splitter.addWidget(self.details)
        self._splitter.setCollapsible(0, False)
        self._splitter.setHandleWidth(3)
        self._session = session
        session.selection_changed.connect(self._on_selection)
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
        if self._session.selection is not None:
            heights_px = self._splitter.sizes()
            self._settings.set("details_share", heights_px[1] / max(sum(heights_px), 1))

    def _on_selection(self, ref: SliceRef | None) -> None:
        """After the timeline has: what it brought into sight must stay there when the details take their room."""
        self._share_out()
        if ref is not None and self.timeline.scene is not None:
            with suppress(Later):  # it is brought into sight once it is read
                self.timeline.selecting.reveal(ref)

    def _share_out(self) -> None:
        """Give timeline and details their heights."""
        height_px = sum(self._splitter.sizes())
        if self._session.selection is None:
            details_px = self.details.least_height_px
        else:
            share = self._settings.get("details_share")
            details_px = round(height_px * max(LEAST_SHARE, min(share, MOST_SHARE)))
        self._splitter.setSizes([max(height_px - details_px, 0), details_px])

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the shares."""
        super().resizeEvent(event)
        self._share_out()

    def showEvent(self, event: QShowEvent) -> None:
        """What was selected elsewhere is shown in the shares it needs."""
        super().showEvent(event)
        self._share_out()
