"""How a value of a table, an axis or a bar is written, by its kind. No Qt."""

from __future__ import annotations

import math
from typing import Any

from smprof_desktop.analysis.quantities import bytes_text, exact_time_text, time_text
from smprof_desktop.dashboard.figures import Kind

NOTHING = "–"
_TEXTS = ("text", "name")


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
