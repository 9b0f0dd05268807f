"""The Current Selection pane: everything recorded about the selected slice and its launch, as rows that can be
copied."""

from __future__ import annotations

from PySide6.QtWidgets import QHeaderView, QVBoxLayout, QWidget

from smprof_desktop.analysis import slices
from smprof_desktop.session import Session, SliceRef
from smprof_desktop.window.fields import CopyTable, label

NOTHING_SELECTED = "Nothing is selected. Click a slice to see everything that was recorded about it."
LEADS = "→"


class DetailsPane(QWidget):
    """The rows of `analysis.slices.describe`; activating a row with an arrow goes to that slice."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._refs: list[SliceRef | None] = []
        self._nothing = label(NOTHING_SELECTED, "muted", wraps=True)
        self.table = CopyTable(columns=3)
        self.table.setAccessibleName("Current Selection")
        header = self.table.horizontalHeader()
        header.setMinimumSectionSize(20)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(2, QHeaderView.ResizeMode.ResizeToContents)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 6, 10, 6)
        layout.setSpacing(4)
        layout.addWidget(label("Current Selection", "section"))
        layout.addWidget(self._nothing)
        layout.addWidget(self.table, 1)
        self._filler = QWidget()
        layout.addWidget(self._filler, 1)
        self.table.cellActivated.connect(self._follow)
        session.selection_changed.connect(self._show)
        session.profile_changed.connect(self._show)
        self._show()

    def _show(self, _changed: object = None) -> None:
        profile, selection = self._session.profile, self._session.selection
        is_something = profile is not None and selection is not None
        self.table.setVisible(is_something)
        self._filler.setVisible(not is_something)
        self._nothing.setVisible(not is_something)
        self.table.clearSpans()
        self._refs = []
        rows: list[tuple[str, str, str]] = []
        headings: list[int] = []
        if profile is not None and selection is not None:
            for section in slices.describe(profile, selection):
                headings.append(len(rows))
                rows.append((section.title, "", ""))
                self._refs.append(None)
                for (name, value), ref in zip(section.rows, section.refs, strict=True):
                    rows.append((name, value, "" if ref is None else LEADS))
                    self._refs.append(ref)
        self.table.fill(rows)
        for row in headings:
            self.table.add_heading(row)
        for row, ref in enumerate(self._refs):
            if ref is not None:
                self.table.set_tip(row, 2, "Enter or double-click: select that slice and go there")

    def _follow(self, row: int, _column: int) -> None:
        ref = self._refs[row]
        if ref is not None:
            go_to(self._session, ref)


def go_to(session: Session, ref: SliceRef) -> None:
    """Select a slice and, where it is not wholly in the visible range, move the range so that it is in the middle."""
    profile = session.profile
    if profile is None:
        return
    table = profile.processes[ref.process].table(ref.table)
    start_ns, duration_ns = int(table["start_ns"][ref.row]), int(table["duration_ns"][ref.row])
    if not (session.begin_ns <= start_ns and start_ns + duration_ns <= session.end_ns):
        span_ns = max(session.end_ns - session.begin_ns, 2 * duration_ns)
        begin_ns = start_ns + duration_ns // 2 - span_ns // 2
        session.show(begin_ns, begin_ns + span_ns)
    session.select(ref)
