"""What a figure sums as rows: names and lanes of slices of every table, and the losses that bear on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from smprof_desktop.analysis.doors import Chosen, Found, of_moments
from smprof_desktop.analysis.listing import bearing, listed
from smprof_desktop.progress import Cancelled
from tests.make_profile import make_profile

TEXT = (
    "process 0\nthread 1 main\nkernel 0/7 0+100 gemm corr=5\nkernel 1/8 300+50 relu\n"
    "api 1 0+5 cudaLaunchKernel corr=5\n"
    "annotation 1 0+200 step_1\nannotation 0/7 0+100 step_1\n"
    "process 1\nthread 2\nkernel 0/7 20+400 gemm\nop 2 0+9 aten::mm"
)


def test_each_slice_has_its_name_its_lane_and_its_process(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "profile", TEXT)
    tables = ("device", "host", "annotation")
    found = Found.joined(Chosen(table).door("").find(profile, lambda: False) for table in tables)
    found = Found.joined([found, of_moments(0, np.array([500]), np.array([600]))])
    made = listed(profile, found)
    rows = [
        (made.names[made.name[place]], made.lanes[made.lane[place]], made.processes[found.process[place]])
        for place in range(len(made))
    ]
    assert sorted(rows) == [
        ("(no slice)", "–", "algo-1 · 0"),
        ("aten::mm", "thread 2", "algo-1 · 1"),
        ("cudaLaunchKernel", "thread 1 (main)", "algo-1 · 0"),
        ("gemm", "GPU-0, stream 7", "algo-1 · 0"),
        ("gemm", "GPU-0, stream 7", "algo-1 · 1"),
        ("relu", "GPU-1, stream 8", "algo-1 · 0"),
        ("step_1", "GPU-0, stream 7", "algo-1 · 0"),
        ("step_1", "thread 1 (main)", "algo-1 · 0"),
    ]
    assert found.end_ns[[row[0] for row in rows].index("(no slice)")] == 600
    with pytest.raises(Cancelled):
        listed(profile, found, lambda: True)


def test_only_losses_that_may_change_what_was_found_are_told(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "profile", TEXT)
    losses = [
        {"kind": "gap_value", "count": 2, "detail": ""},
        {"kind": "no_duration", "count": 1_234, "detail": ""},
        {"kind": "unplaced_slice", "count": 1, "detail": ""},
    ]
    host, device = (Chosen(table).door("").find(profile, lambda: False) for table in ("host", "device"))
    no_duration = "1,234 × a slice without a readable duration"
    assert bearing(losses, host) == [no_duration]
    assert [text[:1] for text in bearing(losses, device)] == ["1", "1"] and bearing(losses, device)[0] == no_duration
    assert len(bearing(losses, of_moments(0, np.array([5]), np.array([6])))) == 2
