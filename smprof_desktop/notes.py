"""What the user notes about a profile: marks, lanes, steps, histograms. In a sidecar, never in the profile.

Where the sidecar lies:
    `run.notes.json` beside the profile folder `run`, where the folder that both stand in is the user's own and can be
    written. For all else (a profile that is read-only or elsewhere, an import kept in the store, what comes with the
    application, several profiles as one) `<key>.json` in the user's data folder, `key` being `key_of(profile)`: what
    the profile holds, not where it lies. A sidecar that already stands beside a read-only profile is where the notes
    of the data folder begin.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs
from psygnal import Signal

from smprof.profile.manifest import MANIFEST_NAME, write_atomically
from smprof_desktop import resources
from smprof_desktop.sources import store
from smprof_desktop.sources.folder import NOTES_ENDING

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

MAX_FILE_BYTES = 4 << 20
MAX_MARKS, MAX_LANES = 10_000, 50_000
MAX_TEXT, MAX_KEY = 1_000, 4_000
"""Characters of a mark's text, and of a lane's key."""
MAX_HISTOGRAMS, MAX_OPTIONS = 50, 500

_INT64 = range(-(1 << 63), 1 << 63)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Note:
    """One kind of note. `sound` gives back what of a value is as it should be, so that the rest is left out."""

    key: str
    default: Any
    meaning: str
    sound: Callable[[Any], Any]


def _sound_marks(value: Any) -> list[dict[str, Any]]:
    return [mark for mark in value if _is_mark(mark)][:MAX_MARKS] if isinstance(value, list) else []


def _is_mark(mark: Any) -> bool:
    if not isinstance(mark, dict):
        return False
    times = mark.get("begin_ns"), mark.get("end_ns")
    text = mark.get("text")
    return (
        all(type(time_ns) is int and time_ns in _INT64 for time_ns in times)
        and times[0] <= times[1]  # type: ignore[operator]
        and isinstance(text, str)
        and len(text) <= MAX_TEXT
    )


def _sound_keys(value: Any) -> list[str]:
    if not isinstance(value, list):
        return []
    return list(dict.fromkeys(key for key in value if isinstance(key, str) and len(key) <= MAX_KEY))[:MAX_LANES]


def _sound_order(value: Any) -> dict[str, list[str]]:
    if not isinstance(value, dict):
        return {}
    return {
        parent: keys
        for parent, children in list(value.items())[:MAX_LANES]
        if len(parent) <= MAX_KEY and (keys := _sound_keys(children)) == children
    }


def _sound_text(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= MAX_TEXT else ""


def _sound_texts(value: Any) -> list[str]:
    texts = [text for text in value if _sound_text(text)] if isinstance(value, list) else []
    return list(dict.fromkeys(texts))[:MAX_HISTOGRAMS]


def _sound_options(value: Any) -> dict[str, dict[str, int]]:
    if not isinstance(value, dict):
        return {}
    return {
        panel: {key: number for key, number in options.items() if type(number) is int and number in _INT64}
        for panel, options in list(value.items())[:MAX_OPTIONS]
        if isinstance(options, dict)
    }


NOTES: dict[str, Note] = {
    note.key: note
    for note in (
        Note(
            "marks",
            [],
            "Moments and ranges with a text: objects of begin_ns and end_ns (equal for a moment), in ns of the "
            "profile's clock, and text.",
            _sound_marks,
        ),
        Note("pinned", [], "Keys of the lanes that stay on top, from above.", _sound_keys),
        Note("hidden", [], "Keys of the lanes that are not shown.", _sound_keys),
        Note("packed", [], "Keys of the devices whose streams are packed by role.", _sound_keys),
        Note("order", {}, "For the key of a group, the keys of its lanes from above.", _sound_order),
        Note(
            "step",
            "",
            "The name, stem or pattern of the annotations that are the steps; empty for those named like steps.",
            _sound_text,
        ),
        Note("histograms", [], "Names, stems or patterns of the annotations that have a histogram.", _sound_texts),
        Note("panel_options", {}, "For the key of a panel, its numbers by their keys.", _sound_options),
    )
}


class Notes:
    """The values of NOTES for one profile, written to `path` at every change; in memory only where it is None.

    A file that is damaged, too large or none at all counts as empty as far as it cannot be read; `notice` tells of it,
    and it is kept aside before anything is written in its place. Unknown keys are kept. Other windows may have the same
    file open: a change reads it again first, so that of each key the last change counts. Used from one thread.

    Signals:
        changed(str): the note of that key has another value, from here or from another window.
        failed(str): the notes could not be kept, as one sentence; they stay in memory.
    """

    changed = Signal(str)
    failed = Signal(str)

    def __init__(self, path: Path | None, base: Path | None = None) -> None:
        """`base` is where the notes begin as long as there is nothing at `path`; it is never written."""
        self.path = path
        self.notice = ""
        """What could not be read, as one sentence; empty where all could."""
        self._values: dict[str, Any] = {}
        self._lent: dict[str, Any] = {}
        for place in (path, base):
            found = _read(place) if place is not None else None
            if found is not None:
                self._values, sentence = found
                self.notice = f"{sentence} What could be read is shown." if sentence else ""
                break

    @staticmethod
    def of(profile: Profile) -> Notes:
        """The notes of an open profile, kept where they belong."""
        beside = _beside(profile)
        if beside is not None and _is_users(beside.parent):
            return Notes(beside)
        return Notes(_data_folder() / f"{key_of(profile)}.json", base=beside)

    def get(self, key: str) -> Any:
        """The value, which is not to be changed in place. Raises KeyError where no note is declared under the key."""
        note = NOTES[key]
        return self._lent[key] if key in self._lent else self._values.get(key, note.default)

    def lend(self, values: Mapping[str, Any]) -> None:
        """Have keys read as these values until they are set; nothing is written. Raises as `set`.

        For a view that came from elsewhere: to look at it must not change what the user noted.
        """
        for key, value in values.items():
            self._check(key, value)
        changed = [key for key, value in values.items() if value != self.get(key)]
        self._lent.update(values)
        for key in changed:
            self.changed.emit(key)

    def fresh(self, key: str) -> Any:
        """The value as another window may just have left it: what a change to a part of it begins with."""
        for changed in self._refresh():
            self.changed.emit(changed)
        return self.get(key)

    def set(self, key: str, value: Any) -> None:
        """Change a value. Raises KeyError for an unknown key, ValueError for a value that the note cannot have."""
        self._check(key, value)
        if value == self.get(key):
            return
        others = self._refresh(key)
        self._values[key] = value
        self._lent.pop(key, None)
        self._write()
        for changed in (key, *others):
            self.changed.emit(changed)

    def _refresh(self, but: str = "") -> list[str]:
        """Take over what another window has written meanwhile, under every key but one; the keys that changed."""
        found = _read(self.path) if self.path is not None else None
        if found is None:
            return []
        theirs, _ = found
        before = {key: self.get(key) for key in NOTES}
        mine = self._values
        self._values = {**theirs, **({but: mine[but]} if but in mine else {})}
        return [key for key in NOTES if key != but and self.get(key) != before[key]]

    @staticmethod
    def _check(key: str, value: Any) -> None:
        if NOTES[key].sound(value) != value:
            raise ValueError(f"{key} cannot be {str(value)[:200]}")

    def _write(self) -> None:
        if self.path is None:
            return
        try:
            content = (json.dumps(self._values, indent=1, sort_keys=True) + "\n").encode("utf-8", "surrogatepass")
            if len(content) > MAX_FILE_BYTES:
                self.failed.emit(
                    f"The notes of this profile have grown beyond {MAX_FILE_BYTES >> 20} MiB and are not kept; delete "
                    "some marks or shorten their texts."
                )
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _put_aside(self.path)
            write_atomically(self.path, content)
        except (OSError, ValueError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self.failed.emit(
                f"The notes of this profile cannot be kept in {self.path}: {reason.lower()}; they last until the "
                "profile is unloaded."
            )


def key_of(profile: Profile) -> str:
    """A key of what a profile holds, the same wherever it lies, under whatever name, merged or not.

    Of an import it is the content of its trace files and the clock; of a recording the clock, and the processes with
    their windows. For several profiles as one their order counts, because the first one's clock does.
    """
    manifest = profile.manifest
    clock = manifest.clock
    identity = {
        "clock": [clock.kind, clock.unix_offset_ns, clock.reference_ns],
        "sources": [str(source.get("sha256") or source.get("name") or "") for source in manifest.sources],
        "hyperparameters": manifest.hyperparameters,
        "processes": [
            [info.host, info.process, info.pid, info.rank, info.folder, info.windows_ns]
            for info in (process.info for process in profile.processes)
        ],
    }
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def beside(folder: Path) -> Path:
    """Where the sidecar of a profile in `folder` lies if that place can be written."""
    return folder.with_name(folder.name + NOTES_ENDING)


def folders_of(profile: Profile) -> set[Path | None]:
    """The folders of the profiles that this one consists of; None among them for what lies otherwise."""
    return {_root(process.folder, process.info.folder) for process in profile.processes}


def _beside(profile: Profile) -> Path | None:
    """The place of the sidecar beside the one folder that the profile lies in; None where it may not be there."""
    roots = folders_of(profile)
    root = roots.pop() if len(roots) == 1 else None
    if root is None or not root.name or not (root / MANIFEST_NAME).is_file() or store.keeps(root):
        return None
    try:
        if root == resources.path(resources.SAMPLE_PROFILE).resolve():
            return None
    except FileNotFoundError:
        pass
    return beside(root)


def _root(folder: Path, below: str) -> Path | None:
    """The profile's folder, given that of a process and its path from there."""
    place = folder.resolve()
    parts = Path(below).parts
    return Path(*place.parts[: -len(parts)]) if parts and place.parts[-len(parts) :] == parts else None


def _is_users(folder: Path) -> bool:
    """Whether a folder is the user's own, as far as the system tells owners apart, and can be written."""
    try:
        is_own = not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
    except OSError:
        return False
    return is_own and os.access(folder, os.W_OK | os.X_OK)


def _data_folder() -> Path:
    return Path(platformdirs.user_data_dir("smprof-desktop", appauthor=False)) / "notes"


def _read(path: Path) -> tuple[dict[str, Any], str] | None:
    """What a file holds as far as it is sound, and what is wrong with it as a sentence; None where there is none."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for ever
            return {}, f"The notes in {path} are no file."
        with path.open("rb") as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        return {}, f"The notes in {path} cannot be read: {(error.strerror or str(error)).lower()}."
    if len(content) > MAX_FILE_BYTES:
        return {}, f"The notes in {path} are larger than {MAX_FILE_BYTES >> 20} MiB and were not read."
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        return {}, f"The notes in {path} are damaged."
    values = {key: NOTES[key].sound(value) if key in NOTES else value for key, value in document.items()}
    return values, "" if values == document else f"The notes in {path} are damaged in part."


def _put_aside(path: Path) -> None:
    """Keep what is not sound, under another name, before it is written over."""
    found = _read(path)
    if found is None or not found[1]:
        return
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists() or aside.is_symlink():
        number += 1
    os.replace(path, aside)
    _log.warning("%s It is kept as %s.", found[1], aside)
