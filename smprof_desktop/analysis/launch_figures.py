"""What one process adds to the figures of launches: latencies in their parts, short kernels, long calls, queues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import LOST_NAME
from smprof_desktop.analysis import latency_parts, names
from smprof_desktop.analysis.executions import Part, part
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.analysis.kernels import KERNEL
from smprof_desktop.analysis.latency_parts import LatencyParts
from smprof_desktop.analysis.statistics import exact_sum, grouped, sums

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile

PARTS = ("api", "queued", "overhead", "early")
"""The parts of a latency, by the columns of LatencyParts."""
MOST_WORST = 1_000
SIGMAS = 3


@dataclass(frozen=True)
class WorstLaunch:
    """One of the greatest latencies, its parts in the order of PARTS."""

    row: int
    name: str
    call: str
    device: int
    stream: int
    launch_ns: int
    total_ns: int
    parts_ns: tuple[int, ...]


@dataclass
class ShortTotal:
    """The kernels of one name that took less time than their own launch call."""

    count: int = 0
    kernels_ns: int = 0
    calls_ns: int = 0
    of: int = 0
    """How many kernels of that name have a launch call of their own."""


@dataclass(frozen=True)
class Latencies:
    """The latencies of the kernels of one process that overlap a range."""

    counts: Int64s
    """As `latency_parts.counts_per_bin` counts them."""
    parts_ns: tuple[int, ...]
    late: tuple[int, ...]
    """How many kernels have each part."""
    linked: int
    unlinked: int
    worst: list[WorstLaunch]


@dataclass
class CallStatistics:
    """Calls of one name: their number, the sum of their durations and that of the squares, all exact."""

    count: int = 0
    total_ns: int = 0
    squares: int = 0
    greatest_ns: int = 0

    def add(self, other: CallStatistics) -> None:
        """Take in the calls of the same name from elsewhere."""
        self.count += other.count
        self.total_ns += other.total_ns
        self.squares += other.squares
        self.greatest_ns = max(self.greatest_ns, other.greatest_ns)

    @property
    def usual_ns(self) -> int:
        """The longest whole ns that is not above the mean by more than 3 standard deviations."""
        variance = self.count * self.squares - self.total_ns**2  # times the square of the count
        return (self.total_ns + isqrt(SIGMAS**2 * variance)) // self.count


@dataclass
class LongCalls:
    """Calls of one name that took longer than usual."""

    count: int = 0
    total_ns: int = 0
    greatest_ns: int = 0


def kernels_of(process: ProcessProfile, begin_ns: int | None, end_ns: int | None) -> Part:
    """The kernels of a process that overlap a range."""
    device = part(process.table("device"), begin_ns, end_ns)
    return device.where(device.column("kind") == KERNEL)


def parts_of(process: ProcessProfile, begin_ns: int | None, end_ns: int | None) -> LatencyParts:
    """The latencies of these kernels."""
    kernels = kernels_of(process, begin_ns, end_ns)
    return latency_parts.of_executions(kernels, process.table("device"), process.table("host"))


@dataclass(frozen=True)
class LaunchFigures:
    """What one process adds to the figures that look at each kernel, in one pass."""

    latencies: Latencies
    short: dict[str, ShortTotal]
    calls: dict[str, CallStatistics]


def figures(process: ProcessProfile, begin_ns: int | None, end_ns: int | None) -> LaunchFigures:
    """All of them for the kernels that overlap a range."""
    kernels = kernels_of(process, begin_ns, end_ns)
    return LaunchFigures(
        latencies(process, kernels), short_kernels(process, kernels), call_statistics(process, kernels)
    )


def latencies(process: ProcessProfile, kernels: Part) -> Latencies:
    """What the latencies of some kernels come to."""
    parts = latency_parts.of_executions(kernels, process.table("device"), process.table("host"))
    columns = [getattr(parts, f"{name}_ns") for name in PARTS]
    return Latencies(
        latency_parts.counts_per_bin(parts.total_ns),
        tuple(exact_sum(column) if column.dtype != object else sum(column.tolist()) for column in columns),
        tuple(int(np.count_nonzero(column)) for column in columns),
        len(parts),
        len(kernels) - len(parts),
        _worst(process, parts, columns),
    )


def _worst(process: ProcessProfile, parts: LatencyParts, columns: list[NDArray[Any]]) -> list[WorstLaunch]:
    places = latency_parts.greatest(parts, MOST_WORST)
    device, host, texts = process.table("device"), process.table("host"), names.exact_texts(process)
    rows, launches = parts.row[places], parts.launch[places]
    kernel_names = _texts_of(shape_name_ids(process, device["shape_id"][rows]), texts)
    calls = _texts_of(host["name_id"][launches], texts)
    times = [column[places].tolist() for column in (parts.total_ns, *columns)]
    return [
        WorstLaunch(row, name, call, on, stream, launch_ns, total_ns, tuple(parts_ns))
        for row, name, call, on, stream, launch_ns, total_ns, *parts_ns in zip(
            rows.tolist(),
            kernel_names,
            calls,
            device["device"][rows].tolist(),
            device["stream"][rows].tolist(),
            host["start_ns"][launches].tolist(),
            *times,
            strict=True,
        )
    ]


def with_own_call(process: ProcessProfile, kernels: Part) -> NDArray[np.bool_]:
    """Which kernels were launched by a call that launched nothing else: not those of a graph."""
    every = process.table("device")["launch"]
    ordered = np.sort(every[every >= 0], kind="stable")
    shared = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    launch = kernels.column("launch")
    own: NDArray[np.bool_] = launch >= 0
    return own & ~np.isin(launch, shared) if len(shared) else own


def is_short(process: ProcessProfile, kernels: Part, own: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which kernels took less time than their own launch call, as recorded; `own` have one."""
    call_ns = process.table("host")["duration_ns"][kernels.column("launch")[own]]
    result = own.copy()
    result[own] = kernels.column("duration_ns")[own] < call_ns
    return result


def short_kernels(process: ProcessProfile, kernels: Part) -> dict[str, ShortTotal]:
    """By exact name the kernels with a launch call of their own, and the short ones among them, times trimmed."""
    own = with_own_call(process, kernels)
    short = is_short(process, kernels, own)
    texts = names.exact_texts(process)
    size = len(texts) + 1
    ids = shape_name_ids(process, kernels.column("shape_id"))
    groups = np.where((ids >= 0) & (ids < len(texts)), ids, len(texts))
    of = np.bincount(groups[own], minlength=size)
    count = np.bincount(groups[short], minlength=size)
    kernels_ns = sums(groups[short], kernels.duration_ns[short], size)
    calls_ns = sums(groups[short], process.table("host")["duration_ns"][kernels.column("launch")[short]], size)
    found: dict[str, ShortTotal] = {}
    for group in np.flatnonzero(of).tolist():
        total = found.setdefault(texts[group] if group < len(texts) else LOST_NAME, ShortTotal())
        total.count += int(count[group])
        total.kernels_ns += int(kernels_ns[group])
        total.calls_ns += int(calls_ns[group])
        total.of += int(of[group])
    return found


def launch_calls(kernels: Part) -> Int64s:
    """The API calls that launched some kernels, ascending, each once."""
    launch = kernels.column("launch")
    ordered = np.sort(launch[launch >= 0], kind="stable")  # a few ascending runs, one a line: quicker than `unique`
    return np.asarray(ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered, np.int64)


def call_statistics(process: ProcessProfile, kernels: Part) -> dict[str, CallStatistics]:
    """By exact name how long the calls took that launched some kernels, as recorded."""
    calls, host, texts = launch_calls(kernels), process.table("host"), names.exact_texts(process)
    groups, durations_ns = _groups(host["name_id"][calls], len(texts)), host["duration_ns"][calls]
    totals = grouped(groups, durations_ns, len(texts) + 1)
    squares = squares_by_group(groups, durations_ns, len(texts) + 1)
    found: dict[str, CallStatistics] = {}
    for group in np.flatnonzero(totals.count).tolist():
        name = texts[group] if group < len(texts) else LOST_NAME
        found.setdefault(name, CallStatistics()).add(
            CallStatistics(
                int(totals.count[group]), int(totals.total[group]), squares[group], int(totals.greatest[group])
            )
        )
    return found


def long_calls(
    process: ProcessProfile, begin_ns: int | None, end_ns: int | None, usual_ns: Mapping[str, int]
) -> tuple[Int64s, dict[str, LongCalls]]:
    """The calls that took longer than `usual_ns` of their exact name: their rows, and totals by name."""
    kernels = kernels_of(process, begin_ns, end_ns)
    calls, host, texts = launch_calls(kernels), process.table("host"), names.exact_texts(process)
    groups, durations_ns = _groups(host["name_id"][calls], len(texts)), host["duration_ns"][calls]
    most = np.iinfo(np.int64).max
    limits = np.array([min(usual_ns.get(text, most), most) for text in (*texts, LOST_NAME)], np.int64)
    is_long = durations_ns > limits[groups]
    calls, groups, durations_ns = calls[is_long], groups[is_long], durations_ns[is_long]
    totals = grouped(groups, durations_ns, len(texts) + 1)
    found: dict[str, LongCalls] = {}
    for group in np.flatnonzero(totals.count).tolist():
        total = found.setdefault(texts[group] if group < len(texts) else LOST_NAME, LongCalls())
        total.count += int(totals.count[group])
        total.total_ns += int(totals.total[group])
        total.greatest_ns = max(total.greatest_ns, int(totals.greatest[group]))
    return calls, found


def squares_by_group(groups: NDArray[Any], values: Int64s, size: int) -> list[int]:
    """For each group the exact sum of the squares of values that are 0 or more."""
    if len(values) and int(values.max()) >= 1 << 47:
        found = [0] * size
        for group, value in zip(groups.tolist(), values.tolist(), strict=True):
            found[group] += value * value
        return found
    high, low = values >> 16, values & 0xFFFF  # the square of neither half, nor their product, leaves 64 bits
    columns = (sums(groups, product, size).tolist() for product in (high * high, high * low, low * low))
    return [(hh << 32) + (hl << 17) + ll for hh, hl, ll in zip(*columns, strict=True)]


def merged_statistics(found: Iterable[Mapping[str, CallStatistics]]) -> dict[str, CallStatistics]:
    """One entry a name."""
    result: dict[str, CallStatistics] = {}
    for by_name in found:
        for name, statistics in by_name.items():
            result.setdefault(name, CallStatistics()).add(statistics)
    return result


def shape_name_ids(process: ProcessProfile, shape_ids: NDArray[Any]) -> NDArray[Any]:
    """The name of each launch shape; -1 for one that is lost."""
    shape_names = np.append(process.table("shapes")["name_id"], -1)
    known = (shape_ids >= 0) & (shape_ids < len(shape_names) - 1)
    result: NDArray[Any] = shape_names[np.where(known, shape_ids, len(shape_names) - 1)]
    return result


def _groups(name_ids: NDArray[Any], known: int) -> NDArray[Any]:
    return np.where((name_ids >= 0) & (name_ids < known), name_ids, known)


def _texts_of(name_ids: NDArray[Any], texts: list[str]) -> list[str]:
    return [texts[name_id] if 0 <= name_id < len(texts) else LOST_NAME for name_id in name_ids.tolist()]
