"""Trace events of programs other than PyTorch: threads, pairs, asynchronous events, counters, flows, instants."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from smprof.profile.reader import Profile
from smprof_desktop.importers import chrome, convert
from tests.importers.imported_text import Trace, imported_text

GOLDEN = Path(__file__).parent / "goldens" / "chrome.txt"


def goldens() -> dict[str, str]:
    """Expected text by name of trace: sections that begin with `== name`."""
    sections = re.split(r"^== (.+)\n", GOLDEN.read_text(), flags=re.MULTILINE)[1:]
    return {name: text.strip() for name, text in zip(sections[::2], sections[1::2], strict=True)}


def check(tmp_path: Path, trace: Trace, expected: str) -> None:
    """The import of `trace`, as text, is `expected`."""
    assert imported_text(tmp_path / "traces", trace) == dedent(expected).strip()


@pytest.mark.parametrize("name", sorted(goldens()))
def test_real_traces_read_as_their_golden_text(traces: Path, tmp_path: Path, name: str) -> None:
    """Also under a neutral name and packed, which `imported_text` checks."""
    assert imported_text(tmp_path / "traces", (traces / "chrome" / name).read_bytes()) == goldens()[name]


def test_every_real_trace_has_a_golden(traces: Path) -> None:
    assert {path.name for path in (traces / "chrome").iterdir()} == set(goldens())


def test_each_pid_is_a_process_with_its_own_threads_counters_and_metadata(tmp_path: Path) -> None:
    trace = {
        "otherData": {"version": "x"},
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "browser"}},
            {"ph": "M", "name": "thread_name", "pid": 7, "tid": 8, "args": {"name": "main"}},
            {"ph": "M", "name": "process_name", "pid": 30, "args": {"name": "silent"}},
            {"ph": "M", "name": "trace_config", "args": {"a": 1}},
            {"ph": "X", "name": "a", "pid": 7, "tid": 8, "ts": 0, "dur": 5, "id": 3},
            {"ph": "X", "name": "b", "pid": "gpu process", "tid": "main", "ts": 1, "dur": 5},
            {"ph": "C", "name": "heap", "pid": 9, "ts": 2, "args": {"used": 5, "free": 1.5}},
            {"ph": "C", "name": "heap", "pid": 7, "ts": 2, "args": {"heap": 1}},
        ],
    }
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process 7 pid=7 rank=None window=0:5000 'browser'
          thread 8 main
          other 8.0 0+5000 a {"id": 3}
          counter 2000 heap 1
        process 30 pid=30 rank=None window=- 'silent'
        process gpu process pid=None rank=None window=- 'pid gpu process'
          thread -2 main
          other -2.0 1000+5000 b
        process 9 pid=9 rank=None window=- 'pid 9'
          counter 2000 heap used 5
          counter 2000 heap free 1.5
        """,
    )
    profile = Profile.open(convert.import_traces([tmp_path / "traces" / "trace.json"], tmp_path / "out"))
    assert [process.info.process for process in profile.processes] == ["gpu process", "7", "9", "30"]
    assert profile.losses == []
    metadata = profile.processes[1].info.metadata
    assert metadata["otherData"] == {"version": "x"}
    assert [row["name"] for row in metadata["metadata_events"]] == ["trace_config"]


def asynchronous(phase: str, ts: float, name: str = "load", id: Any = 1, **more: Any) -> dict[str, Any]:
    return {"ph": phase, "cat": "net", "name": name, "id": id, "pid": 5, "tid": 5, "ts": ts, **more}


def test_asynchronous_events_get_lanes_that_operations_share_in_turn(tmp_path: Path) -> None:
    trace = [
        asynchronous("b", 0, args={"url": "u"}),
        asynchronous("b", 1, "connect"),
        asynchronous("n", 2, "retry", args={"n": 1}),
        asynchronous("e", 3, "connect"),
        asynchronous("b", 4, id="0x2"),
        asynchronous("e", 6, args={"status": 200}),
        asynchronous("e", 7, id="0x2"),
        asynchronous("b", 10, id=3, cat="gpu"),
        asynchronous("S", 20, "old", id=4),
        asynchronous("T", 21, "old", id=4),
        asynchronous("F", 22, "old", id=4),
        asynchronous("e", 30, "never begun", id=9),
    ]
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process 5 pid=5 rank=None window=0:22000
          thread -2 async net
          thread -3 async net 2
          thread -4 async gpu
          other -2.0 0+6000 load {"cat": "net", "id": 1, "status": 200, "tid": 5, "url": "u"}
          other -2.1 1000+2000 connect {"cat": "net", "id": 1, "tid": 5}
          other -2.2 2000+0 retry {"cat": "net", "id": 1, "n": 1, "ph": "n", "tid": 5}
          other -3.0 4000+3000 load {"cat": "net", "id": "0x2", "tid": 5}
          other -4.0 10000+0 load {"cat": "gpu", "id": 3, "tid": 5}
          other -2.0 20000+2000 old {"cat": "net", "id": 4, "tid": 5}
          other -2.1 21000+0 old {"cat": "net", "id": 4, "ph": "T", "tid": 5}
        lost unmatched_begin 1
        lost unmatched_end 1
        """,
    )


def test_local_ids_of_two_processes_are_two_operations(tmp_path: Path) -> None:
    trace = [
        {"ph": phase, "cat": "c", "name": "op", "id2": {"local": "0x1"}, "pid": pid, "tid": 1, "ts": ts}
        for phase, pid, ts in (("b", 1, 0), ("b", 2, 1), ("e", 1, 5), ("e", 2, 9))
    ]
    text = imported_text(tmp_path / "traces", trace)
    assert " 0+5000 op" in text and " 1000+8000 op" in text and "lost" not in text


def test_instants_of_every_scope_are_slices_of_no_length(tmp_path: Path) -> None:
    trace = [
        {"ph": "i", "name": "gc", "pid": 5, "tid": 5, "ts": 1, "s": "t", "args": {"kb": 5}},
        {"ph": "I", "name": "paint", "pid": 5, "tid": 5, "ts": 2},
        {"ph": "R", "name": "mark", "cat": "blink", "pid": 5, "tid": 5, "ts": 3, "tts": 8},
    ]
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process 5 pid=5 rank=None window=1000:3000
          thread 5
          other 5.0 1000+0 gc {"kb": 5, "ph": "i", "s": "t"}
          other 5.0 2000+0 paint {"ph": "I"}
          other 5.0 3000+0 mark {"cat": "blink", "ph": "R", "tts": 8}
        """,
    )


def test_fields_of_an_event_stand_beside_arguments_of_the_same_name(tmp_path: Path) -> None:
    trace = [{"ph": "X", "name": "a", "pid": 5, "tid": 5, "ts": 0, "dur": 1, "tts": 7, "args": {"tts": "mine"}}]
    assert '{"event.tts": 7, "tts": "mine"}' in imported_text(tmp_path / "traces", trace)


def test_very_many_pids_are_lanes_of_one_process(tmp_path: Path) -> None:
    count = chrome.MOST_PROCESSES + 1
    trace = [{"ph": "X", "name": "a", "pid": pid, "tid": 1, "ts": pid, "dur": 1} for pid in range(1, count + 1)]
    text = imported_text(tmp_path / "traces", trace)
    assert len(re.findall("^process", text, re.MULTILINE)) == 1
    assert text.count(" a") == count and f"pid {count}" in text and "lost" not in text


def test_a_trace_that_turns_out_to_be_of_pytorch_is_one_process(tmp_path: Path) -> None:
    """Its first megabytes held nothing to tell it by."""
    filling = {"ph": "M", "name": "filling", "pid": 1, "tid": 1, "args": {"x": "x" * (5 << 20)}}
    op = {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 0, "dur": 1}
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 0, "dur": 1}
    (tmp_path / "t").write_text(json.dumps([filling, op, kernel]))
    convert.import_file(tmp_path / "t", tmp_path / "out")
    [process] = Profile.open(tmp_path / "out").processes
    assert len(process.table("device")) == 1 and len(process.table("host")) == 1
