"""What follows from a selection in the timeline: it is looked up, brought into sight, fitted, and walked from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from smprof_desktop.progress import CancelCheck, Progress
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline import links
from smprof_desktop.timeline.links import Selected
from smprof_desktop.timeline.memory import Later
from smprof_desktop.timeline.viewport import Viewport

if TYPE_CHECKING:
    from smprof.profile.reader import Profile
    from smprof_desktop.timeline.scene import Scene
    from smprof_desktop.timeline.widget import TimelineWidget

FIT_PADDING = 0.15
SURROUNDINGS = 8.0
LOOKING, WALKING = "selection", "neighbour"
"""Kinds of tasks."""


class Selecting:
    """The selection's part of a timeline. What is not in memory is looked up by a task, and done once it is there."""

    def __init__(self, timeline: TimelineWidget) -> None:
        self.is_looking = False
        """Whether the selection is being looked up."""
        self._timeline = timeline
        self._session = timeline.session
        self._after_look: Callable[[], None] | None = None
        self._seen = (self._session.begin_ns, self._session.end_ns)
        """The range when the selection was made."""
        self._fit_view: Viewport | None = None

    def forget(self) -> None:
        """Another profile is shown, or none: nothing that was asked of the former one is done any more."""
        self._fit_view = None
        self._after_look = None
        self.is_looking = False
        self._timeline.tasks.cancel_kind(LOOKING)

    def on_selection(self, ref: SliceRef | None) -> None:
        """The session's selection has changed."""
        self._after_look = None
        self.is_looking = False
        self._seen = (self._session.begin_ns, self._session.end_ns)
        self._timeline.viewport().update()
        if self._timeline.scene is None:
            return
        self._timeline.scene.selected = None
        if ref is None:
            self._timeline.tasks.cancel_kind(LOOKING)
        else:
            self.look_at(ref)

    def look_at(self, ref: SliceRef) -> None:
        """Bring the selected slice into sight, at once if its times are in memory, and have its link looked up."""
        scene = self._timeline.opened_scene()
        is_revealed = True
        try:
            self._reveal_unless_moved(ref)
        except Later:
            is_revealed = False
        self.is_looking = True
        self._timeline.tasks.start(
            LOOKING,
            partial(_look_up, scene.profile, ref),
            partial(self._on_looked_up, scene, is_revealed),
            self._on_not_looked_up,
            reads=scene.profile,
        )

    def once_looked_up(self, do: Callable[[], None]) -> None:
        """Do something once what is selected is in memory, unless something else is selected first."""
        if self.is_looking:
            self._after_look = do

    def centre(self, ref: SliceRef, begin_ns: int) -> None:
        """Select a slice and put its start, which is `begin_ns`, in the middle of the view, as near as it is seen."""
        timeline = self._timeline
        if timeline.scene is None:
            return
        self._session.select(ref)
        view = timeline.view
        moved = view.panned(view.x_px(begin_ns) - view.width_px / 2, timeline.scene.limits)
        timeline.go_to(moved, remember=True)
        timeline.bring_into_sight(ref)

    def reveal(self, ref: SliceRef) -> None:
        """Bring a slice into sight: open the groups around it, scroll, and move in time where it lies outside.

        Raises Later where its times are not in memory.
        """
        timeline, scene = self._timeline, self._timeline.opened_scene()
        if scene.tree.place(ref) is None:
            return
        begin, end = scene.times_of(ref)
        if begin >= timeline.view.end_ns or max(end, begin + 1) <= timeline.view.begin_ns:
            at_px = timeline.view.x_px(begin)
            timeline.go_to(timeline.view.panned(at_px - timeline.view.width_px / 2, scene.limits), remember=True)
        timeline.bring_into_sight(ref)

    def fit(self) -> None:
        """Show the selected slice, or else the selected area; where it already fits, its surroundings."""
        ref, area, view = self._session.selection, self._session.area, self._timeline.view
        if ref is None and area is None:
            return
        limits = self._timeline.opened_scene().limits
        if self._fit_view is not None and view == self._fit_view:
            self._timeline.go_to(view.zoomed(SURROUNDINGS, view.width_px / 2, limits), remember=True)
            return
        if ref is None:
            if area is not None:
                self.fit_range(area.begin_ns, area.end_ns)
            return
        try:
            begin, end = self._timeline.opened_scene().times_of(ref)
        except Later:
            self._after_look = self.fit
            return
        self.fit_range(begin, end)
        self._timeline.bring_into_sight(ref)

    def fit_range(self, begin_ns: int, end_ns: int) -> None:
        """Show [begin_ns, end_ns) with a little around it; `fit` then shows the surroundings."""
        limits = self._timeline.opened_scene().limits
        self._timeline.go_to(self._timeline.view.fitted(begin_ns, end_ns, limits, FIT_PADDING), remember=True)
        self._fit_view = self._timeline.view

    def deselect(self) -> None:
        """Select no slice; where none is, no area."""
        if self._session.selection is not None:
            self._session.select(None)
        else:
            self._session.select_area(None)

    def walk_lane(self, step: int) -> None:
        """Select the next slice of the selected one's drawn row (`step` 1), or the one before (-1)."""
        selected, scene = self._session.selection, self._timeline.opened_scene()
        if selected is None:
            return
        try:
            found = scene.neighbour(selected, step)
        except Later:
            self._timeline.tasks.start(
                WALKING,
                partial(_neighbour, scene, selected, step),
                partial(self._on_walked, selected),
                self._timeline.faulted.emit,
                reads=scene.profile,
            )
            return
        self._on_walked(selected, found)

    def walk_link(self, step: int) -> None:
        """Along the selected slice's link: launch, first execution, next execution, … and back to the launch."""
        selected = self._session.selection
        try:
            link = self._timeline.opened_scene().link_of(selected) if selected is not None else None
        except Later:
            self._after_look = partial(self.walk_link, step)
            return
        if selected is None or link is None:
            return
        if selected == link.launch:
            if step > 0:
                self._session.select(link.end(int(link.executions[0])))
        elif step < 0:
            self._session.select(link.launch)
        else:
            place = np.flatnonzero(link.executions == selected.row)
            if len(place) and int(place[0]) + 1 < len(link.executions):
                self._session.select(link.end(int(link.executions[int(place[0]) + 1])))

    def _reveal_unless_moved(self, ref: SliceRef) -> None:
        """`reveal`, but whoever moved the view since the slice was selected wants to be there."""
        if self._seen == (self._session.begin_ns, self._session.end_ns):
            self.reveal(ref)
        else:
            self._timeline.bring_into_sight(ref)

    def _on_looked_up(self, scene: Scene, is_revealed: bool, selected: Selected) -> None:
        self.is_looking = False
        scene.selected = selected
        if scene is not self._timeline.scene:
            return
        if not is_revealed:
            self._reveal_unless_moved(selected.ref)
        following, self._after_look = self._after_look, None
        if following is not None:
            following()
        self._timeline.restoring.go_on()
        self._timeline.viewport().update()

    def _on_not_looked_up(self, sentence: str) -> None:
        self.is_looking = False
        self._after_look = None
        self._timeline.restoring.go_on()
        self._timeline.faulted.emit(sentence)

    def _on_walked(self, origin: SliceRef, found: SliceRef | None) -> None:
        if found is not None and self._session.selection == origin:
            self._session.select(found)


def _look_up(profile: Profile, ref: SliceRef, _progress: Progress, _cancelled: CancelCheck) -> Selected:
    return links.look_up(profile, ref)


def _neighbour(scene: Scene, ref: SliceRef, step: int, _progress: Progress, _cancelled: CancelCheck) -> SliceRef | None:
    return scene.neighbour(ref, step, waits=True)
