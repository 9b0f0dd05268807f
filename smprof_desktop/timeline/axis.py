"""The axis of time: what times are counted from, its ticks at every scale, and what they read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from smprof_desktop.timeline.viewport import UNITS_NS, Viewport, time_text

MIN_TICK_PX = 96.0
_SECOND = 1_000_000_000
_DAY = 86_400 * _SECOND
_STEPS_NS: tuple[int, ...] = tuple(m * 10**e for e in range(9) for m in (1, 2, 5)) + tuple(
    s * _SECOND for s in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
)
_EPOCH = datetime(1970, 1, 1)
_SPACE = "\u202f"


@dataclass(frozen=True)
class Axis:
    """How times read. `origin_ns` is the time that counts as 0: the profile's start or, for a clock, 1970 in its zone.

    The zone's distance from UTC is taken once, for the whole profile.
    """

    origin_ns: int
    is_clock: bool = False
    zone: str = ""
    """Of a clock: `UTC+01:00`."""

    @staticmethod
    def by_clock(unix_offset_ns: int, begin_ns: int, is_utc: bool) -> Axis:
        """An axis by the clock, in UTC or as the clock here stood at `begin_ns`; times plus the offset are Unix time.

        Raises ValueError where the calendar does not reach there.
        """
        utc_offset_s = 0
        if not is_utc:
            try:
                moment = datetime.fromtimestamp((begin_ns + unix_offset_ns) // _SECOND, UTC).astimezone()
            except (OverflowError, OSError) as error:
                raise ValueError("the calendar does not reach there") from error
            utc_offset_s = round((moment.utcoffset() or timedelta()).total_seconds())
        minutes = abs(utc_offset_s) // 60
        sign = "−" if utc_offset_s < 0 else "+"
        zone = f"UTC{sign}{minutes // 60:02d}:{minutes % 60:02d}" if minutes else "UTC"
        return Axis(-unix_offset_ns - utc_offset_s * _SECOND, True, zone)

    def text(self, time_ns: int) -> str:
        """A time with every digit it has."""
        since_ns = time_ns - self.origin_ns
        return f"{date_text(since_ns)} {day_text(since_ns, 9)}" if self.is_clock else time_text(since_ns)


@dataclass(frozen=True)
class Tick:
    """One mark of the time axis. `major` ones carry the full time, the others the time since the last such point."""

    x_px: float
    time_ns: int
    label: str
    major: bool


def tick_step_ns(ns_per_px: float, least_px: float = MIN_TICK_PX) -> int:
    """The smallest step of the axis whose ticks lie `least_px` or more apart."""
    for step in _STEPS_NS:
        if step >= ns_per_px * least_px:
            return step
    days = _STEPS_NS[-1]
    return days * math.ceil(ns_per_px * least_px / days)


def ticks(view: Viewport, axis: Axis) -> tuple[Tick, ...]:
    """The axis' ticks in view. At most one per MIN_TICK_PX pixels."""
    step = tick_step_ns(view.ns_per_px)
    base = base_ns(step)
    first = -(-(view.begin_ns - axis.origin_ns) // step)
    last = (view.end_ns - axis.origin_ns) // step
    made = []
    for index in range(first, last + 1):
        since = index * step
        major = since % base == 0 if base else not axis.is_clock or step >= _DAY or since % _DAY == 0
        time_ns = axis.origin_ns + since
        made.append(Tick(view.x_px(time_ns), time_ns, tick_label(since, step, axis.is_clock), major))
    return tuple(made)


def base_ns(step_ns: int) -> int:
    """The distance of the points from which ticks of that step are counted; 0 where they carry the full time."""
    if step_ns >= _SECOND:
        return 0
    unit = max(size for _, size in UNITS_NS if size <= step_ns)
    return unit * 1000


def tick_label(since_ns: int, step_ns: int, is_clock: bool = False) -> str:
    """What a tick reads.

    `1.234 567 s` at a point from which others are counted, `+12 µs` between; whole seconds `2 s`, `1:02:03`. By the
    clock `14:03:07.123` and `+12 µs`; whole minutes `14:03`, the first moment of a day its date.
    """
    base = base_ns(step_ns)
    if base and since_ns % base:
        name, unit = max((pair for pair in UNITS_NS if pair[1] <= step_ns), key=lambda pair: pair[1])
        return f"+{since_ns % base // unit} {name}"
    if is_clock:
        if since_ns % _DAY == 0:
            return date_text(since_ns)
        return day_text(since_ns, 0) if step_ns < 60 * _SECOND else day_text(since_ns, 0)[:5]
    if base:
        return time_text(since_ns)
    if step_ns >= 60 * _SECOND or abs(since_ns) >= 3600 * _SECOND:
        return clock_text(since_ns)
    return f"{_signed(since_ns // _SECOND)} s"


def base_label(view: Viewport, axis: Axis) -> str:
    """The full time from which the first ticks in view are counted; empty where ticks carry the full time.

    By the clock it always holds the date and the zone.
    """
    base = base_ns(tick_step_ns(view.ns_per_px))
    since = view.begin_ns - axis.origin_ns
    if axis.is_clock:
        time = f" {day_text(since - since % base, 0)}" if base else ""
        return f"{date_text(since)}{time} {axis.zone}"
    return time_text(since - since % base) if base else ""


def clock_text(since_ns: int) -> str:
    """Whole seconds as hours, minutes and seconds: `1:02:03`."""
    minutes, seconds = divmod(abs(since_ns) // _SECOND, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{'−' if since_ns < 0 else ''}{hours}:{minutes:02d}:{seconds:02d}"


def date_text(since_ns: int) -> str:
    """The date, so long after 1970: `2026-11-30`. Times of 64 bits stay within the calendar."""
    return (_EPOCH + timedelta(days=since_ns // _DAY)).date().isoformat()


def day_text(since_ns: int, places: int) -> str:
    """The time of day: `14:03:07`, with at least `places` digits of the second and no fewer than it has.

    Digits stand in groups of three.
    """
    seconds, rest = divmod(since_ns % _DAY, _SECOND)
    digits = f"{rest:09d}"
    groups = [digits[0:3], digits[3:6], digits[6:9]]
    while len(groups) * 3 > places and groups and groups[-1] == "000":
        groups.pop()
    whole = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return whole + ("." + _SPACE.join(groups) if groups else "")


def _signed(value: int) -> str:
    return f"{value:,}".replace(",", _SPACE).replace("-", "−")
