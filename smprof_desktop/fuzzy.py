"""Finding texts by a few of their letters: what palettes list, best first. No Qt."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NOT_FOUND = None
Rank = tuple[int, int]
"""0 for letters that begin a word, 1 for letters that stand together, 2 for letters in order; over how many they run."""


class Choices:
    """Texts that are looked through again and again. Capitals do not count."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [text.casefold() for text in texts]

    def best(self, query: str, most: int) -> list[int]:
        """Positions of the texts that hold every word of the query, at least its letters in order; the best first.

        Of equal ones the shorter first, then in the order of the texts; for an empty query the first texts.
        """
        words = [_Word(word) for word in query.casefold().split()]
        if not words:
            return list(range(min(most, len(self._texts))))
        found: list[tuple[int, int, int, int]] = []
        for at, text in enumerate(self._texts):
            kind = span = 0
            for word in words:
                rank = word.rank(text)
                if rank is _NOT_FOUND:
                    break
                kind, span = kind + rank[0], span + rank[1]
            else:
                found.append((kind, span, len(text), at))
        found.sort()
        return [entry[3] for entry in found[:most]]


class _Word:
    def __init__(self, word: str) -> None:
        self._word = word
        # Each letter's gap excludes the letter, so that nothing is tried twice however often it stands in a text.
        self._in_order = re.compile("".join(f"[^{re.escape(c)}]*{re.escape(c)}" for c in word), re.DOTALL)

    def rank(self, text: str) -> Rank | None:
        """How well the text holds the word; None where it does not."""
        at = text.find(self._word)
        while at > 0 and text[at - 1].isalnum():
            following = text.find(self._word, at + 1)
            if following < 0:
                return 1, len(self._word)
            at = following
        if at >= 0:
            return 0, len(self._word)
        in_order = self._in_order.match(text)
        return None if in_order is None else (2, in_order.end() - text.index(self._word[0]))
