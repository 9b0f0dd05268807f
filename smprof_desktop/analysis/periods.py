"""A period in which the kernels of a stream repeat: what stands in for steps where none was annotated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.analysis.intervals import Int64s

LEAST_STARTS = 4
"""Fewer starts than this are no repetition: three periods have to be alike."""
_ALIKE = 0.1
"""How far the number of kernels in a period may be from their median, as a share of it."""
_REGULAR = 0.9
"""The share of periods that have to be alike."""
_MEMBERS = 0.1
"""The share of all kernels, by name, that have to repeat with the period, at least two."""
_COVERS = 0.7
"""The share of the stream that the periods have to cover."""


@dataclass(frozen=True)
class Period:
    """Where each period begins: positions of one kernel, the first of those that repeat with it."""

    name_id: int
    starts: Int64s


def propose(name_ids: NDArray[Any]) -> Period | None:
    """The longest clear period of a sequence of kernels; None where there is none.

    Kernels that run equally often, once more or less at the edges, and at regular distances, repeat together. The
    rarest such set decides, since layers repeat within a step, if it is more than a few kernels: those that run now
    and then, to log or to save, are not what a step consists of.
    """
    if len(name_ids) < 2 * LEAST_STARTS:
        return None
    order = np.argsort(name_ids, kind="stable")
    edges = np.flatnonzero(np.diff(name_ids[order])) + 1
    places = np.split(order, edges)
    regular = {int(name_ids[mine[0]]): mine for mine in places if _is_regular(mine)}
    needed = max(2, round(_MEMBERS * len(places)))
    counts = sorted({len(mine) for mine in regular.values()})
    for count in counts:
        together = [mine for mine in regular.values() if count <= len(mine) <= count + 1]
        covered = max(int(mine[-1]) for mine in together) - min(int(mine[0]) for mine in together) if together else 0
        if len(together) >= needed and covered >= _COVERS * len(name_ids):
            # Of those that ran equally often the earliest begins a period; the whole ones last from start to start.
            starts = min((mine for mine in together if len(mine) == count), key=lambda mine: int(mine[0]))
            return Period(int(name_ids[starts[0]]), starts.astype(np.int64))
    return None


def _is_regular(places: NDArray[Any]) -> bool:
    if len(places) < LEAST_STARTS:
        return False
    gaps = np.diff(places)
    middle = float(np.median(gaps))
    return float(np.mean(np.abs(gaps - middle) <= _ALIKE * middle)) >= _REGULAR
