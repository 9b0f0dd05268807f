"""The longest execution of a kernel: where a figure about a name leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import DEVICE_KINDS, LOST_NAME
from smprof_desktop.analysis import names
from smprof_desktop.analysis.executions import part
from smprof_desktop.progress import CancelCheck, Cancelled, never
from smprof_desktop.slice_ref import SliceRef

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

KERNEL = DEVICE_KINDS.index("kernel")


def execution(
    profile: Profile, name: str, begin_ns: int | None = None, end_ns: int | None = None, cancelled: CancelCheck = never
) -> tuple[SliceRef, int, int] | None:
    """The execution of the kernel that a report calls `name` with the greatest duration, and its start and end in ns.

    In a range [begin_ns, end_ns) the one that is longest inside of it; its times are whole. Of equals the first by
    start. None where there is none. Raises Cancelled.
    """
    best: tuple[int, int] | None = None
    found: tuple[SliceRef, int, int] | None = None
    for index, process in enumerate(profile.processes):
        if cancelled():
            raise Cancelled
        shapes = _shapes_called(process, name)
        if not shapes.any():
            continue
        device = process.table("device")
        # Few executions are of one kernel: the other columns are looked at for these only.
        shape_ids = device["shape_id"]
        known = np.where((shape_ids >= 0) & (shape_ids < len(shapes) - 1), shape_ids, len(shapes) - 1)
        chosen = part(device, begin_ns, end_ns)
        chosen = chosen.where(shapes[known[chosen.rows]])
        chosen = chosen.where(chosen.column("kind") == KERNEL)
        if not len(chosen):
            continue
        durations_ns = chosen.duration_ns
        longest = np.flatnonzero(durations_ns == durations_ns.max())
        place = int(longest[chosen.start_ns[longest].argmin()])
        rank = (-int(durations_ns[place]), int(chosen.start_ns[place]))
        if best is None or rank < best:
            row = int(chosen.positions()[place])
            start_ns = int(device["start_ns"][row])
            best = rank
            found = SliceRef(index, "device", row), start_ns, start_ns + int(device["duration_ns"][row])
    return found


def _shapes_called(process: ProcessProfile, name: str) -> NDArray[np.bool_]:
    """Which launch shapes are of a kernel of that name; the last entry is for executions whose shape was lost."""
    texts = names.exact_texts(process)
    called = np.array([*(name in names.ways_to_show(text) for text in texts), name == LOST_NAME], bool)
    name_ids = process.table("shapes")["name_id"]
    of_shapes = called[np.where((name_ids >= 0) & (name_ids < len(texts)), name_ids, len(texts))]
    return np.append(of_shapes, name == LOST_NAME)
