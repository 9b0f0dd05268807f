"""The Information page: everything the profile says about itself, and everything that was lost."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from smprof_desktop.session import Session
from smprof_desktop.window.facts import information
from smprof_desktop.window.fields import CopyTable, label


class InformationPage(QScrollArea):
    """Tables of the manifest and the ledger of losses; every row can be copied."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        session.profile_changed.connect(self._fill)
        self._fill()

    def _fill(self) -> None:
        body = QWidget()
        layout = QVBoxLayout(body)
        layout.setContentsMargins(16, 12, 16, 16)
        layout.setSpacing(6)
        if self._session.profile is None:
            layout.addWidget(label("No profile is loaded.", "muted"))
        else:
            for facts in information(self._session.profile):
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
