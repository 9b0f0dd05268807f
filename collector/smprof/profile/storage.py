"""Table files and their journal: Parquet with page checksums, each file's length and CRC-32 in an append-only journal.

A segment is `<table>-<number>.parquet`; a merged file `<table>-<first>-<last>.parquet` stands for the segments
first to last, which are ignored where both are found (a merge was interrupted).
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from smprof.profile import columns as cols
from smprof.profile.manifest import atomically, write_atomically
from smprof.profile.schema import TABLES, arrow_schema
from smprof.profile.scratch import Ordered

JOURNAL_NAME = "journal.jsonl"
ROW_GROUP_ROWS = 250_000
MAX_JOURNAL_BYTES = 64 << 20
_READ_BYTES = 1 << 20
_FILE = re.compile(r"([a-z_]{1,20})-(\d{6,9})(?:-(\d{6,9}))?\.parquet")


_ASCENDING = frozenset(
    {"id", "start_ns", "time_ns", "begin_ns", "end_ns", "begin_row", "end_row", "bin", "longest"}
    | {"correlation", "external_id", "op", "sequence", "integer"}
)
"""Columns whose neighbours differ little: differences take 0.1 to 2.6 B a value on real traces, anything else more."""

_SPREAD = frozenset(("duration_ns", "busy_ns", "bytes", "name_id", "shape_id", "slices", "launch"))
"""Columns of small numbers in no order: byte planes take 1.2 to 1.6 B a duration on real traces, differences 2.4."""


@dataclass(frozen=True)
class JournalLine:
    """One file of a process folder, as it was when it was closed.

    `pieces` are (length in bytes, CRC-32) of consecutive parts of the file: each row group, the first with the four
    bytes before it, and at last the footer. Damage to one row group is thereby told from damage to the others.
    """

    file: str
    table: str
    rows: int
    bytes: int
    crc32: int
    pieces: tuple[tuple[int, int], ...]

    def text(self) -> str:
        """The line as it stands in the journal."""
        return json.dumps(asdict(self), sort_keys=True) + "\n"


@dataclass(frozen=True)
class TableFile:
    """A table file found by its name."""

    name: str
    table: str
    first: int
    last: int
    merged: bool


def parse_file_name(name: str) -> TableFile | None:
    """What a file's name says, or None where it is not a table file."""
    match = _FILE.fullmatch(name)
    if match is None or match[1] not in TABLES:
        return None
    first = int(match[2])
    last = int(match[3]) if match[3] else first
    return TableFile(name, match[1], first, last, match[3] is not None) if first <= last else None


def parse_journal_line(text: str) -> JournalLine | None:
    """One line of a journal, or None where it is damaged."""
    try:
        line = json.loads(text)
        values = [line[key] for key in ("file", "table", "rows", "bytes", "crc32")]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    named = parse_file_name(values[0]) if isinstance(values[0], str) else None
    if named is None or named.table != values[1]:
        return None
    if not all(_is_size(value) for value in values[2:]):
        return None
    pieces = line.get("pieces")
    if not isinstance(pieces, list) or not all(isinstance(piece, list) and len(piece) == 2 for piece in pieces):
        return None
    if not all(_is_size(value) for piece in pieces for value in piece):
        return None
    file, name, rows, size, crc32 = values
    return JournalLine(file, name, rows, size, crc32, tuple((length, crc) for length, crc in pieces))


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def encode(table: str, columns: Mapping[str, Any], stream: BinaryIO, row_group_rows: int = ROW_GROUP_ROWS) -> None:
    """Write a table as a Parquet file. Row groups never mix kinds of host slices.

    Of a table in another order than its rows are kept in, only some row groups are in memory.
    """
    bounds = _row_groups(columns, cols.length_of(columns), row_group_rows)
    encodings, dictionary = _encodings(table)
    with pq.ParquetWriter(
        stream,
        arrow_schema(table),
        compression="zstd",
        compression_level=9,
        use_dictionary=dictionary,
        column_encoding=encodings or None,
        write_page_checksum=True,
        # Starts let a reader skip what lies elsewhere, null counts what holds nothing; the rest would only be bulk.
        write_statistics=[c.name for c in TABLES[table] if c.nullable or c.name in ("start_ns", "time_ns", "kind")],
        # The Arrow schema says nothing that the Parquet schema and this package do not, and costs 2 kB a file.
        store_schema=False,
        version="2.6",
        data_page_version="2.0",
    ) as writer:
        if isinstance(columns, Ordered):
            for block in columns.blocks(bounds):
                writer.write_table(cols.to_arrow(table, block), row_group_size=cols.length_of(block))
            return
        for begin, end in pairwise(bounds):
            writer.write_table(cols.to_arrow(table, columns, begin, end), row_group_size=end - begin)


def _encodings(table: str) -> tuple[dict[str, str], list[str]]:
    """Encoding by column, and the columns with a dictionary."""
    encodings: dict[str, str] = {}
    dictionary: list[str] = []
    for column in TABLES[table]:
        if column.name in _ASCENDING:
            encodings[column.name] = "DELTA_BINARY_PACKED"
        elif column.name in _SPREAD or pa.types.is_floating(column.type):
            encodings[column.name] = "BYTE_STREAM_SPLIT"
        elif not cols.is_text(column) or table == "args":
            dictionary.append(column.name)
    return encodings, dictionary


def _row_groups(columns: Mapping[str, Any], rows: int, size: int) -> list[int]:
    """Where row groups begin, and the last one ends."""
    edges = [0, rows]
    kinds = columns["kind"] if "kind" in columns and "thread" in columns else None
    if isinstance(kinds, np.ndarray):
        edges = [0, *(np.flatnonzero(kinds[1:] != kinds[:-1]) + 1).tolist(), rows]
        if len(edges) > 64:
            edges = [0, rows]
    return [begin for first, last in pairwise(edges) for begin in range(first, last, size)] + [rows]


def write_table(folder: Path, name: str, columns: Mapping[str, Any]) -> JournalLine:
    """Write one table file, atomically, and return its journal line (not yet in the journal)."""
    named = parse_file_name(name)
    assert named is not None, name
    with atomically(folder / name) as stream:
        encode(named.table, columns, stream)
        stream.flush()
        size = stream.tell()
        whole, pieces = 0, []
        for begin, end in pairwise((0, *_row_group_ends(stream), size)):
            stream.seek(begin)
            crc32, left = 0, end - begin
            while left and (read := stream.read(min(left, _READ_BYTES))):
                whole, crc32, left = zlib.crc32(read, whole), zlib.crc32(read, crc32), left - len(read)
            pieces.append((end - begin, crc32))
    return JournalLine(name, named.table, cols.length_of(columns), size, whole, tuple(pieces))


def _row_group_ends(stream: BinaryIO) -> list[int]:
    """Where each row group's bytes end in a Parquet file."""
    metadata = pq.read_metadata(stream)
    ends = []
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        chunks = [group.column(place) for place in range(group.num_columns)]
        ends.append(max(_first_page(chunk) + chunk.total_compressed_size for chunk in chunks))
    return ends


def _first_page(chunk: Any) -> int:
    dictionary = chunk.dictionary_page_offset
    return int(chunk.data_page_offset if dictionary is None else dictionary)


def append_to_journal(folder: Path, lines: Sequence[JournalLine]) -> None:
    """Add lines to the journal and see them to the disk."""
    with (folder / JOURNAL_NAME).open("ab") as stream:
        stream.write("".join(line.text() for line in lines).encode())
        stream.flush()
        os.fsync(stream.fileno())


def replace_journal(folder: Path, lines: Sequence[JournalLine]) -> None:
    """Put these lines in place of the whole journal, atomically."""
    write_atomically(folder / JOURNAL_NAME, "".join(line.text() for line in lines).encode())
