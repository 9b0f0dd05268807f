"""Times, sizes and names as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof_desktop.analysis import quantities


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (None, "–"),
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.000 µs"),
        (-1_500, "-1.500 µs"),
        (12_345_678, "12.346 ms"),
        (999_999_700, "1.000 s"),
        (999_999, "999.999 µs"),
        (7_200_000_000_000, "7,200.000 s"),
    ],
)
def test_times(time_ns: int | None, text: str) -> None:
    assert quantities.time_text(time_ns) == text


def test_exact_times_and_sizes() -> None:
    assert quantities.exact_time_text(640) == "640 ns"
    assert quantities.exact_time_text(1_234_567) == "1.235 ms (1,234,567 ns)"
    assert quantities.size_text(640) == "640 bytes"
    assert quantities.size_text(4_096) == "4.00 KiB (4,096 bytes)"


def test_names_lose_their_middle() -> None:
    assert quantities.elide_middle("void gemm<float>(int)", 11) == "void …(int)"
    assert quantities.elide_middle("short", 5) == "short"
    assert quantities.elide_middle("a\nb\x1b[31m", 20) == "a b [31m"


@given(st.text(), st.integers(0, 30))
def test_elided_text_fits_and_prints(text: str, width: int) -> None:
    elided = quantities.elide_middle(text, width)
    assert len(elided) <= width
    assert elided.isprintable()
