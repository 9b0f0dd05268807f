"""Headers and lanes lie level in the picture, whatever font and scale, pinned lanes included; cases 35 to 38."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtGui import QFont, QFontMetricsF, QImage, QPainter
from pytestqt.qtbot import QtBot

from smprof.profile.reader import Profile
from smprof_desktop.timeline.arrangement import AS_RECORDED, Arrangement
from smprof_desktop.timeline.colours import DARK, LIGHT, Rgb, Theme
from smprof_desktop.timeline.draw_list import DrawList
from smprof_desktop.timeline.layout import Frame, Metrics
from smprof_desktop.timeline.paint_raster import RasterPainter
from smprof_desktop.timeline.scene import Opened, Scene
from smprof_desktop.timeline.viewport import Viewport
from tests.make_profile import make_profile

HEADER_PX, LANES_PX = 240.0, 500.0
TEXT = """
process 0 pid=1 window=0:1000
thread 1 main
device 0 H100 used
annotation 1 0+1000 step_0
python 1 0+900 train.py
op 1 10+400 aten::mm
api 1 100+50 cudaLaunchKernel corr=5
kernel 0/7 300+378 A corr=5
kernel 0/7 500+200 B
kernel 0/8 700+0 marker
sync 0/7 600+100 "Stream Sync"
"""
GPU = "host:algo-1/gpus/process:0/gpu:0"
PINNED = AS_RECORDED.with_pinned(f"{GPU}/stream:7", True).with_pinned("host:algo-1/gpus/process:0/threads", True)


def painted(
    profile: Profile, theme: Theme, points: float, ratio: float, arrangement: Arrangement, scroll_px: float = 0.0
) -> tuple[DrawList, NDArray[np.uint8]]:
    """The draw list of everything open, and its picture as rows of device pixels."""
    font = QFont("DejaVu Sans")
    font.setPointSizeF(points)
    painter = RasterPainter(theme, font)
    metrics = Metrics(float(round(QFontMetricsF(font).height())))
    opened = Opened.read(profile)
    scene = Scene(opened, QFontMetricsF(painter.small).horizontalAdvance, metrics)
    keys = frozenset(lane.key for lane in opened.tree.walk())
    frame = Frame(Viewport(0, 1000, LANES_PX), keys, 600.0, HEADER_PX, arrangement=arrangement, scroll_px=scroll_px)
    drawing = scene.draw(frame)
    image = QImage(round((HEADER_PX + LANES_PX) * ratio), round(600 * ratio), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    paint = QPainter(image)
    painter.paint(drawing, paint)
    paint.end()
    pixels = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine() // 4, 4)
    return drawing, pixels[:, :, 2::-1].copy()


def rows_of(pixels: NDArray[np.uint8], x: int, colour: Rgb) -> set[int]:
    return set(np.flatnonzero((pixels[:, x] == colour).all(axis=1)).tolist())


@pytest.mark.parametrize("ratio", [1.0, 1.25, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("points", [6.0, 9.0, 13.5, 24.0])
@pytest.mark.parametrize(("arrangement", "scroll_px"), [(AS_RECORDED, 0.0), (PINNED, 0.0), (PINNED, 33.0)])
def test_headers_are_level_with_their_lanes(
    qtbot: QtBot, tmp_path: Path, points: float, ratio: float, arrangement: Arrangement, scroll_px: float
) -> None:
    profile = make_profile(tmp_path, TEXT)
    theme = LIGHT
    drawing, pixels = painted(profile, theme, points, ratio, arrangement, scroll_px)
    # Groups are of one colour on both sides: a column in the header's margin against one of lanes without slices.
    left, right = 1, round((HEADER_PX + LANES_PX - 2) * ratio)
    top = round(drawing.top_px * ratio) + 1
    groups = {row for row in rows_of(pixels, left, theme.group) if row > top}
    assert groups == {row for row in rows_of(pixels, right, theme.group) if row > top} and groups
    # Every pixel of a slice lies between the edges of its header, on whole device pixels.
    edges = [
        (round(header.y_px * ratio), round((header.y_px + header.height_px) * ratio)) for header in drawing.headers
    ]
    for x_px, y_px, height_px, code in zip(
        drawing.slices.x_px, drawing.slices.y_px, drawing.slices.height_px, drawing.slices.colour, strict=True
    ):
        x = round(x_px * ratio) + 1
        first, behind = round(y_px * ratio), round((y_px + height_px) * ratio)
        seen = [
            row for row in rows_of(pixels, x, theme.fills[int(code)]) if first <= row < behind and behind < len(pixels)
        ]
        if behind < len(pixels):
            assert seen and min(seen) == first and max(seen) == behind - 1
        assert any(low <= first and behind <= high for low, high in edges)


def test_overlapping_slices_and_instants_are_all_in_the_picture(qtbot: QtBot, tmp_path: Path) -> None:
    """Cases 35 and 37: a kernel that starts before its predecessor ends, and one of no length, are painted whole."""
    profile = make_profile(tmp_path, TEXT)
    for theme in (LIGHT, DARK):
        drawing, pixels = painted(profile, theme, 9.0, 2.0, AS_RECORDED)
        stream = next(header for header in drawing.headers if header.label == "stream 7")
        at = (drawing.slices.y_px >= stream.y_px) & (drawing.slices.y_px < stream.y_px + stream.height_px)
        assert at.sum() == 2 and len(set(drawing.slices.y_px[at].tolist())) == 2
        for index in np.flatnonzero(at):
            fill = theme.fills[int(drawing.slices.colour[index])]
            row = round((drawing.slices.y_px[index] + 2) * 2)
            begin = round(drawing.slices.x_px[index] * 2)
            width = round(drawing.slices.width_px[index] * 2)
            assert (pixels[row, begin : begin + width] == fill).all()
        (tick,) = drawing.ticks.x_px.tolist()
        y = round((drawing.ticks.y_px[0] + 4) * 2)
        assert (pixels[y, round(tick * 2)] == theme.fills[int(drawing.ticks.colour[0])]).all()
        assert len(drawing.slices) == 7


def test_long_parents_are_painted_above_their_children(qtbot: QtBot, tmp_path: Path) -> None:
    """Case 38, whatever the order in which they were recorded."""
    lines = [f"op 1 {100 * n}+90 child_{n}" for n in range(9)]
    lines += [f"python 1 {100 * n + 10}+20 grandchild_{n}" for n in range(9)]
    profile = make_profile(tmp_path, "\n".join([*lines, "op 1 0+1000 parent"]))
    drawing, _ = painted(profile, LIGHT, 9.0, 1.0, AS_RECORDED)
    by_row: dict[float, list[float]] = {}
    for y_px, width_px in zip(drawing.slices.y_px.tolist(), drawing.slices.width_px.tolist(), strict=True):
        by_row.setdefault(y_px, []).append(width_px)
    rows = [sorted(by_row[y_px]) for y_px in sorted(by_row)]
    assert [len(row) for row in rows] == [1, 9, 9]
    assert rows[0][0] > rows[1][-1] > rows[2][-1]


def test_the_picture_of_pinned_lanes_does_not_change_while_the_rest_scrolls(qtbot: QtBot, tmp_path: Path) -> None:
    profile = make_profile(tmp_path, TEXT)
    pictures = []
    for scroll_px in (0.0, 9.0, 33.0, 47.5):
        drawing, pixels = painted(profile, LIGHT, 9.0, 1.5, PINNED, scroll_px)
        assert drawing.pinned_px > 0
        # The line below the pinned lanes is painted over their last pixel.
        pictures.append(pixels[: round((drawing.scrolled_px - 1) * 1.5)])
    assert all((picture == pictures[0]).all() for picture in pictures)


def test_the_line_of_a_drop_is_painted_where_it_is(qtbot: QtBot, tmp_path: Path) -> None:
    profile = make_profile(tmp_path, TEXT)
    drawing, plain = painted(profile, LIGHT, 9.0, 1.0, AS_RECORDED)
    font = QFont("DejaVu Sans")
    font.setPointSizeF(9.0)
    image = QImage(plain.shape[1], plain.shape[0], QImage.Format.Format_RGB32)
    paint = QPainter(image)
    RasterPainter(LIGHT, font).paint(replace(drawing, drop_px=drawing.headers[3].y_px), paint)
    paint.end()
    pixels = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1, 4)[:, :, 2::-1]
    changed = np.flatnonzero((pixels != plain).any(axis=(1, 2)))
    y = round(drawing.headers[3].y_px)
    assert changed.tolist() == [y - 1, y]
    assert (pixels[y, 5] == LIGHT.arrow).all() and (pixels[y, -5] == plain[y, -5]).all()
