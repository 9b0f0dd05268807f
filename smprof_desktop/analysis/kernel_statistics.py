"""Everything about the executions of each kernel: exact times, quantiles, launch shape, occupancy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import LOST_NAME, NONE
from smprof_desktop.analysis import names
from smprof_desktop.analysis.executions import blocks, part
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.analysis.kernels import KERNEL
from smprof_desktop.analysis.statistics import MEDIAN, P99, Totals, divide, grouped, quantiles

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile

_LAUNCH = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers_per_thread")
"""What makes a launch shape here, beside the name."""
Extent = tuple[int, int, int]


@dataclass(frozen=True)
class KernelStatistics:
    """All executions of one kernel, called by its exact name. Overlap counts twice.

    Grid, block and registers are those that most of them had, None where that was not recorded.
    """

    name: str
    count: int
    total_ns: int
    min_ns: int
    median_ns: int
    p99_ns: int
    max_ns: int
    occupancy_percent: float | None
    """The mean over the time of those of which it was recorded."""
    grid: Extent | None
    block: Extent | None
    registers: int | None

    @property
    def mean_ns(self) -> int:
        """The mean to the nearest ns, halves to even."""
        return divide(self.total_ns, self.count)


@dataclass(frozen=True)
class ProcessKernels:
    """The kernels of one process: `names`, and the durations of each one's executions in [edges[i], edges[i + 1])."""

    names: list[str]
    edges: Int64s
    durations_ns: NDArray[Any]
    """In 32 bits where they fit."""
    shape_name: Int64s
    """Of each launch shape that was executed, the place of its name in `names`; so are the columns below."""
    launches: NDArray[np.int64]
    """A row for each launch shape: the columns of _LAUNCH."""
    occupancy_percent: NDArray[np.float64]
    totals: Totals


def of_process(process: ProcessProfile, begin_ns: int | None = None, end_ns: int | None = None) -> ProcessKernels:
    """The kernels that a process executed in a range [begin_ns, end_ns), their times trimmed to it."""
    device = part(process.table("device"), begin_ns, end_ns)
    shapes, texts = process.table("shapes"), names.exact_texts(process)
    device = device.where(device.column("kind") == KERNEL)
    shape_ids, durations_ns, known = device.column("shape_id"), device.duration_ns, len(shapes)
    if len(shape_ids) and not (int(shape_ids.min()) >= 0 and int(shape_ids.max()) < known):
        shape_ids = np.where((shape_ids >= 0) & (shape_ids < known), shape_ids, known)
    totals = grouped(shape_ids, durations_ns, known + 1)
    used = np.flatnonzero(totals.count)
    place_of: dict[str, int] = {}
    name_of_shape = np.zeros(known + 1, np.int64)
    for shape, name_id in zip(used.tolist(), np.append(shapes["name_id"], NONE)[used].tolist(), strict=True):
        name = texts[name_id] if 0 <= name_id < len(texts) else LOST_NAME
        name_of_shape[shape] = place_of.setdefault(name, len(place_of))
    # 16 bits are sorted by counting, in a fifth of the time.
    kinds = name_of_shape.astype(np.uint16) if len(place_of) < 1 << 16 else name_of_shape
    counts = np.zeros(len(place_of), np.int64)
    np.add.at(counts, name_of_shape[used], totals.count[used])
    if len(durations_ns) and int(totals.greatest.max()) < 1 << 32:
        durations_ns = durations_ns.astype(np.uint32)
    launches = np.stack([np.append(shapes[column], NONE)[used] for column in _LAUNCH], axis=1).astype(np.int64)
    return ProcessKernels(
        list(place_of),
        np.concatenate((np.zeros(1, np.int64), np.cumsum(counts))),
        durations_ns[np.argsort(kinds[shape_ids], kind="stable")],
        name_of_shape[used],
        launches,
        np.append(shapes["occupancy_percent"], np.nan)[used],
        Totals(totals.count[used], totals.total[used], totals.least[used], totals.greatest[used]),
    )


def merged(processes: Sequence[ProcessKernels]) -> list[KernelStatistics]:
    """The kernels of several processes, one entry a name: total descending, then name."""
    place_of: dict[str, int] = {}
    places = [[place_of.setdefault(name, len(place_of)) for name in found.names] for found in processes]
    shapes = _Shapes.of(processes, places, len(place_of))
    durations: list[list[NDArray[Any]]] = [[] for _ in place_of]
    for found, mine in zip(processes, places, strict=True):
        edges = found.edges.tolist()
        for at, place in enumerate(mine):
            durations[place].append(found.durations_ns[edges[at] : edges[at + 1]])
    rows = []
    for name, place in place_of.items():
        values = durations[place][0] if len(durations[place]) == 1 else np.concatenate(durations[place])
        median_ns, p99_ns = quantiles(values, (MEDIAN, P99))
        assert median_ns is not None and p99_ns is not None
        rows.append(
            KernelStatistics(
                name,
                len(values),
                int(shapes.total_ns[place]),
                int(shapes.least_ns[place]),
                median_ns,
                p99_ns,
                int(shapes.greatest_ns[place]),
                _known(shapes.occupancy_percent[place]),
                *shapes.launch(place),
            )
        )
    return sorted(rows, key=lambda row: (-row.total_ns, row.name))


@dataclass(frozen=True)
class _Shapes:
    """Per name, what its launch shapes say of it."""

    total_ns: NDArray[Any]
    least_ns: Int64s
    greatest_ns: Int64s
    occupancy_percent: NDArray[np.float64]
    usual: NDArray[np.int64]
    """The launch shape that most executions had: the columns of _LAUNCH. Of equals the least."""

    @classmethod
    def of(cls, processes: Sequence[ProcessKernels], places: Sequence[Sequence[int]], size: int) -> _Shapes:
        """Gathered from the shapes of all processes; `places` tells the place of each name of a process."""
        total_ns = np.zeros(size, object)
        least_ns = np.full(size, np.iinfo(np.int64).max, np.int64)
        greatest_ns = np.zeros(size, np.int64)
        weighted, weight = np.zeros(size), np.zeros(size)
        rows = [np.zeros((0, 2 + len(_LAUNCH)), np.int64)]
        for found, mine in zip(processes, places, strict=True):
            at = np.array(mine, np.int64)[found.shape_name]
            np.add.at(total_ns, at, found.totals.total.astype(object))
            np.minimum.at(least_ns, at, found.totals.least)
            np.maximum.at(greatest_ns, at, found.totals.greatest)
            occupancy = found.occupancy_percent
            time_ns = np.where(np.isfinite(occupancy), found.totals.total.astype(np.float64), 0.0)
            np.add.at(weighted, at, np.where(time_ns > 0, occupancy * time_ns, 0.0))
            np.add.at(weight, at, time_ns)
            rows.append(np.column_stack((at, found.launches, found.totals.count)))
        with np.errstate(invalid="ignore"):
            return cls(total_ns, least_ns, greatest_ns, weighted / weight, _usual(np.concatenate(rows), size))

    def launch(self, place: int) -> tuple[Extent | None, Extent | None, int | None]:
        """Grid, block and registers of the usual launch shape."""
        *extents, registers = self.usual[place].tolist()
        grid, block = tuple(extents[:3]), tuple(extents[3:])
        return (
            grid if NONE not in grid else None,
            block if NONE not in block else None,
            registers if registers != NONE else None,
        )


def _usual(rows: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Of rows (name, launch shape, executions) the launch shape of each name that most executions had."""
    usual = np.full((size, len(_LAUNCH)), NONE, np.int64)
    if not len(rows):
        return usual
    rows = rows[np.lexsort(rows[:, -2::-1].T)]
    first = np.array([low for low, _ in blocks(*rows[:, :-1].T)])
    alike, counts = rows[first], np.add.reduceat(rows[:, -1], first)
    order = np.lexsort((-counts, alike[:, 0]))  # stable: of equals the least launch shape comes first
    best = order[np.append(True, np.diff(alike[order, 0]) > 0)]
    usual[alike[best, 0]] = alike[best, 1:-1]
    return usual


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
