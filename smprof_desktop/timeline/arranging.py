"""How the user arranges the lanes: pins, hides, moves and filters them, and packs streams. Kept in the notes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QGuiApplication

from smprof_desktop.progress import CancelCheck, Progress
from smprof_desktop.timeline import packing
from smprof_desktop.timeline.arrangement import AS_RECORDED, Arrangement, hidden_below, parse_note
from smprof_desktop.timeline.filter_bar import FilterBar
from smprof_desktop.timeline.lane_menu import lane_menu
from smprof_desktop.timeline.layout import Layout

if TYPE_CHECKING:
    from smprof_desktop.notes import Notes
    from smprof_desktop.timeline.lanes import Lane, LaneTree
    from smprof_desktop.timeline.maker import Maker
    from smprof_desktop.timeline.scene import Scene
    from smprof_desktop.timeline.widget import TimelineWidget

PACKING = "packing"
"""Kind of tasks."""
_KEPT = ("pinned", "hidden", "order", "packed")
_EDGE_ROWS = 2


class Arranging:
    """The arrangement's part of a timeline: `arrangement` is the present one.

    `hovered` is the key of the header under the pointer, `drop_px` where a dragged header would come to stand.
    """

    def __init__(self, timeline: TimelineWidget) -> None:
        self.arrangement = AS_RECORDED
        self.hovered = ""
        self.drop_px: float | None = None
        self.is_packing = False
        """Whether streams are being packed that the notes say are."""
        self._timeline = timeline
        self._notes: Notes | None = None
        self._recorded: LaneTree | None = None
        self._packed: dict[str, tuple[Lane, ...]] = {}
        """Devices that are packed, and the lanes that theirs were packed into."""
        self._dragged = ""
        self._drop_before: str | None = None
        self.bar = FilterBar(timeline)
        self.bar.changed.connect(self._on_filter)
        self.bar.left.connect(timeline.setFocus)
        self.bar.resized.connect(self.place_bar)
        self.bar.hide()

    # What the widget tells.

    def on_scene(self, scene: Scene | None) -> None:
        """Another scene is shown, or none: its notes say how it is arranged."""
        timeline = self._timeline
        if self._notes is not None:
            self._notes.changed.disconnect(self._on_note)
        timeline.tasks.cancel_kind(PACKING)
        self.is_packing = False
        self._packed = {}
        self.hovered, self.drop_px, self._dragged = "", None, ""
        self._notes = timeline.session.notes if scene is not None else None
        self._recorded = scene.tree if scene is not None else None
        self.arrangement = self._read(AS_RECORDED)
        self.bar.edit.clear()
        self.bar.setVisible(scene is not None)
        self.place_bar()
        if self._notes is not None:
            self._notes.changed.connect(self._on_note)
            self._pack_as_noted()

    def place_bar(self) -> None:
        """Give the filter its room above the headers."""
        scene = self._timeline.scene
        if scene is not None:
            self.bar.place(round(self._timeline.header_px) - 1, round(scene.metrics.overview_px))
            self.bar.dress(QColor(*self._timeline.painter().theme.muted))

    def hover(self, key: str) -> None:
        """The pointer is on the header of a lane, or on none."""
        if key != self.hovered:
            self.hovered = key
            self._timeline.viewport().update()

    # What the user asks for.

    def toggle_pin(self, key: str = "") -> None:
        """Pin a lane to the top, or unpin it; without a key the one that the keyboard is on."""
        lane = self._lane(key)
        if lane is not None:
            self._change(self.arrangement.with_pinned(lane.key, lane.key not in self.arrangement.pinned))

    def hide(self, key: str = "") -> None:
        """Hide a lane; the keyboard goes to the next one. A pinned one is unpinned by it."""
        lane = self._lane(key)
        if lane is None:
            return
        arrangement = self.arrangement.with_pinned(lane.key, False).with_hidden([lane.key], True)
        siblings = self._siblings(lane.key)
        self._change(arrangement)
        if self._timeline.focus_key == lane.key:
            at = siblings.index(lane.key) if lane.key in siblings else 0
            after = [*siblings[at + 1 :], *reversed(siblings[:at]), *self._tree().ancestors(lane.key)]
            self._timeline.focus_key = next((key for key in after if key in self._layout().index), "")

    def show(self, keys: Iterable[str]) -> None:
        """Show hidden lanes again."""
        self._change(self.arrangement.with_hidden(keys, False))

    def show_all(self) -> None:
        """Show every hidden lane again."""
        self.show(self.arrangement.hidden)

    def move(self, step: int, key: str = "") -> None:
        """Move a lane up (-1) or down (1) among the others of its group, a pinned one among the pinned."""
        lane = self._lane(key)
        if lane is None:
            return
        siblings = self._siblings(lane.key)
        at = siblings.index(lane.key) if lane.key in siblings else -1
        if at < 0 or not 0 <= at + step < len(siblings):
            return
        behind = [*siblings, None]
        before = siblings[at - 1] if step < 0 else behind[at + 2]
        self._change(self.arrangement.with_lane_at(self._tree(), lane.key, before))
        self._timeline.focus_key = lane.key
        self._timeline.scroll_to_lane(lane.key)

    def set_open_below(self, key: str, is_open: bool) -> None:
        """Expand or collapse a lane and everything below it."""
        lane = self._tree().by_key.get(key)
        if lane is not None:
            keys = {below.key for below in lane.walk() if below.can_expand}
            timeline = self._timeline
            timeline.set_expanded(timeline.expanded | keys if is_open else timeline.expanded - keys)

    def toggle_below(self, key: str = "") -> None:
        """Expand all below a lane, or collapse all where nothing is left to expand."""
        lane = self._lane(key)
        if lane is not None:
            is_open = all(below.key in self._timeline.expanded for below in lane.walk() if below.can_expand)
            self.set_open_below(lane.key, not is_open)

    def copy_name(self, key: str) -> None:
        """Put a lane's name on the clipboard."""
        lane = self._tree().by_key.get(key)
        if lane is not None:
            QGuiApplication.clipboard().setText(lane.label)

    def open_filter(self) -> None:
        """Open the line to filter lanes in."""
        self.bar.open()

    def activate(self, key: str) -> bool:
        """Do what a note among the lanes offers; whether the key is that of a note."""
        note = parse_note(key)
        if note is None:
            return False
        what, parent = note
        if what == "hidden":
            self.show(hidden_below(self._tree(), self.arrangement, parent))
        else:
            self.set_packed(parent, what == "pack")
        return True

    def set_packed(self, device: str, is_packed: bool) -> None:
        """Pack the streams of a device by role, or show each of them."""
        kept = self._notes.get("packed") if self._notes is not None else []
        self._keep("packed", [key for key in kept if key != device] + ([device] if is_packed else []))

    def is_packed(self, device: str) -> bool:
        """Whether the streams of a device are packed."""
        return device in self._packed

    def uncover(self, key: str, row: int = 0) -> None:
        """See to it that a lane shows, and that row of it: show it if it is hidden, open groups, drop the filter."""
        tree, timeline = self._tree(), self._timeline
        around = [key, *tree.ancestors(key)]
        for at, group in enumerate(around):
            if group in self.arrangement.pinned:
                around = around[: at + 1]
                break
        hidden = self.arrangement.hidden.intersection(around)
        if hidden:
            self.show(hidden)
        lane = tree.by_key[key]
        opened = set(around[1:]) if key not in self._layout().index else set()
        if row > 0 or lane.is_dense_when_collapsed:
            opened.add(key)
        timeline.set_expanded(timeline.expanded | opened)
        if key not in self._layout().index:
            self.bar.close_line()

    def menu(self, key: str, position: QPoint) -> None:
        """Show the menu of a lane at a point of the screen."""
        lane = self._tree().by_key.get(key)
        if lane is not None:
            self._timeline.focus_key = key
            self._timeline.viewport().update()
            lane_menu(self, self._timeline, self._tree(), lane, self._timeline.keys).popup(position)

    # Dragging a header.

    def drag_from(self, key: str) -> bool:
        """Take hold of a lane by its header; whether it can go anywhere."""
        siblings = self._siblings(key) if key in self._tree().by_key else []
        self._dragged = key if len(siblings) > 1 and key in siblings else ""
        if self._dragged:
            self._timeline.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
        return bool(self._dragged)

    def drag_to(self, y_px: float) -> None:
        """The pointer is at that height of the widget: tell where the lane would come to stand, and scroll at edges."""
        timeline, scene = self._timeline, self._timeline.opened_scene()
        edge_px = _EDGE_ROWS * scene.metrics.row_px
        stuck_px = scene.placed(timeline.frame()).stuck_px
        if self._dragged not in self.arrangement.pinned:
            if y_px > timeline.viewport().height() - edge_px:
                timeline.scroll_by(scene.metrics.row_px)
            elif y_px < scene.top_px + stuck_px + edge_px:
                timeline.scroll_by(-scene.metrics.row_px)
        placed = scene.placed(timeline.frame())
        layout = placed.layout
        gaps: list[tuple[float, str | None]] = []
        end = 0
        for key in self._siblings(self._dragged):
            at = layout.index.get(key)
            if at is not None:
                gaps.append((scene.top_px + placed.y_px(at), key))
                end = _behind(layout, at)
        if gaps:
            gaps.append((scene.top_px + placed.y_px(end - 1) + float(layout.height_px[end - 1]), None))
            self.drop_px, self._drop_before = min(gaps, key=lambda gap: abs(gap[0] - y_px))
        timeline.viewport().update()

    def drop(self) -> None:
        """Let the dragged lane stand where it was dragged to."""
        key, before = self._dragged, self._drop_before
        has_place = self.drop_px is not None
        self.cancel_drag()
        if key and has_place and before != key:
            self._timeline.focus_key = key
            self._change(self.arrangement.with_lane_at(self._tree(), key, before))

    def cancel_drag(self) -> None:
        """Leave the dragged lane where it was."""
        self._dragged, self.drop_px, self._drop_before = "", None, None
        self._timeline.viewport().unsetCursor()
        self._timeline.viewport().update()

    # Within.

    def _tree(self) -> LaneTree:
        return self._timeline.opened_scene().tree

    def _layout(self) -> Layout:
        return self._timeline.opened_scene().layout(self._timeline.frame())

    def _siblings(self, key: str) -> list[str]:
        return self.arrangement.siblings(self._tree(), key)

    def _lane(self, key: str) -> Lane | None:
        """The lane of that key, else the one that the keyboard is on, else that of the selection."""
        tree, selected = self._tree(), self._timeline.session.selection
        found = tree.by_key.get(key or self._timeline.focus_key)
        if found is None and not key and not self._timeline.focus_key and selected is not None:
            place = tree.place(selected)
            found = tree.by_key[place[0]] if place is not None else None
        return found

    def _read(self, arrangement: Arrangement) -> Arrangement:
        """The arrangement as the notes have it; its filter is not noted."""
        notes = self._notes
        if notes is None:
            return arrangement
        read = Arrangement(
            tuple(notes.get("pinned")),
            frozenset(notes.get("hidden")),
            {parent: tuple(keys) for parent, keys in notes.get("order").items()},
            arrangement.filter,
        )
        return arrangement if read == arrangement else read

    def _change(self, arrangement: Arrangement) -> None:
        before, self.arrangement = self.arrangement, arrangement
        if arrangement.pinned != before.pinned:
            self._keep("pinned", list(arrangement.pinned))
        if arrangement.hidden != before.hidden:
            self._keep("hidden", sorted(arrangement.hidden))
        if arrangement.order != before.order:
            self._keep("order", {parent: list(keys) for parent, keys in arrangement.order.items()})
        self._show()

    def _keep(self, key: str, value: object) -> None:
        if self._notes is not None:
            self._notes.set(key, value)

    def _show(self) -> None:
        scene = self._timeline.scene
        if scene is not None:
            self.bar.tell(self._layout().matching, len(scene.tree.by_key))
            self._timeline.lanes_changed()

    def _on_note(self, key: str) -> None:
        if key not in _KEPT or self._timeline.scene is None:
            return
        if key == "packed":
            self._pack_as_noted()
            return
        self.arrangement = self._read(self.arrangement)
        self._show()

    def _on_filter(self, text: str) -> None:
        if self._timeline.scene is not None and text != self.arrangement.filter:
            self.arrangement = replace(self.arrangement, filter=text)
            self._timeline.verticalScrollBar().setValue(0)
            self._show()

    def _pack_as_noted(self) -> None:
        """Pack the devices that the notes name, and unpack the others."""
        scene, tree = self._timeline.scene, self._recorded
        if self._notes is None or scene is None or tree is None:
            return
        wanted = [key for key in self._notes.get("packed") if key in tree.by_key]
        if any(key not in wanted for key in self._packed):
            self._packed = {key: lanes for key, lanes in self._packed.items() if key in wanted}
            self._replace_tree()
        missing = [key for key in wanted if key not in self._packed]
        self.is_packing = bool(missing)
        if missing:
            self._timeline.tasks.start(
                PACKING,
                partial(_pack, scene.opened.maker, [tree.by_key[key] for key in missing]),
                partial(self._on_packed, scene),
                self._on_not_packed,
                self._on_not_packed,
                reads=scene.profile,
            )

    def _on_packed(self, scene: Scene, packed: dict[str, tuple[Lane, ...]]) -> None:
        if scene is self._timeline.scene and self._notes is not None:
            self.is_packing = False
            wanted = self._notes.get("packed")
            self._packed |= {key: lanes for key, lanes in packed.items() if key in wanted}
            self._replace_tree()

    def _on_not_packed(self, sentence: str = "") -> None:
        """It could not be done, or was cancelled: the lanes stay as they are."""
        self.is_packing = False
        if sentence:
            self._timeline.faulted.emit(sentence)

    def _replace_tree(self) -> None:
        scene, timeline = self._timeline.scene, self._timeline
        if scene is not None and self._recorded is not None:
            before = scene.tree
            scene.replace_tree(packing.with_packed(self._recorded, self._packed))
            # Lanes that were not there before are open, as those that they stand for are at first.
            new = {lane.key for lane in scene.tree.walk() if lane.key not in before.by_key and lane.can_expand}
            timeline.set_expanded(timeline.expanded | new)
            self._show()


def _behind(layout: Layout, at: int) -> int:
    """Position behind a lane and all that shows below it."""
    end = at + 1
    while end < len(layout.lanes) and layout.levels[end] > layout.levels[at]:
        end += 1
    return end


def _pack(maker: Maker, devices: list[Lane], progress: Progress, cancelled: CancelCheck) -> dict[str, tuple[Lane, ...]]:
    packed = {}
    for number, device in enumerate(devices):
        packed[device.key] = packing.packed_lanes(maker, device, cancelled)
        progress((number + 1) / len(devices), "Packing streams")
    return packed
