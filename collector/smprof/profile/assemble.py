"""From the rows of one process as they were recorded to the order, lines and links of a merged profile. Pure.

Input rows carry ids of their own; in the output `id` is the position, and `args` point to the new ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smprof.profile import columns as cols
from smprof.profile.columns import Columns
from smprof.profile.lane_rows import lanes_of
from smprof.profile.layout import free_rows, group_bounds, nesting
from smprof.profile.schema import (
    HOST_KINDS,
    LOST_NAME,
    NONE,
    SIDES,
    SLICE_TABLES,
    SORT_KEYS,
    TABLES,
)

I64 = NDArray[np.int64]

API, OP, SYNC = (HOST_KINDS.index(kind) for kind in ("api", "op", "sync"))
MAX_LOST_PER_KEPT = 64
_BLOCK_ROWS = 1 << 20

HOST_SIDE = SIDES.index("host")


def assemble(raw: dict[str, Columns]) -> dict[str, Columns]:
    """All tables of one process, merged: sorted by SORT_KEYS, laid out in lines, linked, with lane rows and ladder.

    Empties `raw` on the way, so that no table is held twice.
    """
    tables = {name: raw.pop(name) if name in raw else cols.empty(name) for name in TABLES}
    ops = _lay_out_threads(tables["host"], tables["annotation"])
    _lay_out_device_annotations(tables["annotation"])
    _lay_out_streams(tables["device"])

    order = {name: _sorted(tables[name], SORT_KEYS[name]) for name in (*SLICE_TABLES, "counter")}
    places = {name: _inverse(rows) for name, rows in order.items()}
    # The arguments outnumber everything: they go first, while little else is held twice.
    tables["args"] = _follow(tables["args"], {name: (tables[name]["id"], places[name]) for name in order})
    tables["host"]["op"] = np.where(ops >= 0, places["host"][np.maximum(ops, 0)], NONE) if len(ops) else ops
    places.clear()
    for name in list(order):
        tables[name] = cols.take(tables[name], order.pop(name))
        tables[name]["id"] = np.arange(len(tables[name]["id"]), dtype=np.int64)
    for name in ("names", "shapes"):
        tables[name] = _dense(name, cols.take(tables[name], _sorted(tables[name], SORT_KEYS[name])))
    tables["device"]["launch"] = launches_of(tables["device"]["correlation"], tables["host"])
    tables["lane_rows"], tables["ladder"] = lanes_of(tables)
    return tables


def launches_of(correlation: I64, host: Mapping[str, Any]) -> I64:
    """Position in `host` of each execution's launch, NONE where there is none.

    The launch is the earliest-starting API call with that correlation id; ids of 0 and below are none.
    """
    api = np.flatnonzero((host["kind"] == API) & (host["correlation"] > 0))
    if len(api) == 0 or len(correlation) == 0:
        return np.full(len(correlation), NONE, np.int64)
    # Of equal starts the outermost: a runtime call begins no later than the driver call inside it.
    order = api[np.lexsort((host["depth"][api], host["start_ns"][api], host["correlation"][api]))]
    ids = host["correlation"][order]
    keep = np.append(True, ids[1:] != ids[:-1])
    ids, order = ids[keep], order[keep]
    found = np.minimum(np.searchsorted(ids, correlation), len(ids) - 1)
    return np.where((correlation > 0) & (ids[found] == correlation), order[found], NONE)


def early_executions(tables: Mapping[str, Any]) -> I64:
    """Positions in `device` of executions that start before their launch does."""
    launch, start_ns, launches_ns = tables["device"]["launch"], tables["device"]["start_ns"], tables["host"]["start_ns"]
    early: list[I64] = []
    for begin in range(0, len(launch) if len(launches_ns) else 0, _BLOCK_ROWS):
        mine = slice(begin, begin + _BLOCK_ROWS)
        linked = launch[mine] >= 0
        early.append(begin + np.flatnonzero(linked & (start_ns[mine] < launches_ns[np.maximum(launch[mine], 0)])))
    return np.concatenate(early) if early else np.zeros(0, np.int64)


def _dense(table: str, rows: Columns) -> Columns:
    """Names or shapes so that position = id, also where some were lost on the way."""
    ids = rows["id"]
    count = len(ids)
    if count == 0 or (int(ids[0]) == 0 and int(ids[-1]) == count - 1 and bool((np.diff(ids) == 1).all())):
        return rows
    # An id far beyond what is there comes from damage: it must not make the table as long as itself.
    ids, first = np.unique(ids, return_index=True)
    fits = (ids >= 0) & (ids < MAX_LOST_PER_KEPT * (count + 1))
    ids, first = ids[fits], first[fits]
    length = int(ids[-1]) + 1 if len(ids) else 0
    dense: Columns = {}
    for column in TABLES[table]:
        values = rows[column.name]
        if isinstance(values, np.ndarray):
            filled = cols.normal(column, None, length).copy()
            filled[ids] = values[first]
        else:
            source = np.full(length, -1, np.int64)
            source[ids] = first
            filled = values.take(pa.array(np.maximum(source, 0), mask=source < 0))
            if not column.nullable:
                filled = pc.fill_null(filled, LOST_NAME)
        dense[column.name] = filled
    dense["id"] = np.arange(length, dtype=np.int32)
    return dense


def _sorted(table: Columns, keys: tuple[str, ...]) -> I64:
    return np.lexsort(tuple(table[key] for key in reversed(keys)))


def _inverse(order: I64) -> I64:
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.arange(len(order))
    return inverse


def _lay_out_threads(host: Columns, annotation: Columns) -> I64:
    """Fill the depths of host slices and host-side annotations; return each host row's operator (a row, or NONE)."""
    count = len(host["id"])
    own = np.flatnonzero(annotation["side"] == HOST_SIDE)
    is_sync = np.append(host["kind"] == SYNC, np.zeros(len(own), bool))
    lane = [
        np.append(host["device"], np.full(len(own), NONE, np.int32)),
        np.append(host["stream"], np.full(len(own), NONE, np.int64)),
        np.append(host["thread"], annotation["thread"][own]),
    ]
    for values in lane[:2]:
        values[~is_sync] = NONE
    lane[2] = np.where(is_sync, NONE, lane[2])
    start = np.append(host["start_ns"], annotation["start_ns"][own])
    duration = np.append(host["duration_ns"], annotation["duration_ns"][own])
    # Of slices that begin and end together the annotation is the outer one, an API call the inner one.
    rank = np.append(np.where(host["kind"] == API, 2, 1), np.zeros(len(own), np.int64))
    keys = [is_sync.astype(np.int8), *lane]
    order = np.lexsort((rank, -duration, start, *reversed(keys)))
    bounds = group_bounds(*(key[order] for key in keys))
    depth, parent = nesting(bounds, start[order], duration[order])
    place = _inverse(order)
    depths = depth[place]
    host["depth"] = depths[:count]
    annotation["depth"] = np.zeros(len(annotation["id"]), np.int32)
    annotation["depth"][own] = depths[count:]
    return _operators(host, order, depth, parent, place)


def _operators(host: Columns, order: I64, depth: NDArray[np.int32], parent: I64, place: I64) -> I64:
    """The operator of each API call: of its external id where that encloses it, else the innermost around it."""
    count = len(host["id"])
    result = np.full(count, NONE, np.int64)
    is_op = np.append(host["kind"] == OP, np.zeros(len(order) - count, bool))
    if not is_op.any():
        return result
    nearest = np.full(len(order), NONE, np.int64)
    by_depth = np.argsort(depth, kind="stable")
    levels = np.concatenate(([0], np.cumsum(np.bincount(depth))))
    for level in range(1, len(levels) - 1):
        here = by_depth[levels[level] : levels[level + 1]]
        above = parent[here]
        nearest[here] = np.where(above >= 0, np.where(is_op[order[above]], order[above], nearest[above]), NONE)
    api = np.flatnonzero(host["kind"] == API)
    innermost = nearest[place[api]]
    external = host["external_id"][api]
    ops = np.flatnonzero((host["kind"] == OP) & (host["external_id"] > 0))
    if len(ops) and (external > 0).any():
        ops = ops[np.lexsort((host["start_ns"][ops], host["external_id"][ops]))]
        ids = host["external_id"][ops]
        first = np.append(True, ids[1:] != ids[:-1])
        ids, ops = ids[first], ops[first]
        at = np.minimum(np.searchsorted(ids, external), len(ids) - 1)
        named = ops[at]
        encloses = (
            (ids[at] == external)
            & (external > 0)
            & (host["thread"][named] == host["thread"][api])
            & (host["start_ns"][named] <= host["start_ns"][api])
            & (host["start_ns"][api] - host["start_ns"][named] < np.maximum(host["duration_ns"][named], 1))
        )
        innermost = np.where(encloses, named, innermost)
    result[api] = innermost
    return result


def _lay_out_device_annotations(annotation: Columns) -> None:
    rows = np.flatnonzero(annotation["side"] != HOST_SIDE)
    keys = [annotation["device"][rows], annotation["stream"][rows]]
    start, duration = annotation["start_ns"][rows], annotation["duration_ns"][rows]
    order = np.lexsort((-duration, start, *reversed(keys)))
    depth, _ = nesting(group_bounds(*(key[order] for key in keys)), start[order], duration[order])
    annotation["depth"][rows[order]] = depth


def _lay_out_streams(device: Columns) -> None:
    keys = [device["device"], device["stream"]]
    order = np.lexsort((device["duration_ns"], device["start_ns"], *reversed(keys)))
    bounds = group_bounds(*(key[order] for key in keys))
    rows = np.zeros(len(order), np.int32)
    rows[order] = free_rows(bounds, device["start_ns"][order], device["duration_ns"][order])
    device["row"] = rows


def _follow(args: Columns, new_ids: Mapping[str, tuple[I64, I64]]) -> Columns:
    """The arguments with the new ids of their rows; arguments of rows that are gone go with them. Empties `args`."""
    tables, keys = args["table"], args["key"]
    ids = np.full(len(tables), NONE, np.int64)
    for code, name in enumerate((*SLICE_TABLES, "counter")):
        mine = np.flatnonzero(tables == code)
        old, new = new_ids[name]
        if len(mine) and len(old):
            ids[mine] = _renumbered(args["id"][mine], old, new)
        del mine
    args["id"] = ids
    words = np.array(keys.dictionary.to_pylist(), dtype=object)
    ranks = np.empty(len(words), np.int64)
    ranks[np.argsort(words)] = np.arange(len(words))
    codes = keys.indices.to_numpy(zero_copy_only=False)
    # One number per row sorts several times faster than three columns, and most rows are in order already.
    if len(words) < 1 << 20 and (len(ids) == 0 or int(ids.max()) < 1 << 40):
        sort_key = ranks[codes] if len(words) else np.zeros(len(ids), np.int64)
        sort_key <<= 40
        sort_key |= tables.astype(np.int64) << 60
        sort_key |= np.maximum(ids, 0)
        order = np.argsort(sort_key, kind="stable")
        del sort_key
    else:
        order = np.lexsort((ids, ranks[codes], tables))
    if (ids == NONE).any():
        order = order[ids[order] != NONE]
    del ids, tables, keys, codes
    return cols.take(args, order)


def _renumbered(ids: I64, old: I64, new: I64) -> I64:
    """Each id's new one, NONE where its row is gone."""
    if old[0] == 0 and old[-1] == len(old) - 1 and bool((np.diff(old) == 1).all()):
        known = (ids >= 0) & (ids < len(old))
        return np.where(known, new[np.where(known, ids, 0)], NONE)
    order = np.argsort(old, kind="stable")
    at = np.minimum(np.searchsorted(old[order], ids), len(old) - 1)
    return np.where(old[order][at] == ids, new[order][at], NONE)
