"""Rows of one piece of a trace, with names, threads and launch shapes numbered from 0: what a process works out alone.

The import's own process puts them under those of the pieces before, and numbers them anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smprof.profile.schema import NONE, SLICE_TABLES
from smprof_desktop.importers.threads import Id

I64 = NDArray[np.int64]

ARGS_TABLES = (*SLICE_TABLES, "counter")


class Sink(Protocol):
    """What rows are written to: a process of a profile, or the rows of a piece."""

    def name_id(self, text: str | bytes) -> int:
        """The id of a name."""

    def shape_id(self, name_id: int, *extents: Any) -> int:
        """The id of a launch shape, given as `ProcessWriter.shape_id` takes it."""

    def append(self, table: str, columns: Mapping[str, Any]) -> NDArray[np.int64]:
        """Add rows; gives their ids."""


@dataclass
class ArgRows:
    """Arguments, one a row. `table` counts in ARGS_TABLES, `key` in `keys`; `id` is of the piece."""

    keys: list[str]
    table: NDArray[np.uint8]
    key: NDArray[np.int32]
    id: I64
    integer: I64
    text: pa.LargeStringArray | None


@dataclass
class Rows:
    """Rows of several tables, by column."""

    texts: list[str] = field(default_factory=list)
    raw_texts: dict[int, bytes] = field(default_factory=dict)
    """Names that are no valid text, by id; `texts` then holds nothing there."""
    threads: list[tuple[Id, Id]] = field(default_factory=list)
    shapes: list[list[Any]] = field(default_factory=list)
    tables: dict[str, dict[str, NDArray[Any]]] = field(default_factory=dict)
    args: ArgRows | None = None


class Recorder:
    """Makes `Rows`."""

    def __init__(self) -> None:
        self._rows = Rows()
        self._names: dict[str | bytes, int] = {}
        self._threads: dict[tuple[Id, Id], int] = {}
        self._parts: dict[str, list[dict[str, Any]]] = {}
        self._counts: dict[str, int] = {}

    def name_id(self, text: str | bytes) -> int:
        """The id of a name; of bytes that are valid text, that of the text."""
        known = self._names.get(text)
        if known is not None:
            return known
        number = self._names[text] = len(self._rows.texts)
        self._rows.texts.append(text if isinstance(text, str) else "")
        if isinstance(text, bytes):
            self._rows.raw_texts[number] = text
        return number

    def shape_id(self, name_id: int, *extents: Any) -> int:
        """A new id: whoever asks keeps those that are known."""
        self._rows.shapes.append([name_id, *extents])
        return len(self._rows.shapes) - 1

    def thread_id(self, pid: Id, tid: Id) -> int:
        """The number of a thread, from 0."""
        return self._threads.setdefault((pid, tid), len(self._threads))

    def thread_ids(self, pids: Sequence[Id], tids: Sequence[Id]) -> I64:
        """The numbers of many threads."""
        if len(set(pids)) == 1:
            one = {tid: self.thread_id(pids[0], tid) for tid in dict.fromkeys(tids)}
            return np.array(list(map(one.__getitem__, tids)), dtype=np.int64)
        return np.array([self.thread_id(pid, tid) for pid, tid in zip(pids, tids, strict=True)], dtype=np.int64)

    def append(self, table: str, columns: Mapping[str, Any]) -> I64:
        """Add rows; their ids count from 0 in each table."""
        count = len(next(iter(columns.values())))
        first = self._counts.get(table, 0)
        self._counts[table] = first + count
        if count:
            self._parts.setdefault(table, []).append(dict(columns))
        return np.arange(first, first + count, dtype=np.int64)

    def finish(self) -> Rows:
        """Everything, each table's parts one under the other."""
        rows = self._rows
        rows.threads = list(self._threads)
        for table, parts in self._parts.items():
            if table == "args":
                rows.args = _args(parts)
            else:
                names = dict.fromkeys(name for part in parts for name in part)
                rows.tables[table] = {name: _column([_part(part, name) for part in parts]) for name in names}
        return rows


def append_rows(sink: Sink, rows: Rows, threads: Sequence[int]) -> tuple[I64, dict[str, dict[str, Any]]]:
    """Write rows with ids of `sink`, `threads` being those of `rows.threads`.

    Gives the new ids of its shapes, and the tables with the new ids of names and threads.
    """
    names = np.array(
        [sink.name_id(rows.raw_texts.get(index, text)) for index, text in enumerate(rows.texts)], dtype=np.int64
    )
    shapes = np.array([sink.shape_id(int(names[shape[0]]), *shape[1:]) for shape in rows.shapes], dtype=np.int64)
    # A number of NONE, which is -1, then stays what it is.
    places = np.array([*threads, NONE], dtype=np.int64)
    tables: dict[str, dict[str, Any]] = {}
    bases = np.zeros(len(ARGS_TABLES), dtype=np.int64)
    for table, columns in rows.tables.items():
        tables[table] = {**columns, "name_id": names[columns["name_id"]]}
        if "thread" in columns:
            tables[table]["thread"] = places[columns["thread"]]
        bases[ARGS_TABLES.index(table)] = sink.append(table, tables[table])[0]
    if rows.args is not None:
        append_args(sink, rows.args, bases)
    return shapes, tables


def append_args(sink: Sink, args: ArgRows, bases: I64) -> None:
    """Write arguments; `bases` are the ids, by table, of the rows that were 0 in the piece."""
    sink.append(
        "args",
        {
            "table": args.table,
            "key": pa.DictionaryArray.from_arrays(pa.array(args.key), pa.array(args.keys, pa.string())),
            "id": args.id + bases[args.table],
            "integer": args.integer,
            "text": args.text,
        },
    )


def _part(part: Mapping[str, Any], name: str) -> NDArray[Any]:
    values = part.get(name)
    if values is None:
        return np.broadcast_to(np.int64(NONE), (len(next(iter(part.values()))),))
    return np.asarray(values)


def _column(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return compact(parts[0] if len(parts) == 1 else np.concatenate(parts))


def compact(column: NDArray[Any]) -> NDArray[Any]:
    """The column, read-only and of one value in memory where all its integers are the same."""
    if column.dtype.kind == "f" or len(column) < 2 or column[0] != column[-1] or not (column == column[0]).all():
        return column
    return np.broadcast_to(column[0], (len(column),))


def _args(parts: list[dict[str, Any]]) -> ArgRows:
    keys: dict[str, int] = {}
    codes = [_key_codes(part["key"], keys) for part in parts]
    lengths = [len(part["id"]) for part in parts]
    texts = [part["text"] for part in parts]
    text = None
    if any(values is not None for values in texts):
        text = pa.concat_arrays(
            [
                pa.nulls(length, pa.large_string()) if values is None else values
                for values, length in zip(texts, lengths, strict=True)
            ]
        )
    return ArgRows(
        keys=list(keys),
        table=_column([part["table"] for part in parts]),
        key=np.concatenate(codes),
        id=np.concatenate([part["id"] for part in parts]),
        integer=_column([_part(part, "integer") for part in parts]),
        text=text,
    )


def _key_codes(key: Any, known: dict[str, int]) -> NDArray[np.int32]:
    """The number of each row's key: one for all rows, but where a dictionary tells of several."""
    if isinstance(key, pa.DictionaryArray):
        numbers = [known.setdefault(text, len(known)) for text in key.dictionary.to_pylist()]
        codes: NDArray[np.int32] = np.array(numbers, dtype=np.int32)[key.indices.to_numpy()]
        return codes
    return np.full(len(key), known.setdefault(key[0].as_py(), len(known)), dtype=np.int32)
