"""Rows put aside come back as they were, a merge of them gives what a merge in memory gives, and holds little."""

from __future__ import annotations

import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof.profile import assemble as assembling
from smprof.profile import columns as cols
from smprof.profile import storage, writer
from smprof.profile.assemble import assemble
from smprof.profile.manifest import Host, Manifest, Process
from smprof.profile.reader import Profile
from smprof.profile.schema import SLICE_TABLES, TABLES
from smprof.profile.scratch import Ordered, Scratch, StoredTable
from smprof.profile.writer import ProfileWriter
from tests.profile.test_assemble import DEVICE_ROWS, HOST_ROWS, raw_table

INT64 = np.iinfo(np.int64)
NUMBERS = st.one_of(
    *(
        st.lists(st.integers(int(np.iinfo(kind).min), int(np.iinfo(kind).max)), max_size=8).map(
            partial(np.array, dtype=kind)
        )
        for kind in (np.int8, np.int32, np.int64)
    ),
    st.lists(st.floats(), max_size=8).map(lambda values: np.array(values, np.float64)),
    st.builds(lambda value, count: np.broadcast_to(np.int64(value), (count,)), st.integers(-1, 9), st.integers(0, 9)),
)
TEXTS = st.lists(st.one_of(st.none(), st.text(max_size=5)), max_size=8)


@pytest.mark.parametrize("room_bytes", [0, 1 << 20], ids=["on disk", "in memory"])
@given(values=NUMBERS, texts=TEXTS, begin=st.integers(0, 3))
def test_what_is_put_aside_comes_back_bit_by_bit(
    tmp_path_factory: pytest.TempPathFactory, room_bytes: int, values: Any, texts: list[str | None], begin: int
) -> None:
    scratch = Scratch(tmp_path_factory.getbasetemp(), room_bytes)
    strings = pa.array(texts, pa.large_string())[begin:]
    blobs = pa.array([None if text is None else text.encode() for text in texts], pa.large_binary())[begin:]
    aside = [scratch.put(each) for each in (values, strings, blobs, values[begin:])]
    for given_values, found in zip((values, strings, blobs, values[begin:]), map(scratch.get, aside), strict=True):
        if isinstance(given_values, np.ndarray):
            assert found.dtype == given_values.dtype
            assert found.tobytes() == np.ascontiguousarray(given_values).tobytes()
        else:
            assert found.type == given_values.type
            assert found.to_pylist() == given_values.to_pylist()
            found.validate(full=True)
    scratch.close()


def test_absent_texts_that_have_bytes_stay_absent() -> None:
    offsets = pa.py_buffer(np.array([0, 2, 4], np.int64))
    strings = pa.LargeStringArray.from_buffers(2, offsets, pa.py_buffer(b"abcd"), pa.py_buffer(b"\x02"))
    scratch = Scratch()
    assert scratch.get(scratch.put(strings)).to_pylist() == [None, "cd"]


def test_narrow_numbers_take_little_and_one_value_takes_nothing(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, 0)
    scratch.put(np.full(1000, 7))
    assert scratch.file_bytes == 0
    scratch.put(np.arange(1000) + INT64.max - 1000)
    assert scratch.file_bytes == 2000
    assert list(tmp_path.iterdir()) == []
    scratch.close()


def stored(scratch: Scratch, table: str, rows: cols.Columns, part_rows: int) -> StoredTable:
    made = StoredTable(table, scratch)
    for begin in range(0, cols.length_of(rows), part_rows):
        made.append({name: values[begin : begin + part_rows] for name, values in rows.items()})
    return made


def args_of(host_rows: int, device_rows: int) -> cols.Columns:
    owners = [("host", row) for row in range(host_rows)] + [("device", row) for row in range(device_rows)]
    rows = [
        {"table": table, "key": key, "id": row, "integer": row, "text": None if key == "b" else f"{table}{row}"}
        for table, row in owners
        for key in ("b", "a")
    ]
    rows.append({"table": "host", "key": "gone", "id": host_rows + 5, "integer": 1, "text": None})
    return {
        column.name: cols.normal(column, [row[column.name] for row in rows], len(rows)) for column in TABLES["args"]
    }


def as_lists(table: Any) -> dict[str, list[Any]]:
    return {name: values.tolist() if isinstance(values, np.ndarray) else values.to_pylist() for name, values in table}


@given(HOST_ROWS, DEVICE_ROWS, st.integers(1, 9), st.integers(1, 9), st.integers(1, 40))
def test_rows_put_aside_are_merged_as_those_in_memory(
    tmp_path_factory: pytest.TempPathFactory,
    host_rows: list[Any],
    device_rows: list[Any],
    part_rows: int,
    block_rows: int,
    lane_rows: int,
) -> None:
    raw = {
        "host": raw_table("host", host_rows),
        "device": raw_table("device", device_rows),
        "args": args_of(len(host_rows), len(device_rows)),
    }
    scratch = Scratch(tmp_path_factory.getbasetemp(), 0)
    aside = {name: stored(scratch, name, rows, part_rows) for name, rows in raw.items()}
    expected = assemble({**raw})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembling, "_LANES_AT_ONCE", lane_rows)
        merged = assemble({**aside})
    for name, table in merged.items():
        wanted = as_lists(expected[name].items())
        assert as_lists(table.items()) == wanted
        if isinstance(table, Ordered) and table.rows:
            bounds = [*range(0, table.rows, block_rows), table.rows]
            blocks = [as_lists(block.items()) for block in table.blocks(bounds)]
            assert [len(block["id"]) for block in blocks] == np.diff(bounds).tolist()
            for column in wanted:
                assert [value for block in blocks for value in block[column]] == wanted[column]
    scratch.close()


def run_of(tmp_path: Path, rows: int, segment_rows: int | None) -> ProfileWriter:
    """Three nested calls, one argument each, and a kernel now and then, on several threads; nothing merged yet."""
    run = ProfileWriter(tmp_path / "profile", Manifest(name="test", hosts=[Host("algo-1")]), segment_rows)
    process = run.process(Process(host="algo-1", process="0"))
    name, shape = process.name_id("f"), process.shape_id(process.name_id("k"))
    step = 5_000
    for begin in range(0, rows, step):
        row = np.arange(begin, begin + step, dtype=np.int64)
        start = row // 3 * 1000 + row % 3
        columns = {"start_ns": start, "duration_ns": 900 - row % 3 * 2, "name_id": np.full(step, name)}
        kinds = np.where(row % 3 == 2, 0, 1).astype(np.int8)
        ids = process.append("host", {**columns, "kind": kinds, "thread": row // 3 % 4, "correlation": row + 1})
        key = pa.DictionaryArray.from_arrays(pa.array(np.zeros(step, np.int32)), pa.array(["Input Dims"]))
        texts = pa.array([f"[[{i}]]" for i in row.tolist()], pa.large_string())
        process.append("args", {"table": np.full(step, 1, np.int8), "key": key, "id": ids, "text": texts})
        few = start[::10]
        columns = {"start_ns": few, "duration_ns": np.full(len(few), 500), "shape_id": np.full(len(few), shape)}
        lane = {"device": np.zeros(len(few), np.int32), "stream": np.full(len(few), 7)}
        process.append("device", {**columns, **lane, "kind": np.zeros(len(few), np.int8), "correlation": row[::10] + 1})
    return run


@pytest.mark.parametrize("segment_rows", [None, 20_000], ids=["put aside", "segments"])
def test_a_merge_never_holds_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, segment_rows: int | None) -> None:
    rows, part_rows = 300_000, 20_000
    monkeypatch.setattr(writer, "SEGMENT_ROWS", part_rows)
    monkeypatch.setattr(Scratch.__init__, "__defaults__", (None, 1 << 20))
    monkeypatch.setattr(storage.encode, "__defaults__", (part_rows,))
    monkeypatch.setattr(assembling, "_LANES_AT_ONCE", part_rows)
    # One after the other, so that it is not chance which tables are written side by side.
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    most_rows = 0
    to_arrow = cols.to_arrow

    def counted(table: str, columns: Any, *range_: int) -> Any:
        nonlocal most_rows
        most_rows = max(most_rows, cols.length_of(columns)) if table in ("host", "args") else most_rows
        return to_arrow(table, columns, *range_)

    run = run_of(tmp_path, rows, segment_rows)
    monkeypatch.setattr(cols, "to_arrow", counted)
    tracemalloc.start()
    try:
        run.finish()
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most_rows <= part_rows
    process = Profile.open(tmp_path / "profile").processes[0]
    held = sum(
        process.table(table)[column.name].nbytes
        for table in (*SLICE_TABLES, "args")
        for column in TABLES[table]
        if not cols.is_text(column)
    )
    assert len(process.table("args")) == len(process.table("host")) == rows
    assert peak_bytes < 0.75 * held
