"""The manifest: who was recorded, when, by what clock, and what was lost. One JSON file per profile."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, get_args, get_origin, get_type_hints

from smprof.profile.schema import LOSS_KINDS, VERSION

MANIFEST_NAME = "manifest.json"
MAX_MANIFEST_BYTES = 64 << 20
MOST_DRIFT_PPM = 10_000
"""A clock that is further off than a hundredth is none."""
MOST_UNSYNCED_NS = 1 << 54
"""Between two points of synchronisation: 208 days."""
_FOLDER = re.compile(r"[A-Za-z0-9._-]{1,80}(/[A-Za-z0-9._-]{1,80}){0,3}")


class ProfileError(Exception):
    """A profile that cannot be opened. The text is one sentence: what is wrong, where, and what to do."""


@dataclass
class Loss:
    """Records of one kind that are not shown; `detail` says where and why, in plain text."""

    kind: str
    count: int
    detail: str = ""

    def __post_init__(self) -> None:
        if self.kind not in LOSS_KINDS:
            raise ValueError(f"no such kind of loss: {self.kind}")


@dataclass
class Clock:
    """What the profile's nanoseconds count. `unix`: since 1970 UTC. `relative`: since an unknown moment.

    For `relative`, `unix_offset_ns` added to a time gives Unix time, where it is known. `smprof.profile.clock` applies
    the rest.
    """

    kind: str = "relative"
    unix_offset_ns: int | None = None
    drift_ppm: float | None = None
    """How fast the offset grows: µs for each second behind `reference_ns`."""
    uncertainty_ns: int | None = None
    reference_ns: int = 0
    """The time at which `unix_offset_ns` holds."""
    sync_points: list[list[int]] = field(default_factory=list)
    """[time_ns, unix_ns] of moments at which both clocks were read, ascending. They decide where there are any."""


@dataclass
class Thread:
    """A host thread. Ids are the operating system's; where a source names a thread otherwise, a negative stand-in."""

    id: int
    name: str = ""


@dataclass
class Device:
    """A GPU that the process used or could see. `used` is true where the process is known to have used it."""

    index: int
    name: str = ""
    used: bool = False
    memory_bytes: int | None = None
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass
class Process:
    """One process of a profile. `process` is its rank where known, otherwise its pid, as text."""

    host: str
    process: str
    folder: str = ""
    pid: int | None = None
    rank: int | None = None
    name: str = ""
    windows_ns: list[list[int]] = field(default_factory=list)
    """Disjoint sorted [start, end) intervals in which the process recorded."""
    devices: list[Device] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    recorded: list[str] = field(default_factory=list)
    """What was asked for and recorded, e.g. "device", "api", "op", "python", "memory", "cpu"."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Whatever else the source said about itself, as JSON."""


@dataclass
class Host:
    """An instance (`algo-1`)."""

    name: str
    instance_type: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class Manifest:
    """The contents of manifest.json."""

    version: int = VERSION
    name: str = ""
    created_by: str = ""
    synthetic: bool = False
    complete: bool = True
    """False while a recorder still writes, and for what was cut off."""
    clock: Clock = field(default_factory=Clock)
    hosts: list[Host] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    frameworks: dict[str, str] = field(default_factory=dict)
    losses: list[Loss] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)
    """For an import: the files it was made from: name, bytes, sha256, format."""

    def lose(self, kind: str, count: int, detail: str = "") -> None:
        """Count a loss; one of the same kind and detail is added to."""
        if count <= 0:
            return
        for loss in self.losses:
            if loss.kind == kind and loss.detail == detail:
                loss.count += count
                return
        self.losses.append(Loss(kind, count, detail))

    def to_json(self) -> str:
        """The manifest's text, the same for the same contents."""
        return json.dumps(asdict(self), indent=1, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n"

    def write(self, folder: Path) -> None:
        """Write manifest.json into `folder`, atomically."""
        write_atomically(folder / MANIFEST_NAME, self.to_json().encode())


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, also after a crash; a failure leaves nothing."""
    with atomically(path) as stream:
        stream.write(content)


@contextmanager
def atomically(path: Path) -> Iterator[BinaryIO]:
    """A stream to write a file, and read it again, that takes its place at the end, as `write_atomically` says."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with partial.open("w+b") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """See a rename to the disk, where the system can: a journal line must not survive what it names."""
    flag = getattr(os, "O_DIRECTORY", None)
    if flag is None:
        return
    descriptor = os.open(folder, os.O_RDONLY | flag)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_sound(clock: Clock) -> bool:
    """Whether times by the clock stay in order, and can be worked out in 64 bits."""
    if clock.drift_ppm is not None and not abs(clock.drift_ppm) <= MOST_DRIFT_PPM:
        return False
    if any(len(point) != 2 for point in clock.sync_points):
        return False
    for (time_ns, unix_ns), (later_ns, later_unix_ns) in pairwise(clock.sync_points):
        passed_ns = later_ns - time_ns
        gained_ns = later_unix_ns - unix_ns - passed_ns
        if not 0 < passed_ns <= MOST_UNSYNCED_NS or abs(gained_ns) * 10**6 > passed_ns * MOST_DRIFT_PPM:
            return False
    return True


T = TypeVar("T")


def _build(kind: Any, value: Any, where: str) -> Any:
    """`value` of a JSON document as `kind`, or ProfileError that names the place."""
    origin = get_origin(kind)
    if is_dataclass(kind):
        if not isinstance(value, dict):
            raise ProfileError(f"manifest.json is damaged: {where} is not an object; load the profile again.")
        hints = get_type_hints(kind)
        known = {
            f.name: _build(hints[f.name], value[f.name], f"{where}.{f.name}") for f in fields(kind) if f.name in value
        }
        try:
            return kind(**known)  # type: ignore[operator]
        except (TypeError, ValueError) as error:
            raise ProfileError(f"manifest.json is damaged: {where}: {error}; load the profile again.") from None
    if origin is list:
        if not isinstance(value, list):
            raise ProfileError(f"manifest.json is damaged: {where} is not a list; load the profile again.")
        return [_build(get_args(kind)[0], item, f"{where}[{index}]") for index, item in enumerate(value)]
    if origin is dict:
        if not isinstance(value, dict):
            raise ProfileError(f"manifest.json is damaged: {where} is not an object; load the profile again.")
        return value
    if kind is Any:
        return value
    allowed = get_args(kind) or (kind,)
    if isinstance(value, bool) and bool not in allowed:
        allowed = ()
    if float in allowed and isinstance(value, int):
        return float(value)
    if int in allowed and isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ProfileError(f"manifest.json is damaged: {where} does not fit in 64 bits; load the profile again.")
    if not isinstance(value, tuple(a for a in allowed if isinstance(a, type))):
        raise ProfileError(f"manifest.json is damaged: {where} has the wrong type; load the profile again.")
    return value


def parse_manifest(document: Any) -> Manifest:
    """A manifest from its JSON document (newest version). Raises ProfileError; never trusts a folder name."""
    manifest: Manifest = _build(Manifest, document, "manifest")
    if not _is_sound(manifest.clock):
        raise ProfileError(
            f"manifest.json is damaged: its clock drifts by more than {MOST_DRIFT_PPM:,} ppm or goes back; "
            "load the profile again."
        )
    seen: set[str] = set()
    for process in manifest.processes:
        if (
            not _FOLDER.fullmatch(process.folder)
            or {".", ".."} & set(process.folder.split("/"))
            or process.folder in seen
        ):
            raise ProfileError(
                f"manifest.json is damaged: the folder {process.folder[:60]!r} of a process is not allowed; "
                "load the profile again."
            )
        seen.add(process.folder)
        for window in process.windows_ns:
            if len(window) != 2 or window[0] > window[1]:
                raise ProfileError("manifest.json is damaged: a window is not [start, end); load the profile again.")
    return manifest
