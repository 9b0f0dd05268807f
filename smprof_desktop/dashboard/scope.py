"""What the dashboard answers for: a profile or a range of it, with the report that all panels share. No Qt."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from smprof_desktop import report
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.progress import CancelCheck, never
from smprof_desktop.report import Built
from smprof_desktop.report_figures import DeviceFigures

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

UTILIZATION_BINS = 300
Value = TypeVar("Value")


@dataclass(frozen=True)
class Scope:
    """What the page answers for: a profile, or its range [begin_ns, end_ns). The report is built once, on demand.

    `cancelled` stops whoever asks and builds; `dataclasses.replace` gives another asker one of its own.
    """

    profile: Profile
    begin_ns: int | None = None
    end_ns: int | None = None
    step: str | None = None
    """The name, stem or pattern of the annotations that are the steps; None for those named like steps."""
    options: Mapping[str, int] = field(default_factory=dict)
    """What the user chose for the panel that asks, by the key of its Option."""
    cancelled: CancelCheck = never
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _built: list[Built] = field(default_factory=list, repr=False, compare=False)
    _devices: list[list[list[DeviceFigures]]] = field(default_factory=list, repr=False, compare=False)
    """What devices_alone has found, once it was asked."""
    _shared: dict[Hashable, tuple[threading.Lock, list[Any]]] = field(default_factory=dict, repr=False, compare=False)

    def report(self) -> Mapping[str, Any]:
        """The figures of `report.build` for this scope; any thread may ask. Raises Cancelled."""
        return self.built().document

    @property
    def ready(self) -> Mapping[str, Any] | None:
        """The report where it is built; never waits."""
        return self._built[0].document if self._built else None

    def devices(self) -> list[DeviceFigures]:
        """The devices of the report with their activity in the bins of `edges_ns`, long before the report is built.

        Any thread may ask. Raises Cancelled.
        """
        with self._lock:
            if self._built:
                return self._built[0].devices
            if not self._devices:
                edges_ns = self.edges_ns()
                found = report.devices_alone(self.profile, self.begin_ns, self.end_ns, edges_ns, self.cancelled)
                self._devices.append(found)
            return [device for of_process in self._devices[0] for device in of_process]

    def built(self) -> Built:
        """The report with the activity of its devices in the bins of `edges_ns`."""
        with self._lock:
            if not self._built:
                self._built.append(
                    report.work_out(
                        self.profile,
                        self.begin_ns,
                        self.end_ns,
                        self.step,
                        edges_ns=self.edges_ns(),
                        devices=self._devices[0] if self._devices else None,
                        cancelled=self.cancelled,
                    )
                )
            return self._built[0]

    def once(self, key: Hashable, work: Callable[[], Value]) -> Value:
        """What `work` returns, worked out once for all panels of this scope, whichever thread asks first for `key`.

        The others wait. What `work` raises goes to the one that asked; the next one begins anew.
        """
        lock, kept = self._shared.setdefault(key, (threading.Lock(), []))
        with lock:
            if not kept:
                kept.append(work())
            found: Value = kept[0]
            return found

    def edges_ns(self) -> Int64s | None:
        """Bins of time for what is drawn over time, in ns of the profile's clock; None where nothing takes any.

        The profile reaches from the first slice or window to the last: a window without slices is idle time. Of a range
        that reaches out of it only what is inside: the curves should not shrink beside nothing.
        """
        windows = [window for process in self.profile.processes for window in process.info.windows_ns]
        first_ns = min([self.profile.begin_ns, *(window[0] for window in windows)])
        last_ns = max([self.profile.end_ns, *(window[1] for window in windows)])
        begin_ns = first_ns if self.begin_ns is None else max(first_ns, self.begin_ns)
        end_ns = last_ns if self.end_ns is None else min(last_ns, self.end_ns)
        return bin_edges(begin_ns, end_ns, UTILIZATION_BINS) if begin_ns < end_ns else None


def narrowed(profile: Profile, processes: Sequence[int]) -> Profile:
    """Some processes of a profile, by their positions, as a profile; the columns that are read are shared."""
    from smprof.profile.reader import Profile

    kept = [profile.processes[index] for index in processes]
    hosts = {process.info.host for process in kept}
    manifest = replace(
        profile.manifest,
        hosts=[host for host in profile.manifest.hosts if host.name in hosts],
        processes=[process.info for process in kept],
    )
    return Profile(manifest, kept)


def bin_edges(begin_ns: int, end_ns: int, bins: int) -> Int64s:
    """Edges of at most `bins` equal bins of whole ns; the last one is cut off at `end_ns`, above `begin_ns`."""
    width_ns = -(-(end_ns - begin_ns) // bins)
    count = -(-(end_ns - begin_ns) // width_ns)
    return np.array([*(begin_ns + width_ns * index for index in range(count)), end_ns], np.int64)
