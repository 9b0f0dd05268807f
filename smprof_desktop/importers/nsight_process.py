"""One process of an Nsight Systems export: its rows, checked and written, and what is known of it at the end."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smprof.profile.manifest import Thread
from smprof.profile.schema import ANNOTATION_SOURCES, DEVICE_KINDS, HOST_KINDS, NONE, SIDES
from smprof.profile.writer import ProcessWriter
from smprof_desktop.importers.arguments import Leftover
from smprof_desktop.importers.executions import write_leftovers
from smprof_desktop.importers.nsight_database import ABSENT, I64, Rows, Texts
from smprof_desktop.importers.nsight_facts import TID_BITS, Facts

UNKNOWN_THREAD = -2
"""Stands for rows that name no thread; -1 is that of synchronisation records."""

_INT32_MAX = (1 << 31) - 1
_INT64_MAX = (1 << 63) - 1
_USUAL_SHARE = 0.9
_NAMES = frozenset({"shortName", "mangledName"})
"""What people look up about a slice: it stands with each."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_DROPPED = frozenset({"start", "end", "globalPid", "globalTid", "callchainId", "eventClass", "nestingLevel"})
"""Columns that are no arguments: said by other columns or by the layout, or ids into tables that are not shown."""


def optional(values: I64, low: int = 0, high: int = _INT64_MAX) -> I64:
    """The same, NONE for what is absent or out of range."""
    return np.where((values < low) | (values > high), NONE, values)


def distinct(columns: Sequence[NDArray[Any]]) -> tuple[I64, I64]:
    """First positions of the distinct rows of equal-length integer columns, and for each row which one it is."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for number, values in enumerate(columns):
        mixed ^= values.astype(np.int64, copy=False).view(np.uint64) + np.uint64(number)
        mixed *= _MIX
        mixed ^= mixed >> np.uint64(29)
    _keys, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
    if all((values[first][inverse] == values).all() for values in columns):
        return first, inverse
    # Two rows that mix to the same: nearly impossible by chance, easy on purpose.
    _rows, first, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


class ProcessImport:
    """Writes the rows of one process. `key` is its globalPid without the bits of the thread."""

    def __init__(self, process: ProcessWriter, key: int, texts: Texts) -> None:
        self.key = key
        self.window_ns: tuple[int, int] | None = None
        """First start and last end of the slices so far."""
        self.first_ns: int | None = None
        """First time of all slices and counters."""
        self.recorded: set[str] = set()
        self.devices: set[int] = set()
        self.thread_names: dict[int, str] = {}
        """Names that the program gave its threads, by globalTid."""
        self._process = process
        self._texts = texts
        self._threads: dict[int, int] = {}
        """The globalTid of each thread."""
        self._name_ids: dict[int, int] = {}
        self._usual: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        self._correlations: list[I64] = []
        self._contexts: defaultdict[int, set[int]] = defaultdict(set)

    @property
    def pid(self) -> int | None:
        """The operating system's id, where it is known."""
        return self._process.info.pid

    def correlations(self) -> I64:
        """Correlation ids of the device slices so far."""
        return np.concatenate(self._correlations) if self._correlations else np.zeros(0, np.int64)

    def name_ids(self, codes: I64) -> I64:
        """Name ids of text codes."""
        unique, inverse = np.unique(codes, return_inverse=True)
        for code in unique.tolist():
            if code not in self._name_ids:
                self._name_ids[code] = self._process.name_id(self._texts.values[code])
        return np.array([self._name_ids[code] for code in unique.tolist()], np.int64)[inverse]

    def name_id(self, text: str) -> int:
        """The id of a name that is not in the file."""
        return self._process.name_id(text)

    def device(self, kind: str, rows: Rows, names: I64, columns: dict[str, I64], copy_kinds: I64 | None = None) -> int:
        """Write device slices; how many had no device or stream. `names` are name ids; `columns` start and duration."""
        shape = [optional(rows.integer(f"{extent}{axis}")) for extent in ("grid", "block") for axis in "XYZ"]
        static, dynamic = (optional(rows.integer(f"{kind}SharedMemory")) for kind in ("static", "dynamic"))
        shared = np.where((static == NONE) & (dynamic == NONE), NONE, np.maximum(static, 0) + np.maximum(dynamic, 0))
        device = optional(rows.integer("deviceId"), high=_INT32_MAX)
        stream = optional(rows.integer("streamId"))
        context = optional(rows.integer("contextId"))
        correlation = optional(rows.integer("correlationId"), low=1)
        written = {
            "kind": np.full(rows.count, DEVICE_KINDS.index(kind), np.uint8),
            "device": device,
            "stream": stream,
            "shape_id": self._shape_ids([names, *shape, optional(rows.integer("registersPerThread")), shared]),
            "correlation": correlation,
            "context": context,
            "graph": optional(rows.integer("graphId"), low=1),
            "graph_node": optional(rows.integer("graphNodeId"), low=1),
            "bytes": optional(rows.integer("bytes")),
            **columns,
        }
        if copy_kinds is not None:
            written["copy_kind"] = copy_kinds
        ids = self._process.append("device", written)
        self._arguments("device", ids, rows, _DEVICE_COLUMNS)
        self._correlations.append(correlation[correlation != NONE])
        for first in distinct([context, device])[0].tolist():
            self._contexts[int(context[first])].add(int(device[first]))
        self.devices |= set(np.unique(device).tolist()) - {NONE}
        self._saw("device", columns)
        return int(np.count_nonzero((device == NONE) | (stream == NONE)))

    def host(
        self, kind: str, rows: Rows, names: I64, columns: dict[str, I64], category: str = "", said: Iterable[str] = ()
    ) -> None:
        """Write host slices. `category`: what table they come from, where the kind does not tell.

        `said`: columns that the name tells.
        """
        written = {
            "kind": np.full(rows.count, HOST_KINDS.index(kind), np.uint8),
            "thread": self._threads_of(rows),
            "name_id": names,
            "correlation": optional(rows.integer("correlationId"), low=1),
            **columns,
        }
        ids = self._process.append("host", written)
        self._arguments("host", ids, rows, {"correlationId", *said})
        if category:
            self._write("host", ids, "cat", np.arange(len(ids)), [json.dumps(category)] * len(ids))
        self._saw(kind, columns)

    def syncs(self, rows: Rows, names: I64, columns: dict[str, I64]) -> None:
        """Write synchronisation records. Their device is that of their context, where its executions tell."""
        device = optional(rows.integer("deviceId"), high=_INT32_MAX)
        context = optional(rows.integer("contextId"))
        for number in np.unique(context).tolist():
            known = self._contexts.get(number, set()) - {NONE}
            if len(known) == 1 and number != NONE:
                device = np.where(context == number, next(iter(known)), device)
        written = {
            "kind": np.full(rows.count, HOST_KINDS.index("sync"), np.uint8),
            "thread": np.full(rows.count, NONE, np.int64),
            "name_id": names,
            "correlation": optional(rows.integer("correlationId"), low=1),
            "device": device,
            # 0xFFFFFFFF stands for no stream.
            "stream": optional(rows.integer("streamId"), high=(1 << 32) - 2),
            **columns,
        }
        ids = self._process.append("host", written)
        self._arguments("host", ids, rows, {"correlationId", "streamId", "syncType"})
        self._saw("sync", columns)

    def annotations(
        self, rows: Rows, names: I64, columns: dict[str, I64], said: Iterable[str], told: dict[str, list[Any]]
    ) -> None:
        """Write NVTX ranges. `told`: arguments in words (None: none), in place of the columns `said`."""
        written = {
            "side": np.full(rows.count, SIDES.index("host"), np.uint8),
            "thread": self._threads_of(rows),
            "name_id": names,
            "source": np.full(rows.count, ANNOTATION_SOURCES.index("nvtx"), np.uint8),
            **columns,
        }
        ids = self._process.append("annotation", written)
        self._arguments("annotation", ids, rows, set(said))
        for key, values in told.items():
            at = [row for row, value in enumerate(values) if value is not None]
            self._write("annotation", ids, key, np.array(at, np.int64), [json.dumps(values[row]) for row in at])
        self._saw("annotation", columns)

    def counters(self, names: I64, device: I64, time_ns: I64, values: NDArray[np.float64]) -> I64:
        """Write counters; gives the ids of the rows."""
        columns = {"name_id": names, "device": device, "time_ns": time_ns, "value": values}
        ids = self._process.append("counter", columns)
        self._note_first(time_ns)
        self.recorded.add("counter")
        return ids

    def counter_arguments(self, ids: I64, rows: Rows, said: Iterable[str]) -> None:
        """Write what else rows say that became counters."""
        self._arguments("counter", ids, rows, set(said))

    def describe(self, facts: Facts) -> None:
        """Fill the process's entry in the manifest."""
        info = self._process.info
        info.windows_ns = [list(self.window_ns)] if self.window_ns is not None else []
        info.recorded = sorted(self.recorded)
        info.devices = facts.devices(info.pid, self.devices)
        info.threads = [
            Thread(thread, self.thread_names.get(global_tid) or facts.thread_names.get(global_tid) or _unnamed(thread))
            for thread, global_tid in sorted(self._threads.items())
        ]
        usual = {table: values for table, values in self._usual.items() if values}
        info.metadata = {"nsight_systems": {**facts.versions, "usual_arguments": usual}}

    def _saw(self, kind: str, columns: dict[str, I64]) -> None:
        start, duration = columns["start_ns"], columns["duration_ns"]
        if not len(start):
            return
        self.recorded.add(kind)
        begin, end = int(start.min()), int((start + duration).max())
        if self.window_ns is not None:
            begin, end = min(begin, self.window_ns[0]), max(end, self.window_ns[1])
        self.window_ns = begin, end
        self._note_first(start)

    def _note_first(self, time_ns: I64) -> None:
        if len(time_ns):
            first = int(time_ns.min())
            self.first_ns = first if self.first_ns is None else min(first, self.first_ns)

    def _shape_ids(self, columns: Sequence[I64]) -> I64:
        first, inverse = distinct(columns)
        shapes = []
        for row in first.tolist():
            name, *rest = (int(values[row]) for values in columns)
            gx, gy, gz, bx, by, bz, registers, shared = (None if value == NONE else value for value in rest)
            grid, block = _extent(gx, gy, gz), _extent(bx, by, bz)
            shapes.append(self._process.shape_id(name, grid, block, registers, shared))
        return np.array(shapes, np.int64)[inverse]

    def _threads_of(self, rows: Rows) -> I64:
        """The thread of each row: the operating system's id, or a stand-in where there is none."""
        unique, inverse = np.unique(rows.integer("globalTid"), return_inverse=True)
        threads = []
        for global_tid in unique.tolist():
            tid = global_tid & ((1 << TID_BITS) - 1) if global_tid != ABSENT else 0
            threads.append(tid or UNKNOWN_THREAD)
            self._threads.setdefault(threads[-1], global_tid)
        return np.array(threads, np.int64)[inverse]

    def _arguments(self, table: str, ids: I64, rows: Rows, taken: Iterable[str]) -> None:
        """Write the columns that the table has no place for; a value that nearly all rows share stands once."""
        skip = _DROPPED | set(taken)
        for column, values in rows.integers.items():
            if column not in skip and len(values):
                self._argument(table, ids, rows.table, column, values, values != ABSENT, int)
        for column, values in rows.texts.items():
            if column not in skip and len(values):
                self._argument(table, ids, rows.table, column, values, values >= 0, self._texts.text)
        for column, values in rows.reals.items():
            if column not in skip and len(values):
                at = np.flatnonzero(np.isfinite(values))
                self._write(table, ids, column, at, [json.dumps(value) for value in values[at].tolist()])

    def _argument(
        self, table: str, ids: I64, source: str, column: str, values: NDArray[Any], present: NDArray[Any], say: Any
    ) -> None:
        if not present.any():
            return
        if present.all() and column not in _NAMES:
            usual = values[0] if values.strides == (0,) else np.partition(values, len(values) // 2)[len(values) // 2]
            known = self._usual[source].get(column)
            if known is None or known == say(usual):
                present = values != usual
                if 1 - np.count_nonzero(present) / len(values) >= _USUAL_SHARE:
                    self._usual[source][column] = say(usual)
                else:
                    present = np.ones(len(values), bool)
        at = np.flatnonzero(present)
        if not len(at):
            return
        if say is int:
            integers = values[at].astype(np.int64)
            write_leftovers(self._process, table, ids, [Leftover(column, at, integers, None)])
            return
        unique, inverse = np.unique(values[at], return_inverse=True)
        texts = pa.array([json.dumps(say(code)) for code in unique.tolist()], pa.large_string())
        write_leftovers(self._process, table, ids, [Leftover(column, at, None, texts.take(pa.array(inverse)))])

    def _write(self, table: str, ids: I64, key: str, at: I64, texts: Sequence[str]) -> None:
        if len(at):
            left = Leftover(key, np.asarray(at, np.int64), None, pa.array(texts, pa.large_string()))
            write_leftovers(self._process, table, ids, [left])


_DEVICE_COLUMNS = frozenset(
    {
        "deviceId", "streamId", "contextId", "correlationId", "graphId", "graphNodeId", "bytes", "registersPerThread",
        "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "staticSharedMemory", "demangledName",
    }
)  # fmt: skip


def _unnamed(thread: int) -> str:
    return "thread not recorded" if thread == UNKNOWN_THREAD else ""


def _extent(x: int | None, y: int | None, z: int | None) -> tuple[int, int, int] | None:
    return None if x is None else (x, 1 if y is None else y, 1 if z is None else z)
