"""Which thread caused a launch: autograd runs the backward pass on a thread of its own, for the forward thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.analysis.intervals import Int64s

NO_THREAD = np.iinfo(np.int64).min
"""Stands for "no other thread" among thread ids, which may be negative."""


@dataclass(frozen=True)
class Operators:
    """Columns of the operators of one process, all of one length."""

    thread: NDArray[Any]
    start_ns: NDArray[Any]
    duration_ns: NDArray[Any]
    sequence: NDArray[Any]
    forward_thread: NDArray[Any]


def forward_threads(operators: Operators) -> dict[int, int]:
    """From the framework's number of a forward thread to the id of that thread.

    A backward operator carries that number and the sequence number of its forward operator. The framework counts
    sequences per thread, so one number may meet operators of several threads: the one that most of them meet is taken.
    """
    backward = (operators.forward_thread > 0) & (operators.sequence >= 0)
    forward = (operators.forward_thread <= 0) & (operators.sequence >= 0)
    if not backward.any() or not forward.any():
        return {}
    numbers = operators.forward_thread[backward].astype(np.int64)
    asked = np.unique(np.stack((numbers, operators.sequence[backward])), axis=1)
    given = np.unique(np.stack((operators.sequence[forward], operators.thread[forward])), axis=1)  # sorted by sequence
    first = np.searchsorted(given[0], asked[1], "left")
    counts = np.searchsorted(given[0], asked[1], "right") - first
    numbers = np.repeat(asked[0], counts)
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    if not len(numbers):
        return {}
    pairs, votes = np.unique(np.stack((numbers, given[1][places])), axis=1, return_counts=True)
    found: dict[int, tuple[int, int]] = {}
    for number, thread, count in zip(*pairs.tolist(), votes.tolist(), strict=True):
        if number not in found or count > found[number][1]:
            found[number] = (thread, count)
    return {number: thread for number, (thread, _) in found.items()}


def causing_threads(
    operators: Operators, launch_thread: NDArray[Any], launch_start_ns: NDArray[Any], annotated_threads: NDArray[Any]
) -> Int64s:
    """For each launch the *other* thread on whose behalf it was made, NO_THREAD where none is known.

    A launch inside a backward operator was caused by the thread of the forward operator. A launch outside of one, on a
    thread that runs backward operators for a single thread (gradient accumulation, communication hooks), was caused by
    that thread too. Where the source recorded no such relation at all and only one thread is annotated, that one is
    taken to cause what the others launch.
    """
    owners = np.full(len(launch_thread), NO_THREAD, np.int64)
    thread_of = forward_threads(operators)
    if not thread_of:
        annotated = np.unique(annotated_threads)
        if len(annotated) == 1:
            owners[launch_thread != annotated[0]] = annotated[0]
        return owners
    for thread in np.unique(operators.thread[operators.forward_thread > 0]).tolist():
        mine = np.flatnonzero(launch_thread == thread)
        if len(mine):
            owners[mine] = _owners_on(operators, thread, thread_of, launch_start_ns[mine])
    owners[owners == launch_thread] = NO_THREAD
    return owners


def _owners_on(operators: Operators, thread: int, thread_of: dict[int, int], times_ns: NDArray[Any]) -> Int64s:
    """The causing thread at each of some times on one thread that runs backward operators."""
    rows = np.flatnonzero((operators.thread == thread) & np.isin(operators.forward_thread, list(thread_of)))
    rows = rows[np.argsort(operators.start_ns[rows], kind="stable")]
    ends_ns = operators.start_ns[rows] + operators.duration_ns[rows]
    reach = np.maximum.accumulate(ends_ns)
    outermost = np.append(True, operators.start_ns[rows[1:]] >= reach[:-1]) if len(rows) else np.empty(0, bool)
    rows = rows[outermost]
    owners = np.array([thread_of[number] for number in operators.forward_thread[rows].tolist()], np.int64)
    alone = np.unique(owners)
    default = int(alone[0]) if len(alone) == 1 else int(NO_THREAD)
    if not len(rows):
        return np.full(len(times_ns), default, np.int64)
    place = np.searchsorted(operators.start_ns[rows], times_ns, "right") - 1
    inside = (place >= 0) & (times_ns < ends_ns[outermost][np.maximum(place, 0)])
    return np.where(inside, owners[np.maximum(place, 0)], default).astype(np.int64)
