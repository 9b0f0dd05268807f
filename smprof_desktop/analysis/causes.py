"""Which thread caused a launch: autograd runs the backward pass on a thread of its own, for the forward thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.analysis.intervals import Int64s, ends_of

NO_THREAD = np.iinfo(np.int64).min
"""Stands for "no other thread" among thread ids, which may be negative."""

MOST_VOTES = 2_000
"""Backward operators, spread over the whole recording, that are asked for the thread of their forward operator."""


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
    ordered = operators.sequence >= 0
    numbers = np.where(ordered, operators.forward_thread, 0)
    forward = np.flatnonzero(ordered & (numbers <= 0))
    found: dict[int, int] = {}
    for number in np.unique(numbers[numbers > 0]).tolist():
        backward = np.flatnonzero(numbers == number)
        asked = operators.sequence[backward[:: 1 + len(backward) // MOST_VOTES]]
        met = forward[np.isin(operators.sequence[forward], asked)]
        if len(met):
            pairs = np.unique(np.stack((operators.thread[met], operators.sequence[met])), axis=1)
            threads, votes = np.unique(pairs[0], return_counts=True)
            found[number] = int(threads[votes.argmax()])
    return found


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
    ends_ns = ends_of(operators.start_ns[rows], operators.duration_ns[rows])
    reach = np.maximum.accumulate(ends_ns)
    outermost = np.append(True, operators.start_ns[rows[1:]] >= reach[:-1]) if len(rows) else np.empty(0, bool)
    rows = rows[outermost]
    numbers, which = np.unique(operators.forward_thread[rows], return_inverse=True)
    owners = np.array([thread_of[number] for number in numbers.tolist()], np.int64)[which]
    alone = np.unique(owners)
    default = int(alone[0]) if len(alone) == 1 else int(NO_THREAD)
    if not len(rows):
        return np.full(len(times_ns), default, np.int64)
    place = np.searchsorted(operators.start_ns[rows], times_ns, "right") - 1
    inside = (place >= 0) & (times_ns < ends_ns[outermost][np.maximum(place, 0)])
    return np.where(inside, owners[np.maximum(place, 0)], default).astype(np.int64)
