"""Decimal microseconds become exact nanoseconds."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof_desktop.importers import times

_DECIMALS = st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,22})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)


def _slow_twin(text: str) -> int:
    wide = Context(prec=200)
    return int(wide.scaleb(Decimal(text), 3).to_integral_value(ROUND_HALF_EVEN, wide))


@given(st.lists(_DECIMALS, max_size=30))
def test_any_decimals_agree_with_decimal_arithmetic(texts: list[str]) -> None:
    values, fate = times.nanoseconds([text.encode() for text in texts])
    for text, value, what in zip(texts, values.tolist(), fate.tolist(), strict=True):
        right = _slow_twin(text)
        if times.INT64_MIN <= right <= times.INT64_MAX:
            assert (what, value) == (times.GOOD, right), text
        else:
            assert (what, value) == (times.OVERFLOW, 0), text


@given(st.lists(st.integers(-(10**13), 10**13), min_size=1, max_size=50))
def test_thousandths_near_4e12_are_exact_and_quick_path_is_taken(values_ns: list[int]) -> None:
    texts = [f"{'-' if ns < 0 else ''}{abs(ns) // 1000}.{abs(ns) % 1000:03}".encode() for ns in values_ns]
    assert times._plain(b",".join(texts), len(texts)).tolist() == values_ns  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "right_ns"),
    [
        ("4203669604595.407", 4203669604595407),
        ("4398046511104.001", 4398046511104001),
        ("1661203462598738.001", 1661203462598738001),
        ("1661203462598738", 1661203462598738000),
        ("0.0005", 0),
        ("0.0015", 2),
        ("0.0025", 2),
        ("-0.0015", -2),
        ("-0.5", -500),
        ("-0.0004", 0),
        ('"12.5"', 12500),
        ('"-3"', -3000),
        ("1e3", 1000000),
        ("1.5E-3", 2),
        ("12.", 12000),
        ("0.00050000000000000000000001", 1),
    ],
)
def test_known_values(text: str, right_ns: int) -> None:
    for others in ([], ["5"], ["7.25", "1"]):
        values, fate = times.nanoseconds([text.encode(), *(other.encode() for other in others)])
        assert (values[0], fate[0]) == (right_ns, times.GOOD)


_NO_NUMBERS = [
    "",
    "null",
    "true",
    "NaN",
    "Infinity",
    "-Infinity",
    '""',
    '"1 2"',
    '"x"',
    '"1.2.3"',
    '"1,2"',
    "[1]",
    "{}",
    "-",
    ".",
    '"',
]


@pytest.mark.parametrize("text", _NO_NUMBERS)
def test_what_is_no_number_is_unreadable_and_harms_no_neighbour(text: str) -> None:
    values, fate = times.nanoseconds([b"1.5", text.encode(), b"2"])
    assert values.tolist() == [1500, 0, 2000]
    assert fate.tolist() == [times.GOOD, times.UNREADABLE, times.GOOD]


def test_overflow_is_told_apart_from_the_greatest_time() -> None:
    texts = [
        b"9223372036854775.807",
        b"9223372036854775.808",
        b"-9223372036854775.808",
        b"-9223372036854775.809",
        b"1e400",
        b"1e-400",
    ]
    values, fate = times.nanoseconds(texts)
    assert values.tolist() == [times.INT64_MAX, 0, times.INT64_MIN, 0, 0, 0]
    assert fate.tolist() == [times.GOOD, times.OVERFLOW, times.GOOD, times.OVERFLOW, times.OVERFLOW, times.GOOD]


def test_nothing_gives_nothing() -> None:
    values, fate = times.nanoseconds([])
    assert values.dtype == np.int64 and len(values) == len(fate) == 0
