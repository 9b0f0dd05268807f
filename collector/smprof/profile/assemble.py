"""From the rows of one process as they were recorded to the order, lines and links of a merged profile. Pure.

Input rows carry ids of their own; in the output `id` is the position, and `args` point to the new ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
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
from smprof.profile.scratch import Ordered, parts_of, words_of

I64 = NDArray[np.int64]

API, OP, SYNC = (HOST_KINDS.index(kind) for kind in ("api", "op", "sync"))
MAX_LOST_PER_KEPT = 64
_BLOCK_ROWS = 1 << 20

_LANES_AT_ONCE = 1 << 18
"""Rows of short lanes that are laid out together."""

HOST_SIDE = SIDES.index("host")


def assemble(raw: dict[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """All tables of one process, merged: sorted by SORT_KEYS, laid out in lines, linked, with lane rows and ladder.

    Columns of `raw` are read where they are needed and let go; those of the result are put in order each time that
    they are asked for, as long as what `raw` holds is there. Empties `raw`.
    """
    tables = {name: raw.pop(name) if name in raw else cols.empty(name) for name in TABLES}
    host, annotation, device = tables["host"], tables["annotation"], tables["device"]
    host_depth, annotation_depth, ops = _lay_out_threads(host, annotation)
    lines: dict[str, Columns] = {
        "host": {"depth": host_depth},
        "annotation": {"depth": _lay_out_device_annotations(annotation, annotation_depth)},
        "device": {"row": _lay_out_streams(device)},
        "counter": {},
    }
    merged: dict[str, Mapping[str, Any]] = {}
    ordered: dict[str, Ordered] = {}
    places: dict[str, NDArray[Any]] = {}
    for name in (*SLICE_TABLES, "counter"):
        made = lines[name]
        order = _sorted(made, tables[name], SORT_KEYS[name])
        made |= {line: cols.taken(values, order) for line, values in made.items()}
        if name == "host":
            ops = cols.taken(ops, order)
        ordered[name] = Ordered(name, tables[name], order, made)
        places[name] = ordered[name].places()
        del order
    merged |= ordered
    if len(ops):
        ops = np.where(ops >= 0, places["host"][np.maximum(ops, 0)], places["host"].dtype.type(NONE))
    lines["host"]["op"] = ops
    merged["args"] = _follow(tables["args"], {name: (tables[name], places[name]) for name in places})
    places.clear()
    for name in ("names", "shapes"):
        order = _sorted({}, tables[name], SORT_KEYS[name])
        merged[name] = _dense(name, {column: cols.taken(values, order) for column, values in tables[name].items()})
    lines["device"]["launch"] = launches_of(merged["device"]["correlation"], merged["host"])
    lanes = {name: _Read(merged[name]) for name in (*SLICE_TABLES, "names", "shapes")}
    merged["lane_rows"], merged["ladder"] = lanes_of(lanes)
    return {name: merged[name] for name in TABLES}


class _Read(dict[str, Any]):
    """Columns of a table that are kept once they were asked for."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._table = table

    def __missing__(self, name: str) -> Any:
        self[name] = self._table[name]
        return self[name]


def launches_of(correlation: I64, host: Mapping[str, Any]) -> I64:
    """Position in `host` of each execution's launch, NONE where there is none.

    The launch is the earliest-starting API call with that correlation id; ids of 0 and below are none.
    """
    ids = host["correlation"]
    api = np.flatnonzero((host["kind"] == API) & (ids > 0))
    ids = ids[api]
    if len(api) == 0 or len(correlation) == 0:
        return np.full(len(correlation), NONE, np.int64)
    # Of equal starts the outermost: a runtime call begins no later than the driver call inside it.
    order = np.lexsort((host["depth"][api], host["start_ns"][api], ids))
    ids, order = ids[order], api[order]
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


def _sorted(made: Mapping[str, Any], table: Mapping[str, Any], keys: Sequence[str]) -> NDArray[Any]:
    """The order of rows by keys, the first of which decides first; columns of `made` stand in place of the table's."""

    def load(key: str) -> NDArray[Any]:
        known: NDArray[Any] | None = made.get(key)
        return table[key] if known is None else known

    return _order_by(cols.length_of(table), [partial(load, key) for key in keys])


def _order_by(count: int, keys: Sequence[Callable[[], NDArray[Any]]]) -> NDArray[Any]:
    """As np.lexsort of the reversed keys, with one key in memory at a time."""
    order: NDArray[Any] | None = None
    for key in reversed(keys):
        values = key()
        if count == 0 or cols.is_constant(values):
            continue
        least, most = int(values.min()), int(values.max())
        if least == most:
            continue
        if most - least < 1 << 16:
            # Numbers of 16 bits are sorted without being compared.
            values = (values - values.dtype.type(least)).astype(np.uint16)
        if order is None:
            order = np.argsort(values, kind="stable").astype(cols.position_type(count), copy=False)
        else:
            order = cols.taken(order, np.argsort(cols.taken(values, order), kind="stable"))
    return np.arange(count, dtype=cols.position_type(count)) if order is None else order


def _lay_out_threads(
    host: Mapping[str, Any], annotation: Mapping[str, Any]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any]]:
    """The depths of host slices, those of annotations (0 on the device side), and each host row's operator: a row, or
    NONE."""
    count = cols.length_of(host)
    own = np.flatnonzero(annotation["side"] == HOST_SIDE)
    kind = np.append(host["kind"], np.full(len(own), len(HOST_KINDS), np.int8))
    by_lane, bounds = _thread_lanes(host, annotation, own, kind == SYNC)
    start, duration = (np.append(host[name], annotation[name][own]) for name in ("start_ns", "duration_ns"))
    depth = np.zeros(len(kind), np.int32)
    operators = np.full(len(kind), NONE, by_lane.dtype)
    for lanes in _batches(bounds):
        rows = by_lane[lanes[0] : lanes[-1]]
        lanes = lanes - lanes[0]
        of = kind[rows]
        # Of slices that begin and end together the annotation is the outer one, an API call the inner one.
        rank = np.where(of == API, 2, of != len(HOST_KINDS)).astype(np.int8)
        lane = np.repeat(np.arange(len(lanes) - 1, dtype=np.int32), np.diff(lanes))
        order = np.lexsort((rank, -duration[rows], start[rows], lane)[: 4 if len(lanes) > 2 else 3])
        del rank, lane
        rows, of = rows[order], of[order]
        del order
        depth[rows], parent = nesting(lanes, start[rows], duration[rows])
        operators[rows] = _innermost(rows, of, depth[rows], parent)
    del by_lane
    depths = np.zeros(cols.length_of(annotation), np.int32)
    depths[own] = depth[count:]
    if count:
        _by_external_id(operators, host, start, duration, kind)
    return depth[:count], depths, operators[:count]


def _thread_lanes(
    host: Mapping[str, Any], annotation: Mapping[str, Any], own: I64, is_sync: NDArray[np.bool_]
) -> tuple[NDArray[Any], I64]:
    """Host rows, and behind them the annotations `own`, in the order of their lanes, and where each lane begins."""
    no_sync = not is_sync.any()
    nothing = np.broadcast_to(np.int64(NONE), (len(own),))

    def place_of_sync(name: str) -> NDArray[Any]:
        if no_sync:
            return np.broadcast_to(np.int64(NONE), (len(is_sync),))
        return np.where(is_sync, np.append(host[name], nothing), NONE)

    def thread() -> NDArray[Any]:
        values: NDArray[Any] = np.append(host["thread"], annotation["thread"][own])
        if not no_sync:
            values[is_sync] = NONE
        return values

    keys: list[Callable[[], NDArray[Any]]] = [
        lambda: is_sync.astype(np.int8),
        partial(place_of_sync, "device"),
        partial(place_of_sync, "stream"),
        thread,
    ]
    order = _order_by(len(is_sync), keys)
    changes = np.zeros(max(len(order) - 1, 0), bool)
    for key in keys:
        values = cols.taken(key(), order)
        changes |= values[1:] != values[:-1]
    bounds = np.concatenate(([0], np.flatnonzero(changes) + 1, [len(order)])) if len(order) else np.zeros(1, np.int64)
    return order, bounds


def _batches(bounds: I64) -> Iterator[I64]:
    """Bounds of some lanes each: one that is long by itself, many that are short together."""
    first = 0
    while first < len(bounds) - 1:
        behind = int(np.searchsorted(bounds, bounds[first] + _LANES_AT_ONCE, "right"))
        behind = max(behind, first + 2)
        yield bounds[first:behind]
        first = behind - 1


def _innermost(rows: NDArray[Any], kind: NDArray[np.int8], depth: NDArray[np.int32], parent: I64) -> NDArray[Any]:
    """The row of the innermost operator around each API call, NONE elsewhere; `parent` are positions in these rows."""
    nearest = np.full(len(rows), NONE, rows.dtype)
    is_op = kind == OP
    if not is_op.any():
        return nearest
    by_depth = np.argsort(depth, kind="stable")
    levels = np.concatenate(([0], np.cumsum(np.bincount(depth))))
    for level in range(1, len(levels) - 1):
        here = by_depth[levels[level] : levels[level + 1]]
        above = parent[here]
        nearest[here] = np.where(above >= 0, np.where(is_op[above], rows[above], nearest[above]), NONE)
    nearest[kind != API] = NONE
    return nearest


def _by_external_id(
    operators: NDArray[Any], host: Mapping[str, Any], start_ns: I64, duration_ns: I64, kind: NDArray[np.int8]
) -> None:
    """Set the operator of each API call to that of its external id where this encloses it."""
    count = cols.length_of(host)
    api, ops = (np.flatnonzero(kind[:count] == wanted) for wanted in (API, OP))
    external = host["external_id"]
    external, ids = external[api], external[ops]
    ops, ids = ops[ids > 0], ids[ids > 0]
    if not len(ops) or not (external > 0).any():
        return
    order = np.lexsort((start_ns[ops], ids))
    ops, ids = ops[order], ids[order]
    first = np.append(True, ids[1:] != ids[:-1])
    ids, ops = ids[first], ops[first]
    at = np.minimum(np.searchsorted(ids, external), len(ids) - 1)
    found = (ids[at] == external) & (external > 0)
    api, named = api[found], ops[at[found]]
    thread = host["thread"]
    encloses = (
        (thread[named] == thread[api])
        & (start_ns[named] <= start_ns[api])
        & (start_ns[api] - start_ns[named] < np.maximum(duration_ns[named], 1))
    )
    operators[api[encloses]] = named[encloses]


def _lay_out_device_annotations(annotation: Mapping[str, Any], depths: NDArray[np.int32]) -> NDArray[np.int32]:
    """The depths of annotations, those of the device side filled in."""
    rows = np.flatnonzero(annotation["side"] != HOST_SIDE)
    keys = [annotation["device"][rows], annotation["stream"][rows]]
    start, duration = annotation["start_ns"][rows], annotation["duration_ns"][rows]
    order = np.lexsort((-duration, start, *reversed(keys)))
    depths[rows[order]], _ = nesting(group_bounds(*(key[order] for key in keys)), start[order], duration[order])
    return depths


def _lay_out_streams(device: Mapping[str, Any]) -> NDArray[np.int32]:
    order = _sorted({}, device, ("device", "stream", "start_ns", "duration_ns"))
    bounds = group_bounds(*(cols.taken(device[key], order) for key in ("device", "stream")))
    start, duration = (cols.taken(device[key], order) for key in ("start_ns", "duration_ns"))
    rows = np.zeros(len(order), np.int32)
    rows[order] = free_rows(bounds, start, duration)
    return rows


def _follow(args: Mapping[str, Any], new_ids: Mapping[str, tuple[Mapping[str, Any], NDArray[Any]]]) -> Ordered:
    """The arguments with the new ids of their rows; arguments of rows that are gone go with them."""
    count = cols.length_of(args)
    names = (*SLICE_TABLES, "counter")
    renumber = [_renumbering(table["id"], new) for table, new in (new_ids[name] for name in names)]
    words = np.array(words_of(args, "key"), dtype=object)
    ranks = np.empty(len(words), np.int64)
    ranks[np.argsort(words)] = np.arange(len(words))

    def groups(part: Columns) -> NDArray[Any]:
        """One number for table and key of each row, in the order of the result."""
        keys = part["key"].indices.to_numpy(zero_copy_only=False)
        of = part["table"].astype(np.int64) * len(words) + ranks[keys]
        number: NDArray[Any] = of.astype(np.uint16) if len(names) * len(words) < 1 << 16 else of
        return number

    behind = np.zeros(len(names) * len(words) + 1, np.int64)
    for part in parts_of(args, ("table", "key")):
        behind[1:] += np.bincount(groups(part), minlength=len(behind) - 1)
    bounds = np.cumsum(behind)
    # Rows go to their group in the order in which they come, then each group is sorted by id.
    free = bounds[:-1].copy()
    order = np.empty(count, cols.position_type(count))
    ids = np.empty(count, cols.position_type(max(len(new) for _table, new in new_ids.values())))
    begin = 0
    for part in parts_of(args, ("table", "key", "id")):
        group = groups(part)
        at = np.argsort(group, kind="stable")
        group = group[at]
        counts = np.bincount(group, minlength=len(free))
        to = np.arange(len(at)) + np.repeat(free - (np.cumsum(counts) - counts), counts)
        free += counts
        order[to] = begin + at
        ids[to] = _new_ids(part, renumber)[at]
        begin += len(at)
    falls = np.flatnonzero(ids[1:] < ids[:-1]) + 1
    for group in np.unique(np.searchsorted(bounds, falls, "right") - 1).tolist():
        here = slice(int(bounds[group]), int(bounds[group + 1]))
        if np.any((falls > here.start) & (falls < here.stop)):
            at = np.argsort(ids[here], kind="stable")
            order[here], ids[here] = order[here][at], ids[here][at]
    if (ids == NONE).any():
        order, ids = order[ids != NONE], ids[ids != NONE]
    return Ordered("args", args, order, {"id": ids})


def _new_ids(part: Columns, renumber: Sequence[Callable[[I64], NDArray[Any]]]) -> NDArray[Any]:
    """The new ids of the rows that arguments belong to, NONE where a row is gone."""
    tables, ids = part["table"], part["id"]
    new = np.full(len(ids), NONE, np.int64)
    for code in np.unique(tables).tolist():
        mine = tables == code
        if 0 <= code < len(renumber):
            new[mine] = renumber[code](ids[mine])
    return new


def _renumbering(old: I64, new: NDArray[Any]) -> Callable[[I64], NDArray[Any]]:
    """A function from ids of a table to its rows' new ones, NONE where a row is gone."""
    count = len(old)
    if count == 0:
        return lambda ids: np.full(len(ids), NONE, np.int64)
    if old[0] == 0 and old[-1] == count - 1 and bool((np.diff(old) == 1).all()):

        def by_position(ids: I64) -> NDArray[Any]:
            known = (ids >= 0) & (ids < count)
            found: NDArray[Any] = np.where(known, new[np.where(known, ids, 0)], NONE)
            return found

        return by_position
    order = np.argsort(old, kind="stable")
    known = old[order]

    def by_search(ids: I64) -> NDArray[Any]:
        at = np.minimum(np.searchsorted(known, ids), count - 1)
        found: NDArray[Any] = np.where(known[at] == ids, new[order[at]], NONE)
        return found

    return by_search
