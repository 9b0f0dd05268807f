"""Makes what a row or a curve shows of a window of time, from slices, ladder and counters.

There are two of a profile: one for tasks, which reads what it needs, and its twin for the thread that draws. That one
raises Later where something has to be read or would take longer than a frame may.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import NONE, SLICE_TABLES
from smprof_desktop.analysis import intervals
from smprof_desktop.analysis.utilization import windows_of, windows_within
from smprof_desktop.timeline.colours import SYNC, colour_of
from smprof_desktop.timeline.ladder import MIN_FEW, UNKNOWN_NAME, Busy, Columns, Ladder, Slices
from smprof_desktop.timeline.lanes import BusySource, CounterRange, Lane, Row
from smprof_desktop.timeline.memory import Frames, HeldProcess, Later
from smprof_desktop.timeline.viewport import Limits, Viewport

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

I64 = NDArray[np.int64]

OWN_BINS = 3
"""A slice of at least so many bins is drawn by itself, with its own edges and label; shorter ones show as columns."""
KEPT_LEVELS = 2
STOPGAP_MARGIN = 1.0
"""A stopgap reaches further on either side of the view: it shall last while the view moves on."""
MAX_EDGE_BINS = 64
MAX_EDGE_SLICES = 20_000
"""Bins that a window begins or ends in, and slices in each, up to which its busy time is worked out exactly."""
MAX_QUICK_SAMPLES = 50_000
MAX_QUICK_COUNTERS = 8
"""Samples of a counter, and counters that a lane is the mean of, which one frame may look at: 0.1 ms for each."""
_UNKNOWN = 255
_NOTHING = np.zeros(0, np.int64)
_FIRST_NS, _LAST_NS = -(1 << 62), 1 << 62
_HELD_TABLES = (*SLICE_TABLES, "counter")


@dataclass(frozen=True)
class Window:
    """The range of time that a picture is right for, and its grid; `level` -1 fits every grid."""

    begin_ns: int
    end_ns: int
    level: int

    def holds(self, view: Viewport) -> bool:
        return self.level in (-1, view.bin_level) and self.begin_ns <= view.begin_ns and view.end_ns + 1 <= self.end_ns

    def covers(self, view: Viewport, least_level: int = 0) -> bool:
        """Whether it shows all of the view, if on a grid that is up to four times too coarse or too fine, or than the
        finest there is."""
        near = abs(self.level - max(view.bin_level, least_level)) <= KEPT_LEVELS
        return near and self.begin_ns <= view.begin_ns and view.end_ns + 1 <= self.end_ns

    @staticmethod
    def around(view: Viewport, limits: Limits, least_level: int = 0, margin: float = 0.25) -> Window:
        """The view and a share of it on either side, in whole bins of its own grid, or of one that is coarser."""
        level = max(view.bin_level, least_level)
        margin_ns = int((view.end_ns - view.begin_ns) * margin) + 1
        begin = max(view.begin_ns - margin_ns, min(limits.first_ns, view.begin_ns))
        end = min(view.end_ns + margin_ns, max(limits.last_ns, view.end_ns)) + 1
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
    bin_name_id: NDArray[np.int32]
    """Of each column, the name of its longest slice."""

    @staticmethod
    def empty(window: Window) -> RowPicture:
        none, code, name = np.zeros(0, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.int32)
        return RowPicture(window, none, np.zeros(0), code, none, none, code, code, none, name, name)


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
    _levels: dict[tuple[float, float, float], tuple[I64, NDArray[np.float64]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @staticmethod
    def empty(window: Window) -> Curve:
        return Curve(window, 0, np.zeros(0))

    @cached_property
    def busy_before_ns(self) -> I64:
        """`busy_ns` before each bin, and of all of them at the end."""
        return np.concatenate(([0], np.cumsum(self.busy_ns)))

    @cached_property
    def counted_before_ns(self) -> I64:
        """`counted_ns` likewise."""
        return np.concatenate(([0], np.cumsum(self.counted_ns)))

    def levels(self, low: float, high: float, height_px: float) -> tuple[I64, NDArray[np.float64]]:
        """Bins at which the curve's height changes, and the heights from there on; it is `height_px` high at `high`.

        Kept for one scale: it is the same in every frame.
        """
        scale = (low, high, height_px)
        if scale not in self._levels:
            share = np.clip((self.value - low) / (high - low), 0.0, 1.0)
            # Half pixels keep a share of 2 % apart from nothing and long level stretches in one rectangle.
            height = np.ceil(np.where(np.isnan(share), 0.0, share) * height_px * 2) / 2
            heads = np.flatnonzero(np.concatenate(([True], height[1:] != height[:-1])))
            self._levels.clear()
            self._levels[scale] = heads, height[heads]
        return self._levels[scale]


class Names:
    """Names and colours of the slices of one process, by position."""

    def __init__(self, process: ProcessProfile) -> None:
        self._process: ProcessProfile | HeldProcess = process
        self._shape_names = np.asarray(process.table("shapes")["name_id"], np.int32)
        # One more than there are names: for ids of names that were lost.
        self._colours = np.full(len(process.names) + 1, _UNKNOWN, np.uint8)

    def held(self, process: HeldProcess) -> Names:
        """The same for the thread that draws."""
        twin = copy.copy(self)
        twin._process = process
        return twin

    def ids(self, table: int, rows: I64) -> NDArray[np.int32]:
        """`names.id` of slices of one table."""
        name = SLICE_TABLES[table]
        column = "shape_id" if name == "device" else "name_id"
        asked = self._process.table(name)
        begin, end = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
        # Slices of a window stand side by side: none is looked up by itself.
        is_run = end - begin == len(rows) and bool((rows[1:] > rows[:-1]).all())
        values = asked.part(column, begin, end) if is_run else asked.at(column, rows)
        if name != "device":
            return self.known(values)
        is_known = (values >= 0) & (values < len(self._shape_names))
        if is_known.all():
            return self.known(self._shape_names[values])
        found = np.full(len(rows), len(self._colours) - 1, np.int32)
        found[is_known] = self.known(self._shape_names[values[is_known]])
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


class Maker:
    """Makes pictures and curves of one profile. What it needs of everything is read at once: see `held`."""

    def __init__(self, profile: Profile, limits: Limits) -> None:
        self.limits = limits
        self.frames = Frames()
        self._is_quick = False
        self._processes: list[ProcessProfile] | list[HeldProcess] = list(profile.processes)
        self.ladders = [Ladder(process) for process in profile.processes]
        self.names = [Names(process) for process in profile.processes]
        for process in profile.processes:
            _ = process.names.texts  # the thread that draws asks for one at a time
        self._windows = [_edges(process) for process in profile.processes]
        self._counter_ranges: dict[str, tuple[float, float]] = {}
        self._busy_window = Window(0, 0, 0)
        self._busy: dict[tuple[BusySource, bool], Busy] = {}
        self._recorded_ns: dict[int, I64] = {}
        self._profile = profile

    def held(self) -> Maker:
        """The twin for the thread that draws: it makes of what is in memory, at once, and raises Later for the rest."""
        twin = copy.copy(self)
        twin._is_quick = True
        held = [HeldProcess(process, _HELD_TABLES) for process in self._profile.processes]
        twin._processes = held
        twin.ladders = [ladder.held(process, self.frames) for ladder, process in zip(self.ladders, held, strict=True)]
        twin.names = [names.held(process) for names, process in zip(self.names, held, strict=True)]
        twin._busy, twin._recorded_ns, twin._busy_window = {}, {}, Window(0, 0, 0)
        return twin

    def times_of(self, process: int, table: str, row: int) -> tuple[int, int]:
        """[start, end) of a slice."""
        read = self._processes[process].table(table).part
        start, duration = (int(read(name, row, row + 1)[0]) for name in ("start_ns", "duration_ns"))
        return start, start + duration

    def row(self, row: Row, kind: str, view: Viewport) -> RowPicture:
        """What a row of a lane of that kind shows around the view."""
        ladder, names = self.ladders[row.process], self.names[row.process]
        if ladder.total(row.lane_rows) <= MIN_FEW:
            window = Window(_FIRST_NS, _LAST_NS, -1)
            answer: Slices | Columns = ladder.slices(row.lane_rows, window.begin_ns, window.end_ns)
        else:
            window = Window.around(view, self.limits)
            answer = ladder.window(row.lane_rows, window.begin_ns, window.end_ns, window.level)
        return _picture(answer, window, kind, names)

    def coarse_row(self, row: Row, kind: str, view: Viewport) -> RowPicture:
        """What the ladder alone tells of a row around the view: on a coarser grid, and never Later."""
        ladder = self.ladders[row.process]
        window = Window.around(view, self.limits, ladder.stored_level(row.lane_rows) or 0, STOPGAP_MARGIN)
        answer = ladder.stored_columns(row.lane_rows, window.begin_ns, window.end_ns, window.level)
        return _picture(answer, window, kind, self.names[row.process])

    def busy(self, lane: Lane, view: Viewport) -> Curve:
        """The lane's busy share around the view: the mean over its sources."""
        return self.busy_in(lane.busy, Window.around(view, self.limits), lane.is_of_windows)

    def stored_level(self, of: Sequence[Row] | Sequence[BusySource]) -> int:
        """The finest level that the ladder holds of all of them; 0 where it holds nothing."""
        levels = [self._stored_level(source) for source in of]
        return max((level for level in levels if level is not None), default=0)

    def coarse_busy(self, lane: Lane, view: Viewport) -> Curve | None:
        """What the ladder alone tells of the lane's busy share; None where it tells nothing."""
        levels = [self._stored_level(source) for source in lane.busy]
        if not levels or None in levels:
            return None
        least = max(level for level in levels if level is not None)
        window = Window.around(view, self.limits, least, STOPGAP_MARGIN)
        try:
            return self.busy_in(lane.busy, window, lane.is_of_windows, bound=True)
        except Later:  # some of the lane's rows are too short to have a ladder
            return None

    def busy_in(self, sources: Sequence[BusySource], window: Window, is_of_windows: bool, bound: bool = False) -> Curve:
        """The mean busy share of the sources in each bin of a window: of the bin, or of the recorded part of it."""
        first, last = window.begin_ns >> window.level, (window.end_ns - 1) >> window.level
        bins = last - first + 1
        total, known = np.zeros(bins, np.float64), np.zeros(bins, np.int64)
        busy_ns, counted_ns = np.zeros(bins, np.int64), np.zeros(bins, np.int64)
        outside_ns = 0
        is_exact = True
        for source in sources:
            self.frames.give_way()
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
        """The lane's counter around the view: in each bin the mean of its samples, or the last one before it."""
        window = Window.around(view, self.limits)
        first, last = window.begin_ns >> window.level, (window.end_ns - 1) >> window.level
        edges = np.arange(first, last + 2, dtype=np.int64) << np.int64(window.level)
        total, known = np.zeros(last - first + 1), np.zeros(last - first + 1, np.int64)
        if self._is_quick and len(lane.counters) > MAX_QUICK_COUNTERS:
            raise Later
        for samples in lane.counters:
            times, values = self._samples(samples)
            if self._is_quick and len(times) > MAX_QUICK_SAMPLES:
                low, high = np.searchsorted(times, (edges[0], edges[-1]))
                if high - low > MAX_QUICK_SAMPLES:
                    raise Later
            mean = binned(times, values, edges)
            has = np.isfinite(mean)
            total[has] += mean[has]
            known[has] += 1
        with np.errstate(invalid="ignore", divide="ignore"):
            return Curve(window, first, np.where(known > 0, total / known, np.nan))

    def counter_range(self, lane: Lane) -> tuple[float, float]:
        """Least and greatest sample of a counter lane, 0 included."""
        found = self._counter_ranges.get(lane.key)
        if found is None:
            if self._is_quick and sum(part.end - part.begin for part in lane.counters) > MAX_QUICK_SAMPLES:
                raise Later
            low, high = 0.0, 0.0
            for samples in lane.counters:
                values = self._samples(samples)[1]
                values = values[np.isfinite(values)]
                if len(values):
                    low, high = min(low, float(values.min())), max(high, float(values.max()))
            found = self._counter_ranges[lane.key] = (low, high)
        return found

    def _stored_level(self, source: Row | BusySource) -> int | None:
        """The finest level that the ladder holds of a row or a source."""
        ladder = self.ladders[source.process]
        if isinstance(source, BusySource) and source.union != NONE:
            whole = ladder.stored_level((source.union,))
            if whole is not None:
                return whole
        return ladder.stored_level(source.lane_rows)

    def _busy_of(self, source: BusySource, window: Window, bound: bool) -> Busy:
        """One source's busy time; kept, because a device counts for its own lanes, its process and its host."""
        if window != self._busy_window:
            self._busy_window, self._busy, self._recorded_ns = window, {}, {}
        found = self._busy.get((source, bound))
        if found is None:
            ladder = self.ladders[source.process]
            found = ladder.busy(source.lane_rows, window.begin_ns, window.end_ns, window.level, bound, source.union)
            self._busy[source, bound] = found
        return found

    def _recorded(self, process: int, window: Window) -> I64:
        """How much of each bin of a window lies in the profile's span and in the windows of a process."""
        if window != self._busy_window:
            self._busy_window, self._busy, self._recorded_ns = window, {}, {}
        found = self._recorded_ns.get(process)
        if found is None:
            edges = np.arange(window.begin_ns >> window.level, ((window.end_ns - 1) >> window.level) + 2)
            inside = intervals.clip(*self._windows[process], self.limits.begin_ns, self.limits.end_ns)
            found = intervals.busy_per_bin(*inside, edges << np.int64(window.level))
            self._recorded_ns[process] = found
        return found

    def _recorded_outside(self, process: int) -> int:
        """How much of the windows of a process lies outside the profile's span."""
        starts, ends = self._windows[process]
        before, after = (np.minimum(ends, self.limits.begin_ns), np.maximum(starts, self.limits.end_ns))
        return int(np.maximum(before - starts, 0).sum() + np.maximum(ends - after, 0).sum())

    def _inside(self, source: BusySource, busy: Busy, recorded_ns: I64, bound: bool) -> tuple[I64, bool]:
        """The part of each bin's busy time inside the windows of the source's process, and whether it is exact."""
        ladder, (starts, ends) = self.ladders[source.process], self._windows[source.process]
        begin_ns, end_ns = ladder.span(source.lane_rows)
        if len(starts) == 1 and starts[0] <= begin_ns and end_ns <= ends[0]:
            return busy.busy_ns, True
        inside = np.minimum(busy.busy_ns, recorded_ns)
        cut = np.flatnonzero((recorded_ns > 0) & (recorded_ns < 1 << busy.level) & (busy.busy_ns > 0))
        is_exact = not bound and len(cut) <= MAX_EDGE_BINS
        for at in cut[:MAX_EDGE_BINS].tolist() if is_exact else ():
            low_ns = (busy.first_bin + at) << busy.level
            high_ns = low_ns + (1 << busy.level)
            count = sum(ladder.count(lane_row, low_ns, high_ns) for lane_row in source.lane_rows)
            if count > MAX_EDGE_SLICES:
                is_exact = False
                continue
            if self._is_quick:
                self.frames.compare(count)
            found = ladder.slices(source.lane_rows, low_ns, high_ns)
            both = intervals.intersect(found.start_ns, found.end_ns, *intervals.clip(starts, ends, low_ns, high_ns))
            inside[at] = int((both[1] - both[0]).sum())
        return inside, is_exact

    def _samples(self, samples: CounterRange) -> tuple[I64, NDArray[np.float64]]:
        read = self._processes[samples.process].table("counter").part
        return read("time_ns", samples.begin, samples.end), read("value", samples.begin, samples.end)


def _picture(answer: Slices | Columns, window: Window, kind: str, names: Names) -> RowPicture:
    """An answer of the ladder with the colours and names of its slices."""
    if isinstance(answer, Columns):
        name_id = answer.name_id.copy()
        ask = np.flatnonzero(name_id == UNKNOWN_NAME)
        name_id[ask] = names.ids_of_mixed(answer.table[ask], answer.row[ask])
        name_id = names.known(name_id)
    else:
        name_id = names.ids_of_mixed(answer.table, answer.row)
    colour = names.colours(name_id) if kind != "sync" else np.full(len(name_id), SYNC, np.uint8)
    if isinstance(answer, Slices):
        none = RowPicture.empty(window)
        return RowPicture(
            window, none.bin_ns, none.share, none.bin_colour,
            answer.start_ns, answer.end_ns, colour, answer.table, answer.row, name_id, none.name_id,
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
        answer.table[heads], answer.row[heads], name_id[heads], name_id[rest],
    )  # fmt: skip


def _edges(process: ProcessProfile) -> tuple[I64, I64]:
    """When a process recorded: disjoint sorted starts and ends."""
    edges = np.array(windows_within(windows_of(process), None, None), np.int64).reshape(-1, 2)
    return edges[:, 0], edges[:, 1]


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
