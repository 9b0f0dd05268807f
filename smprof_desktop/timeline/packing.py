"""Packing the streams of a device by role: hundreds of near-empty streams become a few lanes. The data stays as it is.

Graph replays put nearly every node on a stream of its own. Streams of one role whose slices do not overlap share a row;
each slice is still drawn once, and still belongs to its own stream wherever it is described.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.timeline.ladder import UNKNOWN_NAME
from smprof_desktop.timeline.lanes import BusySource, Lane, LaneTree, Row, tree_of
from smprof_desktop.timeline.maker import Maker

COMPUTE, OTHER_COLLECTIVE, MEMCPY, MEMSET = "compute", "other collectives", "memcpy", "memset"
ROLES = (
    COMPUTE,
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "broadcast",
    "reduce",
    "send and receive",
    OTHER_COLLECTIVE,
    MEMCPY,
    MEMSET,
)
"""From top to bottom."""
_COLLECTIVES = (
    ("all-reduce", "allreduce"),
    ("all-gather", "allgather"),
    ("reduce-scatter", "reducescatter"),
    ("all-to-all", "alltoall"),
    ("broadcast", "broadcast"),
    ("send and receive", "sendrecv"),
    ("send and receive", "send"),
    ("send and receive", "recv"),
    ("reduce", "reduce"),
)
"""What the name of a collective's kernel holds, what is more special first."""
MAX_READ_SLICES = 200_000
"""Up to so many slices a lane row is packed between those of others; a fuller one by its first start and last end."""
MAX_ALL_SLICES = 20_000_000
"""What is read of a device in all."""

I64 = NDArray[np.int64]
_FIRST_NS, _LAST_NS = -(1 << 62), 1 << 62


def role_of(name: str) -> str:
    """What a device slice of that name does."""
    plain = re.sub(r"[^a-z0-9]", "", name.casefold())
    if "nccl" in plain or "rccl" in plain:
        return next((role for role, part in _COLLECTIVES if part in plain), OTHER_COLLECTIVE)
    if "memcpy" in plain:
        return MEMCPY
    return MEMSET if "memset" in plain else COMPUTE


def packed_lanes(maker: Maker, device: Lane, cancelled: Callable[[], bool] = lambda: False) -> tuple[Lane, ...]:
    """The lanes that those of a device are packed into: its annotations, a lane for each role, its synchronisations.

    The role of a stream is that of most of its time; where it holds more than MAX_READ_SLICES, as its stored level of
    detail tells. Reads slices: for a task.
    """
    packer = _Packer(maker, cancelled)
    streams: dict[str, list[Lane]] = {}
    for lane in device.children:
        if lane.kind == "stream":
            streams.setdefault(packer.role(lane), []).append(lane)
    of_kind = {kind: [lane for lane in device.children if lane.kind == kind] for kind in ("marks", "sync")}
    rest = tuple(lane for lane in device.children if lane.kind not in ("stream", "marks", "sync"))
    lanes = [packer.lane(device, "marks", "annotations", of_kind["marks"])]
    lanes += [packer.lane(device, "stream", role, streams.get(role, [])) for role in ROLES]
    lanes.append(packer.lane(device, "sync", "synchronisation", of_kind["sync"]))
    return (*rest, *(lane for lane in lanes if lane is not None))


def with_packed(tree: LaneTree, packed: Mapping[str, tuple[Lane, ...]]) -> LaneTree:
    """The tree with other lanes in those devices. Costs the lanes."""
    if not packed:
        return tree
    return tree_of(tuple(_with(root, packed) for root in tree.roots), tree.spans)


def _with(lane: Lane, packed: Mapping[str, tuple[Lane, ...]]) -> Lane:
    if lane.key in packed:
        streams = sum(child.kind == "stream" for child in lane.children)
        return replace(lane, children=packed[lane.key], packed=max(streams, 1))
    children = tuple(_with(child, packed) for child in lane.children)
    is_same = all(new is old for new, old in zip(children, lane.children, strict=True))
    return lane if is_same else replace(lane, children=children)


@dataclass(frozen=True, eq=False)
class _Line:
    """Lane rows that share a row, and the disjoint times that they take, by start."""

    lane_rows: tuple[int, ...]
    start_ns: I64
    end_ns: I64

    def has_room(self, other: _Line) -> bool:
        """Whether nothing of the other overlaps anything of this."""
        at = np.searchsorted(self.start_ns, other.start_ns, "left")
        before, behind = at > 0, at < len(self.start_ns)
        return not bool(
            (self.end_ns[at[before] - 1] > other.start_ns[before]).any()
            or (self.start_ns[at[behind]] < other.end_ns[behind]).any()
        )

    def joined(self, other: _Line) -> _Line:
        starts = np.concatenate((self.start_ns, other.start_ns))
        order = np.argsort(starts, kind="stable")
        ends = np.concatenate((self.end_ns, other.end_ns))
        return _Line(self.lane_rows + other.lane_rows, starts[order], ends[order])


class _Packer:
    def __init__(self, maker: Maker, cancelled: Callable[[], bool]) -> None:
        self._maker = maker
        self._cancelled = cancelled
        self._left = MAX_ALL_SLICES

    def role(self, lane: Lane) -> str:
        """The role that most of a stream's time has; that of the least name where it took none."""
        by_role: dict[str, int] = {}
        for row in lane.rows:
            names = self._maker.names[row.process]
            ids, spent_ns = self._spent(row)
            found, at = np.unique(ids, return_inverse=True)
            sums = np.zeros(len(found), np.int64)
            np.add.at(sums, at, spent_ns)
            for name_id, total_ns in zip(found.tolist(), sums.tolist(), strict=True):
                role = role_of(names.text(name_id))
                by_role[role] = by_role.get(role, 0) + total_ns
        return max(by_role, key=lambda role: (by_role[role], -ROLES.index(role)), default=COMPUTE)

    def lane(self, device: Lane, kind: str, what: str, lanes: list[Lane]) -> Lane | None:
        """The lanes as one; None where there are none."""
        if not lanes:
            return None
        process = lanes[0].rows[0].process
        lines: list[_Line] = []
        for taken in sorted(
            (self._line(row) for lane in lanes for row in lane.rows), key=lambda line: -len(line.start_ns)
        ):
            if self._cancelled():
                break
            at = next((at for at, line in enumerate(lines) if line.has_room(taken)), None)
            if at is None:
                lines.append(taken)
            else:
                lines[at] = lines[at].joined(taken)
        rows = tuple(Row(process, line.lane_rows) for line in lines)
        everything = BusySource(process, tuple(lane_row for row in rows for lane_row in row.lane_rows))
        names = [lane.label.rpartition(" · ")[2] for lane in lanes]
        # The count stands in the detail: in a narrow header a label that holds it would lose it.
        detail = f"{len(lanes):,} streams" if len(lanes) > 1 else names[0]
        key = f"{device.key}/packed:{what}"
        return Lane(key, what, kind, device.level + 1, rows=rows, busy=(everything,), detail=detail, packed=len(lanes))

    def _line(self, row: Row) -> _Line:
        ladder = self._maker.ladders[row.process]
        count = ladder.total(row.lane_rows)
        if count > min(MAX_READ_SLICES, self._left):
            begin_ns, end_ns = ladder.span(row.lane_rows)
            return _Line(row.lane_rows, np.array([begin_ns]), np.array([max(end_ns, begin_ns + 1)]))
        self._left -= count
        found = ladder.slices(row.lane_rows, _FIRST_NS, _LAST_NS)
        # A slice of no length takes its moment, or its tick would lie on another slice.
        return _Line(row.lane_rows, found.start_ns, np.maximum(found.end_ns, found.start_ns + 1))

    def _spent(self, row: Row) -> tuple[NDArray[np.int32], I64]:
        """Names and the times that they took, in parts."""
        ladder, names = self._maker.ladders[row.process], self._maker.names[row.process]
        level = ladder.stored_level(row.lane_rows)
        if ladder.total(row.lane_rows) <= MAX_READ_SLICES or level is None:
            found = ladder.slices(row.lane_rows, _FIRST_NS, _LAST_NS)
            return names.ids_of_mixed(found.table, found.row), found.end_ns - found.start_ns
        begin_ns, end_ns = ladder.span(row.lane_rows)
        columns = ladder.stored_columns(row.lane_rows, begin_ns, end_ns + 1, level)
        ids = columns.name_id.copy()
        ask = np.flatnonzero(ids == UNKNOWN_NAME)
        ids[ask] = names.ids_of_mixed(columns.table[ask], columns.row[ask])
        return names.known(ids), columns.busy_ns
