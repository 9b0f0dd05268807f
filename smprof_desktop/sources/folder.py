"""What profiles and traces a folder holds, without opening any of them whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from smprof.profile.manifest import MANIFEST_NAME, ProfileError

PROFILE = "profile"
NOTES_ENDING = ".notes.json"
"""What the name of a sidecar beside a profile ends with: it is neither a profile nor a trace."""
_MOST_ENTRIES = 20_000
_TRACE_ENDINGS = (".json", ".json.gz", ".sqlite", ".nsys-rep", ".xplane.pb")


@dataclass(frozen=True)
class Entry:
    """A profile or trace. `size_bytes` of a profile is that of its files; `kind` is "profile" or what `detect` said."""

    name: str
    path: Path
    kind: str
    size_bytes: int
    modified_s: float


@dataclass(frozen=True)
class Listing:
    """What a folder holds. `refused`: files that look like traces by their names and are none, each with why."""

    entries: tuple[Entry, ...]
    refused: tuple[str, ...]


def listing(folder: Path, detect: Callable[[Path], str]) -> Listing:
    """The profiles and traces directly in `folder`, by name. Other files are left out, sidecars among them.

    `detect` tells what a file is and raises ProfileError for what is no trace. Raises ProfileError where the folder
    cannot be listed.
    """
    found: list[Entry] = []
    refused: list[str] = []
    try:
        paths = sorted(folder.iterdir(), key=lambda path: natural(path.name))
    except FileNotFoundError:
        raise ProfileError(f"{folder} does not exist; check the path.") from None
    except NotADirectoryError:
        raise ProfileError(f"{folder} is not a folder; choose a folder.") from None
    except OSError as error:
        raise ProfileError(f"{folder} cannot be listed: {error.strerror or error}; check its permissions.") from None
    if len(paths) > _MOST_ENTRIES:
        raise ProfileError(f"{folder} holds {len(paths):,} files; choose a folder of one run's traces.")
    for path in paths:
        if path.name.startswith(".") or path.name.endswith(NOTES_ENDING):
            continue
        try:
            if path.is_dir():
                if is_profile(path):
                    found.append(_entry(path, PROFILE, _size_of(path), path / MANIFEST_NAME))
            elif path.is_file():
                found.append(_entry(path, detect(path), path.stat().st_size, path))
        except (OSError, ProfileError) as error:
            if path.name.lower().endswith(_TRACE_ENDINGS):
                refused.append(str(error) if path.name in str(error) else f"{path.name}: {error}")
    return Listing(tuple(found), tuple(refused))


def is_profile(path: Path) -> bool:
    """Whether `path` is a profile's folder."""
    return (path / MANIFEST_NAME).is_file()


def natural(name: str) -> tuple[object, ...]:
    """A sort key by which `worker2` stands before `worker10`."""
    parts = (part for part in re.split(r"([0-9]+)", name) if part)
    return tuple((0, int(part[:4000]), "") if part[0] in "0123456789" else (1, 0, part) for part in parts), name


def _entry(path: Path, kind: str, size_bytes: int, dated: Path) -> Entry:
    return Entry(path.name, path, kind, size_bytes, dated.stat().st_mtime)


def _size_of(folder: Path) -> int:
    """Bytes of the files of a profile; links are not followed."""
    total, waiting = 0, [(folder, 0)]
    while waiting:
        place, depth = waiting.pop()
        for path in place.iterdir():
            if path.is_symlink():
                continue
            if path.is_file():
                total += path.stat().st_size
            elif path.is_dir() and depth < 4:
                waiting.append((path, depth + 1))
    return total
