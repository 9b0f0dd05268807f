"""What is open, the visible range and the selection: the one state that every page shares. No Qt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from psygnal import Signal

from smprof_desktop.notes import Notes
from smprof_desktop.slice_ref import Area, SliceRef

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

__all__ = ["Area", "Session", "SliceRef"]

MAX_VIEWS = 1_000
"""Views that back and forward remember; the oldest are forgotten."""

_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1


class Session:
    """The open profile, the visible range [begin_ns, end_ns) in ns of its clock, the selection and past views.

    Used from the GUI thread only. Every signal is emitted after the whole state has changed.

    Signals:
        profile_changed(Profile | None): another profile is open, or none.
        range_changed(int, int): the visible range, [begin_ns, end_ns), at least 1 ns long; 0, 0 without a profile.
        selection_changed(SliceRef | None): another slice is selected, or none.
        area_changed(Area | None): another area of the timeline is selected, or none.
        history_changed(): `can_go_back` or `can_go_forward` may have changed.
    """

    profile_changed = Signal(object)
    range_changed = Signal(int, int)
    selection_changed = Signal(object)
    area_changed = Signal(object)
    history_changed = Signal()

    def __init__(self, notes_of: Callable[[Profile], Notes] | None = None) -> None:
        """`notes_of` finds the notes of a profile that is opened; without it they last as long as it is open."""
        self._notes_of = notes_of
        self.profile: Profile | None = None
        self.targets: tuple[str, ...] = ()
        """What the profile was opened from, as far as it is known."""
        self.notes = Notes(None)
        """What the user notes about the profile. Another object for each profile, before `profile_changed`."""
        self.begin_ns = 0
        self.end_ns = 0
        self.selection: SliceRef | None = None
        self.area: Area | None = None
        self._views: list[tuple[int, int]] = []
        self._position = 0

    @property
    def can_go_back(self) -> bool:
        """Whether `back` leads anywhere."""
        return bool(self._views) and (self._position > 0 or self._has_wandered())

    @property
    def can_go_forward(self) -> bool:
        """Whether `forward` leads anywhere."""
        return self._position + 1 < len(self._views) and not self._has_wandered()

    def open(self, profile: Profile, targets: Sequence[str] = ()) -> None:
        """Open a profile in place of the present one: the range becomes the whole profile, nothing is selected."""
        self.profile = profile
        self.targets = tuple(targets)
        self.notes = self._notes_of(profile) if self._notes_of is not None else Notes(None)
        self.begin_ns, self.end_ns = _range(profile.begin_ns, profile.end_ns)
        self._views = [(self.begin_ns, self.end_ns)]
        self._announce_profile()

    def close(self) -> None:
        """Let go of the profile. Nothing happens where none is open."""
        if self.profile is None:
            return
        self.profile = None
        self.targets = ()
        self.notes = Notes(None)
        self.begin_ns = self.end_ns = 0
        self._views = []
        self._announce_profile()

    def show(self, begin_ns: int, end_ns: int, remember: bool = True) -> None:
        """Make [begin_ns, end_ns) the visible range; less than 1 ns is widened to 1 ns.

        `remember` puts it on the stack that `back` walks; a movement passes False for all but its last view. The view
        that is already on top is not put there again. Nothing happens without a profile.
        """
        if self.profile is None:
            return
        view = _range(begin_ns, end_ns)
        if remember and view != self._views[self._position]:
            self._push(view)
        self._go(view)

    def select(self, ref: SliceRef | None) -> None:
        """Select a slice, or none. Nothing happens without a profile."""
        if self.profile is None or ref == self.selection:
            return
        self.selection = ref
        self.selection_changed.emit(ref)

    def select_area(self, area: Area | None) -> None:
        """Select an area, or none; less than 1 ns is widened to 1 ns. Nothing happens without a profile."""
        if area is not None:
            area = Area(*_range(area.begin_ns, area.end_ns), area.lanes)
        if self.profile is None or area == self.area:
            return
        self.area = area
        self.area_changed.emit(area)

    def back(self) -> None:
        """Return to the view before this one. A view reached without `remember` is kept for `forward`."""
        if not self.can_go_back:
            return
        if self._has_wandered():
            self._push((self.begin_ns, self.end_ns))
        self._position -= 1
        self._go(self._views[self._position])

    def forward(self) -> None:
        """Undo `back`."""
        if self.can_go_forward:
            self._position += 1
            self._go(self._views[self._position])

    def _has_wandered(self) -> bool:
        """Whether the visible range is one that was not remembered."""
        return bool(self._views) and (self.begin_ns, self.end_ns) != self._views[self._position]

    def _push(self, view: tuple[int, int]) -> None:
        del self._views[self._position + 1 :]
        self._views.append(view)
        del self._views[:-MAX_VIEWS]
        self._position = len(self._views) - 1

    def _go(self, view: tuple[int, int]) -> None:
        changed = view != (self.begin_ns, self.end_ns)
        self.begin_ns, self.end_ns = view
        if changed:
            self.range_changed.emit(*view)
        self.history_changed.emit()

    def _announce_profile(self) -> None:
        self._position = 0
        had_selection, self.selection = self.selection is not None, None
        had_area, self.area = self.area is not None, None
        self.profile_changed.emit(self.profile)
        if had_selection:
            self.selection_changed.emit(None)
        if had_area:
            self.area_changed.emit(None)
        self.range_changed.emit(self.begin_ns, self.end_ns)
        self.history_changed.emit()


def _range(begin_ns: int, end_ns: int) -> tuple[int, int]:
    """[begin_ns, end_ns) inside int64 and at least 1 ns long. numpy integers become Python's, which do not overflow."""
    begin_ns = min(max(int(begin_ns), _INT64_MIN), _INT64_MAX - 1)
    return begin_ns, min(max(int(end_ns), begin_ns + 1), _INT64_MAX)
