"""The search of a timeline: what matches is counted, walked and lit, all of it worked out beside the window."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from smprof_desktop.analysis import slices
from smprof_desktop.analysis.search import NameList, Query, Search, SliceIndex
from smprof_desktop.progress import CancelCheck, Progress
from smprof_desktop.slice_ref import SliceRef

if TYPE_CHECKING:
    from smprof.profile.reader import Profile
    from smprof_desktop.timeline.scene import Scene
    from smprof_desktop.timeline.widget import TimelineWidget

SEARCHING, COUNTING, GOING = "search", "search counts", "search walk"
"""Kinds of tasks."""
AROUND = 2.0
"""How much of a slice's length is shown on either side where it is gone to and would be too small or too large."""
LEAST_PX, MOST_SHARE = 8.0, 0.8
"""A slice at least so wide, and at most such a share of the view, is seen well as it is."""


@dataclass(frozen=True)
class _Found:
    """What matches a query; slices only once they are counted."""

    matches: tuple[NDArray[np.bool_], ...]
    mask: NDArray[np.bool_]
    names: int
    search: Search | None = None


@dataclass(frozen=True)
class _Went:
    """Where a walk has led."""

    ref: SliceRef
    begin_ns: int
    end_ns: int
    is_around: bool = False
    """Whether it went on from the other end of the profile."""


class Searching(QObject):
    """The search's part of a timeline. A newer query takes the place of the one before.

    Signals:
        asked(): the user wants to search.
        walked(): another match is selected.
        list_asked(): the list of matching names is to be shown.
        changed(): `text`, `search` or `is_busy` is another.
    """

    asked = Signal()
    walked = Signal()
    list_asked = Signal()
    changed = Signal()

    def __init__(self, timeline: TimelineWidget) -> None:
        super().__init__(timeline)
        self._timeline = timeline
        self.query: Query | None = None
        self._names: NameList | None = None
        self._index: SliceIndex | None = None
        self._found: _Found | None = None
        self._fault = ""
        self._note = ""
        self._is_searching = self._is_counting = self._is_going = False
        self._counted_share = 0.0
        self._awaited: int | None = None
        """A step that was asked for before there was anything to walk."""

    @property
    def is_busy(self) -> bool:
        """Whether more of what was asked for is to come."""
        return self._is_searching or self._is_going or (self._is_counting and self.query is not None)

    @property
    def search(self) -> Search | None:
        """What was found; None without a query, or before it is counted."""
        return self._found.search if self._found is not None else None

    @property
    def names(self) -> NameList | None:
        """All names of the profile, once they are read."""
        return self._names

    @property
    def fault(self) -> str:
        """What is wrong with the query, as a sentence."""
        return self._fault

    @property
    def text(self) -> str:
        """What was found, to read."""
        if self.query is None or self._fault:
            return self._fault
        if self._found is None:
            return "Searching…"
        search = self._found.search
        if search is None:
            return f"{_count(self._found.names, 'name')}; counting slices, {self._counted_share:.0%}"
        count = f"{_count(search.slices, 'slice')} of {_count(len(search.names.numbers), 'name')}"
        return f"{count} · {self._note}" if self._note else count

    def forget(self) -> None:
        """Another profile is shown, or none."""
        for kind in (SEARCHING, COUNTING, GOING):
            self._timeline.tasks.cancel_kind(kind)
        self._is_searching = self._is_counting = self._is_going = False
        self._names = self._index = self._found = None
        self._awaited = None
        self._note = self._fault = ""
        self.changed.emit()

    def show_in(self, scene: Scene) -> None:
        """A scene is made: it lights what is found."""
        scene.matches = self._found.matches if self._found is not None else None
        if self.query is not None and self._found is None and not self._is_searching:
            self._start(scene.profile)

    def find(self, text: str, is_regex: bool = False) -> None:
        """Search all names for a text or a regular expression; for nothing where the text is empty."""
        query = Query(text, is_regex) if text else None
        if query == self.query:
            return
        self.query = query
        self._note = self._fault = ""
        self._awaited = None
        self._timeline.tasks.cancel_kind(SEARCHING)
        self._timeline.tasks.cancel_kind(GOING)
        self._is_searching = self._is_going = False
        scene = self._timeline.scene
        if query is None or scene is None:
            self._light(None)
        else:
            self._start(scene.profile)
        self.changed.emit()

    def clear(self) -> None:
        """Search for nothing; nothing is dimmed any more."""
        self.find("")

    def walk(self, step: int) -> None:
        """Go to the next match (`step` 1) or the one before (-1): from the selection where that is in view, else from
        the edge of the view; behind the last match follows the first."""
        if self.query is None:
            self.asked.emit()
            return
        if self.search is None:
            self._awaited = step if self.is_busy else None
            return
        self._go(partial(_walk, self.search, self._origin(), step))

    def go_to_first(self, number: int) -> None:
        """Go to the first slice of a name, by its number in `names`."""
        if self.search is not None:
            self._go(partial(_first, self.search, number))

    def _origin(self) -> tuple[SliceRef | None, int, int]:
        view = self._timeline.view
        return self._timeline.session.selection, view.begin_ns, view.end_ns

    def _start(self, profile: Profile) -> None:
        assert self.query is not None
        self._is_searching = True
        self._timeline.tasks.start(
            SEARCHING,
            partial(_search, profile, self._names, self._index, self.query),
            self._on_found,
            self._on_fault,
            self._on_search_cancelled,
            reads=profile,
            alone=True,
        )

    def _on_found(self, answer: tuple[NameList, _Found]) -> None:
        self._is_searching = False
        self._names, found = answer
        if found.search is None and self._index is not None:  # they were counted meanwhile
            self._start(self._index.profile)
            return
        self._light(found)
        scene = self._timeline.scene
        if found.search is None and not self._is_counting and scene is not None:
            self._is_counting = True
            self._counted_share = 0.0
            self._timeline.tasks.start(
                COUNTING,
                partial(_count_slices, scene.profile, self._names),
                self._on_counted,
                self._on_count_fault,
                self._on_count_cancelled,
                self._on_progress,
                reads=scene.profile,
                alone=True,
            )
        self.changed.emit()
        if self._awaited is not None and self.search is not None:
            step, self._awaited = self._awaited, None
            self.walk(step)

    def _on_fault(self, sentence: str) -> None:
        self._is_searching = False
        self._fault = sentence
        self._light(None)
        self.changed.emit()

    def _on_search_cancelled(self) -> None:
        self._is_searching = False

    def _on_progress(self, share: float, _what: str) -> None:
        self._counted_share = share
        self.changed.emit()

    def _on_counted(self, index: SliceIndex) -> None:
        self._is_counting = False
        self._index = index
        if self.query is not None and not self._fault and not self._is_searching:
            self._start(index.profile)
        self.changed.emit()

    def _on_count_fault(self, sentence: str) -> None:
        self._is_counting = False
        self._on_fault(sentence)

    def _on_count_cancelled(self) -> None:
        self._is_counting = False

    def _light(self, found: _Found | None) -> None:
        self._found = found
        scene = self._timeline.scene
        if scene is not None:
            scene.matches = found.matches if found is not None else None
            self._timeline.viewport().update()

    def _go(self, work: partial[_Went | None]) -> None:
        self._is_going = True
        scene = self._timeline.opened_scene()
        self._timeline.tasks.start(
            GOING,
            partial(_going, work),
            partial(self._on_went, scene),
            self._on_not_gone,
            self._on_go_cancelled,
            reads=scene.profile,
            alone=True,
        )

    def _on_went(self, scene: Scene, went: _Went | None) -> None:
        self._is_going = False
        self._note = ""
        timeline = self._timeline
        if went is not None and timeline.scene is scene:
            if went.is_around:
                self._note = "went on from the other end"
            width_px = timeline.view.x_px(went.end_ns) - timeline.view.x_px(went.begin_ns)
            if not LEAST_PX <= width_px <= MOST_SHARE * timeline.view.width_px:
                length_ns = max(went.end_ns - went.begin_ns, 1)
                aside_ns = round(length_ns * AROUND)
                begin_ns, end_ns = went.begin_ns - aside_ns, went.end_ns + aside_ns
                timeline.go_to(timeline.view.fitted(begin_ns, end_ns, scene.limits), remember=True)
            timeline.session.select(None)  # what is selected already would not be brought into sight again
            timeline.session.select(went.ref)
            self.walked.emit()
        self.changed.emit()

    def _on_not_gone(self, sentence: str) -> None:
        self._is_going = False
        self._timeline.faulted.emit(sentence)
        self.changed.emit()

    def _on_go_cancelled(self) -> None:
        self._is_going = False


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _search(
    profile: Profile,
    names: NameList | None,
    index: SliceIndex | None,
    query: Query,
    progress: Progress,
    cancelled: CancelCheck,
) -> tuple[NameList, _Found]:
    query.check()
    names = NameList.read(profile) if names is None else names
    mask = names.matching(query, progress, cancelled)
    matches = tuple(names.mask_of(process, mask) for process in range(len(profile.processes)))
    search = Search(index, mask) if index is not None else None
    if search is not None:
        _ = search.slices, search.names  # counted here, not on the window's thread
    return names, _Found(matches, mask, int(mask.sum()), search)


def _count_slices(profile: Profile, names: NameList, progress: Progress, cancelled: CancelCheck) -> SliceIndex:
    return SliceIndex.read(profile, names, progress, cancelled)


def _going(work: partial[_Went | None], _progress: Progress, cancelled: CancelCheck) -> _Went | None:
    return work(cancelled=cancelled)


def _walk(search: Search, origin: tuple[SliceRef | None, int, int], step: int, cancelled: CancelCheck) -> _Went | None:
    selected, begin_ns, end_ns = origin
    start: tuple[int, int, int, int] | int = begin_ns if step > 0 else end_ns
    if selected is not None:
        selected_ns = slices.times_of(search.profile, selected)
        if selected_ns[0] < end_ns and max(selected_ns[1], selected_ns[0] + 1) > begin_ns:
            start = search.place_of(selected)
    ref, is_around = search.walk(start, step, cancelled), False
    if ref is None:
        ref = search.walk(-(1 << 63) if step > 0 else (1 << 63) - 1, step, cancelled)
        is_around = True
    return None if ref is None else _Went(ref, *slices.times_of(search.profile, ref), is_around)


def _first(search: Search, number: int, cancelled: CancelCheck) -> _Went | None:
    ref = search.only(number).walk(-(1 << 63), 1, cancelled)
    return None if ref is None else _Went(ref, *slices.times_of(search.profile, ref))
