"""The Dashboard page: sections of cards as tabs, each filled as its figures are ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QStackedWidget, QTabBar, QVBoxLayout, QWidget

from smprof_desktop.analysis.doors import Door
from smprof_desktop.analysis.names import FORMS, in_form
from smprof_desktop.dashboard.annotation_histogram import panel_of
from smprof_desktop.dashboard.card import Card
from smprof_desktop.dashboard.figures import Figure, kernel_names
from smprof_desktop.dashboard.new_histogram import NewHistogram
from smprof_desktop.dashboard.panels import PANELS, SECTIONS, Panel
from smprof_desktop.dashboard.scope import Scope, narrowed
from smprof_desktop.dashboard.scope_bar import Asked, ScopeBar, Span
from smprof_desktop.dashboard.section import Section
from smprof_desktop.plain_label import label
from smprof_desktop.progress import CancelCheck, Cancelled, Progress
from smprof_desktop.session import Area, Session
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks, sentence_of

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

FIGURES, NAMES = "figures", "names of kernels on the dashboard"
"""Tasks of this kind, and the section, work out the cards of a section: they share a report. Of NAMES: how kernels are
called in the form chosen."""
OVERVIEW = SECTIONS[0]
MAX_SCOPES = 4
"""Scopes whose reports are kept, so that going back to one is quick."""
REST_MS = 250
"""A range that has not changed for so long is worked out."""


@dataclass(frozen=True)
class _Failure:
    """Why a panel's figure could not be worked out."""

    sentence: str


@dataclass(frozen=True, eq=False)
class Opened:
    """A door that was opened: of which panel, and for which part of the profile it is to be gone through."""

    panel: str
    door: Door
    scope: Scope
    processes: tuple[int, ...] | None
    """The positions in the whole profile of those of the scope's; None for all."""


class DashboardView(QWidget):
    """The sections under what they answer for. Figures are worked out beside the window, a section's when it is first
    shown; a newer scope cancels what is worked out for an older.

    Signals:
        opened(Opened): whoever looks wants to see the slices behind a number.
        moment_opened(object, object): … a range of time [begin, end), in ns of the profile's clock.
        kernel_opened(str): … that kernel, in `range_ns`.
    """

    opened = Signal(object)
    moment_opened = Signal(object, object)
    kernel_opened = Signal(str)

    def __init__(
        self, session: Session, tasks: Tasks, panels: Sequence[Panel] = PANELS, settings: Settings | None = None
    ) -> None:
        """`settings` choose in which form names of kernels are shown: as recorded without."""
        super().__init__()
        self._settings = settings
        self._form: str = FORMS[0] if settings is None else settings.get("names")
        """The form that the cards show."""
        self._session = session
        self._tasks = tasks
        self._scopes: dict[Asked, Scope] = {}
        self._scope: Scope | None = None
        self._asked = Asked()
        self._offered: Mapping[str, Any] | None = None
        self.bar = ScopeBar(session)
        self.bar.changed.connect(self.refresh)
        self._nothing = label("No profile is loaded.", "muted")
        self._nothing.setContentsMargins(12, 8, 12, 8)
        self.tabs = QTabBar()
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setAccessibleName("Sections of the dashboard")
        self._stack = QStackedWidget()
        self.sections: list[Section] = []
        for title in SECTIONS:
            mine = [panel for panel in panels if panel.section == title]
            if mine:
                self._add_section(title, mine)
        self.new_histogram = NewHistogram()
        self.new_histogram.asked.connect(self._add_histogram)
        if self.sections:
            self.sections[0].add_below(self.new_histogram)
        self.tabs.currentChanged.connect(self._on_tab)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST_MS)
        self._rest.timeout.connect(self.refresh)
        self._head = QWidget()
        head = QVBoxLayout(self._head)
        head.setContentsMargins(12, 6, 12, 0)
        head.setSpacing(6)
        head.addWidget(self.bar)
        head.addWidget(self.tabs)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._nothing)
        layout.addWidget(self._head)
        layout.addWidget(self._stack, 1)
        session.profile_changed.connect(self._on_profile)
        session.range_changed.connect(lambda *_: self._follow("view"))
        session.area_changed.connect(self._on_area)
        if settings is not None:
            settings.changed.connect(lambda key: self._renew_names() if key == "names" else None)
        if self.sections:
            self.setFocusProxy(self.tabs)
        self._on_profile(session.profile)

    @property
    def section(self) -> Section:
        """The section in front."""
        return self.sections[self.tabs.currentIndex()]

    @property
    def cards(self) -> list[Card]:
        """The cards of the section in front."""
        return self.section.cards

    @property
    def is_final(self) -> bool:
        """Whether no card of the section in front is waiting any more."""
        is_named = self._settings is None or self._form == self._settings.get("names")
        return self._session.profile is None or (self.section.is_final and not self._rest.isActive() and is_named)

    @property
    def range_ns(self) -> tuple[int, int] | None:
        """The range that the figures are for, in ns of the profile's clock; None for the whole profile."""
        return self._asked.range_ns

    def show_range(self, begin_ns: int, end_ns: int) -> None:
        """Work every figure out for [begin_ns, end_ns), in ns of the profile's clock, until another profile is open."""
        self.bar.show_range(begin_ns, end_ns)

    def show_whole(self) -> None:
        """Work every figure out for the whole profile."""
        self.bar.show_whole()

    def show_section(self, title: str) -> bool:
        """Bring a section to the front; whether there is one of that title."""
        titles = [section.title for section in self.sections]
        if title in titles:
            self.tabs.setCurrentIndex(titles.index(title))
        return title in titles

    def refresh(self) -> None:
        """Work every figure out again for what the controls say, those of the section in front first."""
        self._rest.stop()
        profile = self._session.profile
        for section in self.sections:
            self._tasks.cancel_kind(_kind(section))
            section.figures = "none"
            section.found = {}
            for card in section.cards:
                card.wait()
        if profile is None:
            return
        self._asked = self.bar.asked
        self._scope = self._scope_of(profile, self._asked)
        self._ask(self.section)

    def _add_section(self, title: str, panels: Sequence[Panel]) -> None:
        section = Section(title)
        section.set_cards([self._card(panel) for panel in panels])
        self.sections.append(section)
        self._stack.addWidget(section)
        self.tabs.addTab(title)

    def _card(self, panel: Panel, can_remove: bool = False) -> Card:
        card = Card(panel, self._options(panel.key), can_remove)
        card.use_names(self._form)
        card.opened.connect(partial(self._open, panel))
        card.moment_opened.connect(self._open_moment)
        card.kernel_opened.connect(self.kernel_opened)
        card.option_changed.connect(partial(self._on_option, card))
        return card

    def _options(self, key: str) -> Mapping[str, int]:
        options: Mapping[str, int] = self._session.notes.get("panel_options").get(key, {})
        return options

    def _scope_of(self, profile: Profile, asked: Asked) -> Scope:
        """The scope of what is asked, one that was used lately where there is one: its report is built already."""
        scope = self._scopes.pop(asked, None)
        if scope is None:
            begin_ns, end_ns = asked.range_ns or (None, None)
            part = profile if asked.processes is None else narrowed(profile, asked.processes)
            scope = Scope(part, begin_ns, end_ns, asked.step)
        self._scopes[asked] = scope
        while len(self._scopes) > MAX_SCOPES:
            del self._scopes[next(iter(self._scopes))]
        return scope

    def _ask(self, section: Section, only: Card | None = None) -> None:
        """Have the figures of a section worked out, or of one card of it, unless nobody sees them."""
        if self._scope is None or self._session.profile is None or not self.isVisible():
            return
        if only is None:
            section.figures = "asked"
        cards = section.cards if only is None else [only]
        found = section.found
        show = partial(self._show, section, found)
        fail = partial(self._fail, section, found)
        asked = [(card.panel, self._options(card.panel.key)) for card in cards if card.panel.key not in found]
        self._tasks.start(
            _kind(section) if only is None else f"{FIGURES} of {only.panel.key}",
            partial(_work_out, asked, self._scope, found, self._form),
            show,
            fail,
            partial(fail, "This was cancelled."),
            show,
            reads=self._session.profile,
        )

    def _show(self, section: Section, found: dict[str, Figure | _Failure], *_progress: object) -> None:
        """Fill the cards that wait and whose figures have arrived."""
        if found is not section.found:
            return  # for another scope
        for card in section.cards:
            figure = found.get(card.panel.key)
            if figure is None or card.state != "waiting":
                continue
            if isinstance(figure, _Failure):
                card.fail(figure.sentence)
            else:
                card.show_figure(figure)
        report = self._scope.ready if self._scope is not None else None
        if (report is not None and self._asked.step is None) or (report is not None and not self.bar.step.count()):
            self._offer(report)

    def _offer(self, report: Mapping[str, Any]) -> None:
        """Offer the annotations of a report where one can be picked."""
        if self._offered is not report:
            self._offered = report
            self.bar.offer_steps(report["annotations"])
            self.new_histogram.offer(report["annotations"])

    def _fail(self, section: Section, found: dict[str, Figure | _Failure], sentence: str) -> None:
        """Say in every card that still waits that nothing will come."""
        if found is section.found:
            for card in section.cards:
                if card.state == "waiting":
                    card.fail(sentence)

    def _renew_names(self) -> None:
        """Show names of kernels in the form that the settings choose, once it is known of all: it may take long."""
        if self._settings is not None:
            form: str = self._settings.get("names")
            shown = [figure for section in self.sections for figure in section.found.values()]
            done = partial(self._use_names, form)
            self._tasks.start(NAMES, partial(_work_out_names, shown, form), done, lambda _sentence: done())

    def _use_names(self, form: str, _result: object = None) -> None:
        self._form = form
        for section in self.sections:
            for card in section.cards:
                card.use_names(form)

    def _open(self, panel: Panel, door: Door) -> None:
        if self._scope is not None:
            self.opened.emit(Opened(panel.title, door, self._scope, self._asked.processes))

    def _open_moment(self, begin_ns: int, end_ns: int) -> None:
        if self._scope is not None:
            start_ns = self._scope.profile.begin_ns
            self.moment_opened.emit(start_ns + begin_ns, start_ns + end_ns)

    def _on_option(self, card: Card, key: str, value: int) -> None:
        """Keep a number of a panel and work its figure out again, no other."""
        options = {panel: dict(numbers) for panel, numbers in self._session.notes.fresh("panel_options").items()}
        options.setdefault(card.panel.key, {})[key] = value
        self._session.notes.set("panel_options", options)
        section = next(section for section in self.sections if card in section.cards)
        section.found.pop(card.panel.key, None)
        card.wait()
        self._ask(section, card)

    def _add_histogram(self, name: str) -> None:
        names = self._session.notes.fresh("histograms")
        if self._session.profile is not None and name not in names:
            self._session.notes.set("histograms", [*names, name])

    def _remove_histogram(self, name: str) -> None:
        names = self._session.notes.fresh("histograms")
        self._session.notes.set("histograms", [other for other in names if other != name])

    def _show_histograms(self) -> None:
        """Have a card at the end of the first section for each histogram that the notes tell of."""
        if not self.sections:
            return
        section = self.sections[0]
        cards = {card.panel.key: card for card in section.cards}
        wanted = []
        for name in self._session.notes.get("histograms"):
            panel = panel_of(name)
            card = cards.get(panel.key)
            if card is None:
                card = self._card(panel, can_remove=True)
                card.removed.connect(partial(self._remove_histogram, name))
            wanted.append(card)
        fixed = [card for card in section.cards if not card.panel.key.startswith("histogram ")]
        if [*fixed, *wanted] != section.cards:
            section.set_cards([*fixed, *wanted])
            if section.figures == "asked":
                for card in wanted:
                    if card.panel.key not in section.found:
                        self._ask(section, card)

    def _on_profile(self, profile: Profile | None) -> None:
        self._scopes.clear()
        self._scope = None
        self._asked = Asked()
        self._offered = None
        self._session.notes.changed.connect(self._on_notes)
        self._nothing.setVisible(profile is None)
        self._head.setVisible(profile is not None)
        self._stack.setVisible(profile is not None)
        self.bar.renew()
        self.new_histogram.offer(())
        for section in self.sections:
            for card in section.cards:
                for key, box in card.options.items():
                    default = next(option.default for option in card.panel.options if option.key == key)
                    blocked = box.blockSignals(True)
                    box.setValue(self._options(card.panel.key).get(key, default))
                    box.blockSignals(blocked)
        self._show_histograms()
        self.refresh()

    def _on_notes(self, key: str) -> None:
        self.bar.on_notes(key)
        if key == "step" and self.bar.asked != self._asked:
            self.refresh()
        elif key == "histograms":
            self._show_histograms()

    def _on_tab(self, index: int) -> None:
        self._stack.setCurrentIndex(index)
        if self.section.figures == "none":
            self._ask(self.section)

    def _on_area(self, _area: Area | None) -> None:
        self._follow("area")

    def _follow(self, span: Span) -> None:
        """Another range is visible or selected: worked out once it is at rest, if the figures follow it."""
        if self._session.profile is not None and self.bar.follow(span) and self.bar.asked != self._asked:
            self._rest.start()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._session.profile is not None and self.section.figures == "none":
            self._ask(self.section)


def _kind(section: Section) -> str:
    return f"{FIGURES} {section.title}"


def _work_out(
    asked: Sequence[tuple[Panel, Mapping[str, int]]],
    shared: Scope,
    found: dict[str, Figure | _Failure],
    form: str,
    progress: Progress,
    cancelled: CancelCheck,
) -> None:
    """Put each panel's figure into `found` and tell; one that fails leaves the others alone. On a task's thread."""
    for number, (panel, options) in enumerate(asked):
        if cancelled():
            raise Cancelled
        try:
            figure = panel.figure(replace(shared, options=options, cancelled=cancelled))
            _work_out_names([figure], form, progress, cancelled)
            found[panel.key] = figure
        except Exception as error:
            if cancelled():
                raise Cancelled from None
            found[panel.key] = _Failure(sentence_of(error))
        progress((number + 1) / len(asked), panel.title)


def _work_out_names(
    figures: Sequence[Figure | _Failure], form: str, _progress: Progress, cancelled: CancelCheck
) -> None:
    """Have names.in_form know the kernels of figures in a form, so that the window need not wait. On a task's thread.

    Raises Cancelled.
    """
    if form != FORMS[0]:
        for figure in figures:
            for name in kernel_names(figure) if not isinstance(figure, _Failure) else ():
                if cancelled():
                    raise Cancelled
                in_form(name, form)
