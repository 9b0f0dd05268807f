"""What every painter of draw lists shares: all of a frame but its masses of rectangles, painted by a QPainter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF, QStaticText

from smprof_desktop.timeline.colours import Rgb, Theme
from smprof_desktop.timeline.draw_list import Arrow, Box, DrawList, Header, Label, Rects
from smprof_desktop.timeline.labels import Elider

MAX_STATIC_TEXTS = 20_000
INDENT_PX = 12.0
MIN_DETAIL = 6
"""Characters of a lane's detail below which none is shown."""
ARROW_HEAD_PX = 7.0


class PaintFault(Exception):
    """A painter cannot do its work here; the reason, to go on a sentence with."""


class FramePainter(ABC):
    """Paints draw lists in one font and theme; keeps what is slow to make between frames.

    Backgrounds first, then the masses, each within its clip, then all that is written or drawn over them: that order
    lets a painter fill all masses of a frame in one go.
    """

    def __init__(self, theme: Theme, font: QFont) -> None:
        self.theme = theme
        self.font = font
        self.small = QFont(font)
        if font.pointSizeF() > 0:  # a font set in pixels has no point size
            self.small.setPointSizeF(max(font.pointSizeF() - 1.0, 6.0))
        self.bold = QFont(font)
        self.bold.setWeight(QFont.Weight.DemiBold)
        self._metrics = QFontMetricsF(font)
        self._small_metrics = QFontMetricsF(self.small)
        self._bold_metrics = QFontMetricsF(self.bold)
        self._header_elider = Elider(self._metrics.horizontalAdvance)
        self._small_elider = Elider(self._small_metrics.horizontalAdvance)
        self._bold_elider = Elider(self._bold_metrics.horizontalAdvance)
        self._texts: OrderedDict[str, QStaticText] = OrderedDict()

    def paint(self, drawing: DrawList, painter: QPainter) -> None:
        """Paint one frame with its top left corner at the painter's origin."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        ratio = painter.device().devicePixelRatio()
        width, height = drawing.width_px, drawing.height_px
        lanes = device_rect(drawing.header_px, drawing.top_px, width, height, ratio)
        overview = device_rect(0, 0, width, drawing.overview_px, ratio)
        painter.fillRect(QRectF(0, 0, width, height), _colour(self.theme.background))
        painter.fillRect(QRectF(0, 0, width, drawing.overview_px), _colour(self.theme.header))
        painter.save()
        painter.setClipRect(_logical(lanes, ratio))
        self._lane_backgrounds(drawing, painter)
        for box in drawing.outside:
            painter.fillRect(_rect(box), _colour(self.theme.shade, 26))
        painter.restore()
        masses = (drawing.curves, drawing.columns, drawing.slices, drawing.ticks)
        self._fill([*((rects, lanes) for rects in masses), (drawing.overview, overview)], painter)
        painter.save()
        painter.setClipRect(_logical(lanes, ratio))
        self._labels(drawing.labels, painter)
        if drawing.selection is not None:
            self._selection(drawing.selection, painter)
        self._arrows(drawing, painter)
        painter.restore()
        self._headers(drawing, painter)
        self._axis(drawing, painter)
        self._overview(drawing, painter)
        painter.fillRect(QRectF(drawing.header_px - 1, 0, 1, height), _colour(self.theme.border))

    @abstractmethod
    def _fill(self, masses: list[tuple[Rects, QRect]], painter: QPainter) -> None:
        """Fill rectangles as `on_device` has them, later ones on top, within the clip beside them, in device pixels."""

    def _lane_backgrounds(self, drawing: DrawList, painter: QPainter) -> None:
        right = drawing.width_px
        for number, header in enumerate(drawing.headers):
            colour = self.theme.group if header.is_group else self.theme.stripe if number % 2 else self.theme.background
            painter.fillRect(QRectF(0, header.y_px, right, header.height_px), _colour(colour))
        grid = _colour(self.theme.grid)
        for tick in drawing.axis:
            x_px = drawing.header_px + round(tick.x_px)
            painter.fillRect(QRectF(x_px, drawing.top_px, 1, drawing.height_px), grid)
        for header in drawing.headers:
            if header.is_group:
                painter.fillRect(QRectF(0, header.y_px + header.height_px - 1, right, 1), grid)

    def _static(self, text: str, font: QFont) -> QStaticText:
        found = self._texts.get(text)
        if found is None:
            found = QStaticText(text)
            found.setTextFormat(Qt.TextFormat.PlainText)
            found.setPerformanceHint(QStaticText.PerformanceHint.AggressiveCaching)
            found.prepare(font=font)
            self._texts[text] = found
            if len(self._texts) > MAX_STATIC_TEXTS:
                self._texts.popitem(last=False)
        return found

    def _labels(self, labels: tuple[Label, ...], painter: QPainter) -> None:
        painter.setPen(_colour(self.theme.ink))
        painter.setFont(self.small)
        line = self._small_metrics.height()
        for label in labels:
            painter.drawStaticText(
                QPointF(label.x_px, label.y_px + (label.height_px - line) / 2), self._static(label.text, self.small)
            )

    def _selection(self, box: Box, painter: QPainter) -> None:
        pen = QPen(_colour(self.theme.selection), 2)
        pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(_rect(box).adjusted(0, 0, 0, 0))

    def _arrows(self, drawing: DrawList, painter: QPainter) -> None:
        if not drawing.arrows:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        width_px = 1.8 if len(drawing.arrows) == 1 else 1.0
        halo = QPen(_colour(self.theme.background, 190), width_px + 2.0)
        colour = QPen(_colour(self.theme.arrow), width_px)
        paths = [arrow_path(arrow) for arrow in drawing.arrows]
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for pen in (halo, colour):
            painter.setPen(pen)
            for path in paths:
                painter.drawPath(path)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(_colour(self.theme.arrow))
        for arrow in drawing.arrows:
            painter.drawPolygon(arrow_head(arrow))
        first = drawing.arrows[0]
        painter.drawEllipse(QPointF(first.from_x_px, first.from_y_px), 3, 3)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        note = drawing.arrow_note
        if note is not None:
            painter.setFont(self.small)
            width = self._small_metrics.horizontalAdvance(note.text) + 8
            box = QRectF(note.x_px, note.y_px, width, note.height_px + 2)
            painter.fillRect(box, _colour(self.theme.background, 225))
            painter.setPen(_colour(self.theme.arrow))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextSingleLine, note.text)

    def _headers(self, drawing: DrawList, painter: QPainter) -> None:
        painter.save()
        painter.setClipRect(QRectF(0, drawing.top_px, drawing.header_px, drawing.height_px - drawing.top_px))
        painter.fillRect(QRectF(0, drawing.top_px, drawing.header_px, drawing.height_px), _colour(self.theme.header))
        for header in drawing.headers:
            self._header(header, drawing, painter)
        painter.restore()

    def _header(self, header: Header, drawing: DrawList, painter: QPainter) -> None:
        right, line_px = drawing.header_px, drawing.line_px
        box = QRectF(0, header.y_px, right, header.height_px)
        if header.is_focused:
            painter.fillRect(box, _colour(self.theme.focus))
        elif header.is_group:
            painter.fillRect(box, _colour(self.theme.group))
        painter.fillRect(QRectF(0, header.y_px + header.height_px - 1, right, 1), _colour(self.theme.grid))
        text_box_px = min(header.height_px, line_px + 8)
        centre = header.text_y_px + text_box_px / 2
        x_px = 6.0 + header.level * INDENT_PX
        if header.state >= 0:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(_colour(self.theme.muted))
            painter.drawPolygon(_triangle(x_px + 4, centre, bool(header.state)))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        x_px += 13
        share_px = self._small_metrics.horizontalAdvance(header.share) + 14 if header.share else 8.0
        font, elider = (self.bold, self._bold_elider) if header.is_group else (self.font, self._header_elider)
        label = elider.elided(header.label, max(right - x_px - share_px, 0.0))
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        painter.setFont(font)
        painter.setPen(_colour(self.theme.text))
        painter.drawText(QRectF(x_px, header.text_y_px, right, text_box_px), flags | Qt.AlignmentFlag.AlignLeft, label)
        # What the share is of, or which GPU it is: as much of it as the label leaves room for.
        detail_px = x_px + elider.width_px(label) + 8
        detail = self._small_elider.elided(header.detail, right - share_px - detail_px) if header.detail else ""
        if len(detail) >= min(MIN_DETAIL, len(header.detail)) > 0:
            painter.setFont(self.small)
            painter.setPen(_colour(self.theme.muted))
            box = QRectF(detail_px, header.text_y_px, right, text_box_px)
            painter.drawText(box, flags | Qt.AlignmentFlag.AlignLeft, detail)
        if header.share:
            painter.setFont(self.small)
            painter.setPen(_colour(self.theme.muted))
            painter.drawText(
                QRectF(0, header.text_y_px, right - 8, text_box_px), flags | Qt.AlignmentFlag.AlignRight, header.share
            )

    def _axis(self, drawing: DrawList, painter: QPainter) -> None:
        top, bottom, right = drawing.overview_px, drawing.top_px, drawing.width_px
        painter.fillRect(QRectF(0, top, right, bottom - top), _colour(self.theme.header))
        painter.setFont(self.small)
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        painter.save()
        painter.setClipRect(QRectF(drawing.header_px, top, right - drawing.header_px, bottom - top))
        for tick in drawing.axis:
            x_px = drawing.header_px + round(tick.x_px)
            painter.fillRect(QRectF(x_px, bottom - (8 if tick.major else 5), 1, 8), _colour(self.theme.muted))
            painter.setPen(_colour(self.theme.text if tick.major else self.theme.muted))
            if x_px + 4 + self._small_metrics.horizontalAdvance(tick.label) <= right:
                box = QRectF(x_px + 4, top, 200, bottom - top - 2)
                painter.drawText(box, flags | Qt.AlignmentFlag.AlignLeft, tick.label)
        painter.restore()
        painter.setPen(_colour(self.theme.muted))
        text = drawing.axis_base or "time from start"
        painter.drawText(
            QRectF(0, top, drawing.header_px - 8, bottom - top - 2), flags | Qt.AlignmentFlag.AlignRight, text
        )
        painter.fillRect(QRectF(0, bottom - 1, right, 1), _colour(self.theme.border))

    def _overview(self, drawing: DrawList, painter: QPainter) -> None:
        right, bottom = drawing.width_px, drawing.overview_px
        window = drawing.overview_window
        if window is not None:
            veil = _colour(self.theme.background, 150)
            painter.fillRect(QRectF(drawing.header_px, 0, window.x_px - drawing.header_px, bottom), veil)
            end = window.x_px + window.width_px
            painter.fillRect(QRectF(end, 0, right - end, bottom), veil)
            painter.setPen(QPen(_colour(self.theme.muted), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(window.x_px, 0, window.width_px - 1, window.height_px - 1))
        painter.setFont(self.small)
        painter.setPen(_colour(self.theme.muted))
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight | Qt.TextFlag.TextSingleLine
        painter.drawText(QRectF(0, 0, drawing.header_px - 8, bottom), flags, "whole profile")
        painter.fillRect(QRectF(0, bottom - 1, right, 1), _colour(self.theme.border))


def on_device(rects: Rects, ratio: float) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Left, top, right, bottom and colour code of each rectangle, by colour: the order to fill them in.

    Edges lie on whole device pixels, [left, right), at least one apart.
    """
    order = np.argsort(rects.colour, kind="stable")
    edges = np.empty((len(rects), 4), np.int32)
    for column, (begin_px, length_px) in enumerate(((rects.x_px, rects.width_px), (rects.y_px, rects.height_px))):
        begin, end = begin_px[order], (begin_px + length_px)[order]
        edges[:, column] = np.rint(begin * ratio)
        edges[:, column + 2] = np.maximum(np.rint(end * ratio), edges[:, column] + 1)
    return edges, rects.colour[order]


def device_rect(left_px: float, top_px: float, right_px: float, bottom_px: float, ratio: float) -> QRect:
    """The rectangle between these edges on whole device pixels."""
    left, top, right, bottom = (round(edge_px * ratio) for edge_px in (left_px, top_px, right_px, bottom_px))
    return QRect(left, top, right - left, bottom - top)


def arrow_path(arrow: Arrow) -> QPainterPath:
    """A curve that leaves and arrives level, from one start edge to the other."""
    path = QPainterPath(QPointF(arrow.from_x_px, arrow.from_y_px))
    reach = min(max(abs(arrow.to_x_px - arrow.from_x_px) / 2, 24.0), 400.0)
    path.cubicTo(
        QPointF(arrow.from_x_px + reach, arrow.from_y_px),
        QPointF(arrow.to_x_px - reach, arrow.to_y_px),
        QPointF(arrow.to_x_px - ARROW_HEAD_PX / 2, arrow.to_y_px),
    )
    return path


def arrow_head(arrow: Arrow) -> QPolygonF:
    """The head, its point on the execution's start edge."""
    x_px, y_px, size = arrow.to_x_px, arrow.to_y_px, ARROW_HEAD_PX
    return QPolygonF(
        [QPointF(x_px, y_px), QPointF(x_px - size, y_px - size * 0.55), QPointF(x_px - size, y_px + size * 0.55)]
    )


def _triangle(x_px: float, y_px: float, is_open: bool) -> QPolygonF:
    if is_open:
        return QPolygonF([QPointF(x_px - 4, y_px - 2), QPointF(x_px + 4, y_px - 2), QPointF(x_px, y_px + 3)])
    return QPolygonF([QPointF(x_px - 2, y_px - 4), QPointF(x_px + 3, y_px), QPointF(x_px - 2, y_px + 4)])


def _colour(rgb: Rgb, alpha: int = 255) -> QColor:
    return QColor(*rgb, alpha)


def _rect(box: Box) -> QRectF:
    return QRectF(*box)


def _logical(device: QRect, ratio: float) -> QRectF:
    return QRectF(device.x() / ratio, device.y() / ratio, device.width() / ratio, device.height() / ratio)
