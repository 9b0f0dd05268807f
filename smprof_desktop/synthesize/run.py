"""A synthetic run as a whole: every rank, step by step, twice.

First all ranks together, only to learn when each all-reduce ends, since that couples them. Then rank by rank, from the
same random numbers, to write what happens: so memory holds one process at a time, however long the run is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from smprof_desktop.progress import CancelCheck, Cancelled, Progress
from smprof_desktop.synthesize import timing
from smprof_desktop.synthesize.model import Unit
from smprof_desktop.synthesize.timing import Draws, Launches, Pace, ReadBack, Times

STRAGGLING = 0.03
"""How much longer everything takes on the slowest rank."""
BETWEEN_STEPS_NS = 220_000
"""What the training loop does between two steps: metrics, the learning rate, the next call."""


@dataclass(frozen=True)
class Plan:
    """A run that is asked for. `micro_batches`: per step; gradients are reduced in the last one."""

    hosts: int
    devices: int
    steps: int
    micro_batches: int
    seed: int
    begin_ns: int
    step_ns: int
    pace: Pace

    @property
    def ranks(self) -> int:
        return self.hosts * self.devices

    @property
    def straggler(self) -> int:
        """The rank that is a little slower than the others."""
        return (self.seed * 7 + 5) % self.ranks

    def slowness(self, rank: int) -> float:
        """How much longer its kernels take."""
        return (
            1.0
            + 0.001 * ((rank * 37 + self.seed) % 4)
            + (STRAGGLING if rank == self.straggler and self.ranks > 1 else 0.0)
        )

    def stall_ns(self, step: int, host: int) -> int:
        """How long the data loader keeps the ranks of that host waiting before that step. All wait a little for the
        first batch."""
        u = np.random.Generator(np.random.PCG64(np.random.SeedSequence((self.seed, 1, step, host)))).random(3)
        if step == 0:
            return 30_000_000 + int(4_000_000 * u[0])
        is_stalled = (step * self.hosts + host + self.seed) % 9 == 4
        return int(self.step_ns * (0.12 + 0.25 * u[1])) if is_stalled else 40_000 + int(60_000 * u[2])

    def draws(self, rank: int, step: int, micro_batch: int) -> Draws:
        """The chance of one micro-batch: the same whenever it is asked for."""
        count = timing.last_launch(self.pace.unit, micro_batch == self.micro_batches - 1)
        return Draws.of(self.pace, count, self.slowness(rank), (self.seed, 2, rank, step, micro_batch))


@dataclass(frozen=True)
class Happened:
    """One micro-batch of one rank. `step_begin_ns` is before the wait for data; the rest is None but for the last of a
    step."""

    step: int
    micro_batch: int
    step_begin_ns: int
    data_ns: int
    draws: Draws
    launches: Launches
    back: ReadBack
    collective_start_ns: Times | None
    collective_device_ns: Times | None
    collective_device_end_ns: Times | None
    is_last: bool


def _forward_and_backward(plan: Plan, rank: int, step: int, micro_batch: int, at_ns: int) -> tuple[Draws, Launches]:
    draws = plan.draws(rank, step, micro_batch)
    launches = timing.begin(plan.pace, draws, at_ns)
    timing.launch(plan.pace, draws, launches, plan.pace.unit.optimizer_begin, int(launches.copy_device_end[1]) + 1_500)
    return draws, launches


def _next_ns(back: ReadBack, draws: Draws, is_last: bool) -> int:
    return back.op_end + (BETWEEN_STEPS_NS + int(draws.uniform[40] * 60_000) if is_last else 30_000)


def couple(plan: Plan, progress: Progress, cancelled: CancelCheck) -> tuple[Times, int]:
    """When each all-reduce of each step ends (steps × buckets), and when the last rank is done."""
    unit: Unit = plan.pace.unit
    now = [plan.begin_ns + 1_000 * ((rank * 13) % 29) for rank in range(plan.ranks)]
    ends = np.zeros((plan.steps, len(unit.bucket_after)), np.int64)
    for step in range(plan.steps):
        if cancelled():
            raise Cancelled
        progress(step / plan.steps, "Timing the run")
        parts: list[tuple[Draws, Launches]] = []
        for rank in range(plan.ranks):
            at = now[rank] + plan.stall_ns(step, rank // plan.devices)
            for micro_batch in range(plan.micro_batches):
                draws, launches = _forward_and_backward(plan, rank, step, micro_batch, at)
                if micro_batch < plan.micro_batches - 1:
                    at = _next_ns(timing.read_back(draws, launches), draws, False)
            parts.append((draws, launches))
        ready = np.max([timing.collective_launches(unit, *part)[1] for part in parts], axis=0)
        ends[step] = timing.collective_ends(plan.pace, (plan.seed, 3, step), ready)
        for rank, (draws, launches) in enumerate(parts):
            timing.launch(plan.pace, draws, launches, len(unit.shape), int(ends[step, -1]) + 3_000)
            now[rank] = _next_ns(timing.read_back(draws, launches), draws, True)
    return ends, max(now)


def happenings(plan: Plan, rank: int, ends: Times) -> Iterator[Happened]:
    """Everything that one rank does, a micro-batch at a time, in order."""
    unit = plan.pace.unit
    now = plan.begin_ns + 1_000 * ((rank * 13) % 29)
    for step in range(plan.steps):
        step_begin = now
        data = at = now + plan.stall_ns(step, rank // plan.devices)
        for micro_batch in range(plan.micro_batches):
            is_last = micro_batch == plan.micro_batches - 1
            draws, launches = _forward_and_backward(plan, rank, step, micro_batch, at)
            starts = device = device_end = None
            if is_last:
                starts, ready = timing.collective_launches(unit, draws, launches)
                jitter = (draws.uniform[128 + np.arange(len(starts)) % 64] * 1_500).astype(np.int64)
                device_end = ends[step] + jitter
                device = np.maximum(ready, np.concatenate(([0], device_end[:-1] + 1_500)))
                timing.launch(plan.pace, draws, launches, len(unit.shape), int(ends[step, -1]) + 3_000)
            back = timing.read_back(draws, launches)
            yield Happened(
                step, micro_batch, step_begin, data, draws, launches, back, starts, device, device_end, is_last
            )
            at = now = _next_ns(back, draws, is_last)
