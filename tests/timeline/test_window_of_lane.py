"""The level of detail of the timeline against a slow, obvious twin."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof.profile.ladder import ladder_of
from smprof.profile.reader import ProcessProfile
from smprof.profile.schema import SLICE_TABLES, TABLES
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline.ladder import MIN_FEW, Columns, Ladder, Slices

Slice = tuple[int, int, int, int]
"""start, end, table, row."""


class Tables:
    """A process with just the tables that the ladder reads, from (table, [(gap, duration), …]) per lane row."""

    def __init__(self, rows: list[tuple[str, list[tuple[int, int]]]], origin: int = 0) -> None:
        self.slices: list[list[Slice]] = []
        columns: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {name: [] for name in SLICE_TABLES}
        lane_rows: dict[str, list[int]] = {name: [] for name in ("table", "begin_row", "end_row", "begin_ns", "end_ns")}
        steps: dict[str, list[Any]] = {column.name: [] for column in TABLES["ladder"]}
        counts = dict.fromkeys(SLICE_TABLES, 0)
        for index, (table, gaps) in enumerate(rows):
            starts, durations, at = [], [], origin
            for gap, duration in gaps:
                at += gap
                starts.append(at)
                durations.append(duration)
                at += max(duration, 1)
            start, duration_ns = np.array(starts, np.int64), np.array(durations, np.int64)
            first = counts[table]
            counts[table] += len(starts)
            columns[table].append((start, duration_ns))
            code = SLICE_TABLES.index(table)
            self.slices.append(
                [(s, s + d, code, first + i) for i, (s, d) in enumerate(zip(starts, durations, strict=True))]
            )
            for name, value in zip(
                lane_rows, (code, first, counts[table], starts[0], starts[-1] + durations[-1]), strict=True
            ):
                lane_rows[name].append(value)
            for step in ladder_of(start, duration_ns):
                for name, values in (
                    ("lane_row", np.full(len(step), index)),
                    ("level", np.full(len(step), step.level)),
                    ("bin", step.bin),
                    ("busy_ns", step.busy_ns),
                    ("longest", step.longest + first),
                    ("slices", step.slices),
                    ("start_ns", start[step.longest]),
                    ("duration_ns", duration_ns[step.longest]),
                    ("name_id", step.longest % 5),
                ):
                    steps[name].append(values)
        self._tables: dict[str, Any] = {
            name: _Sized(
                start_ns=np.concatenate([s for s, _ in parts]) if parts else np.zeros(0, np.int64),
                duration_ns=np.concatenate([d for _, d in parts]) if parts else np.zeros(0, np.int64),
            )
            for name, parts in columns.items()
        }
        self._tables["lane_rows"] = {name: np.array(values, np.int64) for name, values in lane_rows.items()}
        self._tables["ladder"] = _Sized(
            {name: np.concatenate(values) if values else np.zeros(0, np.int64) for name, values in steps.items()}
        )

    def table(self, name: str) -> Any:
        return self._tables[name]


class _Sized(dict[str, np.ndarray]):
    def __len__(self) -> int:
        return len(next(iter(self.values())))

    def part(self, name: str, begin: int, end: int) -> np.ndarray:
        part: np.ndarray = self[name][begin:end]
        return part

    def at(self, name: str, rows: np.ndarray) -> np.ndarray:
        values: np.ndarray = self[name][rows]
        return values


def ladder_of_tables(tables: Tables) -> Ladder:
    return Ladder(cast(ProcessProfile, tables))


def touches(slice_: Slice, begin: int, end: int) -> bool:
    start, stop, _, _ = slice_
    return start < end and (stop > begin or (start == stop and start >= begin))


def twin(slices: list[Slice], begin: int, end: int, level: int) -> list[tuple[int, int, int, int]]:
    """(bin, busy, table, row) of each touched bin, slice by slice and bin by bin."""
    found = []
    for number in range(begin >> level, ((end - 1) >> level) + 1):
        low, high = number << level, (number + 1) << level
        here = [s for s in slices if touches(s, low, high)]
        if here:
            busy = sum(min(stop, high) - max(start, low) for start, stop, _, _ in here if start != stop)
            best = min(here, key=lambda s: (s[0] - s[1], s[0]))
            found.append((number, busy, best[2], best[3]))
    return found


durations = st.one_of(st.integers(0, 6), st.integers(0, 900))
gaps = st.lists(st.tuples(st.integers(0, 40), durations), min_size=1, max_size=60)


@st.composite
def lane_rows(draw: st.DrawFn) -> tuple[Tables, list[int]]:
    """Rows of one lane whose slices do not overlap: one sequence dealt out to up to three tables."""
    sequence = draw(gaps) * draw(st.sampled_from([1, 1, 8, 30]))
    dealt = (
        draw(st.lists(st.integers(0, 2), min_size=len(sequence), max_size=len(sequence)))
        if len(sequence) < 60
        else [(i * 7919) % 5 % 3 for i in range(len(sequence))]
    )
    rows: list[list[tuple[int, int]]] = [[], [], []]
    behind, at = [0, 0, 0], 0
    for owner, (gap, duration) in zip(dealt, sequence, strict=True):
        start = at + gap
        rows[owner].append((start - behind[owner], duration))
        at = behind[owner] = start + max(duration, 1)
    named = [(SLICE_TABLES[i], row) for i, row in enumerate(rows) if row]
    return Tables(named, origin=draw(st.sampled_from([0, -5_000, 1_796_000_000_123_456_789]))), list(range(len(named)))


@given(lane_rows(), st.integers(-100, 30_000), st.floats(0.1, 40.0), st.integers(0, 17))
def test_columns_equal_the_twin(made: tuple[Tables, list[int]], offset: int, bins: float, level: int) -> None:
    tables, rows = made
    span = max(1, int(bins * (1 << level)))
    slices = [s for row in rows for s in tables.slices[row]]
    begin = min(s[0] for s in slices) + offset
    found = ladder_of_tables(tables).columns(rows, begin, begin + span, level)
    got = list(zip(found.bin.tolist(), found.busy_ns.tolist(), found.table.tolist(), found.row.tolist(), strict=True))
    assert got == twin(slices, begin, begin + span, level)
    by_row = {(s[2], s[3]): s for s in slices}
    for start, stop, table, row in zip(
        found.start_ns.tolist(), found.end_ns.tolist(), found.table.tolist(), found.row.tolist(), strict=True
    ):
        assert by_row[table, row][:2] == (start, stop)


@given(lane_rows(), st.integers(-100, 30_000), st.floats(0.1, 40.0), st.integers(0, 17))
def test_a_window_is_its_slices_or_its_columns(
    made: tuple[Tables, list[int]], offset: int, bins: float, level: int
) -> None:
    tables, rows = made
    span = max(1, int(bins * (1 << level)))
    slices = sorted(s for row in rows for s in tables.slices[row])
    begin = slices[0][0] + offset
    inside = [s for s in slices if touches(s, begin, begin + span)]
    found = ladder_of_tables(tables).window(rows, begin, begin + span, level)
    if isinstance(found, Slices):
        got = list(
            zip(found.start_ns.tolist(), found.end_ns.tolist(), found.table.tolist(), found.row.tolist(), strict=True)
        )
        assert got == inside
    else:
        assert len(inside) > MIN_FEW
        assert isinstance(found, Columns)


@given(st.integers(0, 2_000), st.integers(1, 4_000), st.integers(0, 12))
def test_busy_time_is_that_of_the_union(offset: int, span: int, level: int) -> None:
    """Two rows that overlap each other."""
    both = Tables([("device", [(13, 5)] * 20), ("host", [(7, 9), (3, 30), (0, 2)] * 30)], origin=offset)
    covered = set()
    for row in both.slices:
        for start, stop, _, _ in row:
            covered |= set(range(start, stop))
    begin = offset - 20
    answer = ladder_of_tables(both).busy((0, 1), begin, begin + span, level)
    for index, busy in enumerate(answer.busy_ns.tolist()):
        low = (answer.first_bin + index) << level
        assert busy == len(covered & set(range(low, min(low + (1 << level), offset + 3_000))))
    assert answer.is_exact


def test_overlap_beyond_the_bound_is_marked() -> None:
    tables = Tables([("device", [(1, 2)] * 3000), ("host", [(2, 1)] * 3000)])
    answer = ladder_of_tables(tables).busy((0, 1), 0, 9000, 8, bound=True)
    assert not answer.is_exact
    assert (answer.busy_ns <= 256).all()


def test_the_cost_of_a_far_view_is_its_bins() -> None:
    """A million slices: the answer comes from the stored columns, the slices' starts are not even looked at."""
    tables = Tables([("device", [(1, 9)] * 1_000_000)])
    ladder = ladder_of_tables(tables)
    tables.table("device")["start_ns"].flags.writeable = False
    found = ladder.window([0], 0, 10_000_000, 13)
    assert isinstance(found, Columns)
    assert len(found) == -(-10_000_000 // (1 << 13))
    assert int(found.busy_ns.sum()) == 9_000_000


def test_a_slice_of_ten_hours_is_no_burden_at_one_nanosecond() -> None:
    tables = Tables([("device", [(0, 36_000_000_000_000)])])
    found = ladder_of_tables(tables).columns([0], 1_000_000, 1_000_100, 0)
    assert found.busy_ns.tolist() == [1] * 100


@pytest.mark.parametrize("step", [1, -1])
def test_neighbours_walk_all_slices_of_a_row_in_order(step: int) -> None:
    tables = Tables([("host", [(0, 5), (20, 5), (20, 5)]), ("annotation", [(10, 3), (22, 3)])])
    ladder = ladder_of_tables(tables)
    order = sorted(s for row in tables.slices for s in row)[::step]
    refs = [SliceRef(0, SLICE_TABLES[table], row) for _, _, table, row in order]
    walked = [refs[0]]
    while (following := ladder.neighbour(0, [0, 1], walked[-1], step)) is not None:
        walked.append(following)
    assert walked == refs
