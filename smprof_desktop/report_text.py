"""A report as aligned plain text for a terminal."""

from __future__ import annotations

from typing import Any

from smprof_desktop.analysis.quantities import elide_middle
from smprof_desktop.report_tables import TableOfFigures, headline, tables

MOST_ROWS = 25
WIDEST_NAME = 72
_GAP = "  "


def text(report: dict[str, Any], most_rows: int | None = MOST_ROWS, widest_name: int = WIDEST_NAME) -> str:
    """The report as text that ends with a line break: headline, then one aligned table after the other.

    Names longer than `widest_name` characters lose their middle; each table shows `most_rows` rows and says how many
    more there are.
    """
    labels = headline(report)
    width = max(len(label) for label, _ in labels)
    lines = [f"{label:<{width}}{_GAP}{elide_middle(value, 200)}" for label, value in labels]
    for table in tables(report, most_rows):
        lines += ["", table.title + (f" – {table.note}" if table.note else ""), *_aligned(table, widest_name)]
        if table.left_out:
            lines.append(f"… and {table.left_out:,} more (--json has all of them)")
    return "\n".join(lines) + "\n"


def _aligned(table: TableOfFigures, widest_name: int) -> list[str]:
    """Names to the left, numbers to the right."""
    rows = [table.heads, *(tuple(elide_middle(cell, widest_name) for cell in row) for row in table.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.heads))]
    return [
        _GAP.join(
            cell.ljust(width) if column <= table.wide else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
