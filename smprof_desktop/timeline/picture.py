"""The timeline as a picture to keep: PNG, or SVG in which text stays text."""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QIODevice, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QImage, QPainter
from PySide6.QtSvg import QSvgGenerator

from smprof.profile.manifest import ProfileError
from smprof_desktop.timeline.colours import Theme
from smprof_desktop.timeline.draw_list import DrawList
from smprof_desktop.timeline.paint_raster import RasterPainter

SVG_DPI = 96


def png(drawing: DrawList, theme: Theme, font: QFont, scale: float) -> bytes:
    """A frame as PNG of `scale` pixels per pixel. Raises ProfileError where it is too large."""
    size = QSize(max(round(drawing.width_px * scale), 1), max(round(drawing.height_px * scale), 1))
    image = QImage(size, QImage.Format.Format_RGB32)
    if image.isNull():
        raise ProfileError("The picture could not be made; make the window smaller.")
    image.setDevicePixelRatio(scale)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    RasterPainter(theme, font).paint(drawing, painter)
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, "PNG"):  # type: ignore[call-overload]
        raise ProfileError("The picture could not be made; make the window smaller.")
    return bytes(buffer.data().data())


def svg(drawing: DrawList, theme: Theme, font: QFont) -> bytes:
    """A frame as SVG: a rectangle for each slice and column, and every text as text."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setResolution(SVG_DPI)
    generator.setSize(QSize(round(drawing.width_px), round(drawing.height_px)))
    generator.setViewBox(QRectF(0, 0, drawing.width_px, drawing.height_px))
    painter = QPainter(generator)
    RasterPainter(theme, font).paint(drawing, painter)
    painter.end()
    return bytes(buffer.data().data())
