"""Annotations and training steps: on the host by themselves, on the GPU by what was launched inside them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import HOST_KINDS, LOST_NAME, SIDES
from smprof_desktop.analysis.causes import Operators, causing_threads
from smprof_desktop.analysis.executions import Columns, Part, blocks
from smprof_desktop.analysis.intervals import Int64s, ends_of, fit, greatest_so_far
from smprof_desktop.analysis.statistics import MEDIAN, divide, exact_sum, quantiles

STEP = re.compile(r"(step|iteration|iter|batch|train_step)[_ #-]?\d+|ProfilerStep#\d+", re.IGNORECASE | re.ASCII)
_NUMBER = re.compile(r"[_ #-]?\d+\Z", re.ASCII)
_HOST_SIDE = SIDES.index("host")
_OP = HOST_KINDS.index("op")


@dataclass(frozen=True)
class Step:
    """One step, in ns of the profile's clock."""

    name: str
    process: str
    start_ns: int
    duration_ns: int


@dataclass
class AnnotationTotal:
    """All annotations of one name. Times on the GPU are None where nothing was launched inside any of them."""

    name: str
    durations_ns: Int64s
    gpu_busy_ns: int | None = None
    gpu_span_ns: int | None = None
    stem: str = field(init=False)

    def __post_init__(self) -> None:
        self.stem = stem(self.name)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.durations_ns)

    @property
    def total_ns(self) -> int:
        """Their durations' sum."""
        return exact_sum(self.durations_ns)

    @property
    def mean_ns(self) -> int:
        """Their durations' mean, to the nearest ns."""
        return divide(self.total_ns, self.count)

    @property
    def median_ns(self) -> int:
        """Their durations' median, to the nearest ns."""
        median = quantiles(self.durations_ns, (MEDIAN,))[0]
        assert median is not None
        return median

    @property
    def max_ns(self) -> int:
        """The longest."""
        return int(self.durations_ns.max())


@dataclass(frozen=True)
class OnGpu:
    """Per annotation, what was launched inside it: busy (the union) and span (first start to last end), in ns.

    Both are int64, or Python integers (dtype object) where 64 bits may not hold a span.

    `launched` is False, and both are 0, where nothing was launched.
    """

    launched: NDArray[np.bool_]
    busy_ns: NDArray[Any]
    span_ns: NDArray[Any]


def is_step(name: str, wanted: str | None = None) -> bool:
    """Whether an annotation of this name is a step; `wanted` is a name, stem or pattern (`*`, `?`) to go by instead."""
    if wanted is not None:
        return wanted in (name, stem(name)) or (any(mark in wanted for mark in "*?") and fnmatchcase(name, wanted))
    return STEP.fullmatch(name) is not None


def stem(name: str) -> str:
    """The name without its trailing number and separator (`step_12` → `step`); a name that is nothing else stays."""
    return _NUMBER.sub("", name) or name


def host_side(annotations: Part) -> Part:
    """Annotations as made in the program. Copies that a recorder projected onto a device never count."""
    return annotations.where(annotations.column("side") == _HOST_SIDE)


def steps(annotations: Part, texts: list[str], process: str, wanted: str | None = None) -> list[Step]:
    """The steps among host-side annotations, by start."""
    name_ids = annotations.column("name_id")
    used = [name_id for name_id in np.unique(name_ids).tolist() if 0 <= name_id < len(texts)]
    step_ids = [name_id for name_id in used if is_step(texts[name_id], wanted)]
    rows = np.flatnonzero(np.isin(name_ids, step_ids))
    rows = rows[np.argsort(annotations.start_ns[rows], kind="stable")]
    return [
        Step(texts[name_id], process, start_ns, end_ns - start_ns)
        for name_id, start_ns, end_ns in zip(
            name_ids[rows].tolist(), annotations.start_ns[rows].tolist(), annotations.end_ns[rows].tolist(), strict=True
        )
    ]


def totals(annotations: Part, on_gpu: OnGpu, texts: list[str]) -> list[AnnotationTotal]:
    """One total for each name. On the GPU each annotation counts by itself, so that nested ones count twice."""
    name_ids = annotations.column("name_id")
    order = np.argsort(name_ids, kind="stable")
    durations_ns = annotations.end_ns - annotations.start_ns
    found = []
    for first, behind in blocks(name_ids[order]):
        rows = order[first:behind]
        name_id = int(name_ids[rows[0]])
        total = AnnotationTotal(texts[name_id] if 0 <= name_id < len(texts) else LOST_NAME, durations_ns[rows])
        if on_gpu.launched[rows].any():
            total.gpu_busy_ns, total.gpu_span_ns = exact_sum(on_gpu.busy_ns[rows]), exact_sum(on_gpu.span_ns[rows])
        found.append(total)
    return merged(found)


def merged(found: Iterable[AnnotationTotal]) -> list[AnnotationTotal]:
    """One entry a name, total descending, then name."""
    by_name: dict[str, list[AnnotationTotal]] = {}
    for total in found:
        by_name.setdefault(total.name, []).append(total)
    result = [
        AnnotationTotal(
            name,
            np.concatenate([part.durations_ns for part in parts]),
            _sum_known(part.gpu_busy_ns for part in parts),
            _sum_known(part.gpu_span_ns for part in parts),
        )
        for name, parts in by_name.items()
    ]
    return sorted(result, key=lambda total: (-total.total_ns, total.name))


def operators_of(host: Columns) -> Operators:
    """The operators' columns that tell what caused what."""
    kinds = host["kind"]
    first, behind = np.searchsorted(kinds, _OP, "left"), np.searchsorted(kinds, _OP, "right")
    columns = ("thread", "start_ns", "duration_ns", "sequence", "forward_thread")
    return Operators(*(host[column][first:behind] for column in columns))


def on_gpu(annotations: Part, device: Part, launch: NDArray[Any], host: Columns) -> OnGpu:
    """Busy and span on the GPU of each host-side annotation.

    An execution belongs to an annotation when it was launched inside it, in [start, end), from the annotated thread or
    from one that this thread caused (see `causes`). All devices of the process count together: busy is the time in
    which any of them was.

    Args:
        annotations: host-side annotations, in the order of their table.
        device: the executions; their trimmed times count.
        launch: position in `host` of each execution's launch, negative where there is none.
        host: the host slices of the same process.
    """
    count = len(annotations)
    result = OnGpu(np.zeros(count, bool), np.zeros(count, np.int64), np.zeros(count, np.int64))
    linked = np.flatnonzero(launch >= 0)
    if not count or not len(linked):
        return result
    by_start = linked[np.argsort(device.start_ns[linked], kind="stable")]
    starts_ns, ends_ns, launch = device.start_ns[by_start], device.end_ns[by_start], launch[by_start]
    if not fit(starts_ns, ends_ns):
        result = OnGpu(result.launched, result.busy_ns.astype(object), result.span_ns.astype(object))
    launch_ns, launch_thread = host["start_ns"][launch], host["thread"][launch].astype(np.int64)
    threads, depths = annotations.column("thread").astype(np.int64), annotations.column("depth")
    causing = causing_threads(operators_of(host), launch_thread, launch_ns, threads)
    recorded_start_ns = annotations.column("start_ns")
    recorded_end_ns = ends_of(recorded_start_ns, annotations.column("duration_ns"))
    for first, behind in blocks(threads):
        mine = np.flatnonzero((launch_thread == threads[first]) | (causing == threads[first]))
        times_ns = launch_ns[mine]
        for low, high in blocks(depths[first:behind]):
            rows = slice(first + low, first + high)  # one line of the thread's lane: sorted and disjoint
            place = np.searchsorted(recorded_start_ns[rows], times_ns, "right") - 1
            inside = (place >= 0) & (times_ns < recorded_end_ns[rows][place])
            inner = mine[inside]
            if len(inner):
                _measure(result, first + low + place[inside], starts_ns[inner], ends_ns[inner])
    return result


def _measure(result: OnGpu, groups: NDArray[Any], starts_ns: Int64s, ends_ns: Int64s) -> None:
    """Fill in busy and span of each group of intervals. `starts_ns` ascend."""
    if not (groups[1:] >= groups[:-1]).all():
        by_group = np.argsort(groups, kind="stable")
        groups, starts_ns, ends_ns = groups[by_group], starts_ns[by_group], ends_ns[by_group]
    fresh = np.append(True, groups[1:] != groups[:-1])
    first = np.flatnonzero(fresh)
    reached_ns = greatest_so_far(ends_ns, fresh)
    starts_ns, reached_ns = starts_ns.astype(result.span_ns.dtype), reached_ns.astype(result.span_ns.dtype)
    gaps_ns = np.append(0, np.maximum(starts_ns[1:] - reached_ns[:-1], 0))
    gaps_ns[first] = 0
    span_ns = reached_ns[np.append(first[1:], len(groups)) - 1] - starts_ns[first]
    here = groups[first]
    result.launched[here] = True
    result.span_ns[here] = span_ns
    result.busy_ns[here] = span_ns - np.add.reduceat(gaps_ns, first)


def _sum_known(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
