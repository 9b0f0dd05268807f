"""Level of detail: what a drawn row shows of a window of time at a resolution. Its cost follows pixels, not slices.

A drawn row joins lane rows whose slices never overlap (the kinds of one thread at one depth). A window of it is
answered either with its slices, where they are few, or with columns: the touched bins of a power-of-two grid of ns,
each with its exact busy time and the longest slice that touches it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from smprof.profile import ladder as stored
from smprof.profile.schema import NONE, SLICE_TABLES
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline.memory import Frames, HeldProcess

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile

I64 = NDArray[np.int64]

BINS_PER_SLICE = 4
"""Slices are few where a window has at most one for so many bins; the rest would be narrower than they can be drawn."""
MIN_FEW = 64
MAX_UNION_SLICES = 2_000_000
"""Up to so many slices a union that is not stored is worked out exactly; that takes a task about 0.2 s."""

MAX_LEVEL = 61
"""The greatest level that is looked at: bins of a level above reach further than 64 bits."""

UNKNOWN_NAME = -2
"""A name that has to be asked of the slice."""

MAX_WHOLE_BINS = 1 << 17
"""Bins of a stored level up to which the next ones are made of all of them at once, and kept: 3 ms. Such levels are 0.7
times as large as what is stored."""

MAX_KEPT_ROWS = 1 << 12
"""Answers to which slices touch a window that are kept: each is asked for several times, and costs 0.1 ms."""

_STEP_COLUMNS = ("bin", "busy_ns", "longest", "slices", "start_ns", "duration_ns", "name_id")
_EMPTY = np.zeros(0, np.int64)
_EMPTY_TABLE = np.zeros(0, np.uint8)
_EMPTY_NAMES = np.zeros(0, np.int32)


@dataclass(frozen=True)
class Slices:
    """Slices of a window, by start: `table` indexes SLICE_TABLES, `row` is the position in it."""

    start_ns: I64
    end_ns: I64
    table: NDArray[np.uint8]
    row: I64

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True)
class Columns:
    """Touched bins of a window, ascending.

    `table` and `row` name the slice with the greatest full duration that touches the bin (ties: the earlier start);
    [start_ns, end_ns) is that slice's. `name_id` is its name where the ladder stores it, else UNKNOWN_NAME.
    """

    level: int
    bin: I64
    busy_ns: I64
    start_ns: I64
    end_ns: I64
    table: NDArray[np.uint8]
    row: I64
    name_id: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.bin)


@dataclass(frozen=True)
class Busy:
    """Busy time of consecutive bins from `first_bin`; not `is_exact`: an upper bound where rows overlap."""

    level: int
    first_bin: int
    busy_ns: I64
    is_exact: bool = True


@dataclass(frozen=True)
class _Step:
    """One level of one lane row, whole or a part of it: its touched bins."""

    level: int
    bin: I64
    busy_ns: I64
    longest: I64
    slices: I64
    start_ns: I64
    duration_ns: I64
    name_id: NDArray[np.int32]

    def between(self, first_bin: int, last_bin: int, bin_level: int) -> _Step:
        """What lies in the bins [first_bin, last_bin] of a level that is as coarse or coarser."""
        shift = bin_level - self.level
        low = int(self.bin.searchsorted(first_bin << shift, "left"))
        high = int(self.bin.searchsorted((last_bin + 1) << shift, "left"))
        return _Step(self.level, *(getattr(self, name)[low:high] for name in _STEP_COLUMNS))

    def coarser(self, level: int) -> _Step:
        """The same at a coarser level."""
        own = np.arange(len(self.bin), dtype=np.int64)
        made = stored.coarser(
            stored.Columns(self.level, self.bin, self.busy_ns, own, self.slices), level, self.duration_ns
        )
        at = made.longest
        return _Step(
            level, made.bin, made.busy_ns, self.longest[at], made.slices,
            self.start_ns[at], self.duration_ns[at], self.name_id[at],
        )  # fmt: skip


@dataclass(frozen=True)
class _Part:
    """What one lane row answers."""

    table: int
    bin: I64
    busy_ns: I64
    row: I64
    start_ns: I64
    duration_ns: I64
    name_id: NDArray[np.int32]


class Ladder:
    """The lane rows of one process and their stored columns, which are read at once; slices are when first needed."""

    def __init__(self, process: ProcessProfile) -> None:
        self._process: ProcessProfile | HeldProcess = process
        self._frames: Frames | None = None
        rows = process.table("lane_rows")
        self._table = rows["table"]
        # What a damaged or foreign file says is held to what the tables hold, once, so that no frame can fail on it.
        lengths = np.array([len(process.table(name)) for name in SLICE_TABLES], np.int64)[self._table]
        self._begin_row = np.clip(rows["begin_row"], 0, lengths)
        self._end_row = np.clip(rows["end_row"], self._begin_row, lengths)
        self._begin_ns, self._end_ns = rows["begin_ns"], rows["end_ns"]
        table = process.table("ladder")
        self._steps = {name: table[name] for name in _STEP_COLUMNS}
        self._totals: dict[int, I64] = {}
        self._kept_window = (0, -1, 0)
        self._kept: dict[int, _Part | None] = {}
        self._made: dict[tuple[int, int], _Step] = {}
        self._rows_in: dict[tuple[int, int, int], tuple[int, int]] = {}
        self._levels: dict[int, list[tuple[int, int, int]]] = {}
        if len(table):
            lane_row, level = table["lane_row"], table["level"]
            changed = (lane_row[1:] != lane_row[:-1]) | (level[1:] != level[:-1])
            bounds = [0, *(np.flatnonzero(changed) + 1).tolist(), len(table)]
            for begin, end in pairwise(bounds):
                if 0 <= int(level[begin]) <= MAX_LEVEL:  # files may hold anything
                    self._levels.setdefault(int(lane_row[begin]), []).append((int(level[begin]), begin, end))

    def held(self, process: HeldProcess, frames: Frames) -> Ladder:
        """The same for the thread that draws: raises Later for what has to be read or would take long."""
        twin = copy.copy(self)  # what was worked out once for all time is shared, what is kept for a window is not
        twin._process, twin._frames = process, frames
        twin._kept_window, twin._kept = (0, -1, 0), {}
        return twin

    def stored_level(self, lane_rows: Sequence[int]) -> int | None:
        """The finest level that is stored of every one of the lane rows that have a ladder; None where none has."""
        levels = [min(self._levels[r])[0] for r in lane_rows if r in self._levels]
        return max(levels) if levels else None

    def stored_columns(self, lane_rows: Sequence[int], begin_ns: int, end_ns: int, bin_level: int) -> Columns:
        """`columns` of the lane rows whose ladder is that fine: no slice is asked."""
        kept = [r for r in lane_rows if self._step(r, bin_level) is not None]
        return self.columns(kept, begin_ns, end_ns, bin_level)

    def total(self, lane_rows: Sequence[int]) -> int:
        """Slices of the lane rows."""
        return sum(int(self._end_row[r]) - int(self._begin_row[r]) for r in lane_rows)

    def span(self, lane_rows: Sequence[int]) -> tuple[int, int]:
        """First start to last end of the lane rows; 0, 0 where they hold nothing."""
        rows = [r for r in lane_rows if self._begin_row[r] < self._end_row[r]]
        begin_ns = min((int(self._begin_ns[r]) for r in rows), default=0)
        return begin_ns, max((int(self._end_ns[r]) for r in rows), default=0)

    def count(self, lane_row: int, begin_ns: int, end_ns: int) -> int:
        """Slices of the lane row that touch [begin_ns, end_ns)."""
        begin, end = self.rows_in(lane_row, begin_ns, end_ns)
        return end - begin

    def rows_in(self, lane_row: int, begin_ns: int, end_ns: int) -> tuple[int, int]:
        """Positions [begin, end) of the slices that touch [begin_ns, end_ns); one of no length touches its start."""
        asked = (lane_row, begin_ns, end_ns)
        found = self._rows_in.get(asked)
        if found is None:
            found = self._find_rows(*asked)
            if len(self._rows_in) >= MAX_KEPT_ROWS:
                self._rows_in.clear()
            self._rows_in[asked] = found
        return found

    def _find_rows(self, lane_row: int, begin_ns: int, end_ns: int) -> tuple[int, int]:
        first, last = int(self._begin_row[lane_row]), int(self._end_row[lane_row])
        if end_ns <= int(self._begin_ns[lane_row]) or begin_ns > int(self._end_ns[lane_row]) or first == last:
            return first, first
        if begin_ns <= int(self._begin_ns[lane_row]) and end_ns > int(self._end_ns[lane_row]):
            return first, last
        table = self._process.table(SLICE_TABLES[self._table[lane_row]])
        first, last = self._near(lane_row, begin_ns, end_ns)
        start = table.part("start_ns", first, last)
        low = int(start.searchsorted(begin_ns, "left"))
        high = int(start.searchsorted(end_ns, "left"))
        if low > 0:
            before = first + low - 1
            if int(start[low - 1]) + int(table.part("duration_ns", before, before + 1)[0]) > begin_ns:
                low -= 1
        return first + low, first + max(low, high)

    def _near(self, lane_row: int, begin_ns: int, end_ns: int) -> tuple[int, int]:
        """Positions around those that touch [begin_ns, end_ns), as near as the finest stored level tells."""
        first, last = int(self._begin_row[lane_row]), int(self._end_row[lane_row])
        steps = self._levels.get(lane_row)
        if not steps:
            return first, last
        level, begin, end = min(steps)
        totals = self._totals.get(lane_row)
        if totals is None:
            totals = self._totals[lane_row] = np.concatenate(([0], np.cumsum(self._steps["slices"][begin:end])))
        bins = self._steps["bin"][begin:end]
        low = int(totals[bins.searchsorted(begin_ns >> level, "left")])
        high = int(totals[bins.searchsorted((end_ns - 1) >> level, "right")])
        # The last slice of an earlier bin may reach into the window; a damaged count must not leave the lane row.
        return min(max(first + low - 1, first), last), min(max(first + high, first), last)

    def window(self, lane_rows: Sequence[int], begin_ns: int, end_ns: int, bin_level: int) -> Slices | Columns:
        """What the drawn row made of `lane_rows` shows of [begin_ns, end_ns).

        Columns are of `bin_level` and cover every bin that the window touches, whole bins at both ends.
        """
        bins = ((end_ns - 1) >> bin_level) - (begin_ns >> bin_level) + 1
        few = max(MIN_FEW, bins // BINS_PER_SLICE)
        if self._are_few(lane_rows, begin_ns, end_ns, bin_level, few):
            return self.slices(lane_rows, begin_ns, end_ns)
        return self.columns(lane_rows, begin_ns, end_ns, bin_level)

    def slices(self, lane_rows: Sequence[int], begin_ns: int, end_ns: int) -> Slices:
        """All slices of the lane rows that touch [begin_ns, end_ns), by start."""
        starts, ends, tables, rows = [], [], [], []
        for lane_row in lane_rows:
            low, high = self.rows_in(lane_row, begin_ns, end_ns)
            if low == high:
                continue
            table = self._process.table(SLICE_TABLES[self._table[lane_row]])
            start = table.part("start_ns", low, high)
            starts.append(start)
            ends.append(start + table.part("duration_ns", low, high))
            tables.append(np.full(high - low, self._table[lane_row], np.uint8))
            rows.append(np.arange(low, high, dtype=np.int64))
        if not rows:
            return Slices(_EMPTY, _EMPTY, _EMPTY_TABLE, _EMPTY)
        if len(rows) == 1:
            return Slices(starts[0], ends[0], tables[0], rows[0])
        start = np.concatenate(starts)
        order = np.argsort(start, kind="stable")
        return Slices(
            start[order], np.concatenate(ends)[order], np.concatenate(tables)[order], np.concatenate(rows)[order]
        )

    def columns(self, lane_rows: Sequence[int], begin_ns: int, end_ns: int, bin_level: int) -> Columns:
        """The touched bins of `bin_level` in [begin_ns, end_ns), whole bins at both ends."""
        first_bin, last_bin = begin_ns >> bin_level, (end_ns - 1) >> bin_level
        parts = [part for r in lane_rows if (part := self._part(r, first_bin, last_bin, bin_level)) is not None]
        if not parts:
            return Columns(bin_level, _EMPTY, _EMPTY, _EMPTY, _EMPTY, _EMPTY_TABLE, _EMPTY, _EMPTY_NAMES)
        if len(parts) == 1:
            only = parts[0]
            return Columns(
                bin_level, only.bin, only.busy_ns, only.start_ns, only.start_ns + only.duration_ns,
                np.full(len(only.bin), only.table, np.uint8), only.row, only.name_id,
            )  # fmt: skip
        # Bins of one part are distinct: what each bin holds is settled part by part.
        count = last_bin - first_bin + 1
        busy, start, duration = np.zeros(count, np.int64), np.zeros(count, np.int64), np.full(count, -1, np.int64)
        table, row, name_id = np.zeros(count, np.uint8), np.zeros(count, np.int64), np.zeros(count, np.int32)
        for part in parts:
            at = part.bin - first_bin
            busy[at] += part.busy_ns
            wins = (part.duration_ns > duration[at]) | (
                (part.duration_ns == duration[at]) & (part.start_ns < start[at])
            )
            at = at[wins]
            start[at], duration[at] = part.start_ns[wins], part.duration_ns[wins]
            row[at], name_id[at] = part.row[wins], part.name_id[wins]
            table[at] = part.table
        at = np.flatnonzero(duration >= 0)
        start = start[at]
        return Columns(
            bin_level, at + first_bin, busy[at], start, start + duration[at], table[at], row[at], name_id[at]
        )

    def busy(
        self,
        lane_rows: tuple[int, ...],
        begin_ns: int,
        end_ns: int,
        bin_level: int,
        bound: bool = False,
        union: int = NONE,
    ) -> Busy:
        """Time in each bin of [begin_ns, end_ns) that at least one of the lane rows covers: their union.

        Exact where `union`, the lane row that holds it, tells, where the rows of a bin cannot overlap, and where at
        most MAX_UNION_SLICES slices have to be compared; else, and with `bound`, the sum up to the bin's width.
        """
        first_bin, last_bin = begin_ns >> bin_level, (end_ns - 1) >> bin_level
        width = np.int64(1) << np.int64(bin_level)
        total, most = np.zeros(last_bin - first_bin + 1, np.int64), np.zeros(last_bin - first_bin + 1, np.int64)
        touching = 0
        for lane_row in lane_rows if union == NONE or self._step(union, bin_level) is None else (union,):
            part = self._part(lane_row, first_bin, last_bin, bin_level)
            if part is None:
                continue
            touching += 1
            at = part.bin - first_bin
            total[at] += part.busy_ns
            most[at] = np.maximum(most[at], part.busy_ns)
        unclear = (total > most) & (most < width) if touching > 1 else np.zeros(0, bool)
        capped = np.minimum(total, width)
        if not unclear.any():
            return Busy(bin_level, first_bin, capped)
        spots = np.flatnonzero(unclear)
        low_ns = (first_bin + int(spots[0])) << bin_level
        high_ns = (first_bin + int(spots[-1]) + 1) << bin_level
        count = 0 if bound else sum(self.count(lane_row, low_ns, high_ns) for lane_row in lane_rows)
        if bound or count > MAX_UNION_SLICES:
            return Busy(bin_level, first_bin, capped, False)
        if self._frames is not None:
            self._frames.compare(count)
        found = self.slices(lane_rows, low_ns, high_ns)
        edges = (np.arange(spots[0], spots[-1] + 2) + first_bin) << np.int64(bin_level)
        starts, ends = stored.union_of(found.start_ns, found.end_ns)
        covered = np.diff(_covered_before(starts, ends, _running_total(starts, ends), edges))
        capped[spots[0] : spots[-1] + 1] = covered
        return Busy(bin_level, first_bin, capped)

    def neighbour(self, process: int, lane_rows: Sequence[int], ref: SliceRef, step: int) -> SliceRef | None:
        """The slice that starts next after `ref` (`step` 1) or last before it (-1); None at the ends."""
        start = int(self._process.table(ref.table).part("start_ns", ref.row, ref.row + 1)[0])
        best: tuple[int, SliceRef] | None = None
        for lane_row in lane_rows:
            table = SLICE_TABLES[self._table[lane_row]]
            first, last = int(self._begin_row[lane_row]), int(self._end_row[lane_row])
            read = self._process.table(table).part
            if table == ref.table and first <= ref.row < last:
                row = ref.row + step
            else:
                low, high = self._near(lane_row, start, start + 1)
                side: Literal["left", "right"] = "right" if step > 0 else "left"
                row = low + int(read("start_ns", low, high).searchsorted(start, side)) - (step < 0)
            if first <= row < last:
                found = int(read("start_ns", row, row + 1)[0])
                if best is None or (found - best[0]) * step < 0:
                    best = found, SliceRef(process, table, row)
        return best[1] if best else None

    def _are_few(self, lane_rows: Sequence[int], begin_ns: int, end_ns: int, bin_level: int, few: int) -> bool:
        """Whether at most `few` slices touch the window. Stored columns are asked first: no long column is read."""
        seen = 0
        for lane_row in lane_rows:
            step = self._step(lane_row, bin_level)
            if step is not None:
                bins = step.between(begin_ns >> bin_level, (end_ns - 1) >> bin_level, bin_level)
                # Slices that start in an inner bin touch the window; those of the outer bins may not.
                if int(bins.slices[1:-1].sum()) > few:
                    return False
            seen += self.count(lane_row, begin_ns, end_ns)
            if seen > few:
                return False
        return True

    def _step(self, lane_row: int, bin_level: int) -> _Step | None:
        """The whole lane row at `bin_level`, or, where that would take long, at a finer stored level.

        None where no level is stored that is fine enough.
        """
        found = self._made.get((lane_row, bin_level))
        if found is not None:
            return found
        best = max((step for step in self._levels.get(lane_row, ()) if step[0] <= bin_level), default=None)
        if best is None:
            return None
        level, begin, end = best
        found = self._made.get((lane_row, level))
        if found is None:
            found = _Step(level, *(self._steps[name][begin:end] for name in _STEP_COLUMNS))
            longest = np.clip(found.longest, self._begin_row[lane_row], self._end_row[lane_row] - 1)
            found = self._made[lane_row, level] = replace(found, longest=longest)
        if level < bin_level and end - begin <= MAX_WHOLE_BINS:
            found = self._made[lane_row, bin_level] = found.coarser(bin_level)
        return found

    def _part(self, lane_row: int, first_bin: int, last_bin: int, bin_level: int) -> _Part | None:
        """The touched bins of one lane row, or None where there are none; kept until another window is asked for."""
        window = (first_bin, last_bin, bin_level)
        if window != self._kept_window:
            self._kept_window, self._kept = window, {}
        if lane_row not in self._kept:
            self._kept[lane_row] = self._make_part(lane_row, first_bin, last_bin, bin_level)
        return self._kept[lane_row]

    def _make_part(self, lane_row: int, first_bin: int, last_bin: int, bin_level: int) -> _Part | None:
        table_index = int(self._table[lane_row])
        step = self._step(lane_row, bin_level)
        if step is not None:
            found = step.between(first_bin, last_bin, bin_level)
            if len(found.bin) == 0:
                return None
            if found.level < bin_level:
                found = found.coarser(bin_level)
            return _Part(
                table_index, found.bin, found.busy_ns, found.longest, found.start_ns, found.duration_ns, found.name_id
            )
        begin, end = self.rows_in(lane_row, first_bin << bin_level, (last_bin + 1) << bin_level)
        if begin == end:
            return None
        if self._frames is not None:
            self._frames.compare(end - begin)
        table = self._process.table(SLICE_TABLES[table_index])
        start, duration = table.part("start_ns", begin, end), table.part("duration_ns", begin, end)
        bins, busy, at = columns_in(start, duration, first_bin, last_bin, bin_level)
        unknown = np.full(len(bins), UNKNOWN_NAME, np.int32)
        return _Part(table_index, bins, busy, at + begin, start[at], duration[at], unknown)


def columns_in(start_ns: I64, duration_ns: I64, first_bin: int, last_bin: int, level: int) -> tuple[I64, I64, I64]:
    """(bin, busy_ns, longest) of the touched bins in [first_bin, last_bin]; slices are sorted and do not overlap.

    The cost is the slices' and the bins' number; a slice may be longer than the window by any factor.
    """
    count = last_bin - first_bin + 1
    edges = (np.arange(count + 1, dtype=np.int64) + first_bin) << np.int64(level)
    end_ns = start_ns + duration_ns
    busy = np.diff(_covered_before(start_ns, end_ns, _running_total(start_ns, end_ns), edges))
    longest = np.full(count, -1, np.int64)

    inside = slice(int(start_ns.searchsorted(edges[0], "left")), int(start_ns.searchsorted(edges[-1], "left")))
    owner = (start_ns[inside] >> np.int64(level)) - first_bin
    if len(owner):
        groups = np.concatenate(([0], np.flatnonzero(owner[1:] != owner[:-1]) + 1))
        best = np.maximum.reduceat(duration_ns[inside], groups)
        sizes = np.diff(np.append(groups, len(owner)))
        hits = np.flatnonzero(duration_ns[inside] == np.repeat(best, sizes))
        hit_owner = owner[hits]
        keep = np.concatenate(([True], hit_owner[1:] != hit_owner[:-1]))
        longest[hit_owner[keep]] = hits[keep] + inside.start
    # The slice that reaches into a bin from before it started earlier, so it wins when it is as long.
    before = start_ns.searchsorted(edges[:-1], "left") - 1
    at = np.maximum(before, 0)
    reaches = (before >= 0) & (end_ns[at] > edges[:-1])
    wins = reaches & ((longest < 0) | (duration_ns[at] >= duration_ns[np.maximum(longest, 0)]))
    longest[wins] = before[wins]

    touched = np.flatnonzero(longest >= 0)
    return touched + first_bin, busy[touched], longest[touched]


def _running_total(start_ns: I64, end_ns: I64) -> I64:
    """Time covered before each interval, and by all of them at the end."""
    return np.concatenate(([0], np.cumsum(end_ns - start_ns)))


def _covered_before(start_ns: I64, end_ns: I64, total: I64, edges: I64) -> I64:
    """Time covered before each edge by sorted intervals that do not overlap, in ns from an arbitrary origin."""
    if len(start_ns) == 0:
        return np.zeros(len(edges), np.int64)
    index = start_ns.searchsorted(edges, "left")
    at = np.maximum(index - 1, 0)
    beyond = np.where(index > 0, np.maximum(end_ns[at] - edges, 0), 0)
    covered: I64 = total[index] - beyond
    return covered
