"""Streams packed by role: nothing lost, nothing doubled, nothing on top of another (case 39)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from smprof.profile.reader import Profile
from smprof_desktop.importers import convert
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline import packing
from smprof_desktop.timeline.draw_list import DrawList
from smprof_desktop.timeline.lanes import Lane, LaneTree
from smprof_desktop.timeline.layout import Frame
from smprof_desktop.timeline.packing import ROLES, packed_lanes, role_of, with_packed
from smprof_desktop.timeline.scene import Opened, Scene
from smprof_desktop.timeline.viewport import Viewport
from tests.make_profile import make_profile

HEADER_PX = 200.0


def width_of(text: str) -> float:
    return 7.0 * len(text)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all-reduce"),
        ("ncclKernel_AllGather_RING_LL_Sum_int8_t", "all-gather"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16", "reduce-scatter"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "send and receive"),
        ("nccl:all_to_all", "all-to-all"),
        ("ncclKernel_Broadcast_RING_LL", "broadcast"),
        ("ncclKernel_Reduce_RING_LL_Sum_float", "reduce"),
        ("ncclDevKernel_Generic", "other collectives"),
        ("Memcpy HtoD (Pinned -> Device)", "memcpy"),
        ("[CUDA memcpy DtoH]", "memcpy"),
        ("Memset (Device)", "memset"),
        ("void at::native::reduce_kernel<512, 1>", "compute"),
        ("sm80_xmma_gemm_f32", "compute"),
        ("", "compute"),
    ],
)
def test_the_role_of_a_name(name: str, role: str) -> None:
    assert role_of(name) == role and role in ROLES


def replayed(streams: int, seed: int = 1) -> str:
    """A graph replayed on many streams: each holds a kernel or two, some hold collectives, copies, or an instant."""
    random = Random(seed)
    names = ["gemm", "gemm", "relu", "ncclDevKernel_AllGather", "ncclDevKernel_ReduceScatter", "Memcpy DtoD"]
    lines = ["process 0 pid=1 window=0:100000", "device 0 H100 used"]
    for stream in range(20, 20 + streams):
        name = random.choice(names)
        start = random.randrange(0, 90_000)
        for _ in range(random.randrange(1, 4)):
            duration = random.choice((0, 40, 300, 2_000))
            kind = "memcpy" if name.startswith("Memcpy") else "kernel"
            lines.append(f'{kind} 0/{stream} {start}+{duration} "{name}"')
            start += random.choice((1, 500, 3_000))  # some overlap on their own stream
        if stream % 5 == 0:
            lines.append(f'sync 0/{stream} {start}+50 "Stream Sync"')
            lines.append(f"annotation 0/{stream} {start}+500 step_{stream}")
    return "\n".join(lines)


def packed(profile: Profile) -> tuple[Opened, LaneTree, list[Lane]]:
    """The profile, the tree with every device packed, and those devices as they were."""
    opened = Opened.read(profile)
    devices = [lane for lane in opened.tree.walk() if lane.kind == "device"]
    return opened, with_packed(opened.tree, {lane.key: packed_lanes(opened.maker, lane) for lane in devices}), devices


def slices_of(profile: Profile) -> Iterator[tuple[SliceRef, int, int]]:
    for index, process in enumerate(profile.processes):
        for name in ("device", "host", "annotation"):
            table = process.table(name)
            for row, (start, duration) in enumerate(zip(table["start_ns"], table["duration_ns"], strict=True)):
                yield SliceRef(index, name, row), int(start), int(start) + int(duration)


def check_packed(profile: Profile) -> LaneTree:
    """Every slice stands in exactly one row, with none that it overlaps unless they share a lane row."""
    opened, tree, _ = packed(profile)
    rows = Counter((row.process, lane_row) for lane in tree.walk() for row in lane.rows for lane_row in row.lane_rows)
    before = Counter(
        (row.process, lane_row) for lane in opened.tree.walk() for row in lane.rows for lane_row in row.lane_rows
    )
    assert rows == before and set(rows.values()) == {1}
    taken: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for ref, start, end in slices_of(profile):
        place = tree.place(ref)
        assert place is not None
        if tree.by_key[place[0]].packed:
            taken.setdefault(place, []).append((start, end))
    for times in taken.values():
        times.sort()
        starts, ends = np.array(times).T
        assert (starts[1:] >= ends[:-1]).all()
    return tree


def drawn(drawing: DrawList) -> Counter[tuple[float, float]]:
    """Left edge and width of all slices and ticks."""
    found: Counter[tuple[float, float]] = Counter()
    for rects in (drawing.slices, drawing.ticks):
        found.update(zip(rects.x_px.tolist(), rects.width_px.tolist(), strict=True))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_every_slice_is_drawn_once_and_where_it_was_recorded(tmp_path: Path, seed: int) -> None:
    profile = make_profile(tmp_path, replayed(300, seed))
    tree = check_packed(profile)
    opened = Opened.read(profile)
    everything = frozenset(lane.key for lane in [*opened.tree.walk(), *tree.walk()])
    # A pixel is two ns: every slice is drawn by itself.
    frame = Frame(Viewport(0, 100_000, 50_000.0), everything, 40_000.0, HEADER_PX)
    as_recorded = Scene(opened, width_of).draw(frame)
    scene = Scene(opened, width_of)
    scene.replace_tree(tree)
    drawing = scene.draw(frame)
    slices = len(profile.processes[0].table("device")) + len(profile.processes[0].table("annotation"))
    assert drawn(drawing) == drawn(as_recorded)
    assert len(drawing.columns) == 0 and sum(drawn(drawing).values()) >= slices
    lanes = [lane for lane in tree.walk() if lane.packed and lane.kind == "stream"]
    assert {lane.label for lane in lanes} <= set(ROLES) and len(lanes) <= 6
    assert sum(lane.packed for lane in lanes) == 300
    rows = [row for lane in tree.walk() if lane.packed and not lane.children for row in lane.rows]
    assert len(rows) < 60


def test_a_packed_slice_keeps_its_stream_and_its_neighbours_are_those_of_the_row(tmp_path: Path) -> None:
    text = "kernel 0/7 100+50 a\nkernel 0/8 200+50 b\nkernel 0/9 300+50 c\nkernel 0/9 120+10 d"
    profile = make_profile(tmp_path, text)
    opened, tree, (device,) = packed(profile)
    scene = Scene(opened, width_of)
    scene.replace_tree(tree)
    (lane,) = tree.by_key[device.key].children
    assert (lane.label, lane.detail, lane.packed, len(lane.rows)) == ("compute", "3 streams", 3, 2)
    by_name = {scene.name_of(ref): ref for ref, _, _ in slices_of(profile)}
    assert {name: scene.stream_of(ref) for name, ref in by_name.items()} == {
        "a": "stream 7", "b": "stream 8", "c": "stream 9", "d": "stream 9",
    }  # fmt: skip
    # Stream 9 holds most slices and comes first; stream 8 fits between its two, stream 7 overlaps one.
    assert [scene.neighbour(by_name["d"], 1), scene.neighbour(by_name["b"], 1)] == [by_name["b"], by_name["c"]]
    assert scene.neighbour(by_name["a"], 1) is None
    frame = Frame(Viewport(0, 400, 400.0), frozenset(tree.by_key), 600.0, HEADER_PX)
    drawing = scene.draw(frame)
    for x_px, y_px, width_px in zip(drawing.slices.x_px, drawing.slices.y_px, drawing.slices.width_px, strict=True):
        hit = scene.hit(frame, x_px + width_px / 2, y_px + 4)
        assert hit is not None and hit.ref is not None and hit.begin_ns == x_px - HEADER_PX


def test_the_role_is_that_of_most_of_the_time(tmp_path: Path) -> None:
    text = "\n".join(f"kernel 0/7 {i * 100}+5 gemm" for i in range(20)) + "\nkernel 0/7 5000+900 ncclKernel_AllReduce"
    _, tree, (device,) = packed(make_profile(tmp_path, text + "\nkernel 0/8 0+5 relu"))
    assert [(lane.label, lane.detail) for lane in tree.by_key[device.key].children] == [
        ("compute", "stream 8"),
        ("all-reduce", "stream 7"),
    ]


def test_a_full_stream_is_packed_by_its_span_and_named_by_its_stored_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What holds too many slices to read is judged by what is stored of it, and never shares its time."""
    lines = [f"kernel 0/7 {i * 10}+6 ncclKernel_AllGather_RING" for i in range(6000)]
    lines += ["kernel 0/8 30006+3 ncclKernel_AllGather_LL", "kernel 0/9 90000+3 ncclKernel_AllGather_LL"]
    profile = make_profile(tmp_path, "\n".join(lines))
    fine = packed(profile)[1]
    monkeypatch.setattr(packing, "MAX_READ_SLICES", 1000)
    _, tree, (device,) = packed(profile)
    (lane,) = tree.by_key[device.key].children
    assert (lane.label, lane.packed) == ("all-gather", 3)
    assert [len(row.lane_rows) for row in lane.rows] == [2, 1]
    assert [len(row.lane_rows) for row in fine.by_key[lane.key].rows] == [3]


def test_other_lanes_stay_as_they_are(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, replayed(40) + "\nthread 1 main\nop 1 0+10 aten::mm")
    opened, tree, (device,) = packed(profile)
    own = {child.key for child in device.children}
    assert {key for key in opened.tree.by_key if key not in own} <= set(tree.by_key)
    assert with_packed(opened.tree, {}) is opened.tree
    assert tree.by_key[device.key].packed == 40
    assert tree.by_key[device.key].busy == device.busy


def test_a_trace_of_replayed_graphs_loses_nothing(traces: Path, tmp_path: Path) -> None:
    profile = Profile.open(convert.import_traces([traces / "kineto" / "hta_diff_test.json.gz"], tmp_path / "profile"))
    tree = check_packed(profile)
    assert [(lane.label, lane.detail) for lane in tree.walk() if lane.packed and not lane.children] == [
        ("compute", "2 streams"), ("send and receive", "stream 15"), ("memcpy", "stream 16"),
    ]  # fmt: skip
    scene = Scene(Opened.read(profile), width_of)
    streams = {lane.label for lane in scene.tree.walk() if lane.kind == "stream"}
    scene.replace_tree(tree)
    device = profile.processes[0].table("device")["stream"].tolist()
    told = [scene.stream_of(SliceRef(0, "device", row)) for row in range(0, len(device), 97)]
    assert told == [f"stream {device[row]}" for row in range(0, len(device), 97)]
    assert set(told) <= streams


def test_a_cancelled_packing_stops(tmp_path: Path) -> None:
    opened = Opened.read(make_profile(tmp_path, replayed(50)))
    (device,) = (lane for lane in opened.tree.walk() if lane.kind == "device")
    asked = iter([False, True] + [True] * 1000)
    lanes = packed_lanes(opened.maker, replace(device), lambda: next(asked))
    assert sum(len(row.lane_rows) for lane in lanes for row in lane.rows) < 10
