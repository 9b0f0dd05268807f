"""Columns in memory: numpy arrays by name, and how they become Arrow and back. No files here.

Absent integers are NONE (-1), absent floats NaN, enumerations int8 positions in the schema's choices (absent: -1),
text stays an Arrow array.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smprof.profile.schema import NONE, TABLES, Column, arrow_schema

Columns = dict[str, Any]
"""Column name → numpy array, or a pyarrow array for text; all of one length."""

_TAKEN_AT_ONCE = 1 << 20


def is_text(column: Column) -> bool:
    """Whether the column is kept as Arrow text or bytes."""
    return pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type) or is_open_choice(column)


def is_open_choice(column: Column) -> bool:
    """Whether the column is a dictionary of texts that the schema does not list."""
    return pa.types.is_dictionary(column.type) and not column.choices


def dtype_of(column: Column) -> np.dtype[Any]:
    """The numpy type of a column that is not text."""
    if column.choices:
        return np.dtype(np.int8)
    kind: np.dtype[Any] = np.dtype(column.type.to_pandas_dtype())
    return kind


def length_of(columns: Mapping[str, Any]) -> int:
    """Number of rows."""
    # Tables that read a column when it is asked for say it themselves.
    known = getattr(columns, "rows", None)
    if known is not None:
        return int(known)
    for values in columns.values():
        return len(values)
    return 0


def empty(table: str) -> Columns:
    """The table without rows."""
    return {column.name: normal(column, None, 0) for column in TABLES[table]}


def normal(column: Column, values: Any, length: int) -> Any:
    """`values` in the form described above. `None` is a column of absent values.

    Raises ValueError for a wrong length or a text that is not among the choices.
    """
    if values is None:
        if is_text(column):
            return pa.nulls(length, column.type)
        return absent(column, length)
    if len(values) != length:
        raise ValueError(f"{column.name} has {len(values)} values, not {length}")
    if is_text(column):
        return _text(column, values)
    if column.choices:
        return _codes(column, values)
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return from_arrow(column, values)
    if isinstance(values, np.ma.MaskedArray):
        values = values.filled(np.nan if pa.types.is_floating(column.type) else NONE)
    array = np.asarray(values)
    target = dtype_of(column)
    if array.dtype == target:
        return array
    if target.kind == "i" and array.dtype.kind not in "iub":
        raise ValueError(f"{column.name} takes integers, not {array.dtype}")
    return array.astype(target, casting="unsafe" if target.kind == "f" else "same_kind")


def absent(column: Column, length: int) -> NDArray[Any]:
    """A numeric column without values: read-only, and one value in memory whatever its length."""
    nothing: Any = np.nan if pa.types.is_floating(column.type) else NONE
    return np.broadcast_to(np.array(nothing, dtype_of(column)), (length,))


def is_constant(values: Any) -> bool:
    """Whether a numpy column is one value in memory, repeated: no need to move or look at its rows."""
    return isinstance(values, np.ndarray) and values.strides == (0,) and len(values) > 0


def _one_dictionary(values: Any) -> Any:
    """A chunked array of texts, dictionaries or not, as one array with one dictionary."""
    if not pa.types.is_dictionary(values.type):
        values = values.cast(pa.string()).dictionary_encode()
    values = values.cast(pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
    joined = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], pa.string()).dictionary_encode()
    return joined


def _text(column: Column, values: Any) -> Any:
    if is_open_choice(column):
        if not isinstance(values, pa.Array | pa.ChunkedArray):
            values = pa.array(list(values), pa.string())
        return _one_dictionary(values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values]))
    kind = column.type
    if isinstance(values, pa.ChunkedArray):
        # Chunks of 32-bit offsets may not fit into one array of the same.
        values = values.cast(kind).combine_chunks()
    if isinstance(values, pa.Array):
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        return values if values.type == kind else values.cast(kind)
    return pa.array(list(values), kind)


def _codes(column: Column, values: Any) -> NDArray[np.int8]:
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        codes = values.astype(np.int8)
        if len(codes) and (int(values.max()) >= len(column.choices) or int(codes.min()) < -1):
            raise ValueError(f"{column.name} holds a number that is no choice")
        return codes
    if isinstance(values, str):
        raise ValueError(f"{column.name} takes one value per row")
    known: dict[Any, int] = {choice: index for index, choice in enumerate(column.choices)}
    known[None] = -1
    try:
        return np.fromiter((known[value] for value in values), np.int8, len(values))
    except KeyError as error:
        raise ValueError(f"{column.name} does not take {error.args[0]!r}") from None


def from_arrow(column: Column, values: Any) -> Any:
    """A column as read from a file, in the form described above. Raises ValueError where its type does not fit."""
    try:
        if is_text(column):
            return _text(column, values)
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if column.choices:
            return _codes_from_arrow(column, values)
        if values.type != column.type:
            values = values.cast(column.type)
        if values.null_count:
            values = pc.fill_null(values, float("nan") if pa.types.is_floating(column.type) else NONE)
        return values.to_numpy(zero_copy_only=False)
    except pa.ArrowException as error:
        raise ValueError(f"{column.name} does not fit its type: {error}") from None


def _codes_from_arrow(column: Column, values: Any) -> NDArray[np.int8]:
    if not pa.types.is_dictionary(values.type):
        values = values.cast(pa.string()).dictionary_encode()
    known = {choice: index for index, choice in enumerate(column.choices)}
    table = np.array([known.get(text, -2) for text in values.dictionary.to_pylist()] + [-1], np.int8)
    indices = pc.fill_null(values.indices, len(table) - 1).to_numpy(zero_copy_only=False)
    codes: NDArray[np.int8] = table[indices]
    if (codes == -2).any():
        raise ValueError(f"{column.name} holds a value that is no choice")
    return codes


def to_arrow(table: str, columns: Mapping[str, Any], begin: int = 0, end: int | None = None) -> pa.Table:
    """Rows [begin, end) as an Arrow table of the format's schema."""
    arrays = [_arrow_column(column, columns[column.name][begin:end]) for column in TABLES[table]]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(table))


def _arrow_column(column: Column, values: Any) -> Any:
    if is_text(column):
        return values
    if column.choices:
        none = values < 0
        codes = pa.array(np.where(none, 0, values).astype(np.int32), mask=none)
        return pa.DictionaryArray.from_arrays(codes, pa.array(column.choices, pa.string()))
    if not column.nullable:
        return pa.array(values, column.type)
    none = np.isnan(values) if values.dtype.kind == "f" else values == NONE
    if is_constant(values) and none[0]:
        return pa.nulls(len(values), column.type)
    return pa.array(values, column.type, mask=none)


def taken(values: Any, positions: NDArray[Any]) -> Any:
    """The values at `positions`, in that order."""
    if is_constant(values):
        return np.broadcast_to(values[0], (len(positions),))
    if not isinstance(values, np.ndarray):
        return values.take(pa.array(positions))
    found = np.empty(len(positions), values.dtype)
    # Positions of 32 bits are widened on the way: not all of them at once.
    for begin in range(0, len(positions), _TAKEN_AT_ONCE):
        found[begin : begin + _TAKEN_AT_ONCE] = values[positions[begin : begin + _TAKEN_AT_ONCE]]
    return found


def position_type(count: int) -> np.dtype[Any]:
    """The numpy type of positions in so many rows, and of NONE."""
    return np.dtype(np.int32 if count < 1 << 31 else np.int64)


def inverse(order: NDArray[Any], count: int) -> NDArray[Any]:
    """Where each of `count` rows stands in `order`; NONE where it does not."""
    places = np.full(count, NONE, position_type(len(order)))
    for begin in range(0, len(order), _TAKEN_AT_ONCE):
        rows = order[begin : begin + _TAKEN_AT_ONCE]
        places[rows] = np.arange(begin, begin + len(rows), dtype=places.dtype)
    return places


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) or bool(one != one and other != other)


def concatenate(table: str, parts: list[Columns]) -> Columns:
    """Tables under one another. Empties `parts` column by column, so that a table is not held twice."""
    if not parts:
        return empty(table)
    if len(parts) == 1:
        return parts[0]
    joined: Columns = {}
    for column in TABLES[table]:
        values = [part.pop(column.name) for part in parts]
        if is_open_choice(column):
            joined[column.name] = _one_dictionary(pa.chunked_array(values))
        elif not isinstance(values[0], np.ndarray):
            joined[column.name] = pa.concat_arrays(values)
        else:
            joined[column.name] = one_under_another(values)
    return joined


def one_under_another(values: list[NDArray[Any]]) -> NDArray[Any]:
    """Numeric columns as one; of one value in memory where all of them are of the same."""
    if len(values) == 1:
        return values[0]
    if all(is_constant(part) and _same(part[0], values[0][0]) for part in values):
        return np.broadcast_to(values[0][0], (sum(len(part) for part in values),))
    return np.concatenate(values)
