"""From key events to commands: by character, by place on any keyboard layout, and what goes on while a key is held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest
from PySide6.QtCore import QEvent, QKeyCombination, QObject, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from pytestqt.qtbot import QtBot

from smprof_desktop.command_table import Command
from smprof_desktop.timeline.glide import HOLD_S, LONGEST_TICK_S, STEPS_PER_S, Glide
from smprof_desktop.timeline.key_events import KeyMap
from smprof_desktop.timeline.keys import COMMANDS

NONE, SHIFT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier
CTRL, ALT, KEYPAD = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.KeypadModifier,
)
W, A, S, D, Q, Z = 25, 38, 39, 40, 24, 52
"""Codes of X11 by the letters of a US keyboard."""


def key(
    key: Qt.Key, text: str = "", modifiers: Qt.KeyboardModifier = NONE, scan_code: int = 0, virtual_key: int = 0
) -> QKeyEvent:
    return QKeyEvent(QEvent.Type.KeyPress, key, modifiers, scan_code, virtual_key, 0, text)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.id)
def test_every_key_of_the_table_asks_for_its_command(command: Command, qapp: object) -> None:

    for text in command.keys:
        combination = cast(QKeyCombination, QKeySequence(text)[0])  # type: ignore[index]
        event = key(combination.key(), "", combination.keyboardModifiers())
        assert KeyMap(COMMANDS).command_of(event) == command.id


@pytest.mark.parametrize(
    ("pressed", "command"),
    [
        (key(Qt.Key.Key_Z, "z", scan_code=W), "zoom_in"),  # AZERTY
        (key(Qt.Key.Key_Q, "q", scan_code=A), "pan_left"),
        (key(Qt.Key.Key_S, "s", scan_code=S), "zoom_out"),
        (key(Qt.Key.Key_D, "d", scan_code=D), "pan_right"),
        (key(Qt.Key.Key_A, "a", scan_code=Q), "pan_left"),  # where the place says nothing the letter does
        (key(Qt.Key.Key_O, "o", scan_code=S), "zoom_out"),  # Dvorak
        (key(Qt.Key.Key_Comma, ",", scan_code=W), "previous_slice"),
        (key(Qt.Key.Key_W, "w", scan_code=59), "zoom_in"),
        (key(Qt.Key.Key_Period, ".", SHIFT, 59), "next_slice"),  # AZERTY types it with Shift
        (key(Qt.Key.Key_BracketLeft, "[", CTRL | ALT), "link_back"),  # AltGr on Windows
        (key(Qt.Key.Key_Up, "", KEYPAD), "lane_up"),
        (key(Qt.Key.Key_W, "w", CTRL, W), ""),
        (key(Qt.Key.Key_Comma, ",", CTRL), ""),
        (key(Qt.Key.Key_Comma, ",", ALT), ""),
        (key(Qt.Key.Key_Z, "z", scan_code=Z), ""),
    ],
)
def test_letters_of_movement_act_by_place_and_signs_by_character(pressed: QKeyEvent, command: str) -> None:
    assert KeyMap(COMMANDS, platform="xcb").command_of(pressed) == command


def test_each_system_has_its_own_numbers_of_keys() -> None:
    assert KeyMap(COMMANDS, platform="windows").command_of(key(Qt.Key.Key_Z, "z", scan_code=17)) == "zoom_in"
    assert KeyMap(COMMANDS, platform="cocoa").command_of(key(Qt.Key.Key_Q, "q", virtual_key=0)) == "pan_left"
    assert KeyMap(COMMANDS, platform="offscreen").command_of(key(Qt.Key.Key_Z, "z", scan_code=W)) == ""


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def glide(qtbot: QtBot, clock: Clock) -> Iterator[Glide]:
    parent = QObject()
    yield Glide(parent, clock)
    parent.deleteLater()


def test_a_short_press_is_one_step(glide: Glide, clock: Clock) -> None:
    steps: list[float] = []
    glide.start(1, steps.append)
    clock.now_s += HOLD_S / 2
    glide.tick()
    glide.release(1)
    assert steps == [1.0] and not glide.is_active


def test_a_held_key_moves_by_the_time_that_passes_and_a_slow_frame_throws_nothing_ahead(
    glide: Glide, clock: Clock
) -> None:
    steps: list[float] = []
    glide.start(1, steps.append)
    clock.now_s += HOLD_S - 0.001
    glide.tick()
    clock.now_s += 0.01
    glide.tick()
    assert steps[1:] == [pytest.approx(0.01 * STEPS_PER_S, rel=0.02)]
    clock.now_s += 5.0
    glide.tick()
    assert steps[-1] <= LONGEST_TICK_S * 14.0 + 1e-9


def test_another_key_takes_over_and_the_release_of_the_first_changes_nothing(glide: Glide) -> None:
    first: list[float] = []
    second: list[float] = []
    glide.start(1, first.append)
    glide.start(2, second.append)
    glide.release(1)
    assert glide.is_active and first == [1.0] and second == [1.0]
    glide.release(2)
    assert not glide.is_active
