"""What a frame may cost, what shows where it lacks time, and who gives way to it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from smprof_desktop.timeline import memory, pictures
from smprof_desktop.timeline.lanes import Lane
from smprof_desktop.timeline.maker import RowPicture, Window
from smprof_desktop.timeline.memory import MAX_QUICK_SLICES, Frames, Later
from smprof_desktop.timeline.pictures import Pictures
from smprof_desktop.timeline.scene import Opened
from smprof_desktop.timeline.viewport import Viewport
from tests.make_profile import make_profile

SLICES = 400
END_NS = SLICES * 100


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """One stream of 400 kernels, which has a ladder."""
    lines = [f"kernel 0/7 {100 * at}+{20 + at % 60} gemm" for at in range(SLICES)]
    return Opened.read(make_profile(tmp_path, "\n".join(lines)))


def stream(opened: Opened) -> Lane:
    return next(lane for lane in opened.tree.walk() if lane.kind == "stream")


def test_a_frame_compares_so_many_slices_and_the_next_one_again() -> None:
    frames = Frames()
    frames.begin()
    frames.compare(MAX_QUICK_SLICES - 1)
    with pytest.raises(Later):
        frames.compare(2)
    frames.compare(1)
    frames.begin()
    frames.compare(MAX_QUICK_SLICES)


def test_a_task_gives_way_until_the_frame_is_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "FRAME_S", 60.0)
    frames = Frames()
    went_on = threading.Event()

    def work() -> None:
        frames.give_way()
        went_on.set()

    frames.begin()
    frames.give_way()  # the thread that draws does not wait for itself
    task = threading.Thread(target=work)
    task.start()
    assert not went_on.wait(0.05)
    frames.end()
    assert went_on.wait(10)
    task.join()


def test_a_task_hands_over_when_its_view_is_gone(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "FETCH_S", 60.0)
    row = stream(opened).rows[0]

    def make(maker: object) -> RowPicture:
        for _ in range(pictures.FETCH_FRAMES + 1):
            opened.maker.frames.begin()
        opened.maker.frames.end()
        return RowPicture.empty(Window(0, 1, 0))

    wants = [pictures.Want(row, make)] * 3
    assert len(pictures.fetch(opened.maker, wants, lambda: False)) == 1


def test_what_there_was_no_time_for_is_wanted_from_the_other_end_and_shows_as_stopgap(opened: Opened) -> None:
    shown = Pictures(opened.maker.held())
    lane, view = stream(opened), Viewport(0, END_NS, 10.0)
    shown.begin_frame(0.0, 0.0)
    gap = shown.row(lane.rows[0], lane.kind, view)
    assert shown.busy(lane, view) is not None
    assert shown.is_late
    assert [want.key for want in shown.wanted] == [lane.key, lane.rows[0]]
    assert len(gap.bin_ns) > 0
    # The stopgap is kept while the view moves on, and goes when what is right has been brought.
    assert shown.row(lane.rows[0], lane.kind, view.panned(2.0, opened.maker.limits)) is gap
    for key, picture in pictures.fetch(opened.maker, shown.wanted, lambda: False):
        shown.install(key, picture)
    shown.begin_frame(0.0, 0.0)
    right = shown.row(lane.rows[0], lane.kind, view)
    assert right is not gap
    assert right.window.holds(view)
    assert not shown.wanted
    assert not shown.is_late


def test_without_any_time_a_row_shows_what_there_is(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "STOPGAP_S", -1.0)
    shown = Pictures(opened.maker.held())
    lane = stream(opened)
    shown.begin_frame(None, 0.0)
    assert len(shown.row(lane.rows[0], lane.kind, Viewport(0, END_NS, 10.0)).bin_ns) == 0
    part = opened.maker.row(lane.rows[0], lane.kind, Viewport(0, 4_000, 10.0))
    shown.install(lane.rows[0], part)
    assert shown.row(lane.rows[0], lane.kind, Viewport(0, END_NS, 10.0)) is part
