"""One slice: finding it by name, and everything that was recorded about it and its launch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.clock import unix_ns
from smprof.profile.schema import (
    ANNOTATION_SOURCES,
    COPY_KINDS,
    DEVICE_KINDS,
    HOST_KINDS,
    LOST_NAME,
    NONE,
    SIDES,
    SLICE_TABLES,
)
from smprof_desktop.analysis.launches import executions_of, launch_of
from smprof_desktop.analysis.names import in_form
from smprof_desktop.analysis.quantities import exact_time_text, size_text, time_text
from smprof_desktop.analysis.statistics import exact_sum
from smprof_desktop.slice_ref import SliceRef

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

MODULE_PREFIX = "nn.Module: "
MAX_FRAMES = 40
MAX_EXECUTIONS = 10
_TITLES = {
    "kernel": "Kernel",
    "memcpy": "Memory copy",
    "memset": "Memory set",
    "api": "API call",
    "op": "Operator",
    "python": "Python frame",
    "sync": "Synchronisation record",
    "overhead": "Profiler overhead",
    "other": "Host slice",
}


@dataclass(frozen=True)
class Section:
    """Part of a slice's description: rows of (label, value), both plain text.

    `refs` is as long as `rows`: the slice that a row speaks of, where it is another one.
    """

    title: str
    rows: tuple[tuple[str, str], ...]
    refs: tuple[SliceRef | None, ...]


class _Rows:
    """Collects the rows of one section, leaving out what was not recorded."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._rows: list[tuple[str, str]] = []
        self._refs: list[SliceRef | None] = []

    def add(self, label: str, value: str | None, ref: SliceRef | None = None) -> None:
        if value:
            self._rows.append((label, value))
            self._refs.append(ref)

    def number(self, label: str, value: Any) -> None:
        if int(value) != NONE:
            self.add(label, f"{int(value):,}" if abs(int(value)) < 1 << 31 else str(int(value)))

    def section(self) -> Section:
        return Section(self._title, tuple(self._rows), tuple(self._refs))


def find(profile: Profile, text: str) -> SliceRef | None:
    """The first slice by start whose name equals `text`, else the first whose name contains it, else None."""
    if not text:
        return None
    for matches in (lambda name: name == text, lambda name: text in name):
        best: tuple[int, SliceRef] | None = None
        for index, process in enumerate(profile.processes):
            wanted = np.fromiter((matches(name) for name in process.names.texts), bool, len(process.names.texts))
            if not wanted.any():
                continue
            for table in SLICE_TABLES:
                rows = np.flatnonzero(_named(process, table, wanted))
                if not len(rows):
                    continue
                starts_ns = process.table(table)["start_ns"][rows]
                place = int(starts_ns.argmin())
                if best is None or int(starts_ns[place]) < best[0]:
                    best = int(starts_ns[place]), SliceRef(index, table, int(rows[place]))
        if best is not None:
            return best[1]
    return None


def times_of(profile: Profile, ref: SliceRef) -> tuple[int, int]:
    """[start, end) of a slice in ns of the profile's clock."""
    columns = profile.processes[ref.process].table(ref.table)
    start_ns, duration_ns = (columns.at(column, np.array([ref.row])) for column in ("start_ns", "duration_ns"))
    return int(start_ns[0]), int(start_ns[0]) + int(duration_ns[0])


def name_of(process: ProcessProfile, table: str, row: int) -> str:
    """The full name of a slice; "(name lost)" where it could not be read."""
    columns = process.table(table)
    if table == "device":
        names = process.table("shapes")["name_id"]
        shape_id = int(columns["shape_id"][row])
        name_id = int(names[shape_id]) if 0 <= shape_id < len(names) else NONE
    else:
        name_id = int(columns["name_id"][row])
    return process.names.text(name_id) if 0 <= name_id < len(process.names) else LOST_NAME


def describe(profile: Profile, ref: SliceRef) -> tuple[Section, ...]:
    """Everything recorded about a slice: itself, its link, where it ran, its launch shape, where it comes from, all
    arguments. What most people look for comes first."""
    process = profile.processes[ref.process]
    sections = [_identity(profile, ref)]
    if ref.table == "device":
        sections += [_launch(process, ref), _where(profile, ref), _shape(process, ref.row), _memory(process, ref.row)]
    elif ref.table == "host":
        if process.table("host")["kind"][ref.row] == HOST_KINDS.index("api"):
            sections.append(_executions(process, ref))
        sections += [_where(profile, ref), _host(process, ref)]
    else:
        sections.append(_where(profile, ref))
    sections.append(_chain(process, ref))
    arguments = _Rows("Arguments")
    for key, value in process.args_of(ref.table, ref.row).items():
        arguments.add(key, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    sections.append(arguments.section())
    return tuple(section for section in sections if section.rows)


def _named(process: ProcessProfile, table: str, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which rows of a slice table carry one of the wanted names."""
    columns = process.table(table)
    wanted = np.append(wanted, False)  # position -1: an id that no name stands for
    if table != "device":
        name_ids = columns["name_id"]
        return wanted[np.where((name_ids >= 0) & (name_ids < len(wanted)), name_ids, -1)]
    names = process.table("shapes")["name_id"]
    wanted_shapes = np.append(wanted[np.where((names >= 0) & (names < len(wanted)), names, -1)], False)
    shape_ids = columns["shape_id"]
    return wanted_shapes[np.where((shape_ids >= 0) & (shape_ids < len(wanted_shapes)), shape_ids, -1)]


def _kind(process: ProcessProfile, ref: SliceRef) -> str:
    columns = process.table(ref.table)
    if ref.table == "annotation":
        return "annotation"
    kinds = DEVICE_KINDS if ref.table == "device" else HOST_KINDS
    index = int(columns["kind"][ref.row])
    return kinds[index] if 0 <= index < len(kinds) else "slice"


def _identity(profile: Profile, ref: SliceRef) -> Section:
    process = profile.processes[ref.process]
    columns = process.table(ref.table)
    start_ns, duration_ns = int(columns["start_ns"][ref.row]), int(columns["duration_ns"][ref.row])
    rows = _Rows(_TITLES.get(_kind(process, ref), "Annotation"))
    name = name_of(process, ref.table, ref.row)
    rows.add("Name", name)
    if ref.table == "device":
        readable_name = in_form(name, "demangled")
        rows.add("Demangled", readable_name if readable_name != name else None)
    rows.add("Start", f"{exact_time_text(start_ns - profile.begin_ns)} from the profile's start")
    rows.add("Duration", exact_time_text(duration_ns))
    return rows.section()


def _where(profile: Profile, ref: SliceRef) -> Section:
    """Where and when it ran, and a kernel's function, whose full name stands above."""
    process = profile.processes[ref.process]
    columns, info = process.table(ref.table), process.info
    rows = _Rows("Where")
    if _kind(process, ref) == "kernel":
        name = name_of(process, ref.table, ref.row)
        function = in_form(name, "base")
        rows.add("Function", function if function != name else None)
    rows.add("Time", _clock_text(profile, int(columns["start_ns"][ref.row])))
    rows.add("Host", info.host)
    rows.add("Process", f"{info.process} {info.name}".strip() + (f", pid {info.pid}" if info.pid is not None else ""))
    if ref.table == "annotation":
        side, source = int(columns["side"][ref.row]), int(columns["source"][ref.row])
        rows.add("Recorded by", ANNOTATION_SOURCES[source] if 0 <= source < len(ANNOTATION_SOURCES) else None)
        on_device = side == SIDES.index("device")
    else:
        on_device = ref.table == "device" or int(columns["device"][ref.row]) != NONE
    if on_device:
        device = int(columns["device"][ref.row])
        known = [entry.name for entry in info.devices if entry.index == device and entry.name]
        rows.add("Device", f"{device}" + (f" ({known[0]})" if known else ""))
        rows.add("Stream", str(int(columns["stream"][ref.row])))
    else:
        rows.add("Thread", _thread_text(process, int(columns["thread"][ref.row])))
    return rows.section()


def _thread_text(process: ProcessProfile, thread: int) -> str:
    named = [entry.name for entry in process.info.threads if entry.id == thread and entry.name]
    if named and str(thread) in named[0]:
        return named[0]  # PyTorch names a thread "thread 4711 (python3)"
    return f"{thread}" + (f" ({named[0]})" if named else "")


def _clock_text(profile: Profile, start_ns: int) -> str | None:
    """The moment in UTC to the ns, where the profile's clock knows it."""
    moment_ns = unix_ns(profile.manifest.clock, start_ns)
    if moment_ns is None:
        return None
    seconds, rest_ns = divmod(moment_ns, 1_000_000_000)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return f"{moment:%Y-%m-%d %H:%M:%S}.{rest_ns:09d} UTC"


def _shape(process: ProcessProfile, row: int) -> Section:
    rows = _Rows("Launch shape")
    shapes, shape_id = process.table("shapes"), int(process.table("device")["shape_id"][row])
    if not 0 <= shape_id < len(shapes):
        return rows.section()
    for label, prefix in (("Grid", "grid"), ("Block", "block")):
        extent = [int(shapes[f"{prefix}_{axis}"][shape_id]) for axis in "xyz"]
        if NONE not in extent:
            rows.add(label, " × ".join(str(size) for size in extent))
    rows.number("Registers per thread", shapes["registers_per_thread"][shape_id])
    shared_bytes = int(shapes["shared_memory_bytes"][shape_id])
    rows.add("Shared memory per block", size_text(shared_bytes) if shared_bytes != NONE else None)
    for label, column in (
        ("Blocks per multiprocessor", "blocks_per_sm"),
        ("Warps per multiprocessor", "warps_per_sm"),
        ("Estimated achieved occupancy", "occupancy_percent"),
    ):
        value = float(shapes[column][shape_id])
        rows.add(label, None if np.isnan(value) else f"{value:g}" + (" %" if column.endswith("percent") else ""))
    return rows.section()


def _memory(process: ProcessProfile, row: int) -> Section:
    rows = _Rows("Memory")
    device = process.table("device")
    moved, direction = int(device["bytes"][row]), int(device["copy_kind"][row])
    duration_ns = int(device["duration_ns"][row])
    if moved != NONE:
        rows.add("Bytes", size_text(moved))
        rows.add("Throughput", f"{moved / duration_ns:,.2f} GB/s" if duration_ns else None)
    rows.add("Direction", COPY_KINDS[direction] if 0 <= direction < len(COPY_KINDS) else None)
    return rows.section()


def _launch(process: ProcessProfile, ref: SliceRef) -> Section:
    rows = _Rows("Launch")
    device, host, launch = process.table("device"), process.table("host"), launch_of(process, ref.row)
    if launch is None:
        reason = "no correlation id" if device["correlation"][ref.row] <= 0 else "no API call with this correlation id"
        rows.add("Launched by", f"not recorded: {reason}")
    else:
        rows.add("Launched by", name_of(process, "host", launch), SliceRef(ref.process, "host", launch))
        start_ns, launch_ns = int(device["start_ns"][ref.row]), int(host["start_ns"][launch])
        rows.add("Latency from launch start", exact_time_text(start_ns - launch_ns))
        rows.add("Latency from launch end", exact_time_text(start_ns - launch_ns - int(host["duration_ns"][launch])))
        rows.add("Launching thread", _thread_text(process, int(host["thread"][launch])))
    for label, column in (
        ("Correlation", "correlation"),
        ("External id", "external_id"),
        ("Context", "context"),
        ("Graph", "graph"),
        ("Graph node", "graph_node"),
    ):
        value = int(device[column][ref.row])
        rows.add(label, str(value) if value != NONE else None)
    return rows.section()


def _host(process: ProcessProfile, ref: SliceRef) -> Section:
    rows = _Rows("Ids")
    host = process.table("host")
    for label, column in (
        ("Correlation", "correlation"),
        ("External id", "external_id"),
        ("Sequence number", "sequence"),
        ("Forward thread", "forward_thread"),
    ):
        value = int(host[column][ref.row])
        rows.add(label, str(value) if value != NONE else None)
    return rows.section()


def _executions(process: ProcessProfile, ref: SliceRef) -> Section:
    rows = _Rows("Executions")
    launched = executions_of(process, ref.row)
    if not len(launched):
        return rows.section()
    device, launch_ns = process.table("device"), int(process.table("host")["start_ns"][ref.row])
    launched = launched[np.argsort(device["start_ns"][launched], kind="stable")]
    rows.add("Launched", f"{len(launched):,} executions" if len(launched) > 1 else "1 execution")
    if len(launched) > 1:
        rows.add("Device time", exact_time_text(exact_sum(device["duration_ns"][launched])))
    for row in launched[:MAX_EXECUTIONS].tolist():
        after_ns = int(device["start_ns"][row]) - launch_ns
        rows.add(f"after {time_text(after_ns)}", name_of(process, "device", row), SliceRef(ref.process, "device", row))
    if len(launched) > MAX_EXECUTIONS:
        rows.add("and", f"{len(launched) - MAX_EXECUTIONS:,} more")
    return rows.section()


def _chain(process: ProcessProfile, ref: SliceRef) -> Section:
    """From the user's code to the slice: annotations, Python frames, modules, operators, launch, execution."""
    rows = _Rows("Comes from")
    launch = launch_of(process, ref.row) if ref.table == "device" else None
    if ref.table == "device":
        if launch is None:
            return rows.section()
        anchor = SliceRef(ref.process, "host", launch)
    elif ref.table == "host" and process.table("host")["kind"][ref.row] != HOST_KINDS.index("sync"):
        anchor = ref
    else:
        return rows.section()
    host = process.table("host")
    thread, time_ns = int(host["thread"][anchor.row]), int(host["start_ns"][anchor.row])
    end_ns = time_ns + int(host["duration_ns"][anchor.row])
    for row in _annotations_around(process, thread, time_ns, end_ns):
        rows.add("Annotation", name_of(process, "annotation", row), SliceRef(ref.process, "annotation", row))
    frames = [row for row in _around(host, "python", thread, time_ns, end_ns) if row != anchor.row]
    names = [name_of(process, "host", row) for row in frames]
    plain = [row for row, name in zip(frames, names, strict=True) if not name.startswith(MODULE_PREFIX)]
    if len(plain) > MAX_FRAMES:
        rows.add("Python frames", f"{len(plain) - MAX_FRAMES} outer ones are left out")
    kept = set(plain[-MAX_FRAMES:])
    for row, name in zip(frames, names, strict=True):
        if name.startswith(MODULE_PREFIX):
            rows.add("Module", name[len(MODULE_PREFIX) :], SliceRef(ref.process, "host", row))
        elif row in kept:
            rows.add("Python frame", name, SliceRef(ref.process, "host", row))
    for row in _operators_around(host, anchor.row):
        rows.add("Operator", name_of(process, "host", row), SliceRef(ref.process, "host", row))
        forward = _forward_of(host, row)
        if forward is not None:
            target = SliceRef(ref.process, "host", forward)
            rows.add("of the forward operator", name_of(process, "host", forward), target)
    if launch is not None:
        rows.add("Launch", name_of(process, "host", launch), anchor)
        rows.add(_TITLES[_kind(process, ref)], name_of(process, "device", ref.row))
    return rows.section()


def _operators_around(host: Any, row: int) -> list[int]:
    """The operators that a host slice stands in, outermost first. Of an API call `op` names the innermost."""
    inner = int(host["op"][row])
    innermost = inner if inner != NONE else row
    thread, start_ns = int(host["thread"][innermost]), int(host["start_ns"][innermost])
    around = _around(host, "op", thread, start_ns, start_ns + int(host["duration_ns"][innermost]))
    around = [found for found in around if found not in (row, inner)]
    return [*around, inner] if inner != NONE else around


def _forward_of(host: Any, row: int) -> int | None:
    """The forward operator of a backward one: the outermost with its sequence number; None where it cannot be told."""
    sequence = int(host["sequence"][row])
    if sequence < 0 or int(host["forward_thread"][row]) <= 0:
        return None
    first, behind = _run(host["kind"], HOST_KINDS.index("op"))
    forward = (host["sequence"][first:behind] == sequence) & (host["forward_thread"][first:behind] <= 0)
    same = first + np.flatnonzero(forward)
    same = same[host["thread"][same] != host["thread"][row]]
    if not len(same):
        return None
    return int(same[np.lexsort((host["depth"][same], host["start_ns"][same]))[0]])


def _annotations_around(process: ProcessProfile, thread: int, start_ns: int, end_ns: int) -> list[int]:
    columns = process.table("annotation")
    first, behind = _run(columns["side"], SIDES.index("host"))
    low, high = _run(columns["thread"][first:behind], thread)
    return list(_containing(columns, first + low, first + high, start_ns, end_ns))


def _around(host: Any, kind: str, thread: int, start_ns: int, end_ns: int) -> list[int]:
    """Host slices of one kind and thread that contain [start_ns, end_ns), outermost first."""
    first, behind = _run(host["kind"], HOST_KINDS.index(kind))
    low, high = _run(host["thread"][first:behind], thread)
    return list(_containing(host, first + low, first + high, start_ns, end_ns))


def _containing(columns: Any, first: int, behind: int, start_ns: int, end_ns: int) -> Iterator[int]:
    """At most one row per depth: within a line of a lane slices are sorted and do not overlap."""
    while first < behind:
        depth = columns["depth"][first]
        after = first + int(np.searchsorted(columns["depth"][first:behind], depth, "right"))
        row = first + int(np.searchsorted(columns["start_ns"][first:after], start_ns, "right")) - 1
        if row >= first and int(columns["start_ns"][row]) + int(columns["duration_ns"][row]) >= end_ns:
            yield row
        first = after


def _run(sorted_column: NDArray[Any], value: int) -> tuple[int, int]:
    """[first, behind) of a value in a sorted column."""
    return int(np.searchsorted(sorted_column, value, "left")), int(np.searchsorted(sorted_column, value, "right"))
