"""Any profile as trace-event JSON, as PyTorch's profiler writes it: what Perfetto and chrome://tracing open."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from isal import igzip

from smprof.profile.manifest import Clock, Process, ProfileError
from smprof.profile.reader import ProcessProfile, Profile
from smprof_desktop.exporters.events import MOST_CORRELATION, ProcessEvents
from smprof_desktop.exporters.json_text import quoted
from smprof_desktop.exporters.redaction import Redactor
from smprof_desktop.exporters.selection import select
from smprof_desktop.exporters.tracks import Track, Tracks, pids_of
from smprof_desktop.progress import CancelCheck, Cancelled, Progress, never, silent

_GZIP_LEVEL = 2
_OUR_METADATA = frozenset(("process_labels", "metadata_events", "traceEvents", "deviceProperties"))


@dataclass
class _Out:
    """The file that is written, and what stops it."""

    stream: IO[bytes]
    cancelled: CancelCheck
    first: bool = True

    def events(self, text: str) -> None:
        """Write events, joined by commas already."""
        if self.cancelled():
            raise Cancelled
        if text:
            self.stream.write(b"\n" if self.first else b",\n")
            self.stream.write(text.encode())
            self.first = False


def write_chrome(
    profile: Profile,
    out: Path,
    begin_ns: int | None = None,
    end_ns: int | None = None,
    processes: Sequence[ProcessProfile] | None = None,
    redactor: Redactor | None = None,
    progress: Progress = silent,
    cancelled: CancelCheck = never,
) -> Path:
    """Write a profile as trace-event JSON, packed where the name of `out` ends in .gz; gives `out`.

    A file of one process reads back as the same profile: every slice, argument, counter and link. Of several processes
    each is one pid; their correlation ids are raised so that no two processes share one, since the file has one space
    of them. Windows and losses have no place in the format. Names that are no Unicode are written as they are shown.

    Args and errors as for `excerpt.write_excerpt`; the file is written beside its place and renamed at the end.
    """
    redactor = Redactor(keep=True) if redactor is None else redactor
    chosen = profile.processes if processes is None else tuple(processes)
    place = out.absolute()
    partial = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        if out.is_dir():
            raise ProfileError(f"{out} is a folder; name a file that ends in .json or .json.gz.")
        with _opened(partial, out.name.endswith(".gz")) as stream:
            _write(profile, chosen, (begin_ns, end_ns), redactor, _Out(stream, cancelled), progress)
        os.replace(partial, place)
    except OSError as error:
        raise ProfileError(f"{out} cannot be written: {error.strerror or error}; choose another place.") from None
    finally:
        partial.unlink(missing_ok=True)
    progress(1.0, "exported")
    return out


@contextmanager
def _opened(path: Path, packed: bool) -> Iterator[IO[bytes]]:
    with path.open("wb") as file:
        if packed:
            # No name and no time in its head: the same profile gives the same bytes.
            with igzip.IGzipFile("", "wb", _GZIP_LEVEL, file, 0) as stream:  # type: ignore[no-untyped-call]
                yield stream  # type: ignore[misc]  # writes bytes, which is all that is asked of it
        else:
            yield file
        file.flush()
        os.fsync(file.fileno())


def _write(
    profile: Profile,
    chosen: Sequence[ProcessProfile],
    range_ns: tuple[int | None, int | None],
    redactor: Redactor,
    out: _Out,
    progress: Progress,
) -> None:
    infos = [redactor.process(process.info) for process in chosen]
    out.stream.write(_head(profile, infos, redactor).encode())
    pids = pids_of(infos, [_devices_of(process) for process in chosen])
    recorded = False
    raise_by = order = 0
    for index, (process, info, (pid, device_pids)) in enumerate(zip(chosen, infos, pids, strict=True)):

        def tell(share: float, at: int = index, name: str = info.process) -> None:
            progress((at + share) / len(chosen), f"writing process {name}")

        tell(0.0)
        source = process.unread()
        selection = select(source, *range_ns)
        recorded |= selection.recorded
        name = info.name if len(chosen) == 1 else f"{info.host} {info.process}: {info.name}"
        tracks = Tracks(info, pid, device_pids, name.rstrip(": "))
        events = ProcessEvents(source, selection, tracks, redactor, raise_by)
        if len(chosen) > 1:
            highest = raise_by + events.greatest_correlation()
            # Ids so high that no room is left come from a hostile file: they stay as they are.
            raise_by = highest if highest < MOST_CORRELATION else 0
        total = max(len(selection), 1)
        done = 0
        for rows, text in events.texts():
            out.events(text)
            done += rows
            tell(min(done / total, 1.0))
        order = _metadata(tracks, info, order, len(chosen) == 1, out)
    if not recorded and range_ns != (None, None):
        raise ProfileError("Nothing was recorded in that range; give B:E in ns from the profile's start.")
    out.stream.write(b"\n]}\n")


def _devices_of(process: ProcessProfile) -> list[int]:
    """The devices that anything of a process stands on."""
    found = {device.index for device in process.info.devices}
    for name in ("lane_rows", "counter"):
        found |= set(np.unique(process.table(name)["device"]).tolist())
    return sorted(index for index in found if index >= 0)


def _head(profile: Profile, infos: list[Process], redactor: Redactor) -> str:
    """Everything before the first event."""
    clock: Clock = profile.manifest.clock
    keys: dict[str, Any] = {"schemaVersion": 1}
    if len(infos) == 1:
        info = infos[0]
        keys |= {key: value for key, value in info.metadata.items() if key not in _OUR_METADATA}
        if info.rank is not None and not isinstance(keys.get("distributedInfo"), dict):
            keys["distributedInfo"] = {"rank": info.rank}
        keys["deviceProperties"] = [
            {
                "id": device.index,
                "name": device.name,
                **({"totalGlobalMem": device.memory_bytes} if device.memory_bytes is not None else {}),
                **device.properties,
            }
            for device in info.devices
        ]
    if clock.kind == "relative" and clock.unix_offset_ns:
        keys["baseTimeNanoseconds"] = clock.unix_offset_ns
    keys.setdefault("displayTimeUnit", "ms")
    keys.setdefault("traceName", redactor.text(profile.manifest.name))
    members = ",\n".join(f"{quoted(key)}: {json.dumps(value)}" for key, value in keys.items())
    return f'{{\n{members},\n"traceEvents": ['


def _metadata(tracks: Tracks, info: Process, order: int, alone: bool, out: _Out) -> int:
    """Write what names and orders the tracks of one process; gives the next track's place in the order."""
    for track in tracks.all:
        _track(track, order, out)
        order += 1
    rows = info.metadata.get("metadata_events")
    for row in rows if alone and isinstance(rows, list) else ():
        if isinstance(row, dict):
            out.events(json.dumps({"ph": "M", "ts": 0, **row}))
    return order


def _track(track: Track, order: int, out: _Out) -> None:
    texts = []

    def add(kind: str, tid: int | str, args: dict[str, Any]) -> None:
        texts.append(f'{{"ph":"M","name":"{kind}",{track.place(tid)},"ts":0,"args":{json.dumps(args)}}}')

    if track.name:
        add("process_name", 0, {"name": track.name})
    add("process_labels", 0, {"labels": track.label})
    add("process_sort_index", 0, {"sort_index": order})
    for place, (tid, name) in enumerate(track.names.items()):
        if name:
            add("thread_name", tid, {"name": name})
        add("thread_sort_index", tid, {"sort_index": place})
    out.events(",\n".join(texts))
