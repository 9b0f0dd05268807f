"""How a slice is named everywhere above the format."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SliceRef:
    """A slice of an open profile: index into `profile.processes`, table of `schema.SLICE_TABLES`, position in it."""

    process: int
    table: str
    row: int
