"""Real files damaged on purpose: exactly what could be saved, and a ledger that says what was lost and where."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from smprof.profile.manifest import ProfileError
from smprof.profile.reader import Profile
from smprof_desktop.importers import convert

WHOLE = "hta_amd_mi250_minitoy_rocm62.json.gz"


def unpacked(path: Path) -> bytes:
    """The text of a file; of packed data that is cut, what can be unpacked."""
    data, text = path.read_bytes(), b""
    while data[:2] == b"\x1f\x8b":
        unpacker = zlib.decompressobj(wbits=31)
        text += unpacker.decompress(data)
        data = unpacker.unused_data
    return text or data


def events_before_a_cut(text: str) -> list[dict[str, Any]]:
    """The slow twin: one event after the other until one does not parse."""
    opening = re.search(r'"traceEvents"\s*:\s*\[', text)
    assert opening is not None
    at, decoder = opening.end(), json.JSONDecoder(parse_float=Decimal)
    events: list[dict[str, Any]] = []
    while True:
        at += len(text[at:]) - len(text[at:].lstrip(" ,\r\n\t"))
        try:
            event, at = decoder.raw_decode(text, at)
        except ValueError:
            return events
        events.append(event)


def slices_of(events: list[dict[str, Any]]) -> Counter[tuple[str, int, int]]:
    return Counter(
        (event["name"], round(Decimal(str(event["ts"])) * 1000), round(Decimal(str(event["dur"])) * 1000))
        for event in events
        if event["ph"] == "X"
    )


def imported(path: Path, out: Path) -> tuple[Counter[tuple[str, int, int]], list[tuple[str, int, str]]]:
    convert.import_file(path, out)
    profile = Profile.open(out)
    [process] = profile.processes
    found: Counter[tuple[str, int, int]] = Counter()
    shapes = process.table("shapes")["name_id"].tolist()
    for table in ("device", "host", "annotation"):
        columns = process.table(table)
        names = [shapes[s] for s in columns["shape_id"].tolist()] if table == "device" else columns["name_id"].tolist()
        times = zip(columns["start_ns"].tolist(), columns["duration_ns"].tolist(), strict=True)
        found.update((process.names.text(name), *time) for name, time in zip(names, times, strict=True))
    return found, [(loss.kind, loss.count, loss.detail) for loss in profile.losses]


@pytest.fixture
def whole(traces: Path) -> Counter[tuple[str, int, int]]:
    """Every slice of the trace that most of the damaged files were made from."""
    return slices_of(json.loads(unpacked(traces / "kineto" / WHOLE), parse_float=Decimal)["traceEvents"])


@pytest.mark.parametrize("name", ["string_numbers", "trailing_comma", "utf16le", "utf8_bom", "two_documents"])
def test_nothing_is_missing(traces: Path, tmp_path: Path, whole: Counter[Any], name: str) -> None:
    found, losses = imported(traces / "broken" / f"{name}.json", tmp_path / "out")
    assert found == whole
    text = unpacked(traces / "broken" / f"{name}.json")
    if name == "two_documents":
        second = text.index(b'{"schemaVersion"' if b'{"schemaVersion"' in text[1:] else b"{", len(text) // 2 - 50)
        rows = len(json.loads(unpacked(traces / "kineto" / WHOLE), parse_float=Decimal)["traceEvents"])
        [(kind, count, detail)] = losses
        assert (kind, count) == ("unreadable_record", rows)
        [at] = map(int, re.findall(r"from byte (\d+)", detail))
        assert abs(at - second) < 50, "the second document is named by where it begins"
    else:
        assert losses == []


def test_values_that_are_no_numbers_cost_their_rows(traces: Path, tmp_path: Path, whole: Counter[Any]) -> None:
    found, losses = imported(traces / "broken" / "bare_nan_infinity.json", tmp_path / "out")
    assert (found - whole).total() == 0 and (whole - found).total() == 3
    assert [(kind, count) for kind, count, _detail in losses] == [("no_duration", 3)]


def test_a_lost_quote_costs_one_event_and_is_found_in_the_file(
    traces: Path, tmp_path: Path, whole: Counter[Any]
) -> None:
    path = traces / "broken" / "missing_key_quote.json"
    found, losses = imported(path, tmp_path / "out")
    assert (found - whole).total() == 0 and (whole - found).total() == 1
    [(kind, count, detail)] = losses
    assert (kind, count) == ("unreadable_record", 1)
    [at] = map(int, re.findall(r"byte (\d+)", detail))
    with pytest.raises(ValueError, match="Expecting property name"):
        json.JSONDecoder().raw_decode(path.read_text(), at)


def test_a_line_feed_in_a_name_stays_in_it(traces: Path, tmp_path: Path, whole: Counter[Any]) -> None:
    found, losses = imported(traces / "broken" / "raw_newline_in_name.json", tmp_path / "out")
    assert losses == []
    [(name, *times)] = (found - whole).keys()
    [(original, *as_before)] = (whole - found).keys()
    assert name == f"{original}\n(1): <module>"
    assert times == as_before


def test_bytes_that_are_no_text_are_kept_beside_the_name(traces: Path, tmp_path: Path, whole: Counter[Any]) -> None:
    found, losses = imported(traces / "broken" / "invalid_utf8_name.json", tmp_path / "out")
    assert found.total() == whole.total() and (found - whole).total() == 1
    assert [(kind, count) for kind, count, _detail in losses] == [("invalid_text", 1)]
    raw = Profile.open(tmp_path / "out").processes[0].table("names")
    assert len(raw) > 0


def test_negative_times_are_kept(traces: Path, tmp_path: Path, whole: Counter[Any]) -> None:
    found, losses = imported(traces / "broken" / "negative_ts.json", tmp_path / "out")
    assert losses == [] and found.total() == whole.total()
    assert sum(count for (_name, start, _duration), count in found.items() if start < 0) > whole.total() / 4
    assert Counter((name, duration) for name, _start, duration in found.elements()) == Counter(
        (name, duration) for name, _start, duration in whole.elements()
    )


@pytest.mark.parametrize("name", ["truncated.json.gz", "truncated_mid_event.json"])
def test_what_stood_before_the_cut_is_there(traces: Path, tmp_path: Path, name: str) -> None:
    text = unpacked(traces / "broken" / name)
    wanted = slices_of(events_before_a_cut(text.decode(errors="ignore")))
    found, losses = imported(traces / "broken" / name, tmp_path / "out")
    assert {key[0] for key in wanted} == {key[0] for key in found}
    assert found.total() == wanted.total() > 100
    assert Counter((n, d) for n, _s, d in found.elements()) == Counter((n, d) for n, _s, d in wanted.elements())
    [(kind, count, detail)] = losses
    assert (kind, count) == ("truncated_source", 1)
    assert "ends early" in detail or f"ends at byte {len(text)}" in detail


@pytest.mark.parametrize("name", ["gz_named_json.json", "json_named_gz.json.gz", "multi_member.json.gz"])
def test_whole_files_under_odd_names_read_as_what_they_hold(traces: Path, tmp_path: Path, name: str) -> None:
    wanted = slices_of(json.loads(unpacked(traces / "broken" / name), parse_float=Decimal)["traceEvents"])
    found, losses = imported(traces / "broken" / name, tmp_path / "out")
    assert found == wanted and found and losses == []


def test_no_events_are_an_empty_profile(traces: Path, tmp_path: Path) -> None:
    assert imported(traces / "broken" / "empty_events.json", tmp_path / "out") == (Counter(), [])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("empty.json", "is empty; export the trace again."),
        ("truncated.xplane.pb", "XPlane"),
    ],
)
def test_refused_in_one_sentence(traces: Path, tmp_path: Path, name: str, says: str) -> None:
    path = traces / "broken" / name
    with pytest.raises(ProfileError) as error:
        convert.import_file(path, tmp_path / "out")
    sentence = str(error.value)
    assert says in sentence and str(path) in sentence and sentence.endswith(".") and "\n" not in sentence


def test_every_damaged_file_has_its_test(traces: Path) -> None:
    source = Path(__file__).read_text()
    of_nsight = {"truncated.sqlite"}  # see test_nsight_damage.py
    for path in (traces / "broken").iterdir():
        assert path.name in of_nsight or path.name in source or path.stem in source, path.name


def test_packed_damage_is_read_as_far_as_it_goes(traces: Path, tmp_path: Path, whole: Counter[Any]) -> None:
    packed = gzip.compress(unpacked(traces / "kineto" / WHOLE))
    (tmp_path / "t").write_bytes(packed[:3000] + b"\0\0\0\0" + packed[3004:])
    found, losses = imported(tmp_path / "t", tmp_path / "out")
    assert 0 < found.total() < whole.total() and (found - whole).total() <= 1
    assert any(kind == "truncated_source" and "gzip data is damaged" in detail for kind, _count, detail in losses)
