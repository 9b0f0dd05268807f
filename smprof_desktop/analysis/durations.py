"""How long the slices of one name take: bins of whole ns, with an example in each. Exact integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.analysis.area import id_column, ids_called, known, texts_by_id
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.analysis.statistics import MEDIAN, P99, divide, exact_sum, quantiles
from smprof_desktop.progress import CancelCheck, Cancelled, Progress, never, silent
from smprof_desktop.slice_ref import SliceRef

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

MAX_BINS = 60
LEAST_BINS = 5
CHUNK_ROWS = 1 << 20
KIND_COLUMNS = {"device": "kind", "host": "kind", "annotation": "side"}
"""What has to be alike besides the name: an operator is no Python frame, an annotation no copy of it on a device."""


@dataclass(frozen=True)
class Named:
    """The slices of one name and kind: process, position in `table` and duration of each, in the profile's order."""

    name: str
    table: str
    process: NDArray[np.int32]
    row: Int64s
    duration_ns: Int64s

    def __len__(self) -> int:
        return len(self.duration_ns)

    def ref(self, place: int) -> SliceRef:
        """The slice at a place."""
        return SliceRef(int(self.process[place]), self.table, int(self.row[place]))

    def holds(self, ref: SliceRef) -> bool:
        """Whether a slice is one of them."""
        if ref.table != self.table:
            return False
        first, behind = np.searchsorted(self.process, [ref.process, ref.process + 1])
        place = first + int(np.searchsorted(self.row[first:behind], ref.row))
        return bool(place < behind and self.row[place] == ref.row)


@dataclass(frozen=True)
class Bins:
    """Bin i holds the durations in [edges_ns[i], edges_ns[i + 1]): `counts` of them, the slice at `examples[i]` is one.

    Edges are whole ns as Python integers, each above the one before it. Where a bin is empty its example is -1.
    """

    edges_ns: tuple[int, ...]
    counts: tuple[int, ...]
    examples: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.counts)

    def bin_of(self, duration_ns: int) -> int:
        """The bin of a duration that lies in one."""
        return int(np.searchsorted(np.array(self.edges_ns[1:-1], np.int64), duration_ns, "right"))


@dataclass(frozen=True)
class Durations:
    """The durations of one name: what says it in short, and two ways to part them."""

    slices: Named
    least_ns: int
    median_ns: int
    mean_ns: int
    p99_ns: int
    greatest_ns: int
    linear: Bins
    logarithmic: Bins


def of_slice(
    profile: Profile, ref: SliceRef, everywhere: bool, progress: Progress = silent, cancelled: CancelCheck = never
) -> Durations:
    """The durations of all slices of a slice's name and kind: in its process, or `everywhere`. Raises Cancelled."""
    own = profile.processes[ref.process]
    name, kind = name_of(own, ref), own.table(ref.table).value(KIND_COLUMNS[ref.table], ref.row)
    chosen = range(len(profile.processes)) if everywhere else (ref.process,)
    processes: list[NDArray[np.int32]] = []
    rows: list[Int64s] = []
    durations: list[Int64s] = []
    for number, index in enumerate(chosen):
        progress(number / len(chosen), "looking for slices of that name")
        for found in _rows_named(profile.processes[index], ref.table, name, kind, cancelled):
            rows.append(found)
            processes.append(np.full(len(found), index, np.int32))
            durations.append(_at(profile.processes[index], ref.table, found))
    slices = Named(name, ref.table, np.concatenate(processes), np.concatenate(rows), np.concatenate(durations))
    return _told(slices)


def name_of(process: ProcessProfile, ref: SliceRef) -> str:
    """The exact name of a slice."""
    texts = texts_by_id(process, ref.table)
    return texts[
        int(known(process.table(ref.table).part(id_column(ref.table), ref.row, ref.row + 1), len(texts) - 1)[0])
    ]


def bins_of(durations_ns: Int64s, edges_ns: Sequence[int]) -> Bins:
    """Durations, all of them in [first edge, last edge), counted between edges that ascend."""
    place = np.searchsorted(np.array(edges_ns[1:-1], np.int64), durations_ns, "right")
    counts = np.bincount(place, minlength=len(edges_ns) - 1)
    examples = np.full(len(edges_ns) - 1, -1, np.int64)
    examples[place[::-1]] = np.arange(len(place) - 1, -1, -1)  # of several the last one written stays: the first slice
    return Bins(tuple(edges_ns), tuple(counts.tolist()), tuple(examples.tolist()))


def linear_edges(least_ns: int, greatest_ns: int, bins: int) -> list[int]:
    """Edges of at most `bins` bins of one whole width that hold all of least … greatest."""
    width_ns = -(-(greatest_ns - least_ns + 1) // bins)
    count = -(-(greatest_ns - least_ns + 1) // width_ns)
    return [least_ns + width_ns * number for number in range(count + 1)]


def logarithmic_edges(least_ns: int, greatest_ns: int, bins: int) -> list[int]:
    """Edges of at most `bins` bins, each about as many times as wide as the one before, of whole ns; 0 has its own."""
    edges = [least_ns] if least_ns else [0, 1]
    first_ns, behind_ns = max(least_ns, 1), greatest_ns + 1
    for number in range(1, bins):
        edge_ns = int(first_ns * (behind_ns / first_ns) ** (number / bins))
        if edges[-1] < edge_ns < behind_ns:
            edges.append(edge_ns)
    if edges[-1] < behind_ns:
        edges.append(behind_ns)
    return edges


def _told(slices: Named) -> Durations:
    durations_ns = slices.duration_ns
    least_ns, greatest_ns = int(durations_ns.min()), int(durations_ns.max())
    median_ns, p99_ns = quantiles(durations_ns, (MEDIAN, P99))
    assert median_ns is not None and p99_ns is not None
    bins = min(MAX_BINS, max(LEAST_BINS, round(len(durations_ns) ** 0.5)))
    return Durations(
        slices,
        least_ns,
        median_ns,
        divide(exact_sum(durations_ns), len(durations_ns)),
        p99_ns,
        greatest_ns,
        bins_of(durations_ns, linear_edges(least_ns, greatest_ns, bins)),
        bins_of(durations_ns, logarithmic_edges(least_ns, greatest_ns, bins)),
    )


def _rows_named(process: ProcessProfile, table: str, name: str, kind: int, cancelled: CancelCheck) -> list[Int64s]:
    called = ids_called(process, table, name)
    columns = process.table(table)
    found = []
    for first in range(0, len(columns) if called.any() else 0, CHUNK_ROWS):
        if cancelled():
            raise Cancelled
        behind = min(first + CHUNK_ROWS, len(columns))
        is_one = called[known(columns.part(id_column(table), first, behind), len(called) - 1)]
        is_one &= columns.part(KIND_COLUMNS[table], first, behind) == kind
        found.append(first + np.flatnonzero(is_one))
    return found


def _at(process: ProcessProfile, table: str, rows: Int64s) -> NDArray[Any]:
    return process.table(table).at("duration_ns", rows)
