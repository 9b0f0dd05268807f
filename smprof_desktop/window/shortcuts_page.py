"""The Keyboard shortcuts page: the keys in force, made from the table of commands, and where they are changed."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QKeySequenceEdit,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from smprof_desktop.command_table import Command, KeyConflict, changed_keys, groups_of, keys_in_force
from smprof_desktop.settings import Settings
from smprof_desktop.timeline.keys import GESTURES
from smprof_desktop.window.commands import TABLE, TIMELINE_IDS
from smprof_desktop.window.fields import CopyTable, label

CHOOSE = "Choose a command above to change its keys."
NO_KEY = "–"


class ShortcutsPage(QWidget):
    """One table for each group: keys, what they do. A line below changes the keys of the command that is chosen."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__()
        self._settings = settings or Settings(None)
        self._tables: list[tuple[CopyTable, list[Command]]] = []
        self.chosen: Command | None = None
        body = QWidget()
        layout = QVBoxLayout(body)
        layout.setContentsMargins(16, 12, 16, 16)
        layout.setSpacing(6)
        for place, is_timeline in (("", False), ("Timeline: ", True)):
            for group, commands in groups_of(
                command for command in TABLE if (command.id in TIMELINE_IDS) is is_timeline
            ):
                title = f"{place}{group[:1].lower()}{group[1:]}" if place else group
                table = self._add_table(layout, title)
                table.itemSelectionChanged.connect(lambda table=table: self._choose(table))
                self._tables.append((table, commands))
        mouse = self._add_table(layout, "Timeline: mouse and touchpad")
        mouse.fill([(gesture.gesture, gesture.title) for gesture in GESTURES])
        layout.addWidget(
            label(
                "In tables and legends Ctrl+C copies what is chosen, or everything; Tab moves between controls.",
                "muted",
                wraps=True,
            )
        )
        layout.addStretch()
        scrolled = QScrollArea()
        scrolled.setWidgetResizable(True)
        scrolled.setFrameShape(QFrame.Shape.NoFrame)
        scrolled.setWidget(body)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(scrolled, 1)
        whole.addWidget(self._editor())
        self._settings.changed.connect(self._on_setting)
        self._fill()
        self._show_chosen()

    def _add_table(self, layout: QVBoxLayout, title: str) -> CopyTable:
        table = CopyTable()
        table.setAccessibleName(f"Keys: {title}")
        table.fit_height()
        layout.addWidget(label(title, "section"))
        layout.addWidget(table)
        layout.addSpacing(6)
        return table

    def _editor(self) -> QWidget:
        """The line that changes keys."""
        editor = QWidget()
        self._title = label(CHOOSE, wraps=True)
        self.edit = QKeySequenceEdit()
        self.edit.setMaximumSequenceLength(1)
        self.edit.setClearButtonEnabled(True)
        self.edit.setAccessibleName("New key")
        for field in self.edit.findChildren(QLineEdit):
            field.setAcceptDrops(False)  # what is dropped is for the window
        self.replace = QPushButton("Use this key")
        self.replace.setToolTip("Give the command this key in place of those it has; without a key it has none")
        self.add = QPushButton("Add this key")
        self.reset = QPushButton("Reset")
        self.reset.setToolTip("Give the command its own keys again")
        self.reset_all = QPushButton("Reset all")
        self.reset_all.setToolTip("Give every command its own keys again")
        self.message = label("", "error", wraps=True)
        self.message.hide()
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self._title, 1)
        for widget in (self.edit, self.replace, self.add, self.reset, self.reset_all):
            line.addWidget(widget)
        layout = QVBoxLayout(editor)
        layout.setContentsMargins(16, 8, 16, 8)
        layout.addLayout(line)
        layout.addWidget(self.message)
        self.replace.clicked.connect(lambda: self._give(False))
        self.add.clicked.connect(lambda: self._give(True))
        self.reset.clicked.connect(self._reset)
        self.reset_all.clicked.connect(lambda: self._settings.set("keys", {}))
        self.edit.keySequenceChanged.connect(lambda _keys: self._enable())
        return editor

    def _fill(self) -> None:
        keys = keys_in_force(TABLE, self._settings.get("keys"))
        for table, commands in self._tables:
            at = table.currentRow()
            with QSignalBlocker(table):
                table.fill([(keys_text(keys[command.id]), command.meaning or command.title) for command in commands])
                if self.chosen in commands:
                    table.setCurrentCell(at, 0)

    def _choose(self, table: CopyTable) -> None:
        commands = next(commands for known, commands in self._tables if known is table)
        rows = table.selectionModel().selectedRows()
        if not rows:
            return
        for other, _ in self._tables:
            if other is not table:
                with QSignalBlocker(other):
                    other.clearSelection()
        self.chosen = commands[rows[0].row()]
        self._show_chosen()

    def _show_chosen(self) -> None:
        self._title.setText(self.chosen.title if self.chosen is not None else CHOOSE)
        self.edit.clear()
        self._say("")
        self._enable()

    def _enable(self) -> None:
        is_chosen = self.chosen is not None
        changed: Mapping[str, object] = self._settings.get("keys")
        self.edit.setEnabled(is_chosen)
        self.replace.setEnabled(is_chosen)
        self.add.setEnabled(is_chosen and not self.edit.keySequence().isEmpty())
        self.reset.setEnabled(self.chosen is not None and self.chosen.id in changed)
        self.reset_all.setEnabled(bool(changed))

    def _give(self, is_added: bool) -> None:
        if self.chosen is None:
            return
        changed = self._settings.get("keys")
        written = self.edit.keySequence().toString(QKeySequence.SequenceFormat.PortableText)
        keys = [written] if written else []
        if is_added:
            keys = [*keys_in_force(TABLE, changed)[self.chosen.id], *keys]
        self._change(keys)

    def _reset(self) -> None:
        self._change(None)

    def _change(self, keys: list[str] | None) -> None:
        assert self.chosen is not None
        try:
            self._settings.set("keys", changed_keys(TABLE, self._settings.get("keys"), self.chosen.id, keys))
        except KeyConflict as conflict:
            self._say(str(conflict))
            return
        self.edit.clear()
        self._say("")

    def _say(self, sentence: str) -> None:
        self.message.setText(sentence)
        self.message.setVisible(bool(sentence))

    def _on_setting(self, key: str) -> None:
        if key == "keys":
            self._fill()
            self._enable()


def keys_text(keys: tuple[str, ...]) -> str:
    """Key sequences as this system writes them."""
    texts = (QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText) for key in keys)
    return " or ".join(texts) or NO_KEY
