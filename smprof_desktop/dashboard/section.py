"""One tab of the page: the cards of a section, laid out by width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QVBoxLayout, QWidget

from smprof_desktop.dashboard.card import Card

SIXTHS = 6
WIDE_PX = 900
"""From this width on, panels stand side by side as their table says; below, each takes half a line or all of it."""
NARROW_PX = 620
"""Below, each panel has a line of its own."""

Figures = Literal["none", "asked", "done"]


class Section(QScrollArea):
    """The cards of a section in lines of six sixths. `figures` says whether those in force were asked for."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title
        self.figures: Figures = "none"
        self.cards: list[Card] = []
        self.found: dict[str, Any] = {}
        """What has been worked out of the figures asked for, by the key of the panel."""
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(title)
        body = QWidget()
        outer = QVBoxLayout(body)
        outer.setContentsMargins(12, 4, 12, 12)
        self._grid = QGridLayout()
        self._grid.setSpacing(10)
        for column in range(SIXTHS):
            self._grid.setColumnStretch(column, 1)
        outer.addLayout(self._grid)
        outer.setSpacing(10)
        self._below = QVBoxLayout()
        outer.addLayout(self._below)
        outer.addStretch()
        self.setWidget(body)
        self._abreast = 0

    @property
    def is_final(self) -> bool:
        """Whether no card is waiting any more."""
        return all(card.state != "waiting" for card in self.cards)

    def set_cards(self, cards: Sequence[Card]) -> None:
        """Show these cards; those that are there no more are let go of."""
        for card in self.cards:
            self._grid.removeWidget(card)
            if card not in cards:
                card.hide()
                card.deleteLater()
        self.cards = list(cards)
        self._abreast = 0
        self._lay_out()

    def add_below(self, widget: QWidget) -> None:
        """Put something below the cards."""
        self._below.addWidget(widget)

    def _lay_out(self) -> None:
        """Place the cards from left to right in lines of six sixths; the last of a line takes what is left."""
        width_px = self.viewport().width()
        abreast = 3 if width_px >= WIDE_PX else 2 if width_px >= NARROW_PX else 1
        if abreast == self._abreast:
            return
        self._abreast = abreast
        lines: list[list[tuple[Card, int]]] = [[]]
        for card in self.cards:
            span = _span(card.panel.width, abreast)
            if sum(spans for _, spans in lines[-1]) + span > SIXTHS:
                lines.append([])
            lines[-1].append((card, span))
        for card in self.cards:
            self._grid.removeWidget(card)
        for row, line in enumerate(lines):
            column = 0
            for place, (card, span) in enumerate(line):
                span = SIXTHS - column if place == len(line) - 1 else span
                self._grid.addWidget(card, row, column, 1, span)
                column += span

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()


def _span(width: int, abreast: int) -> int:
    """Sixths of a line for a panel of that width where at most `abreast` of the narrowest stand side by side."""
    if abreast == 2:
        return SIXTHS // 2 if width * 3 <= SIXTHS else SIXTHS
    return width if abreast == 3 else SIXTHS
