"""Memory that was taken over time, and how fast it was copied. No Qt."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from smprof_desktop.analysis import bandwidth, counters
from smprof_desktop.analysis.bandwidth import KINDS, Moves
from smprof_desktop.analysis.counters import Samples
from smprof_desktop.analysis.doors import Door, Found, of_moments
from smprof_desktop.analysis.executions import part
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.analysis.statistics import exact_sum
from smprof_desktop.dashboard.absent import is_untraced, missing, no_device
from smprof_desktop.dashboard.each_process import each_process, process_name
from smprof_desktop.dashboard.figures import Column, Figure, Line, Lines, Missing, Table
from smprof_desktop.dashboard.overview import of_memory_operations
from smprof_desktop.dashboard.panel import DEVICE_TIME, Panel
from smprof_desktop.dashboard.scope import UTILIZATION_BINS, Scope, bin_edges
from smprof_desktop.progress import CancelCheck

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

MOST_LINES = 15
_NO_MEMORY = (
    "No memory in use was recorded. Record it with the trace: `profile_memory=True` in PyTorch's profiler, "
    "`--cuda-memory-usage=true` with Nsight Systems; a counter called `GPU memory allocated (bytes)` will do."
)


def memory_over_time(scope: Scope) -> Figure:
    """Of each device the greatest amount of memory taken in each bin; the devices with the highest peaks."""
    held = _memory(scope.profile, scope.begin_ns, scope.end_ns, scope.cancelled)
    found = [samples for samples in held if np.isfinite(samples.value).any()]
    edges_ns = _edges_ns(scope, found)
    if not found or edges_ns is None:
        return missing(scope, "sample of memory in use", _NO_MEMORY)
    found.sort(key=lambda samples: -_peak(samples))  # stable: of equals in the order of the profile
    lines = []
    for samples in found[:MOST_LINES]:
        scale = counters.bytes_per_unit(samples.name) or 1
        values = counters.greatest_per_bin(samples, edges_ns) * scale
        name = f"{_where(scope.profile, samples)}, {counters.without_unit(samples.name)}"
        lines.append(Line(name, values, counters.mean_of([samples]) * scale))
    basis = "the greatest amount in each moment, as the process counted it"
    if len(found) > MOST_LINES:
        basis += f"; the {MOST_LINES} of {len(found):,} counters with the highest peak"
    since_ns = edges_ns - scope.profile.begin_ns
    return Lines(since_ns, tuple(lines), basis, "bytes", "Memory")


def memory_peaks(scope: Scope) -> Figure:
    """A row for each counter of memory: its peak, and when it was reached first."""
    rows = []
    for samples in (one.known() for one in _memory(scope.profile, scope.begin_ns, scope.end_ns, scope.cancelled)):
        if not len(samples.value):
            continue
        scale = counters.bytes_per_unit(samples.name) or 1
        at = int(np.argmax(samples.value))
        mean = counters.mean_of([samples]) * scale
        values = (
            _where(scope.profile, samples),
            counters.without_unit(samples.name),
            round(_peak(samples) * scale),
            int(samples.start_ns[at]) - scope.profile.begin_ns,
            round(mean),
            round(float(samples.value[-1]) * scale),
            len(samples.value),
        )
        find = partial(
            _at_peak, samples.process, samples.name, samples.device, samples.cpu, scope.begin_ns, scope.end_ns
        )
        rows.append((values, Door(f"{values[1]} at its peak", find, "the time for which it was sampled")))
    if not rows:
        return missing(scope, "sample of memory in use", _NO_MEMORY)
    rows.sort(key=lambda row: -row[0][2])
    columns = (
        Column("Where", "text"),
        Column("Counter", "text"),
        Column("Peak", "bytes"),
        Column("First reached", "ns", "Since the profile's start."),
        Column("Mean", "bytes", "Each value for as long as it held."),
        Column("Last", "bytes"),
        Column("Samples", "count"),
    )
    basis = "what each process counted; a row leads to the moments at the peak"
    return Table(columns, [row for row, _ in rows], basis, [door for _, door in rows])


def copy_bandwidth(scope: Scope) -> Figure:
    """A row for each kind of memory operation: count, bytes, time and how fast it was."""
    moves = _moves(scope)
    if isinstance(moves, Missing):
        return moves
    rows = []
    for place, kind in enumerate(KINDS):
        mine = moves.of_kind(place)
        if len(mine.kind):
            rate = bandwidth.rate(mine)
            total_ns, moved = exact_sum(mine.duration_ns), exact_sum(np.maximum(mine.bytes, 0))
            values = (kind, len(mine.kind), moved, total_ns, rate.mean, rate.greatest, len(mine.kind) - rate.counted)
            door = of_memory_operations(kind, scope).door(f"Memory operations {kind}", _BASIS)
            rows.append((values, door))
    rows.sort(key=lambda row: (-row[0][3], row[0][0]))
    every = bandwidth.rate(moves)
    totals = (
        "All", len(moves.kind), exact_sum(np.maximum(moves.bytes, 0)), exact_sum(moves.duration_ns), every.mean,
        every.greatest, len(moves.kind) - every.counted,
    )  # fmt: skip
    return Table(_COLUMNS, [row for row, _ in rows], _BASIS, [door for _, door in rows], totals)


def copy_bandwidth_over_time(scope: Scope) -> Figure:
    """A line for each kind of memory operation: bytes per second in each bin, all devices together."""
    moves, edges_ns = _moves(scope), scope.edges_ns()
    if isinstance(moves, Missing):
        return moves
    if edges_ns is None or not (moves.bytes >= 0).any():
        return missing(
            scope,
            "memory operation with bytes",
            "No memory operation tells its bytes: this recorder leaves them out, so that no bandwidth can be told.",
        )
    widths_ns = np.diff(edges_ns)
    lines = []
    for place, kind in enumerate(KINDS):
        mine = moves.of_kind(place)
        if (mine.bytes >= 0).any():
            moved = bandwidth.bytes_per_bin(mine, edges_ns)
            mean = float(moved.sum()) / int(edges_ns[-1] - edges_ns[0]) * 1e9
            lines.append(Line(kind, moved / widths_ns * 1e9, mean))
    basis = "all devices together; the bytes of an operation are spread evenly over its time"
    return Lines(edges_ns - scope.profile.begin_ns, tuple(lines), basis, "bytes_per_s", "Bandwidth")


_BASIS = "all memory operations, overlap counted twice; bandwidth is of whole operations whose bytes were recorded"
_COLUMNS = (
    Column("Kind", "text", "From where to where: HtoD is from host to device."),
    Column("Count", "count"),
    Column("Bytes", "bytes", "Where they were recorded. A range trims times, never bytes."),
    Column("Total", "ns"),
    Column("Mean bandwidth", "bytes_per_s", "All bytes over all time: large copies weigh more."),
    Column("Max bandwidth", "bytes_per_s"),
    Column("Without", "count", "Operations in no bandwidth: their bytes were not recorded, or they took no time."),
)


def _moves(scope: Scope) -> Moves | Missing:
    def work(process: ProcessProfile) -> Moves:
        return bandwidth.moves(part(process.table("device"), scope.begin_ns, scope.end_ns))

    moves = Moves.joined(each_process(scope, work))
    if len(moves.kind):
        return moves
    if is_untraced(scope):
        return no_device(scope)
    return missing(
        scope,
        "memory operation",
        "No memory operation was recorded on a GPU: this run copied and set nothing there, or only kernels were "
        "recorded.",
    )


def _memory(profile: Profile, begin_ns: int | None, end_ns: int | None, cancelled: CancelCheck) -> list[Samples]:
    """The counters of memory. What the last sample tells holds to the end of the profile: memory stays taken."""
    found = []
    for samples in counters.of_profile(profile, counters.tells_memory_held, cancelled):
        ends_ns = samples.end_ns.copy()
        ends_ns[-1] = max(int(ends_ns[-1]), profile.end_ns)
        found.append(replace(samples, end_ns=ends_ns).within(begin_ns, end_ns))
    return found


def _at_peak(
    process: int, name: str, device: int, cpu: int, begin_ns: int | None, end_ns: int | None,
    profile: Profile, cancelled: CancelCheck,
) -> Found:  # fmt: skip
    """The moments at which a counter was at its peak."""
    found = []
    for samples in (one.known() for one in _memory(profile, begin_ns, end_ns, cancelled)):
        if (samples.process, samples.name, samples.device, samples.cpu) == (process, name, device, cpu):
            at = samples.value == _peak(samples) if len(samples.value) else np.zeros(0, bool)
            found.append(of_moments(process, samples.start_ns[at], samples.end_ns[at]))
    return Found.joined(found)


def _peak(samples: Samples) -> float:
    return float(np.nanmax(samples.value))


def _where(profile: Profile, samples: Samples) -> str:
    name = process_name(profile.processes[samples.process])
    return f"{name}, GPU {samples.device}" if samples.device >= 0 else f"{name}, host"


def _edges_ns(scope: Scope, found: list[Samples]) -> Int64s | None:
    """The bins of the page, or of the samples where the profile holds nothing else."""
    edges_ns = scope.edges_ns()
    if edges_ns is not None or not found:
        return edges_ns
    first_ns, last_ns = min(int(one.start_ns[0]) for one in found), max(int(one.end_ns[-1]) for one in found)
    return bin_edges(first_ns, max(last_ns, first_ns + 1), UTILIZATION_BINS)


_COUNTERS = ("counter.time_ns", "counter.value")
_MOVES = (*DEVICE_TIME, "device.copy_kind", "device.bytes")

MEMORY_PANELS = (
    Panel(
        "memory_over_time",
        "Memory allocated over time",
        _COUNTERS,
        memory_over_time,
        Lines,
        6,
        "How much memory was taken on each device, as the framework or the driver counted it; the greatest amount of "
        "each moment. A level far below the device's memory leaves room for a larger batch; one that keeps rising is a "
        "leak.",
        section="Memory",
    ),
    Panel(
        "memory_peaks",
        "Memory peaks",
        _COUNTERS,
        memory_peaks,
        Table,
        6,
        "The greatest amount of memory taken on each device, and when it was first reached.",
        section="Memory",
    ),
    Panel(
        "copy_bandwidth",
        "Copy bandwidth by kind",
        _MOVES,
        copy_bandwidth,
        Table,
        6,
        "How many bytes memory operations moved, and how fast. A mean bandwidth far below that of the bus means many "
        "small copies, or copies from memory that is not pinned.",
        section="Memory",
    ),
    Panel(
        "copy_bandwidth_over_time",
        "Copy bandwidth over time",
        _MOVES,
        copy_bandwidth_over_time,
        Lines,
        6,
        "When memory operations moved how many bytes per second, by kind, on all devices together.",
        section="Memory",
    ),
)
