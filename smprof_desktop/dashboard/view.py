"""The Dashboard page: a card for each panel, filled as its figure is ready."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from smprof_desktop.analysis.quantities import time_text
from smprof_desktop.dashboard.charts import chart
from smprof_desktop.dashboard.figures import Bars, Figure, Histogram, Lines, Missing, Pie, Table
from smprof_desktop.dashboard.panels import PANELS, Panel
from smprof_desktop.dashboard.pie import PieChart
from smprof_desktop.dashboard.scope import Scope
from smprof_desktop.plain_text import tooltip
from smprof_desktop.progress import CancelCheck, Cancelled, Progress
from smprof_desktop.session import Session
from smprof_desktop.tasks import Tasks, sentence_of

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

SIXTHS = 6
WIDE_PX = 900
"""From this width on, panels stand side by side as their table says; below, each takes half a line or all of it."""
NARROW_PX = 620
"""Below, each panel has a line of its own."""

FIGURES = "figures"
"""The kind of the one task that works out all cards: they share a report, and would only wait for each other."""

State = Literal["waiting", "shown", "missing", "failed"]


@dataclass(frozen=True)
class _Failure:
    """Why a panel's figure could not be worked out."""

    sentence: str


class Card(QFrame):
    """One panel: title, help, and its chart or why there is none. `state` says which.

    Signals:
        kernel_opened(str): whoever looks wants to see that kernel.
    """

    kernel_opened = Signal(str)

    def __init__(self, panel: Panel) -> None:
        super().__init__()
        self.panel = panel
        self.state: State = "waiting"
        self.setObjectName("card")
        self._title = _plain(panel.title, "card_title")
        self._question = QToolButton()
        self._question.setText("?")
        self._question.setAutoRaise(True)
        self._question.setCheckable(True)
        self._question.setAccessibleName(f"Help on {panel.title}")
        self._question.setToolTip(tooltip(panel.help))
        self._help = _plain(panel.help, "muted")
        self._help.hide()
        self._question.toggled.connect(self._help.setVisible)
        self._note = _plain("", "muted")
        self._note.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._chart: QWidget | None = None
        self._basis = _plain("", "muted")
        head = QHBoxLayout()
        head.addWidget(self._title, 1)
        head.addWidget(self._question, 0, Qt.AlignmentFlag.AlignTop)
        self._body = QVBoxLayout(self)
        self._body.setContentsMargins(12, 8, 12, 8)
        self._body.setSpacing(4)
        self._body.addLayout(head)
        self._body.addWidget(self._help)
        self._body.addWidget(self._note, 1)
        self._body.addWidget(self._basis)
        self.wait()

    @property
    def text(self) -> str:
        """What is said in place of a chart."""
        return self._note.text()

    @property
    def chart(self) -> QWidget | None:
        """The chart, once there is one."""
        return self._chart

    def wait(self) -> None:
        """Say that the figure is being worked out."""
        self._say("waiting", "Working…")

    def show_figure(self, figure: Figure) -> None:
        """Draw the figure, or say why there is none."""
        if isinstance(figure, Missing):
            self._say("missing", figure.reason)
            return
        self._drop_chart()
        self.state = "shown"
        self._note.hide()
        self._chart = chart(figure, self.panel.title)
        if isinstance(self._chart, PieChart):
            self._chart.kernel_opened.connect(self.kernel_opened)
        self._body.insertWidget(2, self._chart, 1)
        self._basis.setText(_basis_text(figure))
        self._basis.show()

    def fail(self, sentence: str) -> None:
        """Say that the figure could not be worked out."""
        self._say("failed", sentence)

    def _say(self, state: State, text: str) -> None:
        self._drop_chart()
        self.state = state
        self._note.setText(text)
        self._note.setMinimumHeight(180 if state == "waiting" else 70)  # the page should not jump when figures arrive
        self._note.show()
        self._basis.hide()

    def _drop_chart(self) -> None:
        if self._chart is not None:
            self._body.removeWidget(self._chart)
            self._chart.hide()
            self._chart.deleteLater()
            self._chart = None


class DashboardView(QScrollArea):
    """The cards, laid out by width. Figures are worked out beside the window; those of an older profile are dropped.

    Signals:
        kernel_opened(str): whoever looks wants to see that kernel, in `range_ns`.
    """

    kernel_opened = Signal(str)

    def __init__(self, session: Session, tasks: Tasks, panels: Sequence[Panel] = PANELS) -> None:
        super().__init__()
        self._session = session
        self._tasks = tasks
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.cards = [Card(panel) for panel in panels]
        for card in self.cards:
            card.kernel_opened.connect(self.kernel_opened)
        self._nothing = _plain("No profile is loaded.", "muted")
        self._scope = _plain("", "muted")
        self._whole = QPushButton("Whole profile")
        self._whole.setToolTip(tooltip("Work the figures out for the whole profile again"))
        self._whole.clicked.connect(self.show_whole)
        self._range: tuple[int, int] | None = None
        body = QWidget()
        outer = QVBoxLayout(body)
        outer.setContentsMargins(12, 8, 12, 12)
        outer.setSpacing(8)
        outer.addWidget(self._nothing)
        head = QHBoxLayout()
        head.addWidget(self._scope, 1)
        head.addWidget(self._whole)
        outer.addLayout(head)
        self._grid = QGridLayout()
        self._grid.setSpacing(10)
        for column in range(SIXTHS):
            self._grid.setColumnStretch(column, 1)
        outer.addLayout(self._grid)
        outer.addStretch()
        self.setWidget(body)
        self._abreast = 0
        self._lay_out()
        session.profile_changed.connect(self.show_whole)
        self.refresh()

    @property
    def is_final(self) -> bool:
        """Whether no card is waiting any more."""
        return self._session.profile is None or all(card.state != "waiting" for card in self.cards)

    @property
    def range_ns(self) -> tuple[int, int] | None:
        """The range that the figures are for, in ns of the profile's clock; None for the whole profile."""
        return self._range

    def show_range(self, begin_ns: int, end_ns: int) -> None:
        """Work every figure out for [begin_ns, end_ns), in ns of the profile's clock, until another profile is open."""
        self._range = begin_ns, end_ns
        self.refresh()

    def show_whole(self) -> None:
        """Work every figure out for the whole profile."""
        self._range = None
        self.refresh()

    def refresh(self) -> None:
        """Work every figure out again for what is shown of the profile that is open."""
        profile = self._session.profile
        self._nothing.setVisible(profile is None)
        self._scope.setVisible(profile is not None)
        self._whole.setVisible(profile is not None and self._range is not None)
        for card in self.cards:
            card.setVisible(profile is not None)
            card.wait()
        if profile is None:
            self._tasks.cancel_kind(FIGURES)
            return
        self._scope.setText(_scope_text(profile, self._range))
        found: dict[str, Figure | _Failure] = {}
        show = partial(self._show, found)
        self._tasks.start(
            FIGURES,
            partial(_work_out, [card.panel for card in self.cards], profile, self._range, found),
            show,
            self._fail,
            partial(self._fail, "This was cancelled."),
            show,
            reads=profile,
        )

    def _show(self, found: dict[str, Figure | _Failure], *_progress: object) -> None:
        """Fill the cards that wait and whose figures have arrived."""
        for card in self.cards:
            figure = found.get(card.panel.key)
            if figure is None or card.state != "waiting":
                continue
            if isinstance(figure, _Failure):
                card.fail(figure.sentence)
            else:
                card.show_figure(figure)

    def _fail(self, sentence: str) -> None:
        """Say in every card that still waits that nothing will come."""
        for card in self.cards:
            if card.state == "waiting":
                card.fail(sentence)

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


def _work_out(
    panels: Sequence[Panel],
    profile: Profile,
    range_ns: tuple[int, int] | None,
    found: dict[str, Figure | _Failure],
    progress: Progress,
    cancelled: CancelCheck,
) -> None:
    """Put each panel's figure into `found` and tell; one that fails leaves the others alone. On a task's thread."""
    begin_ns, end_ns = range_ns or (None, None)
    scope = Scope(profile, begin_ns, end_ns, cancelled=cancelled)
    for number, panel in enumerate(panels):
        if cancelled():
            raise Cancelled
        try:
            found[panel.key] = panel.figure(scope)
        except Exception as error:
            if cancelled():
                raise Cancelled from None
            found[panel.key] = _Failure(sentence_of(error))
        progress((number + 1) / len(panels), panel.title)


def _scope_text(profile: Profile, range_ns: tuple[int, int] | None) -> str:
    """What the figures are for."""
    if range_ns is None:
        return "For the whole profile."
    begin, end = (time_text(edge_ns - profile.begin_ns) for edge_ns in range_ns)
    return f"For {begin} to {end} of the profile."


def _plain(text: str, name: str) -> QLabel:
    result = QLabel()
    result.setTextFormat(Qt.TextFormat.PlainText)
    result.setText(text)
    result.setObjectName(name)
    result.setWordWrap(True)
    return result


def _basis_text(figure: Pie | Lines | Histogram | Table | Bars) -> str:
    """Under the chart: what the shares are of, and which part is shown."""
    if isinstance(figure, Pie):
        whole = time_text(figure.whole) if figure.unit == "ns" else f"{figure.whole:,}"
        return f"Shares of {whole}: {figure.basis}." + (f" Shown: {figure.note}." if figure.note else "")
    return figure.basis[:1].upper() + figure.basis[1:] + "."
