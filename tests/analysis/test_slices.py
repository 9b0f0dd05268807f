"""Finding a slice, and what its description says, as text beside the input."""

from __future__ import annotations

from pathlib import Path

from smprof.profile.reader import Profile
from smprof_desktop.analysis import slices
from smprof_desktop.analysis.launches import executions_of, launch_of
from smprof_desktop.slice_ref import SliceRef
from tests.make_profile import make_profile

PROFILE = """
process 0 pid=4711 window=1000:9000
thread 1 python
thread 2 pt_autograd_0
device 0 "NVIDIA H100" used
annotation 1 1000+6000 step_3
python 1 1000+5900 train.py(12): main
python 1 1100+4000 "nn.Module: Linear_0"
op 1 1200+900 aten::linear sequence=5
op 1 1300+300 aten::mm
api 1 1400+50 cudaLaunchKernel corr=21
op 2 5000+500 MmBackward0 sequence=5 forward=1
api 2 5100+50 cudaGraphLaunch corr=22
kernel 0/7 2000+1500 gemm<float> corr=21 grid=8,4,1 block=128,1,1 registers=64 shared=2048
arg "queued" 12
arg "Input Dims" [[2,3]]
kernel 0/7 5600+100 bw_gemm corr=22 graph=3 node=9
kernel 0/7 5750+100 bw_reduce corr=22 graph=3 node=10
memcpy 0/9 6000+1000 "Memcpy HtoD" bytes=4096 copy=HtoD
kernel 0/7 500+1 prologue
"""

GEMM = """\
[Kernel]
Name: gemm<float>
Start: 1.500 µs (1,500 ns) from the profile's start
Duration: 1.500 µs (1,500 ns)
[Launch]
Launched by: cudaLaunchKernel -> host
Latency from launch start: 600 ns
Latency from launch end: 550 ns
Launching thread: 1 (python)
Correlation: 21
[Where]
Function: gemm
Host: algo-1
Process: 0, pid 4711
Device: 0 (NVIDIA H100)
Stream: 7
[Launch shape]
Grid: 8 × 4 × 1
Block: 128 × 1 × 1
Registers per thread: 64
Shared memory per block: 2.00 KiB (2,048 bytes)
[Comes from]
Annotation: step_3 -> annotation
Python frame: train.py(12): main -> host
Module: Linear_0 -> host
Operator: aten::linear -> host
Operator: aten::mm -> host
Launch: cudaLaunchKernel -> host
Kernel: gemm<float>
[Arguments]
Input Dims: [[2, 3]]
queued: 12
"""

BACKWARD = """\
[Launch]
Launched by: cudaGraphLaunch -> host
Latency from launch start: 500 ns
Latency from launch end: 450 ns
Launching thread: 2 (pt_autograd_0)
Correlation: 22
Graph: 3
Graph node: 9
[Where]
Host: algo-1
Process: 0, pid 4711
Device: 0 (NVIDIA H100)
Stream: 7
[Comes from]
Operator: MmBackward0 -> host
of the forward operator: aten::linear -> host
Launch: cudaGraphLaunch -> host
Kernel: bw_gemm
"""

GRAPH_LAUNCH = """\
[API call]
Name: cudaGraphLaunch
Start: 4.600 µs (4,600 ns) from the profile's start
Duration: 50 ns
[Executions]
Launched: 2 executions
Device time: 200 ns
after 500 ns: bw_gemm -> device
after 650 ns: bw_reduce -> device
[Where]
Host: algo-1
Process: 0, pid 4711
Thread: 2 (pt_autograd_0)
[Ids]
Correlation: 22
[Comes from]
Operator: MmBackward0 -> host
of the forward operator: aten::linear -> host
"""

COPY = """\
[Launch]
Launched by: not known: no correlation id was recorded
[Where]
Host: algo-1
Process: 0, pid 4711
Device: 0 (NVIDIA H100)
Stream: 9
[Memory]
Bytes: 4.00 KiB (4,096 bytes)
Throughput: 4.10 GB/s
Direction: HtoD
"""


def as_text(sections: tuple[slices.Section, ...]) -> str:
    lines = []
    for section in sections:
        lines.append(f"[{section.title}]")
        for (label, value), ref in zip(section.rows, section.refs, strict=True):
            lines.append(f"{label}: {value}" + (f" -> {ref.table}" if ref else ""))
    return "\n".join(lines) + "\n"


def described(profile: Profile, name: str) -> str:
    ref = slices.find(profile, name)
    assert ref is not None
    assert slices.name_of(profile.processes[ref.process], ref.table, ref.row) == name
    return as_text(slices.describe(profile, ref))


def test_descriptions(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "p", PROFILE)
    assert described(profile, "gemm<float>") == GEMM
    assert described(profile, "bw_gemm").endswith(BACKWARD)
    assert described(profile, "cudaGraphLaunch") == GRAPH_LAUNCH
    assert described(profile, "Memcpy HtoD").endswith(COPY)


def test_every_slice_has_a_description_and_its_leads_lead_somewhere(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "p", PROFILE)
    for table in ("device", "host", "annotation"):
        for row in range(len(profile.processes[0].table(table))):
            sections = slices.describe(profile, SliceRef(0, table, row))
            assert sections[0].rows[0][0] == "Name"
            for ref in (ref for section in sections for ref in section.refs if ref is not None):
                assert 0 <= ref.row < len(profile.processes[ref.process].table(ref.table))
                assert ref != SliceRef(0, table, row)


def test_links_lead_both_ways(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "p", PROFILE)
    process = profile.processes[0]
    graph = slices.find(profile, "cudaGraphLaunch")
    assert graph is not None
    executed = executions_of(process, graph.row).tolist()
    assert {slices.name_of(process, "device", row) for row in executed} == {"bw_gemm", "bw_reduce"}
    assert [launch_of(process, row) for row in executed] == [graph.row, graph.row]
    prologue = slices.find(profile, "prologue")
    assert prologue is not None
    assert launch_of(process, prologue.row) is None


def test_find_takes_the_first_by_start_and_equal_before_containing(tmp_path: Path) -> None:
    profile = make_profile(
        tmp_path / "p",
        "process 0\nkernel 0/7 10+5 gemm_long\nkernel 0/7 50+5 gemm\napi 1 30+5 gemm\n"
        "process 1\nkernel 0/7 5+5 'the gemm_long'\nkernel 0/7 40+5 gemm",
    )
    assert slices.find(profile, "gemm") == SliceRef(0, "host", 0)
    assert slices.find(profile, "gemm_l") == SliceRef(1, "device", 0)
    assert slices.find(profile, "GEMM") is None
    assert slices.find(profile, "") is None
