"""Doors: from a figure to exactly the slices, or the moments without one, that sum to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import DEVICE_KINDS, HOST_KINDS, LOST_NAME, SIDES, SLICE_TABLES
from smprof_desktop.analysis import names
from smprof_desktop.analysis.executions import Part, part
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.analysis.statistics import exact_sum
from smprof_desktop.progress import CancelCheck, Cancelled, never
from smprof_desktop.slice_ref import SliceRef

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

_CHOICES = {"device": DEVICE_KINDS, "host": HOST_KINDS, "annotation": SIDES}
_KIND_COLUMN = {"device": "kind", "host": "kind", "annotation": "side"}
NO_SLICE = -1


@dataclass(frozen=True, eq=False)
class Found:
    """What a figure sums, by start: columns of equal length.

    `table` indexes SLICE_TABLES; NO_SLICE is a moment without a slice, such as idle time, and has `row` NO_SLICE.
    [start_ns, end_ns) is the part that counts: trimmed to the range.
    """

    process: NDArray[np.int32]
    table: NDArray[np.int8]
    row: Int64s
    start_ns: Int64s
    end_ns: Int64s

    def __len__(self) -> int:
        return len(self.row)

    @property
    def total_ns(self) -> int:
        """The sum of what counts of each."""
        return exact_sum(self.end_ns - self.start_ns)

    def ref(self, index: int) -> SliceRef | None:
        """The slice at a position; None for a moment without one."""
        table = int(self.table[index])
        return (
            None if table == NO_SLICE else SliceRef(int(self.process[index]), SLICE_TABLES[table], int(self.row[index]))
        )

    @staticmethod
    def joined(parts: Iterable[Found]) -> Found:
        """All of them, by start; ties as given."""
        every = list(parts)
        if not every:
            none = np.zeros(0, np.int64)
            return Found(none.astype(np.int32), none.astype(np.int8), none, none, none)
        columns = [
            np.concatenate([getattr(p, name) for p in every])
            for name in ("process", "table", "row", "start_ns", "end_ns")
        ]
        order = np.argsort(columns[3], kind="stable")
        return Found(*(column[order] for column in columns))


Find = Callable[["Profile", CancelCheck], Found]


@dataclass(frozen=True, eq=False)
class Door:
    """Where a figure leads: its title, and what finds the slices, on a task's thread. May raise Cancelled.

    `basis` names the denominator of the figure.
    """

    title: str
    find: Find
    basis: str = ""


@dataclass(frozen=True)
class Chosen:
    """Slices by what they are: of one table, all conditions together; empty ones ask nothing.

    `names` are exact (`names.exact_texts`). Durations are in [least_ns, most_ns], after they are trimmed to the range
    [begin_ns, end_ns).
    """

    table: str
    kinds: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    processes: tuple[int, ...] = ()
    devices: tuple[int, ...] = ()
    copy_kinds: tuple[int, ...] = ()
    """Indexes into COPY_KINDS, -1 for none recorded."""
    name_like: Callable[[str], bool] | None = field(default=None, compare=False)
    least_ns: int | None = None
    most_ns: int | None = None
    begin_ns: int | None = None
    end_ns: int | None = None

    def door(self, title: str, basis: str = "") -> Door:
        """The door to these slices."""
        return Door(title, partial(_find, self), basis)


def of_parts(process: int, table: str, found: Part) -> Found:
    """The rows of a part."""
    count = len(found)
    return Found(
        np.full(count, process, np.int32),
        np.full(count, SLICE_TABLES.index(table), np.int8),
        found.positions(),
        found.start_ns,
        found.end_ns,
    )


def of_moments(process: int, starts_ns: Int64s, ends_ns: Int64s) -> Found:
    """Moments of a process without a slice."""
    count = len(starts_ns)
    return Found(
        np.full(count, process, np.int32),
        np.full(count, NO_SLICE, np.int8),
        np.full(count, NO_SLICE, np.int64),
        starts_ns,
        ends_ns,
    )


def _find(chosen: Chosen, profile: Profile, cancelled: CancelCheck = never) -> Found:
    parts = []
    for index, process in enumerate(profile.processes):
        if cancelled():
            raise Cancelled
        if chosen.processes and index not in chosen.processes:
            continue
        found = part(process.table(chosen.table), chosen.begin_ns, chosen.end_ns)
        if len(found):
            parts.append(of_parts(index, chosen.table, found.where(_matches(chosen, process, found))))
    return Found.joined(parts)


def _matches(chosen: Chosen, process: ProcessProfile, found: Part) -> NDArray[np.bool_]:
    keep = np.ones(len(found), bool)
    if chosen.kinds:
        wanted = [_CHOICES[chosen.table].index(kind) for kind in chosen.kinds]
        keep &= np.isin(found.column(_KIND_COLUMN[chosen.table]), wanted)
    if chosen.devices:
        keep &= np.isin(found.column("device"), chosen.devices)
    if chosen.copy_kinds:
        keep &= np.isin(found.column("copy_kind"), chosen.copy_kinds)
    if chosen.least_ns is not None or chosen.most_ns is not None:
        duration_ns = found.end_ns - found.start_ns
        keep &= duration_ns >= (chosen.least_ns if chosen.least_ns is not None else 0)
        if chosen.most_ns is not None:
            keep &= duration_ns <= chosen.most_ns
    if chosen.names or chosen.name_like is not None:
        keep &= _is_named(chosen, process, found)
    return keep


def _is_named(chosen: Chosen, process: ProcessProfile, found: Part) -> NDArray[np.bool_]:
    texts = names.exact_texts(process)
    like = chosen.name_like
    wanted = np.array(
        [(not chosen.names or text in chosen.names) and (like is None or like(text)) for text in texts] + [False]
    )
    wanted[-1] = LOST_NAME in chosen.names
    if chosen.table == "device":
        shape_names = np.append(process.table("shapes")["name_id"], NO_SLICE)
        shape_ids = found.column("shape_id")
        known = (shape_ids >= 0) & (shape_ids < len(shape_names) - 1)
        name_ids = shape_names[np.where(known, shape_ids, len(shape_names) - 1)]
    else:
        name_ids = found.column("name_id")
    result: NDArray[np.bool_] = wanted[np.where((name_ids >= 0) & (name_ids < len(texts)), name_ids, len(texts))]
    return result
