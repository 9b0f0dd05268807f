"""From a key event to the command that it asks for: by the character typed, and where a command says so by place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from PySide6.QtCore import QKeyCombination, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence

from smprof_desktop.command_table import Command

_EVDEV_OFFSET = 8
"""X11 and Wayland number keys as Linux does, plus this."""
_LINUX_KEYS = {17: "W", 30: "A", 31: "S", 32: "D"}
_PLACES: dict[str, dict[int, str]] = {
    "xcb": {code + _EVDEV_OFFSET: key for code, key in _LINUX_KEYS.items()},
    "wayland": {code + _EVDEV_OFFSET: key for code, key in _LINUX_KEYS.items()},
    "windows": dict(_LINUX_KEYS),  # scan codes of set 1 are where Linux has its numbers from
    "cocoa": {13: "W", 0: "A", 1: "S", 2: "D"},
}
"""Platform → code of the key at that place of a US keyboard. macOS has no scan code but virtual keys, by place too."""
_REACHED_BY_MODIFIERS = "[],./?"


class KeyMap:
    """The commands of a table by key.

    Commands that act by place answer to the key where a US keyboard has that letter, on any layout; a character that
    means something itself counts first, so that `,` stays reachable where it stands in the place of W.
    """

    def __init__(self, commands: Iterable[Command], platform: str | None = None) -> None:
        self._by_key: dict[int, str] = {}
        self._by_place: dict[str, str] = {}
        for command in commands:
            for key in command.keys:
                self._by_key[combined(key)] = command.id
                if command.by_place and len(key) == 1:
                    self._by_place[key.upper()] = command.id
        name = QGuiApplication.platformName() if platform is None else platform
        self._places = _PLACES.get(name.removesuffix("-egl"), {})
        self._is_virtual = name == "cocoa"

    def command_of(self, event: QKeyEvent) -> str:
        """The id of the command that a key press asks for; empty where none does."""
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        typed = self._by_key.get(int(event.key()) | int(modifiers.value))
        if typed is not None and typed not in self._by_place.values():
            return typed
        if not modifiers:
            code = event.nativeVirtualKey() if self._is_virtual else event.nativeScanCode()
            place = self._places.get(code) if self._is_virtual or code else None
            if place in self._by_place:
                return self._by_place[place]
        text = event.text()
        if typed is None and text and text in _REACHED_BY_MODIFIERS:
            # Layouts that reach brackets by Shift or AltGr, which Windows reports as Ctrl+Alt, type the same character.
            held = modifiers & (Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.ControlModifier)
            if held not in (Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ControlModifier):
                typed = self._by_key.get(combined(text))
        return typed or ""


def combined(key: str) -> int:
    """The key and modifiers of a one-key sequence as one number."""
    sequence = QKeySequence(key)
    return cast(QKeyCombination, sequence[0]).toCombined()  # type: ignore[index]
