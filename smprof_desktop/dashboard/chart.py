"""What every chart is: a widget whose figures lead somewhere."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from smprof_desktop.analysis.doors import Door

LEADS = "Click or Enter: the slices that sum to it"


class Chart(QWidget):
    """A drawn figure.

    Signals:
        opened(Door): whoever looks wants to see the slices behind a number.
        moment_opened(object, object): … that range of time, begin and end in ns from the profile's start.
    """

    opened = Signal(object)
    moment_opened = Signal(object, object)  # objects: a plain int would be cut to 32 bits

    def use_names(self, form: str) -> None:
        """Show names of kernels in one of `analysis.names.FORMS`; doors and what is saved keep the recorded ones."""

    def open_door(self, door: Door | None) -> None:
        """Ask for the slices behind a number; nothing happens where no door leads to them."""
        if door is not None:
            self.opened.emit(door)


def door_at(doors: Sequence[Door | None], index: int) -> Door | None:
    """The door of a place; None where there are none at all."""
    return doors[index] if 0 <= index < len(doors) else None


def hint_at_door(widget: QWidget, has_door: bool) -> None:
    """Show by the pointer's shape whether a click leads anywhere."""
    widget.setCursor(Qt.CursorShape.PointingHandCursor if has_door else Qt.CursorShape.ArrowCursor)
