"""How a slice, and an area of the timeline, are named everywhere above the format."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SliceRef:
    """A slice of an open profile: index into `profile.processes`, table of `schema.SLICE_TABLES`, position in it."""

    process: int
    table: str
    row: int


@dataclass(frozen=True, slots=True)
class Area:
    """[begin_ns, end_ns) of some lanes, by their keys in the lane tree; `lanes` None: of all."""

    begin_ns: int
    end_ns: int
    lanes: tuple[str, ...] | None = None
