"""Arrows of links: ends out of view, links that run backwards, are missing or shared, and all links in view."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof.profile.reader import Profile
from smprof_desktop.progress import Cancelled
from smprof_desktop.timeline import all_links
from smprof_desktop.timeline.all_links import LinksInView, Request
from smprof_desktop.timeline.arrows import EDGE_PX, all_note
from smprof_desktop.timeline.draw_list import DrawList
from smprof_desktop.timeline.layout import Frame
from smprof_desktop.timeline.links import look_up
from smprof_desktop.timeline.scene import Scene
from smprof_desktop.timeline.viewport import Viewport
from tests.make_profile import make_profile
from tests.timeline.test_scene import HEADER_PX, LINKED, ref_of, scene_of


def drawn(profile: Profile, name: str, begin_ns: int, end_ns: int, **changes: object) -> tuple[DrawList, Scene, Frame]:
    scene, frame = scene_of(profile)
    frame = replace(frame, selection=ref_of(profile, name), view=Viewport(begin_ns, end_ns, 1000.0))
    frame = replace(frame, **changes)  # type: ignore[arg-type]
    return scene.draw(frame), scene, frame


def test_a_launch_out_of_view_is_told_at_the_edge_and_a_click_leads_there(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, LINKED)
    drawing, scene, frame = drawn(profile, "gemm", 350, 650)
    (arrow,), (note,) = drawing.arrows, drawing.link_notes
    assert arrow.from_x_px == HEADER_PX + EDGE_PX and HEADER_PX < arrow.to_x_px < HEADER_PX + 1000
    assert note.text == "← launch 300 ns earlier" and note.ref == ref_of(profile, "cudaLaunchKernel")
    assert note.x_px >= HEADER_PX and note.x_px + note.width_px <= HEADER_PX + 1000
    hit = scene.hit(frame, note.x_px + 3, note.y_px + 3)
    assert hit is not None and hit.part == "link" and hit.ref == note.ref
    beside = scene.hit(frame, note.x_px + note.width_px + 3, note.y_px + 3)
    assert beside is None or beside.part != "link"


def test_an_execution_out_of_view_is_told_at_the_other_edge(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, LINKED)
    drawing, _, _ = drawn(profile, "cudaGraphLaunch", 150, 350)
    (arrow,), (note,) = drawing.arrows, drawing.link_notes
    assert arrow.to_x_px == HEADER_PX + 1000 - EDGE_PX
    assert note.text == "execution 500 ns later →" and note.ref == ref_of(profile, "node_a")
    assert drawing.arrow_note is not None and drawing.arrow_note.text == "3 executions"


def test_an_end_that_is_scrolled_away_is_told_above_or_below(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, LINKED)
    full, scene, frame = drawn(profile, "gemm", 0, 1000)
    (arrow,) = full.arrows
    assert arrow.from_y_px > arrow.to_y_px and full.link_notes == ()
    low = arrow.from_y_px - 20
    drawing = scene.draw(replace(frame, height_px=low))
    (cut,), (note,) = drawing.arrows, drawing.link_notes
    assert cut.from_y_px == low - EDGE_PX and note.text == "↓ launch 300 ns earlier"
    assert note.y_px + note.height_px <= low


def test_nothing_is_drawn_of_a_link_that_lies_wholly_elsewhere(tmp_path: Path) -> None:
    drawing, _, _ = drawn(make_profile(tmp_path, LINKED), "gemm", 800, 900)
    assert drawing.arrows == () and drawing.link_notes == ()


def test_a_link_that_runs_backwards_is_marked_as_such(tmp_path: Path) -> None:
    text = "api 1 300+50 cudaGraphLaunch corr=5\nkernel 0/7 100+50 early corr=5\nkernel 0/7 600+50 late corr=5"
    profile = make_profile(tmp_path, text)
    drawing, _, _ = drawn(profile, "cudaGraphLaunch", 0, 1000)
    assert {arrow.to_x_px: arrow.is_backward for arrow in drawing.arrows} == {
        HEADER_PX + 100: True,
        HEADER_PX + 600: False,
    }
    drawing, _, _ = drawn(profile, "early", 0, 200)
    assert [note.text for note in drawing.link_notes] == ["launch 200 ns later →"]


def test_a_link_that_should_be_there_and_is_not_has_a_mark(tmp_path: Path) -> None:
    text = """
api 1 100+50 cudaLaunchKernel corr=5
api 1 110+20 cuLaunchKernelEx corr=5
kernel 0/7 400+200 gemm corr=5
kernel 0/7 700+100 orphan
api 1 800+10 cudaLaunchKernelExC corr=77
api 1 900+10 cudaMalloc corr=78
"""
    profile = make_profile(tmp_path, text)
    drawing, _, _ = drawn(profile, "orphan", 0, 1000)
    assert drawing.broken is not None
    assert (drawing.broken.x_px, drawing.broken.text) == (HEADER_PX + 700, "launch not known")
    assert drawn(profile, "orphan", 0, 300)[0].broken is None
    for name, missing in (
        ("gemm", ""),
        ("cudaMalloc", ""),
        ("cuLaunchKernelEx", "an earlier call carries the same correlation id and counts as the launch"),
        ("cudaLaunchKernelExC", "nothing with its correlation id was recorded on a GPU"),
        ("orphan", "no correlation id was recorded"),
    ):
        drawing, _, _ = drawn(profile, name, 0, 2000)
        found = look_up(profile, ref_of(profile, name)).missing
        assert found.partition(": ")[2] == missing
        assert (drawing.broken is not None) == bool(missing)


def test_a_backward_operator_is_linked_to_its_forward_one(tmp_path: Path) -> None:
    text = """
op 1 100+200 aten::linear sequence=3
op 1 150+50 aten::t sequence=3
op 2 600+100 LinearBackward0 sequence=3 forward=1
op 2 620+50 aten::mm sequence=3 forward=1
op 2 800+50 OtherBackward0 sequence=9 forward=1
"""
    profile = make_profile(tmp_path, text)
    for name in ("aten::linear", "LinearBackward0"):
        drawing, _, _ = drawn(profile, name, 0, 1000)
        (arrow,) = drawing.arrows
        assert (arrow.from_x_px, arrow.to_x_px) == (HEADER_PX + 100, HEADER_PX + 600)
    drawing, _, _ = drawn(profile, "LinearBackward0", 550, 750)
    assert [note.text for note in drawing.link_notes] == ["← forward operator 500 ns earlier"]
    for name in ("OtherBackward0", "aten::t"):
        assert drawn(profile, name, 0, 1000)[0].arrows == ()


def links_of(scene: Scene, frame: Frame) -> LinksInView:
    return all_links.find(scene.profile, scene.tree, scene.links_request(frame), lambda: False)


def test_all_links_in_view_have_an_arrow(tmp_path: Path) -> None:
    scene, frame = scene_of(make_profile(tmp_path, LINKED))
    found = links_of(scene, frame)
    assert (found.total, found.is_exact) == (4, True) and all_note(found) == "4 links in view"
    assert scene.draw(frame).links == () and scene.draw(frame).links_note == ""
    scene.all_links = found
    drawing = scene.draw(frame)
    assert sorted((arrow.from_x_px, arrow.to_x_px) for arrow in drawing.links) == [
        (HEADER_PX + 100, HEADER_PX + 400),
        *((HEADER_PX + 200, HEADER_PX + end) for end in (700, 720, 740)),
    ]
    assert drawing.links_note == "4 links in view"


def test_a_link_is_in_view_where_either_end_is(tmp_path: Path) -> None:
    scene, frame = scene_of(make_profile(tmp_path, LINKED))
    for begin_ns, end_ns, count in ((0, 150, 1), (150, 250, 3), (300, 450, 1), (701, 730, 1), (260, 390, 0)):
        assert links_of(scene, replace(frame, view=Viewport(begin_ns, end_ns, 1000.0))).total == count
    threads = next(lane.key for lane in scene.tree.walk() if lane.kind == "threads")
    short = replace(frame, height_px=scene.top_px + scene.metrics.row_px)  # neither streams nor threads are in sight
    assert links_of(scene, short).total == 0
    assert links_of(scene, replace(frame, expanded=frame.expanded - {threads})).total == 4


def test_of_many_links_some_are_chosen_evenly_and_the_note_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"api 1 {i * 10}+2 call corr={i + 1}\nkernel 0/7 {i * 10 + 4}+2 k corr={i + 1}\n" for i in range(90))
    scene, frame = scene_of(make_profile(tmp_path, text))
    monkeypatch.setattr(all_links, "MAX_LINKS", 10)
    found = links_of(scene, frame)
    assert len(found.start_ns) == 10 and all_note(found) == "10 of 90 links in view"
    assert {int(gap) for gap in np.diff(found.start_ns)} <= {90, 100}
    monkeypatch.setattr(all_links, "MAX_COUNTED", 50)
    monkeypatch.setattr(all_links, "_SAMPLES", 45)
    about = links_of(scene, frame)
    assert not about.is_exact and about.total == 90 and all_note(about) == "10 of about 90 links in view"


def test_looking_for_links_can_be_cancelled(tmp_path: Path) -> None:
    scene, frame = scene_of(make_profile(tmp_path, LINKED))
    with pytest.raises(Cancelled):
        all_links.find(scene.profile, scene.tree, scene.links_request(frame), lambda: True)


@st.composite
def launches(draw: st.DrawFn) -> list[tuple[int, int, int | None]]:
    """Starts of an API call and of its execution, and their id; None where they share none."""
    pairs = draw(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300), st.booleans()), min_size=1, max_size=12))
    return [(call, start, index + 1 if linked else None) for index, (call, start, linked) in enumerate(pairs)]


@given(pairs=launches(), begin_ns=st.integers(0, 300), span_ns=st.integers(1, 200))
def test_links_in_view_are_those_that_a_look_at_every_pair_finds(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, int, int | None]], begin_ns: int, span_ns: int
) -> None:
    lines = [
        f"api 1 {call}+3 call {number_text}\nkernel 0/7 {start}+5 k {number_text}"
        for call, start, number in pairs
        for number_text in [f"corr={number}" if number else ""]
    ]
    profile = make_profile(tmp_path_factory.mktemp("links") / "p", "\n".join(lines))
    scene, _ = scene_of(profile)
    rows = frozenset(row for lane in scene.tree.walk() if lane.kind in ("stream", "thread") for row in lane.rows)
    found = all_links.find(profile, scene.tree, Request(begin_ns, begin_ns + span_ns, rows), lambda: False)
    inside = range(begin_ns, begin_ns + span_ns)
    expected = sorted((call, start) for call, start, number in pairs if number and (call in inside or start in inside))
    assert sorted(zip(found.launch_ns.tolist(), found.start_ns.tolist(), strict=True)) == expected
    assert found.total == len(expected)
