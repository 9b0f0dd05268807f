"""The link of a slice as a table: a line for each execution, with both ends. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.analysis.intervals import differences
from smprof_desktop.analysis.sections import name_of, thread_text
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline import links
from smprof_desktop.timeline.links import Link

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

NO_LINK = "This slice takes part in no connection."
ELSEWHERE = (
    "Connections are kept from a launch to its executions and from a forward operator to its backward ones; other flow "
    "events of a trace are not, and Information counts them."
)


@dataclass(frozen=True, eq=False)
class Connections:
    """One line for each execution of a link, all arrays of one length: `name` and `lane` index `names` and `lanes`.

    `latency_ns` counts from the launch's start, `after_ns` from its end; Python integers where 64 bits do not do.
    """

    link: Link
    launch_name: str
    launch_lane: str
    launch_duration_ns: int
    duration_ns: NDArray[np.int64]
    name: NDArray[np.int64]
    names: tuple[str, ...]
    lane: NDArray[np.int64]
    lanes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.link.executions)

    @property
    def latency_ns(self) -> NDArray[np.int64]:
        """Start of each execution minus start of the launch."""
        return differences(self.link.starts_ns, np.full(len(self), self.link.launch_ns))

    @property
    def after_ns(self) -> NDArray[np.int64]:
        """Start of each execution minus end of the launch."""
        return differences(self.link.starts_ns, np.full(len(self), self.link.launch_ns + self.launch_duration_ns))

    @property
    def summary(self) -> str:
        """What is connected with what, as a sentence."""
        _, one, several = self.link.words
        count = f"{len(self):,} {one if len(self) == 1 else several}"
        early = int((self.link.starts_ns < self.link.launch_ns).sum())
        verb = "launched" if self.link.table == "device" else "has"
        warning = f"; {early:,} of them start{'s' if early == 1 else ''} before the launch" if early else ""
        return f"{self.launch_name} {verb} {count}{warning}."


def of(profile: Profile, ref: SliceRef) -> Connections | str:
    """The connections of a slice, or why there are none. It may have to be read first: for a task."""
    selected = links.look_up(profile, ref)
    link = selected.link
    if link is None:
        reason = f"{selected.missing[0].upper()}{selected.missing[1:]}." if selected.missing else NO_LINK
        return f"{reason} {ELSEWHERE}"
    process = profile.processes[link.launch.process]
    columns = process.table(link.table)
    if link.table == "device":
        shapes = process.table("shapes")["name_id"]
        shape_ids = columns.at("shape_id", link.executions)
        known = (shape_ids >= 0) & (shape_ids < len(shapes))
        name_ids = np.where(known, shapes[np.where(known, shape_ids, 0)] if len(shapes) else -1, -1)
    else:
        name_ids = columns.at("name_id", link.executions)
    used, name = np.unique(name_ids, return_inverse=True)
    lanes, lane = _lanes(process, link)
    host = process.table("host")
    return Connections(
        link,
        name_of(process, "host", link.launch.row),
        _thread(process, host.value("thread", link.launch.row)),
        host.value("duration_ns", link.launch.row),
        columns.at("duration_ns", link.executions),
        name.astype(np.int64),
        tuple(process.names.text(int(name_id)) for name_id in used),
        lane,
        lanes,
    )


def _thread(process: ProcessProfile, thread: int) -> str:
    text = thread_text(process, thread)
    return text if text.startswith("thread") else f"thread {text}"


def _lanes(process: ProcessProfile, link: Link) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    columns = process.table(link.table)
    if link.table == "host":
        threads, lane = np.unique(columns.at("thread", link.executions), return_inverse=True)
        return tuple(_thread(process, int(thread)) for thread in threads), lane.astype(np.int64)
    where = np.stack([columns.at(name, link.executions).astype(np.int64) for name in ("device", "stream")], axis=1)
    places, lane = np.unique(where, axis=0, return_inverse=True)
    return tuple(f"GPU-{device}, stream {stream}" for device, stream in places.tolist()), lane.ravel().astype(np.int64)
