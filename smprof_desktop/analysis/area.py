"""Totals of an area of the timeline, some lanes within [begin_ns, end_ns), by name and by lane. Exact integers.

Slices of one lane row are sorted and do not overlap: those of a window are found by two searches, and only the first
and the last of them reach out of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import LOST_NAME, SLICE_TABLES
from smprof_desktop.analysis import intervals, names
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.analysis.statistics import divide
from smprof_desktop.progress import CancelCheck, Cancelled, Progress, never, silent
from smprof_desktop.slice_ref import SliceRef

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

THREADS = 2
CHUNK_ROWS = 1 << 20
"""Slices looked at between two looks at whether to go on."""


class LaneRow(NamedTuple):
    """Positions [begin_row, end_row) of a slice table of one process: sorted slices that do not overlap."""

    process: int
    table: str
    begin_row: int
    end_row: int


@dataclass(frozen=True)
class LaneRows:
    """A lane and the rows that it consists of."""

    key: str
    rows: tuple[LaneRow, ...]


@dataclass
class NameTotal:
    """The slices of one name in one table. `total_ns` is trimmed to the area; the others are of full durations."""

    name: str
    table: str
    count: int
    total_ns: int
    full_ns: int
    min_ns: int
    max_ns: int

    @property
    def mean_ns(self) -> int:
        """Mean of the full durations to the nearest ns, halves to even."""
        return divide(self.full_ns, self.count)

    def add(self, other: NameTotal) -> None:
        """Take in the slices of the same name from elsewhere."""
        self.count += other.count
        self.total_ns += other.total_ns
        self.full_ns += other.full_ns
        self.min_ns = min(self.min_ns, other.min_ns)
        self.max_ns = max(self.max_ns, other.max_ns)


@dataclass(frozen=True)
class LaneTotal:
    """A lane: how many of its slices touch the area, and how long any of them runs in it."""

    key: str
    count: int
    busy_ns: int


@dataclass(frozen=True)
class Totals:
    """What an area holds. Names by total descending, then name; lanes in the order in which they were asked for."""

    begin_ns: int
    end_ns: int
    names: tuple[NameTotal, ...]
    lanes: tuple[LaneTotal, ...]

    @property
    def length_ns(self) -> int:
        """How long the area is."""
        return self.end_ns - self.begin_ns

    @property
    def count(self) -> int:
        """How many slices touch it."""
        return sum(lane.count for lane in self.lanes)

    @property
    def lanes_ns(self) -> int:
        """Its length times the number of its lanes: what shares of totals are of."""
        return self.length_ns * len(self.lanes)


def lane_rows_of(profile: Profile, key: str, rows: Sequence[tuple[int, int]]) -> LaneRows:
    """The rows of a lane that stand in `lane_rows`, each by process and `lane_rows.id`."""
    found = []
    for process, lane_row in rows:
        table = profile.processes[process].table("lane_rows")
        name = SLICE_TABLES[int(table["table"][lane_row])]
        # What a damaged or foreign file says is held to what the table holds.
        most = len(profile.processes[process].table(name))
        begin = min(max(int(table["begin_row"][lane_row]), 0), most)
        found.append(LaneRow(process, name, begin, min(max(int(table["end_row"][lane_row]), begin), most)))
    return LaneRows(key, tuple(found))


def totals(
    profile: Profile,
    lanes: Sequence[LaneRows],
    begin_ns: int,
    end_ns: int,
    progress: Progress = silent,
    cancelled: CancelCheck = never,
) -> Totals:
    """The totals of some lanes within [begin_ns, end_ns). A slice of no length counts where it starts.

    Raises Cancelled.
    """
    by_process: dict[int, list[int]] = {}
    for number, lane in enumerate(lanes):
        by_process.setdefault(lane.rows[0].process if lane.rows else 0, []).append(number)
    found: dict[int, LaneTotal] = {}
    named: list[list[NameTotal]] = []
    with ThreadPoolExecutor(THREADS) as pool:  # reading and searching let go of the interpreter
        parts = [
            pool.submit(
                _of_lanes, profile, [(number, lanes[number]) for number in numbers], begin_ns, end_ns, cancelled
            )
            for numbers in by_process.values()
        ]
        for part in as_completed(parts):
            lane_totals, name_totals = part.result()
            found.update(lane_totals)
            named.append(name_totals)
            progress(len(named) / len(parts), "adding up the area")
    return Totals(begin_ns, end_ns, _merged(named), tuple(found[number] for number in range(len(lanes))))


def longest(
    profile: Profile, lanes: Sequence[LaneRows], begin_ns: int, end_ns: int, wanted: NameTotal, cancelled: CancelCheck
) -> SliceRef | None:
    """The longest slice of a name among those that touch the area; of equals the first by start. Raises Cancelled."""
    best: tuple[int, int] | None = None
    found: SliceRef | None = None
    ids: dict[int, NDArray[np.bool_]] = {}
    for row in (row for lane in lanes for row in lane.rows if row.table == wanted.table):
        if cancelled():
            raise Cancelled
        process = profile.processes[row.process]
        low, high = window(process, row, begin_ns, end_ns)
        if row.process not in ids:
            ids[row.process] = ids_called(process, row.table, wanted.name)
        if low == high or not ids[row.process].any():
            continue
        column = id_column(row.table)
        called = ids[row.process]
        rows = np.flatnonzero(called[known(process.table(row.table).part(column, low, high), len(called) - 1)])
        if not len(rows):
            continue
        durations_ns = process.table(row.table).part("duration_ns", low, high)[rows]
        place = low + int(rows[int(durations_ns.argmax())])  # the first of equals: the row is sorted
        rank = (-int(durations_ns.max()), process.table(row.table).value("start_ns", place))
        if best is None or rank < best:
            best, found = rank, SliceRef(row.process, row.table, place)
    return found


def window(process: ProcessProfile, row: LaneRow, begin_ns: int, end_ns: int) -> tuple[int, int]:
    """Positions [low, high) of the slices of a lane row that touch [begin_ns, end_ns)."""
    table = process.table(row.table)
    if row.begin_row == row.end_row:
        return row.begin_row, row.begin_row
    low = table.last_at("start_ns", row.begin_row, row.end_row, begin_ns - 1)
    high = table.last_at("start_ns", row.begin_row, row.end_row, end_ns - 1) + 1
    if low < row.begin_row or table.value("start_ns", low) + table.value("duration_ns", low) <= begin_ns:
        low += 1
    return low, max(low, high)


def joined(starts: Int64s, ends: Int64s, others: Int64s, other_ends: Int64s) -> tuple[Int64s, Int64s]:
    """The union of two sets of sorted intervals; the first is a union already, those of the second do not overlap.

    Costs the shorter set: the slices of a deep row lie within those of the row above, and need not be looked at.
    """
    if not len(starts) or not len(others):
        return (starts, ends) if len(starts) else intervals.union(others, other_ends)
    if len(others) < len(starts):
        at = np.searchsorted(starts, others, "right") - 1
        is_new = (at < 0) | (other_ends > ends[np.maximum(at, 0)])
        others, other_ends = others[is_new], other_ends[is_new]
    else:
        first, behind = np.searchsorted(others, starts, "left"), np.searchsorted(others, ends, "right")
        # Of those that begin within an interval only the last one can reach out of it.
        last = np.maximum(behind - 1, 0)
        reaches = (behind > first) & (other_ends[last] > ends)
        change = np.zeros(len(others) + 1, np.int64)
        np.add.at(change, first, 1)
        np.add.at(change, behind, -1)
        is_new = np.cumsum(change[:-1]) == 0
        is_new[last[reaches]] = True
        others, other_ends = others[is_new], other_ends[is_new]
    if not len(others):
        return starts, ends
    return intervals.union(np.concatenate((starts, others)), np.concatenate((ends, other_ends)))


def id_column(table: str) -> str:
    """The column that tells which name a slice has: of device slices it is that of the launch shape."""
    return "shape_id" if table == "device" else "name_id"


def known(ids: NDArray[Any], most: int) -> NDArray[Any]:
    """Ids in place of which `most` stands where they are not in 0 … most - 1."""
    if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= most):
        return np.where((ids >= 0) & (ids < most), ids, most)
    return ids


def texts_by_id(process: ProcessProfile, table: str) -> list[str]:
    """The exact names by the ids of `id_column`; the last entry is for ids that name nothing."""
    texts = [*names.exact_texts(process), LOST_NAME]
    if table != "device":
        return texts
    return [texts[name_id] for name_id in known(process.table("shapes")["name_id"], len(texts) - 1).tolist()] + texts[
        -1:
    ]


def ids_called(process: ProcessProfile, table: str, name: str) -> NDArray[np.bool_]:
    """Which ids of `id_column` have exactly that name; the last entry is for ids that name nothing."""
    return np.fromiter((text == name for text in texts_by_id(process, table)), bool)


class _Sums:
    """Count, sums, least and greatest of the slices of one table of one process, by the ids of `id_column`."""

    def __init__(self, process: ProcessProfile, table: str) -> None:
        self.texts = texts_by_id(process, table)
        self._table = process.table(table)
        self._column = id_column(table)
        size = len(self.texts)
        self.count = np.zeros(size, np.int64)
        self.full_ns: NDArray[Any] = np.zeros(size, np.int64)
        self.least_ns = np.full(size, np.iinfo(np.int64).max, np.int64)
        self.greatest_ns = np.full(size, np.iinfo(np.int64).min, np.int64)
        self.outside_ns: dict[int, int] = {}
        """By id: what of the durations lies outside of the area."""
        self._reach = 0
        """No sum is greater."""

    def add(self, low: int, high: int, begin_ns: int, end_ns: int) -> tuple[Int64s, Int64s]:
        """Take in the slices at [low, high) of the table, which touch the area: their times, trimmed to it."""
        ids = known(self._table.part(self._column, low, high), len(self.texts) - 1)
        starts_ns = self._table.part("start_ns", low, high)
        durations_ns = self._table.part("duration_ns", low, high)
        ends_ns = intervals.ends_of(starts_ns, durations_ns)
        np.add.at(self.count, ids, 1)
        np.minimum.at(self.least_ns, ids, durations_ns)
        np.maximum.at(self.greatest_ns, ids, durations_ns)
        self._reach += max(int(durations_ns.max()), -int(durations_ns.min())) * len(durations_ns)
        if self._reach >= 1 << 63 and self.full_ns.dtype != object:
            self.full_ns = self.full_ns.astype(object)
        np.add.at(self.full_ns, ids, durations_ns if self._reach < 1 << 63 else durations_ns.astype(object))
        if int(starts_ns[0]) < begin_ns:
            starts_ns = starts_ns.copy()
            self._leave_out(int(ids[0]), begin_ns - int(starts_ns[0]))
            starts_ns[0] = begin_ns
        if int(ends_ns[-1]) > end_ns:
            self._leave_out(int(ids[-1]), int(ends_ns[-1]) - end_ns)
            ends_ns[-1] = end_ns
        return starts_ns, ends_ns

    def _leave_out(self, id_: int, outside_ns: int) -> None:
        self.outside_ns[id_] = self.outside_ns.get(id_, 0) + outside_ns

    def named(self, table: str) -> Iterator[NameTotal]:
        """A total for each id that occurs."""
        at = np.flatnonzero(self.count)
        columns = (self.count[at], self.full_ns[at], self.least_ns[at], self.greatest_ns[at])
        rows = zip(at.tolist(), *(column.tolist() for column in columns), strict=True)
        for id_, count, full_ns, least_ns, greatest_ns in rows:
            total_ns = full_ns - self.outside_ns.get(id_, 0)
            yield NameTotal(self.texts[id_], table, count, total_ns, full_ns, least_ns, greatest_ns)


def _of_lanes(
    profile: Profile, lanes: list[tuple[int, LaneRows]], begin_ns: int, end_ns: int, cancelled: CancelCheck
) -> tuple[dict[int, LaneTotal], list[NameTotal]]:
    """The total of each of some numbered lanes, and those of their names in each table of each process."""
    sums: dict[tuple[int, str], _Sums] = {}
    found = {}
    for number, lane in lanes:
        count, covered = 0, (np.zeros(0, np.int64), np.zeros(0, np.int64))
        for row in lane.rows:
            if cancelled():
                raise Cancelled
            process = profile.processes[row.process]
            low, high = window(process, row, begin_ns, end_ns)
            if low == high:
                continue
            group = sums.get((row.process, row.table))
            if group is None:
                group = sums[row.process, row.table] = _Sums(process, row.table)
            count += high - low
            times = []
            for first in range(low, high, CHUNK_ROWS):
                if cancelled():
                    raise Cancelled
                times.append(group.add(first, min(first + CHUNK_ROWS, high), begin_ns, end_ns))
            starts, ends = times[0] if len(times) == 1 else map(np.concatenate, zip(*times, strict=True))
            covered = joined(*covered, starts, ends)
        found[number] = LaneTotal(lane.key, count, intervals.length_of_disjoint(*covered))
    return found, [total for (_, table), group in sums.items() for total in group.named(table)]


def _merged(parts: list[list[NameTotal]]) -> tuple[NameTotal, ...]:
    found: dict[tuple[str, str], NameTotal] = {}
    for total in (total for part in parts for total in part):
        same = found.setdefault((total.table, total.name), total)
        if same is not total:
            same.add(total)
    return tuple(sorted(found.values(), key=lambda total: (-total.total_ns, total.name, total.table)))
