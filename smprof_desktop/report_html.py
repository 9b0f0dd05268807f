"""A report as one self-contained HTML page: no script, nothing fetched, every name escaped."""

from __future__ import annotations

from html import escape
from typing import Any

from smprof_desktop.report_tables import TableOfFigures, headline, tables

_STYLE = """
:root { color-scheme: light dark; }
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; }
table { border-collapse: collapse; margin: .4em 0 1.6em; }
th, td { padding: .15em .9em .15em 0; text-align: right; vertical-align: top; white-space: nowrap; }
th { border-bottom: 1px solid; }
.name { text-align: left; white-space: normal; overflow-wrap: anywhere; max-width: 60em; }
p { margin: 0; opacity: .75; }
"""


def html(report: dict[str, Any]) -> str:
    """The report as an HTML document, every row of every table; steps by name, as in the text."""
    title = escape(report["profile"]["name"] or "Profile")
    facts = "".join(
        f'<tr><th class="name">{escape(label)}</th><td class="name">{escape(value)}</td></tr>'
        for label, value in headline(report)
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body><h1>{title}</h1>\n<table>{facts}</table>\n"
        + "\n".join(_section(table) for table in tables(report))
        + "\n</body></html>\n"
    )


def _section(table: TableOfFigures) -> str:
    rows = "\n".join(f"<tr>{_cells(row, table.wide, 'td')}</tr>" for row in table.rows)
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    heads = f"<tr>{_cells(table.heads, table.wide, 'th')}</tr>"
    return f"<h2>{escape(table.title)}</h2>{note}\n<table>{heads}\n{rows}</table>"


def _cells(row: tuple[str, ...], wide: int, tag: str) -> str:
    return "".join(
        f'<{tag} class="name">{escape(cell)}</{tag}>' if column <= wide else f"<{tag}>{escape(cell)}</{tag}>"
        for column, cell in enumerate(row)
    )
