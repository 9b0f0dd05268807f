"""The text is cut anywhere and read the same; damage stays where it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof.profile.manifest import ProfileError
from smprof_desktop.importers import document
from smprof_desktop.importers.content import Text
from smprof_desktop.importers.document import TraceDocument

Losses = list[tuple[str, int, str]]


def _args(keys: list[str]) -> st.SearchStrategy[Any]:
    leaves = st.one_of(st.none(), st.integers(-5, 5), st.text(st.sampled_from('{}[],:"\\ pé\n'), max_size=8))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(keys), inner, max_size=3)),
        max_leaves=8,
    )


def _events(keys: list[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
    fields = {"ph": st.sampled_from("XBEi"), "name": st.text(max_size=5), "ts": st.integers(0, 9), "args": _args(keys)}
    return st.lists(st.fixed_dictionaries(fields), max_size=15)


_ARGS = _args(["name", "ph", "id", "x"])
_EVENTS = _events(["name", "ph", "id", "x"])
_OTHER = st.dictionaries(st.sampled_from(["schemaVersion", "deviceProperties", "z"]), _ARGS, max_size=2)


def read(text: bytes, piece_bytes: int = 1 << 20) -> tuple[list[dict[str, Any]], dict[str, Any], Losses]:
    losses: Losses = []

    def lose(kind: str, count: int, detail: str) -> None:
        losses.append((kind, count, detail))

    source = TraceDocument(Text(text), lose, piece_bytes)
    events = [
        {
            "ph": event.ph,
            "name": json.loads(bytes(event.name)),
            "ts": json.loads(bytes(event.ts)),
            "args": json.loads(bytes(event.args)),
        }
        for piece, _share in source.pieces()
        for event in piece
    ]
    return events, source.finish(), losses


@given(_EVENTS, _OTHER, _OTHER, st.sampled_from([1, 7, 50, 1000]), st.sampled_from([None, 1]), st.booleans())
def test_pieces_of_any_size_hold_the_same_events(
    events: list[dict[str, Any]],
    before: dict[str, Any],
    after: dict[str, Any],
    piece_bytes: int,
    indent: int | None,
    bare: bool,
) -> None:
    after = {f"{key} ": value for key, value in after.items()}
    text = json.dumps(events if bare else {**before, "traceEvents": events, **after}, indent=indent)
    assert read(text.encode(), piece_bytes) == (events, {} if bare else {**before, **after}, [])


@given(_events(["x", "y"]).filter(bool), st.data(), st.sampled_from([1, 50, 1000]))
def test_what_stood_before_a_cut_is_read(events: list[dict[str, Any]], data: st.DataObject, piece_bytes: int) -> None:
    head, texts = '{"traceEvents": [', [json.dumps(event) for event in events]
    cut_in = data.draw(st.integers(0, len(events) - 1))
    whole = head + ", ".join(texts[:cut_in]) + (", " if cut_in else "")
    text = whole + texts[cut_in][: data.draw(st.integers(0, len(texts[cut_in]) - 1))]
    got, _keys, losses = read(text.encode(), piece_bytes)
    assert got == events[:cut_in]
    # A cut behind a bracket inside a text looks like the end of the list: then it is the event that counts as lost.
    looks_whole = text.rstrip().endswith(("]", "]}"))
    assert [kind for kind, _count, _detail in losses] == ["unreadable_record" if looks_whole else "truncated_source"]


GOOD = '{"ph": "X", "name": "a", "ts": 1, "args": {}}'


@pytest.mark.parametrize(
    ("bad", "lost"),
    [
        ('{"ph": "X", name": "b", "ts": 1}', 1),
        ('{"ph": "X", "name": "a "quoted" word", "ts": 1}', 1),
        ('{"ph": "X", "name": "open, "ts": 1}', 1),
        ('{"ph": "X", "name": "b", "ts": 1', 1),
        ('{"ph": "X" "name": "b"}', 1),
        ("null", 1),
        ("17", 1),
        ('{"ph": "X", "name": "b", "ts": 01}', 1),
    ],
)
@pytest.mark.parametrize("piece_bytes", [1, 1 << 20])
def test_a_bad_event_costs_itself_alone(bad: str, lost: int, piece_bytes: int) -> None:
    for events, good in (([GOOD, bad, GOOD, GOOD], 3), ([bad, GOOD], 1), ([GOOD, bad], 1)):
        text = '{"schemaVersion": 1, "traceEvents": [' + ",\n ".join(events) + '\n], "traceName": "t"}'
        got, keys, losses = read(text.encode(), piece_bytes)
        assert (len(got), sum(count for _kind, count, _detail in losses)) == (good, lost)
        assert keys == {"schemaVersion": 1, "traceName": "t"}


def test_damage_beside_the_events_costs_no_event_and_keeps_what_matters() -> None:
    text = '{"x: 1, "baseTimeNanoseconds": 5, "distributedInfo": {"rank": 2}, "traceEvents": [' + GOOD + "]}"
    events, keys, losses = read(text.encode())
    assert len(events) == 1
    assert keys == {"baseTimeNanoseconds": 5, "distributedInfo": {"rank": 2}}
    assert [kind for kind, _count, _detail in losses] == ["unreadable_record"]


@pytest.mark.parametrize(
    "text", ["", "hello", '{"a": 1}', '{"traceEvents": 5}', '{"traceEvents": null}', '{"traceEvents"']
)
def test_no_list_of_events_is_said_in_one_sentence(text: str) -> None:
    with pytest.raises(ProfileError, match=r"\.$"):
        read(text.encode())


def test_deep_nesting_is_lost_not_fatal() -> None:
    deep = '{"ph": "X", "name": "b", "ts": 1, "args": ' + "[" * 100_000 + "]" * 100_000 + "}"
    events, _keys, losses = read(f"[{GOOD}, {deep}, {GOOD}]".encode())
    assert len(events) == 2 and losses[0][:2] == ("unreadable_record", 1)


def test_an_object_inside_a_lost_event_is_no_event() -> None:
    bad = '{"ph": "X", name": "b", "args": [{"name": "inner"}, {"id": 3}]}'
    events, _keys, losses = read(f"[{GOOD}, {bad}, {GOOD}]".encode())
    assert len(events) == 2
    assert losses[0][0] == "unreadable_record"


def test_a_stretch_without_events_is_lost_and_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAX_EVENT_BYTES", 5_000)
    monkeypatch.setattr(document, "_BEYOND_BYTES", 2_000)
    event = '{"ph": "X", "name": "a", "ts": 1, "args": {}}'
    text = f'{{"traceEvents": [{event}, {event[:-3]}"x": "{"y" * 100_000}"}}}}, {event}], "z": 1}}'.encode()
    held = []

    class Watched(Text):
        def part(self, begin: int, end: int, before: bytes = b"", behind: bytes = b"") -> bytes:
            held.append(end - begin)
            return super().part(begin, end, before, behind)

    losses: Losses = []
    read = TraceDocument(Watched(text), lambda *loss: losses.append(loss), 1_000)
    events = [event for piece, _share in read.pieces() for event in piece]
    assert [bytes(event.name) for event in events] == [b'"a"'] * 2
    assert read.finish() == {"z": 1}
    assert losses[0][0] == "unreadable_record"
    assert max(held) < 20_000


def test_what_stands_behind_the_events_is_read_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAX_KEYS_BYTES", 100)
    text = f'{{"traceEvents": [], "baseTimeNanoseconds": 5, "long": "{"y" * 1000}"}}'
    _events, keys, losses = read(text.encode())
    assert keys == {"baseTimeNanoseconds": 5}
    assert [kind for kind, _count, _detail in losses] == ["unreadable_record"]
