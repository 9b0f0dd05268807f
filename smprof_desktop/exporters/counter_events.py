"""Counters → trace events: samples as counter events, memory records of PyTorch as the instants that they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smprof.profile.reader import ProcessProfile
from smprof.profile.schema import NONE
from smprof_desktop.exporters.arguments import RowArguments
from smprof_desktop.exporters.json_text import integers, join, member, members, microseconds, numbers
from smprof_desktop.exporters.tracks import ROWS_AT_ONCE, Tracks, places_of

I64 = NDArray[np.int64]

_MEMORY = {
    "memory allocated [bytes]": "Total Allocated",
    "memory reserved [bytes]": "Total Reserved",
    "memory change [bytes]": "Bytes",
}
"""Counter that an import makes of a memory record → the argument of the record that it was."""

_EMPTY = pa.scalar("", pa.large_string())


class CounterEvents:
    """The events of the counters of one process."""

    def __init__(self, process: ProcessProfile, tracks: Tracks, arguments_of: RowArguments) -> None:
        self._process = process
        self._counter = process.table("counter")
        self._tracks = tracks
        self._arguments_of = arguments_of

    def texts(self, rows: I64, name_of: Callable[[NDArray[Any]], Any]) -> Iterator[tuple[int, Any]]:
        """How many rows each time, and their events."""
        records = self._memory_records(rows)
        # A viewer draws every argument of a counter event, so only records can have more than a value.
        rest = np.setdiff1d(rows, records, assume_unique=True)
        for begin in range(0, len(rest), ROWS_AT_ONCE):
            some = rest[begin : begin + ROWS_AT_ONCE]
            yield len(some), self._samples(some, name_of)
        for begin in range(0, len(records), ROWS_AT_ONCE):
            some = records[begin : begin + ROWS_AT_ONCE]
            yield int(np.count_nonzero(some != NONE)), self._records(some)

    def _samples(self, rows: I64, name_of: Callable[[NDArray[Any]], Any]) -> Any:
        counter = self._counter
        return join(
            '{"ph":"C","name":',
            name_of(counter["name_id"][rows]),
            ",",
            places_of(self._tracks.counter, counter["device"][rows]),
            pc.coalesce(join(',"id":', integers(counter["cpu"][rows])), _EMPTY),
            ',"ts":',
            microseconds(counter["time_ns"][rows]),
            ',"args":{"value":',
            numbers(counter["value"][rows]),
            "}}",
        )

    def _memory_records(self, rows: I64) -> NDArray[np.int64]:
        """One row of counters per memory record: by the order of _MEMORY, NONE where it has none of that name."""
        counter, names = self._counter, self._process.names
        ids = [names.id_of(name) for name in _MEMORY]
        mine = rows[np.isin(counter["name_id"][rows], [name_id for name_id in ids if name_id >= 0])]
        result = np.full((0, len(ids)), NONE, np.int64)
        if not len(mine):
            return result
        name_id, device, time_ns = (counter[key][mine] for key in ("name_id", "device", "time_ns"))
        what = np.argmax(name_id[:, None] == np.array(ids)[None, :], axis=1)
        # The table is sorted by device, name and time: of several records at one time the n-th has the n-th sample.
        fresh = np.append(True, (np.diff(name_id) != 0) | (np.diff(device) != 0) | (np.diff(time_ns) != 0))
        place = np.arange(len(mine))
        number = place - np.maximum.accumulate(np.where(fresh, place, 0))
        order = np.lexsort((number, time_ns, device))
        keys = [key[order] for key in (device, time_ns, number)]
        edge = np.append(True, np.logical_or.reduce([key[1:] != key[:-1] for key in keys]))
        group = np.cumsum(edge) - 1
        result = np.full((int(group[-1]) + 1, len(ids)), NONE, np.int64)
        result[group, what[order]] = mine[order]
        told = np.zeros(len(result), np.bool_)
        told[group[self._arguments_of.has(mine[order])]] = True
        return result[told]

    def _records(self, records: NDArray[np.int64]) -> Any:
        counter = self._counter
        owner = records.max(axis=1)
        pieces: list[Any] = []
        for at, key in enumerate(_MEMORY.values()):
            there = records[:, at] >= 0
            values = numbers(counter["value"][np.maximum(records[:, at], 0)])
            pieces.append(member(key, pc.if_else(pa.array(there), values, pa.scalar(None, pa.large_string()))))
        holders = [self._arguments(records[:, at]) for at in range(records.shape[1])]
        pids, tids = (pc.coalesce(*(taken[key] for _free, taken in holders)) for key in ("pid", "tid"))
        own = str(self._process.info.pid)
        pids = pc.if_else(pc.fill_null(pc.equal(pids, own), True), str(self._tracks.host.pid), pids)
        return join(
            '{"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":',
            pids,
            ',"tid":',
            pc.fill_null(tids, "0"),
            ',"ts":',
            microseconds(counter["time_ns"][owner]),
            ',"args":{',
            members(*pieces, member("Device Id", integers(counter["device"][owner])), *(free for free, _ in holders)),
            "}}",
        )

    def _arguments(self, rows: I64) -> tuple[Any, dict[str, Any]]:
        """Arguments of rows in any order, of which some are NONE; pids and tids apart."""
        used, where = np.unique(rows, return_inverse=True)
        free, taken = self._arguments_of.of(used[used >= 0], {"pid": None, "tid": None})
        skipped = int(np.count_nonzero(used < 0))
        at = pa.array(where - skipped, mask=where < skipped)
        nothing = pa.nulls(len(rows), pa.large_string())
        return free.take(at), {key: taken[key].take(at) if key in taken else nothing for key in ("pid", "tid")}
