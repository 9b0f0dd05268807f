"""Names that are no text: told apart by their bytes, shown as text."""

from __future__ import annotations

import pytest

from smprof_desktop.analysis.names import demangled, in_form, readable, shown


def test_a_stand_in_is_shown_where_it_is_the_only_one() -> None:
    assert shown(["plain", "k\udcff", "\xe9"]) == {"k\udcff": "k\ufffd"}


def test_names_that_share_a_stand_in_show_their_bytes() -> None:
    for other in ("k\udcfe", "k\ufffd"):
        assert shown(["k\udcff", other])["k\udcff"] == "k\\xff"


def test_readable_writes_lone_surrogates_out() -> None:
    assert readable("t\udce9 \ud800 \xe9 k") == "t\\xe9 \\ud800 \xe9 k"


MANGLED = (
    "_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS_4gemm9GemmShapeILi128ELi128ELi32EEEEEEE"
    "vNT_6ParamsE"
)


def test_a_mangled_symbol_is_made_readable() -> None:
    whole = in_form(MANGLED, "demangled")
    assert whole.startswith("void cutlass_cudnn_train::Kernel<cutlass_cudnn_train::conv::kernel::ImplicitGemm")
    assert "GemmShape<(int)128, (int)128, (int)32>" in whole
    assert in_form(MANGLED, "base") == "cutlass_cudnn_train::Kernel"
    assert in_form(MANGLED, "recorded") == MANGLED


def test_a_symbol_of_thousands_of_characters_has_no_cap() -> None:
    long = "_Z4kernI" + "Li128E" * 400 + "EvPf"
    assert len(long) > 2_000
    assert in_form(long, "demangled") == "void kern<" + ", ".join(["(int)128"] * 400) + ">(float*)"
    assert in_form(long, "base") == "kern"


@pytest.mark.parametrize(
    "odd", ["_ZN3foo?", "_Z", "__Z", "_ZZ", "_Z\0", "hello", "", "_Z" + "N" * 50_000, "_ZN\udc80E"]
)
def test_what_is_no_symbol_stays_as_it_was_recorded(odd: str) -> None:
    assert in_form(odd, "demangled") == odd


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("void at::native::copy<int, 4>(int*, std::array<char*, 2ul>)", "at::native::copy"),
        ("at::native::(anonymous namespace)::fill<float>(float)", "at::native::(anonymous namespace)::fill"),
        ("void (anonymous namespace)::sum<(int)4>(float)", "(anonymous namespace)::sum"),
        (
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long)",
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        ),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"),
        ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD"),
        ("a < b", "a < b"),
        ("", ""),
    ],
)
def test_the_bare_function_of_a_signature(signature: str, name: str) -> None:
    assert in_form(signature, "base") == name


def test_a_symbol_that_grows_without_bound_stays_as_recorded() -> None:
    """Each part of it holds the one before twice: written out it would fill the memory."""

    def number(at: int) -> str:
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        return (number(at // 36) if at >= 36 else "") + digits[at % 36]

    def symbol(doublings: int) -> str:
        parts = ["1pI1aS_E", *(f"1pIS{number(at)}_S{number(at)}_E" for at in range(doublings))]
        return "_Z1f" + "".join(parts)

    assert demangled(symbol(8)).startswith("f(p<a")
    assert demangled(symbol(200)) == symbol(200)
