"""Recorded text on the screen: shown as it stands, never read as mark-up, never longer than a person reads."""

from __future__ import annotations

import html
from collections.abc import Iterable

from smprof_desktop.analysis.quantities import elide_middle

MAX_TOOLTIP_CHARACTERS = 3_000


def tooltip(text: str) -> str:
    """A tooltip that shows `text` literally: Qt would take `a<b>` for mark-up, and tooltips cannot be told not to."""
    if len(text) > MAX_TOOLTIP_CHARACTERS:
        text = f"{text[:MAX_TOOLTIP_CHARACTERS]}… ({len(text):,} characters; copy for all of them)"
    return f'<p style="white-space: pre-wrap">{html.escape(text)}</p>'


def menu_text(text: str, longest: int = 90) -> str:
    """A menu entry that shows `text` literally, elided in the middle: `&` would mark a key."""
    return elide_middle(text, longest).replace("&", "&&")


def table_text(rows: Iterable[Iterable[str]]) -> str:
    """Rows as tab-separated text, as spreadsheets take it: one line a row, whatever the cells hold."""
    return "\n".join("\t".join(" ".join(cell.split()) for cell in row) for row in rows)
