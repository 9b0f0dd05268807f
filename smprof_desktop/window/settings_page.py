"""The Settings page: every setting that has a title, made from the table of settings."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QFormLayout, QVBoxLayout, QWidget

from smprof_desktop.settings import SETTINGS, Setting, Settings
from smprof_desktop.window.fields import label


class SettingsPage(QWidget):
    """One row a setting: a choice takes effect at once."""

    def __init__(self, settings: Settings, where: str) -> None:
        super().__init__()
        self._settings = settings
        self._choices: dict[str, QComboBox] = {}
        form = QFormLayout()
        form.setFormAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.FieldsStayAtSizeHint)
        form.setHorizontalSpacing(16)
        for setting in SETTINGS.values():
            if setting.title and setting.choices:
                form.addRow(label(setting.title), self._choice(setting))
                form.addRow(label(), label(setting.meaning, "muted"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 12, 16, 12)
        layout.setSpacing(10)
        layout.addLayout(form)
        layout.addWidget(label(where, "muted", wraps=True, selectable=True))
        layout.addStretch()
        settings.changed.connect(self._show)

    def _choice(self, setting: Setting) -> QComboBox:
        box = QComboBox()
        box.setAccessibleName(setting.title)
        for choice in setting.choices:
            box.addItem(choice[:1].upper() + choice[1:], choice)  # OpenGL and UTC keep their capitals
        box.setCurrentIndex(box.findData(self._settings.get(setting.key)))
        box.currentIndexChanged.connect(lambda index: self._settings.set(setting.key, box.itemData(index)))
        self._choices[setting.key] = box
        return box

    def _show(self, key: str) -> None:
        if key in self._choices:
            box = self._choices[key]
            box.setCurrentIndex(box.findData(self._settings.get(key)))
