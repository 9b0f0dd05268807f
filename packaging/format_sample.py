"""Writes the stored sample of the current format version, once per version: `python packaging/format_sample.py FOLDER`.

The sample must never be made anew for a version that was released: it shows that old profiles still open.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from smprof.profile.manifest import Clock, Device, Host, Manifest, Process, Thread
from smprof.profile.writer import ProfileWriter


def write_sample(folder: Path) -> None:
    """A profile that uses every table and every kind of value."""
    manifest = Manifest(
        name="sample", created_by="smprof-desktop", clock=Clock("unix"), hosts=[Host("algo-1", "ml.g5")]
    )
    writer = ProfileWriter(folder, manifest)
    info = Process("algo-1", "0", pid=42, rank=0, name="python", windows_ns=[[0, 900]], recorded=["device", "api"])
    info.threads = [Thread(42, "main")]
    info.devices = [Device(0, "NVIDIA H100", used=True, memory_bytes=80 << 30)]
    process = writer.process(info)
    long_name = "void cutlass::Kernel<" + "int, " * 400 + "float>()"
    names = process.name_ids(["gemm", long_name, "Memcpy HtoD", "ÿ𝔘\u0000|\"'<b>", b"caf\xff", "lone \ud800"])
    shapes = [process.shape_id(int(name), (8, 2, 1), (128,), 32, 1024, 0.5, 16.0, 63.0) for name in names]
    process.append(
        "device",
        {
            "kind": ["kernel", "kernel", "memcpy", "memset", "kernel"],
            "device": [0, 0, 0, 0, 0],
            "stream": [7, 7, 7, 9, -1],
            "start_ns": [100, 103, 400, 500, 600],
            "duration_ns": [50, 40, 25, 0, 5],
            "shape_id": [shapes[0], shapes[1], shapes[2], shapes[3], shapes[4]],
            "correlation": [5, 5, 6, -1, 99],
            "bytes": [-1, -1, 4096, 16, -1],
            "copy_kind": [None, None, "HtoD", None, None],
            "graph": [3, 3, -1, -1, -1],
            "graph_node": [1, 2, -1, -1, -1],
        },
    )
    at = np.arange(300, dtype=np.int64)
    process.append(
        "device",
        {
            "kind": ["kernel"] * 300,
            "device": at * 0 + 1,
            "stream": at * 0 + 8,
            "start_ns": 1000 + 10 * at,
            "duration_ns": at % 10,
            "shape_id": at * 0 + process.shape_id(process.name_id("tick")),
        },
    )
    hosts = process.append(
        "host",
        {
            "kind": ["op", "api", "api", "python", "sync", "overhead", "other"],
            "thread": [42, 42, 42, 42, -1, 0, 43],
            "start_ns": [10, 20, 30, 5, 450, 460, 0],
            "duration_ns": [60, 8, 9, 800, 25, 3, 900],
            "name_id": process.name_ids(
                [
                    "aten::mm",
                    "cudaGraphLaunch",
                    "cudaMemcpyAsync",
                    "train.py(7): step",
                    "Stream Sync",
                    "Buffer Flush",
                    "Trace",
                ]
            ),
            "correlation": [-1, 5, 6, -1, 8, -1, -1],
            "external_id": [11, 11, 12, -1, -1, -1, -1],
            "sequence": [4, -1, -1, -1, -1, -1, -1],
            "device": [-1, -1, -1, -1, 0, -1, -1],
            "stream": [-1, -1, -1, -1, 7, -1, -1],
        },
    )
    process.append(
        "annotation",
        {
            "side": ["host", "device"],
            "thread": [42, -1],
            "device": [-1, 0],
            "stream": [-1, 7],
            "start_ns": [0, 100],
            "duration_ns": [850, 50],
            "name_id": process.name_ids(["step_1", "step_1"]),
            "source": ["smprof", "user_annotation"],
        },
    )
    process.append(
        "counter",
        {
            "name_id": process.name_ids(["memory allocated [bytes]"] * 3),
            "device": [0, 0, -1],
            "time_ns": [10, 20, 30],
            "value": [1024.0, float("nan"), 2048.5],
        },
    )
    process.append(
        "args",
        {
            "table": ["host", "host"],
            "key": ["Input Dims", "Ev Idx"],
            "id": hosts[[0, 0]],
            "integer": [-1, 7],
            "text": ["[[2, 3], []]", None],
        },
    )
    process.lose("unlinked_execution", 1, "as recorded")
    writer.finish()


if __name__ == "__main__":
    write_sample(Path(sys.argv[1]))
