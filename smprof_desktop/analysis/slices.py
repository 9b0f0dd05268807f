"""One slice: finding it by name, and everything that was recorded about it and its launch."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smprof.profile.clock import unix_ns
from smprof.profile.schema import (
    ANNOTATION_SOURCES,
    COPY_KINDS,
    NONE,
    SIDES,
    SLICE_TABLES,
)
from smprof_desktop.analysis import linked
from smprof_desktop.analysis.names import FORMS, in_form
from smprof_desktop.analysis.quantities import exact_time_text, size_text
from smprof_desktop.analysis.sections import TITLES, Rows, Section, kind_of, name_of, thread_text
from smprof_desktop.slice_ref import SliceRef

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

__all__ = ["Section", "describe", "find", "name_of", "times_of"]


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
    start_ns = columns.value("start_ns", ref.row)
    return start_ns, start_ns + columns.value("duration_ns", ref.row)


def describe(profile: Profile, ref: SliceRef, form: str = FORMS[0]) -> tuple[Section, ...]:
    """Everything recorded about a slice: itself, its link, where it ran, its launch shape, where it comes from, all
    arguments. What most people look for comes first. `form` is that of a kernel's name, one of names.FORMS."""
    process = profile.processes[ref.process]
    kind = kind_of(process, ref)
    sections = [_identity(profile, ref, form)]
    if ref.table == "device":
        sections += [linked.launch(process, ref), _where(profile, ref)]
        sections += [_shape(process, ref.row), _memory(process, ref.row)]
    else:
        is_device_copy = kind == "annotation" and _side(process, ref) == SIDES.index("device")
        if kind == "api":
            sections.append(linked.executions(process, ref))
        elif kind != "sync" and not is_device_copy:
            sections.append(linked.inside(process, ref))
        sections.append(_where(profile, ref))
        if ref.table == "host":
            sections += [_host(process, ref), linked.same_id(process, ref)]
    sections.append(linked.chain(process, ref))
    arguments = Rows("Arguments")
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


def _side(process: ProcessProfile, ref: SliceRef) -> int:
    return process.table("annotation").value("side", ref.row)


def _identity(profile: Profile, ref: SliceRef, form: str) -> Section:
    process = profile.processes[ref.process]
    begin_ns, end_ns = times_of(profile, ref)
    rows = Rows(TITLES.get(kind_of(process, ref), "Slice"))
    name = name_of(process, ref.table, ref.row)
    shown = in_form(name, form) if ref.table == "device" else name
    rows.add("Name", shown, tip=name if shown != name else "")
    rows.add("Recorded as", name if shown != name else None)
    if ref.table == "device":
        readable_name = in_form(name, "demangled")
        rows.add("Demangled", readable_name if readable_name not in (name, shown) else None)
    rows.add("Start", f"{exact_time_text(begin_ns - profile.begin_ns)} from the profile's start")
    rows.add("Duration", exact_time_text(end_ns - begin_ns))
    return rows.section()


def _where(profile: Profile, ref: SliceRef) -> Section:
    """Where and when it ran, and a kernel's function, whose full name stands above."""
    process = profile.processes[ref.process]
    columns, info = process.table(ref.table), process.info
    rows = Rows("Where")
    if kind_of(process, ref) == "kernel":
        name = name_of(process, ref.table, ref.row)
        function = in_form(name, "base")
        rows.add("Function", function if function != name else None)
    rows.add("Time", _clock_text(profile, columns.value("start_ns", ref.row)))
    rows.add("Host", info.host)
    rows.add("Process", f"{info.process} {info.name}".strip() + (f", pid {info.pid}" if info.pid is not None else ""))
    if ref.table == "annotation":
        side, source = columns.value("side", ref.row), columns.value("source", ref.row)
        rows.add("Recorded by", ANNOTATION_SOURCES[source] if 0 <= source < len(ANNOTATION_SOURCES) else None)
        on_device = side == SIDES.index("device")
    else:
        on_device = ref.table == "device" or columns.value("device", ref.row) != NONE
    if on_device:
        device = columns.value("device", ref.row)
        known = [entry.name for entry in info.devices if entry.index == device and entry.name]
        rows.add("Device", f"{device}" + (f" ({known[0]})" if known else ""))
        rows.add("Stream", str(columns.value("stream", ref.row)))
    else:
        rows.add("Thread", thread_text(process, columns.value("thread", ref.row)))
    return rows.section()


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
    rows = Rows("Launch shape")
    shapes, shape_id = process.table("shapes"), process.table("device").value("shape_id", row)
    if not 0 <= shape_id < len(shapes):
        return rows.section()
    for label, prefix in (("Grid", "grid"), ("Block", "block")):
        extent = [int(shapes[f"{prefix}_{axis}"][shape_id]) for axis in "xyz"]
        if NONE not in extent:
            rows.add(label, " × ".join(str(size) for size in extent))
    rows.number("Registers per thread", int(shapes["registers_per_thread"][shape_id]))
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
    rows = Rows("Memory")
    device = process.table("device")
    moved, direction = device.value("bytes", row), device.value("copy_kind", row)
    duration_ns = device.value("duration_ns", row)
    if moved != NONE:
        rows.add("Bytes", size_text(moved))
        rows.add("Throughput", f"{moved / duration_ns:,.2f} GB/s" if duration_ns else None)
    rows.add("Direction", COPY_KINDS[direction] if 0 <= direction < len(COPY_KINDS) else None)
    return rows.section()


def _host(process: ProcessProfile, ref: SliceRef) -> Section:
    rows = Rows("Ids")
    host = process.table("host")
    for label, column in (
        ("Correlation", "correlation"),
        ("External id", "external_id"),
        ("Sequence number", "sequence"),
        ("Forward thread", "forward_thread"),
    ):
        rows.id(label, host.value(column, ref.row))
    return rows.section()
