"""Launches: how long kernels wait to start, why, and how much work waits on each stream. No Qt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from smprof_desktop.analysis import latency_parts, launch_figures, names, queues
from smprof_desktop.analysis.doors import Door
from smprof_desktop.analysis.intervals import Int64s, fit
from smprof_desktop.analysis.launch_figures import PARTS, SIGMAS, Latencies, LaunchFigures, ShortTotal
from smprof_desktop.analysis.statistics import divide
from smprof_desktop.dashboard import launch_doors
from smprof_desktop.dashboard.absent import missing, no_device
from smprof_desktop.dashboard.each_process import each_process, process_name
from smprof_desktop.dashboard.figures import Column, Figure, Histogram, Line, Lines, Missing, Table
from smprof_desktop.dashboard.panel import DEVICE_TIME, Option, Panel
from smprof_desktop.dashboard.scope import Scope

if TYPE_CHECKING:
    pass

SECTION = "Launches"
LINKS = (*DEVICE_TIME, "device.launch", "host.start_ns", "host.duration_ns")
MOST_STREAMS = 12
"""Curves of queue lengths; the streams with the longest queues are drawn, the table has all."""
_INT64_MAX = (1 << 63) - 1
_TITLES = {
    "api": ("API call", "Until the call that launched it returned, or the kernel started."),
    "queued": ("Queued", "After the call, while earlier work of the same stream still ran."),
    "overhead": ("Launch overhead", "What neither the call nor earlier work of the stream explains."),
    "early": (
        "Before the launch",
        "Kernels that are recorded to start before their launch does: one of the two clocks is off.",
    ),
}


def launch_latency(scope: Scope) -> Figure:
    """From the start of a launch to the start of its kernel, in logarithmic bins."""
    found = _latencies(scope)
    if isinstance(found, Missing):
        return found
    counts = np.sum([one.counts for one in found], axis=0)
    told = scope.report()["latency"]["kernels"]
    linked = told["linked"]
    first, last = int(np.flatnonzero(counts)[0]), int(np.flatnonzero(counts)[-1])
    edges = [_clamped(told["min_ns"]), *latency_parts.EDGES_NS.tolist(), _clamped(told["max_ns"] + 1)]
    shown = edges[first : last + 2]
    basis = f"{linked:,} kernels whose launch is known" if linked != 1 else "1 kernel whose launch is known"
    doors = tuple(
        Door("Launch latency", partial(launch_doors.of_bin, _range(scope), number), basis)
        for number in range(first, last + 1)
    )
    facts = (
        ("Mean", divide(sum(sum(one.parts_ns) for one in found), linked)),
        ("Median", told["median_ns"]),
        ("99th percentile", told["p99_ns"]),
        ("Least", told["min_ns"]),
        ("Greatest", told["max_ns"]),
    )
    return Histogram(np.array(shown, np.int64), counts[first : last + 1], facts, basis, doors)


def latency_in_parts(scope: Scope) -> Figure:
    """The sum of all latencies, by what the time went to."""
    found = _latencies(scope)
    if isinstance(found, Missing):
        return found
    sums = [sum(column) for column in zip(*(one.parts_ns for one in found), strict=True)]
    kernels = [sum(column) for column in zip(*(one.late for one in found), strict=True)]
    linked, whole = sum(one.linked for one in found), sum(sums)
    magnitude = sum(abs(total) for total in sums)
    basis = f"the latencies of {linked:,} kernels whose launch is known"
    rows: list[tuple[Any, ...]] = []
    doors: list[Door | None] = []
    for part, total_ns, count in zip(PARTS, sums, kernels, strict=True):
        if part == "early" and not count:
            continue
        title, help_text = _TITLES[part]
        share = 100 * total_ns / magnitude if magnitude else 0.0
        rows.append((title, help_text, count, total_ns, divide(total_ns, linked), share))
        doors.append(Door(f"Launch latency: {title}", partial(launch_doors.of_part, _range(scope), part), basis))
    unlinked = sum(one.unlinked for one in found)
    return Table(
        (
            Column("Part", "text"),
            Column("What it is", "text"),
            Column("Kernels", "count", "Kernels that have any of it."),
            Column("Total", "ns", "The sum over all kernels; waits that overlap count each."),
            Column("Mean", "ns", "Over all kernels whose launch is known, also those without this part."),
            Column("Share", "percent", "Of the sum of all parts, each without its sign."),
        ),
        rows,
        basis,
        doors,
        ("All", "", linked, whole, divide(whole, linked), 100.0 if magnitude else 0.0),
        _unlinked_note(unlinked),
    )


def worst_launches(scope: Scope) -> Figure:
    """The kernels that waited longest after their launch."""
    found = _latencies(scope)
    if isinstance(found, Missing):
        return found
    most = scope.options.get("rows", WORST_ROWS.default)
    every = [(process, one) for process, part in enumerate(found) for one in part.worst]
    every.sort(key=lambda entry: -entry[1].total_ns)
    every = every[:most]
    linked = sum(one.linked for one in found)
    basis = f"{linked:,} kernels whose launch is known"
    shown = names.shown(text for _, one in every for text in (one.name, one.call))
    rows, doors = [], []
    for process, one in every:
        owner = scope.profile.processes[process]
        parts = [one.parts_ns[PARTS.index(part)] for part in ("api", "queued", "overhead")]
        where = f"{process_name(owner)}, GPU {one.device}, stream {one.stream}"
        name, call = (shown.get(text, text) for text in (one.name, one.call))
        rows.append((name, one.total_ns, *parts, call, one.launch_ns - scope.profile.begin_ns, where))
        doors.append(
            Door(
                f"Launch latency of {name}",
                partial(launch_doors.of_spans, process, one.row, one.launch_ns, one.launch_ns + one.total_ns),
                basis,
            )
        )
    return Table(
        (
            Column("Kernel", "kernel"),
            Column("Latency", "ns", "From the start of the launch to the start of the kernel."),
            Column("API call", "ns", _TITLES["api"][1]),
            Column("Queued", "ns", _TITLES["queued"][1]),
            Column("Launch overhead", "ns", _TITLES["overhead"][1]),
            Column("Launched by", "name"),
            Column("Launched at", "ns", "From the profile's start."),
            Column("Where", "text"),
        ),
        rows,
        basis,
        doors,
        note=f"the greatest {len(rows):,} of {linked:,}" if len(rows) < linked else "",
    )


def short_kernels(scope: Scope) -> Figure:
    """The kernels that took less time than the call that launched them, by name."""
    launched = _launches(scope)
    if isinstance(launched, Missing):
        return launched
    totals: dict[str, ShortTotal] = {}
    for part in launched:
        for name, total in part.short.items():
            entry = totals.setdefault(name, ShortTotal())
            entry.count += total.count
            entry.kernels_ns += total.kernels_ns
            entry.calls_ns += total.calls_ns
            entry.of += total.of
    own = sum(total.of for total in totals.values())
    basis = f"{own:,} kernels with a launch call of their own"
    short = {name: total for name, total in totals.items() if total.count}
    shown = names.shown(short)
    rows, doors = [], []
    for name, total in sorted(short.items(), key=lambda item: (-item[1].count, item[0])):
        rows.append(
            (
                shown.get(name, name),
                total.count,
                100 * total.count / total.of,
                100 * total.count / own,
                total.kernels_ns,
                total.calls_ns,
            )
        )
        doors.append(
            Door(f"Short kernels: {shown.get(name, name)}", partial(launch_doors.of_short, _range(scope), name), basis)
        )
    count = sum(total.count for total in short.values())
    every = sum(one.latencies.linked + one.latencies.unlinked for one in launched)
    note = f"left out: {every - own:,} kernels without a call of their own, as in a graph" if every > own else ""
    return Table(
        (
            Column("Kernel", "kernel"),
            Column("Short", "count", "Kernels that took less time than their own launch call."),
            Column("Of this kernel", "percent", "Of its executions with a launch call of their own."),
            Column("Of all", "percent", "Of all kernels with a launch call of their own."),
            Column("Kernel time", "ns", "The sum of the short kernels' durations."),
            Column("Call time", "ns", "The sum of the durations of the calls that launched them."),
        ),
        rows,
        basis,
        doors,
        (
            "All",
            count,
            100 * count / own if own else 0.0,
            100 * count / own if own else 0.0,
            sum(total.kernels_ns for total in short.values()),
            sum(total.calls_ns for total in short.values()),
        ),
        note,
    )


def outlier_launches(scope: Scope) -> Figure:
    """The launch calls that took much longer than those of their name usually do."""
    launched = _launches(scope)
    if isinstance(launched, Missing):
        return launched
    begin_ns, end_ns = _range(scope)
    statistics = launch_figures.merged_statistics(one.calls for one in launched)
    longest_us = scope.options.get("longer_than_us", LONGER_THAN.default)
    usual_ns = {name: longest_us * 1_000 if longest_us else one.usual_ns for name, one in statistics.items()}
    long: dict[str, launch_figures.LongCalls] = {}
    for _, by_name in each_process(
        scope, lambda process: launch_figures.long_calls(process, begin_ns, end_ns, usual_ns)
    ):
        for name, total in by_name.items():
            entry = long.setdefault(name, launch_figures.LongCalls())
            entry.count += total.count
            entry.total_ns += total.total_ns
            entry.greatest_ns = max(entry.greatest_ns, total.greatest_ns)
    calls, whole_ns = sum(one.count for one in statistics.values()), sum(one.total_ns for one in statistics.values())
    basis = f"{calls:,} calls that launched a kernel"
    shown = names.shown(statistics)
    rows, doors = [], []
    for name, one in sorted(statistics.items(), key=lambda item: (-_long(long, item[0]).total_ns, item[0])):
        outliers = _long(long, name)
        rows.append(
            (
                shown.get(name, name),
                one.count,
                divide(one.total_ns, one.count),
                usual_ns[name],
                outliers.count,
                outliers.total_ns,
                100 * outliers.total_ns / whole_ns if whole_ns else 0.0,
                outliers.greatest_ns if outliers.count else None,
            )
        )
        find = partial(launch_doors.of_long, _range(scope), {name: usual_ns[name]})
        doors.append(Door(f"Long calls of {shown.get(name, name)}", find, basis))
    total_ns = sum(one.total_ns for one in long.values())
    rule = "longer than chosen" if longest_us else f"longer than mean + {SIGMAS} standard deviations of its name"
    return Table(
        (
            Column("Call", "name"),
            Column("Calls", "count"),
            Column("Mean", "ns"),
            Column("Longer than", "ns", f"A call is an outlier where it took {rule}."),
            Column("Outliers", "count"),
            Column("Outliers' time", "ns"),
            Column("Share", "percent", "Of the time of all calls that launched a kernel."),
            Column("Longest", "ns"),
        ),
        rows,
        basis,
        doors,
        (
            "All",
            calls,
            divide(whole_ns, calls),
            None,
            sum(one.count for one in long.values()),
            total_ns,
            100 * total_ns / whole_ns if whole_ns else 0.0,
            max((one.greatest_ns for one in long.values()), default=None),
        ),
    )


def queue_length(scope: Scope) -> Figure:
    """Over time the mean number of executions on each stream that are launched and not yet finished."""
    found, edges_ns = _queues(scope, queues.FULL), scope.edges_ns()
    if isinstance(found, Missing) or edges_ns is None:
        return found if isinstance(found, Missing) else no_device(scope)
    widths = [later - earlier for earlier, later in zip(edges_ns[:-1].tolist(), edges_ns[1:].tolist(), strict=True)]
    lines = [
        Line(
            one.name,
            np.array([waited / width for waited, width in zip(one.queue.waited_ns, widths, strict=True)]),
            one.queue.total_ns / sum(widths),
        )
        for one in found[:MOST_STREAMS]
    ]
    most = (
        f"the {MOST_STREAMS} of {len(found):,} streams with the longest queues, " if len(found) > MOST_STREAMS else ""
    )
    since_ns = edges_ns - scope.profile.begin_ns
    return Lines(
        since_ns if fit(edges_ns) else since_ns.view(np.uint64),
        tuple(lines),
        f"{most}from the start of the launch to the end of the execution",
        "number",
        "Launched, not finished (mean)",
    )


def full_queues(scope: Scope) -> Figure:
    """How long the queue of each stream was, and for how long it was full."""
    full = scope.options.get("full", FULL_AT.default)
    found, edges_ns = _queues(scope, full), scope.edges_ns()
    if isinstance(found, Missing) or edges_ns is None:
        return found if isinstance(found, Missing) else no_device(scope)
    span_ns = int(edges_ns[-1]) - int(edges_ns[0])
    basis = "the whole time" if scope.begin_ns is None and scope.end_ns is None else "the time of the range"
    rows, doors, full_doors = [], [], []
    for one in found:
        queue = one.queue
        rows.append(
            (
                one.name,
                queue.executions,
                queue.total_ns / span_ns,
                queue.longest,
                queue.total_ns,
                queue.full_ns,
                100 * queue.full_ns / span_ns,
            )
        )
        of = (one.process, queue.device, queue.stream)
        doors.append(Door(f"Queue of {one.name}", partial(launch_doors.of_queue, _edges(edges_ns), of), basis))
        full_doors.append(
            Door(f"Full queue of {one.name}", partial(launch_doors.of_full, _edges(edges_ns), of, full), basis)
        )
    return Table(
        (
            Column("Stream", "text"),
            Column("Executions", "count", "Launched or unfinished in this time, with a known launch."),
            Column("Mean length", "number", "Over the whole time, also where nothing waits."),
            Column("Longest", "count"),
            Column("In the queue", "ns", "The sum over its executions of the time from their launch to their end."),
            Column(
                "Full", "ns", f"Time in which {full:,} or more were launched and not finished: the next call waits."
            ),
            Column("Share", "percent", f"Of {basis}."),
        ),
        rows,
        basis,
        doors,
        column_doors={5: full_doors, 6: full_doors},
    )


@dataclass(frozen=True)
class _StreamQueue:
    process: int
    name: str
    queue: queues.Queue


def _queues(scope: Scope, full: int) -> list[_StreamQueue] | Missing:
    """The queues of all streams, those with most work first."""
    edges_ns = scope.edges_ns()

    def work() -> list[_StreamQueue]:
        assert edges_ns is not None
        found = each_process(
            scope,
            lambda process: [
                queues.queue(one, edges_ns, full)
                for one in queues.waiting(process.table("device"), process.table("host"), *_edges(edges_ns))
            ],
        )
        every = [
            _StreamQueue(
                index,
                f"{process_name(scope.profile.processes[index])}, GPU {queue.device}, stream {queue.stream}",
                queue,
            )
            for index, of_process in enumerate(found)
            for queue in of_process
        ]
        return sorted(every, key=lambda one: -one.queue.total_ns)

    streams = scope.once(("queues", full), work) if edges_ns is not None else []
    return streams or _no_link(scope)


def _launches(scope: Scope) -> list[LaunchFigures] | Missing:
    """The figures of each process, or why there are none."""
    begin_ns, end_ns = _range(scope)
    found = scope.once(
        "launches", lambda: each_process(scope, lambda process: launch_figures.figures(process, begin_ns, end_ns))
    )
    return found if any(one.latencies.linked for one in found) else _no_link(scope)


def _latencies(scope: Scope) -> list[Latencies] | Missing:
    found = _launches(scope)
    return found if isinstance(found, Missing) else [one.latencies for one in found]


def _no_link(scope: Scope) -> Missing:
    """Why no launch is known: nothing ran, or the calls were not recorded."""
    devices = scope.report()["profile"]["slices"]["device"]
    if not devices:
        return no_device(scope)
    return missing(
        scope,
        "execution whose launch is known",
        "No launch of any kernel was recorded, only what ran on the GPU. Record API calls too: EnableCuda does, "
        "and so does ProfilerActivity.CUDA together with ProfilerActivity.CPU.",
    )


def _unlinked_note(unlinked: int) -> str:
    if not unlinked:
        return ""
    return (
        "left out: 1 kernel without a launch" if unlinked == 1 else f"left out: {unlinked:,} kernels without a launch"
    )


def _long(found: Mapping[str, launch_figures.LongCalls], name: str) -> launch_figures.LongCalls:
    return found.get(name, launch_figures.LongCalls())


def _range(scope: Scope) -> launch_doors.Range:
    return scope.begin_ns, scope.end_ns


def _edges(edges_ns: Int64s) -> tuple[int, int]:
    return int(edges_ns[0]), int(edges_ns[-1])


def _clamped(time_ns: int) -> int:
    return max(-_INT64_MAX - 1, min(time_ns, _INT64_MAX))


WORST_ROWS = Option("rows", "Rows", 50, 1, launch_figures.MOST_WORST)
LONGER_THAN = Option("longer_than_us", "Longer than (0: mean + 3 σ)", 0, 0, 1_000_000, " µs")
FULL_AT = Option("full", "Full at", queues.FULL, 1, 1_000_000)

LAUNCH_PANELS: tuple[Panel, ...] = (
    Panel(
        "launch_latency",
        "Launch latency",
        LINKS,
        launch_latency,
        Histogram,
        3,
        "How long after the start of its launch a kernel started. Bins grow with the latency, ten in each power of "
        "ten, so that a long tail stays readable. A hill at a few µs is what a launch costs; what lies far above it "
        "waited: behind earlier work, which is well, or for no reason that was recorded.",
        SECTION,
    ),
    Panel(
        "latency_parts",
        "Launch latency in its parts",
        LINKS,
        latency_in_parts,
        Table,
        6,
        "What the latencies consist of. Time behind earlier work means that the GPU has enough to do; only launch "
        "overhead is lost. Much time in API calls means that the host is slow to launch: fuse kernels, or capture them "
        "in a CUDA graph.",
        SECTION,
    ),
    Panel(
        "worst_launches",
        "Worst launches",
        LINKS,
        worst_launches,
        Table,
        6,
        "The kernels that started latest after their launch, with the parts of that time.",
        SECTION,
        (WORST_ROWS,),
    ),
    Panel(
        "short_kernels",
        "Short kernels",
        LINKS,
        short_kernels,
        Table,
        6,
        "Kernels that ran for less time than the host took to launch them: the GPU runs dry however it is fed. Fuse "
        "them, or capture them in a CUDA graph.",
        SECTION,
    ),
    Panel(
        "outlier_launches",
        "Outlier launches",
        LINKS,
        outlier_launches,
        Table,
        6,
        "Launch calls that took much longer than others of their name: where the host was interrupted, had to load a "
        "kernel first, or found the queue full.",
        SECTION,
        (LONGER_THAN,),
    ),
    Panel(
        "queue_length",
        "Queue length over time",
        LINKS,
        queue_length,
        Lines,
        6,
        "How many kernels, copies and sets were launched on a stream and not finished, the mean of each moment. Near 1 "
        "the GPU waits for the host again and again; a long queue keeps it busy.",
        SECTION,
    ),
    Panel(
        "full_queues",
        "Time on a full queue",
        LINKS,
        full_queues,
        Table,
        6,
        "How long each stream's queue was, and for how long it was full: then the next launch call blocks the host "
        "until an execution has finished. That is no loss by itself, but no host time is free either.",
        SECTION,
        (FULL_AT,),
    ),
)
"""In the order of the page."""
