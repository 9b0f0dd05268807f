"""How the lanes stand in a view, as one short text: what `--lanes` takes and a copied link holds. No Qt.

The text is a list of `WORD:VALUE` parted by commas: `open`, `close` (a lane's key, against what is open at first; `*`
for every lane), `pin`, `hide`, `pack` (keys), `order` (keys parted by `>`, the group's first), `find` (the filter),
`top` (key of the lane on top of those that are scrolled). In values whatever would part or end something is
percent-encoded. A key that the profile does not hold does no harm, so that a link outlives a new import.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from smprof_desktop.timeline.lanes import LaneTree

ALL = "*"
MAX_PARTS = 100_000
_SAFE = " /:;=@()[]{}_.-~+?#$'"
_WORDS = ("open", "close", "pin", "hide", "pack", "order", "find", "top")


@dataclass(frozen=True)
class LaneView:
    """What is open, against what is at first, and how the lanes are arranged. `top` is empty: nothing is scrolled."""

    opened: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    packed: tuple[str, ...] = ()
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    filter: str = ""
    top: str = ""

    @staticmethod
    def parse(text: str) -> LaneView:
        """What a text says. Raises ValueError: which part of it is none."""
        found: dict[str, list[str]] = {word: [] for word in _WORDS}
        parts = text.split(",") if text else []
        if len(parts) > MAX_PARTS:
            raise ValueError(f"more than {MAX_PARTS:,} lanes")
        for part in parts:
            word, colon, value = part.partition(":")
            if word not in found or not colon:
                raise ValueError(f"{part[:80]!r} is none of {', '.join(f'{word}:…' for word in _WORDS)}")
            found[word].append(value)
        keys = {word: tuple(map(unquote, found[word])) for word in _WORDS if word != "order"}
        orders = [tuple(map(unquote, value.split(">"))) for value in found["order"]]
        return LaneView(
            keys["open"],
            keys["close"],
            keys["pin"],
            keys["hide"],
            keys["pack"],
            {parent: tuple(children) for parent, *children in orders},
            (keys["find"] or ("",))[-1],
            (keys["top"] or ("",))[-1],
        )

    def text(self) -> str:
        """The text that `parse` reads."""
        words: list[tuple[str, Iterable[str]]] = [
            ("open", self.opened),
            ("close", self.closed),
            ("pin", self.pinned),
            ("hide", self.hidden),
            ("pack", self.packed),
            ("find", (self.filter,) if self.filter else ()),
            ("top", (self.top,) if self.top else ()),
        ]
        parts = [f"{word}:{_quoted(value)}" for word, values in words for value in values]
        parts += [
            f"order:{'>'.join(map(_quoted, (parent, *children)))}" for parent, children in sorted(self.order.items())
        ]
        return ",".join(parts)

    def expanded(self, tree: LaneTree) -> frozenset[str]:
        """The lanes of a tree that are open."""
        found = set(tree.default_expanded())
        if ALL in self.closed:
            found = set()
        if ALL in self.opened:
            found = {lane.key for lane in tree.walk() if lane.can_expand}
        return frozenset((found | set(self.opened)) - set(self.closed)) & tree.by_key.keys()


def differences(tree: LaneTree, expanded: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """`opened` and `closed` of a LaneView, the shorter of what differs from the first view, from all and from none."""
    can = [lane.key for lane in tree.walk() if lane.can_expand]
    first = tree.default_expanded()
    opened = [key for key in can if key in expanded and key not in first]
    closed = [key for key in can if key not in expanded and key in first]
    ways = [
        (tuple(opened), tuple(closed)),
        ((ALL,), tuple(key for key in can if key not in expanded)),
        (tuple(key for key in can if key in expanded), (ALL,)),
    ]
    return min(ways, key=lambda way: len(way[0]) + len(way[1]))


def _quoted(text: str) -> str:
    return quote(text, safe=_SAFE, errors="surrogatepass")
