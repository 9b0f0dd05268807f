"""The figures of a report, process by process: what `report` puts together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import HOST_KINDS, SLICE_TABLES
from smprof_desktop.analysis import kernels, launches, names, operators, steps, untraced, utilization
from smprof_desktop.analysis.executions import Part, part
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.progress import CancelCheck, Cancelled, Progress, silent

if TYPE_CHECKING:
    from smprof.profile.manifest import Loss
    from smprof.profile.reader import ProcessProfile, Profile

MOST_THREADS = 4
LARGE_SLICES = 20_000_000
"""Slices of a profile above which no column at all stays in memory once a process is done."""
SYNCHRONIZE = "Synchronize"
"""Part of the name of every API call that waits for the GPU."""

_API, _OP, _SYNC = (HOST_KINDS.index(kind) for kind in ("api", "op", "sync"))
_INT64_MIN = -(1 << 63)
_NO_TIMES = np.zeros(0, np.int64)
Found = TypeVar("Found")


@dataclass(frozen=True)
class DeviceFigures:
    """One device of one process. `use` is None where the range holds none of its slices, `binned` without bins.

    The intervals of `use.busy` are let go of.
    """

    host: str
    process: str
    device: int
    name: str
    window_ns: int
    use: utilization.DeviceUse | None
    binned: utilization.Binned | None


@dataclass(frozen=True)
class Figures:
    """What one process adds to a report. Names are exact (see `names.exact_texts`)."""

    devices: list[DeviceFigures]
    kernel_totals: list[kernels.NamedTotal]
    copies: list[kernels.CopyTotal]
    syncs: list[kernels.NamedTotal]
    sync_records: list[kernels.NamedTotal]
    operator_totals: list[operators.OperatorTotal]
    annotation_totals: list[steps.AnnotationTotal]
    step_list: list[steps.Step]
    latencies_ns: NDArray[Any]
    unlinked_kernels: int
    via_graph_launch: int
    unlinked: dict[str, int]
    untraced: list[Loss]
    slices: dict[str, int]
    counters: int


@dataclass(frozen=True)
class Wanted:
    """What to work out: a range [begin_ns, end_ns), a name or stem of steps, and bins of time to count activity in."""

    begin_ns: int | None = None
    end_ns: int | None = None
    step: str | None = None
    edges_ns: Int64s | None = None


def of_profile(
    profile: Profile,
    wanted: Wanted,
    progress: Progress,
    cancelled: CancelCheck,
    devices: Sequence[list[DeviceFigures]] | None = None,
) -> list[Figures]:
    """The figures of each process, in their order. Raises Cancelled soon after `cancelled` says so.

    `devices` are those that `devices_of_profile` has worked out for the same, if it has.
    """

    def work(index: int) -> Figures:
        known = None if devices is None else devices[index]
        return _figures(profile.processes[index], wanted, cancelled, known)

    return _each(profile, (*SLICE_TABLES, "counter"), work, progress)


def devices_of_profile(profile: Profile, wanted: Wanted, cancelled: CancelCheck) -> list[list[DeviceFigures]]:
    """The devices alone of each process: they need few columns, and are there long before all figures are.

    Raises Cancelled soon after `cancelled` says so.
    """

    def work(index: int) -> list[DeviceFigures]:
        _stop_if(cancelled)
        process = profile.processes[index]
        return list(_devices(process, part(process.table("device"), wanted.begin_ns, wanted.end_ns), wanted))

    return _each(profile, ("device",), work, silent)


def _each(profile: Profile, tables: Sequence[str], work: Callable[[int], Found], progress: Progress) -> list[Found]:
    """What `work` finds in each process, given its position, reading these tables."""
    slices = sum(len(process.table(table)) for process in profile.processes for table in SLICE_TABLES)

    def borrowed(index: int) -> Found:
        return _borrowed(profile.processes[index], tables, slices > LARGE_SLICES, partial(work, index))

    # numpy lets go of the interpreter, so threads use every core.
    with ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_THREADS), "report") as pool:
        tasks = [pool.submit(borrowed, index) for index in range(len(profile.processes))]
        found = []
        try:
            for index, (process, task) in enumerate(zip(profile.processes, tasks, strict=True)):
                progress(index / len(tasks), f"working out the figures of process {process.info.process}")
                found.append(task.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return found


def _borrowed(process: ProcessProfile, names: Sequence[str], is_large: bool, work: Callable[[], Found]) -> Found:
    """What `work` finds in one process; what was read for it alone leaves memory afterwards.

    So no more than the processes at work are in memory: a report reads nearly every column. What was there before is
    in use elsewhere and stays, but for large profiles, where each column counts.
    """
    tables = [process.table(name) for name in names]
    held = [table.columns_held() for table in tables]
    try:
        return work()
    finally:
        for table, columns in zip(tables, held, strict=True):
            table.forget(() if is_large else columns)


def _figures(
    process: ProcessProfile, wanted: Wanted, cancelled: CancelCheck, devices: list[DeviceFigures] | None
) -> Figures:
    begin_ns, end_ns = wanted.begin_ns, wanted.end_ns
    _stop_if(cancelled)
    texts, host_table = names.exact_texts(process), process.table("host")
    device = part(process.table("device"), begin_ns, end_ns)
    host = part(host_table, begin_ns, end_ns)
    annotations = steps.host_side(part(process.table("annotation"), begin_ns, end_ns))
    launch = device.column("launch")
    _stop_if(cancelled)
    if devices is None:
        devices = list(_devices(process, device, wanted))
    kernel_totals = kernels.kernels_by_name(device, process.table("shapes")["name_id"], texts)
    _stop_if(cancelled)
    is_kernel = device.column("kind") == kernels.KERNEL
    all_kernels = bool(is_kernel.all())
    kernel_launch = launch if all_kernels else launch[is_kernel]
    starts_ns = device.column("start_ns")
    latencies_ns = launches.latencies(
        kernel_launch, starts_ns if all_kernels else starts_ns[is_kernel], host_table["start_ns"]
    )
    _stop_if(cancelled)
    operator_totals = operators.totals(host, device, launch, texts)
    _stop_if(cancelled)
    on_gpu = steps.on_gpu(annotations, device, launch, host_table)
    _stop_if(cancelled)
    return Figures(
        devices=devices,
        kernel_totals=kernel_totals,
        copies=kernels.memory_by_kind(device),
        syncs=_named_like(_of_kind(host, _API), SYNCHRONIZE, texts),
        sync_records=_named_like(_of_kind(host, _SYNC), "", texts),
        operator_totals=operator_totals,
        annotation_totals=steps.totals(annotations, on_gpu, texts),
        step_list=steps.steps(annotations, texts, process.info.process, wanted.step),
        latencies_ns=latencies_ns,
        unlinked_kernels=len(kernel_launch) - len(latencies_ns),
        via_graph_launch=launches.via_graph(kernel_launch, host_table["name_id"], texts),
        unlinked=launches.unlinked_by_reason(launch, device.column),
        untraced=untraced.of_process(process),
        slices=_slice_counts(device, host, annotations),
        counters=_counter_count(process, begin_ns, end_ns),
    )


def _devices(process: ProcessProfile, device: Part, wanted: Wanted) -> Iterator[DeviceFigures]:
    """The devices of a process that have slices or that it used, by index."""
    info = process.info
    windows_ns = utilization.windows_within(utilization.windows_of(process), wanted.begin_ns, wanted.end_ns)
    window_ns = sum(end - begin for begin, end in windows_ns)
    uses = {use.device: use for use in utilization.devices(device, windows_ns)}
    known = {entry.index: entry.name for entry in info.devices}
    for index in utilization.devices_of(process):
        use = uses.get(index)
        binned = None if wanted.edges_ns is None else utilization.binned(use, windows_ns, wanted.edges_ns)
        if use is not None:
            use = replace(use, busy=(_NO_TIMES, _NO_TIMES))  # they are long, and no one asks for them any more
        yield DeviceFigures(info.host, info.process, index, known.get(index, ""), window_ns, use, binned)


def _slice_counts(device: Part, host: Part, annotations: Part) -> dict[str, int]:
    kinds = host.column("kind")
    edges = np.searchsorted(kinds, np.arange(len(HOST_KINDS) + 1, dtype=kinds.dtype))  # the table is sorted by kind
    counts = dict(zip(HOST_KINDS, np.diff(edges).tolist(), strict=True))
    return {"device": len(device), **counts, "annotation": len(annotations)}


def _of_kind(host: Part, kind: int) -> Part:
    """Host slices of one kind; the table is sorted by kind."""
    kinds = host.column("kind")
    first, behind = int(np.searchsorted(kinds, kind, "left")), int(np.searchsorted(kinds, kind, "right"))
    return host.between(first, behind)


def _named_like(host: Part, text: str, texts: list[str]) -> list[kernels.NamedTotal]:
    """Totals by name of the slices whose name contains `text`."""
    name_ids = host.column("name_id")
    if text:
        wanted = np.array([text in name for name in texts] + [False], bool)
        host = host.where(wanted[np.where((name_ids >= 0) & (name_ids < len(texts)), name_ids, -1)])
        name_ids = host.column("name_id")
    return kernels.by_name(name_ids, host.duration_ns, texts)


def _counter_count(process: ProcessProfile, begin_ns: int | None, end_ns: int | None) -> int:
    counters = process.table("counter")
    if begin_ns is None and end_ns is None:
        return len(counters)
    times_ns = counters["time_ns"]
    inside = times_ns >= (_INT64_MIN if begin_ns is None else begin_ns)
    if end_ns is not None:
        inside &= times_ns < end_ns
    return int(np.count_nonzero(inside))


def _stop_if(cancelled: CancelCheck) -> None:
    if cancelled():
        raise Cancelled
