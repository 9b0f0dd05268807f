"""Why a panel has no figure, and how to get one. No Qt."""

from __future__ import annotations

from smprof_desktop.analysis import untraced
from smprof_desktop.dashboard.figures import Missing
from smprof_desktop.dashboard.scope import Scope


def no_device(scope: Scope) -> Missing:
    """Why there is nothing of any GPU."""
    why = " ".join(untraced.why_no_device(scope.report()["losses"]))
    return Missing(why) if is_untraced(scope) else missing(scope, "GPU activity", why)


def is_untraced(scope: Scope) -> bool:
    """Whether launches were recorded and no execution at all: a used device then was not idle, nothing is known."""
    recorded = any(len(process.table("device")) for process in scope.profile.processes)
    return not recorded and any(loss["kind"] == untraced.MISSING for loss in scope.report()["losses"])


def missing(scope: Scope, what: str, remedy: str) -> Missing:
    """Why there is no figure: what was not recorded has a remedy; a range without it, or nothing at all, needs none."""
    if scope.begin_ns is not None or scope.end_ns is not None:
        return Missing(f"There is no {what} in this range.")
    profile = scope.report()["profile"]
    if not any(profile["slices"].values()) and not profile["counters"]:
        return Missing("This profile holds no events.")
    return Missing(remedy)
