"""The ledger: everything that was recorded or read and is not shown, or is not whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from smprof.profile.manifest import Loss
from smprof_desktop.analysis.executions import part
from smprof_desktop.analysis.launches import unlinked_by_reason

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

UNLINKED = "unlinked_execution"


def of_profile(profile: Profile) -> list[Loss]:
    """The ledger of a whole profile. Reads the links of every execution, so it is no work for a window's thread."""
    unlinked = []
    for process in profile.processes:
        device = process.table("device")
        held = device.columns_held()
        unlinked.append(unlinked_by_reason(device["launch"], part(device)) if len(device) else {})
        device.forget(held)
    return entries(profile.losses, unlinked)


def entries(losses: Iterable[Loss], unlinked: Iterable[Mapping[str, int]]) -> list[Loss]:
    """What a profile says it lost, and the executions without a launch, counted from the links themselves.

    `unlinked` are the counts by reason of each process: `launches.unlinked_by_reason`.
    """
    reasons: dict[str, int] = {}
    for counts in unlinked:
        for reason, count in counts.items():
            reasons[reason] = reasons.get(reason, 0) + count
    return [
        *(loss for loss in losses if loss.kind != UNLINKED and loss.count > 0),
        *(Loss(UNLINKED, count, reason) for reason, count in reasons.items()),
    ]
