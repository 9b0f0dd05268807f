"""Colours are stable, readable and apart from their background."""

from __future__ import annotations

import subprocess
import sys

import pytest

from smprof_desktop.timeline.colours import NAME_COLOURS, SYNC, THEMES, Theme, colour_of, contrast


def test_a_name_has_the_same_colour_in_every_run() -> None:
    names = ["ampere_sgemm_128x64_tn", "aten::mm", "ядро", "\udcff broken", ""]
    code = f"from smprof_desktop.timeline.colours import colour_of; print([colour_of(n) for n in {names!r}])"
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"}
    )
    assert other.stdout.strip() == str([colour_of(name) for name in names])


def test_every_colour_is_used() -> None:
    assert {colour_of(f"kernel_{number}") for number in range(500)} == set(range(NAME_COLOURS))


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_labels_and_arrows_are_readable(theme: Theme) -> None:
    for fill in (*theme.fills[:NAME_COLOURS], theme.fills[SYNC]):
        assert contrast(fill, theme.ink) >= 4.5
        assert contrast(fill, theme.background) >= 1.5
    for behind in (theme.background, theme.stripe, theme.group, theme.header, theme.focus):
        assert contrast(theme.text, behind) >= 7
        assert contrast(theme.muted, behind) >= 4
        assert contrast(theme.arrow, behind) >= 4.5
        assert contrast(theme.warning, behind) >= 4.5


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_the_two_shades_of_a_hue_differ_in_brightness(theme: Theme) -> None:
    """What remains to tell slices apart where hues look alike."""
    for first in range(0, NAME_COLOURS, 2):
        assert contrast(theme.fills[first], theme.fills[first + 1]) >= 1.2


def test_contrast_is_that_of_wcag() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
