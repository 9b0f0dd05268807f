"""Searching a column of a table, with what the file tells of its pieces and without, against looking at every row."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smprof.profile.columns import Columns
from smprof.profile.manifest import Manifest, Process
from smprof.profile.reader import Profile
from smprof.profile.schema import NONE, Column
from smprof.profile.table import Table
from smprof.profile.writer import ProfileWriter


def table_of(values: list[int], ends: list[int], is_told: bool) -> tuple[Table, list[int]]:
    """A table of one column in pieces, and the pieces that were read so far."""
    column, read = np.array(values, np.int64), []
    begins = [0, *ends[:-1]]

    def piece(_wanted: Column, index: int) -> np.ndarray:
        read.append(index)
        return column[begins[index] : ends[index]]

    def bounds(_wanted: Column) -> tuple[np.ndarray, np.ndarray]:
        there = [part[part != NONE] for part in (column[b:e] for b, e in zip(begins, ends, strict=True))]
        return (
            np.array([part.min() if len(part) else 1 << 62 for part in there]),
            np.array([part.max() if len(part) else -1 << 62 for part in there]),
        )

    return Table("device", len(values), lambda _wanted: column, piece, ends, bounds if is_told else None), read


@st.composite
def pieces(draw: st.DrawFn) -> list[int]:
    """The ends of consecutive pieces, none empty."""
    return [int(end) for end in np.cumsum(draw(st.lists(st.integers(1, 5), min_size=1, max_size=9)))]


@given(ends=pieces(), is_told=st.booleans(), data=st.data())
def test_the_last_row_at_most_a_value_in_a_stretch_that_ascends(
    ends: list[int], is_told: bool, data: st.DataObject
) -> None:
    rows = ends[-1]
    begin = data.draw(st.integers(0, rows))
    end = data.draw(st.integers(begin, rows))
    number = st.integers(0, 12)
    around = [data.draw(number) for _ in range(rows)]
    inside = sorted(data.draw(st.lists(number, min_size=end - begin, max_size=end - begin)))
    values = [*around[:begin], *inside, *around[end:]]
    table, _ = table_of(values, ends, is_told)
    for wanted in range(-1, 14):
        below = [row for row in range(begin, end) if values[row] <= wanted]
        assert table.last_at("start_ns", begin, end, wanted) == (below[-1] if below else begin - 1)


@given(ends=pieces(), is_told=st.booleans(), data=st.data())
def test_rows_that_hold_a_value(ends: list[int], is_told: bool, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(-1, 9), min_size=ends[-1], max_size=ends[-1]))
    table, _ = table_of(values, ends, is_told)
    for wanted in range(10):
        assert table.rows_with("correlation", wanted).tolist() == [r for r, v in enumerate(values) if v == wanted]
        assert table.value("correlation", 0) == values[0]
    for least, greatest in ((0, 3), (4, 4), (5, 20)):
        stretches = table.stretches("correlation", least, greatest)
        inside = {row for begin, end in stretches for row in range(begin, end)}
        assert {row for row, value in enumerate(values) if least <= value <= greatest} <= inside
        assert all(first[1] < second[0] for first, second in pairwise(stretches))


def test_no_more_is_read_than_where_the_value_may_be() -> None:
    ends = list(range(10, 110, 10))
    table, read = table_of(list(range(100)), ends, True)
    assert table.rows_with("correlation", 57).tolist() == [57]
    assert table.last_at("start_ns", 3, 97, 34) == 34
    assert read == [5, 3]


def test_what_a_file_tells_of_its_row_groups_is_what_they_hold(tmp_path: Path) -> None:
    writer = ProfileWriter(tmp_path / "p", Manifest(name="long"))
    process = writer.process(Process(host="algo-1", process="0"))
    count, shape = 600_000, process.shape_id(process.name_id("gemm"))
    start_ns = np.arange(count, dtype=np.int64) * 10
    rows: Columns = {"start_ns": start_ns, "duration_ns": np.full(count, 5), "correlation": np.arange(count) + 1}
    stream = {"device": np.zeros(count, np.int32), "stream": np.full(count, 7), "shape_id": np.full(count, shape)}
    process.append("device", {**rows, **stream, "kind": np.zeros(count, np.uint8)})
    writer.finish()
    table = Profile.open(tmp_path / "p").processes[0].table("device")
    assert table.stretches("correlation", 300_000, 300_000) == [(250_000, 500_000)]
    assert table.stretches("correlation", count + 5, count + 5) == []
    assert table.stretches("graph", 0, 1 << 40) == []
    assert table.last_at("start_ns", 0, count, 5_999_995) == 599_999
    assert table.rows_with("correlation", 300_000).tolist() == [299_999]
    assert not table.columns_held() - {"start_ns", "correlation"}


def test_what_was_read_first_is_let_go_of_first_but_for_some_columns() -> None:
    table, read = table_of(list(range(100)), list(range(10, 110, 10)), True)
    for name in ("start_ns", "correlation"):
        for row in (5, 45, 95):
            assert table.value(name, row) == row
    table.trim(160, but=("start_ns",))
    read.clear()
    assert all(table.value("start_ns", row) == row for row in (5, 45, 95)) and read == []
    assert [table.value("correlation", row) for row in (95, 45, 5)] == [95, 45, 5] and read == [0]
    table.trim(0)
    assert not table.columns_held()
