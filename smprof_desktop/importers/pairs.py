"""Begin and end events → slices. Pairs may nest or cross; an end is matched by name where it has one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw

from smprof_desktop.importers.document import Event

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
                args=_merged(begin.args, end.args) if end is not None else begin.args,
            )
        )
        self.starts_ns.append(start_ns)
        self.durations_ns.append(end_ns - start_ns)


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
    still_open: list[tuple[int, Event]] = []
    waiting: list[tuple[int, Event]] = []
    for time_ns, event in events:
        if waiting and waiting[0][0] != time_ns:
            pairs.unmatched_ends += len(waiting)
            waiting.clear()
        name = bytes(event.name)
        if event.ph == "B":
            early = next((index for index, item in enumerate(waiting) if bytes(item[1].name) == name), None)
            if early is None:
                still_open.append((time_ns, event))
            else:
                pairs.add(event, waiting.pop(early)[1], time_ns, time_ns)
            continue
        at = _partner(still_open, name)
        if at is None:
            waiting.append((time_ns, event))
        else:
            start_ns, begin = still_open.pop(at)
            pairs.add(begin, event, start_ns, time_ns)
    pairs.unmatched_ends += len(waiting)
    return still_open


def _partner(still_open: list[tuple[int, Event]], name: bytes) -> int | None:
    """The innermost open begin that an end of that name closes; a nameless one closes the innermost."""
    for index in range(len(still_open) - 1, -1, -1):
        begin = still_open[index][1]
        if not name or not len(begin.name) or bytes(begin.name) == name:
            return index
    return None


def _merged(begin: Raw, end: Raw) -> Raw:
    """The arguments of both; where they differ under one key, that of the end goes by `key (end)`."""
    if not len(end) or bytes(begin) == bytes(end):
        return begin
    if not len(begin):
        return end
    try:
        merged, late = _FIELDS.decode(begin), _FIELDS.decode(end)
    except msgspec.DecodeError:
        return begin
    for key, value in late.items():
        if key not in merged:
            merged[key] = value
        elif bytes(merged[key]) != bytes(value):
            merged[f"{key} (end)"] = value
    return Raw(msgspec.json.encode(merged))
