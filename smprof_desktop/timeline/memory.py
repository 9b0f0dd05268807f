"""A process as far as it is in memory: what the thread that draws may ask, because it never waits for an answer."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile
    from smprof.profile.table import Names, Table


class Later(Exception):
    """What was asked for has to be read first, or takes longer than a frame may: a task has to fetch it."""


FRAME_S, PAINT_S = 0.05, 0.008
"""How long a frame is taken to be drawn, and then painted, when nothing tells that it is done."""
MAX_QUICK_SLICES = 50_000
"""Slices that one frame may compare where that was not done before: about 3 ms. More is for a task."""


_LOOK_S = 0.001


class Frames:
    """The frames of one thread that draws: what each may cost, and when other threads give way to it.

    They would hold the interpreter for 5 ms each time that a call of Qt or numpy lets go of it.
    """

    def __init__(self) -> None:
        self.number = 0
        self._until_s = 0.0
        self._compared = 0
        self._thread = 0

    def begin(self) -> None:
        """A frame begins."""
        self.number += 1
        self._thread = threading.get_ident()
        self._compared = 0
        self._until_s = time.perf_counter() + FRAME_S

    def compare(self, slices: int) -> None:
        """So many slices are about to be compared for the frame. Raises Later where that is too many."""
        if self._compared + slices > MAX_QUICK_SLICES:
            raise Later
        self._compared += slices

    def drawn(self) -> None:
        """The frame is worked out, and left to be painted."""
        self._until_s = time.perf_counter() + PAINT_S

    def end(self) -> None:
        """It is painted."""
        self._until_s = 0.0

    def give_way(self) -> None:
        """Wait until the frame that is being drawn is painted. The thread that draws itself goes on."""
        number = self.number
        while (rest_s := self._until_s - time.perf_counter()) > 0 and number == self.number:
            if threading.get_ident() == self._thread:
                return
            time.sleep(min(rest_s, _LOOK_S))


DRAWN = ("start_ns", "duration_ns", "name_id", "shape_id")
"""Columns that pictures are made of: they stay in memory."""
MOST_BYTES = 32 << 20
"""What else of a table stays in memory of what was read for single slices: about as much as one neighbourhood needs."""


def trim(process: ProcessProfile) -> None:
    """Let go of what was read for slices seen long ago, so that a long look around does not read it all. For a task."""
    process.trim(MOST_BYTES, DRAWN)


class HeldTable:
    """A table of which only what is in memory can be had; all else raises Later."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.part(name, 0, len(self._table))

    def part(self, name: str, begin: int, end: int) -> NDArray[Any]:
        """As `Table.part`."""
        found = self._table.held(name, begin, end)
        if found is None:
            raise Later
        return found

    def at(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        """As `Table.at`."""
        found = self._table.held_at(name, rows)
        if found is None:
            raise Later
        return found


class HeldProcess:
    """A process whose tables and names were opened before; made where waiting is allowed."""

    def __init__(self, process: ProcessProfile, tables: tuple[str, ...]) -> None:
        self.names: Names = process.names
        self._tables = {name: HeldTable(process.table(name)) for name in tables}

    def table(self, name: str) -> HeldTable:
        """One of the tables named at the start."""
        return self._tables[name]
