"""The menus, made from the table of commands: each entry with its keys, greyed where it cannot be done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu

from smprof_desktop.command_table import Command, groups_of
from smprof_desktop.plain_text import menu_text
from smprof_desktop.window.commands import COMMANDS, TABLE, TIMELINE_IDS, WindowCommand
from smprof_desktop.window.palette import Entry

TIMELINE_MENU = "Timeline"
_REASONS = {
    "back": "There is no view before",
    "forward": "There is no view to go forward to",
    "cancel": "Nothing is being loaded",
}


class Menus:
    """The menu bar of a window. Keys of the window's commands work everywhere; those of the timeline are the
    timeline's own to obey, or they could not be typed elsewhere: the menu only shows them."""

    def __init__(self, window: QMainWindow, run_in_timeline: Callable[[str], None]) -> None:
        self._window = window
        self._run_in_timeline = run_in_timeline
        self.actions: list[tuple[Command, QAction]] = []
        self.menus: dict[str, QMenu] = {}
        self._keys: Mapping[str, tuple[str, ...]] = {}
        for title, commands in groups_of(COMMANDS):
            if title == "Help":
                self._add_timeline()
            self.menus[title] = window.menuBar().addMenu(f"&{title}")
            for command in commands:
                self.menus[title].addAction(self._action(command))

    def action(self, command_id: str) -> QAction:
        """The action of a command."""
        return next(action for command, action in self.actions if command.id == command_id)

    def use_keys(self, keys: Mapping[str, tuple[str, ...]]) -> None:
        """Give each command those keys."""
        self._keys = keys
        for command, action in self.actions:
            own = keys[command.id]
            if command.id in TIMELINE_IDS:
                shown = QKeySequence(own[0]).toString(QKeySequence.SequenceFormat.NativeText) if own else ""
                action.setText(f"{menu_text(command.title)}\t{shown}" if shown else menu_text(command.title))
            else:
                action.setShortcuts([QKeySequence(key) for key in own])

    def entries(self) -> list[Entry]:
        """Every command for the palette; why it cannot be done now where its action is greyed."""
        found = []
        for group, commands in groups_of(command for command, _ in self.actions):
            for command in commands:
                action, keys = self.action(command.id), self._keys.get(command.id, ())
                reason = "" if action.isEnabled() else _REASONS.get(command.id, "No profile is loaded")
                shown = [QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText) for key in keys]
                also = f"{group} {command.meaning}"
                found.append(Entry(command.title, action.trigger, " or ".join(shown), reason, also))
        return found

    def _add_timeline(self) -> None:
        menu = self.menus[TIMELINE_MENU] = self._window.menuBar().addMenu(f"&{TIMELINE_MENU}")
        for title, commands in groups_of(command for command in TABLE if command.id in TIMELINE_IDS):
            part = menu.addMenu(title)
            for command in commands:
                part.addAction(self._action(command))

    def _action(self, command: Command) -> QAction:
        action = QAction(menu_text(command.title), self._window)
        action.setToolTip(command.meaning or command.title)
        if isinstance(command, WindowCommand):
            arguments = () if command.argument is None else (command.argument,)
            do = partial(call, getattr(self._window, command.slot), *arguments)
        else:
            do = partial(call, self._run_in_timeline, command.id)
        action.triggered.connect(do)
        self.actions.append((command, action))
        return action


def call(slot: Callable[..., Any], *arguments: object) -> None:
    """Call a slot without what the signal adds (`triggered` says whether it is checked)."""
    slot(*[argument for argument in arguments if not isinstance(argument, bool)])
