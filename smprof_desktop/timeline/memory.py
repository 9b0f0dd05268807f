"""A process as far as it is in memory: what the thread that draws may ask, because it never waits for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile
    from smprof.profile.table import Names, Table


class Later(Exception):
    """What was asked for has to be read first, or takes longer than a frame may: a task has to fetch it."""


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
