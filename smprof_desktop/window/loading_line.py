"""The slim line that tells on every page what is being loaded."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QSizePolicy, QWidget

from smprof_desktop.plain_text import tooltip
from smprof_desktop.window.fields import label

BAR_PX = 140


class LoadingLine(QWidget):
    """What is being done, how far it is, and Cancel. Hidden until something is loaded.

    Signals:
        cancel_asked(): the user wants the loading to stop.
    """

    cancel_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("loading_line")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._what = label(name="muted")
        self._what.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._bar = QProgressBar()
        self._bar.setRange(0, 1000)
        self._bar.setTextVisible(False)
        self._bar.setFixedSize(BAR_PX, 8)
        self._cancel = QPushButton("Cancel")
        self._cancel.setToolTip("Stop loading; what is loaded now stays")
        self._cancel.clicked.connect(self.cancel_asked)
        line = QHBoxLayout(self)
        line.setContentsMargins(16, 3, 16, 3)
        line.setSpacing(10)
        line.addWidget(self._what, 1)
        line.addWidget(self._bar)
        line.addWidget(self._cancel)
        self.hide()

    def show_progress(self, share: float, what: str) -> None:
        """Say how far the loading is, 0 to 1, and what is being done."""
        self._what.setText(what)
        self._what.setToolTip(tooltip(what))
        self._bar.setValue(round(1000 * min(max(share, 0.0), 1.0)))
        self._cancel.setEnabled(True)

    def show_cancelling(self) -> None:
        """Say that the loading is being stopped."""
        self._what.setText("Cancelling…")
        self._cancel.setEnabled(False)
