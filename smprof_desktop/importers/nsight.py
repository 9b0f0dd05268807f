"""An Nsight Systems SQLite export → one profile of all its processes.

Executions and API calls are joined by process and correlation id: ids alone repeat between processes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smprof.profile.manifest import Clock, Process
from smprof.profile.schema import COPY_KINDS, NONE
from smprof.profile.writer import ProfileWriter
from smprof_desktop.importers.nsight_database import ABSENT, I64, Database, Lose, Rows
from smprof_desktop.importers.nsight_facts import PID_BITS, TID_BITS, Facts
from smprof_desktop.importers.nsight_nvtx import NvtxImport
from smprof_desktop.importers.nsight_process import ProcessImport, distinct, optional

UNIX_NS = 10**18
"""Times from here on (2001) are Unix time, as `nsys export --ts-normalize` writes them."""

_CUPTI = "CUPTI_ACTIVITY_KIND_"
_KERNELS, _COPIES, _SETS = f"{_CUPTI}KERNEL", f"{_CUPTI}MEMCPY", f"{_CUPTI}MEMSET"
_NAMES_OF_KERNELS = ("demangledName", "shortName", "mangledName")
"""The first that a row has is its name."""
_GRAPHS, _SYNCS, _NVTX = f"{_CUPTI}GRAPH_TRACE", f"{_CUPTI}SYNCHRONIZATION", "NVTX_EVENTS"
_MEMORY, _METRICS = "CUDA_GPU_MEMORY_USAGE_EVENTS", "GPU_METRICS"
_HOST_KINDS = {
    f"{_CUPTI}RUNTIME": "api",
    f"{_CUPTI}DRIVER": "api",
    f"{_CUPTI}OVERHEAD": "overhead",
    "PROFILER_OVERHEAD": "overhead",
    "OSRT_API": "other",
}
_DESCRIPTIONS = re.compile(
    r"ENUM_.*|TARGET_INFO_.*|META_DATA_.*|EXPORT_META_DATA|ANALYSIS_.*|NVTX_PAYLOAD_SCHEMA.*|StringIds|ProcessStreams"
    r"|PROCESSES|ThreadNames"
)
"""Tables that describe, not record: what is needed of them is asked for, nothing else is read."""

_MOST_NS = 1 << 62
_FALLBACK_HOST = "algo-1"
_COPY_CODES = {number: COPY_KINDS.index(kind) for number, kind in ((1, "HtoD"), (2, "DtoH"), (8, "DtoD"))} | {
    9: COPY_KINDS.index("HtoH"),
    10: COPY_KINDS.index("PtoP"),
}
_OTHER_COPY = COPY_KINDS.index("Other")


def import_database(
    path: Path, writer: ProfileWriter, shift_ns: int = 0, advance: Callable[[float], None] = lambda share: None
) -> Clock:
    """Write every process of the export at `path`; gives the clock. `shift_ns` is added to every time.

    The file is opened read-only and nothing is written beside it. Raises ProfileError where nothing can be read.
    """
    lose = writer.manifest.lose
    with Database(path, lose) as database:
        return NsightImport(database, writer, lose, shift_ns, advance).run()


class NsightImport:
    """Reads one open export into one profile."""

    def __init__(
        self, database: Database, writer: ProfileWriter, lose: Lose, shift_ns: int, advance: Callable[[float], None]
    ) -> None:
        self._database = database
        self._writer = writer
        self._lose = lose
        self._shift_ns = shift_ns
        self._processes: dict[int, ProcessImport] = {}
        self._sole_key: int | None = None
        self._advance = advance
        self._read_rows = 0
        self._all_rows = 1

    def run(self) -> Clock:
        """Read everything, write it, describe every process; gives the clock."""
        database = self._database
        host_tables = self._host_tables()
        known = (_KERNELS, _COPIES, _SETS, _GRAPHS, *host_tables, _SYNCS, _NVTX, _MEMORY, _METRICS)
        self._all_rows = sum(database.estimate(table) for table in known if table in database.columns) or 1
        database.read_strings()
        facts = self._facts = Facts(database)
        nvtx = NvtxImport(database.texts, self._lose)
        steps: dict[str, Callable[[Rows], None]] = {
            _KERNELS: self._kernels,
            _COPIES: self._copies,
            _SETS: self._sets,
            _GRAPHS: self._graphs,
            **dict.fromkeys(host_tables, self._host),
            _SYNCS: self._syncs,
            _NVTX: lambda rows: nvtx.read(rows, self._of_processes(rows), self._timed),
            _MEMORY: self._memory,
            _METRICS: self._metrics,
        }
        for table, step in steps.items():
            if table in database.columns:
                rows = database.read(table, self._count)
                if rows.count:
                    step(rows)
        nvtx.write_open()
        self._count_unread(set(steps))
        if not self._processes:
            self._process(self._key_of_all())
        for process in self._processes.values():
            process.describe(facts)
        firsts = [process.first_ns for process in self._processes.values() if process.first_ns is not None]
        if firsts and min(firsts) - self._shift_ns >= UNIX_NS:
            return Clock("unix", 0)
        return Clock("relative", facts.start_utc_ns)

    def _host_tables(self) -> list[str]:
        """Tables of slices of a thread: API calls, system calls, and those of libraries that are not known by name."""
        tables = [table for table in _HOST_KINDS if table in self._database.columns]
        for table, columns in self._database.columns.items():
            slices = {"start", "end", "globalTid"} <= set(columns)
            if slices and table not in tables and table != _NVTX and not _DESCRIPTIONS.fullmatch(table):
                tables.append(table)
        return tables

    def _count(self, rows: int) -> None:
        self._read_rows += rows
        self._advance(min(self._read_rows / self._all_rows, 1.0))

    def _of_processes(self, rows: Rows) -> Iterator[tuple[ProcessImport, Rows]]:
        """The rows of each process."""
        keys = rows.integer("globalPid", "globalTid")
        absent = keys == ABSENT
        keys = keys >> TID_BITS
        if absent.any():
            keys = np.where(absent, self._key_of_all(), keys)
        unique, inverse = np.unique(keys, return_inverse=True)
        if len(unique) == 1:
            yield self._process(int(unique[0])), rows
            return
        order = np.argsort(inverse, kind="stable")
        bounds = np.searchsorted(inverse[order], np.arange(len(unique) + 1))
        for number, key in enumerate(unique.tolist()):
            yield self._process(key), rows.take(order[bounds[number] : bounds[number + 1]])

    def _key_of_all(self) -> int:
        """The process of rows that name none: the only one that any row names, else one that is not known (0)."""
        if self._sole_key is None:
            found: set[int] = set()
            for table, columns in self._database.columns.items():
                if "start" not in columns or _DESCRIPTIONS.fullmatch(table):
                    continue
                for column in {"globalTid", "globalPid"} & set(columns):
                    found |= self._database.process_keys(table, column, TID_BITS)
            self._sole_key = found.pop() if len(found) == 1 else 0
        return self._sole_key

    def _process(self, key: int) -> ProcessImport:
        if key not in self._processes:
            pid = key & ((1 << PID_BITS) - 1) or None
            host = self._facts.host(key) or _FALLBACK_HOST
            info = Process(host=host, process=str(pid or 0), pid=pid, name=self._facts.process_name(key))
            self._processes[key] = ProcessImport(self._writer.process(info), key, self._database.texts)
        return self._processes[key]

    def _timed(self, rows: Rows) -> tuple[Rows, dict[str, I64]]:
        """The rows with readable times, and their start and duration; the others are counted."""
        start, end = rows.integer("start"), rows.integer("end")
        no_start = start == ABSENT
        no_end = (end == ABSENT) & ~no_start
        readable = ~no_start & ~no_end
        overflow = readable & ((np.abs(start + self._shift_ns) > _MOST_NS) | (np.abs(end + self._shift_ns) > _MOST_NS))
        overflow |= readable & ((np.abs(start) > _MOST_NS) | (np.abs(end) > _MOST_NS))
        faults = {
            "no_start": no_start,
            "no_duration": no_end,
            "time_overflow": overflow,
            "negative_duration": readable & ~overflow & (end < start),
        }
        bad = np.logical_or.reduce(list(faults.values()))
        if bad.any():
            for kind, mask in faults.items():
                self._lose(kind, int(np.count_nonzero(mask)), f"table {rows.table}")
            rows = rows.take(np.flatnonzero(~bad))
            start, end = rows.integer("start"), rows.integer("end")
        return rows, {"start_ns": start + self._shift_ns, "duration_ns": end - start}

    def _timed_of_processes(self, rows: Rows) -> Iterator[tuple[ProcessImport, Rows, dict[str, I64]]]:
        rows, times = self._timed(rows)
        # Carried through the split by process as columns of their own.
        rows.integers |= {"\0start": times["start_ns"], "\0duration": times["duration_ns"]}
        if rows.count:
            for process, part in self._of_processes(rows):
                start, duration = part.integers.pop("\0start"), part.integers.pop("\0duration")
                yield process, part, {"start_ns": start, "duration_ns": duration}

    def _names(self, process: ProcessImport, rows: Rows, *columns: str, otherwise: str = "") -> I64:
        """Name ids by the first of the columns that says something: an id of StringIds, or a text of its own."""
        codes = np.full(rows.count, -1, np.int64)
        asked = np.zeros(rows.count, bool)
        for column in columns:
            if column in rows.texts:
                found = rows.texts[column].astype(np.int64)
            else:
                ids = rows.integer(column)
                asked |= ids != ABSENT
                found = self._database.texts.of_ids(ids)
            codes = np.where(codes < 0, found, codes)
        missing = codes < 0
        if not missing.any():
            return process.name_ids(codes)
        self._lose("missing_names", int(np.count_nonzero(missing & asked)), f"table {rows.table}")
        names = np.full(rows.count, process.name_id(otherwise or f"unnamed ({rows.table})"), np.int64)
        named = np.flatnonzero(~missing)
        if len(named):
            names[named] = process.name_ids(codes[named])
        return names

    def _device(
        self, process: ProcessImport, kind: str, rows: Rows, names: I64, times: dict[str, I64],
        copy_kinds: I64 | None = None,
    ) -> None:  # fmt: skip
        unplaced = process.device(kind, rows, names, times, copy_kinds)
        self._lose("unplaced_slice", unplaced, f"table {rows.table}")

    def _kernels(self, rows: Rows) -> None:
        for process, part, times in self._timed_of_processes(rows):
            names = self._names(process, part, *_NAMES_OF_KERNELS)
            codes = {name: self._database.texts.of_ids(part.integer(name)) for name in _NAMES_OF_KERNELS}
            shown = np.full(part.count, -1, np.int64)
            for column in codes.values():
                shown = np.where(shown < 0, column, shown)
            for name, column in codes.items():
                if part.integers.pop(name, None) is not None:
                    part.texts[name] = np.where(column == shown, -1, column)
            self._device(process, "kernel", part, names, times)

    def _copies(self, rows: Rows) -> None:
        labels, memory = self._facts.copy_labels, self._facts.memory_labels
        for process, part, times in self._timed_of_processes(rows):
            kind, source, target = (part.integer(column) for column in ("copyKind", "srcKind", "dstKind"))
            names = np.zeros(part.count, np.int64)
            codes = np.zeros(part.count, np.int64)
            for mask, number, (begin, end) in _combinations(kind, source, target):
                name = f"Memcpy {labels.get(number) or 'Unknown'}"
                if begin in memory and end in memory:
                    name += f" ({memory[begin]} -> {memory[end]})"
                names[mask] = process.name_id(name)
                codes[mask] = _COPY_CODES.get(number, _OTHER_COPY)
            # What the name tells needs no argument; a number that no word stands for stays one.
            if np.isin(kind, list(labels)).all():
                part.integers.pop("copyKind", None)
            if np.isin(source, list(memory)).all() and np.isin(target, list(memory)).all():
                part.integers.pop("srcKind", None)
                part.integers.pop("dstKind", None)
            self._device(process, "memcpy", part, names, times, codes.astype(np.uint8))

    def _sets(self, rows: Rows) -> None:
        for process, part, times in self._timed_of_processes(rows):
            kind = part.integer("memKind")
            names = np.zeros(part.count, np.int64)
            for number in np.unique(kind).tolist():
                label = self._facts.memory_labels.get(number, "")
                names[kind == number] = process.name_id(f"Memset ({label})" if label else "Memset")
            if np.isin(kind, list(self._facts.memory_labels)).all():
                part.integers.pop("memKind", None)
            self._device(process, "memset", part, names, times)

    def _graphs(self, rows: Rows) -> None:
        """Whole graphs, each as one kernel where its nodes were not recorded."""
        for process, part, times in self._timed_of_processes(rows):
            shown = np.isin(part.integer("correlationId"), process.correlations())
            self._lose(
                "unshown_record", int(np.count_nonzero(shown)), f"table {rows.table}: graphs whose nodes are shown"
            )
            at = np.flatnonzero(~shown)
            if not len(at):
                continue
            part = part.take(at)
            times = {name: values[at] for name, values in times.items()}
            graph = optional(part.integer("graphId"), low=1)
            names = np.zeros(part.count, np.int64)
            for number in np.unique(graph).tolist():
                names[graph == number] = process.name_id("CUDA graph" if number == NONE else f"CUDA graph {number}")
            self._device(process, "kernel", part, names, times)

    def _host(self, rows: Rows) -> None:
        kind = _HOST_KINDS.get(rows.table, "other")
        category = rows.table if rows.table not in _HOST_KINDS else ""
        said = ("nameId", "textId", "text", "name")
        for process, part, times in self._timed_of_processes(rows):
            has = [column for column in said if column in part.integers or column in part.texts]
            names = self._names(process, part, *has, otherwise=rows.table)
            process.host(kind, part, names, times, category, has)

    def _syncs(self, rows: Rows) -> None:
        for process, part, times in self._timed_of_processes(rows):
            kind = part.integer("syncType")
            names = np.zeros(part.count, np.int64)
            for number in np.unique(kind).tolist():
                label = self._facts.sync_labels.get(number) or ("Sync" if number == ABSENT else f"Sync {number}")
                names[kind == number] = process.name_id(label)
            process.syncs(part, names, times)

    def _memory(self, rows: Rows) -> None:
        """Allocations and frees → memory in use, per device and kind of memory, from 0 at the start of the capture."""
        for process, part in self._of_processes(self._with_time(rows, "start")):
            part = part.take(np.argsort(part.integer("start"), kind="stable"))
            size, operation = part.integer("bytes"), part.integer("memoryOperationType")
            device, kind = optional(part.integer("deviceId"), high=(1 << 31) - 1), part.integer("memKind")
            change = np.where(operation == 0, 1.0, np.where(operation == 1, -1.0, np.nan)) * np.where(
                size < 0, np.nan, size
            )
            self._lose("gap_value", int(np.count_nonzero(np.isnan(change))), f"table {rows.table}")
            values, names = np.zeros(part.count), np.zeros(part.count, np.int64)
            for mask, gpu, (number, _same) in _combinations(device, kind, kind):
                label = self._facts.memory_labels.get(number, "")
                names[mask] = process.name_id(f"CUDA memory in use{f', {label}' if label else ''} [bytes]")
                total = np.cumsum(np.nan_to_num(change[mask]))
                values[mask] = np.where(np.isnan(change[mask]), np.nan, total)
                process.devices |= {gpu} - {NONE}
            ids = process.counters(names, device, part.integer("start") + self._shift_ns, values)
            process.counter_arguments(ids, part, ("deviceId", "memKind"))

    def _metrics(self, rows: Rows) -> None:
        """Samples of a GPU's counters, with the first process that used that GPU, else with the first of all."""
        rows = self._with_time(rows, "timestamp")
        source, metric, time_ns = rows.integer("typeId"), rows.integer("metricId"), rows.integer("timestamp")
        value = rows.reals.get("value")
        numbers = rows.integer("value")
        values = value if value is not None else np.where(numbers == ABSENT, np.nan, numbers.astype(np.float64))
        self._lose("gap_value", int(np.count_nonzero(np.isnan(values))), f"table {rows.table}")
        for mask, kind, (number, _same) in _combinations(source, metric, metric):
            process, device, where = self._owner_of_gpu(kind & 0xFF)
            name = self._facts.metric_names.get((kind, number)) or f"GPU metric {number}"
            name_id = process.name_id(f"{name}{where}")
            count = int(np.count_nonzero(mask))
            names, devices = np.full(count, name_id, np.int64), np.full(count, device, np.int64)
            process.counters(names, devices, time_ns[mask] + self._shift_ns, values[mask])

    def _owner_of_gpu(self, gpu: int) -> tuple[ProcessImport, int, str]:
        """A process that used a GPU of the machine, its own number for it, and what a counter's name has to add."""
        for process in self._processes.values():
            for index in sorted(process.devices):
                if self._facts.gpu(process.pid, index) == gpu:
                    return process, index, ""
        first = next(iter(self._processes.values()), None)
        return first or self._process(self._key_of_all()), NONE, f", GPU {gpu}"

    def _with_time(self, rows: Rows, column: str) -> Rows:
        time_ns = rows.integer(column)
        absent = time_ns == ABSENT
        overflow = ~absent & ((np.abs(time_ns) > _MOST_NS) | (np.abs(time_ns + self._shift_ns) > _MOST_NS))
        self._lose("no_start", int(np.count_nonzero(absent)), f"table {rows.table}")
        self._lose("time_overflow", int(np.count_nonzero(overflow)), f"table {rows.table}")
        return rows.take(np.flatnonzero(~absent & ~overflow)) if (absent | overflow).any() else rows

    def _count_unread(self, read: set[str]) -> None:
        for table in self._database.columns:
            if table not in read and not _DESCRIPTIONS.fullmatch(table):
                self._lose("unshown_record", self._database.count(table), f"table {table[:60]}")


def _combinations(*columns: I64) -> Iterator[tuple[NDArray[np.bool_], int, tuple[int, int]]]:
    """Each distinct row of three columns, in order: where it stands, its first value, and the two others."""
    if not len(columns[0]):
        return
    at, inverse = distinct(columns)
    rows = [tuple(int(values[row]) for values in columns) for row in at.tolist()]
    for number in sorted(range(len(rows)), key=rows.__getitem__):
        first, second, third = rows[number]
        yield inverse == number, first, (second, third)
