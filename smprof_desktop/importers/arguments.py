"""The `args` of many events at once → one column per key: typed ones to take, and the rest, exactly as recorded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Raw
from numpy.typing import NDArray

from smprof.profile.schema import NONE

I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

_ABSENT_INTEGER = -(1 << 63)
_ABSENT_TEXT = b"-9223372036854775808"
_ABSENT = Raw()
_EMPTY = Raw(b"{}")
_ODD_KEY = re.compile(r'[\\"\x00-\x1f]')
_MAX_FIELDS = 200
_SAMPLES = 64
_INTEGER = msgspec.json.Decoder(int)
_INTEGERS = msgspec.json.Decoder(list[int])
_FLOATS = msgspec.json.Decoder(list[float])


@dataclass
class Leftover:
    """The values of one key that no column took: `rows` are positions in the events; each has an integer or a text.

    Of keys that are too many for columns of their own there are several: then `key` has one for each row.
    """

    key: str | pa.DictionaryArray
    rows: I64
    integers: I64 | None
    texts: pa.LargeStringArray | None

    def keys(self) -> pa.Array:
        """The key of each row: a dictionary of them where there are several."""
        return pa.repeat(pa.scalar(self.key, pa.string()), len(self.rows)) if isinstance(self.key, str) else self.key

    def key_of(self, mask: Mask) -> str | pa.DictionaryArray:
        """What stands as `key` for some of the rows."""
        return self.key if isinstance(self.key, str) else self.key.filter(pa.array(mask))


@dataclass
class _Integers:
    values: I64
    left: Mask


@dataclass
class _Texts:
    raws: list[Any]
    left: Mask


class Arguments:
    """The arguments of `count` events. What is taken into a column is no longer among the leftovers."""

    def __init__(
        self, count: int, columns: dict[str, _Integers | _Texts], rare: dict[str, list[tuple[int, Any]]] | None = None
    ) -> None:
        """`rare`: position and text of the values of keys that have no column yet."""
        self._count = count
        self._columns = columns
        self._rare = rare or {}

    def __len__(self) -> int:
        return self._count

    def integers(self, key: str) -> I64:
        """The integers of a key, which stay; NONE where there is none."""
        values, left = self._integers_of(key)
        return np.where(left, values, NONE)

    def take_integers(
        self, *keys: str, low: int = NONE + 1, high: int = (1 << 63) - 1, among: Mask | None = None
    ) -> I64:
        """The integers of the first of `keys` that an event has; NONE where there is none in [low, high].

        `among`: the events to take them of, where not all. A string that holds an integer is taken as one.
        """
        taken = np.full(self._count, NONE, dtype=np.int64)
        open_rows = np.ones(self._count, dtype=np.bool_) if among is None else among.copy()
        for key in keys:
            values, left = self._integers_of(key)
            use = left & open_rows & (values >= low) & (values <= high) & (values != NONE)
            if use.any():
                taken[use] = values[use]
                self._columns[key].left &= ~use
                open_rows &= ~use
        return taken

    def take_floats(self, key: str) -> NDArray[np.float64]:
        """The finite numbers of a key; NaN where there is none."""
        taken = np.full(self._count, np.nan)
        column = self._column(key)
        if isinstance(column, _Integers):
            taken[column.left] = column.values[column.left]
            column.left[:] = False
        elif column is not None:
            rows = np.flatnonzero(column.left)
            for row, value in zip(rows.tolist(), _floats([column.raws[row] for row in rows.tolist()]), strict=True):
                if value is not None and np.isfinite(value):
                    taken[row] = value
                    column.left[row] = False
        return taken

    def take_parsed(self, key: str, parse: Callable[[bytes], Any]) -> list[Any]:
        """What `parse` makes of each JSON text of a key; None where it is absent or `parse` gives None.

        `parse` is asked once for each distinct text.
        """
        taken: list[Any] = [None] * self._count
        column = self._column(key)
        if isinstance(column, _Integers):
            column = self._columns[key] = _Texts([b"%d" % value for value in column.values.tolist()], column.left)
        if column is not None:
            parsed: dict[bytes, Any] = {}
            for row in np.flatnonzero(column.left).tolist():
                text = bytes(column.raws[row])
                if text not in parsed:
                    parsed[text] = parse(text)
                taken[row] = parsed[text]
                if parsed[text] is not None:
                    column.left[row] = False
        return taken

    def leftovers(self) -> Iterable[Leftover]:
        """Everything that was not taken."""
        for key, column in self._columns.items():
            rows = np.flatnonzero(column.left)
            if not len(rows):
                continue
            if isinstance(column, _Integers):
                yield Leftover(key, rows, column.values[rows], None)
                continue
            raws = column.raws if len(rows) == self._count else [column.raws[row] for row in rows.tolist()]
            yield from _texts_or_integers(key, rows, raws)
        yield from self._rare_leftovers()

    def _rare_leftovers(self) -> Iterable[Leftover]:
        if not self._rare:
            return
        numbers = np.repeat(np.arange(len(self._rare), dtype=np.int32), [len(values) for values in self._rare.values()])
        rows = np.array([row for values in self._rare.values() for row, _raw in values], dtype=np.int64)
        raws = [raw for values in self._rare.values() for _row, raw in values]
        # Numbered, so that the keys follow where texts and integers part.
        for part in _texts_or_integers("", np.arange(len(rows), dtype=np.int64), raws):
            keys = pa.DictionaryArray.from_arrays(pa.array(numbers[part.rows]), pa.array(list(self._rare), pa.string()))
            yield Leftover(keys, rows[part.rows], part.integers, part.texts)

    def _column(self, key: str) -> _Integers | _Texts | None:
        """The column of a key, made where its values were among the rare ones."""
        values = self._rare.pop(key, None)
        if values is not None:
            column = self._columns[key] = _Texts([_ABSENT] * self._count, np.zeros(self._count, dtype=np.bool_))
            for row, raw in values:
                column.raws[row], column.left[row] = raw, True
        return self._columns.get(key)

    def _integers_of(self, key: str) -> tuple[I64, Mask]:
        """The integers of a key, also those in strings, and which events have one."""
        column = self._column(key)
        if isinstance(column, _Integers):
            return column.values, column.left
        values = np.full(self._count, NONE, dtype=np.int64)
        left = np.zeros(self._count, dtype=np.bool_)
        if column is None:
            return values, left
        for row in np.flatnonzero(column.left).tolist():
            value = integer_of(bytes(column.raws[row]))
            if value is not None:
                values[row], left[row] = value, True
        return values, left


class ArgumentReader:
    """Decodes the args of events of one category, remembering from piece to piece which keys they have."""

    def __init__(self) -> None:
        self._fields: dict[str, type] = {}
        self._decoder: msgspec.json.Decoder[list[Any]] | None = None

    def read(self, raws: Sequence[Raw]) -> Arguments:
        """The arguments of events; an empty one has none. One that is no object is kept under the key `args`."""
        count = len(raws)
        text = b"".join((b"[", b",".join([raw or _EMPTY for raw in raws]), b"]"))
        for _attempt in range(3):
            if self._decoder is None:
                self._learn(raws[:: max(1, count // _SAMPLES)])
            if len(self._fields) > _MAX_FIELDS or _ABSENT_TEXT in text:
                break
            assert self._decoder is not None
            try:
                return self._columns(self._decoder.decode(text), count)
            except (msgspec.DecodeError, OverflowError, RecursionError):
                self._learn(raws)
        return self._slowly(raws)

    def _learn(self, raws: Iterable[Raw]) -> None:
        """Extend the known keys by those of `raws`; a key is integer while all its values are."""
        for row in _rows_of(raws):
            for key, value in row.items():
                # Rows with a key that no struct can have are read slowly.
                if self._fields.get(key) is not Raw and not _ODD_KEY.search(key):
                    self._fields[key] = int if _integer(value) is not None else Raw
        defaults = {int: _ABSENT_INTEGER, Raw: _ABSENT}
        known = [(f"f{index}", kind, defaults[kind]) for index, kind in enumerate(self._fields.values())]
        names = {f"f{index}": key for index, key in enumerate(self._fields)}
        row_type = msgspec.defstruct("Row", known[:_MAX_FIELDS], rename=names, forbid_unknown_fields=True, gc=False)
        self._decoder = msgspec.json.Decoder(list[row_type])  # type: ignore[valid-type]

    def _columns(self, rows: list[Any], count: int) -> Arguments:
        columns: dict[str, _Integers | _Texts] = {}
        for index, (key, kind) in enumerate(self._fields.items()):
            values = list(map(attrgetter(f"f{index}"), rows))
            if kind is int:
                integers = np.array(values, dtype=np.int64)
                columns[key] = _Integers(integers, integers != _ABSENT_INTEGER)
            else:
                columns[key] = _Texts(values, np.fromiter(map(len, values), np.int64, count) > 0)
        return Arguments(count, columns)

    def _slowly(self, raws: Sequence[Raw]) -> Arguments:
        """One row after the other. A key gets a column when it is asked for: there may be as many keys as rows."""
        rare: dict[str, list[tuple[int, Any]]] = {}
        for index, row in enumerate(_rows_of(raws)):
            for key, value in row.items():
                rare.setdefault(key, []).append((index, value))
        return Arguments(len(raws), {}, rare)


def integer_of(text: bytes) -> int | None:
    """The 64-bit integer of a JSON text, or of a JSON string of digits; None where it is neither."""
    if text[:1] == b'"' and text[1:-1].removeprefix(b"-").isdigit():
        text = text[1:-1]
    return _integer(text)


def large_strings(raws: Sequence[Any]) -> pa.LargeStringArray:
    """The bytes-like texts as an Arrow column; what is not UTF-8 in them is shown by replacement characters."""
    joined, offsets = _joined(raws)
    if not joined.isascii():
        try:
            joined.decode()
        except UnicodeDecodeError:
            return pa.array([bytes(raw).decode(errors="replace") for raw in raws], pa.large_string())
    return pa.LargeStringArray.from_buffers(len(raws), pa.py_buffer(offsets), pa.py_buffer(joined))


def _joined(raws: Sequence[Any]) -> tuple[bytes, I64]:
    """The texts one after the other, and where each begins, with the end at the end."""
    offsets = np.zeros(len(raws) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, raws), np.int64, len(raws)), out=offsets[1:])
    return b"".join(raws), offsets


def _integer(text: Any) -> int | None:
    try:
        value = _INTEGER.decode(text)
    except msgspec.DecodeError:
        return None
    return value if -(1 << 63) <= value < 1 << 63 else None


def _rows_of(raws: Iterable[Raw]) -> Iterable[dict[str, Raw]]:
    for raw in raws:
        text = bytes(raw) or b"{}"
        try:
            yield msgspec.json.decode(text, type=dict[str, Raw])
        except (msgspec.DecodeError, RecursionError):
            yield {"args": Raw(text)}


def _floats(raws: list[Any]) -> list[float | None]:
    try:
        return list(_FLOATS.decode(b"[" + b",".join(raws) + b"]"))
    except msgspec.DecodeError:
        return [_float(bytes(raw)) for raw in raws]


def _float(text: bytes) -> float | None:
    try:
        return float(text.strip(b'"'))
    except ValueError:
        return None


def _integers_among(raws: list[Any], at: I64) -> tuple[I64, I64]:
    """Which of the texts at these positions are integers of 64 bits, and what they are."""
    try:
        values = np.array(_INTEGERS.decode(b"[" + b",".join([raws[index] for index in at.tolist()]) + b"]"), np.int64)
        if len(values) == len(at):
            return at, values
    except (msgspec.DecodeError, OverflowError):
        pass
    found = {index: value for index in at.tolist() if (value := _integer(raws[index])) is not None}
    return np.fromiter(found, np.int64, len(found)), np.fromiter(found.values(), np.int64, len(found))


def _texts_or_integers(key: str, rows: I64, raws: list[Any]) -> Iterable[Leftover]:
    """Leftovers of one key by what they are: integers of 64 bits as such, everything else as text."""
    joined, offsets = _joined(raws)
    firsts = np.frombuffer(joined, dtype=np.uint8)[offsets[:-1]]
    maybe = (firsts == ord("-")) | ((firsts >= ord("0")) & (firsts <= ord("9")))
    at, integers = _integers_among(raws, np.flatnonzero(maybe))
    if len(at):
        yield Leftover(key, rows[at], integers, None)
        rest = np.ones(len(rows), dtype=np.bool_)
        rest[at] = False
        others = np.flatnonzero(rest)
        rows, raws = rows[others], [raws[index] for index in others.tolist()]
    if raws:
        yield Leftover(key, rows, None, large_strings(raws))
