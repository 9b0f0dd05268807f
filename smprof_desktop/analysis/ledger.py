"""The ledger: everything that was recorded or read and is not shown, or is not whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from smprof.profile.manifest import Loss
from smprof_desktop.analysis.launches import unlinked_by_reason

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

UNLINKED = "unlinked_execution"


def unlinked_of(profile: Profile) -> list[dict[str, int]]:
    """Of each process the executions without a launch, counted by reason: what `entries` takes.

    Reads the links of every execution, and keeps none of it: no work for a window's own thread.
    """
    found = []
    for process in profile.processes:
        device = process.table("device")
        held = device.columns_held()
        found.append(unlinked_by_reason(device["launch"], device.__getitem__))
        device.forget(held)
    return found


def entries(losses: Iterable[Loss], unlinked: Iterable[Mapping[str, int]], untraced: Iterable[Loss] = ()) -> list[Loss]:
    """What a profile says it lost, what its records tell of others, and the executions without a launch.

    `unlinked` are the counts by reason of each process, from the links themselves: `unlinked_of`. `untraced`: what
    `untraced.of_process` gives of each.
    """
    reasons: dict[str, int] = {}
    for counts in unlinked:
        for reason, count in counts.items():
            reasons[reason] = reasons.get(reason, 0) + count
    return [
        *(loss for loss in losses if loss.kind != UNLINKED and loss.count > 0),
        *untraced,
        *(Loss(UNLINKED, count, reason) for reason, count in reasons.items()),
    ]
