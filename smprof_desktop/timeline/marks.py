"""Marks: moments and ranges with a text, kept in the notes of a profile."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from smprof_desktop.notes import MAX_MARKS, MAX_TEXT, Notes

KEY = "marks"


@dataclass(frozen=True, order=True)
class Mark:
    """[begin_ns, end_ns) of the profile's clock; a moment where both are the same."""

    begin_ns: int
    end_ns: int
    text: str = ""

    @property
    def is_range(self) -> bool:
        """Whether it has a length."""
        return self.end_ns > self.begin_ns


def marks_of(notes: Notes) -> tuple[Mark, ...]:
    """All marks, by start."""
    return tuple(sorted(_mark(entry) for entry in notes.get(KEY)))


def add(notes: Notes, mark: Mark) -> Mark:
    """Add a mark and give it as it is kept: its text cut to what a mark may hold. One that is there is not doubled.

    At MAX_MARKS no more is taken.
    """
    mark = Mark(mark.begin_ns, mark.end_ns, mark.text[:MAX_TEXT])
    entries = notes.fresh(KEY)
    if mark not in map(_mark, entries) and len(entries) < MAX_MARKS:
        notes.set(KEY, [*entries, {"begin_ns": mark.begin_ns, "end_ns": mark.end_ns, "text": mark.text}])
    return mark


def rename(notes: Notes, mark: Mark, text: str) -> Mark:
    """Give a mark another text; the mark as it is now."""
    text = text[:MAX_TEXT]
    notes.set(KEY, [{**entry, "text": text} if _mark(entry) == mark else entry for entry in notes.fresh(KEY)])
    return Mark(mark.begin_ns, mark.end_ns, text)


def remove(notes: Notes, *marks: Mark) -> None:
    """Forget marks."""
    gone = set(marks)
    notes.set(KEY, [entry for entry in notes.fresh(KEY) if _mark(entry) not in gone])


def give(notes: Notes, marks: Iterable[Mark]) -> None:
    """Add many marks, as `add` does, at once."""
    entries = notes.fresh(KEY)
    known = set(map(_mark, entries))
    new = [mark for mark in marks if mark not in known][: MAX_MARKS - len(entries)]
    if new:
        given = [{"begin_ns": mark.begin_ns, "end_ns": mark.end_ns, "text": mark.text[:MAX_TEXT]} for mark in new]
        notes.set(KEY, [*entries, *given])


def _mark(entry: dict[str, Any]) -> Mark:
    return Mark(entry["begin_ns"], entry["end_ns"], entry["text"])
