"""Marks and steps between axis and lanes: counts, bounds, merging and hit points, against an obvious twin. No Qt."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof_desktop.notes import MAX_MARKS, MAX_TEXT, Notes
from smprof_desktop.timeline import marks, step_list
from smprof_desktop.timeline.axis import Axis
from smprof_desktop.timeline.labels import Elider
from smprof_desktop.timeline.layout import Frame, Metrics
from smprof_desktop.timeline.marks import Mark
from smprof_desktop.timeline.scene import Opened, Scene
from smprof_desktop.timeline.step_list import StepList
from smprof_desktop.timeline.strips import MIN_STEP_PX, Strips
from smprof_desktop.timeline.viewport import Viewport
from tests.make_profile import make_profile

HEADER_PX = 100.0
STEPS = """
process 0 pid=1 window=0:1000
thread 1 main
annotation 1 0+1000 epoch
annotation 1 0+400 step_0
annotation 1 10+100 step_77
annotation 1 400+300 step_1
annotation 1 650+200 step_2
annotation 0/7 0+900 step_9
kernel 0/7 20+10 gemm
process 1 pid=2 window=0:1000
thread 1 main
annotation 1 5+5 batch-3
"""


def width_of(text: str) -> float:
    return 7.0 * len(text)


def frame_of(begin_ns: int, end_ns: int, width_px: float = 1000.0) -> Frame:
    return Frame(Viewport(begin_ns, end_ns, width_px), frozenset(), 400.0, HEADER_PX)


def strips_of(*shown: Mark, steps: StepList | None = None) -> Strips:
    made = Strips(Metrics(), Elider(width_of), Axis(0))
    made.marks = tuple(sorted(shown))
    if steps is not None:
        made.steps = steps
    return made


def steps_of(*spans: tuple[int, int]) -> StepList:
    begins, ends = (np.array([span[side] for span in spans], np.int64) for side in (0, 1))
    return StepList(begins, ends, tuple(f"step_{number}" for number in range(len(spans))), 0)


def test_steps_of_a_process_are_the_outermost_in_order(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, STEPS)
    found = step_list.read(profile, None, lambda: False)
    assert found.names == ("step_0", "step_1", "step_2")
    assert (found.start_ns.tolist(), found.end_ns.tolist(), found.process) == ([0, 400, 650], [400, 700, 850], 0)
    assert step_list.read(profile, 1, lambda: False).names == ("batch-3",)
    assert [found.at(time_ns) for time_ns in (-1, 0, 399, 660, 849, 850)] == [None, 0, 0, 2, 2, None]
    assert [found.beside(time_ns, 1) for time_ns in (-5, 200, 660)] == [0, 1, None]
    assert [found.beside(time_ns, -1) for time_ns in (399, 400, 900)] == [None, 0, 2]


def test_a_process_without_steps_shows_those_of_the_first_that_has(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, "process 0 pid=1\nkernel 0/7 2+1 k\n" + STEPS.replace("process 1", "process 2"))
    assert step_list.read(profile, 0, lambda: False).names[0] == "step_0"


def test_without_marks_and_steps_there_is_no_gap(tmp_path: Path) -> None:
    scene = Scene(Opened.read(make_profile(tmp_path, STEPS)), width_of)
    bare = scene.draw(frame_of(0, 1000))
    assert (bare.marks, bare.steps, bare.axis_bottom_px) == ((), (), bare.top_px)
    scene.strips.marks = (Mark(5, 5, "a"),)
    scene.strips.steps = step_list.read(scene.profile, None, lambda: False)
    drawing = scene.draw(frame_of(0, 1000))
    assert drawing.axis_bottom_px == bare.axis_bottom_px
    assert drawing.top_px == bare.top_px + 2 * scene.metrics.strip_px
    assert drawing.headers[0].y_px == drawing.top_px
    assert [bar.text for bar in drawing.steps] == ["step_0", "step_1", "step_2"]
    hit = scene.hit(frame_of(0, 1000), HEADER_PX + 500, drawing.top_px - 3)
    assert hit is not None
    assert (hit.part, hit.name, hit.begin_ns, hit.end_ns) == ("step", "step_1", 400, 700)
    hit = scene.hit(frame_of(0, 1000), HEADER_PX + 7, drawing.axis_bottom_px + 2)
    assert hit is not None
    assert (hit.part, hit.name, hit.number) == ("mark", "a", 0)
    assert scene.hit(frame_of(0, 1000), HEADER_PX + 400, drawing.axis_bottom_px + 2) is None


def test_flags_stand_on_their_times_and_do_not_cover_each_other() -> None:
    strips = strips_of(Mark(100, 100, "first"), Mark(130, 130, "second, with a long text"), Mark(990, 990))
    flags = strips.draw(frame_of(0, 1000)).marks
    assert [flag.x_px for flag in flags] == [HEADER_PX + 100, HEADER_PX + 130, HEADER_PX + 990]
    assert all(flag.flag_x_px + flag.width_px <= follows.flag_x_px for flag, follows in pairwise(flags))
    assert flags[1].text == "second, with a long text"
    assert flags[2].text == ""  # no room: but its flag is there


def test_a_range_that_begins_out_of_sight_has_its_flag_at_the_edge() -> None:
    flags = strips_of(Mark(-500, 300, "range"), Mark(-20, -20), Mark(2000, 3000)).draw(frame_of(0, 1000)).marks
    assert len(flags) == 1
    assert flags[0].x_px < HEADER_PX == flags[0].flag_x_px
    assert flags[0].end_x_px == HEADER_PX + 300
    assert flags[0].is_range


def test_many_marks_on_a_pixel_are_one_flag_and_the_selected_one_is_always_there() -> None:
    many = [Mark(number, number, str(number)) for number in range(5_000)]
    strips = strips_of(*many)
    strips.selected = many[777]
    flags = strips.draw(frame_of(0, 5_000, 100.0)).marks
    assert len(flags) <= 102
    assert [flag.number for flag in flags if flag.is_selected] == [777]


def test_a_million_steps_cost_pixels_and_lose_none() -> None:
    starts = np.arange(1_000_000, dtype=np.int64) * 10
    steps = StepList(starts, starts + 9, tuple(map(str, range(1_000_000))), 0)
    bars = strips_of(steps=steps).draw(frame_of(0, 10_000_000)).steps
    assert len(bars) == 1
    assert bars[0].joined == 1_000_000
    assert bars[0].text == "1,000,000 steps"


spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 60)), min_size=1, max_size=60)


@given(gaps=spans, begin_ns=st.integers(-50, 2_000), span_ns=st.integers(1, 4_000), width_px=st.integers(1, 300))
def test_bars_hold_every_step_in_view_once(
    gaps: list[tuple[int, int]], begin_ns: int, span_ns: int, width_px: int
) -> None:
    at, made = 0, []
    for gap, length in gaps:
        at += gap
        made.append((at, at + length))
        at += max(length, 1)
    view = Viewport(begin_ns, begin_ns + span_ns, float(width_px))
    strips = strips_of(steps=steps_of(*made))
    bars = strips.draw(Frame(view, frozenset(), 400.0, HEADER_PX)).steps
    covered = [number for bar in bars for number in range(bar.number, bar.number + bar.joined)]
    seen = [number for number, (start, end) in enumerate(made) if start <= view.end_ns and end >= view.begin_ns]
    assert covered == seen
    for bar in bars:
        start, end = made[bar.number]
        width = view.x_px(end) - view.x_px(start)
        if bar.joined == 1 and view.x_px(start) >= 0 and view.x_px(end) <= width_px:
            assert bar.x_px == pytest.approx(HEADER_PX + view.x_px(start))
            assert bar.width_px == pytest.approx(max(width, 1.0))
        if bar.joined > 1:
            last = made[bar.number + bar.joined - 1]
            clipped = [min(max(view.x_px(time_ns), 0), width_px + 4) for time_ns in last]
            assert clipped[1] - clipped[0] < MIN_STEP_PX or len(covered) > 4 * width_px
    lefts = [bar.x_px for bar in bars]
    assert lefts == sorted(lefts)


def test_marks_in_the_notes() -> None:
    notes = Notes(None)
    later = marks.add(notes, Mark(9, 9, "x" * (MAX_TEXT + 1)))
    assert len(later.text) == MAX_TEXT
    first = marks.add(notes, Mark(1, 5))
    marks.add(notes, first)
    assert marks.marks_of(notes) == (first, later)
    notes.set("marks", [{**entry, "colour": "red"} for entry in notes.get("marks")])
    renamed = marks.rename(notes, first, "a\nb")
    assert marks.marks_of(notes) == (renamed, later)
    assert all(entry["colour"] == "red" for entry in notes.get("marks"))
    marks.remove(notes, later)
    assert marks.marks_of(notes) == (renamed,)
    notes.set("marks", [{"begin_ns": at, "end_ns": at, "text": ""} for at in range(MAX_MARKS)])
    marks.add(notes, Mark(-1, -1))
    assert len(notes.get("marks")) == MAX_MARKS


@pytest.mark.parametrize("begin_ns", [-(1 << 63), -(1 << 62)])
def test_marks_at_the_ends_of_64_bits_are_cut_at_the_edges(begin_ns: int) -> None:
    """Notes are a file that anybody may have written."""
    made = strips_of(Mark(begin_ns, (1 << 63) - 1, "all of time"))
    for view in (frame_of(0, 1_000), frame_of(1 << 61, (1 << 61) + 10)):
        (flag,) = made.draw(view).marks
        assert flag.x_px < HEADER_PX < HEADER_PX + 1_000 < flag.end_x_px < 2_000
