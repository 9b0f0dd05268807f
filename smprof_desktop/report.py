"""The figures of a profile as one document, the contract of `report --json`; `text` shows it to people."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from smprof.profile.manifest import ProfileError
from smprof.profile.schema import HOST_KINDS
from smprof_desktop.analysis import kernels, launches, operators, steps, utilization
from smprof_desktop.analysis.executions import Part, part
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.progress import Progress, silent
from smprof_desktop.report_text import text

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

__all__ = ["build", "text"]

MOST_THREADS = 4
REPORT_VERSION = 1
SYNCHRONIZE = "Synchronize"
"""Part of the name of every API call that waits for the GPU."""

_API, _OP, _SYNC = (HOST_KINDS.index(kind) for kind in ("api", "op", "sync"))
SLICE_KINDS = ("device", *HOST_KINDS, "annotation")

_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True)
class _Figures:
    """What one process adds to a report."""

    devices: list[dict[str, Any]]
    kernel_totals: list[kernels.NamedTotal]
    copies: list[kernels.CopyTotal]
    syncs: list[kernels.NamedTotal]
    sync_records: list[kernels.NamedTotal]
    operator_totals: list[operators.OperatorTotal]
    annotation_totals: list[steps.AnnotationTotal]
    step_list: list[steps.Step]
    latencies_ns: Int64s
    unlinked_kernels: int
    via_graph_launch: int
    unlinked: dict[str, int]
    slices: dict[str, int]
    counters: int


def build(
    profile: Profile,
    begin_ns: int | None = None,
    end_ns: int | None = None,
    step: str | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """The report of a profile, as `json.dumps` takes it.

    Args:
        profile: an open profile.
        begin_ns, end_ns: a range [begin_ns, end_ns) in ns of the profile's clock; None is no limit. Slices that overlap
            it count, with their times trimmed to it, and so do the windows. Bytes and latencies are those of the whole
            slice.
        step: the name or stem of the annotations to take as steps instead of those named like steps.
        progress: told after each process.

    Raises:
        ProfileError: no annotation has the name or stem `step`, or the range is empty.
    """
    if begin_ns is not None and end_ns is not None and begin_ns >= end_ns:
        raise ProfileError("The range is empty: its end is not behind its beginning; give B:E with B below E.")
    begin_ns, end_ns = _limits(profile, begin_ns, end_ns)
    found = []
    # numpy lets go of the interpreter, so threads use every core; each holds the columns of one process at a time.
    with ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_THREADS), "report") as pool:
        tasks = [pool.submit(_figures, process, begin_ns, end_ns, step) for process in profile.processes]
        try:
            for index, (process, task) in enumerate(zip(profile.processes, tasks, strict=True)):
                progress(index / len(tasks), f"working out the figures of process {process.info.process}")
                found.append(task.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    if step is not None and not any(figures.step_list for figures in found):
        raise ProfileError(
            f'No annotation is named "{step}" or has that stem; the report without --step lists all annotations.'
        )
    document = _document(profile, found, begin_ns, end_ns)
    progress(1.0, "done")
    return document


def _limits(profile: Profile, begin_ns: int | None, end_ns: int | None) -> tuple[int | None, int | None]:
    """The range without a limit that cuts no slice or window off, so that the whole profile reads as such.

    A collector's windows are wider than its slices: a limit outside of all slices may still cut a window.
    """
    windows = [window for process in profile.processes for window in process.info.windows_ns]
    if begin_ns is not None:
        first_ns = min([profile.begin_ns, *(begin for begin, _ in windows)])
        begin_ns = None if begin_ns <= first_ns else min(begin_ns, _INT64_MAX)
    if end_ns is not None:
        last_ns = max([profile.end_ns, *(end for _, end in windows)])
        end_ns = None if end_ns >= last_ns else max(end_ns, _INT64_MIN)
    return begin_ns, end_ns


def _figures(process: ProcessProfile, begin_ns: int | None, end_ns: int | None, wanted_step: str | None) -> _Figures:
    texts, host_table = process.names.texts, process.table("host")
    device = part(process.table("device"), begin_ns, end_ns)
    host = part(host_table, begin_ns, end_ns)
    annotations = steps.host_side(part(process.table("annotation"), begin_ns, end_ns))
    counts = _slice_counts(device, host, annotations)
    launch = _launches(device, len(host_table))
    kinds = device.column("kind")
    is_kernel = kinds == kernels.KERNEL
    kernel_launch = launch if is_kernel.all() else launch[is_kernel]
    starts_ns = device.column("start_ns")
    latencies_ns = launches.latencies(
        kernel_launch, starts_ns if is_kernel.all() else starts_ns[is_kernel], host_table["start_ns"]
    )
    calls = _of_kind(host, _API)
    return _Figures(
        devices=_devices(process, device, begin_ns, end_ns),
        kernel_totals=kernels.kernels_by_name(device, process.table("shapes")["name_id"], texts),
        copies=kernels.memory_by_kind(device),
        syncs=_named_like(calls, SYNCHRONIZE, texts),
        sync_records=_named_like(_of_kind(host, _SYNC), "", texts),
        operator_totals=operators.totals(host, device, launch, texts),
        annotation_totals=steps.totals(annotations, steps.on_gpu(annotations, device, launch, host_table), texts),
        step_list=steps.steps(annotations, texts, process.info.process, wanted_step),
        latencies_ns=latencies_ns,
        unlinked_kernels=len(kernel_launch) - len(latencies_ns),
        via_graph_launch=launches.via_graph(kernel_launch, host_table["name_id"], texts),
        unlinked=launches.unlinked_by_reason(launch, device),
        slices=counts,
        counters=_counter_count(process, begin_ns, end_ns),
    )


def _launches(device: Part, host_slices: int) -> Int64s:
    """The launch of each execution; one that a damaged host table no longer holds is none."""
    launch = device.column("launch")
    if len(launch) and int(launch.max()) >= host_slices:
        launch = np.where(launch < host_slices, launch, -1)
    return launch


def _slice_counts(device: Part, host: Part, annotations: Part) -> dict[str, int]:
    by_kind = np.bincount(np.maximum(host.column("kind"), -1) + 1, minlength=len(HOST_KINDS) + 1)[1:].tolist()
    counts = dict(zip(HOST_KINDS, by_kind, strict=True))
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
        keep = wanted[np.where((name_ids >= 0) & (name_ids < len(texts)), name_ids, -1)]
        host = host.where(keep)
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


def _devices(process: ProcessProfile, device: Part, begin_ns: int | None, end_ns: int | None) -> list[dict[str, Any]]:
    """The devices of a process that have slices or that it used, by index."""
    info = process.info
    windows_ns = utilization.windows_within(windows_of(process), begin_ns, end_ns)
    window_ns = sum(end - begin for begin, end in windows_ns)
    uses = {use.device: use for use in utilization.devices(device, windows_ns)}
    names = {entry.index: entry.name for entry in info.devices}
    rows = []
    for index in utilization.devices_of(process):
        use = uses.get(index)
        active_ns = use.active_ns if use else 0
        rows.append(
            {
                "host": info.host,
                "process": info.process,
                "device": index,
                "name": names.get(index, ""),
                "window_ns": window_ns,
                "active_ns": active_ns,
                "outside_window_ns": use.outside_window_ns if use else 0,
                "kernel_ns": use.kernel_ns if use else 0,
                "memcpy_ns": use.memcpy_ns if use else 0,
                "memset_ns": use.memset_ns if use else 0,
                "utilization": utilization.share(active_ns, window_ns),
                "streams": [
                    {"stream": stream.stream, "slices": stream.slices, "active_ns": stream.active_ns}
                    for stream in (use.streams if use else ())
                ],
            }
        )
    return rows


def windows_of(process: ProcessProfile) -> list[list[int]]:
    """When a process recorded: its windows; where none was recorded, first start to last end over its slices."""
    if process.info.windows_ns:
        return process.info.windows_ns
    edges = []
    for name in ("device", "host", "annotation"):
        table = process.table(name)
        if len(table):
            starts_ns = table["start_ns"]
            edges.append((int(starts_ns.min()), int((starts_ns + table["duration_ns"]).max())))
    return [[min(begin for begin, _ in edges), max(end for _, end in edges)]] if edges else []


def _document(profile: Profile, found: list[_Figures], begin_ns: int | None, end_ns: int | None) -> dict[str, Any]:
    devices = [device for figures in found for device in figures.devices]
    syncs = [_named_row(total) for total in kernels.merged(total for figures in found for total in figures.syncs)]
    records = kernels.merged(total for figures in found for total in figures.sync_records)
    kernel_totals = kernels.merged(total for figures in found for total in figures.kernel_totals)
    annotations = steps.merged(total for figures in found for total in figures.annotation_totals)
    operator_totals = operators.merged(total for figures in found for total in figures.operator_totals)
    return {
        "report": REPORT_VERSION,
        "profile": _profile_rows(profile, found, begin_ns, end_ns),
        "devices": devices,
        "kernels": [_kernel_row(total) for total in kernel_totals],
        "memory_ops": [asdict(copy) for copy in _merged_copies(found)],
        "syncs": syncs,
        "sync_records": [_named_row(total) for total in records],
        "latency": {"kernels": asdict(_latency(found))},
        "steps": _step_rows(profile, found),
        "annotations": [_annotation_row(total) for total in annotations],
        "ops": [asdict(total) for total in operator_totals],
        "activities": {
            **{key: sum(device[key] for device in devices) for key in ("kernel_ns", "memcpy_ns", "memset_ns")},
            "sync_ns": sum(row["total_ns"] for row in syncs),
        },
        "precision": {},
        "advice": [],
        "losses": _losses(profile, found),
    }


def _profile_rows(profile: Profile, found: list[_Figures], begin_ns: int | None, end_ns: int | None) -> dict[str, Any]:
    first_ns = profile.begin_ns if begin_ns is None else max(begin_ns, profile.begin_ns)
    last_ns = profile.end_ns if end_ns is None else min(end_ns, profile.end_ns)
    used_hosts = [process.info.host for process in profile.processes]
    return {
        "name": profile.manifest.name,
        "begin_ns": profile.begin_ns,
        "span_ns": max(last_ns - first_ns, 0),
        "hosts": list(dict.fromkeys([host.name for host in profile.manifest.hosts] + used_hosts)),
        "slices": {kind: sum(figures.slices[kind] for figures in found) for kind in SLICE_KINDS},
        "counters": sum(figures.counters for figures in found),
    }


def _kernel_row(total: kernels.NamedTotal) -> dict[str, Any]:
    return {
        "name": total.name,
        "count": total.count,
        "total_ns": total.total_ns,
        "min_ns": total.min_ns,
        "mean_ns": total.mean_ns,
        "max_ns": total.max_ns,
        "precision": None,
    }


def _latency(found: list[_Figures]) -> launches.Latency:
    latencies_ns = [figures.latencies_ns for figures in found]
    return launches.summary(
        np.concatenate(latencies_ns) if latencies_ns else np.empty(0, np.int64),
        sum(figures.unlinked_kernels for figures in found),
        sum(figures.via_graph_launch for figures in found),
    )


def _step_rows(profile: Profile, found: list[_Figures]) -> list[dict[str, Any]]:
    """Steps by start; their start counts from the profile's, as a range on the command line does."""
    rows = [step for figures in found for step in figures.step_list]
    rows.sort(key=lambda step: (step.start_ns, step.process, step.name))
    return [{**asdict(step), "start_ns": step.start_ns - profile.begin_ns} for step in rows]


def _merged_copies(found: list[_Figures]) -> list[kernels.CopyTotal]:
    by_kind: dict[str, kernels.CopyTotal] = {}
    for copy in (copy for figures in found for copy in figures.copies):
        entry = by_kind.setdefault(copy.kind, kernels.CopyTotal(copy.kind, 0, 0, 0))
        entry.count += copy.count
        entry.total_ns += copy.total_ns
        entry.bytes += copy.bytes
    return sorted(by_kind.values(), key=lambda copy: (-copy.total_ns, copy.kind))


def _named_row(total: kernels.NamedTotal) -> dict[str, Any]:
    return {"name": total.name, "count": total.count, "total_ns": total.total_ns}


def _annotation_row(total: steps.AnnotationTotal) -> dict[str, Any]:
    return {
        "name": total.name,
        "stem": total.stem,
        "count": total.count,
        "total_ns": total.total_ns,
        "mean_ns": total.mean_ns,
        "median_ns": total.median_ns,
        "max_ns": total.max_ns,
        "gpu_busy_ns": total.gpu_busy_ns,
        "gpu_span_ns": total.gpu_span_ns,
    }


def _losses(profile: Profile, found: list[_Figures]) -> list[dict[str, Any]]:
    """What the profile lost, and the executions without a launch, counted from the links themselves."""
    rows = [
        {"kind": loss.kind, "count": loss.count, "detail": loss.detail}
        for loss in profile.losses
        if loss.kind != "unlinked_execution" and loss.count > 0
    ]
    reasons: dict[str, int] = {}
    for figures in found:
        for reason, count in figures.unlinked.items():
            reasons[reason] = reasons.get(reason, 0) + count
    rows += [{"kind": "unlinked_execution", "count": count, "detail": reason} for reason, count in reasons.items()]
    return rows
