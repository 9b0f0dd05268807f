"""Steps side by side: their mean and spread, which stand out, and which rank was slowest. Exact in integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smprof_desktop.analysis.statistics import divide

SIGMAS = 3
"""Standard deviations from the mean beyond which a step stands out."""


@dataclass(frozen=True)
class Spread:
    """Durations in short, in ns. `deviation_ns` is that of all of them, not of a sample."""

    count: int
    mean_ns: int
    deviation_ns: float
    least_ns: int
    most_ns: int
    outliers: tuple[int, ...]
    """Positions of those further than SIGMAS deviations from the mean, which ten or fewer never are."""


def spread(durations_ns: Sequence[int]) -> Spread:
    """Mean, deviation and outliers of at least one duration."""
    count, total = len(durations_ns), sum(durations_ns)
    # n² times the variance, and n times the distance from the mean, are integers.
    scaled = count * sum(duration * duration for duration in durations_ns) - total * total
    outliers = tuple(
        at for at, duration in enumerate(durations_ns) if (count * duration - total) ** 2 > SIGMAS**2 * scaled
    )
    return Spread(count, divide(total, count), scaled**0.5 / count, min(durations_ns), max(durations_ns), outliers)


def occurrences(names: Sequence[str]) -> list[tuple[str, int]]:
    """Each name with how many of the same stand before it: what a step is known by on every rank."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        found.append((name, seen.get(name, 0)))
        seen[name] = seen.get(name, 0) + 1
    return found


def imbalance(values: Sequence[int]) -> float | None:
    """Greatest ÷ mean; None where all are 0."""
    total = sum(values)
    return max(values) * len(values) / total if total else None
