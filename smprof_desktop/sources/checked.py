"""What guards have read of profile files without harm, kept from one program to the next. Never inside a profile."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import platformdirs

from smprof.profile.manifest import write_atomically

MOST_FILES = 8192
"""A profile of 16 processes is 144 files; the least recently opened go first."""
MAX_BYTES = 8 << 20
"""No longer a memory is read or written: 8,192 files of ordinary profiles take half of it."""
SAVE_SECONDS = 10.0
"""What is added is kept at the latest with what comes so long after it, and when a profile is closed."""

_KEY = re.compile(r"[0-9A-Za-z.+-]{1,300}")
_COLUMN = re.compile(r"[a-z_]{1,40}")
_BITS = re.compile(r"[0-9a-f]{1,1024}")

_saving = threading.Lock()
"""Two profiles closed at once would write over what the other adds."""


class CheckedFiles:
    """A guard's memory as a file: a JSON line for each file that was read, the most recently opened last.

    Safe to use from several threads, and with several programs on one file: each adds to what stands there. One that
    is damaged, too long, or of another form is as none, and one that cannot be written is not: then files are read
    first once more, as if never opened. Whether a memory may be trusted is for the guard to say, whose keys they are.
    """

    def __init__(self, path: Path | None = None, most_files: int = MOST_FILES) -> None:
        self.path = path if path is not None else default_path()
        self._most_files = most_files
        self._lock = threading.Lock()
        self._files: dict[str, dict[str, int]] | None = None
        self._used: dict[str, None] = {}
        self._save_at_s: float | None = None

    def recall(self, key: str) -> Mapping[str, int] | None:
        """What was read of a file: the row groups of each column, as bits; None where it was not opened before."""
        with self._lock:
            found = self._known().get(key)
            if found is None:
                return None
            self._use(key)
            return dict(found)

    def remember(self, key: str, read: Mapping[str, int]) -> None:
        """Add to what was read of a file."""
        with self._lock:
            files = self._known()
            _add(files.setdefault(key, {}), read)
            self._use(key)
            if len(files) > 2 * self._most_files:
                self._files = _newest(files, self._used, self._most_files)
                self._used = {key: None for key in self._used if key in self._files}
            now_s = time.monotonic()
            if self._save_at_s is None:
                self._save_at_s = now_s + SAVE_SECONDS
            elif now_s > self._save_at_s:
                self._save()

    def save(self) -> None:
        """Keep what was added and used since the last time."""
        with self._lock:
            if self._used:
                self._save()

    def _known(self) -> dict[str, dict[str, int]]:
        if self._files is None:
            self._files = _read(self.path)
        return self._files

    def _use(self, key: str) -> None:
        self._used.pop(key, None)
        self._used[key] = None

    def _save(self) -> None:
        with _saving:
            files = _read(self.path)  # what others added meanwhile
            for key in self._used:
                _add(files.setdefault(key, {}), self._known().get(key, {}))
            self._files = files = _newest(files, self._used, self._most_files)
            self._used.clear()
            self._save_at_s = None
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(self.path, _lines(files))
            except OSError:
                return


def default_path() -> Path:
    """Where the memory lies on this system."""
    return Path(platformdirs.user_cache_dir("smprof-desktop", appauthor=False)) / "checked.jsonl"


def _add(known: dict[str, int], read: Mapping[str, int]) -> None:
    for name, bits in read.items():
        known[name] = known.get(name, 0) | bits


def _lines(files: dict[str, dict[str, int]]) -> bytes:
    """The last of the files that fit, a line each."""
    lines: list[bytes] = []
    left = MAX_BYTES
    for key, read in reversed(files.items()):
        entry = {"file": key, "read": {name: f"{bits:x}" for name, bits in read.items()}}
        lines.append(json.dumps(entry).encode() + b"\n")
        left -= len(lines[-1])
        if left < 0:
            lines.pop()
            break
    return b"".join(reversed(lines))


def _newest(files: dict[str, dict[str, int]], used: Mapping[str, None], most: int) -> dict[str, dict[str, int]]:
    """The files in the order of their use, the last `most` of them."""
    order = [*(key for key in files if key not in used), *(key for key in used if key in files)]
    return {key: files[key] for key in order[-most:]}


def _read(path: Path) -> dict[str, dict[str, int]]:
    """What stands in a memory file; nothing where any of it is not as it was written."""
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            return {}
        return dict(_entry(json.loads(line)) for line in content.splitlines())
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def _entry(line: Any) -> tuple[str, dict[str, int]]:
    """One line of a memory file. Raises ValueError, KeyError and TypeError where it is none."""
    key, read = line["file"], line["read"]
    if not (isinstance(read, dict) and _KEY.fullmatch(key)):
        raise ValueError("not a file that was read")
    if not all(_COLUMN.fullmatch(name) and _BITS.fullmatch(bits) for name, bits in read.items()):
        raise ValueError("not columns that were read")
    return key, {name: int(bits, 16) for name, bits in read.items()}
