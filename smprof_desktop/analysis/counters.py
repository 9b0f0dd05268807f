"""Samples of counters over time: each value holds until the next sample of its counter."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import LOST_NAME
from smprof_desktop.analysis.executions import blocks
from smprof_desktop.analysis.intervals import Int64s, ends_of
from smprof_desktop.progress import CancelCheck, Cancelled, never

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

Float64s = NDArray[np.float64]

_CPU_UTILIZATION = re.compile(r"\bcpu\b.*(utili[sz]ation|usage|\bbusy\b|\bload\b.*%)", re.IGNORECASE)
_NOT_OF_THE_HOST = re.compile(r"\bgpu\b", re.IGNORECASE)
_MEMORY_HELD = re.compile(r"\bmemory\b.*\b(allocated|reserved|in use|used)\b", re.IGNORECASE)
_UNIT = re.compile(r"[(\[]([^()\[\]]+)[)\]]\s*$")
_BYTES = {
    "": 1, "b": 1, "byte": 1, "bytes": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 1 << 10, "mib": 1 << 20,
    "gib": 1 << 30,
}  # fmt: skip


@dataclass(frozen=True)
class Samples:
    """One counter of one process: [start_ns, end_ns) is how long each value holds.

    The last one holds as long as those before it did in the middle; the only one until the end of the profile. A gap
    is NaN. `device` and `cpu` are -1 where the counter is of none.
    """

    process: int
    name: str
    device: int
    cpu: int
    start_ns: Int64s
    end_ns: Int64s
    value: Float64s

    def within(self, begin_ns: int | None, end_ns: int | None) -> Samples:
        """The samples that hold in a range, their times cut to it."""
        if begin_ns is None and end_ns is None:
            return self
        limits = np.iinfo(np.int64)
        starts_ns = np.maximum(self.start_ns, max(begin_ns, limits.min) if begin_ns is not None else limits.min)
        ends_ns = np.minimum(self.end_ns, min(end_ns, limits.max) if end_ns is not None else limits.max)
        inside = starts_ns < ends_ns
        return Samples(
            self.process, self.name, self.device, self.cpu, starts_ns[inside], ends_ns[inside], self.value[inside]
        )

    def known(self) -> Samples:
        """The samples without gaps and without those that hold no time."""
        inside = np.isfinite(self.value) & (self.start_ns < self.end_ns)
        return Samples(
            self.process,
            self.name,
            self.device,
            self.cpu,
            self.start_ns[inside],
            self.end_ns[inside],
            self.value[inside],
        )


def tells_cpu_utilization(name: str) -> bool:
    """Whether a counter of that name is how busy the CPUs of a host are, in percent."""
    return _CPU_UTILIZATION.search(name) is not None and _NOT_OF_THE_HOST.search(name) is None


def tells_memory_held(name: str) -> bool:
    """Whether a counter of that name is how much memory is taken, in a unit of bytes."""
    return _MEMORY_HELD.search(name) is not None and bytes_per_unit(name) is not None


def bytes_per_unit(name: str) -> int | None:
    """How many bytes one of the unit is that a counter's name ends with; None where it is no unit of bytes."""
    unit = _UNIT.search(name)
    return _BYTES.get(unit.group(1).strip().lower() if unit else "")


def without_unit(name: str) -> str:
    """A counter's name without the unit at its end."""
    return _UNIT.sub("", name).strip()


def of_profile(profile: Profile, wanted: Callable[[str], bool], cancelled: CancelCheck = never) -> list[Samples]:
    """The counters of a profile whose names are wanted, by process, device, CPU. Raises Cancelled."""
    found = []
    for index, process in enumerate(profile.processes):
        if cancelled():
            raise Cancelled
        table = process.table("counter")
        if not len(table) or not any(map(wanted, process.names.texts)):
            continue
        name_ids, devices, cpus = table["name_id"], table["device"], table["cpu"]
        for first, behind in blocks(devices, cpus, name_ids):
            name_id = int(name_ids[first])
            name = process.names.text(name_id) if 0 <= name_id < len(process.names) else LOST_NAME
            if wanted(name):
                times_ns = table["time_ns"][first:behind]
                ends_ns = _held_until(times_ns, profile.end_ns)
                value = table["value"][first:behind]
                found.append(Samples(index, name, int(devices[first]), int(cpus[first]), times_ns, ends_ns, value))
    return found


def mean_of(samples: Sequence[Samples]) -> float:
    """The mean over all that is known, each value for as long as it holds; NaN where nothing is."""
    known_ns = total = 0.0
    for known in (one.known() for one in samples):
        held_ns = (known.end_ns - known.start_ns).astype(np.float64)
        known_ns += float(held_ns.sum())
        total += float((held_ns * known.value).sum())
    return total / known_ns if known_ns else float("nan")


def mean_per_bin(samples: Sequence[Samples], edges_ns: Int64s) -> Float64s:
    """In each bin [edges[i], edges[i+1]) the mean over the counters that are known there; NaN where none is.

    Of each counter it is the mean of the values, each for as long as it holds in the bin.
    """
    total, counted = np.zeros(len(edges_ns) - 1), np.zeros(len(edges_ns) - 1, np.int64)
    for known in (one.known() for one in samples):
        if not len(known.value):
            continue
        held_ns = known.end_ns - known.start_ns
        seen_ns = np.diff(_upto(known, held_ns, edges_ns))
        weighted = np.diff(_upto(known, held_ns * known.value, edges_ns))
        has = seen_ns > 0
        total[has] += weighted[has] / seen_ns[has]
        counted += has
    with np.errstate(invalid="ignore"):
        return np.asarray(total / counted)


def greatest_per_bin(samples: Samples, edges_ns: Int64s) -> Float64s:
    """In each bin [edges[i], edges[i+1]) the greatest value that holds in it; NaN where none is known.

    What the last sample says holds on: memory that was taken stays so.
    """
    result = np.full(len(edges_ns) - 1, np.nan)
    times_ns, values = samples.start_ns, samples.value
    if not len(times_ns):
        return result
    first, behind = np.searchsorted(times_ns, edges_ns[:-1], "left"), np.searchsorted(times_ns, edges_ns[1:], "left")
    at_begin = np.searchsorted(times_ns, edges_ns[:-1], "right") - 1
    result[at_begin >= 0] = values[at_begin[at_begin >= 0]]
    filled = np.flatnonzero(behind > first)
    if len(filled):
        # A pair of edges for each filled bin: what lies between a bin's end and the next one's begin is left out.
        pairs = np.stack((first[filled], behind[filled]), axis=1).ravel()
        greatest = np.fmax.reduceat(np.append(values, np.nan), pairs)[::2]
        result[filled] = np.fmax(result[filled], greatest)
    return result


def _upto(known: Samples, amounts: NDArray[Any], edges_ns: Int64s) -> Float64s:
    """For each edge, what lies before it of amounts that are spread evenly over their samples' times."""
    whole = np.concatenate((np.zeros(1), np.cumsum(amounts.astype(np.float64))))
    last = np.searchsorted(known.start_ns, edges_ns, "right") - 1
    at = np.maximum(last, 0)
    inside_ns = np.clip(edges_ns - known.start_ns[at], 0, known.end_ns[at] - known.start_ns[at])
    return np.asarray(whole[at] + amounts[at] * (inside_ns / (known.end_ns[at] - known.start_ns[at])))


def _held_until(times_ns: Int64s, end_ns: int) -> Int64s:
    if len(times_ns) == 1:
        return np.maximum(times_ns, end_ns)
    usual_ns = int(np.median(np.diff(times_ns)))
    return np.concatenate((times_ns[1:], ends_of(times_ns[-1:], np.array([usual_ns], np.int64))))
