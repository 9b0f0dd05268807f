"""The Connections pane: both ends of a link, sorted, copied and followed through Qt's own events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from smprof.profile.manifest import Manifest, Process
from smprof.profile.reader import Profile
from smprof.profile.writer import ProfileWriter
from smprof_desktop.session import Session, SliceRef
from smprof_desktop.tasks import Tasks
from smprof_desktop.window import connections as pane_module
from smprof_desktop.window.connections import ConnectionsPane
from tests.make_profile import make_profile

TEXT = """
process 0 pid=1
thread 1 main
api 1 1000+100 cudaGraphLaunch corr=5
kernel 0/7 1500+300 long<float> corr=5
kernel 0/8 1400+100 short corr=5
kernel 0/7 900+20 early corr=5
kernel 0/7 5000+20 lone
op 1 100+50 aten::mm sequence=3
op 2 9000+70 MmBackward0 sequence=3 forward=1
annotation 1 0+10 step_0
"""
CALL = SliceRef(0, "host", 0)

Centred = list[tuple[SliceRef, int]]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session()
    session.open(make_profile(tmp_path / "p", TEXT))
    return session


@pytest.fixture
def centred() -> Centred:
    return []


@pytest.fixture
def pane(qtbot: QtBot, session: Session, centred: Centred) -> Iterator[ConnectionsPane]:
    tasks = Tasks()

    def centre(ref: SliceRef, begin_ns: int) -> None:
        centred.append((ref, begin_ns))
        session.select(ref)

    pane = ConnectionsPane(session, tasks, centre)
    qtbot.addWidget(pane)
    pane.resize(1200, 300)
    with qtbot.waitExposed(pane):
        pane.show()
    yield pane
    assert tasks.close()


def select(qtbot: QtBot, session: Session, pane: ConnectionsPane, ref: SliceRef | None) -> None:
    session.select(ref)
    qtbot.waitUntil(lambda: pane.is_final)


def named(session: Session, name: str) -> SliceRef:
    from smprof_desktop.analysis import slices

    assert session.profile is not None
    found = slices.find(session.profile, name)
    assert found is not None
    return found


def column(pane: ConnectionsPane, number: int) -> list[str]:
    return [str(pane.model.index(row, number).data()) for row in range(pane.model.rowCount())]


def text_of(pane: ConnectionsPane) -> str:
    return pane._note.text()


def test_a_graph_launch_lists_all_its_executions(qtbot: QtBot, session: Session, pane: ConnectionsPane) -> None:
    assert pane.is_empty and "Nothing is selected" in text_of(pane)
    select(qtbot, session, pane, CALL)
    assert text_of(pane) == "cudaGraphLaunch launched 3 executions; 1 of them starts before the launch."
    assert pane.model.texts(0) == [
        "cudaGraphLaunch", "thread 1 (main)", "1.000 µs (1,000 ns)",
        "early", "GPU-0, stream 7", "900 ns", "20 ns", "-100 ns", "-200 ns",
    ]  # fmt: skip
    assert column(pane, 3) == ["early", "short", "long<float>"]
    assert column(pane, 4) == ["GPU-0, stream 7", "GPU-0, stream 8", "GPU-0, stream 7"]
    assert column(pane, 7) == ["-100 ns", "400 ns", "500 ns"]
    assert pane.table.isVisible() and not pane.is_empty


def test_an_execution_shows_the_same_and_its_own_line_is_marked(
    qtbot: QtBot, session: Session, pane: ConnectionsPane
) -> None:
    select(qtbot, session, pane, named(session, "long<float>"))
    assert pane.model.rowCount() == 3 and pane.table.currentIndex().row() == 2
    shown = pane.model.found
    select(qtbot, session, pane, named(session, "short"))
    assert pane.model.found is shown and pane.table.currentIndex().row() == 1


def test_columns_are_sorted_by_a_click_on_their_heading(qtbot: QtBot, session: Session, pane: ConnectionsPane) -> None:
    select(qtbot, session, pane, CALL)
    header = pane.table.horizontalHeader()

    def click(section: int) -> None:
        x_px = header.sectionViewportPosition(section) + 12
        QTest.mouseClick(
            header.viewport(), Qt.MouseButton.LeftButton, pos=header.viewport().rect().topLeft() + _point(x_px)
        )

    click(6)
    assert column(pane, 6) == ["20 ns", "100 ns", "300 ns"]
    click(6)
    assert column(pane, 3) == ["long<float>", "short", "early"]
    click(3)
    assert column(pane, 3) == ["early", "long<float>", "short"]
    select(qtbot, session, pane, named(session, "short"))
    assert pane.table.currentIndex().row() == 2
    click(6)
    assert pane.table.currentIndex().row() == column(pane, 3).index("short") == 1


def _point(x_px: int):  # type: ignore[no-untyped-def]
    from PySide6.QtCore import QPoint

    return QPoint(x_px, 8)


def test_a_click_or_enter_centres_the_end_that_the_cell_speaks_of(
    qtbot: QtBot, session: Session, pane: ConnectionsPane, centred: Centred
) -> None:
    select(qtbot, session, pane, CALL)
    for cell, expected in (((1, 3), (named(session, "short"), 1400)), ((2, 0), (CALL, 1000))):
        place = pane.table.visualRect(pane.model.index(*cell)).center()
        QTest.mouseClick(pane.table.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert centred[-1] == expected and session.selection == expected[0]
    QTest.mouseClick(pane.table.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier, pos=place)
    assert len(centred) == 2
    pane.table.setCurrentIndex(pane.model.index(0, 5))
    QTest.keyClick(pane.table, Qt.Key.Key_Return)
    assert centred[-1] == (named(session, "early"), 900)


def test_lines_are_copied_with_headings(
    qtbot: QtBot, session: Session, pane: ConnectionsPane, monkeypatch: pytest.MonkeyPatch
) -> None:
    select(qtbot, session, pane, CALL)
    pane.table.selectRow(1)
    QTest.keyClick(pane.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert len(lines) == 2 and lines[0].startswith("From\tLane\tStart\tTo") and "\tshort\t" in lines[1]
    pane.table.clearSelection()
    monkeypatch.setattr(pane_module, "MAX_COPIED", 2)
    pane.copy_selected()
    assert QGuiApplication.clipboard().text().splitlines()[-1] == "and 1 more"


def test_forward_and_backward_operators_are_connected(qtbot: QtBot, session: Session, pane: ConnectionsPane) -> None:
    select(qtbot, session, pane, named(session, "MmBackward0"))
    assert text_of(pane) == "aten::mm has 1 backward operator."
    assert column(pane, 3) == ["MmBackward0"] and column(pane, 4) == ["thread 2"]


def test_what_has_no_connection_says_why(qtbot: QtBot, session: Session, pane: ConnectionsPane) -> None:
    select(qtbot, session, pane, named(session, "lone"))
    assert text_of(pane).startswith("Launch not known: no correlation id was recorded.") and pane.is_empty
    select(qtbot, session, pane, named(session, "step_0"))
    assert text_of(pane).startswith("This slice takes part in no connection.")
    select(qtbot, session, pane, None)
    assert "Nothing is selected" in text_of(pane) and not pane.table.isVisible()


def test_nothing_is_gathered_while_nobody_sees_it(qtbot: QtBot, session: Session, pane: ConnectionsPane) -> None:
    pane.hide()
    session.select(CALL)
    qtbot.wait(20)
    assert pane.model.rowCount() == 0 and pane.is_final
    pane.show()
    qtbot.waitUntil(lambda: pane.model.rowCount() == 3)


def test_a_hundred_thousand_executions_make_no_more_texts_than_are_seen(
    qtbot: QtBot, session: Session, pane: ConnectionsPane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = ProfileWriter(tmp_path / "many", Manifest(name="many"))
    process = writer.process(Process(host="algo-1", process="0"))
    count, shape = 100_000, process.shape_id(process.name_id("node"))
    call = {"kind": ["api"], "thread": [1], "start_ns": [0], "duration_ns": [5]}
    process.append("host", {**call, "name_id": [process.name_id("cudaGraphLaunch")], "correlation": [9]})
    columns = {"device": np.zeros(count, np.int32), "stream": np.full(count, 7), "shape_id": np.full(count, shape)}
    times = {"start_ns": np.arange(count) * 10 + 10, "duration_ns": np.arange(count)[::-1] % 7 + 1}
    process.append("device", {**columns, **times, "kind": np.zeros(count, np.uint8), "correlation": np.full(count, 9)})
    writer.finish()
    session.open(Profile.open(tmp_path / "many"))
    made = 0
    original = type(pane.model)._text

    def counted(*arguments: object) -> str:
        nonlocal made
        made += 1
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(type(pane.model), "_text", counted)
    select(qtbot, session, pane, SliceRef(0, "host", 0))
    assert pane.model.rowCount() == count
    pane.table.sortByColumn(6, Qt.SortOrder.DescendingOrder)
    select(qtbot, session, pane, SliceRef(0, "device", 77_777))
    pane.grab()
    assert pane.table.visualRect(pane.table.currentIndex()).intersects(pane.table.viewport().rect())
    assert made < 5_000
