"""The forms that a panel's answer can take: plain data, with a door from each number to the slices behind it. No Qt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.analysis.doors import Door
from smprof_desktop.analysis.intervals import Int64s

Kind = Literal["text", "name", "kernel", "ns", "count", "bytes", "percent", "bytes_per_s", "number"]
"""How a column of a table, or an axis, reads. `percent` is of 100; `name` is a recorded name,
`kernel` one of a kernel, shown in the form that the user chose."""


@dataclass(frozen=True)
class Missing:
    """Why a panel has no figure and how to get one, as one or two sentences."""

    reason: str


@dataclass(frozen=True)
class Share:
    """One sector or row: what it is called, how much it is (ns or a count).

    `colour` is its place among the colours; None is its place in the pie.
    """

    name: str
    value: int
    count: int | None = None
    colour: int | None = None
    door: Door | None = None


@dataclass(frozen=True)
class Pie:
    """Shares of `whole`, in the order of the legend. `unit` is "ns" or "count"; `basis` names the whole, its
    denominator.

    The sectors fill the circle; where they are not all of the whole (the top 15), `note` says how much they are.
    `of_kernels`: each share is a kernel's, which was executed somewhere.
    """

    shares: tuple[Share, ...]
    whole: int
    unit: str
    basis: str
    note: str = ""
    of_kernels: bool = False


@dataclass(frozen=True)
class Line:
    """One curve: a value for each bin of time, NaN where nothing is known, and its mean over all that is."""

    name: str
    values: NDArray[np.float64]
    mean: float


@dataclass(frozen=True)
class Lines:
    """Curves over bins of time: `edges_ns` from the profile's start, one more than each line has values.

    `kind` and `label` say what the values are; percent has a scale of 0 to 100. A click leads to that time.
    """

    edges_ns: NDArray[Any]
    lines: tuple[Line, ...]
    basis: str
    kind: Kind = "percent"
    label: str = "Active (%)"


@dataclass(frozen=True)
class Histogram:
    """How many durations lie in each bin: `edges_ns` is one longer than `counts`; the last bin includes its end."""

    edges_ns: Int64s
    counts: Int64s
    facts: tuple[tuple[str, int], ...]
    """Durations that say it in short, in ns: mean, median, …"""
    basis: str
    doors: tuple[Door | None, ...] = ()
    """One a bin, or none at all."""


@dataclass(frozen=True)
class Column:
    """A column of a table. `help` is told over its head."""

    title: str
    kind: Kind
    help: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of values, None where there is none, in the order to begin with; sorted and filtered by whoever looks.

    `totals` is a row of its own under the others: the sums with their denominators.
    """

    columns: tuple[Column, ...]
    rows: Sequence[tuple[Any, ...]]
    basis: str
    doors: Sequence[Door | None] = ()
    """One a row, or none at all."""
    totals: tuple[Any, ...] | None = None
    note: str = ""
    column_doors: Mapping[int, Sequence[Door | None]] = field(default_factory=dict)
    """Doors of the cells of some columns, by their place, one a row. The other cells lead where their row does."""


@dataclass(frozen=True)
class Bars:
    """A bar for each of `names` in their order, stacked of parts: `values[part][bar]`, in ns or a count.

    Used for steps and ranks; `doors` lead from a bar to what it stands for.
    """

    names: tuple[str, ...]
    parts: tuple[str, ...]
    values: tuple[Int64s, ...]
    kind: Kind
    basis: str
    marked: tuple[int, ...] = ()
    """Bars that stand out, such as outliers."""
    doors: tuple[Door | None, ...] = ()
    note: str = ""


def kernel_names(figure: Figure) -> Iterator[str]:
    """The names of kernels that a figure shows, as recorded."""
    if isinstance(figure, Pie) and figure.of_kernels:
        yield from (share.name for share in figure.shares)
    elif isinstance(figure, Table):
        for place, column in enumerate(figure.columns):
            if column.kind == "kernel":
                yield from (row[place] for row in figure.rows)


Figure = Pie | Lines | Histogram | Table | Bars | Missing
