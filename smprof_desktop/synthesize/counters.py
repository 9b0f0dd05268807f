"""The counters of a synthetic run: each GPU's, and the CPUs' of each host from before training began."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import NONE
from smprof.profile.writer import ProcessWriter
from smprof_desktop.analysis import intervals

CPUS = 96
TSC_HZ = 3_000_000_000
JOB_BEFORE_NS = 4_000_000_000
"""How long the job ran before its first step: CPU counters begin there."""
GPU_SAMPLE_NS = 100_000_000
CPU_SAMPLE_NS = 1_000_000_000
MAX_SAMPLES = 20_000
MAX_CPU_SAMPLES = 1_000
GPU_UTILIZATION = "GPU utilization (%)"
GPU_MEMORY = "GPU memory allocated (bytes)"
CPU_UTILIZATION = "CPU utilization (%)"
CPU_CYCLES = "clk_unhalted_ref.tsc"
ITLB_WALKS = "itlb_misses.miss_causes_a_walk"


class GpuCounters:
    """Utilization in equal bins, gathered while the slices are written, and memory as the steps go."""

    def __init__(self, device: int, begin_ns: int, end_ns: int) -> None:
        self._device = device
        self._bin_ns = max(GPU_SAMPLE_NS, (end_ns - begin_ns) // MAX_SAMPLES)
        self._begin_ns = begin_ns
        self._busy_ns = np.zeros((end_ns - begin_ns) // self._bin_ns + 2, np.int64)
        self._memory: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []

    def add_busy(self, starts: NDArray[Any], ends: NDArray[Any]) -> None:
        """Count the union of these intervals; no two calls may overlap."""
        first = (int(starts.min()) - self._begin_ns) // self._bin_ns
        last = (int(ends.max()) - self._begin_ns) // self._bin_ns
        edges = self._begin_ns + np.arange(first, last + 2) * self._bin_ns
        self._busy_ns[first : last + 1] += intervals.busy_per_bin(starts, ends, edges)

    def add_memory(self, times_ns: NDArray[Any], allocated_bytes: NDArray[Any]) -> None:
        """Memory at those times."""
        self._memory.append((times_ns, allocated_bytes))

    def write(self, writer: ProcessWriter) -> None:
        """Hand everything over."""
        bins = len(self._busy_ns) - 1
        times = self._begin_ns + np.arange(1, bins + 1) * self._bin_ns
        share = np.minimum(self._busy_ns[:bins] / self._bin_ns, 1.0)
        self._append(writer, GPU_UTILIZATION, times, np.round(share * 100, 1))
        if self._memory:
            times, values = (np.concatenate(column) for column in zip(*self._memory, strict=True))
            thinned = slice(None, None, len(times) // MAX_SAMPLES + 1)
            self._append(writer, GPU_MEMORY, times[thinned], values[thinned])

    def _append(self, writer: ProcessWriter, name: str, times: NDArray[Any], values: NDArray[Any]) -> None:
        count = len(times)
        writer.append("counter", {
            "name_id": np.full(count, writer.name_id(name), np.int32),
            "device": np.full(count, self._device, np.int32),
            "time_ns": times,
            "value": values,
        })  # fmt: skip


def write_cpu(writer: ProcessWriter, begin_ns: int, end_ns: int, busy_cpus: int, seed: tuple[int, ...]) -> None:
    """The CPUs of one host over [begin_ns, end_ns): `busy_cpus` of them work (training and data loading), the others
    hardly."""
    period_ns = max(CPU_SAMPLE_NS, (end_ns - begin_ns) // MAX_CPU_SAMPLES)
    times = np.arange(begin_ns, end_ns, period_ns)
    shape = (CPUS, len(times))
    u = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed))).random((4, *shape))
    is_busy = ((np.arange(CPUS) * 37) % CPUS < busy_cpus)[:, None]
    training = times[None, :] >= begin_ns + JOB_BEFORE_NS
    level = np.where(is_busy, np.where(training, 0.80, 0.35), np.where(training, 0.06, 0.02))
    utilization = np.clip(level * (0.75 + 0.5 * u[0]) + 0.01 * u[1], 0, 1)
    cycles = utilization * TSC_HZ * (period_ns / 1e9) * (0.97 + 0.03 * u[2])
    walks = cycles * np.where(is_busy, 4e-5, 1e-5) * (0.5 + u[3])
    for name, values in (
        (CPU_UTILIZATION, np.round(utilization * 100, 1)),
        # Tens of thousands, as a reader of hardware counters that are shared between events scales them.
        (CPU_CYCLES, np.round(cycles / 65_536) * 65_536),
        (ITLB_WALKS, np.round(walks)),
    ):
        writer.append("counter", {
            "name_id": np.full(values.size, writer.name_id(name), np.int32),
            "device": np.full(values.size, NONE, np.int32),
            "cpu": np.repeat(np.arange(CPUS, dtype=np.int32), len(times)),
            "time_ns": np.tile(times, CPUS),
            "value": values.ravel(),
        })  # fmt: skip
