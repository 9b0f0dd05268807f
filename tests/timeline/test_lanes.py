"""The tree of lanes as text, its keys, and where a slice stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline import lanes
from smprof_desktop.timeline.arrangement import AS_RECORDED, shown
from tests.make_profile import make_profile

TWO_HOSTS = """
host algo-1
process 1 pid=4712 rank=1 window=0:100
thread 4712 python
device 1 "NVIDIA H100" used
kernel 1/7 20+10 gemm corr=5
api 4712 10+3 cudaLaunchKernel corr=5
process 0 pid=4711 rank=0 window=0:100
thread 21 autograd
thread 4711 python
device 0 "NVIDIA H100" used
kernel 0/20 20+10 nccl corr=6
kernel 0/7 20+10 gemm corr=5
kernel 0/7 25+10 gemm corr=5
annotation 0/7 20+30 step_0
sync 0/7 50+5 "Stream Sync"
api 4711 10+3 cudaLaunchKernel corr=5
op 4711 5+20 aten::mm
api 21 12+3 cudaLaunchKernel corr=6
annotation 4711 0+60 step_0
counter 10 "CPU utilization %" 50 cpu=0
counter 10 "CPU utilization %" 70 cpu=1
counter 10 "clk_unhalted_ref.tsc" 123
counter 10 "memory bytes" 5 device=0
host algo-2
process 2 pid=9 window=0:100
thread 9 loader
op 9 5+20 aten::mm
"""


def test_the_tree_reads_as_sagemaker_profiler_had_it(tmp_path: Path) -> None:
    tree = lanes.build(make_profile(tmp_path, TWO_HOSTS))
    assert (
        tree.text()
        == """\
algo-1
  CPU
    CPU utilization %
      CPU 0
      CPU 1
    clk_unhalted_ref.tsc
  GPUs
    SUM Utilization
    HOST-0 PID-4711 · rank 0
      GPU-0 utilization
      GPU-0 memory bytes
      GPU-0 device
        annotations · stream 7
        stream 7 [2]
        synchronisation · stream 7
        stream 20
      GPU-0 host
        python 4711 [3]
        autograd 21
    HOST-0 PID-4712 · rank 1
      GPU-1 utilization
      GPU-1 device
        stream 7
      GPU-1 host
        python 4712
algo-2
  HOST-1 PID-9
    loader 9
"""
    )


def test_a_device_with_marks_only_has_a_lane_and_no_share_in_the_mean(tmp_path: Path) -> None:
    text = "process 0 pid=1\ndevice 1 H100\nkernel 0/7 20+10 gemm\nannotation 1/7 20+10 step\nsync 1/8 20+5 wait"
    tree = lanes.build(make_profile(tmp_path, text))
    assert len(tree.by_key["host:algo-1/gpus/utilization"].busy) == 1
    labels = [lane.label for lane in tree.walk()]
    assert "GPU-1 utilization" not in labels
    assert labels[labels.index("GPU-1 device") :][:3] == [
        "GPU-1 device", "annotations · stream 7", "synchronisation · stream 8",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("CPU utilization (%)", "%"),
        ("memory allocated [bytes]", "bytes"),
        ("CPU utilization %", "%"),
        ("power W", "W"),
        ("clk_unhalted_ref.tsc", ""),
        ("NEW", ""),
        ("(", ""),
    ],
)
def test_the_unit_of_a_counter(name: str, unit: str) -> None:
    assert lanes.unit_of(name) == unit


def test_keys_are_stable_and_distinct(tmp_path: Path) -> None:
    first = lanes.build(make_profile(tmp_path / "a", TWO_HOSTS))
    again = lanes.build(make_profile(tmp_path / "b", TWO_HOSTS))
    keys = [lane.key for lane in first.walk()]
    assert len(set(keys)) == len(keys)
    assert keys == [lane.key for lane in again.walk()]
    assert "host:algo-1/gpus/process:0/gpu:0/stream:7" in keys


def test_every_slice_stands_in_one_drawn_row(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, TWO_HOSTS)
    tree = lanes.build(profile)
    for index, process in enumerate(profile.processes):
        for table in ("device", "host", "annotation"):
            for row in range(len(process.table(table))):
                place = tree.place(SliceRef(index, table, row))
                assert place is not None
                key, line = place
                assert any(table_row.process == index for table_row in tree.by_key[key].rows)
                if table == "device":
                    assert line == process.table("device")["row"][row]
            assert tree.place(SliceRef(index, table, len(process.table(table)))) is None
    assert tree.place(SliceRef(99, "device", 0)) is None


def test_a_collapsed_group_hides_what_lies_below(tmp_path: Path) -> None:
    tree = lanes.build(make_profile(tmp_path, TWO_HOSTS))
    found = shown(tree, frozenset(), AS_RECORDED)
    assert [lane.label for lane in found.lanes] == ["algo-1", "algo-2"]
    found = shown(tree, frozenset({"host:algo-1"}), AS_RECORDED)
    assert [lane.label for lane in found.lanes] == ["algo-1", "CPU", "GPUs", "algo-2"]
    everything = shown(tree, frozenset(lane.key for lane in tree.walk()), AS_RECORDED)
    assert everything.lanes == tuple(tree.walk())
    assert everything.levels == tuple(lane.level for lane in tree.walk())
    assert tree.ancestors("host:algo-2/process:2/thread:9") == ["host:algo-2/process:2", "host:algo-2"]


def test_streams_follow_their_number_not_their_digits(tmp_path: Path) -> None:
    text = "\n".join(f"kernel 0/{stream} 20+10 gemm" for stream in (10, 9, 100, 7))
    labels = [lane.label for lane in lanes.build(make_profile(tmp_path, text)).walk() if lane.kind == "stream"]
    assert labels == ["stream 7", "stream 9", "stream 10", "stream 100"]
    assert sorted(["gpu 10", "gpu 9"], key=lanes.natural_key) == ["gpu 9", "gpu 10"]


def test_a_profile_without_slices_has_no_rows(tmp_path: Path) -> None:
    tree = lanes.build(make_profile(tmp_path, "process 0 pid=1"))
    assert all(not lane.rows for lane in tree.walk())
    assert lanes.build(make_profile(tmp_path / "none", "")).default_expanded() is not None
