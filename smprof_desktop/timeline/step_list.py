"""The steps of one process, as a strip above the lanes draws them. No Qt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.analysis import names, steps
from smprof_desktop.analysis.executions import part
from smprof_desktop.progress import Cancelled

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StepList:
    """Steps [start_ns, end_ns), both ascending: one that lies within another is left out.

    `process` is the position of the process they are of, -1 where there are none.
    """

    start_ns: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    end_ns: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    names: tuple[str, ...] = ()
    process: int = -1

    def __len__(self) -> int:
        return len(self.names)

    def at(self, time_ns: int) -> int | None:
        """The step that runs at a time; where two do, the later one."""
        found = int(np.searchsorted(self.start_ns, time_ns, "right")) - 1
        return found if found >= 0 and time_ns < max(int(self.end_ns[found]), int(self.start_ns[found]) + 1) else None

    def beside(self, time_ns: int, step: int) -> int | None:
        """The next step that starts behind a time (`step` 1), or the last one that ends before it (-1)."""
        if step > 0:
            found = int(np.searchsorted(self.start_ns, time_ns, "right"))
        else:
            found = int(np.searchsorted(self.end_ns, time_ns, "right")) - 1
        return found if 0 <= found < len(self) else None


def read(profile: Profile, process: int | None, cancelled: Callable[[], bool]) -> StepList:
    """The steps of that process or, where it has none or is None, of the first one that has. For a task."""
    others = [index for index in range(len(profile.processes)) if index != process]
    for index in [*([process] if process is not None else []), *others]:
        if cancelled():
            raise Cancelled
        found = _of_process(profile, index)
        if len(found):
            return found
    return StepList()


def _of_process(profile: Profile, index: int) -> StepList:
    process = profile.processes[index]
    table = process.table("annotation")
    if not len(table):
        return StepList()
    found = steps.steps(steps.host_side(part(table)), names.exact_texts(process), process.info.process)
    found.sort(key=lambda step: (step.start_ns, -step.duration_ns))
    kept: list[steps.Step] = []
    reached_ns = 0
    for step in found:
        end_ns = step.start_ns + step.duration_ns
        if not kept or end_ns > reached_ns:
            kept.append(step)
            reached_ns = end_ns
    starts_ns = np.array([step.start_ns for step in kept], np.int64)
    ends_ns = np.array([step.start_ns + step.duration_ns for step in kept], np.int64)
    return StepList(starts_ns, ends_ns, tuple(step.name for step in kept), index)
