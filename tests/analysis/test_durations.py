"""Bins of durations against a slow twin, at any width (case 47) and number (case 43)."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof_desktop.analysis import durations
from smprof_desktop.analysis.durations import MAX_BINS, bins_of, linear_edges, logarithmic_edges, of_slice
from smprof_desktop.progress import Cancelled, silent
from smprof_desktop.slice_ref import SliceRef
from tests.make_profile import make_profile

MOST = (1 << 63) - 1
lengths = st.lists(st.integers(0, 200) | st.integers(0, MOST), min_size=1, max_size=60)


@pytest.mark.parametrize("edges_of", [linear_edges, logarithmic_edges])
@given(values=lengths, bins=st.integers(1, 61))
def test_every_duration_is_in_exactly_one_bin(edges_of: object, values: list[int], bins: int) -> None:
    """Also where the width of a bin is no whole number of ns, or below one."""
    assert callable(edges_of)
    edges: list[int] = edges_of(min(values), max(values), bins)
    found = bins_of(np.array(values, np.int64), edges)
    assert len(edges) - 1 <= bins + (min(values) == 0) and edges == sorted(set(edges))
    assert edges[0] == min(values) and edges[-1] > max(values)
    for index in range(len(found)):
        inside = [at for at, value in enumerate(values) if edges[index] <= value < edges[index + 1]]
        assert found.counts[index] == len(inside)
        assert found.examples[index] == (inside[0] if inside else -1)
    assert all(
        found.edges_ns[found.bin_of(value)] <= value < found.edges_ns[found.bin_of(value) + 1] for value in values
    )


@given(st.integers(0, MOST), st.integers(0, 10_000), st.integers(1, 60))
def test_linear_bins_are_of_one_whole_width(least_ns: int, span_ns: int, bins: int) -> None:
    greatest_ns = min(least_ns + span_ns, MOST)
    edges = linear_edges(least_ns, greatest_ns, bins)
    widths = {after - before for before, after in pairwise(edges)}
    assert len(widths) == 1 and all(isinstance(edge, int) for edge in edges)


def test_logarithmic_bins_grow_alike() -> None:
    edges = logarithmic_edges(100, 999_999, 40)
    ratios = [after / before for before, after in pairwise(edges)]
    assert max(ratios) / min(ratios) < 1.02


def test_a_million_slices_are_reduced_without_a_stack_of_them() -> None:
    """Case 43: nothing is passed as that many arguments, and nothing recurses."""
    values = np.arange(1_000_000, dtype=np.int64) * 7
    found = bins_of(values, linear_edges(0, int(values.max()), MAX_BINS))
    assert sum(found.counts) == 1_000_000 and max(found.counts) - min(found.counts) < 30


TEXT = """
process 0
kernel 0/7 0+10 gemm
kernel 0/7 20+30 gemm
kernel 0/8 60+5 relu
memcpy 0/8 70+1 gemm
op 1 0+4 both
python 1 10+9 both
annotation 1 0+90 step
annotation 0/7 0+80 step
process 1
kernel 0/7 0+50 gemm
"""


def test_slices_of_a_name_are_of_one_kind_and_one_process(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, TEXT)
    starts = profile.processes[0].table("device")["start_ns"].tolist()
    ref = SliceRef(0, "device", starts.index(20))
    found = of_slice(profile, ref, everywhere=False)
    assert found.slices.name == "gemm" and sorted(found.slices.duration_ns.tolist()) == [10, 30]
    assert (found.least_ns, found.median_ns, found.mean_ns, found.greatest_ns) == (10, 20, 20, 30)
    everywhere = of_slice(profile, ref, everywhere=True)
    assert sorted(everywhere.slices.duration_ns.tolist()) == [10, 30, 50]
    assert everywhere.slices.holds(ref) and everywhere.slices.holds(SliceRef(1, "device", 0))
    assert not found.slices.holds(SliceRef(1, "device", 0))
    assert not found.slices.holds(SliceRef(0, "device", starts.index(60)))
    assert not found.slices.holds(SliceRef(0, "host", ref.row))
    longest = everywhere.linear.examples[-1]
    assert everywhere.slices.ref(longest) == SliceRef(1, "device", 0)


@pytest.mark.parametrize(("table", "duration_ns"), [("host", 4), ("host", 9), ("annotation", 90), ("annotation", 80)])
def test_what_has_a_name_in_common_and_is_of_another_kind_is_left_out(
    tmp_path: Path, table: str, duration_ns: int
) -> None:
    profile = make_profile(tmp_path, TEXT)
    row = profile.processes[0].table(table)["duration_ns"].tolist().index(duration_ns)
    assert of_slice(profile, SliceRef(0, table, row), everywhere=True).slices.duration_ns.tolist() == [duration_ns]


def test_gathering_is_cancelled_and_goes_by_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = make_profile(tmp_path, TEXT)
    monkeypatch.setattr(durations, "CHUNK_ROWS", 1)
    starts = profile.processes[0].table("device")["start_ns"].tolist()
    ref = SliceRef(0, "device", starts.index(20))
    assert sorted(of_slice(profile, ref, everywhere=True).slices.duration_ns.tolist()) == [10, 30, 50]
    with pytest.raises(Cancelled):
        of_slice(profile, ref, True, silent, lambda: True)
