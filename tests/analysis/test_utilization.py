"""Utilization over time: the mean over devices, each against its own window."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smprof_desktop.analysis import utilization
from smprof_desktop.analysis.intervals import Int64s, union
from tests.make_profile import make_profile

PAIRS = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), max_size=6).map(
    lambda pairs: [(start, start + duration) for start, duration in pairs]
)


def used(busy: tuple[Int64s, Int64s]) -> utilization.DeviceUse:
    """A device that was busy in these disjoint sorted intervals."""
    return utilization.DeviceUse(0, 0, 0, 0, 0, 0, (), busy)


@given(st.lists(st.tuples(PAIRS, PAIRS), max_size=3), st.lists(st.integers(0, 80), min_size=2, max_size=6, unique=True))
def test_each_bin_is_the_mean_of_the_devices_that_recorded_in_it(
    devices: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]], edges: list[int]
) -> None:
    edges = sorted(edges)
    merged = [[union(*np.array(pairs, np.int64).reshape(-1, 2).T) for pairs in device] for device in devices]
    windows = [list(zip(*(edge.tolist() for edge in window), strict=True)) for _, window in merged]
    binned = [
        utilization.binned(used(busy), window, np.array(edges))
        for (busy, _), window in zip(merged, windows, strict=True)
    ]
    shares = utilization.shares_per_bin(binned) if binned else np.full(len(edges) - 1, np.nan)
    for index, (begin, end) in enumerate(pairwise(edges)):
        seen = []
        for busy, window in devices:
            recorded = {t for first, last in window for t in range(first, last)} & set(range(begin, end))
            active = {t for first, last in busy for t in range(first, last)} & recorded
            if recorded:
                seen.append((len(active), len(recorded)))
        assert sum(device.active_ns[index] for device in binned) == sum(active for active, _ in seen)
        assert sum(device.window_ns[index] for device in binned) == sum(recorded for _, recorded in seen)
        if seen:
            assert abs(shares[index] - sum(a / w for a, w in seen) / len(seen)) < 1e-12
        else:
            assert np.isnan(shares[index]), "nothing was recorded: that is not 0 %"


def test_a_device_that_was_used_and_did_nothing_counts() -> None:
    edges_ns = np.array([0, 10, 20])
    busy, idle = (
        utilization.binned(used((np.array([0]), np.array([10]))), [(0, 20)], edges_ns),
        utilization.binned(None, [(0, 20)], edges_ns),
    )
    shares = utilization.shares_per_bin([busy, idle])
    assert shares.tolist() == [0.5, 0.0]


def test_windows_are_merged_and_cut() -> None:
    windows = [[0, 10], [5, 20], [30, 40]]
    assert utilization.windows_within(windows, None, None) == [(0, 20), (30, 40)]
    assert utilization.windows_within(windows, 15, 35) == [(15, 20), (30, 35)]
    assert utilization.windows_within([], 0, 10) == []


def test_devices_are_those_with_slices_and_those_known_to_be_used(tmp_path: Path) -> None:
    profile = make_profile(
        tmp_path / "profile",
        """
        process 0
        device 0 "only seen"
        device 1 "used" used
        device 2 "only seen, but with a mark"
        kernel 5/7 0+10 gemm
        kernel -1/7 20+10 gemm
        annotation 2/7 0+60 step_0
        sync 3/7 50+5 "Stream Sync"
        process 1
        device 4 "used" used
        process 2
        """,
    )
    assert [utilization.devices_of(process) for process in profile.processes] == [[-1, 1, 5], [4], []]
