"""Themes: readable by the numbers of WCAG 2, following the setting and the desktop."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from smprof_desktop.settings import Settings
from smprof_desktop.timeline.colours import Rgb, contrast
from smprof_desktop.window.theme import DARK, LIGHT, Theme, ThemeSwitch


def rgb(colour: str) -> Rgb:
    """#rrggbb as numbers."""
    return (int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16))


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_every_text_stands_out_from_what_is_behind_it(theme: Theme) -> None:
    pairs = [
        *(
            (text, behind)
            for text in (theme.text, theme.muted, theme.link)
            for behind in (theme.window, theme.base, theme.alternate)
        ),
        (theme.text, theme.hover),
        (theme.muted, theme.pane),
        (theme.accent_text, theme.accent),
        (theme.warning_text, theme.warning),
        (theme.error, theme.window),
    ]
    assert {pair: contrast(rgb(pair[0]), rgb(pair[1])) for pair in pairs if contrast(*map(rgb, pair)) < 4.5} == {}


def test_the_setting_and_the_desktop_decide(qtbot: QtBot, qapp: QApplication) -> None:
    settings = Settings(None)
    switch = ThemeSwitch(qapp, settings)
    try:
        for theme in (DARK, LIGHT):
            settings.set("theme", theme.name)
            assert switch.theme is theme
            assert qapp.palette().color(QPalette.ColorRole.Base) == QColor(theme.base)
        settings.set("theme", "system")
        is_dark = qapp.styleHints().colorScheme() == Qt.ColorScheme.Dark
        assert switch.theme is (DARK if is_dark else LIGHT)
    finally:
        switch.deleteLater()
