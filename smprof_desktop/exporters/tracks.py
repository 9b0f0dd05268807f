"""Which pid and tid each lane has in a trace-event file: as PyTorch's profiler numbers them where it can be. Pure.

A process keeps its pid and its threads their ids. Each device is a pid of its own, its index where that is free, and
a stream is a thread of it. What would overlap on one thread, which viewers drop, has threads of its own: further rows
of a stream, synchronisation records, annotations projected onto a device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smprof.profile.manifest import Process
from smprof_desktop.exporters.json_text import quoted

ROWS_AT_ONCE = 1 << 16
"""Rows that become text together: their texts are in memory at once."""

_MOST = 1 << 31
"""Ids from here on are written as text: viewers read integers of 32 bits."""
_FIRST_OWN_TID = 1 << 20


@dataclass
class Track:
    """A process of the file: a real one, or a device."""

    pid: int | str
    name: str
    label: str
    tids: dict[Any, int | str] = field(default_factory=dict)
    names: dict[int | str, str] = field(default_factory=dict)
    """Names of threads, in the order of showing."""
    next_tid: int = _FIRST_OWN_TID

    def place(self, tid: int | str) -> str:
        """The members pid and tid of an event, as JSON text."""
        return f'"pid":{_id(self.pid)},"tid":{_id(tid)}'

    def own_tid(self, key: Any, name: str, numbered: bool = True) -> int | str:
        """The thread of something that has no number of its own. Not `numbered`: its id is its name."""
        known = self.tids.get(key)
        if known is None:
            while self.next_tid in self.names:
                self.next_tid += 1
            known = self.tids[key] = self.next_tid if numbered else name
            self.names[known] = name
        return known


class Tracks:
    """The tracks of one process and its devices."""

    def __init__(self, info: Process, pid: int, device_pids: dict[int, int], name: str) -> None:
        self.host = Track(pid, name, "CPU")
        self._info = info
        self._device_pids = device_pids
        self._devices: dict[int, Track] = {}
        self._device_names = {device.index: device.name for device in info.devices}
        named = {thread.id: thread.name for thread in info.threads}
        for thread in info.threads:
            self.thread(thread.id, named[thread.id])

    @property
    def all(self) -> list[Track]:
        """The process and its devices, in the order of showing."""
        return [self.host, *(self._devices[index] for index in sorted(self._devices))]

    def thread(self, thread: int, name: str = "") -> str:
        """Where slices of a thread stand. A negative id is a stand-in, and gets a number that is free."""
        if thread > 0:
            if thread not in self.host.names:
                self.host.names[thread] = name
            return self.host.place(thread)
        return self.host.place(self.host.own_tid(thread, name or f"thread {thread}"))

    def device(self, device: int) -> Track:
        """The track of a device; one that is not known has a text for its pid, which no reader takes for a device."""
        track = self._devices.get(device)
        if track is None:
            pid = self._device_pids[device] if device >= 0 else f"no device ({self.host.pid})"
            label = f"GPU {device}" if device >= 0 else "no device"
            model = self._device_names.get(device, "")
            track = self._devices[device] = Track(pid, f"{self.host.name}: {label} {model}".strip(": "), label)
        return track

    def stream(self, device: int, stream: int, row: int) -> str:
        """Where the slices of a stream's row stand."""
        track = self.device(device)
        if row == 0 and 0 <= stream < _FIRST_OWN_TID:
            track.names.setdefault(stream, f"stream {stream}")
            return track.place(stream)
        suffix = f" (row {row})" if row else ""
        return track.place(track.own_tid((stream, "row", row), f"{_stream(stream)}{suffix}", stream >= 0))

    def counter(self, device: int) -> str:
        """Where the samples of a device stand, or of the process for a negative one."""
        return (self.device(device) if device >= 0 else self.host).place(0)

    def beside_stream(self, device: int, stream: int, what: str) -> str:
        """Where something of a stream stands that is not on it."""
        track = self.device(device)
        return track.place(track.own_tid((stream, what), f"{_stream(stream)}: {what}", stream >= 0))


def places_of(place: Callable[..., str], *keys: NDArray[Any]) -> Any:
    """The members pid and tid of each row as JSON text; `place` is asked once for each run of rows with equal keys."""
    count = len(keys[0])
    if not count:
        return pa.array([], pa.large_string())
    changed = np.zeros(count, np.bool_)
    for key in keys:
        changed[1:] |= key[1:] != key[:-1]
    firsts = np.append(0, np.flatnonzero(changed))
    texts = [place(*values) for values in zip(*(key[firsts].tolist() for key in keys), strict=True)]
    return pa.array(texts, pa.large_string()).take(pa.array(np.cumsum(changed)))


def pids_of(processes: Sequence[Process], devices: Sequence[Sequence[int]]) -> list[tuple[int, dict[int, int]]]:
    """The pid of each process and, by index, of each of its devices. A pid that is taken or none is a free number."""
    taken: set[int] = set()
    hosts: list[int | None] = []
    for info in processes:
        fits = info.pid is not None and 0 <= info.pid < _MOST and info.pid not in taken
        hosts.append(info.pid if fits else None)
        if fits and info.pid is not None:
            taken.add(info.pid)
    own: list[dict[int, int]] = [{} for _ in processes]
    if len(processes) == 1:
        own[0] = {index: index for index in devices[0] if index >= 0 and index not in taken}
        taken.update(own[0].values())
    free = _free(taken)
    result = []
    for host, mine, indices in zip(hosts, own, devices, strict=True):
        pid = next(free) if host is None else host
        for index in indices:
            if index >= 0 and index not in mine:
                mine[index] = next(free)
        result.append((pid, mine))
    return result


def _free(taken: set[int]) -> Any:
    number = 0
    while True:
        number += 1
        if number not in taken:
            yield number


def _stream(stream: int) -> str:
    return f"stream {stream}" if stream >= 0 else "no stream"


def _id(value: int | str) -> str:
    return str(value) if isinstance(value, int) and abs(value) < _MOST else quoted(str(value))
