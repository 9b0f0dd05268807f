"""One frame's draw list: counts, bounds, order, arrows' ends and hit points. No Qt."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from smprof.profile.reader import Profile
from smprof_desktop import report
from smprof_desktop.analysis import utilization
from smprof_desktop.dashboard.figures import Lines
from smprof_desktop.dashboard.overview import gpu_utilization_over_time
from smprof_desktop.dashboard.scope import Scope
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline import shown_names
from smprof_desktop.timeline.colours import DIMMED
from smprof_desktop.timeline.draw_list import DrawList, Header
from smprof_desktop.timeline.layout import Frame
from smprof_desktop.timeline.scene import Opened, Scene, with_scroll
from smprof_desktop.timeline.viewport import Viewport
from tests.make_profile import make_profile

HEADER_PX = 200.0

LINKED = """
process 0 pid=1 window=0:1000
thread 1 main
device 0 H100 used
api 1 100+50 cudaLaunchKernel corr=5
kernel 0/7 400+200 gemm corr=5
api 1 200+50 cudaGraphLaunch corr=9
kernel 0/7 700+10 node_a corr=9
kernel 0/7 720+10 node_b corr=9
kernel 0/8 740+10 node_c corr=9
kernel 0/8 800+0 marker
annotation 1 0+1000 step_0
"""


def width_of(text: str) -> float:
    return 7.0 * len(text)


def scene_of(profile: Profile) -> tuple[Scene, Frame]:
    """The scene with everything open, one pixel per nanosecond up to 1,000."""
    opened = Opened.read(profile)
    frame = Frame(
        view=Viewport(profile.begin_ns, profile.begin_ns + 1000, 1000.0),
        expanded=frozenset(lane.key for lane in opened.tree.walk()),
        height_px=900.0,
        header_px=HEADER_PX,
    )
    return Scene(opened, width_of), frame


def header_of(drawing: DrawList, label: str) -> Header:
    return next(header for header in drawing.headers if header.label == label)


def ref_of(profile: Profile, name: str) -> SliceRef:
    scene = Scene(Opened.read(profile), width_of)
    for index, process in enumerate(profile.processes):
        for table in ("device", "host", "annotation"):
            for row in range(len(process.table(table))):
                if scene.name_of(SliceRef(index, table, row)) == name:
                    return SliceRef(index, table, row)
    raise AssertionError(name)


def test_overlapping_slices_of_one_stream_are_both_drawn_on_two_rows(tmp_path: Path) -> None:
    """A dependent launch starts before its predecessor ends: neither may disappear."""
    profile = make_profile(tmp_path, "kernel 0/7 3000+3776 A\nkernel 0/7 5000+2000 B")
    scene, frame = scene_of(profile)
    frame = replace(frame, view=Viewport(2000, 10_000, 800.0))
    slices = scene.draw(frame).slices
    assert len(slices) == 2
    order = np.argsort(slices.y_px)
    assert slices.x_px[order].tolist() == [HEADER_PX + 100, HEADER_PX + 300]
    assert slices.width_px[order].tolist() == pytest.approx([377.6 - 1, 200 - 1])
    assert slices.y_px[order[1]] - slices.y_px[order[0]] == scene.metrics.row_px


def test_deeply_nested_frames_are_all_drawn(tmp_path: Path) -> None:
    depth = 60
    lines = [f'python 1 {i}+{1000 - 2 * i} "frame {i}"' for i in range(depth)]
    lines += ["op 1 100+500 aten::mm", "api 1 200+100 cudaLaunchKernel", "annotation 1 0+1000 step_0"]
    scene, frame = scene_of(make_profile(tmp_path, "\n".join(lines)))
    slices = scene.draw(replace(frame, height_px=5000.0)).slices
    assert len(slices) == depth + 3
    assert len(set(slices.y_px.tolist())) == depth + 3


def test_rectangles_lie_in_their_lanes_and_in_view(tmp_path: Path) -> None:
    scene, frame = scene_of(make_profile(tmp_path, LINKED))
    drawing = scene.draw(frame)
    bands = [(header.y_px, header.y_px + header.height_px) for header in drawing.headers]
    for rects in (drawing.slices, drawing.ticks, drawing.columns, drawing.curves):
        for x, y, width, height in zip(rects.x_px, rects.y_px, rects.width_px, rects.height_px, strict=True):
            assert any(top <= y and y + height <= bottom for top, bottom in bands)
            assert x + width > HEADER_PX and x < HEADER_PX + frame.view.width_px
            assert width >= 1 and height > 0
    tops = [header.y_px for header in drawing.headers]
    assert tops == sorted(tops)
    assert tops[0] == scene.top_px
    assert all(top == pytest.approx(bottom) for (_, bottom), (top, _) in pairwise(bands))


def test_a_slice_of_no_length_is_a_tick(tmp_path: Path) -> None:
    scene, frame = scene_of(make_profile(tmp_path, LINKED))
    drawing = scene.draw(frame)
    assert drawing.ticks.x_px.tolist() == [HEADER_PX + 800]
    assert len(drawing.slices) == 7


def test_labels_only_where_there_is_room(tmp_path: Path) -> None:
    scene, frame = scene_of(make_profile(tmp_path, LINKED))
    texts = [label.text for label in scene.draw(frame).labels]
    assert "gemm" in texts and "step_0" in texts
    assert not any("node" in text for text in texts)
    closer = replace(frame, view=Viewport(700, 740, 1000.0))
    assert {"node_a", "node_b"} <= {label.text for label in scene.draw(closer).labels}


def test_a_label_stays_in_sight_while_its_slice_begins_outside(tmp_path: Path) -> None:
    scene, frame = scene_of(make_profile(tmp_path, LINKED))
    labels = scene.draw(replace(frame, view=Viewport(500, 600, 1000.0))).labels
    assert {"gemm", "step_0"} <= {label.text for label in labels}
    assert all(label.x_px >= HEADER_PX for label in labels)


def test_the_share_is_that_of_the_view(tmp_path: Path) -> None:
    scene, frame = scene_of(make_profile(tmp_path, LINKED))
    assert header_of(scene.draw(frame), "GPU-0 utilization").share == "23 %"
    near = replace(frame, view=Viewport(400, 800, 1000.0))
    assert header_of(scene.draw(near), "stream 7").share == "55 %"
    far = replace(frame, view=Viewport(0, 100, 1000.0))
    assert header_of(scene.draw(far), "stream 7").share == "0 %"


UTILIZED = {
    "an annotation outlives the window": "process 0 pid=1 window=0:100\nkernel 0/7 0+100 k\nannotation 1 0+1000 step_0",
    "a window outlives the slices": "process 0 pid=1 window=0:1000\nkernel 0/7 100+100 k\nkernel 0/8 150+100 k",
    "a kernel reaches out of the window": "process 0 pid=1 window=100:300\nkernel 0/7 0+150 k\nkernel 0/7 260+90 k",
    "recorded twice": "process 0 pid=1 windows=0:100,600:1000\nkernel 0/7 50+200 k\nkernel 0/8 590+210 k",
    "two processes, two windows": "process 0 pid=1 window=0:100\nkernel 0/7 0+60 k\n"
    "process 1 pid=2 window=500:1000\nkernel 1/7 550+200 k\ndevice 1 H100 used",
    "a GPU that did nothing": "process 0 pid=1 window=0:100\ndevice 0 H100 used\ndevice 1 H100 used\nkernel 0/7 0+50 k",
    "a GPU that holds marks only": "process 0 pid=1 window=0:100\nkernel 0/7 0+100 k\nannotation 1/7 0+100 step_0\n"
    "device 1 H100",
    "no window recorded": "process 0 pid=1\nkernel 0/7 10+30 k\nannotation 1 0+90 step_0",
    "many slices": "process 0 pid=1 window=2000:39000\n"
    + "\n".join(f"kernel 0/7 {i * 97}+{i % 60} k" for i in range(500)),
}


@pytest.mark.parametrize("text", UTILIZED.values(), ids=UTILIZED.keys())
def test_utilization_is_that_of_report_and_panel(tmp_path: Path, text: str) -> None:
    profile = make_profile(tmp_path, text)
    devices = report.build(profile)["devices"]
    scene, frame = scene_of(profile)
    drawing = scene.draw(replace(frame, view=Viewport(profile.begin_ns, profile.end_ns, 700.0)))
    for device in devices:
        header = header_of(drawing, f"GPU-{device['device']} utilization")
        assert header.share == f"{100 * device['utilization']:.0f} %"
    sums = {header_of(drawing, label).share for label in ("SUM Utilization", "GPUs", "algo-1")}
    active, window = (sum(device[key] for device in devices) for key in ("active_ns", "window_ns"))
    assert sums == {f"{100 * active / window:.0f} %"}
    panel = gpu_utilization_over_time(Scope(profile))
    assert isinstance(panel, Lines)
    windows = [window for process in profile.processes for window in utilization.windows_of(process)]
    if all(
        profile.begin_ns <= begin and end <= profile.end_ns for begin, end in windows
    ):  # the panel ends with the slices
        assert sums == {f"{panel.lines[0].mean:.0f} %"}
    assert header_of(drawing, "SUM Utilization").detail == f"mean of {len(devices)} GPU{'s'[: len(devices) - 1]}"


def test_utilization_in_view_is_that_of_the_report_for_the_range(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, UTILIZED["recorded twice"])
    scene, frame = scene_of(profile)
    for begin, end in ((20, 70), (0, 600), (400, 640), (90, 95), (200, 300)):
        (device,) = report.build(profile, profile.begin_ns + begin, profile.begin_ns + end)["devices"]
        drawing = scene.draw(replace(frame, view=Viewport(profile.begin_ns + begin, profile.begin_ns + end, 700.0)))
        expected = "" if device["utilization"] is None else f"{100 * device['utilization']:.0f} %"
        assert header_of(drawing, "GPU-0 utilization").share == expected


def test_a_utilization_is_drawn_of_what_was_recorded(tmp_path: Path) -> None:
    """Half a bin recorded and busy is a full bar; what was not recorded is empty, not idle."""
    profile = make_profile(tmp_path, "process 0 pid=1 window=0:64\nkernel 0/7 0+64 k\nannotation 1 0+1024 step_0")
    scene, frame = scene_of(profile)
    curves = scene.draw(replace(frame, view=Viewport(0, 1024, 8.0))).curves
    assert set(curves.x_px.tolist()) == {HEADER_PX} and set(curves.width_px.tolist()) == {1.0}
    assert curves.height_px.tolist() == [scene.metrics.curve_px - 4] * 2


def test_the_arrow_runs_from_start_edge_to_start_edge(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, LINKED)
    scene, frame = scene_of(profile)
    drawing = scene.draw(replace(frame, selection=ref_of(profile, "gemm")))
    (arrow,) = drawing.arrows
    assert (arrow.from_x_px, arrow.to_x_px) == (HEADER_PX + 100, HEADER_PX + 400)
    for x_px, y_px, width_px in ((arrow.from_x_px, arrow.from_y_px, 49), (arrow.to_x_px, arrow.to_y_px, 199)):
        at = np.flatnonzero((drawing.slices.x_px == x_px) & (drawing.slices.width_px == width_px))
        assert len(at) == 1
        assert drawing.slices.y_px[at[0]] < y_px < drawing.slices.y_px[at[0]] + drawing.slices.height_px[at[0]]
    assert drawing.selection is not None
    assert (drawing.selection.x_px, drawing.selection.width_px) == (HEADER_PX + 400, 200)


def test_a_graph_launch_fans_out_with_a_count(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, LINKED)
    scene, frame = scene_of(profile)
    frame = replace(frame, selection=ref_of(profile, "cudaGraphLaunch"))
    drawing = scene.draw(frame)
    assert sorted(arrow.to_x_px - HEADER_PX for arrow in drawing.arrows) == [700, 720, 740]
    assert drawing.arrow_note is not None and drawing.arrow_note.text == "3 executions"
    near = scene.draw(replace(frame, view=Viewport(710, 730, 1000.0)))
    assert len(near.arrows) == 1
    assert near.arrow_note is not None and near.arrow_note.text == "3 executions"


def test_an_end_in_a_collapsed_group_points_at_its_header(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, LINKED)
    scene, frame = scene_of(profile)
    device = next(lane.key for lane in scene.tree.walk() if lane.kind == "device")
    frame = replace(frame, selection=ref_of(profile, "gemm"), expanded=frame.expanded - {device})
    drawing = scene.draw(frame)
    header = header_of(drawing, "GPU-0 device")
    (arrow,) = drawing.arrows
    assert arrow.to_x_px == HEADER_PX + 400
    assert arrow.to_y_px == header.y_px + header.height_px / 2
    assert drawing.selection is None


def test_every_drawn_slice_is_hit_where_it_is_drawn(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, LINKED)
    scene, frame = scene_of(profile)
    drawing = scene.draw(frame)
    found = set()
    for rects in (drawing.slices, drawing.ticks):
        for x, y, width, height in zip(rects.x_px, rects.y_px, rects.width_px, rects.height_px, strict=True):
            hit = scene.hit(frame, x + width / 2, y + height / 2)
            assert hit is not None and hit.ref is not None
            start_ns, _ = scene.times_of(hit.ref)
            assert start_ns == round(x - HEADER_PX)
            found.add(hit.ref)
    assert len(found) == 8


def test_other_points_hit_headers_axis_overview_and_nothing(tmp_path: Path) -> None:
    scene, frame = scene_of(make_profile(tmp_path, LINKED))
    header = header_of(scene.draw(frame), "stream 7")
    hit = scene.hit(frame, 5, header.y_px + 3)
    assert hit is not None and (hit.part, hit.key) == ("header", header.key)
    empty = scene.hit(frame, HEADER_PX + 50, header.y_px + 8)
    assert empty is not None and empty.ref is None and empty.part == "lane"
    parts = [scene.hit(frame, HEADER_PX + 50, y) for y in (2, scene.metrics.overview_px + 2)]
    assert [part.part for part in parts if part] == ["overview", "axis"]
    assert scene.hit(frame, 5, 890) is None


def test_a_dense_lane_is_columns_of_exact_busy_share(tmp_path: Path) -> None:
    """5,000 slices of 60 of each 100 ns in 800 px: each column is 256 or 512 ns wide and about 60 % busy."""
    profile = make_profile(tmp_path, "\n".join(f"kernel 0/7 {i * 100}+60 k{i % 3}" for i in range(5000)))
    scene, frame = scene_of(profile)
    view = Viewport(0, 500_000, 800.0)
    drawing = scene.draw(replace(frame, view=view))
    assert len(drawing.slices) == 0 and not drawing.labels
    assert 800 <= len(drawing.columns) <= 1601
    assert header_of(drawing, "stream 7").share == "60 %"
    hit = scene.hit(replace(frame, view=view), HEADER_PX + 400, drawing.columns.y_px[0] + 3)
    assert hit is not None and hit.ref is not None


def test_a_long_slice_among_many_short_ones_keeps_its_edges_and_label(tmp_path: Path) -> None:
    lines = [f"kernel 0/7 {i * 100}+60 k" for i in range(2000)] + ["kernel 0/7 200000+100000 long_gemm"]
    scene, frame = scene_of(make_profile(tmp_path, "\n".join(lines)))
    drawing = scene.draw(replace(frame, view=Viewport(0, 300_000, 600.0)))
    assert drawing.slices.x_px.tolist() == [HEADER_PX + 400]
    assert drawing.slices.width_px.tolist() == [199]
    assert [label.text for label in drawing.labels] == ["long_gemm"]


def test_panning_and_zooming_give_what_a_fresh_scene_gives(tmp_path: Path) -> None:
    """Pictures kept from the view before must never show through."""
    lines = [f"kernel 0/7 {i * 97}+{i % 60} k{i % 7}" for i in range(3000)]
    profile = make_profile(tmp_path, "\n".join(lines))
    scene, frame = scene_of(profile)
    view = Viewport(0, 291_000, 700.0)
    for number in range(40):
        view = view.zoomed(0.8 if number % 5 else 3.0, 100.0 + 11 * number, scene.limits).panned(
            13.0 * (number % 7 - 3), scene.limits
        )
        here = replace(frame, view=view)
        kept, fresh = scene.draw(here), Scene(Opened.read(profile), width_of).draw(here)
        for part in ("columns", "slices", "ticks", "curves"):
            one, other = getattr(kept, part), getattr(fresh, part)
            assert np.array_equal(one.x_px, other.x_px) and np.array_equal(one.colour, other.colour)
            assert np.array_equal(one.height_px, other.height_px)
        assert kept.labels == fresh.labels


def test_a_frame_in_a_hurry_shows_the_neighbouring_grid_and_catches_up(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, "\n".join(f"kernel 0/{7 + i % 5} {i * 97}+{i % 60} k{i % 7}" for i in range(9000)))
    scene, frame = scene_of(profile)
    wide, near = Viewport(0, 873_000, 700.0), Viewport(100_000, 500_000, 700.0)
    assert near.bin_level == wide.bin_level - 1
    assert scene.draw(replace(frame, view=wide), budget_s=0.0).is_final  # nothing is kept yet: all is made
    hurried = scene.draw(replace(frame, view=near), budget_s=0.0)
    assert not hurried.is_final
    fresh = Scene(Opened.read(profile), width_of).draw(replace(frame, view=near))
    assert 0 < len(hurried.columns) < len(fresh.columns)
    assert hurried.columns.x_px.min() >= HEADER_PX
    assert (hurried.columns.x_px + hurried.columns.width_px).max() <= HEADER_PX + 700
    caught_up = scene.draw(replace(frame, view=near))
    assert caught_up.is_final
    assert np.array_equal(caught_up.columns.x_px, fresh.columns.x_px)
    assert np.array_equal(caught_up.columns.height_px, fresh.columns.height_px)
    outside = replace(frame, view=Viewport(0, 873_000, 700.0))
    assert scene.draw(outside, budget_s=0.0).is_final  # what is kept does not reach so far


def test_only_what_is_in_sight_is_drawn(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, "\n".join(f"kernel 0/{stream} 0+1000 k" for stream in range(500)))
    scene, frame = scene_of(profile)
    drawing = scene.draw(with_scroll(replace(frame, height_px=400.0), 3000.0, scene))
    assert len(drawing.headers) < 30
    assert len(drawing.slices) < 30
    most = with_scroll(frame, 1e9, scene)
    assert most.scroll_px == scene.layout(frame).total_px - (frame.height_px - scene.top_px)


def test_counters_are_curves_with_gaps(tmp_path: Path) -> None:
    text = """
kernel 0/7 0+1000 k
counter 100 "power W" 50 device=0
counter 300 "power W" 100 device=0
counter 500 "power W" gap device=0
"""
    scene, frame = scene_of(make_profile(tmp_path, text))
    drawing = scene.draw(frame)
    header = header_of(drawing, "GPU-0 power W")
    own = (drawing.curves.y_px >= header.y_px) & (drawing.curves.y_px < header.y_px + header.height_px)
    assert (drawing.curves.x_px[own] - HEADER_PX).tolist() == [100, 300]
    assert drawing.curves.width_px[own].tolist() == [200, 200]
    heights = drawing.curves.height_px[own].tolist()
    assert heights[0] == pytest.approx(heights[1] / 2, abs=0.5)
    assert header.share == "75 W"


def test_times_beyond_two_to_the_32_microseconds_are_drawn_right(tmp_path: Path) -> None:
    """A trace of 6,000 s at today's date: every digit of a slice at its end still counts."""
    start = 1_796_000_000_123_456_789
    last = start + 6_000_000_000_000
    text = f"kernel 0/7 {start}+10 first\nkernel 0/7 {last}+7 last\nkernel 0/7 {last + 7}+3 next"
    scene, frame = scene_of(make_profile(tmp_path, text))
    slices = scene.draw(replace(frame, view=Viewport(last, last + 10, 1000.0))).slices
    assert slices.x_px.tolist() == [HEADER_PX, HEADER_PX + 700]
    assert slices.width_px.tolist() == [699, 299]
    whole = scene.draw(replace(frame, view=Viewport(start, last + 10, 1000.0)))
    assert whole.slices.x_px.tolist()[0] == HEADER_PX
    assert whole.slices.x_px.tolist()[-1] == pytest.approx(HEADER_PX + 1000, abs=0.01)


def test_a_synchronisation_record_never_hides_a_kernel(tmp_path: Path) -> None:
    """A record over the same time on the same stream: 180 ns of kernel stay 180 ns, on a lane of their own."""
    text = 'kernel 0/7 100+180 gemm\nsync 0/7 110+10 "Stream Sync"\nsync 0/7 120+200 "Event Sync"'
    scene, frame = scene_of(make_profile(tmp_path, text))
    drawing = scene.draw(frame)
    stream = header_of(drawing, "stream 7")
    own = (drawing.slices.y_px >= stream.y_px) & (drawing.slices.y_px < stream.y_px + stream.height_px)
    assert drawing.slices.x_px[own].tolist() == [HEADER_PX]
    assert drawing.slices.width_px[own].tolist() == [179]
    assert stream.height_px == scene.metrics.row_px + scene.metrics.gap_px
    assert header_of(drawing, "GPU-0 utilization").share == "82 %"
    assert len(drawing.slices) == 3


def test_driver_and_runtime_calls_of_one_id_make_one_arrow(tmp_path: Path) -> None:
    text = """
api 1 100+50 cudaLaunchKernel corr=5
api 1 110+20 cuLaunchKernelEx corr=5
kernel 0/7 400+200 gemm corr=5
kernel 0/7 700+100 orphan
"""
    profile = make_profile(tmp_path, text)
    scene, frame = scene_of(profile)
    (arrow,) = scene.draw(replace(frame, selection=ref_of(profile, "gemm"))).arrows
    assert (arrow.from_x_px, arrow.to_x_px) == (HEADER_PX, HEADER_PX + 300)
    assert scene.draw(replace(frame, selection=ref_of(profile, "orphan"))).arrows == ()
    assert scene.draw(replace(frame, selection=ref_of(profile, "cuLaunchKernelEx"))).arrows == ()


def test_what_a_search_has_not_found_is_dimmed(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, LINKED)
    scene, frame = scene_of(profile)
    plain = scene.draw(frame)
    texts = profile.processes[0].names.texts
    scene.matches = (np.array([*(text == "gemm" for text in texts), False]),)
    drawing = scene.draw(frame)
    assert (drawing.slices.colour != DIMMED).sum() == 1 and (plain.slices.colour != DIMMED).all()
    lit = drawing.slices.colour != DIMMED
    assert drawing.slices.x_px[lit].tolist() == [HEADER_PX + 400] and drawing.slices.width_px[lit].tolist() == [199]
    assert {label.text for label in drawing.labels if not label.is_dimmed} == {"gemm"}
    assert [label._replace(is_dimmed=False) for label in drawing.labels] == list(plain.labels)
    assert (drawing.ticks.colour == DIMMED).all()
    scene.matches = None
    assert scene.draw(frame).slices.colour.tolist() == plain.slices.colour.tolist()


def test_a_column_is_dimmed_as_its_longest_slice_is(tmp_path: Path) -> None:
    lines = "\n".join(
        f"kernel 0/7 {at * 10}+{5 if at % 50 else 9} {'long' if at % 50 == 0 else 'short'}" for at in range(400)
    )
    profile = make_profile(tmp_path, f"process 0 window=0:4000\ndevice 0 H100 used\n{lines}")
    scene, frame = scene_of(profile)
    frame = replace(frame, view=Viewport(0, 4000, 40.0))
    scene.matches = (np.array([*(text == "long" for text in profile.processes[0].names.texts), False]),)
    columns = scene.draw(frame).columns
    lit = np.flatnonzero(columns.colour != DIMMED)
    assert 0 < len(lit) < len(columns)
    width_ns = 4000 / 40.0
    for x_px in columns.x_px[lit]:
        begin_ns = (x_px - HEADER_PX) * width_ns
        assert any(begin_ns - width_ns <= at * 500 <= begin_ns + 2 * width_ns for at in range(8))


MANGLED = """
process 0 pid=1 window=0:1000
thread 1 main
device 0 H100 used
kernel 0/7 100+300 _ZN2at6native4copyEi
kernel 0/7 500+300 "void cutlass::Kernel<float>(int)"
annotation 1 0+500 "module.py(15): _call<x>"
"""


def test_kernels_are_called_as_recorded_demangled_or_by_their_function(tmp_path: Path) -> None:
    scene, frame = scene_of(make_profile(tmp_path, MANGLED))
    module = "module.py(15): _call<x>"
    expected = {
        "recorded": {"_ZN2at6native4copyEi", "void cutlass::Kernel<float>(int)", module},
        "demangled": {"at::native::copy(int)", "void cutlass::Kernel<float>(int)", module},
        "base": {"at::native::copy", "cutlass::Kernel", module},
    }
    for form, texts in expected.items():
        scene.shown_names.use(form)
        # Each frame works out one name at least, and no more than there is time for.
        drawing = [scene.draw(frame) for _ in range(4)][-1]
        assert {label.text for label in drawing.labels} == texts and drawing.is_final
        anchor = scene.anchor(frame, SliceRef(0, "device", 0), 100)
        assert anchor is not None
        hit = scene.hit(frame, anchor[0] + 10, anchor[1])
        assert hit is not None and hit.name in texts and ("copy" in hit.name)


def test_names_take_little_of_one_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a frame has no time for reads as recorded until a later one; nothing is worked out twice."""
    scene, frame = scene_of(make_profile(tmp_path, MANGLED))
    monkeypatch.setattr(shown_names, "FRAME_BUDGET_S", -1.0)
    scene.shown_names.use("demangled")
    drawing = scene.draw(frame)
    assert "_ZN2at6native4copyEi" in {label.text for label in drawing.labels}
    assert not drawing.is_final
    monkeypatch.setattr(shown_names, "FRAME_BUDGET_S", 60.0)
    assert "at::native::copy(int)" in {label.text for label in scene.draw(frame).labels}
    monkeypatch.setattr(shown_names, "in_form", None)
    assert scene.draw(frame).is_final
