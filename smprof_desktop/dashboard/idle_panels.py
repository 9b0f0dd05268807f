"""The panels of idle time and overlap: why the GPUs were idle, and what they did otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from smprof_desktop.analysis import idle, overlap
from smprof_desktop.analysis.doors import Door, Found, of_moments
from smprof_desktop.analysis.executions import part
from smprof_desktop.analysis.utilization import devices_of, windows_of, windows_within
from smprof_desktop.dashboard import activity
from smprof_desktop.dashboard.absent import is_untraced, missing, no_device
from smprof_desktop.dashboard.each_process import each_process
from smprof_desktop.dashboard.figures import Bars, Column, Figure, Missing, Pie, Share, Table
from smprof_desktop.dashboard.panel import DEVICE_TIME, Option, Panel
from smprof_desktop.dashboard.scope import Scope
from smprof_desktop.progress import CancelCheck, Cancelled

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

CAUSE_NAMES = ("Waiting for the host", "Between kernels", "Other", "Unknown")
"""What the causes of `idle.CAUSES` are called."""
PART_NAMES = ("Compute", "Compute and communication", "Exposed communication", "Memory", "Idle")
"""What the parts of `overlap.PARTS` are called."""
CONSECUTIVE = Option("consecutive_ns", "Gap between kernels below", idle.CONSECUTIVE_NS, 0, 1_000_000, " ns")

Pieces = list[tuple[int, int]]


def idle_by_cause(scope: Scope) -> Figure:
    """The idle time of all devices by what it waited for."""
    devices = activity.of_scope(scope).devices
    totals = _idle(scope)
    idle_ns = sum(ns for pieces in totals.values() for _, ns in pieces)
    if not devices or is_untraced(scope):
        return no_device(scope)
    if not idle_ns:
        return Missing("No device was idle at all here: there is no idle time to part by cause.")
    basis = f"the idle time of {_devices(devices)}"
    shares = []
    for cause, name in enumerate(CAUSE_NAMES):
        count, ns = (sum(pieces[cause][at] for pieces in totals.values()) for at in (0, 1))
        door = _idle_door(scope, tuple(totals), cause, f"Idle: {name.lower()}", basis)
        shares.append(Share(name, ns, count, colour=cause, door=door))
    return Pie(tuple(shares), idle_ns, "ns", basis)


def idle_per_device(scope: Scope) -> Figure:
    """Idle time of each device by cause: a row for each."""
    devices = activity.of_scope(scope).devices
    if not devices or is_untraced(scope):
        return no_device(scope)
    totals = _idle(scope)
    rows, doors = [], []
    for device in devices:
        idle_ns = device.parts_ns[overlap.IDLE]
        for cause, name in enumerate(CAUSE_NAMES):
            count, ns = totals[device.process, device.device][cause]
            if not count:
                continue
            rows.append((device.label, name, count, ns, _percent(ns, idle_ns), _percent(ns, device.window_ns)))
            title = f"{device.label}, idle: {name.lower()}"
            doors.append(
                _idle_door(scope, ((device.process, device.device),), cause, title, "the idle time of the GPU")
            )
    if not rows:
        return Missing("No device was idle at all here: there is no idle time to part by cause.")
    window_ns = sum(device.window_ns for device in devices)
    total_ns = sum(row[3] for row in rows)
    return Table(
        (
            Column("GPU", "text"),
            Column("Cause", "text"),
            Column("Gaps", "count", "Stretches of time without a slice."),
            Column("Time", "ns"),
            Column("Of its idle time", "percent"),
            Column("Of its window", "percent"),
        ),
        rows,
        f"the windows of {_devices(devices)}; idle = window − active",
        doors,
        ("All", "", sum(row[2] for row in rows), total_ns, 100.0, _percent(total_ns, window_ns)),
    )


def overlap_of_all(scope: Scope) -> Figure:
    """What all devices did: compute, communicate, both, memory operations, nothing."""
    devices = activity.of_scope(scope).devices
    window_ns = sum(device.window_ns for device in devices)
    if not window_ns or is_untraced(scope):
        return no_device(scope)
    basis = f"the windows of {_devices(devices)}"
    keys = [(device.process, device.device) for device in devices]
    shares = tuple(
        Share(
            name,
            sum(device.parts_ns[which] for device in devices),
            colour=which,
            door=activity.part_door(scope, keys, (which,), f"{name} of all GPUs", basis),
        )
        for which, name in enumerate(PART_NAMES)
    )
    return Pie(shares, window_ns, "ns", basis, "each moment counts once, for the first of these that applies")


def overlap_per_device(scope: Scope) -> Figure:
    """The same for each device, side by side."""
    devices = activity.of_scope(scope).devices
    if not any(device.window_ns for device in devices) or is_untraced(scope):
        return no_device(scope)
    every = range(len(overlap.PARTS))
    return parts_bars(
        [device.label for device in devices],
        [device.parts_ns for device in devices],
        "the window of each GPU",
        tuple(
            activity.part_door(scope, [(device.process, device.device)], every, device.label, "the window of the GPU")
            for device in devices
        ),
    )


def exposed_communication(scope: Scope) -> Figure:
    """Communication of each device: how much of it hides behind compute."""
    devices = [
        device
        for device in activity.of_scope(scope).devices
        if device.parts_ns[overlap.OVERLAPPED] or device.parts_ns[overlap.EXPOSED]
    ]
    if not devices:
        return no_communication(scope)
    rows, doors = [], []
    for device in devices:
        both_ns, exposed_ns = device.parts_ns[overlap.OVERLAPPED], device.parts_ns[overlap.EXPOSED]
        shares = (overlap.overlap_percent(device.parts_ns), _percent(exposed_ns, device.window_ns))
        rows.append((device.label, device.host, exposed_ns, both_ns, both_ns + exposed_ns, *shares))
        where = [(device.process, device.device)]
        title = f"{device.label}: exposed communication"
        doors.append(activity.part_door(scope, where, (overlap.EXPOSED,), title, "the window of the GPU"))
    sums = [sum(column) for column in list(zip(*rows, strict=True))[2:5]]
    window_ns = sum(device.window_ns for device in devices)
    return Table(
        (
            Column("GPU", "text"),
            Column("Host", "text"),
            Column("Exposed", "ns", "Communication during which nothing was computed. Opens its slices."),
            Column("Overlapped", "ns", "Communication during which something was computed."),
            Column("Communication", "ns", "Both: the union over all streams."),
            Column("Overlap", "percent", "Overlapped ÷ communication."),
            Column("Exposed, of its window", "percent"),
        ),
        rows,
        f"the windows of {_devices(devices)}",
        doors,
        ("All", "", *sums, _percent(sums[1], sums[2]), _percent(sums[0], window_ns)),
    )


def parts_bars(
    labels: Sequence[str],
    values: Sequence[Sequence[int]],
    basis: str,
    doors: tuple[Door | None, ...],
    marked: tuple[int, ...] = (),
    note: str = "",
) -> Bars:
    """A bar for each label, stacked of `overlap.PARTS`: `values[bar][part]` in ns."""
    columns = tuple(activity.as_integers([parts[which] for parts in values]) for which in range(len(overlap.PARTS)))
    return Bars(tuple(labels), PART_NAMES, columns, "ns", basis, marked, doors, note)


def no_communication(scope: Scope) -> Missing:
    """Why there is no communication."""
    if not activity.of_scope(scope).devices or is_untraced(scope):
        return no_device(scope)
    return missing(
        scope,
        "communication between GPUs",
        "No kernel that communicates, such as those of NCCL or RCCL, was recorded: this run used one GPU, or its GPU "
        "activity was not recorded while it communicated.",
    )


def _idle(scope: Scope) -> dict[tuple[int, int], Pieces]:
    """Per (process, device) the pieces and ns of each cause."""
    consecutive_ns = scope.options.get(CONSECUTIVE.key, CONSECUTIVE.default)

    def work() -> dict[tuple[int, int], Pieces]:
        every = each_process(
            scope, lambda process: list(_gaps(process, scope.begin_ns, scope.end_ns, consecutive_ns, scope.cancelled))
        )
        return {(number, index): gaps.totals() for number, found in enumerate(every) for index, gaps in found}

    return scope.once(("idle", consecutive_ns), work)


def _gaps(
    process: ProcessProfile, begin_ns: int | None, end_ns: int | None, consecutive_ns: int, cancelled: CancelCheck
) -> list[tuple[int, idle.Gaps]]:
    recorded = windows_within(windows_of(process), None, None)
    windows = windows_within(recorded, begin_ns, end_ns)
    whole = part(process.table("device"))
    host_start_ns = process.table("host")["start_ns"]
    found = []
    by_index = dict(activity.by_device(whole))
    nothing = whole.where(np.zeros(len(whole), bool))
    for index in devices_of(process):
        if cancelled():
            raise Cancelled
        slices = by_index.get(index, nothing)
        found.append((index, idle.gaps(slices, host_start_ns, recorded, windows, consecutive_ns)))
    return found


def _idle_door(scope: Scope, devices: tuple[tuple[int, int], ...], cause: int, title: str, basis: str) -> Door:
    consecutive_ns = scope.options.get(CONSECUTIVE.key, CONSECUTIVE.default)
    return Door(title, partial(_find_idle, devices, cause, scope.begin_ns, scope.end_ns, consecutive_ns), basis)


def _find_idle(
    devices: tuple[tuple[int, int], ...],
    cause: int,
    begin_ns: int | None,
    end_ns: int | None,
    consecutive_ns: int,
    profile: Profile,
    cancelled: CancelCheck,
) -> Found:
    found = []
    for number in sorted({number for number, _ in devices}):
        for index, gaps in _gaps(profile.processes[number], begin_ns, end_ns, consecutive_ns, cancelled):
            if (number, index) in devices:
                mine = gaps.cause == cause
                found.append(of_moments(number, gaps.start_ns[mine], gaps.end_ns[mine]))
    return Found.joined(found)


def _devices(devices: Sequence[activity.DeviceActivity]) -> str:
    return "1 GPU" if len(devices) == 1 else f"{len(devices):,} GPUs"


def _percent(value: int, whole: int) -> float | None:
    return 100 * value / whole if whole else None


_SECTION = "Idle and overlap"
IDLE_PANELS: tuple[Panel, ...] = (
    Panel(
        "idle_by_cause",
        "Idle time by cause",
        (*DEVICE_TIME, "device.launch"),
        idle_by_cause,
        Pie,
        3,
        "Why the GPUs had nothing to run. Waiting for the host: what came next was launched only after everything "
        "before it had ended, so a faster host, fewer and larger kernels or a CUDA graph help. Between kernels: gaps "
        "shorter than the threshold, the way from one kernel to the next. Other: launched in time and still not "
        "running, mostly for an event or a copy. Unknown: nothing followed, or its launch was not recorded.",
        _SECTION,
        (CONSECUTIVE,),
    ),
    Panel(
        "overlap",
        "Compute, communication and memory",
        DEVICE_TIME,
        overlap_of_all,
        Pie,
        3,
        "What the GPUs did at each moment, over all streams. Exposed communication is that during which nothing was "
        "computed: it costs time, while communication beside compute is free. Memory is copies and sets beside which "
        "no kernel ran.",
        _SECTION,
    ),
    Panel(
        "overlap_per_gpu",
        "Compute, communication and memory by GPU",
        DEVICE_TIME,
        overlap_per_device,
        Bars,
        6,
        "The same for each GPU side by side. Ranks that do the same work should look alike: one that communicates less "
        "and computes more is the one that others wait for.",
        _SECTION,
    ),
    Panel(
        "idle_per_gpu",
        "Idle time by GPU and cause",
        (*DEVICE_TIME, "device.launch"),
        idle_per_device,
        Table,
        6,
        "Idle time of each GPU by what it waited for. Its sum is the window less the active time, to the nanosecond.",
        _SECTION,
        (CONSECUTIVE,),
    ),
    Panel(
        "exposed_communication",
        "Exposed communication by GPU",
        DEVICE_TIME,
        exposed_communication,
        Table,
        6,
        "How much communication hides behind compute. Overlap is overlapped ÷ all communication: 100 % costs nothing. "
        "Low overlap: larger or earlier buckets, another stream, or less to communicate.",
        _SECTION,
    ),
)
