"""The Area pane: totals of the selected area by name and by lane; each row leads to what it tells of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from smprof_desktop.analysis import area as areas
from smprof_desktop.analysis import names
from smprof_desktop.analysis.area import LaneRows, LaneTotal, NameTotal, Totals
from smprof_desktop.analysis.names import FORMS
from smprof_desktop.analysis.quantities import time_text
from smprof_desktop.dashboard.figures_table import Column, FiguresModel, FiguresTable
from smprof_desktop.progress import CancelCheck, Progress
from smprof_desktop.session import Area, Session, SliceRef
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline.lanes import Lane, LaneTree
from smprof_desktop.timeline.viewport import duration_text
from smprof_desktop.timeline.widget import TimelineWidget
from smprof_desktop.window.fields import label

if TYPE_CHECKING:
    from smprof.profile.reader import Profile

ADDING, FINDING = "area", "area example"
"""Kinds of tasks."""
REST_MS = 150
"""An area that has not changed for so long is added up."""
NO_AREA = (
    "No area is selected. Hold Shift and drag over lanes, or drag on the time axis, to see totals of what lies there."
)


@dataclass(frozen=True)
class NameRow:
    """A name of the area as it is shown, and its totals; `whole_ns` is what its share is of.

    `recorded` is the name of a kernel that is shown in another form.
    """

    name: str
    total: NameTotal
    whole_ns: int
    recorded: str = ""

    @property
    def full_name(self) -> str:
        """The name as it was recorded."""
        return self.recorded or self.name


@dataclass(frozen=True)
class LaneRow:
    """A lane of the area as it is shown."""

    label: str
    group: str
    total: LaneTotal
    whole_ns: int


@dataclass(frozen=True)
class Shown:
    """What a task has made of an area."""

    asked: tuple[LaneRows, ...]
    totals: Totals
    names: tuple[NameRow, ...]
    all_names: NameRow | None
    lanes: tuple[LaneRow, ...]


NAME_COLUMNS: tuple[Column[NameRow], ...] = (
    Column(
        "Name",
        lambda row: row.name,
        lambda row: row.full_name,
        "name",
        False,
        exact=lambda row: row.full_name,
        order=lambda row: row.name,
    ),
    Column("On", lambda row: row.total.table, lambda row: row.total.table, "on", False, "Where the slices stand"),
    Column("Count", lambda row: f"{row.total.count:,}", lambda row: row.total.count, "count"),
    Column(
        "Total",
        lambda row: time_text(row.total.total_ns),
        lambda row: row.total.total_ns,
        "total_ns",
        tip="Time inside the area; slices that overlap count twice",
    ),
    Column(
        "Share",
        lambda row: percent_text(row.total.total_ns, row.whole_ns),
        lambda row: row.total.total_ns / max(row.whole_ns, 1),
        "share",
        tip="Total, of the area's length times its lanes",
    ),
    Column(
        "Least", lambda row: time_text(row.total.min_ns), lambda row: row.total.min_ns, "min_ns", tip="Whole slices"
    ),
    Column(
        "Mean", lambda row: time_text(row.total.mean_ns), lambda row: row.total.mean_ns, "mean_ns", tip="Whole slices"
    ),
    Column(
        "Greatest", lambda row: time_text(row.total.max_ns), lambda row: row.total.max_ns, "max_ns", tip="Whole slices"
    ),
)
LANE_COLUMNS: tuple[Column[LaneRow], ...] = (
    Column("Lane", lambda row: row.label, lambda row: row.label, "lane", False),
    Column("Count", lambda row: f"{row.total.count:,}", lambda row: row.total.count, "count"),
    Column(
        "Busy",
        lambda row: time_text(row.total.busy_ns),
        lambda row: row.total.busy_ns,
        "busy_ns",
        tip="Time inside the area in which any slice of the lane runs",
    ),
    Column(
        "Share",
        lambda row: percent_text(row.total.busy_ns, row.whole_ns),
        lambda row: row.total.busy_ns / max(row.whole_ns, 1),
        "share",
        tip="Busy, of the area's length",
    ),
    Column("In", lambda row: row.group, lambda row: row.group, "group", False),
)


class AreaPane(QWidget):
    """Two tables of the session's area. They are worked out by a task once the area is at rest, and while it is seen.

    A click on a name selects its longest slice in the area, one on a lane brings that lane into sight.

    Signals:
        filled(): there are totals to show, or none any more.
    """

    filled = Signal()

    def __init__(
        self, session: Session, tasks: Tasks, timeline: TimelineWidget, settings: Settings | None = None
    ) -> None:
        """`settings` choose the form of names of kernels: as recorded without."""
        super().__init__()
        self._session = session
        self._tasks = tasks
        self._timeline = timeline
        self._settings = settings
        self._shown: Shown | None = None
        self._is_stale = False
        self.head = label(NO_AREA, "muted", wraps=True, selectable=True)
        self.names = FiguresTable("Names", FiguresModel(NAME_COLUMNS, _all_names, _searched), "names.csv", 3)
        self.lanes = FiguresTable(
            "Lanes",
            FiguresModel(LANE_COLUMNS, _all_lanes, lambda row: f"{row.group} {row.label}"),
            "lanes.csv",
            2,
        )
        self._tables = QSplitter(Qt.Orientation.Horizontal)
        self._tables.setChildrenCollapsible(False)
        self._tables.setHandleWidth(5)
        for table, stretch in ((self.names, 3), (self.lanes, 2)):
            self._tables.addWidget(table)
            self._tables.setStretchFactor(self._tables.count() - 1, stretch)
            table.saved.connect(self._say)
            table.failed.connect(self._say)
        self._tables.setSizes([1300, 700])
        self.names.chosen.connect(self._find)
        self.lanes.chosen.connect(self._reveal)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST_MS)
        self._rest.timeout.connect(self._start)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(10, 6, 10, 6)
        self._layout.setSpacing(4)
        self._layout.addWidget(self.head)
        self._layout.addWidget(self._tables, 1)
        self._filler = QWidget()
        self._layout.addWidget(self._filler, 1)
        session.area_changed.connect(self._on_area)
        self._notes = session.notes
        self._notes.changed.connect(self._on_note)
        session.profile_changed.connect(self._on_profile)
        if settings is not None:
            settings.changed.connect(lambda key: self._on_area(self._session.area) if key == "names" else None)
        self._show(None)

    @property
    def is_final(self) -> bool:
        """Whether what is shown is of the present area."""
        return not self._is_stale or not self.isVisible()

    @property
    def is_empty(self) -> bool:
        """Whether no area is selected."""
        return self._session.area is None

    @property
    def least_height_px(self) -> int:
        """How high what is shown while no area is selected is."""
        return self._layout.totalHeightForWidth(self.width())

    def _on_profile(self, _profile: Profile | None) -> None:
        self._tasks.cancel_kind(FINDING)
        self._notes.changed.disconnect(self._on_note, missing_ok=True)
        self._notes = self._session.notes
        self._notes.changed.connect(self._on_note)
        self._on_area(self._session.area)

    def _on_note(self, key: str) -> None:
        """Lanes that are hidden do not count."""
        if key == "hidden":
            self._on_area(self._session.area)

    def _on_area(self, area: Area | None) -> None:
        """Another area is selected, or none: added up once it is at rest, lest a drag should start a task a pixel."""
        self._tasks.cancel_kind(ADDING)
        self._is_stale = area is not None
        if area is None:
            self._rest.stop()
            self._show(None)
        elif self.isVisible():
            self._rest.start()

    def _start(self) -> None:
        profile, area, scene = self._session.profile, self._session.area, self._timeline.scene
        if profile is None or area is None or not self.isVisible():
            return
        if scene is None:  # it is being opened
            self._rest.start()
            return
        form: str = FORMS[0] if self._settings is None else self._settings.get("names")
        hidden = self._timeline.arranging.arrangement.hidden
        self._tasks.start(
            ADDING,
            partial(_add_up, profile, scene.tree, area, hidden, form),
            self._show,
            self._fail,
            progressed=self._on_progress,
            reads=profile,
        )

    def _on_progress(self, share: float, _what: str) -> None:
        self.head.setText(f"Adding up… {share:.0%}")

    def _say(self, sentence: str) -> None:
        """What became of saving, beside what the tables are of."""
        shown = self._shown
        self.head.setText(sentence if shown is None else f"{self._head_text(shown.totals)}\n{sentence}")

    def _fail(self, sentence: str) -> None:
        self._show(None)
        self.head.setText(sentence)

    def _show(self, shown: Shown | None) -> None:
        self._is_stale = False
        self._shown = shown
        self._tables.setVisible(shown is not None)
        self._filler.setVisible(shown is None)
        if shown is None:
            self.head.setText(NO_AREA)
            self.names.model.fill(())
            self.lanes.model.fill(())
        else:
            self.head.setText(self._head_text(shown.totals))
            self.names.model.fill(shown.names, shown.all_names)
            self.lanes.model.fill(shown.lanes)
        self.filled.emit()

    def _head_text(self, totals: Totals) -> str:
        axis = self._timeline.axis
        since = f" from {axis.text(totals.begin_ns)}" if axis is not None else ""
        lanes = f"{len(totals.lanes):,} lane{'s' if len(totals.lanes) != 1 else ''}"
        return (
            f"{duration_text(totals.length_ns)}{since} · {lanes} · {totals.count:,} slices · shares of totals are of "
            f"{time_text(totals.length_ns)} × {lanes} = {time_text(totals.lanes_ns)}"
        )

    def _find(self, row: NameRow) -> None:
        profile, shown = self._session.profile, self._shown
        if profile is None or shown is None:
            return
        work = partial(_longest, profile, shown, row.total)
        self._tasks.start(FINDING, work, self._on_found, self.head.setText, reads=profile)

    def _on_found(self, ref: SliceRef | None) -> None:
        if ref is not None:
            self._session.select(ref)

    def _reveal(self, row: LaneRow) -> None:
        timeline = self._timeline
        if timeline.scene is not None and row.total.key in timeline.scene.tree.by_key:
            timeline.arranging.uncover(row.total.key)
            timeline.focus_key = row.total.key
            timeline.scroll_to_lane(row.total.key)
            timeline.viewport().update()

    # Overrides of Qt methods.

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._is_stale:
            self._start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._rest.stop()
        if self._is_stale:
            self._tasks.cancel_kind(ADDING)


def lanes_in(tree: LaneTree, area: Area, hidden: frozenset[str] = frozenset()) -> list[Lane]:
    """The lanes of slices that an area takes in, each once: its own, and all below a group of which it has only that.

    Hidden ones, and what lies below them, do not count.
    """
    if area.lanes is None:
        chosen = [lane for lane in tree.walk() if lane.rows]
    else:
        keys = [key for key in area.lanes if key in tree.by_key]
        with_lanes_below = {group for key in keys for group in tree.ancestors(key)}
        chosen = []
        for key in keys:
            lane = tree.by_key[key]
            chosen += lane.walk() if key not in with_lanes_below else (lane,)
    found = {lane.key: lane for lane in chosen if lane.rows}
    return [lane for key, lane in found.items() if not hidden.intersection((key, *tree.ancestors(key)))]


def percent_text(part: int, whole: int) -> str:
    """A part of a whole in percent; `–` where the whole is nothing. What is not all is never called 100 %."""
    if whole <= 0:
        return "–"
    percent = 100 * part / whole
    if part < whole and percent >= 99.95:
        return "99.9 %"
    return "<0.1 %" if 0 < percent < 0.05 else f"{percent:,.1f} %"


def _add_up(
    profile: Profile,
    tree: LaneTree,
    area: Area,
    hidden: frozenset[str],
    form: str,
    progress: Progress,
    cancelled: CancelCheck,
) -> Shown:
    lanes = tuple(
        areas.lane_rows_of(profile, lane.key, [(row.process, id_) for row in lane.rows for id_ in row.lane_rows])
        for lane in lanes_in(tree, area, hidden)
    )
    totals = areas.totals(profile, lanes, area.begin_ns, area.end_ns, progress, cancelled)
    shown = names.shown(total.name for total in totals.names)
    rows = tuple(_name_row(total, shown.get(total.name, total.name), totals.lanes_ns, form) for total in totals.names)
    return Shown(lanes, totals, rows, _all_names(rows) if rows else None, _lane_rows(tree, totals))


def _name_row(total: NameTotal, recorded: str, whole_ns: int, form: str) -> NameRow:
    name = names.in_form(recorded, form) if total.table == "device" else recorded
    return NameRow(name, total, whole_ns, recorded if name != recorded else "")


def _searched(row: NameRow) -> str:
    """What the filter looks in."""
    return f"{row.name}\n{row.recorded}"


def _longest(
    profile: Profile, shown: Shown, total: NameTotal, _progress: Progress, cancelled: CancelCheck
) -> SliceRef | None:
    return areas.longest(profile, shown.asked, shown.totals.begin_ns, shown.totals.end_ns, total, cancelled)


def _lane_rows(tree: LaneTree, totals: Totals) -> tuple[LaneRow, ...]:
    rows = []
    for total in totals.lanes:
        lane = tree.by_key.get(total.key)
        around = [tree.by_key[key].label for key in reversed(tree.ancestors(total.key))] if lane is not None else []
        rows.append(LaneRow(lane.label if lane is not None else total.key, " · ".join(around), total, totals.length_ns))
    return tuple(rows)


def _all_names(rows: Sequence[NameRow]) -> NameRow:
    totals = [row.total for row in rows]
    summed = NameTotal(
        "",
        "",
        sum(total.count for total in totals),
        sum(total.total_ns for total in totals),
        sum(total.full_ns for total in totals),
        min(total.min_ns for total in totals),
        max(total.max_ns for total in totals),
    )
    title = f"All {len(rows):,} names" if len(rows) != 1 else "1 name"
    return NameRow(title, summed, rows[0].whole_ns)


def _all_lanes(rows: Sequence[LaneRow]) -> LaneRow:
    summed = LaneTotal("", sum(row.total.count for row in rows), sum(row.total.busy_ns for row in rows))
    title = f"All {len(rows):,} lanes" if len(rows) != 1 else "1 lane"
    return LaneRow(title, "", summed, sum(row.whole_ns for row in rows))
