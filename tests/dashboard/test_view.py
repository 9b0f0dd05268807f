"""The Dashboard page: figures arrive, gaps are said, the layout follows the width, an older answer is dropped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from smprof_desktop.dashboard.figures import Missing, Pie, Share
from smprof_desktop.dashboard.panels import PANELS, Panel
from smprof_desktop.dashboard.pie import PieChart
from smprof_desktop.dashboard.scope import Scope
from smprof_desktop.dashboard.view import DashboardView
from smprof_desktop.session import Session
from smprof_desktop.tasks import Tasks
from tests.dashboard.test_panels import TWO_HOSTS
from tests.make_profile import make_profile


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    tasks = Tasks()
    yield tasks
    assert tasks.close()


def view_of(qtbot: QtBot, tasks: Tasks, session: Session, panels: tuple[Panel, ...] = tuple(PANELS)) -> DashboardView:
    """The page, shown."""
    view = DashboardView(session, tasks, panels)
    qtbot.addWidget(view)
    view.resize(1100, 800)
    view.show()
    return view


def is_final(view: DashboardView) -> bool:
    """Asked anew each time, also in the eyes of a type checker."""
    return view.is_final


def test_every_panel_is_shown_under_its_name(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    session = Session()
    view = view_of(qtbot, tasks, session)
    assert view.is_final and not any(card.isVisible() for card in view.cards)
    session.open(make_profile(tmp_path / "profile", TWO_HOSTS))
    assert not is_final(view)
    qtbot.waitUntil(lambda: view.is_final)
    assert [card.state for card in view.cards] == ["shown"] * 12
    assert [card.panel.title for card in view.cards] == [
        "GPU active time",
        "GPU utilization over time",
        "CPU active time",
        "CPU utilization over time",
        "Time spent by all GPU kernels",
        "Time spent by top 15 GPU kernels",
        "Launch counts of all GPU kernels",
        "Launch counts of top 15 GPU kernels",
        "Step time distribution",
        "Kernel precision distribution",
        "GPU activity distribution",
        "GPU memory operations distribution",
    ]
    session.close()
    assert view.is_final and not any(card.isVisible() for card in view.cards)


def test_what_was_not_recorded_is_said_in_its_place(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    session = Session()
    view = view_of(qtbot, tasks, session)
    session.open(make_profile(tmp_path / "profile", "kernel 0/7 0+5 gemm"))
    qtbot.waitUntil(lambda: view.is_final)
    steps = next(card for card in view.cards if card.panel.key == "step_times")
    assert steps.state == "missing" and steps.chart is None and "annotated" in steps.text


def test_a_range_is_what_the_figures_are_for_until_another_profile_is_open(
    qtbot: QtBot, tasks: Tasks, tmp_path: Path
) -> None:
    session = Session()
    view = view_of(qtbot, tasks, session)
    text = "process 0 window=1000:5000\nkernel 0/7 1000+600 gemm\nkernel 0/7 2200+100 gemm\nkernel 0/7 4000+1000 relu"
    session.open(make_profile(tmp_path / "profile", text))
    qtbot.waitUntil(lambda: view.is_final)

    def active() -> list[tuple[str, str]]:
        chart = view.cards[0].chart
        assert isinstance(chart, PieChart)
        return [(row[0], row[1]) for row in chart.legend.rows.rows]

    assert active() == [("Active", "1.700 µs"), ("Idle", "2.300 µs")]
    assert view.bar.told.text() == "For the whole profile." and not view.bar.whole.isVisible()
    view.show_range(2_200, 4_400)
    qtbot.waitUntil(lambda: view.is_final)
    assert active() == [("Active", "500 ns"), ("Idle", "1.700 µs")]
    assert view.bar.told.text() == "For 1.200 µs to 3.400 µs of the profile."
    steps = next(card for card in view.cards if card.panel.key == "step_times")
    assert steps.text == "There is no step in this range."
    view.bar.whole.click()
    qtbot.waitUntil(lambda: view.is_final)
    assert active()[0][1] == "1.700 µs" and view.bar.told.text() == "For the whole profile."
    assert "annotated" in steps.text
    view.show_range(2_200, 4_400)
    session.open(make_profile(tmp_path / "next", text))
    qtbot.waitUntil(lambda: view.is_final)
    assert active()[0][1] == "1.700 µs" and view.bar.told.text() == "For the whole profile."


@pytest.mark.parametrize(("begin_ns", "end_ns"), [(-(10**18), 10**18), (500, 700), (-50, -10)])
def test_a_range_that_reaches_out_of_the_profile(
    qtbot: QtBot, tasks: Tasks, tmp_path: Path, begin_ns: int, end_ns: int
) -> None:
    session = Session()
    view = view_of(qtbot, tasks, session)
    session.open(make_profile(tmp_path / "profile", "kernel 0/7 0+60 gemm"))
    view.show_range(begin_ns, end_ns)
    qtbot.waitUntil(lambda: view.is_final)
    assert "failed" not in [card.state for card in view.cards]
    by_time = next(card for card in view.cards if card.panel.key == "top_kernels_by_time")
    assert by_time.state == ("shown" if begin_ns < 0 < end_ns else "missing")


def test_a_failure_stays_in_its_card(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    def broken(scope: Scope) -> Pie:
        raise ZeroDivisionError("of all things")

    panels = (Panel("a", "A", (), broken, Pie, 3, "help"), PANELS[0])
    session = Session()
    view = view_of(qtbot, tasks, session, panels)
    session.open(make_profile(tmp_path / "profile", TWO_HOSTS))
    qtbot.waitUntil(lambda: view.is_final)
    assert [card.state for card in view.cards] == ["failed", "shown"]
    assert (
        view.cards[0].text
        == "This failed by a fault of the program (ZeroDivisionError: of all things); please report it."
    )


def test_the_page_keeps_one_worker_and_fills_card_by_card(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    go = threading.Event()
    running: list[int] = []

    def figure(scope: Scope) -> Pie:
        running.append(1)
        if len(running) > 1:
            go.wait(10)
        return Pie((Share("it", 1),), 1, "ns", "it")

    panels = tuple(Panel(key, key.upper(), (), figure, Pie, 2, "help") for key in "abcdef")
    session = Session()
    view = view_of(qtbot, tasks, session, panels)
    session.open(make_profile(tmp_path / "profile", "kernel 0/7 0+5 gemm"))
    qtbot.waitUntil(lambda: view.cards[0].state == "shown")
    heard: list[str] = []
    tasks.start("other", lambda progress, cancelled: "other", heard.append)
    qtbot.waitUntil(lambda: heard == ["other"])
    assert [card.state for card in view.cards[1:]] == ["waiting"] * 5 and len(running) == 2
    go.set()
    qtbot.waitUntil(lambda: view.is_final)
    assert [card.state for card in view.cards] == ["shown"] * 6


def test_a_closed_profile_is_worked_out_no_further(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    go = threading.Event()
    asked: list[str] = []

    def figure(scope: Scope) -> Pie:
        asked.append("asked")
        go.wait(10)
        return Pie((Share("it", 1),), 1, "ns", "it")

    session = Session()
    view = view_of(qtbot, tasks, session, tuple(Panel(key, key, (), figure, Pie, 2, "help") for key in "abc"))
    session.open(make_profile(tmp_path / "profile", "kernel 0/7 0+5 gemm"))
    qtbot.waitUntil(lambda: bool(asked))
    session.close()
    go.set()
    qtbot.waitUntil(lambda: tasks.is_idle)
    assert asked == ["asked"] and view.is_final


def test_the_answer_for_an_older_profile_is_dropped(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    go = threading.Event()

    def slow_for_the_first(scope: Scope) -> Pie | Missing:
        if scope.profile.manifest.name == "first":
            go.wait(10)
        return Pie((Share(scope.profile.manifest.name, 1),), 1, "ns", "it")

    session = Session()
    view = view_of(qtbot, tasks, session, (Panel("a", "A", (), slow_for_the_first, Pie, 3, "help"),))
    session.open(make_profile(tmp_path / "first", "kernel 0/7 0+5 gemm", "first"))
    session.open(make_profile(tmp_path / "second", "kernel 0/7 0+5 gemm", "second"))
    qtbot.waitUntil(lambda: view.is_final)
    go.set()
    qtbot.waitUntil(lambda: tasks.is_idle)
    chart = view.cards[0].chart
    assert isinstance(chart, PieChart) and chart.legend.rows.rows[0][0] == "second"


@pytest.mark.parametrize(
    ("width_px", "lines"),
    [(1100, [2] * 6), (800, [1] * 12), (500, [1] * 12)],
    ids=["wide", "middle", "narrow"],
)
def test_the_layout_follows_the_width(
    qtbot: QtBot, tasks: Tasks, tmp_path: Path, width_px: int, lines: list[int]
) -> None:
    session = Session()
    view = view_of(qtbot, tasks, session)
    session.open(make_profile(tmp_path / "profile", TWO_HOSTS))
    qtbot.waitUntil(lambda: view.is_final)
    view.resize(width_px, 800)
    qtbot.wait(10)
    tops = [card.y() for card in view.cards]
    assert [tops.count(top) for top in sorted(set(tops))] == lines
    assert all(card.x() + card.width() <= view.section.viewport().width() for card in view.cards)
    ends = {card.x() + card.width() for card in view.cards}
    assert max(ends) in {cards.x() + cards.width() for cards in (view.cards[-1],)}


def test_help_opens_in_the_card(qtbot: QtBot, tasks: Tasks) -> None:
    view = view_of(qtbot, tasks, Session())
    card = view.cards[0]
    assert not card._help.isVisibleTo(card)
    card._question.click()
    assert card._help.isVisibleTo(card) and card._help.text() == card.panel.help
