"""Which lanes show, where, and what of the scrolled ones is cut off below the pinned ones. No Qt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smprof_desktop.timeline import lanes, layout
from smprof_desktop.timeline.arrangement import (
    AS_RECORDED,
    NOTE_KIND,
    ROOT,
    Arrangement,
    Shown,
    hidden_below,
    note_key,
    parse_note,
    shown,
)
from smprof_desktop.timeline.draw_list import DrawList, Rects
from smprof_desktop.timeline.lanes import Lane, LaneTree
from smprof_desktop.timeline.layout import Frame, Metrics, layout_of
from smprof_desktop.timeline.scene import Opened, Scene, with_scroll
from smprof_desktop.timeline.viewport import Viewport
from tests.make_profile import make_profile

HEADER_PX = 200.0
TEXT = """
process 0 pid=1 window=0:1000
thread 1 main
device 0 H100 used
device 1 H100 used
annotation 1 0+1000 step_0
api 1 100+50 cudaLaunchKernel corr=5
op 1 90+400 aten::mm
kernel 0/7 400+200 gemm corr=5
kernel 0/7 500+200 dependent
kernel 0/8 700+100 copy
kernel 1/7 100+900 other
counter 10 "CPU utilization %" 40
counter 500 "CPU utilization %" 60
"""
GPU = "host:algo-1/gpus/process:0/gpu:0"
DEVICE, STREAM_7, STREAM_8 = f"{GPU}/device", f"{GPU}/stream:7", f"{GPU}/stream:8"
THREAD = "host:algo-1/gpus/process:0/threads/thread:1"


def width_of(text: str) -> float:
    return 7.0 * len(text)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(Opened.read(make_profile(tmp_path, TEXT)), width_of)


def frame_of(scene: Scene, arrangement: Arrangement = AS_RECORDED, height_px: float = 900.0) -> Frame:
    """Everything open, one pixel per ns."""
    everything = frozenset(lane.key for lane in scene.tree.walk())
    return Frame(Viewport(0, 1000, 1000.0), everything, height_px, HEADER_PX, arrangement=arrangement)


def labels(found: Shown) -> list[str]:
    return [f"{'  ' * level}{lane.label}" for lane, level in zip(found.lanes, found.levels, strict=True)]


def everything(tree: LaneTree) -> frozenset[str]:
    return frozenset(lane.key for lane in tree.walk())


def boxes(rects: Rects) -> set[tuple[float, float, float, float]]:
    return set(
        zip(rects.x_px.tolist(), rects.y_px.tolist(), rects.width_px.tolist(), rects.height_px.tolist(), strict=True)
    )


def test_pinned_lanes_stand_on_top_with_what_lies_below_them(scene: Scene) -> None:
    arrangement = AS_RECORDED.with_pinned(STREAM_8, True).with_pinned(DEVICE, True)
    found = shown(scene.tree, everything(scene.tree), arrangement)
    assert labels(found)[:4] == ["stream 8", "GPU-0 device", "  stream 7", "algo-1"]
    assert found.pinned == 3
    keys = [lane.key for lane in found.lanes]
    assert sorted(keys) == sorted(scene.tree.by_key)


def test_unpinning_one_leaves_the_others(scene: Scene) -> None:
    pinned = AS_RECORDED.with_pinned(STREAM_8, True).with_pinned("gone:1", True).with_pinned(STREAM_7, True)
    assert pinned.with_pinned(STREAM_8, False).pinned == ("gone:1", STREAM_7)
    found = shown(scene.tree, everything(scene.tree), pinned.with_pinned(STREAM_8, False))
    assert (labels(found)[0], found.pinned) == ("stream 7", 1)


def test_hidden_lanes_leave_a_line_that_tells_of_them(scene: Scene) -> None:
    arrangement = AS_RECORDED.with_hidden([STREAM_7, STREAM_8], True)
    found = shown(scene.tree, everything(scene.tree), arrangement)
    at = [lane.label for lane in found.lanes].index("GPU-0 device")
    assert labels(found)[at : at + 2] == ["      GPU-0 device", "        2 lanes hidden"]
    note = found.lanes[at + 1]
    assert note.kind == NOTE_KIND and parse_note(note.key) == ("hidden", DEVICE)
    assert hidden_below(scene.tree, arrangement, DEVICE) == [STREAM_7, STREAM_8]
    again = arrangement.with_hidden([STREAM_7, STREAM_8], False)
    assert shown(scene.tree, everything(scene.tree), again).lanes == tuple(scene.tree.walk())


def test_a_hidden_host_is_told_of_at_the_bottom(scene: Scene) -> None:
    found = shown(scene.tree, everything(scene.tree), AS_RECORDED.with_hidden(["host:algo-1"], True))
    assert labels(found) == ["1 lane hidden"]
    assert parse_note(found.lanes[0].key) == ("hidden", ROOT)
    assert parse_note(STREAM_7) is None and parse_note(note_key("pack", DEVICE)) == ("pack", DEVICE)


def test_lanes_move_among_those_of_their_group(scene: Scene) -> None:
    tree = scene.tree
    moved = AS_RECORDED.with_lane_at(tree, STREAM_8, STREAM_7)
    assert moved.siblings(tree, STREAM_7) == [STREAM_8, STREAM_7]
    assert moved.with_lane_at(tree, STREAM_8, None).siblings(tree, STREAM_7) == [STREAM_7, STREAM_8]
    found = [lane.key for lane in shown(tree, everything(tree), moved).lanes]
    assert found.index(STREAM_8) + 1 == found.index(STREAM_7)
    assert sorted(found) == sorted(tree.by_key)


def test_a_moved_pin_keeps_pins_that_are_not_there(scene: Scene) -> None:
    pinned = replace(AS_RECORDED, pinned=("gone:1", STREAM_7, STREAM_8))
    assert pinned.siblings(scene.tree, STREAM_8) == [STREAM_7, STREAM_8]
    assert pinned.with_lane_at(scene.tree, STREAM_8, STREAM_7).pinned == ("gone:1", STREAM_8, STREAM_7)


def test_a_filter_leaves_what_it_finds_and_the_groups_around(scene: Scene) -> None:
    found = shown(scene.tree, frozenset(), replace(AS_RECORDED, filter="gpu-0 STREAM"))
    assert [label.strip() for label in labels(found)] == [
        "algo-1", "GPUs", "HOST-0 PID-1", "GPU-0 device", "stream 7", "stream 8",
    ]  # fmt: skip
    assert found.matching == 2
    group = shown(scene.tree, everything(scene.tree), replace(AS_RECORDED, filter="host main"))
    assert [lane.label for lane in group.lanes][-1] == "main 1"
    assert shown(scene.tree, frozenset(), replace(AS_RECORDED, filter="no such lane")).lanes == ()
    assert shown(scene.tree, frozenset(), replace(AS_RECORDED, filter="  ")).matching is None


@pytest.mark.parametrize(
    ("text", "streams"),
    [
        ("stream 7", ["stream 7", "stream 7"]),
        ("7", ["stream 7", "stream 7"]),
        ("stream 70", ["stream 70"]),
        ("gpu-1", ["stream 7", "stream 70"]),
        ("gpu-10", []),
        ("stream gpu-0", ["stream 7"]),
        ("(a) [b", []),
    ],
)
def test_a_number_is_meant_as_a_whole(tmp_path: Path, text: str, streams: list[str]) -> None:
    profile = make_profile(tmp_path, "process 0 pid=9\nkernel 0/7 0+9 k\nkernel 1/7 0+9 k\nkernel 1/70 0+9 k")
    tree = lanes.build(profile)
    found = shown(tree, everything(tree), replace(AS_RECORDED, filter=text))
    assert [lane.label for lane in found.lanes if lane.kind == "stream"] == streams


def test_pinned_lanes_show_whatever_the_filter(scene: Scene) -> None:
    arrangement = replace(AS_RECORDED.with_pinned(DEVICE, True), filter="cpu")
    found = labels(shown(scene.tree, everything(scene.tree), arrangement))
    assert found[:3] == ["GPU-0 device", "  stream 7", "  stream 8"]
    assert [label.strip() for label in found[3:]] == ["algo-1", "CPU", "CPU utilization %"]


def keys_of(tree: LaneTree) -> list[str]:
    return [*tree.by_key, "gone:1", "gone:2"]


@given(st.data())
def test_every_lane_shows_once_or_is_told_of(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Whatever is pinned, hidden and moved: with every group open, no lane is lost or doubled."""
    tree = _tree(tmp_path_factory)
    keys = st.lists(st.sampled_from(keys_of(tree)), unique=True)
    pinned, hidden = data.draw(keys), data.draw(keys)
    order = data.draw(st.dictionaries(st.sampled_from([ROOT, *keys_of(tree)]), keys.map(tuple), max_size=4))
    arrangement = Arrangement(tuple(pinned), frozenset(hidden) - set(pinned), order)
    found = shown(tree, everything(tree), arrangement)
    seen = [lane.key for lane in found.lanes if lane.kind != NOTE_KIND]
    assert len(set(seen)) == len(seen)
    told = {
        key
        for lane in found.lanes
        if (note := parse_note(lane.key))
        for key in hidden_below(tree, arrangement, note[1])
    }
    below_hidden = {lane.key for key in told for lane in tree.by_key[key].walk()}
    assert set(seen) | below_hidden == set(tree.by_key)
    assert not set(seen) & told
    for above, below in pairwise(range(len(found.lanes))):
        assert found.levels[below] <= found.levels[above] + 1 or found.lanes[below].kind == NOTE_KIND


_TREES: list[LaneTree] = []


def _tree(factory: pytest.TempPathFactory) -> LaneTree:
    if not _TREES:
        _TREES.append(lanes.build(make_profile(factory.mktemp("tree"), TEXT)))
    return _TREES[0]


def bands(drawing: DrawList) -> Iterator[tuple[float, float]]:
    """From where to where each lane shows."""
    for header in drawing.headers:
        bottom_px = header.y_px + header.height_px
        is_scrolled = bottom_px > drawing.scrolled_px
        yield max(header.y_px, drawing.scrolled_px) if is_scrolled else header.y_px, bottom_px


def test_what_is_drawn_lies_in_its_lane_at_every_scroll(scene: Scene) -> None:
    """Nothing of a scrolled lane shows through the pinned ones, and everything that is in sight is there."""
    arrangement = AS_RECORDED.with_pinned(STREAM_7, True).with_pinned("host:algo-1/cpu", True)
    frame = frame_of(scene, arrangement, 330.0)
    whole = scene.draw(replace(frame, height_px=2000.0))
    for scroll_px in range(0, 300, 7):
        here = with_scroll(frame, float(scroll_px), scene)
        drawing = scene.draw(here)
        assert drawing.pinned_px == scene.placed(here).stuck_px > 0
        spans = list(bands(drawing))
        assert [top for top, _ in spans] == sorted(top for top, _ in spans)
        assert spans[0][0] == drawing.top_px
        for (_, bottom), (top, _) in pairwise(spans):
            assert top == pytest.approx(bottom)
        for rects in (drawing.slices, drawing.ticks, drawing.columns, drawing.curves):
            for _, y_px, _, height_px in boxes(rects):
                assert height_px > 0
                assert any(top <= y_px and y_px + height_px <= bottom for top, bottom in spans)
        expected = set()
        for x_px, y_px, width_px, height_px in boxes(whole.slices):
            if y_px >= whole.scrolled_px:
                y_px -= here.scroll_px
                cut_px = max(drawing.scrolled_px - y_px, 0.0)
                y_px, height_px = y_px + cut_px, height_px - cut_px
            if height_px > 0 and y_px < here.height_px:
                expected.add((x_px, y_px, width_px, height_px))
        assert boxes(drawing.slices) == expected


def test_pinned_lanes_stay_while_the_rest_scrolls(scene: Scene) -> None:
    frame = frame_of(scene, AS_RECORDED.with_pinned(STREAM_8, True), 300.0)
    tops = set()
    for scroll_px in (0.0, 40.0, 90.0):
        drawing = scene.draw(replace(frame, scroll_px=scroll_px))
        assert drawing.headers[0].key == STREAM_8
        tops.add(drawing.headers[0].y_px)
    assert tops == {scene.top_px}
    most = with_scroll(frame, 1e9, scene)
    last = scene.draw(most).headers[-1]
    assert last.y_px + last.height_px == pytest.approx(frame.height_px)


def test_pins_leave_room_for_the_rest(scene: Scene) -> None:
    """What is pinned beyond the greater part of the height is scrolled, and stays reachable."""
    every = replace(AS_RECORDED, pinned=tuple(lane.key for lane in scene.tree.walk() if not lane.children))
    frame = frame_of(scene, every, 300.0)
    placed = scene.placed(frame)
    seen_px = frame.height_px - scene.top_px
    assert 0 < placed.stuck < placed.layout.pinned
    assert placed.stuck_px <= layout.MAX_STUCK_SHARE * seen_px
    reached = set()
    for scroll_px in range(0, int(placed.layout.total_px), 10):
        reached |= {header.key for header in scene.draw(with_scroll(frame, float(scroll_px), scene)).headers}
    assert reached == set(placed.layout.index)


def test_every_point_hits_the_lane_that_is_drawn_there(scene: Scene) -> None:
    arrangement = AS_RECORDED.with_pinned(STREAM_7, True).with_hidden([STREAM_8], True)
    frame = replace(frame_of(scene, arrangement, 320.0), scroll_px=83.0)
    drawing = scene.draw(frame)
    for header, (top, bottom) in zip(drawing.headers, bands(drawing), strict=True):
        for y_px in np.arange(top + 0.5, min(bottom, frame.height_px), 3.0):
            hit = scene.hit(frame, 5.0, float(y_px))
            assert hit is not None and hit.key == header.key
            assert hit.part == ("note" if header.is_note else "header")
            pin = scene.hit(frame, HEADER_PX - 3, float(y_px))
            assert pin is not None and pin.part == ("note" if header.is_note else "pin")
            lane = scene.hit(frame, HEADER_PX + 2, float(y_px))
            assert lane is not None and lane.key == header.key
    for x_px, y_px, width_px, height_px in boxes(drawing.slices):
        hit = scene.hit(frame, x_px + width_px / 2, y_px + height_px / 2)
        assert hit is not None and hit.ref is not None
        assert scene.times_of(hit.ref)[0] == round(x_px - HEADER_PX)


def test_the_selection_and_its_arrow_follow_a_pinned_lane(scene: Scene) -> None:
    selected = scene.hit(frame_of(scene), HEADER_PX + 420, _middle(scene, frame_of(scene), STREAM_7))
    assert selected is not None and selected.ref is not None
    frame = replace(
        frame_of(scene, AS_RECORDED.with_pinned(STREAM_7, True), 300.0), selection=selected.ref, scroll_px=60.0
    )
    # A pinned lane shows whether the group that it stands in is open or not.
    drawing = scene.draw(replace(frame, expanded=frame.expanded - {DEVICE}))
    assert drawing.selection is not None and drawing.selection.y_px < drawing.scrolled_px
    (arrow,) = drawing.arrows
    assert arrow.to_y_px == pytest.approx(drawing.selection.y_px + drawing.selection.height_px / 2, abs=1.0)
    assert arrow.from_y_px >= drawing.scrolled_px
    hidden = scene.draw(replace(frame, arrangement=AS_RECORDED.with_hidden([STREAM_7], True), scroll_px=0.0))
    device = next(header for header in hidden.headers if header.key == DEVICE)
    assert hidden.selection is None
    assert hidden.arrows[0].to_y_px == pytest.approx(device.y_px + device.height_px / 2)


def _middle(scene: Scene, frame: Frame, key: str) -> float:
    top, bottom = scene.lane_span_px(frame, key)
    return scene.top_px + (top + bottom) / 2 - frame.scroll_px


def test_a_header_tells_where_its_pinned_lane_comes_from(scene: Scene) -> None:
    header = scene.draw(frame_of(scene, AS_RECORDED.with_pinned(STREAM_7, True))).headers[0]
    assert (header.label, header.detail) == ("stream 7", "GPU-0 device · HOST-0 PID-1 · algo-1")
    assert header.is_pinned and header.level == 0


@pytest.mark.parametrize(
    ("key", "shows"),
    [
        ("host:algo-1", "curve"),
        ("host:algo-1/cpu", "curve"),
        ("host:algo-1/gpus", "curve"),
        ("host:algo-1/gpus/process:0", "curve"),
        (DEVICE, "curve"),
        (STREAM_7, "curve"),
        ("host:algo-1/gpus/process:0/threads", "curve"),
        (THREAD, "slices"),
    ],
)
def test_a_collapsed_lane_shows_how_dense_it_is(scene: Scene, key: str, shows: str) -> None:
    """A thread's outermost slices cover all others; of everything else the union of what lies in it is drawn."""
    frame = frame_of(scene)
    drawing = scene.draw(replace(frame, expanded=frame.expanded - {key}))
    header = next(header for header in drawing.headers if header.key == key)
    top, bottom = header.y_px, header.y_px + header.height_px
    drawn = drawing.curves if shows == "curve" else drawing.slices
    inside = (drawn.y_px >= top) & (drawn.y_px + drawn.height_px <= bottom)
    assert inside.any()
    other = drawing.slices if shows == "curve" else drawing.curves
    assert not ((other.y_px >= top) & (other.y_px < bottom)).any()
    if key == STREAM_7:  # 400 to 700, by two rows that overlap
        assert (drawn.x_px[inside].min(), (drawn.x_px + drawn.width_px)[inside].max()) == (
            HEADER_PX + 400,
            HEADER_PX + 700,
        )
        hit = scene.hit(replace(frame, expanded=frame.expanded - {key}), HEADER_PX + 450, (top + bottom) / 2)
        assert hit is not None and hit.ref is None


def test_a_header_says_what_its_share_is_of(scene: Scene) -> None:
    frame = replace(frame_of(scene), view=Viewport(300, 800, 1000.0))
    scene.draw(frame)
    assert scene.lane_text(frame, STREAM_7).splitlines() == [
        "stream 7",
        "GPU-0 device · HOST-0 PID-1 · GPUs · algo-1",
        "60 % busy: 300 ns of the 500 ns in view",
    ]
    assert scene.lane_text(frame, "host:algo-1/gpus/utilization").splitlines()[-1] == (
        "90 % busy: 900 ns of the 1 µs recorded in view, summed over 2"
    )


@settings(max_examples=20)  # each writes a profile
@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 300)), min_size=1, max_size=60),
    st.integers(0, 8_000),
    st.integers(200, 9_000),
)
def test_the_share_of_a_view_is_exact_to_its_edges(
    tmp_path_factory: pytest.TempPathFactory, gaps: list[tuple[int, int]], begin_ns: int, span_ns: int
) -> None:
    """Against a twin that looks at every slice: off by what the bins at the two edges can hold at most."""
    text, at, times = ["annotation 1 0+20000 all"], 0, []
    for gap, duration in gaps:
        at += gap
        times.append((at, at + duration))
        text.append(f"kernel 0/{7 + len(times) % 3} {at}+{duration} k")
    scene = Scene(Opened.read(make_profile(tmp_path_factory.mktemp("share"), "\n".join(text))), width_of)
    frame = frame_of(scene)
    end_ns = min(begin_ns + span_ns, 20_000)
    view = Viewport(begin_ns, end_ns, 300.0)
    key = next(lane.key for lane in scene.tree.walk() if lane.kind == "device")
    drawing = scene.draw(replace(frame, view=view, expanded=frame.expanded, height_px=4000.0))
    share = next(header for header in drawing.headers if header.key == key).share
    busy = np.zeros(end_ns - begin_ns, bool)
    for start, end in times:
        busy[max(start - begin_ns, 0) : max(end - begin_ns, 0)] = True
    bin_share = (1 << view.bin_level) / len(busy)
    told = 0.005 if share == "<1 %" else float(share.removesuffix(" %")) / 100
    assert abs(told - busy.mean()) <= 0.005 + 2 * bin_share + 1e-9


def big_tree() -> LaneTree:
    """64 hosts of 8 GPUs, 18 lanes each: about 10,000 lanes."""
    hosts = []
    for host in range(64):
        key = f"host:algo-{host}"
        devices = tuple(
            Lane(
                f"{key}/gpu:{gpu}",
                f"GPU-{gpu} device",
                "device",
                1,
                tuple(Lane(f"{key}/gpu:{gpu}/stream:{n}", f"stream {n}", "stream", 2) for n in range(18)),
            )
            for gpu in range(8)
        )
        hosts.append(Lane(key, f"algo-{host}", "host", 0, devices))
    return lanes.tree_of(tuple(hosts), {})


def test_ten_thousand_lanes_are_laid_out_once_and_only_those_in_sight_are_drawn(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = big_tree()
    assert 9_000 < len(tree.by_key) < 11_000
    scene.replace_tree(tree)
    laid_out, drawn = [0], [0]

    def counted(tree: LaneTree, expanded: frozenset[str], arrangement: Arrangement, metrics: Metrics) -> layout.Layout:
        laid_out[0] += 1
        return layout_of(tree, expanded, arrangement, metrics)

    draw_lane = Scene._draw_lane

    def counted_lane(self: Scene, *given: object) -> str:
        drawn[0] += 1
        return draw_lane(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr("smprof_desktop.timeline.scene.layout_of", counted)
    monkeypatch.setattr(Scene, "_draw_lane", counted_lane)
    arrangement = AS_RECORDED.with_pinned("host:algo-9/gpu:3/stream:4", True)
    groups = frozenset(lane.key for lane in tree.walk() if lane.children)
    frame = replace(frame_of(scene, arrangement, 800.0), expanded=groups)
    total_px = scene.layout(frame).total_px
    frames = 200
    for number in range(frames):
        here = with_scroll(frame, total_px * number / frames, scene)
        headers = scene.draw(here).headers
        assert headers[0].key == "host:algo-9/gpu:3/stream:4"
        scene.hit(here, 5.0, 400.0)
    assert laid_out == [1]
    assert drawn[0] <= frames * (800 / scene.metrics.row_px + 2)
    # An equal arrangement that is another object needs no new layout either.
    scene.draw(replace(frame, arrangement=replace(arrangement), expanded=frozenset(frame.expanded)))
    assert laid_out == [1]
    scene.draw(replace(frame, expanded=frozenset()))
    assert laid_out == [2]
