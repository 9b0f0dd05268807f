"""Annotations by stem and by name, by what they took on the host and on the GPU. No Qt."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from smprof.profile.schema import LOST_NAME, SLICE_TABLES
from smprof_desktop.analysis import names, steps
from smprof_desktop.analysis.claim_figures import Claims
from smprof_desktop.analysis.doors import Chosen, Door, Found, of_moments
from smprof_desktop.analysis.executions import blocks, part
from smprof_desktop.analysis.intervals import Int64s
from smprof_desktop.analysis.statistics import MEDIAN, P99, divide, exact_sum, quantiles
from smprof_desktop.dashboard.absent import missing
from smprof_desktop.dashboard.each_process import each_process
from smprof_desktop.dashboard.figures import Column, Figure, Table
from smprof_desktop.dashboard.panel import Panel
from smprof_desktop.dashboard.scope import Scope
from smprof_desktop.progress import CancelCheck, Cancelled

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

SECTION = "Annotations"
SPAN_COLUMN, BUSY_COLUMN = 7, 8


def by_stem(scope: Scope) -> Figure:
    """Annotations whose names differ by a trailing number as one."""
    return _table(scope, by_its_stem=True)


def by_name(scope: Scope) -> Figure:
    """Annotations of each name."""
    return _table(scope, by_its_stem=False)


def _table(scope: Scope, by_its_stem: bool) -> Figure:
    told = scope.report()["annotations"]
    if not told:
        return missing(
            scope,
            "annotation",
            "No annotation was recorded. Annotate what matters: `with smprof.annotate('forward')`, "
            "torch.profiler.record_function or an NVTX range.",
        )
    durations = scope.once("annotation durations", lambda: _durations(scope))
    groups: dict[str, list[tuple[frozenset[str], Any]]] = {}
    for row in told:
        groups.setdefault(row["stem" if by_its_stem else "name"], []).append((scope.built().exact([row["name"]]), row))
    rows: list[tuple[Any, ...]] = []
    doors: list[tuple[Door, Door, Door]] = []
    for title, members in groups.items():
        exact = frozenset(name for wanted, _ in members for name in wanted)
        rows.append((title, *_row([durations[name] for name in sorted(exact)], [row for _, row in members])))
        doors.append(_doors(scope, title, exact))
    order = sorted(range(len(rows)), key=lambda at: (-(rows[at][BUSY_COLUMN] or 0), -rows[at][2], rows[at][0]))
    count, total_ns = sum(row[1] for row in rows), sum(row[2] for row in rows)
    return Table(
        (
            Column("Annotation", "name"),
            Column("Count", "count"),
            Column("Host span", "ns", "The sum of their durations on the host."),
            Column("Mean", "ns", "Of their durations on the host."),
            Column("Median", "ns", "Of their durations on the host."),
            Column("p99", "ns", "99 of 100 took no longer on the host."),
            Column("Greatest", "ns", "The longest on the host."),
            Column("GPU span", "ns", "From the first start to the last end of what was launched inside each."),
            Column("GPU busy", "ns", "In that span, the time in which any of it ran; overlap counts once."),
        ),
        [rows[at] for at in order],
        f"{count:,} annotations" if count != 1 else "1 annotation",
        [doors[at][0] for at in order],
        ("All", count, total_ns, divide(total_ns, count), None, None, max(row[6] for row in rows), None, None),
        "each annotation counts by itself: time in an inner one counts in the outer one too",
        {SPAN_COLUMN: [doors[at][1] for at in order], BUSY_COLUMN: [doors[at][2] for at in order]},
    )


def _row(durations: list[Int64s], told: list[Any]) -> tuple[Any, ...]:
    durations_ns = np.concatenate(durations)
    count, total_ns = len(durations_ns), exact_sum(durations_ns)
    if count == 1:
        median_ns = p99_ns = total_ns
    else:
        median_ns, p99_ns = quantiles(durations_ns, (MEDIAN, P99))  # type: ignore[assignment]
    return (
        count,
        total_ns,
        divide(total_ns, count),
        median_ns,
        p99_ns,
        int(durations_ns.max()),
        _known(row["gpu_span_ns"] for row in told),
        _known(row["gpu_busy_ns"] for row in told),
    )


def _known(values: Iterable[int | None]) -> int | None:
    found = [value for value in values if value is not None]
    return sum(found) if found else None


def _durations(scope: Scope) -> dict[str, Int64s]:
    """By exact name the durations of the annotations that overlap the range, trimmed to it."""
    begin_ns, end_ns = scope.begin_ns, scope.end_ns

    def of(process: ProcessProfile) -> dict[str, list[Int64s]]:
        annotations = steps.host_side(part(process.table("annotation"), begin_ns, end_ns))
        texts, name_ids = names.exact_texts(process), annotations.column("name_id")
        order = np.argsort(name_ids, kind="stable")
        durations_ns = annotations.duration_ns[order]
        found: dict[str, list[Int64s]] = {}
        for first, behind in blocks(name_ids[order]):
            name_id = int(name_ids[order[first]])
            name = texts[name_id] if 0 <= name_id < len(texts) else LOST_NAME
            found.setdefault(name, []).append(durations_ns[first:behind])
        return found

    every: dict[str, list[Int64s]] = {}
    for found in each_process(scope, of):
        for name, columns in found.items():
            every.setdefault(name, []).extend(columns)
    return {name: np.concatenate(columns) for name, columns in every.items()}


def _doors(scope: Scope, title: str, exact: frozenset[str]) -> tuple[Door, Door, Door]:
    """To the annotations themselves, to their spans on the GPU and to what ran in them."""
    begin_ns, end_ns = scope.begin_ns, scope.end_ns
    chosen = Chosen("annotation", ("host",), exact, begin_ns=begin_ns, end_ns=end_ns)
    return (
        chosen.door(title),
        Door(f"GPU span of {title}", partial(_on_gpu, (begin_ns, end_ns), exact, True)),
        Door(f"GPU busy in {title}", partial(_on_gpu, (begin_ns, end_ns), exact, False)),
    )


def _on_gpu(
    limits: tuple[int | None, int | None],
    exact: frozenset[str],
    spans: bool,
    profile: Profile,
    cancelled: CancelCheck,
) -> Found:
    found = []
    for index, process in enumerate(profile.processes):
        if cancelled():
            raise Cancelled
        pieces = Claims(process, *limits).on_gpu(exact)
        if spans:
            found.append(of_moments(index, pieces.first_ns, pieces.last_ns))
        else:
            count = len(pieces.row)
            table = np.full(count, SLICE_TABLES.index("device"), np.int8)
            found.append(Found(np.full(count, index, np.int32), table, pieces.row, pieces.begin_ns, pieces.end_ns))
    return Found.joined(found)


_NEEDS = ("annotation.start_ns", "annotation.duration_ns", "annotation.name_id")

ANNOTATION_PANELS: tuple[Panel, ...] = (
    Panel(
        "annotations_by_stem",
        "Annotations by stem",
        _NEEDS,
        by_stem,
        Table,
        6,
        "What the annotations of the program cost, those as one whose names differ by a number at the end: step_1 and "
        "step_2 are step. By the time that the GPU was busy for them, not by the time that the host took to launch it.",
        SECTION,
    ),
    Panel(
        "annotations_by_name",
        "Annotations by name",
        _NEEDS,
        by_name,
        Table,
        6,
        "The same for each name by itself: to find the one step that differs.",
        SECTION,
    ),
)
"""In the order of the page."""
