"""The columns of one process that lie in a range of time: what every figure of a report is worked out from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.analysis.intervals import Int64s, ends_of, overlapping


class Columns(Protocol):
    """A table: its columns by name, all of one length."""

    def __len__(self) -> int: ...
    def __getitem__(self, column: str) -> NDArray[Any]: ...


@dataclass(frozen=True)
class Part:
    """The rows of one slice table that overlap [begin_ns, end_ns), their times trimmed to it.

    Without a range it is the whole table, and its columns are not copied.
    """

    table: Columns
    rows: Int64s | slice
    """Positions in the table, ascending; a slice where they are a stretch of it."""
    start_ns: Int64s
    end_ns: Int64s

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def duration_ns(self) -> Int64s:
        """The trimmed durations."""
        if isinstance(self.rows, slice):
            return self.column("duration_ns")
        return self.end_ns - self.start_ns

    def column(self, name: str) -> NDArray[Any]:
        """A column of these rows, as recorded."""
        return self.table[name][self.rows]

    def positions(self) -> Int64s:
        """Where the rows stand in the table."""
        return np.arange(len(self.table), dtype=np.int64)[self.rows]

    def between(self, first: int, behind: int) -> Part:
        """Rows `first` up to `behind` of this part."""
        if isinstance(self.rows, slice):
            rows: Int64s | slice = slice(self.rows.start + first, self.rows.start + behind)
        else:
            rows = self.rows[first:behind]
        return Part(self.table, rows, self.start_ns[first:behind], self.end_ns[first:behind])

    def where(self, keep: NDArray[np.bool_]) -> Part:
        """The rows of this part for which `keep` is true."""
        if keep.all():
            return self
        kept = np.flatnonzero(keep)
        rows = kept + self.rows.start if isinstance(self.rows, slice) else self.rows[kept]
        return Part(self.table, rows, self.start_ns[kept], self.end_ns[kept])


def part(table: Columns, begin_ns: int | None = None, end_ns: int | None = None) -> Part:
    """The rows of a slice table inside a range of time; None is no limit."""
    start_ns = table["start_ns"]
    finish_ns = ends_of(start_ns, table["duration_ns"])
    if begin_ns is None and end_ns is None:
        return Part(table, slice(0, len(start_ns)), start_ns, finish_ns)
    begin_ns = int(np.iinfo(np.int64).min) if begin_ns is None else begin_ns
    if not len(start_ns) or (
        int(start_ns.min()) >= begin_ns
        and (end_ns is None or (int(start_ns.max()) < end_ns and int(finish_ns.max()) <= end_ns))
    ):
        return Part(table, slice(0, len(start_ns)), start_ns, finish_ns)  # the range holds all of it
    rows = np.flatnonzero(overlapping(start_ns, finish_ns, begin_ns, end_ns))
    limit_ns = int(np.iinfo(np.int64).max) if end_ns is None else end_ns
    trimmed_start_ns = np.maximum(start_ns[rows], begin_ns)
    return Part(table, rows, trimmed_start_ns, np.maximum(np.minimum(finish_ns[rows], limit_ns), trimmed_start_ns))


def blocks(*keys: NDArray[Any]) -> list[tuple[int, int]]:
    """[first, behind) of each run of rows with equal keys: in a sorted table a device, a stream or a thread."""
    if not len(keys[0]):
        return []
    changed = np.zeros(len(keys[0]) - 1, bool)
    for key in keys:
        changed |= key[1:] != key[:-1]
    edges = [0, *(np.flatnonzero(changed) + 1).tolist(), len(keys[0])]
    return list(pairwise(edges))
