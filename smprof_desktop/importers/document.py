"""A trace-event JSON text → its events, piece by piece, and what else it says; also where the text is damaged.

A row start such as `{"ph":` cannot stand inside a well-formed JSON string, where its quotes would be escaped. So the
text is cut at row starts, each piece is decoded strictly, and only a piece that fails is taken event by event.
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from smprof.profile.manifest import ProfileError
from smprof_desktop.importers.content import Text

Lose = Callable[[str, int, str], None]
T = TypeVar("T")

PIECE_BYTES = 4 << 20
MAX_EVENT_BYTES = 64 << 20
"""A stretch so long in which no event starts is lost: no text can make an import hold more of it."""
MAX_KEYS_BYTES = 256 << 20
"""What stands before or behind the events is read so far."""
_BEYOND_BYTES = 1 << 20
_MOST_MARKS_OF_AN_EVENT = 8
_BETWEEN = b", \t\r\n"
_MOST_BETWEEN = 64
_ANY_SIZE = 1 << 62
_MOST_AHEAD = 8
"""Pieces of text in memory at a time."""
_ABSENT = Raw()
_FIELDS_OF_EVENTS = rb"(?:ph|cat|name|pid|tid|ts|dur|args|id|bp|s|tts|tdur|cname|bind_id|sf)"
_ROW_START = re.compile(rb'[\[,]\s*(\{\s*"' + _FIELDS_OF_EVENTS + rb'"\s*:)')
_NO_SPACE = re.compile(rb"\S")
_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*')
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_STRING_OR_REST = re.compile(rb'("(?:[^"\\]|\\.)*")|[^"]+', re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_NOT_A_NUMBER = re.compile(rb"(?<![\w.])[+-]?(?:nan|inf(?:inity)?)(?!\w)", re.IGNORECASE)
_TRAILING_COMMA = re.compile(rb",(\s*[}\]])")
# Behind the list stands another key, the end of the document, or a second document.
_BEHIND_LIST = rb'(?P<bracket>\])\s*(?:,\s*"(?!' + _FIELDS_OF_EVENTS + rb'")|\}?\s*(?![,\]}\s]))'
_LIST_END = re.compile(rb"[\s,]*" + _BEHIND_LIST)
_LIKELY_LIST_END = re.compile(rb"\}\s*" + _BEHIND_LIST)
_BRACKET = re.compile(rb"\]")
_MOST_ENDS_TRIED = 100
_KEYS_WORTH_SAVING = ("baseTimeNanoseconds", "deviceProperties", "distributedInfo", "schemaVersion", "traceName")
_TRAILING_AT = re.compile(r"trailing characters \(byte (\d+)\)")


class Event(Struct, gc=False, forbid_unknown_fields=True):
    """One trace event as its text says: what is costly or delicate to decode is left raw, and empty where absent.

    A field that has no place here, such as `tts`, stands among the arguments.
    """

    ph: str = ""
    cat: str = ""
    name: Raw = _ABSENT
    pid: int | str | None = None
    tid: int | str | None = None
    ts: Raw = _ABSENT
    dur: Raw = _ABSENT
    id: Raw = _ABSENT
    args: Raw = _ABSENT
    s: str = ""
    bp: str = ""


_EVENTS = msgspec.json.Decoder(list[Event])
_EVENT = msgspec.json.Decoder(Event)
_FIELDS = msgspec.json.Decoder(dict[str, Raw])
_ROWS = msgspec.json.Decoder(list[dict[str, Raw]])
_KNOWN_FIELDS = frozenset(Event.__struct_fields__)


class EventSource(Protocol):
    """Where an import gets its events from."""

    def pieces(self) -> Iterator[tuple[list[Event], float]]:
        """The events in order, in lists, each with the share that is read. Can be asked for again."""

    def finish(self) -> dict[str, Any]:
        """What else is said beside the events, once they were read."""


class Crew(Protocol):
    """Processes that read texts of whole events beside this one."""

    def full(self) -> bool:
        """Whether none of them is free."""

    def give(self, number: int, text: bytes) -> None:
        """Have a text read."""

    def take(self, number: int) -> tuple[bool, Any, int | None]:
        """Whether the text of that number was read by now; then what it says, and the end of the list as of `decode`.
        What it says is None where it is damaged. Waits for any of them where it was not."""

    def forget(self, numbers: Iterable[int]) -> None:
        """What these texts say is not wanted."""


class TraceDocument:
    """The events of one JSON text, and its other keys."""

    def __init__(self, text: Text, lose: Lose, piece_bytes: int = PIECE_BYTES) -> None:
        """Raises ProfileError where there is no list of events."""
        self._text = text
        self._lose = lose
        self._piece_bytes = piece_bytes
        self._end: int | None = None
        self._lost = 0
        self._first_lost = 0
        self._cut_event = False
        first = self._first()
        self._bare = text.part(first, first + 1) == b"["
        self._begin = first + 1 if self._bare else self._events_begin(first)
        self._head = b"[" if self._bare else text.part(0, self._begin)

    def pieces(self) -> Iterator[tuple[list[Event], float]]:
        """The events in order, in lists, each with the share of the text that is read. Can be asked for again."""
        at: int | None = self._restart()
        while at is not None:
            stop = self._stop(at)
            if stop is None:
                return
            self._text.drop(at - 1)
            events, next_at = self._piece(at, stop)
            if events:
                yield events, self._text.share
            at = next_at if self._end is None else None

    def pieces_by(self, crew: Crew, read: Callable[[list[Event]], T]) -> Iterator[tuple[T, float]]:
        """What pieces say, in order, as a crew reads them, or `read` where a piece is damaged."""
        number, cut_at = 0, self._restart()
        ahead: deque[tuple[int, int, int]] = deque()
        while True:
            while not crew.full() and len(ahead) < _MOST_AHEAD and (stop := self._stop(cut_at)) is not None:
                crew.give(number, self._text_of(cut_at, stop))
                ahead.append((number, cut_at, stop))
                number, cut_at = number + 1, stop
            if not ahead:
                return
            known, said, close = crew.take(ahead[0][0])
            if not known:
                continue
            _number, at, stop = ahead.popleft()
            next_at = stop
            if said is None:
                events, next_at = self._event_by_event(at, stop)
                said = read(events) if events else None
            elif close is not None:
                self._end = next_at = at + close
            self._text.drop(next_at - 1)
            if said is not None:
                yield said, self._text.share
            if self._end is not None or (next_at != stop and ahead):
                # Pieces cut ahead began where this one did not end.
                crew.forget(waiting for waiting, _at, _stop in ahead)
                ahead.clear()
            if not ahead:
                cut_at = next_at
            if self._end is not None:
                return

    def finish(self) -> dict[str, Any]:
        """The other top-level keys, once the pieces were read; counts what was lost on the way."""
        keys = self._other_keys()
        if self._lost:
            self._lose("unreadable_record", self._lost, f"the first at byte {self._first_lost} of the JSON text")
        if self._text.cut:
            self._lose("truncated_source", 1, self._text.cut)
        elif self._end is None and (self._cut_event or not self._bare):
            # The format lets a bare list end without its bracket.
            size = self._text.size(_ANY_SIZE)
            self._lose("truncated_source", 1, f"the JSON text ends at byte {size}, inside the list of events")
        return keys

    def _restart(self) -> int:
        """Begin with the first event, again where the text was read before."""
        self._end, self._lost, self._cut_event = None, 0, False
        if self._text.begin:
            self._text.restart()
        return self._begin

    def _first(self) -> int:
        """Where the JSON begins."""
        found = self._text.search(_NO_SPACE, 0, limit=MAX_KEYS_BYTES)
        return found[0] if found is not None else 0

    def _events_begin(self, first: int) -> int:
        if self._text.part(first, first + 1) != b"{":
            raise ProfileError("it is not JSON; export the trace again.")
        found = self._text.search(_EVENTS_KEY, 0, limit=MAX_KEYS_BYTES)
        if found is None:
            raise ProfileError('it has no "traceEvents" list; open the file that the profiler\'s trace export wrote.')
        if self._text.part(found[1], found[1] + 1) != b"[":
            raise ProfileError('its "traceEvents" is not a list; export the trace again.')
        return found[1] + 1

    def _stop(self, at: int) -> int | None:
        """Where the piece that begins at `at` ends; None at the end of the text."""
        most = at + self._piece_bytes * 5 // 4
        size = self._text.size(most + 1)
        if at >= size:
            return None
        if size <= most:
            return size
        found = self._text.search(_ROW_START, at + self._piece_bytes, 1, MAX_EVENT_BYTES)
        longest = at + self._piece_bytes + MAX_EVENT_BYTES
        return found[0] if found is not None else min(self._text.size(longest), longest)

    def _text_of(self, at: int, stop: int) -> bytes:
        """A piece as a list of its own."""
        end = stop
        # What stands between events is short: the piece itself is copied once only.
        while end > at:
            between = self._text.part(max(at, end - _MOST_BETWEEN), end)
            kept = between.rstrip(_BETWEEN)
            end -= len(between) - len(kept)
            if kept:
                break
        return self._text.part(at, end, b"[", b"]")

    def _piece(self, at: int, stop: int) -> tuple[list[Event], int]:
        """Events that start in [at, stop), and where the next piece starts."""
        decoded = decode(self._text_of(at, stop))
        if decoded is None:
            return self._event_by_event(at, stop)
        events, close = decoded
        if close is not None:
            self._end = at + close
        return events, stop if close is None else at + close

    def _event_by_event(self, at: int, stop: int) -> tuple[list[Event], int]:
        events: list[Event] = []
        reach = min(self._text.size(stop + _BEYOND_BYTES), stop + _BEYOND_BYTES)
        found = self._text.find_all(_ROW_START, at - 1, reach, 1)
        marks = [at, *(mark for mark in found if mark > at), reach]
        index, behind_loss = 0, False
        while index + 1 < len(marks) and marks[index] < stop:
            event, used = self._one(marks, index, behind_loss)
            # An object without phase behind a lost event is a part of it.
            if event is not None and (event.ph or not behind_loss):
                events.append(event)
                behind_loss = False
            elif event is None:
                behind_loss = True
            index += used
            if self._end is not None:
                return events, self._end
        return events, marks[index]

    def _one(self, marks: list[int], index: int, behind_loss: bool) -> tuple[Event | None, int]:
        """The event at a mark, and how many marks it takes: more than one where a row start stands inside it."""
        begin = marks[index]
        for used in range(1, min(_MOST_MARKS_OF_AN_EVENT, len(marks) - index)):
            text = self._text.part(begin, marks[index + used])
            event = _decode(text.rstrip(_BETWEEN))
            if event is not None:
                return event, used
            size = _object_end(text)
            if size is None:
                continue
            event = _decode(text[:size])
            if event is None:
                break
            if event.ph or not behind_loss or not self._text.reaches(marks[index + used] + 1):
                self._note(text[size:], begin + size)
            return event, used
        self._note(self._text.part(begin, marks[index + 1]), begin)
        return None, 1

    def _note(self, text: bytes, begin: int) -> None:
        """A stretch without a readable event: the end of the list, the cut of the text, or damage."""
        end = self._end_in(text, begin)
        if end is not None:
            self._end = begin + end
            text = text[:end]
        elif not self._text.reaches(begin + len(text) + 1) and _object_end(text) is None:
            self._cut_event = bool(text.strip(_BETWEEN))
            return
        if text.strip(_BETWEEN):
            self._count_lost(text, begin)

    def _end_in(self, text: bytes, begin: int) -> int | None:
        """Where the list ends in a stretch that holds no readable event."""
        closing = _LIST_END.match(text)
        if closing is None and not self._text.reaches(begin + len(text) + 1):
            head = b"[" if self._bare else b'{"":['
            for candidate in list(_BRACKET.finditer(text))[-_MOST_ENDS_TRIED:]:
                try:
                    msgspec.json.decode(head + text[candidate.start() :])
                except (msgspec.DecodeError, RecursionError):
                    continue
                return candidate.start()
        closing = closing or _LIKELY_LIST_END.search(text)
        return closing.start("bracket") if closing is not None else None

    def _count_lost(self, text: bytes, at: int) -> None:
        if not self._lost:
            self._first_lost = at
        self._lost += max(1, text.count(b'"ph"'))

    def _other_keys(self) -> dict[str, Any]:
        tail = (b"]" if self._bare else b"]}") if self._end is None else self._text.rest(self._end, MAX_KEYS_BYTES)
        text = (self._head + tail).decode(errors="replace")
        try:
            document, used = json.JSONDecoder(strict=False).raw_decode(text, len(text) - len(text.lstrip()))
        except (ValueError, RecursionError):
            self._lose("unreadable_record", 1, "what the trace says about itself beside its events")
            document = {key: value for key in _KEYS_WORTH_SAVING if (value := _saved(text, key)) is not None}
            used = len(text)
        behind = text[used:].encode()
        if behind.strip():
            at = (self._end or 0) + len(tail) - len(behind)
            self._lose(
                "unreadable_record", max(1, behind.count(b'"ph"')), f"what follows the JSON document, from byte {at}"
            )
        keys: dict[str, Any] = _finite(document) if isinstance(document, dict) else {}
        keys.pop("traceEvents", None)
        return keys


def decode(text: bytes) -> tuple[list[Event], int | None] | None:
    """The events of `[` + a piece of a list + `]`, and where in the piece the list ends, if it does.

    None where the piece is damaged.
    """
    try:
        return _decode_all(text), None
    except (msgspec.DecodeError, RecursionError) as error:
        trailing = _TRAILING_AT.search(str(error))
    # The list ends in this piece: the decoder says where something follows it.
    for limit in (int(trailing[1]) - 1, int(trailing[1])) if trailing else ():
        close = text.rfind(b"]", 0, limit)
        try:
            return _decode_all(text[: close + 1]), close - 1
        except (msgspec.DecodeError, RecursionError):
            continue
    return None


def _decode_all(text: bytes) -> list[Event]:
    """The events of a JSON list. Raises DecodeError where it is damaged or holds anything else."""
    try:
        return _EVENTS.decode(text)
    except msgspec.ValidationError:
        return [_event_of(fields) for fields in _ROWS.decode(text)]


def _decode(text: bytes) -> Event | None:
    """The event of one JSON object, mended where that loses nothing; None where it cannot be read."""
    for candidate in (text, None):
        try:
            mended = _mended(text) if candidate is None else candidate
            return _EVENT.decode(mended)
        except msgspec.ValidationError:
            return _with_odd_types(mended)
        except (msgspec.DecodeError, RecursionError):
            continue
    return None


def _with_odd_types(text: bytes) -> Event | None:
    try:
        return _event_of(_FIELDS.decode(text))
    except (msgspec.DecodeError, RecursionError):
        return None


def _event_of(fields: dict[str, Raw]) -> Event:
    """An event some of whose fields are unknown or of unusual types, such as a pid that is a float: kept as text."""
    event = Event()
    for key in ("name", "ts", "dur", "id"):
        setattr(event, key, fields.get(key, _ABSENT))
    for key in ("ph", "cat", "s", "bp"):
        if key in fields:
            setattr(event, key, _text_of(fields[key]))
    for key in ("pid", "tid"):
        if key in fields:
            setattr(event, key, _id_of(fields[key]))
    event.args = with_fields(
        fields.get("args", _ABSENT), {key: value for key, value in fields.items() if key not in _KNOWN_FIELDS}
    )
    return event


def _text_of(raw: Raw) -> str:
    try:
        value = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        value = bytes(raw)
    return value if isinstance(value, str) else "" if value is None else bytes(raw).decode(errors="replace")


def _id_of(raw: Raw) -> int | str | None:
    try:
        value = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        value = bytes(raw)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if value is None or (isinstance(value, (int, str)) and not isinstance(value, bool)):
        return value
    return bytes(raw).decode(errors="replace")


def with_fields(args: Raw, fields: dict[str, Raw]) -> Raw:
    """The JSON text of arguments with fields of the event itself among them, as `event.x` where `x` is taken."""
    if not fields:
        return args
    try:
        known = _FIELDS.decode(args) if len(args) else {}
    except (msgspec.DecodeError, RecursionError):
        known = {"args": args}
    for key, value in fields.items():
        known[f"event.{key}" if key in known else key] = value
    return Raw(msgspec.json.encode(known))


def _mended(text: bytes) -> bytes:
    """JSON text with raw control characters in strings escaped, NaN and Infinity null, and trailing commas dropped."""

    def mend(part: re.Match[bytes]) -> bytes:
        if part[1] is not None:
            return _CONTROL.sub(lambda control: b"\\u%04x" % control[0][0], part[1])
        return _TRAILING_COMMA.sub(rb"\1", _NOT_A_NUMBER.sub(b"null", part[0]))

    return _STRING_OR_REST.sub(mend, text)


def _object_end(text: bytes) -> int | None:
    """Where the JSON object that `text` starts with ends; None where it does not end in it."""
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
            if depth <= 0:
                return token.end() if depth == 0 else None
    return None


def _saved(text: str, key: str) -> Any:
    """The value of a key in JSON text that does not parse as a whole."""
    found = re.search(rf'"{key}"\s*:\s*', text)
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, found.end())[0] if found else None
    except (ValueError, RecursionError):
        return None


def _finite(value: Any) -> Any:
    """The value with NaN and infinities as None: they have no place in JSON."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value
