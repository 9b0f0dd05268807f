"""What is told of a slice, as rows of plain text: some of them lead to other slices."""

from __future__ import annotations

from dataclasses import dataclass

from smprof.profile.reader import ProcessProfile
from smprof.profile.schema import DEVICE_KINDS, HOST_KINDS, LOST_NAME, NONE
from smprof_desktop.slice_ref import SliceRef

TITLES = {
    "kernel": "Kernel",
    "memcpy": "Memory copy",
    "memset": "Memory set",
    "api": "API call",
    "op": "Operator",
    "python": "Python frame",
    "sync": "Synchronisation record",
    "overhead": "Profiler overhead",
    "other": "Host slice",
    "annotation": "Annotation",
}
"""What a slice of each kind is called."""


@dataclass(frozen=True)
class Section:
    """Part of a slice's description: rows of (label, value), both plain text.

    `refs` and `tips` are as long as `rows`: the slice that a row speaks of, where it is another one, and what the label
    means, where that needs saying.
    """

    title: str
    rows: tuple[tuple[str, str], ...]
    refs: tuple[SliceRef | None, ...]
    tips: tuple[str, ...]


class Rows:
    """Collects the rows of one section, leaving out what was not recorded."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._rows: list[tuple[str, str]] = []
        self._refs: list[SliceRef | None] = []
        self._tips: list[str] = []

    def add(self, label: str, value: str | None, ref: SliceRef | None = None, tip: str = "") -> None:
        """A row, unless it has no value."""
        if value:
            self._rows.append((label, value))
            self._refs.append(ref)
            self._tips.append(tip)

    def number(self, label: str, value: int) -> None:
        """A row of a number, unless it was not recorded."""
        if value != NONE:
            self.add(label, f"{value:,}" if abs(value) < 1 << 31 else str(value))

    def id(self, label: str, value: int) -> None:
        """A row of a number that only names something, unless it was not recorded."""
        self.add(label, str(value) if value != NONE else None)

    def section(self) -> Section:
        """The rows so far."""
        return Section(self._title, tuple(self._rows), tuple(self._refs), tuple(self._tips))


def name_of(process: ProcessProfile, table: str, row: int) -> str:
    """The full name of a slice; "(name lost)" where it could not be read."""
    columns = process.table(table)
    if table == "device":
        names = process.table("shapes")["name_id"]
        shape_id = columns.value("shape_id", row)
        name_id = int(names[shape_id]) if 0 <= shape_id < len(names) else NONE
    else:
        name_id = columns.value("name_id", row)
    return process.names.text(name_id) if 0 <= name_id < len(process.names) else LOST_NAME


def kind_of(process: ProcessProfile, ref: SliceRef) -> str:
    """What kind a slice is: a key of TITLES, or "slice" where that was not recorded."""
    if ref.table == "annotation":
        return "annotation"
    kinds = DEVICE_KINDS if ref.table == "device" else HOST_KINDS
    index = process.table(ref.table).value("kind", ref.row)
    return kinds[index] if 0 <= index < len(kinds) else "slice"


def thread_text(process: ProcessProfile, thread: int) -> str:
    """A thread by number and, where it has one, name."""
    named = [entry.name for entry in process.info.threads if entry.id == thread and entry.name]
    if named and str(thread) in named[0]:
        return named[0]  # PyTorch names a thread "thread 4711 (python3)"
    return f"{thread}" + (f" ({named[0]})" if named else "")
