"""The one table of figures: what is chosen in it outlasts sorting, and numbers begin with the greatest."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from smprof_desktop.dashboard.figures_table import Column, FiguresModel, FiguresTable


@dataclass(frozen=True)
class Figure:
    name: str
    count: int


COLUMNS: tuple[Column[Figure], ...] = (
    Column("Name", lambda row: row.name, lambda row: row.name, "name", is_number=False),
    Column("Count", lambda row: f"{row.count:,}", lambda row: row.count, "count"),
)


@pytest.fixture
def table(qtbot: QtBot) -> FiguresTable:
    made = FiguresTable("Names", FiguresModel(COLUMNS, lambda rows: None, lambda row: row.name), "names.csv", None)
    qtbot.addWidget(made)
    made.resize(400, 120)
    made.model.fill([Figure(f"name {number:03d}", (number * 37) % 101) for number in range(100)])
    with qtbot.waitExposed(made):
        made.show()
    return made


def shown(table: FiguresTable) -> list[str]:
    return [table.model.texts(row)[0] for row in range(1, table.model.rowCount())]


def test_what_is_chosen_stays_chosen_and_in_sight_when_sorted(qtbot: QtBot, table: FiguresTable) -> None:
    table.view.selectRow(3)
    name = table.model.texts(3)[0]
    table.view.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    (chosen,) = table.view.selectionModel().selectedRows()
    assert table.model.texts(chosen.row())[0] == name
    assert table.view.viewport().rect().intersects(table.view.visualRect(chosen))


def test_sorting_begins_with_the_greatest_at_the_top(qtbot: QtBot, table: FiguresTable) -> None:
    table.view.verticalScrollBar().setValue(table.view.verticalScrollBar().maximum())
    header = table.view.horizontalHeader()
    at = header.sectionViewportPosition(1) + 10
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(at, 5))
    counts = [row.count for row in table.model.rows]
    assert counts == sorted(counts, reverse=True)
    assert table.view.verticalScrollBar().value() == 0


def test_names_begin_with_the_first(qtbot: QtBot, table: FiguresTable) -> None:
    table.view.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    header = table.view.horizontalHeader()
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(10, 5))
    assert shown(table) == sorted(shown(table))
