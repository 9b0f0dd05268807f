"""Marks in the timeline: made where the user looks, gone to, edited in place, removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from smprof_desktop.notes import MAX_TEXT, Notes
from smprof_desktop.timeline import marks
from smprof_desktop.timeline.draw_list import Hit
from smprof_desktop.timeline.marks import Mark
from smprof_desktop.timeline.memory import Later

if TYPE_CHECKING:
    from smprof_desktop.slice_ref import SliceRef
    from smprof_desktop.timeline.scene import Scene
    from smprof_desktop.timeline.widget import TimelineWidget

EDITOR_PX = 220
RANGE_SHARE = 0.7
"""Of the view that a range may take without being fitted when it is gone to."""


class Marking:
    """The marks' part of a timeline. They live in the session's notes; which one is selected is the timeline's own."""

    def __init__(self, timeline: TimelineWidget) -> None:
        self.selected: Mark | None = None
        self.followed: Callable[[Mark], None] = _ignore
        """Told of a mark that the user goes to."""
        self.pointer: QPointF | None = None
        """Where the pointer is over the timeline."""
        self._timeline = timeline
        self._session = timeline.session
        self._notes: Notes | None = None
        self._clicked: tuple[QPointF, Mark] | None = None
        self._editor: MarkEditor | None = None

    def follow_notes(self) -> None:
        """The session has other notes."""
        self.selected = self._clicked = None
        self.stop_editing()
        if self._notes is not None:
            self._notes.changed.disconnect(self._on_note, missing_ok=True)
        self._notes = self._session.notes
        self._notes.changed.connect(self._on_note)

    def show_in(self, scene: Scene) -> None:
        """Have a scene draw the marks."""
        scene.strips.marks = marks.marks_of(self._session.notes)
        scene.strips.selected = self.selected

    def on_selection(self, ref: SliceRef | None) -> None:
        """A slice is selected: Delete is not to remove a mark any more."""
        if ref is not None:
            self.select(None)

    def select(self, mark: Mark | None) -> None:
        """Select a mark, or none."""
        if mark != self.selected:
            self.selected = mark
            self._show()

    def deselect(self) -> bool:
        """Select no mark; whether one was."""
        was_selected = self.selected is not None
        self.select(None)
        return was_selected

    def mark_moment(self) -> None:
        """Mark the selected slice's start; without one the time under the pointer, else the middle of the view."""
        ref, view = self._session.selection, self._timeline.view
        if ref is not None:
            self._of_slice(ref, False)
            return
        x_px = view.width_px / 2
        if self.pointer is not None and 0 <= self.pointer.x() - self._timeline.header_px < view.width_px:
            x_px = self.pointer.x() - self._timeline.header_px
        time_ns = view.time_ns(x_px)
        self._add(Mark(time_ns, time_ns))

    def mark_range(self) -> None:
        """Mark the selected area, else the selected slice, from start to end."""
        ref, area = self._session.selection, self._session.area
        if area is not None:
            self._add(Mark(area.begin_ns, area.end_ns))
        elif ref is not None:
            self._of_slice(ref, True)

    def remove(self) -> None:
        """Forget the selected mark."""
        if self.selected is not None:
            mark, self.selected = self.selected, None
            marks.remove(self._session.notes, mark)

    def go_to(self, mark: Mark) -> None:
        """Select a mark and show it in the middle; a range that is wider than the view is fitted."""
        timeline = self._timeline
        view, limits = timeline.view, timeline.opened_scene().limits
        self.select(mark)
        self.followed(mark)
        if mark.end_ns - mark.begin_ns > RANGE_SHARE * view.span_ns:
            timeline.go_to(view.fitted(mark.begin_ns, mark.end_ns, limits, 0.15), remember=True)
            return
        middle_px = (view.x_px(mark.begin_ns) + view.x_px(mark.end_ns)) / 2
        timeline.go_to(view.panned(middle_px - view.width_px / 2, limits), remember=True)

    def click(self, hit: Hit, position: QPointF) -> None:
        """A flag was clicked."""
        mark = self._timeline.opened_scene().strips.marks[hit.number]
        self._clicked = position, mark
        self.go_to(mark)

    def double_click(self, position: QPointF) -> bool:
        """Edit the flag that the first click was on: it has gone to the middle since. Whether there was one."""
        if self._clicked is None or self._clicked[1] != self.selected or self._clicked[0] != position:
            return False
        self.edit()
        return True

    def edit(self) -> None:
        """Edit the selected mark's text at its flag: Enter keeps it, Escape does not."""
        mark, timeline = self.selected, self._timeline
        scene = timeline.opened_scene()
        if mark is None:
            return
        flags = {scene.strips.marks[flag.number]: flag for flag in scene.strips.draw(timeline.frame()).marks}
        if mark not in flags:
            self.go_to(mark)
            flags = {scene.strips.marks[flag.number]: flag for flag in scene.strips.draw(timeline.frame()).marks}
        self.stop_editing()
        self._editor = MarkEditor(timeline.viewport(), mark.text, lambda text: self._on_edited(mark, text))
        height_px = self._editor.sizeHint().height()
        width_px = min(EDITOR_PX, max(timeline.viewport().width() - 8, 1))
        left_px = min(round(flags[mark].flag_x_px) if mark in flags else 0, timeline.viewport().width() - width_px - 4)
        top_px = round(scene.axis_bottom_px + scene.strips.marks_px / 2) - height_px // 2
        self._editor.setGeometry(QRect(max(left_px, 0), top_px, width_px, height_px))
        self._editor.show()
        self._editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def stop_editing(self) -> None:
        """Give up what is being edited."""
        editor, self._editor = self._editor, None
        if editor is not None:
            editor.finish(keeps=False)

    def _of_slice(self, ref: SliceRef, is_range: bool) -> None:
        scene = self._timeline.opened_scene()
        try:
            begin_ns, end_ns = scene.times_of(ref)
        except Later:
            self._timeline.selecting.once_looked_up(lambda: self._of_slice(ref, is_range))
            return
        try:
            name = scene.name_of(ref)
        except Later:
            name = ""
        self._add(Mark(begin_ns, end_ns if is_range else begin_ns, name))

    def _add(self, mark: Mark) -> None:
        """Add a mark and select it. One of the same times that is there already is selected instead."""
        notes = self._session.notes
        same = [
            known for known in marks.marks_of(notes) if (known.begin_ns, known.end_ns) == (mark.begin_ns, mark.end_ns)
        ]
        self.selected = same[0] if same else marks.add(notes, mark)
        self._show()

    def _on_edited(self, mark: Mark, text: str | None) -> None:
        self._editor = None
        self._timeline.setFocus(Qt.FocusReason.OtherFocusReason)
        if text is None or text == mark.text:
            return
        renamed = Mark(mark.begin_ns, mark.end_ns, text)
        if self.selected == mark:
            self.selected = renamed
        marks.rename(self._session.notes, mark, text)

    def _on_note(self, key: str) -> None:
        if key == marks.KEY:
            self._show()

    def _show(self) -> None:
        if self._timeline.scene is not None:
            self.show_in(self._timeline.scene)
            self._timeline.lanes_changed()


def _ignore(_mark: Mark) -> None:
    """Nobody follows."""


class MarkEditor(QLineEdit):
    """A line for a mark's text; `done` is given the text, or None where it is given up."""

    def __init__(self, parent: QWidget, text: str, done: Callable[[str | None], None]) -> None:
        super().__init__(text, parent)
        self.setMaxLength(MAX_TEXT)
        self.setPlaceholderText("Text of the mark")
        self.setAccessibleName("Text of the mark")
        self.selectAll()
        self._done: Callable[[str | None], None] | None = done

    def finish(self, keeps: bool) -> None:
        """Tell the text, or that there is none, and go."""
        done, self._done = self._done, None
        if done is not None:
            self.hide()
            self.deleteLater()
            done(self.text().strip() if keeps else None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter keeps, Escape gives up; no key goes on to the timeline."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape):
            self.finish(keeps=event.key() != Qt.Key.Key_Escape)
        else:
            super().keyPressEvent(event)
        event.accept()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """What was written is kept when the keyboard goes elsewhere."""
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:  # the context menu
            self.finish(keeps=True)
