"""The tables of a report for people: one definition behind the text and the HTML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from smprof_desktop.analysis import untraced
from smprof_desktop.analysis.quantities import share_text, time_text
from smprof_desktop.analysis.statistics import divide

Cell = Callable[[dict[str, Any]], str]


@dataclass(frozen=True)
class TableOfFigures:
    """A title, what its figures mean, column heads and rows of plain text.

    `wide` is the column of names, which may be elided; the columns behind it hold numbers. `left_out` counts the rows
    that did not fit.
    """

    title: str
    note: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: int
    left_out: int = 0


def tables(report: dict[str, Any], most_rows: int | None = None) -> list[TableOfFigures]:
    """The tables of a report that have rows, each with `most_rows` rows at most."""
    found = [_devices(report)]
    for definition in _DEFINITIONS:
        if definition[0] == "annotations":
            found.append(_steps(report))
        found.append(_table(report, *definition))
    return [_cut(table, most_rows) for table in found if table.rows]


def headline(report: dict[str, Any]) -> list[tuple[str, str]]:
    """What the profile is, and the launch latency, as (label, value)."""
    profile, latency, activities = report["profile"], report["latency"]["kernels"], report["activities"]
    slices = ", ".join(f"{count:,} {kind}" for kind, count in profile["slices"].items() if count)
    rows = [
        ("Profile", profile["name"] or "(unnamed)"),
        ("Span", time_text(profile["span_ns"])),
        ("Hosts", ", ".join(profile["hosts"]) or "none"),
        ("Slices", slices or _why_no_slices(report)),
    ]
    if profile["counters"]:
        rows.append(("Counter samples", f"{profile['counters']:,}"))
    sums = [(label, activities[f"{key}_ns"]) for key, label in _ACTIVITIES if activities[f"{key}_ns"]]
    if sums:
        rows.append(("Activities", ", ".join(f"{label} {time_text(total_ns)}" for label, total_ns in sums)))
    if activities["kernel_ns"]:
        told = (f"{name} {share_text(ns, activities['kernel_ns'])}" for name, ns in report["precision"].items())
        rows.append(("Precision", f"{', '.join(told)} of kernel time, by the kernels' names"))
    untold = profile["slices"]["device"] or _is_of_a_range(report)
    if not untold and any(loss["kind"] == untraced.MISSING for loss in report["losses"]):
        what, *more = untraced.why_no_device(report["losses"])
        rows += [("GPU", what), *(("", sentence) for sentence in more)]
    if latency["linked"]:
        rows.append(
            (
                "Launch latency",
                f"median {time_text(latency['median_ns'])}, p99 {time_text(latency['p99_ns'])}, "
                f"from {time_text(latency['min_ns'])} to {time_text(latency['max_ns'])}",
            )
        )
    if latency["linked"] or latency["unlinked"]:
        parts = [f"{latency['linked']:,} linked", f"{latency['unlinked']:,} without a recorded launch"]
        parts += [f"{latency[key]:,} {label}" for key, label in _LINKS if latency[key]]
        rows.append(("Kernels", ", ".join(parts)))
    return rows


def _why_no_slices(report: dict[str, Any]) -> str:
    if _is_of_a_range(report):
        return "none: nothing was recorded in this range"
    return "none" if report["profile"]["counters"] else "none: this profile holds no events"


def _is_of_a_range(report: dict[str, Any]) -> bool:
    return any(report["asked"][edge] is not None for edge in ("begin_ns", "end_ns"))


_ACTIVITIES = (("kernel", "kernels"), ("memcpy", "copies"), ("memset", "sets"), ("sync", "synchronisation"))
_LINKS = (("via_graph_launch", "by graph launches"), ("negative", "before their launch"))


def _devices(report: dict[str, Any]) -> TableOfFigures:
    rows = []
    for device in report["devices"]:
        utilization = device["utilization"]
        rows.append(
            (
                device["host"],
                device["process"],
                str(device["device"]),
                device["name"],
                "–" if utilization is None else f"{100 * utilization:.1f} %",
                time_text(device["active_ns"]),
                time_text(device["window_ns"]),
                time_text(device["kernel_ns"]),
                time_text(device["memcpy_ns"]),
                time_text(device["memset_ns"]),
                str(len(device["streams"])),
            )
        )
    return TableOfFigures(
        "Devices",
        "Utilization is active ÷ window. Active counts overlap once, the others twice.",
        ("Host", "Process", "GPU", "Name", "Utilization", "Active", "Window", "Kernels", "Copies", "Sets", "Streams"),
        tuple(rows),
        wide=3,
    )


def _steps(report: dict[str, Any]) -> TableOfFigures:
    """A row for each name of steps, by first start: in a job of many processes each step has as many slices."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for step in report["steps"]:
        by_name.setdefault(step["name"], []).append(step)
    rows = []
    for name, steps in by_name.items():
        durations_ns = [step["duration_ns"] for step in steps]
        rows.append(
            (
                name,
                f"{len(steps):,}",
                f"{len({step['process'] for step in steps}):,}",
                time_text(min(durations_ns)),
                time_text(divide(sum(durations_ns), len(steps))),
                time_text(max(durations_ns)),
                str(max(steps, key=lambda step: step["duration_ns"])["process"]),
            )
        )
    note = "Slowest is the process of the greatest duration."
    if report["asked"]["step"] is not None:
        whole = "range" if _is_of_a_range(report) else "profile"
        note = f"Only what --step asks for; the other tables are for the whole {whole}. {note}"
    heads = ("Name", "Count", "Processes", "Min", "Mean", "Max", "Slowest")
    return TableOfFigures("Steps", note, heads, tuple(rows), wide=0)


def _name(row: dict[str, Any]) -> str:
    return str(row["name"])


def _kind(row: dict[str, Any]) -> str:
    return str(row["kind"])


def _count(key: str) -> Cell:
    return lambda row: f"{row[key]:,}"


def _time(key: str) -> Cell:
    return lambda row: time_text(row[key])


_COUNT = ("Count", _count("count"))
_TOTAL = ("Total", _time("total_ns"))

_DEFINITIONS: tuple[tuple[str, str, str, tuple[tuple[str, Cell], ...]], ...] = (
    (
        "kernels",
        "Kernels",
        "Plain sums: kernels that overlap count twice.",
        (
            ("Name", _name),
            _COUNT,
            _TOTAL,
            ("Min", _time("min_ns")),
            ("Mean", _time("mean_ns")),
            ("Max", _time("max_ns")),
            ("Precision", lambda row: row["precision"] or "unknown"),
        ),
    ),
    ("memory_ops", "Memory operations", "", (("Kind", _kind), _COUNT, _TOTAL, ("Bytes", _count("bytes")))),
    ("syncs", "Synchronisation calls", "Host time in API calls that wait.", (("Name", _name), _COUNT, _TOTAL)),
    ("sync_records", "Synchronisation records", "Never added to the calls.", (("Name", _name), _COUNT, _TOTAL)),
    (
        "annotations",
        "Annotations",
        "Total, mean and median are host time; on the GPU counts what was launched inside.",
        (
            ("Name", _name),
            _COUNT,
            _TOTAL,
            ("Mean", _time("mean_ns")),
            ("Median", _time("median_ns")),
            ("GPU busy", _time("gpu_busy_ns")),
            ("GPU span", _time("gpu_span_ns")),
        ),
    ),
    (
        "ops",
        "Operators",
        "Host self is without the operators called directly; device time is what was launched beneath.",
        (
            ("Name", _name),
            _COUNT,
            ("Host total", _time("host_total_ns")),
            ("Host self", _time("host_self_ns")),
            ("Device", _time("device_ns")),
        ),
    ),
    (
        "losses",
        "Losses",
        "What was recorded or read and is not shown, or is not whole.",
        (("Kind", lambda row: f"{row['kind']}: {row['detail']}" if row["detail"] else row["kind"]), _COUNT),
    ),
)


def _table(
    report: dict[str, Any], key: str, title: str, note: str, columns: tuple[tuple[str, Cell], ...]
) -> TableOfFigures:
    rows = tuple(tuple(cell(row) for _, cell in columns) for row in report[key])
    return TableOfFigures(title, note, tuple(head for head, _ in columns), rows, wide=0)


def _cut(table: TableOfFigures, most_rows: int | None) -> TableOfFigures:
    if most_rows is None or len(table.rows) <= most_rows:
        return table
    left_out = len(table.rows) - most_rows
    return TableOfFigures(table.title, table.note, table.heads, table.rows[:most_rows], table.wide, left_out)
