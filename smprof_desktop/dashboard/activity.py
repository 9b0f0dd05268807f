"""What the panels of idle time, collectives, steps and ranks share: one pass over the device slices of a scope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import NONE, SLICE_TABLES
from smprof_desktop.analysis import names, overlap, steps, utilization
from smprof_desktop.analysis.collectives import Group, Kernels, Matched, Timing, Words, match, of_device, timing
from smprof_desktop.analysis.doors import NO_SLICE, Door, Found, of_parts
from smprof_desktop.analysis.executions import Part, blocks, part
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.analysis.kernels import KERNEL
from smprof_desktop.analysis.periods import LEAST_STARTS, propose
from smprof_desktop.dashboard.each_process import each_process
from smprof_desktop.dashboard.scope import Scope
from smprof_desktop.progress import CancelCheck, Cancelled

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile


@dataclass(frozen=True, eq=False)
class StepsOf:
    """The steps of one process, by start, trimmed to the range. `row` is that of the annotation.

    Where steps are `inferred` they are periods on the GPU and have the row NONE.
    """

    process: int
    names: tuple[str, ...]
    row: Int64s
    start_ns: Int64s
    end_ns: Int64s
    inferred: str = ""
    """The kernel that begins each period."""

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, eq=False)
class DeviceActivity:
    """One device of one process: its windows in the range, how they split into `overlap.PARTS`, and each step too."""

    process: int
    device: int
    label: str
    host: str
    windows: tuple[tuple[int, int], ...]
    parts_ns: tuple[int, ...]
    steps_ns: tuple[NDArray[Any], ...]
    """Per part a value for each step of the process."""

    @property
    def window_ns(self) -> int:
        """The denominator of its shares."""
        return sum(end - begin for begin, end in self.windows)

    @property
    def active_ns(self) -> int:
        """Inside the windows."""
        return sum(self.parts_ns[: overlap.IDLE])


@dataclass(frozen=True, eq=False)
class Activities:
    """All devices of a scope, and the steps of each process."""

    devices: tuple[DeviceActivity, ...]
    steps: tuple[StepsOf, ...]
    """One a process, in their order."""

    @property
    def inferred(self) -> bool:
        """Whether the steps are periods, since none was annotated."""
        return any(each.inferred for each in self.steps)


@dataclass(frozen=True, eq=False)
class Collected:
    """The kernels of a scope that communicate, put together across ranks. `exposed_ns` is inside the range."""

    kernels: Kernels
    exposed_ns: NDArray[Any]
    groups: Sequence[Group]
    operations: Sequence[str]
    members: Sequence[tuple[int, int]]
    """(process, device) of each member."""
    matched: Matched
    timing: Timing
    uncertainty_ns: int | None
    """How far the clocks of several hosts may differ, where that was recorded."""


def of_scope(scope: Scope) -> Activities:
    """How the time of each device splits, and the steps. Raises Cancelled."""
    return scope.once(("activity",), lambda: _activities(scope))


def collected(scope: Scope) -> Collected:
    """The collectives. Matched over the whole profile, so that a range does not tear ranks apart. Raises Cancelled."""
    return scope.once(("collectives",), lambda: _collected(scope))


def by_device(device: Part) -> Iterator[tuple[int, Part]]:
    """The slices of each device of a process."""
    indexes = device.column("device")
    for first, behind in blocks(indexes):
        yield int(indexes[first]), device.between(first, behind)


def label_of(profile: Profile, number: int, device: int) -> str:
    """What a device of a process is called among all of a profile."""
    info = profile.processes[number].info
    who = f"Rank {info.rank}" if info.rank is not None else f"Process {info.process}"
    if sum(other.info.rank == info.rank and other.info.process == info.process for other in profile.processes) > 1:
        who = f"{info.host}, {who}"
    return f"{who}, GPU {device}" if device >= 0 else f"{who}, no GPU recorded"


def part_door(
    scope: Scope, devices: Sequence[tuple[int, int]], which: Sequence[int], title: str, basis: str = ""
) -> Door:
    """To the slices and idle moments behind some of `overlap.PARTS` of some (process, device), each moment once."""
    return Door(title, partial(_find_parts, tuple(devices), tuple(which), scope.begin_ns, scope.end_ns), basis)


def times_door(
    process: NDArray[Any],
    row: Int64s,
    start_ns: Int64s,
    end_ns: Int64s,
    title: str,
    basis: str = "",
    table: str | None = "device",
) -> Door:
    """To rows of a table, None for moments without a slice, with the part of each that counts."""

    def find(profile: Profile, cancelled: CancelCheck) -> Found:
        code = np.full(len(row), NO_SLICE if table is None else SLICE_TABLES.index(table), np.int8)
        return Found.joined([Found(np.asarray(process, np.int32), code, row, start_ns, end_ns)])

    return Door(title, find, basis)


def limits(scope: Scope) -> tuple[int, int]:
    """The range as two numbers of 64 bits."""
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    return (
        int(low) if scope.begin_ns is None else scope.begin_ns,
        int(high) if scope.end_ns is None else scope.end_ns,
    )


def as_integers(values: Sequence[int]) -> NDArray[Any]:
    """int64, or Python integers where one does not fit."""
    fits = all(-(1 << 63) <= value < 1 << 63 for value in values)
    return np.array(values, np.int64 if fits else object)


def windows_of(scope: Scope, process: ProcessProfile) -> list[tuple[int, int]]:
    """When a process recorded, inside the range."""
    return utilization.windows_within(utilization.windows_of(process), scope.begin_ns, scope.end_ns)


def _activities(scope: Scope) -> Activities:
    annotated = each_process(scope, partial(_annotated_steps, scope))
    has_steps = any(len(each) for each in annotated)
    found = each_process(scope, lambda process: _of_process(scope, process, annotated if has_steps else ()))
    return Activities(tuple(device for devices, _ in found for device in devices), tuple(each for _, each in found))


def _of_process(
    scope: Scope, process: ProcessProfile, annotated: Sequence[StepsOf]
) -> tuple[list[DeviceActivity], StepsOf]:
    number = scope.profile.processes.index(process)
    device = part(process.table("device"), scope.begin_ns, scope.end_ns)
    mine = annotated[number] if annotated else _periods(number, process, device)
    communicating = overlap.communicating_shapes(process.table("shapes")["name_id"], process.names.texts)
    windows = windows_of(scope, process)
    split: dict[int, tuple[list[int], list[NDArray[Any]]]] = {}
    for index, slices in by_device(device):
        if scope.cancelled():
            raise Cancelled
        activity = overlap.activity(slices, overlap.is_communication(slices, communicating))
        split[index] = overlap.split(activity, windows), overlap.split_each(activity, mine.start_ns, mine.end_ns)
    nothing = [np.zeros(len(mine), np.int64)] * overlap.IDLE + [mine.end_ns - mine.start_ns]
    result = []
    for index in utilization.devices_of(process):
        parts_ns, steps_ns = split.get(index) or (
            [*[0] * overlap.IDLE, sum(end - begin for begin, end in windows)],
            nothing,
        )
        label = label_of(scope.profile, number, index)
        result.append(
            DeviceActivity(number, index, label, process.info.host, tuple(windows), tuple(parts_ns), tuple(steps_ns))
        )
    return result, mine


def _annotated_steps(scope: Scope, process: ProcessProfile) -> StepsOf:
    annotations = steps.host_side(part(process.table("annotation"), scope.begin_ns, scope.end_ns))
    texts, name_ids = names.exact_texts(process), annotations.column("name_id")
    wanted = [
        name_id
        for name_id in np.unique(name_ids).tolist()
        if 0 <= name_id < len(texts) and steps.is_step(texts[name_id], scope.step)
    ]
    rows = np.flatnonzero(np.isin(name_ids, wanted))
    rows = rows[np.argsort(annotations.start_ns[rows], kind="stable")]
    return StepsOf(
        scope.profile.processes.index(process),
        tuple(texts[name_id] for name_id in name_ids[rows].tolist()),
        annotations.positions()[rows],
        annotations.start_ns[rows],
        annotations.end_ns[rows],
    )


def _periods(number: int, process: ProcessProfile, device: Part) -> StepsOf:
    """Periods of the busiest stream of a process: from the start of a kernel to the start of its next one."""
    keys = [device.column(name) for name in ("device", "stream", "row")]
    none = np.zeros(0, np.int64)
    lanes = [edges for edges in blocks(*keys) if edges[1] - edges[0] >= 2 * LEAST_STARTS]
    if lanes:
        first, behind = max(
            lanes, key=lambda edges: int((device.end_ns[slice(*edges)] - device.start_ns[slice(*edges)]).sum())
        )
        lane = device.between(first, behind)
        lane = lane.where(lane.column("kind") == KERNEL)
        shape_names = np.append(process.table("shapes")["name_id"], NONE)
        shape_ids = lane.column("shape_id")
        name_ids = shape_names[np.where((shape_ids >= 0) & (shape_ids < len(shape_names) - 1), shape_ids, -1)]
        period = propose(name_ids)
        if period is not None:
            starts_ns = lane.start_ns[period.starts]
            count = len(starts_ns) - 1
            return StepsOf(
                number,
                tuple(f"period {at}" for at in range(count)),
                np.full(count, NONE, np.int64),
                starts_ns[:-1],
                starts_ns[1:],
                process.names.text(period.name_id),
            )
    return StepsOf(number, (), none, none, none)


def _collected(scope: Scope) -> Collected:
    words, low_high = Words(), limits(scope)
    members: list[tuple[int, int]] = []
    found: list[Kernels] = []
    exposed: list[NDArray[Any]] = []
    answers = each_process(scope, partial(_communication, low_high))
    for number, (process, answer) in enumerate(zip(scope.profile.processes, answers, strict=True)):
        for index, slices, exposed_ns in answer:
            found.append(of_device(process, number, len(members), slices, words))
            exposed.append(exposed_ns)
            members.append((number, index))
    kernels = Kernels.joined(found)
    world = max((_world_size(process) for process in scope.profile.processes), default=NONE)
    matched = match(kernels, words.groups, world)
    hosts = sorted({process.info.host for process in scope.profile.processes})
    host_of = [hosts.index(scope.profile.processes[number].info.host) for number, _ in members]
    is_aligned = not any(loss.kind == "unaligned_clock" for loss in scope.profile.manifest.losses)
    uncertainty_ns = scope.profile.manifest.clock.uncertainty_ns
    times = timing(kernels, matched, words.operations, host_of, is_aligned, uncertainty_ns)
    all_exposed = np.concatenate(exposed) if exposed else np.zeros(0, np.int64)
    return Collected(kernels, all_exposed, words.groups, words.operations, members, matched, times, uncertainty_ns)


def _communication(low_high: tuple[int, int], process: ProcessProfile) -> list[tuple[int, Part, NDArray[Any]]]:
    """(device, its kernels that communicate, what of each is exposed inside the range)."""
    communicating = overlap.communicating_shapes(process.table("shapes")["name_id"], process.names.texts)
    if not communicating.any():
        return []
    result = []
    for index, slices in by_device(part(process.table("device"))):
        communicates = overlap.is_communication(slices, communicating)
        if communicates.any():
            activity, kernels = overlap.activity(slices, communicates), slices.where(communicates)
            start_ns = np.clip(kernels.start_ns, *low_high)
            exposed_ns = overlap.exposed_each(
                activity, start_ns, np.maximum(np.clip(kernels.end_ns, *low_high), start_ns)
            )
            result.append((index, kernels, exposed_ns))
    return result


def _world_size(process: ProcessProfile) -> int:
    told = process.info.metadata.get("distributedInfo")
    size = told.get("world_size") if isinstance(told, dict) else None
    return size if isinstance(size, int) and not isinstance(size, bool) and 0 < size < 1 << 31 else NONE


def _find_parts(
    devices: tuple[tuple[int, int], ...],
    which: tuple[int, ...],
    begin_ns: int | None,
    end_ns: int | None,
    profile: Profile,
    cancelled: CancelCheck,
) -> Found:
    found = []
    for number in sorted({number for number, _ in devices}):
        if cancelled():
            raise Cancelled
        process = profile.processes[number]
        windows = utilization.windows_within(utilization.windows_of(process), begin_ns, end_ns)
        whole = part(process.table("device"), begin_ns, end_ns)
        communicating = overlap.communicating_shapes(process.table("shapes")["name_id"], process.names.texts)
        by_index = dict(by_device(whole))
        nothing = whole.where(np.zeros(len(whole), bool))
        for index in [index for owner, index in devices if owner == number]:
            slices = by_index.get(index, nothing)
            communicates = overlap.is_communication(slices, communicating)
            for each in which:
                rows, starts_ns, ends_ns = overlap.rows_of(slices, communicates, windows, each)
                found.append(_as_found(number, slices, rows, starts_ns, ends_ns))
    return Found.joined(found)


def _as_found(number: int, slices: Part, rows: Int64s, starts_ns: Int64s, ends_ns: Int64s) -> Found:
    every = of_parts(number, "device", slices)
    real = rows >= 0
    positions = np.full(len(rows), -1, np.int64)
    positions[real] = every.row[rows[real]]
    table = np.where(real, SLICE_TABLES.index("device"), -1).astype(np.int8)
    return Found(np.full(len(rows), number, np.int32), table, positions, starts_ns, ends_ns)
