"""The icons, drawn from `resources/icons` in the colour of the text around them."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from smprof_desktop import resources

SIZE_PX = 20


def icon(name: str, colour: QColor, selected: QColor | None = None, scale: float = 2.0) -> QIcon:
    """`resources/icons/NAME.svg` in `colour`; in `selected` on a selected item. `scale`: pixels per point, at least."""
    result = QIcon(_pixmap(name, colour, scale))
    if selected is not None:
        result.addPixmap(_pixmap(name, selected, scale), QIcon.Mode.Selected)
    return result


def _pixmap(name: str, colour: QColor, scale: float) -> QPixmap:
    text = resources.path(f"icons/{name}.svg").read_text("utf-8").replace("currentColor", colour.name())
    side_px = round(SIZE_PX * scale)
    pixmap = QPixmap(side_px, side_px)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(text.encode())).render(painter, QRectF(0, 0, side_px, side_px))
    painter.end()
    pixmap.setDevicePixelRatio(scale)
    return pixmap
