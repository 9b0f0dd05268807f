"""Sections as tabs, the controls of what the page answers for, numbers of panels, and histograms of annotations."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from smprof_desktop.analysis.doors import Chosen
from smprof_desktop.dashboard.card import Card
from smprof_desktop.dashboard.charts import HistogramChart
from smprof_desktop.dashboard.figures import Figure, Histogram, Missing, Pie, Share
from smprof_desktop.dashboard.panel import Option, Panel
from smprof_desktop.dashboard.panels import PANELS, SECTIONS
from smprof_desktop.dashboard.pie import PieChart
from smprof_desktop.dashboard.scope import Scope, narrowed
from smprof_desktop.dashboard.view import DashboardView, Opened
from smprof_desktop.session import Area, Session
from smprof_desktop.tasks import Tasks
from tests.make_profile import make_profile

TWO_RANKS = (
    "process 0\nkernel 0/7 0+100 gemm\nkernel 0/7 300+50 relu\nannotation 1 0+200 step_1\nannotation 1 200+250 step_2\n"
    "annotation 1 10+30 load_1\nannotation 1 210+50 load_2\n"
    "process 1\nkernel 1/7 0+400 gemm"
)


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    tasks = Tasks()
    yield tasks
    assert tasks.close()


def counted(asked: list[tuple[str, int | None]], key: str, section: str, **fields: object) -> Panel:
    """A panel that counts the kernels of its scope, and notes that it was asked."""

    def figure(scope: Scope) -> Figure:
        asked.append((key, scope.options.get("k")))
        chosen = Chosen("device", begin_ns=scope.begin_ns, end_ns=scope.end_ns)
        found = chosen.door("all").find(scope.profile, scope.cancelled)
        if not len(found):
            return Missing("none")
        return Pie((Share("all", len(found), door=chosen.door("All kernels")),), len(found), "count", "all")

    return Panel(key, key, (), figure, Pie, 2, "help", section, **fields)  # type: ignore[arg-type]


def view_of(qtbot: QtBot, tasks: Tasks, session: Session, panels: tuple[Panel, ...]) -> DashboardView:
    view = DashboardView(session, tasks, panels)
    qtbot.addWidget(view)
    view.resize(1100, 800)
    with qtbot.waitExposed(view):
        view.show()
    return view


def amount(card: Card) -> str:
    assert isinstance(card.chart, PieChart)
    return card.chart.legend.rows.rows[0][1]


def test_every_panel_stands_in_a_section_that_there_is() -> None:
    assert {panel.section for panel in PANELS} <= set(SECTIONS)


def test_a_section_is_worked_out_when_it_is_first_shown(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    asked: list[tuple[str, int | None]] = []
    panels = (counted(asked, "a", "Overview"), counted(asked, "b", "Launches"), counted(asked, "c", "Launches"))
    session = Session()
    view = view_of(qtbot, tasks, session, panels)
    session.open(make_profile(tmp_path / "profile", TWO_RANKS))
    qtbot.waitUntil(lambda: view.is_final)
    assert [view.tabs.tabText(place) for place in range(view.tabs.count())] == ["Overview", "Launches"]
    assert asked == [("a", None)]
    view.tabs.setFocus()
    qtbot.keyClick(view.tabs, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: view.is_final)
    assert view.section.title == "Launches" and asked[1:] == [("b", None), ("c", None)]
    assert all(card.isVisible() and card.state == "shown" for card in view.cards)
    view.show_section("Overview")
    view.show_section("Launches")
    assert view.is_final and len(asked) == 3


def test_nothing_is_worked_out_while_nobody_sees_it(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    asked: list[tuple[str, int | None]] = []
    session = Session()
    view = view_of(qtbot, tasks, session, (counted(asked, "a", "Overview"),))
    view.hide()
    session.open(make_profile(tmp_path / "profile", TWO_RANKS))
    qtbot.wait(50)
    assert not asked
    view.show()
    qtbot.waitUntil(lambda: view.is_final)
    assert asked == [("a", None)]


def test_the_figures_follow_the_range_the_area_and_the_process(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    asked: list[tuple[str, int | None]] = []
    session = Session()
    view = view_of(qtbot, tasks, session, (counted(asked, "a", "Overview"),))
    session.open(make_profile(tmp_path / "profile", TWO_RANKS))
    qtbot.waitUntil(lambda: view.is_final)
    card = view.cards[0]
    assert amount(card) == "3" and view.bar.process.isVisible()

    def choose(box: object, text: str) -> str:
        box.setFocus()  # type: ignore[attr-defined]
        index = box.findText(text)  # type: ignore[attr-defined]
        box.setCurrentIndex(index)  # type: ignore[attr-defined]
        box.activated.emit(index)  # type: ignore[attr-defined]
        qtbot.waitUntil(lambda: view.is_final)
        return amount(card)

    assert not view.bar.span.model().item(2).isEnabled()  # type: ignore[attr-defined]  # no area is selected
    session.show(0, 200)
    assert choose(view.bar.span, "Visible range") == "2"
    assert view.bar.told.text() == "For 0 ns to 200 ns of the profile."
    session.show(310, 340)
    session.show(310, 320)
    qtbot.waitUntil(lambda: view.is_final and view.range_ns == (310, 320))
    assert amount(card) == "2"
    session.select_area(Area(0, 350))
    assert choose(view.bar.span, "Selected area") == "3"
    session.select_area(Area(310, 400, ("host:algo-1/gpus/process:1/gpu:1/device/stream:7",)))
    qtbot.waitUntil(lambda: view.is_final and view.range_ns == (310, 400))
    assert amount(card) == "1"
    assert choose(view.bar.span, "Whole profile") == "3"
    assert choose(view.bar.process, view.bar.process.itemText(1)) == "2"
    opened: list[Opened] = []
    view.opened.connect(opened.append)
    assert isinstance(card.chart, PieChart)
    card.chart.legend.setFocus()
    card.chart.legend.selectRow(0)
    qtbot.keyClick(card.chart.legend, Qt.Key.Key_Return)
    assert [(at.panel, at.door.title, at.processes) for at in opened] == [("a", "All kernels", (0,))]
    assert choose(view.bar.process, "All processes") == "3"


def test_a_newer_scope_cancels_the_older(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    go, stopped = threading.Event(), threading.Event()
    started: list[int | None] = []

    def slow(scope: Scope) -> Figure:
        started.append(scope.begin_ns)
        while scope.begin_ns is None and not scope.cancelled():
            if go.wait(0.01):
                return Missing("the whole")
        if scope.begin_ns is None:
            stopped.set()
        return Missing(f"from {scope.begin_ns}")

    session = Session()
    view = view_of(qtbot, tasks, session, (Panel("a", "A", (), slow, Pie, 2, "help"),))
    session.open(make_profile(tmp_path / "profile", TWO_RANKS))
    qtbot.waitUntil(lambda: started == [None])
    view.show_range(100, 200)
    qtbot.waitUntil(lambda: view.is_final)
    go.set()
    assert view.cards[0].text == "from 100" and stopped.is_set()


def test_a_number_of_a_panel_is_kept_and_only_its_figure_changes(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    asked: list[tuple[str, int | None]] = []
    option = Option("k", "Kernels", 15, 1, 100)
    session = Session()
    panels = (counted(asked, "a", "Overview", options=(option,)), counted(asked, "b", "Overview"))
    view = view_of(qtbot, tasks, session, panels)
    session.open(make_profile(tmp_path / "profile", TWO_RANKS))
    qtbot.waitUntil(lambda: view.is_final)
    box = view.cards[0].options["k"]
    assert box.value() == 15
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, "40")
    assert asked == [("a", None), ("b", None)]
    qtbot.keyClick(box, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: view.is_final)
    assert asked[2:] == [("a", 40)] and session.notes.get("panel_options") == {"a": {"k": 40}}
    session.open(make_profile(tmp_path / "next", TWO_RANKS))
    assert box.value() == 15


def test_the_step_is_picked_or_typed_and_kept_with_the_profile(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    session = Session()
    panels = tuple(panel for panel in PANELS if panel.key == "step_times")
    view = view_of(qtbot, tasks, session, panels)
    session.open(make_profile(tmp_path / "profile", TWO_RANKS))
    qtbot.waitUntil(lambda: view.is_final)

    def facts() -> str:
        qtbot.waitUntil(lambda: view.is_final)
        chart = view.cards[0].chart
        assert isinstance(chart, HistogramChart)
        return chart.where.text().replace("\u00a0", " ")

    assert view.bar.step.currentText() == "Named like steps" and "Greatest 250 ns" in facts()
    assert [view.bar.step.itemText(place) for place in range(1, view.bar.step.count())] == ["load", "step"]
    edit = view.bar.step.lineEdit()
    assert edit is not None
    for typed, greatest in (("load", "Greatest 50 ns"), ("load_1*", "Greatest 30 ns")):
        edit.selectAll()
        qtbot.keyClicks(edit, typed)
        qtbot.keyClick(edit, Qt.Key.Key_Return)
        assert greatest in facts() and session.notes.get("step") == typed
    edit.selectAll()
    qtbot.keyClicks(edit, "nothing of that name")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: view.is_final)
    assert view.cards[0].state == "missing"
    session.notes.lend({"step": "step"})
    assert view.bar.step.currentText() == "step" and "Greatest 250 ns" in facts()
    session.notes.set("step", "")
    assert view.bar.step.currentText() == "Named like steps"


def test_a_histogram_of_any_annotation_is_made_kept_and_removed(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    session = Session()
    view = view_of(qtbot, tasks, session, tuple(panel for panel in PANELS if panel.key == "step_times"))
    session.open(make_profile(tmp_path / "profile", TWO_RANKS))
    qtbot.waitUntil(lambda: view.is_final)
    field, button = view.new_histogram.field, view.new_histogram.button
    assert [field.itemText(place) for place in range(field.count())] == ["load", "step"] and not button.isEnabled()
    edit = field.lineEdit()
    assert edit is not None
    qtbot.keyClicks(edit, "load")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: view.is_final)
    assert [card.panel.title for card in view.cards][1:] == ["load: time distribution"]
    chart = view.cards[1].chart
    assert isinstance(chart, HistogramChart) and "Mean\u00a040\u00a0ns" in chart.where.text()
    qtbot.keyClicks(edit, "none*")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: view.is_final)
    assert view.cards[2].state == "missing" and session.notes.get("histograms") == ["load", "none*"]
    view.cards[1].removed.emit()
    assert [card.panel.key for card in view.cards][1:] == ["histogram none*"]
    assert session.notes.get("histograms") == ["none*"]
    session.open(make_profile(tmp_path / "next", TWO_RANKS))
    assert len(view.cards) == 1


def test_the_bins_of_a_histogram_lead_to_its_annotations(tmp_path: Path) -> None:
    from smprof_desktop.dashboard.annotation_histogram import panel_of

    profile = make_profile(tmp_path / "profile", TWO_RANKS)
    for begin_ns, end_ns in ((None, None), (20, 230)):
        figure = panel_of("load").figure(Scope(profile, begin_ns, end_ns))
        assert isinstance(figure, Histogram) and figure.counts.sum() == 2
        for door, count in zip(figure.doors, figure.counts.tolist(), strict=True):
            assert door is not None and len(door.find(profile, lambda: False)) == count


def test_one_process_of_several_is_a_profile_of_its_own(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "profile", TWO_RANKS)
    part = narrowed(profile, (1,))
    assert part.processes == (profile.processes[1],) and [info.process for info in part.manifest.processes] == ["1"]
    assert [kernel["total_ns"] for kernel in Scope(part).report()["kernels"]] == [400]
    assert len(profile.processes) == 2 and part.manifest is not profile.manifest
