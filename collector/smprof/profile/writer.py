"""Writes a profile: segments while recording, merged files at the end.

Used by the recorder, the importers and `synthesize`. One `ProcessWriter` belongs to one thread at a time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smprof.profile import columns as cols
from smprof.profile import storage
from smprof.profile.assemble import assemble, early_executions
from smprof.profile.columns import Columns
from smprof.profile.manifest import Manifest, Process, ProfileError
from smprof.profile.merge import merge_process, write_merged
from smprof.profile.schema import TABLES
from smprof.profile.scratch import Scratch, StoredTable

SEGMENT_ROWS = 250_000
SEGMENT_SECONDS = 10.0
"""The age at which a recorder closes a segment."""

_WORKED_OUT = {
    "device": ("row", "launch"),
    "host": ("depth", "op"),
    "annotation": ("depth",),
}
"""Columns that `assemble` fills and a recorder does not give."""

_APPENDED = ("device", "host", "annotation", "counter", "args")


Shape = tuple[Any, ...]
"""(name_id, grid x, y, z, block x, y, z, registers, shared memory, blocks per SM, warps per SM, occupancy)."""


class ProfileWriter:
    """Writes one profile folder, which must be new or empty.

    Args:
        folder: where the profile goes.
        manifest: written last, by `finish`; its processes are those that `process` adds.
        segment_rows: a segment closes at so many rows; None closes none, so that nothing can be read before `finish`,
            which then has less to do. Rows wait in memory, and from some millions on in a file that has no name.
        segment_seconds: and at this age. A recorder gives SEGMENT_SECONDS; what is made from a file must not depend on
            the clock, and gives none.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        segment_rows: int | None = SEGMENT_ROWS,
        segment_seconds: float | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.manifest = manifest
        self._segment_rows = segment_rows
        self._segment_seconds = segment_seconds
        self._open: list[ProcessWriter] = []
        self._scratch = Scratch(self.folder)
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise ProfileError(
                f"{self.folder} is there already and is not empty; choose another place for the profile."
            )
        self.folder.mkdir(parents=True, exist_ok=True)

    def process(self, info: Process) -> ProcessWriter:
        """A writer for one more process. Gives `info` a folder of its own where it has none, and lists it."""
        taken = {process.folder for process in self.manifest.processes}
        if not info.folder:
            info.folder = free_folder(info, taken)
        elif info.folder in taken:
            raise ValueError(f"two processes in one folder: {info.folder}")
        self.manifest.processes.append(info)
        writer = ProcessWriter(
            self.folder / info.folder,
            info,
            self.manifest,
            self._scratch if self._segment_rows is None else None,
            self._segment_rows or SEGMENT_ROWS,
            self._segment_seconds,
        )
        self._open.append(writer)
        return writer

    def finish(self, merge: bool = True) -> None:
        """Close every process and write the manifest, which makes the folder a profile."""
        for process in self._open:
            process.close(merge)
        self._open.clear()
        self._scratch.close()
        self.manifest.write(self.folder)


def free_folder(info: Process, taken: set[str]) -> str:
    """A folder name for a process: readable, safe on every file system, not taken."""
    base = folder = f"{_safe(info.host, 'host')}/{_safe(info.process, 'process')}"
    number = 1
    lowered = {other.lower() for other in taken}
    while folder.lower() in lowered:
        number += 1
        folder = f"{base}-{number}"
    return folder


def _safe(text: str, otherwise: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", text)[:40].strip("-") or otherwise
    # Windows keeps these names for devices, whatever the case.
    reserved = re.fullmatch(r"con|prn|aux|nul|com\d|lpt\d", name, re.IGNORECASE)
    return f"{name}-" if reserved else name


class ProcessWriter:
    """Writes one process: names and launch shapes once, the rest in segments, or in parts put aside until `close`."""

    def __init__(
        self,
        folder: Path,
        info: Process,
        manifest: Manifest,
        scratch: Scratch | None,
        segment_rows: int,
        segment_seconds: float | None,
    ) -> None:
        self.info = info
        self.folder = folder
        self._manifest = manifest
        self._segment_rows = segment_rows
        self._segment_seconds = segment_seconds
        self._names: dict[str | bytes, int] = {}
        self._shapes: dict[Shape, int] = {}
        self._pending: dict[str, list[Columns]] = {table: [] for table in _APPENDED}
        self._pending_rows = dict.fromkeys(_APPENDED, 0)
        self._aside = {table: StoredTable(table, scratch) for table in _APPENDED} if scratch is not None else None
        self._next_id = dict.fromkeys(_APPENDED, 0)
        self._written_names = 0
        self._written_shapes = 0
        self._segments = dict.fromkeys(TABLES, 0)
        self._opened_at: float | None = None
        folder.mkdir(parents=True)

    def name_id(self, text: str | bytes) -> int:
        """The id of a name. Bytes that are not UTF-8, and lone surrogates, are kept as they are."""
        known = self._names.get(text)
        if known is not None:
            return known
        if isinstance(text, bytes):
            try:
                text = text.decode()
            except UnicodeDecodeError:
                self.lose("invalid_text", 1)
        elif not _is_valid(text):
            self.lose("invalid_text", 1)
        return self._names.setdefault(text, len(self._names))

    def name_ids(self, texts: Sequence[str | bytes]) -> NDArray[np.int32]:
        """The ids of many names, in order."""
        unique = {text: self.name_id(text) for text in dict.fromkeys(texts)}
        return np.fromiter((unique[text] for text in texts), np.int32, len(texts))

    def shape_id(
        self,
        name_id: int,
        grid: Sequence[int] | None = None,
        block: Sequence[int] | None = None,
        registers: int | None = None,
        shared_memory_bytes: int | None = None,
        blocks_per_sm: float | None = None,
        warps_per_sm: float | None = None,
        occupancy_percent: float | None = None,
    ) -> int:
        """The id of a launch shape. `grid` and `block` are (x, y, z)."""
        key = (
            name_id,
            *(_three(grid)),
            *(_three(block)),
            registers,
            shared_memory_bytes,
            blocks_per_sm,
            warps_per_sm,
            occupancy_percent,
        )
        return self._shapes.setdefault(key, len(self._shapes))

    def append(self, table: str, columns: Mapping[str, Any]) -> NDArray[np.int64]:
        """Add rows and return their ids, to which `args` of theirs refer.

        Args:
            table: device, host, annotation, counter or args.
            columns: equal-length columns of the schema; those missing are absent values. Absent integers are NONE (-1),
                masked, or null; enumerations int8 positions in the choices, or their texts. Not given are `id` (but of
                `args`) and what is worked out when segments merge: `row`, `depth`, `launch`, `op`.

        Raises ValueError where a column is unknown, of the wrong length, or required and missing.
        """
        count = len(next(iter(columns.values()))) if columns else 0
        known = {column.name: column for column in TABLES[table]}
        for name in columns:
            if name not in known or (name == "id" and table != "args"):
                raise ValueError(f"{table} takes no column {name}")
        ids = np.arange(self._next_id[table], self._next_id[table] + count, dtype=np.int64)
        rows: Columns = {}
        for name, column in known.items():
            if name == "id" and table != "args":
                rows[name] = ids
                continue
            given = columns.get(name)
            if given is None and not column.nullable and name not in _WORKED_OUT.get(table, ()):
                raise ValueError(f"{table} needs the column {name}")
            rows[name] = cols.normal(column, given, count)
        if count:
            self._pending[table].append(rows)
            self._pending_rows[table] += count
            self._next_id[table] += count
            self._flush_if_due()
        return ids

    def lose(self, kind: str, count: int, detail: str = "") -> None:
        """Count records of this process that are not shown; the process is named for the reader."""
        where = f"{self.info.host}, process {self.info.process}"
        self._manifest.lose(kind, count, f"{where}: {detail}" if detail else where)

    def flush(self) -> None:
        """Close the current segments: what was appended so far survives whatever comes."""
        lines = [self._write_names(), self._write_shapes()]
        for table in _APPENDED:
            lines += [self._write_segment(table, part) for part in self._parts_aside(table)]
            if self._pending[table]:
                lines.append(self._write_segment(table, self._take_pending(table)))
        self._opened_at = None
        written = [line for line in lines if line is not None]
        if written:
            storage.append_to_journal(self.folder, written)

    def close(self, merge: bool = True) -> None:
        """Write what is left; merge everything of the process into one file per table."""
        if self._aside is None or not merge or any(self._segments.values()):
            self.flush()
            if merge:
                self._count_early(merge_process(self.folder))
            return
        for table in _APPENDED:
            self._put_aside(table)
        raw: dict[str, Mapping[str, Any]] = {**self._aside}
        self._aside = None
        raw["names"] = name_rows(list(self._names), 0)
        raw["shapes"] = shape_rows(list(self._shapes), 0)
        tables = assemble(raw)
        write_merged(self.folder, tables, dict.fromkeys(TABLES, (1, 1)))
        self._count_early(tables)

    def _count_early(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        """Count executions that start before their launch: nothing is moved, but somebody has to know."""
        early = early_executions(tables)
        if len(early):
            device, host = tables["device"], tables["host"]
            first = int(early[np.argmin(device["start_ns"][early])])
            by_ns = int(host["start_ns"][device["launch"][first]]) - int(device["start_ns"][first])
            place = f"GPU {device['device'][first]}, stream {device['stream'][first]}"
            correlation = device["correlation"][first]
            self.lose("early_execution", len(early), f"the first by {by_ns:,} ns: {place}, correlation {correlation}")

    def _flush_if_due(self) -> None:
        if self._segment_seconds is not None:
            now = time.monotonic()
            if self._opened_at is None:
                self._opened_at = now
            if now - self._opened_at >= self._segment_seconds:
                self.flush()
                return
        full = [table for table, rows in self._pending_rows.items() if rows >= self._segment_rows]
        if self._aside is None and full:
            self.flush()
        else:
            for table in full:
                self._put_aside(table)

    def _put_aside(self, table: str) -> None:
        assert self._aside is not None
        rows = self._take_pending(table)
        for begin in range(0, cols.length_of(rows), self._segment_rows):
            part = {name: values[begin : begin + self._segment_rows] for name, values in rows.items()}
            self._aside[table].append(part)

    def _parts_aside(self, table: str) -> Iterator[Columns]:
        """What was put aside, which then is no longer."""
        if self._aside is not None:
            rows = self._aside[table]
            self._aside[table] = StoredTable(table, rows.scratch)
            yield from rows.parts()

    def _take_pending(self, table: str) -> Columns:
        pending, self._pending[table], self._pending_rows[table] = self._pending[table], [], 0
        return cols.concatenate(table, pending)

    def _write_names(self) -> storage.JournalLine | None:
        if len(self._names) == self._written_names:
            return None
        rows = name_rows(list(islice(self._names, self._written_names, None)), self._written_names)
        self._written_names = len(self._names)
        return self._write_segment("names", rows)

    def _write_shapes(self) -> storage.JournalLine | None:
        if len(self._shapes) == self._written_shapes:
            return None
        rows = shape_rows(list(islice(self._shapes, self._written_shapes, None)), self._written_shapes)
        self._written_shapes = len(self._shapes)
        return self._write_segment("shapes", rows)

    def _write_segment(self, table: str, rows: Columns) -> storage.JournalLine:
        self._segments[table] += 1
        return storage.write_table(self.folder, f"{table}-{self._segments[table]:06}.parquet", rows)


def _is_valid(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _three(extent: Sequence[int] | None) -> tuple[int | None, int | None, int | None]:
    """Any extent as x, y, z; missing dimensions are 1, an absent extent is absent."""
    if extent is None or len(extent) == 0:
        return None, None, None
    x, y, z = (*extent[:3], 1, 1)[:3]
    return x, y, z


def name_rows(names: Sequence[str | bytes], begin: int) -> Columns:
    """Rows of the `names` table for names with ids from `begin`."""
    readable: list[str] = []
    raw: list[bytes | None] = []
    for name in names:
        if isinstance(name, str):
            if _is_valid(name):
                readable.append(name)
                raw.append(None)
                continue
            name = name.encode("utf-8", "surrogatepass")
        readable.append(name.decode("utf-8", "replace"))
        raw.append(name)
    return {
        "id": np.arange(begin, begin + len(names), dtype=np.int32),
        "name": pa.array(readable, pa.large_string()),
        "raw": pa.array(raw, pa.large_binary()),
    }


def shape_rows(shapes: Sequence[Shape], begin: int) -> Columns:
    """Rows of the `shapes` table for launch shapes with ids from `begin`."""
    rows: Columns = {"id": np.arange(begin, begin + len(shapes), dtype=np.int32)}
    parts = list(zip(*shapes, strict=True)) if shapes else [()] * (len(TABLES["shapes"]) - 1)
    for column, values in zip(TABLES["shapes"][1:], parts, strict=True):
        rows[column.name] = cols.normal(column, pa.array(values, column.type), len(shapes))
    return rows
