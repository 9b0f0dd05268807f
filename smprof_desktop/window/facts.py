"""What a profile says about itself, as rows of text for the Load and Information pages. No Qt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from smprof.profile.clock import unix_ns
from smprof.profile.manifest import Clock, Device, Loss, Manifest, Process
from smprof.profile.schema import LOSS_KINDS, SLICE_TABLES
from smprof_desktop.analysis import ledger, untraced
from smprof_desktop.analysis.quantities import exact_time_text, size_text, time_text

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

MAX_LISTED = 40
"""Names listed in one cell before the rest is only counted."""


@dataclass(frozen=True)
class FactTable:
    """A heading and its rows. `empty` is what is said where there are none."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    empty: str = ""


def summary(profile: Profile) -> list[tuple[str, str]]:
    """The Loaded profile section, row by row.

    Reads the links of every execution the first time that a profile is asked for, which is work for a task; lengths and
    the manifest from then on.
    """
    manifest = profile.manifest
    ranks = [process.rank for process in manifest.processes if process.rank is not None]
    devices = devices_of(manifest)
    slices = sum(len(process.table(table)) for process in profile.processes for table in SLICE_TABLES)
    losses = sum(loss.count for loss in losses_of(profile))
    rows = [
        ("Name", manifest.name or "without a name"),
        ("Hosts", f"{len(manifest.hosts):,}: {_listed([host.name for host in manifest.hosts])}"),
        ("Processes", f"{len(manifest.processes):,}" + (f", ranks {_ranges(sorted(set(ranks)))}" if ranks else "")),
        ("Devices", _devices_text(devices, sum(len(process.devices) for process in manifest.processes))),
        ("Span", exact_time_text(profile.end_ns - profile.begin_ns)),
        ("Slices", f"{slices:,}"),
        ("Losses", f"{losses:,}" + (" — see Information" if losses else "")),
    ]
    if not manifest.complete:
        rows.append(("Complete", "no: still being recorded, or cut off"))
    return rows


def losses_of(profile: Profile) -> list[Loss]:
    """The ledger as the report has it, executions without a launch included."""
    found = _found.get(profile)
    if found is None:
        told = [loss for process in profile.processes for loss in untraced.of_process(process)]
        found = _found[profile] = ledger.unlinked_of(profile), told
    return ledger.entries(profile.losses, *found)


_found: WeakKeyDictionary[Profile, tuple[list[dict[str, int]], list[Loss]]] = WeakKeyDictionary()
"""Counted once a profile, by the task that opens it: the pages show it on the window's own thread."""


def devices_of(manifest: Manifest) -> list[Device]:
    """The devices that processes used; all that they list where no use is known."""
    listed = [device for process in manifest.processes for device in process.devices]
    return [device for device in listed if device.used] or listed


def information(profile: Profile) -> list[FactTable]:
    """Every table of the Information page."""
    manifest = profile.manifest
    origin_ns = profile.begin_ns
    return [
        FactTable("Profile", (), tuple(_profile_rows(profile))),
        FactTable(
            "Hosts",
            ("Host", "Instance type", "More"),
            tuple((host.name, host.instance_type or "not recorded", _json(host.metadata)) for host in manifest.hosts),
            "No host was recorded.",
        ),
        FactTable(
            "Processes",
            ("Host", "Process", "Rank", "PID", "Name", "Threads", "Recorded", "Windows from the profile's start"),
            tuple(_process_row(process, origin_ns) for process in manifest.processes),
            "No process was recorded.",
        ),
        FactTable(
            "Devices",
            ("Host", "Device", "Name", "Memory", "Used by process", "Listed by", "Properties"),
            tuple(_device_rows(manifest)),
            "No device was recorded.",
        ),
        FactTable("Frameworks", (), tuple(sorted(manifest.frameworks.items())), "No version was recorded."),
        FactTable(
            "Hyperparameters",
            (),
            tuple((key, _text(value)) for key, value in sorted(manifest.hyperparameters.items())),
            "None were recorded.",
        ),
        FactTable(
            "Losses",
            ("Kind", "Count", "Where and why", "Meaning"),
            tuple((loss.kind, f"{loss.count:,}", loss.detail, LOSS_KINDS[loss.kind]) for loss in losses_of(profile)),
            "Nothing was lost: everything that was recorded is shown.",
        ),
        FactTable(
            "Sources",
            ("Name", "Size", "Format", "SHA-256"),
            tuple(_source_row(source) for source in manifest.sources),
            "This profile was recorded, not imported.",
        ),
        FactTable(
            "Further metadata",
            ("Process", "Key", "Value"),
            tuple(
                (process.process, key, _text(value))
                for process in manifest.processes
                for key, value in sorted(process.metadata.items())
            ),
            "There is none.",
        ),
    ]


def _profile_rows(profile: Profile) -> list[tuple[str, str]]:
    manifest = profile.manifest
    rows = [("Name", manifest.name or "without a name")]
    if manifest.synthetic:
        rows.append(("Synthetic", "yes: generated, not recorded on any machine"))
    rows += [
        ("Created by", manifest.created_by or "not recorded"),
        ("Format version", str(manifest.version)),
        ("Complete", "yes" if manifest.complete else "no: still being recorded, or cut off"),
        ("Span", exact_time_text(profile.end_ns - profile.begin_ns)),
        *_clock_rows(manifest.clock, profile.begin_ns),
    ]
    for table in SLICE_TABLES:
        count = sum(len(process.table(table)) for process in profile.processes)
        rows.append((f"{table.capitalize()} slices", f"{count:,}"))
    rows.append(("Counter samples", f"{sum(len(process.table('counter')) for process in profile.processes):,}"))
    return rows


def _clock_rows(clock: Clock, begin_ns: int) -> list[tuple[str, str]]:
    moment_ns = unix_ns(clock, begin_ns)
    rows = [("Clock", "Unix time (UTC)" if clock.kind == "unix" else "relative to a moment that was not recorded")]
    if clock.kind != "unix" and moment_ns is not None:
        rows = [("Clock", f"relative; {moment_ns - begin_ns:,} ns behind Unix time")]
    rows.append(("Begins at", f"{begin_ns:,} ns" + ("" if moment_ns is None else f" = {_date(moment_ns)}")))
    if clock.uncertainty_ns is not None:
        rows.append(("Clock uncertainty", exact_time_text(clock.uncertainty_ns)))
    if clock.drift_ppm is not None:
        rows.append(("Clock drift", f"{clock.drift_ppm:g} ppm"))
    if len(clock.sync_points) > 1:
        rows.append(("Clock readings", f"{len(clock.sync_points):,}; their drift is taken out where profiles join"))
    return rows


def _date(moment_ns: int) -> str:
    seconds, rest_ns = divmod(moment_ns, 1_000_000_000)
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}.{rest_ns:09d} UTC"
    except (OverflowError, ValueError, OSError):
        return "outside the calendar"


def _process_row(process: Process, origin_ns: int) -> tuple[str, ...]:
    windows = [_window_text(begin - origin_ns, end - origin_ns) for begin, end in process.windows_ns]
    return (
        process.host,
        process.process,
        "–" if process.rank is None else str(process.rank),
        "–" if process.pid is None else str(process.pid),
        process.name,
        f"{len(process.threads):,}",
        ", ".join(process.recorded),
        _listed(windows) if windows else "not recorded",
    )


def _window_text(begin_ns: int, end_ns: int) -> str:
    """A window in readable times with the exact ns beside them."""
    return f"{time_text(begin_ns)} … {time_text(end_ns)} ({begin_ns:,} … {end_ns:,} ns)"


def _device_rows(manifest: Manifest) -> Iterator[tuple[str, ...]]:
    """A row for each device of a host: every process lists all that it could see, which would be as many rows again.

    Where several processes used a device of the same number each has a row: a process that may see one device only
    (CUDA_VISIBLE_DEVICES) numbers it 0, whichever it is.
    """
    seen: dict[tuple[str, int, str, int | None, str], list[tuple[Process, Device]]] = {}
    for process in manifest.processes:
        for device in process.devices:
            alike = (process.host, device.index, device.name, device.memory_bytes, _json(device.properties))
            seen.setdefault(alike, []).append((process, device))
    order = {host: place for place, host in enumerate(dict.fromkeys(alike[0] for alike in seen))}
    for alike in sorted(seen, key=lambda alike: (order[alike[0]], alike[1])):
        host, index, name, memory_bytes, properties = alike
        listed = seen[alike]
        used_by = [process.process for process, device in listed if device.used]
        for user in used_by or ["not known"]:
            yield (
                host,
                str(index),
                name or "not recorded",
                "–" if memory_bytes is None else size_text(memory_bytes),
                user,
                "1 process" if len(listed) == 1 else f"{len(listed):,} processes",
                properties,
            )


def _source_row(source: dict[str, Any]) -> tuple[str, ...]:
    size = source.get("bytes")
    return (
        _text(source.get("name", "")),
        size_text(size) if isinstance(size, int) else "–",
        _text(source.get("format", "")),
        _text(source.get("sha256", "")),
    )


def _devices_text(devices: list[Device], listed: int) -> str:
    names = sorted({device.name for device in devices if device.name})
    more = f"; the processes list {listed:,}, those they did not use included" if listed > len(devices) else ""
    return f"{len(devices):,}{f': {_listed(names)}' if names else ''}{more}"


def _listed(names: list[str]) -> str:
    if not names:
        return "none"
    more = len(names) - MAX_LISTED
    return ", ".join(names[:MAX_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def _ranges(numbers: list[int]) -> str:
    """Sorted numbers with runs drawn together: 0–7, 12."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return _listed([str(first) if first == last else f"{first}–{last}" for first, last in runs])


def _json(value: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {_text(item)}" for key, item in sorted(value.items()))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
