"""The switch that shows all links in view: they are found by a task, once the view has changed and none is at work."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from smprof_desktop.progress import CancelCheck, Progress
from smprof_desktop.timeline import all_links
from smprof_desktop.timeline.all_links import LinksInView, Request
from smprof_desktop.timeline.memory import trim

if TYPE_CHECKING:
    from smprof_desktop.timeline.scene import Scene
    from smprof_desktop.timeline.widget import TimelineWidget

FINDING = "all links"
"""The kind of task."""
SETTING = "all_links"


class AllLinks:
    """Shows or hides them, as the setting says. While others are looked for, the former ones move with the view."""

    def __init__(self, timeline: TimelineWidget) -> None:
        self._timeline = timeline
        self._is_finding = False

    @property
    def is_final(self) -> bool:
        """Whether what is shown is of the present view."""
        scene = self._timeline.scene
        if scene is None or not self._is_on:
            return True
        return scene.all_links is not None and scene.all_links.request == scene.links_request(self._timeline.frame())

    def switch(self) -> None:
        """Show them, or hide them again."""
        self._timeline.settings.set(SETTING, not self._is_on)

    def renew(self) -> None:
        """Have those of the present view looked for, unless they are there."""
        timeline, scene = self._timeline, self._timeline.scene
        if scene is None:
            return
        if not self._is_on:
            scene.all_links = None
            return
        if self._is_finding or self.is_final or timeline.tasks.is_closed:
            return
        self._is_finding = True
        request = scene.links_request(timeline.frame())
        timeline.tasks.start(
            FINDING,
            partial(_find, scene, request),
            partial(self._on_found, scene),
            partial(self._on_not_found, scene, request),
            self._on_cancelled,
            reads=scene.profile,
        )

    def forget(self) -> None:
        """Another profile is shown, or none."""
        self._is_finding = False
        self._timeline.tasks.cancel_kind(FINDING)

    def on_setting(self, key: str) -> None:
        """A setting has changed."""
        if key == SETTING:
            self.renew()
            self._timeline.viewport().update()

    @property
    def _is_on(self) -> bool:
        return bool(self._timeline.settings.get(SETTING))

    def _on_found(self, scene: Scene, found: LinksInView) -> None:
        self._is_finding = False
        if self._is_on:
            scene.all_links = found
        self._timeline.viewport().update()

    def _on_not_found(self, scene: Scene, request: Request, sentence: str) -> None:
        """Asking again would only repeat it, until the view changes."""
        self._on_found(scene, LinksInView(request))
        self._timeline.faulted.emit(sentence)

    def _on_cancelled(self) -> None:
        self._is_finding = False


def _find(scene: Scene, request: Request, _progress: Progress, cancelled: CancelCheck) -> LinksInView:
    try:
        return all_links.find(scene.profile, scene.tree, request, cancelled)
    finally:
        for process in scene.profile.processes:
            trim(process)
