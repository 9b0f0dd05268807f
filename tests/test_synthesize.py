"""The synthetic run: it obeys the rules of a GPU, shows the faults it is made with, and is the same every time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smprof.profile.columns import is_text
from smprof.profile.manifest import ProfileError
from smprof.profile.reader import ProcessProfile, Profile
from smprof.profile.schema import DEVICE_KINDS, HOST_KINDS, TABLES
from smprof_desktop.progress import Cancelled
from smprof_desktop.resources import SAMPLE_PROFILE, path
from smprof_desktop.synthesize import SAMPLE, synthesize
from smprof_desktop.synthesize.kernels import CUTLASS_GEMM
from smprof_desktop.synthesize.model import build
from smprof_desktop.synthesize.timing import Draws, Launches, Pace, launch

API, OP = HOST_KINDS.index("api"), HOST_KINDS.index("op")


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """Two hosts of two GPUs, twelve steps."""
    return Profile.open(synthesize(tmp_path_factory.mktemp("synthetic") / "run", hosts=2, devices=2, steps=12, seed=3))


def named(process: ProcessProfile, table: str) -> np.ndarray[Any, Any]:
    """The name of every slice of a table."""
    names: np.ndarray[Any, Any] = np.array(process.names.texts)
    return np.asarray(names[process.table(table)["name_id"]])


def steps_of(process: ProcessProfile) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Start and end of the steps, in order."""
    annotations = process.table("annotation")
    rows = np.flatnonzero(np.char.startswith(named(process, "annotation"), "step_"))
    rows = rows[np.argsort(annotations["start_ns"][rows])]
    start = annotations["start_ns"][rows]
    return start, start + annotations["duration_ns"][rows]


def files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below a folder, by its place."""
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            yield file.relative_to(folder).as_posix(), file.read_bytes()


def test_every_execution_follows_its_launch(profile: Profile) -> None:
    for process in profile.processes:
        device, host = process.table("device"), process.table("host")
        assert (device["launch"] >= 0).all()
        latency = device["start_ns"] - host["start_ns"][device["launch"]]
        assert latency.min() > 5_000
        assert (host["kind"][device["launch"]] == API).all()


def test_streams_run_one_thing_after_another(profile: Profile) -> None:
    for process in profile.processes:
        device = process.table("device")
        assert set(np.unique(device["stream"])) == {7, 20, 24}
        assert (device["row"] == 0).all()
        for stream in (7, 20, 24):
            rows = device["stream"] == stream
            start = device["start_ns"][rows]
            assert (np.diff(start) > 0).all()
            assert (start[1:] >= (start + device["duration_ns"][rows])[:-1]).all()


def test_host_slices_nest(profile: Profile) -> None:
    """Nothing crosses, or assemble would have put it on a line of its own: depth stays as deep as the model is."""
    for process in profile.processes:
        host = process.table("host")
        assert host["depth"].max() <= 12
        launches = host["kind"] == API
        assert (host["op"][launches] >= 0).all()
        op = host["op"][launches]
        assert (host["kind"][op] == OP).all()
        assert (host["start_ns"][op] < host["start_ns"][launches]).all()
        end = host["start_ns"] + host["duration_ns"]
        assert (end[op] > end[launches]).all()


def test_all_reduces_end_together(profile: Profile) -> None:
    ends = []
    for process in profile.processes:
        device = process.table("device")
        rows = device["stream"] == 20
        ends.append(device["start_ns"][rows] + device["duration_ns"][rows])
    spread = np.ptp(np.array(ends), axis=0)
    assert len(spread) > 100
    assert spread.max() < 2_000


def test_one_rank_is_slower_and_the_others_wait_for_it(profile: Profile) -> None:
    compute: list[int] = []
    collective: list[int] = []
    for process in profile.processes:
        device = process.table("device")
        for stream, sums in ((7, compute), (20, collective)):
            sums.append(int(device["duration_ns"][device["stream"] == stream].sum()))
    slowest = int(np.argmax(compute))
    others = [value for rank, value in enumerate(compute) if rank != slowest]
    assert compute[slowest] > 1.02 * max(others)
    assert int(np.argmin(collective)) == slowest


def test_reading_the_loss_back_costs_a_ninth_of_a_step(profile: Profile) -> None:
    shares: list[float] = []
    for process in profile.processes:
        host, (begin, end) = process.table("host"), steps_of(process)
        rows = named(process, "host") == "cudaStreamSynchronize"
        step = np.searchsorted(begin, host["start_ns"][rows], "right") - 1
        waited = np.bincount(step, host["duration_ns"][rows], len(begin))
        shares.extend(waited / (end - begin))
    assert 0.08 < float(np.median(shares)) < 0.14


def test_the_data_loader_stalls_now_and_then(profile: Profile) -> None:
    waits = []
    for process in profile.processes:
        host = process.table("host")
        rows = np.char.startswith(named(process, "host"), "enumerate(DataLoader)")
        waits.append(np.sort(host["duration_ns"][rows]))
    assert all(len(wait) == 12 for wait in waits)
    assert max(wait[-1] for wait in waits) > 50_000_000
    assert all(np.median(wait) < 1_000_000 for wait in waits)


def test_the_host_blocks_where_the_queue_is_full() -> None:
    """With 1,024 launches waiting, the next returns only when one of them has begun."""
    unit = build(96)
    pace = Pace.of(unit, 10**10, 1, 0.9, 0.0)
    assert pace.queue == 1_024
    count = len(unit.shape)
    zero = np.zeros(count, np.int64)
    draws = Draws.of(pace, count, 1.0, (1,))
    begun = Launches(0, zero, zero.copy(), zero.copy(), zero.copy(), 0, zero[:3], zero[:3], zero[:3], zero[:3], 0)
    launch(pace, draws, begun, count, 0)
    waiting = np.arange(count) - np.searchsorted(begun.device_start_ns, begun.end_ns)
    assert waiting.max() == 1_023
    took = begun.end_ns - begun.start_ns
    assert np.median(took[waiting == 1_023]) > 100 * np.median(took[:500])
    # The slow twin: one launch at a time.
    host = device = 0
    for i in range(count):
        start = host + int(draws.host_gap_ns[i])
        end = start + int(draws.cost_ns[i])
        if i >= 1_024:
            end = max(end, int(begun.device_start_ns[i - 1_024]) + 1_800)
        run = max(start + int(draws.latency_ns[i]), device + int(draws.device_gap_ns[i]) if i else 0)
        assert (start, end) == (begun.start_ns[i], begun.end_ns[i])
        if i:
            assert run == begun.device_start_ns[i]
        host, device = end, int(begun.device_end_ns[i])


def test_kernels_jitter_and_long_names_survive(profile: Profile) -> None:
    process = profile.processes[0]
    device, shapes = process.table("device"), process.table("shapes")
    assert len(CUTLASS_GEMM) > 1_000
    name = process.names.texts.index(CUTLASS_GEMM)
    rows = shapes["name_id"][device["shape_id"]] == name
    durations = device["duration_ns"][rows]
    assert len(durations) == 12 * 12
    assert durations.std() / durations.mean() > 0.02
    kinds = np.bincount(device["kind"], minlength=len(DEVICE_KINDS))
    assert (kinds > 0).all()


def test_counters_begin_before_the_first_step(profile: Profile) -> None:
    first_step = min(int(steps_of(process)[0][0]) for process in profile.processes)
    for host in ("algo-1", "algo-2"):
        process = next(p for p in profile.processes if p.info.host == host)
        counter, names = process.table("counter"), named(process, "counter")
        cpu = counter["cpu"] >= 0
        assert set(names[cpu]) == {"CPU utilization (%)", "clk_unhalted_ref.tsc", "itlb_misses.miss_causes_a_walk"}
        assert counter["time_ns"][cpu].min() < first_step - 3_000_000_000
        assert len(np.unique(counter["cpu"][cpu])) == 96
        utilization = counter["value"][names == "GPU utilization (%)"]
        assert utilization.min() >= 0
        assert utilization.max() <= 100
        assert np.median(utilization) > 80


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    one = dict(files(synthesize(tmp_path / "one", 1, 2, 2, seed=5)))
    assert one == dict(files(synthesize(tmp_path / "two", 1, 2, 2, seed=5)))
    other = dict(files(synthesize(tmp_path / "three", 1, 2, 2, seed=6)))
    assert one.keys() == other.keys()
    assert one != other


@pytest.mark.parametrize("slices", [20_000, 400_000])
def test_as_many_slices_as_asked_for(tmp_path: Path, slices: int) -> None:
    profile = Profile.open(synthesize(tmp_path / "run", 1, 2, 4, slices))
    count = sum(
        len(process.table(table)) for process in profile.processes for table in ("device", "host", "annotation")
    )
    assert count == pytest.approx(slices, rel=0.05)


def test_it_says_that_it_is_synthetic(profile: Profile) -> None:
    assert profile.manifest.synthetic
    assert [(host.name, host.instance_type) for host in profile.manifest.hosts] == [
        ("algo-1", "ml.p4d.24xlarge"),
        ("algo-2", "ml.p4d.24xlarge"),
    ]
    assert [process.info.rank for process in profile.processes] == [0, 1, 2, 3]
    assert not profile.losses


def test_cancelling_leaves_nothing(tmp_path: Path) -> None:
    calls = iter(range(10_000))
    with pytest.raises(Cancelled):
        synthesize(tmp_path / "run", 1, 2, 3, cancelled=lambda: next(calls) > 5)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ProfileError, match="not an empty folder"):
        synthesize(tmp_path, 1, 1, 1)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


@pytest.fixture(scope="module")
def sample_again(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """The sample profile, made anew."""
    return Profile.open(synthesize(tmp_path_factory.mktemp("sample") / "sample", **SAMPLE))


def test_the_sample_profile_is_what_its_command_makes(sample_again: Profile) -> None:
    """By contents, not by bytes: another version of the Parquet library may pack the same columns otherwise."""
    sample = Profile.open(path(SAMPLE_PROFILE))
    assert sample.manifest.to_json() == sample_again.manifest.to_json()
    assert not sample.losses
    for ours, again in zip(sample.processes, sample_again.processes, strict=True):
        for table, columns in TABLES.items():
            one, two = ours.table(table), again.table(table)
            assert len(one) == len(two)
            for column in columns:
                if is_text(column):
                    assert one.arrow(column.name).equals(two.arrow(column.name))
                else:
                    np.testing.assert_array_equal(one[column.name], two[column.name], f"{table}.{column.name}")


def test_the_sample_profile_is_small_and_twenty_seconds_long() -> None:
    folder = path(SAMPLE_PROFILE)
    assert sum(len(content) for _, content in files(folder)) < 2_000_000
    sample = Profile.open(folder)
    assert sample.manifest.synthetic
    assert len(sample.manifest.hosts) == 2
    assert len(sample.processes) == 16
    assert 19_000_000_000 < sample.end_ns - sample.begin_ns < 21_000_000_000
