"""One table of one process, and its names: columns that are read when they are asked for."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smprof.profile import columns as cols
from smprof.profile.schema import LOST_NAME, NONE, Column, column

_PASSING_ROWS = 250_000
"""How many rows `Table.pieces` takes at a time where the file does not say."""


class Names:
    """The names of one process, by id. An id that is not among them reads as "(name lost)"."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._texts: list[str] | None = None

    def __len__(self) -> int:
        return len(self._table)

    @property
    def texts(self) -> list[str]:
        """All names; position = id."""
        if self._texts is None:
            self._texts = self._table.arrow("name").to_pylist()
        return self._texts

    def text(self, name_id: int) -> str:
        """The name of that id, as readable text."""
        return self.texts[name_id] if 0 <= name_id < len(self) else LOST_NAME

    def id_of(self, text: str) -> int:
        """The id of exactly that name, NONE where there is none."""
        try:
            return self.texts.index(text)
        except ValueError:
            return NONE

    def raw(self, name_id: int) -> bytes:
        """The name's bytes exactly as recorded."""
        if not 0 <= name_id < len(self):
            return b""
        kept = self._table.arrow("raw")[name_id].as_py()
        return kept if kept is not None else self.text(name_id).encode()


class Table:
    """One table of one process: columns are read when first asked for, and kept. Safe to read from several threads."""

    def __init__(
        self,
        name: str,
        rows: int,
        load: Callable[[Column], Any],
        load_piece: Callable[[Column, int], Any] | None = None,
        piece_ends: Sequence[int] = (),
        bounds: Callable[[Column], tuple[NDArray[np.int64], NDArray[np.int64]] | None] | None = None,
    ) -> None:
        """`load_piece` reads one of the pieces whose ends are `piece_ends`, where less than a column can be read.

        `bounds` tells the least and the greatest value of each piece without reading it, where that is known.
        """
        self.name = name
        self._rows = rows
        self._load = load
        self._load_piece = load_piece
        self._piece_ends = np.array(piece_ends, np.int64)
        self._ends = self._piece_ends.tolist()  # a search in a list costs a tenth
        self._load_bounds = bounds
        self._bounds: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]] | None] = {}
        self._pieces: dict[tuple[str, int], NDArray[Any]] = {}
        self._columns: dict[str, Any] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A column as a read-only numpy array; absent integers are NONE, enumerations positions in the choices."""
        values = self._get(name)
        if not isinstance(values, np.ndarray):
            raise TypeError(f"{self.name}.{name} is text: use arrow() or texts()")
        return values

    def part(self, name: str, begin: int, end: int) -> NDArray[Any]:
        """Rows [begin, end) of a column; reads no more than the row groups they stand in."""
        begin, end = max(begin, 0), min(end, self._rows)
        first, last = bisect_right(self._ends, begin), bisect_left(self._ends, end)
        if name in self._columns or self._load_piece is None or 2 * (last - first + 1) > len(self._ends):
            return self[name][begin:end]
        if end <= begin:
            return np.zeros(0, cols.dtype_of(column(self.name, name)))
        return self._cut([self._piece(name, index) for index in range(first, last + 1)], first, begin, end)

    def _cut(self, pieces: Sequence[NDArray[Any]], first: int, begin: int, end: int) -> NDArray[Any]:
        """Rows [begin, end) of pieces that stand one behind another, the first of which has the number `first`."""
        origin = self._ends[first - 1] if first else 0
        if len(pieces) == 1:
            return pieces[0][begin - origin : end - origin]
        return np.concatenate(
            [pieces[0][begin - origin :], *pieces[1:-1], pieces[-1][: end - self._ends[first + len(pieces) - 2]]]
        )

    def pieces(self) -> list[tuple[int, int]]:
        """[begin, end) of all rows, in pieces that `passing` reads by themselves where the file allows it."""
        ends = self._piece_ends.tolist() if self._load_piece is not None else []
        ends = ends or [*range(_PASSING_ROWS, self._rows, _PASSING_ROWS), self._rows]
        return [(begin, end) for begin, end in zip([0, *ends[:-1]], ends, strict=True) if begin < end]

    def passing(self, name: str, begin: int, end: int) -> NDArray[Any]:
        """Rows [begin, end) of a column as `part`, for a look that all rows pass: what is read for it is not kept."""
        found = self.held(name, begin, end)
        if found is not None or self._load_piece is None:
            return found if found is not None else self.part(name, begin, end)
        begin, end = max(begin, 0), min(end, self._rows)
        first, last = bisect_right(self._ends, begin), bisect_left(self._ends, end)
        read = [self._load_piece(column(self.name, name), index) for index in range(first, last + 1)]
        return self._cut(read, first, begin, end)

    def at(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        """The values of a column at some rows; reads no more than the row groups they stand in."""
        if name in self._columns or self._load_piece is None or len(rows) == 0:
            return self[name][rows]
        owners = np.searchsorted(self._piece_ends, rows, "right")
        touched = np.unique(owners)
        if 2 * len(touched) > len(self._piece_ends):
            return self[name][rows]
        values = np.empty(len(rows), cols.dtype_of(column(self.name, name)))
        for index in touched.tolist():
            mine = np.flatnonzero(owners == index)
            origin = int(self._piece_ends[index - 1]) if index else 0
            values[mine] = self._piece(name, index)[rows[mine] - origin]
        return values

    def value(self, name: str, row: int) -> int:
        """The integer in one row; reads no more than its row group."""
        return int(self.part(name, row, row + 1)[0])

    def stretches(self, name: str, least: int, greatest: int) -> list[tuple[int, int]]:
        """Rows [begin, end), ascending, outside of which no value lies in `least` … `greatest`; reads none.

        Absent values are nowhere.
        """
        bounds = self._bounds_of(name)
        if bounds is None:
            return [(0, self._rows)] if self._rows else []
        found: list[tuple[int, int]] = []
        for index in np.flatnonzero((bounds[0] <= greatest) & (bounds[1] >= least)).tolist():
            begin, end = int(self._piece_ends[index - 1]) if index else 0, int(self._piece_ends[index])
            if found and found[-1][1] == begin:
                begin = found.pop()[0]
            found.append((begin, end))
        return found

    def rows_with(self, name: str, value: int) -> NDArray[np.int64]:
        """The rows that hold a value, ascending; reads as little as `stretches` allows."""
        found = [
            begin + np.flatnonzero(self.part(name, begin, end) == value)
            for begin, end in self.stretches(name, value, value)
        ]
        return np.concatenate(found).astype(np.int64) if found else np.zeros(0, np.int64)

    def last_at(self, name: str, begin: int, end: int, value: int) -> int:
        """The last row of [begin, end), where the column ascends, that holds at most `value`; begin - 1 for none."""
        inside = np.flatnonzero((self._piece_ends[:-1] >= begin) & (self._piece_ends[1:] <= end)) + 1
        bounds = self._bounds_of(name) if len(inside) else None
        if bounds is not None:  # whole pieces of the stretch: their least values ascend like the column
            before = inside[: int(np.searchsorted(bounds[0][inside], value, "right"))]
            if len(before):
                begin = int(self._piece_ends[before[-1] - 1])
                whole = len(before) < len(inside)
                end = int(self._piece_ends[before[-1]]) if whole or value < int(bounds[1][before[-1]]) else end
            else:
                end = int(self._piece_ends[inside[0] - 1])
        low, high = begin, end
        while low < high:  # a piece at a time, wherever the middle lies
            middle = (low + high) // 2
            index = int(np.searchsorted(self._piece_ends, middle, "right"))
            first = max(int(self._piece_ends[index - 1]) if 0 < index < len(self._piece_ends) else 0, low)
            last = min(int(self._piece_ends[index]) if index < len(self._piece_ends) else self._rows, high)
            found = first + int(np.searchsorted(self.part(name, first, last), value, "right"))
            if first < found < last:
                return found - 1
            low, high = (low, first) if found == first else (last, high)
        return low - 1

    def _bounds_of(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        if self._load_bounds is None:
            return None
        if name not in self._bounds:
            self._bounds[name] = self._load_bounds(column(self.name, name))
        return self._bounds[name]

    def _piece(self, name: str, index: int) -> NDArray[Any]:
        with self._lock:
            found = self._pieces.get((name, index))
            if found is None:
                assert self._load_piece is not None
                found = self._pieces[name, index] = self._load_piece(column(self.name, name), index)
            return found

    def held(self, name: str, begin: int, end: int) -> NDArray[Any] | None:
        """Rows [begin, end) of a column where they are in memory, else None. Never waits for a thread that reads."""
        begin, end = max(begin, 0), min(end, self._rows)
        if end <= begin:
            return np.zeros(0, cols.dtype_of(column(self.name, name)))
        first, last = bisect_right(self._ends, begin), bisect_left(self._ends, end)
        if name not in self._columns and first < len(self._ends):
            pieces = [found for i in range(first, last + 1) if (found := self._pieces.get((name, i))) is not None]
            if len(pieces) == last + 1 - first:
                return self._cut(pieces, first, begin, end)
        whole = self._columns.get(name)  # last: another thread puts the column in place before it drops the pieces
        return whole[begin:end] if isinstance(whole, np.ndarray) else None

    def held_at(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any] | None:
        """The values of a column at some rows where all are in memory, else None. Never waits."""
        values = np.empty(len(rows), cols.dtype_of(column(self.name, name)))
        if name not in self._columns:
            owners = np.searchsorted(self._piece_ends, rows, "right")
            found = {index: self._pieces.get((name, index)) for index in np.unique(owners).tolist()}
            if found and all(piece is not None for piece in found.values()):
                for index, piece in found.items():
                    mine = np.flatnonzero(owners == index)
                    assert piece is not None
                    values[mine] = piece[rows[mine] - (int(self._piece_ends[index - 1]) if index else 0)]
                return values
        whole = self._columns.get(name)
        return values if len(rows) == 0 else whole[rows] if isinstance(whole, np.ndarray) else None

    def columns_held(self) -> frozenset[str]:
        """The columns of which something is in memory."""
        with self._lock:
            return frozenset(self._columns) | {name for name, _ in self._pieces}

    def forget(self, but: Collection[str] = ()) -> None:
        """Let go of all columns but some; they are read again when asked for."""
        with self._lock:
            self._columns = {name: values for name, values in self._columns.items() if name in but}
            self._pieces = {key: values for key, values in self._pieces.items() if key[0] in but}

    def trim(self, most_bytes: int, but: Collection[str] = ()) -> None:
        """Let go of the row groups that were read first, of all columns but some, until the rest is that small."""
        with self._lock:
            held = [key for key in self._pieces if key[0] not in but]
            excess = sum(self._pieces[key].nbytes for key in held) - most_bytes
            for key in held:
                if excess <= 0:
                    break
                excess -= self._pieces.pop(key).nbytes

    def arrow(self, name: str) -> Any:
        """A text column as an Arrow array."""
        return self._get(name)

    def arrow_part(self, name: str, begin: int, end: int) -> Any:
        """Rows [begin, end) of a text column as a chunked Arrow array; reads no more than their row groups."""
        begin, end = max(begin, 0), max(min(end, self._rows), begin, 0)
        first, last = bisect_right(self._ends, begin), bisect_left(self._ends, end)
        if begin >= end or name in self._columns or self._load_piece is None:
            whole = self._get(name)
            chunks = whole.chunks if isinstance(whole, pa.ChunkedArray) else [whole]
            return pa.chunked_array(chunks).slice(begin, end - begin)
        origin = self._ends[first - 1] if first else 0
        pieces = [self._load_piece(column(self.name, name), index) for index in range(first, last + 1)]
        chunks = [
            part for piece in pieces for part in (piece.chunks if isinstance(piece, pa.ChunkedArray) else [piece])
        ]
        return pa.chunked_array(chunks).slice(begin - origin, end - begin)

    def texts(self, name: str) -> list[str | None]:
        """A text column as Python texts."""
        values: list[str | None] = self._get(name).to_pylist()
        return values

    def _get(self, name: str) -> Any:
        with self._lock:
            if name not in self._columns:
                wanted = column(self.name, name)
                values = self._load(wanted) if self._rows else cols.normal(wanted, None, 0)
                if isinstance(values, np.ndarray):
                    values.flags.writeable = False
                self._columns[name] = values
                for key in [key for key in self._pieces if key[0] == name]:
                    del self._pieces[key]
            return self._columns[name]
