"""Trace-event JSON: exact times, one track for each lane, arrows; and that reading it back gives the same profile."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smprof.profile.manifest import Clock, Device, Manifest, Process, ProfileError
from smprof.profile.reader import Profile
from smprof.profile.writer import ProfileWriter
from smprof_desktop import report
from smprof_desktop.exporters import json_text
from smprof_desktop.exporters.chrome import write_chrome
from smprof_desktop.exporters.selection import named
from smprof_desktop.exporters.tracks import pids_of
from smprof_desktop.importers import convert
from smprof_desktop.importers.convert import import_traces
from smprof_desktop.progress import Cancelled
from smprof_desktop.synthesize import synthesize
from tests.importers.imported_text import text_of
from tests.make_profile import make_profile

TINY = """
host algo-1
process 0 pid=100 rank=0 window=-1500:900
thread 1 main
device 0 "NVIDIA H200" used
op 1 10+80 aten::mm external=3 sequence=4
arg "Input Dims" "[[2, 3.50]]"
api 1 20+10 cudaLaunchKernel corr=5 external=3
api 1 -1500+10 cuLaunchKernel corr=6
python 1 0+200 "train.py(3): step"
overhead -2 300+1 "Buffer Flush"
other 1 500+1 odd
arg cat '"my category"'
sync 0/7 600+5 "Stream Sync" corr=9
annotation 1 0+900 step_0
annotation 0/7 100+70 step_0
kernel 0/7 100+50 "void f<int>(int \\"x\\")" corr=5 grid=8,1,1 block=128,1,1 registers=32 shared=1024 context=1
arg "warp \\"size\\"" 32
kernel 0/7 120+50 overlapping corr=6 graph=2 node=3
memcpy 0/7 200+5 "Memcpy HtoD" corr=7 bytes=4096 copy=HtoD
memset 0/-1 250+5 Memset bytes=16
counter 10 "gpu utilization" 55.5 device=0
counter 20 "cpu load" 2 cpu=3
counter 30 "cpu load" gap cpu=3
loss unplaced_slice 1
"""


def events_of(path: Path) -> list[dict[str, Any]]:
    """The events of a file, numbers with a point as exact decimals."""
    data = path.read_bytes()
    document = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data, parse_float=Decimal)
    events: list[dict[str, Any]] = document["traceEvents"]
    return events


def ns(value: Any) -> int:
    exact = Decimal(value) * 1000
    assert exact == int(exact)
    return int(exact)


def figures(profile: Profile) -> dict[str, Any]:
    """The report without what a trace does not say: its losses, but for links and places, and its file's name."""
    document = report.build(profile)
    document["losses"] = [
        loss for loss in document["losses"] if loss["kind"] in ("unlinked_execution", "unplaced_slice")
    ]
    document["profile"]["name"] = ""
    return document


def test_a_tiny_profile_as_text(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "tiny", TINY)
    events = events_of(write_chrome(profile, tmp_path / "tiny.json"))
    lines = []
    for event in events:
        if event["ph"] == "M":
            lines.append(f"M {event['pid']}/{event['tid']} {event['name']} {next(iter(event['args'].values()))}")
        else:
            parts = [event["ph"], event.get("cat", "-"), f"{event['pid']}/{event['tid']}", str(ns(event["ts"]))]
            parts += [str(ns(event["dur"]))] if "dur" in event else []
            parts += [event["name"], json.dumps(event.get("args", event.get("id")), default=str)]
            lines.append(" ".join(parts))
    assert lines == [
        'X cuda_driver 100/1 -1500 10 cuLaunchKernel {"correlation": 6}',
        'X cuda_runtime 100/1 20 10 cudaLaunchKernel {"External id": 3, "correlation": 5}',
        'X cpu_op 100/1 10 80 aten::mm {"External id": 3, "Sequence number": 4, "Input Dims": [[2, "3.50"]]}',
        "X python_function 100/1 0 200 train.py(3): step {}",
        'X cuda_sync 0/1048576 600 5 Stream Sync {"correlation": 9, "device": 0, "stream": 7}',
        "X overhead 100/1048576 300 1 Buffer Flush {}",
        "X my category 100/1 500 1 odd {}",
        'X gpu_memset 0/no stream 250 5 Memset {"device": 0, "bytes": 16}',
        'X kernel 0/7 100 50 void f<int>(int "x") {"External id": 3, "device": 0, "context": 1, "stream": 7, '
        '"correlation": 5, "registers per thread": 32, "shared memory": 1024, "grid": [8, 1, 1], '
        '"block": [128, 1, 1], "warp \\"size\\"": 32}',
        'X gpu_memcpy 0/7 200 5 Memcpy HtoD {"device": 0, "stream": 7, "correlation": 7, "bytes": 4096}',
        'X kernel 0/1048577 120 50 overlapping {"device": 0, "stream": 7, "correlation": 6, "graph id": 2, '
        '"graph node id": 3}',
        "X user_annotation 100/1 0 900 step_0 {}",
        'X gpu_user_annotation 0/1048578 100 70 step_0 {"device": 0, "stream": 7}',
        'C - 100/0 20 cpu load {"value": 2}',
        'C - 100/0 30 cpu load {"value": null}',
        'C - 0/0 10 gpu utilization {"value": "55.5"}',
        "f ac2g 0/7 100 ac2g 5",
        "f ac2g 0/1048577 120 ac2g 6",
        "s ac2g 100/1 -1500 ac2g 6",
        "s ac2g 100/1 20 ac2g 5",
        "M 100/0 process_labels CPU",
        "M 100/0 process_sort_index 0",
        "M 100/1 thread_name main",
        "M 100/1 thread_sort_index 0",
        "M 100/1048576 thread_name thread -2",
        "M 100/1048576 thread_sort_index 1",
        "M 0/0 process_name GPU 0 NVIDIA H200",
        "M 0/0 process_labels GPU 0",
        "M 0/0 process_sort_index 1",
        "M 0/1048576 thread_name stream 7: synchronisation records",
        "M 0/1048576 thread_sort_index 0",
        "M 0/no stream thread_name no stream",
        "M 0/no stream thread_sort_index 1",
        "M 0/7 thread_name stream 7",
        "M 0/7 thread_sort_index 2",
        "M 0/1048577 thread_name stream 7 (row 1)",
        "M 0/1048577 thread_sort_index 3",
        "M 0/1048578 thread_name stream 7: annotations",
        "M 0/1048578 thread_sort_index 4",
    ]
    assert [event["id"] for event in events if event["name"] == "cpu load"] == [3, 3]


def test_a_tiny_profile_comes_back_as_it_was(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "tiny", TINY)
    again = Profile.open(import_traces([write_chrome(profile, tmp_path / "tiny.json")], tmp_path / "again"))
    before, after = figures(profile), figures(again)
    # What the import of the file lost itself names its own event.
    losses = [[(loss["kind"], loss["count"]) for loss in found.pop("losses")] for found in (before, after)]
    assert after == before and losses[0] == losses[1]
    # A counter's device, and stand-ins for threads that are none, have no place of their own in the format.
    old, new = (
        [line for line in text_of(p).splitlines() if not line.lstrip().startswith(("counter", "process", "thread"))]
        for p in (profile, again)
    )
    changed = {line.replace(" -2.", " 1048576.") for line in old} ^ set(new)
    assert {line.split()[0] for line in changed} <= {"lost"}


@pytest.mark.parametrize(
    "name",
    [
        "hta_diff_test.json.gz",
        "tl_h100_owlv2.json.gz",
        "tl_mi300_qwen15_05b.json.gz",
        "kineto_resnet50_nw0_2021a.pt.trace.json.gz",
        "hta_nccl_data.json.gz",
        "hta_cpu_only_rank34_large.json.gz",
    ],
)
def test_a_real_trace_comes_back_with_the_same_figures(traces: Path, tmp_path: Path, name: str) -> None:
    profile = Profile.open(import_traces([traces / "kineto" / name], tmp_path / "once"))
    again = Profile.open(import_traces([write_chrome(profile, tmp_path / name)], tmp_path / "twice"))
    assert figures(again) == figures(profile)
    assert arguments(again) == arguments(profile)


def arguments(profile: Profile) -> list[tuple[str, str, int]]:
    """How often each argument of each table is there."""
    args = profile.processes[0].table("args")
    found: dict[tuple[str, str], int] = {}
    for table, key in zip(args["table"].tolist(), args.texts("key"), strict=True):
        found[str(table), str(key)] = found.get((str(table), str(key)), 0) + 1
    return sorted((*key, count) for key, count in found.items())


def test_ranks_exported_one_by_one_come_back_as_one_profile(traces: Path, tmp_path: Path) -> None:
    profile = Profile.open(
        import_traces(sorted((traces / "kineto" / "param_dlrm_8rank").glob("*.gz")), tmp_path / "once")
    )
    files = [
        write_chrome(profile, tmp_path / f"rank{process.info.process}.json", processes=[process])
        for process in profile.processes
    ]
    assert figures(Profile.open(import_traces(files, tmp_path / "twice"))) == figures(profile)


def test_all_ranks_in_one_file_share_no_link(traces: Path, tmp_path: Path) -> None:
    profile = Profile.open(
        import_traces(sorted((traces / "kineto" / "param_dlrm_8rank").glob("*.gz")), tmp_path / "once")
    )
    again = Profile.open(import_traces([write_chrome(profile, tmp_path / "all.json")], tmp_path / "twice"))
    old, new = report.build(profile), report.build(again)
    for key in ("kernels", "memory_ops", "syncs", "latency", "activities"):
        assert new[key] == old[key]


def test_a_synthetic_profile_of_several_processes_is_one_file_of_distinct_tracks(tmp_path: Path) -> None:
    profile = Profile.open(synthesize(tmp_path / "whole", 2, 2, 2, None, 3))
    events = events_of(write_chrome(profile, tmp_path / "all.json.gz"))
    assert sum(event["ph"] == "X" for event in events) == sum(
        report.build(profile)["profile"]["slices"].values()
    ) + sum(int(np.count_nonzero(process.table("annotation")["side"] == 1)) for process in profile.processes)
    labels = {event["pid"]: event["args"]["labels"] for event in events if event["name"] == "process_labels"}
    assert sorted(labels.values()).count("CPU") == len(profile.processes)
    assert len(labels) == len(profile.processes) + len(report.build(profile)["devices"])
    begins = {event["id"]: event for event in events if event["ph"] == "s"}
    assert len(begins) == sum(event["ph"] == "s" for event in events)
    launches = {event["args"]["correlation"]: event for event in events if event.get("cat") == "cuda_runtime"}
    for event in events:
        if event["ph"] == "f":
            launch = launches[event["id"]]
            assert (begins[event["id"]]["pid"], begins[event["id"]]["ts"]) == (launch["pid"], launch["ts"])
    overlaps(events)


def overlaps(events: Iterable[dict[str, Any]]) -> None:
    """Fail where slices of one device thread overlap, which viewers drop."""
    threads: dict[tuple[Any, Any], list[tuple[int, int]]] = {}
    for event in events:
        if event["ph"] == "X" and event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"):
            threads.setdefault((event["pid"], event["tid"]), []).append((ns(event["ts"]), ns(event["dur"])))
    assert threads
    for slices in threads.values():
        slices.sort()
        assert all(a[0] + a[1] <= b[0] for a, b in pairwise(slices))


def test_times_are_exact_over_all_of_int64() -> None:
    values = [0, 1, -1, 999, -999, 1000, -1500, 1_700_000_000_123_456_789, -(1 << 63), (1 << 63) - 1]
    texts = json_text.microseconds(np.array(values, np.int64)).to_pylist()
    assert [int(Decimal(text) * 1000) for text in texts] == values
    assert texts[2] == "-0.001" and all(len(text.partition(".")[2]) == 3 for text in texts)


def test_unix_times_keep_every_nanosecond_through_the_file(tmp_path: Path) -> None:
    start = 1_700_000_000_123_456_789
    writer = ProfileWriter(tmp_path / "unix", Manifest(clock=Clock("unix", 0)))
    process = writer.process(Process("algo-1", "0", rank=0, pid=5))
    names = process.name_ids(["a", "b"])
    process.append(
        "host",
        {
            "kind": ["op"] * 2,
            "thread": [7] * 2,
            "start_ns": [start, start + 3],
            "duration_ns": [1, 1],
            "name_id": names,
        },
    )
    writer.finish()
    profile = Profile.open(tmp_path / "unix")
    again = Profile.open(import_traces([write_chrome(profile, tmp_path / "unix.json")], tmp_path / "again"))
    assert again.manifest.clock == Clock("unix", 0)
    assert again.processes[0].table("host")["start_ns"].tolist() == [start, start + 3]
    assert (again.processes[0].info.rank, again.processes[0].info.pid) == (0, 5)


def test_odd_texts_make_valid_json(tmp_path: Path) -> None:
    writer = ProfileWriter(tmp_path / "odd", Manifest())
    process = writer.process(Process("algo-1", "0", devices=[Device(0, used=True)]))
    odd: list[str | bytes] = [b"\xff\xfe bytes", "lone \ud83d", 'quote " back \\ line \n nul \0', "日本 🎉", ""]
    names = process.name_ids(odd)
    count = len(odd)
    ids = process.append(
        "host",
        {
            "kind": ["op"] * count,
            "thread": [1 << 40] * count,
            "start_ns": [10 * row for row in range(count)],
            "duration_ns": [5] * count,
            "name_id": names,
        },
    )
    texts = ['{"a": 1e5}', '"x', 'b", "c": 2', "NaN", "[1, 2.50]"]
    process.append(
        "args",
        {"table": ["host"] * count, "key": ['k"'] * count, "id": ids, "text": texts},
    )
    writer.finish()
    events = [
        e for e in events_of(write_chrome(Profile.open(tmp_path / "odd"), tmp_path / "odd.json")) if e["ph"] == "X"
    ]
    assert [event["name"] for event in events] == ["\ufffd\ufffd bytes", *odd[1:]]
    assert [event["args"]['k"'] for event in events] == [
        {"a": Decimal("1E+5")},
        '"x',
        'b", "c": 2',
        "NaN",
        [1, Decimal("2.50")],
    ]
    assert {event["tid"] for event in events} == {str(1 << 40)}


def test_memory_records_come_back_as_records(tmp_path: Path) -> None:
    args = {"Total Allocated": 5, "Total Reserved": 9, "Bytes": -3, "Device Id": 1, "Device Type": 1, "Addr": 77}
    rows = [
        {
            "ph": "i",
            "s": "t",
            "cat": "cpu_instant_event",
            "name": "[memory]",
            "pid": 5,
            "tid": 6,
            "ts": 1.5,
            "args": args,
        },
        {"ph": "i", "name": "[memory]", "pid": 5, "tid": 6, "ts": 1.5, "args": {**args, "Bytes": 4, "Addr": 78}},
        {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 5, "tid": 6, "ts": 1, "dur": 2},
    ]
    (tmp_path / "trace.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": rows}))
    convert.import_file(tmp_path / "trace.json", tmp_path / "once")
    profile = Profile.open(tmp_path / "once")
    assert len(profile.processes[0].table("counter")) == 6
    out = write_chrome(profile, tmp_path / "out.json")
    records = [event for event in events_of(out) if event["name"] == "[memory]"]
    assert [event["args"] for event in records] == [args, {**args, "Bytes": 4, "Addr": 78}]
    assert {(event["ph"], event["pid"], str(event["ts"])) for event in records} == {("i", 5, "1.500")}
    convert.import_file(out, tmp_path / "twice")
    assert text_of(Profile.open(tmp_path / "twice"), "trace") == text_of(profile, "trace")


def test_pids_are_distinct_whatever_is_recorded() -> None:
    processes = [Process("a", "0", pid=2), Process("a", "1", pid=2), Process("a", "2"), Process("a", "3", pid=-4)]
    found = pids_of(processes, [[0, 1], [0], [-1, 5], []])
    assert [pid for pid, _ in found] == [2, 4, 6, 8]
    every = [number for pid, devices in found for number in (pid, *devices.values())]
    assert len(set(every)) == len(every)
    assert pids_of([Process("a", "0", pid=1)], [[0, 1]]) == [(1, {0: 0, 1: 2})]


def test_only_the_range_and_the_processes_asked_for_are_written(tmp_path: Path) -> None:
    text = TINY + "host algo-2\nprocess 1 pid=7\nkernel 0/7 100+50 elsewhere\n"
    profile = make_profile(tmp_path / "whole", text)
    out = tmp_path / "part.json"
    events = events_of(write_chrome(profile, out, 110, 130, named(profile, ["algo-1/0"])))
    assert sorted(event["name"] for event in events if event["ph"] == "X")[:-1] == sorted(
        ["aten::mm", "cuLaunchKernel", "cudaLaunchKernel", "overlapping", "step_0", "step_0", "train.py(3): step"]
    )
    assert [event["name"] for event in events if event["ph"] == "C"] == ["cpu load", "gpu utilization"]


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "tiny", TINY)
    asked = iter([False, False, True])
    with pytest.raises(Cancelled):
        write_chrome(profile, tmp_path / "out.json", cancelled=lambda: next(asked))
    with pytest.raises(ProfileError, match=r"^Nothing was recorded in that range; "):
        write_chrome(profile, tmp_path / "out.json", 5000, 6000)
    with pytest.raises(ProfileError, match=r"nowhere/out\.json cannot be written: No such file or directory; choose"):
        write_chrome(profile, tmp_path / "nowhere" / "out.json")
    with pytest.raises(ProfileError, match="tiny is a folder; name a file that ends in"):
        write_chrome(profile, tmp_path / "tiny")
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]
    told: list[float] = []
    packed = write_chrome(profile, tmp_path / "out.json.gz", progress=lambda share, what: told.append(share))
    assert told == sorted(told) and told[0] == 0 and told[-1] == 1
    plain = write_chrome(profile, tmp_path / "out.json").read_bytes()
    assert gzip.decompress(packed.read_bytes()) == plain
    assert write_chrome(profile, tmp_path / "again.json.gz").read_bytes() == packed.read_bytes()
