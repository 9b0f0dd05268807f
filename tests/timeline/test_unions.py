"""Utilization of a device whose streams overlap: exact at any size and zoom, by the union that the profile stores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from smprof.profile.reader import Profile
from smprof.profile.schema import UNION
from smprof_desktop.timeline import ladder
from smprof_desktop.timeline.lanes import Lane, build
from smprof_desktop.timeline.maker import Maker
from smprof_desktop.timeline.viewport import Limits, Viewport
from tests.make_profile import make_profile

SLICES = 900
STEP_NS = 1_000


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    """Two streams of one device that overlap differently in each step, and one stream of another."""
    lines = []
    for at in range(SLICES):
        start = at * STEP_NS
        lines.append(f"kernel 0/7 {start}+{300 + at % 400} gemm")
        lines.append(f"memcpy 0/9 {start + 200}+{100 + at * 7 % 500} copy")
        lines.append(f"kernel 1/7 {start}+500 gemm")
    return make_profile(tmp_path, "\n".join(lines))


def covered(profile: Profile, device: int) -> np.ndarray:
    """Whether each ns of the profile is covered by a slice of the device."""
    table = profile.processes[0].table("device")
    found = np.zeros(SLICES * STEP_NS + STEP_NS, bool)
    for row in np.flatnonzero(table["device"] == device):
        found[table["start_ns"][row] : table["start_ns"][row] + table["duration_ns"][row]] = True
    return found


def utilization(profile: Profile, device: int) -> Lane:
    return next(lane for lane in build(profile).walk() if lane.key.endswith(f"gpu:{device}/utilization"))


def test_a_union_is_stored_where_a_device_has_several_lines(profile: Profile) -> None:
    rows = profile.processes[0].table("lane_rows")
    unions = [at for at, kind in enumerate(rows.texts("kind")) if kind == UNION]
    assert [int(rows["device"][at]) for at in unions] == [0]
    assert int(rows["busy_ns"][unions[0]]) == int(covered(profile, 0).sum())
    assert [source.union for source in utilization(profile, 0).busy] == unions
    assert all(row.lane_rows != (unions[0],) for lane in build(profile).walk() for row in lane.rows)


@pytest.mark.parametrize("width_px", [20.0, 60.0])
@pytest.mark.parametrize("device", [0, 1])
def test_utilization_is_exact_where_too_many_slices_would_have_to_be_compared(
    profile: Profile, device: int, width_px: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ladder, "MAX_UNION_SLICES", 0)
    limits = Limits(profile.begin_ns, profile.end_ns)
    view = Viewport(profile.begin_ns, profile.end_ns, width_px)
    curve = Maker(profile, limits).busy(utilization(profile, device), view)
    assert curve.is_exact
    busy = covered(profile, device)
    width = 1 << curve.window.level
    for at, busy_ns in enumerate(curve.busy_ns.tolist()):
        low = max((curve.first_bin + at) * width, 0)
        assert busy_ns == int(busy[low : max(low, (curve.first_bin + at + 1) * width)].sum())


def test_finer_than_it_is_stored_the_slices_are_compared(profile: Profile) -> None:
    limits = Limits(profile.begin_ns, profile.end_ns)
    view = Viewport(100 * STEP_NS, 110 * STEP_NS, 1_500.0)
    curve = Maker(profile, limits).busy(utilization(profile, 0), view)
    assert curve.is_exact
    assert curve.window.level < 5
    first, width = curve.first_bin << curve.window.level, 1 << curve.window.level
    whole = covered(profile, 0)[first : first + width * len(curve.busy_ns)].reshape(-1, width).sum(axis=1)
    assert curve.busy_ns.tolist() == whole.tolist()
