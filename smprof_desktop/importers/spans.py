"""Trace events that no thread's stack holds → slices: asynchronous ones on lanes of their own, and instants."""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw

from smprof_desktop.importers.document import Event, with_fields
from smprof_desktop.importers.pairs import OpenBegins, Pairs, merged

Timed = tuple[int, Event]

BEGINS, ENDS, POINTS = frozenset("bS"), frozenset("eF"), frozenset("nTp")
"""Phases of asynchronous events: nestable ones, and S, T, p, F of older programs."""
ASYNC = BEGINS | ENDS | POINTS
INSTANTS = frozenset("iIR")

_FIELDS = msgspec.json.Decoder(dict[str, Raw])


@dataclass
class _Tree:
    """The slices of one asynchronous operation, all of one category, id and process."""

    begin_ns: int
    end_ns: int
    slices: list[tuple[Event, int, int]] = field(default_factory=list)


def instant(event: Event) -> Event:
    """The event as a slice of no length: what it says of itself beside name and time stands in its arguments."""
    fields = {"ph": _json(event.ph)}
    if event.s:
        fields["s"] = _json(event.s)
    if event.bp:
        fields["bp"] = _json(event.bp)
    return _slice(event, event.tid, with_fields(event.args, {**fields, **_own_fields(event)}))


def with_id(event: Event) -> Raw:
    """The arguments of an event with its id among them."""
    return with_fields(event.args, {"id": event.id})


def asynchronous(timed: Iterable[Timed]) -> Pairs:
    """Slices of asynchronous events given with their times, in any order.

    Events of equal category and id belong together, and to the process that began. A slice that no event ends lasts to
    the last event of its id. Operations of one category that overlap in time go to different lanes, named
    `async <category>`, `async <category> 2`, ….
    """
    groups: defaultdict[tuple[str, bytes, bytes], list[Timed]] = defaultdict(list)
    for time_ns, event in timed:
        groups[(event.cat, *_identity(event))].append((time_ns, event))
    made = Pairs()
    trees: defaultdict[tuple[int | str | None, str], list[_Tree]] = defaultdict(list)
    for (category, _id, _scope), events in groups.items():
        events.sort(key=lambda item: item[0])
        for pid, tree in _trees(events, made).items():
            trees[pid, category].append(tree)
    for (_pid, category), found in trees.items():
        _lay_out(category, found, made)
    return made


def _trees(events: list[Timed], made: Pairs) -> dict[int | str | None, _Tree]:
    """Match the events of one id; what could not be matched is counted in `made`."""
    trees: dict[int | str | None, _Tree] = {}
    still_open = OpenBegins()

    def add(begin: Event, args: Raw, start_ns: int, end_ns: int) -> None:
        tree = trees.setdefault(begin.pid, _Tree(start_ns, end_ns))
        tree.begin_ns, tree.end_ns = min(tree.begin_ns, start_ns), max(tree.end_ns, end_ns)
        fields = _own_fields(begin) | ({} if begin.tid is None else {"tid": _json(begin.tid)})
        tree.slices.append((_slice(begin, begin.tid, with_fields(args, fields)), start_ns, end_ns))

    for time_ns, event in events:
        if event.ph in BEGINS:
            still_open.push(time_ns, event)
        elif event.ph in POINTS:
            add(event, with_fields(event.args, {"ph": _json(event.ph)}), time_ns, time_ns)
        else:
            begun = still_open.pop(bytes(event.name))
            if begun is None:
                made.unmatched_ends += 1
            else:
                add(begun[1], merged(begun[1].args, event.args), begun[0], time_ns)
    for start_ns, begin in still_open.rest():
        made.unmatched_begins += 1
        add(begin, begin.args, start_ns, events[-1][0])
    return trees


def _lay_out(category: str, trees: list[_Tree], made: Pairs) -> None:
    """Give each operation the first lane that is free again."""
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    lanes = 0
    for tree in sorted(trees, key=lambda tree: (tree.begin_ns, tree.end_ns)):
        while busy and busy[0][0] <= tree.begin_ns:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, lanes = lanes, lanes + 1
        heapq.heappush(busy, (max(tree.end_ns, tree.begin_ns + 1), lane))
        name = f"async {category}".strip() + (f" {lane + 1}" if lane else "")
        for event, start_ns, end_ns in tree.slices:
            made.events.append(_slice(event, name, event.args))
            made.starts_ns.append(start_ns)
            made.durations_ns.append(end_ns - start_ns)


def _identity(event: Event) -> tuple[bytes, bytes]:
    """The id, or `id2`, of which a local one counts within its process; and the scope."""
    if len(event.id):
        return bytes(event.id), b""
    fields = _fields_of(event)
    id2 = bytes(fields.get("id2", b""))
    local = f"{event.pid!r}".encode() if b'"local"' in id2 else b""
    return id2 + local, bytes(fields.get("scope", b""))


def _fields_of(event: Event) -> dict[str, Raw]:
    try:
        return _FIELDS.decode(event.args) if len(event.args) else {}
    except (msgspec.DecodeError, RecursionError):
        return {}


def _own_fields(event: Event) -> dict[str, Raw]:
    """Category and id. A slice of these is of kind `other`, whatever its category."""
    fields = {"cat": _json(event.cat)} if event.cat else {}
    return fields | ({"id": event.id} if len(event.id) else {})


def _slice(event: Event, tid: int | str | None, args: Raw) -> Event:
    return Event(ph="X", name=event.name, pid=event.pid, tid=tid, args=args)


def _json(value: int | str) -> Raw:
    return Raw(json.dumps(value).encode())
