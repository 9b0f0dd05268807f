"""Pictures kept while the view stays near: a pan is mostly a transform. What a frame cannot have yet is listed."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from smprof.profile.manifest import ProfileError
from smprof_desktop.timeline.lanes import Lane, Row
from smprof_desktop.timeline.maker import Curve, Maker, RowPicture, Window
from smprof_desktop.timeline.memory import Later
from smprof_desktop.timeline.viewport import Viewport

FRAME_BUDGET_S = 0.008
"""What the pictures of one frame may take at most where others can be waited for; the rest comes in the next ones."""
STOPGAP_S = 0.003
"""What stopgaps may take beyond that."""
FETCH_S = 0.1
FETCH_FRAMES = 2
"""After so long, or so many frames, a task hands over what it has made: the picture grows before all of it is there,
and what is made for a view that has gone is of no use."""
_EVER = Window(-(1 << 62), 1 << 62, -1)

_log = logging.getLogger(__name__)

Key = Row | str
"""A row, or the key of a lane whose curve it is."""
KeyT = TypeVar("KeyT", Row, str)
PictureT = TypeVar("PictureT", RowPicture, Curve)


@dataclass(frozen=True)
class Want:
    """A picture that a task has to make."""

    key: Key
    make: Callable[[Maker], RowPicture | Curve]


class Pictures:
    """Pictures of rows and curves, made when first needed and kept while the view stays near.

    With a `maker` that raises Later there are always some: on a neighbouring grid, of the ladder alone, of a part of
    the view or empty, until `install` brings those that are in `wanted`.
    """

    def __init__(self, maker: Maker) -> None:
        self.maker = maker
        self._unread: list[Want] = []
        self._late: list[Want] = []
        self.is_late = False
        """Whether some pictures since `begin_frame` were on a neighbouring grid, or missing, for want of time."""
        self._soft_deadline = self._hard_deadline = self._last_deadline = math.inf
        self._rows: dict[Row, RowPicture] = {}
        self._curves: dict[str, Curve] = {}
        self._stopgaps: dict[Key, RowPicture | Curve] = {}
        """What the ladder alone tells, until what is right has been made."""

    @property
    def wanted(self) -> list[Want]:
        """What could not be had since `begin_frame`: first what is not in memory, then what there was no time for.

        Of that the last comes first: the next frame goes on from the other end.
        """
        return [*self._unread, *reversed(self._late)]

    def begin_frame(self, budget_s: float | None, hard_budget_s: float | None) -> None:
        """From here on pictures on a neighbouring grid will do once `budget_s` is spent (None: never).

        After `hard_budget_s` none is made, whether there is one to show or not.
        """
        now_s = time.perf_counter()
        self.maker.frames.begin()
        self._unread, self._late = [], []
        self.is_late = False
        self._hard_deadline = now_s + hard_budget_s if hard_budget_s is not None else math.inf
        self._soft_deadline = now_s + budget_s if budget_s is not None else self._hard_deadline
        self._last_deadline = self._hard_deadline + STOPGAP_S

    def row(self, row: Row, kind: str, view: Viewport) -> RowPicture:
        """What a row of a lane of that kind shows; right at least for the view."""
        found = self._near(self._rows, row, view, lambda maker: maker.row(row, kind, view))
        if found is not None:
            return found
        gap = self._stopgap(row, view, self.maker.stored_level((row,)), lambda: self.maker.coarse_row(row, kind, view))
        return gap if isinstance(gap, RowPicture) else self._rows.get(row, RowPicture.empty(_EVER))

    def busy(self, lane: Lane, view: Viewport) -> Curve | None:
        """The lane's busy share; None where there is none to show yet."""
        found = self._near(self._curves, lane.key, view, lambda maker: maker.busy(lane, view))
        if found is not None:
            return found
        level = self.maker.stored_level(lane.busy)
        gap = self._stopgap(lane.key, view, level, lambda: self.maker.coarse_busy(lane, view))
        return gap if isinstance(gap, Curve) else self._curves.get(lane.key)

    def counter(self, lane: Lane, view: Viewport) -> tuple[Curve, tuple[float, float]] | None:
        """The lane's counter and its range; None where there is none to show yet."""

        def make(maker: Maker) -> Curve:
            maker.counter_range(lane)  # worked out where the curve is, and kept for both
            return maker.counter(lane, view)

        curve = self._near(self._curves, lane.key, view, make)
        return (curve, self.maker.counter_range(lane)) if curve is not None and len(curve.value) else None

    def curve_in(self, key: str, make: Callable[[Maker], Curve]) -> Curve | None:
        """A curve that is right whatever the view; None where there is none to show yet."""
        found = self._curves.get(key)
        if found is None:
            try:
                found = self._curves[key] = make(self.maker)
            except Later:
                self._unread.append(Want(key, make))
        return found

    def install(self, key: Key, picture: RowPicture | Curve | None) -> None:
        """Take over what a task has made of a Want; None: it cannot be made, and nothing is shown for it."""
        if isinstance(key, Row):
            self._rows[key] = picture if isinstance(picture, RowPicture) else RowPicture.empty(_EVER)
        else:
            self._curves[key] = picture if isinstance(picture, Curve) else Curve.empty(_EVER)

    def forget_hidden(self, rows: set[Row], keys: set[str]) -> None:
        """Let go of the pictures of everything but these rows and lanes."""
        self._rows = {row: picture for row, picture in self._rows.items() if row in rows}
        self._curves = {key: curve for key, curve in self._curves.items() if key in keys}
        self._stopgaps = {key: gap for key, gap in self._stopgaps.items() if key in rows or key in keys}

    def _stopgap(
        self, key: Key, view: Viewport, level: int, make: Callable[[], RowPicture | Curve | None]
    ) -> RowPicture | Curve | None:
        """What the ladder, which is stored from `level` on, tells alone; None where there is nothing or no time."""
        found = self._stopgaps.get(key)
        if found is not None and found.window.covers(view, level):
            return found
        made = make() if time.perf_counter() < self._last_deadline else None
        if made is not None:
            self._stopgaps[key] = made
        return made

    def _near(
        self, kept: dict[KeyT, PictureT], key: KeyT, view: Viewport, make: Callable[[Maker], PictureT]
    ) -> PictureT | None:
        """What is right for the view, or, for want of time or data, what covers it on a neighbouring grid, or None."""
        found = kept.get(key)
        if found is not None and found.window.holds(view):
            return found
        is_near = found is not None and found.window.covers(view)
        if time.perf_counter() < (self._soft_deadline if is_near else self._hard_deadline):
            try:
                made = kept[key] = make(self.maker)
            except Later:
                self._unread.append(Want(key, make))
            else:
                self._stopgaps.pop(key, None)
                return made
        else:
            self.is_late = True
            self._late.append(Want(key, make))
        return found if is_near else None


def fetch(
    maker: Maker, wants: list[Want], cancelled: Callable[[], bool]
) -> list[tuple[Key, RowPicture | Curve | None]]:
    """Make what is wanted, as much as FETCH_S allows and one at least. What cannot be read is None. For a task."""
    deadline_s, frame = time.perf_counter() + FETCH_S, maker.frames.number
    made: list[tuple[Key, RowPicture | Curve | None]] = []
    for want in wants:
        is_time = time.perf_counter() > deadline_s or maker.frames.number > frame + FETCH_FRAMES
        if cancelled() or (made and is_time):
            break
        maker.frames.give_way()
        try:
            made.append((want.key, want.make(maker)))
        except ProfileError as error:
            _log.warning("%s", error)
            made.append((want.key, None))
    return made
