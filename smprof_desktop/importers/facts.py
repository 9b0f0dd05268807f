"""What a trace says about itself → the process, devices, threads and clock of the manifest."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from smprof.profile.manifest import Clock, Device, Process
from smprof_desktop.importers.kineto import TraceImport
from smprof_desktop.importers.threads import Id

UNIX_NS = 10**18
"""Times from here on (2001) are taken as Unix time: no machine has been running for 31 years."""

_WORKER_FILE = re.compile(r"(?P<host>.+)_(?P<pid>\d+)\.\d+\.pt\.trace\.json(?:\.gz)?")
_PLACED_KEYS = frozenset({"deviceProperties", "baseTimeNanoseconds"})
_MOST_UNKNOWN_ROWS = 200


def describe(process: Process, trace: TraceImport, keys: dict[str, Any], file_name: str) -> Clock:
    """Fill `process` from a trace that was read and its other top-level keys; gives its clock."""
    names, labels, order, others = _metadata_of(trace.metadata_rows)
    process.pid = _main_pid(trace, labels)
    process.rank = _rank(keys)
    process.host = host_of_file(file_name, set(trace.pids))
    process.process = str(process.rank if process.rank is not None else process.pid if process.pid is not None else "")
    process.name = (
        names["process_name"].get((process.pid, 0)) or _any_name(names["process_name"], process.pid) or _stem(file_name)
    )
    process.windows_ns = [list(trace.window_ns)] if trace.window_ns is not None else []
    process.recorded = sorted(trace.recorded)
    process.devices = _devices(keys.get("deviceProperties"), set(trace.executions.column("device").tolist()))
    process_names = {pid: name for (pid, _tid), name in names["process_name"].items()}
    process.threads = trace.threads.listed(names["thread_name"], process_names, order)
    process.metadata = {key: value for key, value in keys.items() if key not in _PLACED_KEYS}
    if labels:
        process.metadata["process_labels"] = {str(pid): label for pid, label in labels.items()}
    if others:
        process.metadata["metadata_events"] = others
    if trace.markers:
        process.metadata["instants"] = trace.markers
    return _clock(trace.first_ns, keys.get("baseTimeNanoseconds"))


def host_of_file(file_name: str, pids: set[int]) -> str:
    """The host of a file named `<host>_<pid>.<ms>.pt.trace.json`, if that pid occurs in it; else an empty text.

    `worker0_step_12.…` names no host: pid 12 is nowhere in it.
    """
    found = _WORKER_FILE.fullmatch(file_name)
    return found["host"] if found is not None and int(found["pid"]) in pids else ""


def _clock(first_ns: int | None, base: Any) -> Clock:
    if first_ns is not None and first_ns >= UNIX_NS:
        return Clock("unix", 0)
    known = isinstance(base, int) and not isinstance(base, bool) and 0 < base < 1 << 63
    return Clock("relative", base if known else None)


def _rank(keys: dict[str, Any]) -> int | None:
    distributed = keys.get("distributedInfo")
    rank = distributed.get("rank") if isinstance(distributed, dict) else None
    if isinstance(rank, str) and rank.isascii() and rank.isdigit():
        rank = int(rank)
    return rank if isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank < 1 << 31 else None


def _main_pid(trace: TraceImport, labels: dict[Id, str]) -> int | None:
    """The pid labelled CPU, else the one of most host slices above 0, else any of host slices."""
    marked = [pid for pid, label in labels.items() if label == "CPU" and isinstance(pid, int)]
    if len(marked) == 1:
        return marked[0]
    ranked = sorted(trace.pids, key=lambda pid: (pid <= 0, -trace.pids[pid], pid))
    return ranked[0] if ranked and -(1 << 63) <= ranked[0] < 1 << 63 else None


def _metadata_of(
    rows: dict[tuple[str, Id, Id], bytes],
) -> tuple[dict[str, dict[tuple[Id, Id], str]], dict[Id, str], dict[tuple[Id, Id], float], list[dict[str, Any]]]:
    """Names by kind and (pid, tid), labels by pid, order of threads, and metadata events of other kinds."""
    names: dict[str, dict[tuple[Id, Id], str]] = {"process_name": {}, "thread_name": {}}
    labels: dict[Id, str] = {}
    order: dict[tuple[Id, Id], float] = {}
    others: list[dict[str, Any]] = []
    for (kind, pid, tid), raw in rows.items():
        try:
            args = msgspec.json.decode(raw or b"{}")
        except msgspec.DecodeError:
            args = {}
        args = args if isinstance(args, dict) else {"args": args}
        if kind in names:
            names[kind][pid, tid] = str(args.get("name", "")).strip()
        elif kind == "process_labels":
            labels[pid] = str(args.get("labels", ""))
        elif kind == "thread_sort_index" and isinstance(args.get("sort_index"), (int, float)):
            order[pid, tid] = float(args["sort_index"])
        elif kind != "process_sort_index" and len(others) < _MOST_UNKNOWN_ROWS:
            others.append({"name": kind, "pid": pid, "tid": tid, "args": args})
    return names, labels, order, others


def _any_name(names: dict[tuple[Id, Id], str], pid: int | None) -> str:
    return next((name for (owner, _tid), name in names.items() if owner == pid and pid is not None), "")


def _stem(file_name: str) -> str:
    return re.sub(r"(\.pt\.trace)?(\.json)?(\.gz)?$", "", file_name) or file_name


def _devices(properties: Any, used: set[int]) -> list[Device]:
    """Every GPU that the trace lists or that has slices; `used` says which."""
    devices: dict[int, Device] = {}
    for entry in properties if isinstance(properties, list) else []:
        index = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < 1 << 31 or index in devices:
            continue
        memory = entry.get("totalGlobalMem")
        rest = {key: value for key, value in entry.items() if key not in ("id", "name", "totalGlobalMem")}
        memory_bytes = memory if isinstance(memory, int) and 0 < memory < 1 << 63 else None
        devices[index] = Device(index, str(entry.get("name", "")), index in used, memory_bytes, rest)
    for index in used - devices.keys() - {-1}:
        devices[index] = Device(index, used=True)
    return [devices[index] for index in sorted(devices)]
