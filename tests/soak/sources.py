"""What the soak damages: small traces and profiles, made here, and the small public traces where they are at hand."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from smprof.profile.manifest import Device, Host, Manifest, Process
from smprof.profile.writer import ProfileWriter

_MOST_BYTES = 200_000
_REPOSITORY = Path(__file__).resolve().parents[2]


def traces() -> dict[str, bytes]:
    """JSON texts by name."""
    found = {"kineto": _text(kineto_events()), "chrome": json.dumps(chrome_events()).encode()}
    public = Path(os.environ.get("SMPROF_TRACES") or _REPOSITORY.parent / "shared" / "traces")
    for path in sorted((*public.glob("kineto/*.gz"), *public.glob("chrome/*.json"))):
        data = path.read_bytes()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        if len(data) < _MOST_BYTES:
            found[path.name] = data
    return found


def _text(events: list[dict[str, Any]]) -> bytes:
    keys = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "distributedInfo": {"rank": 0}}
    return json.dumps({**keys, "traceEvents": events, "baseTimeNanoseconds": 5}).encode()


def kineto_events(steps: int = 8) -> list[dict[str, Any]]:
    """A training run in small: steps, operators, calls, kernels, copies, flows, frames, memory, markers."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "ts": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "thread_name", "pid": 9, "tid": 9, "ts": 0, "args": {"name": "main"}},
        {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 5},
    ]
    host, ids = {"ph": "X", "pid": 9, "tid": 9}, iter(range(1, 10_000))
    for step in range(steps):
        t = 1000.125 * step
        events.append({**host, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": t, "dur": 900.5})
        events.append({**host, "cat": "python_function", "name": "train.py(1): step", "ts": t + 1, "dur": 890})
        for layer in range(5):
            at, number = t + 10 + 50 * layer, next(ids)
            args = {"External id": number, "correlation": number, "cbid": 211}
            op = {"External id": number, "Sequence number": layer, "Input Dims": [[2, layer], []], "x": 0.5}
            events.append({**host, "cat": "cpu_op", "name": f"aten::{'mm' * layer}", "ts": at, "dur": 40, "args": op})
            call = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 5, "dur": 3, "args": args}
            events.append({**host, **call})
            shape = {"grid": [layer, 1, 1], "block": [64, 1, 1], "registers per thread": 30, "device": 0, "stream": 7}
            kernel = {"ph": "X", "cat": "kernel", "name": 'void k<"a", {}>()', "pid": 0, "tid": 7, "ts": at + 20}
            events.append({**kernel, "dur": 61.5, "args": {**args, **shape, "est. achieved occupancy %": 31}})
            events.append({"ph": "s", "id": number, "cat": "ac2g", "name": "ac2g", "pid": 9, "tid": 9, "ts": at + 5})
            events.append({"ph": "f", "id": number, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": at + 20})
        memory = {"Device Type": 1, "Device Id": 0, "Bytes": 64 * step, "Total Allocated": 10_000}
        events.append({"ph": "i", "s": "t", "name": "[memory]", "pid": 9, "tid": 9, "ts": t + 3, "args": memory})
        copy = {"device": 0, "stream": 8, "bytes": 4096, "correlation": next(ids)}
        name = "Memcpy HtoD (Pinned -> Device)"
        events.append({**kernel, "cat": "gpu_memcpy", "name": name, "ts": t + 400, "dur": 9, "tid": 8, "args": copy})
        sync = {"cuda_sync_kind": "Stream Sync", "stream": 7, "correlation": next(ids), "device": 0}
        events.append({**kernel, "cat": "cuda_sync", "name": "Stream Sync", "ts": t + 500, "dur": 2, "args": sync})
    return events


def chrome_events() -> list[dict[str, Any]]:
    """Two processes with pairs, asynchronous events, counters, flows and instants."""
    events: list[dict[str, Any]] = []
    for pid in (3, 4):
        at = {"pid": pid, "tid": 1}
        for n in range(30):
            t = 100 * n + pid
            events += [
                {**at, "ph": "B", "name": f"outer {n % 4}", "ts": t, "args": {"n": n}},
                {**at, "ph": "X", "name": "inner", "ts": t + 1, "dur": 20, "tts": t},
                {**at, "ph": "i", "s": "t", "name": "tick", "ts": t + 2},
                {**at, "ph": "s", "cat": "f", "name": "flow", "id": n, "ts": t + 3},
                {**at, "ph": "E", "name": f"outer {n % 4}", "ts": t + 50},
                {**at, "ph": "b", "cat": "net", "name": "load", "id": n % 7, "ts": t + 4},
                {**at, "ph": "n", "cat": "net", "name": "retry", "id": n % 7, "ts": t + 5},
                {**at, "ph": "e", "cat": "net", "name": "load", "id": n % 7, "ts": t + 60},
                {"pid": pid, "ph": "C", "name": "heap", "ts": t, "args": {"used": n, "free": 0.5}},
            ]
    return events


def write_profile(folder: Path, merge: bool, rows: int = 1_500) -> Path:
    """A small profile of two processes."""
    chance = np.random.default_rng(7)
    hosts = [Host("algo-1", "ml.x", {"k": [1]})]
    writer = ProfileWriter(folder, Manifest(name="soak", hosts=hosts), segment_rows=rows // 3)
    for rank in range(2):
        info = Process("algo-1", str(rank), rank=rank, devices=[Device(rank, "GPU", True)], windows_ns=[[0, 10**9]])
        process = writer.process(info)
        for _ in range(3):
            start = chance.integers(0, 10**9, rows // 3)
            names = process.name_ids([f"kernel {n}" for n in chance.integers(0, 90, len(start))])
            slices = {"start_ns": start, "duration_ns": chance.integers(0, 10**5, len(start))}
            calls = {**slices, "kind": ["api"] * len(start), "thread": chance.integers(1, 4, len(start))}
            correlation = chance.integers(1, 10**4, len(start))
            ids = process.append("host", {**calls, "name_id": names, "correlation": correlation})
            shapes = [process.shape_id(int(name), (int(name) % 7 + 1, 1, 1)) for name in names]
            placed = {"device": np.full(len(start), rank), "stream": chance.integers(6, 9, len(start))}
            kernels = {**slices, **placed, "kind": np.zeros(len(start), np.int8), "shape_id": shapes}
            process.append("device", {**kernels, "correlation": correlation})
            process.append("args", {"table": ["host"] * 50, "key": ["k"] * 50, "id": ids[:50], "integer": start[:50]})
            process.append("counter", {"name_id": names[:50], "time_ns": start[:50], "value": chance.random(50)})
    writer.finish(merge)
    return folder


def one_of(texts: dict[str, bytes], chance: Random) -> tuple[str, bytes]:
    """Any of them; those made here as often as all others together."""
    names = sorted(texts)
    name = chance.choice(("kineto", "chrome")) if chance.random() < 0.5 else chance.choice(names)
    return name, texts[name]
