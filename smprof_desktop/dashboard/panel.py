"""What a panel of the dashboard is: its row in the table of panels. No Qt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from smprof_desktop.dashboard.figures import Bars, Figure, Histogram, Lines, Pie, Table
from smprof_desktop.dashboard.scope import Scope


@dataclass(frozen=True)
class Option:
    """A number that the user may change for a panel, such as how many kernels it names; it reaches the figure as
    `scope.options[key]`, which is not there as long as nobody has chosen."""

    key: str
    title: str
    default: int
    least: int
    most: int
    suffix: str = ""


@dataclass(frozen=True)
class Panel:
    """One panel. `width` in sixths of a wide page. `needs` names the columns without which there is nothing to show."""

    key: str
    title: str
    needs: tuple[str, ...]
    figure: Callable[[Scope], Figure]
    form: type[Pie] | type[Lines] | type[Histogram] | type[Table] | type[Bars]
    width: int
    help: str
    section: str = "Overview"
    """The tab of the page that it stands on: one of SECTIONS."""
    options: tuple[Option, ...] = ()


SECTIONS = (
    "Overview",
    "Idle and overlap",
    "Launches",
    "Operators",
    "Annotations",
    "Collectives",
    "Steps and ranks",
    "Memory",
    "Kernels",
)
"""The tabs of the page, in their order."""

DEVICE_TIME = ("device.kind", "device.start_ns", "device.duration_ns")
"""What panels need that are about time on the GPU."""
