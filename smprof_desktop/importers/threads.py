"""Which thread a trace's pid and tid mean, and what it is called."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smprof.profile.manifest import Thread

Id = int | str | None

_FIRST_STAND_IN = -2
"""-1 is the thread of synchronisation records."""


def number(value: Id) -> Id:
    """An id as an integer where it is one, also in text."""
    if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit() and len(value) < 20:
        return int(value)
    return value


class Threads:
    """Thread ids of one trace, in the order they are met.

    A tid above 0 is the operating system's and stands for itself; any other, and one that another pid already goes by,
    gets a negative stand-in.
    """

    def __init__(self) -> None:
        self._ids: dict[tuple[Id, Id], int] = {}
        self._owners: dict[int, Id] = {}
        self._next_stand_in = _FIRST_STAND_IN

    def ids(self, pids: Sequence[Id], tids: Sequence[Id]) -> NDArray[np.int64]:
        """The thread of each pid and tid."""
        if len(set(pids)) == 1:
            one = {tid: self.id(pids[0], tid) for tid in dict.fromkeys(tids)}
            return np.array([one[tid] for tid in tids], dtype=np.int64)
        return np.array([self.id(pid, tid) for pid, tid in zip(pids, tids, strict=True)], dtype=np.int64)

    def id(self, pid: Id, tid: Id) -> int:
        """The thread of one pid and tid."""
        known = self._ids.get((pid, tid))
        if known is not None:
            return known
        key = number(pid), number(tid)
        if key not in self._ids:
            owner, thread = key
            if isinstance(thread, int) and 0 < thread < 1 << 63 and self._owners.setdefault(thread, owner) == owner:
                self._ids[key] = thread
            else:
                self._ids[key] = self._next_stand_in
                self._next_stand_in -= 1
        self._ids[pid, tid] = self._ids[key]
        return self._ids[key]

    def listed(
        self,
        thread_names: dict[tuple[Id, Id], str],
        process_names: dict[Id, str],
        order: dict[tuple[Id, Id], float],
    ) -> list[Thread]:
        """The threads met so far, named; where they are of several pids, each says whose it is."""
        keys = {(number(pid), number(tid)): thread for (pid, tid), thread in self._ids.items()}
        several = (
            len({pid for pid, tid in keys if isinstance(pid, int) and pid >= 0 and isinstance(tid, int) and tid > 0})
            > 1
        )
        mixed = len({pid for pid, _tid in keys}) > 1
        listed = []
        for key, thread in sorted(keys.items(), key=lambda item: order.get(item[0], 0.0)):
            pid, tid = key
            name = thread_names.get(key, "")
            if not name and thread < 0:
                name = tid if isinstance(tid, str) and tid else f"pid {pid} thread {tid}" if mixed else f"thread {tid}"
            if several and isinstance(pid, int) and pid >= 0:
                name = f"{process_names.get(pid) or f'pid {pid}'}: {name or f'thread {tid}'}"
            listed.append(Thread(thread, name))
        return listed
