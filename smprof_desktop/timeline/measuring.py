"""The ruler of a timeline, the edges that it and the area snap to, and areas that are made without a drag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF

from smprof_desktop.slice_ref import Area
from smprof_desktop.timeline.layout import Ruler
from smprof_desktop.timeline.memory import Later
from smprof_desktop.timeline.snapping import Snapped, snap

if TYPE_CHECKING:
    from smprof_desktop.timeline.widget import TimelineWidget


class Measuring:
    """The ruler's part of a timeline.

    While it `is_on`, a drag measures; what was measured last stays until the next drag or until it is left.
    """

    def __init__(self, timeline: TimelineWidget) -> None:
        self.is_on = False
        self.ruler: Ruler | None = None
        self.snapped: Snapped | None = None
        """The edge that the pointer snaps to."""
        self._timeline = timeline
        self._from_ns = 0

    def forget(self) -> None:
        """Another profile is shown, or none."""
        self.is_on = False
        self.ruler = self.snapped = None

    def toggle(self) -> None:
        """Take the ruler, or put it away."""
        if not self.leave():
            self.is_on = True
            self._timeline.show_cursor()

    def leave(self) -> bool:
        """Put the ruler away; whether it was out."""
        was_on = self.is_on
        self.forget()
        self._timeline.show_cursor()
        self._timeline.viewport().update()
        return was_on

    def select_area(self) -> None:
        """Select the time of the selected slice as an area of all lanes; without one all that is seen."""
        timeline = self._timeline
        begin_ns, end_ns = timeline.view.begin_ns, timeline.view.end_ns
        ref = timeline.session.selection
        if ref is not None:
            try:
                begin_ns, end_ns = timeline.opened_scene().times_of(ref)
            except Later:
                timeline.selecting.once_looked_up(self.select_area)
                return
        timeline.session.select_area(Area(begin_ns, end_ns))
        timeline.area_made.emit()

    def time_at(self, position: QPointF, is_free: bool) -> int:
        """The time at a point of the widget: that of an edge near it, unless `is_free`. Shows that edge."""
        timeline = self._timeline
        width_px = timeline.view.width_px
        x_px = min(max(position.x() - timeline.header_px, 0.0), width_px)
        found = None
        if not is_free:
            scene = timeline.opened_scene()
            found = snap(scene, timeline.frame(), timeline.header_px + x_px, position.y())
        self._show(found)
        return found.time_ns if found is not None else timeline.view.time_ns(x_px)

    def point(self, position: QPointF, is_free: bool) -> None:
        """The pointer moves without a button: show where a measurement would begin."""
        if self.is_on:
            self.time_at(position, is_free)

    def begin(self, position: QPointF, is_free: bool) -> None:
        """Measure from there."""
        self._from_ns = self.time_at(position, is_free)

    def drag_to(self, position: QPointF, is_free: bool) -> None:
        """Measure up to there."""
        top_px, bottom_px = self._timeline.opened_scene().top_px, float(self._timeline.viewport().height())
        half_px = self._timeline.opened_scene().metrics.row_px / 2 + 2
        y_px = min(max(position.y(), top_px + half_px), max(bottom_px - half_px, top_px + half_px))
        self.ruler = Ruler(self._from_ns, self.time_at(position, is_free), y_px)
        self._timeline.viewport().update()

    def let_go(self) -> None:
        """Nothing is dragged any more: no edge is shown."""
        self._show(None)

    def _show(self, snapped: Snapped | None) -> None:
        if snapped != self.snapped:
            self.snapped = snapped
            self._timeline.viewport().update()
