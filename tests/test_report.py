"""Reports of tiny profiles that are worked out by hand, as text and as figures."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from smprof.profile.manifest import Manifest, Process, ProfileError
from smprof.profile.reader import Profile
from smprof.profile.writer import ProfileWriter
from smprof_desktop import report, report_figures
from smprof_desktop.progress import Cancelled
from smprof_desktop.report_html import html
from smprof_desktop.report_tables import headline
from tests.make_profile import make_profile, write_profile

# One training step: forward on thread 1, backward on thread 2 (its operator carries the forward's sequence number).
STEP = """
process 0 window=0:1000
thread 1 main
device 0 "NVIDIA H100" used
device 1 "NVIDIA H100"
annotation 1 0+800 step_7
annotation 1 10+200 forward
annotation 0/7 100+300 step_7
op 1 20+100 aten::linear sequence=4
op 1 30+50 aten::mm
op 2 300+100 MmBackward0 sequence=4 forward=1
op 2 310+50 aten::mm
api 1 40+10 cudaLaunchKernel corr=11
api 2 320+10 cudaLaunchKernel corr=12
api 1 420+5 cudaMemcpyAsync corr=13
api 1 500+300 cudaStreamSynchronize corr=14
sync 0/7 500+290 "Stream Sync" corr=14
kernel 0/7 100+100 gemm corr=11 grid=8,1,1 block=128,1,1
kernel 0/7 350+60 gemm corr=12
kernel 0/9 380+100 reduce<float> corr=99
memcpy 0/7 450+100 "Memcpy DtoH" corr=13 bytes=4096 copy=DtoH
memset 0/9 490+5 "Memset (Device)" bytes=16
counter 10 "gpu utilization" 55.5 device=0
counter 20 "gpu utilization" gap device=0
loss gap_value 1 "counter gpu utilization"
"""

STEP_AS_TEXT = """\
Profile          tiny
Span             800 ns
Hosts            algo-1
Slices           5 device, 4 api, 4 op, 1 sync, 2 annotation
Counter samples  2
Activities       kernels 260 ns, copies 100 ns, sets 5 ns, synchronisation 300 ns
Precision        FP32 38.5 %, unknown 61.5 % of kernel time, by the kernels' names
Launch latency   median 45 ns, p99 60 ns, from 30 ns to 60 ns
Kernels          2 linked, 1 without a recorded launch

Devices – Utilization is active ÷ window. Active counts overlap once, the others twice.
Host    Process  GPU  Name         Utilization  Active    Window  Kernels  Copies  Sets  Streams
algo-1  0        0    NVIDIA H100       30.0 %  300 ns  1.000 µs   260 ns  100 ns  5 ns        2

Kernels – Plain sums: kernels that overlap count twice.
Name           Count   Total     Min    Mean     Max  Precision
gemm               2  160 ns   60 ns   80 ns  100 ns    unknown
reduce<float>      1  100 ns  100 ns  100 ns  100 ns       FP32

Memory operations
Kind    Count   Total  Bytes
DtoH        1  100 ns  4,096
Memset      1    5 ns     16

Synchronisation calls – Host time in API calls that wait.
Name                   Count   Total
cudaStreamSynchronize      1  300 ns

Synchronisation records – Never added to the calls.
Name         Count   Total
Stream Sync      1  290 ns

Steps – Slowest is the process of the greatest duration.
Name    Count  Processes     Min    Mean     Max  Slowest
step_7      1          1  800 ns  800 ns  800 ns        0

Annotations – Total, mean and median are host time; on the GPU counts what was launched inside.
Name     Count   Total    Mean  Median  GPU busy  GPU span
step_7       1  800 ns  800 ns  800 ns    260 ns    450 ns
forward      1  200 ns  200 ns  200 ns    100 ns    100 ns

Operators – Host self is without the operators called directly; device time is what was launched beneath.
Name          Count  Host total  Host self  Device
MmBackward0       1      100 ns      50 ns   60 ns
aten::linear      1      100 ns      50 ns  100 ns
aten::mm          2      100 ns     100 ns  160 ns

Losses – What was recorded or read and is not shown, or is not whole.
Kind                                                                  Count
gap_value: algo-1, process 0: counter gpu utilization                     1
unlinked_execution: no correlation id was recorded                        1
unlinked_execution: no API call with its correlation id was recorded      1
"""


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return make_profile(tmp_path_factory.mktemp("step") / "p", STEP)


def keep_invariants(figures: dict[str, Any]) -> None:
    """What is true of every report, whatever the profile and the range."""
    kernels, devices, latency = figures["kernels"], figures["devices"], figures["latency"]["kernels"]
    activities, operations = figures["activities"], figures["memory_ops"]
    launched = sum(kernel["count"] for kernel in kernels)
    assert kernels == sorted(kernels, key=lambda kernel: (-kernel["total_ns"], kernel["name"]))
    assert all(kernel["min_ns"] <= kernel["mean_ns"] <= kernel["max_ns"] for kernel in kernels)
    assert latency["linked"] + latency["unlinked"] == launched
    assert launched + sum(entry["count"] for entry in operations) == figures["profile"]["slices"]["device"]
    for key in ("kernel_ns", "memcpy_ns", "memset_ns"):
        assert sum(device[key] for device in devices) == activities[key]
    assert sum(kernel["total_ns"] for kernel in kernels) == activities["kernel_ns"]
    assert sum(figures["precision"].values()) == activities["kernel_ns"]
    assert sum(entry["total_ns"] for entry in operations if entry["kind"] != "Memset") == activities["memcpy_ns"]
    assert sum(row["total_ns"] for row in figures["syncs"]) == activities["sync_ns"]
    for device in devices:
        assert 0 <= device["active_ns"] <= device["window_ns"]
        assert device["active_ns"] <= device["kernel_ns"] + device["memcpy_ns"] + device["memset_ns"]
        assert all(stream["active_ns"] <= device["active_ns"] for stream in device["streams"])
        if device["window_ns"]:
            assert device["utilization"] == device["active_ns"] / device["window_ns"]
    assert all((row["gpu_busy_ns"] or 0) <= (row["gpu_span_ns"] or 0) for row in figures["annotations"])
    assert all(row["duration_ns"] >= 0 for row in figures["steps"])
    assert all(row["host_self_ns"] >= 0 for row in figures["ops"])
    assert all(loss["count"] > 0 for loss in figures["losses"])
    json.dumps(figures, allow_nan=False)


def test_a_report_as_text(step: Profile) -> None:
    assert report.text(report.build(step)) == STEP_AS_TEXT


def test_the_figures_of_a_step(step: Profile) -> None:
    figures = report.build(step)
    keep_invariants(figures)
    assert figures["report"] == 1
    assert figures["profile"]["counters"] == 2
    assert figures["devices"] == [
        {
            "host": "algo-1", "process": "0", "device": 0, "name": "NVIDIA H100", "window_ns": 1000,
            # [100,200) [350,480) overlapping on two streams, [450,550): 100 + 200
            "active_ns": 300, "outside_window_ns": 0,
            "kernel_ns": 260, "memcpy_ns": 100, "memset_ns": 5, "utilization": 0.3,
            "streams": [
                {"stream": 7, "slices": 3, "active_ns": 260},
                {"stream": 9, "slices": 2, "active_ns": 105},
            ],
        }
    ]  # fmt: skip
    assert figures["latency"]["kernels"] == {
        "linked": 2, "unlinked": 1, "min_ns": 30, "median_ns": 45, "p99_ns": 60, "max_ns": 60,
        "negative": 0, "via_graph_launch": 0,
    }  # fmt: skip
    assert figures["steps"] == [{"name": "step_7", "process": "0", "start_ns": 0, "duration_ns": 800}]
    assert [row["precision"] for row in figures["kernels"]] == [None, "FP32"]
    assert (figures["precision"], figures["advice"]) == ({"FP32": 100, "unknown": 160}, [])


def test_the_backward_thread_belongs_to_its_step(step: Profile) -> None:
    """Thread 2 launched one gemm for the forward pass on thread 1; it is inside step_7 and outside of forward."""
    rows = {row["name"]: row for row in report.build(step)["annotations"]}
    assert rows["step_7"]["gpu_span_ns"] == 550 - 100
    assert rows["step_7"]["gpu_busy_ns"] == 100 + 60 + 100
    assert (rows["forward"]["gpu_busy_ns"], rows["forward"]["gpu_span_ns"]) == (100, 100)


def test_a_range_trims_times_and_windows(step: Profile) -> None:
    figures = report.build(step, 380, 460)
    keep_invariants(figures)
    assert figures["profile"]["span_ns"] == 80
    assert [(row["name"], row["count"], row["total_ns"]) for row in figures["kernels"]] == [
        ("reduce<float>", 1, 80),
        ("gemm", 1, 30),
    ]
    assert figures["memory_ops"] == [{"kind": "DtoH", "count": 1, "total_ns": 10, "bytes": 4096}]
    assert figures["devices"][0]["window_ns"] == 80
    assert figures["devices"][0]["active_ns"] == 80
    assert figures["steps"] == [{"name": "step_7", "process": "0", "start_ns": 380, "duration_ns": 80}]
    assert figures["latency"]["kernels"]["median_ns"] == 30, "a latency is never cut"
    assert figures["profile"]["slices"] == {
        "device": 3, "api": 1, "op": 1, "python": 0, "sync": 0, "overhead": 0, "other": 0, "annotation": 1,
    }  # fmt: skip


@pytest.mark.parametrize("begin_ns", range(-20, 900, 37))
@pytest.mark.parametrize("length_ns", [1, 50, 333, 2000])
def test_any_range_keeps_the_invariants(step: Profile, begin_ns: int, length_ns: int) -> None:
    keep_invariants(report.build(step, begin_ns, begin_ns + length_ns))


def test_the_whole_profile_as_a_range_is_the_whole_report(step: Profile) -> None:
    assert report.build(step, 0, 1000) == report.build(step), "its window is [0, 1000), its last slice ends at 800"
    assert report.build(step, -(1 << 70), 1 << 70) == report.build(step)


@pytest.mark.parametrize(
    ("window", "begin_ns", "end_ns", "window_ns", "active_ns", "span_ns"),
    [
        ("0:1000", 0, 10, 10, 0, 0),  # before the first slice, inside the window
        ("0:1000", 0, 510, 510, 10, 10),
        ("0:1000", 500, 600, 100, 100, 100),  # exactly the slices: the window is cut on both sides
        ("0:1000", 700, 2000, 300, 0, 0),  # behind the last slice
        ("0:1000", 0, 1000, 1000, 100, 100),
        ("0:1000", -5, 2000, 1000, 100, 100),
        ("520:580", 0, 1000, 60, 60, 100),  # a window inside the slices
        ("520:580", 500, 550, 30, 30, 50),
        ("520:580", 0, 510, 0, 0, 10),
    ],
)
def test_a_range_cuts_windows_wider_and_narrower_than_the_slices(
    tmp_path: Path, window: str, begin_ns: int, end_ns: int, window_ns: int, active_ns: int, span_ns: int
) -> None:
    text = f"process 0 window={window}\ndevice 0 H100 used\nkernel 0/7 500+100 gemm"
    figures = report.build(make_profile(tmp_path / "p", text), begin_ns, end_ns)
    (device,) = figures["devices"]
    assert (device["window_ns"], device["active_ns"]) == (window_ns, active_ns)
    assert figures["profile"]["span_ns"] == span_ns
    assert device["utilization"] == (active_ns / window_ns if window_ns else None)


def test_ranges_side_by_side_add_up(step: Profile) -> None:
    whole, parts = report.build(step), [report.build(step, begin, begin + 100) for begin in range(0, 1000, 100)]
    for key in ("kernel_ns", "memcpy_ns", "memset_ns", "sync_ns"):
        assert sum(part["activities"][key] for part in parts) == whole["activities"][key]
    assert sum(part["devices"][0]["active_ns"] for part in parts) == whole["devices"][0]["active_ns"]
    own = [{row["name"]: row["host_self_ns"] for row in part["ops"]} for part in parts]
    for row in whole["ops"]:
        assert sum(part.get(row["name"], 0) for part in own) == row["host_self_ns"]


def test_another_annotation_as_the_step(step: Profile) -> None:
    assert [row["name"] for row in report.build(step, step="forward")["steps"]] == ["forward"]
    assert [row["name"] for row in report.build(step, step="step")["steps"]] == ["step_7"]
    with pytest.raises(ProfileError, match='No annotation is named "epoch"'):
        report.build(step, step="epoch")
    with pytest.raises(ProfileError, match="The range is empty"):
        report.build(step, 5, 5)


def test_an_empty_profile(tmp_path: Path) -> None:
    """Case A 7: nothing in it is a state, not a KeyError."""
    for text in ("", "process 0 window=0:100\ndevice 0 H100 used"):
        figures = report.build(make_profile(tmp_path / str(len(text)), text))
        keep_invariants(figures)
        assert figures["kernels"] == figures["steps"] == figures["losses"] == []
        assert figures["latency"]["kernels"]["median_ns"] is None
        assert ("Slices", "none: this profile holds no events") in headline(figures)
    assert [(device["window_ns"], device["active_ns"]) for device in figures["devices"]] == [(100, 0)]


def test_nothing_in_a_range_is_not_nothing_at_all(step: Profile, tmp_path: Path) -> None:
    assert "nothing was recorded in this range" in report.text(report.build(step, 5_000, 6_000))
    only_samples = make_profile(tmp_path / "p", "counter 10 power 55.5 device=0")
    assert ("Slices", "none") in headline(report.build(only_samples))


def test_steps_of_many_processes_are_a_row_per_name(tmp_path: Path) -> None:
    slices = "\n".join(
        f"process {rank}\nannotation 1 0+{100 + rank} step_0\nannotation 1 200+{10 if rank else 17} step_1"
        for rank in range(16)
    )
    profile = make_profile(tmp_path / "p", slices)
    figures = report.build(profile)
    assert len(figures["steps"]) == 32, "the JSON has them all"
    expected = """\
Steps – Slowest is the process of the greatest duration.
Name    Count  Processes     Min    Mean     Max  Slowest
step_0     16         16  100 ns  108 ns  115 ns       15
step_1     16         16   10 ns   10 ns   17 ns        0
"""
    assert expected in report.text(figures)
    cells = ["step_0", "16", "16", "100 ns", "108 ns", "115 ns", "15"]
    assert cells == re.findall(r"<td[^>]*>([^<]*)</td>", html(figures).split("<h2>Steps</h2>")[1])[:7]
    note = "Steps – Only what --step asks for; the other tables are for the whole profile."
    one = report.build(profile, step="step_0")
    assert one["asked"] == {"begin_ns": None, "end_ns": None, "step": "step_0"}
    assert note in report.text(one) and note.replace("Steps – ", "") in html(one)
    in_range = report.build(profile, 0, 150, "step_0")
    assert in_range["asked"] == {"begin_ns": None, "end_ns": 150, "step": "step_0"}
    assert "are for the whole range." in report.text(in_range)


def test_no_steps(tmp_path: Path) -> None:
    """Case A 8: figures over the whole range all the same."""
    figures = report.build(make_profile(tmp_path / "p", "kernel 0/7 10+5 gemm corr=1\napi 1 2+3 launch corr=1"))
    keep_invariants(figures)
    assert figures["steps"] == []
    assert figures["kernels"][0]["total_ns"] == 5
    assert figures["devices"][0]["window_ns"] == 13, "no window was recorded: first start to last end"


def test_only_cpu_operators(tmp_path: Path) -> None:
    """Case A 10: no launch, no device."""
    figures = report.build(make_profile(tmp_path / "p", "op 1 0+100 aten::add\nannotation 1 0+100 step_1"))
    keep_invariants(figures)
    assert figures["devices"] == figures["kernels"] == figures["syncs"] == []
    assert figures["ops"] == [
        {"name": "aten::add", "count": 1, "host_total_ns": 100, "host_self_ns": 100, "device_ns": 0}
    ]
    assert figures["annotations"][0]["gpu_busy_ns"] is None


def test_unlinked_executions_are_counted_with_the_reason(tmp_path: Path) -> None:
    """Case C 29."""
    figures = report.build(
        make_profile(
            tmp_path / "p",
            "api 1 0+5 cudaLaunchKernel corr=1\nkernel 0/7 10+5 a corr=1\nkernel 0/7 20+5 a corr=2\n"
            "kernel 0/7 30+5 a corr=0\nkernel 0/7 40+5 a corr=-4\nkernel 0/7 50+5 a\nmemset 0/7 60+5 m corr=9",
        )
    )
    keep_invariants(figures)
    assert figures["latency"]["kernels"]["linked"] == 1
    assert figures["latency"]["kernels"]["unlinked"] == 4
    assert [(loss["kind"], loss["count"], loss["detail"]) for loss in figures["losses"]] == [
        ("unlinked_execution", 3, "no correlation id was recorded"),
        ("unlinked_execution", 2, "no API call with its correlation id was recorded"),
    ]


def test_overlapping_kernels_of_one_stream_are_both_there(tmp_path: Path) -> None:
    """Case D 35: B starts before A ends on the same stream; both count, active time once."""
    figures = report.build(make_profile(tmp_path / "p", "kernel 0/7 3000+3776 A\nkernel 0/7 5000+2000 B"))
    keep_invariants(figures)
    assert [(row["name"], row["total_ns"]) for row in figures["kernels"]] == [("A", 3776), ("B", 2000)]
    assert figures["devices"][0]["active_ns"] == 4000
    assert figures["devices"][0]["streams"] == [{"stream": 7, "slices": 2, "active_ns": 4000}]


def test_processes_without_rank_or_gpu_beside_others(tmp_path: Path) -> None:
    """Case F 52: a process is named by its pid where it has no rank; one without a device has no row of its own."""
    figures = report.build(
        make_profile(
            tmp_path / "p",
            "host algo-1\nprocess 4711 pid=4711\nkernel 0/7 0+10 gemm\nprocess 4712 pid=4712\nop 1 0+10 aten::add\n"
            "host algo-2\nprocess 3\nkernel 0/7 5+10 gemm\nannotation 1 0+4 step_1",
        )
    )
    keep_invariants(figures)
    assert figures["profile"]["hosts"] == ["algo-1", "algo-2"]
    assert [(d["host"], d["process"], d["device"]) for d in figures["devices"]] == [
        ("algo-1", "4711", 0),
        ("algo-2", "3", 0),
    ]
    assert figures["kernels"][0]["count"] == 2
    assert figures["steps"][0]["process"] == "3"


def test_active_time_outside_the_window_is_in_no_share(tmp_path: Path) -> None:
    figures = report.build(
        make_profile(tmp_path / "p", "process 0 windows=0:40,60:100\nkernel 0/7 30+40 a\nkernel 0/7 95+20 a")
    )
    keep_invariants(figures)
    (device,) = figures["devices"]
    assert (device["window_ns"], device["active_ns"], device["outside_window_ns"]) == (80, 25, 35)


def test_graph_launches_and_negative_latencies(tmp_path: Path) -> None:
    figures = report.build(
        make_profile(
            tmp_path / "p",
            "api 1 10+5 cudaGraphLaunch corr=1\napi 1 50+5 cuLaunchKernelEx corr=2\nkernel 0/7 8+5 a corr=1\n"
            "kernel 0/7 20+5 a corr=1\nkernel 0/7 60+5 b corr=2",
        )
    )
    keep_invariants(figures)
    assert figures["latency"]["kernels"] == {
        "linked": 3, "unlinked": 0, "min_ns": -2, "median_ns": 10, "p99_ns": 10, "max_ns": 10,
        "negative": 1, "via_graph_launch": 2,
    }  # fmt: skip


def test_times_further_apart_than_64_bits_are_exact(tmp_path: Path) -> None:
    """A launch at -9e18 ns and its execution at +9e18 ns: each fits in 64 bits, their distance does not."""
    far_ns = 9 * 10**18
    figures = report.build(
        make_profile(
            tmp_path / "p",
            f"process 0 window={-far_ns}:{far_ns + 100}\nannotation 1 {-far_ns}+100 step_1\n"
            f"api 1 {-far_ns}+5 cudaLaunchKernel corr=1\napi 1 {10 - far_ns}+5 cudaLaunchKernel corr=2\n"
            f"kernel 0/7 {20 - far_ns}+40 gemm corr=2\nkernel 0/7 {far_ns}+60 gemm corr=1",
        )
    )
    keep_invariants(figures)
    (device,), latency = figures["devices"], figures["latency"]["kernels"]
    assert (device["active_ns"], device["outside_window_ns"], device["window_ns"]) == (100, 0, 2 * far_ns + 100)
    assert (latency["min_ns"], latency["max_ns"], latency["negative"]) == (10, 2 * far_ns, 0)
    assert latency["median_ns"] == far_ns + 5
    assert (figures["annotations"][0]["gpu_busy_ns"], figures["annotations"][0]["gpu_span_ns"]) == (
        100,
        2 * far_ns + 60 - 20,
    )


def test_names_of_different_bytes_are_different_names(tmp_path: Path) -> None:
    """Neither is UTF-8, and both have the same stand-in; a third name has a stand-in of its own."""
    names: list[str | bytes] = [b"k\xff", b"k\xfe", b"other\xff", "plain"]
    writer = ProfileWriter(tmp_path / "p", Manifest(name="bytes"))
    for process in range(2):
        mine = writer.process(Process("algo-1", str(process)))
        ids = mine.name_ids(names)
        starts_ns = [0, 10, 20, 30, 40]
        named = ids[[0, 1, 0, 2, 3]]
        shapes = [mine.shape_id(int(name_id)) for name_id in named]
        device = {"kind": ["kernel"] * 5, "device": [0] * 5, "stream": [7] * 5, "shape_id": shapes}
        mine.append("device", {**device, "start_ns": starts_ns, "duration_ns": [5] * 5})
        host = {"thread": [1] * 5, "start_ns": starts_ns, "duration_ns": [5] * 5, "name_id": named}
        mine.append("host", {**host, "kind": ["op"] * 5})
        mine.append("annotation", {**host, "source": ["nvtx"] * 5, "side": ["host"] * 5})
    writer.finish()
    figures = report.build(Profile.open(tmp_path / "p"))
    keep_invariants(figures)
    expected = [("k\\xff", 4), ("k\\xfe", 2), ("other\ufffd", 2), ("plain", 2)]
    for table in ("kernels", "ops", "annotations"):
        assert [(row["name"], row["count"]) for row in figures[table]] == expected, table
    assert figures["annotations"][2]["stem"] == "other\ufffd"


def test_a_name_that_is_no_text_can_be_written_everywhere(tmp_path: Path) -> None:
    """A file name that is not UTF-8 reaches a profile's name as lone surrogates."""
    text = "host algo-1\nprocess 0\nkernel 0/7 0+5 gemm\nannotation 1 0+5 step_1\nloss gap_value 1 x"
    profile = make_profile(tmp_path / "p", text)
    profile.manifest.name = os.fsdecode(b"t\xe9.json")
    profile.manifest.hosts[0].name = profile.processes[0].info.host = "h\udcff"
    profile.processes[0].info.process = "\ud800"
    profile.manifest.losses[0].detail = "of t\udce9.json"
    figures = report.build(profile)
    assert figures["profile"]["name"] == "t\\xe9.json"
    assert figures["profile"]["hosts"] == ["h\\xff"]
    assert figures["steps"][0]["process"] == "\\ud800"
    assert figures["losses"][0]["detail"] == "of t\\xe9.json"
    for written in (json.dumps(figures, ensure_ascii=False), report.text(figures), html(figures)):
        written.encode()


def test_a_report_can_be_cancelled_between_its_parts(step: Profile) -> None:
    asked = 0

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > 2

    with pytest.raises(Cancelled):
        report.build(step, cancelled=cancelled)
    assert 3 <= asked < 3 + len(step.processes)
    assert report.text(report.build(step)) == STEP_AS_TEXT, "and it can be asked again"


def test_columns_that_nobody_else_uses_leave_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = make_profile(tmp_path / "p", STEP)
    device, host = (profile.processes[0].table(name) for name in ("device", "host"))
    assert len(device["start_ns"]) == 5
    report.build(profile)
    assert device.columns_held() == {"start_ns"} and host.columns_held() == set()
    monkeypatch.setattr(report_figures, "LARGE_SLICES", 1)
    report.build(profile)
    assert device.columns_held() == set()


def test_html_shows_names_as_text(tmp_path: Path) -> None:
    page = html(report.build(make_profile(tmp_path / "p", "kernel 0/7 0+5 '<script>alert(1)</script>&'")))
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;" in page
    assert "Content-Security-Policy" in page and "http://" not in page and "https://" not in page


def test_long_names_lose_their_middle(tmp_path: Path) -> None:
    name = "void cutlass::" + "Gemm<" * 300 + "end"
    figures = report.build(make_profile(tmp_path / "p", f"kernel 0/7 0+5 '{name}'"))
    assert figures["kernels"][0]["name"] == name
    lines = report.text(figures).splitlines()
    assert any(line.startswith("void cutlass::Gemm<") and "…" in line and "<end" in line for line in lines)
    assert max(len(line) for line in lines) < 160


def test_the_command_writes_json_text_and_html(tmp_path: Path) -> None:
    folder = write_profile(tmp_path / "p", STEP)

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "smprof_desktop.cli", "report", str(folder), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout

    assert run() == STEP_AS_TEXT
    expected = report.build(Profile.open(folder))
    assert json.loads(run("--json", "-")) == expected
    assert run("--json", str(tmp_path / "r.json"), "--html", str(tmp_path / "r.html")) == ""
    assert json.loads((tmp_path / "r.json").read_text()) == expected
    assert "reduce&lt;float&gt;" in (tmp_path / "r.html").read_text()
    in_range = json.loads(run("--range", "380:460", "--json", "-"))
    assert in_range == report.build(Profile.open(folder), 380, 460)
