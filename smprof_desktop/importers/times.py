"""Decimal text in microseconds → whole nanoseconds, exactly: a double is too coarse for times near 4e12 µs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

GOOD, UNREADABLE, OVERFLOW = 0, 1, 2
"""What became of one text: a time; no number; a number that does not fit in 64 bits of nanoseconds."""

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
_POWERS = np.array([10**digits for digits in range(19)], dtype=np.int64)
_MAX_WHOLE_US = INT64_MAX // 1000 - 1
_INTEGERS = msgspec.json.Decoder(list[int])
_NUMBER = re.compile(rb"\s*([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?\s*")


def nanoseconds(texts: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Nanoseconds of JSON numbers, or strings holding one, in µs, to the nearest, halves to even; and each one's fate.

    `texts` are bytes-like; an empty one is an absent value. Where the second array is not GOOD, the first holds 0.
    """
    count = len(texts)
    fate = np.zeros(count, dtype=np.uint8)
    values = _plain(b",".join(texts), count) if count else np.zeros(0, dtype=np.int64)
    if values is not None:
        return values, fate
    values = np.zeros(count, dtype=np.int64)
    for index, text in enumerate(texts):
        value = one_nanoseconds(bytes(text))
        if value is None:
            fate[index] = UNREADABLE
        elif not INT64_MIN <= value <= INT64_MAX:
            fate[index] = OVERFLOW
        else:
            values[index] = value
    return values, fate


def one_nanoseconds(text: bytes) -> int | None:
    """Nanoseconds of one text in µs, of any size; None where it is no finite number."""
    if text[:1] == b'"' and text[-1:] == b'"' and len(text) > 1:
        text = text[1:-1]
    found = _NUMBER.fullmatch(text)
    if found is None or not (found[2] or found[3]):
        return None
    sign, whole, fraction, exponent = found[1], found[2] or b"", found[3] or b"", int(found[4] or b"0")
    thousandths = Decimal((0, tuple(digit - 48 for digit in whole + fraction), exponent - len(fraction) + 3))
    if not thousandths:
        return 0
    if thousandths.adjusted() > 40:
        return -(1 << 64) if sign == b"-" else 1 << 64
    nearest = int(thousandths.to_integral_value(ROUND_HALF_EVEN, Context(prec=len(whole) + len(fraction) + 50)))
    return -nearest if sign == b"-" else nearest


def _plain(joined: bytes, count: int) -> NDArray[np.int64] | None:
    """The times of comma-separated plain decimals such as `-12.5`; None where one is anything else.

    Every `.` becomes `,1`, so that one pass of an integer decoder reads whole parts and fractions alike, and the
    leading 1 keeps the number of digits of the fraction.
    """
    if b'"' in joined:
        joined = joined.replace(b'"', b"")
    try:
        parts = np.array(_INTEGERS.decode(b"[" + joined.replace(b".", b",1") + b"]"), dtype=np.int64)
    except (msgspec.DecodeError, OverflowError):
        return None
    text = np.frombuffer(joined, dtype=np.uint8)
    dots = np.flatnonzero(text == ord("."))
    if len(parts) != count + len(dots):
        return None
    if not len(dots):
        if not _fits(parts):
            return None
        whole_ns: NDArray[np.int64] = parts * 1000
        return whole_ns
    commas = np.flatnonzero(text == ord(","))
    owner = np.searchsorted(commas, dots)
    if len(commas) != count - 1 or (len(owner) > 1 and np.any(owner[1:] == owner[:-1])):
        return None
    has_fraction = np.zeros(count, dtype=np.int64)
    has_fraction[owner] = 1
    at = np.arange(count) + np.cumsum(has_fraction) - has_fraction
    whole = parts[at]
    if not _fits(whole):
        return None
    fraction = parts[at[owner] + 1]
    digits = np.searchsorted(_POWERS, fraction, side="right") - 1
    thousandths = _to_thousandths(fraction - _POWERS[digits], digits)
    starts = np.concatenate(([0], commas + 1))[owner]
    values: NDArray[np.int64] = whole * 1000
    values[owner] += np.where(text[starts] == ord("-"), -thousandths, thousandths)
    return values


def _fits(whole_us: NDArray[np.int64]) -> bool:
    return bool(whole_us.size == 0 or (whole_us.max() <= _MAX_WHOLE_US and whole_us.min() >= -_MAX_WHOLE_US))


def _to_thousandths(fraction: NDArray[np.int64], digits: NDArray[np.int64]) -> NDArray[np.int64]:
    """`fraction` with that many digits, in thousandths, halves to even."""
    if digits.max() <= 3:
        return np.asarray(fraction * _POWERS[3 - digits])
    unit = _POWERS[np.maximum(digits - 3, 0)]
    quotient, rest = np.divmod(fraction * _POWERS[np.maximum(3 - digits, 0)], unit)
    twice = rest * 2
    up = (twice > unit) | ((twice == unit) & (quotient % 2 == 1))
    return np.asarray(quotient + up, dtype=np.int64)
