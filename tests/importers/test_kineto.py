"""Small traces in, the resulting profile as text out. Each is read again under neutral names and packed."""

# ruff: noqa: E501  (traces and their expected text are easier to read on one line)

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from smprof.profile.reader import Profile
from smprof_desktop.importers import convert
from tests.importers.imported_text import Trace, imported_text, text_of

LAUNCH = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 10, "dur": 3}
KERNEL = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20, "dur": 5}


def event(base: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A copy of an event with other fields."""
    return {**base, **changes}


def check(tmp_path: Path, trace: Trace, expected: str) -> None:
    """The import of `trace`, as text, is `expected`."""
    assert imported_text(tmp_path / "traces", trace) == dedent(expected).strip()


def test_a_launch_and_its_kernel_with_everything_recorded_about_them(tmp_path: Path) -> None:
    kernel = event(
        KERNEL,
        ts=20.5,
        dur=5.001,
        args={
            "External id": 3, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 4,
            "registers per thread": 38, "shared memory": 1024, "blocks per SM": 0.625, "warps per SM": 5,
            "grid": [50, 1, 1], "block": [256, 2, 1], "est. achieved occupancy %": 31, "graph id": 2, "graph node id": 77,
        },
    )  # fmt: skip
    op = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 5, "dur": 20}
    op["args"] = {"External id": 3, "Sequence number": 12, "Fwd thread id": 1, "Input Dims": [[2, 3], []], "Ev Idx": 0}
    trace = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 5}, {"id": 1, "name": ""}],
        "distributedInfo": {"rank": 6, "world_size": 8},
        "traceEvents": [op, event(LAUNCH, args={"External id": 3, "cbid": 211, "correlation": 4}), kernel],
        "baseTimeNanoseconds": 1700000000000000000,
    }
    check(
        tmp_path,
        trace,
        """
        clock relative 1700000000000000000
        process 6 pid=9 rank=6 window=5000:25501
          thread 9
          device 0 'NVIDIA H100' used
          device 1 ''
          op 9.0 5000+20000 aten::mm external_id=3 sequence=12 forward_thread=1 {"Ev Idx": 0, "Input Dims": [[2, 3], []]}
          api 9.1 10000+3000 cudaLaunchKernel correlation=4 external_id=3 {"cbid": 211}
          kernel 0/7.0 20500+5001 gemm grid=50,1,1 block=256,2,1 registers_per_thread=38 shared_memory_bytes=1024 \
blocks_per_sm=0.625 warps_per_sm=5 occupancy_percent=31 correlation=4 context=1 graph=2 graph_node=77 \
<- cudaLaunchKernel@10000 {"queued": 0}
        """,
    )


def test_the_dialect_up_to_torch_1_11(tmp_path: Path) -> None:
    common = {"ph": "X", "pid": 9, "tid": "9"}
    args = {"device": 0, "stream": 7, "correlation": 4, "external id": 2}
    trace = {
        "traceEvents": [
            {**common, "cat": "Operator", "name": "ProfilerStep#3", "ts": 0, "dur": 100, "args": {"External id": 1}},
            {**common, "cat": "Operator", "name": "aten::zeros", "ts": 1, "dur": 30, "args": {"External id": 2}},
            {**common, "cat": "Runtime", "name": "cudaMemcpyAsync", "ts": 2, "dur": 3, "args": {"correlation": 4, "external id": 2}},
            {**common, "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": "stream 7", "ts": 9, "dur": 1, "args": {**args, "bytes": 64}},
            {**common, "cat": "Memset", "name": "Memset (Device)", "pid": 0, "tid": "stream 7", "ts": 11, "dur": 1, "args": {"external id": 5}},
            {**common, "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 8", "ts": 12, "dur": 1, "args": {}},
            {"ph": "i", "s": "t", "name": "[memory]", "pid": 9, "tid": 9, "ts": 3, "args": {"Device Type": 0, "Device Id": -1, "Bytes": 4}},
        ]
    }  # fmt: skip
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process 9 pid=9 rank=None window=0:100000
          thread 9
          device 0 '' used
          op 9.1 1000+30000 aten::zeros external_id=2
          api 9.2 2000+3000 cudaMemcpyAsync correlation=4 external_id=2
          memcpy 0/7.0 9000+1000 Memcpy HtoD (Pageable -> Device) correlation=4 bytes=64 HtoD <- cudaMemcpyAsync@2000
          memset 0/7.0 11000+1000 Memset (Device) external_id=5
          kernel 0/8.0 12000+1000 k
          annotation host 9 0+100000 ProfilerStep#3 external_id=1
          counter 3000 memory change [bytes] 4 {"Device Id": -1, "Device Type": 0, "pid": 9, "tid": 9}
        """,
    )


def test_hip_calls_are_api_calls_and_its_copies_say_their_kind_aside(tmp_path: Path) -> None:
    copy = event(
        KERNEL,
        cat="gpu_memcpy",
        name="CopyDeviceToHost",
        pid=2,
        tid=0,
        args={"device": 2, "stream": 0, "correlation": 117, "kind": "DtoH"},
    )
    other = event(copy, name="Copy", ts=30, args={"device": 2, "stream": 0, "kind": "?"})
    call = event(
        LAUNCH, name="hipMemcpyWithStream", args={"stream": "0x0", "cid": 153, "correlation": 117, "size": "2560"}
    )
    check(
        tmp_path,
        {"traceEvents": [copy, other, call]},
        """
        clock relative None
        process 9 pid=9 rank=None window=10000:35000
          thread 9
          device 2 '' used
          api 9.0 10000+3000 hipMemcpyWithStream correlation=117 {"cid": 153, "size": "2560", "stream": "0x0"}
          memcpy 2/0.0 20000+5000 CopyDeviceToHost correlation=117 DtoH <- hipMemcpyWithStream@10000
          memcpy 2/0.0 30000+5000 Copy Other {"kind": "?"}
        """,
    )


def test_mtia_has_calls_and_other_slices_but_no_kernels(tmp_path: Path) -> None:
    trace = {
        "traceEvents": [
            event(LAUNCH, cat="mtia_runtime", name="run", args={"correlation": 3}),
            event(LAUNCH, cat="mtia_ccp_events", name="ccp", tid="fw 1", args={"a": 1}),
        ]
    }
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process 9 pid=9 rank=None window=10000:13000
          thread 9
          thread -2 fw 1
          api 9.0 10000+3000 run correlation=3
          other -2.0 10000+3000 ccp {"a": 1, "cat": "mtia_ccp_events"}
        """,
    )


def test_c26_c27_g55_the_correlation_id_decides_whatever_the_call_is_named(tmp_path: Path) -> None:
    trace = [
        event(LAUNCH, name="cuLaunchKernelEx", cat="cuda_driver", ts=11, dur=1, args={"correlation": 5}),
        event(LAUNCH, name="cudaLaunchKernelExC", ts=10, dur=3, args={"correlation": 5}),
        event(LAUNCH, name="cudaGraphLaunch", ts=14, dur=1, args={"correlation": 6}),
        event(KERNEL, args={"correlation": 5}),
        event(KERNEL, ts=30, name="a", args={"correlation": 6}),
        event(KERNEL, ts=40, name="b", args={"correlation": 6}),
    ]
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process 9 pid=9 rank=None window=10000:45000
          thread 9
          device 0 '' used
          api 9.0 10000+3000 cudaLaunchKernelExC correlation=5
          api 9.1 11000+1000 cuLaunchKernelEx correlation=5
          api 9.0 14000+1000 cudaGraphLaunch correlation=6
          kernel 0/7.0 20000+5000 gemm correlation=5 <- cudaLaunchKernelExC@10000
          kernel 0/7.0 30000+5000 a correlation=6 <- cudaGraphLaunch@14000
          kernel 0/7.0 40000+5000 b correlation=6 <- cudaGraphLaunch@14000
        """,
    )


def test_c29_flows_link_where_correlation_ids_are_missing(tmp_path: Path) -> None:
    trace = [
        event(LAUNCH),
        event(LAUNCH, ts=15, name="cudaMemsetAsync", args={"correlation": 40}),
        event(KERNEL),
        event(KERNEL, ts=30, cat="gpu_memset", name="Memset"),
        event(KERNEL, ts=40, name="orphan"),
        {"ph": "s", "cat": "ac2g", "id": 1, "pid": 9, "tid": 9, "ts": 10, "name": "ac2g"},
        {"ph": "f", "cat": "ac2g", "id": 1, "pid": 0, "tid": 7, "ts": 20, "name": "ac2g", "bp": "e"},
        {"ph": "s", "cat": "ac2g", "id": 2, "pid": 9, "tid": 9, "ts": 15, "name": "ac2g"},
        {"ph": "f", "cat": "ac2g", "id": 2, "pid": 0, "tid": 7, "ts": 30, "name": "ac2g", "bp": "e"},
        {"ph": "f", "cat": "ac2g", "id": 3, "pid": 0, "tid": 7, "ts": 40, "name": "ac2g", "bp": "e"},
        {"ph": "s", "cat": "fwdbwd", "id": 1, "pid": 9, "tid": 9, "ts": 10, "name": "fwdbwd"},
        {"ph": "s", "cat": "ipc", "id": "0x402", "pid": 9, "tid": 9, "ts": 10, "name": "ipc"},
    ]
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process 9 pid=9 rank=None window=10000:45000
          thread 9
          device 0 '' used
          api 9.0 10000+3000 cudaLaunchKernel correlation=41
          api 9.0 15000+3000 cudaMemsetAsync correlation=40
          kernel 0/7.0 20000+5000 gemm correlation=41 <- cudaLaunchKernel@10000
          memset 0/7.0 30000+5000 Memset correlation=40 <- cudaMemsetAsync@15000
          kernel 0/7.0 40000+5000 orphan
        lost flow 1 ac2g
        lost flow 1 fwdbwd
        lost flow 1 ipc
        """,
    )


def test_calls_that_flows_tell_of_get_ids_that_are_free(tmp_path: Path) -> None:
    """Also where the highest there is has been recorded."""
    flow = {"cat": "ac2g", "id": 1, "name": "ac2g"}
    trace = [
        event(LAUNCH),
        event(LAUNCH, ts=15, args={"correlation": (1 << 63) - 1}),
        event(LAUNCH, ts=17, args={"correlation": 1}),
        event(KERNEL),
        {**flow, "ph": "s", "pid": 9, "tid": 9, "ts": 10},
        {**flow, "ph": "f", "pid": 0, "tid": 7, "ts": 20, "bp": "e"},
    ]
    text = imported_text(tmp_path / "traces", trace)
    assert "kernel 0/7.0 20000+5000 gemm correlation=2 <- cudaLaunchKernel@10000" in text and "lost" not in text


def test_flows_that_repeat_what_ids_say_are_no_loss(tmp_path: Path) -> None:
    op = {
        "ph": "X",
        "cat": "cpu_op",
        "name": "a",
        "pid": 9,
        "tid": 9,
        "ts": 1,
        "dur": 1,
        "args": {"Sequence number": 0},
    }
    trace = [
        op,
        event(LAUNCH, args={"correlation": 5}),
        {"ph": "s", "cat": "ac2g", "id": 5, "pid": 9, "tid": 9, "ts": 10},
        {"ph": "f", "cat": "ac2g", "id": 5, "pid": 0, "tid": 7, "ts": 20},
        {"ph": "s", "cat": "fwdbwd", "id": 900, "pid": 9, "tid": 9, "ts": 1},
    ]
    assert "lost" not in imported_text(tmp_path / "traces", trace)


def test_c33_synchronisation_records_lie_beside_the_streams(tmp_path: Path) -> None:
    sync = {"cuda_sync_kind": "Stream Sync", "stream": 7, "correlation": 15, "device": 0, "context": 1}
    trace = [
        event(KERNEL, ts=20, dur=180, args={"stream": 7, "device": 0}),
        event(KERNEL, ts=21, dur=10, cat="cuda_sync", name="Stream Sync", args=sync),
    ]
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process 0 pid=None rank=None window=20000:200000
          device 0 '' used
          sync 0/7.0 21000+10000 Stream Sync correlation=15 {"context": 1, "cuda_sync_kind": "Stream Sync"}
          kernel 0/7.0 20000+180000 gemm
        """.replace("process 0 ", "process - "),
    )


def test_d35_kernels_that_overlap_on_one_stream_are_all_there(tmp_path: Path) -> None:
    trace = [event(KERNEL, name="A", ts=3, dur=3.776), event(KERNEL, name="B", ts=5, dur=2)]
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process - pid=None rank=None window=3000:7000
          device 0 '' used
          kernel 0/7.0 3000+3776 A
          kernel 0/7.1 5000+2000 B
        """,
    )


def test_a1_one_bad_quote_costs_one_event_and_says_where(tmp_path: Path) -> None:
    good = json.dumps(LAUNCH | {"args": {"correlation": 1}})
    bad = '{"ph": "X", "cat": "python_function", "name": "{"device": "cpu"}", "pid": 9, "tid": 9, "ts": 11, "dur": 1}'
    trace = (
        f'{{"schemaVersion": 1, "traceEvents": [{good},\n{bad},\n{bad},\n{good}], "distributedInfo": {{"rank": 3}}}}'
    )
    check(
        tmp_path,
        trace,
        f"""
        clock relative None
        process 3 pid=9 rank=3 window=10000:13000
          thread 9
          api 9.0 10000+3000 cudaLaunchKernel correlation=1
          api 9.1 10000+3000 cudaLaunchKernel correlation=1
        lost unreadable_record 2 the first at byte {trace.index(bad)} of the JSON text
        """,
    )


@pytest.mark.parametrize(
    "name", ["ends with \\", 'a "quoted" C:\\path', "x" * 1500 + "<{}>é漢🙂", "tab\tline\nend", "_ZN3foo?", ""]
)
def test_a2_a4_h60_h63_names_come_back_as_they_were(tmp_path: Path, name: str) -> None:
    for ascii_only in (True, False):
        trace = json.dumps([event(KERNEL, name=name)], ensure_ascii=ascii_only)
        folder = tmp_path / str(ascii_only)
        assert f" 20000+5000 {name}".rstrip(" ") in imported_text(folder, trace)


def test_raw_control_characters_and_bad_utf8_in_names(tmp_path: Path) -> None:
    trace = json.dumps([event(KERNEL, name="line@end"), event(KERNEL, ts=30, name="bad~")]).encode()
    trace = trace.replace(b"@", b"\n").replace(b"~", b"\xff\xfe")
    (tmp_path / "trace.json").write_bytes(trace)
    convert.import_file(tmp_path / "trace.json", tmp_path / "out")
    profile = Profile.open(tmp_path / "out")
    texts = profile.processes[0].names.texts
    assert texts[0] == "line\nend" and texts[1].startswith("bad") and len(texts) == 2
    assert [(loss.kind, loss.count) for loss in profile.losses] == [("invalid_text", 1)]


def test_a6_values_that_are_no_numbers_are_gaps(tmp_path: Path) -> None:
    trace = (
        '[{"ph": "C", "name": "load", "pid": 9, "tid": 9, "ts": 1, "args": {"value": 5}},'
        '{"ph": "C", "name": "load", "pid": 9, "tid": 9, "ts": 2, "args": {"value": NaN}},'
        '{"ph": "C", "name": "load", "pid": 9, "tid": 9, "ts": 3, "args": {"value": -Infinity}},'
        '{"ph": "C", "name": "net", "pid": 9, "tid": 9, "ts": 4, "args": {"in": 1.5, "out": "2"}},'
        '{"ph": "C", "name": "none", "pid": 9, "tid": 9, "ts": 5, "args": {}},'
        '{"ph": "X", "name": "k", "cat": "kernel", "pid": 0, "tid": 7, "ts": 4, "dur": NaN},'
        '{"ph": "X", "name": "NaN Infinity", "cat": "kernel", "pid": 0, "tid": 7, "ts": 4, "dur": 1, "args": {"x": NaN}}]'
    )
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process - pid=None rank=None window=4000:5000
          device 0 '' used
          kernel 0/7.0 4000+1000 NaN Infinity {"x": null}
          counter 1000 load 5
          counter 2000 load gap
          counter 3000 load gap
          counter 4000 net in 1.5
          counter 4000 net out 2
          counter 5000 none gap
        lost gap_value 3 the first is of counter load
        lost no_duration 1 the first is k (kernel), pid 0, tid 7
        """,
    )


@pytest.mark.parametrize("trace", ['{"traceEvents": []}', '{"schemaVersion": 1, "traceEvents": [ ] }', "[]", "[ ]\n"])
def test_a7_an_empty_trace_is_an_empty_profile(tmp_path: Path, trace: str) -> None:
    check(tmp_path, trace, "clock relative None\nprocess - pid=None rank=None window=-")


def test_a7_metadata_only_and_repeated(tmp_path: Path) -> None:
    named = {"ph": "M", "pid": 9, "tid": 9, "ts": 1}
    rows = [
        {**named, "name": "process_name", "tid": 0, "args": {"name": "python3"}},
        *([{**named, "name": "thread_name", "args": {"name": "old"}}] * 50),
        {**named, "name": "thread_name", "args": {"name": "pt_autograd_0"}},
        {**named, "name": "process_labels", "args": {"labels": "CPU"}},
    ]
    trace = {"traceEvents": rows}
    check(tmp_path, trace, "clock relative None\nprocess 9 pid=9 rank=None window=- 'python3'")
    check(
        tmp_path / "again",
        {"traceEvents": [*rows, event(LAUNCH, args={"correlation": 1})]},
        """
        clock relative None
        process 9 pid=9 rank=None window=10000:13000 'python3'
          thread 9 pt_autograd_0
          api 9.0 10000+3000 cudaLaunchKernel correlation=1
        """,
    )


def test_a9_unknown_keys_before_and_after_the_events(tmp_path: Path) -> None:
    events = [event(LAUNCH, args={"correlation": 1})]
    first = {
        "x": [{"name": "no event", "ph": "X"}],
        "traceEvents": events,
        "samples": [{"tid": 1}],
        "distributedInfo": {"rank": 2},
    }
    check(
        tmp_path,
        first,
        """
        clock relative None
        process 2 pid=9 rank=2 window=10000:13000
          thread 9
          api 9.0 10000+3000 cudaLaunchKernel correlation=1
        """,
    )


def test_b18_nesting_survives_at_nanoseconds(tmp_path: Path) -> None:
    op = {"ph": "X", "cat": "cpu_op", "pid": 9, "tid": 9}
    trace = [
        {**op, "name": "outer", "ts": 4203669604595.407, "dur": 1.001},
        {**op, "name": "inner", "ts": 4203669604595.408, "dur": 1},
    ]
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process 9 pid=9 rank=None window=4203669604595407:4203669604596408
          thread 9
          op 9.0 4203669604595407+1001 outer
          op 9.1 4203669604595408+1000 inner
        """,
    )


def test_b19_b21_far_negative_and_overflowing_times(tmp_path: Path) -> None:
    trace = [
        event(LAUNCH, ts=-1013.25, args={"correlation": 1}),
        event(LAUNCH, ts="6000000000.001", dur="2.5", args={"correlation": 2}),
        event(LAUNCH, ts=9223372036854775, dur=1, name="passes the end"),
        event(LAUNCH, ts=10**30),
        event(LAUNCH, dur=-1),
        event(LAUNCH, ts=None),
        event(LAUNCH, dur=None),
    ]
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process 9 pid=9 rank=None window=-1013250:6000000002501
          thread 9
          api 9.0 -1013250+3000 cudaLaunchKernel correlation=1
          api 9.0 6000000000001+2500 cudaLaunchKernel correlation=2
        lost no_start 1 the first is cudaLaunchKernel (cuda_runtime), pid 9, tid 9
        lost no_duration 1 the first is cudaLaunchKernel (cuda_runtime), pid 9, tid 9
        lost negative_duration 1 the first is cudaLaunchKernel (cuda_runtime), pid 9, tid 9
        lost time_overflow 2 the first is passes the end (cuda_runtime), pid 9, tid 9
        """,
    )


def test_d37_python_frames_modules_and_record_functions_are_kept(tmp_path: Path) -> None:
    common = {"ph": "X", "pid": 9, "tid": 9}
    frame = {**common, "cat": "python_function", "name": "train.py(3): step", "ts": 0, "dur": 9}
    frame["args"] = {"Python parent id": None, "Python id": 1, "Python module id": 0}
    trace = [
        frame,
        {**common, "cat": "user_annotation", "name": "## forward ##", "ts": 1, "dur": 5, "args": {"External id": 8}},
        {**common, "cat": "gpu_user_annotation", "name": "## forward ##", "pid": 0, "tid": 7, "ts": 3, "dur": 5, "args": {"External id": 8}},
        {**common, "cat": "overhead", "name": "Buffer Flush", "pid": -1, "tid": 0, "ts": 4, "dur": 1},
        {**common, "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": -5, "dur": 90, "args": {"Op count": 0}},
        {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 99},
        {"ph": "N", "name": "object", "pid": 9, "ts": 1},
    ]  # fmt: skip
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process 9 pid=9 rank=None window=0:9000
          thread 9
          thread -2 pid -1 thread 0
          thread -3 PyTorch Profiler
          other -3.0 -5000+90000 PyTorch Profiler (0) {"Op count": 0, "cat": "Trace"}
          python 9.0 0+9000 train.py(3): step {"Python id": 1, "Python module id": 0, "Python parent id": null}
          overhead -2.0 4000+1000 Buffer Flush
          annotation host 9 1000+5000 ## forward ## external_id=8
          annotation device 0/7 3000+5000 ## forward ## external_id=8
        lost unknown_phase 1 phase N
        """,
    )


def test_memory_records_become_counters(tmp_path: Path) -> None:
    args = {"Total Reserved": 200, "Total Allocated": 100, "Bytes": -8, "Addr": 5, "Device Id": 3, "Device Type": 1}
    trace = [{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 9, "ts": 3.5, "args": args}]
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process - pid=None rank=None window=-
          counter 3500 memory allocated [bytes] 100 device=3
          counter 3500 memory reserved [bytes] 200 device=3
          counter 3500 memory change [bytes] -8 device=3 {"Addr": 5, "Device Type": 1, "pid": 9, "tid": 9}
        """,
    )


def test_integers_beyond_64_bits_and_missing_places(tmp_path: Path) -> None:
    trace = [
        event(LAUNCH, cat="cpu_op", name="comm", args={"Comms Id": 10159970886766084423, "External id": -1}),
        event(KERNEL, pid="gpu", tid="lane", args={"grid": "odd", "correlation": 0}),
    ]
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process 9 pid=9 rank=None window=10000:13000
          thread 9
          op 9.0 10000+3000 comm {"Comms Id": 10159970886766084423, "External id": -1}
          kernel -1/-1.0 20000+5000 gemm {"correlation": 0, "grid": "odd"}
        lost unplaced_slice 1 the first is gemm (kernel), pid gpu, tid lane
        """,
    )


def test_begin_and_end_nest_and_cross(tmp_path: Path) -> None:
    def mark(phase: str, name: str | None, ts: float, **more: Any) -> dict[str, Any]:
        return {"ph": phase, "pid": 9, "tid": 9, "ts": ts, **({"name": name} if name is not None else {}), **more}

    trace = [
        mark("B", "a", 0, args={"x": 1}),
        mark("B", "b", 1),
        mark("E", "a", 5, args={"x": 2, "y": 3}),
        mark("E", "b", 7),
        mark("B", "c", 8),
        mark("E", None, 9),
        mark("E", "never", 10),
        mark("E", "zero", 11),
        mark("B", "zero", 11),
        mark("B", "open", 12),
        {"ph": "X", "name": "last", "pid": 9, "tid": 9, "ts": 13, "dur": 7},
    ]
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process 9 pid=9 rank=None window=0:20000
          thread 9
          other 9.0 0+5000 a {"x": 1, "x (end)": 2, "y": 3}
          other 9.1 1000+6000 b
          other 9.0 8000+1000 c
          other 9.0 11000+0 zero
          other 9.0 12000+8000 open
          other 9.1 13000+7000 last
        lost unmatched_begin 1
        lost unmatched_end 1
        """,
    )


def test_several_pids_are_lanes_of_one_process(tmp_path: Path) -> None:
    trace = [
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "loader"}},
        {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 5, "ts": 0, "dur": 1},
        {"ph": "X", "cat": "x", "name": "b", "pid": 2, "tid": 5, "ts": 0, "dur": 1},
    ]
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process 1 pid=1 rank=None window=0:1000 'loader'
          thread 5 loader: thread 5
          thread -2 pid 2: pid 2 thread 5
          op 5.0 0+1000 a
          other -2.0 0+1000 b {"cat": "x"}
        """,
    )


def test_unix_times_are_recognised(tmp_path: Path) -> None:
    text = imported_text(
        tmp_path / "traces", {"traceEvents": [event(KERNEL, ts=1661203462598738)], "baseTimeNanoseconds": 7}
    )
    assert text.startswith("clock unix 0\n")


def test_odd_types_of_ids_are_read(tmp_path: Path) -> None:
    trace = [
        event(LAUNCH, pid=9.0, tid=[1], args={"correlation": "5"}),
        event(KERNEL, args={"correlation": 5.0, "device": "0"}),
    ]
    check(
        tmp_path,
        trace,
        """
        clock relative None
        process 9 pid=9 rank=None window=10000:25000
          thread -2 [1]
          device 0 '' used
          api -2.0 10000+3000 cudaLaunchKernel correlation=5
          kernel 0/7.0 20000+5000 gemm {"correlation": 5.0}
        """,
    )


def test_the_writer_of_goldens_sees_differences(tmp_path: Path) -> None:
    one = imported_text(tmp_path / "one", [event(KERNEL)])
    assert one != imported_text(tmp_path / "two", [event(KERNEL, tid=8)])
    assert text_of(Profile.open(tmp_path / "one" / "neutral.profile"), "neutral") == one
