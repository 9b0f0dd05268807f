"""The figures of the panels that SageMaker Profiler had: pure functions of a scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from smprof_desktop.analysis import utilization
from smprof_desktop.analysis.intervals import Int64s, fit
from smprof_desktop.analysis.statistics import MEDIAN, divide, exact_sum, quantiles
from smprof_desktop.dashboard.absent import is_untraced, missing, no_device
from smprof_desktop.dashboard.figures import Figure, Histogram, Line, Lines, Pie, Share
from smprof_desktop.dashboard.scope import Scope, bin_edges

TOP_KERNELS = 15
MAX_HISTOGRAM_BINS = 60


def gpu_active_time(scope: Scope) -> Figure:
    """Active against idle, over the windows of all devices that were used."""
    devices = scope.report()["devices"]
    window_ns = sum(device["window_ns"] for device in devices)
    if not window_ns or is_untraced(scope):
        return no_device(scope)
    active_ns = sum(device["active_ns"] for device in devices)
    idle_ns = max(0, window_ns - active_ns)
    basis = "the window of 1 device" if len(devices) == 1 else f"the windows of {len(devices):,} devices"
    return Pie((Share("Active", active_ns), Share("Idle", idle_ns)), window_ns, "ns", basis)


def gpu_utilization_over_time(scope: Scope) -> Figure:
    """Per host the mean share of each bin in which its devices were active."""
    edges_ns, devices = scope.edges_ns(), scope.built().over_time
    if edges_ns is None or not devices or is_untraced(scope):
        return no_device(scope)
    by_host: dict[str, list[utilization.Binned]] = {}
    for host, binned in devices:
        by_host.setdefault(host, []).append(binned)
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


def time_by_top_kernels(scope: Scope) -> Figure:
    """The kernels with the greatest total time; shares are of all kernel time."""
    kernels = scope.report()["kernels"]
    if not kernels:
        return no_device(scope)
    whole = sum(kernel["total_ns"] for kernel in kernels)
    colours = kernel_colours(kernels)
    shares = tuple(
        Share(kernel["name"], kernel["total_ns"], kernel["count"], colours[kernel["name"]])
        for kernel in kernels[:TOP_KERNELS]
    )
    return Pie(shares, whole, "ns", "all kernel time, overlap counted twice", _top_note(len(kernels)), True)


def launches_by_top_kernels(scope: Scope) -> Figure:
    """The kernels that ran most often; shares are of all kernel executions."""
    kernels = scope.report()["kernels"]
    if not kernels:
        return no_device(scope)
    whole = sum(kernel["count"] for kernel in kernels)
    colours = kernel_colours(kernels)
    shares = tuple(
        Share(kernel["name"], kernel["count"], colour=colours[kernel["name"]]) for kernel in _most_launched(kernels)
    )
    return Pie(shares, whole, "count", "all kernel launches", _top_note(len(kernels)), True)


def kernel_colours(kernels: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Places among TOP_KERNELS colours for the kernels of both pies, `kernels` in the report's order.

    A kernel in both has one colour, and within each pie no two have the same. A checksum of the name, as on the
    timeline, would give several of 15 sectors the same colour.
    """
    colours = {kernel["name"]: place for place, kernel in enumerate(kernels[:TOP_KERNELS])}
    most = [kernel["name"] for kernel in _most_launched(kernels)]
    taken = {colours[name] for name in most if name in colours}
    free = (place for place in range(TOP_KERNELS) if place not in taken)
    colours.update({name: next(free) for name in most if name not in colours})
    return colours


def _most_launched(kernels: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(kernels, key=lambda kernel: (-kernel["count"], kernel["name"]))[:TOP_KERNELS]


def gpu_activity_distribution(scope: Scope) -> Figure:
    """Kernels, copies, sets and host synchronisation by their plain sums."""
    activities = scope.report()["activities"]
    shares = tuple(
        Share(name, activities[key])
        for name, key in (
            ("kernel", "kernel_ns"),
            ("memcpy", "memcpy_ns"),
            ("memset", "memset_ns"),
            ("sync", "sync_ns"),
        )
    )
    whole = sum(share.value for share in shares)
    if not whole or is_untraced(scope):
        return no_device(scope)
    return Pie(shares, whole, "ns", "their sum, overlap counted twice; sync is the host's waiting calls")


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
    shares = (Share(operation["kind"], operation["total_ns"], operation["count"]) for operation in operations)
    return Pie(
        tuple(sorted(shares, key=lambda share: -share.value)),
        whole,
        "ns",
        "all memory operations, overlap counted twice",
    )


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
    return histogram(durations_ns, f"{steps}, on the host")


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


def _top_note(kernels: int) -> str:
    return f"top {TOP_KERNELS} of {kernels:,} kernels" if kernels > TOP_KERNELS else f"all {kernels:,} kernels"
