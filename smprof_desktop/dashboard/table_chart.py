"""Tables of a panel: any number of rows, each a door."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from PySide6.QtWidgets import QSizePolicy, QVBoxLayout

from smprof_desktop.analysis.doors import Door
from smprof_desktop.analysis.names import FORMS, in_form
from smprof_desktop.dashboard import figures
from smprof_desktop.dashboard.cells import cell_text, exact_text, is_number, saved_title
from smprof_desktop.dashboard.chart import LEADS, Chart, door_at
from smprof_desktop.dashboard.figures import Kind, Table
from smprof_desktop.dashboard.figures_table import Column, FiguresModel, FiguresTable

MOST_ROWS, LEAST_ROWS = 14, 3
"""Rows that a panel is high; the others are scrolled to."""


@dataclass(frozen=True)
class TableRow:
    """A row of a panel's table and where it leads."""

    values: tuple[Any, ...]
    door: Door | None = None
    column_doors: Mapping[int, Door | None] = field(default_factory=dict)
    """Of columns whose numbers lead elsewhere than the row."""

    def door_of(self, column: int) -> Door | None:
        """Where a cell leads."""
        return self.column_doors.get(column, self.door)


class TableChart(Chart):
    """The rows in the order given, until a heading is clicked."""

    def __init__(self, figure: Table, title: str) -> None:
        super().__init__()
        self._form = FORMS[0]
        self._kinds = [column.kind for column in figure.columns]
        own = figure.column_doors
        rows = [
            TableRow(
                tuple(values),
                door_at(figure.doors, place),
                {column: door_at(doors, place) for column, doors in own.items()},
            )
            for place, values in enumerate(figure.rows)
        ]
        totals = None if figure.totals is None else TableRow(tuple(figure.totals))
        texts = [place for place, column in enumerate(figure.columns) if not is_number(column.kind)]
        columns = [
            self._column(place, column, leads=place == 0 and any(row.door for row in rows))
            for place, column in enumerate(figure.columns)
        ]
        model = FiguresModel(columns, lambda _rows: totals, partial(self._searched, texts))
        file_name = f"{re.sub(r'[^a-z0-9]+', '-', title.lower()).strip('-')}.csv"
        self.table = FiguresTable(title, model, file_name, None, "rows", shows_title=False)
        model.fill(rows)
        self.table.chosen_at.connect(lambda row, column: self.open_door(row.door_of(column)))
        # As high as its rows: a view's own hint would be that of some ten rows, be there but one.
        self.table.view.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.table)
        self.setMinimumHeight(self.table.height_px(max(LEAST_ROWS, min(len(rows), MOST_ROWS))))

    def use_names(self, form: str) -> None:
        """The filter and the order stay."""
        if form != self._form:
            self._form = form
            if "kernel" in self._kinds:
                self.table.model.renew()

    def _text(self, row: TableRow, place: int, kind: Kind) -> str:
        text = cell_text(row.values[place], kind)
        return in_form(text, self._form) if kind == "kernel" else text

    def _searched(self, texts: Sequence[int], row: TableRow) -> str:
        """What the filter looks in: names as they are shown and as they were recorded."""
        return "\n".join(f"{row.values[place]}\n{self._text(row, place, self._kinds[place])}" for place in texts)

    def _column(self, place: int, column: figures.Column, leads: bool) -> Column[TableRow]:
        kind = column.kind

        def told(row: TableRow) -> str:
            text = exact_text(row.values[place], kind)
            return f"{text}\n{LEADS}" if leads and row.door is not None else text

        return Column(
            column.title,
            lambda row: self._text(row, place, kind),
            lambda row: row.values[place],
            saved_title(column.title, kind),
            is_number(kind),
            column.help,
            told if leads or _is_rounded(kind) else None,
            (lambda row: self._text(row, place, kind)) if kind == "kernel" else None,
        )


def _is_rounded(kind: Kind) -> bool:
    """Whether there is more to tell than what is shown."""
    return kind in ("kernel", "ns", "bytes", "bytes_per_s", "percent", "number")
