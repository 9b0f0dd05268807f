"""The panels' figures, by their exact numbers, and what each says where nothing was recorded."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof.profile import schema
from smprof_desktop import report
from smprof_desktop.analysis import utilization
from smprof_desktop.analysis.executions import Part
from smprof_desktop.dashboard.figures import Bars, Figure, Histogram, Lines, Missing, Pie, Table
from smprof_desktop.dashboard.kernel_pies import TOP_KERNELS, kernel_colours
from smprof_desktop.dashboard.overview import histogram
from smprof_desktop.dashboard.panels import PANELS, Panel
from smprof_desktop.dashboard.scope import Scope, bin_edges
from smprof_desktop.progress import Cancelled
from tests.make_profile import make_profile

TWO_HOSTS = """
host algo-1
process 0 window=0:100
thread 1 main
device 0 "NVIDIA H100" used
device 1 "NVIDIA H100" used
kernel 0/7 10+30 gemm corr=1
kernel 0/8 20+30 gemm corr=2
kernel 0/7 60+10 relu corr=3
memcpy 0/7 80+5 "Memcpy HtoD" bytes=64 copy=HtoD
memcpy 0/7 86+2 "Memcpy DtoH" bytes=8 copy=DtoH
memset 0/7 90+1 Memset bytes=16
api 1 5+4 cudaLaunchKernel corr=1
api 1 92+7 cudaDeviceSynchronize
annotation 1 0+40 step_0
annotation 1 40+60 step_1
counter -20 "CPU utilization (%)" 0 cpu=0
counter 0 "CPU utilization (%)" 30 cpu=0
counter 40 "CPU utilization (%)" 50 cpu=0
counter -20 "CPU utilization (%)" 0 cpu=1
counter 0 "CPU utilization (%)" gap cpu=1
counter 40 "CPU utilization (%)" 100 cpu=1
counter 10 "GPU memory allocated (bytes)" 300 device=0
counter 50 "GPU memory allocated (bytes)" 100 device=0
host algo-2
process 1 window=0:50
device 0 "NVIDIA H100" used
kernel 0/7 0+25 gemm
"""


def figure(key: str, tmp_path: Path, text: str = TWO_HOSTS) -> Figure:
    """The figure of one panel for a profile."""
    return next(panel for panel in PANELS if panel.key == key).figure(Scope(make_profile(tmp_path / "profile", text)))


def shares(pie: Figure) -> list[tuple[str, int]]:
    """Name and value of each share."""
    assert isinstance(pie, Pie)
    return [(share.name, share.value) for share in pie.shares]


def test_active_and_idle_are_parts_of_the_windows_of_used_devices(tmp_path: Path) -> None:
    pie = figure("gpu_active_time", tmp_path)
    assert isinstance(pie, Pie)
    # algo-1 device 0: 10..50, 60..70, 80..85, 86..88, 90..91 of 100; device 1: nothing of 100; algo-2: 25 of 50.
    assert shares(pie) == [("Active", 58 + 25), ("Idle", 42 + 100 + 25)] and pie.whole == 250


def test_a_device_idle_throughout_the_range_counts_in_every_panel(tmp_path: Path) -> None:
    profile = make_profile(
        tmp_path / "profile", "process 0 window=0:200\nkernel 0/7 0+100 gemm\nkernel 1/7 150+50 gemm\n"
    )
    scope = Scope(profile, 0, 100)
    active, over_time = (panel.figure(scope) for panel in PANELS[:2])
    assert isinstance(active, Pie) and shares(active) == [("Active", 100), ("Idle", 100)]
    assert isinstance(over_time, Lines) and [line.mean for line in over_time.lines] == [50.0]


def test_panels_share_one_pass_over_the_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, devices = [], utilization.devices

    def counted(device: Part, windows: utilization.Windows) -> list[utilization.DeviceUse]:
        asked.append(len(device))
        return devices(device, windows)

    monkeypatch.setattr(utilization, "devices", counted)
    scope = Scope(make_profile(tmp_path / "profile", TWO_HOSTS))
    for panel in PANELS:
        found = panel.figure(replace(scope, cancelled=lambda: False))
        assert panel.section != "Overview" or not isinstance(found, Missing)
    assert sorted(asked) == [1, 6], "each of the two processes once"


def test_a_scope_is_cancelled_by_whoever_builds(tmp_path: Path) -> None:
    scope = Scope(make_profile(tmp_path / "profile", TWO_HOSTS))
    with pytest.raises(Cancelled):
        PANELS[0].figure(replace(scope, cancelled=lambda: True))
    assert isinstance(PANELS[0].figure(scope), Pie)


def test_mean_and_median_of_durations_are_exact() -> None:
    """Beyond 2^53 a float64 no longer tells neighbours apart; halves go to even."""
    base = 1 << 60
    found = dict(histogram(np.array([base + 1, base + 2, base + 4, base + 5]), "").facts)
    assert found == {"Mean": base + 3, "Median": base + 3, "Least": base + 1, "Greatest": base + 5}
    assert dict(histogram(np.array([1, 2]), "").facts)["Mean"] == 2


def test_utilization_over_time_holds_where_the_span_is_wider_than_64_bits(tmp_path: Path) -> None:
    far_ns = 9 * 10**18
    text = f"kernel 0/7 {-far_ns}+60 gemm\nkernel 0/7 {far_ns - 60}+60 gemm"
    lines = figure("gpu_utilization_over_time", tmp_path, text)
    assert isinstance(lines, Lines)
    assert lines.edges_ns[[0, 1, -1]].tolist() == [0, 2 * far_ns // 300, 2 * far_ns]
    assert [line.mean for line in lines.lines] == [100 * 120 / (2 * far_ns)]


def test_utilization_over_time_is_a_line_per_host(tmp_path: Path) -> None:
    lines = figure("gpu_utilization_over_time", tmp_path)
    assert isinstance(lines, Lines)
    assert [line.name for line in lines.lines] == ["algo-1", "algo-2"]
    first, second = lines.lines
    assert lines.edges_ns[0] == 0 and lines.edges_ns[-1] == 100 and len(first.values) == 100
    assert first.values[10] == 50.0 and first.values[55] == 0.0
    assert second.values[10] == 100.0 and second.values[30] == 0.0 and np.isnan(second.values[60])
    assert first.mean == pytest.approx(29.0) and second.mean == pytest.approx(50.0)


def test_utilization_over_time_covers_windows_without_slices(tmp_path: Path) -> None:
    text = """
process 0 window=-100:900
device 0 "NVIDIA H100" used
kernel 0/7 0+100 gemm
"""
    made = figure("gpu_utilization_over_time", tmp_path, text)
    assert isinstance(made, Lines)
    assert made.lines[0].mean == 10
    assert (int(made.edges_ns[0]), int(made.edges_ns[-1])) == (-100, 900)
    [device] = report.build(make_profile(tmp_path / "again", text))["devices"]
    assert device["utilization"] == 0.1


def test_kernels_by_time_and_by_count(tmp_path: Path) -> None:
    by_time = figure("top_kernels_by_time", tmp_path)
    assert shares(by_time) == [("gemm", 85), ("relu", 10)]
    assert isinstance(by_time, Pie) and by_time.whole == 95
    assert shares(figure("top_kernels_by_count", tmp_path / "b")) == [("gemm", 3), ("relu", 1)]


def test_only_fifteen_of_many_kernels_are_shown_and_the_whole_is_still_all(tmp_path: Path) -> None:
    text = "".join(f"kernel 0/7 {100 * index}+{index + 1} kernel_{index}\n" for index in range(20))
    pie = figure("top_kernels_by_time", tmp_path, text)
    assert isinstance(pie, Pie)
    assert len(pie.shares) == 15 and shares(pie)[0] == ("kernel_19", 20) and pie.whole == sum(range(21))
    assert pie.note == "top 15 of 20 kernels"


@given(st.dictionaries(st.integers(0, 99), st.tuples(st.integers(1, 50), st.integers(1, 50)), max_size=60))
def test_a_kernel_has_one_colour_in_both_pies_and_no_two_of_a_pie_have_the_same(
    kernels: dict[int, tuple[int, int]],
) -> None:
    by_time: list[dict[str, Any]] = [
        {"name": f"k{number}", "total_ns": total_ns, "count": count} for number, (total_ns, count) in kernels.items()
    ]
    by_time.sort(key=lambda kernel: -kernel["total_ns"])
    by_count = sorted(by_time, key=lambda kernel: (-kernel["count"], kernel["name"]))
    colours = kernel_colours(by_time)
    for pie in (by_time[:TOP_KERNELS], by_count[:TOP_KERNELS]):
        shown = [colours[kernel["name"]] for kernel in pie]
        assert len(set(shown)) == len(shown) and all(0 <= colour < TOP_KERNELS for colour in shown)


def test_both_pies_of_kernels_use_these_colours(tmp_path: Path) -> None:
    text = "kernel 0/7 0+50 long\nkernel 0/7 60+1 short\nkernel 0/7 62+1 short"
    time_pie, count_pie = (figure(key, tmp_path / key, text) for key in ("top_kernels_by_time", "top_kernels_by_count"))
    assert isinstance(time_pie, Pie) and isinstance(count_pie, Pie)
    assert [(share.name, share.colour) for share in time_pie.shares] == [("long", 0), ("short", 1)]
    assert [(share.name, share.colour) for share in count_pie.shares] == [("short", 1), ("long", 0)]


def test_activities_and_memory_operations(tmp_path: Path) -> None:
    assert shares(figure("gpu_activities", tmp_path)) == [("kernel", 95), ("memcpy", 7), ("memset", 1), ("sync", 7)]
    operations = figure("gpu_memory_operations", tmp_path / "b")
    assert shares(operations) == [("HtoD", 5), ("DtoH", 2), ("Memset", 1)]


def test_steps(tmp_path: Path) -> None:
    steps = figure("step_times", tmp_path)
    assert isinstance(steps, Histogram)
    assert int(steps.counts.sum()) == 2 and steps.edges_ns[0] == 40 and steps.edges_ns[-1] == 60
    assert dict(steps.facts) == {"Mean": 50, "Median": 50, "Least": 40, "Greatest": 60}


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.key)
@pytest.mark.parametrize(
    "text", ["counter 5 power 3", "thread 1 main\nop 1 0+10 aten::mm"], ids=["only samples", "only the host"]
)
def test_what_was_not_recorded_is_said_with_the_remedy(tmp_path: Path, panel: Panel, text: str) -> None:
    missing = figure(panel.key, tmp_path, text)
    if panel.key == "by_operator" and "op 1" in text:
        assert isinstance(missing, Table), "host time of operators was recorded"
        return
    assert isinstance(missing, Missing) and missing.reason.endswith(".") and missing.reason.startswith("No ")


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.key)
def test_where_there_is_nothing_at_all_no_advice_is_given(tmp_path: Path, panel: Panel) -> None:
    assert figure(panel.key, tmp_path, "process 0") == Missing("This profile holds no events.")


def test_only_the_host_and_a_device_that_was_used(tmp_path: Path) -> None:
    """A device known to have been used that did nothing was idle: that is a figure, not a gap."""
    text = 'process 0 window=0:100\ndevice 0 "H100" used\nthread 1 main\nop 1 0+10 aten::mm'
    assert shares(figure("gpu_active_time", tmp_path, text)) == [("Active", 0), ("Idle", 100)]


def test_the_table_is_sound() -> None:
    assert len({panel.key for panel in PANELS}) == len(PANELS)
    for panel in PANELS:
        assert panel.help and panel.form in (Pie, Lines, Histogram, Table, Bars) and 1 <= panel.width <= 6
        for needed in panel.needs:
            schema.column(*needed.split("."))


def test_steps_that_are_alike_have_bins_around_them() -> None:
    figure = histogram(np.full(3, 1_000, np.int64), "3 steps")
    assert figure.edges_ns[0] == 949 and figure.edges_ns[-1] == 1_051
    assert figure.counts.tolist() == [0, 0, 3, 0, 0]


@given(st.lists(st.integers(0, 1 << 62), min_size=1, max_size=80))
def test_a_histogram_counts_every_duration_once(durations: list[int]) -> None:
    figure = histogram(np.array(durations, np.int64), "all")
    edges = figure.edges_ns.tolist()
    assert int(figure.counts.sum()) == len(durations) and edges == sorted(set(edges))
    for index, count in enumerate(figure.counts.tolist()):
        is_last = index == len(figure.counts) - 1
        inside = [d for d in durations if edges[index] <= d and (d < edges[index + 1] or (is_last and d <= edges[-1]))]
        assert count == len(inside)


@given(st.integers(-(1 << 62), 1 << 62), st.integers(1, 1 << 61), st.integers(1, 500))
def test_bins_are_equal_but_for_the_last_and_cover_the_range(begin_ns: int, span_ns: int, bins: int) -> None:
    edges = bin_edges(begin_ns, begin_ns + span_ns, bins).tolist()
    widths = [end - begin for begin, end in itertools.pairwise(edges)]
    assert edges[0] == begin_ns and edges[-1] == begin_ns + span_ns
    assert 1 <= len(widths) <= bins and len(set(widths[:-1])) <= 1 and 0 < widths[-1] <= widths[0]
