"""Rows that do not stand in memory while they wait to be merged: narrow integers, on disk where they are many.

A column is put aside part by part, each as differences from its least value in the narrowest integers that hold them:
a column of one value costs nothing, starts within seconds four bytes each.
"""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smprof.profile import columns as cols
from smprof.profile.columns import Columns
from smprof.profile.schema import TABLES, column

MEMORY_BYTES = 64 << 20
"""What is put aside stays in memory up to here: a short trace never touches the disk."""

_MOST_STRETCHES = 64
_UNSIGNED = tuple(np.dtype(kind) for kind in ("u1", "u2", "u4", "u8"))


@dataclass(frozen=True)
class _Numbers:
    """Numbers put aside: `least` + each of the narrow ones; `narrow` None where all are the least."""

    count: int
    dtype: np.dtype[Any]
    least: int
    narrow: np.dtype[Any] | None
    kept: Any
    """The narrow array itself, or where in the file it begins."""


@dataclass(frozen=True)
class _Texts:
    """Texts put aside: their lengths + 1, 0 for an absent one, and all their bytes."""

    lengths: _Numbers
    characters: _Numbers
    type: pa.DataType


class Scratch:
    """Where columns are put aside: memory first, then a file that has no name and goes with this object.

    Safe to use from several threads. What is put aside can be got back until `close`.
    """

    def __init__(self, folder: Path | None = None, memory_bytes: int = MEMORY_BYTES) -> None:
        """Without a `folder` everything stays in memory."""
        self._folder = folder
        self._room_bytes = memory_bytes
        self._file: Any = None
        self._size = 0
        self._lock = threading.Lock()

    @property
    def file_bytes(self) -> int:
        """How much went to the disk."""
        return self._size

    def put(self, values: Any) -> _Numbers | _Texts:
        """Put an array of numbers or an Arrow array of texts aside. Raises OSError where the disk is full."""
        return self._put_numbers(values) if isinstance(values, np.ndarray) else self._put_texts(values)

    def get(self, aside: _Numbers | _Texts) -> Any:
        """What was put aside; of numbers that are all the same, one value repeated."""
        return self._numbers(aside) if isinstance(aside, _Numbers) else self._texts(aside)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    def _put_numbers(self, values: NDArray[Any]) -> _Numbers:
        dtype, count = values.dtype, len(values)
        if count and values.strides == (0,):
            values = values[:1]
        signed = np.dtype(f"i{dtype.itemsize}")
        bits = np.ascontiguousarray(values).view(signed) if dtype.kind == "f" else values
        least, most = (int(bits.min()), int(bits.max())) if count else (0, 0)
        if least == most:
            return _Numbers(count, dtype, least, None, None)
        narrow = next(kind for kind in _UNSIGNED if most - least < 1 << 8 * kind.itemsize)
        # The difference wraps around where it needs the sign's bit, and back again on the way out.
        spread = (bits - bits.dtype.type(least)).view(f"u{dtype.itemsize}").astype(narrow, copy=False)
        return _Numbers(count, dtype, least, narrow, self._keep(spread))

    def _numbers(self, aside: _Numbers) -> NDArray[Any]:
        whole = np.dtype(f"i{aside.dtype.itemsize}") if aside.dtype.kind == "f" else aside.dtype
        if aside.narrow is None:
            value = np.array(aside.least, whole).view(aside.dtype)
            return np.broadcast_to(value, (aside.count,))
        spread: Any = aside.kept
        if not isinstance(spread, np.ndarray):
            spread = self._read(aside.kept, aside.narrow, aside.count)
        values: NDArray[Any] = spread
        if aside.narrow == whole and not aside.least:
            return values
        values = spread.astype(whole)
        values += whole.type(aside.least)
        found: NDArray[Any] = values.view(aside.dtype)
        return found

    def _put_texts(self, values: Any) -> _Texts:
        count = len(values)
        if values.null_count == count:
            nothing = np.zeros(0, np.uint8)
            lengths = np.broadcast_to(np.int64(0), (count,))
            return _Texts(self._put_numbers(lengths), self._put_numbers(nothing), values.type)
        _validity, offsets, characters = values.buffers()
        ends = np.frombuffer(offsets, np.int64)[values.offset : values.offset + count + 1]
        lengths = np.diff(ends)
        lengths += 1
        joined = np.frombuffer(characters or b"", np.uint8)[int(ends[0]) : int(ends[-1])]
        if values.null_count:
            absent = values.is_null().to_numpy(zero_copy_only=False)
            if bool((lengths[absent] > 1).any()):
                # An absent text may still have bytes.
                return self._put_texts(values.take(pa.array(np.arange(count))))
            lengths[absent] = 0
        return _Texts(self._put_numbers(lengths), self._put_bytes(joined), values.type)

    def _texts(self, aside: _Texts) -> Any:
        lengths = self._numbers(aside.lengths)
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(np.maximum(lengths - 1, 0), out=offsets[1:])
        absent = lengths == 0
        validity = pa.array(~absent).buffers()[1] if absent.any() else None
        characters = pa.py_buffer(np.ascontiguousarray(self._numbers(aside.characters)))
        return pa.Array.from_buffers(aside.type, len(lengths), [validity, pa.py_buffer(offsets), characters])

    def _put_bytes(self, joined: NDArray[np.uint8]) -> _Numbers:
        # Bytes are kept as they are: looking for the least of them would gain nothing.
        kept = self._keep(joined) if len(joined) else joined
        return _Numbers(len(joined), joined.dtype, 0, joined.dtype, kept)

    def _keep(self, values: NDArray[Any]) -> Any:
        with self._lock:
            if self._folder is None or values.nbytes <= self._room_bytes:
                self._room_bytes -= values.nbytes
                # A view would hold on to all that it is a view of.
                return values if values.base is None else values.copy()
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115 - closed by `close`
                weakref.finalize(self, self._file.close)
            at = self._size
            self._file.seek(at)
            left = np.ascontiguousarray(values).data.cast("B")
            while len(left):
                left = left[self._file.write(left) :]
            self._size += values.nbytes
            return at

    def _read(self, at: int, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
        values = np.empty(count, dtype)
        left = values.data.cast("B")
        with self._lock:
            self._file.seek(at)
            while len(left):
                got = self._file.readinto(left)
                if not got:
                    raise OSError("a file of rows put aside ends early")
                left = left[got:]
        return values


class StoredTable(Mapping[str, Any]):
    """The rows of one table, put aside part by part. A column is read whole each time that it is asked for."""

    def __init__(self, table: str, scratch: Scratch) -> None:
        self.table = table
        self.scratch = scratch
        self.rows = 0
        self._parts: list[dict[str, Any]] = []
        self._words: dict[str, int] = {}

    def __getitem__(self, name: str) -> Any:
        wanted = column(self.table, name)
        if not self.rows:
            return cols.normal(wanted, None, 0)
        values = [self._got(part, name) for part in self._parts]
        if not cols.is_text(wanted):
            return cols.one_under_another(values)
        if cols.is_open_choice(wanted):
            return self.worded(np.concatenate(values))
        return pa.concat_arrays(values)

    def __iter__(self) -> Iterator[str]:
        return (each.name for each in TABLES[self.table])

    def __len__(self) -> int:
        return len(TABLES[self.table])

    def __contains__(self, name: object) -> bool:
        return any(each.name == name for each in TABLES[self.table])

    @property
    def words(self) -> list[str]:
        """The texts of the column that is a dictionary of any texts, by number."""
        return list(self._words)

    def append(self, rows: Mapping[str, Any]) -> None:
        """Put rows behind those before, in the form of `columns.normal`. Raises OSError where the disk is full."""
        count = cols.length_of(rows)
        if not count:
            return
        part: dict[str, Any] = {}
        for each in TABLES[self.table]:
            values = rows[each.name]
            if cols.is_open_choice(each):
                codes = [self._words.setdefault(word, len(self._words)) for word in values.dictionary.to_pylist()]
                values = np.array(codes, np.int32)[values.indices.to_numpy(zero_copy_only=False)]
            part[each.name] = self.scratch.put(values)
        self._parts.append(part)
        self.rows += count

    def is_constant(self, name: str) -> bool:
        """Whether a numeric column is known to have one value only."""
        found = {(part[name].least, part[name].narrow) for part in self._parts}
        return len(found) == 1 and found.pop()[1] is None

    def parts(self, names: Sequence[str] | None = None) -> Iterator[Columns]:
        """Some columns, or all, part by part."""
        for part in self._parts:
            yield {
                name: self.worded(values) if cols.is_open_choice(column(self.table, name)) else values
                for name in (self if names is None else names)
                for values in (self._got(part, name),)
            }

    def worded(self, codes: NDArray[Any]) -> Any:
        """The texts that numbers of the column of any texts stand for."""
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(self.words, pa.string()))

    def _got(self, part: Mapping[str, Any], name: str) -> Any:
        return self.scratch.get(part[name])


class Ordered(Mapping[str, Any]):
    """Rows of a table in another order. A column is put in order each time that it is asked for.

    Attributes:
        rows: how many there are.
    """

    def __init__(self, table: str, source: Mapping[str, Any], order: NDArray[Any], made: Columns) -> None:
        """`order` are positions in `source`; `made` are columns that are in order already, in place of its own.

        Where there is no `id` among them, the position is the id.
        """
        self.table = table
        self.rows = len(order)
        self._source = source
        self._made = made
        # What is read part by part asks where a row goes, not which one comes.
        stored = isinstance(source, StoredTable)
        self._moves = cols.inverse(order, cols.length_of(source)) if stored else order

    def __getitem__(self, name: str) -> Any:
        wanted = column(self.table, name)
        own = self._own(name, 0, self.rows)
        if own is not None:
            return own
        if not isinstance(self._source, StoredTable) or cols.is_text(wanted):
            return cols.taken(self._source[name], self.order())
        if self._source.is_constant(name):
            return self._source[name][: self.rows]
        values = np.empty(self.rows, cols.dtype_of(wanted))
        begin = 0
        for part in self._source.parts((name,)):
            places = self._moves[begin : begin + len(part[name])]
            begin += len(places)
            stays = slice(None) if int(places.min()) >= 0 else places >= 0
            values[places[stays]] = part[name][stays]
        return values

    def __iter__(self) -> Iterator[str]:
        return (each.name for each in TABLES[self.table])

    def __len__(self) -> int:
        return len(TABLES[self.table])

    def __contains__(self, name: object) -> bool:
        return any(each.name == name for each in TABLES[self.table])

    def order(self) -> NDArray[Any]:
        """The positions of the rows in the source."""
        if not isinstance(self._source, StoredTable):
            return self._moves
        order = cols.inverse(self._moves, self.rows + 1)
        return order[: self.rows]

    def places(self) -> NDArray[Any]:
        """Where each row of the source stands; NONE where it does not."""
        if isinstance(self._source, StoredTable):
            return self._moves
        return cols.inverse(self._moves, cols.length_of(self._source))

    def blocks(self, bounds: Sequence[int]) -> Iterator[Columns]:
        """All columns of the rows between one bound and the next, one block after the other.

        Bounds ascend from 0 to the number of rows. Of rows that were put aside no more than a part is in memory.
        """
        if isinstance(self._source, StoredTable) and len(bounds) > 2:
            yield from self._sorted_apart(self._source, bounds)
            return
        order = self.order()
        for begin, end in pairwise(bounds):
            yield {
                name: cols.taken(self._source[name], order[begin:end]) if own is None else own
                for name in self
                for own in (self._own(name, begin, end),)
            }

    def _own(self, name: str, begin: int, end: int) -> Any:
        """Rows [begin, end) of a column that does not come from the source, else None."""
        if name in self._made:
            values = self._made[name][begin:end]
            return values.astype(cols.dtype_of(column(self.table, name)), copy=False)
        return np.arange(begin, end, dtype=np.int64) if name == "id" else None

    def _sorted_apart(self, source: StoredTable, bounds: Sequence[int]) -> Iterator[Columns]:
        """Each part of the source goes to the stretches of the result that its rows belong to; those are then sorted.

        A stretch is one block or several, so that they are not too many.
        """
        every = -(-(len(bounds) - 1) // _MOST_STRETCHES)
        cuts = np.array([*bounds[:-1:every], bounds[-1]], np.int64)
        names = [name for name in self if self._own(name, 0, 0) is None]
        shares = self._shared_out(source, names, cuts)
        for index, (first, last) in enumerate(pairwise(cuts.tolist())):
            stretch = self._gathered(source, names, shares[index], first, last)
            shares[index] = []
            mine = bounds[index * every : (index + 1) * every + 1]
            for begin, end in pairwise(mine):
                block = {name: values[begin - first : end - first] for name, values in stretch.items()}
                yield {name: block[name] if name in block else self._own(name, begin, end) for name in self}

    def _shared_out(self, source: StoredTable, names: Sequence[str], cuts: NDArray[np.int64]) -> list[list[Any]]:
        """For each stretch what the parts of the source have for it: places, and columns put aside once more."""
        shares: list[list[Any]] = [[] for _ in cuts[1:]]
        begin = 0
        for part in source.parts(names):
            end = begin + cols.length_of(part)
            places = self._moves[begin:end]
            begin = end
            by_place = np.argsort(places, kind="stable")
            places = places[by_place]
            at = np.searchsorted(places, cuts).tolist()
            part = {name: cols.taken(_bare(values), by_place) for name, values in part.items()}
            for index, (low, high) in enumerate(pairwise(at)):
                if low < high:
                    aside = {name: source.scratch.put(values[low:high]) for name, values in part.items()}
                    shares[index].append((source.scratch.put(places[low:high]), aside))
        return shares

    def _gathered(
        self, source: StoredTable, names: Sequence[str], shares: Sequence[Any], first: int, last: int
    ) -> Columns:
        """Rows [first, last), from what the parts have for them."""
        get = source.scratch.get
        places = np.concatenate([get(place) for place, _aside in shares]).astype(np.int64) - first
        order: Any = None
        found: Columns = {}
        for name in names:
            values = [get(aside[name]) for _place, aside in shares]
            if not isinstance(values[0], np.ndarray):
                order = pa.array(cols.inverse(places, last - first)) if order is None else order
                found[name] = pa.concat_arrays(values).take(order)
                continue
            joined = cols.one_under_another(values)
            if not cols.is_constant(joined):
                scattered = np.empty(last - first, joined.dtype)
                scattered[places] = joined
                joined = scattered
            found[name] = source.worded(joined) if cols.is_open_choice(column(self.table, name)) else joined
        return found


def parts_of(table: Mapping[str, Any], names: Sequence[str], rows: int = 1 << 20) -> Iterator[Columns]:
    """Some columns of a table part by part, whether it was put aside or not."""
    if isinstance(table, StoredTable):
        yield from table.parts(names)
        return
    for begin in range(0, cols.length_of(table), rows):
        yield {name: table[name][begin : begin + rows] for name in names}


def words_of(table: Mapping[str, Any], name: str) -> list[str]:
    """The texts of a column that is a dictionary of any texts, whether or not a row has them."""
    words: list[str] = table.words if isinstance(table, StoredTable) else table[name].dictionary.to_pylist()
    return words


def _bare(values: Any) -> Any:
    """A dictionary of texts as its numbers: those of one table all mean the same."""
    if isinstance(values, pa.DictionaryArray):
        return values.indices.to_numpy(zero_copy_only=False)
    return values
