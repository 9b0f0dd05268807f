"""The binding itself: the fault that a release of PySide6 had, and that no version we allow may have."""

from __future__ import annotations

import sys

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot


def test_void_calls_do_not_lose_references_to_none(qtbot: QtBot) -> None:
    """PySide6 6.12.0 drops a reference to None on nearly every void call and aborts on Python <= 3.11."""
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.update()
    before = sys.getrefcount(None)
    for _ in range(1_000):
        widget.update()
    # From Python 3.12 on None is immortal and its count does not move.
    assert sys.getrefcount(None) > before - 100
