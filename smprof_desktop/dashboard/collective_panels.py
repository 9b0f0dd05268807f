"""The panels of collectives: by process group and operation, the latest arrivals, and by rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.analysis.communication import bus_factor
from smprof_desktop.analysis.doors import Door
from smprof_desktop.analysis.executions import blocks
from smprof_desktop.analysis.intervals import Int64s, differences, overlapping
from smprof_desktop.analysis.statistics import exact_sum
from smprof_desktop.dashboard import activity
from smprof_desktop.dashboard.activity import Collected
from smprof_desktop.dashboard.figures import Bars, Column, Figure, Missing, Table
from smprof_desktop.dashboard.idle_panels import no_communication
from smprof_desktop.dashboard.panel import DEVICE_TIME, Option, Panel
from smprof_desktop.dashboard.scope import Scope

MOST = Option("most_collectives", "Show the latest", 100, 1, 10_000)
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, eq=False)
class Shown:
    """The kernels that communicate inside the range: their positions in `Collected.kernels`, their times trimmed.

    `turn_ns` is when the last rank had come, so that [start, turn) is waiting and [turn, end) transfer; where that is
    not known (`told` False) it is the start.
    """

    at: NDArray[np.int64]
    start_ns: Int64s
    end_ns: Int64s
    turn_ns: Int64s
    told: NDArray[np.bool_]

    def where(self, keep: NDArray[Any]) -> Shown:
        """Some of them."""
        return Shown(*(column[keep] for column in (self.at, self.start_ns, self.end_ns, self.turn_ns, self.told)))


def shown(found: Collected, scope: Scope) -> Shown:
    """What of the collectives lies inside the range."""
    kernels, (low, high) = found.kernels, activity.limits(scope)
    inside = np.flatnonzero(overlapping(kernels.start_ns, kernels.end_ns, low, scope.end_ns))
    start_ns = np.clip(kernels.start_ns[inside], low, high)
    end_ns = np.maximum(np.clip(kernels.end_ns[inside], low, high), start_ns)
    wait_ns = found.timing.wait_ns[inside]
    told = wait_ns >= 0
    turn_ns = np.clip(kernels.start_ns[inside] + np.where(told, wait_ns, 0), start_ns, end_ns)
    return Shown(inside, start_ns, end_ns, turn_ns, told)


def by_group_and_operation(scope: Scope) -> Figure:
    """What each process group communicated: how often, how much, how fast, and what it cost."""
    found = activity.collected(scope)
    here = shown(found, scope)
    if not len(here.at):
        return no_communication(scope)
    rows, doors = [], []
    for group, operation, mine in _runs(found, here):
        rows.append(_row(found, here.where(mine), group, operation))
        title = f"{found.operations[operation]} of group {found.groups[group].label}"
        doors.append(_door(found, here.where(mine), title, "time of its kernels, overlap counted twice"))
    order = sorted(range(len(rows)), key=lambda at: (-rows[at][5], rows[at][:2]))
    rows, doors = [rows[at] for at in order], [doors[at] for at in order]
    return Table(
        (
            Column("Process group", "text"),
            Column("Operation", "text"),
            Column("Ranks", "count", "Size of the group, where it was recorded."),
            Column("Kernels", "count", "One on each rank makes one collective."),
            Column("Bytes", "bytes", "Sizes of the messages as nccl-tests count them, summed over the kernels."),
            Column("Time", "ns", "Sum over the kernels, overlap counted twice. Opens them."),
            Column("Exposed", "ns", "Of that, during which nothing was computed on the same GPU."),
            Column("Waiting", "ns", "Until the last rank had come; nothing where that cannot be told."),
            Column("Transfer", "ns", "From then on; nothing where that cannot be told."),
            Column("Algorithm bandwidth", "bytes_per_s", "Bytes ÷ time of the kernels whose size was recorded."),
            Column("Bus bandwidth", "bytes_per_s", "Algorithm bandwidth × the factor of nccl-tests."),
            Column("Bus bandwidth of the transfer", "bytes_per_s", "The same by the time without waiting."),
            Column("Matched", "count", "Kernels with a counterpart on every rank of the group."),
            Column("Unmatched", "count"),
        ),
        rows,
        "kernels that communicate; a factor of 2(n−1)/n for all-reduce, (n−1)/n for all-gather, reduce-scatter and "
        "all-to-all, 1 for broadcast and send/recv",
        doors,
        _totals(rows),
        notes(found),
    )


def latest_arrivals(scope: Scope) -> Figure:
    """The collectives whose ranks came furthest apart."""
    found = activity.collected(scope)
    here = shown(found, scope)
    if not len(here.at):
        return no_communication(scope)
    times, kernels = found.timing, found.kernels
    instances = np.unique(found.matched.instance[here.at[here.told]])
    if not len(instances):
        return Missing(f"No arrivals can be compared here: {notes(found)}.")
    order = np.argsort(found.matched.instance, kind="stable")
    ordered = found.matched.instance[order]
    skew_ns = times.last_ns[instances] - times.first_ns[instances]
    most = scope.options.get(MOST.key, MOST.default)
    rows, doors = [], []
    for at in np.argsort(-skew_ns, kind="stable")[:most].tolist():
        instance = int(instances[at])
        every = order[slice(*np.searchsorted(ordered, [instance, instance + 1]))]
        last = int(times.last[instance])
        number, device = found.members[int(kernels.member[last])]
        group, operation = int(kernels.group[last]), found.operations[int(kernels.operation[last])]
        sequence = int(kernels.sequence[last])
        rows.append(
            (
                found.groups[group].label,
                operation,
                sequence if sequence >= 0 else None,
                len(every),
                int(times.first_ns[instance]) - scope.profile.begin_ns,
                int(skew_ns[at]),
                activity.label_of(scope.profile, number, device),
                int(times.end_ns[instance] - times.last_ns[instance]),
            )
        )
        chosen = kernels.where(every)
        doors.append(
            activity.times_door(
                chosen.process,
                chosen.row,
                chosen.start_ns,
                chosen.end_ns,
                f"{operation} on all ranks",
                "time of its kernels on all ranks, as recorded",
            )
        )
    columns = (
        Column("Process group", "text"),
        Column("Operation", "text"),
        Column("Sequence", "number", "As recorded; nothing where the match is inferred from the order."),
        Column("Ranks", "count"),
        Column("First arrival", "ns", "Since the start of the profile."),
        Column("Arrival skew", "ns", "From the first rank's arrival to the last one's. Not part of the transfer."),
        Column("Last to come", "text"),
        Column("Transfer", "ns", "From the last arrival to the last end."),
    )
    basis = f"{len(rows):,} of {len(instances):,} collectives whose arrivals can be compared"
    return Table(columns, rows, basis, doors, None, notes(found))


def by_rank(scope: Scope) -> Figure:
    """Time of each rank in collectives: waiting, transferring, and what cannot be told apart."""
    found = activity.collected(scope)
    here = shown(found, scope)
    if not len(here.at):
        return no_communication(scope)
    labels, doors = [], []
    parts: tuple[list[int], ...] = ([], [], [])
    member = found.kernels.member[here.at]
    for at, (number, device) in enumerate(found.members):
        mine = here.where(member == at)
        if not len(mine.at):
            continue
        for values, value in zip(parts, waiting_transfer_unknown(mine), strict=True):
            values.append(value)
        labels.append(activity.label_of(scope.profile, number, device))
        doors.append(_door(found, mine, f"{labels[-1]}: in collectives", "time of its kernels, overlap counted twice"))
    return Bars(
        tuple(labels),
        ("Waiting for other ranks", "Transfer", "Not told apart"),
        tuple(activity.as_integers(values) for values in parts),
        "ns",
        "time of the kernels that communicate, overlap counted twice",
        (),
        tuple(doors),
        notes(found),
    )


def waiting_transfer_unknown(here: Shown) -> tuple[int, int, int]:
    """How much of the kernels' time is waiting, how much transfer, and how much is not told apart, in ns."""
    waiting = exact_sum(differences(here.turn_ns, here.start_ns)[here.told])
    after_ns = differences(here.end_ns, here.turn_ns)
    return waiting, exact_sum(after_ns[here.told]), exact_sum(after_ns[~here.told])


def notes(found: Collected) -> str:
    """What has to be known of matches and clocks, as one text."""
    said = []
    inferred = int(found.matched.inferred.sum())
    if inferred:
        said.append(f"{inferred:,} collectives are matched by their order (inferred): no sequence number was recorded")
    said += [f"{count:,} kernels are unmatched: {why}" for why, count in found.matched.why.items()]
    said += [f"waiting is unknown for {count:,} kernels: {why}" for why, count in found.timing.unknown.items()]
    if found.uncertainty_ns and any(found.timing.wait_ns >= 0):
        said.append(f"clocks of several hosts agree within {found.uncertainty_ns:,} ns")
    return "; ".join(said)


def _row(found: Collected, here: Shown, group: int, operation: int) -> tuple[Any, ...]:
    kernels = found.kernels.where(here.at)
    size = found.groups[group].size
    sized = kernels.message_bytes >= 0
    recorded_ns = differences(kernels.end_ns, kernels.start_ns)
    moved = exact_sum(kernels.message_bytes[sized])
    waiting_ns, transfer_ns, _ = waiting_transfer_unknown(here)
    any_told = bool(here.told.any())
    factor = bus_factor(found.operations[operation], size)
    both = sized & here.told
    pure_ns = exact_sum(recorded_ns[both]) - exact_sum(found.timing.wait_ns[here.at][both])
    matched = int(np.count_nonzero(found.matched.instance[here.at] >= 0))
    return (
        found.groups[group].label,
        found.operations[operation],
        size if size > 0 else None,
        len(kernels),
        moved if sized.any() else None,
        exact_sum(differences(here.end_ns, here.start_ns)),
        exact_sum(found.exposed_ns[here.at]),
        waiting_ns if any_told else None,
        transfer_ns if any_told else None,
        _rate(moved, exact_sum(recorded_ns[sized])),
        _rate(moved, exact_sum(recorded_ns[sized]), factor),
        _rate(exact_sum(kernels.message_bytes[both]), pure_ns, factor),
        matched,
        len(kernels) - matched,
    )


def _runs(found: Collected, here: Shown) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Group, operation and places in `here` of what they have in common."""
    groups, operations = found.kernels.group[here.at], found.kernels.operation[here.at]
    order = np.lexsort((operations, groups))
    for first, behind in blocks(groups[order], operations[order]):
        mine = order[first:behind]
        yield int(groups[mine[0]]), int(operations[mine[0]]), mine


def _rate(moved: int, ns: int, factor: tuple[int, int] | None = (1, 1)) -> float | None:
    if not moved or ns <= 0 or factor is None:
        return None
    return moved * _SECOND_NS * factor[0] / (ns * factor[1])


def _totals(rows: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    columns = list(zip(*rows, strict=True))
    sums = [_sum(columns[at]) for at in range(3, 9)]
    return ("All", "", None, *sums, None, None, None, _sum(columns[12]), _sum(columns[13]))


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _door(found: Collected, here: Shown, title: str, basis: str) -> Door:
    kernels = found.kernels
    return activity.times_door(kernels.process[here.at], kernels.row[here.at], here.start_ns, here.end_ns, title, basis)


_SECTION = "Collectives"
COLLECTIVE_PANELS: tuple[Panel, ...] = (
    Panel(
        "collectives",
        "Collectives by process group and operation",
        DEVICE_TIME,
        by_group_and_operation,
        Table,
        6,
        "What was communicated, how fast, and what it cost. Waiting is the time from a rank's arrival until the last "
        "one has come; only what follows is transfer. A low bus bandwidth of the transfer points at the network, much "
        "waiting at ranks that do not arrive together.",
        _SECTION,
    ),
    Panel(
        "latest_arrivals",
        "Collectives with the latest arrivals",
        DEVICE_TIME,
        latest_arrivals,
        Table,
        6,
        "Collectives whose ranks came furthest apart. The rank that came last is the one to look at: all others waited "
        "for it. Collectives are matched across ranks by group and sequence number, where those were recorded.",
        _SECTION,
        (MOST,),
    ),
    Panel(
        "collectives_by_rank",
        "Time in collectives by rank",
        DEVICE_TIME,
        by_rank,
        Bars,
        6,
        "How long each rank waits for others in collectives, and how long it transfers. The rank that waits least is "
        "the one that the others wait for.",
        "Steps and ranks",
    ),
)
