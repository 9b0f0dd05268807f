"""Sums, means and quantiles of integer ns without a rounding error: no float on the way, halves go to even."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MEDIAN = (1, 2)
P99 = (99, 100)


@dataclass(frozen=True)
class Totals:
    """Per group: how many values, their sum, least and greatest (0 where the group is empty)."""

    count: NDArray[np.int64]
    total: NDArray[Any]
    """int64; Python integers (dtype object) where a sum could leave 64 bits."""
    least: NDArray[np.int64]
    greatest: NDArray[np.int64]


def grouped(groups: NDArray[Any], values: NDArray[Any], size: int) -> Totals:
    """Count, sum, least and greatest of `values` for each group 0..size-1."""
    count = np.bincount(groups, minlength=size).astype(np.int64)
    least = np.full(size, np.iinfo(np.int64).max, np.int64)
    greatest = np.full(size, np.iinfo(np.int64).min, np.int64)
    np.minimum.at(least, groups, values)
    np.maximum.at(greatest, groups, values)
    filled = count > 0
    return Totals(count, sums(groups, values, size), np.where(filled, least, 0), np.where(filled, greatest, 0))


def sums(groups: NDArray[Any], values: NDArray[Any], size: int) -> NDArray[Any]:
    """Exact sum of `values` for each group: int64, or Python integers where 64 bits might not do."""
    total = np.zeros(size, np.int64)
    if len(values):
        reach = max(abs(int(values.min())), abs(int(values.max())))
        if reach * len(values) >= 1 << 63 or values.dtype == object:
            whole = np.zeros(size, object)
            np.add.at(whole, groups, values.astype(object))
            return whole
        np.add.at(total, groups, values)
    return total


def exact_sum(values: NDArray[Any]) -> int:
    """The sum of int64 values, also where it does not fit in 64 bits."""
    if not len(values):
        return 0
    reach = max(abs(int(values.min())), abs(int(values.max())))
    if reach * len(values) < 1 << 63:
        return int(values.sum())
    return sum(values.tolist())


def divide(total: int, count: int) -> int:
    """total / count to the nearest integer, halves to even; `count` is above 0."""
    quotient, rest = divmod(total, count)
    if 2 * rest > count or (2 * rest == count and quotient % 2):
        quotient += 1
    return quotient


def quantiles(values: NDArray[Any], shares: tuple[tuple[int, int], ...]) -> list[int | None]:
    """For each share (numerator, denominator) the quantile by linear interpolation at share * (n - 1).

    Rounded to the nearest integer, halves to even; None where there are no values.
    """
    count = len(values)
    if not count:
        return [None] * len(shares)
    places = [divmod(numerator * (count - 1), denominator) for numerator, denominator in shares]
    wanted = sorted({place for index, _ in places for place in (index, min(index + 1, count - 1))})
    ordered = np.partition(values, wanted)
    results: list[int | None] = []
    for (index, rest), (_, denominator) in zip(places, shares, strict=True):
        low, high = int(ordered[index]), int(ordered[min(index + 1, count - 1)])
        results.append(divide(low * denominator + (high - low) * rest, denominator))
    return results
