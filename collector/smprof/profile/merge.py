"""Turns the segments of a process into one file per table. The reader never sees half of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from smprof.profile import columns as cols
from smprof.profile import storage
from smprof.profile.assemble import assemble
from smprof.profile.schema import TABLES
from smprof.profile.scratch import Scratch


def merge_process(folder: Path) -> dict[str, Mapping[str, Any]]:
    """Merge whatever can be read of a process folder; gives the merged tables.

    What was lost on the way stays in the reader's ledger only. Raises ProfileError where a file is damaged: a merge
    must not make a loss permanent.
    """
    from smprof.profile.contents import read_raw  # a reader's module: loaded only by those that merge

    raw, covered = read_raw(folder, strict=True, scratch=Scratch(folder))
    tables = assemble(raw)
    write_merged(folder, tables, covered)
    return tables


def write_merged(folder: Path, tables: Mapping[str, Mapping[str, Any]], covered: Mapping[str, tuple[int, int]]) -> None:
    """Write merged files, then the journal that names only them, then remove what they stand for.

    Args:
        tables: as `assemble` returns them; empty ones get no file.
        covered: first and last segment number that each table's file stands for.
    """
    old = {path.name for path in folder.iterdir() if storage.parse_file_name(path.name)}

    def write(table: str) -> storage.JournalLine:
        first, last = covered.get(table, (1, 1))
        return storage.write_table(folder, f"{table}-{first:06}-{last:06}.parquet", tables[table])

    # Compressing and syncing leave the interpreter free for the other tables.
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        lines = list(pool.map(write, [table for table in TABLES if cols.length_of(tables[table])]))
    storage.replace_journal(folder, lines)
    for name in sorted(old - {line.file for line in lines}):
        (folder / name).unlink()
