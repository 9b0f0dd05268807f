"""Nsight Systems exports, built table by table: what each says is shown, placed and linked as it says."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import pyarrow.parquet as pq
import pytest

from smprof.profile.manifest import ProfileError
from smprof.profile.reader import Profile
from smprof_desktop.importers import convert
from tests.importers.imported_text import text_of

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]

PID, TID = 9, 11
KERNEL, MEMCPY, MEMSET, RUNTIME, SYNC, GRAPH = (
    f"CUPTI_ACTIVITY_KIND_{kind}"
    for kind in ("KERNEL", "MEMCPY", "MEMSET", "RUNTIME", "SYNCHRONIZATION", "GRAPH_TRACE")
)
STRINGS = (
    "cudaLaunchKernel_v7000", "void gemm<float>(float*)", "gemm", "_Z4gemmIfEvPf", "python3", "loader", "step 1",
    "cudaGraphLaunch_v10000", "read", "domain", "cudaMemcpyAsync_v3020",
)  # fmt: skip


def globally(pid: int, tid: int = 0) -> int:
    """A globalTid, or with tid 0 a globalPid."""
    return 1 << 48 | pid << 24 | tid


def string(text: str) -> int:
    """Its id in StringIds."""
    return 100 + STRINGS.index(text)


def database(path: Path, tables: Tables, strings: Sequence[str] = STRINGS, script: str = "") -> Path:
    """An export with these rows; a column is what any row of its table names."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)")
        connection.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(strings, 100))
        for table, rows in tables.items():
            columns = list(dict.fromkeys(column for row in rows for column in row))
            declared = ", ".join(f'"{column}" {declaration(rows, column)}' for column in columns)
            connection.execute(f'CREATE TABLE "{table}" ({declared})')
            marks = ", ".join("?" * len(columns))
            values = [[row.get(column) for column in columns] for row in rows]
            connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', values)
        connection.executescript(script)
    connection.close()
    return path


def declaration(rows: Sequence[Row], column: str) -> str:
    kinds = {type(row.get(column)) for row in rows}
    return "TEXT" if str in kinds and int not in kinds else "REAL" if float in kinds else "INTEGER"


def check(folder: Path, tables: Tables, expected: str, **how: Any) -> None:
    """The import of an export, as text, is `expected`; the same under a neutral name."""
    texts = []
    for name in ("trace.sqlite", "neutral"):
        path = folder / name
        database(path, tables, **how)
        convert.import_file(path, folder / f"{name}.profile")
        texts.append(text_of(Profile.open(folder / f"{name}.profile")))
    assert texts[0] == texts[1]
    assert texts[0] == dedent(expected).strip()


def api(start: int, end: int, correlation: int, pid: int = PID, name: str = STRINGS[0], **more: Any) -> Row:
    common = {"start": start, "end": end, "eventClass": 0, "globalTid": globally(pid, TID), "returnValue": 0}
    return {**common, "correlationId": correlation, "nameId": string(name), **more}


def kernel(start: int, end: int, correlation: int, pid: int = PID, device: int = 0, **more: Any) -> Row:
    return {
        "start": start, "end": end, "deviceId": device, "contextId": 1, "streamId": 7, "correlationId": correlation,
        "globalPid": globally(pid), "demangledName": string("void gemm<float>(float*)"), "shortName": string("gemm"),
        "mangledName": string("_Z4gemmIfEvPf"), "gridX": 50, "gridY": 1, "gridZ": 1, "blockX": 256, "blockY": 2,
        "blockZ": 1, "registersPerThread": 38, "staticSharedMemory": 1000, "dynamicSharedMemory": 24, **more,
    }  # fmt: skip


NAMED: Tables = {
    "ThreadNames": [{"nameId": string("loader"), "priority": 20, "globalTid": globally(PID, TID)}],
    "PROCESSES": [{"globalPid": globally(PID), "pid": PID, "name": "/opt/bin/python3 --token x"}],
    "TARGET_INFO_SYSTEM_ENV": [
        {"globalVid": 1 << 48, "name": "Hostname", "value": "node-3"},
        {"globalVid": 1 << 48, "name": "DeviceEnvironment", "value": "KEY=x"},
    ],
    "TARGET_INFO_SESSION_START_TIME": [{"utcEpochNs": 1700000000000000000, "utcTime": "2023"}],
    "TARGET_INFO_GPU": [
        {"id": 4, "name": "NVIDIA H100", "totalMemory": 80, "cuDevice": 0, "smCount": 132, "busLocation": "0000:07"},
        {"id": 5, "name": "NVIDIA L4", "totalMemory": 24, "cuDevice": 1, "smCount": 58, "busLocation": "0000:41"},
    ],
}


def test_a_launch_and_its_kernel_with_everything_recorded_about_them(tmp_path: Path) -> None:
    tables: Tables = {
        KERNEL: [kernel(200, 260, 5, gridId=77, graphNodeId=0, launchType=1, tensorSizeMinusOneElements="[]")],
        RUNTIME: [api(100, 130, 5, callchainId=3), api(140, 141, 6, returnValue=2)],
        **NAMED,
    }
    check(
        tmp_path,
        tables,
        """
        clock relative 1700000000000000000
        process 9 pid=9 rank=None window=100:260 host=node-3 'python3'
          thread 11 loader
          device 0 'NVIDIA H100' used
          api 11.0 100+30 cudaLaunchKernel_v7000 correlation=5 {"returnValue": 0}
          api 11.0 140+1 cudaLaunchKernel_v7000 correlation=6 {"returnValue": 2}
          kernel 0/7.0 200+60 void gemm<float>(float*) grid=50,1,1 block=256,2,1 registers_per_thread=38 \
shared_memory_bytes=1024 correlation=5 context=1 \
<- cudaLaunchKernel_v7000@100 {"mangledName": "_Z4gemmIfEvPf", "shortName": "gemm"}
        """,
    )
    process = Profile.open(tmp_path / "neutral.profile").processes[0]
    assert process.info.metadata["nsight_systems"]["usual_arguments"][KERNEL] == {
        "dynamicSharedMemory": 24, "gridId": 77, "launchType": 1, "tensorSizeMinusOneElements": "[]",
    }  # fmt: skip


def test_what_differs_between_rows_stays_with_each(tmp_path: Path) -> None:
    plain: dict[str, Any] = {"demangledName": string("gemm"), "shortName": string("gemm"), "mangledName": None}
    rows = [kernel(10 * n, 10 * n + 5, 0, gridId=-1 if n == 3 else n, cacheConfig=int(n == 2)) for n in range(11)]
    database(tmp_path / "db", {KERNEL: [*rows, kernel(200, 205, 0, gridId=7, cacheConfig=0, **plain)]})
    convert.import_file(tmp_path / "db", tmp_path / "out")
    process = Profile.open(tmp_path / "out").processes[0]
    said = [process.args_of("device", row) for row in range(12)]
    assert [one["gridId"] for one in said] == [0, 1, 2, -1, 4, 5, 6, 7, 8, 9, 10, 7]
    assert [row for row, one in enumerate(said) if "cacheConfig" in one] == [2]
    assert process.info.metadata["nsight_systems"]["usual_arguments"][KERNEL]["cacheConfig"] == 0
    assert [one.get("shortName") for one in said] == ["gemm"] * 11 + [None]
    assert said[0]["mangledName"] == "_Z4gemmIfEvPf" and "mangledName" not in said[11]


def test_processes_are_kept_apart_though_their_correlation_ids_repeat(tmp_path: Path) -> None:
    tables: Tables = {
        KERNEL: [kernel(200, 260, 5), kernel(300, 310, 5, pid=20, device=1)],
        RUNTIME: [api(100, 130, 5), api(50, 60, 5, pid=20), api(40, 45, 5, pid=30)],
    }
    names = '{"mangledName": "_Z4gemmIfEvPf", "shortName": "gemm"}'
    shape = "void gemm<float>(float*) grid=50,1,1 block=256,2,1 registers_per_thread=38 shared_memory_bytes=1024"
    check(
        tmp_path,
        tables,
        f"""
        clock relative None
        process 9 pid=9 rank=None window=100:260 host=algo-1
          thread 11
          device 0 '' used
          api 11.0 100+30 cudaLaunchKernel_v7000 correlation=5
          kernel 0/7.0 200+60 {shape} correlation=5 context=1 <- cudaLaunchKernel_v7000@100 {names}
        process 20 pid=20 rank=None window=50:310 host=algo-1
          thread 11
          device 1 '' used
          api 11.0 50+10 cudaLaunchKernel_v7000 correlation=5
          kernel 1/7.0 300+10 {shape} correlation=5 context=1 <- cudaLaunchKernel_v7000@50 {names}
        process 30 pid=30 rank=None window=40:45 host=algo-1
          thread 11
          api 11.0 40+5 cudaLaunchKernel_v7000 correlation=5
        """,
    )


def copied(kind: int, source: int, target: int) -> Row:
    return {"copyKind": kind, "srcKind": source, "dstKind": target}


def test_memory_operations_and_synchronisation(tmp_path: Path) -> None:
    place = {"deviceId": 1, "contextId": 2, "streamId": 13, "globalPid": globally(PID)}
    tables: Tables = {
        MEMCPY: [
            {**place, "start": 10, "end": 20, "correlationId": 1, "bytes": 64, **copied(1, 0, 2)},
            {**place, "start": 20, "end": 30, "correlationId": 2, "bytes": 65, **copied(10, 2, 2)},
            {**place, "start": 30, "end": 40, "correlationId": 0, "bytes": 66, **copied(11, 4, 2)},
            {**place, "start": 40, "end": 50, "bytes": 67, "copyKind": 99, "streamId": None},
        ],
        MEMSET: [{**place, "start": 50, "end": 52, "correlationId": 3, "bytes": 4, "value": 7, "memKind": 2}],
        # The record's own device is the default one of its thread: its context ran on device 1.
        SYNC: [{**place, "start": 5, "end": 55, "correlationId": 4, "syncType": 3, "deviceId": 0},
               {**place, "start": 6, "end": 7, "correlationId": 5, "syncType": 42, "streamId": (1 << 32) - 1}],
    }  # fmt: skip
    check(
        tmp_path,
        tables,
        """
        clock relative None
        process 9 pid=9 rank=None window=5:55 host=algo-1
          device 1 '' used
          sync 1/13.0 5+50 Stream Sync correlation=4 {"deviceId": 0}
          sync 1/-1.0 6+1 Sync 42 correlation=5 {"deviceId": 1}
          memcpy 1/13.0 10+10 Memcpy HtoD (Pageable -> Device) correlation=1 context=2 bytes=64 HtoD {"copyKind": 1, "dstKind": 2, "srcKind": 0}
          memcpy 1/13.0 20+10 Memcpy PtoP (Device -> Device) correlation=2 context=2 bytes=65 PtoP {"copyKind": 10, "dstKind": 2, "srcKind": 2}
          memcpy 1/13.0 30+10 Memcpy Unified HtoD (Managed -> Device) context=2 bytes=66 Other {"copyKind": 11, "dstKind": 2, "srcKind": 4}
          memcpy 1/-1.0 40+10 Memcpy Unknown context=2 bytes=67 Other {"copyKind": 99}
          memset 1/13.0 50+2 Memset (Device) correlation=3 context=2 bytes=4
        lost unplaced_slice 1 table CUPTI_ACTIVITY_KIND_MEMCPY
        """,  # noqa: E501
    )


def test_a_whole_graph_stands_for_its_nodes_only_where_they_are_not_shown(tmp_path: Path) -> None:
    place = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": globally(PID), "graphExecId": 8}
    tables: Tables = {
        KERNEL: [kernel(200, 260, 5, graphId=3, graphNodeId=(3 << 32) + 1)],
        GRAPH: [
            {**place, "start": 190, "end": 270, "correlationId": 5, "graphId": 3},
            {**place, "start": 300, "end": 400, "correlationId": 6, "graphId": 4},
        ],
        RUNTIME: [api(100, 130, 5, name="cudaGraphLaunch_v10000"), api(280, 290, 6, name="cudaGraphLaunch_v10000")],
    }
    check(
        tmp_path,
        tables,
        f"""
        clock relative None
        process 9 pid=9 rank=None window=100:400 host=algo-1
          thread 11
          device 0 '' used
          api 11.0 100+30 cudaGraphLaunch_v10000 correlation=5
          api 11.0 280+10 cudaGraphLaunch_v10000 correlation=6
          kernel 0/7.0 200+60 void gemm<float>(float*) grid=50,1,1 block=256,2,1 registers_per_thread=38 \
shared_memory_bytes=1024 correlation=5 context=1 graph=3 graph_node={(3 << 32) + 1} \
<- cudaGraphLaunch_v10000@100 {{"mangledName": "_Z4gemmIfEvPf", "shortName": "gemm"}}
          kernel 0/7.0 300+100 CUDA graph 4 correlation=6 context=1 graph=4 <- cudaGraphLaunch_v10000@280
        lost unshown_record 1 table CUPTI_ACTIVITY_KIND_GRAPH_TRACE: graphs whose nodes are shown
        """,
    )


def test_nvtx_ranges_marks_names_and_payloads(tmp_path: Path) -> None:
    common = {"globalTid": globally(PID, TID), "domainId": 0}
    tables: Tables = {
        "NVTX_EVENTS": [
            {**common, "start": 10, "end": 90, "eventType": 59, "text": "inline", "color": 4278255360},
            {**common, "start": 20, "end": 30, "eventType": 59, "textId": string("step 1"), "category": 6},
            {**common, "start": 25, "end": 50, "eventType": 60, "text": "a", "rangeId": 1, "domainId": 2,
             "endGlobalTid": globally(PID, 12), "uint64Value": 5, "doubleValue": 0.5, "jsonText": '{"k": 1}'},
            {**common, "start": 40, "eventType": 59, "text": "open", "globalTid": globally(PID, 12)},
            {**common, "start": 41, "eventType": 34, "text": "mark"},
            {**common, "start": 0, "eventType": 75, "text": "NCCL", "domainId": 2},
            {**common, "start": 0, "eventType": 33, "text": "I/O", "category": 6},
            {**common, "start": 0, "eventType": 39, "text": "trainer"},
            {**common, "start": 42, "eventType": 98, "text": "a context"},
            {**common, "start": 43, "end": 44, "eventType": 59, "textId": 4711},
            {**common, "start": 46, "end": 45, "eventType": 59, "text": "backwards"},
        ],
        RUNTIME: [api(1, 100, 1)],
    }  # fmt: skip
    check(
        tmp_path,
        tables,
        """
        clock relative None
        process 9 pid=9 rank=None window=1:100 host=algo-1
          thread 11 trainer
          thread 12
          api 11.0 1+99 cudaLaunchKernel_v7000 correlation=1
          annotation host 11 10+80 inline {"color": 4278255360}
          annotation host 11 20+10 step 1 {"category": "I/O"}
          annotation host 11 25+25 a {"domain": "NCCL", "doubleValue": 0.5, "end thread": 12, "payload": "{\\"k\\": 1}", "rangeId": 1, "uint64Value": 5}
          annotation host 12 40+60 open
          annotation host 11 43+1 unnamed (NVTX)
        lost instant 1 table NVTX_EVENTS: marks
        lost unshown_record 1 table NVTX_EVENTS: events of type 98
        lost negative_duration 1 table NVTX_EVENTS
        lost missing_names 1 table NVTX_EVENTS
        lost unmatched_begin 1 table NVTX_EVENTS
        """,  # noqa: E501
    )
    sources = Profile.open(tmp_path / "neutral.profile").processes[0].table("annotation")["source"]
    assert set(sources.tolist()) == {1}, "nvtx"


def test_system_calls_overhead_and_slices_of_unknown_libraries_are_host_slices(tmp_path: Path) -> None:
    common = {"globalTid": globally(PID, TID)}
    tables: Tables = {
        "OSRT_API": [{**common, "start": 1, "end": 9, "nameId": string("read"), "returnValue": 512, "nestingLevel": 0},
                     {**common, "start": 2, "end": 3, "nameId": string("read"), "returnValue": -1, "nestingLevel": 1,
                      "globalTid": globally(PID)}],
        "PROFILER_OVERHEAD": [{**common, "start": 3, "end": 4, "nameId": string("loader")}],
        "FUTURE_API": [{**common, "start": 5, "end": 6, "text": "solve"}, {**common, "start": 6, "end": 7}],
        "SCHED_EVENTS": [{**common, "start": 5, "cpu": 1, "isSchedIn": 1}] * 3,
    }  # fmt: skip
    check(
        tmp_path,
        tables,
        """
        clock relative None
        process 9 pid=9 rank=None window=1:9 host=algo-1
          thread -2 thread not recorded
          thread 11
          other 11.0 1+8 read {"returnValue": 512}
          other -2.0 2+1 read {"returnValue": -1}
          overhead 11.1 3+1 loader
          other 11.1 5+1 solve {"cat": "FUTURE_API"}
          other 11.1 6+1 FUTURE_API {"cat": "FUTURE_API"}
        lost unshown_record 3 table SCHED_EVENTS
        """,
    )


def test_memory_in_use_and_gpu_metrics_are_counters(tmp_path: Path) -> None:
    event = {"globalPid": globally(PID), "deviceId": 0, "contextId": 1, "address": 4096, "memKind": 2}
    tables: Tables = {
        "CUDA_GPU_MEMORY_USAGE_EVENTS": [
            {**event, "start": 30, "bytes": 100, "memoryOperationType": 1},
            {**event, "start": 10, "bytes": 100, "memoryOperationType": 0},
            {**event, "start": 20, "bytes": 28, "memoryOperationType": 0},
        ],
        "GPU_METRICS": [{"timestamp": 15, "typeId": 4, "metricId": 2, "value": 61},
                        {"timestamp": 16, "typeId": 5, "metricId": 2, "value": 62}],
        "TARGET_INFO_GPU_METRICS": [{"typeId": 4, "metricId": 2, "metricName": "SMs Active [Throughput %]"},
                                    {"typeId": 5, "metricId": 2, "metricName": "SMs Active [Throughput %]"}],
        KERNEL: [kernel(5, 6, 0)],
        "TARGET_INFO_GPU": NAMED["TARGET_INFO_GPU"],
    }  # fmt: skip
    check(
        tmp_path,
        tables,
        """
        clock relative None
        process 9 pid=9 rank=None window=5:6 host=algo-1
          device 0 'NVIDIA H100' used
          kernel 0/7.0 5+1 void gemm<float>(float*) grid=50,1,1 block=256,2,1 registers_per_thread=38 \
shared_memory_bytes=1024 context=1 {"mangledName": "_Z4gemmIfEvPf", "shortName": "gemm"}
          counter 10 CUDA memory in use, Device [bytes] 100 device=0 {"bytes": 100, "memoryOperationType": 0}
          counter 15 SMs Active [Throughput %] 61 device=0
          counter 16 SMs Active [Throughput %], GPU 5 62
          counter 20 CUDA memory in use, Device [bytes] 128 device=0 {"bytes": 28, "memoryOperationType": 0}
          counter 30 CUDA memory in use, Device [bytes] 28 device=0 {"bytes": 100, "memoryOperationType": 1}
        """,
    )


def test_the_smallest_shapes_that_tools_write(tmp_path: Path) -> None:
    """No globalPid, no TARGET_INFO: rows without a process belong to the only one that any row names."""
    bare = {"start": 200, "end": 260, "deviceId": 2, "streamId": 7, "correlationId": 5, "shortName": string("gemm")}
    check(
        tmp_path,
        {KERNEL: [bare], RUNTIME: [api(100, 130, 5)]},
        """
        clock relative None
        process 9 pid=9 rank=None window=100:260 host=algo-1
          thread 11
          device 2 '' used
          api 11.0 100+30 cudaLaunchKernel_v7000 correlation=5
          kernel 2/7.0 200+60 gemm correlation=5 <- cudaLaunchKernel_v7000@100
        """,
    )


def test_nothing_but_names_is_an_empty_profile(tmp_path: Path) -> None:
    check(tmp_path, {}, "clock relative None\nprocess 0 pid=None rank=None window=- host=algo-1")


def test_no_process_named_anywhere(tmp_path: Path) -> None:
    call = {"start": 100, "end": 130, "correlationId": 5, "nameId": string("cudaLaunchKernel_v7000")}
    bare = {"start": 200, "end": 260, "deviceId": 0, "streamId": 7, "correlationId": 5, "shortName": string("gemm")}
    check(
        tmp_path,
        {KERNEL: [bare], RUNTIME: [call]},
        """
        clock relative None
        process 0 pid=None rank=None window=100:260 host=algo-1
          thread -2 thread not recorded
          device 0 '' used
          api -2.0 100+30 cudaLaunchKernel_v7000 correlation=5
          kernel 0/7.0 200+60 gemm correlation=5 <- cudaLaunchKernel_v7000@100
        """,
    )


def test_devices_are_numbered_as_their_process_does(tmp_path: Path) -> None:
    tables: Tables = {
        KERNEL: [kernel(1, 2, 0), kernel(1, 2, 0, pid=20)],
        "TARGET_INFO_GPU": NAMED["TARGET_INFO_GPU"],
        "TARGET_INFO_CUDA_DEVICE": [
            {"gpuId": 5, "cudaId": 0, "pid": PID},
            {"gpuId": 4, "cudaId": 0, "pid": 20},
            {"gpuId": 5, "cudaId": 1, "pid": 20},
        ],
    }  # fmt: skip
    database(tmp_path / "db", tables)
    convert.import_file(tmp_path / "db", tmp_path / "out")
    listed = [[(d.index, d.name, d.used) for d in p.info.devices] for p in Profile.open(tmp_path / "out").processes]
    assert listed == [[(0, "NVIDIA L4", True)], [(0, "NVIDIA H100", True), (1, "NVIDIA L4", False)]]


def test_times_normalised_to_unix_time_need_no_offset(tmp_path: Path) -> None:
    start = 1700000000000000005
    database(tmp_path / "db", {RUNTIME: [api(start, start + 1, 1)], **NAMED})
    convert.import_file(tmp_path / "db", tmp_path / "out", shift_ns=-7)
    profile = Profile.open(tmp_path / "out")
    assert (profile.manifest.clock.kind, profile.manifest.clock.unix_offset_ns) == ("unix", 0)
    assert profile.begin_ns == start - 7


def test_two_exports_are_aligned_and_every_process_is_kept(tmp_path: Path) -> None:
    for number, pids in enumerate(((9, 20), (9, 21))):
        started = {"TARGET_INFO_SESSION_START_TIME": [{"utcEpochNs": 1700000000000000000 + 1000 * number}]}
        calls = [api(100, 130, 5, pid=pid) for pid in pids]
        marks = [{"start": 1, "eventType": 34, "text": "m", "globalTid": globally(9, 11)}]
        database(tmp_path / f"{number}.sqlite", {RUNTIME: calls, "NVTX_EVENTS": marks, **started})
    out = convert.import_traces([tmp_path / "0.sqlite", tmp_path / "1.sqlite"], tmp_path / "out")
    profile = Profile.open(out)
    assert [(p.info.process, p.info.windows_ns) for p in profile.processes] == [
        ("9", [[-900, -870]]), ("9-2", [[100, 130]]), ("20", [[-900, -870]]), ("21", [[100, 130]]),
    ]  # fmt: skip
    assert profile.manifest.clock.unix_offset_ns == 1700000000000001000
    assert [(loss.kind, loss.count, loss.detail) for loss in profile.losses if loss.kind == "instant"] == [
        ("instant", 1, "0.sqlite: table NVTX_EVENTS: marks"), ("instant", 1, "1.sqlite: table NVTX_EVENTS: marks"),
    ]  # fmt: skip
    assert len(profile.manifest.sources) == 2


SECRET = "hunter2-SECRET"


def test_the_environment_inside_is_never_written(tmp_path: Path) -> None:
    tables: Tables = {
        **NAMED,
        KERNEL: [kernel(1, 2, 0)],
        "PROCESSES": [{"globalPid": globally(PID), "pid": PID, "name": f"/home/{SECRET}/python3 --key={SECRET}"}],
        "TARGET_INFO_SYSTEM_ENV": [
            {"globalVid": 1 << 48, "name": name, "value": f"TOKEN={SECRET}"}
            for name in ("DeviceEnvironment", "NamespacePID", "CpuInfo")
        ],
        "META_DATA_CAPTURE": [{"name": "ENV", "value": SECRET}, {"name": "COMMAND", "value": SECRET}],
        "META_DATA_EXPORT": [{"name": "EXPORT_USER", "value": SECRET},
                             {"name": "EXPORT_PRODUCT_VERSION", "value": f"{SECRET} 1"},
                             {"name": "EXPORT_SCHEMA_VERSION", "value": "3.25.0"}],
        "ProcessStreams": [{"globalPid": globally(PID), "contentId": 100 + len(STRINGS)}],
        "ANALYSIS_FILE": [{"id": 1, "filename": SECRET, "content": SECRET, "globalPid": globally(PID)}],
        "DIAGNOSTIC_EVENT": [{"timestamp": 1, "text": SECRET}],
        "TARGET_INFO_PROCESS": [{"environment": SECRET}],
        "PROCESS_ENVIRONMENT": [{"name": "KEY", "value": SECRET}],
    }  # fmt: skip
    database(tmp_path / "db", tables, (*STRINGS, SECRET))
    assert SECRET.encode() in (tmp_path / "db").read_bytes()
    out = convert.import_traces([tmp_path / "db"], tmp_path / "out")
    process = Profile.open(out).processes[0]
    assert process.info.metadata["nsight_systems"]["schema_version"] == "3.25.0"
    assert len(process.names) > 0
    written = [path for path in out.rglob("*") if path.is_file()]
    assert sum(path.suffix == ".parquet" for path in written) > 3
    for path in written:
        assert SECRET.encode() not in path.read_bytes(), path.name
        if path.suffix == ".parquet":
            # Pages are compressed: what they hold is looked at as well.
            assert SECRET not in str(pq.read_table(path).to_pydict()), path.name


def test_the_users_file_and_folder_stay_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "user"
    folder.mkdir()
    path = database(folder / "trace.sqlite", {KERNEL: [kernel(1, 2, 0)]}, script="PRAGMA journal_mode = WAL")
    for beside in folder.glob("*-*"):
        beside.unlink()
    before = hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns
    os.chmod(folder, 0o555)
    convert.import_file(path, tmp_path / "out")
    os.chmod(folder, 0o755)
    assert [entry.name for entry in folder.iterdir()] == ["trace.sqlite"]
    assert (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) == before


def test_a_write_ahead_log_beside_it_is_counted(tmp_path: Path) -> None:
    path = database(tmp_path / "trace.sqlite", {KERNEL: [kernel(1, 2, 0)]})
    (tmp_path / "trace.sqlite-wal").write_bytes(b"x" * 100)
    convert.import_file(path, tmp_path / "out")
    assert [(loss.kind, loss.count) for loss in Profile.open(tmp_path / "out").losses] == [("truncated_source", 1)]


@pytest.mark.parametrize("name", ["nsysai_mfu_2gpu_before", "pipit_cloverleaf_cuda_2023"])
def test_every_row_of_a_real_export_is_shown_or_counted(traces: Path, tmp_path: Path, name: str) -> None:
    path = traces / "nsys" / f"{name}.sqlite"
    convert.import_file(path, tmp_path / "out")
    profile = Profile.open(tmp_path / "out")
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    tables = [table for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    counts = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
    times = {}
    for table in tables:
        if {"start", "end"} <= {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}:
            times[table] = sorted(connection.execute(f'SELECT start, "end" - start FROM {table}').fetchall())
    connection.close()
    device = sorted(row for table in (KERNEL, MEMCPY, MEMSET) for row in times.pop(table, []))
    annotation = times.pop("NVTX_EVENTS", [])
    host = sorted(row for rows in times.values() for row in rows)
    for table, wanted in (("device", device), ("annotation", annotation), ("host", host)):
        got: list[tuple[int, int]] = []
        for process in profile.processes:
            columns = process.table(table)
            got += zip(columns["start_ns"].tolist(), columns["duration_ns"].tolist(), strict=True)
        assert sorted(got) == wanted, table
    unread = {loss.detail.removeprefix("table "): loss.count for loss in profile.losses}
    wanted_unread = ("SCHED_EVENTS", "COMPOSITE_EVENTS", "SAMPLING_CALLCHAINS", "OSRT_CALLCHAINS", "DIAGNOSTIC_EVENT")
    assert unread == {table: counts[table] for table in wanted_unread if counts.get(table)}


def test_an_old_database_of_nvprof_is_named(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "db") as connection:
        connection.execute("CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT)")
    with pytest.raises(ProfileError, match="nvprof"):
        convert.import_file(tmp_path / "db", tmp_path / "out")
    assert not (tmp_path / "out").exists()
