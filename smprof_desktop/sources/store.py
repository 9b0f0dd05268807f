"""Profiles kept here: what was imported once opens at once the next time. Safe with several programs on one store."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import platformdirs

DEFAULT_LIMIT_BYTES = 20 << 30
PROTECTED_SECONDS = 12 * 3600.0
"""What was used this recently stays, also beyond the limit: another program may have it open."""

_STAMP = "used"
_PROFILE = "profile"
_SIZES = "sizes.json"
_HALF_WRITTEN_SECONDS = 24 * 3600.0


def default_folder() -> Path:
    """Where the store lies on this system."""
    return Path(platformdirs.user_cache_dir("smprof-desktop", appauthor=False)) / "imports"


def key_of(paths: Sequence[Path], version: str, cancelled: Callable[[], bool] = lambda: False) -> str:
    """The key of an import: what the files hold and are called, in any order, and who reads them."""
    lines = []
    for path in paths:
        digest = hashlib.sha256()
        with path.open("rb") as stream:
            while block := stream.read(4 << 20):
                digest.update(block)
                if cancelled():
                    break
        lines.append(f"{digest.hexdigest()} {path.name}")
    return hashlib.sha256("\n".join([version, *sorted(lines)]).encode(errors="surrogateescape")).hexdigest()


def keeps(profile: Path) -> bool:
    """Whether the profile in that folder is one that a store keeps, and may remove."""
    return profile.name == _PROFILE and (profile.parent / _SIZES).is_file()


class Store:
    """Profiles by key, in one folder, bounded in size: the least recently used go first."""

    def __init__(self, folder: Path | None = None, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self.folder = folder if folder is not None else default_folder()
        self._limit_bytes = limit_bytes

    def get(self, key: str) -> Path | None:
        """The profile kept under a key, marked as used now; None where there is none, or a part of it is gone."""
        place = self.folder / key
        try:
            if json.loads((place / _SIZES).read_bytes()) != _sizes_of(place / _PROFILE):
                return None
        except (OSError, ValueError):
            return None
        self._stamp(place)
        return place / _PROFILE

    def put(self, key: str, make: Callable[[Path], object]) -> Path:
        """The profile under a key, made by `make` in the folder it is given where there is none yet.

        What `make` raises goes through, and leaves nothing behind.
        """
        kept = self.get(key)
        if kept is not None:
            return kept
        self.folder.mkdir(parents=True, exist_ok=True)
        self._tidy()
        made = self.folder / f".{key[:16]}.{os.getpid()}.{time.monotonic_ns()}.part"
        try:
            made.mkdir()
            make(made / _PROFILE)
            (made / _SIZES).write_text(json.dumps(_sizes_of(made / _PROFILE)), encoding="utf-8")
            self._stamp(made)
            try:
                os.replace(made, self.folder / key)
            except OSError:
                # Another program was faster, and its profile is the same; or an incomplete one stands in the way.
                if self.get(key) is None:
                    self._remove(self.folder / key)
                    os.replace(made, self.folder / key)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        self.shrink(keep=key)
        return self.folder / key / _PROFILE

    def remove(self, key: str) -> None:
        """Forget what is kept under a key."""
        self._remove(self.folder / key)

    def shrink(self, keep: str = "") -> None:
        """Remove the least recently used until the rest fits; what was used lately, and `keep`, stay."""
        kept = []
        now = time.time()
        for place in self._places():
            try:
                kept.append(((place / _STAMP).stat().st_mtime, _size_of(place), place))
            except OSError:
                kept.append((0.0, _size_of(place), place))
        total = sum(size for _used, size, _place in kept)
        for used_s, size, place in sorted(kept):
            if total <= self._limit_bytes:
                return
            if place.name != keep and now - used_s > PROTECTED_SECONDS:
                self._remove(place)
                total -= size

    def _places(self) -> list[Path]:
        try:
            return [place for place in self.folder.iterdir() if place.is_dir() and not place.name.startswith(".")]
        except OSError:
            return []

    def _stamp(self, place: Path) -> None:
        try:
            (place / _STAMP).touch()
        except OSError:
            # A store that cannot be written still serves what it has.
            return

    def _remove(self, place: Path) -> None:
        """Out of sight first, so that nobody opens what is half gone."""
        aside = self.folder / f".{place.name[:16]}.{os.getpid()}.{time.monotonic_ns()}.gone"
        try:
            os.replace(place, aside)
        except OSError:
            return
        shutil.rmtree(aside, ignore_errors=True)

    def _tidy(self) -> None:
        """Remove what programs that were killed left half-written, once it is a day old."""
        for place in self.folder.glob(".*"):
            try:
                if time.time() - place.stat().st_mtime > _HALF_WRITTEN_SECONDS:
                    shutil.rmtree(place, ignore_errors=True)
            except OSError:
                continue


def _size_of(place: Path) -> int:
    return sum(_sizes_of(place).values())


def _sizes_of(place: Path) -> dict[str, int]:
    """Bytes of every file below, by its path from there."""
    sizes = {}
    for folder, _folders, files in os.walk(place):
        for name in files:
            path = Path(folder, name)
            try:
                sizes[path.relative_to(place).as_posix()] = path.lstat().st_size
            except OSError:
                continue
    return sizes
