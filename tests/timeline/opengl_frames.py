"""Run as a script on a display with OpenGL: paint frames of the sample profile by both painters into pictures.

    python -m tests.timeline.opengl_frames FOLDER

Each frame becomes NAME.raster.png and NAME.opengl.png; `test_opengl.py` compares them. NAME ends in `bare` where
nothing but rectangles is right of the header column. Milliseconds of a frame by each painter are written to times.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetricsF, QImage, QPainter
from PySide6.QtWidgets import QApplication

from smprof.profile.reader import Profile
from smprof_desktop import resources
from smprof_desktop.analysis import slices
from smprof_desktop.slice_ref import Area
from smprof_desktop.timeline import links, step_list
from smprof_desktop.timeline.arrangement import AS_RECORDED
from smprof_desktop.timeline.colours import THEMES
from smprof_desktop.timeline.draw_list import DrawList
from smprof_desktop.timeline.gl_canvas import GlCanvas
from smprof_desktop.timeline.layout import Frame, Metrics, Ruler
from smprof_desktop.timeline.marks import Mark
from smprof_desktop.timeline.paint_frame import FramePainter
from smprof_desktop.timeline.paint_raster import RasterPainter
from smprof_desktop.timeline.scene import Opened, Scene
from smprof_desktop.timeline.snapping import Snapped
from smprof_desktop.timeline.viewport import Viewport

WIDTH_PX, HEIGHT_PX, HEADER_PX = 1000, 600, 290.0
FONT, FONT_PT = "DejaVu Sans", 9


class Canvas(GlCanvas):
    """Paints one draw list."""

    def __init__(self) -> None:
        super().__init__()
        self.drawing: DrawList | None = None
        self.frame_painter: FramePainter | None = None

    def paintGL(self) -> None:
        if self.drawing is not None and self.frame_painter is not None:
            painter = QPainter(self)
            self.frame_painter.paint(self.drawing, painter)
            painter.end()


def draw_lists(profile: Profile, font: QFont) -> Iterator[tuple[str, DrawList]]:
    """Views from the whole profile down to single slices, with and without what is drawn over them."""
    small = RasterPainter(THEMES["light"], font).small
    opened = Opened.read(profile)
    metrics = Metrics(float(round(QFontMetricsF(font).height())))
    scene = Scene(opened, QFontMetricsF(small).horizontalAdvance, metrics, waits=True)
    limits = scene.limits
    whole = Viewport(limits.begin_ns, limits.end_ns, WIDTH_PX - HEADER_PX)
    expanded = opened.tree.default_expanded()
    frame = Frame(whole, expanded, float(HEIGHT_PX), HEADER_PX, 0.0, None, "")
    yield "whole", scene.draw(frame)
    yield "collapsed", scene.draw(replace(frame, expanded=frozenset()))
    for share in (0.1, 0.004):
        yield f"zoomed_{share}", scene.draw(replace(frame, view=whole.zoomed(share, 300.0, limits), scroll_px=37.0))
    ref = slices.find(profile, "LaunchKernel")
    assert ref is not None
    begin_ns, end_ns = slices.times_of(profile, ref)
    scene.selected = links.look_up(profile, ref)
    view = whole.fitted(begin_ns, end_ns, limits, 4.0)
    focus = next(lane.key for lane in opened.tree.walk() if lane.key in expanded)
    yield "selected", scene.draw(replace(frame, view=view, selection=ref, focus=focus))
    outside = whole.zoomed(1.2, 100.0, limits).panned(-80.0, limits)
    yield "narrow", scene.draw(replace(frame, view=outside.resized(WIDTH_PX - 123.0), header_px=123.0))
    scene.strips.steps = step_list.read(profile, None, lambda: False)
    span_ns = limits.end_ns - limits.begin_ns
    scene.strips.marks = tuple(
        Mark(limits.begin_ns + round(span_ns * begin), limits.begin_ns + round(span_ns * end), "a <mark>")
        for begin, end in ((0.2, 0.2), (0.3, 0.45), (0.7, 0.7))
    )
    scene.strips.selected = scene.strips.marks[1]
    yield "marked", scene.draw(frame)
    area = Area(limits.begin_ns + span_ns // 4, limits.begin_ns + span_ns // 2, tuple(expanded))
    ruler = Ruler(limits.begin_ns + span_ns // 3, limits.begin_ns + span_ns * 3 // 5, 300.0)
    edge = Snapped(ruler.to_ns, HEADER_PX + whole.x_px(ruler.to_ns), 290.0, 17.0)
    yield "measured", scene.draw(replace(frame, area=area, ruler=ruler, snapped=edge))
    pinned = [lane.key for lane in opened.tree.walk() if lane.kind in ("stream", "utilization")][:2]
    arrangement = AS_RECORDED.with_pinned(pinned[0], True).with_pinned(pinned[1], True)
    yield "pinned", scene.draw(replace(frame, arrangement=arrangement, scroll_px=41.0))


def bare(drawing: DrawList) -> DrawList:
    """The draw list without what Qt's engines smooth or blend: texts, arrows, marks and the area over the lanes."""
    axis = tuple(replace(tick, label="") for tick in drawing.axis)
    steps = tuple(bar._replace(text="") for bar in drawing.steps)
    no_links = replace(drawing, arrows=(), arrow_note=None, link_notes=(), broken=None, links=())
    return replace(no_links, labels=(), axis=axis, marks=(), steps=steps, area=None, ruler=None, snapped=None)


def raster_picture(drawing: DrawList, painter_of: RasterPainter, ratio: float) -> QImage:
    """The draw list by the raster painter."""
    image = QImage(round(WIDTH_PX * ratio), round(HEIGHT_PX * ratio), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    painter = QPainter(image)
    painter_of.paint(drawing, painter)
    painter.end()
    return image


def milliseconds(paint: Callable[[], object]) -> float:
    """The shortest of some runs."""
    taken_s = []
    for _ in range(8):
        begin_s = time.perf_counter()
        paint()
        taken_s.append(time.perf_counter() - begin_s)
    return min(taken_s) * 1e3


def paint_by_opengl(canvas: Canvas) -> None:
    """One frame to its last pixel, left on the graphics card."""
    canvas.makeCurrent()
    canvas.paintGL()
    canvas.context().functions().glFinish()


def main(folder: Path) -> None:
    """Paint everything."""
    application = QApplication(["test"])
    font = QFont(FONT, FONT_PT)
    canvas = Canvas()
    canvas.setWindowFlag(Qt.WindowType.FramelessWindowHint)
    canvas.setFixedSize(WIDTH_PX, HEIGHT_PX)
    canvas.show()
    application.processEvents()
    ratio = canvas.devicePixelRatioF()
    profile = Profile.open(resources.path(resources.SAMPLE_PROFILE))
    times_ms: dict[str, dict[str, float]] = {}
    for name, drawing in draw_lists(profile, font):
        for theme in THEMES.values():
            raster = RasterPainter(theme, font)
            canvas.frame_painter = canvas.make_painter(theme, font)
            for kind, shown in (("full", drawing), ("bare", bare(drawing))):
                canvas.drawing = shown
                by_raster, by_opengl = raster_picture(shown, raster, ratio), canvas.grabFramebuffer()
                for painter_name, picture in (("raster", by_raster), ("opengl", by_opengl)):
                    file = folder / f"{name}-{theme.name}-{kind}.{painter_name}.png"
                    assert picture.save(str(file), quality=100)  # the quickest to write
        canvas.drawing = drawing
        times_ms[name] = {
            "raster": milliseconds(partial(raster_picture, drawing, raster, ratio)),
            "opengl": milliseconds(partial(paint_by_opengl, canvas)),
        }
    (folder / "times.json").write_text(json.dumps(times_ms, indent=1))
    profile.close()
    canvas.close()
    application.processEvents()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
