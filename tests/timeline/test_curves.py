"""Curves as text and as rectangles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof_desktop.timeline.curves import curve_rects, share, value_text
from smprof_desktop.timeline.maker import Curve, Window
from smprof_desktop.timeline.viewport import Limits, Viewport


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (22.0, "%", "22 %"),
        (12.34e9, "bytes", "12.3 GB"),
        (512.0, "bytes", "512 B"),
        (71.5, "W", "71.5 W"),
        (1500.0, "W", "1.5 kW"),
        (1410.0, "MHz", "1410 MHz"),
        (3e9, "", "3 G"),
        (7.0, "", "7"),
    ],
)
def test_a_value_has_its_unit(value: float, unit: str, text: str) -> None:
    assert value_text(value, unit) == text


@st.composite
def curves(draw: st.DrawFn) -> Curve:
    """A curve of a few bins at some place in time."""
    level, first = draw(st.integers(0, 6)), draw(st.integers(-5, 5))
    counted = draw(st.lists(st.integers(0, 1 << level), min_size=1, max_size=12))
    busy = [draw(st.integers(0, most)) for most in counted]
    window = Window(first << level, (first + len(busy)) << level, level)
    value = np.array([b / c if c else np.nan for b, c in zip(busy, counted, strict=True)])
    return Curve(window, first, value, True, np.array(busy, np.int64), np.array(counted, np.int64), 3)


@given(curves(), st.integers(-90, 90), st.integers(1, 300), st.integers(-90, 90), st.integers(1, 300))
def test_the_share_in_view_equals_the_twin_that_weighs_every_bin(
    curve: Curve, begin: int, span: int, profile_begin: int, profile_span: int
) -> None:
    view, limits = Viewport(begin, begin + span, 100.0), Limits(profile_begin, profile_begin + profile_span)
    busy = counted = 0.0
    for at in range(len(curve.value)):
        low, high = (curve.first_bin + at) << curve.window.level, (curve.first_bin + at + 1) << curve.window.level
        there = [t for t in range(low, high) if limits.begin_ns <= t < limits.end_ns]
        seen = len([t for t in there if view.begin_ns <= t < view.end_ns]) / max(len(there), 1)
        busy, counted = busy + seen * int(curve.busy_ns[at]), counted + seen * int(curve.counted_ns[at])
    if view.begin_ns <= limits.begin_ns and limits.end_ns <= view.end_ns:
        counted += curve.outside_ns
    found = share(curve, view, limits)
    assert (found is None) == (counted == 0)
    assert found is None or found == pytest.approx(min(busy / counted, 1.0))


@given(curves(), st.integers(-90, 90), st.integers(1, 300))
def test_a_curve_is_as_high_at_every_bin_in_view_as_its_value(curve: Curve, begin: int, span: int) -> None:
    view = Viewport(begin, begin + span, 100.0)
    made = curve_rects(curve, (0.0, 1.0), view, 10.0, 5.0, 8.0, 1)
    for at, value in enumerate(curve.value.tolist()):
        low, high = (curve.first_bin + at) << curve.window.level, (curve.first_bin + at + 1) << curve.window.level
        left, right = np.clip(np.floor(view.xs_px(np.array([low, high]))), 0.0, 100.0) + 10.0
        if high - low < 2 * view.ns_per_px or high <= begin or low >= begin + span:
            continue
        over = (made.x_px <= left) & (made.x_px + made.width_px >= right)
        height = 0.0 if np.isnan(value) else np.ceil(value * 16) / 2
        assert made.height_px[over].max(initial=0.0) == height
        assert (made.y_px + made.height_px == 13.0).all()
