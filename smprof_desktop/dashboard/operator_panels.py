"""Host and device time by operator, by module and by annotation, with what nothing claims. No Qt."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from smprof.profile.schema import HOST_KINDS
from smprof_desktop.analysis import claim_figures, names
from smprof_desktop.analysis.claim_figures import ANNOTATION, MODULE, OPERATOR, Claimed, Claims, ClaimTotal
from smprof_desktop.analysis.doors import Chosen, Door, Found, of_parts
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.analysis.linked import MODULE_PREFIX
from smprof_desktop.dashboard.absent import missing
from smprof_desktop.dashboard.each_process import each_process
from smprof_desktop.dashboard.figures import Column, Figure, Table
from smprof_desktop.dashboard.panel import Panel
from smprof_desktop.dashboard.scope import Scope
from smprof_desktop.progress import CancelCheck, Cancelled

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

SECTION = "Operators"
_OUTSIDE = {OPERATOR: "(in no operator)", MODULE: "(in no module)", ANNOTATION: "(in no annotation)"}
_UNLINKED = "(launch not recorded)"
_BASIS = "all time of kernels, copies and sets, overlap counted twice"
_TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    OPERATOR: ("host", ("op",)),
    MODULE: ("host", ("python",)),
    ANNOTATION: ("annotation", ("host",)),
}
DEVICE_COLUMN, OWN_COLUMN, BACKWARD_COLUMN = 4, 5, 7
assert {"op", "python"} <= set(HOST_KINDS)


def by_operator(scope: Scope) -> Figure:
    """By operator; calls, host times and the device time beneath are those of the report."""
    ops = scope.report()["ops"]
    if not ops:
        return missing(
            scope,
            "operator",
            "No operator was recorded. PyTorch's profiler records them with ProfilerActivity.CPU.",
        )
    claimed, exact = _claimed(scope)[OPERATOR], scope.built().exact
    totals = []
    for row in ops:
        wanted = exact([row["name"]])
        own = [claimed.totals.get(name, ClaimTotal()) for name in wanted]
        total = ClaimTotal(row["count"], row["host_total_ns"], row["host_self_ns"], row["device_ns"])
        total.own_ns, total.backward_ns = sum(one.own_ns for one in own), sum(one.backward_ns for one in own)
        totals.append((row["name"], wanted, total))
    return _table(scope, OPERATOR, totals, claimed)


def by_module(scope: Scope) -> Figure:
    """By module, as the frames of its calls tell; backward kernels count under the module of their forward operator."""
    return _by_claimant(
        scope,
        MODULE,
        "module",
        "No call of a module was recorded. PyTorch's profiler records them with with_stack=True.",
    )


def by_annotation(scope: Scope) -> Figure:
    """By annotation of the program, with what other threads launched on behalf of its thread."""
    return _by_claimant(
        scope,
        ANNOTATION,
        "annotation",
        "No annotation was recorded. Annotate what matters: `with smprof.annotate('forward')`, "
        "torch.profiler.record_function or an NVTX range.",
    )


def _by_claimant(scope: Scope, kind: str, what: str, remedy: str) -> Figure:
    claimed = _claimed(scope)[kind]
    if not claimed.totals:
        return missing(scope, what, remedy)
    shown = names.shown(claimed.totals)
    totals = [(shown.get(name, name), frozenset({name}), total) for name, total in claimed.totals.items()]
    return _table(scope, kind, totals, claimed)


def _claimed(scope: Scope) -> dict[str, Claimed]:
    """What each kind of slices claims, over all processes."""

    def work() -> dict[str, Claimed]:
        found = each_process(scope, lambda process: claim_figures.all_kinds(process, scope.begin_ns, scope.end_ns))
        return {kind: claim_figures.merged([one[kind] for one in found]) for kind in (OPERATOR, MODULE, ANNOTATION)}

    return scope.once("claims", work)


def _table(
    scope: Scope, kind: str, totals: Iterable[tuple[str, frozenset[str], ClaimTotal]], claimed: Claimed
) -> Table:
    limits = scope.begin_ns, scope.end_ns
    ordered = sorted(totals, key=lambda entry: (-entry[2].device_ns, -entry[2].host_total_ns, entry[0]))
    whole_ns = sum(total.own_ns for _, _, total in ordered) + claimed.outside_ns + claimed.unlinked_ns
    rows: list[tuple[Any, ...]] = []
    doors: list[Door | None] = []
    by_column: dict[int, list[Door | None]] = {place: [] for place in (1, 2, OWN_COLUMN, 6, BACKWARD_COLUMN)}
    table, kinds = _TABLES[kind]
    for text, wanted, total in ordered:
        title = text.removeprefix(MODULE_PREFIX) if kind == MODULE else text
        rows.append(
            (
                title,
                total.count,
                total.host_total_ns,
                total.host_self_ns,
                total.device_ns,
                total.own_ns,
                _percent(total.own_ns, whole_ns),
                total.backward_ns,
            )
        )
        on_host = Chosen(table, kinds, wanted, begin_ns=limits[0], end_ns=limits[1]).door(f"Calls of {title}")
        doors.append(_door(f"Launched in {title}", limits, partial(_beneath, kind, wanted, False)))
        own = _door(f"Launched in {title} itself", limits, partial(_own, kind, wanted))
        backward = _door(f"Backward of {title}", limits, partial(_beneath, kind, wanted, True))
        for place, door in zip(by_column, (on_host, on_host, own, own, backward), strict=True):
            by_column[place].append(door)
    for title, time_ns, find in (
        (_OUTSIDE[kind], claimed.outside_ns, partial(_unclaimed, kind)),
        (_UNLINKED, claimed.unlinked_ns, _unlinked),
    ):
        if time_ns:
            rows.append((title, None, None, None, time_ns, time_ns, _percent(time_ns, whole_ns), None))
            doors.append(_door(f"Device time {title}", limits, find))
            for place in by_column:
                by_column[place].append(doors[-1])
    host_self_ns = sum(total.host_self_ns for _, _, total in ordered)
    sums = ("All", sum(total.count for _, _, total in ordered), None, host_self_ns, None, whole_ns)
    return Table(
        _columns(kind),
        rows,
        _BASIS,
        doors,
        (*sums, 100.0 if whole_ns else 0.0, None),
        "sorted by device time; rows count what lies inside them too, so only the columns of own time add up",
        by_column,
    )


def _columns(kind: str) -> tuple[Column, ...]:
    return (
        Column({OPERATOR: "Operator", MODULE: "Module", ANNOTATION: "Annotation"}[kind], "name"),
        Column("Calls", "count"),
        Column("Host total", "ns", f"The sum of the durations of its calls, with every {kind} called in them."),
        Column("Host self", "ns", f"Without the time of the {kind}s called in it."),
        Column("Device time", "ns", "Of all that was launched inside it. A plain sum over kernels, copies and sets."),
        Column("Device own", "ns", f"Of what was launched in it and in no {kind} inside it: these add up."),
        Column("Share", "percent", f"Own device time, of {_BASIS}."),
        Column(
            "Backward",
            "ns",
            "Device time of the backward operators whose forward operator ran inside it, joined by sequence number. "
            + (
                "The own time holds it already."
                if kind == MODULE
                else "It counts as own time where it was launched, not here a second time."
            ),
        ),
    )


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


# What the doors find.

Range = tuple[int | None, int | None]
Places = Callable[[Claims], Int64s]


def _door(title: str, limits: Range, places: Places) -> Door:
    return Door(title, partial(_found, limits, places), _BASIS)


def _found(limits: Range, places: Places, profile: Profile, cancelled: CancelCheck) -> Found:
    """The executions at some places of what overlaps the range, process by process."""
    found = []
    for index, process in enumerate(profile.processes):
        if cancelled():
            raise Cancelled
        claims = Claims(process, *limits)
        keep = np.zeros(len(claims.device), bool)
        keep[places(claims)] = True
        found.append(of_parts(index, "device", claims.device.where(keep)))
    return Found.joined(found)


def _beneath(kind: str, wanted: frozenset[str], backward: bool, claims: Claims) -> Int64s:
    return claims.executions(kind, wanted, backward)


def _own(kind: str, wanted: frozenset[str], claims: Claims) -> Int64s:
    return claims.owned(kind, wanted)


def _unclaimed(kind: str, claims: Claims) -> Int64s:
    return claims.unclaimed(kind)


def _unlinked(claims: Claims) -> Int64s:
    return claims.unlinked()


_HOST_TIME = ("host.kind", "host.start_ns", "host.duration_ns")

OPERATOR_PANELS: tuple[Panel, ...] = (
    Panel(
        "by_operator",
        "By operator",
        _HOST_TIME,
        by_operator,
        Table,
        6,
        "What each operator of the framework cost on the host and on the GPU. Much host time of its own beside little "
        "device time: the host is what limits. Much device time: a faster kernel, lower precision or fewer calls pay.",
        SECTION,
    ),
    Panel(
        "by_module",
        "By module",
        _HOST_TIME,
        by_module,
        Table,
        6,
        "What each module of the model cost, forward and backward: which layer to look at first.",
        SECTION,
    ),
    Panel(
        "by_annotation",
        "By annotation",
        ("annotation.start_ns", "annotation.duration_ns"),
        by_annotation,
        Table,
        6,
        "What was launched inside the annotations of the program, from any thread that worked for it, and what was "
        "launched outside of all of them.",
        SECTION,
    ),
)
"""In the order of the page."""
