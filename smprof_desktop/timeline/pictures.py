"""What a row or a curve shows around the view, kept while the view stays near: a pan is mostly a transform."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import SLICE_TABLES
from smprof_desktop.analysis import intervals
from smprof_desktop.analysis.utilization import windows_within
from smprof_desktop.report import windows_of
from smprof_desktop.timeline.colours import SYNC, colour_of
from smprof_desktop.timeline.ladder import MIN_FEW, UNKNOWN_NAME, Busy, Columns, Ladder, Slices
from smprof_desktop.timeline.lanes import BusySource, CounterRange, Lane, Row
from smprof_desktop.timeline.viewport import Limits, Viewport

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

I64 = NDArray[np.int64]

OWN_BINS = 3
"""A slice of at least so many bins is drawn by itself, with its own edges and label; shorter ones show as columns."""
MAX_KEPT_UNIONS = 8_000_000
"""Device slices of a profile up to which the union of each device's streams is worked out and kept: 0.1 s a million."""
KEPT_LEVELS = 2
MAX_EDGE_BINS = 64
MAX_EDGE_SLICES = 20_000
"""Bins that a window begins or ends in, and slices in each, up to which its busy time is worked out exactly."""
_UNKNOWN = 255
_NOTHING = np.zeros(0, np.int64)
_FIRST_NS, _LAST_NS = -(1 << 62), 1 << 62


@dataclass(frozen=True)
class Window:
    """The range of time that a picture is right for, and its grid; `level` -1 fits every grid."""

    begin_ns: int
    end_ns: int
    level: int

    def holds(self, view: Viewport) -> bool:
        return self.level in (-1, view.bin_level) and self.begin_ns <= view.begin_ns and view.end_ns + 1 <= self.end_ns

    def covers(self, view: Viewport) -> bool:
        """Whether it shows all of the view, if on a grid that is up to four times too coarse or too fine."""
        near = abs(self.level - view.bin_level) <= KEPT_LEVELS
        return near and self.begin_ns <= view.begin_ns and view.end_ns + 1 <= self.end_ns

    @staticmethod
    def around(view: Viewport, limits: Limits) -> Window:
        """The view and a quarter of it on either side, in whole bins."""
        level = view.bin_level
        margin = (view.end_ns - view.begin_ns) // 4 + 1
        begin = max(view.begin_ns - margin, min(limits.first_ns, view.begin_ns))
        end = min(view.end_ns + margin, max(limits.last_ns, view.end_ns)) + 1
        return Window((begin >> level) << level, (((end - 1) >> level) + 1) << level, level)


@dataclass(frozen=True)
class RowPicture:
    """Columns of one grid, as height shares, and slices that are drawn by themselves; both by start."""

    window: Window
    bin_ns: I64
    share: NDArray[np.float64]
    bin_colour: NDArray[np.uint8]
    start_ns: I64
    end_ns: I64
    colour: NDArray[np.uint8]
    table: NDArray[np.uint8]
    row: I64
    name_id: NDArray[np.int32]


@dataclass(frozen=True)
class Curve:
    """One value per bin from `first_bin`, NaN where there is none.

    The values of a busy curve are shares: the mean over its sources of busy time ÷ the time that counts. `busy_ns` and
    `counted_ns` are the sums over the sources, `outside_ns` what counts outside the profile's span.
    """

    window: Window
    first_bin: int
    value: NDArray[np.float64]
    is_exact: bool = True
    busy_ns: I64 = field(default_factory=lambda: _NOTHING)
    counted_ns: I64 = field(default_factory=lambda: _NOTHING)
    outside_ns: int = 0


class Names:
    """Names and colours of the slices of one process, by position."""

    def __init__(self, process: ProcessProfile) -> None:
        self._process = process
        self._shape_names: NDArray[np.int32] | None = None
        # One more than there are names: for ids of names that were lost.
        self._colours = np.full(len(process.names) + 1, _UNKNOWN, np.uint8)

    def ids(self, table: int, rows: I64) -> NDArray[np.int32]:
        """`names.id` of slices of one table."""
        name = SLICE_TABLES[table]
        if name != "device":
            return self.known(self._process.table(name).at("name_id", rows))
        if self._shape_names is None:
            self._shape_names = np.asarray(self._process.table("shapes")["name_id"], np.int32)
        shapes = self._process.table(name).at("shape_id", rows)
        is_known = (shapes >= 0) & (shapes < len(self._shape_names))
        if is_known.all():
            return self.known(self._shape_names[shapes])
        found = np.full(len(rows), len(self._colours) - 1, np.int32)
        found[is_known] = self.known(self._shape_names[shapes[is_known]])
        return found

    def ids_of_mixed(self, tables: NDArray[np.uint8], rows: I64) -> NDArray[np.int32]:
        """`names.id` of slices of several tables."""
        if len(rows) == 0:
            return np.zeros(0, np.int32)
        first = int(tables[0])
        if (tables == first).all():
            return self.ids(first, rows)
        found = np.zeros(len(rows), np.int32)
        for table in np.unique(tables):
            of_table = tables == table
            found[of_table] = self.ids(int(table), rows[of_table])
        return found

    def colours(self, name_ids: NDArray[np.int32]) -> NDArray[np.uint8]:
        """Colour codes of names."""
        codes = self._colours[name_ids]
        if (codes == _UNKNOWN).any():
            for name_id in np.unique(name_ids[codes == _UNKNOWN]).tolist():
                self._colours[name_id] = colour_of(self.text(name_id))
            codes = self._colours[name_ids]
        return codes

    def known(self, name_ids: NDArray[np.int32]) -> NDArray[np.int32]:
        lost = len(self._colours) - 1
        return np.where((name_ids >= 0) & (name_ids < lost), name_ids, lost).astype(np.int32)

    def text(self, name_id: int) -> str:
        text: str = self._process.names.text(name_id)
        return text


class Pictures:
    """Pictures of rows and curves of a profile, made when first needed and kept while the view stays near."""

    def __init__(self, profile: Profile, limits: Limits) -> None:
        self._profile = profile
        self._limits = limits
        self._keep_unions = sum(len(process.table("device")) for process in profile.processes) <= MAX_KEPT_UNIONS
        self.is_final = True
        """Whether every picture since `begin_frame` was on the view's own grid."""
        self._deadline = math.inf
        self._ladders: dict[int, Ladder] = {}
        self._names: dict[int, Names] = {}
        self._rows: dict[Row, RowPicture] = {}
        self._curves: dict[str, Curve] = {}
        self._busy_window = Window(0, 0, 0)
        self._busy: dict[tuple[BusySource, bool], Busy] = {}
        self._recorded_ns: dict[int, I64] = {}
        self._windows: dict[int, tuple[I64, I64]] = {}
        self._counter_ranges: dict[str, tuple[float, float]] = {}

    def begin_frame(self, budget_s: float | None) -> None:
        """From here on, once `budget_s` is spent, pictures on a neighbouring grid will do; None: never."""
        self.is_final = True
        self._deadline = time.perf_counter() + budget_s if budget_s is not None else math.inf

    def ladder(self, process: int) -> Ladder:
        found = self._ladders.get(process)
        if found is None:
            found = self._ladders[process] = Ladder(self._profile.processes[process])
        return found

    def names(self, process: int) -> Names:
        found = self._names.get(process)
        if found is None:
            found = self._names[process] = Names(self._profile.processes[process])
        return found

    def row(self, row: Row, kind: str, view: Viewport) -> RowPicture:
        """What a row of a lane of that kind shows; right at least for the view."""
        found = self._rows.get(row)
        if found is None or not self._serves(found.window, view):
            found = self._rows[row] = self._make_row(row, kind, view)
        return found

    def busy(self, lane: Lane, view: Viewport) -> Curve:
        """The lane's busy share: the mean over its sources."""
        found = self._curves.get(lane.key)
        if found is None or not self._serves(found.window, view):
            window = Window.around(view, self._limits)
            found = self._curves[lane.key] = self.busy_in(lane.busy, window, lane.is_of_windows)
        return found

    def busy_in(self, sources: Sequence[BusySource], window: Window, is_of_windows: bool, bound: bool = False) -> Curve:
        """The mean busy share of the sources in each bin of a window: of the bin, or of the recorded part of it."""
        first, last = window.begin_ns >> window.level, (window.end_ns - 1) >> window.level
        bins = last - first + 1
        total, known = np.zeros(bins, np.float64), np.zeros(bins, np.int64)
        busy_ns, counted_ns = np.zeros(bins, np.int64), np.zeros(bins, np.int64)
        outside_ns = 0
        is_exact = True
        for source in sources:
            answer = self._busy_of(source, window, bound)
            inside_ns, is_exact = answer.busy_ns, is_exact and answer.is_exact
            own_ns = np.full(bins, 1 << window.level, np.int64)
            if is_of_windows:
                own_ns = self._recorded(source.process, window)
                inside_ns, is_sure = self._inside(source, answer, own_ns, bound)
                is_exact &= is_sure
                outside_ns += self._recorded_outside(source.process)
            total += inside_ns / np.maximum(own_ns, 1)
            known += own_ns > 0
            busy_ns, counted_ns = busy_ns + inside_ns, counted_ns + own_ns
        value = np.where(known > 0, total / np.maximum(known, 1), np.nan)
        return Curve(window, first, value, is_exact, busy_ns, counted_ns, outside_ns)

    def counter(self, lane: Lane, view: Viewport) -> Curve:
        """The lane's counter: in each bin the mean of its samples, or the last one before it."""
        found = self._curves.get(lane.key)
        if found is None or not self._serves(found.window, view):
            window = Window.around(view, self._limits)
            found = self._curves[lane.key] = self._make_counter(lane.counters, window)
        return found

    def counter_range(self, lane: Lane) -> tuple[float, float]:
        """Least and greatest sample of a counter lane, 0 included."""
        found = self._counter_ranges.get(lane.key)
        if found is None:
            low, high = 0.0, 0.0
            for samples in lane.counters:
                values = self._samples(samples)[1]
                values = values[np.isfinite(values)]
                if len(values):
                    low, high = min(low, float(values.min())), max(high, float(values.max()))
            found = self._counter_ranges[lane.key] = (low, high)
        return found

    def forget_hidden(self, rows: set[Row], keys: set[str]) -> None:
        """Let go of the pictures of everything but these rows and lanes."""
        self._rows = {row: picture for row, picture in self._rows.items() if row in rows}
        self._curves = {key: curve for key, curve in self._curves.items() if key in keys}

    def _serves(self, window: Window, view: Viewport) -> bool:
        """Whether what was made for a window may be shown."""
        if window.holds(view):
            return True
        if time.perf_counter() < self._deadline or not window.covers(view):
            return False
        self.is_final = False
        return True

    def _busy_of(self, source: BusySource, window: Window, bound: bool) -> Busy:
        """One source's busy time; kept, because a device counts for its own lanes, its process and its host."""
        if window != self._busy_window:
            self._busy_window, self._busy, self._recorded_ns = window, {}, {}
        found = self._busy.get((source, bound))
        if found is None:
            ladder = self.ladder(source.process)
            found = ladder.busy(
                source.lane_rows, window.begin_ns, window.end_ns, window.level, bound, self._keep_unions
            )
            self._busy[source, bound] = found
        return found

    def _windows_of(self, process: int) -> tuple[I64, I64]:
        """When a process recorded: disjoint sorted starts and ends."""
        found = self._windows.get(process)
        if found is None:
            edges = np.array(windows_within(windows_of(self._profile.processes[process]), None, None), np.int64)
            found = self._windows[process] = edges.reshape(-1, 2)[:, 0], edges.reshape(-1, 2)[:, 1]
        return found

    def _recorded(self, process: int, window: Window) -> I64:
        """How much of each bin of a window lies in the profile's span and in the windows of a process."""
        if window != self._busy_window:
            self._busy_window, self._busy, self._recorded_ns = window, {}, {}
        found = self._recorded_ns.get(process)
        if found is None:
            edges = np.arange(window.begin_ns >> window.level, ((window.end_ns - 1) >> window.level) + 2)
            inside = intervals.clip(*self._windows_of(process), self._limits.begin_ns, self._limits.end_ns)
            found = intervals.busy_per_bin(*inside, edges << np.int64(window.level))
            self._recorded_ns[process] = found
        return found

    def _recorded_outside(self, process: int) -> int:
        """How much of the windows of a process lies outside the profile's span."""
        starts, ends = self._windows_of(process)
        before, after = (np.minimum(ends, self._limits.begin_ns), np.maximum(starts, self._limits.end_ns))
        return int(np.maximum(before - starts, 0).sum() + np.maximum(ends - after, 0).sum())

    def _inside(self, source: BusySource, busy: Busy, recorded_ns: I64, bound: bool) -> tuple[I64, bool]:
        """The part of each bin's busy time inside the windows of the source's process, and whether it is exact."""
        ladder, (starts, ends) = self.ladder(source.process), self._windows_of(source.process)
        begin_ns, end_ns = ladder.span(source.lane_rows)
        if len(starts) == 1 and starts[0] <= begin_ns and end_ns <= ends[0]:
            return busy.busy_ns, True
        inside = np.minimum(busy.busy_ns, recorded_ns)
        cut = np.flatnonzero((recorded_ns > 0) & (recorded_ns < 1 << busy.level) & (busy.busy_ns > 0))
        is_exact = not bound and len(cut) <= MAX_EDGE_BINS
        for at in cut[:MAX_EDGE_BINS].tolist() if is_exact else ():
            low_ns = (busy.first_bin + at) << busy.level
            high_ns = low_ns + (1 << busy.level)
            if sum(ladder.count(lane_row, low_ns, high_ns) for lane_row in source.lane_rows) > MAX_EDGE_SLICES:
                is_exact = False
                continue
            found = ladder.slices(source.lane_rows, low_ns, high_ns)
            both = intervals.intersect(found.start_ns, found.end_ns, *intervals.clip(starts, ends, low_ns, high_ns))
            inside[at] = int((both[1] - both[0]).sum())
        return inside, is_exact

    def _make_row(self, row: Row, kind: str, view: Viewport) -> RowPicture:
        ladder, names = self.ladder(row.process), self.names(row.process)
        if ladder.total(row.lane_rows) <= MIN_FEW:
            window = Window(_FIRST_NS, _LAST_NS, -1)
            answer: Slices | Columns = ladder.slices(row.lane_rows, window.begin_ns, window.end_ns)
        else:
            window = Window.around(view, self._limits)
            answer = ladder.window(row.lane_rows, window.begin_ns, window.end_ns, window.level)
        if isinstance(answer, Columns):
            name_id = answer.name_id.copy()
            ask = np.flatnonzero(name_id == UNKNOWN_NAME)
            name_id[ask] = names.ids_of_mixed(answer.table[ask], answer.row[ask])
            name_id = names.known(name_id)
        else:
            name_id = names.ids_of_mixed(answer.table, answer.row)
        colour = names.colours(name_id) if kind != "sync" else np.full(len(name_id), SYNC, np.uint8)
        if isinstance(answer, Slices):
            none = np.zeros(0, np.int64)
            return RowPicture(
                window, none, np.zeros(0), np.zeros(0, np.uint8),
                answer.start_ns, answer.end_ns, colour, answer.table, answer.row, name_id,
            )  # fmt: skip
        width = 1 << answer.level
        own = (answer.end_ns - answer.start_ns) >= OWN_BINS * width
        rest = ~own
        # All bins of a slice that is drawn by itself follow each other: its first one stands for it.
        heads = np.flatnonzero(own)
        if len(heads):
            keep = np.ones(len(heads), bool)
            keep[1:] = (answer.row[heads[1:]] != answer.row[heads[:-1]]) | (
                answer.table[heads[1:]] != answer.table[heads[:-1]]
            )
            heads = heads[keep]
        return RowPicture(
            window, answer.bin[rest] << np.int64(answer.level), answer.busy_ns[rest] / width, colour[rest],
            answer.start_ns[heads], answer.end_ns[heads], colour[heads],
            answer.table[heads], answer.row[heads], name_id[heads],
        )  # fmt: skip

    def _samples(self, samples: CounterRange) -> tuple[I64, NDArray[np.float64]]:
        table = self._profile.processes[samples.process].table("counter")
        return table["time_ns"][samples.begin : samples.end], table["value"][samples.begin : samples.end]

    def _make_counter(self, counters: Sequence[CounterRange], window: Window) -> Curve:
        first, last = window.begin_ns >> window.level, (window.end_ns - 1) >> window.level
        edges = np.arange(first, last + 2, dtype=np.int64) << np.int64(window.level)
        total, known = np.zeros(last - first + 1), np.zeros(last - first + 1, np.int64)
        for samples in counters:
            times, values = self._samples(samples)
            mean = binned(times, values, edges)
            has = np.isfinite(mean)
            total[has] += mean[has]
            known[has] += 1
        with np.errstate(invalid="ignore", divide="ignore"):
            return Curve(window, first, np.where(known > 0, total / known, np.nan))


def binned(times_ns: I64, values: NDArray[np.float64], edges_ns: I64) -> NDArray[np.float64]:
    """The mean of the samples in each bin between edges; without samples the last one before it (NaN: none)."""
    at = np.searchsorted(times_ns, edges_ns, "left")
    low, high = at[:-1], at[1:]
    first, last = int(at[0]), int(at[-1])
    held = np.where(low > 0, values[np.maximum(low - 1, 0)] if len(values) else np.nan, np.nan)
    if first == last:
        return held
    part = values[first:last]
    good = np.isfinite(part)
    sums = np.concatenate(([0.0], np.cumsum(np.where(good, part, 0.0))))
    counts = np.concatenate(([0], np.cumsum(good)))
    number = counts[high - first] - counts[low - first]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (sums[high - first] - sums[low - first]) / number
    return np.where(high > low, np.where(number > 0, mean, np.nan), held)
