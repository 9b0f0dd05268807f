"""Clocks that drift, held against exact rational arithmetic, and profiles that are joined by them."""

from __future__ import annotations

import json
from dataclasses import asdict
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof.profile.clock import align, course_of, unix_ns
from smprof.profile.guard import Guard
from smprof.profile.manifest import MOST_DRIFT_PPM, Clock, Manifest, Process, ProfileError, parse_manifest
from smprof.profile.reader import Profile
from smprof.profile.writer import ProfileWriter

HOUR_NS = 3_600 * 10**9


def exact(clock: Clock, time_ns: int) -> int:
    """What FORMAT.md says, in rational numbers: the slow twin."""
    points = clock.sync_points
    if len(points) > 1:
        pairs = list(pairwise(points))
        (t0, u0), (t1, u1) = next((pair for pair in reversed(pairs) if pair[0][0] <= time_ns), pairs[0])
        shift = Fraction(time_ns - t0) * Fraction((u1 - u0) - (t1 - t0), t1 - t0) + u0 - t0
    else:
        drift = round(Fraction(repr(clock.drift_ppm or 0.0)) * 10**6)
        shift = Fraction((time_ns - clock.reference_ns) * drift, 10**12) + (clock.unix_offset_ns or 0)
    return time_ns + (shift + Fraction(1, 2)).__floor__()


def checked(clock: Clock, times_ns: list[int]) -> None:
    course = course_of(clock)
    assert course is not None
    found = course.times(np.array(times_ns, np.int64)).tolist()
    assert found == [exact(clock, time_ns) for time_ns in times_ns]
    assert found == [unix_ns(clock, time_ns) for time_ns in times_ns]


def test_six_hours_of_50_ppm_are_exact_to_the_ns() -> None:
    clock = Clock("relative", 1_700_000_000_000_000_000, drift_ppm=50.0, reference_ns=HOUR_NS)
    checked(clock, [0, 1, HOUR_NS - 1, HOUR_NS, HOUR_NS + 10_000, *range(7 * HOUR_NS - 50_000, 7 * HOUR_NS, 777)])
    assert unix_ns(clock, 7 * HOUR_NS) == 1_700_000_000_000_000_000 + 7 * HOUR_NS + 1_080_000_000


@given(
    st.decimals(-MOST_DRIFT_PPM, MOST_DRIFT_PPM, places=6),
    st.integers(-(1 << 61), 1 << 61),
    st.integers(-(1 << 60), 1 << 60),
    st.lists(st.integers(-(1 << 61), 1 << 61), max_size=20),
)
def test_any_drift_equals_its_definition_and_keeps_the_order(
    drift: Any, reference_ns: int, offset_ns: int, times_ns: list[int]
) -> None:
    clock = Clock("relative", offset_ns, drift_ppm=float(drift), reference_ns=reference_ns)
    checked(clock, times_ns)
    course = course_of(clock)
    assert course is not None
    later = course.times(np.sort(np.array([*times_ns, *(time_ns + 1 for time_ns in times_ns)], np.int64)))
    assert (np.diff(later) >= 0).all()


@given(
    st.integers(-(1 << 60), 1 << 60),
    st.integers(-(1 << 60), 1 << 60),
    st.lists(st.tuples(st.integers(1, 1 << 54), st.integers(-10_000, 10_000)), min_size=1, max_size=5),
    st.lists(st.integers(-(1 << 61), 1 << 61), max_size=20),
)
def test_points_of_synchronisation_are_met_and_joined_by_straight_lines(
    first_ns: int, first_unix_ns: int, gaps: list[tuple[int, int]], times_ns: list[int]
) -> None:
    ends_ns = list(accumulate([first_ns, *(gap_ns for gap_ns, _ in gaps)]))
    unix = list(accumulate([first_unix_ns, *(gap + gap * ppm // 10**6 if gap > 10**6 else gap for gap, ppm in gaps)]))
    points = [list(pair) for pair in zip(ends_ns, unix, strict=True)]
    clock = Clock("relative", None, sync_points=points)
    parse_manifest(asdict(Manifest(clock=clock)))
    checked(clock, [*ends_ns, *times_ns])
    assert [unix_ns(clock, time_ns) for time_ns in ends_ns] == unix


def test_one_point_is_an_offset_and_a_place_for_the_drift() -> None:
    checked(Clock("relative", 90, drift_ppm=3.5, reference_ns=10), [0, 10, 10**9])
    assert unix_ns(Clock("relative", None, drift_ppm=1.0, sync_points=[[1000, 5000]]), 2_001_000) == 2_005_002


def test_clocks_that_say_nothing_and_clocks_without_drift_stay_as_they_were() -> None:
    assert course_of(Clock("relative")) is None and unix_ns(Clock("relative"), 5) is None
    clock, courses = align([Clock("unix", uncertainty_ns=4), Clock("relative", -7, uncertainty_ns=9)], ["a", "b"])
    assert clock == Clock("unix", uncertainty_ns=9) and courses[0] is None
    assert courses[1] is not None and courses[1].is_constant and courses[1].time(10) == 3
    assert align([Clock("unix", uncertainty_ns=4), Clock("unix")], ["a", "b"]) == (Clock("unix"), [None, None])


def test_clocks_too_far_apart_are_refused() -> None:
    far = (1 << 63) - 1
    with pytest.raises(ProfileError, match="b counts time from a moment more than 146 years"):
        align([Clock("relative", -far), Clock("relative", far)], ["a", "b"])


@pytest.mark.parametrize(
    "fields",
    [
        {"drift_ppm": 10_001.0},
        {"drift_ppm": float("nan")},
        {"sync_points": [[1, 2, 3]]},
        {"sync_points": [[5, 5], [5, 5]]},
        {"sync_points": [[5, 5], [10**9, 5]]},
        {"sync_points": [[0, 0], [1 << 55, 1 << 55]]},
    ],
)
def test_a_clock_that_cannot_be_is_damage(fields: dict[str, Any]) -> None:
    document = asdict(Manifest())
    document["clock"] |= fields
    with pytest.raises(ProfileError, match=r"manifest\.json is damaged: its clock"):
        parse_manifest(document)


def drifting(folder: Path, clock: Clock, starts_ns: list[int], process: str, merge: bool = True) -> Path:
    """A profile of slices that touch each other, so that nothing but exact ends keeps them apart."""
    writer = ProfileWriter(folder, Manifest(name=process, clock=clock), segment_rows=400)
    mine = writer.process(Process("algo-1", process, windows_ns=[[starts_ns[0], starts_ns[-1] + 90]]))
    name = mine.name_id("gemm")
    shape, count = mine.shape_id(name), len(starts_ns)
    durations_ns = [end - begin for begin, end in pairwise(starts_ns)] + [90]
    both = {"start_ns": starts_ns, "duration_ns": durations_ns, "correlation": list(range(1, count + 1))}
    mine.append("host", {**both, "kind": ["api"] * count, "thread": [1] * count, "name_id": [name] * count})
    placed = {"kind": ["kernel"] * count, "device": [0] * count, "stream": [7] * count, "shape_id": [shape] * count}
    mine.append("device", {**both, **placed})
    mine.append("counter", {"name_id": [name] * count, "time_ns": starts_ns, "value": [1.0] * count})
    writer.finish(merge)
    return folder


STARTS_NS = [n * (6 * HOUR_NS // 1_000) + n % 7 for n in range(1_001)]


@pytest.mark.parametrize("how", ["merged", "segments", "guarded"])
def test_six_hours_of_drift_are_taken_out_where_profiles_join(tmp_path: Path, how: str) -> None:
    """Case B 22: right at the start and 1.08 s off at the end, on its own; the same moment, together."""
    offset_ns = 1_700_000_000_000_000_000
    true = Clock("unix", uncertainty_ns=10)
    fast = Clock("relative", offset_ns, drift_ppm=50.0, uncertainty_ns=400)
    one = drifting(tmp_path / "one", true, [offset_ns, offset_ns + 500], "0")
    two = drifting(tmp_path / "two", fast, STARTS_NS, "1", merge=how != "segments" and how != "guarded")
    guard = Guard() if how == "guarded" else None
    alone, both = Profile.open(two), Profile.combine([Profile.open(one), Profile.open(two, guard)])
    try:
        assert both.manifest.clock == Clock("unix", uncertainty_ns=400)
        was, now = alone.processes[0], both.processes[1]
        for table in ("device", "host"):
            stored, moved = was.table(table), now.table(table)
            begins = [exact(fast, time_ns) for time_ns in stored["start_ns"].tolist()]
            ends = [exact(fast, time_ns) for time_ns in (stored["start_ns"] + stored["duration_ns"]).tolist()]
            assert moved["start_ns"].tolist() == begins
            assert (moved["start_ns"] + moved["duration_ns"]).tolist() == ends
            assert moved.part("duration_ns", 3, 9).tolist() == moved["duration_ns"][3:9].tolist()
            assert set(moved["row" if table == "device" else "depth"].tolist()) == {0}, "what touched still touches"
        assert begins[-1] - begins[0] - STARTS_NS[-1] == 1_080_000_000
        assert now.table("counter")["time_ns"].tolist() == begins
        assert now.info.windows_ns == [[begins[0], exact(fast, STARTS_NS[-1] + 90)]]
        lanes, ladder = now.table("lane_rows"), now.table("ladder")
        assert lanes["begin_ns"].tolist() == [begins[0]] * 2 and lanes["end_ns"].tolist() == [ends[-1]] * 2
        assert lanes["busy_ns"].tolist() == [ends[-1] - begins[0]] * 2
        for lane_row in (0, 1):
            finest = (ladder["lane_row"] == lane_row) & (ladder["level"] == ladder["level"].min())
            assert int(ladder["busy_ns"][finest].sum()) == ends[-1] - begins[0]
            width_ns = 1 << int(ladder["level"].min())
            assert (ladder["busy_ns"][finest][1:-1] == width_ns).all(), "bins lie on the grid of the new times"
        assert both.end_ns == ends[-1] and now.unread().table("device")["start_ns"].tolist() == begins
    finally:
        both.close()


def test_the_first_profiles_own_drift_goes_too(tmp_path: Path) -> None:
    """Two clocks that were read together twice: 6 h later by the one are 6 h and 1 s by the other."""
    slow = Clock("relative", sync_points=[[0, 5_000], [6 * HOUR_NS, 6 * HOUR_NS + 5_000]])
    fast = Clock("relative", sync_points=[[100, 5_000], [6 * HOUR_NS - 10**9 + 100, 6 * HOUR_NS + 5_000]])
    one = drifting(tmp_path / "one", fast, [100, 6 * HOUR_NS - 10**9 + 100], "0")
    two = drifting(tmp_path / "two", slow, [0, 6 * HOUR_NS], "1")
    both = Profile.combine([Profile.open(one), Profile.open(two)])
    starts = [process.table("device")["start_ns"].tolist() for process in both.processes]
    assert starts[0] == starts[1] == [100, 6 * HOUR_NS + 100]
    assert both.manifest.clock == Clock("relative", 4_900)
    assert json.loads(both.manifest.to_json())["clock"]["sync_points"] == []
