"""What OpenGL paints the timeline on: a widget with a context of its own, to be the timeline's viewport."""

from __future__ import annotations

from PySide6.QtGui import QFont
from PySide6.QtOpenGLWidgets import QOpenGLWidget
from PySide6.QtWidgets import QWidget

from smprof_desktop.timeline.colours import Theme
from smprof_desktop.timeline.paint_gl import GlPainter, RectBatch, surface_format


class GlCanvas(QOpenGLWidget):
    """Keeps what its context holds while painters come and go with theme and font."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFormat(surface_format())
        self._batch = RectBatch()

    def make_painter(self, theme: Theme, font: QFont) -> GlPainter:
        """A painter for this widget alone."""
        return GlPainter(theme, font, self._batch)
