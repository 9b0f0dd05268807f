"""The line that makes a histogram of any annotation."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QCompleter, QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from smprof_desktop.analysis.quantities import elide_middle
from smprof_desktop.dashboard.scope_bar import MAX_STEMS, stems_of
from smprof_desktop.plain_label import label


class NewHistogram(QFrame):
    """A field for an annotation, picked or typed, and a button.

    Signals:
        asked(str): a histogram of that name, stem or pattern is wanted.
    """

    asked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self.field = QComboBox()
        self.field.setEditable(True)
        self.field.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.field.setMaxVisibleItems(25)
        self.field.setMinimumContentsLength(24)
        self.field.setAccessibleName("Annotation of the new histogram")
        completer = QCompleter(self.field.model(), self.field)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.field.setCompleter(completer)
        self.button = QPushButton("Create")
        self.button.clicked.connect(self._ask)
        line_edit = self.field.lineEdit()
        assert line_edit is not None
        line_edit.setPlaceholderText("Pick an annotation, or type a name or pattern")
        line_edit.setAcceptDrops(False)  # what is dropped is for the window
        line_edit.returnPressed.connect(self._ask)
        line_edit.textChanged.connect(lambda text: self.button.setEnabled(bool(text.strip())))
        self.said = label(
            "How long annotations took: those of one name, or all that differ in their number only (step_<i> as step). "
            "Kept with the profile.",
            "muted",
            wraps=True,
        )
        line = QHBoxLayout()
        line.addWidget(self.field, 1)
        line.addWidget(self.button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(4)
        layout.addWidget(label("Create a new histogram", "card_title"))
        layout.addLayout(line)
        layout.addWidget(self.said)
        self.offer(())

    def offer(self, annotations: object) -> None:
        """Offer the annotations of a report by their stems; what is being typed stays."""
        text = self.field.currentText()
        self.field.clear()
        for stem in stems_of(annotations)[:MAX_STEMS]:
            self.field.addItem(elide_middle(stem, 120), stem)
        self.field.setCurrentIndex(-1)
        self.field.setEditText(text)
        self.button.setEnabled(bool(text.strip()))

    def _ask(self) -> None:
        text = self.field.currentText().strip()
        index = self.field.findText(text)
        name = self.field.itemData(index) if index >= 0 else text
        if name:
            self.field.setEditText("")
            self.asked.emit(name[:1_000])
