"""Collective operations: the kernels that communicate, what was recorded about them, and which belong together.

One collective is a kernel on each rank of its process group. They are matched by group and sequence number where both
were recorded, otherwise by their order within group and operation, which holds only where each rank ran equally many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import LOST_NAME, NONE
from smprof_desktop.analysis.communication import (
    MEETINGS,
    UNKNOWN,
    element_bytes,
    operation_called,
    operation_of,
)
from smprof_desktop.analysis.executions import Part, blocks
from smprof_desktop.analysis.intervals import Int64s, ends_of

if TYPE_CHECKING:
    from smprof.profile.reader import Arguments, ProcessProfile


@dataclass(frozen=True)
class Group:
    """A process group, the same on all of its ranks. `ranks` is text as recorded; `size` NONE where unknown."""

    name: str
    description: str
    ranks: str
    size: int

    @property
    def label(self) -> str:
        """What it is called."""
        if not self.name and not self.description:
            return "not recorded"
        return f"{self.name} ({self.description})" if self.description and self.name else self.name or self.description


@dataclass(frozen=True, eq=False)
class Kernels:
    """Columns of the kernels that communicate, of one length.

    `member` numbers the devices of all processes that have any; `group` and `operation` index `Collected`'s lists.
    Times are as recorded, not trimmed. `exposed_ns`, `message_bytes` and `sequence` are NONE where unknown.
    """

    member: NDArray[np.int64]
    process: NDArray[np.int64]
    row: NDArray[np.int64]
    start_ns: Int64s
    end_ns: Int64s
    group: NDArray[np.int64]
    operation: NDArray[np.int64]
    message_bytes: NDArray[np.int64]
    sequence: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.row)

    def where(self, keep: NDArray[Any]) -> Kernels:
        """Some of them, by a mask or by positions."""
        return Kernels(*(getattr(self, field.name)[keep] for field in fields(self)))

    @staticmethod
    def joined(parts: Sequence[Kernels]) -> Kernels:
        """Those of all parts, one behind another."""
        if not parts:
            return Kernels(*(np.zeros(0, np.int64) for _ in fields(Kernels)))
        return Kernels(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Kernels)))


class Words:
    """Numbers for groups and operations, the same for all processes."""

    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.operations: list[str] = []
        self._group_of: dict[Group, int] = {}
        self._operation_of: dict[str, int] = {}

    def group(self, group: Group) -> int:
        """The number of a group."""
        if group not in self._group_of:
            self._group_of[group] = len(self.groups)
            self.groups.append(group)
        return self._group_of[group]

    def operation(self, operation: str) -> int:
        """The number of an operation."""
        if operation not in self._operation_of:
            self._operation_of[operation] = len(self.operations)
            self.operations.append(operation)
        return self._operation_of[operation]


def of_device(process: ProcessProfile, number: int, member: int, device: Part, words: Words) -> Kernels:
    """The kernels of one device that communicate. `number` is the process's position, `device` those kernels alone."""
    rows, texts = device.positions(), process.names.texts
    shape_names = np.append(process.table("shapes")["name_id"], NONE)
    shape_ids = device.column("shape_id")
    known = (shape_ids >= 0) & (shape_ids < len(shape_names) - 1)
    name_ids = shape_names[np.where(known, shape_ids, len(shape_names) - 1)]
    recorded = _Recorded(process, rows)
    operation = recorded.words("Collective name", operation_called)
    annotated = _annotated(process, device, texts)
    by_kernel = {
        name_id: operation_of(texts[name_id] if 0 <= name_id < len(texts) else LOST_NAME) or UNKNOWN
        for name_id in np.unique(name_ids).tolist()
    }
    chosen = [
        words.operation(first or second or by_kernel[name_id])
        for first, second, name_id in zip(operation, annotated, name_ids.tolist(), strict=True)
    ]
    count = len(rows)
    return Kernels(
        np.full(count, member, np.int64),
        np.full(count, number, np.int64),
        rows,
        device.start_ns,
        device.end_ns,
        np.array(recorded.groups(words), np.int64).reshape(count),
        np.array(chosen, np.int64).reshape(count),
        recorded.message_bytes(),
        recorded.integers("Seq"),
    )


class _Recorded:
    """The arguments of some device rows, as columns."""

    def __init__(self, process: ProcessProfile, rows: Int64s) -> None:
        self._process = process
        self._rows = rows

    def integers(self, key: str) -> Int64s:
        found, at, has = self._at(key)
        return np.where(has, found.integer[at] if len(found.id) else NONE, NONE)

    def words(self, key: str, change: Any = str) -> list[str]:
        """The texts of one argument, "" where there is none."""
        found, at, has = self._at(key)
        if not has.any():
            return [""] * len(self._rows)
        texts = [change(value if isinstance(value, str) else str(value)) for value in found.values]
        codes, integers = found.code[at].tolist(), found.integer[at].tolist()
        return [
            "" if not ok else texts[code] if code >= 0 else str(integer)
            for ok, code, integer in zip(has.tolist(), codes, integers, strict=True)
        ]

    def groups(self, words: Words) -> list[int]:
        names, descriptions = self.words("Process Group Name"), self.words("Process Group Description")
        ranks, sizes = self.words("Process Group Ranks"), self.integers("Group size").tolist()
        cache: dict[tuple[str, str, str, int], int] = {}
        result = []
        for key in zip(names, descriptions, ranks, sizes, strict=True):
            if key not in cache:
                cache[key] = words.group(Group(*key))
            result.append(cache[key])
        return result

    def message_bytes(self) -> Int64s:
        """The size of the message as nccl-tests count it: the larger of what goes in and what comes out of a rank."""
        elements = np.maximum(self.integers("In msg nelems"), self.integers("Out msg nelems"))
        sizes: dict[str, int] = {}
        for dtype in set(dtypes := self.words("dtype")):
            sizes[dtype] = element_bytes(dtype) or 0
        width = np.array([sizes[dtype] for dtype in dtypes], np.int64).reshape(len(elements))
        sound = (elements >= 0) & (width > 0) & (elements < 1 << 59)
        return np.where(sound, np.where(sound, elements, 0) * width, NONE)

    def _at(self, key: str) -> tuple[Arguments, Int64s, NDArray[np.bool_]]:
        found = self._process.arguments("device", key)
        at = np.searchsorted(found.id, self._rows, "right") - 1
        if not len(found.id):
            return found, at, np.zeros(len(self._rows), bool)
        return found, np.maximum(at, 0), (at >= 0) & (found.id[np.maximum(at, 0)] == self._rows)


def _annotated(process: ProcessProfile, device: Part, texts: Sequence[str]) -> list[str]:
    """The operation that an annotation `nccl:…` around each launch names, "" where none does."""
    result = [""] * len(device)
    named = {at: operation_called(text) for at, text in enumerate(texts) if text.startswith("nccl:")}
    launch = device.column("launch")
    linked = np.flatnonzero(launch >= 0)
    if not named or not len(linked):
        return result
    host = process.table("host")
    for table, key in ((process.table("annotation"), "thread"), (host, "thread")):
        rows = np.flatnonzero(np.isin(table["name_id"], list(named)))
        if table.name == "annotation":
            rows = rows[table["side"][rows] == 0]
        rows = rows[np.lexsort((table["start_ns"][rows], table[key][rows]))]
        if not len(rows):
            continue
        threads, starts_ns, name_ids = (table[column][rows] for column in (key, "start_ns", "name_id"))
        ends_ns = ends_of(starts_ns, table["duration_ns"][rows])
        launch_thread, launch_ns = host["thread"][launch[linked]], host["start_ns"][launch[linked]]
        for first, behind in blocks(threads):
            mine = np.flatnonzero(launch_thread == threads[first])
            place = first + np.searchsorted(starts_ns[first:behind], launch_ns[mine], "right") - 1
            inside = (place >= first) & (launch_ns[mine] < ends_ns[np.maximum(place, first)])
            for at, which in zip(linked[mine[inside]].tolist(), name_ids[place[inside]].tolist(), strict=True):
                result[at] = result[at] or named[which]
    return result


@dataclass(frozen=True, eq=False)
class Matched:
    """Which kernels make one collective.

    Per kernel: `instance`, NONE where it has no counterpart on every rank of its group. Per instance: `size` ranks,
    and whether the match is `inferred` from the order. Per kernel without an instance, `why` tells the reason.
    """

    instance: NDArray[np.int64]
    size: NDArray[np.int64]
    inferred: NDArray[np.bool_]
    why: Mapping[str, int]


ALONE = "the other ranks of the group were not recorded"
UNEVEN = "no sequence number was recorded, and not every rank ran equally many"
ABSENT = "at least one rank of the group has no kernel of that sequence number"


def match(kernels: Kernels, groups: Sequence[Group], world: int = NONE) -> Matched:
    """Put together the kernels of one collective on all ranks of its group.

    A member that ran several kernels under one sequence number has them matched by their order. `world` is the number
    of ranks of a group for which none was recorded; NONE: those that have kernels of it.
    """
    count = len(kernels)
    instance, why = np.full(count, NONE, np.int64), {ALONE: 0, UNEVEN: 0, ABSENT: 0}
    sizes: list[NDArray[np.int64]] = []
    inferred: list[NDArray[np.bool_]] = []
    total = 0
    order = np.lexsort((kernels.start_ns, kernels.member, kernels.sequence, kernels.operation, kernels.group))
    has_sequence = kernels.sequence >= 0
    for first, behind in blocks(kernels.group[order], kernels.operation[order], has_sequence[order]):
        rows = order[first:behind]
        group = groups[int(kernels.group[rows[0]])]
        members = np.unique(kernels.member[rows])
        is_known = bool(has_sequence[rows[0]])
        size = group.size if group.size > 0 else world if world > 0 else len(members)
        if len(members) < 2 or len(members) < size:
            why[ALONE] += len(rows)
            continue
        if not is_known:
            counts = np.bincount(np.searchsorted(members, kernels.member[rows]))
            if counts.min() != counts.max() or len(members) > size:
                why[UNEVEN] += len(rows)
                continue
        place = _places(kernels.sequence[rows], kernels.member[rows])  # among those of one member and number
        by_number = np.lexsort((place, kernels.sequence[rows]))
        ordered = rows[by_number]
        fresh = np.append(True, (np.diff(kernels.sequence[ordered]) != 0) | (np.diff(place[by_number]) != 0))
        which = np.cumsum(fresh) - 1
        ranks = np.bincount(which)
        whole = ranks == size
        number = np.where(whole, total + np.cumsum(whole) - 1, NONE)
        instance[ordered] = number[which]
        why[ABSENT] += int(ranks[~whole].sum())
        found = int(whole.sum())
        total += found
        sizes.append(np.full(found, size, np.int64))
        inferred.append(np.full(found, not is_known))
    return Matched(
        instance,
        np.concatenate(sizes) if sizes else np.zeros(0, np.int64),
        np.concatenate(inferred) if inferred else np.zeros(0, bool),
        {reason: number for reason, number in why.items() if number},
    )


def _places(*keys: NDArray[Any]) -> Int64s:
    """The place of each row among those with equal keys, in their order; equal keys stand side by side."""
    order = np.arange(len(keys[0]))
    fresh = np.zeros(len(order), bool)
    fresh[:1] = True
    for key in keys:
        fresh[1:] |= key[1:] != key[:-1]
    return np.asarray(order - order[fresh][np.cumsum(fresh) - 1], np.int64)


@dataclass(frozen=True, eq=False)
class Timing:
    """Waiting apart from transfer, where it can be told.

    Per kernel `wait_ns`, from its own start until the last rank has come, NONE where unknown; the rest is transfer.
    Per instance first and last arrival, last end, and the position of the kernel that came last. `unknown` counts the
    kernels of matched collectives without a wait, by reason.
    """

    wait_ns: Int64s
    first_ns: Int64s
    last_ns: Int64s
    end_ns: Int64s
    last: Int64s
    unknown: Mapping[str, int]


NOT_MEETING = "ranks do not have to wait for each other in this operation"
NO_CLOCK = "the traces do not say from which moment they count time, so arrivals cannot be compared"
TWO_HOSTS = "the ranks ran on several hosts, and how far the clocks of these differ was not recorded"
CONTRADICTED = "clocks or matches contradict each other: on one rank it ended before another rank had begun"


def timing(
    kernels: Kernels,
    matched: Matched,
    operations: Sequence[str],
    host_of: Sequence[int],
    is_aligned: bool,
    uncertainty_ns: int | None,
) -> Timing:
    """When the ranks of each collective came, and how long each of them waited for the last one.

    Times of different clocks are never compared: not where the traces count from unknown moments (`is_aligned` False),
    not between hosts without a known uncertainty, and not in a group where one rank's kernel ended before another's
    began, which no collective does.

    Args:
        host_of: a number of the host of each member.
    """
    inside = np.flatnonzero(matched.instance >= 0)
    count = len(matched.size)
    wait_ns = np.full(len(kernels), NONE, np.int64)
    none = np.zeros(0, np.int64)
    if not count:
        return Timing(wait_ns, none, none, none, none, {})
    order = inside[np.lexsort((kernels.start_ns[inside], matched.instance[inside]))]
    first = np.flatnonzero(np.append(True, np.diff(matched.instance[order]) != 0))
    behind = np.append(first[1:], len(order))
    which = matched.instance[order]
    first_ns, last = kernels.start_ns[order[first]], order[behind - 1]
    last_ns = kernels.start_ns[last]
    ended_first_ns = np.minimum.reduceat(kernels.end_ns[order], first)
    end_ns = np.maximum.reduceat(kernels.end_ns[order], first)
    hosts = np.asarray(host_of, np.int64)[kernels.member[order]]
    several = np.minimum.reduceat(hosts, first) != np.maximum.reduceat(hosts, first)
    operation, group = kernels.operation[order[first]], kernels.group[order[first]]
    meets = np.array([name in MEETINGS for name in operations])[operation]
    contradicted = np.unique(group[meets & (ended_first_ns < last_ns)])
    reasons = np.zeros(count, np.int64)
    reasons[np.isin(group, contradicted)] = 4
    if uncertainty_ns is None:
        reasons[several] = 3
    if not is_aligned:
        reasons[:] = 2
    reasons[~meets] = 1
    told = reasons[which] == 0
    wait_ns[order[told]] = (last_ns[which] - kernels.start_ns[order])[told]
    texts = (NOT_MEETING, NO_CLOCK, TWO_HOSTS, CONTRADICTED)
    counts = np.bincount(reasons[which], minlength=5)[1:].tolist()
    return Timing(
        wait_ns, first_ns, last_ns, end_ns, last, {text: n for text, n in zip(texts, counts, strict=True) if n}
    )
