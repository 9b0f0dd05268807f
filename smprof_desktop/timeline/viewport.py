"""The visible range of time and how it maps to pixels, and times and durations as text."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

MIN_SPAN_NS = 1
MARGIN = 0.05
"""Share of the profile's span that may be seen before its start and behind its end."""

_FIRST_NS, _LAST_NS = -(1 << 62), 1 << 62
"""Where a viewport ends whatever the profile holds: differences of two such times stay inside int64."""
_SECOND = 1_000_000_000
UNITS_NS = (("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", _SECOND))


@dataclass(frozen=True)
class Limits:
    """What a viewport may show: the profile, [begin_ns, end_ns), and a margin around it."""

    begin_ns: int
    end_ns: int

    @property
    def margin_ns(self) -> int:
        return max(1, int((self.end_ns - self.begin_ns) * MARGIN))

    @property
    def first_ns(self) -> int:
        return max(self.begin_ns - self.margin_ns, _FIRST_NS)

    @property
    def last_ns(self) -> int:
        return min(self.end_ns + self.margin_ns, _LAST_NS)


@dataclass(frozen=True)
class Viewport:
    """The range [begin_ns, end_ns) over `width_px`.

    Times are taken relative to `begin_ns` in int64 before they become floats, so no digit is lost at any date or zoom.
    The exact range may differ from the integers by less than a nanosecond: `begin_rest_ns` and `span_rest_ns` carry
    that part, so that zooming in and out again leads back instead of drifting.
    """

    begin_ns: int
    end_ns: int
    width_px: float
    begin_rest_ns: float = 0.0
    span_rest_ns: float = 0.0

    @property
    def span_ns(self) -> float:
        return max((self.end_ns - self.begin_ns) + self.span_rest_ns, 1e-3)

    @property
    def ns_per_px(self) -> float:
        return self.span_ns / max(self.width_px, 1.0)

    @property
    def bin_level(self) -> int:
        """Level of the power-of-two grid whose bins are above half and at most one pixel wide; 0 below 1 ns a pixel."""
        _, exponent = math.frexp(self.ns_per_px)  # ns_per_px = m * 2^exponent with m in [0.5, 1)
        return max(0, exponent - 1)

    def x_px(self, time_ns: int) -> float:
        """Where that time lies, in pixels from the left edge; may lie outside."""
        return (float(time_ns - self.begin_ns) - self.begin_rest_ns) / self.ns_per_px

    def xs_px(self, times_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """`x_px` of many times."""
        relative: NDArray[np.float64] = (times_ns - np.int64(self.begin_ns)).astype(np.float64)
        if self.begin_rest_ns:
            relative -= self.begin_rest_ns
        relative *= 1.0 / self.ns_per_px
        return relative

    def time_ns(self, x_px: float) -> int:
        """The nanosecond that the pixel position lies in."""
        return self.begin_ns + math.floor(x_px * self.ns_per_px + self.begin_rest_ns)

    def resized(self, width_px: float) -> Viewport:
        return replace(self, width_px=width_px)

    def zoomed(self, factor: float, x_px: float, limits: Limits) -> Viewport:
        """`factor` times the span (below 1: closer); what lies at `x_px` stays there unless the limits forbid it."""
        most = float(limits.last_ns - limits.first_ns)
        span = min(max(self.span_ns * factor, float(MIN_SPAN_NS)), most)
        shift = (self.span_ns - span) * (x_px / max(self.width_px, 1.0))
        return self._placed(shift, span, limits)

    def panned(self, dx_px: float, limits: Limits) -> Viewport:
        """Moved by `dx_px` towards later times, as far as the limits allow."""
        return self._placed(dx_px * self.ns_per_px, self.span_ns, limits)

    def fitted(self, begin_ns: int, end_ns: int, limits: Limits, padding: float = 0.0) -> Viewport:
        """[begin_ns, end_ns) with `padding` times its length on either side, within the limits."""
        span = max(end_ns - begin_ns, MIN_SPAN_NS)
        pad = int(span * padding)
        plain = Viewport(begin_ns - pad, begin_ns + span + pad, self.width_px)
        return plain.zoomed(1.0, 0.0, limits)

    def _placed(self, shift_ns: float, span_ns: float, limits: Limits) -> Viewport:
        """The view that begins `shift_ns` after this one and is `span_ns` long, moved to lie within the limits."""
        exact = self.begin_rest_ns + shift_ns
        whole = math.floor(exact)
        begin, rest = self.begin_ns + whole, exact - whole
        if begin + rest + span_ns > limits.last_ns:
            begin, rest = limits.last_ns - math.ceil(span_ns), float(math.ceil(span_ns)) - span_ns
        if begin < limits.first_ns:
            begin, rest = limits.first_ns, 0.0
        length = max(1, round(span_ns))
        return Viewport(begin, begin + length, self.width_px, rest, span_ns - length)


def time_text(since_ns: int) -> str:
    """A time in seconds with every digit it has, in groups of three: `1.234 567 s`."""
    whole, rest = divmod(abs(since_ns), _SECOND)
    digits = f"{rest:09d}"
    groups = [digits[0:3], digits[3:6], digits[6:9]]
    while groups and groups[-1] == "000":
        groups.pop()
    text = f"{whole:,}".replace(",", "\u202f") + ("." + "\u202f".join(groups) if groups else "")
    return f"{'−' if since_ns < 0 else ''}{text} s"


def duration_text(duration_ns: int) -> str:
    """A duration in the unit that suits it, with every digit: `12.345 µs`, `3.776 123 ms`."""
    size = abs(duration_ns)
    name, unit = max((pair for pair in UNITS_NS if pair[1] <= max(size, 1)), key=lambda pair: pair[1])
    whole, rest = divmod(size, unit)
    places = len(str(unit)) - 1
    digits = f"{rest:0{places}d}" if places else ""
    groups = [digits[i : i + 3] for i in range(0, places, 3)]
    while groups and groups[-1] == "000":
        groups.pop()
    text = f"{whole:,}".replace(",", "\u202f") + ("." + "\u202f".join(groups) if groups else "")
    return f"{'−' if duration_ns < 0 else ''}{text} {name}"
