"""Time to pixels and back, zoom, pan, limits and the text of times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof_desktop.timeline.viewport import Limits, Viewport, duration_text, time_text

TODAY_NS = 1_796_000_000_123_456_789
HOUR_NS = 3_600_000_000_000


def test_neighbouring_nanoseconds_stay_apart_at_todays_date() -> None:
    view = Viewport(TODAY_NS, TODAY_NS + 10, 1000.0)
    xs = view.xs_px(np.array([TODAY_NS, TODAY_NS + 1, TODAY_NS + 9], np.int64))
    assert xs.tolist() == pytest.approx([0.0, 100.0, 900.0])
    assert view.time_ns(150.0) == TODAY_NS + 1


@given(st.integers(0, 10 * HOUR_NS), st.integers(1, 10 * HOUR_NS), st.floats(1.0, 8000.0))
def test_bins_are_above_half_and_at_most_one_pixel(begin: int, span: int, width: float) -> None:
    view = Viewport(begin, begin + span, width)
    bin_px = (1 << view.bin_level) / view.ns_per_px
    assert bin_px <= 1.0 or view.bin_level == 0
    assert bin_px > 0.5


@given(
    st.lists(st.tuples(st.floats(0.05, 1.0), st.floats(0.0, 1500.0)), min_size=1, max_size=40),
    st.integers(-(10**18), 2 * 10**18),
)
def test_zooming_in_and_out_again_returns(moves: list[tuple[float, float]], origin: int) -> None:
    limits = Limits(origin, origin + 10 * HOUR_NS)
    start = view = Viewport(origin, origin + 10 * HOUR_NS, 1500.0)
    done = []
    for factor, x_px in moves:
        closer = view.zoomed(factor, x_px, limits)
        if closer.span_ns <= 1.0:
            break
        view = closer
        done.append((factor, x_px))
    for factor, x_px in reversed(done):
        view = view.zoomed(1 / factor, x_px, limits)
    assert abs(view.begin_ns - start.begin_ns) <= 1
    assert abs(view.end_ns - start.end_ns) <= 1


@given(st.integers(1, 10**12), st.floats(0.0, 1000.0), st.floats(0.3, 3.0))
def test_what_lies_under_the_pointer_stays_there(span: int, x_px: float, factor: float) -> None:
    limits = Limits(TODAY_NS - 10 * HOUR_NS, TODAY_NS + 10 * HOUR_NS)
    view = Viewport(TODAY_NS, TODAY_NS + span, 1000.0)
    zoomed = view.zoomed(factor, x_px, limits)
    before_ns = view.begin_rest_ns + x_px * view.ns_per_px
    after_ns = (zoomed.begin_ns - view.begin_ns) + zoomed.begin_rest_ns + x_px * zoomed.ns_per_px
    assert after_ns == pytest.approx(before_ns, abs=max(1e-9 * span, 1e-6))


@given(st.lists(st.floats(-400.0, 400.0), max_size=30), st.integers(5, 10**10))
def test_panning_keeps_the_span_and_returns(steps: list[float], span: int) -> None:
    limits = Limits(TODAY_NS - 20 * HOUR_NS, TODAY_NS + 20 * HOUR_NS)
    start = view = Viewport(TODAY_NS, TODAY_NS + span, 1000.0)
    for step in [*steps, *(-step for step in steps)]:
        view = view.panned(step, limits)
    assert view.end_ns - view.begin_ns == span
    assert abs(view.begin_ns - start.begin_ns) <= 1


@given(st.floats(1e-12, 1e300), st.floats(0.0, 1000.0), st.floats(-1e300, 1e300))
def test_no_gesture_leaves_the_limits(factor: float, x_px: float, dx_px: float) -> None:
    limits = Limits(100, 1_000_100)
    view = Viewport(100, 1_000_100, 1000.0).zoomed(factor, x_px, limits).panned(dx_px, limits)
    assert limits.first_ns <= view.begin_ns < view.end_ns <= limits.last_ns
    assert view.end_ns - view.begin_ns >= 1


def test_a_profile_at_the_end_of_time_can_be_shown() -> None:
    limits = Limits(-(1 << 63), (1 << 63) - 1)
    view = Viewport(-(1 << 62), 1 << 62, 1000.0).zoomed(1e9, 0.0, limits)
    assert -(1 << 63) <= view.begin_ns < view.end_ns < 1 << 63


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0 ns"),
        (7, "7 ns"),
        (12_345, "12.345 µs"),
        (3_776_123, "3.776\u202f123 ms"),
        (1_234_567_000, "1.234\u202f567 s"),
        (3_600_000_000_001, "3\u202f600.000\u202f000\u202f001 s"),
        (-1_500, "−1.500 µs"),
    ],
)
def test_durations_keep_every_digit(duration_ns: int, text: str) -> None:
    assert duration_text(duration_ns) == text


def test_times_keep_every_digit() -> None:
    assert time_text(-1) == "−0.000\u202f000\u202f001 s"
    assert time_text(86_400_000_000_000) == "86\u202f400 s"
