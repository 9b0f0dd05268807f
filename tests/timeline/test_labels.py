"""Names are cut in the middle, on one line, once per width."""

from __future__ import annotations

from smprof_desktop.timeline.labels import Elider


def test_what_fits_stays_whole() -> None:
    assert Elider(lambda text: 8.0 * len(text)).elided("aten::mm", 64) == "aten::mm"


def test_both_ends_stay() -> None:
    elider = Elider(lambda text: 8.0 * len(text))
    assert elider.elided("void cutlass::Kernel<gemm_tn_align1>", 96) == "void cut…n1>"
    assert elider.elided("abcdefgh", 48) == "abcd…h"


def test_too_narrow_is_empty_and_widths_are_never_exceeded() -> None:
    elider = Elider(lambda text: 8.0 * len(text))
    assert elider.elided("abcdefgh", 17) == ""
    for width_px in range(24, 400, 7):
        assert 8 * len(elider.elided("k" * 1000, width_px)) <= width_px


def test_control_characters_do_not_break_the_line() -> None:
    assert Elider(lambda text: 1.0).elided("a\nb\tc", 40) == "a b c"


def test_a_name_of_megabytes_is_cut_without_reading_it_all() -> None:
    measured: list[str] = []

    def width(text: str) -> float:
        measured.append(text)
        return 8.0

    assert Elider(width).elided("a" + "b" * 5_000_000 + "c", 64) == "abbbb…bc"
    assert len(measured) < 10


def test_a_width_is_worked_out_once() -> None:
    calls = []
    elider = Elider(lambda text: calls.append(text) or 8.0)  # type: ignore[func-returns-value]
    first = elider.elided("x" * 100, 81)
    assert elider.elided("x" * 100, 87) is first
