"""The panels of the dashboard as a table: title, what must have been recorded, the function, the form, the help text.

A panel's function is pure: it takes a Scope and returns a figure, or Missing with the reason and the remedy. No Qt.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.analysis import untraced, utilization
from smprof_desktop.analysis.intervals import Int64s, fit
from smprof_desktop.analysis.statistics import MEDIAN, divide, exact_sum, quantiles
from smprof_desktop.progress import CancelCheck, never
from smprof_desktop.report import Built, work_out

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

TOP_KERNELS = 15
UTILIZATION_BINS = 300
MAX_HISTOGRAM_BINS = 60


@dataclass(frozen=True)
class Scope:
    """What the page answers for: a profile, or its range [begin_ns, end_ns). The report is built once, on demand.

    `cancelled` stops whoever asks and builds; `dataclasses.replace` gives another asker one of its own.
    """

    profile: Profile
    begin_ns: int | None = None
    end_ns: int | None = None
    cancelled: CancelCheck = never
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _built: list[Built] = field(default_factory=list, repr=False, compare=False)

    def report(self) -> Mapping[str, Any]:
        """The figures of `report.build` for this scope; any thread may ask. Raises Cancelled."""
        return self.built().document

    def built(self) -> Built:
        """The report with the activity of its devices in the bins of `edges_ns`."""
        with self._lock:
            if not self._built:
                self._built.append(
                    work_out(
                        self.profile, self.begin_ns, self.end_ns, edges_ns=self.edges_ns(), cancelled=self.cancelled
                    )
                )
            return self._built[0]

    def edges_ns(self) -> Int64s | None:
        """Bins of time for what is drawn over time, in ns of the profile's clock; None where nothing takes any.

        The profile reaches from the first slice or window to the last: a window without slices is idle time. Of a range
        that reaches out of it only what is inside: the curves should not shrink beside nothing.
        """
        windows = [window for process in self.profile.processes for window in process.info.windows_ns]
        first_ns = min([self.profile.begin_ns, *(window[0] for window in windows)])
        last_ns = max([self.profile.end_ns, *(window[1] for window in windows)])
        begin_ns = first_ns if self.begin_ns is None else max(first_ns, self.begin_ns)
        end_ns = last_ns if self.end_ns is None else min(last_ns, self.end_ns)
        return bin_edges(begin_ns, end_ns, UTILIZATION_BINS) if begin_ns < end_ns else None


@dataclass(frozen=True)
class Missing:
    """Why a panel has no figure and how to get one, as one or two sentences."""

    reason: str


@dataclass(frozen=True)
class Share:
    """One sector or row: what it is called, how much it is (ns or a count).

    `colour` is its place among the colours; None is its place in the pie.
    """

    name: str
    value: int
    count: int | None = None
    colour: int | None = None


@dataclass(frozen=True)
class Pie:
    """Shares of `whole`, in the order of the legend. `unit` is "ns" or "count"; `basis` names the whole, its
    denominator.

    The sectors fill the circle; where they are not all of the whole (the top 15), `note` says how much they are.
    `of_kernels`: each share is a kernel's, which was executed somewhere.
    """

    shares: tuple[Share, ...]
    whole: int
    unit: str
    basis: str
    note: str = ""
    of_kernels: bool = False


@dataclass(frozen=True)
class Line:
    """One curve: a value for each bin of time, NaN where nothing is known, and its mean over all that is."""

    name: str
    values: NDArray[np.float64]
    mean: float


@dataclass(frozen=True)
class Lines:
    """Curves over bins of time: `edges_ns` from the profile's start, one more than each line has values; in percent."""

    edges_ns: NDArray[Any]
    lines: tuple[Line, ...]
    basis: str


@dataclass(frozen=True)
class Histogram:
    """How many durations lie in each bin: `edges_ns` is one longer than `counts`; the last bin includes its end."""

    edges_ns: Int64s
    counts: Int64s
    facts: tuple[tuple[str, int], ...]
    """Durations that say it in short, in ns: mean, median, …"""
    basis: str


Figure = Pie | Lines | Histogram | Missing


@dataclass(frozen=True)
class Panel:
    """One panel. `width` in sixths of a wide page. `needs` names the columns without which there is nothing to show."""

    key: str
    title: str
    needs: tuple[str, ...]
    figure: Callable[[Scope], Figure]
    form: type[Pie] | type[Lines] | type[Histogram]
    width: int
    help: str


def gpu_active_time(scope: Scope) -> Figure:
    """Active against idle, over the windows of all devices that were used."""
    devices = scope.report()["devices"]
    window_ns = sum(device["window_ns"] for device in devices)
    if not window_ns or _is_untraced(scope):
        return _no_device(scope)
    active_ns = sum(device["active_ns"] for device in devices)
    idle_ns = max(0, window_ns - active_ns)
    basis = "the window of 1 device" if len(devices) == 1 else f"the windows of {len(devices):,} devices"
    return Pie((Share("Active", active_ns), Share("Idle", idle_ns)), window_ns, "ns", basis)


def gpu_utilization_over_time(scope: Scope) -> Figure:
    """Per host the mean share of each bin in which its devices were active."""
    edges_ns, devices = scope.edges_ns(), scope.built().over_time
    if edges_ns is None or not devices or _is_untraced(scope):
        return _no_device(scope)
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
        return _no_device(scope)
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
        return _no_device(scope)
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
    if not whole or _is_untraced(scope):
        return _no_device(scope)
    return Pie(shares, whole, "ns", "their sum, overlap counted twice; sync is the host's waiting calls")


def memory_operations_distribution(scope: Scope) -> Figure:
    """Time of copies by direction, and of sets."""
    operations = [operation for operation in scope.report()["memory_ops"] if operation["count"]]
    whole = sum(operation["total_ns"] for operation in operations)
    if not whole and _is_untraced(scope):
        return _no_device(scope)
    if not whole:
        return _missing(
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
        return _missing(
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


def bin_edges(begin_ns: int, end_ns: int, bins: int) -> Int64s:
    """Edges of at most `bins` equal bins of whole ns; the last one is cut off at `end_ns`, above `begin_ns`."""
    width_ns = -(-(end_ns - begin_ns) // bins)
    count = -(-(end_ns - begin_ns) // width_ns)
    return np.array([*(begin_ns + width_ns * index for index in range(count)), end_ns], np.int64)


def _no_device(scope: Scope) -> Missing:
    why = " ".join(untraced.why_no_device(scope.report()["losses"]))
    return Missing(why) if _is_untraced(scope) else _missing(scope, "GPU activity", why)


def _is_untraced(scope: Scope) -> bool:
    """Whether launches were recorded and no execution at all: a used device then was not idle, nothing is known."""
    recorded = any(len(process.table("device")) for process in scope.profile.processes)
    return not recorded and any(loss["kind"] == untraced.MISSING for loss in scope.report()["losses"])


def _missing(scope: Scope, what: str, remedy: str) -> Missing:
    """Why there is no figure: what was not recorded has a remedy; a range without it, or nothing at all, needs none."""
    if scope.begin_ns is not None or scope.end_ns is not None:
        return Missing(f"There is no {what} in this range.")
    profile = scope.report()["profile"]
    if not any(profile["slices"].values()) and not profile["counters"]:
        return Missing("This profile holds no events.")
    return Missing(remedy)


def _top_note(kernels: int) -> str:
    return f"top {TOP_KERNELS} of {kernels:,} kernels" if kernels > TOP_KERNELS else f"all {kernels:,} kernels"


_DEVICE_TIME = ("device.kind", "device.start_ns", "device.duration_ns")

PANELS: Sequence[Panel] = (
    Panel(
        "gpu_active_time",
        "GPU active time",
        _DEVICE_TIME,
        gpu_active_time,
        Pie,
        2,
        "How much of the recorded time the GPUs had a kernel, copy or set running on any stream, against the "
        "time they had none. "
        "Much idle time means that the GPUs wait: for the host to launch, for data, or for each other.",
    ),
    Panel(
        "gpu_utilization_over_time",
        "GPU utilization over time",
        _DEVICE_TIME,
        gpu_utilization_over_time,
        Lines,
        4,
        "For each host, the mean share of each moment in which its GPUs were active. Covers only what was "
        "recorded between start and "
        "stop. Look for hosts that do less than others, for gaps, and for a level that stays low.",
    ),
    Panel(
        "top_kernels_by_time",
        "Time spent by top 15 GPU kernels",
        _DEVICE_TIME,
        time_by_top_kernels,
        Pie,
        3,
        "The kernels in which the GPUs spent most time. These are where a faster kernel, a lower precision or a "
        "better launch "
        "shape pays most.",
    ),
    Panel(
        "top_kernels_by_count",
        "Launch counts of top 15 GPU kernels",
        _DEVICE_TIME,
        launches_by_top_kernels,
        Pie,
        3,
        "The kernels that ran most often. Many launches of short kernels are a sign of launch overhead: fuse "
        "them, or capture "
        "them in a CUDA graph.",
    ),
    Panel(
        "gpu_activities",
        "GPU activity distribution",
        _DEVICE_TIME,
        gpu_activity_distribution,
        Pie,
        2,
        "Time in kernels, in memory operations (memcpy, memset) and in synchronisation calls of the host (sync).",
    ),
    Panel(
        "gpu_memory_operations",
        "GPU memory operations distribution",
        (*_DEVICE_TIME, "device.copy_kind"),
        memory_operations_distribution,
        Pie,
        2,
        "Time in copies by direction: HtoD is from host to device. Much time there may be hidden behind kernels "
        "by pinned memory "
        "and asynchronous copies.",
    ),
    Panel(
        "step_times",
        "Step time distribution",
        ("annotation.start_ns", "annotation.duration_ns"),
        step_time_distribution,
        Histogram,
        2,
        "How long the annotated steps took. A long tail or a second hill means that some steps wait: often for "
        "data, a checkpoint or "
        "a slower rank.",
    ),
)
"""In the order of the page."""
