"""How a value of a table, an axis or a bar is written, by its kind. No Qt."""

from __future__ import annotations

import math
from typing import Any

from smprof_desktop.analysis.quantities import bytes_text, exact_time_text, time_text
from smprof_desktop.dashboard.figures import Kind

NOTHING = "–"
_TEXTS = ("text", "name", "kernel")


def is_number(kind: Kind) -> bool:
    """Whether values of the kind are ordered by size and stand to the right."""
    return kind not in _TEXTS


def cell_text(value: Any, kind: Kind) -> str:
    """A value for people; `–` where there is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    if kind == "ns":
        return time_text(int(value))
    if kind == "count":
        return f"{value:,}"
    if kind == "bytes":
        return bytes_text(int(value))
    if kind == "percent":
        return f"{value:,.1f} %"
    if kind == "bytes_per_s":
        return f"{value / 1e9:,.3f} GB/s"
    if kind == "number":
        return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
    return str(value)


def exact_text(value: Any, kind: Kind) -> str:
    """A value without rounding."""
    if value is None or not is_number(kind):
        return cell_text(value, kind)
    if kind == "ns":
        return exact_time_text(int(value))
    return f"{value:,}" + {"bytes": " bytes", "percent": " %", "bytes_per_s": " bytes/s"}.get(kind, "")


def saved_title(title: str, kind: Kind) -> str:
    """The heading of a column where values stand without their units."""
    unit = {"ns": "ns", "bytes": "bytes", "percent": "percent", "bytes_per_s": "bytes_per_s"}.get(kind)
    return f"{title} ({unit})" if unit else title


_SCALES: dict[Kind, tuple[tuple[int, str], ...]] = {
    "ns": ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns")),
    "bytes": ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes")),
    "bytes_per_s": ((10**12, "TB/s"), (10**9, "GB/s"), (10**6, "MB/s"), (10**3, "kB/s"), (1, "bytes/s")),
    "percent": ((1, "%"),),
}


def axis_unit(largest: float, kind: Kind) -> tuple[int, str]:
    """The unit of an axis that reaches `largest`: its length in what the kind counts, and its name; 1, "" for none."""
    scales = _SCALES.get(kind, ((1, ""),))
    return next((unit for unit in scales if largest >= 2 * unit[0]), scales[-1])


def axis_title(title: str, unit: str) -> str:
    """The title of an axis with its unit, unless it tells one itself."""
    return f"{title} ({unit})" if unit and not title.endswith(")") else title


def ticks(most: float, is_whole: bool = False) -> list[tuple[float, str]]:
    """Up to six values from 0 to `most` at steps of 1, 2 or 5 times a power of ten, and how they are written."""
    if not most > 0 or math.isinf(most):
        return [(0.0, "0")]
    least_step = max(most / 5, 1.0) if is_whole else most / 5
    power = 10.0 ** math.floor(math.log10(least_step))
    step = next(power * part for part in (1, 2, 5, 10, 20) if power * part >= least_step * (1 - 1e-9))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(step * place, f"{step * place:,.{decimals}f}") for place in range(int(most / step * (1 + 1e-9)) + 1)]
