"""How the lanes of a timeline stand, taken as a LaneView and brought back from one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smprof_desktop.timeline.lane_view import LaneView, differences

if TYPE_CHECKING:
    from smprof_desktop.timeline.widget import TimelineWidget


class Restoring:
    """The part of a timeline that a copied link holds besides range and selection."""

    def __init__(self, timeline: TimelineWidget) -> None:
        self._timeline = timeline
        self._asked: LaneView | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a view is still to be brought back."""
        return self._asked is not None

    def forget(self) -> None:
        """Another profile is shown: what was asked of the former one is not done any more."""
        self._asked = None

    def view(self) -> LaneView:
        """How the lanes stand now."""
        timeline, scene, frame = self._timeline, self._timeline.opened_scene(), self._timeline.frame()
        arrangement, notes = timeline.arranging.arrangement, timeline.session.notes
        opened, closed = differences(scene.tree, timeline.expanded)
        top = ""
        if frame.scroll_px > 0:
            placed = scene.placed(frame)
            scrolled = [at for at in placed.in_sight() if at >= placed.stuck]
            top = placed.layout.lanes[scrolled[0]].key if scrolled else ""
        return LaneView(
            opened,
            closed,
            arrangement.pinned,
            tuple(sorted(arrangement.hidden)),
            tuple(notes.get("packed")),
            {parent: tuple(keys) for parent, keys in arrangement.order.items()},
            arrangement.filter,
            top,
        )

    def ask(self, view: LaneView) -> None:
        """Bring a view back once the lanes are there and the selection, which moves them, has been looked up.

        How its lanes are arranged shows until the user arranges them otherwise; it is not noted.
        """
        self._asked = view
        self.go_on()

    def go_on(self) -> None:
        """Bring back what was asked for, if everything for it is there."""
        timeline, view = self._timeline, self._asked
        if view is None or timeline.scene is None or timeline.selecting.is_looking:
            return
        self._asked = None
        timeline.session.notes.lend(
            {
                "pinned": list(dict.fromkeys(view.pinned)),
                "hidden": sorted(set(view.hidden)),
                "packed": list(dict.fromkeys(view.packed)),
                "order": {parent: list(dict.fromkeys(keys)) for parent, keys in view.order.items()},
            }
        )
        if view.filter != timeline.arranging.arrangement.filter:
            timeline.arranging.bar.open() if view.filter else timeline.arranging.bar.close_line()
            timeline.arranging.bar.edit.setText(view.filter)
            timeline.setFocus()
        timeline.set_expanded(view.expanded(timeline.scene.tree))
        placed = timeline.scene.placed(timeline.frame())
        at = placed.layout.index.get(view.top)
        top_px = float(placed.layout.top_px[at]) - placed.stuck_px if at is not None else 0.0
        timeline.verticalScrollBar().setValue(round(max(top_px, 0.0)))
        timeline.lanes_changed()
