"""A range of time of some processes of a profile, as a profile of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.manifest import Device, Loss, Manifest, Process, ProfileError
from smprof.profile.reader import ProcessProfile, Profile
from smprof.profile.schema import LOST_NAME, NONE, TABLES
from smprof.profile.writer import ProcessWriter, ProfileWriter, free_folder
from smprof_desktop.atomic import Work, new_folder
from smprof_desktop.exporters import arguments
from smprof_desktop.exporters.redaction import Redactor
from smprof_desktop.exporters.selection import KEPT_TABLES, Selection, counts, new_positions, select
from smprof_desktop.progress import CancelCheck, Cancelled, Progress, never, silent

I64 = NDArray[np.int64]

_WORKED_OUT = frozenset(("id", "row", "depth", "launch", "op"))
_ARGS_AT_ONCE = 1_000_000
_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1


@dataclass
class _Job:
    """What one excerpt is to hold."""

    begin_ns: int | None
    end_ns: int | None
    redactor: Redactor
    work: Work
    cancelled: CancelCheck


def write_excerpt(
    profile: Profile,
    out: Path,
    begin_ns: int | None = None,
    end_ns: int | None = None,
    processes: Sequence[ProcessProfile] | None = None,
    redactor: Redactor | None = None,
    progress: Progress = silent,
    cancelled: CancelCheck = never,
) -> Path:
    """Write a part of a profile as a profile into the new or empty folder `out`; gives `out`.

    Slices that overlap the range stay whole, so that their durations stay true. Some from outside it come with them:
    launches of kept executions, executions of kept launches, and the operators that these were made in or for
    (`selection.select`). Lines, links and ladder are worked out anew, so a slice can stand on another line than before.
    What is left out is no loss: it is counted under `excerpt` in each process's metadata and in the sources.

    Args:
        profile: an open profile; one process of it is held in memory at a time.
        out: written beside its place and renamed at the end.
        begin_ns, end_ns: the range [begin_ns, end_ns), in ns of the profile's clock; None is no limit.
        processes: those of the profile to keep; None keeps all.
        redactor: takes out what is private; None keeps everything as it is.
        progress: told after each process.
        cancelled: asked before each process and between its tables.

    Raises:
        ProfileError: `out` is taken or cannot be written, or nothing was recorded in the range.
        Cancelled: nothing half-written is left.
    """
    redactor = Redactor(keep=True) if redactor is None else redactor
    chosen = profile.processes if processes is None else tuple(processes)
    with new_folder(out) as work:
        manifest = _write(profile, chosen, _Job(begin_ns, end_ns, redactor, work, cancelled), progress)
        manifest.write(work.whole)
        if cancelled():
            raise Cancelled
    progress(1.0, "exported")
    return out


def _write(profile: Profile, chosen: Sequence[ProcessProfile], job: _Job, progress: Progress) -> Manifest:
    """Write the processes below the work folder; the manifest that names them."""
    ledger = list(profile.manifest.losses)
    for process in profile.processes:
        if process not in chosen:
            ledger = [loss for loss in ledger if not _is_of(loss, process.info)]
    manifest = job.redactor.manifest(replace(profile.manifest, losses=ledger))
    manifest.hosts = _hosts(manifest, chosen, job.redactor)
    left_out = dict.fromkeys(KEPT_TABLES, 0)
    recorded = False
    for index, process in enumerate(profile.processes):
        if job.cancelled():
            raise Cancelled
        progress(index / len(profile.processes), f"writing process {process.info.process}")
        source = process.unread()
        selection = select(source, job.begin_ns, job.end_ns) if process in chosen else None
        missing = counts(source, selection)
        left_out = {name: left_out[name] + missing[name] for name in KEPT_TABLES}
        if selection is not None:
            recorded |= selection.recorded
            info = _info(source, job, missing)
            info.folder = free_folder(info, {other.folder for other in manifest.processes})
            _write_process(source, selection, info, job)
            manifest.processes.append(info)
            for loss in source.losses:
                manifest.lose(loss.kind, loss.count, job.redactor.loss(loss).detail)
    if not recorded and (job.begin_ns is not None or job.end_ns is not None):
        raise ProfileError("Nothing was recorded in that range; give B:E in ns from the profile's start.")
    if job.begin_ns is not None or job.end_ns is not None or len(chosen) < len(profile.processes):
        entry: dict[str, Any] = {"name": manifest.name, "format": "excerpt of a profile"}
        processes_left_out = len(profile.processes) - len(chosen)
        entry["excerpt"] = {
            "begin_ns": job.begin_ns,
            "end_ns": job.end_ns,
            "left_out": {"processes": processes_left_out, **left_out},
        }
        manifest.sources.append(entry)
    return manifest


def _is_of(loss: Loss, info: Process) -> bool:
    """Whether a line of the ledger is about that process, as `ProcessWriter.lose` writes it."""
    where = f"{info.host}, process {info.process}"
    return loss.detail == where or loss.detail.startswith(f"{where}: ")


def _hosts(manifest: Manifest, chosen: Sequence[ProcessProfile], redactor: Redactor) -> list[Any]:
    used = {redactor.host(process.info.host) for process in chosen}
    return [host for host in manifest.hosts if host.name in used]


def _info(process: ProcessProfile, job: _Job, left_out: dict[str, int]) -> Process:
    """The facts about a kept process: its windows clipped to the range, and how much of it is left out."""
    info = job.redactor.process(process.info)
    low = _INT64_MIN if job.begin_ns is None else job.begin_ns
    high = _INT64_MAX if job.end_ns is None else job.end_ns
    windows = [[max(begin, low), min(end, high)] for begin, end in info.windows_ns or _span(process)]
    info.windows_ns = [window for window in windows if window[0] < window[1]]
    if not info.windows_ns and windows:
        # It did not record in the range. No window at all would mean that nobody knows.
        moment_ns = high if job.begin_ns is None else low
        info.windows_ns = [[moment_ns, moment_ns]]
    if job.begin_ns is None and job.end_ns is None:
        return info
    used = set(np.unique(process.table("device")["device"]).tolist()) - {NONE}
    listed = {device.index: device for device in info.devices}
    for index in used:
        # What ran before or after the range is not there to tell that the device was used.
        listed.setdefault(index, Device(index)).used = True
    info.devices = [listed[index] for index in sorted(listed)]
    info.metadata["excerpt"] = {"begin_ns": job.begin_ns, "end_ns": job.end_ns, "left_out": left_out}
    return info


def _span(process: ProcessProfile) -> list[list[int]]:
    """First start to last end: the window of a process that names none."""
    rows = process.table("lane_rows")
    return [[int(rows["begin_ns"].min()), int(rows["end_ns"].max())]] if len(rows) else []


def _write_process(process: ProcessProfile, selection: Selection, info: Process, job: _Job) -> None:
    """Write one process in a profile of its own, and move its folder to the others."""
    part, folder = job.work.aside / "part", info.folder
    writer = ProfileWriter(part, Manifest(), segment_rows=None)
    target = writer.process(info)
    names = _Names(process, target, job.redactor)
    for table in KEPT_TABLES:
        if job.cancelled():
            raise Cancelled
        rows = selection.rows[table]
        ids = target.append(table, _columns(process, table, rows, names))
        _write_args(process, table, new_positions(len(process.table(table)), rows, ids), target, job.redactor)
    if job.cancelled():
        raise Cancelled
    writer.finish()
    (job.work.whole / folder).parent.mkdir(parents=True, exist_ok=True)
    os.replace(part / folder, job.work.whole / folder)
    shutil.rmtree(part)


class _Names:
    """Names and launch shapes of one process in the order they are first used in the excerpt."""

    def __init__(self, process: ProcessProfile, target: ProcessWriter, redactor: Redactor) -> None:
        self._process = process
        self._target = target
        self._redactor = redactor

    def ids(self, old: NDArray[Any]) -> NDArray[np.int32]:
        """New name ids; a name that is lost stays so."""
        used, where = np.unique(old, return_inverse=True)
        new = [self._target.name_id(self._text(name_id)) for name_id in used.tolist()]
        return np.array(new, np.int32)[where]

    def shape_ids(self, old: NDArray[Any]) -> NDArray[np.int32]:
        """New ids of launch shapes."""
        shapes = self._process.table("shapes")
        used, where = np.unique(old, return_inverse=True)
        known = used[(used >= 0) & (used < len(shapes))]
        columns = [self.ids(shapes["name_id"][known]).tolist()]
        for column in TABLES["shapes"][2:]:
            values = shapes[column.name][known].tolist()
            columns.append([None if value in (NONE,) or value != value else value for value in values])
        new = {}
        for old_id, shape in zip(known.tolist(), zip(*columns, strict=True), strict=True):
            name_id, *rest = shape
            grid, block = _extent(rest[0:3]), _extent(rest[3:6])
            new[old_id] = self._target.shape_id(name_id, grid, block, *rest[6:])
        if len(known) < len(used):
            lost = self._target.shape_id(self._target.name_id(LOST_NAME))
            new |= {old_id: lost for old_id in used.tolist() if old_id not in new}
        return np.array([new[old_id] for old_id in used.tolist()], np.int32)[where]

    def _text(self, name_id: int) -> str | bytes:
        names = self._process.names
        if not 0 <= name_id < len(names):
            return LOST_NAME
        kept = self._process.table("names").arrow("raw")[name_id].as_py()
        if kept is None:
            return self._redactor.name(names.text(name_id))
        try:
            # Lone surrogates: valid text but for them.
            return self._redactor.name(kept.decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            text = self._redactor.name(kept.decode("utf-8", "surrogateescape"))
            return text.encode("utf-8", "surrogateescape")


def _extent(sizes: list[int | None]) -> list[int] | None:
    return None if sizes[0] is None else [1 if size is None else size for size in sizes]


def _columns(process: ProcessProfile, table: str, rows: I64, names: _Names) -> dict[str, Any]:
    source = process.table(table)
    whole = len(rows) == len(source)
    columns: dict[str, Any] = {}
    for column in TABLES[table]:
        if column.name not in _WORKED_OUT:
            values = source[column.name] if whole else source[column.name][rows]
            if column.name == "name_id":
                values = names.ids(values)
            elif column.name == "shape_id":
                values = names.shape_ids(values)
            columns[column.name] = values
    return columns


def _write_args(process: ProcessProfile, table: str, new_ids: I64, target: ProcessWriter, redactor: Redactor) -> None:
    """Write the arguments of the rows that have a new id."""
    args = process.table("args")
    if not len(args):
        return
    first, behind = arguments.stretch_of(process, table)
    for begin in range(first, behind, _ARGS_AT_ONCE):
        old = args["id"][begin : min(begin + _ARGS_AT_ONCE, behind)]
        new = np.where((old >= 0) & (old < len(new_ids)), new_ids[np.clip(old, 0, max(len(new_ids) - 1, 0))], NONE)
        kept = np.flatnonzero(new >= 0)
        if len(kept):
            keys, integers, texts = arguments.columns(process, kept + begin, redactor)
            code = np.full(len(kept), arguments.TABLES.index(table), np.int8)
            columns = {"table": code, "key": keys, "id": new[kept], "integer": integers, "text": texts}
            target.append("args", columns)
