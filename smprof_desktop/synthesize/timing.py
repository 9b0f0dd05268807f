"""When things happen in a synthetic run: a host that launches ahead of its GPU, until the queue is full, and ranks that
wait for each other.

Every recurrence here has the form y[i] = max(y[i-1] + a[i], b[i]),
so y = cumsum(a) + running maximum of (b - cumsum(a)).
Random numbers are uniform ones only, added and multiplied: the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.synthesize.model import ANNOTATION_LEVEL, BACKWARD, OPTIMIZER, Unit

Times = NDArray[np.int64]
MARGIN_NS = 1300
"""A span of level L begins 1300 L to 1300 L + 400 ns before its first launch, and ends likewise: so spans nest."""
MAX_QUEUE = 1024
COPY_BYTES_PER_NS = 24
_LONG_AGO = np.iinfo(np.int64).min // 4


@dataclass(frozen=True)
class Pace:
    """The speed of one run. `queue`: launches that may wait for the GPU before the host blocks in the next: 1,024, but
    less where a step has so few that the host would never block."""

    unit: Unit
    kernel_ns: Times
    collective_ns: Times
    copy_ns: int
    queue: int
    gap_ns: Times

    @staticmethod
    def of(unit: Unit, step_ns: int, micro_batches: int, waiting_share: float, straggling: float) -> Pace:
        """Kernels as long as it takes for a step of about `step_ns`, but 30 us on average at least.

        The queue is as deep as leaves the host `waiting_share` of a micro-batch to wait for once its last launch has
        returned, less what it waits for other ranks: the last all-reduce, and the slowest rank, which takes
        `straggling` longer.
        """
        inner = unit.optimizer_begin
        total = float(unit.weight[:inner].sum()) * micro_batches + float(unit.weight[inner:].sum())
        count = inner * micro_batches + len(unit.shape) - inner
        scale = max(0.93 * step_ns / total, 30_000 * count / total)
        kernel_ns = np.maximum((unit.weight * scale).astype(np.int64), 1_500)
        backward_ns = int(kernel_ns[unit.section == BACKWARD].sum())
        buckets = len(unit.bucket_after)
        collective_ns = np.full(buckets, backward_ns * 35 // (100 * buckets), np.int64)
        waiting_for_ranks = float(collective_ns[-1]) / float(kernel_ns.sum()) + straggling
        tail = np.cumsum(unit.weight[::-1]) / unit.weight.sum()
        wanted = waiting_share - waiting_for_ranks / micro_batches
        queue = int(np.clip(np.abs(tail - wanted).argmin() + 1, 2, MAX_QUEUE))
        return Pace(unit, kernel_ns, collective_ns, int(kernel_ns.sum()) // 250, queue, _host_gaps(unit))


def _host_gaps(unit: Unit) -> Times:
    """The least time between the end of each launch and the start of the next, so that the spans between them fit."""
    count = len(unit.shape)
    opening = np.ones(count, np.int64)
    closing = np.ones(count, np.int64)
    np.maximum.at(opening, unit.spans.first, unit.spans.level)
    np.maximum.at(closing, unit.spans.last, unit.spans.level)
    turns = np.flatnonzero(np.diff(unit.section)) + 1
    opening[0] = closing[-1] = ANNOTATION_LEVEL
    opening[turns] = closing[turns - 1] = ANNOTATION_LEVEL
    gaps = (opening + np.concatenate(([0], closing[:-1])) + 1) * MARGIN_NS + 1_200
    after = unit.bucket_after + 1
    gaps[after[after < count]] += COLLECTIVE_HOST_NS
    return gaps


COLLECTIVE_HOST_NS = 36_000
"""What an all-reduce costs the thread that starts it: an event, a wait for it, and a launch."""


@dataclass(frozen=True)
class Draws:
    """The chance of one micro-batch of one rank."""

    kernel_ns: Times
    device_gap_ns: Times
    host_gap_ns: Times
    cost_ns: Times
    latency_ns: Times
    uniform: NDArray[np.float64]
    """Further numbers, for whatever happens once."""

    @staticmethod
    def of(pace: Pace, count: int, slowness: float, seed: tuple[int, ...]) -> Draws:
        """`count` launches. A kernel's length varies by about 2.5 per cent, and now and then by more."""
        random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        u = random.random((8, count))
        rare = (u[2] < 0.01) * u[3] * 0.5
        kernel_ns = pace.kernel_ns[:count] * slowness * (1 + 0.0612 * (u[0] + u[1] - 1) + rare)
        tail = u[4] * u[4] * u[4]
        return Draws(
            kernel_ns.astype(np.int64),
            (900 + 700 * u[5]).astype(np.int64),
            pace.gap_ns[:count] + (2_400 * u[6] + 9_000 * tail * tail).astype(np.int64),
            (3_600 + 1_400 * u[7] + 4_000 * tail).astype(np.int64),
            (9_000 + 6_000 * u[3] + 22_000 * u[4] * tail).astype(np.int64),
            random.random(256),
        )


@dataclass
class Launches:
    """The launches of one micro-batch so far, `done` of them, and what follows from them."""

    host_begin_ns: int
    start_ns: Times
    end_ns: Times
    device_start_ns: Times
    device_end_ns: Times
    done: int
    copy_api: Times
    copy_api_end: Times
    copy_device: Times
    copy_device_end: Times
    host_ns: int


def begin(pace: Pace, draws: Draws, begin_ns: int) -> Launches:
    """Copy the micro-batch to the GPU (two copies, one memset) and launch nothing yet.

    In the copy columns: tokens, labels (copy stream), the memset (compute stream).
    """
    u = draws.uniform
    count = len(draws.kernel_ns)
    copy_api = begin_ns + np.array([26_000, 74_000, 118_000]) + (u[:3] * 5_000).astype(np.int64)
    copy_api_end = copy_api + np.array([9_000, 7_600, 4_400]) + (u[3:6] * 3_000).astype(np.int64)
    lengths = np.array([pace.copy_ns, pace.copy_ns // 8 + 1_000, 2_200]) + (u[6:9] * pace.copy_ns / 20).astype(np.int64)
    copy_device = copy_api + 9_000 + (u[9:12] * 7_000).astype(np.int64)
    copy_device[1] = max(copy_device[1], copy_device[0] + lengths[0] + 1_200)
    empty = np.zeros(count, np.int64)
    return Launches(
        begin_ns, empty, empty.copy(), empty.copy(), empty.copy(), 0,
        copy_api, copy_api_end, copy_device, copy_device + lengths, int(copy_api_end[2]) + 14_000,
    )  # fmt: skip


def launch(pace: Pace, draws: Draws, launches: Launches, stop: int, not_before_ns: int) -> None:
    """Launch up to the number `stop`; the first of them runs at `not_before_ns` at the earliest."""
    first, depth = launches.done, pace.queue
    host_ns = launches.host_ns
    device_ns = int(launches.device_end_ns[first - 1]) if first else int(launches.copy_device_end[2])
    for lo in range(first, stop, depth):
        hi = min(lo + depth, stop)
        costs = draws.host_gap_ns[lo:hi] + draws.cost_ns[lo:hi]
        through = np.cumsum(costs)
        blocked = np.full(hi - lo, _LONG_AGO)
        slots = np.arange(max(lo, depth), hi)
        blocked[slots - lo] = launches.device_start_ns[slots - depth] + 1_800
        ends = through + np.maximum(host_ns, np.maximum.accumulate(blocked - through))
        starts = np.concatenate(([host_ns], ends[:-1])) + draws.host_gap_ns[lo:hi]
        ready = starts + draws.latency_ns[lo:hi]
        if lo == first:
            ready[0] = max(int(ready[0]), not_before_ns)
        through = np.cumsum(draws.device_gap_ns[lo:hi] + draws.kernel_ns[lo:hi])
        device_ends = through + np.maximum(device_ns, np.maximum.accumulate(ready + draws.kernel_ns[lo:hi] - through))
        launches.start_ns[lo:hi], launches.end_ns[lo:hi] = starts, ends
        launches.device_end_ns[lo:hi] = device_ends
        launches.device_start_ns[lo:hi] = device_ends - draws.kernel_ns[lo:hi]
        host_ns, device_ns = int(ends[-1]), int(device_ends[-1])
    launches.done, launches.host_ns = stop, host_ns


def collective_launches(unit: Unit, draws: Draws, launches: Launches) -> tuple[Times, Times]:
    """When the all-reduce of each gradient bucket is launched on the host, and from when on this rank is ready for
    it."""
    after = unit.bucket_after
    starts = launches.end_ns[after] + CLOSE_NS + 18_000 + (draws.uniform[64] * 900).astype(np.int64)
    return starts, np.maximum(launches.device_end_ns[after] + 1_500, starts + 11_000)


CLOSE_NS = (ANNOTATION_LEVEL + 1) * MARGIN_NS
"""By then every span that a launch closes has ended."""


def collective_ends(pace: Pace, seed: tuple[int, ...], ready_ns: Times) -> Times:
    """When each all-reduce ends on all ranks: `ready_ns` says when the last rank is ready for it."""
    u = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed))).random(len(ready_ns))
    lengths = (pace.collective_ns * (0.96 + 0.08 * u)).astype(np.int64)
    through = np.cumsum(lengths + COLLECTIVE_GAP_NS)
    return through + np.maximum.accumulate(ready_ns + lengths - through)


COLLECTIVE_GAP_NS = 4_000


@dataclass(frozen=True)
class ReadBack:
    """Reading the loss back (`.item()`): the launch of the copy, the copy, and the wait for it."""

    copy_api: int
    copy_api_end: int
    copy_device: int
    copy_device_end: int
    wait: int
    wait_end: int
    op_end: int


def read_back(draws: Draws, launches: Launches) -> ReadBack:
    """What follows the last launch of a micro-batch."""
    u = draws.uniform
    start = launches.host_ns + CLOSE_NS + 9_000 + int(u[32] * 4_000)
    end = start + 6_000 + int(u[33] * 3_000)
    device = max(start + 10_000 + int(u[34] * 6_000), int(launches.device_end_ns[launches.done - 1]) + 1_100)
    device_end = device + 1_500 + int(u[35] * 500)
    wait = end + 900 + int(u[36] * 200)
    wait_end = max(wait + 1_000, device_end + 6_000 + int(u[37] * 8_000))
    return ReadBack(start, end, device, device_end, wait, wait_end, wait_end + 3_000)


def last_launch(unit: Unit, is_last_micro_batch: bool) -> int:
    """How many of the unit's launches a micro-batch has: the optimizer only runs in the last one of a step."""
    return len(unit.shape) if is_last_micro_batch else unit.optimizer_begin


assert OPTIMIZER > BACKWARD  # the optimizer's launches stand last, which is what `last_launch` cuts off
