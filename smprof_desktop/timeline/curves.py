"""Curves (utilization, counters, density of collapsed groups) as rectangles and as short text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.timeline.draw_list import Rects
from smprof_desktop.timeline.maker import Curve
from smprof_desktop.timeline.viewport import Limits, Viewport


def share_text(curve: Curve, view: Viewport, limits: Limits) -> str:
    """`share` as text; `≤` where overlap could only be bounded, empty where nothing is known."""
    found = share(curve, view, limits)
    if found is None:
        return ""
    mark = "" if curve.is_exact else "≤ "
    return f"{mark}{100 * found:.0f} %" if found == 0 or found >= 0.01 else f"{mark}<1 %"


def share(curve: Curve, view: Viewport, limits: Limits) -> float | None:
    """Busy time ÷ the time that counts, both of the part of the profile in view; None where no time counts.

    A view of the whole profile takes in what the windows hold beyond its slices, as the report of it does.
    """
    if not len(curve.value):
        return None
    begin, end = max(view.begin_ns, limits.begin_ns), min(view.end_ns, limits.end_ns)
    edges = (np.arange(len(curve.value) + 1) + curve.first_bin) * np.int64(1 << curve.window.level)
    whole = np.minimum(edges[1:], limits.end_ns) - np.maximum(edges[:-1], limits.begin_ns)
    part = np.maximum(np.minimum(edges[1:], end) - np.maximum(edges[:-1], begin), 0)
    seen = part / np.maximum(whole, 1)
    counted_ns = float((curve.counted_ns * seen).sum())
    if view.begin_ns <= limits.begin_ns and limits.end_ns <= view.end_ns:
        counted_ns += curve.outside_ns
    return min(float((curve.busy_ns * seen).sum()) / counted_ns, 1.0) if counted_ns > 0 else None


def in_view(curve: Curve, view: Viewport) -> NDArray[np.float64]:
    """The values of the bins that the view touches."""
    level = curve.window.level
    first = max((view.begin_ns >> level) - curve.first_bin, 0)
    return curve.value[first : max(((view.end_ns - 1) >> level) - curve.first_bin + 1, first)]


def curve_rects(
    curve: Curve,
    shares: NDArray[np.float64],
    view: Viewport,
    left_px: float,
    y_px: float,
    height_px: float,
    colour: int,
) -> Rects:
    """A curve as rectangles standing on the lane's bottom; neighbours of equal height are one."""
    if not len(curve.value):
        return Rects.empty()
    level = curve.window.level
    first = max((view.begin_ns >> level) - curve.first_bin, 0)
    last = min(((view.end_ns - 1) >> level) - curve.first_bin + 1, len(shares))
    part = np.nan_to_num(np.clip(shares[first:last], 0.0, 1.0), nan=0.0)
    if len(part) == 0:
        return Rects.empty()
    # Half pixels keep a share of 2 % apart from nothing and long level stretches in one rectangle.
    height = np.ceil(part * height_px * 2) / 2
    heads = np.concatenate(([0], np.flatnonzero(height[1:] != height[:-1]) + 1))
    edges = (np.append(heads, len(part)) + (first + curve.first_bin)) << np.int64(level)
    x_px = np.clip(np.floor(view.xs_px(edges)), 0.0, view.width_px)
    height = height[heads]
    keep = (height > 0) & (x_px[1:] >= x_px[:-1])
    x0, width = x_px[:-1][keep], np.maximum(np.diff(x_px)[keep], 1.0)
    height = height[keep]
    return Rects(x0 + left_px, y_px + height_px - height, width, height, np.full(len(x0), colour, np.uint8))


def value_text(value: float, unit: str) -> str:
    """A counter's value with its unit: `22 %`, `12.3 GB`, `1.5 k`."""
    unit = "B" if unit.lower() == "bytes" else unit
    if unit in ("%", "°C", "C") or unit[:1] in ("k", "M", "G", "m"):  # has its prefix, or takes none
        return f"{value:.3g} {unit}" if abs(value) < 1000 else f"{value:.0f} {unit}"
    number = short_number(value)
    return f"{number}{'' if number[-1].isalpha() else ' '}{unit}" if unit else number


def short_number(value: float) -> str:
    """Three digits and a decimal prefix: `12.3 G`."""
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{value:.3g}"
