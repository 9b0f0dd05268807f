"""Steps in the timeline: read by a task, walked through one by one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from smprof_desktop.progress import CancelCheck, Progress
from smprof_desktop.timeline import step_list
from smprof_desktop.timeline.step_list import StepList

if TYPE_CHECKING:
    from smprof.profile.reader import Profile
    from smprof_desktop.slice_ref import SliceRef
    from smprof_desktop.timeline.scene import Scene
    from smprof_desktop.timeline.widget import TimelineWidget

PADDING = 0.02
READING = "steps"
"""The kind of task."""


class Stepping:
    """The steps' part of a timeline: those of the selected slice's process, else of the first process that has any."""

    def __init__(self, timeline: TimelineWidget) -> None:
        self.is_reading = False
        self._timeline = timeline
        self._known: dict[int | None, StepList] = {}
        """Steps to show by the process that is asked for."""
        self._shown = StepList()

    def forget(self) -> None:
        """Another profile is shown, or none."""
        self._known = {}
        self._shown = StepList()
        self.is_reading = False
        self._timeline.tasks.cancel_kind(READING)

    def show_in(self, scene: Scene) -> None:
        """Have a scene draw the steps."""
        scene.strips.steps = self._shown

    def follow(self, ref: SliceRef | None) -> None:
        """Show the steps of the process that a slice is of; without a slice those that are shown stay."""
        scene = self._timeline.scene
        process = ref.process if ref is not None else None
        if scene is None or (process is None and self._known):
            return
        found = self._known.get(process)
        if found is not None:
            self._show(found)
            return
        self.is_reading = True
        self._timeline.tasks.start(
            READING,
            partial(_read, scene.profile, process),
            partial(self._on_read, scene, process),
            self._on_not_read,
            self._on_cancelled,
            reads=scene.profile,
        )

    def walk(self, step: int) -> None:
        """Fit the view to the next step (1) or the one before (-1), as seen from the middle of the view."""
        view = self._timeline.view
        found = self._shown.beside((view.begin_ns + view.end_ns) // 2, step)
        if found is not None:
            self.zoom_to(int(self._shown.start_ns[found]), int(self._shown.end_ns[found]))

    def zoom_to(self, begin_ns: int, end_ns: int) -> None:
        """Fit the view to [begin_ns, end_ns)."""
        limits = self._timeline.opened_scene().limits
        self._timeline.go_to(self._timeline.view.fitted(begin_ns, end_ns, limits, PADDING), remember=True)

    def _show(self, steps: StepList) -> None:
        if steps is not self._shown and self._timeline.scene is not None:
            self._shown = steps
            self.show_in(self._timeline.scene)
            self._timeline.lanes_changed()

    def _on_read(self, scene: Scene, process: int | None, steps: StepList) -> None:
        self.is_reading = False
        self._known[process] = steps
        self._known.setdefault(steps.process, steps)
        if scene.profile is self._timeline.session.profile:
            self._show(steps)

    def _on_not_read(self, sentence: str) -> None:
        self.is_reading = False
        self._timeline.faulted.emit(sentence)

    def _on_cancelled(self) -> None:
        self.is_reading = False


def _read(profile: Profile, process: int | None, _progress: Progress, cancelled: CancelCheck) -> StepList:
    return step_list.read(profile, process, cancelled)
