"""Writes the tables of FORMAT.md from the schema, so that they cannot differ: `python packaging/format_tables.py`."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa

from smprof.profile.schema import LANE_KEYS, LOSS_KINDS, SORT_KEYS, TABLES, Column

FORMAT = Path(__file__).resolve().parent.parent / "FORMAT.md"

MEANINGS = {
    "names": "every name of the process once",
    "shapes": "every launch shape (name, grid, block, registers, shared memory) once",
    "device": "what ran on GPUs: kernels, memory copies and sets",
    "host": "what ran on the host: API calls, operators, Python frames, synchronisation records, overhead",
    "annotation": "ranges that the user or a framework named",
    "counter": "samples of numbers over time, memory records included",
    "args": "free-form arguments of imported records, one row per argument",
    "lane_rows": "one row per line of a lane that holds slices, then one per union of a device's lines",
    "ladder": "level of detail per lane row, by (lane_row, level, bin)",
}


def type_name(column: Column) -> str:
    """The column's type in Parquet's words."""
    if column.choices:
        return "string: " + ", ".join(f"`{choice}`" for choice in column.choices)
    if pa.types.is_dictionary(column.type) or pa.types.is_large_string(column.type):
        return "string"
    if pa.types.is_large_binary(column.type):
        return "bytes"
    return str(column.type)


def tables() -> str:
    """All tables as Markdown."""
    parts = []
    for table, columns in TABLES.items():
        parts.append(f"### `{table}` — {MEANINGS[table]}\n")
        if table in SORT_KEYS:
            parts.append(f"Sorted by {', '.join(f'`{key}`' for key in SORT_KEYS[table])}.")
        if table in LANE_KEYS:
            parts.append(f"One lane row: equal {', '.join(f'`{key}`' for key in LANE_KEYS[table])}.")
        parts.append("\n| column | type | null | meaning |\n|---|---|---|---|")
        parts += [
            f"| `{column.name}` | {type_name(column)} | {'yes' if column.nullable else ''} | {column.meaning} |"
            for column in columns
        ]
        parts.append("")
    return "\n".join(parts)


def losses() -> str:
    """The kinds of losses as Markdown."""
    rows = [f"| `{kind}` | {meaning} |" for kind, meaning in LOSS_KINDS.items()]
    return "\n".join(["| kind | what is counted |", "|---|---|", *rows, ""])


def filled(text: str) -> str:
    """FORMAT.md with its generated parts replaced."""
    for mark, part in (("tables", tables()), ("losses", losses())):
        pattern = re.compile(rf"<!-- {mark} -->\n.*?(?=\n##+ [A-Z]|\Z)", re.DOTALL)
        found = pattern.search(text)
        if found:
            text = f"{text[: found.start()]}<!-- {mark} -->\n\n{part}{text[found.end() :]}"
    return text


if __name__ == "__main__":
    FORMAT.write_text(filled(FORMAT.read_text(encoding="utf-8")), encoding="utf-8")
