"""Sorting, linking and joining of one process, against slow, obvious twins and the cases users reported."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smprof.profile import columns as cols
from smprof.profile.assemble import assemble
from smprof.profile.schema import HOST_KINDS, LANE_KEYS, NONE, SLICE_TABLES, SORT_KEYS, TABLES


def raw_table(table: str, rows: list[dict[str, Any]]) -> cols.Columns:
    made: cols.Columns = {}
    for column in TABLES[table]:
        values = [row.get(column.name) for row in rows]
        if column.name == "id":
            values = list(range(len(rows)))
        given_any = any(value is not None for value in values)
        if given_any and not column.choices:
            values = [NONE if value is None else value for value in values]
        made[column.name] = cols.normal(column, values if given_any else None, len(rows))
    return made


def host(kind: str, start: int, length: int, thread: int = 1, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "thread": thread, "start_ns": start, "duration_ns": length, "name_id": 0, **more}


def kernel(start: int, length: int, correlation: int | None, stream: int = 7) -> dict[str, Any]:
    row = {"kind": "kernel", "device": 0, "stream": stream, "start_ns": start, "duration_ns": length, "shape_id": 0}
    return {**row, "correlation": correlation}


HOST_ROWS = st.lists(
    st.builds(
        host,
        st.sampled_from(("api", "op", "python", "sync")),
        st.integers(0, 60),
        st.integers(0, 30),
        st.integers(1, 2),
        correlation=st.sampled_from((None, 0, 1, 2, 3)),
        external_id=st.sampled_from((None, 0, 4, 5)),
    ),
    max_size=25,
)
DEVICE_ROWS = st.lists(
    st.builds(
        kernel, st.integers(0, 90), st.integers(0, 20), st.sampled_from((None, -2, 0, 1, 2, 3)), st.integers(6, 7)
    ),
    max_size=20,
)


@given(HOST_ROWS, DEVICE_ROWS)
def test_tables_are_sorted_and_lines_never_overlap(host_rows: list[Any], device_rows: list[Any]) -> None:
    merged = assemble({"host": raw_table("host", host_rows), "device": raw_table("device", device_rows)})
    for table in SLICE_TABLES:
        made = merged[table]
        keys = [tuple(int(made[key][row]) for key in SORT_KEYS[table]) for row in range(len(made["id"]))]
        assert keys == sorted(keys)
        assert made["id"].tolist() == list(range(len(keys)))
        lanes: dict[tuple[int, ...], int] = {}
        for row in range(len(keys)):
            lane = tuple(int(made[key][row]) for key in LANE_KEYS[table])
            assert lanes.get(lane, -(10**9)) <= made["start_ns"][row]
            lanes[lane] = int(made["start_ns"][row] + made["duration_ns"][row])
    assert len(merged["host"]["id"]) == len(host_rows)
    assert len(merged["device"]["id"]) == len(device_rows)
    rows = merged["lane_rows"]
    lines = rows["row"] != NONE
    assert int((rows["end_row"] - rows["begin_row"])[lines].sum()) == len(host_rows) + len(device_rows)


@given(HOST_ROWS, DEVICE_ROWS)
def test_links_equal_their_definition(host_rows: list[Any], device_rows: list[Any]) -> None:
    merged = assemble({"host": raw_table("host", host_rows), "device": raw_table("device", device_rows)})
    calls, device = merged["host"], merged["device"]
    api = HOST_KINDS.index("api")
    for row in range(len(device["id"])):
        wanted = int(device["correlation"][row])
        candidates = [
            int(calls["start_ns"][call])
            for call in range(len(calls["id"]))
            if calls["kind"][call] == api and wanted > 0 and calls["correlation"][call] == wanted
        ]
        launch = int(device["launch"][row])
        if not candidates:
            assert launch == NONE
        else:
            assert calls["kind"][launch] == api
            assert calls["correlation"][launch] == wanted
            assert calls["start_ns"][launch] == min(candidates)


def obvious_operators(rows: list[dict[str, Any]]) -> list[int | None]:
    """The operator of each API call, as positions in `rows`, slice by slice from the definition."""
    found: list[int | None] = [None] * len(rows)
    for thread in (1, 2):
        mine = [i for i, row in enumerate(rows) if row["thread"] == thread and row["kind"] != "sync"]
        mine.sort(key=lambda i: (rows[i]["start_ns"], -rows[i]["duration_ns"], rows[i]["kind"] == "api", i))
        ends = {i: rows[i]["start_ns"] + max(rows[i]["duration_ns"], 1) for i in mine}
        depth: dict[int, int] = {}
        above: dict[int, int | None] = {}
        for place, i in enumerate(mine):
            still_open = [o for o in mine[:place] if ends[o] > rows[i]["start_ns"]]
            up = max(still_open, key=lambda o: depth[o], default=None)
            above[i] = up
            depth[i] = 0 if up is None else depth[up] + 1
            while up is not None and rows[up]["kind"] != "op":
                up = above[up]
            if rows[i]["kind"] == "api":
                found[i] = up
    for i, row in enumerate(rows):
        if row["kind"] == "api" and (row["external_id"] or 0) > 0:
            same = [o for o, other in enumerate(rows) if other["kind"] == "op"]
            same = [o for o in same if rows[o]["external_id"] == row["external_id"]]
            first = min(same, key=lambda o: (rows[o]["start_ns"], o), default=None)
            if first is not None and rows[first]["thread"] == row["thread"]:
                begin, length = rows[first]["start_ns"], rows[first]["duration_ns"]
                if begin <= row["start_ns"] <= begin + length:
                    found[i] = first
    return found


@given(HOST_ROWS)
def test_operators_of_calls_equal_their_definition(host_rows: list[Any]) -> None:
    rows = [{**row, "name_id": index} for index, row in enumerate(host_rows)]
    table = assemble({"host": raw_table("host", rows)})["host"]
    names = table["name_id"]
    made = {int(names[i]): int(names[op]) if op != NONE else None for i, op in enumerate(table["op"].tolist())}
    assert [made[index] for index in range(len(rows))] == obvious_operators(rows)


def test_one_link_for_a_runtime_call_and_the_driver_call_inside_it() -> None:
    rows = [host("api", 12, 3, correlation=5), host("api", 10, 9, correlation=5), host("api", 40, 2, correlation=5)]
    merged = assemble({"host": raw_table("host", rows), "device": raw_table("device", [kernel(60, 5, 5)])})
    launch = int(merged["device"]["launch"][0])
    assert merged["host"]["start_ns"][launch] == 10


def test_a_graph_launch_owns_all_its_executions() -> None:
    rows = [host("api", 10, 9, correlation=5)]
    executions = [kernel(100 + 10 * index, 5, 5) for index in range(30)]
    merged = assemble({"host": raw_table("host", rows), "device": raw_table("device", executions)})
    assert merged["device"]["launch"].tolist() == [0] * 30


def test_a_synchronisation_record_lies_on_a_lane_of_its_own() -> None:
    rows = [host("sync", 0, 180, thread=NONE, device=0, stream=7)]
    merged = assemble({"host": raw_table("host", rows), "device": raw_table("device", [kernel(0, 180, None)])})
    lanes = merged["lane_rows"]
    assert len(lanes["id"]) == 2
    assert lanes["kind"].to_pylist() == ["kernel", "sync"]
    assert lanes["busy_ns"].tolist() == [180, 180]


def test_annotations_and_calls_share_the_lines_of_their_thread() -> None:
    annotation = {"side": "host", "thread": 1, "start_ns": 0, "duration_ns": 100, "name_id": 0, "source": "nvtx"}
    merged = assemble(
        {
            "host": raw_table("host", [host("op", 0, 100), host("api", 10, 5), host("python", 5, 50)]),
            "annotation": raw_table("annotation", [annotation]),
        }
    )
    depths = dict(zip(merged["host"]["kind"].tolist(), merged["host"]["depth"].tolist(), strict=True))
    assert merged["annotation"]["depth"].tolist() == [0]
    assert depths == {HOST_KINDS.index("op"): 1, HOST_KINDS.index("python"): 2, HOST_KINDS.index("api"): 3}


def test_arguments_follow_their_rows() -> None:
    rows = [host("op", 50, 5), host("op", 10, 5)]
    args = [{"table": "host", "key": "Input Dims", "integer": NONE, "text": "[1]"}] * 2
    raw = raw_table("args", args)
    raw["id"] = np.array([0, 99])
    merged = assemble({"host": raw_table("host", rows), "args": raw})
    assert merged["host"]["start_ns"].tolist() == [10, 50]
    assert merged["args"]["id"].tolist() == [1]
