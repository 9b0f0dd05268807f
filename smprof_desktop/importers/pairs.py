"""Begin and end events → slices. Pairs may nest or cross; an end is matched by name where it has one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw

from smprof_desktop.importers.document import Event, with_fields

Lane = tuple[int | str | None, int | str | None]
"""The pid and tid of an event, as recorded."""

_FIELDS = msgspec.json.Decoder(dict[str, Raw])


@dataclass
class Pairs:
    """What became of begin and end events: slices, and how many had no partner."""

    events: list[Event] = field(default_factory=list)
    starts_ns: list[int] = field(default_factory=list)
    durations_ns: list[int] = field(default_factory=list)
    unmatched_begins: int = 0
    unmatched_ends: int = 0

    def add(self, begin: Event, end: Event | None, start_ns: int, end_ns: int) -> None:
        """The slice from `begin` to `end`, with the arguments of both."""
        name = begin.name if len(begin.name) or end is None else end.name
        self.events.append(
            Event(
                ph="X",
                cat=begin.cat or (end.cat if end else ""),
                name=name,
                pid=begin.pid,
                tid=begin.tid,
                args=merged(begin.args, end.args) if end is not None else begin.args,
            )
        )
        self.starts_ns.append(start_ns)
        self.durations_ns.append(end_ns - start_ns)


class OpenBegins:
    """Begin events that have no end yet. The innermost of a name is found at once, however many there are."""

    def __init__(self) -> None:
        self._items: list[tuple[int, Event] | None] = []
        self._by_name: defaultdict[bytes, list[int]] = defaultdict(list)

    def push(self, time_ns: int, begin: Event) -> None:
        """Open one more, inside all others."""
        self._by_name[bytes(begin.name)].append(len(self._items))
        self._items.append((time_ns, begin))

    def pop(self, name: bytes) -> tuple[int, Event] | None:
        """The innermost that an end of that name closes, with its time; a nameless end or begin fits any."""
        if not self._items:
            return None
        stacks = [stack for key in (name, b"") if (stack := self._by_name.get(key))]
        at = max((stack[-1] for stack in stacks), default=None) if name else len(self._items) - 1
        if at is None:
            return None
        item = self._items[at]
        assert item is not None
        key = bytes(item[1].name)
        self._by_name[key].pop()
        if not self._by_name[key]:
            del self._by_name[key]
        self._items[at] = None
        while self._items and self._items[-1] is None:
            self._items.pop()
        return item

    def rest(self) -> list[tuple[int, Event]]:
        """What is still open, outermost first."""
        return [item for item in self._items if item is not None]


def pair(timed: Iterable[tuple[int, Event]], last_ends_ns: Callable[[set[Lane]], dict[Lane, int]]) -> Pairs:
    """Slices of begin and end events given with their times, in the order of the file.

    A begin without end lasts until the last end of its lane, which `last_ends_ns` is asked for. An end that stands
    before a begin of the same name and time closes that one.
    """
    lanes: defaultdict[Lane, list[tuple[int, Event]]] = defaultdict(list)
    for time_ns, event in timed:
        lanes[event.pid, event.tid].append((time_ns, event))
    pairs, open_lanes = Pairs(), {}
    for lane, events in lanes.items():
        events.sort(key=lambda item: item[0])
        still_open = _pair_lane(events, pairs)
        if still_open:
            open_lanes[lane] = (still_open, events[-1][0])
    ends = last_ends_ns(set(open_lanes)) if open_lanes else {}
    for lane, (still_open, last_ns) in open_lanes.items():
        end_ns = max(last_ns, ends.get(lane, last_ns))
        for start_ns, begin in still_open:
            pairs.add(begin, None, start_ns, max(start_ns, end_ns))
        pairs.unmatched_begins += len(still_open)
    return pairs


def _pair_lane(events: list[tuple[int, Event]], pairs: Pairs) -> list[tuple[int, Event]]:
    """Match the events of one lane, sorted by time; what is still open at its end."""
    still_open = OpenBegins()
    waiting: defaultdict[bytes, list[Event]] = defaultdict(list)
    waiting_ns = 0
    for time_ns, event in events:
        if waiting and waiting_ns != time_ns:
            pairs.unmatched_ends += sum(map(len, waiting.values()))
            waiting.clear()
        name = bytes(event.name)
        if event.ph == "B":
            if waiting.get(name):
                pairs.add(event, waiting[name].pop(), time_ns, time_ns)
            else:
                still_open.push(time_ns, event)
            continue
        begun = still_open.pop(name)
        if begun is None:
            waiting[name].append(event)
            waiting_ns = time_ns
        else:
            pairs.add(begun[1], event, begun[0], time_ns)
    pairs.unmatched_ends += sum(map(len, waiting.values()))
    return still_open.rest()


def merged(begin: Raw, end: Raw) -> Raw:
    """The arguments of both; where they differ under one key, that of the end goes by `key (end)`."""
    if not len(end) or bytes(begin) == bytes(end):
        return begin
    if not len(begin):
        return end
    try:
        both, late = _FIELDS.decode(begin), _FIELDS.decode(end)
    except msgspec.DecodeError:
        return with_fields(begin, {"end": end})
    for key, value in late.items():
        if key not in both:
            both[key] = value
        elif bytes(both[key]) != bytes(value):
            both[f"{key} (end)"] = value
    return Raw(msgspec.json.encode(both))
