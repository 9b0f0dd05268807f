"""A profile from a readable text, one line per slice: what tests of analysis, lanes and scene start from.

    host algo-1
    process 0 pid=100 window=0:100 windows=0:40,60:100       everything below belongs to this process
    thread 1 main
    device 0 "NVIDIA H100" used                              a device in the manifest
    kernel 0/7 20+10 gemm corr=5 grid=8,1,1 block=128,1,1 registers=32 shared=1024
    memcpy 0/7 35+5 "Memcpy HtoD" corr=6 bytes=4096 copy=HtoD
    memset 0/7 41+1 Memset bytes=16
    api 1 10+3 cudaLaunchKernel corr=5                       so op, python, overhead, other: THREAD START+DURATION NAME
    op 1 5+20 aten::mm sequence=3 forward=1 external=9
    sync 0/7 50+5 "Stream Sync"                              a synchronisation record: DEVICE/STREAM
    annotation 1 0+60 step_0 source=nvtx
    annotation 0/7 20+30 step_0                              a copy on the device
    counter 10 "gpu utilization" 55.5 device=0               TIME NAME VALUE, `gap` for no value
    arg "Input Dims" [[2,3]]                                 of the slice above it
    loss gap_value 2 "where it was"

Times are ns. A line that begins with # and an empty one say nothing. Without `host` and `process` lines everything
belongs to process 0 of algo-1.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from smprof.profile.manifest import Device, Host, Manifest, Process, Thread
from smprof.profile.reader import Profile
from smprof.profile.schema import DEVICE_KINDS, HOST_KINDS
from smprof.profile.writer import ProcessWriter, ProfileWriter

_COLUMNS = {
    "corr": "correlation",
    "external": "external_id",
    "sequence": "sequence",
    "forward": "forward_thread",
    "context": "context",
    "graph": "graph",
    "node": "graph_node",
    "bytes": "bytes",
    "copy": "copy_kind",
    "device": "device",
    "cpu": "cpu",
    "source": "source",
}
_SHAPE = {"grid", "block", "registers", "shared"}


def make_profile(folder: Path, text: str, name: str = "tiny") -> Profile:
    """Write the profile that `text` describes into `folder` and open it."""
    return Profile.open(write_profile(folder, text, name))


def write_profile(folder: Path, text: str, name: str = "tiny") -> Path:
    """Write the profile that `text` describes into `folder`."""
    return _Text(folder, name).write(text)


class _Text:
    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._manifest = Manifest(name=name)
        self._writer = ProfileWriter(folder, self._manifest)
        self._host = ""
        self._process: ProcessWriter | None = None
        self._last: tuple[str, int] = ("", 0)

    def write(self, text: str) -> Path:
        for line in text.splitlines():
            words = shlex.split(line, comments=line.lstrip().startswith("#"))
            if words:
                self._line(words[0], [word for word in words[1:] if not _is_option(word)], _options(words[1:]))
        self._open_process()
        self._writer.finish()
        return self._folder

    def _line(self, what: str, words: list[str], options: dict[str, str]) -> None:
        if what == "host":
            self._host = words[0]
            self._manifest.hosts.append(Host(words[0]))
        elif what == "process":
            self._new_process(words[0], options)
        elif what == "thread":
            self._open_process().info.threads.append(Thread(int(words[0]), " ".join(words[1:])))
        elif what == "device":
            named = Device(int(words[0]), words[1] if len(words) > 1 else "", used="used" in words[2:])
            self._open_process().info.devices.append(named)
        elif what == "loss":
            self._open_process().lose(words[0], int(words[1]), " ".join(words[2:]))
        elif what == "arg":
            self._argument(words[0], " ".join(words[1:]))
        elif what == "counter":
            value = None if words[2] == "gap" else float(words[2])
            row = {"name_id": self._name(words[1]), "time_ns": int(words[0]), "value": value, **_numbers(options)}
            self._append("counter", row)
        else:
            self._slice(what, words, options)

    def _slice(self, what: str, words: list[str], options: dict[str, str]) -> None:
        where, when, name = words[0], words[1], " ".join(words[2:])
        start_ns, _, duration_ns = when.rpartition("+")
        row: dict[str, Any] = {"start_ns": int(start_ns), "duration_ns": int(duration_ns), **_numbers(options)}
        if "/" in where:
            device, _, stream = where.partition("/")
            row |= {"device": int(device), "stream": int(stream)}
        else:
            row["thread"] = int(where)
        if what in DEVICE_KINDS:
            self._append("device", {**row, "kind": what, "shape_id": self._shape(name, options)})
        elif what in HOST_KINDS:
            row.setdefault("thread", -1)
            self._append("host", {**row, "kind": what, "name_id": self._name(name)})
        elif what == "annotation":
            row.setdefault("source", "user_annotation")
            side = "device" if "/" in where else "host"
            self._append("annotation", {**row, "side": side, "name_id": self._name(name)})
        else:
            raise ValueError(f"no such line: {what}")

    def _shape(self, name: str, options: dict[str, str]) -> int:
        def extent(key: str) -> tuple[int, ...] | None:
            return tuple(int(size) for size in options[key].split(",")) if key in options else None

        registers, shared = options.get("registers"), options.get("shared")
        return self._open_process().shape_id(
            self._name(name),
            grid=extent("grid"),
            block=extent("block"),
            registers=int(registers) if registers is not None else None,
            shared_memory_bytes=int(shared) if shared is not None else None,
        )

    def _argument(self, key: str, value: str) -> None:
        table, row = self._last
        whole = value.lstrip("-").isdigit()
        column = {"integer": [int(value)], "text": None} if whole else {"integer": None, "text": [value]}
        self._open_process().append("args", {"table": [table], "key": [key], "id": [row], **column})

    def _append(self, table: str, row: dict[str, Any]) -> None:
        ids = self._open_process().append(table, {column: [value] for column, value in row.items()})
        self._last = (table, int(ids[0]))

    def _name(self, text: str) -> int:
        return self._open_process().name_id(text)

    def _new_process(self, name: str, options: dict[str, str]) -> None:
        if not self._host:
            self._line("host", ["algo-1"], {})
        windows = options.get("windows", options.get("window", ""))
        info = Process(
            host=self._host,
            process=name,
            pid=int(options["pid"]) if "pid" in options else None,
            rank=int(options.get("rank", name))
            if "rank" in options or (name.isdigit() and "pid" not in options)
            else None,
            windows_ns=[[int(edge) for edge in window.split(":")] for window in windows.split(",") if window],
        )
        self._process = self._writer.process(info)

    def _open_process(self) -> ProcessWriter:
        if self._process is None:
            self._new_process("0", {})
        assert self._process is not None
        return self._process


def _is_option(word: str) -> bool:
    return word.partition("=")[0] in _COLUMNS.keys() | _SHAPE | {"pid", "rank", "window", "windows"} and "=" in word


def _options(words: list[str]) -> dict[str, str]:
    return {key: value for key, _, value in (word.partition("=") for word in words if _is_option(word))}


def _numbers(options: dict[str, str]) -> dict[str, Any]:
    """The options that are columns, numbers as numbers."""
    return {
        _COLUMNS[key]: value if key in ("copy", "source") else int(value)
        for key, value in options.items()
        if key in _COLUMNS
    }
