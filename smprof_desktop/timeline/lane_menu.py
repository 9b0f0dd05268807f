"""The menu of a lane's header."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from smprof_desktop.timeline.lanes import Lane, LaneTree

if TYPE_CHECKING:
    from smprof_desktop.timeline.arranging import Arranging

MAX_LISTED = 25
"""Hidden lanes that the menu lists by name."""
MAX_CHARACTERS = 90


def lane_menu(
    arranging: Arranging, parent: QWidget, tree: LaneTree, lane: Lane, keys: Mapping[str, tuple[str, ...]]
) -> QMenu:
    """What can be done with a lane, and the keys that do it. It goes when it closes."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    key, arrangement = lane.key, arranging.arrangement
    is_pinned = key in arrangement.pinned
    _add(menu, "Unpin" if is_pinned else "Pin to the top", partial(arranging.toggle_pin, key), "pin_lane")
    _add(menu, "Hide", partial(arranging.hide, key), "hide_lane")
    _add_hidden(menu, arranging, tree)
    menu.addSeparator()
    siblings = arrangement.siblings(tree, key)
    at = siblings.index(key) if key in siblings else 0
    _add(menu, "Move up", partial(arranging.move, -1, key), "move_lane_up", at > 0)
    _add(menu, "Move down", partial(arranging.move, 1, key), "move_lane_down", at + 1 < len(siblings))
    menu.addSeparator()
    can_expand = any(below.can_expand for below in lane.walk())
    _add(menu, "Expand all below", partial(arranging.set_open_below, key, True), is_enabled=can_expand)
    _add(menu, "Collapse all below", partial(arranging.set_open_below, key, False), is_enabled=can_expand)
    device = next((group for group in (key, *tree.ancestors(key)) if tree.by_key[group].kind == "device"), None)
    if device is not None:
        menu.addSeparator()
        is_packed = arranging.is_packed(device)
        title = "Show each stream" if is_packed else "Pack streams by role"
        streams = sum(child.kind == "stream" for child in tree.by_key[device].children)
        _add(menu, title, partial(arranging.set_packed, device, not is_packed), is_enabled=is_packed or streams > 1)
    menu.addSeparator()
    _add(menu, "Filter lanes…", arranging.open_filter, "filter_lanes")
    _add(menu, "Copy name", partial(arranging.copy_name, key))
    for action in menu.actions():
        if keys.get(action.objectName()):
            action.setShortcut(QKeySequence(keys[action.objectName()][0]))
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)  # shown here; the timeline obeys the key
    return menu


def _add_hidden(menu: QMenu, arranging: Arranging, tree: LaneTree) -> None:
    hidden = [lane for lane in tree.walk() if lane.key in arranging.arrangement.hidden]
    shown = menu.addMenu("Show hidden lanes")
    shown.setEnabled(bool(hidden))
    if not hidden:
        return
    _add(shown, f"All ({len(hidden):,})", arranging.show_all)
    shown.addSeparator()
    for lane in hidden[:MAX_LISTED]:
        around = [tree.by_key[group].label for group in tree.ancestors(lane.key)[:2]]
        _add(shown, " · ".join([lane.label, *around]), partial(arranging.show, [lane.key]))


def _add(menu: QMenu, title: str, do: Callable[[], None], command_id: str = "", is_enabled: bool = True) -> QAction:
    text = title if len(title) <= MAX_CHARACTERS else f"{title[: MAX_CHARACTERS - 1]}…"
    action = menu.addAction(text.replace("&", "&&"))
    action.triggered.connect(lambda _checked=False: do())
    action.setEnabled(is_enabled)
    action.setObjectName(command_id)
    return action
