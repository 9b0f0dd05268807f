"""The longest execution of a kernel, against a look at every execution."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from smprof.profile.manifest import Manifest, Process
from smprof.profile.reader import Profile
from smprof.profile.writer import ProfileWriter
from smprof_desktop import report
from smprof_desktop.analysis import longest
from smprof_desktop.analysis.slices import name_of
from smprof_desktop.progress import Cancelled
from smprof_desktop.slice_ref import SliceRef
from tests.make_profile import make_profile

PROFILE = """
process 0
kernel 0/7 10+30 gemm grid=1,1,1
kernel 0/8 90+40 gemm grid=2,1,1
kernel 1/7 20+40 gemm
kernel 0/7 50+5 relu
memcpy 0/9 0+500 gemm
api 1 0+900 gemm
process 1
kernel 0/7 300+40 gemm
kernel 0/7 400+39 gemm
kernel 0/7 500+60 gemm_2
"""


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return make_profile(tmp_path / "p", PROFILE)


def at(profile: Profile, found: tuple[SliceRef, int, int] | None) -> tuple[int, str, int, int]:
    """Process, name, start and end of what was found."""
    assert found is not None
    ref, begin_ns, end_ns = found
    device = profile.processes[ref.process].table("device")
    assert begin_ns == device["start_ns"][ref.row] and end_ns - begin_ns == device["duration_ns"][ref.row]
    return ref.process, name_of(profile.processes[ref.process], "device", ref.row), begin_ns, end_ns


def test_the_longest_kernel_and_of_equals_the_first(profile: Profile) -> None:
    assert at(profile, longest.execution(profile, "gemm")) == (0, "gemm", 20, 60)
    assert at(profile, longest.execution(profile, "gemm_2")) == (1, "gemm_2", 500, 560)
    assert at(profile, longest.execution(profile, "relu")) == (0, "relu", 50, 55)


def test_the_longest_inside_of_a_range(profile: Profile) -> None:
    assert at(profile, longest.execution(profile, "gemm", 55, 140)) == (0, "gemm", 90, 130)
    assert at(profile, longest.execution(profile, "gemm", 330, 1_000)) == (1, "gemm", 400, 439)
    assert longest.execution(profile, "relu", 100, 200) is None


@pytest.mark.parametrize("name", ["", "gem", "no such kernel", "cudaLaunchKernel"])
def test_what_is_no_kernel_is_not_found(profile: Profile, name: str) -> None:
    assert longest.execution(profile, name) is None


def test_it_can_be_cancelled(profile: Profile) -> None:
    with pytest.raises(Cancelled):
        longest.execution(profile, "gemm", cancelled=lambda: True)


def test_every_kernel_of_a_report_is_found_under_the_name_it_is_shown_by(tmp_path: Path) -> None:
    """Also names that are no text, and a name that was lost."""
    writer = ProfileWriter(tmp_path / "p", Manifest())
    process = writer.process(Process(host="h", process="0"))
    kernels = [b"gemm", b"gemm\xff", b"gemm\xfe", b"alone\xff"]
    shapes = [*(process.shape_id(process.name_id(name)) for name in kernels), -1]
    process.append(
        "device",
        {
            "kind": ["kernel"] * 5,
            "device": np.zeros(5, np.int64),
            "stream": np.full(5, 7),
            "start_ns": np.arange(5) * 100,
            "duration_ns": np.arange(5) + 10,
            "shape_id": np.array(shapes),
        },
    )
    writer.finish()
    profile = Profile.open(tmp_path / "p")
    rows = report.build(profile)["kernels"]
    assert len(rows) == 5
    for row in rows:
        found = longest.execution(profile, row["name"])
        assert found is not None and found[2] - found[1] == row["max_ns"], row["name"]
