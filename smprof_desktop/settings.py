"""Every setting, declared once, and where they are kept."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs
from psygnal import Signal

from smprof.profile.manifest import write_atomically

MAX_RECENT = 20
MAX_FILE_BYTES = 1 << 20

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Setting:
    """One setting: `choices` are the only values, where there are any. Shown on the Settings page if it has a title."""

    key: str
    default: Any
    meaning: str
    title: str = ""
    choices: tuple[str, ...] = ()


SETTINGS: dict[str, Setting] = {
    setting.key: setting
    for setting in (
        Setting(
            "theme",
            "system",
            "Light or dark colours; system follows the desktop.",
            "Theme",
            ("system", "light", "dark"),
        ),
        Setting(
            "drag",
            "pan",
            "What dragging over the timeline's lanes does: pan moves them, select marks an area; Shift does the other.",
            "Drag",
            ("pan", "select"),
        ),
        Setting(
            "time",
            "start",
            "Times of the timeline's axis: from the start of the profile, or by the clock, here or in UTC.",
            "Time axis",
            ("start", "clock", "UTC"),
        ),
        Setting(
            "names",
            "recorded",
            "Kernel names: as recorded, demangled (C++ symbols made readable), or base (the bare function).",
            "Kernel names",
            ("recorded", "demangled", "base"),
        ),
        Setting(
            "painter",
            "auto",
            "What draws the timeline: auto is OpenGL where there is a graphics card for it, otherwise raster.",
            "Painter",
            ("auto", "OpenGL", "raster"),
        ),
        Setting("keys", {}, "Keys that commands were given instead of their own: command id to a list of keys."),
        Setting("recent", [], "Targets loaded before, the latest first; each a list of paths that made one profile."),
        Setting("geometry", "", "Size and place of the window, as Qt packs them, in hexadecimal."),
        Setting("details_share", 0.3, "Share of the Timeline page's height that the details take."),
        Setting("all_links", False, "Whether the timeline shows all links in view, not only the selected slice's."),
        Setting("folder", "", "Folder that the open dialogs start in."),
    )
}


class Settings:
    """The values of SETTINGS, written to `path` at every change, atomically; kept in memory only where it is None.

    A file that cannot be read counts as empty, a value of the wrong type as its default. What an unknown key holds is
    kept, so that a newer version finds its settings again.

    Signals:
        changed(str): the setting of that key has another value.
    """

    changed = Signal(str)

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._values: dict[str, Any] = _read(path) if path is not None else {}

    @staticmethod
    def user_path() -> Path:
        """Where the user's settings are kept."""
        return Path(platformdirs.user_config_dir("smprof-desktop", appauthor=False)) / "settings.json"

    @property
    def where(self) -> str:
        """Where the settings are kept, as a sentence."""
        return "Settings are not kept." if self._path is None else f"Settings are kept in {self._path}."

    def get(self, key: str) -> Any:
        """The value. Raises KeyError where no setting is declared under the key."""
        setting = SETTINGS[key]
        value = self._values.get(key, setting.default)
        is_right = type(value) is type(setting.default) and (not setting.choices or value in setting.choices)
        return value if is_right else setting.default

    def set(self, key: str, value: Any) -> None:
        """Change a value. Raises KeyError for an unknown key, ValueError for a value that the setting cannot have."""
        setting = SETTINGS[key]
        if type(value) is not type(setting.default) or (setting.choices and value not in setting.choices):
            raise ValueError(f"{key} cannot be {value!r}")
        if value == self.get(key):
            return
        self._values[key] = value
        self._write()
        self.changed.emit(key)

    def recent(self) -> list[tuple[str, ...]]:
        """Targets loaded before, the latest first."""
        entries = [entry for entry in self.get("recent") if isinstance(entry, list) and entry]
        return [tuple(entry) for entry in entries if all(isinstance(target, str) for target in entry)]

    def add_recent(self, targets: tuple[str, ...]) -> None:
        """Put targets at the head of the recent ones."""
        entries = [targets, *(entry for entry in self.recent() if entry != targets)]
        self.set("recent", [list(entry) for entry in entries[:MAX_RECENT]])

    def remove_recent(self, targets: tuple[str, ...]) -> None:
        """Forget recent targets."""
        self.set("recent", [list(entry) for entry in self.recent() if entry != targets])

    def _write(self) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path, (json.dumps(self._values, indent=1, sort_keys=True) + "\n").encode())
        except OSError as error:  # a full or read-only home must not stop the work
            _log.warning("the settings could not be kept in %s: %s", self._path, error.strerror)


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            document = json.loads(stream.read(MAX_FILE_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        _log.warning("the settings in %s could not be read and start afresh: %s", path, error)
        return {}
    return document if isinstance(document, dict) else {}
