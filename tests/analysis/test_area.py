"""Totals of an area against a slow twin, on a tiny profile and on random lanes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smprof.profile.reader import Profile
from smprof_desktop.analysis import area, intervals
from smprof_desktop.analysis.area import LaneRow, LaneRows
from smprof_desktop.analysis.statistics import divide
from smprof_desktop.progress import Cancelled, never, silent
from smprof_desktop.slice_ref import SliceRef
from tests.make_profile import make_profile

MOST = (1 << 63) - 1
NAMES = ["a", "b", "<c>"]


class Columns(dict[str, Any]):
    """A table in memory, with what is asked of a Table."""

    def __len__(self) -> int:
        return len(self["start_ns"])

    def part(self, name: str, begin: int, end: int) -> Any:
        return self[name][begin:end]

    def value(self, name: str, row: int) -> int:
        return int(self[name][row])

    def last_at(self, name: str, begin: int, end: int, value: int) -> int:
        return begin + int(np.searchsorted(self[name][begin:end], value, "right")) - 1


Row = list[tuple[int, int, int]]
"""Start, end and name id of slices that do not overlap, ascending."""


@st.composite
def lane_row(draw: st.DrawFn, far: int = 40) -> Row:
    times = sorted(draw(st.lists(st.integers(0, far), max_size=24)))
    pairs = list(zip(times[::2], times[1::2], strict=False))
    return [(start, end, draw(st.integers(-1, len(NAMES)))) for start, end in pairs]


def profile_of(lanes: list[list[Row]]) -> tuple[Any, list[LaneRows]]:
    """A profile of one process whose host slices are these, and its lanes."""
    flat: Row = []
    found = []
    for number, rows in enumerate(lanes):
        placed = []
        for row in rows:
            placed.append(LaneRow(0, "host", len(flat), len(flat) + len(row)))
            flat += row
        found.append(LaneRows(str(number), tuple(placed)))
    columns = [np.array([entry[i] for entry in flat], np.int64) for i in range(3)]
    host = Columns(start_ns=columns[0], duration_ns=columns[1] - columns[0], name_id=columns[2].astype(np.int32))
    names = SimpleNamespace(arrow=lambda _: _NoRaw())
    process = SimpleNamespace(
        table=lambda name: {"host": host, "names": names}[name], names=SimpleNamespace(texts=list(NAMES))
    )
    return SimpleNamespace(processes=(process,)), found


class _NoRaw:
    null_count = 0

    def __len__(self) -> int:
        return 0


def twin(lanes: list[list[Row]], begin_ns: int, end_ns: int) -> tuple[dict[str, list[int]], list[tuple[int, int]]]:
    """By name: count, trimmed total, full total, least, greatest; by lane: count and busy ns, ns by ns."""
    by_name: dict[str, list[int]] = {}
    by_lane = []
    for rows in lanes:
        busy: set[int] = set()
        count = 0
        for start, end, name_id in (entry for row in rows for entry in row):
            if not (start < end_ns and (end > begin_ns or start >= begin_ns)):
                continue
            name = NAMES[name_id] if 0 <= name_id < len(NAMES) else "(name lost)"
            inside = [time for time in range(start, end) if begin_ns <= time < end_ns]
            busy.update(inside)
            count += 1
            known = by_name.setdefault(name, [0, 0, 0, MOST, -1])
            full = end - start
            by_name[name] = [
                known[0] + 1, known[1] + len(inside), known[2] + full, min(known[3], full), max(known[4], full),
            ]  # fmt: skip
        by_lane.append((count, len(busy)))
    return by_name, by_lane


@settings(deadline=None)
@given(st.lists(st.lists(lane_row(), max_size=4), max_size=3), st.integers(-2, 42), st.integers(1, 44))
def test_totals_equal_a_slow_twin(lanes: list[list[Row]], begin_ns: int, length_ns: int) -> None:
    profile, asked = profile_of(lanes)
    found = area.totals(profile, asked, begin_ns, begin_ns + length_ns)
    by_name, by_lane = twin(lanes, begin_ns, begin_ns + length_ns)
    assert {t.name: [t.count, t.total_ns, t.full_ns, t.min_ns, t.max_ns] for t in found.names} == by_name
    assert [(lane.count, lane.busy_ns) for lane in found.lanes] == by_lane
    assert [t.mean_ns for t in found.names] == [divide(t.full_ns, t.count) for t in found.names]
    assert list(found.names) == sorted(found.names, key=lambda t: (-t.total_ns, t.name))
    for total in found.names:
        ref = area.longest(profile, asked, begin_ns, begin_ns + length_ns, total, never)
        assert ref is not None and profile.processes[0].table("host")["duration_ns"][ref.row] == total.max_ns


@settings(deadline=None)
@given(lane_row(), lane_row())
def test_a_union_is_joined_with_a_row(first: Row, second: Row) -> None:
    def times(row: Row) -> tuple[Any, Any]:
        return np.array([r[0] for r in row], np.int64), np.array([r[1] for r in row], np.int64)

    joined = area.joined(*intervals.union(*times(first)), *times(second))
    both = [np.concatenate(pair) for pair in zip(times(first), times(second), strict=True)]
    assert [side.tolist() for side in joined] == [side.tolist() for side in intervals.union(*both)]


def test_sums_that_leave_64_bits_stay_exact() -> None:
    far = (1 << 62) + 1
    profile, asked = profile_of([[[(-far, 0, 0), (0, far, 0)]], [[(-far, far - 3, 0)]]])
    found = area.totals(profile, asked, -far, far)
    assert [t.total_ns for t in found.names] == [4 * far - 3]
    assert [t.full_ns for t in found.names] == [4 * far - 3]


TEXT = """
kernel 0/7 10+20 gemm corr=5
kernel 0/7 40+10 relu
kernel 0/8 15+30 gemm
api 1 2+4 cudaLaunchKernel corr=5
"""


def streams(profile: Profile) -> list[LaneRows]:
    rows = profile.processes[0].table("lane_rows")
    found = []
    for lane_row in range(len(rows)):
        if rows["table"][lane_row] == 0 and rows["row"][lane_row] >= 0:
            found.append(area.lane_rows_of(profile, str(rows["stream"][lane_row]), [(0, lane_row)]))
    return found


def test_a_profile_on_disk_is_added_up_within_the_area(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, TEXT)
    found = area.totals(profile, streams(profile), 20, 45)
    assert [(t.name, t.table, t.count, t.total_ns, t.min_ns, t.mean_ns, t.max_ns) for t in found.names] == [
        ("gemm", "device", 2, 10 + 25, 20, 25, 30),
        ("relu", "device", 1, 5, 10, 10, 10),
    ]
    assert [(lane.key, lane.count, lane.busy_ns) for lane in found.lanes] == [("7", 2, 15), ("8", 1, 25)]
    assert (found.count, found.length_ns, found.lanes_ns) == (3, 25, 50)
    device = profile.processes[0].table("device")
    longest = area.longest(profile, streams(profile), 20, 45, found.names[0], never)
    assert longest == SliceRef(0, "device", int(np.flatnonzero(device["duration_ns"] == 30)[0]))


def test_adding_up_is_cancelled(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, TEXT)
    with pytest.raises(Cancelled):
        area.totals(profile, streams(profile), 0, 60, silent, lambda: True)
