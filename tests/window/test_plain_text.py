"""Recorded text is shown as it stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QTextDocument

from smprof_desktop.plain_text import MAX_TOOLTIP_CHARACTERS, menu_text, table_text, tooltip

NAMES = [
    "<b>bold</b>",
    "a & b",
    "void k<float, 4>(int*)",
    "</p><img src='file:///etc/passwd'>",
    "  two  spaces",
    "&lt;",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_tooltip_is_literal(name: str) -> None:
    document = QTextDocument()
    document.setHtml(tooltip(name))
    assert document.toPlainText() == name


def test_a_tooltip_is_bounded() -> None:
    assert len(tooltip("k" * 10**6)) < MAX_TOOLTIP_CHARACTERS + 200 and "1,000,000 characters" in tooltip("k" * 10**6)


def test_an_ampersand_in_a_menu_is_no_key() -> None:
    assert menu_text("R&D") == "R&&D" and len(menu_text("x" * 500)) <= 90


@given(st.lists(st.lists(st.text(max_size=20), min_size=2, max_size=2), min_size=1, max_size=5))
def test_a_copied_row_is_one_line_whatever_it_holds(rows: list[list[str]]) -> None:
    lines = table_text(rows).split("\n")
    assert len(lines) == len(rows) and all(line.count("\t") == 1 for line in lines)
