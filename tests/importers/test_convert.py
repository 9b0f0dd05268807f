"""Several files become one profile, in child processes; nothing half-written stays."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from smprof.profile.manifest import Clock, ProfileError
from smprof.profile.reader import Profile
from smprof_desktop.importers import convert
from smprof_desktop.progress import Cancelled
from tests.importers.imported_text import text_of


def write_trace(path: Path, rank: int | None, device: int = 0, base: int | None = None, ts: float = 20) -> Path:
    keys: dict[str, Any] = {"schemaVersion": 1}
    if rank is not None:
        keys["distributedInfo"] = {"rank": rank}
    if base is not None:
        keys["baseTimeNanoseconds"] = base
    kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": device, "tid": 7, "ts": ts, "dur": 5}
    path.write_text(json.dumps({**keys, "traceEvents": [kernel]}))
    return path


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_eight_real_ranks_are_one_host_in_any_order(traces: Path, tmp_path: Path) -> None:
    files = sorted((traces / "kineto" / "param_dlrm_8rank").iterdir())
    said: list[tuple[float, str]] = []
    one = convert.import_traces(files, tmp_path / "one", lambda share, what: said.append((share, what)))
    two = convert.import_traces(files[::-1], tmp_path / "two")
    profile = Profile.open(one)
    assert [(process.info.host, process.info.process) for process in profile.processes] == [
        ("algo-1", str(rank)) for rank in range(8)
    ]
    assert [[device.index for device in process.info.devices if device.used] for process in profile.processes] == [
        [rank] for rank in range(8)
    ]
    assert profile.manifest.name == "param_dlrm_8rank" and len(profile.manifest.sources) == 8
    assert text_of(profile) == text_of(Profile.open(two))
    assert (one / "manifest.json").read_bytes() == (two / "manifest.json").read_bytes()
    assert [share for share, _what in said] == sorted(share for share, _what in said)
    assert said[-1][0] == 1.0
    assert left_in(tmp_path) == ["one", "two"]


def test_f52_files_without_rank_or_gpu_open_together(tmp_path: Path) -> None:
    cpu = tmp_path / "cpu.json"
    cpu.write_text('[{"ph": "X", "name": "a", "pid": 5, "tid": 5, "ts": 0, "dur": 1}]')
    profile = Profile.open(convert.import_traces([cpu, write_trace(tmp_path / "gpu.json", None)], tmp_path / "out"))
    assert [(p.info.process, p.info.name) for p in profile.processes] == [("0", "gpu"), ("5", "cpu")]


def test_clocks_that_differ_are_aligned(tmp_path: Path) -> None:
    first = write_trace(tmp_path / "a.json", 0, 0, base=1_700_000_000_000_000_000, ts=1_000_000)
    second = write_trace(tmp_path / "b.json", 1, 1, base=1_700_000_001_000_000_000, ts=20)
    profile = Profile.open(convert.import_traces([first, second], tmp_path / "out"))
    assert profile.manifest.clock == Clock("relative", 1_700_000_001_000_000_000)
    assert [process.table("device")["start_ns"].tolist() for process in profile.processes] == [[0], [20_000]]


def test_one_unknown_clock_leaves_all_times_as_recorded() -> None:
    assert convert.common_clock([Clock("relative", 5), Clock("relative", None)]) == (Clock("relative", None), [0, 0])
    assert convert.common_clock([Clock("unix", 0), Clock("unix", 0)]) == (Clock("unix", 0), [0, 0])
    assert convert.common_clock([Clock("unix", 0), Clock("relative", 7)]) == (Clock("relative", 7), [-7, 0])


def test_a_file_that_cannot_be_read_is_named_and_nothing_stays(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"traceEvents": 5}')
    with pytest.raises(ProfileError, match=r"bad\.json .*not a list"):
        convert.import_traces([write_trace(tmp_path / "good.json", 0), bad], tmp_path / "out")
    assert left_in(tmp_path) == ["bad.json", "good.json"]


def test_cancelling_removes_everything(traces: Path, tmp_path: Path) -> None:
    asked = []

    def cancelled() -> bool:
        asked.append(True)
        return len(asked) > 2

    with pytest.raises(Cancelled):
        convert.import_traces([traces / "kineto" / "tl_h100_owlv2.json.gz"], tmp_path / "out", cancelled=cancelled)
    assert left_in(tmp_path) == []


def test_a_child_that_dies_is_one_sentence(traces: Path, tmp_path: Path) -> None:
    killed: list[int] = []

    def progress(share: float, what: str) -> None:
        if not killed:
            killed.extend(child.pid for child in multiprocessing.active_children() if child.pid is not None)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    with pytest.raises(ProfileError, match="ended unexpectedly"):
        convert.import_traces([traces / "kineto" / "tl_h100_owlv2.json.gz"], tmp_path / "out", progress)
    assert killed and left_in(tmp_path) == []


def test_a_folder_that_is_taken_is_refused_and_an_empty_one_used(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "a.json", 0)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine").write_text("x")
    with pytest.raises(ProfileError, match="not an empty folder"):
        convert.import_traces([trace], tmp_path / "taken")
    with pytest.raises(ProfileError, match="not an empty folder"):
        convert.import_traces([trace], trace)
    (tmp_path / "empty").mkdir()
    convert.import_traces([trace], tmp_path / "empty")
    assert len(Profile.open(tmp_path / "empty").processes) == 1
    assert (tmp_path / "taken" / "mine").read_text() == "x"


def test_nothing_to_import_is_said() -> None:
    with pytest.raises(ProfileError, match="no trace"):
        convert.import_traces([], Path("never"))


def test_damaged_gzip_gives_what_stood_before_the_damage(tmp_path: Path) -> None:
    """Also of a trace that unpacks in one step."""
    op = {"ph": "X", "cat": "cpu_op", "name": "n", "pid": 9, "tid": 9, "dur": 1}
    text = json.dumps({"schemaVersion": 1, "traceEvents": [{**op, "ts": n * n} for n in range(5_000)]}).encode()
    packed = bytearray(gzip.compress(text[:100_000]) + gzip.compress(text[100_000:]))
    second = packed.index(gzip.compress(text[100_000:]))
    for at, least in ((second // 2, 300), (second + (len(packed) - second) // 2, 2_000), (len(packed) - 6, 5_000)):
        path = tmp_path / f"{at}.json.gz"
        path.write_bytes(packed[:at] + bytes([packed[at] ^ 0xFF]) + packed[at + 1 :])
        convert.import_file(path, tmp_path / str(at))
        profile = Profile.open(tmp_path / str(at))
        found = len(profile.processes[0].table("host"))
        assert least <= found <= 5_000
        assert {loss.kind for loss in profile.losses} >= {"truncated_source"}
        assert any("gzip data is damaged" in loss.detail for loss in profile.losses)
