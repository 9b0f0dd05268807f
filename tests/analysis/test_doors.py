"""From a figure to exactly the slices that sum to it, against a slow, obvious twin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from smprof.profile.schema import COPY_KINDS, SLICE_TABLES
from smprof_desktop.analysis.doors import NO_SLICE, Chosen, Door, Found, of_moments
from smprof_desktop.progress import Cancelled
from tests.make_profile import make_profile

TEXT = """
host algo-1
process 0 window=0:200
thread 1 main
device 0 "NVIDIA H100" used
kernel 0/7 10+30 gemm corr=1
kernel 0/8 20+30 gemm corr=2
kernel 1/7 60+10 relu
memcpy 0/7 80+5 "Memcpy HtoD" copy=HtoD
memcpy 0/7 86+2 "Memcpy DtoH" copy=DtoH
api 1 5+4 cudaLaunchKernel corr=1
op 1 0+90 aten::mm
annotation 1 0+40 step_0
annotation 0/7 10+40 step_0
process 1 window=0:200
thread 1 main
kernel 0/7 5+50 gemm
annotation 1 0+70 step_0
"""


@pytest.mark.parametrize(
    ("chosen", "slices", "total_ns"),
    [
        (Chosen("device"), 6, 127),
        (Chosen("device", kinds=("kernel",)), 4, 120),
        (Chosen("device", names=frozenset({"gemm"})), 3, 110),
        (Chosen("device", names=frozenset({"gemm"}), processes=(0,)), 2, 60),
        (Chosen("device", devices=(1,)), 1, 10),
        (Chosen("device", copy_kinds=(COPY_KINDS.index("HtoD"),)), 1, 5),
        (Chosen("device", least_ns=30, most_ns=30), 2, 60),
        (Chosen("device", names=frozenset({"gemm"}), begin_ns=30, end_ns=45), 3, 10 + 15 + 15),
        (Chosen("annotation", kinds=("host",), name_like=lambda text: text.startswith("step")), 2, 110),
        (Chosen("host", kinds=("op", "api")), 2, 94),
        (Chosen("host", names=frozenset({"nothing"})), 0, 0),
    ],
)
def test_what_is_chosen_is_found_with_the_part_that_counts(
    tmp_path: Path, chosen: Chosen, slices: int, total_ns: int
) -> None:
    profile = make_profile(tmp_path, TEXT)
    found = chosen.door("title").find(profile, lambda: False)
    assert (len(found), found.total_ns) == (slices, total_ns)
    assert np.all(np.diff(found.start_ns) >= 0)
    for index in range(len(found)):
        ref = found.ref(index)
        assert ref is not None and ref.table == chosen.table
        row = profile.processes[ref.process].table(ref.table)
        start_ns = int(row["start_ns"][ref.row])
        assert start_ns <= int(found.start_ns[index]) <= int(found.end_ns[index])
        assert int(found.end_ns[index]) <= start_ns + int(row["duration_ns"][ref.row])


def test_moments_without_a_slice_stand_among_the_others_by_time(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, TEXT)
    slices = Chosen("device", processes=(0,), kinds=("kernel",)).door("kernels").find(profile, lambda: False)
    idle = of_moments(0, np.array([0, 50], np.int64), np.array([10, 60], np.int64))
    found = Found.joined([slices, idle])
    assert found.table.tolist() == [NO_SLICE, SLICE_TABLES.index("device"), 0, NO_SLICE, 0]
    assert found.ref(0) is None and found.total_ns == slices.total_ns + 20
    assert len(Found.joined([])) == 0


def test_a_search_that_is_cancelled_stops(tmp_path: Path) -> None:
    door: Door = Chosen("device").door("all")
    with pytest.raises(Cancelled):
        door.find(make_profile(tmp_path, TEXT), lambda: True)
