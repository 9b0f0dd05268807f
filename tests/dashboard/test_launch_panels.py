"""The figures of launches against twins that go slice by slice and ns by ns; doors against their numbers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smprof.profile.reader import Profile
from smprof_desktop.analysis import latency_parts, launch_figures, queues
from smprof_desktop.analysis.launch_figures import PARTS
from smprof_desktop.analysis.launches import queue_of
from smprof_desktop.dashboard import launch_panels
from smprof_desktop.dashboard.figures import Figure, Histogram, Lines, Missing, Table
from smprof_desktop.dashboard.launch_panels import LAUNCH_PANELS
from smprof_desktop.dashboard.panel import Panel
from smprof_desktop.dashboard.scope import Scope
from smprof_desktop.progress import never
from tests.make_profile import make_profile

TIMES = st.integers(0, 60)
EXECUTIONS = st.lists(
    st.tuples(
        st.sampled_from(["kernel", "kernel", "memcpy"]),
        st.integers(7, 8),
        TIMES,
        st.integers(0, 12),
        st.sampled_from("ab"),
        st.integers(0, 6),
    ),
    max_size=9,
)
CALLS = st.lists(st.tuples(TIMES, st.integers(0, 9), st.sampled_from(["cudaLaunchKernel", "go"])), max_size=6)
RANGES = st.one_of(st.none(), st.tuples(st.integers(0, 40), st.integers(1, 40)))


@contextmanager
def profile_of(text: str) -> Iterator[Profile]:
    """A profile in a folder of its own, which a test that hypothesis calls again needs."""
    with tempfile.TemporaryDirectory() as folder:
        yield make_profile(Path(folder) / "profile", text)


def text_of(executions: list[Any], calls: list[Any]) -> str:
    """Two processes with the same lines, the second without its last execution."""
    lines = [
        f"{kind} 0/{stream} {start}+{duration} {name}" + (f" corr={corr}" if corr else "")
        for kind, stream, start, duration, name, corr in executions
    ]
    host = [f"api 1 {start}+{duration} {name} corr={at + 1}" for at, (start, duration, name) in enumerate(calls)]
    return "\n".join(["process 0", *lines, *host, "process 1", *lines[:-1], *host])


def linked_kernels(profile: Profile, scope: Scope) -> list[tuple[int, int, int]]:
    """Process, row and launch of every kernel of the scope that has a launch, one by one."""
    found = []
    for index, process in enumerate(profile.processes):
        device = process.table("device")
        for row in range(len(device)):
            start = int(device["start_ns"][row])
            end = start + int(device["duration_ns"][row])
            begin = scope.begin_ns
            inside = begin is None or scope.end_ns is None or ((end > begin or start >= begin) and start < scope.end_ns)
            if device["kind"][row] == 0 and device["launch"][row] >= 0 and inside:
                found.append((index, row, int(device["launch"][row])))
    return found


def parts_by_hand(profile: Profile, index: int, row: int, launch: int) -> dict[str, int]:
    """The parts of one latency, by the function that the details pane asks."""
    process = profile.processes[index]
    start_ns = int(process.table("device")["start_ns"][row])
    launch_ns, call_ns = (int(process.table("host")[name][launch]) for name in ("start_ns", "duration_ns"))
    if start_ns < launch_ns:
        return {"api": 0, "queued": 0, "overhead": 0, "early": start_ns - launch_ns}
    if start_ns <= launch_ns + call_ns:
        return {"api": start_ns - launch_ns, "queued": 0, "overhead": 0, "early": 0}
    queued_ns = queue_of(process, row, launch_ns + call_ns).queued_ns
    rest_ns = start_ns - launch_ns - call_ns - queued_ns
    return {"api": call_ns, "queued": queued_ns, "overhead": rest_ns, "early": 0}


@settings(max_examples=40)
@given(EXECUTIONS, CALLS, RANGES)
def test_latencies_and_their_parts(executions: list[Any], calls: list[Any], span: tuple[int, int] | None) -> None:
    with profile_of(text_of(executions, calls)) as profile:
        scope = Scope(profile, *((span[0], sum(span)) if span else ()))
        linked = linked_kernels(profile, scope)
        expected = [parts_by_hand(profile, *one) for one in linked]
        for index, process in enumerate(profile.processes):
            found = launch_figures.parts_of(process, scope.begin_ns, scope.end_ns)
            mine = [one for one in zip(linked, expected, strict=True) if one[0][0] == index]
            assert found.row.tolist() == [row for (_, row, _), _ in mine]
            for part in PARTS:
                assert getattr(found, f"{part}_ns").tolist() == [parts[part] for _, parts in mine]
            assert found.total_ns.tolist() == [sum(parts.values()) for _, parts in mine]
        table, histogram = launch_panels.latency_in_parts(scope), launch_panels.launch_latency(scope)
        if not linked:
            assert isinstance(table, Missing) and isinstance(histogram, Missing)
            return
        assert isinstance(table, Table) and isinstance(histogram, Histogram) and table.totals is not None
        titles = {part: title for part, (title, _) in launch_panels._TITLES.items()}
        shown = {row[0]: row[3] for row in table.rows}
        for part in PARTS:
            assert shown.get(titles[part], 0) == sum(parts[part] for parts in expected)
        assert table.totals[3] == sum(shown.values()) == sum(sum(parts.values()) for parts in expected)
        for row, door in zip(table.rows, table.doors, strict=True):
            assert door is not None
            found_there = door.find(profile, never)
            assert (found_there.total_ns, len(found_there)) == (row[3], row[2])
        totals = [sum(parts.values()) for parts in expected]
        assert int(histogram.counts.sum()) == len(linked)
        assert (np.diff(histogram.edges_ns) > 0).all()
        for place, (count, door) in enumerate(zip(histogram.counts.tolist(), histogram.doors, strict=True)):
            low, high = histogram.edges_ns[place : place + 2].tolist()
            inside = [total for total in totals if low <= total < high]
            assert door is not None and count == len(inside)
            behind = door.find(profile, never)
            assert (len(behind), behind.total_ns) == (count, sum(inside))


@settings(max_examples=30)
@given(EXECUTIONS, CALLS, RANGES)
def test_worst_short_and_outlier_launches(
    executions: list[Any], calls: list[Any], span: tuple[int, int] | None
) -> None:
    with profile_of(text_of(executions, calls)) as profile:
        begin_ns, end_ns = (span[0], sum(span)) if span else (None, None)
        scope = Scope(profile, begin_ns, end_ns, options={"rows": 3})
        linked = linked_kernels(profile, scope)
        worst, short = launch_panels.worst_launches(scope), launch_panels.short_kernels(scope)
        outliers = launch_panels.outlier_launches(scope)
        if not linked:
            assert all(isinstance(figure, Missing) for figure in (worst, short, outliers))
            return
        assert isinstance(worst, Table) and isinstance(short, Table) and isinstance(outliers, Table)
        totals = sorted((sum(parts_by_hand(profile, *one).values()) for one in linked), reverse=True)
        assert [row[1] for row in worst.rows] == totals[:3]
        for row, door in zip(worst.rows, worst.doors, strict=True):
            assert door is not None and door.find(profile, never).total_ns == row[1]
        expected: dict[str, tuple[int, int]] = {}
        for index, at, launch in linked:
            process = profile.processes[index]
            device, host = process.table("device"), process.table("host")
            if int((device["launch"] == launch).sum()) > 1:
                continue
            duration, call = int(device["duration_ns"][at]), int(host["duration_ns"][launch])
            if duration < call:
                start = int(device["start_ns"][at])
                begin, end = (span[0], sum(span)) if span else (start, start + duration)
                trimmed = max(0, min(start + duration, end) - max(start, begin))
                name = process.names.text(int(process.table("shapes")["name_id"][device["shape_id"][at]]))
                count, total = expected.get(name, (0, 0))
                expected[name] = count + 1, total + trimmed
        assert {row[0]: (row[1], row[4]) for row in short.rows} == expected
        for row, door in zip(short.rows, short.doors, strict=True):
            assert door is not None
            found = door.find(profile, never)
            assert (len(found), found.total_ns) == (row[1], row[4])
        times: dict[str, list[int]] = {}
        for index, launch in sorted({(index, launch) for index, _, launch in linked}):
            host = profile.processes[index].table("host")
            name = profile.processes[index].names.text(int(host["name_id"][launch]))
            times.setdefault(name, []).append(int(host["duration_ns"][launch]))
        for row, door in zip(outliers.rows, outliers.doors, strict=True):
            long = [time for time in times[row[0]] if is_outlier(time, times[row[0]])]
            assert door is not None
            found = door.find(profile, never)
            assert (row[1], row[4], row[5]) == (len(times[row[0]]), len(long), sum(long))
            assert (len(found), found.total_ns) == (row[4], row[5])
        assert len(outliers.rows) == len(times)


def is_outlier(time: int, times: list[int]) -> bool:
    """Whether a time is above mean + 3 standard deviations, without a rounding: (n t - S)² > 9 (n Q - S²)."""
    count, total = len(times), sum(times)
    above = count * time - total
    return above > 0 and above**2 > 9 * (count * sum(value**2 for value in times) - total**2)


@given(st.lists(st.integers(0, 1 << 50), min_size=1, max_size=30), st.integers(0, 2))
def test_the_limit_of_outliers_is_exact(times: list[int], kind: int) -> None:
    times = [time >> (0, 20, 45)[kind] for time in times] + [1 << 50 >> (0, 20, 45)[kind]]
    values = np.array(times, np.int64)
    (squares,) = launch_figures.squares_by_group(np.zeros(len(times), np.int64), values, 1)
    assert squares == sum(time * time for time in times)
    usual_ns = launch_figures.CallStatistics(len(times), sum(times), squares, max(times)).usual_ns
    for time in times:
        assert (time > usual_ns) == is_outlier(time, times)


def test_calls_longer_than_chosen(tmp_path: Path) -> None:
    text = "\n".join(
        f"kernel 0/7 {1_000 + at}+1 a corr={at + 1}\napi 1 {at * 100_000}+{length} go corr={at + 1}"
        for at, length in enumerate([500, 1_000, 1_001, 9_000])
    )
    profile = make_profile(tmp_path / "profile", text)
    table = launch_panels.outlier_launches(Scope(profile, options={"longer_than_us": 1}))
    assert isinstance(table, Table)
    assert table.rows[0][:6] == ("go", 4, 2875, 1_000, 2, 10_001)
    assert table.rows[0][7] == 9_000


@settings(max_examples=40)
@given(EXECUTIONS, CALLS, RANGES, st.integers(1, 3))
def test_queues(executions: list[Any], calls: list[Any], span: tuple[int, int] | None, full: int) -> None:
    with profile_of(text_of(executions, calls)) as profile:
        begin_ns, end_ns = (span[0], sum(span)) if span else (None, None)
        scope = Scope(profile, begin_ns, end_ns, options={"full": full})
        table, lines, edges_ns = launch_panels.full_queues(scope), launch_panels.queue_length(scope), scope.edges_ns()
        expected = queues_by_hand(profile, None if edges_ns is None else edges_ns.tolist())
        if not expected:
            assert isinstance(table, Missing) and isinstance(lines, Missing)
            return
        assert isinstance(table, Table) and isinstance(lines, Lines) and edges_ns is not None
        names = [row[0] for row in table.rows]
        assert sorted(names) == sorted(expected)
        for place, row in enumerate(table.rows):
            lengths = expected[row[0]]
            assert (row[3], row[4]) == (max(lengths), sum(lengths))
            assert row[5] == sum(length >= full for length in lengths)
            assert row[2] == pytest.approx(sum(lengths) / len(lengths))
            door, of_full = table.doors[place], table.column_doors[5][place]
            assert door is not None and of_full is not None
            assert door.find(profile, never).total_ns == row[4]
            assert len(door.find(profile, never)) == row[1]
            assert of_full.find(profile, never).total_ns == row[5]
        for line in lines.lines:  # a span this short has bins of 1 ns
            assert line.values.tolist() == expected[line.name]


def queues_by_hand(profile: Profile, edges: list[int] | None) -> dict[str, list[int]]:
    """The length of each queue in each ns."""
    found: dict[str, list[int]] = {}
    for process in profile.processes:
        device, host = process.table("device"), process.table("host")
        for row in range(len(device)):
            if edges is None or device["launch"][row] < 0:
                continue
            launched = int(host["start_ns"][device["launch"][row]])
            finished = int(device["start_ns"][row] + device["duration_ns"][row])
            name = f"rank {process.info.rank}, GPU 0, stream {device['stream'][row]}"
            held = [launched <= moment < finished for moment in range(edges[0], edges[-1])]
            if any(held):
                lengths = found.setdefault(name, [0] * len(held))
                found[name] = [length + is_held for length, is_held in zip(lengths, held, strict=True)]
    return found


def test_sums_of_queues_hold_beyond_64_bits() -> None:
    far_ns = 9 * 10**18
    rows = np.arange(4)
    work = queues.Waiting(0, 7, rows, np.full(4, -far_ns), np.full(4, far_ns))
    found = queues.queue(work, np.array([-far_ns, 0, far_ns]), 4)
    assert found.waited_ns == [4 * far_ns, 4 * far_ns] and found.longest == 4 and found.full_ns == 2 * far_ns


def test_the_greatest_latencies_come_first_and_of_equal_ones_the_earlier_rows() -> None:
    none = np.zeros(6, np.int64)
    total_ns = np.array([5, 9, 5, -(1 << 63), 9, 5], np.int64)
    parts = latency_parts.LatencyParts(none, none, total_ns, none, none, none, none)
    assert latency_parts.greatest(parts, 4).tolist() == [1, 4, 0, 2]
    assert latency_parts.greatest(parts, 9).tolist() == [1, 4, 0, 2, 5, 3]


def test_kernels_of_a_graph_have_no_call_of_their_own(tmp_path: Path) -> None:
    text = (
        "kernel 0/7 20+1 a corr=1\nkernel 0/7 22+1 a corr=1\nkernel 0/7 30+1 a corr=2\napi 1 0+9 cudaGraphLaunch corr=1"
    )
    profile = make_profile(tmp_path / "profile", text + "\napi 1 12+4 cudaLaunchKernel corr=2")
    table = launch_panels.short_kernels(Scope(profile))
    assert isinstance(table, Table)
    assert table.rows == [("a", 1, 100.0, 100.0, 1, 4)]
    assert table.note == "left out: 2 kernels without a call of their own, as in a graph"


@pytest.mark.parametrize("panel", LAUNCH_PANELS, ids=lambda panel: panel.key)
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("process 0", "This profile holds no events."),
        ("thread 1 main\nop 1 0+10 aten::mm", "No GPU activity was recorded."),
        ("kernel 0/7 0+10 a", "No launch of any kernel was recorded"),
        ("counter 5 power 3", "No GPU activity was recorded."),
        ("api 1 0+5 cudaLaunchKernel corr=3", "No GPU activity was recorded, although 1 launches were"),
    ],
)
def test_where_there_is_nothing_the_reason_is_said(tmp_path: Path, panel: Panel, text: str, reason: str) -> None:
    figure: Figure = panel.figure(Scope(make_profile(tmp_path / "profile", text)))
    assert isinstance(figure, Missing) and figure.reason.startswith(reason)


@pytest.mark.parametrize("panel", LAUNCH_PANELS, ids=lambda panel: panel.key)
def test_one_kernel_and_five_thousand_names(tmp_path: Path, panel: Panel) -> None:
    one = make_profile(tmp_path / "one", "kernel 0/7 20+1 a corr=1\napi 1 0+9 cudaLaunchKernel corr=1")
    assert isinstance(panel.figure(Scope(one)), panel.form)
    outside = panel.figure(Scope(one, 100, 200))
    assert isinstance(outside, Missing)
    text = "\n".join(
        f"kernel 0/7 {20 * at + 15}+1 kernel_{at} corr={at + 1}\napi 1 {20 * at}+9 cudaLaunchKernel corr={at + 1}"
        for at in range(500)
    )
    many = panel.figure(Scope(make_profile(tmp_path / "many", text)))
    assert isinstance(many, panel.form)
    if panel.key == "short_kernels":
        assert isinstance(many, Table) and len(many.rows) == 500


def test_the_root_is_not_rounded() -> None:
    """3 σ of a float would be off by thousands here."""
    times = [0, 1 << 45]
    statistics = launch_figures.CallStatistics(2, sum(times), sum(time * time for time in times), max(times))
    assert statistics.usual_ns == (sum(times) + isqrt(9 * (1 << 90))) // 2 == 2 << 45
