"""The Histogram pane: how long the slices of the selected one's name take; each bar leads to one of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QVBoxLayout, QWidget

from smprof_desktop.analysis import durations, names
from smprof_desktop.analysis.durations import Bins, Durations
from smprof_desktop.analysis.quantities import elide_middle, time_text
from smprof_desktop.plain_text import tooltip
from smprof_desktop.progress import CancelCheck, Progress
from smprof_desktop.session import Session, SliceRef
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.window.bar_chart import BarChart
from smprof_desktop.window.fields import label

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

COUNTING = "histogram"
"""The kind of the task that gathers the durations."""
NOTHING_SELECTED = "Nothing is selected. Click a slice to see how long all slices of its name take."
NAME_CHARACTERS = 110


class HistogramPane(QWidget):
    """Gathered by a task, the newest selection's only, and not while nobody sees it.

    As long as another slice of the same name is selected nothing is gathered anew: only the mark moves.

    Signals:
        filled(): other bars are shown, or none any more.
    """

    filled = Signal()

    def __init__(self, session: Session, tasks: Tasks, settings: Settings | None = None) -> None:
        """`settings` choose the form of names of kernels: as recorded without."""
        super().__init__()
        self._session = session
        self._tasks = tasks
        self._settings = settings
        self._shown: Durations | None = None
        self._shown_of: tuple[object, ...] = ()
        """Profile, whether of all processes: what the shown durations were gathered from."""
        self._duration_ns: int | None = None
        """Of the selected slice."""
        self._is_stale = False
        self.head = label(NOTHING_SELECTED, "muted", wraps=True, selectable=True)
        self.everywhere = QCheckBox("All processes")
        self.everywhere.setToolTip(
            tooltip("Slices of that name in all processes, not in that of the selected one alone")
        )
        self.logarithmic = QCheckBox("Logarithmic")
        self.logarithmic.setToolTip(tooltip("Each bar about as many times as wide as the one before"))
        self.chart = BarChart()
        self.foot = label("", "muted", wraps=True, selectable=True)
        self.everywhere.toggled.connect(self._renew)
        self.logarithmic.toggled.connect(self._draw)
        self.chart.pointed.connect(self._tell)
        self.chart.chosen.connect(self._follow)
        top = QHBoxLayout()
        top.addWidget(self.head, 1)
        top.addWidget(self.logarithmic)
        top.addWidget(self.everywhere)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(10, 6, 10, 6)
        self._layout.setSpacing(4)
        self._layout.addLayout(top)
        self._layout.addWidget(self.chart, 1)
        self._layout.addWidget(self.foot)
        self._filler = QWidget()
        self._layout.addWidget(self._filler, 1)
        session.selection_changed.connect(self._renew)
        session.profile_changed.connect(self._renew)
        if settings is not None:
            settings.changed.connect(lambda key: self._show_name() if key == "names" else None)
        self._show(None)

    @property
    def is_final(self) -> bool:
        """Whether what is shown is of the present selection."""
        return not self._is_stale or not self.isVisible()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is selected."""
        return self._session.selection is None

    @property
    def least_height_px(self) -> int:
        """How high what is shown while nothing is selected is."""
        return self._layout.totalHeightForWidth(self.width())

    @property
    def bins(self) -> Bins | None:
        """The bins that are shown."""
        if self._shown is None:
            return None
        return self._shown.logarithmic if self.logarithmic.isChecked() else self._shown.linear

    def _renew(self, _changed: object = None) -> None:
        """Another slice is selected, or none, or slices of other processes are asked for."""
        profile, ref = self._session.profile, self._session.selection
        self._tasks.cancel_kind(COUNTING)
        if profile is None or ref is None:
            self._show(None)
            return
        self._is_stale = True
        if self.isVisible():
            self.chart.setEnabled(False)
            everywhere = self.everywhere.isChecked()
            known = self._shown if self._shown_of == (profile, everywhere) else None
            self._tasks.start(
                COUNTING,
                partial(_gather, profile, ref, everywhere, known),
                partial(self._on_gathered, (profile, everywhere)),
                self._fail,
                progressed=self._on_progress,
                reads=profile,
            )

    def _on_progress(self, share: float, _what: str) -> None:
        self.head.setText(f"Looking for slices of that name… {share:.0%}")

    def _on_gathered(self, of: tuple[object, ...], found: tuple[Durations, int]) -> None:
        self._shown_of = of
        self._duration_ns = found[1]
        self._show(found[0])

    def _fail(self, sentence: str) -> None:
        self._show(None)
        self.head.setText(sentence)

    def _show(self, shown: Durations | None) -> None:
        self._is_stale = False
        self._shown = shown
        if shown is None:
            self._shown_of, self._duration_ns = (), None
            self.head.setText(NOTHING_SELECTED)
        else:
            self._show_name()
        for widget in (self.chart, self.foot, self.everywhere, self.logarithmic):
            widget.setVisible(shown is not None)
        self.everywhere.setVisible(shown is not None and self._has_several())
        self._filler.setVisible(shown is None)
        self.chart.setEnabled(True)
        self._draw()
        self.filled.emit()

    def _show_name(self) -> None:
        """Tell the name that the bars are of, that of a kernel in the form that the settings choose."""
        if self._shown is None:
            return
        exact = self._shown.slices.name
        recorded = name = names.shown([exact]).get(exact, exact)
        if self._settings is not None and self._shown.slices.table == "device":
            name = names.in_form(recorded, self._settings.get("names"))
        self.head.setText(elide_middle(name, NAME_CHARACTERS))
        is_told = name == recorded and len(name) <= NAME_CHARACTERS
        self.head.setToolTip("" if is_told else tooltip(recorded))

    def _has_several(self) -> bool:
        return self._session.profile is not None and len(self._session.profile.processes) > 1

    def _draw(self, _changed: object = None) -> None:
        bins = self.bins
        if bins is None:
            self.chart.show_bins((), (), -1)
        else:
            marked = bins.bin_of(self._duration_ns) if self._duration_ns is not None else -1
            self.chart.show_bins(bins.edges_ns, bins.counts, marked)
        self._tell(-1)

    def _tell(self, index: int) -> None:
        """Say what a bin holds; for -1 what says it in short."""
        shown, bins = self._shown, self.bins
        if shown is None or bins is None:
            self.foot.setText("")
        elif index < 0:
            self.foot.setText(self._summary(shown))
        else:
            count, whole = bins.counts[index], len(shown.slices)
            edges = " to ".join(time_text(edge_ns) for edge_ns in bins.edges_ns[index : index + 2])
            leads = " · click to go to one of them" if count else ""
            self.foot.setText(f"{edges}: {count:,} of {whole:,}, {100 * count / whole:.1f} %{leads}")

    def _summary(self, shown: Durations) -> str:
        where = "all processes" if self._shown_of[1:] == (True,) else "its process"
        facts = [
            f"{len(shown.slices):,} in {where}",
            *(
                f"{title} {time_text(value_ns)}"
                for title, value_ns in (
                    ("least", shown.least_ns),
                    ("median", shown.median_ns),
                    ("mean", shown.mean_ns),
                    ("99th percentile", shown.p99_ns),
                    ("greatest", shown.greatest_ns),
                )
            ),
        ]
        if self._duration_ns is not None:
            facts.insert(0, f"selected: {time_text(self._duration_ns)}")
        return " · ".join(facts)

    def _follow(self, index: int) -> None:
        bins = self.bins
        if self._shown is not None and bins is not None and bins.examples[index] >= 0:
            self._session.select(self._shown.slices.ref(bins.examples[index]))

    # Overrides of Qt methods.

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._is_stale:
            self._renew()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if self._is_stale:
            self._tasks.cancel_kind(COUNTING)


def _gather(
    profile: Profile,
    ref: SliceRef,
    everywhere: bool,
    known: Durations | None,
    progress: Progress,
    cancelled: CancelCheck,
) -> tuple[Durations, int]:
    """The durations of a slice's name, `known` ones where it is among them, and its own."""
    own_ns = profile.processes[ref.process].table(ref.table).value("duration_ns", ref.row)
    if known is not None and known.slices.holds(ref):
        return known, own_ns
    return durations.of_slice(profile, ref, everywhere, progress, cancelled), own_ns
