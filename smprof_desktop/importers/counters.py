"""Counter events and memory records → counters. A value that is no finite number is a gap."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Raw
from numpy.typing import NDArray

from smprof.profile.schema import NONE
from smprof_desktop.importers.arguments import ArgumentReader, Arguments, Leftover
from smprof_desktop.importers.document import Event, Lose
from smprof_desktop.importers.executions import write_leftovers
from smprof_desktop.importers.names import text_of
from smprof_desktop.importers.rows import Sink
from smprof_desktop.importers.threads import number

I64 = NDArray[np.int64]

FIRST = "the first is"
"""How the detail of a loss begins that names the first event only, and stands for all of its kind."""

_MEMORY_COUNTERS = (
    ("Total Allocated", "memory allocated [bytes]"),
    ("Total Reserved", "memory reserved [bytes]"),
    ("Bytes", "memory change [bytes]"),
)


class Counters:
    """Writes the counters of one process."""

    def __init__(self, process: Sink, lose: Lose, reader: ArgumentReader) -> None:
        """`reader` knows the arguments of memory records that were read before."""
        self._process = process
        self._lose = lose
        self._reader = reader

    def memory(self, timed: list[tuple[int, Event]]) -> None:
        """Memory records: what is allocated and reserved since, and the change, on the device that they name."""
        arguments = self._reader.read([event.args for _time, event in timed])
        # c10::DeviceType: 0 is the CPU, whose device id says nothing.
        on_device = arguments.integers("Device Type") > 0
        device = arguments.take_integers("Device Id", low=0, high=(1 << 31) - 1, among=on_device)
        places = [event for _time, event in timed]
        self._write_memory(np.array([time for time, _event in timed], dtype=np.int64), device, arguments, places)

    def values(self, timed: list[tuple[int, Event]]) -> None:
        """Counter events: one counter for each series of each name."""
        names, times_ns, values = [], [], []
        first_gap = ""
        for time_ns, event in timed:
            name = text_of(bytes(event.name))
            for series, value in _series(event.args):
                names.append(self._process.name_id(name if series in ("", "value", name) else f"{name} {series}"))
                times_ns.append(time_ns)
                values.append(value)
                if value is None:
                    first_gap = first_gap or name[:60]
        gaps = sum(value is None for value in values)
        self._lose("gap_value", gaps, f"{FIRST} of counter {first_gap}")
        if names:
            columns = {"name_id": np.array(names, np.int64), "time_ns": np.array(times_ns, np.int64)}
            self._process.append("counter", {**columns, "value": np.array(values, np.float64)})

    def _write_memory(self, time_ns: I64, device: I64, arguments: Arguments, events: list[Event]) -> None:
        owner = np.full(len(time_ns), NONE, dtype=np.int64)
        for key, name in _MEMORY_COUNTERS:
            values = arguments.take_floats(key)
            rows = np.flatnonzero(~np.isnan(values))
            if len(rows):
                name_id = np.full(len(rows), self._process.name_id(name), dtype=np.int64)
                columns = {"name_id": name_id, "device": device[rows], "time_ns": time_ns[rows], "value": values[rows]}
                owner[rows] = self._process.append("counter", columns)
        without = int(np.count_nonzero(owner == NONE))
        self._lose("gap_value", without, "memory records without a value")
        # A counter has no thread: where the memory was asked for stands among the arguments.
        for left in (*arguments.leftovers(), *_places(events)):
            has = owner[left.rows] != NONE
            left.key, left.rows = left.key_of(has), left.rows[has]
            left.integers = None if left.integers is None else left.integers[has]
            left.texts = None if left.texts is None else left.texts.filter(pa.array(has))
            write_leftovers(self._process, "counter", owner, [left])


def _places(events: list[Event]) -> Iterable[Leftover]:
    """The pids and tids of events, as arguments."""
    for key in ("pid", "tid"):
        ids = [number(getattr(event, key)) for event in events]
        whole = np.array([isinstance(value, int) and abs(value) < 1 << 63 for value in ids], dtype=np.bool_)
        rows = np.flatnonzero(whole)
        if len(rows):
            yield Leftover(key, rows, np.array([ids[row] for row in rows.tolist()], dtype=np.int64), None)
        rows = np.array([row for row in np.flatnonzero(~whole).tolist() if ids[row] is not None], dtype=np.int64)
        if len(rows):
            yield Leftover(key, rows, None, pa.array([json.dumps(ids[row]) for row in rows], pa.large_string()))


def _series(args: Raw) -> list[tuple[str, float | None]]:
    """The values of a counter event by series; None where one is not a finite number."""
    try:
        fields = msgspec.json.decode(bytes(args) or b"{}")
    except msgspec.DecodeError:
        fields = None
    if not isinstance(fields, dict) or not fields:
        return [("", None)]
    series: list[tuple[str, float | None]] = []
    for key, value in fields.items():
        try:
            number_of = float(value) if isinstance(value, (int, float, str)) else None
        except (ValueError, OverflowError):
            number_of = None
        series.append((key, number_of if number_of is not None and math.isfinite(number_of) else None))
    return series
