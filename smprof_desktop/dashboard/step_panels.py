"""The panels of steps and ranks: each step by what the GPU did, steps that stand out, and ranks side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smprof.profile.schema import NONE
from smprof_desktop.analysis import overlap
from smprof_desktop.analysis.doors import Door
from smprof_desktop.analysis.intervals import differences
from smprof_desktop.analysis.statistics import divide
from smprof_desktop.analysis.step_times import SIGMAS, imbalance, occurrences, spread
from smprof_desktop.dashboard import activity
from smprof_desktop.dashboard.absent import is_untraced, missing, no_device
from smprof_desktop.dashboard.activity import Activities, DeviceActivity, StepsOf
from smprof_desktop.dashboard.collective_panels import notes, shown, waiting_transfer_unknown
from smprof_desktop.dashboard.figures import Bars, Column, Figure, Missing, Table
from smprof_desktop.dashboard.idle_panels import PART_NAMES, parts_bars
from smprof_desktop.dashboard.panel import DEVICE_TIME, Panel
from smprof_desktop.dashboard.scope import Scope

MOST_BARS = 2_000
_INFERRED = "inferred: no step is annotated, so these are periods in which the kernels of the busiest stream repeat"


@dataclass(frozen=True)
class Here:
    """One step of one process: which of its steps it is."""

    process: int
    at: int


def steps_split(scope: Scope) -> Figure:
    """A bar for each step, of the rank that took longest for it, by what its GPU did meanwhile."""
    found = activity.of_scope(scope)
    groups = step_groups(found)
    if not groups:
        return _no_step(scope)
    main = {number: device for number in range(len(found.steps)) if (device := _main_device(found, number))}
    bars = [(name, max(each, key=lambda here: (_duration(found, here), -here.process))) for name, each in groups]
    bars = [(name, here) for name, here in bars if here.process in main]
    if not bars or is_untraced(scope):
        return no_device(scope)
    total = len(bars)
    if total > MOST_BARS:
        kept = sorted(sorted(range(total), key=lambda at: -_duration(found, bars[at][1]))[:MOST_BARS])
        bars = [bars[at] for at in kept]
    outliers = spread([_duration(found, here) for _, here in bars])
    several = sum(len(steps) > 0 for steps in found.steps) > 1
    labels = [f"{name}, {main[here.process].label}" if several else name for name, here in bars]
    said = [f"mean {_span(outliers.mean_ns)}, standard deviation {_span(round(outliers.deviation_ns))}"]
    said.append(f"{len(outliers.outliers):,} beyond {SIGMAS} standard deviations")
    if several:
        said.append("of each step the rank that took longest")
    if len(bars) < total:
        said.append(f"the {len(bars):,} longest of {total:,} steps")
    return parts_bars(
        labels,
        [[int(part[here.at]) for part in main[here.process].steps_ns] for _, here in bars],
        "each step from its start to its end, by what the GPU did meanwhile",
        tuple(_step_door(scope, found, here, label) for label, (_, here) in zip(labels, bars, strict=True)),
        outliers.outliers,
        "; ".join([*said, *_inferred(found)]),
    )


def steps_by_rank(scope: Scope) -> Figure:
    """Mean, spread and outliers of the steps of each rank."""
    found = activity.of_scope(scope)
    if not any(len(steps) for steps in found.steps):
        return _no_step(scope)
    rows, doors = [], []
    for number, steps in enumerate(found.steps):
        if not len(steps):
            continue
        durations = differences(steps.end_ns, steps.start_ns).tolist()
        times = spread(durations)
        device = _main_device(found, number)
        split = [sum(part.tolist()) for part in device.steps_ns] if device else [None] * len(PART_NAMES)
        label = _who(scope, found, number)
        share = 100 * times.deviation_ns / times.mean_ns if times.mean_ns else None
        outliers = len(times.outliers)
        rows.append(
            (label, times.count, sum(durations), times.mean_ns, round(times.deviation_ns), share, times.least_ns,
             times.most_ns, outliers, *split)
        )  # fmt: skip
        doors.append(_steps_door(scope, found, number, range(len(steps)), f"{label}: all steps"))
    columns = (
        Column("Rank", "text"),
        Column("Steps", "count"),
        Column("Time", "ns", "Sum of the steps. Opens them."),
        Column("Mean", "ns"),
        Column("Deviation", "ns", "Standard deviation over all steps of the rank."),
        Column("Deviation, of the mean", "percent"),
        Column("Shortest", "ns"),
        Column("Longest", "ns"),
        Column("Outliers", "count", f"Steps further than {SIGMAS} standard deviations from the mean."),
        *(Column(name, "ns", "What the GPU did during the steps, summed.") for name in PART_NAMES),
    )
    return Table(columns, rows, "steps from start to end", doors, None, "; ".join(_inferred(found)))


def slowest_ranks(scope: Scope) -> Figure:
    """For each step the rank that took longest, and the one that computed most."""
    found = activity.of_scope(scope)
    groups = [(name, each) for name, each in step_groups(found) if len(each) > 1]
    if not groups:
        if any(len(steps) for steps in found.steps):
            return Missing(
                "Only one rank has steps here, so there is nothing to compare. Open the profiles of all ranks together."
            )
        return _no_step(scope)
    rows, doors = [], []
    for name, each in groups:
        durations = [_duration(found, here) for here in each]
        slowest = each[durations.index(max(durations))]
        mains = [(here, device) for here in each if (device := _main_device(found, here.process))]
        computed = [int(device.steps_ns[0][here.at]) + int(device.steps_ns[1][here.at]) for here, device in mains]
        busiest = mains[computed.index(max(computed))][0] if any(computed) else None
        rows.append(
            (
                name,
                len(each),
                _who(scope, found, slowest.process),
                max(durations),
                divide(sum(durations), len(durations)),
                imbalance(durations),
                max(durations) - min(durations),
                _who(scope, found, busiest.process) if busiest else None,
                max(computed, default=None),
                imbalance(computed) if computed else None,
            )
        )
        doors.append(_step_door(scope, found, slowest, f"{name}, {_who(scope, found, slowest.process)}"))
    columns = (
        Column("Step", "text"),
        Column("Ranks", "count"),
        Column("Slowest rank", "text"),
        Column("Longest", "ns", "The step of that rank. Opens it."),
        Column("Mean", "ns"),
        Column("Longest ÷ mean", "number", "1 where all ranks take equally long."),
        Column("Longest − shortest", "ns"),
        Column("Computed most", "text", "Ranks that wait for each other take equally long; this one kept them."),
        Column("Most compute", "ns"),
        Column("Compute: most ÷ mean", "number"),
    )
    note = ["steps are matched across ranks by their name", *_inferred(found)]
    return Table(columns, rows, f"{len(groups):,} steps that several ranks have", doors, None, "; ".join(note))


def ranks(scope: Scope) -> Figure:
    """All ranks side by side: what their GPUs did, and how long they waited for others."""
    found = activity.of_scope(scope)
    if not found.devices or is_untraced(scope):
        return no_device(scope)
    together = activity.collected(scope)
    here = shown(together, scope)
    member = together.kernels.member[here.at]
    came_last = together.kernels.member[together.timing.last[_compared(together, here)]]
    computed = [device.parts_ns[overlap.COMPUTE] + device.parts_ns[overlap.OVERLAPPED] for device in found.devices]
    rows, doors = [], []
    for device, computed_ns in zip(found.devices, computed, strict=True):
        waiting_ns = last = None
        key = (device.process, device.device)
        if key in together.members:
            mine = here.where(member == together.members.index(key))
            if mine.told.any():
                waiting_ns = waiting_transfer_unknown(mine)[0]
                last = int(np.count_nonzero(came_last == together.members.index(key)))
        of_mean = computed_ns * len(computed) / sum(computed) if sum(computed) else None
        rows.append((device.label, device.host, device.window_ns, device.active_ns, computed_ns, of_mean,
                     device.parts_ns[overlap.EXPOSED], device.parts_ns[overlap.IDLE], waiting_ns, last))  # fmt: skip
        active = (overlap.COMPUTE, overlap.OVERLAPPED, overlap.EXPOSED, overlap.MEMORY)
        doors.append(activity.part_door(scope, [key], active, f"{device.label}: active", "the window of the GPU"))
    columns = (
        Column("GPU", "text"),
        Column("Host", "text"),
        Column("Window", "ns"),
        Column("Active", "ns", "Opens the slices, each moment once."),
        Column("Compute", "ns"),
        Column("Compute ÷ mean", "number", "1 where the work is even; the greatest is the imbalance."),
        Column("Exposed communication", "ns"),
        Column("Idle", "ns"),
        Column("Waiting in collectives", "ns", "For ranks that came later; nothing where that cannot be told."),
        Column("Came last", "count", "Collectives in which all others waited for it."),
    )
    return Table(columns, rows, "the window of each GPU", doors, None, notes(together))


def step_groups(found: Activities) -> list[tuple[str, list[Here]]]:
    """The same step on all processes, by its name and how many of that name came before, by the first start."""
    groups: dict[tuple[str, int], list[Here]] = {}
    for number, steps in enumerate(found.steps):
        for at, key in enumerate(occurrences(steps.names)):
            groups.setdefault(key, []).append(Here(number, at))
    repeated = {name for name, place in groups if place}
    starts = {
        key: min(int(found.steps[here.process].start_ns[here.at]) for here in each) for key, each in groups.items()
    }
    return [
        (f"{name} ({place + 1})" if name in repeated else name, groups[name, place])
        for name, place in sorted(groups, key=lambda key: (starts[key], key))
    ]


def _compared(together: activity.Collected, here: Any) -> Any:
    return np.unique(together.matched.instance[here.at[here.told]])


def _duration(found: Activities, here: Here) -> int:
    steps = found.steps[here.process]
    return int(steps.end_ns[here.at]) - int(steps.start_ns[here.at])


def _main_device(found: Activities, number: int) -> DeviceActivity | None:
    """The device of a process that was active longest."""
    mine = [device for device in found.devices if device.process == number]
    return max(mine, key=lambda device: (device.active_ns, -device.device)) if mine else None


def _who(scope: Scope, found: Activities, number: int) -> str:
    device = _main_device(found, number)
    return device.label if device else activity.label_of(scope.profile, number, NONE)


def _step_door(scope: Scope, found: Activities, here: Here, title: str) -> Door:
    return _steps_door(scope, found, here.process, [here.at], title)


def _steps_door(scope: Scope, found: Activities, number: int, which: Sequence[int], title: str) -> Door:
    """To the annotations; an inferred period has none, so that it leads to its stretch of time."""
    steps: StepsOf = found.steps[number]
    at = np.asarray(which, np.int64)
    table = "annotation" if not steps.inferred else None
    process = np.full(len(at), number, np.int32)
    return activity.times_door(
        process, steps.row[at], steps.start_ns[at], steps.end_ns[at], title, "the step on the host", table
    )


def _inferred(found: Activities) -> list[str]:
    kernels = sorted({steps.inferred for steps in found.steps if steps.inferred})
    return [f"{_INFERRED}, from one {kernels[0][:80]} to the next"] if kernels else []


def _no_step(scope: Scope) -> Missing:
    return missing(
        scope,
        "step",
        "No step was annotated, and the kernels show no clear period. Annotate each step of the training loop: "
        "`with smprof.annotate(f'step_{i}')`, or the profiler's step() in PyTorch; or choose an "
        "annotation as the step.",
    )


def _span(ns: int) -> str:
    for size, unit in ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")):
        if abs(ns) >= size:
            return f"{ns / size:.3f} {unit}"
    return f"{ns} ns"


_SECTION = "Steps and ranks"
_STEPS = ("annotation.start_ns", "annotation.duration_ns", *DEVICE_TIME)
STEP_PANELS: tuple[Panel, ...] = (
    Panel(
        "steps",
        "Steps",
        _STEPS,
        steps_split,
        Bars,
        6,
        "A bar for each step by what the GPU did between its start and its end on the host, which may run ahead of the "
        "GPU. Outliers are marked. A click leads to the step. With no step annotated, a repeating period of kernels is "
        "proposed and said to be inferred.",
        _SECTION,
    ),
    Panel(
        "steps_by_rank",
        "Steps by rank",
        _STEPS,
        steps_by_rank,
        Table,
        6,
        "How long the steps of each rank take, how much they vary, and what its GPU did meanwhile.",
        _SECTION,
    ),
    Panel(
        "slowest_ranks",
        "Slowest rank of each step",
        _STEPS,
        slowest_ranks,
        Table,
        6,
        "Which rank took longest for each step and which computed most. Ranks that wait for each other end their steps "
        "together, so that the one with most compute is the one that the others waited for.",
        _SECTION,
    ),
    Panel(
        "ranks",
        "Ranks side by side",
        DEVICE_TIME,
        ranks,
        Table,
        6,
        "Every GPU of every rank: its work, its idle time, how long it waits in collectives for ranks that come later, "
        "and how often it was the one that came last.",
        _SECTION,
    ),
)
