"""What every painter of draw lists shares: all of a frame but its masses of rectangles, painted by a QPainter."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import OrderedDict
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF, QStaticText

from smprof_desktop.timeline.colours import Rgb, Theme
from smprof_desktop.timeline.draw_list import Arrow, Box, DrawList, Header, Label, MarkFlag, Rects
from smprof_desktop.timeline.labels import Elider

MAX_STATIC_TEXTS = 20_000
INDENT_PX = 12.0
MIN_DETAIL = 6
"""Characters of a lane's detail below which none is shown."""
ARROW_HEAD_PX = 7.0
DASH_PX = 5.0
LINKS_ALPHA = 110
MAX_SMOOTH_LINKS = 150
"""More curves are not smoothed: 500 would take 26 ms instead of 9."""
TEXT_NUDGE = 0.02
"""Of a device pixel: at 150 % a whole one less a rounding error would be drawn a pixel higher by one engine only."""
OVERVIEW = "whole profile"


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
        self._ratio = 1.0

    def paint(self, drawing: DrawList, painter: QPainter) -> None:
        """Paint one frame with its top left corner at the painter's origin."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        self._ratio = ratio = painter.device().devicePixelRatio()
        width, height = drawing.width_px, drawing.height_px
        lanes = device_rect(drawing.header_px, drawing.top_px, width, height, ratio)
        overview = device_rect(0, 0, width, drawing.overview_px, ratio)
        self._box(painter, QRectF(0, 0, width, height), _colour(self.theme.background))
        self._box(painter, QRectF(0, 0, width, drawing.overview_px), _colour(self.theme.header))
        painter.save()
        painter.setClipRect(_logical(lanes, ratio))
        self._lane_backgrounds(drawing, painter)
        for box in drawing.outside:
            self._box(painter, _rect(box), _colour(self.theme.shade, 26))
        painter.restore()
        masses = (drawing.curves, drawing.columns, drawing.slices, drawing.ticks)
        self._fill([*((rects, lanes) for rects in masses), (drawing.overview, overview)], painter)
        painter.save()
        painter.setClipRect(_logical(lanes, ratio))
        self._all_labels(drawing, lanes, painter)
        self._area(drawing, painter)
        if drawing.selection is not None:
            self._selection(drawing.selection, painter)
        self._arrows(drawing, painter)
        self._mark_lines(drawing, painter)
        self._ruler(drawing, painter)
        painter.restore()
        self._headers(drawing, painter)
        self._edge_of_pinned(drawing, painter)
        self._axis(drawing, painter)
        if drawing.axis_bottom_px < drawing.top_px:
            self._strips(drawing, painter)
        self._over_axis(drawing, painter)
        self._overview(drawing, painter)
        self._box(painter, QRectF(drawing.header_px - 1, 0, 1, height), _colour(self.theme.border))

    @abstractmethod
    def _fill(self, masses: list[tuple[Rects, QRect]], painter: QPainter) -> None:
        """Fill rectangles as `on_device` has them, later ones on top, within the clip beside them, in device pixels."""

    def _box(self, painter: QPainter, box: QRectF, colour: QColor) -> None:
        """Fill on whole device pixels: what lies on half of one, two paint engines round differently."""
        whole = device_rect(box.left(), box.top(), box.right(), box.bottom(), self._ratio)
        painter.fillRect(_logical(whole, self._ratio), colour)

    def _outline(self, painter: QPainter, box: QRectF, width_px: float, colour: QColor) -> None:
        """Four sides of that width, inside the box."""
        left, top, right, bottom = box.left(), box.top(), box.right(), box.bottom()
        for side in (
            QRectF(left, top, right - left, width_px),
            QRectF(left, bottom - width_px, right - left, width_px),
            QRectF(left, top, width_px, bottom - top),
            QRectF(right - width_px, top, width_px, bottom - top),
        ):
            self._box(painter, side, colour)

    def _start_of_text(self, x_px: float, top_px: float, height_px: float, metrics: QFontMetricsF) -> QPointF:
        """Where a line of text in the middle of that height begins, its baseline, on whole device pixels as well."""
        ratio = self._ratio
        baseline_px = top_px + (height_px - metrics.height()) / 2 + metrics.ascent()
        x, y = math.floor(x_px * ratio + 0.5), math.floor(baseline_px * ratio + 0.5)
        return QPointF((x + TEXT_NUDGE) / ratio, (y + TEXT_NUDGE) / ratio)

    def _lane_backgrounds(self, drawing: DrawList, painter: QPainter) -> None:
        right = drawing.width_px
        for number, header in enumerate(drawing.headers):
            if header.is_group or number % 2:  # what has the background's colour needs no second pass over its pixels
                colour = _colour(self.theme.group if header.is_group else self.theme.stripe)
                top_px = _seen_top_px(header, drawing)
                height_px = header.y_px + header.height_px - top_px
                self._box(painter, QRectF(drawing.header_px, top_px, right, height_px), colour)
        grid = _colour(self.theme.grid)
        for tick in drawing.axis:
            x_px = drawing.header_px + round(tick.x_px)
            self._box(painter, QRectF(x_px, drawing.top_px, 1, drawing.height_px), grid)
        for header in drawing.headers:
            if header.is_group:
                self._box(painter, QRectF(0, header.y_px + header.height_px - 1, right, 1), grid)

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

    def _all_labels(self, drawing: DrawList, lanes: QRect, painter: QPainter) -> None:
        """The labels within the lanes, those of scrolled ones below the pinned ones."""
        edge_px = drawing.scrolled_px
        if not drawing.pinned_px:
            self._labels(drawing.labels, painter)
            return
        scrolled = tuple(label for label in drawing.labels if label.y_px + label.height_px > edge_px)
        self._labels(tuple(label for label in drawing.labels if label.y_px + label.height_px <= edge_px), painter)
        below = device_rect(drawing.header_px, edge_px, drawing.width_px, drawing.height_px, self._ratio)
        painter.setClipRect(_logical(below, self._ratio))
        self._labels(scrolled, painter)
        painter.setClipRect(_logical(lanes, self._ratio))

    def _edge_of_pinned(self, drawing: DrawList, painter: QPainter) -> None:
        """The line below the pinned lanes, with a shade that says that the others lie lower."""
        if drawing.pinned_px:
            edge_px, right = drawing.scrolled_px, drawing.width_px
            self._box(painter, QRectF(0, edge_px, right, 4), _colour(self.theme.shade, 40))
            self._box(painter, QRectF(0, edge_px - 1, right, 2), _colour(self.theme.border))
        if drawing.drop_px is not None:
            colour = _colour(self.theme.arrow)
            self._box(painter, QRectF(0, drawing.drop_px - 1, drawing.header_px - 1, 2), colour)

    def _labels(self, labels: tuple[Label, ...], painter: QPainter) -> None:
        painter.setFont(self.small)
        ascent = QPointF(0, self._small_metrics.ascent())
        is_dimmed = None
        for label in labels:
            if label.is_dimmed is not is_dimmed:
                is_dimmed = label.is_dimmed
                painter.setPen(_colour(self.theme.muted if is_dimmed else self.theme.ink))
            start = self._start_of_text(label.x_px, label.y_px, label.height_px, self._small_metrics)
            painter.drawStaticText(start - ascent, self._static(label.text, self.small))

    def _selection(self, box: Box, painter: QPainter) -> None:
        self._outline(painter, _rect(box).adjusted(-1, -1, 1, 1), 2, _colour(self.theme.selection))

    def _arrows(self, drawing: DrawList, painter: QPainter) -> None:
        if drawing.links:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, len(drawing.links) <= MAX_SMOOTH_LINKS)
            self._curves(drawing.links, 1.0, painter, alpha=LINKS_ALPHA)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        if drawing.arrows:
            first, width_px = drawing.arrows[0], 1.8 if len(drawing.arrows) == 1 else 1.2
            self._curves(drawing.arrows, width_px + 2.4, painter, alpha=210, is_halo=True)
            self._curves(drawing.arrows, width_px, painter)
            painter.setBrush(_colour(self.theme.warning if first.is_backward else self.theme.arrow))
            painter.drawEllipse(QPointF(first.from_x_px, first.from_y_px), 3, 3)
        if drawing.broken is not None:
            self._broken(drawing.broken, painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if drawing.arrow_note is not None:
            self._caption(drawing.arrow_note, self.theme.arrow, painter)
        for note in drawing.link_notes:
            label = Label(note.x_px, note.y_px, note.height_px - 2, note.text)
            self._caption(label, self.theme.arrow, painter, note.width_px)
        if drawing.links_note:
            width_px, height_px = self._small_metrics.horizontalAdvance(drawing.links_note) + 8, drawing.line_px
            x_px, y_px = drawing.width_px - width_px - 6, drawing.height_px - height_px - 6
            self._caption(Label(x_px, y_px, height_px, drawing.links_note), self.theme.arrow, painter)

    def _curves(
        self, arrows: tuple[Arrow, ...], width_px: float, painter: QPainter, alpha: int = 255, is_halo: bool = False
    ) -> None:
        """Arrows in one width: those that run backwards dashed, in the colour of warnings."""
        for is_backward in (False, True):
            mine = [arrow for arrow in arrows if arrow.is_backward == is_backward]
            theme = self.theme.warning if is_backward else self.theme.arrow
            colour = _colour(self.theme.background if is_halo else theme, alpha)
            pen = QPen(colour, width_px)
            if is_backward and not is_halo:
                pen.setDashPattern([DASH_PX / width_px, DASH_PX / width_px])
            painter.setPen(pen)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            for arrow in mine:
                painter.drawPath(arrow_path(arrow))
            if is_halo:
                continue
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour)
            for arrow in mine:
                painter.drawPolygon(arrow_head(arrow))

    def _broken(self, mark: Label, painter: QPainter) -> None:
        """Two ends of a line that do not meet, and what is missing."""
        x_px, y_px = mark.x_px, mark.y_px
        for colour, width_px in ((_colour(self.theme.background, 210), 4.2), (_colour(self.theme.warning), 1.8)):
            painter.setPen(QPen(colour, width_px))
            for from_px, to_px in ((-14.0, -9.0), (-5.0, 0.0)):
                painter.drawLine(QPointF(x_px + from_px, y_px), QPointF(x_px + to_px, y_px))
            for at_px in (-9.0, -5.0):
                painter.drawLine(QPointF(x_px + at_px - 1.5, y_px + 4), QPointF(x_px + at_px + 1.5, y_px - 4))
        top_px = y_px - mark.height_px * 1.5 - 4
        self._caption(Label(x_px - 14, top_px, mark.height_px, mark.text), self.theme.warning, painter)

    def _caption(self, note: Label, colour: Rgb, painter: QPainter, width_px: float | None = None) -> None:
        """A text on a ground that lets it be read over anything."""
        wide_px, height_px = width_px or self._small_metrics.horizontalAdvance(note.text) + 8, note.height_px + 2
        self._box(painter, QRectF(note.x_px, note.y_px, wide_px, height_px), _colour(self.theme.background, 225))
        painter.setFont(self.small)
        painter.setPen(_colour(colour))
        start = self._start_of_text(note.x_px + 4, note.y_px, height_px, self._small_metrics)
        painter.drawText(start, note.text)

    def _headers(self, drawing: DrawList, painter: QPainter) -> None:
        painter.save()
        clip = device_rect(0, drawing.top_px, drawing.header_px, drawing.height_px, self._ratio)
        painter.setClipRect(_logical(clip, self._ratio))
        self._box(painter, QRectF(0, drawing.top_px, drawing.header_px, drawing.height_px), _colour(self.theme.header))
        for header in drawing.headers:
            if _is_scrolled(header, drawing):
                continue
            self._header(header, drawing, painter)
        clip = device_rect(0, drawing.scrolled_px, drawing.header_px, drawing.height_px, self._ratio)
        painter.setClipRect(_logical(clip, self._ratio))
        for header in drawing.headers:
            if _is_scrolled(header, drawing):
                self._header(header, drawing, painter)
        painter.restore()

    def _header(self, header: Header, drawing: DrawList, painter: QPainter) -> None:
        right, line_px = drawing.header_px, drawing.line_px
        box = QRectF(0, header.y_px, right, header.height_px)
        if header.is_focused:
            self._box(painter, box, _colour(self.theme.focus))
        elif header.is_group:
            self._box(painter, box, _colour(self.theme.group))
        self._box(painter, QRectF(0, header.y_px + header.height_px - 1, right, 1), _colour(self.theme.grid))
        text_box_px = min(header.height_px, line_px + 8)
        centre = header.text_y_px + text_box_px / 2
        x_px = 6.0 + header.level * INDENT_PX
        if header.is_note:
            self._note(header, x_px + 13, right - 8, text_box_px, painter)
            return
        if header.state >= 0:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(_colour(self.theme.muted))
            painter.drawPolygon(_triangle(x_px + 4, centre, bool(header.state)))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        x_px += 13
        share_px = self._small_elider.width_px(header.share) + 14 if header.share else 8.0
        share_px += drawing.pin_px - 2
        font, elider, metrics = (
            (self.bold, self._bold_elider, self._bold_metrics)
            if header.is_group
            else (self.font, self._header_elider, self._metrics)
        )
        label = elider.elided(header.label, max(right - x_px - share_px, 0.0))
        painter.setFont(font)
        painter.setPen(_colour(self.theme.text))
        painter.drawText(self._start_of_text(x_px, header.text_y_px, text_box_px, metrics), label)
        painter.setFont(self.small)
        painter.setPen(_colour(self.theme.muted))
        small = self._small_metrics
        # What the share is of, or which GPU it is: as much of it as the label leaves room for.
        detail_px = x_px + elider.width_px(label) + 8
        detail = self._small_elider.elided(header.detail, right - share_px - detail_px) if header.detail else ""
        if len(detail) >= min(MIN_DETAIL, len(header.detail)) > 0:
            painter.drawText(self._start_of_text(detail_px, header.text_y_px, text_box_px, small), detail)
        if header.share:
            share_at_px = right + 6 - share_px
            painter.drawText(self._start_of_text(share_at_px, header.text_y_px, text_box_px, small), header.share)

        if header.is_pinned or header.is_hovered or header.is_focused:
            self._pin(right - 2 - drawing.pin_px / 2, centre, header.is_pinned, painter)

    def _note(self, header: Header, x_px: float, right_px: float, text_box_px: float, painter: QPainter) -> None:
        painter.setFont(self.small)
        painter.setPen(_colour(self.theme.arrow))
        text = self._small_elider.elided(header.label, right_px - x_px)
        painter.drawText(self._start_of_text(x_px, header.text_y_px, text_box_px, self._small_metrics), text)

    def _pin(self, centre_x_px: float, centre_y_px: float, is_in: bool, painter: QPainter) -> None:
        """A pin, filled where the lane is pinned."""
        colour = _colour(self.theme.text if is_in else self.theme.muted)
        x_px, y_px = math.floor(centre_x_px), math.floor(centre_y_px)
        head = QRectF(x_px - 2, y_px - 5, 5, 6)
        if is_in:
            self._box(painter, head, colour)
        else:
            self._outline(painter, head, 1, colour)
        self._box(painter, QRectF(x_px - 4, y_px + 1, 9, 1), colour)
        self._box(painter, QRectF(x_px, y_px + 2, 1, 4), colour)

    def _axis(self, drawing: DrawList, painter: QPainter) -> None:
        top, bottom, right = drawing.overview_px, drawing.axis_bottom_px, drawing.width_px
        self._box(painter, QRectF(0, top, right, bottom - top), _colour(self.theme.header))
        painter.setFont(self.small)
        small, height = self._small_metrics, bottom - top - 2
        painter.save()
        painter.setClipRect(_logical(device_rect(drawing.header_px, top, right, bottom, self._ratio), self._ratio))
        for tick in drawing.axis:
            x_px = drawing.header_px + round(tick.x_px)
            self._box(painter, QRectF(x_px, bottom - (8 if tick.major else 5), 1, 8), _colour(self.theme.muted))
            painter.setPen(_colour(self.theme.text if tick.major else self.theme.muted))
            if x_px + 4 + small.horizontalAdvance(tick.label) <= right:
                painter.drawText(self._start_of_text(x_px + 4, top, height, small), tick.label)
        painter.restore()
        painter.setPen(_colour(self.theme.muted))
        text = drawing.axis_base or "time from start"
        text_px = drawing.header_px - 8 - small.horizontalAdvance(text)
        painter.drawText(self._start_of_text(text_px, top, height, small), text)
        self._box(painter, QRectF(0, bottom - 1, right, 1), _colour(self.theme.border))

    def _overview(self, drawing: DrawList, painter: QPainter) -> None:
        right, bottom = drawing.width_px, drawing.overview_px
        window = drawing.overview_window
        if window is not None:
            veil = _colour(self.theme.background, 150)
            self._box(painter, QRectF(drawing.header_px, 0, window.x_px - drawing.header_px, bottom), veil)
            end = window.x_px + window.width_px
            self._box(painter, QRectF(end, 0, right - end, bottom), veil)
            outer = QRectF(window.x_px, 0, window.width_px, window.height_px)
            self._outline(painter, outer, 1, _colour(self.theme.muted))
        painter.setFont(self.small)
        painter.setPen(_colour(self.theme.muted))
        text_px = drawing.header_px - 8 - self._small_metrics.horizontalAdvance(OVERVIEW)
        painter.drawText(self._start_of_text(text_px, 0, bottom, self._small_metrics), OVERVIEW)
        self._box(painter, QRectF(0, bottom - 1, right, 1), _colour(self.theme.border))

    def _mark_lines(self, drawing: DrawList, painter: QPainter) -> None:
        """Marks through the lanes: a line, or two with a veil between them."""
        height_px = drawing.height_px - drawing.top_px
        for mark in drawing.marks:
            line = _colour(self.theme.mark, 255 if mark.is_selected else 150)
            if mark.is_range:
                width_px = mark.end_x_px - mark.x_px
                veil = _colour(self.theme.mark, 34 if mark.is_selected else 20)
                self._box(painter, QRectF(mark.x_px, drawing.top_px, width_px, height_px), veil)
                self._box(painter, QRectF(mark.end_x_px - 1, drawing.top_px, 1, height_px), line)
            self._box(painter, QRectF(mark.x_px, drawing.top_px, 1, height_px), line)

    def _area(self, drawing: DrawList, painter: QPainter) -> None:
        """The veil over the area's lanes, between two lines."""
        if drawing.area is None:
            return
        veil, line = _colour(self.theme.area, 38), _colour(self.theme.area)
        for box in drawing.area.boxes:
            self._box(painter, _rect(box), veil)
            for x_px in (box.x_px, box.x_px + box.width_px - 1):
                self._box(painter, QRectF(x_px, box.y_px, 1, box.height_px), line)

    def _ruler(self, drawing: DrawList, painter: QPainter) -> None:
        """Two upright lines, a level one between them, and the length; the edge that the pointer snaps to."""
        colour, ruler = _colour(self.theme.area), drawing.ruler
        if ruler is not None:
            height_px = drawing.height_px - drawing.top_px
            self._box(painter, QRectF(ruler.x_px, drawing.top_px, 1, height_px), colour)
            self._box(painter, QRectF(ruler.end_px, drawing.top_px, 1, height_px), colour)
            self._box(painter, QRectF(ruler.x_px, ruler.y_px - 1, ruler.end_px - ruler.x_px, 2), colour)
            field_px = drawing.line_px + 4
            box = QRectF(ruler.text_x_px, ruler.y_px - field_px / 2, ruler.text_width_px, field_px)
            self._field(box, ruler.text, painter)
        edge = drawing.snapped
        if edge is not None and edge.y_px >= drawing.top_px:
            self._edge(edge, painter)

    def _over_axis(self, drawing: DrawList, painter: QPainter) -> None:
        """The area on the axis, with its length."""
        band, top_px, bottom_px = drawing.area, drawing.overview_px, drawing.axis_bottom_px
        painter.save()
        clip = device_rect(drawing.header_px, top_px, drawing.width_px, drawing.top_px, self._ratio)
        painter.setClipRect(_logical(clip, self._ratio))
        if band is not None:
            height_px = bottom_px - top_px - 1
            colour = _colour(self.theme.area)
            veiled = QRectF(band.x_px, top_px, band.end_px - band.x_px, height_px)
            self._box(painter, veiled, _colour(self.theme.area, 60))
            for x_px in (band.x_px, band.end_px - 2):
                self._box(painter, QRectF(x_px, top_px, 2, height_px), colour)
            self._field(QRectF(band.text_x_px, top_px + 2, band.text_width_px, height_px - 4), band.text, painter)
        edge = drawing.snapped
        if edge is not None and edge.y_px < drawing.top_px:
            self._edge(edge, painter)
        painter.restore()

    def _edge(self, edge: Box, painter: QPainter) -> None:
        """A line over an edge, with a foot at either end."""
        colour, x_px = _colour(self.theme.selection), edge.x_px
        self._box(painter, QRectF(x_px - 1, edge.y_px, 2, edge.height_px), colour)
        for y_px in (edge.y_px - 2, edge.y_px + edge.height_px):
            self._box(painter, QRectF(x_px - 4, y_px, 8, 2), colour)

    def _field(self, box: QRectF, text: str, painter: QPainter) -> None:
        """A line of text on a field of the area's colour."""
        self._box(painter, box, _colour(self.theme.area))
        painter.setFont(self.small)
        painter.setPen(_colour(self.theme.area_ink))
        x_px = box.left() + (box.width() - self._small_metrics.horizontalAdvance(text)) / 2
        painter.drawText(self._start_of_text(x_px, box.top(), box.height(), self._small_metrics), text)

    def _strips(self, drawing: DrawList, painter: QPainter) -> None:
        """The strips of marks and of steps, with what each is of in the header column."""
        top_px, bottom_px, right = drawing.axis_bottom_px, drawing.top_px, drawing.width_px
        self._box(painter, QRectF(0, top_px, right, bottom_px - top_px), _colour(self.theme.header))
        painter.setFont(self.small)
        clip = device_rect(drawing.header_px, top_px, right, bottom_px, self._ratio)
        painter.save()
        painter.setClipRect(_logical(clip, self._ratio))
        for bar in drawing.steps:
            y_px, height_px = bottom_px - drawing.steps_px, drawing.steps_px - 2
            width_px = bar.width_px - 1 if bar.width_px > 2 else bar.width_px
            self._box(painter, QRectF(bar.x_px, y_px, width_px, height_px), _colour(self.theme.steps[bar.shade]))
            if bar.text:
                painter.setPen(_colour(self.theme.text))
                painter.drawText(self._start_of_text(bar.text_x_px, y_px, height_px, self._small_metrics), bar.text)
        for mark in drawing.marks:
            self._flag(mark, drawing, painter)
        painter.restore()
        painter.setPen(_colour(self.theme.muted))
        strips = ((drawing.marks_px, top_px, "marks"), (drawing.steps_px, bottom_px - drawing.steps_px, "steps"))
        for height_px, y_px, text in strips:
            if height_px:
                x_px = drawing.header_px - 8 - self._small_metrics.horizontalAdvance(text)
                painter.drawText(self._start_of_text(x_px, y_px, height_px, self._small_metrics), text)
        self._box(painter, QRectF(0, bottom_px - 1, right, 1), _colour(self.theme.border))

    def _flag(self, mark: MarkFlag, drawing: DrawList, painter: QPainter) -> None:
        y_px, height_px = drawing.axis_bottom_px, drawing.marks_px
        colour = _colour(self.theme.mark)
        if mark.is_range:
            width_px = mark.end_x_px - mark.x_px
            self._box(painter, QRectF(mark.x_px, y_px, width_px, height_px), _colour(self.theme.mark, 70))
            self._box(painter, QRectF(mark.end_x_px - 1, y_px, 1, height_px), colour)
        self._box(painter, QRectF(mark.x_px, y_px, 1, height_px + drawing.steps_px), colour)
        flag = QRectF(mark.flag_x_px, y_px, mark.width_px, height_px - 2)
        self._box(painter, flag, colour)
        if mark.is_selected:
            self._outline(painter, flag, 2, _colour(self.theme.text))
        if mark.text:
            painter.setPen(_colour(self.theme.mark_ink))
            start = self._start_of_text(mark.flag_x_px + 4, y_px, height_px - 2, self._small_metrics)
            painter.drawText(start, mark.text)


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
    left, top = math.floor(left_px * ratio + 0.5), math.floor(top_px * ratio + 0.5)
    right, bottom = math.floor(right_px * ratio + 0.5), math.floor(bottom_px * ratio + 0.5)
    return QRect(left, top, right - left, bottom - top)


def _is_scrolled(header: Header, drawing: DrawList) -> bool:
    """Whether a header is of those below the pinned ones."""
    return header.y_px + header.height_px > drawing.scrolled_px


def _seen_top_px(header: Header, drawing: DrawList) -> float:
    """Where the lane begins, or what shows of it below the pinned ones."""
    return max(header.y_px, drawing.scrolled_px) if _is_scrolled(header, drawing) else header.y_px


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


@lru_cache(256)
def _colour(rgb: Rgb, alpha: int = 255) -> QColor:
    return QColor(*rgb, alpha)


def _rect(box: Box) -> QRectF:
    return QRectF(*box)


def _logical(device: QRect, ratio: float) -> QRectF:
    return QRectF(device.x() / ratio, device.y() / ratio, device.width() / ratio, device.height() / ratio)
