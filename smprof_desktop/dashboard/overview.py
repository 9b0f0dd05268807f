"""The figures of the panels that SageMaker Profiler had, without those of kernels and CPUs: functions of a scope."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from smprof.profile.schema import COPY_KINDS, DEVICE_KINDS
from smprof_desktop.analysis import active_time, utilization
from smprof_desktop.analysis.doors import Chosen, Door
from smprof_desktop.analysis.intervals import Int64s, fit
from smprof_desktop.analysis.quantities import time_text
from smprof_desktop.analysis.statistics import MEDIAN, divide, exact_sum, quantiles
from smprof_desktop.analysis.steps import is_step
from smprof_desktop.dashboard.absent import is_untraced, missing, no_device
from smprof_desktop.dashboard.figures import Figure, Histogram, Line, Lines, Pie, Share
from smprof_desktop.dashboard.scope import Scope, bin_edges
from smprof_desktop.report_figures import SYNCHRONIZE

MAX_HISTOGRAM_BINS = 60


def gpu_active_time(scope: Scope) -> Figure:
    """Active against idle, over the windows of all devices that were used."""
    devices = scope.devices()
    window_ns = sum(device.window_ns for device in devices)
    if not window_ns or is_untraced(scope):
        return no_device(scope)
    active_ns = sum(device.use.active_ns for device in devices if device.use is not None)
    idle_ns = max(0, window_ns - active_ns)
    basis = "the window of 1 device" if len(devices) == 1 else f"the windows of {len(devices):,} devices"
    doors = [
        Door(title, partial(find, scope.begin_ns, scope.end_ns), basis)
        for title, find in (("GPU active", active_time.active), ("GPU idle", active_time.idle))
    ]
    shares = (Share("Active", active_ns, door=doors[0]), Share("Idle", idle_ns, door=doors[1]))
    return Pie(shares, window_ns, "ns", basis)


def gpu_utilization_over_time(scope: Scope) -> Figure:
    """Per host the mean share of each bin in which its devices were active."""
    edges_ns, devices = scope.edges_ns(), scope.devices()
    if edges_ns is None or not devices or is_untraced(scope):
        return no_device(scope)
    by_host: dict[str, list[utilization.Binned]] = {}
    for device in devices:
        if device.binned is not None:
            by_host.setdefault(device.host, []).append(device.binned)
    lines = []
    for host, group in by_host.items():
        window_ns = sum(sum(device.window_ns.tolist()) for device in group)
        active_ns = sum(sum(device.active_ns.tolist()) for device in group)
        mean = 100 * active_ns / window_ns if window_ns else float("nan")
        lines.append(Line(host, utilization.shares_per_bin(group) * 100, mean))
    basis = f"mean over the devices of a host, {len(devices):,} in all, inside their windows"
    since_ns = edges_ns - scope.profile.begin_ns
    # 64 bits without a sign hold any distance, and what went round comes right in them.
    return Lines(since_ns if fit(edges_ns) else since_ns.view(np.uint64), tuple(lines), basis)


def gpu_activity_distribution(scope: Scope) -> Figure:
    """Kernels, copies, sets and host synchronisation by their plain sums."""
    activities = scope.report()["activities"]
    basis = "their sum, overlap counted twice; sync is the host's waiting calls"
    limits: dict[str, Any] = {"begin_ns": scope.begin_ns, "end_ns": scope.end_ns}
    shares = []
    for name in (*DEVICE_KINDS, "sync"):
        chosen = Chosen("device", (name,), **limits)
        if name == "sync":
            chosen = Chosen("host", ("api",), name_like=_waits, **limits)
        shares.append(Share(name, activities[f"{name}_ns"], door=chosen.door(f"All of {name}", basis)))
    whole = sum(share.value for share in shares)
    if not whole or is_untraced(scope):
        return no_device(scope)
    return Pie(tuple(shares), whole, "ns", basis)


def _waits(name: str) -> bool:
    return SYNCHRONIZE in name


def memory_operations_distribution(scope: Scope) -> Figure:
    """Time of copies by direction, and of sets."""
    operations = [operation for operation in scope.report()["memory_ops"] if operation["count"]]
    whole = sum(operation["total_ns"] for operation in operations)
    if not whole and is_untraced(scope):
        return no_device(scope)
    if not whole:
        return missing(
            scope,
            "memory operation",
            "No memory operation was recorded on a GPU: this run copied and set nothing there, or only kernels "
            "were recorded.",
        )
    basis = "all memory operations, overlap counted twice"
    shares = [
        Share(
            operation["kind"],
            operation["total_ns"],
            operation["count"],
            door=of_memory_operations(operation["kind"], scope).door(f"Memory operations {operation['kind']}", basis),
        )
        for operation in operations
    ]
    return Pie(tuple(sorted(shares, key=lambda share: -share.value)), whole, "ns", basis)


def of_memory_operations(kind: str, scope: Scope) -> Chosen:
    """The memory operations of a kind, as a report calls it."""
    limits: dict[str, Any] = {"begin_ns": scope.begin_ns, "end_ns": scope.end_ns}
    if kind == "Memset":
        return Chosen("device", ("memset",), **limits)
    unknown = (-1,) if kind == "Other" else ()
    return Chosen("device", ("memcpy",), copy_kinds=(COPY_KINDS.index(kind), *unknown), **limits)


def step_time_distribution(scope: Scope) -> Figure:
    """Durations of the steps."""
    durations_ns = np.array([step["duration_ns"] for step in scope.report()["steps"]], np.int64)
    if not len(durations_ns):
        return missing(
            scope,
            "step",
            "No step was annotated. Annotate each step of the training loop: `with smprof.annotate(f'step_{i}')`, "
            "or the profiler's step() in PyTorch.",
        )
    steps = "1 step" if len(durations_ns) == 1 else f"{len(durations_ns):,} steps"
    is_step = partial(_is_step, scope.step)
    chosen = Chosen("annotation", ("host",), name_like=is_step, begin_ns=scope.begin_ns, end_ns=scope.end_ns)
    return with_doors(histogram(durations_ns, f"{steps}, on the host"), chosen, "Steps")


def _is_step(wanted: str | None, name: str) -> bool:
    return is_step(name, wanted)


def histogram(durations_ns: Int64s, basis: str) -> Histogram:
    """Durations counted in equal bins of whole ns; about the square root of their number, 60 at most.

    The bins reach a little to both sides where all durations are alike: one bar needs an axis to stand on.
    """
    least, greatest = int(durations_ns.min()), int(durations_ns.max())
    bins = min(MAX_HISTOGRAM_BINS, max(5, round(len(durations_ns) ** 0.5)))
    aside_ns = 0 if greatest - least > least // 1000 else 1 + least // 20
    edges_ns = bin_edges(max(0, least - aside_ns), min(greatest + aside_ns, (1 << 63) - 1), bins)
    place = np.clip(np.searchsorted(edges_ns, durations_ns, "right") - 1, 0, len(edges_ns) - 2)
    counts = np.bincount(place, minlength=len(edges_ns) - 1).astype(np.int64)
    (median_ns,) = quantiles(durations_ns, (MEDIAN,))
    assert median_ns is not None
    facts = (
        ("Mean", divide(exact_sum(durations_ns), len(durations_ns))),
        ("Median", median_ns),
        ("Least", least),
        ("Greatest", greatest),
    )
    return Histogram(edges_ns, counts, facts, basis)


def with_doors(made: Histogram, chosen: Chosen, title: str) -> Histogram:
    """A histogram of the durations of chosen slices, with a door from each bin to its own."""
    doors = []
    for place in range(len(made.counts)):
        least_ns, behind_ns = int(made.edges_ns[place]), int(made.edges_ns[place + 1])
        most_ns = behind_ns - 1 if place < len(made.counts) - 1 else behind_ns
        of_bin = replace(chosen, least_ns=least_ns, most_ns=most_ns)
        doors.append(of_bin.door(f"{title} of {time_text(least_ns)} to {time_text(behind_ns)}", made.basis))
    return replace(made, doors=tuple(doors))
