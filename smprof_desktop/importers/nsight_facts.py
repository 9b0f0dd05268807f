"""What an Nsight Systems export says about itself: clock, hosts, processes, threads, GPUs, names of numbers.

Only the rows named here are asked for: what the file keeps of environment, command lines and output never leaves it.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from smprof.profile.manifest import Device
from smprof_desktop.importers.nsight_database import Database

PID_BITS, TID_BITS = 24, 24
"""A `globalTid` is host, pid, tid, from the highest bits on; `globalPid` the same with tid 0."""

COPY_LABELS = {
    0: "Unknown", 1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH",
    10: "PtoP", 11: "Unified HtoD", 12: "Unified DtoH", 13: "Unified DtoD",
}  # fmt: skip
MEMORY_LABELS = {
    0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed", 5: "Device Static", 6: "Managed Static",
    7: "Unknown",
}  # fmt: skip
SYNC_LABELS = {0: "Sync", 1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
"""As PyTorch's traces name them."""

_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,40}")
_GPU_COLUMNS = ("id", "name", "totalMemory", "cuDevice", "busLocation", "smCount", "computeMajor", "computeMinor")
_PROPERTIES = ("busLocation", "smCount", "computeMajor", "computeMinor")
_MOST_NAME_CHARACTERS = 200


class Facts:
    """Read once per file. Processes go by key: their globalPid without the bits of the thread."""

    def __init__(self, database: Database) -> None:
        self.versions = _versions(database)
        self.start_utc_ns = _start_utc_ns(database)
        self.copy_labels = _labels(database, "ENUM_CUDA_MEMCPY_OPER") | COPY_LABELS
        self.memory_labels = _labels(database, "ENUM_CUDA_MEM_KIND") | MEMORY_LABELS
        self.sync_labels = _labels(database, "ENUM_CUPTI_SYNC_TYPE") | SYNC_LABELS
        self.metric_names = {
            (kind, metric): _text(name)
            for kind, metric, name in database.small("TARGET_INFO_GPU_METRICS", "typeId", "metricId", "metricName")
        }
        self.thread_names = _thread_names(database)
        self._process_names = {
            global_pid >> TID_BITS: _text(name)
            for global_pid, name in database.small("PROCESSES", "globalPid", "name")
            if type(global_pid) is int
        }
        self._hosts = _hosts(database)
        self._gpus = [
            dict(zip(_GPU_COLUMNS, row, strict=True)) for row in database.small("TARGET_INFO_GPU", *_GPU_COLUMNS)
        ]
        self._gpu_of = {
            (pid, cuda): gpu
            for pid, cuda, gpu in database.small("TARGET_INFO_CUDA_DEVICE", "pid", "cudaId", "gpuId")
            if type(pid) is int and type(cuda) is int
        }

    def host(self, key: int) -> str:
        """The name of the machine that a process ran on; empty where it is not known."""
        return self._hosts.get(key >> PID_BITS) or (next(iter(self._hosts.values())) if len(self._hosts) == 1 else "")

    def process_name(self, key: int) -> str:
        """The program's name, without folder and arguments."""
        return re.split(r"[/\\]", self._process_names.get(key, "").split(" ")[0])[-1]

    def devices(self, pid: int | None, used: set[int]) -> list[Device]:
        """The GPUs that a process used, and those that it could see, by its own numbers."""
        visible = {cuda for owner, cuda in self._gpu_of if owner == pid and 0 <= cuda < 1 << 31}
        return [self._device(pid, index, index in used) for index in sorted(used | visible)]

    def gpu(self, pid: int | None, index: int) -> int | None:
        """The number of a process's GPU on its machine."""
        described = self._description(pid, index)
        return described["id"] if described is not None and type(described["id"]) is int else None

    def _device(self, pid: int | None, index: int, used: bool) -> Device:
        described = self._description(pid, index)
        if described is None:
            names = {gpu["name"] for gpu in self._gpus}
            return Device(index, _text(names.pop()) if len(names) == 1 else "", used)
        memory = described["totalMemory"]
        properties: dict[str, Any] = {}
        for column in _PROPERTIES:
            value = described[column]
            if value is not None:
                properties[column] = value if type(value) is int else _text(value)
        return Device(
            index,
            _text(described["name"]),
            used,
            memory if type(memory) is int and memory > 0 else None,
            properties,
        )

    def _description(self, pid: int | None, index: int) -> dict[str, Any] | None:
        """By the process's own table of devices, else by CUDA's number, else by that of the machine."""
        own = self._gpu_of.get((pid, index)) if pid is not None else None
        wanted = (("id", own),) if own is not None else (("cuDevice", index), ("id", index))
        for column, value in wanted:
            found = [gpu for gpu in self._gpus if type(gpu[column]) is int and gpu[column] == value]
            if len(found) == 1:
                return found[0]
        return None


def _versions(database: Database) -> dict[str, str]:
    wanted = {"EXPORT_PRODUCT_VERSION": "product_version", "EXPORT_SCHEMA_VERSION": "schema_version"}
    versions: dict[str, str] = {}
    for table in ("META_DATA_EXPORT", "EXPORT_META_DATA"):
        for name, value in database.small(table, "name", "value", where="name", values=tuple(wanted)):
            if _VERSION.fullmatch(_text(value)):
                versions[wanted[_text(name)]] = _text(value)
    return versions


def _start_utc_ns(database: Database) -> int | None:
    for (value,) in database.small("TARGET_INFO_SESSION_START_TIME", "utcEpochNs"):
        if type(value) is int and 0 < value < 1 << 62:
            return value
    return None


def _hosts(database: Database) -> dict[int, str]:
    rows = database.small("TARGET_INFO_SYSTEM_ENV", "globalVid", "value", where="name", values=("Hostname",))
    return {
        (identity >> (PID_BITS + TID_BITS) if type(identity) is int else 0): _text(value)
        for identity, value in rows
        if _text(value)
    }


def _thread_names(database: Database) -> dict[int, str]:
    rows = database.small("ThreadNames", "globalTid", "nameId")
    ids = [(thread, name) for thread, name in rows if type(thread) is int and type(name) is int]
    codes = database.texts.of_ids(np.array([name for _thread, name in ids], np.int64)).tolist()
    return {thread: database.texts.text(code) for (thread, _name), code in zip(ids, codes, strict=True)}


def _labels(database: Database, table: str) -> dict[int, str]:
    rows = database.small(table, "id", "label", "name")
    return {number: _text(label) or _text(name) for number, label, name in rows if type(number) is int}


def _text(value: Any) -> str:
    """A cell as one line of readable text."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else "" if value is None else str(value)
    return " ".join(text.split())[:_MOST_NAME_CHARACTERS]
