"""Finding texts by a few of their letters: what palettes list, best first. No Qt."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NOT_FOUND = None
Rank = tuple[int, int]
"""One of the kinds below, the least is best; over how many letters the word's letters run."""
_BEGINS, _TOGETHER, _ALSO_BEGINS, _ALSO_TOGETHER, _IN_ORDER = range(5)


class Choices:
    """Texts that are looked through again and again. Capitals do not count.

    `also` are what each is found by besides, where letters stand together; that counts less.
    """

    def __init__(self, texts: Sequence[str], also: Sequence[str] = ()) -> None:
        self._texts = [text.casefold() for text in texts]
        self._also = [text.casefold() for text in also] or [""] * len(texts)

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
                rank = word.rank(text, self._also[at])
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

    def rank(self, text: str, also: str) -> Rank | None:
        """How well a text, or what stands for it besides, holds the word; None where neither does."""
        begins = self._begins(text)
        if begins is None and also:
            found = self._begins(also)
            if found is not None:
                return _ALSO_BEGINS if found else _ALSO_TOGETHER, len(self._word)
        if begins is not None:
            return _BEGINS if begins else _TOGETHER, len(self._word)
        in_order = self._in_order.match(text)
        return None if in_order is None else (_IN_ORDER, in_order.end() - text.index(self._word[0]))

    def _begins(self, text: str) -> bool | None:
        """Whether the word begins one of the text's; None where its letters do not stand together at all."""
        at = text.find(self._word)
        is_found = at >= 0
        while at > 0 and text[at - 1].isalnum():
            at = text.find(self._word, at + 1)
        return at >= 0 if is_found else None
