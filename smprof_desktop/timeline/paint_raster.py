"""Draw list → QPainter, on any paint device. Rectangles are filled on whole device pixels, grouped by colour."""

from __future__ import annotations

from itertools import pairwise
from typing import cast

import numpy as np
import shiboken6
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QPainter

from smprof_desktop.timeline.colours import Theme
from smprof_desktop.timeline.draw_list import Rects
from smprof_desktop.timeline.paint_frame import FramePainter, on_device


class RasterPainter(FramePainter):
    """Fills the masses by Qt's raster engine: what there is everywhere."""

    def __init__(self, theme: Theme, font: QFont) -> None:
        super().__init__(theme, font)
        self._brushes = [QColor(*fill) for fill in theme.fills]

    def _fill(self, masses: list[tuple[Rects, QRect]], painter: QPainter) -> None:
        ratio = painter.device().devicePixelRatio()
        painter.save()
        painter.scale(1 / ratio, 1 / ratio)
        painter.setPen(Qt.PenStyle.NoPen)
        for rects, clip in masses:
            if len(rects):
                painter.setClipRect(clip)
                self._fill_rects(rects, ratio, painter)
        painter.restore()

    def _fill_rects(self, rects: Rects, ratio: float, painter: QPainter) -> None:
        """Whole device pixels: exact edges at every scale, and the raster engine's fast path."""
        corners, colours = on_device(rects, ratio)
        corners[:, 2:] -= 1  # a QRect in memory is its inclusive corners: x1, y1, x2, y2
        bounds = np.concatenate(([0], np.flatnonzero(colours[1:] != colours[:-1]) + 1, [len(colours)])).tolist()
        for begin, end in pairwise(bounds):
            painter.setBrush(self._brushes[colours[begin]])
            first = cast(QRect, shiboken6.Shiboken.wrapInstance(corners[begin:].ctypes.data, QRect))
            painter.drawRects(first, end - begin)
