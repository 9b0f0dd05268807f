"""The panels that SageMaker Profiler had, against slow and obvious twins on random profiles, and where doors lead."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof_desktop import report
from smprof_desktop.analysis.doors import NO_SLICE, Door
from smprof_desktop.analysis.precision import precision
from smprof_desktop.dashboard import cpu_panels, kernel_pies, overview
from smprof_desktop.dashboard.figures import Figure, Histogram, Lines, Missing, Pie, Share
from smprof_desktop.dashboard.panels import PANELS
from smprof_desktop.dashboard.scope import Scope
from tests.dashboard.test_panels import TWO_HOSTS
from tests.make_profile import make_profile
from tests.random_profiles import Execution, Made, profiles, ranges

Range = tuple[int, int] | None
Key = Callable[[Execution], str]


def scope_of(profile: Any, limits: Range, **options: int) -> Scope:
    begin_ns, end_ns = limits or (None, None)
    return Scope(profile, begin_ns, end_ns, options=options)


def inside(made: Made, limits: Range) -> list[Execution]:
    """The slices in a range, trimmed."""
    found = (one.within(*(limits or (None, None))) for one in made.executions)
    return [one for one in found if one is not None]


def door_of(share: Share | None, doors: Iterable[Door | None] = ()) -> Door:
    door = share.door if share is not None else next(iter(doors))
    assert door is not None
    return door


def pie_of(figure: Figure, scope: Scope) -> dict[str, int]:
    """Name and value of each share of a pie, each door of which must sum to it."""
    if isinstance(figure, Missing):
        return {}
    assert isinstance(figure, Pie)
    for share in figure.shares:
        found = door_of(share).find(scope.profile, lambda: False)
        assert (found.total_ns if figure.unit == "ns" else len(found)) == share.value, share.name
        assert door_of(share).basis == figure.basis
        if share.count is not None:
            assert len(found) == share.count
        for place in range(len(found)):
            ref = found.ref(place)
            if ref is not None:
                rows = scope.profile.processes[ref.process].table(ref.table)
                begin_ns = int(rows["start_ns"][ref.row])
                end_ns = begin_ns + int(rows["duration_ns"][ref.row])
                assert begin_ns <= int(found.start_ns[place]) <= int(found.end_ns[place]) <= end_ns
    return {share.name: share.value for share in figure.shares}


def summed(slices: Iterable[Execution], key: Key) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in slices:
        total[key(one)] += one.end_ns - one.start_ns
    return total


@given(profiles(), ranges)
def test_active_and_idle_by_every_nanosecond(made: Made, limits: Range) -> None:
    low_ns, high_ns = limits or (-1_000, 1_000)
    used = {(one.process, one.device) for one in made.executions}
    windows = {
        (process, device): {ns for begin, end in made.windows[process] for ns in range(begin, end)}
        & set(range(low_ns, high_ns))
        for process, device in used
    }
    busy = {
        key: {
            ns for one in made.executions if (one.process, one.device) == key for ns in range(one.start_ns, one.end_ns)
        }
        for key in used
    }
    active = sum(len(busy[key] & windows[key]) for key in used)
    whole = sum(map(len, windows.values()))
    with made.opened() as profile:
        scope = scope_of(profile, limits)
        found = pie_of(overview.gpu_active_time(scope), scope)
    assert found == ({"Active": active, "Idle": whole - active} if whole else {})


@given(profiles(), ranges, st.integers(1, 3))
def test_kernels_by_time_count_and_precision(made: Made, limits: Range, wanted: int) -> None:
    kernels = [one for one in inside(made, limits) if one.kind == "kernel"]
    by_time, by_count = summed(kernels, lambda one: one.name), Counter(one.name for one in kernels)
    by_precision = summed(kernels, lambda one: precision(one.name) or "unknown")
    with made.opened() as profile:
        scope = scope_of(profile, limits, kernels=wanted)
        all_time, all_counts = kernel_pies.time_by_kernels(scope), kernel_pies.launches_by_kernels(scope)
        assert pie_of(kernel_pies.time_by_top_kernels(scope), scope) == by_time
        assert pie_of(kernel_pies.launches_by_top_kernels(scope), scope) == by_count
        assert pie_of(kernel_pies.kernel_precision_distribution(scope), scope) == by_precision
        for figure, totals in ((all_time, by_time), (all_counts, by_count)):
            order = sorted(totals, key=lambda name: (-totals[name], name))
            expected = {name: totals[name] for name in order[:wanted]}
            if order[wanted:]:
                expected["Others"] = sum(totals[name] for name in order[wanted:])
            assert list(pie_of(figure, scope).items()) == list(expected.items())
            assert not isinstance(figure, Pie) or figure.whole == sum(totals.values())


@given(profiles(), ranges)
def test_activities_and_memory_operations(made: Made, limits: Range) -> None:
    slices = inside(made, limits)
    activities = summed(slices, lambda one: one.kind)
    calls = (
        Execution(call.process, "sync", 0, 0, call.start_ns, call.end_ns, call.name).within(*(limits or (None, None)))
        for call in made.calls
        if "Synchronize" in call.name
    )
    activities.update(summed((call for call in calls if call is not None), lambda one: one.kind))
    operations = [one for one in slices if one.kind != "kernel"]
    kinds = summed(operations, lambda one: "Memset" if one.kind == "memset" else one.copy_kind or "Other")
    with made.opened() as profile:
        scope = scope_of(profile, limits)
        found = pie_of(overview.gpu_activity_distribution(scope), scope)
        assert {name: value for name, value in found.items() if value} == dict(+activities)
        assert pie_of(overview.memory_operations_distribution(scope), scope) == (kinds if any(kinds.values()) else {})


@given(profiles(), ranges, st.sampled_from([None, "step", "forward", "*tep*", "nothing"]))
def test_step_times_lead_to_their_steps(made: Made, limits: Range, step: str | None) -> None:
    is_one: dict[str | None, str] = {
        None: r"(?i)step[_ ]\d", "step": r"step_\d", "forward": "forward", "*tep*": ".*tep.*", "nothing": "nothing",
    }  # fmt: skip
    durations = []
    for one in made.annotations:
        cut = Execution(one.process, "", 0, 0, one.start_ns, one.end_ns, "").within(*(limits or (None, None)))
        if cut is not None and re.fullmatch(is_one[step], one.name):
            durations.append(cut.end_ns - cut.start_ns)
    with made.opened() as profile:
        scope = replace(scope_of(profile, limits), step=step)
        figure = overview.step_time_distribution(scope)
        assert isinstance(figure, Histogram) == bool(durations)
        if isinstance(figure, Histogram):
            assert int(figure.counts.sum()) == len(durations)
            found = []
            for place, count in enumerate(figure.counts.tolist()):
                slices = door_of(None, figure.doors[place:]).find(profile, lambda: False)
                assert len(slices) == count
                found += (slices.end_ns - slices.start_ns).tolist()
            assert sorted(found) == sorted(durations)


_CPU = st.lists(st.tuples(st.integers(0, 60), st.none() | st.integers(0, 100)), min_size=1, max_size=8)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), _CPU), max_size=5), ranges)
def test_cpus_by_every_nanosecond(given_cpus: list[tuple[int, int, Any]], limits: Range) -> None:
    cpus = {(process, cpu): sorted(dict(samples).items()) for process, cpu, samples in given_cpus}
    more = tuple(
        (process, f'counter {time} "CPU utilization (%)" {"gap" if value is None else value} cpu={cpu}')
        for (process, cpu), samples in cpus.items()
        for time, value in samples
    )
    low_ns, high_ns = limits or (-1_000, 1_000)
    held: dict[tuple[int, int], dict[int, int]] = {}
    for key, samples in cpus.items():
        times = [time for time, _ in samples]
        gaps = [after - before for before, after in pairwise(times)]
        ends = [*times[1:], times[-1] + int(np.median(gaps)) if gaps else max(times[-1], 100)]
        held[key] = {
            ns: value
            for (time, value), end in zip(samples, ends, strict=True)
            for ns in range(time, end)
            if value is not None and low_ns <= ns < high_ns
        }
    every = [value for of_cpu in held.values() for value in of_cpu.values()]
    made = Made((((0, 100),), ((0, 100),)), (Execution(0, "kernel", 0, 7, 0, 100, "gemm"),), more=more)
    with made.opened() as profile:
        scope = scope_of(profile, limits)
        active = sum(value > 0 for value in every)
        pie, lines = cpu_panels.cpu_active_time(scope), cpu_panels.cpu_utilization_over_time(scope)
        assert pie_of(pie, scope) == ({"Active": active, "Idle": len(every) - active} if every else {})
        assert isinstance(lines, Lines) == bool(every)
        if isinstance(lines, Lines):
            assert isinstance(pie, Pie) and pie.note == f"mean utilization {np.mean(every):.1f} %"
            assert np.all(np.diff(lines.edges_ns) == 1), "a bin for each ns: few enough"
            for line in lines.lines:
                mine = [of_cpu for (process, _), of_cpu in held.items() if line.name == f"algo-{process + 1}"]
                for ns, value in zip(lines.edges_ns.tolist(), line.values.tolist(), strict=False):
                    known = [of_cpu[ns] for of_cpu in mine if ns in of_cpu]
                    assert value == pytest.approx(np.mean(known)) if known else np.isnan(value)


def test_samples_of_the_whole_host_count_before_those_of_its_cpus(tmp_path: Path) -> None:
    text = """
process 0 window=0:100
counter 0 "CPU utilization (%)" 10
counter 50 "CPU utilization (%)" 0
counter 0 "CPU utilization (%)" 90 cpu=0
counter 50 "CPU utilization (%)" 90 cpu=0
counter 0 "GPU and CPU utilization" 90 device=0
"""
    scope = Scope(make_profile(tmp_path / "p", text))
    pie = cpu_panels.cpu_active_time(scope)
    assert pie_of(pie, scope) == {"Active": 50, "Idle": 50}
    assert isinstance(pie, Pie) and (pie.basis, pie.note) == (
        "the sampled time of all CPUs of 1 host",
        "mean utilization 5.0 %",
    )


def test_the_cpu_line_begins_before_what_was_recorded_of_the_gpus(tmp_path: Path) -> None:
    text = "process 0 window=1000:2000\nkernel 0/7 1000+10 gemm\n" + "".join(
        f'counter {time} "CPU utilization (%)" {time / 20} cpu=0\n' for time in range(0, 2_000, 500)
    )
    lines = cpu_panels.cpu_utilization_over_time(Scope(make_profile(tmp_path / "p", text)))
    assert isinstance(lines, Lines) and (int(lines.edges_ns[0]), int(lines.edges_ns[-1])) == (-1_000, 1_000)
    assert lines.lines[0].values[[0, -1]].tolist() == [0, 75]


def test_five_thousand_kernels_are_named_up_to_the_number_asked_for(tmp_path: Path) -> None:
    text = "".join(f"kernel 0/7 {10 * number}+{1 + number % 9} kernel_{number}\n" for number in range(5_000))
    profile = make_profile(tmp_path / "p", text)
    default, few = (kernel_pies.time_by_kernels(Scope(profile, options=options)) for options in ({}, {"kernels": 3}))
    assert isinstance(default, Pie) and isinstance(few, Pie)
    assert (len(default.shares), len(few.shares)) == (16, 4) and default.whole == few.whole
    assert few.note == "top 3 of 5,000 kernels and 4,997 others"
    others = door_of(few.shares[-1]).find(profile, lambda: False)
    assert (len(others), others.total_ns) == (4_997, few.shares[-1].value)


def test_a_kernel_keeps_its_colour_in_all_four_pies(tmp_path: Path) -> None:
    text = "".join(f"kernel 0/7 {100 * number}+{20 - number % 17} k{number % 20}\n" for number in range(90))
    scope = Scope(make_profile(tmp_path / "p", text))
    seen: dict[str, set[int | None]] = {}
    for panel in PANELS:
        figure = panel.figure(scope)
        if isinstance(figure, Pie) and figure.of_kernels:
            for share in figure.shares:
                seen.setdefault(share.name, set()).add(share.colour)
    assert all(len(colours) == 1 for colours in seen.values()) and len(seen) > 15


def test_names_that_are_no_text_lead_to_their_own_slices(tmp_path: Path) -> None:
    from smprof.profile.manifest import Manifest, Process
    from smprof.profile.reader import Profile
    from smprof.profile.writer import ProfileWriter

    writer = ProfileWriter(tmp_path / "p", Manifest(name="raw"))
    process = writer.process(Process(host="algo-1", process="0", pid=1))
    for number, name in enumerate((b"k\xff", b"k\xfe", b"k")):
        shape = process.shape_id(process.name_id(name))
        process.append("device", {
            "kind": ["kernel"], "device": [0], "stream": [7], "start_ns": [100 * number],
            "duration_ns": [number + 1], "shape_id": [shape],
        })  # fmt: skip
    writer.finish()
    scope = Scope(Profile.open(tmp_path / "p"))
    assert sorted(pie_of(kernel_pies.time_by_top_kernels(scope), scope).values()) == [1, 2, 3]


def test_idle_moments_are_no_slices(tmp_path: Path) -> None:
    scope = Scope(make_profile(tmp_path / "p", "process 0 window=0:100\nkernel 0/7 10+30 gemm"))
    pie = overview.gpu_active_time(scope)
    assert isinstance(pie, Pie)
    moments = door_of(pie.shares[1]).find(scope.profile, lambda: False)
    assert moments.table.tolist() == [NO_SLICE, NO_SLICE] and moments.start_ns.tolist() == [0, 40]


def test_the_devices_are_there_before_the_report_and_are_its_own(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "profile", TWO_HOSTS)
    for limits in ((None, None), (3, 60), (1_000, 2_000)):
        early, late = Scope(profile, *limits), Scope(profile, *limits)
        late.built()  # by another section
        for scope in (early, late):
            shown = scope.devices()
            assert (scope.ready is None) == (scope is early)
            rows = scope.report()["devices"]
            assert [(device.host, device.device, device.window_ns) for device in shown] == [
                (row["host"], row["device"], row["window_ns"]) for row in rows
            ]
            assert [device.use.active_ns if device.use else 0 for device in shown] == [row["active_ns"] for row in rows]
        for mine, theirs in zip(early.devices(), late.devices(), strict=True):
            assert (mine.binned is None) == (theirs.binned is None)
            if mine.binned is not None and theirs.binned is not None:
                assert mine.binned.active_ns.tolist() == theirs.binned.active_ns.tolist()
        assert early.report() == late.report() == report.build(profile, *limits)
