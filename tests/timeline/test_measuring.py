"""The area in the picture and on the axis, the ruler, and the edges that both snap to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter
from pytestqt.qtbot import QtBot

from smprof_desktop.session import Area, Session, SliceRef
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline.colours import DARK, LIGHT, Theme, contrast
from smprof_desktop.timeline.layout import Frame, Metrics, Ruler
from smprof_desktop.timeline.overlays import rate_text, ruler_text
from smprof_desktop.timeline.paint_raster import RasterPainter
from smprof_desktop.timeline.scene import Opened, Scene
from smprof_desktop.timeline.snapping import SNAP_PX, snap
from smprof_desktop.timeline.viewport import Viewport, duration_text
from smprof_desktop.timeline.widget import TimelineWidget
from tests.make_profile import make_profile
from tests.timeline.test_gestures import LEFT, NO_BUTTON, NONE, SHIFT, at_px, drag, mouse, span

ALT = Qt.KeyboardModifier.AltModifier
TEXT = """
host algo-1
process 0 pid=100
annotation 1 0+100000 step_0
api 1 2000+4000 cudaLaunchKernel corr=5
kernel 0/7 30000+20000 gemm corr=5
kernel 0/7 60000+1000 node_a
kernel 0/8 70000+1000 node_b
"""
STREAM_7, STREAM_8 = (f"host:algo-1/gpus/process:0/gpu:0/stream:{stream}" for stream in (7, 8))


@pytest.fixture
def widget(qtbot: QtBot, tmp_path: Path) -> Iterator[TimelineWidget]:
    session, tasks = Session(), Tasks()
    session.open(make_profile(tmp_path, TEXT))
    made = TimelineWidget(session, tasks, Settings(None))
    qtbot.addWidget(made)
    made.resize(1290, 460)
    with qtbot.waitExposed(made):
        made.show()
    made.setFocus()
    qtbot.waitUntil(lambda: made.is_final)
    made.go_to(made.view.fitted(20_000, 80_000, made.opened_scene().limits), remember=True)
    yield made
    assert tasks.close()


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("measuring")
    return Scene(Opened.read(make_profile(folder, TEXT)), lambda text: 6.0 * len(text), Metrics(15.0))


def frame_of(scene: Scene, **changes: object) -> Frame:
    """A frame of 1 ns a pixel and more, all lanes open."""
    expanded = frozenset(lane.key for lane in scene.tree.walk())
    made = Frame(Viewport(20_000, 80_000, 1000.0), expanded, 900.0)
    return replace(made, **changes)  # type: ignore[arg-type]


def row_y_px(scene: Scene, frame: Frame, key: str) -> float:
    """The middle of a lane's first row in the widget."""
    top_px, bottom_px = scene.lane_span_px(frame, key)
    return scene.top_px + (top_px + bottom_px) / 2


def x_of(widget: TimelineWidget, time_ns: int) -> int:
    return round(widget.header_px + widget.view.x_px(time_ns))


def axis_y(widget: TimelineWidget) -> int:
    scene = widget.opened_scene()
    return round(scene.metrics.overview_px + scene.metrics.axis_px / 2)


def lane_y(widget: TimelineWidget, key: str) -> int:
    return round(row_y_px(widget.opened_scene(), widget.frame(), key))


def ruler_is_out(widget: TimelineWidget) -> bool:
    return widget.measuring.is_on or widget.measuring.ruler is not None


def has_area(widget: TimelineWidget) -> bool:
    return widget.session.area is not None


# What lies near the pointer.


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 1000), st.sampled_from([STREAM_7, STREAM_8]))
def test_snapping_finds_the_nearest_edge_and_none_that_is_far(scene: Scene, x_px: float, key: str) -> None:
    frame = frame_of(scene)
    edges = {STREAM_7: (30_000, 50_000, 60_000, 61_000), STREAM_8: (70_000, 71_000)}[key]
    found = snap(scene, frame, frame.header_px + x_px, row_y_px(scene, frame, key))
    nearest = min(edges, key=lambda edge: abs(frame.view.x_px(edge) - x_px))
    if abs(frame.view.x_px(nearest) - x_px) < SNAP_PX - 0.01:
        assert found is not None and abs(found.x_px - frame.header_px - x_px) <= SNAP_PX
        assert found.time_ns in edges and found.x_px == frame.header_px + frame.view.x_px(found.time_ns)
    elif found is not None:  # another row's, where its own has none
        assert found.time_ns not in edges and abs(found.x_px - frame.header_px - x_px) <= SNAP_PX


def test_snapping_takes_the_pointers_row_first(scene: Scene) -> None:
    """The row below has an edge just under the pointer, its own one is a little further away."""
    frame = frame_of(scene)
    own = snap(scene, frame, frame.header_px + frame.view.x_px(61_000) + 5, row_y_px(scene, frame, STREAM_7))
    assert own is not None and own.time_ns == 61_000
    below = snap(scene, frame, frame.header_px + frame.view.x_px(70_000), row_y_px(scene, frame, STREAM_7))
    assert below is not None and below.time_ns == 70_000 and below.y_px > own.y_px


def test_nothing_is_snapped_to_in_the_header_column(scene: Scene) -> None:
    frame = frame_of(scene, view=Viewport(30_000, 80_000, 1000.0))
    assert snap(scene, frame, frame.header_px - 1, row_y_px(scene, frame, STREAM_7)) is None


# The area in the draw list.


def test_the_band_is_as_long_as_the_area_and_says_so_exactly(scene: Scene) -> None:
    frame = frame_of(scene, area=Area(30_001, 50_000, (STREAM_7,)))
    band = scene.draw(frame).area
    assert band is not None and band.text == duration_text(19_999)
    assert (band.x_px, band.end_px) == (
        frame.header_px + frame.view.x_px(30_001), frame.header_px + frame.view.x_px(50_000),
    )  # fmt: skip
    top_px = row_y_px(scene, frame, STREAM_7)
    assert len(band.boxes) == 1 and band.boxes[0].y_px < top_px < band.boxes[0].y_px + band.boxes[0].height_px
    assert band.x_px < band.text_x_px and band.text_x_px + band.text_width_px < band.end_px


def test_an_area_of_all_lanes_takes_in_every_lane(scene: Scene) -> None:
    frame = frame_of(scene, area=Area(30_000, 50_000))
    band = scene.draw(frame).area
    assert band is not None and [box.y_px for box in band.boxes] == [scene.top_px]
    assert band.boxes[0].height_px == pytest.approx(scene.layout(frame).total_px)


def test_lanes_in_a_collapsed_group_show_the_band_over_the_group(scene: Scene) -> None:
    frame = frame_of(scene, area=Area(30_000, 50_000, (STREAM_7, STREAM_8)))
    assert scene.draw(frame).area != scene.draw(replace(frame, expanded=frozenset())).area
    frame = replace(frame, expanded=frame.expanded - {"host:algo-1/gpus"})
    band = scene.draw(frame).area
    top_px, bottom_px = scene.lane_span_px(frame, "host:algo-1/gpus")
    assert band is not None
    assert [(box.y_px, box.height_px) for box in band.boxes] == [(scene.top_px + top_px, bottom_px - top_px)]


def test_open_groups_between_lanes_of_the_area_leave_no_gap(scene: Scene) -> None:
    frame = frame_of(scene)
    threads = next(lane for lane in scene.tree.walk() if lane.kind == "thread")
    band = scene.draw(replace(frame, area=Area(30_000, 50_000, (STREAM_7, STREAM_8, threads.key)))).area
    assert band is not None and len(band.boxes) == 1
    apart = scene.draw(replace(frame, area=Area(30_000, 50_000, (STREAM_7, threads.key)))).area
    assert apart is not None and len(apart.boxes) == 2


@pytest.mark.parametrize("times", [(0, 10_000), (90_000, 95_000)])
def test_an_area_out_of_sight_is_not_drawn(scene: Scene, times: tuple[int, int]) -> None:
    assert scene.draw(frame_of(scene, area=Area(*times))).area is None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100_000), st.integers(1, 100_000))
def test_what_is_drawn_of_an_area_stays_beside_the_lanes(scene: Scene, begin_ns: int, length_ns: int) -> None:
    frame = frame_of(scene, area=Area(begin_ns, begin_ns + length_ns))
    band = scene.draw(frame).area
    right_px = frame.header_px + frame.view.width_px
    if band is not None:
        assert frame.header_px - 5 <= band.x_px < band.end_px <= right_px + 5
        assert frame.header_px <= band.text_x_px and band.text_x_px + band.text_width_px <= right_px


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_veil_is_seen_and_its_text_is_readable(scene: Scene, theme: Theme, qtbot: QtBot) -> None:
    frame = frame_of(scene, area=Area(30_000, 50_000, (STREAM_7,)), ruler=Ruler(55_000, 65_000, 300.0))
    assert contrast(theme.area, theme.area_ink) >= 4.5
    pictures = []
    for drawn in (frame, replace(frame, area=None, ruler=None)):
        picture = QImage(round(frame.header_px + 1000), 900, QImage.Format.Format_RGB32)
        painter = QPainter(picture)
        RasterPainter(theme, QFont("DejaVu Sans", 9)).paint(scene.draw(drawn), painter)
        painter.end()
        pictures.append(picture)
    y_px = round(row_y_px(scene, frame, STREAM_7))
    inside, beside = (round(frame.header_px + frame.view.x_px(time_ns)) for time_ns in (40_000, 52_000))
    assert pictures[0].pixel(inside, y_px) != pictures[1].pixel(inside, y_px)
    assert pictures[0].pixel(beside, y_px) == pictures[1].pixel(beside, y_px)
    ruled = round(frame.header_px + frame.view.x_px(65_000))
    assert pictures[0].pixelColor(ruled, y_px).name() == QColor(*theme.area).name()


# Gestures.


def test_a_drag_on_the_axis_selects_all_lanes(widget: TimelineWidget, qtbot: QtBot) -> None:
    before = span(widget)
    with qtbot.waitSignal(widget.area_made):
        drag(widget, at_px(widget, 0.75, axis_y(widget)), at_px(widget, 0.25, axis_y(widget)))
    area = widget.session.area
    assert area is not None and area.lanes is None and span(widget) == before
    assert [area.begin_ns, area.end_ns] == pytest.approx([35_000, 65_000], abs=100)


@pytest.mark.parametrize(
    ("end", "to_ns", "expected"),
    [
        ("begin", 45_000, (45_000, 50_000)),
        ("end", 70_000, (40_000, 70_000)),
        ("end", 35_000, (35_000, 40_000)),  # beyond the other end: they change places
    ],
)
def test_the_ends_of_the_area_are_dragged_on_the_axis(
    widget: TimelineWidget, end: str, to_ns: int, expected: tuple[int, int]
) -> None:
    widget.session.select_area(Area(40_000, 50_000, (STREAM_7,)))
    edge = QPoint(x_of(widget, 40_000 if end == "begin" else 50_000), axis_y(widget))
    mouse(widget, QEvent.Type.MouseMove, edge, buttons=NO_BUTTON)
    assert widget.viewport().cursor().shape() == Qt.CursorShape.SizeHorCursor
    drag(widget, edge, QPoint(x_of(widget, to_ns), axis_y(widget)), modifiers=ALT)
    area = widget.session.area
    assert area is not None and area.lanes == (STREAM_7,)
    assert [area.begin_ns, area.end_ns] == pytest.approx(expected, abs=100)


def test_the_ends_of_an_area_snap_to_slices_but_not_with_alt(widget: TimelineWidget) -> None:
    y_px = lane_y(widget, STREAM_7)
    begin, end = QPoint(x_of(widget, 30_000) + 4, y_px), QPoint(x_of(widget, 50_000) - 5, y_px)
    drag(widget, begin, end, modifiers=SHIFT)
    assert widget.session.area == Area(30_000, 50_000, (STREAM_7,))
    drag(widget, begin, end, modifiers=SHIFT | ALT)
    area = widget.session.area
    assert area is not None and 30_000 < area.begin_ns < area.end_ns < 50_000


def test_the_edge_that_is_snapped_to_is_marked_until_the_button_is_up(widget: TimelineWidget) -> None:
    y_px = lane_y(widget, STREAM_7)
    mouse(widget, QEvent.Type.MouseButtonPress, QPoint(x_of(widget, 30_000) + 4, y_px), modifiers=SHIFT)
    to = QPoint(x_of(widget, 50_000) - 5, y_px)
    mouse(widget, QEvent.Type.MouseMove, to, LEFT, modifiers=SHIFT)
    drawn = widget.draw_list()
    assert drawn is not None and drawn.snapped is not None
    assert drawn.snapped.x_px == widget.header_px + widget.view.x_px(50_000)
    assert drawn.snapped.y_px <= y_px <= drawn.snapped.y_px + drawn.snapped.height_px
    mouse(widget, QEvent.Type.MouseButtonRelease, to, modifiers=SHIFT)
    drawn = widget.draw_list()
    assert drawn is not None and drawn.snapped is None


def test_what_is_seen_and_the_selected_slices_time_become_an_area_by_key(widget: TimelineWidget, qtbot: QtBot) -> None:
    ctrl = Qt.KeyboardModifier.ControlModifier
    with qtbot.waitSignal(widget.area_made):
        qtbot.keyClick(widget, Qt.Key.Key_A, ctrl)
    assert widget.session.area == Area(*span(widget))
    profile = widget.session.profile
    assert profile is not None
    gemm = profile.processes[0].table("device")["start_ns"].tolist().index(30_000)
    widget.session.select(SliceRef(0, "device", gemm))
    with qtbot.waitSignal(widget.area_made):
        qtbot.keyClick(widget, Qt.Key.Key_A, ctrl)
    assert widget.session.area == Area(30_000, 50_000)


def test_keys_ask_for_the_totals_and_the_durations(widget: TimelineWidget, qtbot: QtBot) -> None:
    alt = Qt.KeyboardModifier.AltModifier
    with qtbot.waitSignal(widget.area_asked):
        qtbot.keyClick(widget, Qt.Key.Key_A, alt)
    with qtbot.waitSignal(widget.histogram_asked):
        qtbot.keyClick(widget, Qt.Key.Key_D, alt)


def test_r_takes_the_ruler_and_a_drag_measures_exactly(widget: TimelineWidget, qtbot: QtBot) -> None:
    before = span(widget)
    qtbot.keyClick(widget, Qt.Key.Key_R)
    y_px = lane_y(widget, STREAM_7)
    mouse(widget, QEvent.Type.MouseMove, QPoint(x_of(widget, 30_000) + 3, y_px), buttons=NO_BUTTON)
    assert widget.viewport().cursor().shape() == Qt.CursorShape.CrossCursor
    drawn = widget.draw_list()
    assert drawn is not None and drawn.snapped is not None  # where a measurement would begin
    drag(widget, QPoint(x_of(widget, 61_000) + 3, y_px), QPoint(x_of(widget, 50_000) - 3, y_px))
    drawn = widget.draw_list()
    assert drawn is not None and drawn.ruler is not None and drawn.ruler.text == "11 µs · 90.91 kHz"
    assert drawn.ruler.x_px == widget.header_px + widget.view.x_px(50_000)
    assert widget.session.area is None and span(widget) == before
    drag(widget, QPoint(x_of(widget, 61_000) + 3, y_px), QPoint(x_of(widget, 50_000) - 3, y_px), modifiers=ALT)
    free = widget.measuring.ruler
    assert free is not None and free.from_ns > 61_000 and free.to_ns < 50_000


def test_escape_puts_the_ruler_away_before_it_deselects(widget: TimelineWidget, qtbot: QtBot) -> None:
    widget.session.select_area(Area(40_000, 50_000))
    qtbot.keyClick(widget, Qt.Key.Key_R)
    drag(widget, at_px(widget, 0.25), at_px(widget, 0.75))
    assert widget.measuring.ruler is not None
    qtbot.keyClick(widget, Qt.Key.Key_Escape)
    assert not ruler_is_out(widget) and has_area(widget)
    qtbot.keyClick(widget, Qt.Key.Key_Escape)
    assert not has_area(widget)
    before = span(widget)
    drag(widget, at_px(widget, 0.5), at_px(widget, 0.4), modifiers=NONE)
    assert span(widget) != before  # dragging moves again


def test_r_once_more_and_another_profile_put_the_ruler_away(
    widget: TimelineWidget, qtbot: QtBot, tmp_path: Path
) -> None:
    for _ in range(2):
        qtbot.keyClick(widget, Qt.Key.Key_R)
    assert not widget.measuring.is_on
    qtbot.keyClick(widget, Qt.Key.Key_R)
    drag(widget, at_px(widget, 0.25), at_px(widget, 0.75))
    widget.session.open(make_profile(tmp_path / "other", TEXT))
    assert widget.measuring.ruler is None and not widget.measuring.is_on
    qtbot.waitUntil(lambda: widget.is_final)


@pytest.mark.parametrize(
    ("period_ns", "expected"),
    [
        (1, "1.000 GHz"),
        (3, "333.3 MHz"),
        (12_345, "81.00 kHz"),
        (1_000_000_000, "1.000 Hz"),
        (36_000_000_000_000, "27.78 µHz"),
        ((1 << 63) - 1, "0.000 µHz"),
    ],
)
def test_the_inverse_has_four_digits(period_ns: int, expected: str) -> None:
    assert rate_text(period_ns) == expected


def test_no_distance_has_no_inverse() -> None:
    assert ruler_text(0) == "0 ns"
