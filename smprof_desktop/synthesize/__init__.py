"""A believable training run, written as a profile: to try the application on, to test it with, and to measure it.

A transformer is trained data-parallel. One rank is a little slower, the data loader stalls now and then, and reading
the loss back after every step costs about a ninth of it: faults that somebody who looks should find.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from smprof.profile.manifest import Clock, Device, Host, Manifest, Process, ProfileError, Thread
from smprof.profile.writer import ProfileWriter
from smprof_desktop.atomic import check_free, new_folder
from smprof_desktop.progress import CancelCheck, Cancelled, Progress, never, silent
from smprof_desktop.synthesize import counters, model, run
from smprof_desktop.synthesize.counters import GpuCounters
from smprof_desktop.synthesize.model import Unit
from smprof_desktop.synthesize.rows import STEP_ROWS, RankRows
from smprof_desktop.synthesize.run import Plan
from smprof_desktop.synthesize.timing import Pace, Times

BEGIN_NS = 1_768_467_600_000_000_000
"""2026-01-15 09:00:00 UTC, when every synthetic run begins."""
STEP_NS = 500_000_000
WAITING_SHARE = 0.11
"""Of a step, what the host waits in the `.item()` at its end."""
DEFAULT_LAYERS = 12
MAX_LAYERS = 96
INSTANCE = "ml.p4d.24xlarge"
GPU = "NVIDIA A100-SXM4-40GB"
GPU_MEMORY_BYTES = 40 << 30


class Arguments(TypedDict):
    """What `synthesize` may be called with, for the sample profile."""

    hosts: int
    devices: int
    steps: int
    slices: int
    seed: int
    step_ns: int


SAMPLE: Arguments = {"hosts": 2, "devices": 8, "steps": 14, "slices": 132_400, "seed": 11, "step_ns": 1_370_000_000}
"""The sample profile in resources/: twenty seconds, under two megabytes."""


def synthesize(
    out: Path,
    hosts: int = 2,
    devices: int = 8,
    steps: int = 40,
    slices: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
    cancelled: CancelCheck = never,
    step_ns: int = STEP_NS,
) -> Path:
    """Write the profile of a made-up run to the folder `out`, new or empty, and return it. The same arguments give the
    same bytes.

    Args:
        hosts: instances, `algo-1` onwards, of `devices` GPUs each; one process, one rank, per GPU.
        slices: about how many there shall be in all; from that follow the layers of the model and the micro-batches of
        a step.
        step_ns: about how long a step shall take; longer where kernels would have to be shorter than 30 us on average.

    Raises:
        ProfileError: where `out` holds something, or a number makes no run.
        Cancelled: after removing what was written.
    """
    if min(hosts, devices, steps) < 1 or seed < 0 or (slices is not None and slices < 1):
        raise ProfileError("A run needs at least one host, device, step and slice, and a seed of 0 or more.")
    check_free(out)
    unit, micro_batches = _size(hosts * devices * steps, slices)
    pace = Pace.of(unit, step_ns, micro_batches, WAITING_SHARE, run.STRAGGLING if hosts * devices > 1 else 0.0)
    plan = Plan(hosts, devices, steps, micro_batches, seed, BEGIN_NS + counters.JOB_BEFORE_NS, step_ns, pace)
    with new_folder(out) as work:
        _write(work.whole, plan, progress, cancelled)
    return out


def _size(rank_steps: int, slices: int | None) -> tuple[Unit, int]:
    """The layers and the micro-batches that come closest to that many slices."""
    if slices is None:
        return model.build(DEFAULT_LAYERS), 1
    wanted = slices / rank_steps
    micro_batches = max(1, math.ceil(wanted / model.build(MAX_LAYERS).rows(False)))

    def error(layers: int) -> float:
        unit = model.build(layers)
        return abs(unit.rows(False) * (micro_batches - 1) + unit.rows(True) + STEP_ROWS - wanted)

    # Rows grow linearly with the layers: the best number stands beside the one that two points of the line give.
    one, two = (model.build(layers).rows(False) for layers in (2, 4))
    guess = round((wanted / micro_batches - one) * 2 / (two - one)) + 2
    candidates = range(max(1, min(guess, MAX_LAYERS) - 2), max(1, min(guess, MAX_LAYERS) + 2) + 1)
    return model.build(min(candidates, key=error)), micro_batches


def _write(folder: Path, plan: Plan, progress: Progress, cancelled: CancelCheck) -> None:
    ends, end_ns = run.couple(plan, lambda share, what: progress(0.1 * share, what), cancelled)
    profile = ProfileWriter(folder, _manifest(plan))
    for rank in range(plan.ranks):
        share = 0.1 + 0.7 * rank / plan.ranks

        def tell(done: float, share: float = share) -> None:
            progress(share + 0.7 * done / plan.ranks, f"Writing rank {rank} of {plan.ranks}")  # noqa: B023

        _write_rank(profile, plan, rank, ends, end_ns, tell, cancelled)
    progress(0.8, "Sorting and merging")
    if cancelled():
        raise Cancelled
    profile.finish()
    progress(1.0, "Done")


def _write_rank(
    profile: ProfileWriter,
    plan: Plan,
    rank: int,
    ends: Times,
    end_ns: int,
    tell: Callable[[float], None],
    cancelled: CancelCheck,
) -> None:
    host, local = divmod(rank, plan.devices)
    pid = 4_100 + 61 * local + 7 * host
    main, autograd, loader = pid, pid + 190 + 3 * local, pid + 340 + 2 * local
    info = Process(
        host=f"algo-{host + 1}",
        process=str(rank),
        pid=pid,
        rank=rank,
        name="python train.py",
        windows_ns=[[plan.begin_ns, end_ns]],
        devices=[
            Device(index, GPU, used=index == local, memory_bytes=GPU_MEMORY_BYTES) for index in range(plan.devices)
        ],
        threads=[Thread(main, "MainThread"), Thread(autograd, "autograd"), Thread(loader, "pin_memory")],
        recorded=["device", "api", "op", "python", "annotation", "cpu"],
        metadata={"world_size": plan.ranks, "local_rank": local},
    )
    writer = profile.process(info)
    gpu = GpuCounters(local, plan.begin_ns, end_ns)
    rows = RankRows(plan, rank, writer, gpu, main, autograd, loader)
    for happened in run.happenings(plan, rank, ends):
        if cancelled():
            raise Cancelled
        rows.write(happened)
        tell(happened.step / plan.steps)
    rows.flush()
    gpu.write(writer)
    if local == 0:
        busy = min(counters.CPUS, 2 * plan.devices + 4)
        begin_ns = plan.begin_ns - counters.JOB_BEFORE_NS
        counters.write_cpu(writer, begin_ns, end_ns, busy, (plan.seed, 5, host))


def _manifest(plan: Plan) -> Manifest:
    unit = plan.pace.unit
    return Manifest(
        name="synthetic-transformer",
        created_by="smprof-desktop synthesize",
        synthetic=True,
        clock=Clock("unix", 0, uncertainty_ns=0),
        hosts=[Host(f"algo-{host + 1}", INSTANCE) for host in range(plan.hosts)],
        hyperparameters={
            "layers": unit.layers,
            "hidden_size": 2048,
            "sequence_length": 2048,
            "micro_batches": plan.micro_batches,
            "micro_batch_size": 8,
            "learning_rate": 3e-4,
            "optimizer": "adamw",
            "precision": "bf16",
            "seed": plan.seed,
        },
        frameworks={"pytorch": "2.6.0", "cuda": "12.4", "nccl": "2.21.5"},
    )
