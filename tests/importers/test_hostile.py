"""Traces made to be large, deep or strange: bounded memory, an end, and everything counted."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from smprof.profile.reader import Profile
from smprof.profile.schema import NONE
from tests.importers.measured import measured_import

BASE_BYTES = 350 << 20
"""What an import of next to nothing may take: the interpreter and its libraries."""


def event(number: int, *, name: str = "n", tid: str = "1", cat: str = "cpu_op", dur: str = "5", rest: str = "") -> str:
    return f'{{"ph":"X","cat":"{cat}","name":"{name}","pid":1,"tid":{tid},"ts":{number * 10},"dur":{dur}' + (
        f',"args":{rest}}}' if rest else "}"
    )


def imported(tmp_path: Path, events: Iterable[str], times: float = 30) -> tuple[Profile, Counter[str]]:
    """The import of events in at most `times` the memory of their text, and what it lost."""
    path = tmp_path / "trace.json"
    path.write_text('{"schemaVersion":1,"traceEvents":[' + ",\n".join(events) + "]}")
    outcome = measured_import(path, tmp_path / "out")
    assert outcome.sentence is None
    assert outcome.peak_bytes < BASE_BYTES + times * path.stat().st_size, f"{outcome.peak_bytes / 1e6:.0f} MB"
    profile = Profile.open(tmp_path / "out")
    losses: Counter[str] = Counter()
    for loss in profile.losses:
        losses[loss.kind] += loss.count
    return profile, losses


@pytest.mark.parametrize("filling", [b" ", b"\0", (event(1) + ",").encode()], ids=["spaces", "zeros", "events"])
def test_a_small_file_that_unpacks_to_anything_is_refused(tmp_path: Path, filling: bytes) -> None:
    """10 GB in a few megabytes; that they are of the right form up to the end does not matter."""
    member = gzip.compress(filling * (40_000_000 // len(filling)), 9)
    with (tmp_path / "bomb.json.gz").open("wb") as stream:
        stream.write(gzip.compress(b'{"traceEvents":['))
        for _ in range(250):
            stream.write(member)
        stream.write(gzip.compress(b"{}]}"))
    assert (tmp_path / "bomb.json.gz").stat().st_size < 40_000_000
    outcome = measured_import(tmp_path / "bomb.json.gz", tmp_path / "out")
    assert outcome.sentence is not None
    assert "unpacks to more than 200 times its size" in outcome.sentence and outcome.sentence.endswith(".")
    assert outcome.peak_bytes < 2_500 << 20


def test_a_claim_in_the_length_of_gzip_data_is_not_believed(tmp_path: Path) -> None:
    packed = gzip.compress(("[" + event(1) + "]").encode())
    (tmp_path / "t.json.gz").write_bytes(packed[:-4] + b"\xff\xff\xff\xff")
    outcome = measured_import(tmp_path / "t.json.gz", tmp_path / "out")
    assert outcome.sentence is None and outcome.peak_bytes < BASE_BYTES
    assert len(Profile.open(tmp_path / "out").processes[0].table("host")) == 1


def test_one_event_of_64_megabytes(tmp_path: Path) -> None:
    text = "x" * (64 << 20)
    profile, losses = imported(tmp_path, [event(1, rest=json.dumps({"a": text})), event(2)], times=12)
    [process] = profile.processes
    assert process.args_of("host", 0) == {"a": text} and len(process.table("host")) == 2 and not losses


def test_a_name_of_32_megabytes(tmp_path: Path) -> None:
    profile, losses = imported(tmp_path, [event(1, name="x" * (32 << 20)), event(2)], times=15)
    assert sorted(map(len, profile.processes[0].names.texts)) == [1, 32 << 20] and not losses


def test_many_names(tmp_path: Path) -> None:
    count = 200_000
    profile, losses = imported(tmp_path, (event(n, name=f"name {n}") for n in range(count)))
    [process] = profile.processes
    assert len(process.names) == count == len(process.table("host")) and not losses
    assert process.names.text(process.table("host")["name_id"][-1]) == f"name {count - 1}"


@pytest.mark.parametrize("tid", ["{}", '"t{}"'])
def test_many_threads(tmp_path: Path, tid: str) -> None:
    count = 50_000
    profile, losses = imported(tmp_path, (event(n, tid=tid.format(n + 1)) for n in range(count)), times=60)
    [process] = profile.processes
    assert len(set(process.table("host")["thread"].tolist())) == count and not losses


def test_many_processes(tmp_path: Path) -> None:
    count = 30_000
    events = (f'{{"ph":"X","name":"n","pid":{n},"tid":1,"ts":{n},"dur":1}}' for n in range(count))
    profile, losses = imported(tmp_path, events, times=60)
    assert sum(len(process.table("host")) for process in profile.processes) == count and not losses


def test_many_keys(tmp_path: Path) -> None:
    count = 100_000
    profile, losses = imported(tmp_path, (event(n, rest=f'{{"k{n}":{n}}}') for n in range(count)))
    args = profile.processes[0].table("args")
    assert len(args) == count and not losses
    assert sorted(args["integer"].tolist()) == list(range(count))


def test_many_keys_in_one_event(tmp_path: Path) -> None:
    count = 200_000
    profile, losses = imported(tmp_path, [event(1, rest=json.dumps({f"k{n}": n for n in range(count)})), event(2)])
    assert profile.processes[0].args_of("host", 0) == {f"k{n}": n for n in range(count)} and not losses


def test_5000_levels(tmp_path: Path) -> None:
    levels = 5_000
    nested = [event(n, dur=str(20 * (levels - n))) for n in range(levels)]
    profile, losses = imported(tmp_path, nested)
    assert sorted(profile.processes[0].table("host")["depth"].tolist()) == list(range(levels)) and not losses


def test_5000_levels_of_begins_and_ends(tmp_path: Path) -> None:
    levels = 5_000
    events = [f'{{"ph":"B","cat":"cpu_op","name":"n{n}","pid":1,"tid":1,"ts":{n}}}' for n in range(levels)]
    events += [f'{{"ph":"E","name":"n{n}","pid":1,"tid":1,"ts":{3 * levels - n}}}' for n in range(levels)]
    profile, losses = imported(tmp_path, events)
    host = profile.processes[0].table("host")
    assert sorted(host["depth"].tolist()) == list(range(levels)) and not losses
    assert sorted(host["duration_ns"].tolist()) == [1000 * (3 * levels - 2 * n) for n in range(levels - 1, -1, -1)]


@pytest.mark.parametrize("phase", ["B", "b"])
def test_begins_that_never_end_and_ends_of_other_names(tmp_path: Path, phase: str) -> None:
    """Looking each of them up among all that are open would take hours."""
    count = 50_000
    common = '"cat":"cpu_op","pid":1,"tid":1,"id":1'
    events = [f'{{"ph":"{phase}","name":"n{n}",{common},"ts":{n}}}' for n in range(count)]
    end = "E" if phase == "B" else "e"
    events += [f'{{"ph":"{end}","name":"m{n}",{common},"ts":{count + n}}}' for n in range(count)]
    profile, losses = imported(tmp_path, events, times=100)
    assert len(profile.processes[0].table("host")) == count
    assert losses == {"unmatched_begin": count, "unmatched_end": count}


def test_one_correlation_id_for_all(tmp_path: Path) -> None:
    count = 50_000
    one = '{"correlation":5,"device":0,"stream":7}'
    events = [event(n, cat="cuda_runtime", rest=one) for n in range(count)]
    events += [event(n, cat="kernel", rest=one) for n in range(count)]
    profile, losses = imported(tmp_path, events)
    [process] = profile.processes
    first = int(np.argmin(process.table("host")["start_ns"]))
    assert set(process.table("device")["launch"].tolist()) == {first} and not losses


def test_kernels_that_all_overlap(tmp_path: Path) -> None:
    count = 20_000
    profile, losses = imported(tmp_path, (event(n, cat="kernel", dur="1000000") for n in range(count)))
    assert sorted(profile.processes[0].table("device")["row"].tolist()) == list(range(count)) and not losses


def test_times_at_the_ends_of_64_bits(tmp_path: Path) -> None:
    low, high = "-9223372036854775.808", "9223372036854775.807"
    kept = [(low, "0"), (low, high), ("9223372036854775.806", "0.001"), (high, "0"), ("0", high)]
    lost = [
        (low, "18446744073709551.615"),
        (high, "0.001"),
        ("9223372036854775.8075", "0"),
        ("-9223372036854775.809", "1"),
    ]
    for cat in ("cpu_op", "kernel", "user_annotation"):
        events = [
            f'{{"ph":"X","cat":"{cat}","name":"n","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}' for ts, dur in kept + lost
        ]
        (tmp_path / cat).mkdir()
        profile, losses = imported(tmp_path / cat, events)
        table = {"cpu_op": "host", "kernel": "device", "user_annotation": "annotation"}[cat]
        columns = profile.processes[0].table(table)
        got = sorted(zip(columns["start_ns"].tolist(), columns["duration_ns"].tolist(), strict=True))
        first, last = -(1 << 63), (1 << 63) - 1
        assert got == [(first, 0), (first, last), (0, last), (last - 1, 1), (last, 0)]
        assert losses == {"time_overflow": len(lost)}


def test_numbers_of_100_000_digits(tmp_path: Path) -> None:
    nines, ones = "9" * 100_000, "1" * 100_000
    common = '"ph":"X","cat":"cpu_op","name":"n","tid":1'
    events = [
        f'{{{common},"pid":1,"ts":{nines},"dur":1}}',
        f'{{{common},"pid":1,"ts":0.{ones},"dur":1,"args":{{"External id":{nines},"x":{nines},"y":0.{ones}}}}}',
        f'{{{common},"pid":{nines},"ts":1,"dur":1}}',
        f'{{{common},"pid":1,"ts":1e99999999,"dur":1}}',
        f'{{{common},"pid":1,"ts":7e-99999999,"dur":1e-99999999}}',
        f'{{"ph":"C","name":"c","pid":1,"ts":1,"args":{{"v":{nines}}}}}',
    ]
    profile, losses = imported(tmp_path, events, times=100)
    [process] = profile.processes
    host = process.table("host")
    assert sorted(host["start_ns"].tolist()) == [0, 111, 1000]
    row = host["start_ns"].tolist().index(111)
    assert host["external_id"][row] == NONE
    texts = dict(zip(process.table("args").texts("key"), process.table("args").texts("text"), strict=True))
    assert texts == {"External id": nines, "x": nines, "y": f"0.{ones}"}
    assert losses == {"time_overflow": 2, "gap_value": 1}


def test_json_nested_a_hundred_thousand_deep(tmp_path: Path) -> None:
    """Deeper than any reader goes: the events that hold it are lost and counted, those beside them are not."""
    deep = 100_000
    events = [
        event(1, rest='{"a":' + "[" * deep + "]" * deep + "}"),
        event(2),
        event(3, rest='{"a":' * deep + "1" + "}" * deep),
        event(4, rest='{"a":' + "[" * 100 + "]" * 100 + "}"),
    ]
    profile, losses = imported(tmp_path, events, times=100)
    assert sorted(profile.processes[0].table("host")["start_ns"].tolist()) == [20_000, 40_000]
    assert losses == {"unreadable_record": 2}


def test_what_the_trace_says_of_itself_nested_deep(tmp_path: Path) -> None:
    deep = 200_000
    text = '{"x":' + "[" * deep + "]" * deep + ',"distributedInfo":{"rank":3},"traceEvents":[' + event(1) + "]}"
    (tmp_path / "t").write_text(text)
    outcome = measured_import(tmp_path / "t", tmp_path / "out")
    assert outcome.sentence is None and outcome.peak_bytes < BASE_BYTES
    [process] = Profile.open(tmp_path / "out").processes
    assert process.info.rank == 3 and len(process.table("host")) == 1
