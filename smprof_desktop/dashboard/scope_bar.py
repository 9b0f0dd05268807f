"""What the page answers for, and the controls that change it: range, process and step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QCompleter, QHBoxLayout, QPushButton, QWidget

from smprof_desktop.analysis.names import readable
from smprof_desktop.analysis.quantities import elide_middle, time_text
from smprof_desktop.plain_label import label
from smprof_desktop.plain_text import tooltip
from smprof_desktop.session import Area, Session

if TYPE_CHECKING:
    from smprof.profile.manifest import Process
    from smprof.profile.reader import Profile

Span = Literal["whole", "view", "area", "range"]
SPANS: tuple[tuple[Span, str], ...] = (
    ("whole", "Whole profile"),
    ("view", "Visible range"),
    ("area", "Selected area"),
    ("range", "Chosen range"),
)
NAMED_LIKE_STEPS = "Named like steps"
ALL_PROCESSES = "All processes"
MAX_STEMS = 2_000
"""Names that are offered for the step; any other can be typed."""


@dataclass(frozen=True)
class Asked:
    """What the figures are for: a range in ns of the profile's clock, or None; some processes, or None for all."""

    range_ns: tuple[int, int] | None = None
    processes: tuple[int, ...] | None = None
    step: str | None = None


class ScopeBar(QWidget):
    """The controls in a line. What they say is kept as long as the profile is open; the step is kept in its notes.

    Signals:
        changed(): the page answers for something else.
    """

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._range: tuple[int, int] | None = None
        self.span = QComboBox()
        self.span.setAccessibleName("Range of the figures")
        self.span.setToolTip("Which part of the time the figures are for")
        for key, title in SPANS:
            self.span.addItem(title, key)
        self.process = QComboBox()
        self.process.setAccessibleName("Process of the figures")
        self.process.setToolTip("Which host and rank the figures are for")
        self.process.setMaxVisibleItems(25)
        self.step = QComboBox()
        self.step.setEditable(True)
        self.step.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.step.setMaxVisibleItems(25)
        self.step.setMinimumContentsLength(16)
        self.step.setAccessibleName("Step")
        self.step.setToolTip(
            tooltip(
                "Which annotation is a step: a name, what names have in common before their number, or a pattern with "
                "* and ?. Kept with the profile."
            )
        )
        completer = QCompleter(self.step.model(), self.step)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.step.setCompleter(completer)
        self.told = label("", "muted", wraps=True)
        self.whole = QPushButton("Whole profile")
        self.whole.setToolTip(tooltip("Work the figures out for the whole profile again"))
        self.whole.clicked.connect(self.show_whole)
        self.span.activated.connect(self._on_span)
        self.process.activated.connect(lambda _index: self._tell())
        self.step.activated.connect(lambda _index: self._keep_step())
        line_edit = self.step.lineEdit()
        if line_edit is not None:
            line_edit.setAcceptDrops(False)  # what is dropped is for the window
            line_edit.editingFinished.connect(self._keep_step)
        self._step_label = label("Step", "muted")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.span)
        layout.addWidget(self.process)
        layout.addWidget(self._step_label)
        layout.addWidget(self.step)
        layout.addWidget(self.told, 1)
        layout.addWidget(self.whole)
        self.renew()

    @property
    def range_ns(self) -> tuple[int, int] | None:
        """The range that the figures are for; None for the whole profile."""
        session, span = self._session, self.span.currentData()
        if span == "view":
            whole = session.profile is not None and (session.begin_ns, session.end_ns) == _whole(session.profile)
            return None if whole or session.profile is None else (session.begin_ns, session.end_ns)
        if span == "area" and session.area is not None:
            return session.area.begin_ns, session.area.end_ns
        return self._range if span == "range" else None

    @property
    def asked(self) -> Asked:
        """What the figures are for."""
        processes: tuple[int, ...] | None = None
        if self.process.currentIndex() > 0:
            processes = (self.process.currentIndex() - 1,)
        elif self.span.currentData() == "area" and self._session.area is not None and self._session.profile is not None:
            processes = processes_of(self._session.profile, self._session.area)
        return Asked(self.range_ns, processes, self._session.notes.get("step") or None)

    def show_range(self, begin_ns: int, end_ns: int) -> None:
        """Answer for [begin_ns, end_ns), in ns of the profile's clock, until another profile is open."""
        self._range = begin_ns, end_ns
        self._set_span("range")
        self._tell()

    def show_whole(self) -> None:
        """Answer for the whole profile again."""
        self._set_span("whole")
        self._tell()

    def renew(self) -> None:
        """Begin anew with the profile that is open."""
        profile = self._session.profile
        self._range = None
        with QSignalBlocker(self.process):
            self.process.clear()
            self.process.addItem(ALL_PROCESSES)
            for process in profile.processes if profile is not None else ():
                self.process.addItem(process_title(process.info))
        self.process.setVisible(profile is not None and len(profile.processes) > 1)
        self.offer_steps(())
        self._set_span("whole")
        self.on_notes("step")

    def offer_steps(self, annotations: object) -> None:
        """Offer the stems of the annotations of a report, and those names that have none, the most frequent first."""
        counts = stems_of(annotations)
        with QSignalBlocker(self.step):
            self.step.clear()
            self.step.addItem(NAMED_LIKE_STEPS)
            for stem in counts[:MAX_STEMS]:
                self.step.addItem(elide_middle(stem, 120), stem)
        self.on_notes("step")

    def on_notes(self, key: str) -> None:
        """Show what the notes say of the step."""
        if key == "step":
            wanted = self._session.notes.get("step")
            with QSignalBlocker(self.step):
                self.step.setEditText(wanted or NAMED_LIKE_STEPS)

    def follow(self, span: Span) -> bool:
        """Whether the figures follow the visible range, or the area, of which another is there."""
        if self.span.currentData() == span:
            self._describe()
            return True
        self._allow_spans()
        return False

    def _set_span(self, span: Span) -> None:
        with QSignalBlocker(self.span):
            self.span.setCurrentIndex([key for key, _ in SPANS].index(span))
        self._describe()

    def _on_span(self, _index: int) -> None:
        self._tell()

    def _keep_step(self) -> None:
        text = self.step.currentText().strip()
        index = self.step.findText(text)
        if index > 0:
            text = self.step.itemData(index)
        wanted = "" if text in ("", NAMED_LIKE_STEPS) else text[:1_000]
        if wanted != self._session.notes.get("step"):
            self._session.notes.set("step", wanted)  # whoever shows it hears of that

    def _tell(self) -> None:
        self._describe()
        self.changed.emit()

    def _allow_spans(self) -> None:
        model: Any = self.span.model()
        for row, (span, _) in enumerate(SPANS):
            is_there = {"area": self._session.area is not None, "range": self._range is not None}.get(span, True)
            item = model.item(row)
            item.setEnabled(is_there)

    def _describe(self) -> None:
        self._allow_spans()
        profile = self._session.profile
        self.whole.setVisible(profile is not None and self.range_ns is not None)
        self.told.setText("" if profile is None else _scope_text(profile, self.range_ns))


def process_title(info: Process) -> str:
    """A process as it is called in the list: its host, itself, and its rank where it has another number."""
    rank = "" if info.rank is None or str(info.rank) == info.process else f" (rank {info.rank})"
    return elide_middle(f"{readable(info.host)} · {readable(info.process)}{rank}", 60)


def processes_of(profile: Profile, area: Area) -> tuple[int, ...] | None:
    """The processes whose lanes are in an area; None where that is all, or nobody knows."""
    if area.lanes is None:
        return None
    keys = [f"{key}/" for key in area.lanes]
    found = tuple(
        index
        for index, process in enumerate(profile.processes)
        if any(key.startswith(f"host:{process.info.host}/") for key in keys)
        and any(f"/process:{process.info.process}/" in key for key in keys)
    )
    return found if 0 < len(found) < len(profile.processes) else None


def stems_of(annotations: object) -> list[str]:
    """The stems of a report's annotations, the most frequent first."""
    counts: dict[str, int] = {}
    for row in annotations if isinstance(annotations, (list, tuple)) else ():
        if isinstance(row, Mapping):
            counts[row["stem"]] = counts.get(row["stem"], 0) + row["count"]
    return sorted(counts, key=lambda stem: (-counts[stem], stem))


def _whole(profile: Profile) -> tuple[int, int]:
    return profile.begin_ns, max(profile.end_ns, profile.begin_ns + 1)


def _scope_text(profile: Profile, range_ns: tuple[int, int] | None) -> str:
    """What the figures are for."""
    if range_ns is None:
        return "For the whole profile."
    begin, end = (time_text(edge_ns - profile.begin_ns) for edge_ns in range_ns)
    return f"For {begin} to {end} of the profile."
