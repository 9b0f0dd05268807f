"""Columns → pieces of JSON text, whole columns at once. Arrow arrays of large strings; null where there is nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smprof.profile.schema import NONE

_TEXT = pa.large_string()
_THOUSANDTHS = pa.array([f".{part:03}" for part in range(1000)], _TEXT)
_SIGNS = pa.array(["", "-"], _TEXT)
_EXACT = 1 << 53
"""Below this every whole number is a double."""
_JSON = msgspec.json.Decoder(msgspec.Raw)


def quoted(text: str) -> str:
    """A text as JSON. Lone surrogates stand as escapes, so that the result is valid UTF-8."""
    return json.dumps(text, ensure_ascii=not _is_unicode(text))


def microseconds(times_ns: NDArray[np.int64]) -> Any:
    """Nanoseconds as decimal texts in µs with three decimals, exact over all of int64."""
    negative = times_ns < 0
    size = times_ns.astype(np.uint64)
    size = np.where(negative, np.uint64(0) - size, size)
    whole, rest = np.divmod(size, np.uint64(1000))
    return join(
        _SIGNS.take(pa.array(negative.astype(np.int8))),
        pc.cast(pa.array(whole), _TEXT),
        _THOUSANDTHS.take(pa.array(rest.astype(np.int16))),
    )


def integers(values: NDArray[Any]) -> Any:
    """Integers as texts; NONE is null."""
    return pc.cast(pa.array(values, mask=values == NONE), _TEXT)


def numbers(values: NDArray[np.float64]) -> Any:
    """Numbers as the shortest texts that read back the same; what is not finite is `null`."""
    return pa.array([_number(value) for value in values.tolist()], _TEXT)


def join(*pieces: Any) -> Any:
    """The pieces of each row one after the other; null where one of them is."""
    return pc.binary_join_element_wise(*(_piece(piece) for piece in pieces), _piece(""))


def members(*pieces: Any) -> Any:
    """The pieces of each row with commas between them, without those that are null."""
    # WORKAROUND(pyarrow 26.0): null_handling="skip" forgets rows in which all are null.
    led = [join(",", piece) for piece in pieces]
    whole = pc.binary_join_element_wise(*led, _piece(""), null_handling="replace", null_replacement="")
    return pc.ascii_ltrim(whole, ",")


def member(key: str, values: Any) -> Any:
    """`"key":value`; null where the value is."""
    return join(f"{quoted(key)}:", values)


def grouped(owners: NDArray[np.int64], pieces: Any, length: int) -> Any:
    """The pieces of each owner with commas between them; `owners` ascend, below `length`. Null where there are none."""
    edges = np.searchsorted(owners, np.arange(length + 1))
    lists = pa.LargeListArray.from_arrays(pa.array(edges, pa.int64()), pieces)
    return pc.if_else(pa.array(edges[1:] > edges[:-1]), pc.binary_join(lists, _piece(",")), pa.scalar(None, _TEXT))


def valid(texts: Any) -> Any:
    """JSON texts as they are; one that is none becomes a JSON string of it."""
    encoded = texts.dictionary_encode()
    checked: list[str] = encoded.dictionary.to_pylist()
    wrong = {index: quoted(text) for index, text in enumerate(checked) if not is_json(text)}
    if not wrong:
        return texts
    checked = [wrong.get(index, text) for index, text in enumerate(checked)]
    return pa.array(checked, _TEXT).take(encoded.indices)


def by_code(texts: Sequence[str | None], codes: NDArray[Any]) -> Any:
    """The text of each code; null for a negative one."""
    return pa.array(texts, _TEXT).take(pa.array(codes, mask=codes < 0))


def _piece(piece: Any) -> Any:
    return pa.scalar(piece, _TEXT) if isinstance(piece, str) else piece


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "null"
    return str(int(value)) if value.is_integer() and abs(value) < _EXACT else repr(value)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_json(text: str) -> bool:
    """Whether a text is one JSON value."""
    try:
        _JSON.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
