"""The axis of time: ticks at every scale, from the start and by the clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof_desktop.timeline.axis import MIN_TICK_PX, Axis, base_label, base_ns, tick_step_ns, ticks
from smprof_desktop.timeline.viewport import Viewport

TODAY_NS = 1_796_000_000_123_456_789
HOUR_NS = 3_600_000_000_000
SPANS_NS = [10**e * m for e in range(14) for m in (1, 3, 7)]
BEGINS_NS = [-(1 << 62), -1, 0, 1, TODAY_NS, (1 << 62) - 10**15]
UTC_AXIS = Axis.by_clock(0, TODAY_NS, is_utc=True)


@given(st.integers(-(10**12), 10**15), st.integers(1, 40 * HOUR_NS), st.floats(100.0, 4000.0))
def test_ticks_are_apart_in_view_and_distinct(begin: int, span: int, width: float) -> None:
    view = Viewport(begin, begin + span, width)
    found = ticks(view, Axis(0))
    assert len(found) <= width / MIN_TICK_PX + 2
    distances = np.diff([tick.x_px for tick in found])
    assert (distances >= MIN_TICK_PX - 1e-6).all()
    assert len(found) >= 1 or tick_step_ns(view.ns_per_px) > span
    assert all(begin <= tick.time_ns <= begin + span for tick in found)


def test_ticks_read_as_time_from_start_and_what_follows() -> None:
    view = Viewport(TODAY_NS + 1_234_567_000, TODAY_NS + 1_234_567_000 + 1_500, 1000.0)
    assert [(tick.label, tick.major) for tick in ticks(view, Axis(TODAY_NS))] == [
        ("1.234\u202f567 s", True),
        ("+200 ns", False),
        ("+400 ns", False),
        ("+600 ns", False),
        ("+800 ns", False),
        ("1.234\u202f568 s", True),
        ("+200 ns", False),
        ("+400 ns", False),
    ]
    assert base_label(view, Axis(TODAY_NS)) == "1.234\u202f567 s"


def test_ticks_of_hours_read_as_a_clock() -> None:
    labels = [tick.label for tick in ticks(Viewport(0, 10 * HOUR_NS, 1000.0), Axis(0))]
    assert labels[:3] == ["0:00:00", "1:00:00", "2:00:00"]
    assert [tick.label for tick in ticks(Viewport(0, 5_000_000_000, 500.0), Axis(0))] == [
        "0 s",
        "1 s",
        "2 s",
        "3 s",
        "4 s",
        "5 s",
    ]


@pytest.mark.parametrize("span_ns", SPANS_NS)
@pytest.mark.parametrize("begin_ns", BEGINS_NS)
@pytest.mark.parametrize("axis", [Axis(0), Axis(TODAY_NS), UTC_AXIS], ids=["start", "today", "clock"])
def test_every_tick_reads_as_the_time_where_it_stands(span_ns: int, begin_ns: int, axis: Axis) -> None:
    view = Viewport(begin_ns, begin_ns + span_ns, 1000.0)
    found = ticks(view, axis)
    assert len({tick.time_ns for tick in found}) == len(found) <= 1000 / MIN_TICK_PX + 2
    step = tick_step_ns(view.ns_per_px)
    assert {b.time_ns - a.time_ns for a, b in pairwise(found)} <= {step}
    majors = [tick.label for tick in found if tick.major]
    assert len(set(majors)) == len(majors)
    for tick in found:
        assert abs(tick.x_px - float(Decimal(tick.time_ns - begin_ns) * 1000 / span_ns)) < 1e-3
        if tick.label.startswith("+"):
            amount, unit = tick.label[1:].split(" ")
            since = int(amount) * {"ns": 1, "µs": 1_000, "ms": 1_000_000}[unit]
            assert since == (tick.time_ns - axis.origin_ns) % base_ns(step) > 0


@given(st.integers(-(1 << 61), 1 << 61))
def test_a_time_by_the_clock_has_every_digit(time_ns: int) -> None:
    date, of_day = UTC_AXIS.text(time_ns).split(" ")
    whole, digits = of_day.split(".")
    moment = datetime.strptime(f"{date} {whole}+0000", "%Y-%m-%d %H:%M:%S%z")
    assert (moment - datetime.fromtimestamp(0, UTC)).total_seconds() == time_ns // 10**9
    assert int(digits.replace("\u202f", "")) == time_ns % 10**9 and len(digits) == 11


def test_the_clock_says_the_date_where_a_day_begins_and_always_on_the_left() -> None:
    midnight_ns = 1_796_083_200 * 10**9
    view = Viewport(midnight_ns - HOUR_NS, midnight_ns + HOUR_NS, 1000.0)
    labels = [(tick.label, tick.major) for tick in ticks(view, UTC_AXIS)]
    assert labels[0] == ("23:00", False) and ("2026-12-01", True) in labels and labels[-1] == ("01:00", False)
    assert base_label(view, UTC_AXIS) == "2026-11-30 UTC"
    near = Viewport(midnight_ns + 1_500_000, midnight_ns + 1_510_000, 1000.0)
    assert base_label(near, UTC_AXIS) == "2026-12-01 00:00:00.001 UTC"
    assert [tick.label for tick in ticks(near, UTC_AXIS)][:2] == ["+500 µs", "+501 µs"]


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="this system cannot change the zone of one process")
def test_the_clock_here_stands_in_its_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    try:
        axis = Axis.by_clock(5, TODAY_NS, is_utc=False)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert axis.zone == "UTC+05:45"
    assert axis.text(TODAY_NS - 5)[:19] == UTC_AXIS.text(TODAY_NS + (5 * 60 + 45) * 60 * 10**9)[:19]
