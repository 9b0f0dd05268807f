"""`lane_rows` and `ladder` of a merged process: what stands on each line of a lane, and its level of detail. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile import columns as cols
from smprof.profile.columns import Columns
from smprof.profile.ladder import Columns as Step
from smprof.profile.ladder import ladder_of, union_ladder_of, union_of
from smprof.profile.layout import group_bounds
from smprof.profile.schema import DEVICE_KINDS, HOST_KINDS, LANE_KEYS, NONE, SIDES, SLICE_TABLES, TABLES, UNION

I64 = NDArray[np.int64]


def lanes_of(tables: Mapping[str, Any]) -> tuple[Columns, Columns]:
    """`lane_rows` and `ladder` of merged slice tables; the unions of devices stand behind the lines of lanes."""
    rows: list[dict[str, Any]] = []
    steps: list[tuple[int, Step, int]] = []
    for name in SLICE_TABLES:
        table = tables[name]
        start, duration = table["start_ns"], table["duration_ns"]
        bounds = group_bounds(*(table[key] for key in LANE_KEYS[name])).tolist() if len(start) else []
        for begin, end in pairwise(bounds):
            rows.append({"table": name, "begin_row": begin, "end_row": end, **_lane_row(name, table, begin, end)})
            for step in ladder_of(start[begin:end], duration[begin:end]):
                steps.append((len(rows) - 1, step, begin))
    for row, levels in _unions(tables["device"], [row for row in rows if row["table"] == "device"]):
        rows.append(row)
        steps += [(len(rows) - 1, step, row["begin_row"]) for step in levels]
    lane_rows: Columns = {"id": np.arange(len(rows), dtype=np.int32)}
    for column in TABLES["lane_rows"][1:]:
        lane_rows[column.name] = (
            cols.normal(column, [row[column.name] for row in rows], len(rows))
            if rows
            else (cols.normal(column, None, 0))
        )
    if not steps:
        return lane_rows, cols.empty("ladder")
    longest = [(str(rows[row]["table"]), s.longest + begin) for row, s, begin in steps]
    ladder: Columns = {
        "lane_row": np.concatenate([np.full(len(s), row, np.int32) for row, s, _ in steps]),
        "level": np.concatenate([np.full(len(s), s.level, np.int8) for _, s, _ in steps]),
        "bin": np.concatenate([s.bin for _, s, _ in steps]),
        "busy_ns": np.concatenate([s.busy_ns for _, s, _ in steps]),
        "longest": np.concatenate([at for _, at in longest]),
        "slices": np.concatenate([s.slices for _, s, _ in steps]),
        "start_ns": np.concatenate([tables[name]["start_ns"][at] for name, at in longest]),
        "duration_ns": np.concatenate([tables[name]["duration_ns"][at] for name, at in longest]),
        "name_id": np.concatenate([_names_of(tables, name, at) for name, at in longest]),
    }
    return lane_rows, ladder


def _unions(table: Any, rows: list[dict[str, Any]]) -> list[tuple[dict[str, Any], list[Step]]]:
    """For each device whose slices take several lane rows these as one: its lane row and its stored levels."""
    found = []
    bounds = [0, *(i for i in range(1, len(rows)) if rows[i]["device"] != rows[i - 1]["device"]), len(rows)]
    for first, behind in pairwise(bounds):
        mine = rows[first:behind]
        if len(mine) < 2:
            continue
        begin, end = mine[0]["begin_row"], mine[-1]["end_row"]
        start, duration = table["start_ns"][begin:end], table["duration_ns"][begin:end]
        steps = union_ladder_of(start, duration, [row["begin_row"] - begin for row in mine] + [end - begin])
        if steps:
            busy_ns = int(steps[0].busy_ns.sum())
        else:
            starts, ends = union_of(start, start + duration)
            busy_ns = int((ends - starts).sum())
        row = {
            "table": "device", "kind": UNION, "device": mine[0]["device"], "stream": NONE, "thread": NONE, "row": NONE,
            "begin_row": begin, "end_row": end, "busy_ns": busy_ns,
            "begin_ns": min(row["begin_ns"] for row in mine), "end_ns": max(row["end_ns"] for row in mine),
        }  # fmt: skip
        found.append((row, steps))
    return found


def _names_of(tables: Mapping[str, Any], name: str, at: I64) -> NDArray[np.int32]:
    """The names of slices of one table, through their launch shapes where they have one."""
    if name != "device":
        names: NDArray[np.int32] = tables[name]["name_id"][at]
        return names
    shape_ids = tables[name]["shape_id"][at]
    # One row more for ids whose shape is gone.
    name_ids = np.append(tables["shapes"]["name_id"], np.int32(NONE))
    lost = (shape_ids < 0) | (shape_ids >= len(name_ids) - 1)
    found: NDArray[np.int32] = name_ids[np.where(lost, len(name_ids) - 1, shape_ids)]
    return found


def _lane_row(name: str, table: Columns, begin: int, end: int) -> dict[str, Any]:
    start, duration = table["start_ns"][begin:end], table["duration_ns"][begin:end]
    if name == "device":
        kind = _kind_of_stream(table, begin, end)
    else:
        kind = HOST_KINDS[table["kind"][begin]] if name == "host" else SIDES[table["side"][begin]]
    return {
        "kind": kind,
        "begin_ns": int(start[0]),
        # Within a row slices do not overlap, so the last one ends last.
        "end_ns": int(start[-1] + duration[-1]),
        "busy_ns": int(duration.sum()),
        "row": int(table["row" if name == "device" else "depth"][begin]),
        "device": int(table["device"][begin]),
        "stream": int(table["stream"][begin]),
        "thread": int(table["thread"][begin]) if name != "device" else NONE,
    }


def _kind_of_stream(table: Columns, begin: int, end: int) -> str:
    """The kind of a stream's slices where they share one, else "mixed"."""
    kinds = np.unique(table["kind"][begin:end])
    return DEVICE_KINDS[int(kinds[0])] if len(kinds) == 1 else "mixed"
