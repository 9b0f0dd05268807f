"""The table of kernels, memory over time and bandwidth, against slow and obvious twins on random profiles."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof.profile.manifest import Manifest, Process
from smprof.profile.reader import Profile
from smprof.profile.writer import ProfileWriter
from smprof_desktop.analysis import bandwidth
from smprof_desktop.analysis.bandwidth import Moves
from smprof_desktop.dashboard.figures import Lines, Missing, Table
from smprof_desktop.dashboard.kernel_panels import KERNEL_PANELS, all_kernels
from smprof_desktop.dashboard.memory_panels import (
    MEMORY_PANELS,
    copy_bandwidth,
    copy_bandwidth_over_time,
    memory_over_time,
    memory_peaks,
)
from smprof_desktop.dashboard.panel import Panel
from smprof_desktop.dashboard.scope import Scope
from tests.make_profile import make_profile
from tests.random_profiles import Execution, Made, profiles, ranges

Range = tuple[int, int] | None
PANELS = (*KERNEL_PANELS, *MEMORY_PANELS)


def scope_of(profile: Profile, limits: Range) -> Scope:
    begin_ns, end_ns = limits or (None, None)
    return Scope(profile, begin_ns, end_ns)


def inside(made: Made, limits: Range) -> list[tuple[Execution, Execution]]:
    """The slices in a range: trimmed, and whole."""
    found = ((one.within(*(limits or (None, None))), one) for one in made.executions)
    return [(cut, whole) for cut, whole in found if cut is not None]


def column(table: Table, title: str) -> list[Any]:
    place = [column.title for column in table.columns].index(title)
    return [row[place] for row in table.rows]


def doors_sum_to(table: Table, scope: Scope) -> None:
    for row, count, total_ns in zip(
        range(len(table.rows)), column(table, "Count"), column(table, "Total"), strict=True
    ):
        door = table.doors[row]
        assert door is not None
        found = door.find(scope.profile, lambda: False)
        assert (len(found), found.total_ns) == (count, total_ns)


def quantile(values: list[int], share: Fraction) -> int:
    """By linear interpolation, to the nearest integer, halves to even."""
    at = share * (len(values) - 1)
    low, high = sorted(values)[int(at)], sorted(values)[min(int(at) + 1, len(values) - 1)]
    return round(low + (high - low) * (at - int(at)))


@given(profiles(), ranges)
def test_all_kernels_as_a_table(made: Made, limits: Range) -> None:
    by_name = defaultdict(list)
    for cut, _ in inside(made, limits):
        if cut.kind == "kernel":
            by_name[cut.name].append(cut)
    times = {name: [one.end_ns - one.start_ns for one in found] for name, found in by_name.items()}
    whole = sum(map(sum, times.values()))
    with made.opened() as profile:
        scope = scope_of(profile, limits)
        table = all_kernels(scope)
        assert isinstance(table, Table) == bool(times)
        if isinstance(table, Table):
            doors_sum_to(table, scope)
            order = sorted(times, key=lambda name: (-sum(times[name]), name))
            assert column(table, "Name") == order
            assert table.totals is not None and table.totals[1:3] == (sum(map(len, times.values())), whole)
            for row, name in zip(table.rows, order, strict=True):
                mine = times[name]
                assert row[1:3] == (len(mine), sum(mine))
                assert row[3] == (pytest.approx(100 * sum(mine) / whole) if whole else None)
                mean = round(Fraction(sum(mine), len(mine)))
                assert row[4:9] == (
                    mean, quantile(mine, Fraction(1, 2)), quantile(mine, Fraction(99, 100)), min(mine), max(mine)
                )  # fmt: skip
                grids = [one.grid for one in by_name[name]]
                usual = max(sorted(set(grids), key=lambda grid: grid or -1), key=grids.count)
                assert row[13:] == ((f"{usual} × 1 × 1", "32 × 1 × 1") if usual else (None, None))


def write_kernels(folder: Path, shapes: int, executions: int) -> Profile:
    writer = ProfileWriter(folder, Manifest(name="many"))
    process = writer.process(Process(host="algo-1", process="0", pid=1))
    ids = np.array([process.shape_id(process.name_id(f"kernel_{number}")) for number in range(shapes)])
    count = np.arange(executions)
    process.append("device", {
        "kind": np.zeros(executions, np.uint8), "device": np.zeros(executions, int), "stream": np.full(executions, 7),
        "start_ns": 10 * count, "duration_ns": 1 + count % 9, "shape_id": ids[count % shapes],
    })  # fmt: skip
    writer.finish()
    return Profile.open(folder)


def test_five_thousand_kernels_each_have_a_row(tmp_path: Path) -> None:
    table = all_kernels(Scope(write_kernels(tmp_path / "p", 5_000, 20_000)))
    assert isinstance(table, Table) and len(table.rows) == len(table.doors) == 5_000
    assert set(column(table, "Count")) == {4} and sum(column(table, "Share")) == pytest.approx(100)


def test_occupancy_is_the_mean_over_time_of_what_was_recorded(tmp_path: Path) -> None:
    writer = ProfileWriter(tmp_path / "p", Manifest(name="occupancy"))
    process = writer.process(Process(host="algo-1", process="0", pid=1))
    name = process.name_id("gemm")
    shapes = [
        process.shape_id(name, grid=(grid, 1, 1), registers=grid, occupancy_percent=occupancy)
        for grid, occupancy in ((1, 100.0), (2, 25.0), (3, None))
    ]
    for start_ns, (shape, duration_ns) in enumerate(zip(shapes, (10, 30, 500), strict=True)):
        process.append("device", {
            "kind": ["kernel"], "device": [0], "stream": [start_ns], "start_ns": [start_ns],
            "duration_ns": [duration_ns], "shape_id": [shape],
        })  # fmt: skip
    writer.finish()
    table = all_kernels(Scope(Profile.open(tmp_path / "p")))
    assert isinstance(table, Table)
    assert column(table, "Occupancy") == [(100 * 10 + 25 * 30) / 40]
    assert (column(table, "Registers"), column(table, "Grid"), column(table, "Block")) == ([1], ["1 × 1 × 1"], [None])


@given(profiles(), ranges)
def test_bandwidth_by_kind(made: Made, limits: Range) -> None:
    by_kind = defaultdict(list)
    for cut, whole in inside(made, limits):
        if cut.kind != "kernel":
            by_kind["Memset" if cut.kind == "memset" else cut.copy_kind or "Other"].append((cut, whole))
    with made.opened() as profile:
        scope = scope_of(profile, limits)
        table = copy_bandwidth(scope)
        assert isinstance(table, Table) == bool(by_kind)
        if isinstance(table, Table):
            doors_sum_to(table, scope)
            assert set(column(table, "Kind")) == set(by_kind)
            for kind, count, moved, _, mean, greatest, without in table.rows:
                told = [
                    (one.bytes, one.end_ns - one.start_ns)
                    for _, one in by_kind[kind]
                    if one.bytes is not None and one.end_ns > one.start_ns
                ]
                assert (count, without) == (len(by_kind[kind]), len(by_kind[kind]) - len(told))
                assert moved == sum(one.bytes or 0 for _, one in by_kind[kind])
                if told:
                    assert mean == pytest.approx(1e9 * sum(size for size, _ in told) / sum(took for _, took in told))
                    assert greatest == pytest.approx(max(1e9 * size / took for size, took in told))
                else:
                    assert (mean, greatest) == (None, None)


_MOVE = st.tuples(st.integers(-20, 60), st.integers(0, 50), st.integers(-1, 1_000))


@given(st.lists(_MOVE, max_size=10), st.sets(st.integers(-10, 70), min_size=2, max_size=8))
def test_bytes_over_time_by_every_nanosecond(given_moves: list[tuple[int, int, int]], given_edges: set[int]) -> None:
    starts, took, moved = (
        (np.array(values, np.int64) for values in zip(*given_moves, strict=True))
        if given_moves
        else (np.zeros((3, 0), np.int64))
    )
    moves = Moves(np.zeros_like(starts), took, starts, took, moved)
    edges = sorted(given_edges)
    expected = np.zeros(len(edges) - 1)
    for start, length, size in given_moves:
        for ns in range(start, start + max(length, 1)):
            place = int(np.searchsorted(edges, ns, "right")) - 1
            if size >= 0 and 0 <= place < len(expected):
                expected[place] += size / max(length, 1)
    assert bandwidth.bytes_per_bin(moves, np.array(edges, np.int64)) == pytest.approx(expected, abs=1e-6)


_SAMPLES = st.lists(st.tuples(st.integers(0, 90), st.none() | st.integers(0, 1_000)), min_size=1, max_size=8)


@given(st.dictionaries(st.tuples(st.integers(0, 1), st.integers(-1, 1)), _SAMPLES, max_size=4), ranges)
def test_memory_by_every_nanosecond(counters: dict[tuple[int, int], Any], limits: Range) -> None:
    counters = {key: sorted(dict(samples).items()) for key, samples in counters.items()}
    more = tuple(
        (process, f'counter {time} "GPU memory allocated (KiB)" {"gap" if value is None else value}'
         + (f" device={device}" if device >= 0 else ""))
        for (process, device), samples in counters.items()
        for time, value in samples
    )  # fmt: skip
    low_ns, high_ns = limits or (0, 1_000)
    held: dict[tuple[int, int], dict[int, int]] = {}
    for key, samples in counters.items():
        times = [time for time, _ in samples]
        gap = int(np.median(np.diff(times))) if len(times) > 1 else 0
        ends = [*times[1:], max(times[-1] + gap, 100)]
        held[key] = {
            ns: 1024 * value
            for (time, value), end in zip(samples, ends, strict=True)
            for ns in range(time, end)
            if value is not None and low_ns <= ns < high_ns
        }
    held = {key: values for key, values in held.items() if values}
    made = Made((((0, 100),), ((0, 100),)), (Execution(0, "kernel", 0, 7, 0, 100, "gemm"),), more=more)
    with made.opened() as profile:
        scope = scope_of(profile, limits)
        table, lines = memory_peaks(scope), memory_over_time(scope)
        assert isinstance(table, Table) == bool(held)
        names = {
            (process, device): f"rank {process}, {f'GPU {device}' if device >= 0 else 'host'}"
            for process, device in held
        }
        if isinstance(table, Table):
            rows = {row[0]: row for row in table.rows}
            assert set(rows) == set(names.values())
            for key, values in held.items():
                _, title, peak, at_ns, mean, last, _ = rows[names[key]]
                reached = [ns for ns, value in sorted(values.items()) if value == max(values.values())]
                assert (title, peak, at_ns) == ("GPU memory allocated", max(values.values()), reached[0])
                assert mean == pytest.approx(np.mean(list(values.values())), abs=1)
                assert last == values[max(values)]
                door = table.doors[list(rows).index(names[key])]
                assert door is not None and door.find(profile, lambda: False).total_ns == len(reached)
        if isinstance(lines, Lines):
            for line in lines.lines:
                [key] = [key for key in held if line.name == f"{names[key]}, GPU memory allocated"]
                for place, value in enumerate(line.values.tolist()):
                    begin_ns, end_ns = (int(edge) for edge in lines.edges_ns[place : place + 2])
                    known = [held[key][ns] for ns in range(begin_ns, end_ns) if ns in held[key]]
                    assert value == max(known) if known else np.isnan(value)


def test_bandwidth_over_time_has_a_line_for_each_kind(tmp_path: Path) -> None:
    text = """
process 0 window=0:100
memcpy 0/7 0+50 a bytes=5000 copy=HtoD
memcpy 0/8 25+50 b bytes=1000 copy=DtoH
memcpy 0/8 80+10 c copy=DtoD
"""
    lines = copy_bandwidth_over_time(Scope(make_profile(tmp_path / "p", text)))
    assert isinstance(lines, Lines) and [line.name for line in lines.lines] == ["HtoD", "DtoH"]
    up, down = lines.lines
    assert up.values[[0, 49, 50, 99]].tolist() == pytest.approx([100e9, 100e9, 0, 0])
    assert down.values[[24, 25, 74, 75]].tolist() == pytest.approx([0, 20e9, 20e9, 0])
    assert [up.mean, down.mean] == pytest.approx([50e9, 10e9])


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.key)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("process 0", "This profile holds no events."),
        ("thread 1 main\nop 1 0+10 aten::mm", "No "),
        ("counter 5 power 3", "No "),
    ],
    ids=["nothing", "only the host", "only samples"],
)
def test_what_is_not_there_is_said(tmp_path: Path, panel: Panel, text: str, says: str) -> None:
    scope = Scope(make_profile(tmp_path / "p", text))
    figure = panel.figure(scope)
    assert isinstance(figure, Missing) and figure.reason.startswith(says) and figure.reason.endswith(".")
    in_range = panel.figure(replace(scope, begin_ns=1_000, end_ns=2_000))
    assert isinstance(in_range, Missing) and "range" in in_range.reason


def test_one_kernel_and_memory_without_a_slice(tmp_path: Path) -> None:
    table = all_kernels(Scope(make_profile(tmp_path / "one", "kernel 0/7 5+0 gemm")))
    assert isinstance(table, Table) and table.rows[0][:5] == ("gemm", 1, 0, None, 0)
    text = 'counter 5 "memory allocated [bytes]" 7\ncounter 15 "memory allocated [bytes]" 9'
    lines = memory_over_time(Scope(make_profile(tmp_path / "samples", text)))
    assert isinstance(lines, Lines) and np.nanmax(lines.lines[0].values) == 9


def test_one_rank_of_three_hundred_has_a_gpu(tmp_path: Path) -> None:
    lines = [f"process {rank} window=0:100" + ("\nkernel 0/7 10+20 gemm" if rank == 123 else "") for rank in range(300)]
    scope = Scope(make_profile(tmp_path / "p", "\n".join(lines)))
    table = all_kernels(scope)
    assert isinstance(table, Table) and len(table.rows) == 1
    doors_sum_to(table, scope)
