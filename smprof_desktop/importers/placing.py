"""Several traces → the hosts and processes of one profile. The order in which files are given does not matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smprof.profile.manifest import Process


@dataclass
class Placed:
    """A process with its host and its name there. `renamed`: its rank or pid was taken, or it has neither."""

    process: Process
    sha256: str
    file_name: str
    renamed: str = ""


def place_processes(traces: Sequence[Placed]) -> list[Placed]:
    """The same traces in order, each with `host` and `process` set, unique together.

    A host named by the file stays. Otherwise hosts are `algo-1`, `algo-2`, …: a device that another process of the host
    used already starts the next one; the same rank and pid again is the same process, recorded twice.
    """
    ordered = sorted(traces, key=_order)
    host_number, used_devices = 1, set[int]()
    hosts_of_ranks: dict[tuple[int, int | None], str] = {}
    for trace in ordered:
        process = trace.process
        if process.host:
            continue
        again = hosts_of_ranks.get((process.rank, process.pid)) if process.rank is not None else None
        if again is not None:
            process.host = again
            continue
        devices = {device.index for device in process.devices if device.used}
        if devices & used_devices:
            host_number, used_devices = host_number + 1, set()
        used_devices |= devices
        process.host = f"algo-{host_number}"
        if process.rank is not None:
            hosts_of_ranks[process.rank, process.pid] = process.host
    taken: set[tuple[str, str]] = set()
    for trace in ordered:
        _name(trace, taken)
    return sorted(ordered, key=lambda trace: (_natural(trace.process.host), _order(trace)))


def _name(trace: Placed, taken: set[tuple[str, str]]) -> None:
    """Rank, else pid, else what it is called already, else `0`; what is taken gets the pid, then a suffix."""
    process = trace.process
    known = [str(value) for value in (process.rank, process.pid) if value is not None]
    wanted = known or [process.process or "0"]
    base = wanted[-1]
    candidates = (*wanted, *(f"{base}-{number}" for number in range(2, len(taken) + 3)))
    process.process = next(name for name in candidates if (process.host, name) not in taken)
    taken.add((process.host, process.process))
    if process.process != wanted[0]:
        trace.renamed = f"{trace.file_name}: {wanted[0]} is taken on {process.host}, shown as {process.process}"


def _order(trace: Placed) -> tuple[int, int, int, int, str, str]:
    process = trace.process
    rank = process.rank if process.rank is not None else 1 << 62
    device = min((device.index for device in process.devices if device.used), default=-1)
    window = process.windows_ns[0][0] if process.windows_ns else 0
    pid = process.pid if process.pid is not None else -1
    return rank, pid if process.rank is None else 0, window, device, trace.file_name, trace.sha256


def _natural(host: str) -> tuple[str, int, str]:
    """`algo-2` before `algo-10`."""
    stem = host.rstrip("0123456789")
    digits = host[len(stem) :]
    return stem, int(digits or 0), host
