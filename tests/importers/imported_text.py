"""An import as text, one line per row: what the golden tests of importers compare."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from smprof.profile.reader import ProcessProfile, Profile
from smprof.profile.schema import COPY_KINDS, DEVICE_KINDS, HOST_KINDS, SIDES
from smprof_desktop.importers import convert

Trace = str | bytes | list[Any] | dict[str, Any]


def imported_text(folder: Path, trace: Trace) -> str:
    """The text of a trace's import; the same under a neutral name and packed, which this checks."""
    data = (
        trace if isinstance(trace, bytes) else trace.encode() if isinstance(trace, str) else json.dumps(trace).encode()
    )
    folder.mkdir(parents=True, exist_ok=True)
    texts = []
    for name, content in (("trace.json", data), ("neutral", data), ("packed.json", gzip.compress(data))):
        (folder / name).write_bytes(content)
        convert.import_file(folder / name, folder / f"{name}.profile")
        texts.append(text_of(Profile.open(folder / f"{name}.profile"), name.removesuffix(".json")))
    assert texts[0] == texts[1] == texts[2]
    return texts[0]


def text_of(profile: Profile, stem: str = "") -> str:
    """A profile as text. `stem`: what a process without a name of its own is called, which is left out."""
    clock = profile.manifest.clock
    lines = [f"clock {clock.kind} {clock.unix_offset_ns}"]
    for process in profile.processes:
        lines += _process(process, stem)
    lines += [f"lost {loss.kind} {loss.count} {_detail(loss.detail)}".rstrip() for loss in profile.losses]
    return "\n".join(lines)


def _detail(detail: str) -> str:
    return detail.removeprefix(convert._UNPLACED_AS).removeprefix(": ")


def _process(process: ProcessProfile, stem: str) -> list[str]:
    info = process.info
    windows = ",".join(f"{begin}:{end}" for begin, end in info.windows_ns)
    name = "" if info.name == stem else f" {info.name!r}"
    host = f" host={info.host}" if info.host else ""
    lines = [f"process {info.process or '-'} pid={info.pid} rank={info.rank} window={windows or '-'}{host}{name}"]
    lines += [f"  thread {thread.id} {thread.name}".rstrip() for thread in info.threads]
    lines += [f"  device {device.index} {device.name!r}{' used' if device.used else ''}" for device in info.devices]
    for table, row_text in (("host", _host), ("device", _device), ("annotation", _annotation), ("counter", _counter)):
        time = process.table(table)["time_ns" if table == "counter" else "start_ns"].tolist()
        rows = sorted(range(len(time)), key=lambda row: (time[row], row))
        lines += [f"  {row_text(process, row)}{_args(process, table, row)}" for row in rows]
    return lines


def _host(process: ProcessProfile, row: int) -> str:
    table = process.table("host")
    kind = HOST_KINDS[table["kind"][row]]
    place = f"{table['device'][row]}/{table['stream'][row]}" if kind == "sync" else table["thread"][row]
    text = f"{kind} {place}.{table['depth'][row]} {_time(process, 'host', row)} {_name(process, 'host', row)}"
    return text + _set(process, "host", row, "correlation", "external_id", "sequence", "forward_thread")


def _device(process: ProcessProfile, row: int) -> str:
    table = process.table("device")
    shape = process.table("shapes")
    at = table["shape_id"][row]
    name = process.names.text(shape["name_id"][at])
    text = f"{DEVICE_KINDS[table['kind'][row]]} {table['device'][row]}/{table['stream'][row]}.{table['row'][row]}"
    text += f" {_time(process, 'device', row)} {name}"
    if shape["grid_x"][at] != -1:
        text += f" grid={','.join(str(shape[f'grid_{axis}'][at]) for axis in 'xyz')}"
        text += f" block={','.join(str(shape[f'block_{axis}'][at]) for axis in 'xyz')}"
    for column in ("registers_per_thread", "shared_memory_bytes"):
        text += "" if shape[column][at] == -1 else f" {column}={shape[column][at]}"
    for column in ("blocks_per_sm", "warps_per_sm", "occupancy_percent"):
        text += "" if shape[column][at] != shape[column][at] else f" {column}={shape[column][at]:g}"
    text += _set(process, "device", row, "correlation", "external_id", "context", "graph", "graph_node", "bytes")
    copy = table["copy_kind"][row]
    text += "" if copy == -1 else f" {COPY_KINDS[copy]}"
    launch = table["launch"][row]
    return text + (
        "" if launch == -1 else f" <- {_name(process, 'host', launch)}@{process.table('host')['start_ns'][launch]}"
    )


def _annotation(process: ProcessProfile, row: int) -> str:
    table = process.table("annotation")
    side = SIDES[table["side"][row]]
    place = table["thread"][row] if side == "host" else f"{table['device'][row]}/{table['stream'][row]}"
    text = f"annotation {side} {place} {_time(process, 'annotation', row)} {_name(process, 'annotation', row)}"
    return text + _set(process, "annotation", row, "external_id")


def _counter(process: ProcessProfile, row: int) -> str:
    table = process.table("counter")
    value = table["value"][row]
    text = (
        f"counter {table['time_ns'][row]} {_name(process, 'counter', row)} {'gap' if value != value else f'{value:g}'}"
    )
    return text + _set(process, "counter", row, "device")


def _time(process: ProcessProfile, table: str, row: int) -> str:
    columns = process.table(table)
    return f"{columns['start_ns'][row]}+{columns['duration_ns'][row]}"


def _name(process: ProcessProfile, table: str, row: int) -> str:
    return process.names.text(process.table(table)["name_id"][row])


def _set(process: ProcessProfile, table: str, row: int, *columns: str) -> str:
    values = {column: process.table(table)[column][row] for column in columns}
    return "".join(f" {column}={value}" for column, value in values.items() if value != -1)


def _args(process: ProcessProfile, table: str, row: int) -> str:
    found = process.args_of(table, row)
    return f" {json.dumps(found, sort_keys=True)}" if found else ""
