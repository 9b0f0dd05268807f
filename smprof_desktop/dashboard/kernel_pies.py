"""Which kernels the time of the GPUs went to, how often each ran, and with what precision. No Qt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from smprof_desktop.analysis.doors import Chosen, Door
from smprof_desktop.analysis.precision import UNKNOWN
from smprof_desktop.analysis.quantities import elide_middle, share_text
from smprof_desktop.dashboard.absent import no_device
from smprof_desktop.dashboard.figures import Figure, Pie, Share
from smprof_desktop.dashboard.panel import Option
from smprof_desktop.dashboard.scope import Scope

TOP_KERNELS = 15
OTHERS = "Others"
MOST_KERNELS = Option("kernels", "Kernels", TOP_KERNELS, 1, 100)
"""How many kernels a pie of all of them names."""
ALL_TIME = "all kernel time, overlap counted twice"
ALL_LAUNCHES = "all kernel launches"

Rows = Sequence[Mapping[str, Any]]


def time_by_kernels(scope: Scope) -> Figure:
    """The kernels with the greatest total time, and all others as one share; shares are of all kernel time."""
    return _with_others(scope, _by_time(scope), "total_ns", "ns", ALL_TIME)


def time_by_top_kernels(scope: Scope) -> Figure:
    """The 15 kernels with the greatest total time; shares are of all kernel time."""
    return _top(scope, _by_time(scope), "total_ns", "ns", ALL_TIME)


def launches_by_kernels(scope: Scope) -> Figure:
    """The kernels that ran most often, and all others as one share; shares are of all kernel executions."""
    return _with_others(scope, _by_count(_by_time(scope)), "count", "count", ALL_LAUNCHES)


def launches_by_top_kernels(scope: Scope) -> Figure:
    """The 15 kernels that ran most often; shares are of all kernel executions."""
    return _top(scope, _by_count(_by_time(scope)), "count", "count", ALL_LAUNCHES)


def kernel_precision_distribution(scope: Scope) -> Figure:
    """Kernel time by the precision that the kernels' names tell; what no name tells is a share of its own."""
    kernels = _by_time(scope)
    times_ns: Mapping[str, int] = scope.report()["precision"]
    if not kernels:
        return no_device(scope)
    shares = []
    for precision, time_ns in times_ns.items():
        mine = [kernel for kernel in kernels if (kernel["precision"] or UNKNOWN) == precision]
        door = _door(scope, f"Kernels of precision {precision}", mine, ALL_TIME)
        shares.append(Share(precision, time_ns, sum(kernel["count"] for kernel in mine), door=door))
    # Unknown last, however much it is: it is no precision.
    shares.sort(key=lambda share: (share.name == UNKNOWN, -share.value))
    whole = sum(times_ns.values())
    note = (
        f"{share_text(times_ns.get(UNKNOWN, 0), whole)} unknown: no rule knows the names" if UNKNOWN in times_ns else ""
    )
    return Pie(tuple(shares), whole, "ns", ALL_TIME, note)


def kernel_colours(kernels: Rows) -> dict[str, int]:
    """Places among TOP_KERNELS colours for the kernels of both pies of them, `kernels` in the report's order.

    A kernel in both has one colour, and within each pie no two have the same. A checksum of the name, as on the
    timeline, would give several of 15 sectors the same colour.
    """
    colours = {kernel["name"]: place for place, kernel in enumerate(kernels[:TOP_KERNELS])}
    most = [kernel["name"] for kernel in _by_count(kernels)[:TOP_KERNELS]]
    taken = {colours[name] for name in most if name in colours}
    free = (place for place in range(TOP_KERNELS) if place not in taken)
    colours.update({name: next(free) for name in most if name not in colours})
    return colours


def _by_time(scope: Scope) -> Rows:
    rows: Rows = scope.report()["kernels"]
    return rows


def _by_count(kernels: Rows) -> Rows:
    return sorted(kernels, key=lambda kernel: (-kernel["count"], kernel["name"]))


def _top(scope: Scope, kernels: Rows, key: str, unit: str, basis: str) -> Figure:
    if not kernels:
        return no_device(scope)
    number = len(kernels)
    note = f"top {TOP_KERNELS} of {number:,} kernels" if number > TOP_KERNELS else f"all {number:,} kernels"
    whole = sum(kernel[key] for kernel in kernels)
    return Pie(tuple(_shares(scope, kernels[:TOP_KERNELS], key, basis)), whole, unit, basis, note, True)


def _with_others(scope: Scope, kernels: Rows, key: str, unit: str, basis: str) -> Figure:
    if not kernels:
        return no_device(scope)
    wanted = scope.options.get(MOST_KERNELS.key, MOST_KERNELS.default)
    shares, others = _shares(scope, kernels[:wanted], key, basis), kernels[wanted:]
    note = f"all {len(kernels):,} kernels"
    if others:
        note = f"top {wanted:,} of {len(kernels):,} kernels and {len(others):,} others"
        door = _door(scope, "All other kernels", others, basis)
        count = sum(kernel["count"] for kernel in others) if key != "count" else None
        shares.append(Share(OTHERS, sum(kernel[key] for kernel in others), count, door=door))
    return Pie(tuple(shares), sum(kernel[key] for kernel in kernels), unit, basis, note, True)


def _shares(scope: Scope, kernels: Rows, key: str, basis: str) -> list[Share]:
    colours = kernel_colours(_by_time(scope))
    return [
        Share(
            kernel["name"],
            kernel[key],
            kernel["count"] if key != "count" else None,
            colours.get(kernel["name"], place),
            _door(scope, elide_middle(kernel["name"], 120), [kernel], basis),
        )
        for place, kernel in enumerate(kernels)
    ]


def _door(scope: Scope, title: str, kernels: Iterable[Mapping[str, Any]], basis: str) -> Door:
    exact = scope.built().exact(kernel["name"] for kernel in kernels)
    return Chosen("device", ("kernel",), exact, begin_ns=scope.begin_ns, end_ns=scope.end_ns).door(title, basis)
