"""From the figures of launches to the slices behind them. No Qt.

Each function takes what the figure was made for, then the profile and who cancels, as `doors.Door` wants it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import LOST_NAME, SLICE_TABLES
from smprof_desktop.analysis import latency_parts, launch_figures, names, queues
from smprof_desktop.analysis.doors import Found, of_moments, of_parts
from smprof_desktop.analysis.intervals import Int64s, ends_of
from smprof_desktop.progress import CancelCheck, Cancelled

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

Range = tuple[int | None, int | None]


def _each(profile: Profile, cancelled: CancelCheck) -> Iterator[tuple[int, ProcessProfile]]:
    for index, process in enumerate(profile.processes):
        if cancelled():
            raise Cancelled
        yield index, process


def _spans(process: int, rows: Int64s, starts_ns: Any, ends_ns: Any, table: str = "device") -> Found:
    """Slices with the span that counts of each, which may lie before the slice itself."""
    return Found(
        np.full(len(rows), process, np.int32),
        np.full(len(rows), SLICE_TABLES.index(table), np.int8),
        rows,
        np.asarray(starts_ns),
        np.asarray(ends_ns),
    )


def of_spans(process: int, row: int, begin_ns: int, end_ns: int, _profile: Profile, _cancelled: CancelCheck) -> Found:
    one = np.array([row], np.int64)
    return _spans(process, one, np.array([begin_ns], np.int64), np.array([end_ns], np.int64))


def of_bin(limits: Range, number: int, profile: Profile, cancelled: CancelCheck) -> Found:
    """The kernels whose latency lies in a bin, as `counts_per_bin` numbers them; what counts of each is the latency."""
    found = []
    for index, process in _each(profile, cancelled):
        parts = launch_figures.parts_of(process, *limits)
        mine = latency_parts.bins_of(parts.total_ns) == number
        launch_ns = process.table("host")["start_ns"][parts.launch[mine]]
        starts_ns = process.table("device")["start_ns"][parts.row[mine]]
        found.append(_spans(index, parts.row[mine], launch_ns, starts_ns))
    return Found.joined(found)


def of_part(limits: Range, part: str, profile: Profile, cancelled: CancelCheck) -> Found:
    """The kernels that have a part of latency, with a span as long as it is.

    Time in the queue may have gaps; its span begins where the call returned, and the overhead ends where the kernel
    starts.
    """
    found = []
    for index, process in _each(profile, cancelled):
        parts = launch_figures.parts_of(process, *limits)
        mine = np.flatnonzero(getattr(parts, f"{part}_ns"))
        length_ns = getattr(parts, f"{part}_ns")[mine]
        host, launch = process.table("host"), parts.launch[mine]
        launch_ns, starts_ns = host["start_ns"][launch], process.table("device")["start_ns"][parts.row[mine]]
        if part == "queued":
            returned_ns = ends_of(launch_ns, host["duration_ns"][launch])
            span = returned_ns, returned_ns + length_ns
        elif part == "overhead":
            span = starts_ns - length_ns, starts_ns
        else:
            span = launch_ns, launch_ns + length_ns
        found.append(_spans(index, parts.row[mine], *span))
    return Found.joined(found)


def of_short(limits: Range, name: str, profile: Profile, cancelled: CancelCheck) -> Found:
    found = []
    for index, process in _each(profile, cancelled):
        kernels = launch_figures.kernels_of(process, *limits)
        kernels = kernels.where(
            launch_figures.is_short(process, kernels, launch_figures.with_own_call(process, kernels))
        )
        ids = launch_figures.shape_name_ids(process, kernels.column("shape_id"))
        found.append(of_parts(index, "device", kernels.where(_is_named(process, ids, name))))
    return Found.joined(found)


def of_long(limits: Range, usual_ns: Mapping[str, int], profile: Profile, cancelled: CancelCheck) -> Found:
    found = []
    for index, process in _each(profile, cancelled):
        rows, _ = launch_figures.long_calls(process, *limits, usual_ns)
        host = process.table("host")
        starts_ns = host["start_ns"][rows]
        found.append(_spans(index, rows, starts_ns, ends_of(starts_ns, host["duration_ns"][rows]), "host"))
    return Found.joined(found)


def _waiting(limits: tuple[int, int], of: tuple[int, int, int], profile: Profile) -> list[queues.Waiting]:
    process = profile.processes[of[0]]
    every = queues.waiting(process.table("device"), process.table("host"), *limits)
    return [one for one in every if (one.device, one.stream) == of[1:]]


def of_queue(limits: tuple[int, int], of: tuple[int, int, int], profile: Profile, _cancelled: CancelCheck) -> Found:
    """The executions of a stream, each with the time from its launch to its end."""
    return Found.joined(
        _spans(of[0], one.row, one.launched_ns, one.finished_ns) for one in _waiting(limits, of, profile)
    )


def of_full(
    limits: tuple[int, int], of: tuple[int, int, int], full: int, profile: Profile, _cancelled: CancelCheck
) -> Found:
    """The moments in which the queue of a stream was full."""
    return Found.joined(of_moments(of[0], *queues.full_moments(one, full)) for one in _waiting(limits, of, profile))


def _is_named(process: ProcessProfile, name_ids: NDArray[Any], name: str) -> NDArray[np.bool_]:
    texts = names.exact_texts(process)
    wanted = np.array([text == name for text in texts] + [name == LOST_NAME])
    result: NDArray[np.bool_] = wanted[np.where((name_ids >= 0) & (name_ids < len(texts)), name_ids, len(texts))]
    return result
