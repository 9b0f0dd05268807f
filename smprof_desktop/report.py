"""The figures of a profile as one document, the contract of `report --json`; `text` shows it to people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from smprof.profile.manifest import ProfileError
from smprof.profile.schema import HOST_KINDS
from smprof_desktop.analysis import kernels, launches, ledger, names, operators, precision, steps, utilization
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.progress import CancelCheck, Progress, never, silent
from smprof_desktop.report_figures import DeviceFigures, Figures, Wanted, devices_of_profile, of_profile
from smprof_desktop.report_text import text

if TYPE_CHECKING:
    from smprof.profile.manifest import Loss
    from smprof.profile.reader import Profile

__all__ = ["Built", "build", "devices_alone", "text", "work_out"]

REPORT_VERSION = 1
SLICE_KINDS = ("device", *HOST_KINDS, "annotation")

_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True)
class Built:
    """A report, and what its devices did."""

    document: dict[str, Any]
    devices: list[DeviceFigures]
    """Each device, in the order of the report's, with its activity where bins were asked for."""
    unlike: dict[str, tuple[str, ...]]
    """Of the names in the document that stand in for others, which exact ones (see `names.exact_texts`)."""

    def exact(self, shown: Iterable[str]) -> frozenset[str]:
        """The exact names that the document shows as these."""
        return frozenset(name for text in shown for name in self.unlike.get(text, (text,)))


def build(
    profile: Profile,
    begin_ns: int | None = None,
    end_ns: int | None = None,
    step: str | None = None,
    progress: Progress = silent,
    cancelled: CancelCheck = never,
) -> dict[str, Any]:
    """The report of a profile, as `json.dumps` takes it.

    Args:
        profile: an open profile.
        begin_ns, end_ns: a range [begin_ns, end_ns) in ns of the profile's clock; None is no limit. Slices that overlap
            it count, with their times trimmed to it, and so do the windows. Bytes and latencies are those of the whole
            slice.
        step: the name, stem or pattern (`*`, `?`) of the annotations to take as steps, instead of those named like
            steps.
        progress: told after each process.
        cancelled: asked between the parts of each process.

    Raises:
        ProfileError: no annotation has the name or stem `step`, or the range is empty.
        Cancelled: soon after `cancelled` says so.
    """
    document = work_out(profile, begin_ns, end_ns, step, progress=progress, cancelled=cancelled).document
    if step is not None and not document["steps"]:
        raise ProfileError(
            f'No annotation is named "{names.readable(step)}" or has that stem; the report without --step lists all '
            "annotations."
        )
    return document


def work_out(
    profile: Profile,
    begin_ns: int | None = None,
    end_ns: int | None = None,
    step: str | None = None,
    edges_ns: Int64s | None = None,
    devices: Sequence[list[DeviceFigures]] | None = None,
    progress: Progress = silent,
    cancelled: CancelCheck = never,
) -> Built:
    """What `build` promises, and in the same pass the activity of each device in bins [edges_ns[i], edges_ns[i+1]).

    Where there is no such step there are none. `devices` are what `devices_alone` has found for the same, if it was
    asked before.
    """
    begin_ns, end_ns = _limits(profile, begin_ns, end_ns)
    found = of_profile(profile, Wanted(begin_ns, end_ns, step, edges_ns), progress, cancelled, devices)
    document = _document(profile, found, begin_ns, end_ns)
    unlike = _show_names(document)
    document["asked"] = {
        "begin_ns": None if begin_ns is None else begin_ns - profile.begin_ns,
        "end_ns": None if end_ns is None else end_ns - profile.begin_ns,
        "step": None if step is None else names.readable(step),
    }
    progress(1.0, "done")
    return Built(document, [device for figures in found for device in figures.devices], unlike)


def devices_alone(
    profile: Profile,
    begin_ns: int | None = None,
    end_ns: int | None = None,
    edges_ns: Int64s | None = None,
    cancelled: CancelCheck = never,
) -> list[list[DeviceFigures]]:
    """The devices of each process as `work_out` finds them, in a fraction of its time. Raises as `build` does."""
    begin_ns, end_ns = _limits(profile, begin_ns, end_ns)
    return devices_of_profile(profile, Wanted(begin_ns, end_ns, None, edges_ns), cancelled)


def _limits(profile: Profile, begin_ns: int | None, end_ns: int | None) -> tuple[int | None, int | None]:
    """The range without a limit that cuts no slice or window off, so that the whole profile reads as such.

    A collector's windows are wider than its slices: a limit outside of all slices may still cut a window. Raises
    ProfileError where the range is empty.
    """
    if begin_ns is not None and end_ns is not None and begin_ns >= end_ns:
        raise ProfileError("The range is empty: its end is not behind its beginning; give B:E with B below E.")
    windows = [window for process in profile.processes for window in process.info.windows_ns]
    if begin_ns is not None:
        first_ns = min([profile.begin_ns, *(begin for begin, _ in windows)])
        begin_ns = None if begin_ns <= first_ns else min(begin_ns, _INT64_MAX)
    if end_ns is not None:
        last_ns = max([profile.end_ns, *(end for _, end in windows)])
        end_ns = None if end_ns >= last_ns else max(end_ns, _INT64_MIN)
    return begin_ns, end_ns


def _document(profile: Profile, found: list[Figures], begin_ns: int | None, end_ns: int | None) -> dict[str, Any]:
    devices = [_device_row(device) for figures in found for device in figures.devices]
    syncs = [_named_row(total) for total in kernels.merged(total for figures in found for total in figures.syncs)]
    records = kernels.merged(total for figures in found for total in figures.sync_records)
    kernel_totals = kernels.merged(total for figures in found for total in figures.kernel_totals)
    kernel_rows = [_kernel_row(total) for total in kernel_totals]
    annotations = steps.merged(total for figures in found for total in figures.annotation_totals)
    operator_totals = operators.merged(total for figures in found for total in figures.operator_totals)
    return {
        "report": REPORT_VERSION,
        "profile": _profile_rows(profile, found, begin_ns, end_ns),
        "devices": devices,
        "kernels": kernel_rows,
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
        "precision": _time_by_precision(kernel_rows),
        "advice": [],
        "losses": [
            _loss_row(loss)
            for loss in ledger.entries(
                profile.losses,
                (figures.unlinked for figures in found),
                (loss for figures in found for loss in figures.untraced),
            )
        ],
    }


_NAMED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "kernels": lambda row: (-row["total_ns"], row["name"]),
    "syncs": lambda row: (-row["total_ns"], row["name"]),
    "sync_records": lambda row: (-row["total_ns"], row["name"]),
    "annotations": lambda row: (-row["total_ns"], row["name"]),
    "ops": lambda row: (-row["host_total_ns"], row["name"]),
    "steps": lambda row: (row["start_ns"], row["process"], row["name"]),
}
"""The tables with names of slices, and their order."""


def _show_names(document: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Put in place of each exact name what is shown of it; of what is shown so, the exact names."""
    shown = names.shown(
        row[key] for table in _NAMED for row in document[table] for key in ("name", "stem") if key in row
    )
    if not shown:
        return {}
    unlike: dict[str, tuple[str, ...]] = {}
    for exact, stand_in in shown.items():
        unlike[stand_in] = (*unlike.get(stand_in, ()), exact)
    for table, order in _NAMED.items():
        for row in document[table]:
            row.update({key: shown.get(row[key], row[key]) for key in ("name", "stem") if key in row})
        document[table].sort(key=order)
    return unlike


def _device_row(device: DeviceFigures) -> dict[str, Any]:
    use = device.use
    active_ns = use.active_ns if use else 0
    return {
        "host": names.readable(device.host),
        "process": names.readable(device.process),
        "device": device.device,
        "name": names.readable(device.name),
        "window_ns": device.window_ns,
        "active_ns": active_ns,
        "outside_window_ns": use.outside_window_ns if use else 0,
        "kernel_ns": use.kernel_ns if use else 0,
        "memcpy_ns": use.memcpy_ns if use else 0,
        "memset_ns": use.memset_ns if use else 0,
        "utilization": utilization.share(active_ns, device.window_ns),
        "streams": [
            {"stream": stream.stream, "slices": stream.slices, "active_ns": stream.active_ns}
            for stream in (use.streams if use else ())
        ],
    }


def _profile_rows(profile: Profile, found: list[Figures], begin_ns: int | None, end_ns: int | None) -> dict[str, Any]:
    first_ns = profile.begin_ns if begin_ns is None else max(begin_ns, profile.begin_ns)
    last_ns = profile.end_ns if end_ns is None else min(end_ns, profile.end_ns)
    all_hosts = [host.name for host in profile.manifest.hosts] + [process.info.host for process in profile.processes]
    return {
        "name": names.readable(profile.manifest.name),
        "begin_ns": profile.begin_ns,
        "span_ns": max(last_ns - first_ns, 0),
        "hosts": [names.readable(host) for host in dict.fromkeys(all_hosts)],
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
        "precision": precision.precision(total.name),
    }


def _time_by_precision(rows: list[dict[str, Any]]) -> dict[str, int]:
    """The kernel time of each precision that any kernel has, in the order of PRECISIONS: a plain sum."""
    times_ns: dict[str, int] = {}
    for row in rows:
        key = row["precision"] or precision.UNKNOWN
        times_ns[key] = times_ns.get(key, 0) + row["total_ns"]
    return {key: times_ns[key] for key in precision.PRECISIONS if key in times_ns}


def _latency(found: list[Figures]) -> launches.Latency:
    latencies_ns = [figures.latencies_ns for figures in found]
    return launches.summary(
        np.concatenate(latencies_ns) if latencies_ns else np.empty(0, np.int64),
        sum(figures.unlinked_kernels for figures in found),
        sum(figures.via_graph_launch for figures in found),
    )


def _step_rows(profile: Profile, found: list[Figures]) -> list[dict[str, Any]]:
    """Steps by start; their start counts from the profile's, as a range on the command line does."""
    rows = [step for figures in found for step in figures.step_list]
    rows.sort(key=lambda step: (step.start_ns, step.process, step.name))
    return [
        {
            "name": step.name,
            "process": names.readable(step.process),
            "start_ns": step.start_ns - profile.begin_ns,
            "duration_ns": step.duration_ns,
        }
        for step in rows
    ]


def _merged_copies(found: list[Figures]) -> list[kernels.CopyTotal]:
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


def _loss_row(loss: Loss) -> dict[str, Any]:
    return {"kind": loss.kind, "count": loss.count, "detail": names.readable(loss.detail)}
