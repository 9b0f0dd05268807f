"""From the time of a profile's clock to Unix time: offset, drift and points of synchronisation, in exact integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from smprof.profile.manifest import Clock, ProfileError

I64 = NDArray[np.int64]

_DRIFT_PARTS = 10**12
"""A drift counts to the millionth of a ppm: what a float tells of it then is an integer of these parts."""
_REACH_NS = 1 << 62


@dataclass(frozen=True)
class Line:
    """From `since_ns` on, t becomes t + shift_ns + (t - since_ns) * gain / per, to the nearest ns, halves up."""

    since_ns: int
    shift_ns: int
    gain: int = 0
    per: int = 1

    def times(self, times_ns: I64) -> I64:
        """Times of any length, those before `since_ns` too: the line reaches both ways."""
        if not self.gain:
            return times_ns + np.int64(self.shift_ns)
        low_ns = max(self.since_ns - _REACH_NS, -2 * _REACH_NS)
        high_ns = min(self.since_ns + _REACH_NS, 2 * _REACH_NS - 1)
        elapsed_ns = np.clip(times_ns, low_ns, high_ns) - np.int64(self.since_ns)
        estimate = np.rint(elapsed_ns.astype(np.float64) * (self.gain / self.per)).astype(np.int64)
        # The estimate is nearly right, so what it lacks fits in 64 bits, in which both products may go round.
        rest = elapsed_ns * np.int64(self.gain) - estimate * np.int64(self.per)
        estimate += (2 * rest + self.per) // (2 * self.per) + self.shift_ns
        return times_ns + estimate


@dataclass(frozen=True)
class Course:
    """How one clock runs against another: lines one behind the other. Never goes back, so the order of slices stays."""

    lines: tuple[Line, ...]

    @property
    def is_constant(self) -> bool:
        """Whether every time moves by the same amount."""
        return not any(line.gain for line in self.lines)

    @property
    def shift_ns(self) -> int:
        """What the first line adds where it begins: to every time, where the course is constant."""
        return self.lines[0].shift_ns

    def less(self, ns: int) -> Course:
        """The same against a clock that is `ns` ahead of that one."""
        return Course(tuple(replace(line, shift_ns=line.shift_ns - ns) for line in self.lines))

    def times(self, times_ns: I64) -> I64:
        """Times of the one clock by the other."""
        if len(self.lines) == 1:
            return self.lines[0].times(times_ns)
        begins_ns = np.array([line.since_ns for line in self.lines[1:]], np.int64)
        which = np.searchsorted(begins_ns, times_ns, "right")
        result = np.empty_like(times_ns)
        for index, line in enumerate(self.lines):
            mine = which == index
            result[mine] = line.times(times_ns[mine])
        return result

    def time(self, time_ns: int) -> int:
        """One time of 64 bits."""
        return int(self.times(np.array([time_ns], np.int64))[0])

    def durations(self, starts_ns: I64, durations_ns: I64) -> I64:
        """Durations so that each end moves as a start there would: what touched still touches."""
        if self.is_constant:
            return durations_ns
        lasted_ns: I64 = np.maximum(self.times(starts_ns + durations_ns) - self.times(starts_ns), 0)
        return lasted_ns


def course_of(clock: Clock) -> Course | None:
    """From the clock's times to Unix time; None where that is not known.

    Points of synchronisation decide where there are any: straight lines join them, and the outermost lines go on.
    Otherwise the offset holds at `reference_ns`, and grows by the drift from there.
    """
    points = clock.sync_points
    if len(points) > 1:
        return Course(
            tuple(
                Line(time_ns, unix_ns - time_ns, (later_unix_ns - unix_ns) - (later_ns - time_ns), later_ns - time_ns)
                for (time_ns, unix_ns), (later_ns, later_unix_ns) in pairwise(points)
            )
        )
    offset_ns = 0 if clock.kind == "unix" else clock.unix_offset_ns
    reference_ns = clock.reference_ns
    if points:
        reference_ns, offset_ns = points[0][0], points[0][1] - points[0][0]
    if offset_ns is None:
        return None
    gain = round(Fraction(repr(clock.drift_ppm)) * _DRIFT_PARTS / 10**6) if clock.drift_ppm else 0
    return Course((Line(reference_ns, offset_ns, gain, _DRIFT_PARTS if gain else 1),))


def align(clocks: Sequence[Clock], names: Sequence[str]) -> tuple[Clock, list[Course | None]]:
    """One clock for several profiles of these names, and how the clock of each runs against it.

    It is the first one, without its drift where any of them drifts. None: times stay as they are.
    Raises ProfileError where the clocks are too far apart for 64 bits.
    """
    first, courses = clocks[0], [course_of(clock) for clock in clocks]
    doubts_ns = [clock.uncertainty_ns for clock in clocks if clock.uncertainty_ns is not None]
    common = replace(first, uncertainty_ns=max(doubts_ns) if len(doubts_ns) == len(clocks) else None)
    if any(course is None for course in courses):
        return common, [None] * len(clocks)
    known = [course for course in courses if course is not None]
    base_ns = 0 if first.kind == "unix" else known[0].shift_ns
    if not all(course.is_constant for course in known):
        offset_ns = first.unix_offset_ns if first.kind == "unix" else base_ns
        common = Clock(first.kind, offset_ns, uncertainty_ns=common.uncertainty_ns)
    moved = [course.less(base_ns) for course in known]
    for name, course in zip(names, moved, strict=True):
        if any(abs(line.shift_ns) >= _REACH_NS for line in course.lines):
            raise ProfileError(
                f"{name} counts time from a moment more than 146 years from that of the others; open them one by one."
            )
    return common, [course if course.shift_ns or not course.is_constant else None for course in moved]


def unix_ns(clock: Clock, time_ns: int) -> int | None:
    """The Unix time of one time; None where it is not known, or out of 64 bits."""
    course = course_of(clock)
    if course is None:
        return None
    line = next((line for line in reversed(course.lines) if line.since_ns <= time_ns), course.lines[0])
    elapsed_ns = min(max(time_ns - line.since_ns, -_REACH_NS), _REACH_NS)
    return time_ns + line.shift_ns + (2 * elapsed_ns * line.gain + line.per) // (2 * line.per)
