"""Work for a panel, process by process on every core. No Qt."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from smprof.profile.schema import SLICE_TABLES
from smprof_desktop.progress import Cancelled

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile
    from smprof_desktop.dashboard.scope import Scope

MOST_THREADS = 4
Value = TypeVar("Value")


def each_process(scope: Scope, work: Callable[[ProcessProfile], Value]) -> list[Value]:
    """What `work` returns for each process of a scope, in their order. Raises Cancelled soon after the scope is.

    Columns that are read for it alone leave memory afterwards, so that only what is at work is in it.
    """

    def borrowed(process: ProcessProfile) -> Value:
        if scope.cancelled():
            raise Cancelled
        tables = [process.table(name) for name in SLICE_TABLES]
        held = [table.columns_held() for table in tables]
        try:
            return work(process)
        finally:
            for table, columns in zip(tables, held, strict=True):
                table.forget(columns)

    processes = scope.profile.processes
    with ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_THREADS), "panel") as pool:
        tasks = [pool.submit(borrowed, process) for process in processes]
        try:
            return [task.result() for task in tasks]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def process_name(process: ProcessProfile) -> str:
    """What a process is called beside others: its rank where that is known."""
    info = process.info
    return f"rank {info.rank}" if info.rank is not None else f"process {info.process}"
