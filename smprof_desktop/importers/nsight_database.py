"""An Nsight Systems SQLite export as columns: opened read-only, never trusted, read as far as it is whole.

Only real tables are read (no views, no virtual tables), by name of column; SQL of the file itself is never run.
"""

from __future__ import annotations

import re
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.manifest import ProfileError

I64 = NDArray[np.int64]
Lose = Callable[[str, int, str], None]

ABSENT = -(1 << 63)
"""What a null, and a value that is no integer, reads as."""

_BLOCK_ROWS = 20_000
_MOST_CELL_BYTES = 64 << 20
_MOST_TABLES = 10_000
_MOST_ATTEMPTS = 10_000
_LEAST_ROW_BYTES = 4
_TIMES = frozenset({"start", "end", "timestamp"})
_IDS = ("Id", "Tid", "Pid")
_TEXTS = frozenset({"text", "jsonText", "binaryData"})
_INTEGER = re.compile(rb"\s*[+-]?\d{1,19}\s*")


def recognise(path: Path) -> str:
    """`nsight`. Raises ProfileError that says what else the SQLite database at `path` is, and what to do."""
    with Database(path, lambda kind, count, detail: None) as database:
        tables = database.columns
        if "StringIds" in tables:
            return "nsight"
        if "StringTable" in tables and any("_id_" in columns for columns in tables.values()):
            raise ProfileError(
                f"{path} is a database of nvprof, which NVIDIA has replaced; record with Nsight Systems instead."
            )
        if database.damaged:
            raise ProfileError(
                f"{path} is a damaged SQLite database ({database.damaged}), and nothing in it can be read; "
                "export it again."
            )
    raise ProfileError(
        f"{path} is an SQLite database, but not of Nsight Systems; export with `nsys export --type sqlite`."
    )


@dataclass
class Rows:
    """Rows of one table, column by column: integers (ABSENT where there is none), reals (NaN), texts (codes, -1)."""

    table: str
    count: int = 0
    integers: dict[str, NDArray[Any]] = field(default_factory=dict)
    reals: dict[str, NDArray[Any]] = field(default_factory=dict)
    texts: dict[str, NDArray[Any]] = field(default_factory=dict)

    def integer(self, *names: str) -> I64:
        """The first of the integer columns that the table has; all ABSENT where it has none."""
        for name in names:
            if name in self.integers:
                return self.integers[name].astype(np.int64, copy=False)
        return np.broadcast_to(np.int64(ABSENT), (self.count,))

    def take(self, positions: I64) -> Rows:
        """The rows at `positions`."""
        part = Rows(self.table, len(positions))
        for mine, theirs in ((self.integers, part.integers), (self.reals, part.reals), (self.texts, part.texts)):
            for name, values in mine.items():
                theirs[name] = _taken(values, positions)
        return part


def _taken(values: NDArray[Any], positions: I64) -> NDArray[Any]:
    if len(values) and values.strides == (0,):
        return np.broadcast_to(values[0], (len(positions),))
    return values[positions]


class Texts:
    """Texts met in the file, once each, as codes; and those of StringIds by id."""

    def __init__(self) -> None:
        self.values: list[bytes] = []
        self._codes: dict[bytes, int] = {}
        self._ids = np.zeros(0, np.int64)
        self._id_codes = np.zeros(0, np.int64)

    def code(self, value: Any) -> int:
        """The code of one value of a text column; -1 for null."""
        if value is None:
            return -1
        raw = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        found = self._codes.get(raw)
        if found is None:
            found = self._codes[raw] = len(self.values)
            self.values.append(raw)
        return found

    def name_ids(self, rows: Iterable[Sequence[Any]]) -> None:
        """Take the rows (id, value) of StringIds; of a repeated id the first counts."""
        known: dict[int, int] = {}
        for identity, value in rows:
            if type(identity) is int and value is not None:
                known.setdefault(identity, self.code(value))
        self._ids = np.array(sorted(known), np.int64)
        self._id_codes = np.array([known[identity] for identity in self._ids.tolist()], np.int64)

    def of_ids(self, ids: I64) -> I64:
        """Codes of StringIds; -1 where there is no such string."""
        if not len(self._ids):
            return np.full(len(ids), -1, np.int64)
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.where(self._ids[at] == ids, self._id_codes[at], -1)

    def text(self, code: int) -> str:
        """The text of a code, readable in any case; empty for -1."""
        return self.values[code].decode("utf-8", "replace") if code >= 0 else ""


class Database:
    """An open export. `lose` is told what could not be read.

    Raises ProfileError where not even the list of tables can be read.
    """

    def __init__(self, path: Path, lose: Lose) -> None:
        self.path = path
        self.texts = Texts()
        self.columns: dict[str, tuple[str, ...]] = {}
        """Columns of each table."""
        self.damaged = ""
        """Why the list of tables could only be read in parts; empty where it is whole."""
        self._lose = lose
        self._kinds: dict[str, dict[str, str]] = {}
        try:
            self._most_rows = path.stat().st_size // _LEAST_ROW_BYTES
            self._connection = self._open()
        except (sqlite3.Error, OSError) as error:
            raise ProfileError(
                f"{path} is a damaged SQLite database ({error}) and nothing in it can be read; export it again."
            ) from None
        wal = path.with_name(f"{path.name}-wal")
        if wal.is_file() and wal.stat().st_size:
            lose("truncated_source", 1, "what stands beside it in its -wal file was not read")
        if self.damaged:
            lose("truncated_source", 1, self.damaged)

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def estimate(self, table: str) -> int:
        """About how many rows a table has, at once."""
        try:
            found = self._connection.execute(f"SELECT max(rowid) FROM {_quoted(table)}").fetchone()[0]
        except sqlite3.Error:
            return 0
        return found if isinstance(found, int) and found > 0 else 0

    def count(self, table: str) -> int:
        """How many rows a table has, as far as it can be read."""
        try:
            return int(self._connection.execute(f"SELECT count(*) FROM {_quoted(table)}").fetchone()[0])
        except sqlite3.Error:
            return self.estimate(table) or 1

    def process_keys(self, table: str, column: str, tid_bits: int) -> set[int]:
        """The processes that a column of global thread or process ids names; of many, some."""
        name = _quoted(column)
        query = f"SELECT DISTINCT {name} >> {tid_bits} FROM {_quoted(table)} WHERE typeof({name}) = 'integer' LIMIT 3"
        try:
            return {key for (key,) in self._connection.execute(query) if type(key) is int}
        except sqlite3.Error:
            return set()

    def small(self, table: str, *columns: str, where: str = "", values: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        """Rows of a small table as tuples, null for columns that it lacks; none where the table is not there.

        `where`: the column that has to be one of `values`: no other row leaves the file. Text is bytes.
        """
        if table not in self.columns or (where and where not in self.columns[table]):
            return []
        has = self.columns[table]
        wanted = ", ".join(_quoted(column) if column in has else "NULL" for column in columns)
        clause = f" WHERE {_quoted(where)} IN ({', '.join('?' * len(values))})" if where else ""
        rows: list[tuple[Any, ...]] = []
        try:
            rows.extend(self._connection.execute(f"SELECT {wanted} FROM {_quoted(table)}{clause}", tuple(values)))
        except sqlite3.Error:
            self._lose("truncated_source", 1, f"table {table}: damaged, rows read: {len(rows)}")
        return rows

    def read_strings(self) -> None:
        """Take StringIds into `texts`."""
        if {"id", "value"} <= set(self.columns.get("StringIds", ())):
            rows: list[tuple[Any, ...]] = []
            for block in self._blocks("StringIds", ("id", "value")):
                rows += block
            self.texts.name_ids(rows)

    def read(self, table: str, advance: Callable[[int], None] = lambda rows: None) -> Rows:
        """Every row and column of a table; what kind a column is, its declaration says. `advance` is told rows read.

        A damaged table gives the rows before and behind the damage, and the loss is counted.
        """
        result = Rows(table)
        columns = self.columns.get(table, ())
        kinds = self._kinds.get(table, {})
        readers: dict[str, Callable[[tuple[Any, ...]], NDArray[Any]]]
        readers = {"integer": _integers, "real": _reals, "text": self._codes}
        parts: dict[str, list[NDArray[Any]]] = {column: [] for column in columns}
        for block in self._blocks(table, columns):
            for column, cells in zip(columns, zip(*block, strict=True), strict=True):
                parts[column].append(_compact(readers[kinds[column]](cells)))
            result.count += len(block)
            advance(len(block))
        for column, chunks in parts.items():
            joined = _join(chunks, kinds[column] == "real")
            held = {"text": result.texts, "real": result.reals}.get(kinds[column], result.integers)
            held[column] = joined
        return result

    def _codes(self, cells: tuple[Any, ...]) -> I64:
        if cells.count(None) == len(cells):
            return np.full(len(cells), -1, np.int64)
        code = self.texts.code
        return np.fromiter(map(code, cells), np.int64, len(cells))

    def _open(self) -> sqlite3.Connection:
        """The file, and its tables; where it ends early, what its list of tables still gives."""
        problem = ""
        for tolerant in (False, True):
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, cached_statements=0
            )
            try:
                connection.text_factory = bytes
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_CELL_BYTES)
                connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
                for pragma in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "mmap_size = 0"):
                    connection.execute(f"PRAGMA {pragma}")
                if tolerant:
                    # On a connection that cannot write, this only makes SQLite put up with a file shorter than it
                    # says, and with entries of the schema that it does not understand.
                    connection.execute("PRAGMA writable_schema = ON")
                    self.damaged = problem
                self._kinds = _columns_of(connection)
                self.columns = {table: tuple(kinds) for table, kinds in self._kinds.items()}
                return connection
            except sqlite3.Error as error:
                connection.close()
                problem = _reason(error)
        raise sqlite3.DatabaseError(problem)

    def _blocks(self, table: str, columns: Sequence[str]) -> Iterable[list[tuple[Any, ...]]]:
        """The rows in blocks, in the order of the file."""
        if not columns:
            return
        wanted = ", ".join(_quoted(column) for column in columns)
        done = 0
        try:
            cursor = self._connection.execute(f"SELECT {wanted} FROM {_quoted(table)} NOT INDEXED")
            while block := cursor.fetchmany(_BLOCK_ROWS):
                yield block
                done += len(block)
                if done > self._most_rows:
                    # A damaged tree can lead to the same page over and over.
                    raise sqlite3.DatabaseError("more rows than the file has room for")
        except sqlite3.Error:
            yield from self._salvage(table, wanted, done)

    def _salvage(self, table: str, wanted: str, done: int) -> Iterable[list[tuple[Any, ...]]]:
        """The rows of a damaged table behind the first `done`, one by one, and those behind the damage."""
        block: list[tuple[Any, ...]] = []
        seen, after, skip = 0, ABSENT, 1
        query = f"SELECT rowid, {wanted} FROM {_quoted(table)} NOT INDEXED WHERE rowid > ? ORDER BY rowid"
        last = self.estimate(table)
        for _attempt in range(_MOST_ATTEMPTS):
            try:
                for row in self._connection.execute(query, (after,)):
                    if row[0] <= after:
                        raise sqlite3.DatabaseError("rows are out of order")
                    after, skip = row[0], 1
                    seen += 1
                    if seen > done:
                        block.append(row[1:])
                    if len(block) >= _BLOCK_ROWS:
                        yield block
                        block = []
                break
            except sqlite3.Error:
                if after >= last:
                    break
                # A page holds many rows: what cannot be read is stepped over in growing strides.
                after, skip = min(max(after, 0) + skip, last), skip * 2
        if block:
            yield block
        lost = max(last - max(seen, done), 1)
        self._lose("truncated_source", lost, f"table {table}: damaged, rows read: {max(seen, done)}")


def _columns_of(connection: sqlite3.Connection) -> dict[str, dict[str, str]]:
    """The columns of real tables and their kinds: integer, real or text.

    There are no views among them, no virtual tables (they have no root page), and nothing of SQLite itself.
    """
    query = "SELECT name, rootpage FROM sqlite_master WHERE type = 'table' LIMIT ?"
    tables: dict[str, dict[str, str]] = {}
    for raw, root in connection.execute(query, (_MOST_TABLES,)).fetchall():
        if not isinstance(raw, bytes) or type(root) is not int or root <= 0:
            continue
        try:
            name = raw.decode()
        except UnicodeDecodeError:
            continue
        if name.startswith("sqlite_") or "\0" in name:
            continue
        try:
            described = connection.execute(f"PRAGMA table_info({_quoted(name)})").fetchall()
        except sqlite3.Error:
            continue
        tables[name] = {column: _kind(column, kind) for _at, column, kind, *_rest in _decoded(described)}
    return tables


def _decoded(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    return [[cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell for cell in row] for row in rows]


def _kind(column: str, declared: str) -> str:
    """By the declaration; times and ids are integers whatever it says."""
    declared = str(declared).upper()
    if column in _TIMES or column.endswith(_IDS):
        return "integer"
    if any(word in declared for word in ("TEXT", "CHAR", "CLOB")) or (column in _TEXTS and "INT" not in declared):
        return "text"
    return "real" if any(word in declared for word in ("REAL", "FLOA", "DOUB")) else "integer"


def _integers(cells: tuple[Any, ...]) -> I64:
    nulls = cells.count(None)
    if nulls == len(cells):
        return np.full(len(cells), ABSENT, np.int64)
    given = [ABSENT if cell is None else cell for cell in cells] if nulls else cells
    try:
        return np.frombuffer(array("q", given), np.int64)
    except (TypeError, OverflowError):
        return np.fromiter(map(_integer, given), np.int64, len(given))


def _integer(cell: Any) -> int:
    """An integer as it is, also where it stands as text or as a whole real number; else ABSENT."""
    if type(cell) is int:
        return cell
    if type(cell) is float and cell.is_integer() and abs(cell) < 1 << 53:
        return int(cell)
    if isinstance(cell, bytes) and _INTEGER.fullmatch(cell):
        value = int(cell)
        return value if ABSENT < value < 1 << 63 else ABSENT
    return ABSENT


def _reals(cells: tuple[Any, ...]) -> NDArray[np.float64]:
    if cells.count(None) == len(cells):
        return np.full(len(cells), np.nan)
    return np.fromiter((cell if type(cell) in (float, int) else np.nan for cell in cells), np.float64, len(cells))


def _compact(values: NDArray[Any]) -> NDArray[Any]:
    """The same values in less memory: one value for all, or 32 bits each."""
    first = values[0]
    if (values == first).all():
        return np.broadcast_to(first.copy(), values.shape)
    if values.dtype == np.int64 and values.min() >= -(1 << 31) and values.max() < 1 << 31:
        return values.astype(np.int32)
    return values


def _join(chunks: list[NDArray[Any]], real: bool) -> NDArray[Any]:
    if not chunks:
        return np.zeros(0, np.float64 if real else np.int64)
    constant = all(chunk.strides == (0,) for chunk in chunks)
    if constant and all(chunk[0] == chunks[0][0] for chunk in chunks):
        return np.broadcast_to(chunks[0][0], (sum(map(len, chunks)),))
    return np.concatenate(chunks)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _reason(error: Exception) -> str:
    """SQLite's words on one line."""
    return re.sub(r"\s+", " ", str(error))[:200].strip() or type(error).__name__
