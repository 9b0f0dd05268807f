"""Names cut in the middle to fit a width, worked out once per name and width."""

from __future__ import annotations

from collections.abc import Callable

TextWidth = Callable[[str], float]
"""Width in px of a text on one line."""

ELLIPSIS = "…"
MIN_LABEL_PX = 40.0
"""Narrower slices carry no label."""
WIDTH_STEP_PX = 8.0
"""Widths are rounded down to this, so that a zoom meets cached labels."""
MAX_CACHED = 50_000


class Elider:
    """Cuts texts in the middle, where kernel names differ least: both ends stay.

    The width of a text is taken as the sum of its characters' advances, each measured once.
    """

    def __init__(self, text_width: TextWidth) -> None:
        self._text_width = text_width
        self._advances: dict[str, float] = {}
        self._cache: dict[tuple[str, int], str] = {}
        self._widths: dict[str, float] = {}

    def elided(self, text: str, width_px: float) -> str:
        """`text` on one line, as much of it as fits in `width_px`; empty where not even three characters do."""
        steps = int(width_px / WIDTH_STEP_PX)
        key = (text, steps)
        found = self._cache.get(key)
        if found is None:
            if len(self._cache) >= MAX_CACHED:
                self._cache.clear()
            found = self._cache[key] = self._cut(text, steps * WIDTH_STEP_PX)
        return found

    def width_px(self, text: str) -> float:
        """Sum of the advances of the characters."""
        found = self._widths.get(text)
        if found is None:
            if len(self._widths) >= MAX_CACHED:
                self._widths.clear()
            found = self._widths[text] = sum(map(self._advance, text))
        return found

    def _advance(self, character: str) -> float:
        found = self._advances.get(character)
        if found is None:
            found = self._advances[character] = self._text_width(character)
        return found

    def _cut(self, text: str, width_px: float) -> str:
        # A name may be megabytes long: more characters than this cannot fit, an advance being a pixel or more.
        most = int(width_px) + 2
        if len(text) <= most:
            text = _one_line(text)
            if sum(map(self._advance, text)) <= width_px:
                return text
        room = width_px - self._advance(ELLIPSIS)
        head, tail = _one_line(text[:most]), _one_line(text[-most:])
        left, right = 0, 0
        used = 0.0
        while True:
            # Two from the front for one from the back: names differ in front more often than behind.
            take_left = left <= 2 * right + 1
            character = head[left] if take_left else tail[-1 - right]
            used += self._advance(character)
            if used > room or left + right + 1 >= len(text):
                break
            left, right = (left + 1, right) if take_left else (left, right + 1)
        if left + right < 2:
            return ""
        return head[:left] + ELLIPSIS + (tail[len(tail) - right :] if right else "")


def _one_line(text: str) -> str:
    """Control characters (line breaks among them) as spaces."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
