"""The strips between the axis and the lanes: flags of marks, and steps as named bars. No Qt.

Each is there only while there is something to show in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from smprof_desktop.timeline.axis import Axis
from smprof_desktop.timeline.draw_list import Hit, MarkFlag, StepBar
from smprof_desktop.timeline.labels import MIN_LABEL_PX, Elider
from smprof_desktop.timeline.layout import Frame, Metrics
from smprof_desktop.timeline.marks import Mark
from smprof_desktop.timeline.step_list import StepList

MIN_STEP_PX = 3.0
"""Narrower steps become one bar with their neighbours."""
MAX_FLAGS = 1_000
MIN_FLAG_PX, MAX_FLAG_PX = 10.0, 180.0
_PADDING_PX = 8.0
_MERGED = 2
_FAR_NS = 1 << 60
_BEYOND_PX = 4.0


class Shown(NamedTuple):
    """What the strips show in one frame."""

    marks: tuple[MarkFlag, ...]
    steps: tuple[StepBar, ...]


class Strips:
    """Marks and steps of one scene; costs what is in view, at most a bar and a flag for each pixel."""

    def __init__(self, metrics: Metrics, elider: Elider, axis: Axis) -> None:
        self._metrics = metrics
        self._elider = elider
        self._axis = axis
        self.marks = ()
        self.selected: Mark | None = None
        self.steps = StepList()

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks, by start."""
        return self._marks

    @marks.setter
    def marks(self, marks: tuple[Mark, ...]) -> None:
        self._marks = marks
        self._begin_ns = np.array([mark.begin_ns for mark in marks], np.int64)
        self._end_ns = np.array([mark.end_ns for mark in marks], np.int64)

    @property
    def marks_px(self) -> float:
        """Height of the strip of marks; 0 where there are none."""
        return self._metrics.strip_px if self.marks else 0.0

    @property
    def steps_px(self) -> float:
        """Height of the strip of steps; 0 where there are none."""
        return self._metrics.strip_px if len(self.steps) else 0.0

    def draw(self, frame: Frame) -> Shown:
        """What a frame shows, in px of the widget."""
        return Shown(self._flags(frame), self._bars(frame) if len(self.steps) else ())

    def hit(self, frame: Frame, x_px: float, y_px: float) -> Hit | None:
        """What lies at a point `y_px` below the axis; None in the header column, and where nothing does."""
        if x_px < frame.header_px:
            return None
        if y_px < self.marks_px:
            for flag in reversed(self._flags(frame)):
                if flag.flag_x_px <= x_px < flag.flag_x_px + flag.width_px:
                    mark = self.marks[flag.number]
                    return Hit("mark", begin_ns=mark.begin_ns, end_ns=mark.end_ns, name=mark.text, number=flag.number)
            return None
        for bar in reversed(self._bars(frame) if y_px < self.marks_px + self.steps_px else ()):
            if bar.x_px <= x_px < bar.x_px + bar.width_px:
                steps, last = self.steps, bar.number + bar.joined - 1
                return Hit(
                    "step",
                    begin_ns=int(steps.start_ns[bar.number]),
                    end_ns=int(steps.end_ns[last]),
                    name=_step_name(steps, bar.number, bar.joined),
                    number=bar.number,
                )
        return None

    def _flags(self, frame: Frame) -> tuple[MarkFlag, ...]:
        """In order from the left; a range whose start is out of sight has its flag at the edge."""
        view = frame.view
        seen = np.flatnonzero((self._begin_ns <= view.end_ns) & (self._end_ns >= view.begin_ns))
        # Notes may hold any time of 64 bits, and so far apart a difference would go round.
        reach_ns = (view.begin_ns - _FAR_NS, view.end_ns + _FAR_NS)
        x_px = np.maximum(view.xs_px(np.clip(self._begin_ns[seen], *reach_ns)), -_BEYOND_PX)
        end_px = np.minimum(view.xs_px(np.clip(self._end_ns[seen], *reach_ns)), view.width_px + _BEYOND_PX)
        # Of those that would look the same the first is drawn, and the selected one in any case.
        at_px, to_px = np.rint(x_px), np.rint(end_px)
        is_drawn = np.append(True, (at_px[1:] != at_px[:-1]) | (to_px[1:] != to_px[:-1]))[: len(seen)]
        is_drawn[MAX_FLAGS:] = False
        if self.selected is not None:
            is_drawn |= (self._begin_ns[seen] == self.selected.begin_ns) & (self._end_ns[seen] == self.selected.end_ns)
        drawn = np.flatnonzero(is_drawn)
        flags: list[MarkFlag] = []
        follows_px = last_px = frame.header_px + view.width_px
        for number, left_px, right_px in zip(
            reversed(seen[drawn].tolist()),
            reversed((x_px[drawn] + frame.header_px).tolist()),
            reversed((end_px[drawn] + frame.header_px).tolist()),
            strict=True,
        ):
            mark = self._marks[number]
            flag_px = max(left_px, frame.header_px)
            if flag_px < last_px:
                follows_px, last_px = last_px, flag_px
            room_px = min(max(follows_px - flag_px, MIN_FLAG_PX), MAX_FLAG_PX)
            text = mark.text.strip() or (frame.axis or self._axis).text(mark.begin_ns)
            text = self._elider.elided(text, room_px - _PADDING_PX)
            width_px = self._elider.width_px(text) + _PADDING_PX if text else MIN_FLAG_PX
            is_selected = mark == self.selected
            flags.append(MarkFlag(number, left_px, right_px, flag_px, width_px, text, mark.is_range, is_selected))
        return tuple(reversed(flags))

    def _bars(self, frame: Frame) -> tuple[StepBar, ...]:
        """In order from the left. Runs of steps too narrow to be told apart are one bar."""
        view, steps = frame.view, self.steps
        first = int(np.searchsorted(steps.end_ns, view.begin_ns, "left"))
        behind = int(np.searchsorted(steps.start_ns, view.end_ns, "right"))
        if first >= behind:
            return ()
        numbers = np.arange(first, behind)
        if len(numbers) > 4 * view.width_px:
            # Only a step that reaches over an edge between pixels can be wide enough to be told apart.
            edges_ns = view.begin_ns + (np.arange(int(view.width_px) + 1) * view.ns_per_px).astype(np.int64)
            over = np.searchsorted(steps.start_ns, edges_ns, "right") - 1
            numbers = np.unique(np.clip(np.concatenate(([first], over, [behind - 1])), first, behind - 1))
        x0_px = np.clip(view.xs_px(steps.start_ns[numbers]), 0.0, view.width_px + _BEYOND_PX)
        x1_px = np.clip(view.xs_px(steps.end_ns[numbers]), 0.0, view.width_px + _BEYOND_PX)
        is_wide = (x1_px - x0_px >= MIN_STEP_PX).tolist()
        lefts, rights, found = x0_px.tolist(), x1_px.tolist(), numbers.tolist()
        bars = []
        at = 0
        while at < len(found):
            begin, number = at, found[at]
            behind_number = found[at + 1] if at + 1 < len(found) else behind
            # What lies between two candidates is narrower than a pixel, and goes with the one before it.
            if is_wide[at] and behind_number == number + 1:
                at += 1
            else:
                at += 1
                while at < len(found) and not is_wide[at]:
                    at += 1
            count = (found[at] if at < len(found) else behind) - number
            width_px = max(rights[at - 1] - lefts[begin], 1.0)
            shade = number % 2 if count == 1 else _MERGED
            bars.append(self._bar(frame, lefts[begin], width_px, number, count, shade))
        return tuple(bars)

    def _bar(self, frame: Frame, x_px: float, width_px: float, number: int, count: int, shade: int) -> StepBar:
        text_px = max(x_px, 0.0) + _PADDING_PX / 2
        room_px = min(x_px + width_px, frame.view.width_px) - text_px - _PADDING_PX / 2
        is_named = room_px >= MIN_LABEL_PX - _PADDING_PX
        text = self._elider.elided(_step_name(self.steps, number, count), room_px) if is_named else ""
        header_px = frame.header_px
        return StepBar(number, count, header_px + x_px, width_px, shade, header_px + text_px, text)


def _step_name(steps: StepList, number: int, count: int) -> str:
    return steps.names[number] if count == 1 else f"{count:,} steps"
