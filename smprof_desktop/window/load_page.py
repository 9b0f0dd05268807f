"""The Load page: what is loaded, what can be opened, and how the opening goes."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from smprof_desktop.plain_text import tooltip
from smprof_desktop.session import Session
from smprof_desktop.settings import Settings
from smprof_desktop.window.facts import summary
from smprof_desktop.window.fields import CopyTable, label

_TARGETS = Qt.ItemDataRole.UserRole
NOTHING_LOADED = (
    "Nothing is loaded. Open a profile below, or drop trace files or a profile folder anywhere on this window."
)


class LoadPage(QWidget):
    """The Loaded profile section, the ways to open another, progress with Cancel, errors and recent targets.

    Signals:
        load_asked(tuple): the user wants these targets, as text.
        unload_asked(): the user wants to let go of the profile.
        cancel_asked(): the user wants the loading to stop.
        files_asked(), folder_asked(): the user wants a dialog.
        sample_asked(): the user wants the sample profile.
    """

    load_asked = Signal(tuple)
    unload_asked = Signal()
    cancel_asked = Signal()
    files_asked = Signal()
    folder_asked = Signal()
    sample_asked = Signal()

    def __init__(self, session: Session, settings: Settings) -> None:
        super().__init__()
        self._session = session
        self._settings = settings
        self._loaded = CopyTable()
        self._loaded.fit_height()
        self._unload = _button("Unload", "Let go of this profile; nothing on disk changes")
        self._notice = label("Synthetic profile: generated, not recorded on any machine.", "notice", wraps=True)
        self._nothing = label(NOTHING_LOADED, "muted", wraps=True)
        self._path = QLineEdit()
        self._path.setPlaceholderText("Path of a profile folder, a trace file or a folder of traces")
        self._path.setAccessibleName("Path to load")
        self._path.setClearButtonEnabled(True)
        self._path.setAcceptDrops(False)  # what is dropped here is meant for the window, not as text
        self._load = _button("Load", "Load what the path names")
        self._files = _button("Open trace files…", "Choose trace files; several are the processes of one profile")
        self._folder = _button("Open folder…", "Choose a profile folder or a folder of traces")
        self._sample = _button(
            "Open the sample profile", "Load the small synthetic profile that comes with the application"
        )
        self._what = label(wraps=True)
        self._bar = QProgressBar()
        self._bar.setRange(0, 1000)
        self._bar.setTextVisible(False)
        self._bar.setMaximumHeight(10)
        self._cancel = _button("Cancel", "Stop loading; what is loaded now stays")
        self._error = label(name="error", wraps=True, selectable=True)
        self._recent = QListWidget()
        self._recent.setAccessibleName("Recent")
        self._recent.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._recent.setUniformItemSizes(True)
        self._no_recent = label("What you load is listed here.", "muted")
        self.setFocusProxy(self._path)
        self._build()
        self._connect()
        self._show_profile()
        self._show_recent()
        self.show_idle()

    def show_progress(self, share: float, what: str) -> None:
        """Say how far the loading is, 0 to 1, and what is being done."""
        self._error.setText("")
        self._error.hide()
        self._what.setText(what)
        self._bar.setValue(round(1000 * min(max(share, 0.0), 1.0)))
        self._cancel.setEnabled(True)
        self._progress.show()

    def show_cancelling(self) -> None:
        """Say that the loading is being stopped."""
        self._what.setText("Cancelling…")
        self._cancel.setEnabled(False)

    def show_idle(self, error: str = "") -> None:
        """Nothing is being loaded; `error` is one sentence about the last attempt."""
        self._progress.hide()
        self._error.setText(error)
        self._error.setVisible(bool(error))

    @property
    def error(self) -> str:
        """The sentence about the last attempt, if it failed."""
        return self._error.text()

    def _build(self) -> None:
        buttons = QHBoxLayout()
        buttons.addWidget(self._unload)
        buttons.addStretch()
        self._loaded_box = _column(self._notice, self._loaded, buttons)
        paths = QHBoxLayout()
        paths.addWidget(self._path, 1)
        for button in (self._load, self._files, self._folder):
            paths.addWidget(button)
        sample = QHBoxLayout()
        sample.addWidget(self._sample)
        sample.addStretch()
        cancel = QHBoxLayout()
        cancel.addWidget(self._bar, 1)
        cancel.addWidget(self._cancel)
        self._progress = _column(self._what, cancel)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 12, 16, 12)
        layout.setSpacing(8)
        layout.addWidget(label("Loaded profile", "section"))
        layout.addWidget(self._nothing)
        layout.addWidget(self._loaded_box)
        layout.addSpacing(8)
        layout.addWidget(label("Open", "section"))
        layout.addLayout(paths)
        layout.addLayout(sample)
        layout.addWidget(self._progress)
        layout.addWidget(self._error)
        layout.addSpacing(8)
        layout.addWidget(label("Recent", "section"))
        layout.addWidget(self._no_recent)
        layout.addWidget(self._recent, 1)
        layout.addStretch()

    def _connect(self) -> None:
        self._unload.clicked.connect(self.unload_asked)
        self._cancel.clicked.connect(self.cancel_asked)
        self._files.clicked.connect(self.files_asked)
        self._folder.clicked.connect(self.folder_asked)
        self._sample.clicked.connect(self.sample_asked)
        self._load.clicked.connect(self._load_path)
        self._path.returnPressed.connect(self._load_path)
        self._path.textChanged.connect(lambda text: self._load.setEnabled(bool(text.strip())))
        self._load.setEnabled(False)
        self._recent.itemActivated.connect(lambda item: self.load_asked.emit(item.data(_TARGETS)))
        self._session.profile_changed.connect(self._show_profile)
        self._settings.changed.connect(self._on_setting)

    def _load_path(self) -> None:
        text = self._path.text().strip()
        if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":  # as file managers and shells copy paths
            text = text[1:-1]
        if text:
            self.load_asked.emit((text,))

    def _show_profile(self) -> None:
        profile = self._session.profile
        self._nothing.setVisible(profile is None)
        self._loaded_box.setVisible(profile is not None)
        if profile is not None:
            self._notice.setVisible(profile.manifest.synthetic)
            self._loaded.fill(summary(profile))

    def _show_recent(self) -> None:
        entries = self._settings.recent()
        self._recent.clear()
        for targets in entries:
            item = QListWidgetItem(targets_text(targets))
            item.setData(_TARGETS, targets)
            item.setToolTip(tooltip("\n".join(targets[:50])))
            self._recent.addItem(item)
        self._recent.setVisible(bool(entries))
        self._no_recent.setVisible(not entries)

    def _on_setting(self, key: str) -> None:
        if key == "recent":
            self._show_recent()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Delete forgets the chosen recent entry."""
        item = self._recent.currentItem() if self._recent.hasFocus() else None
        if item is not None and event.key() == Qt.Key.Key_Delete:
            self._settings.remove_recent(tuple(item.data(_TARGETS)))
        else:
            super().keyPressEvent(event)


def targets_text(targets: tuple[str, ...]) -> str:
    """Targets in one line: the name first, then where it is."""
    first = Path(targets[0])
    more = f" and {len(targets) - 1} more" if len(targets) > 1 else ""
    return f"{first.name or first}{more}   —   {first.parent}"


def _button(text: str, meaning: str) -> QPushButton:
    button = QPushButton(text)
    button.setToolTip(meaning)
    button.setAutoDefault(True)
    return button


def _column(*parts: QWidget | QHBoxLayout) -> QFrame:
    frame = QFrame()
    layout = QVBoxLayout(frame)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(6)
    for part in parts:
        if isinstance(part, QWidget):
            layout.addWidget(part)
        else:
            layout.addLayout(part)
    return frame
