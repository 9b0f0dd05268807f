"""What is told of a slice's links: queue, twins, what is missing, what was launched inside."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np

from smprof.profile.reader import Profile
from smprof.profile.schema import HOST_KINDS, SIDES
from smprof_desktop.analysis import slices, steps
from smprof_desktop.analysis.enclosing import Surroundings
from smprof_desktop.analysis.executions import part
from smprof_desktop.slice_ref import SliceRef
from tests.analysis.test_slices import PROFILE
from tests.make_profile import make_profile


def section(profile: Profile, name: str, title: str) -> str:
    """One section of a slice's description; rows that lead elsewhere say to which table."""
    ref = slices.find(profile, name)
    assert ref is not None
    for found in slices.describe(profile, ref):
        if found.title == title:
            rows = zip(found.rows, found.refs, strict=True)
            return "".join(f"{label}: {value}{f' -> {to.table}' if to else ''}\n" for (label, value), to in rows)
    return ""


def test_the_latency_is_parted_into_queue_and_overhead(tmp_path: Path) -> None:
    text = """
kernel 0/7 90+100 before
api 1 100+50 cudaLaunchKernel corr=5
kernel 0/7 190+100 first
kernel 0/7 300+100 second
kernel 0/8 190+300 elsewhere
kernel 0/7 500+10 gemm corr=5
"""
    profile = make_profile(tmp_path, text)
    assert section(profile, "gemm", "Launch").splitlines()[1:5] == [
        "Latency from launch start: 400 ns",
        "Latency from launch end: 350 ns",
        "of it queued: 240 ns, 3 earlier executions of the stream",
        "of it launch overhead: 110 ns",
    ]
    ref = slices.find(profile, "gemm")
    assert ref is not None
    launch = next(found for found in slices.describe(profile, ref) if found.title == "Launch")
    tips = dict(zip([label for label, _ in launch.rows], launch.tips, strict=True))
    assert "minus start of the API call" in tips["Latency from launch start"] and tips["of it queued"]


def test_a_link_that_runs_backwards_is_said_at_both_ends(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, "api 1 300+50 cudaLaunchKernel corr=5\nkernel 0/7 100+50 early corr=5")
    assert "Starts before its launch: by 200 ns\n" in section(profile, "early", "Launch")
    assert "Latency from launch start: -200 ns\n" in section(profile, "early", "Launch")
    assert section(profile, "cudaLaunchKernel", "Executions") == (
        "Launched: 1 execution\nStarts before its launch: yes\n200 ns before: early -> device\n"
    )


def test_calls_that_share_an_id_are_told_and_which_one_counts(tmp_path: Path) -> None:
    text = """
api 1 100+50 cudaLaunchKernel corr=5
api 1 110+20 cuLaunchKernelEx corr=5
kernel 0/7 400+200 gemm corr=5
api 1 700+50 cudaLaunchKernelExC corr=6
kernel 0/7 900+10 orphan corr=8
"""
    profile = make_profile(tmp_path, text)
    twins = "Calls with its id: 2; the one that starts first is taken\nalso: cuLaunchKernelEx -> host\n"
    assert twins in section(profile, "gemm", "Launch")
    assert twins in section(profile, "cudaLaunchKernel", "Executions")
    assert section(profile, "cuLaunchKernelEx", "Executions") == (
        "Launched: not known: an earlier call carries the same correlation id and counts as the launch\n"
        "That call: cudaLaunchKernel -> host\n"
    )
    assert section(profile, "cudaLaunchKernelExC", "Executions") == (
        "Launched: not known: nothing with its correlation id was recorded on a GPU\n"
    )
    assert section(profile, "orphan", "Launch").startswith(
        "Launched by: not known: no API call with its correlation id was recorded\n"
    )


def test_operators_and_annotations_tell_what_was_launched_inside(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, PROFILE)
    assert section(profile, "aten::linear", "Launched inside") == (
        "API calls: 1 that launched something\nExecutions: 1\nDevice time: 1.500 µs (1,500 ns)\n"
        "First: gemm<float> (1.500 µs) -> device\n"
    )
    assert section(profile, "step_3", "Launched inside") == (
        "API calls: 2 that launched something\nExecutions: 3\nDevice time: 1.700 µs (1,700 ns)\n"
        "First: gemm<float> (1.500 µs) -> device\nLast: bw_reduce (100 ns) -> device\n"
    )
    assert section(profile, "train.py(12): main", "Launched inside").splitlines()[1] == "Executions: 1"


def test_forward_and_backward_operators_lead_to_each_other(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, PROFILE)
    assert "Backward operator: MmBackward0 -> host\n" in section(profile, "aten::linear", "Comes from")
    assert section(profile, "MmBackward0", "Comes from") == "of the forward operator: aten::linear -> host\n"
    assert "Backward operator" not in section(profile, "aten::mm", "Comes from")


def test_a_synchronisation_record_and_its_call_lead_to_each_other(tmp_path: Path) -> None:
    text = "api 1 100+50 cudaStreamSynchronize corr=5\nsync 0/7 100+40 'Stream Sync' corr=5\nkernel 0/7 90+50 gemm"
    profile = make_profile(tmp_path, text)
    assert section(profile, "Stream Sync", "Synchronisation") == "Recorded for: cudaStreamSynchronize -> host\n"
    assert section(profile, "cudaStreamSynchronize", "Synchronisation") == "Record: Stream Sync -> host\n"


def random_profile(folder: Path, seed: int) -> Profile:
    """Steps of a forward thread, work of its backward thread in and out of backward operators, and a stranger's."""
    dice = Random(seed)
    lines = ["thread 1 main"]
    for step in range(4):
        begin = step * 1000
        lines.append(f"annotation 1 {begin}+{dice.randint(300, 990)} step_{step}")
        lines.append(f"op 1 {begin + 5}+100 forward sequence={step}")
        lines.append(f"op 2 {begin + dice.randint(200, 600)}+150 Backward0 sequence={step} forward=1")
        if dice.random() < 0.5:
            lines.append(f"op 3 {begin + 20}+80 OtherBackward0 sequence={step + 50} forward=2")
            lines.append(f"op 9 {begin + 20}+80 other sequence={step + 50}")
    for correlation in range(1, 61):
        start = dice.randint(0, 4200)
        lines.append(f"api {dice.choice([1, 2, 3, 9])} {start}+1 cudaLaunchKernel corr={correlation}")
        for _ in range(dice.choice([0, 1, 1, 3])):
            times = f"{start + dice.randint(-20, 900)}+{dice.randint(0, 90)}"
            lines.append(f"kernel 0/{dice.randint(7, 9)} {times} k corr={correlation}")
    return make_profile(folder, "\n".join(lines))


def test_what_an_annotation_caused_is_what_the_report_says(tmp_path: Path) -> None:
    for seed in range(12):
        profile = random_profile(tmp_path / str(seed), seed)
        process = profile.processes[0]
        annotations = steps.host_side(part(process.table("annotation")))
        device, host = part(process.table("device")), process.table("host")
        on_gpu = steps.on_gpu(annotations, device, process.table("device")["launch"], host)
        around = Surroundings(process)
        for row in range(len(annotations)):
            start_ns, duration_ns = around.times("annotation", row)
            thread = process.table("annotation").value("thread", row)
            found = around.caused_inside(thread, start_ns, start_ns + duration_ns)
            assert bool(len(found.rows)) == on_gpu.launched[row]
            if len(found.rows):
                ends_ns = found.start_ns + found.duration_ns
                assert int(ends_ns.max() - found.start_ns.min()) == on_gpu.span_ns[row]


def test_what_was_launched_inside_equals_a_look_at_every_execution(tmp_path: Path) -> None:
    for seed in range(6):
        profile = random_profile(tmp_path / str(seed), 100 + seed)
        process = profile.processes[0]
        host, launch = process.table("host"), process.table("device")["launch"]
        api = HOST_KINDS.index("api")
        for begin_ns, end_ns in ((0, 5000), (100, 101), (500, 1700)):
            found = Surroundings(process).launched_inside(2, begin_ns, end_ns)
            starts_ns = host["start_ns"]
            mine = (host["kind"] == api) & (host["thread"] == 2) & (starts_ns >= begin_ns) & (starts_ns < end_ns)
            calls = np.flatnonzero(mine)
            assert sorted(found.rows.tolist()) == np.flatnonzero(np.isin(launch, calls)).tolist()
            assert found.calls == len(set(launch[found.rows].tolist()))
            assert (np.diff(found.start_ns) >= 0).all()


def test_what_stands_around_a_slice_equals_a_look_at_every_slice(tmp_path: Path) -> None:
    for seed in range(6):
        profile = random_profile(tmp_path / str(seed), seed)
        process = profile.processes[0]
        around, host = Surroundings(process), process.table("host")
        for row in np.flatnonzero(host["kind"] == HOST_KINDS.index("api")).tolist():
            start_ns, duration_ns = around.times("host", row)
            thread, end_ns = host.value("thread", row), start_ns + duration_ns
            asked = (("host", "op", HOST_KINDS.index("op")), ("annotation", "host", SIDES.index("host")))
            for table, kind, code in asked:
                columns = process.table(table)
                kinds = columns["kind" if table == "host" else "side"]
                ends_ns = columns["start_ns"] + columns["duration_ns"]
                holds = (columns["start_ns"] <= start_ns) & (ends_ns >= end_ns) & (columns["thread"] == thread)
                expected = np.flatnonzero(holds & (kinds == code))
                found = around.around(table, kind, thread, start_ns, end_ns)
                assert set(found) <= set(expected.tolist())
                assert {int(columns["depth"][r]) for r in found} == {int(columns["depth"][r]) for r in expected}


def test_every_section_says_as_much_of_its_labels_as_it_has_rows(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, PROFILE)
    for table in ("device", "host", "annotation"):
        for row in range(len(profile.processes[0].table(table))):
            for found in slices.describe(profile, SliceRef(0, table, row)):
                assert len(found.rows) == len(found.refs) == len(found.tips)
