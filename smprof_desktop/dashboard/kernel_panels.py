"""All kernels with everything that is known of them, as a table. No Qt."""

from __future__ import annotations

from functools import partial
from typing import Any

from smprof_desktop.analysis import kernel_statistics, names
from smprof_desktop.analysis.doors import Chosen
from smprof_desktop.analysis.kernel_statistics import Extent, KernelStatistics
from smprof_desktop.analysis.precision import UNKNOWN, precision, uses_tensor_cores
from smprof_desktop.analysis.quantities import elide_middle
from smprof_desktop.dashboard.absent import no_device
from smprof_desktop.dashboard.each_process import each_process
from smprof_desktop.dashboard.figures import Column, Figure, Table
from smprof_desktop.dashboard.kernel_pies import ALL_TIME
from smprof_desktop.dashboard.panel import DEVICE_TIME, Panel
from smprof_desktop.dashboard.scope import Scope

_TENSOR_CORES = {True: "yes", False: "no", None: UNKNOWN}
_COLUMNS = (
    Column("Name", "kernel"),
    Column("Count", "count"),
    Column("Total", "ns", "The plain sum: executions that overlap count twice."),
    Column("Share", "percent", "Of all kernel time."),
    Column("Mean", "ns"),
    Column("Median", "ns"),
    Column("P99", "ns", "99 of 100 executions take no longer."),
    Column("Min", "ns"),
    Column("Max", "ns"),
    Column("Precision", "text", "What its name tells of the numbers it computes with."),
    Column("Tensor cores", "text", "Whether its name tells that it uses the matrix units."),
    Column("Occupancy", "percent", "As estimated by the recorder: the mean over the time of its executions."),
    Column("Registers", "count", "Per thread, of the launch shape that most executions had."),
    Column("Grid", "text", "Blocks, of the launch shape that most executions had."),
    Column("Block", "text", "Threads, of the launch shape that most executions had."),
)


def all_kernels(scope: Scope) -> Figure:
    """A row for each kernel, by total time; sorted and filtered by whoever looks."""
    work = partial(kernel_statistics.of_process, begin_ns=scope.begin_ns, end_ns=scope.end_ns)
    kernels = kernel_statistics.merged(each_process(scope, work))
    if not kernels:
        return no_device(scope)
    shown = names.shown(kernel.name for kernel in kernels)
    whole = sum(kernel.total_ns for kernel in kernels)
    rows = [_row(kernel, shown.get(kernel.name, kernel.name), whole) for kernel in kernels]
    limits: dict[str, Any] = {"begin_ns": scope.begin_ns, "end_ns": scope.end_ns}
    doors = [
        Chosen("device", ("kernel",), frozenset((kernel.name,)), **limits).door(elide_middle(row[0], 120), ALL_TIME)
        for kernel, row in zip(kernels, rows, strict=True)
    ]
    count = sum(kernel.count for kernel in kernels)
    title = "1 kernel" if len(kernels) == 1 else f"{len(kernels):,} kernels"
    totals = (title, count, whole, 100.0 if whole else None, *(None for _ in _COLUMNS[4:]))
    return Table(_COLUMNS, rows, ALL_TIME, doors, totals)


def _row(kernel: KernelStatistics, name: str, whole_ns: int) -> tuple[Any, ...]:
    return (
        name,
        kernel.count,
        kernel.total_ns,
        100 * kernel.total_ns / whole_ns if whole_ns else None,
        kernel.mean_ns,
        kernel.median_ns,
        kernel.p99_ns,
        kernel.min_ns,
        kernel.max_ns,
        precision(kernel.name) or UNKNOWN,
        _TENSOR_CORES[uses_tensor_cores(kernel.name)],
        kernel.occupancy_percent,
        kernel.registers,
        _extent_text(kernel.grid),
        _extent_text(kernel.block),
    )


def _extent_text(extent: Extent | None) -> str | None:
    return None if extent is None else " × ".join(map(str, extent))


KERNEL_PANELS = (
    Panel(
        "all_kernels",
        "All kernels",
        (*DEVICE_TIME, "device.shape_id"),
        all_kernels,
        Table,
        6,
        "Every kernel with the times of its executions. A P99 or a maximum far above the median means that some "
        "executions wait for others, or have more to do. Precision and tensor cores are told by the name; registers, "
        "grid and block are those of most of its executions.",
        section="Kernels",
    ),
)
