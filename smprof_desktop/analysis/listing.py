"""What a figure sums as the rows of a table: each slice with its name and its lane, in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import LOSS_KINDS, LOST_NAME, SIDES, SLICE_TABLES
from smprof_desktop.analysis.doors import NO_SLICE, Found
from smprof_desktop.analysis.names import readable
from smprof_desktop.analysis.sections import thread_text
from smprof_desktop.progress import CancelCheck, Cancelled, never

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

NO_SLICE_NAME = "(no slice)"
NO_LANE = "–"
OF_OTHER_THINGS = frozenset(
    ("gap_value", "flow", "instant", "unshown_record", "unknown_phase", "invalid_text", "missing_names")
)
"""Losses that change no duration and no count of slices."""
OF_EXECUTIONS = frozenset(
    (
        "unplaced_slice",
        "unlinked_execution",
        "missing_executions",
        "early_execution",
        "outside_session",
        "untraced_iterations",
    )
)


@dataclass(frozen=True, eq=False)
class Listing:
    """Found slices with what is told of each: `name` indexes `names`, `lane` indexes `lanes`, `process` `processes`."""

    found: Found
    name: NDArray[np.int32]
    names: tuple[str, ...]
    lane: NDArray[np.int32]
    lanes: tuple[str, ...]
    processes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.found)


def listed(profile: Profile, found: Found, cancelled: CancelCheck = never) -> Listing:
    """Names and lanes of found slices. Raises Cancelled."""
    codes: dict[str, int] = {}
    places: dict[str, int] = {}
    name, lane = np.zeros(len(found), np.int32), np.zeros(len(found), np.int32)
    moments = np.flatnonzero(found.table == NO_SLICE)
    if len(moments):
        name[moments], lane[moments] = _code(codes, NO_SLICE_NAME), _code(places, NO_LANE)
    for index, process in enumerate(profile.processes):
        of_process = np.flatnonzero(found.process == index) if len(profile.processes) > 1 else np.arange(len(found))
        for number, table in enumerate(SLICE_TABLES):
            if cancelled():
                raise Cancelled
            mine = of_process[found.table[of_process] == number]
            if not len(mine):
                continue
            rows = found.row[mine]
            ids, which = np.unique(_name_ids(process, table, rows), return_inverse=True)
            texts = [_text(process, int(name_id)) for name_id in ids]
            name[mine] = np.array([_code(codes, text) for text in texts], np.int32)[which.ravel()]
            titles, which = _lanes(process, table, rows)
            lane[mine] = np.array([_code(places, title) for title in titles], np.int32)[which]
    processes = tuple(_title(process) for process in profile.processes)
    return Listing(found, name, tuple(codes), lane, tuple(places), processes)


def bearing(losses: Sequence[Mapping[str, Any]], found: Found) -> list[str]:
    """Of a report's losses those that may change what was found, as `12 × an event without a readable start time`."""
    has_executions = bool((found.table == SLICE_TABLES.index("device")).any() or (found.table == NO_SLICE).any())
    return [
        f"{loss['count']:,} × {LOSS_KINDS.get(loss['kind'], loss['kind'])}"
        for loss in losses
        if loss["kind"] not in OF_OTHER_THINGS and (has_executions or loss["kind"] not in OF_EXECUTIONS)
    ]


def _code(codes: dict[str, int], text: str) -> int:
    return codes.setdefault(text, len(codes))


def _text(process: ProcessProfile, name_id: int) -> str:
    return process.names.text(name_id) if 0 <= name_id < len(process.names) else LOST_NAME


def _name_ids(process: ProcessProfile, table: str, rows: NDArray[np.int64]) -> NDArray[Any]:
    columns = process.table(table)
    if table != "device":
        return columns.at("name_id", rows)
    names = np.append(process.table("shapes")["name_id"], -1)
    shape_ids = columns.at("shape_id", rows)
    known = (shape_ids >= 0) & (shape_ids < len(names) - 1)
    result: NDArray[Any] = names[np.where(known, shape_ids, len(names) - 1)]
    return result


def _lanes(process: ProcessProfile, table: str, rows: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """The titles of the lanes that the rows stand in, and which of them each row's is."""
    columns = process.table(table)
    on_device = np.ones(len(rows), bool) if table == "device" else np.zeros(len(rows), bool)
    if table == "annotation":
        on_device = columns.at("side", rows) == SIDES.index("device")
    titles: list[str] = []
    which = np.zeros(len(rows), np.int64)
    streams = np.flatnonzero(on_device)
    if len(streams):
        device = columns.at("device", rows[streams]).astype(np.int64)
        stream = columns.at("stream", rows[streams])
        order = np.lexsort((stream, device))
        is_first = np.append(True, (np.diff(device[order]) != 0) | (np.diff(stream[order]) != 0))
        which[streams[order]] = np.cumsum(is_first) - 1
        firsts = order[is_first]
        titles = [f"GPU-{d}, stream {s}" for d, s in zip(device[firsts].tolist(), stream[firsts].tolist(), strict=True)]
    others = np.flatnonzero(~on_device)
    if len(others):
        threads, found = np.unique(columns.at("thread", rows[others]), return_inverse=True)
        which[others] = found.ravel() + len(titles)
        texts = [thread_text(process, int(thread)) for thread in threads]
        titles += [text if text.startswith("thread") else f"thread {text}" for text in texts]
    return titles, which


def _title(process: ProcessProfile) -> str:
    return f"{readable(process.info.host)} · {readable(process.info.process)}"
