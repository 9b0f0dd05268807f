"""Which lanes show, and in which order: pinned on top, hidden, reordered, filtered by name. No Qt.

An arrangement names lanes by their keys. Keys of lanes that the profile does not hold (yet) do no harm and are kept:
a pin must outlast a profile that is still being loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from smprof_desktop.timeline.lanes import Lane, LaneTree

NOTE_KIND = "note"
"""Kind of a line among the lanes that tells of something and does it when clicked."""
PACK_FROM = 33
"""A device of so many streams offers to pack them by role."""
ROOT = ""
"""Stands for the parent of the hosts."""


@dataclass(frozen=True)
class Arrangement:
    """`order` maps the key of a group (ROOT for the hosts) to keys of its lanes; those it leaves out come last."""

    pinned: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    filter: str = ""

    def with_pinned(self, key: str, is_pinned: bool) -> Arrangement:
        """The same with that lane pinned below the others that are, or unpinned."""
        others = tuple(pinned for pinned in self.pinned if pinned != key)
        return replace(self, pinned=(*others, key) if is_pinned else others)

    def with_hidden(self, keys: Iterable[str], is_hidden: bool) -> Arrangement:
        """The same with those lanes hidden, or shown again."""
        return replace(self, hidden=self.hidden | set(keys) if is_hidden else self.hidden - set(keys))

    def with_lane_at(self, tree: LaneTree, key: str, before: str | None) -> Arrangement:
        """The same with a lane moved before another one of its group, or behind all; a pinned one among the pinned."""
        if key in self.pinned:
            return replace(self, pinned=_moved(self.pinned, key, before))
        parent = tree.parents.get(key, ROOT)
        keys = tuple(lane.key for lane in self.children(tree, parent))
        return replace(self, order={**self.order, parent: _moved(keys, key, before)})

    def children(self, tree: LaneTree, parent: str) -> Sequence[Lane]:
        """The lanes of a group in this order, those that do not show among them."""
        lanes = tree.by_key[parent].children if parent != ROOT else tree.roots
        wanted = self.order.get(parent)
        if not wanted:
            return lanes
        places = {key: place for place, key in enumerate(wanted)}
        return sorted(lanes, key=lambda lane: places.get(lane.key, len(places)))

    def siblings(self, tree: LaneTree, key: str) -> list[str]:
        """Keys of the lanes among which that one can be moved, in order: what shows of its group, or is pinned."""
        if key in self.pinned:
            return [pinned for pinned in self.pinned if pinned in tree.by_key]
        away = self.hidden.union(self.pinned)
        return [lane.key for lane in self.children(tree, tree.parents.get(key, ROOT)) if lane.key not in away]


AS_RECORDED = Arrangement()
"""Nothing pinned, hidden or moved."""


@dataclass(frozen=True)
class Shown:
    """The lanes that show, from top to bottom, with the depth at which each stands.

    The first `pinned` of them are the pinned ones and what lies below these; `expanded` are the open ones. `matching`
    is the number of lanes that the filter finds; None without a filter.
    """

    lanes: tuple[Lane, ...]
    levels: tuple[int, ...]
    pinned: int
    expanded: frozenset[str]
    matching: int | None


def shown(tree: LaneTree, expanded: frozenset[str], arrangement: Arrangement) -> Shown:
    """What shows while exactly the lanes in `expanded` are open. Costs the lanes that show, with a filter all lanes."""
    kept, opened, matching = _filtered(tree, expanded, arrangement.filter)
    found = _Found(tree, opened, arrangement, kept)
    for key in arrangement.pinned:
        if key in tree.by_key:
            found.add(tree.by_key[key], tree.by_key[key].level)
    pinned = len(found.lanes)
    for lane in found.children(ROOT):
        found.add(lane, 0)
    found.add_note(ROOT, -1)
    return Shown(tuple(found.lanes), tuple(found.levels), pinned, opened, matching)


def hidden_below(tree: LaneTree, arrangement: Arrangement, parent: str) -> list[str]:
    """Keys of the lanes of a group that are hidden, in order."""
    if not arrangement.hidden:
        return []
    return [lane.key for lane in arrangement.children(tree, parent) if lane.key in arrangement.hidden]


def note_key(what: str, parent: str) -> str:
    """The key of the line in a group that tells of `what`."""
    return f"note:{what}:{parent}"


def parse_note(key: str) -> tuple[str, str] | None:
    """What a line tells of, and the key of its group; None for the key of a lane."""
    kind, _, rest = key.partition(":")
    what, _, parent = rest.partition(":")
    return (what, parent) if kind == NOTE_KIND else None


class _Found:
    """Gathers the lanes that show; without recursion, because a profile may nest as it likes."""

    def __init__(
        self, tree: LaneTree, opened: frozenset[str], arrangement: Arrangement, kept: frozenset[str] | None
    ) -> None:
        self.lanes: list[Lane] = []
        self.levels: list[int] = []
        self._tree = tree
        self._opened = opened
        self._arrangement = arrangement
        self._away = arrangement.hidden.union(arrangement.pinned)
        self._kept = kept

    def children(self, parent: str) -> Sequence[Lane]:
        lanes = self._arrangement.children(self._tree, parent)
        if self._away:
            lanes = [lane for lane in lanes if lane.key not in self._away]
        return lanes if self._kept is None else [lane for lane in lanes if lane.key in self._kept]

    def add(self, top: Lane, outdent: int) -> None:
        """Add a lane and what shows below it. A pinned one shows whatever the filter, and so does all below it."""
        kept = self._kept
        if kept is not None and top.key not in kept:
            self._kept = None
        waiting: list[tuple[Lane | str, int]] = [(top, top.level - outdent)]
        while waiting:
            lane, level = waiting.pop()
            if isinstance(lane, str):
                self.add_note(lane, level)
                continue
            self.lanes.append(lane)
            self.levels.append(level)
            if lane.key in self._opened and lane.children:
                if self._arrangement.hidden:
                    waiting.append((lane.key, level))
                waiting.extend((child, level + 1) for child in reversed(self.children(lane.key)))
                self._offer_packing(lane, level + 1)
        self._kept = kept

    def add_note(self, parent: str, level: int) -> None:
        """Tell below the lanes of a group that some are hidden."""
        kept = self._kept
        count = sum(kept is None or key in kept for key in hidden_below(self._tree, self._arrangement, parent))
        if count:
            self._note("hidden", parent, f"{count:,} lane{'s' if count != 1 else ''} hidden", level + 1)

    def _offer_packing(self, lane: Lane, level: int) -> None:
        if lane.kind != "device" or self._kept is not None:
            return
        streams = sum(child.kind == "stream" for child in lane.children)
        if lane.packed:
            self._note("unpack", lane.key, f"Show each of {lane.packed:,} streams", level)
        elif streams >= PACK_FROM:
            self._note("pack", lane.key, f"Pack {streams:,} streams by role", level)

    def _note(self, what: str, parent: str, label: str, level: int) -> None:
        self.lanes.append(Lane(note_key(what, parent), label, NOTE_KIND, level))
        self.levels.append(level)


def _filtered(
    tree: LaneTree, expanded: frozenset[str], text: str
) -> tuple[frozenset[str] | None, frozenset[str], int | None]:
    """Lanes that a filter leaves, groups that are open then, and how many lanes it finds.

    A lane is found if every word of the filter stands in its name or in that of a group around it. A number belongs to
    the word before it, and is meant as a whole: `stream 7` is neither stream 70 nor a stream of GPU-7.
    """
    words = _words(text)
    if not words:
        return None, expanded, None
    found = {key for key, path in tree.paths.items() if all(word.search(path) for word in words)}
    around: set[str] = set()
    for key in found:
        parent = tree.parents.get(key)
        while parent is not None and parent not in found and parent not in around:
            around.add(parent)
            parent = tree.parents.get(parent)
    return frozenset(found | around), expanded | around, len(found)


def _words(text: str) -> list[re.Pattern[str]]:
    parts: list[str] = []
    for word in text.casefold().split():
        if word.isdecimal() and parts:
            parts[-1] += rf"[^\S\n]+{word}"
        else:
            parts.append((r"(?<!\d)" if word.isdecimal() else "") + re.escape(word))
    return [re.compile(part + (r"(?!\d)" if part[-1].isdecimal() else "")) for part in parts]


def _moved(keys: tuple[str, ...], key: str, before: str | None) -> tuple[str, ...]:
    others = [other for other in keys if other != key]
    at = others.index(before) if before in others else len(others)
    return (*others[:at], key, *others[at:])
