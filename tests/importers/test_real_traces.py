"""Every real and damaged trace: what goes in comes out or is counted."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from smprof.profile.manifest import ProfileError
from smprof.profile.reader import Profile
from smprof_desktop.importers import convert
from smprof_desktop.importers.pieces import CATEGORIES
from tests.importers.imported_text import text_of

DEVICE = {category for category, (table, _kind) in CATEGORIES.items() if table == "device"}
ANNOTATION = {category for category, (table, _kind) in CATEGORIES.items() if table == "annotation"}


def imported(path: Path, out: Path) -> Profile:
    convert.import_file(path, out)
    return Profile.open(out)


def losses(profile: Profile) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for loss in profile.losses:
        counts[loss.kind] += loss.count
    return dict(counts)


def rows(profile: Profile) -> dict[str, int]:
    return {
        table: sum(len(process.table(table)) for process in profile.processes)
        for table in ("device", "host", "annotation", "counter")
    }


def kineto_files(traces: Path) -> list[Path]:
    files = sorted((traces / "kineto").rglob("*.gz"))
    assert len(files) > 15
    return files


def test_rows_and_times_of_every_kineto_trace_add_up(traces: Path, tmp_path: Path) -> None:
    for number, path in enumerate(kineto_files(traces)):
        events = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)["traceEvents"]
        profile = imported(path, tmp_path / str(number))
        slices = [event for event in events if event["ph"] == "X"]
        steps = sum(event["cat"] == "Operator" and event["name"].startswith("ProfilerStep#") for event in slices)
        in_tables = Counter(
            "device" if event["cat"] in DEVICE else "annotation" if event["cat"] in ANNOTATION else "host"
            for event in slices
        )
        memory = [event["args"] for event in events if event["ph"] == "i" and event["name"] == "[memory]"]
        counters = sum(key in args for args in memory for key in ("Total Allocated", "Total Reserved", "Bytes"))
        assert rows(profile) == {
            "device": in_tables["device"],
            "host": in_tables["host"] - steps,
            "annotation": in_tables["annotation"] + steps,
            "counter": counters,
        }, path.name
        markers = sum(event["ph"] == "i" for event in events) - len(memory)
        assert len(profile.processes[0].info.metadata.get("instants", [])) == markers
        assert losses(profile) == {}, path.name
        got = Counter[tuple[int, int]]()
        for table in ("device", "host", "annotation"):
            columns = profile.processes[0].table(table)
            got.update(zip(columns["start_ns"].tolist(), columns["duration_ns"].tolist(), strict=True))
        assert got == Counter((int(event["ts"] * 1000), int(event["dur"] * 1000)) for event in slices), path.name


@pytest.mark.parametrize(
    "name",
    ["hta_amd_mi250_minitoy_rocm62", "hta_simple_add_a100", "tl_h100_qwen15_05b", "kineto_resnet50_nw0_2021a.pt.trace"],
)
def test_every_argument_is_still_there(traces: Path, tmp_path: Path, name: str) -> None:
    """Counted by key and value, over columns and leftovers."""
    path = traces / "kineto" / f"{name}.json.gz"
    profile = imported(path, tmp_path / "out")
    process = profile.processes[0]
    left = process.table("args")
    got: Counter[tuple[str, str]] = Counter()
    for key, integer, text in zip(left.texts("key"), left["integer"].tolist(), left.texts("text"), strict=True):
        got[str(key), canonical(integer if text is None else json.loads(text))] += 1
    wanted: Counter[tuple[str, str]] = Counter()
    for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]:
        if event["ph"] == "X" or event["name"] == "[memory]":
            wanted.update((key, canonical(value)) for key, value in event.get("args", {}).items())
        if event["name"] == "[memory]":
            wanted.update((key, canonical(int(event[key]))) for key in ("pid", "tid"))
    columns = {
        "correlation": [("device", "correlation"), ("host", "correlation")],
        "Sequence number": [("host", "sequence")],
        "Fwd thread id": [("host", "forward_thread")],
    }
    for key, places in columns.items():
        for table, column in places:
            got.update((key, canonical(value)) for value in process.table(table)[column].tolist() if value != -1)
        assert {item: count for item, count in got.items() if item[0] == key} == {
            item: count for item, count in wanted.items() if item[0] == key
        }
    taken = {
        "External id", "external id", "device", "stream", "context", "bytes", "graph id", "graph node id", "grid",
        "block", "registers per thread", "shared memory", "blocks per SM", "warps per SM",
        "est. achieved occupancy %", "Device Id", "Total Allocated", "Total Reserved", "Bytes", *columns,
    }  # fmt: skip
    assert {item: n for item, n in wanted.items() if item[0] not in taken} == {
        item: n for item, n in got.items() if item[0] not in taken and item[0] != "cat"
    }


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("bare_nan_infinity.json", {"no_duration": 3}),
        ("empty_events.json", {}),
        ("gz_named_json.json", {}),
        ("invalid_utf8_name.json", {"invalid_text": 1}),
        ("json_named_gz.json.gz", {}),
        ("missing_key_quote.json", {"unreadable_record": 1}),
        ("multi_member.json.gz", {}),
        ("negative_ts.json", {}),
        ("raw_newline_in_name.json", {}),
        ("string_numbers.json", {}),
        ("trailing_comma.json", {}),
        ("truncated.json.gz", {"truncated_source": 1}),
        ("truncated_mid_event.json", {"truncated_source": 1}),
        ("two_documents.json", {"unreadable_record": 220}),
        ("utf16le.json", {}),
        ("utf8_bom.json", {}),
    ],
)
def test_damage_costs_what_is_damaged(traces: Path, tmp_path: Path, name: str, lost: dict[str, int]) -> None:
    assert losses(imported(traces / "broken" / name, tmp_path / "out")) == lost


@pytest.mark.parametrize("name", ["raw_newline_in_name", "string_numbers", "trailing_comma", "utf16le", "utf8_bom"])
def test_what_can_be_mended_equals_the_whole_trace(traces: Path, tmp_path: Path, name: str) -> None:
    whole = text_of(imported(traces / "kineto" / "hta_amd_mi250_minitoy_rocm62.json.gz", tmp_path / "whole"))
    mended = text_of(imported(traces / "broken" / f"{name}.json", tmp_path / "mended"))
    same = [line for line in mended.splitlines() if line in set(whole.splitlines())]
    # The damaged file has the line feed in one name; all else is equal.
    assert len(whole.splitlines()) - len(same) == (1 if name == "raw_newline_in_name" else 0)


@pytest.mark.parametrize(
    ("name", "says"),
    [("empty.json", "is empty"), ("truncated.xplane.pb", "XPlane")],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(traces: Path, tmp_path: Path, name: str, says: str) -> None:
    with pytest.raises(ProfileError, match=says) as error:
        convert.import_file(traces / "broken" / name, tmp_path / "out")
    assert str(error.value).endswith(".") and "\n" not in str(error.value)


def test_trace_events_of_other_programs_open_as_host_lanes(traces: Path, tmp_path: Path) -> None:
    files = sorted((traces / "chrome").iterdir())
    assert len(files) > 10
    for number, path in enumerate(files):
        profile = imported(path, tmp_path / str(number))
        assert rows(profile)["host"] > 0, path.name
        assert rows(profile)["device"] == 0
