"""The Timeline page: the timeline above panes of what it is asked, one at a time."""

from __future__ import annotations

from contextlib import suppress

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QSplitter, QTabWidget, QVBoxLayout, QWidget

from smprof_desktop.session import Session, SliceRef
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline.memory import Later
from smprof_desktop.timeline.search_bar import SearchBar
from smprof_desktop.timeline.widget import TimelineWidget
from smprof_desktop.window.area_pane import AreaPane
from smprof_desktop.window.connections import ConnectionsPane
from smprof_desktop.window.details import DetailsPane
from smprof_desktop.window.histogram_pane import HistogramPane
from smprof_desktop.window.marks_pane import MarksPane
from smprof_desktop.window.matches_pane import MatchesPane
from smprof_desktop.window.slices_pane import SlicesPane

LEAST_SHARE, MOST_SHARE = 0.05, 0.9


class TimelinePage(QWidget):
    """A splitter whose place is kept in the settings. While the pane in front is empty it is as low as it can."""

    def __init__(self, session: Session, tasks: Tasks, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self.timeline = TimelineWidget(session, tasks, settings)
        self.details = DetailsPane(session, tasks, settings)
        self.panes = QTabWidget()
        self.panes.setDocumentMode(True)
        self._splitter = QSplitter(Qt.Orientation.Vertical)
        self._splitter.addWidget(self.timeline)
        self._splitter.addWidget(self.panes)
        self._splitter.setCollapsible(0, False)
        self._splitter.setHandleWidth(3)
        self._session = session
        self.marks = MarksPane(session, self.timeline)
        self.add_pane(self.details, "Current Selection")
        self.connections = ConnectionsPane(session, tasks, self.timeline.selecting.centre, settings)
        self.add_pane(self.connections, "Connections")
        self.area = AreaPane(session, tasks, self.timeline, settings)
        self.add_pane(self.area, "Area")
        self.histogram = HistogramPane(session, tasks, settings)
        self.add_pane(self.histogram, "Histogram")
        self.histogram.filled.connect(self.share_out)
        self.area.filled.connect(self.share_out)
        self.timeline.area_made.connect(lambda: self.show_pane(self.area))
        self.timeline.area_asked.connect(lambda: self._show_pane_with_keyboard(self.area, self.area.names.view))
        self.timeline.histogram_asked.connect(
            lambda: self._show_pane_with_keyboard(self.histogram, self.histogram.chart)
        )
        self.add_pane(self.marks, "Marks")
        searching = self.timeline.searching
        self.search_bar = SearchBar(searching)
        self.search_bar.left.connect(lambda: self.timeline.setFocus(Qt.FocusReason.ShortcutFocusReason))
        searching.asked.connect(self.search_bar.open)
        searching.walked.connect(self._on_walked)
        self.matches = MatchesPane(searching, settings)
        self.add_pane(self.matches, "Matches")
        searching.list_asked.connect(lambda: self._show_pane_with_keyboard(self.matches, self.matches.table))
        self.matches.filled.connect(self.share_out)
        self.slices = SlicesPane(session, tasks, settings)
        self.add_pane(self.slices, "Slices")
        self.slices.filled.connect(self.share_out)
        self.marks.filled.connect(self.share_out)
        self.timeline.marks_asked.connect(lambda: self._show_pane_with_keyboard(self.marks, self.marks.table))
        session.selection_changed.connect(self._on_selection)
        self._splitter.splitterMoved.connect(self._keep)
        self.panes.currentChanged.connect(lambda _index: self.share_out())
        self.setFocusProxy(self.timeline)
        # The details are greyed for a moment, and what is greyed cannot keep the keyboard.
        self.details.followed.connect(self.timeline.setFocus)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.search_bar)
        layout.addWidget(self._splitter, 1)

    @property
    def is_final(self) -> bool:
        """Whether the timeline and the pane in front show all they will."""
        return self.timeline.is_final and bool(getattr(self.panes.currentWidget(), "is_final", True))

    def add_pane(self, pane: QWidget, title: str) -> None:
        """Add a pane behind the others.

        It may have `is_empty` (it needs but `least_height_px`) and `is_final` (it shows all it will).
        """
        self.panes.addTab(pane, title)

    def show_pane(self, pane: QWidget) -> None:
        """Bring a pane to the front and give it its height; the keyboard stays where it is."""
        self.panes.setCurrentWidget(pane)
        self.share_out()

    def share_out(self) -> None:
        """Give timeline and panes their heights."""
        pane = self.panes.currentWidget()
        height_px = sum(self._splitter.sizes())
        if getattr(pane, "is_empty", False):
            panes_px = self.panes.tabBar().sizeHint().height() + int(getattr(pane, "least_height_px", 0))
        else:
            share = self._settings.get("details_share")
            panes_px = round(height_px * max(LEAST_SHARE, min(share, MOST_SHARE)))
        self._splitter.setSizes([max(height_px - panes_px, 0), panes_px])

    def _show_pane_with_keyboard(self, pane: QWidget, within: QWidget) -> None:
        self.show_pane(pane)
        if within.isVisibleTo(self):
            within.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _on_walked(self) -> None:
        """Who walks from match to match sees what each is, unless it is the list that is walked."""
        if self.panes.currentWidget() is not self.matches:
            self.show_pane(self.details)

    def _keep(self) -> None:
        if not getattr(self.panes.currentWidget(), "is_empty", False):
            heights_px = self._splitter.sizes()
            self._settings.set("details_share", heights_px[1] / max(sum(heights_px), 1))

    def _on_selection(self, ref: SliceRef | None) -> None:
        """After the timeline has: what it brought into sight must stay there when the details take their room."""
        self.share_out()
        if ref is not None and self.timeline.scene is not None:
            with suppress(Later):  # it is brought into sight once it is read
                self.timeline.selecting.reveal(ref)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys that a pane has no use for are the timeline's: Ctrl+F, F3, Alt+D and Esc work from everywhere here."""
        self.timeline.keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        self.timeline.keyReleaseEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the shares."""
        super().resizeEvent(event)
        self.share_out()

    def showEvent(self, event: QShowEvent) -> None:
        """What was selected elsewhere is shown in the shares it needs."""
        super().showEvent(event)
        self.share_out()
