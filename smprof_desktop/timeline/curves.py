"""Curves (utilization, counters, density of collapsed groups) as rectangles and as short text."""

from __future__ import annotations

import math

import numpy as np

from smprof_desktop.timeline.draw_list import Rects
from smprof_desktop.timeline.maker import Curve
from smprof_desktop.timeline.viewport import Limits, Viewport, duration_text


def share_text(curve: Curve, view: Viewport, limits: Limits) -> str:
    """`share` as text; `≤` where overlap could only be bounded, empty where nothing is known."""
    found = share(curve, view, limits)
    if found is None:
        return ""
    mark = "" if curve.is_exact else "≤ "
    return f"{mark}{100 * found:.0f} %" if found == 0 or found >= 0.01 else f"{mark}<1 %"


def share(curve: Curve, view: Viewport, limits: Limits) -> float | None:
    """Busy time ÷ the time that counts, both of the part of the profile in view; None where no time counts."""
    busy_ns, counted_ns = amounts(curve, view, limits)
    return min(busy_ns / counted_ns, 1.0) if counted_ns > 0 else None


def share_line(curve: Curve, view: Viewport, limits: Limits, is_of_windows: bool, sources: int) -> str:
    """The share in words, with what it is of: `55 % busy: 220 ns of the 400 ns in view`; empty where none is known."""
    busy_ns, counted_ns = amounts(curve, view, limits)
    text = share_text(curve, view, limits)
    if not text:
        return ""
    busy, counted = duration_text(round(min(busy_ns, counted_ns))), duration_text(round(counted_ns))
    what = "recorded in view" if is_of_windows else "in view"
    summed = f", summed over {sources:,}" if sources > 1 else ""
    return f"{text} busy: {busy} of the {counted} {what}{summed}"


def amounts(curve: Curve, view: Viewport, limits: Limits) -> tuple[float, float]:
    """Busy time in ns and the time that counts, both of the part of the profile in view, summed over the sources.

    A view of the whole profile takes in what the windows hold beyond its slices, as the report of it does. Of a bin at
    an edge of the view, as much of both counts as of it is in view.
    """
    if not len(curve.value):
        return 0.0, 0.0
    begin, end = max(view.begin_ns, limits.begin_ns), min(view.end_ns, limits.end_ns)
    busy_ns = counted_ns = 0.0
    if begin < end:
        level, most = curve.window.level, len(curve.value) - 1
        first, last = (min(max((time >> level) - curve.first_bin, 0), most) for time in (begin, end - 1))
        if last > first + 1:
            busy_ns = float(curve.busy_before_ns[last] - curve.busy_before_ns[first + 1])
            counted_ns = float(curve.counted_before_ns[last] - curve.counted_before_ns[first + 1])
        for at in {first, last}:
            # Of a bin at the edge a part is in view; what lies beyond the profile was never there to be seen.
            low, high = (at + curve.first_bin) << level, (at + 1 + curve.first_bin) << level
            whole = min(high, limits.end_ns) - max(low, limits.begin_ns)
            seen = max(min(high, end) - max(low, begin), 0) / max(whole, 1)
            busy_ns += seen * float(curve.busy_ns[at])
            counted_ns += seen * float(curve.counted_ns[at])
    if view.begin_ns <= limits.begin_ns and limits.end_ns <= view.end_ns:
        counted_ns += curve.outside_ns
    return busy_ns, counted_ns


def mean_in_view(curve: Curve, view: Viewport) -> float | None:
    """The mean of the values that there are in the bins that the view touches."""
    level = curve.window.level
    first = max((view.begin_ns >> level) - curve.first_bin, 0)
    seen = curve.value[first : max(((view.end_ns - 1) >> level) - curve.first_bin + 1, first)]
    mean = float(seen.mean()) if len(seen) else math.nan
    if math.isnan(mean):  # rarely: the rest has to be picked out
        seen = seen[np.isfinite(seen)]
        return float(seen.mean()) if len(seen) else None
    return mean


def curve_rects(
    curve: Curve,
    bounds: tuple[float, float],
    view: Viewport,
    left_px: float,
    y_px: float,
    height_px: float,
    colour: int,
) -> Rects:
    """A curve as rectangles standing on the lane's bottom, `height_px` high at the second of the bounds and none at the
    first; neighbours of equal height are one."""
    if not len(curve.value):
        return Rects.empty()
    level = curve.window.level
    heads, height = curve.levels(*bounds, height_px)
    first = int(np.searchsorted(heads, (view.begin_ns >> level) - curve.first_bin, "right")) - 1
    behind = int(np.searchsorted(heads, ((view.end_ns - 1) >> level) - curve.first_bin, "right"))
    edges = np.append(heads, len(curve.value))[max(first, 0) : behind + 1]
    height = height[max(first, 0) : behind]
    x_px = np.clip(np.floor(view.xs_px((edges + curve.first_bin) << np.int64(level))), 0.0, view.width_px)
    if len(height) == 0:
        return Rects.empty()
    keep = height > 0
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
