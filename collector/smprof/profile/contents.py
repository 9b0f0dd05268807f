"""What stands in the folder of one process: its files, held against the journal, and their rows."""

from __future__ import annotations

import errno
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from smprof.profile import columns as cols
from smprof.profile import storage
from smprof.profile.columns import Columns
from smprof.profile.manifest import Loss, ProfileError
from smprof.profile.schema import TABLES, VERSION, Column
from smprof.profile.scratch import Scratch, StoredTable
from smprof.profile.upgrade import upgrade_table

RAW_TABLES = ("names", "shapes", "device", "host", "annotation", "counter", "args")


_FREE_ROWS = 1_000_000
_ROWS_PER_BYTE = 64
"""A file may hold so many rows, and so many more per byte: real tables take 1 B a row and more, empty claims none."""


@dataclass(frozen=True)
class Listing:
    """The files of a process folder that count, by table, and their journal lines."""

    files: Mapping[str, tuple[storage.TableFile, ...]]
    journal: Mapping[str, storage.JournalLine]
    losses: tuple[Loss, ...]

    @property
    def merged(self) -> bool:
        """Whether every table is at most one merged file, so that positions are ids."""
        return all(len(files) == 1 and files[0].merged for files in self.files.values())


def list_process(folder: Path) -> Listing:
    """The files of a process folder and what is missing of them."""
    losses: list[Loss] = []
    journal: dict[str, storage.JournalLine] = {}
    where = "/".join(folder.parts[-2:])
    path = folder / storage.JOURNAL_NAME
    content = b""
    if path.is_file() and path.stat().st_size <= storage.MAX_JOURNAL_BYTES:
        content = path.read_bytes()
    damaged = 0
    for text in content.decode("utf-8", "replace").splitlines():
        line = storage.parse_journal_line(text)
        if line is None:
            damaged += 1
        else:
            journal[line.file] = line
    if damaged:
        losses.append(Loss("damaged_journal", damaged, f"{where}/{storage.JOURNAL_NAME}"))
    on_disk = {entry.name for entry in folder.iterdir() if entry.is_file()} if folder.is_dir() else set()
    found = [named for name in sorted(on_disk | set(journal)) if (named := storage.parse_file_name(name))]
    files: dict[str, tuple[storage.TableFile, ...]] = {}
    for table in TABLES:
        mine = [named for named in found if named.table == table]
        merges = _merged_files(mine, journal)
        kept = [
            named
            for named in mine
            if named in merges
            or (not named.merged and not any(m.first <= named.first and named.last <= m.last for m in merges))
        ]
        for named in kept:
            if named.name not in on_disk:
                rows = journal[named.name].rows
                losses.append(Loss("missing_segment", max(rows, 1), f"{where}/{named.name}"))
            elif named.name not in journal:
                losses.append(Loss("unjournaled_segment", 1, f"{where}/{named.name}"))
        present = tuple(named for named in kept if named.name in on_disk)
        if present:
            files[table] = present
    return Listing(files, journal, tuple(losses))


def _merged_files(
    files: Sequence[storage.TableFile], journal: Mapping[str, storage.JournalLine]
) -> list[storage.TableFile]:
    """The merged files of one table that count: once the journal names them, until then their segments do.

    One that the journal does not name counts where nothing else holds its rows: the line that named it is damaged.
    """
    counted = [named for named in files if named.merged and (named.name in journal or not journal)]
    others = sorted((n for n in files if n.merged and n not in counted), key=lambda n: n.first - n.last)
    for named in others:
        rivals = (*counted, *(segment for segment in files if not segment.merged))
        if not any(rival.first <= named.last and named.first <= rival.last for rival in rivals):
            counted.append(named)
    return counted


def check_bytes(folder: Path, named: storage.TableFile, line: storage.JournalLine | None) -> str | None:
    """Why the bytes of a file are not those that were journaled, or None where they are (or no line says)."""
    if line is None:
        return None
    path = folder / named.name
    size = path.stat().st_size
    if size != line.bytes:
        return f"{size} bytes instead of {line.bytes}"
    with path.open("rb") as stream:
        return None if _checksum(stream, size) == line.crc32 else "its checksum is wrong"


def _checksum(stream: BinaryIO, size: int) -> int:
    """CRC-32 of the next `size` bytes, or of what there is of them."""
    checksum = 0
    while size > 0 and (piece := stream.read(min(size, 4 << 20))):
        checksum = zlib.crc32(piece, checksum)
        size -= len(piece)
    return checksum


def intact_row_groups(folder: Path, named: storage.TableFile, line: storage.JournalLine) -> list[int]:
    """The row groups of a damaged file whose bytes are those that were journaled; none where its footer is not."""
    with (folder / named.name).open("rb") as stream:
        good = [_checksum(stream, size) == crc32 for size, crc32 in line.pieces]
    return [index for index, intact in enumerate(good[:-1]) if intact] if good and good[-1] else []


def refuse_shortage(error: BaseException) -> None:
    """Raise ProfileError where an error says that the machine, not the file, is at fault: that is no damage."""
    if isinstance(error, MemoryError | pa.ArrowMemoryError):
        raise ProfileError("There is not enough memory to read the profile; close other programs.") from None
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
        raise ProfileError(f"The profile cannot be read: {error.strerror}; close other programs.") from None


def open_parquet(folder: Path, named: storage.TableFile, metadata: Any = None) -> pq.ParquetFile:
    """The file, with page checksums verified on reading; `metadata` spares reading the footer again.

    Raises pyarrow's errors, OSError, KeyError, and ValueError where it claims more rows than its bytes can hold.
    """
    choices = [column.name for column in TABLES[named.table] if pa.types.is_dictionary(column.type)]
    path = folder / named.name
    file = pq.ParquetFile(
        path,
        metadata=metadata,
        read_dictionary=choices,
        page_checksum_verification=True,
        thrift_string_size_limit=64 << 20,
        thrift_container_size_limit=4_000_000,
    )
    rows, size = file.metadata.num_rows, path.stat().st_size
    if not 0 <= rows <= _FREE_ROWS + _ROWS_PER_BYTE * size:
        file.close()
        raise ValueError(f"it claims {rows:,} rows in {size:,} bytes")
    return file


def read_column(file: pq.ParquetFile, column: Column, groups: Sequence[int] | None = None) -> Any:
    """One column, or some row groups of it, in memory form. Raises ValueError and pyarrow's errors on damage."""
    names = file.schema_arrow.names
    groups = range(file.num_row_groups) if groups is None else groups
    if column.name not in names:
        if not column.nullable:
            raise ValueError(f"column {column.name} is missing")
        return cols.normal(column, None, sum(file.metadata.row_group(group).num_rows for group in groups))
    if not column.nullable or cols.is_text(column):
        return cols.from_arrow(column, _read_groups(file, column, groups))
    # Row groups hold one kind each, so that a column of one kind is null throughout the others.
    place = names.index(column.name)
    empty = {group: _is_null(file.metadata.row_group(group), place) for group in groups}
    if not any(empty.values()):
        return cols.from_arrow(column, _read_groups(file, column, groups))
    parts = []
    for is_null, alike in groupby(groups, key=empty.__getitem__):
        if is_null:
            parts.append(cols.absent(column, sum(file.metadata.row_group(group).num_rows for group in alike)))
        else:
            parts.append(cols.from_arrow(column, _read_groups(file, column, alike)))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def bounds_of(metadata: Any, column: Column) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Least and greatest value of an integer column in each row group, as the file says; None where it does not.

    Where a row group holds nothing the least is the greatest number there is, and the other way round.
    """
    places = [place for place in range(metadata.num_columns) if metadata.schema.column(place).path == column.name]
    if not pa.types.is_integer(column.type):
        return None
    span = np.iinfo(np.int64)
    least, greatest = np.full(metadata.num_row_groups, span.max), np.full(metadata.num_row_groups, span.min)
    if not places:
        return least, greatest
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        statistics = group.column(places[0]).statistics
        if _is_null(group, places[0]):
            continue
        if statistics is None or not statistics.has_min_max:
            return None
        found = statistics.min, statistics.max
        if not all(isinstance(value, int) and span.min <= value <= span.max for value in found):
            return None  # a foreign file, whose columns are of another type
        least[index], greatest[index] = found
    return least, greatest


def _is_null(group: Any, place: int) -> bool:
    """Whether the row group's statistics say that the column holds nothing in it."""
    statistics = group.column(place).statistics
    return bool(statistics is not None and statistics.has_null_count and statistics.null_count == group.num_rows > 0)


def _read_groups(file: pq.ParquetFile, column: Column, groups: Iterable[int]) -> Any:
    values = file.read_row_groups(list(groups), columns=[column.name], use_threads=False).column(0)
    if values.null_count and not column.nullable:
        raise ValueError(f"column {column.name} holds nulls")
    return values


def read_raw(
    folder: Path, strict: bool = False, version: int = VERSION, scratch: Scratch | None = None
) -> tuple[dict[str, Mapping[str, Any]], dict[str, tuple[int, int]]]:
    """All rows that can be read of a process, as `assemble` takes them, and the segment numbers they cover.

    With `strict` raises ProfileError at the first damage instead of passing over it.
    """
    tables, losses, covered = salvage(folder, version, scratch=scratch)
    if strict and any(loss.kind in ("damaged_segment", "missing_segment", "damaged_journal") for loss in losses):
        raise ProfileError(f"{folder} is damaged ({losses[0].detail}): its segments stay as they are, unmerged.")
    return tables, covered


def salvage(
    folder: Path, version: int = VERSION, skip: Collection[str] = (), scratch: Scratch | None = None
) -> tuple[dict[str, Mapping[str, Any]], list[Loss], dict[str, tuple[int, int]]]:
    """Every readable row group of a process, what was lost, and the segment numbers of each table.

    Files named in `skip` are not touched, and lost. Rows are put aside in `scratch`; without one they stay in memory.
    """
    scratch = Scratch() if scratch is None else scratch
    listing = list_process(folder)
    losses = list(listing.losses)
    tables: dict[str, Mapping[str, Any]] = {}
    covered: dict[str, tuple[int, int]] = {}
    where = "/".join(folder.parts[-2:])
    for table in RAW_TABLES:
        rows = StoredTable(table, scratch)
        for named in listing.files.get(table, ()):
            line = listing.journal.get(named.name)
            why: str | None
            if named.name in skip:
                lost, why = line.rows if line else 1, "reading it stops the reader"
            else:
                lost, why = _salvage_file(folder, named, line, version, rows)
            if why:
                losses.append(Loss("damaged_segment", max(lost, 1), f"{where}/{named.name}: {why}"))
            known = covered.get(table, (named.first, named.last))
            covered[table] = (min(known[0], named.first), max(known[1], named.last))
        tables[table] = rows
    for table in ("lane_rows", "ladder"):
        for named in listing.files.get(table, ()):
            known = covered.get(table, (named.first, named.last))
            covered[table] = (min(known[0], named.first), max(known[1], named.last))
    return tables, losses, covered


def _salvage_file(
    folder: Path, named: storage.TableFile, line: storage.JournalLine | None, version: int, into: StoredTable
) -> tuple[int, str | None]:
    """Add the readable row groups of one file to a table; return how many rows are lost and why."""
    why = check_bytes(folder, named, line)
    expected = line.rows if line else 0
    intact = intact_row_groups(folder, named, line) if why and line else None
    if intact == []:
        return expected, why
    got = 0
    try:
        with open_parquet(folder, named) as file:
            expected = expected or file.metadata.num_rows
            for group in range(file.num_row_groups) if intact is None else intact:
                try:
                    rows = _read_group(file, named.table, group, version)
                except (pa.ArrowException, ValueError, OSError, KeyError) as error:
                    refuse_shortage(error)
                    why = why or one_line(error)
                    continue
                got += cols.length_of(rows)
                into.append(rows)
    except (pa.ArrowException, ValueError, OSError, KeyError) as error:
        refuse_shortage(error)
        why = why or one_line(error)
    return expected - got, why if got < expected or why else None


def _read_group(file: pq.ParquetFile, table: str, group: int, version: int) -> Columns:
    arrow = upgrade_table(table, file.read_row_group(group, use_threads=False), version)
    rows: Columns = {}
    for column in TABLES[table]:
        if column.name in arrow.schema.names:
            values = arrow.column(column.name)
            if values.null_count and not column.nullable:
                raise ValueError(f"column {column.name} holds nulls")
            rows[column.name] = cols.from_arrow(column, values)
        elif column.nullable:
            rows[column.name] = cols.normal(column, None, arrow.num_rows)
        else:
            raise ValueError(f"column {column.name} is missing")
    return rows


def one_line(error: Exception) -> str:
    """The first line of an error's text."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
