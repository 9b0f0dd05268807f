"""A pie beside its legend."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import (
    QEvent,
    QPointF,
    QRectF,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
)
from PySide6.QtWidgets import (
    QHBoxLayout,
    QToolTip,
    QWidget,
)

from smprof_desktop.analysis.names import FORMS, in_form
from smprof_desktop.analysis.quantities import exact_time_text, share_text
from smprof_desktop.dashboard.chart import LEADS, Chart
from smprof_desktop.dashboard.figures import Pie
from smprof_desktop.dashboard.legend import Legend, brief_time_text, colour
from smprof_desktop.plain_text import tooltip

_LEADS_TO_LONGEST = "Click or Enter: its longest execution in the timeline"
_SHORT_LEGEND, _SMALL_RING_PX, _LARGE_RING_PX = 6, 125, 200
"""Rows up to which a legend leaves the ring small: what is left of the width belongs to the names."""


class Ring(QWidget):
    """A pie with a hole: sectors in proportion, the one pointed at stands out.

    Signals:
        pointed(int): the pointer is on that sector; -1 when on none.
        clicked(int): that sector was clicked.
    """

    pointed = Signal(int)
    clicked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._values: Sequence[int] = ()
        self._colours: list[QColor] = []
        self._tips: list[str] = []
        self._centre = ""
        self._chosen = -1
        self.setMouseTracking(True)
        self.setMinimumSize(100, 100)

    def show_values(self, values: Sequence[int], colours: list[QColor], tips: list[str], centre: str) -> None:
        """Draw these; `centre` is written in the hole."""
        self._values, self._colours, self._tips, self._centre, self._chosen = values, colours, tips, centre, -1
        self.update()

    def choose(self, index: int) -> None:
        """Let that sector stand out; -1 for none."""
        if index != self._chosen:
            self._chosen = index
            self.update()

    def sector_at(self, point: QPointF) -> int:
        """The sector at a place of this widget; -1 where there is none."""
        area = self._area()
        offset = point - area.center()
        radius_px = math.hypot(offset.x(), offset.y())
        whole = sum(self._values)
        if not whole or not self._hole_share() * area.width() / 2 <= radius_px <= area.width() / 2:
            return -1
        turn = (math.atan2(offset.x(), -offset.y()) / math.tau) % 1.0
        return int(np.searchsorted(np.cumsum(np.asarray(self._values, float)) / whole, turn, "right"))

    def _area(self) -> QRectF:
        side_px = min(self.width(), self.height()) - 8
        return QRectF((self.width() - side_px) / 2, (self.height() - side_px) / 2, side_px, side_px)

    @staticmethod
    def _hole_share() -> float:
        return 0.58

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = self._area()
        whole = sum(self._values)
        background = self.palette().color(QPalette.ColorRole.Base)
        if whole:
            before = 0
            for index, value in enumerate(self._values):
                begin = before * 5760 / whole
                before += value
                span = before * 5760 / whole - begin
                is_faint = self._chosen not in (-1, index)
                fill = QColor(self._colours[index])
                fill.setAlphaF(0.35 if is_faint else 1.0)
                # A thin line between sectors, none around a sector thinner than it.
                painter.setPen(
                    QPen(background, 1) if span > 60 and len(self._values) > 1 and span < 5759 else Qt.PenStyle.NoPen
                )
                painter.setBrush(fill)
                painter.drawPie(area, round(1440 - begin - span), max(round(span), 1 if value else 0))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(background)
        hole_px = area.width() * self._hole_share()
        hole = QRectF(0, 0, hole_px, hole_px)
        hole.moveCenter(area.center())
        painter.drawEllipse(hole)
        painter.setPen(self.palette().color(QPalette.ColorRole.Text))
        painter.drawText(hole, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self._centre)
        painter.end()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        index = self.sector_at(event.position())
        self.choose(index)
        self.pointed.emit(index)
        QToolTip.showText(event.globalPosition().toPoint(), tooltip(self._tips[index]) if index >= 0 else "", self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        index = self.sector_at(event.position())
        if index >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.clicked.emit(index)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.choose(-1)
        self.pointed.emit(-1)


class PieChart(Chart):
    """A ring beside its legend.

    Signals:
        kernel_opened(str): the row of that kernel was opened; only where the shares are kernels without doors.
    """

    kernel_opened = Signal(str)

    def __init__(self, pie: Pie) -> None:
        super().__init__()
        self.ring, self.legend = Ring(), Legend()
        self._pie = pie
        self._colours = [
            colour(index if share.colour is None else share.colour, share.name)
            for index, share in enumerate(pie.shares)
        ]
        self.use_names(FORMS[0])
        self.legend.pointed.connect(self.ring.choose)
        self.legend.opened.connect(self._open)
        self.ring.clicked.connect(self._open)
        if pie.of_kernels or any(share.door for share in pie.shares):
            self.ring.setCursor(Qt.CursorShape.PointingHandCursor)
        self.ring.pointed.connect(
            lambda index: self.legend.selectRow(index) if index >= 0 else self.legend.clearSelection()
        )
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        is_long = len(pie.shares) > _SHORT_LEGEND
        self.ring.setMaximumWidth(_LARGE_RING_PX if is_long else _SMALL_RING_PX)
        self.ring.setMinimumWidth(160 if is_long else 100)
        layout.addWidget(self.ring, 2)
        layout.addWidget(self.legend, 5, Qt.AlignmentFlag.AlignVCenter)
        self.legend.setMinimumHeight(min(self.legend.wanted_height_px(), 330))
        self.legend.setMaximumHeight(self.legend.wanted_height_px())

    def use_names(self, form: str) -> None:
        pie = self._pie
        rows, tips = [], []
        for share in pie.shares:
            amount = brief_time_text(share.value) if pie.unit == "ns" else f"{share.value:,}"
            percent = share_text(share.value, pie.whole)
            rows.append([in_form(share.name, form) if pie.of_kernels else share.name, amount, percent])
            exact = exact_time_text(share.value) if pie.unit == "ns" else f"{share.value:,} launches"
            ran = f", {share.count:,} times" if share.count is not None else ""
            leads = f"\n{LEADS if share.door else _LEADS_TO_LONGEST}" if share.door or pie.of_kernels else ""
            tips.append(f"{share.name}\n{exact}{ran}\n{percent} of {pie.basis}{leads}")
        self.legend.rows.fill(rows, tips, self._colours)
        self.ring.show_values([share.value for share in pie.shares], self._colours, tips, _centre_text(pie))

    def _open(self, index: int) -> None:
        share = self._pie.shares[index]
        if share.door is None and self._pie.of_kernels:
            self.kernel_opened.emit(share.name)
        self.open_door(share.door)


def _centre_text(pie: Pie) -> str:
    shown = sum(share.value for share in pie.shares)
    if [share.name for share in pie.shares] == ["Active", "Idle"]:
        return f"{share_text(pie.shares[0].value, pie.whole)}\nactive"
    amount = brief_time_text(shown) if pie.unit == "ns" else f"{shown:,}"
    return amount if shown == pie.whole else f"{amount}\n{share_text(shown, pie.whole)} of all"
