"""The dialog that writes a range of the profile for someone else: shows first what in it is private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from smprof.profile.manifest import ProfileError
from smprof_desktop import notes
from smprof_desktop.analysis.quantities import elide_middle
from smprof_desktop.notes import Notes
from smprof_desktop.progress import CancelCheck, Progress
from smprof_desktop.session import Session
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline import marks
from smprof_desktop.timeline.marks import Mark
from smprof_desktop.timeline.viewport import duration_text, time_text
from smprof_desktop.window.fields import CopyTable, label

if TYPE_CHECKING:
    from smprof.profile.reader import Profile
    from smprof_desktop.exporters.redaction import Finding, Redactor

PREVIEWING, EXPORTING = "preview of an excerpt", "excerpt"
"""Kinds of tasks."""
INSPECTION_SHARE = 0.3
"""Of the progress that looking for what is private takes."""
CHROME_ENDINGS = (".json", ".json.gz")


@dataclass(frozen=True)
class Request:
    """What to write: [begin_ns, end_ns) of a profile, into the folder or file `out`."""

    out: Path
    begin_ns: int
    end_ns: int
    is_chrome: bool
    is_redacted: bool
    marks: tuple[Mark, ...] = ()
    """Those that go along, beside a folder."""


class ExcerptDialog(QDialog):
    """Asks what to write and where to, and writes it beside the window, with progress; stays open until it is told."""

    def __init__(
        self, parent: QWidget, session: Session, tasks: Tasks, settings: Settings, begin_ns: int, end_ns: int
    ) -> None:
        super().__init__(parent)
        assert session.profile is not None
        self._session, self._tasks, self._settings = session, tasks, settings
        self._profile = session.profile
        self._begin_ns, self._end_ns = begin_ns, end_ns
        self._ticket: int | None = None
        self.setWindowTitle("Export excerpt")
        self.resize(720, 460)
        self.as_profile = QRadioButton("Profile (a folder)")
        self.as_chrome = QRadioButton("Trace-event JSON (Perfetto, chrome://tracing)")
        self.as_profile.setChecked(True)
        self.redacts = QCheckBox("Take out what is private")
        self.redacts.setChecked(True)
        self.out = QLineEdit()
        self.out.setAccessibleName("Where to")
        self.browse = QPushButton("Browse…")
        self.findings = CopyTable(("Kind", "Where", "Count", "Example"))
        self.findings.setAccessibleName("What is private")
        self.note = label("Looking for what is private…", "muted", wraps=True, selectable=True)
        self.bar = QProgressBar()
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.export = QPushButton("Export")
        self.export.setDefault(True)
        self.close_button = QPushButton("Close")
        self._lay_out()
        self.browse.clicked.connect(self._browse)
        self.export.clicked.connect(self._start)
        self.close_button.clicked.connect(self._cancel_or_close)
        self.as_chrome.toggled.connect(self._propose)
        self.out.textChanged.connect(self._enable)
        self.redacts.toggled.connect(self._on_redacts)
        session.profile_changed.connect(self._on_profile)
        self._propose()
        self._preview()

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks of which anything lies in the range."""
        return tuple(
            mark
            for mark in marks.marks_of(self._session.notes)
            if mark.begin_ns < self._end_ns and mark.end_ns >= self._begin_ns
        )

    def _lay_out(self) -> None:
        since_ns, length_ns = self._begin_ns - self._profile.begin_ns, self._end_ns - self._begin_ns
        count = len(self.marks)
        along = f", with {count:,} mark{'s' if count != 1 else ''}" if count else ""
        form = QFormLayout()
        form.addRow("Range", label(f"{duration_text(length_ns)} from {time_text(since_ns)}{along}", selectable=True))
        kinds = QHBoxLayout()
        kinds.addWidget(self.as_profile)
        kinds.addWidget(self.as_chrome)
        kinds.addStretch()
        form.addRow("As", kinds)
        place = QHBoxLayout()
        place.addWidget(self.out, 1)
        place.addWidget(self.browse)
        form.addRow("Where to", place)
        buttons = QHBoxLayout()
        buttons.addWidget(self.bar, 1)
        buttons.addWidget(self.export)
        buttons.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.addLayout(form)
        column.addWidget(self.redacts)
        column.addWidget(self.findings, 1)
        column.addWidget(self.note)
        column.addLayout(buttons)

    def _propose(self) -> None:
        """A place of the kind that is chosen, and of a name that is free."""
        folder = Path(self.out.text()).parent if self.out.text() else Path(self._settings.get("folder") or Path.home())
        ending = ".json.gz" if self.as_chrome.isChecked() else ""
        number, path = 1, folder / f"excerpt{ending}"
        while path.exists() or notes.beside(path).exists():
            number += 1
            path = folder / f"excerpt-{number}{ending}"
        self.out.setText(str(path))

    def _browse(self) -> None:
        if self.as_chrome.isChecked():
            kinds = "Trace-event JSON (*.json *.json.gz)"
            name, _ = QFileDialog.getSaveFileName(self, "Export excerpt", self.out.text(), kinds)
        else:
            name, _ = QFileDialog.getSaveFileName(self, "Export excerpt: name a new folder", self.out.text())
        if name:
            self.out.setText(name)

    def _preview(self) -> None:
        self._tasks.start(
            PREVIEWING,
            partial(_find_private, self._profile),
            self._show_findings,
            self.note.setText,
            progressed=self._show_progress,
            reads=self._profile,
        )

    def _show_findings(self, found: Sequence[Finding]) -> None:
        rows = [(one.kind, one.where, f"{one.count:,}", elide_middle(one.example, 200)) for one in found]
        self.findings.fill(rows)
        self.bar.setValue(0)
        self._tell_findings()

    def _on_redacts(self, _is_checked: bool) -> None:
        if self.findings.rowCount():
            self._tell_findings()

    def _tell_findings(self) -> None:
        if self.findings.rowCount():
            what = "This is taken out" if self.redacts.isChecked() else "This stays in what is written"
            self.note.setText(f"{what}; the examples are as they were recorded.")
        else:
            self.note.setText("Nothing private was found.")

    def _start(self) -> None:
        request = Request(
            Path(self.out.text()).expanduser(),
            self._begin_ns,
            self._end_ns,
            self.as_chrome.isChecked(),
            self.redacts.isChecked(),
            self.marks,
        )
        self._settings.set("folder", str(request.out.parent))
        self._tasks.cancel_kind(PREVIEWING)
        self._ticket = self._tasks.start(
            EXPORTING,
            partial(export, self._profile, request),
            self._on_exported,
            self._on_failed,
            self._on_cancelled,
            self._show_progress,
            reads=self._profile,
            alone=True,
        )
        self._enable()

    def _on_exported(self, out: Path) -> None:
        self._end(f"Written to {out}.")
        self.bar.setValue(1000)

    def _on_failed(self, sentence: str) -> None:
        self._end(sentence)

    def _on_cancelled(self) -> None:
        self._end("Cancelled; nothing was written.")

    def _end(self, sentence: str) -> None:
        self._ticket = None
        self.bar.setValue(0)
        self.note.setText(sentence)
        self._enable()

    def _show_progress(self, share: float, what: str) -> None:
        self.bar.setValue(round(1000 * min(max(share, 0.0), 1.0)))
        self.note.setText(f"{what[:1].upper()}{what[1:]}…")

    def _enable(self) -> None:
        is_idle = self._ticket is None
        for widget in (self.as_profile, self.as_chrome, self.redacts, self.out, self.browse):
            widget.setEnabled(is_idle)
        self.export.setEnabled(is_idle and bool(self.out.text().strip()))
        self.close_button.setText("Close" if is_idle else "Cancel")

    def _cancel_or_close(self) -> None:
        if self._ticket is None:
            self.close()
        else:
            self.note.setText("Cancelling…")
            self._tasks.cancel(self._ticket)

    def _on_profile(self, _profile: object) -> None:
        """The profile is gone, and the tasks that read it with it."""
        self.close()

    def reject(self) -> None:
        """Escape cancels what runs first."""
        if self._ticket is None:
            super().reject()
        else:
            self._cancel_or_close()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Nothing that runs is waited for."""
        self._ticket = None
        self._session.profile_changed.disconnect(self._on_profile, missing_ok=True)
        if not self._tasks.is_closed:
            self._tasks.cancel_kind(PREVIEWING)
            self._tasks.cancel_kind(EXPORTING)
        super().closeEvent(event)


def export(profile: Profile, request: Request, progress: Progress, cancelled: CancelCheck) -> Path:
    """Write an excerpt, with its marks in a sidecar where it is a profile. Raises ProfileError, and Cancelled."""
    from smprof_desktop.exporters import chrome, excerpt, redaction

    out = _checked(profile, request)
    redactor: Redactor | None = None
    share = 0.0
    if request.is_redacted:
        share = INSPECTION_SHARE
        redactor = redaction.inspect(profile, None, lambda part, what: progress(part * share, what), cancelled)
    write = chrome.write_chrome if request.is_chrome else excerpt.write_excerpt
    written = write(
        profile,
        out,
        request.begin_ns,
        request.end_ns,
        None,
        redactor,
        lambda part, what: progress(share + part * (1 - share), what),
        cancelled,
    )
    if request.marks and not request.is_chrome:
        kept = [
            replace(mark, text=redactor.text(mark.text)) if redactor is not None else mark for mark in request.marks
        ]
        told: list[str] = []
        sidecar = Notes(notes.beside(written))
        sidecar.failed.connect(told.append)
        marks.give(sidecar, kept)
        if told:
            raise ProfileError(f"The excerpt is written to {written}, but its marks are not: {told[0]}")
    return written


def _checked(profile: Profile, request: Request) -> Path:
    """Where to write. Raises ProfileError for a place in the profile itself, which stays as it is."""
    out = request.out
    if request.is_chrome and not out.name.lower().endswith(CHROME_ENDINGS):
        out = out.with_name(out.name + CHROME_ENDINGS[-1])
    place = out.absolute().resolve()
    for folder in notes.folders_of(profile):
        if folder is not None and (place == folder or folder in place.parents):
            raise ProfileError(f"{out} lies in the profile that is open; choose another place.")
    beside = notes.beside(out)
    if not request.is_chrome and beside.exists():
        raise ProfileError(f"{beside} holds the notes of another profile; choose another place, or remove it.")
    return out


def _find_private(profile: Profile, progress: Progress, cancelled: CancelCheck) -> Sequence[Finding]:
    from smprof_desktop.exporters import redaction

    return redaction.preview(profile, None, progress, cancelled)
