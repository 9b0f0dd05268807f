"""Names of kernels on the dashboard and in the panes read as the setting says; what they lead to keeps the recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from smprof_desktop.analysis import slices
from smprof_desktop.dashboard.figures import Column, Pie, Share, Table
from smprof_desktop.dashboard.pie import PieChart
from smprof_desktop.dashboard.table_chart import TableChart
from smprof_desktop.dashboard.view import DashboardView
from smprof_desktop.session import Area, Session, SliceRef
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.window.timeline_page import TimelinePage
from tests.make_profile import make_profile

MANGLED, WHOLE, BASE = "_Z4gemmILi4EEvPf", "void gemm<(int)4>(float*)", "gemm"
MANGLED_KERNEL = """
device 0 "NVIDIA H100" used
op 1 0+500 aten::mm(4)
api 1 10+30 cudaLaunchKernel corr=1
kernel 0/7 50+100 _Z4gemmILi4EEvPf corr=1
""".replace("window=0:500\n", "")


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    tasks = Tasks()
    yield tasks
    assert tasks.close()


def test_a_pie_of_kernels_shows_a_form_and_opens_the_recorded_name(qtbot: QtBot) -> None:
    for of_kernels in (True, False):
        chart = PieChart(Pie((Share(MANGLED, 3),), 3, "ns", "all", of_kernels=of_kernels))
        qtbot.addWidget(chart)
        opened: list[str] = []
        chart.kernel_opened.connect(opened.append)
        for form, shown in (("base", BASE), ("demangled", WHOLE), ("recorded", MANGLED)):
            chart.use_names(form)
            assert chart.legend.rows.rows[0][0] == (shown if of_kernels else MANGLED)
            assert MANGLED in chart.legend.rows.tips[0] and MANGLED in chart.ring._tips[0]
        chart.use_names("base")
        chart.legend.opened.emit(0)
        assert opened == ([MANGLED] if of_kernels else [])


def test_a_table_shows_a_form_in_columns_of_kernels_alone(qtbot: QtBot) -> None:
    columns = (Column("Kernel", "kernel"), Column("Call", "name"), Column("Total", "ns"))
    rows = ((MANGLED, "f(int)", 5), ("_Z1av", "g(int)", 7), ("zz", "h(int)", 6))
    chart = TableChart(Table(columns, rows, "all"), "Kernels")
    qtbot.addWidget(chart)
    model = chart.table.model
    chart.use_names("base")
    assert [model.texts(row)[:2] for row in (1, 2, 3)] == [[BASE, "f(int)"], ["a", "g(int)"], ["zz", "h(int)"]]
    assert MANGLED in model.data(model.index(1, 0), Qt.ItemDataRole.ToolTipRole)
    model.sort(0, Qt.SortOrder.AscendingOrder)  # by what is shown: `_Z…` would come first
    assert [row.values[0] for row in model.rows] == ["_Z1av", MANGLED, "zz"]
    for text in ("gemm", "_Z4gemm"):
        model.set_filter(text)
        assert [row.values[0] for row in model.rows] == [MANGLED]
    assert MANGLED.encode() in model.csv()
    chart.use_names("demangled")
    assert [row.values[0] for row in model.rows] == [MANGLED]  # the filter stays
    assert model.texts(1)[0] == WHOLE


def test_the_page_follows_the_setting(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    session, settings = Session(), Settings(None)
    settings.set("names", "base")
    view = DashboardView(session, tasks, settings=settings)
    qtbot.addWidget(view)
    view.resize(1100, 800)
    view.show()
    session.open(make_profile(tmp_path / "profile", MANGLED_KERNEL))
    qtbot.waitUntil(lambda: view.is_final)
    card = next(card for card in view.cards if card.panel.key == "top_kernels_by_time")
    chart = card.chart
    assert isinstance(chart, PieChart) and chart.legend.rows.rows[0][0] == BASE
    settings.set("names", "demangled")
    assert not view.is_final
    qtbot.waitUntil(lambda: view.is_final)
    assert card.chart is chart and chart.legend.rows.rows[0][0] == WHOLE


def test_the_details_tell_the_form_and_what_was_recorded(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "profile", MANGLED_KERNEL)
    for form, shown in (("recorded", MANGLED), ("demangled", WHOLE), ("base", BASE)):
        rows = dict(slices.describe(profile, SliceRef(0, "device", 0), form)[0].rows)
        assert rows["Name"] == shown
        assert rows.get("Recorded as") == (None if form == "recorded" else MANGLED)
        assert rows.get("Demangled") == (None if form == "demangled" else WHOLE)
    operators = [
        row
        for row in range(len(profile.processes[0].table("host")))
        if slices.describe(profile, SliceRef(0, "host", row), "base")[0].rows[0][1] == "aten::mm(4)"
    ]
    assert len(operators) == 1  # the name of no kernel is cut


def test_the_panes_follow_the_setting(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    session, settings = Session(), Settings(None)
    page = TimelinePage(session, tasks, settings)
    qtbot.addWidget(page)
    page.resize(1400, 900)
    page.show()
    profile = make_profile(tmp_path / "profile", MANGLED_KERNEL)
    session.open(profile)
    qtbot.waitUntil(lambda: page.timeline.is_final)
    session.select(SliceRef(0, "device", 0))
    session.select_area(Area(profile.begin_ns, profile.end_ns, None))
    for pane, shown in (
        (page.details, lambda: str(page.details.table.model().index(1, 1).data())),
        (page.histogram, page.histogram.head.text),
        (page.connections, lambda: page.connections.model.texts(0)[3]),
        (page.area, lambda: {row.total.table: row.name for row in page.area.names.model.rows}["device"]),
    ):
        settings.set("names", "recorded")
        page.show_pane(pane)
        qtbot.waitUntil(lambda: page.is_final)
        for form, name in (("recorded", MANGLED), ("demangled", WHOLE), ("base", BASE)):
            settings.set("names", form)
            qtbot.waitUntil(lambda shown=shown, name=name: shown() == name)  # type: ignore[misc]
