"""NVTX_EVENTS of an Nsight Systems export → annotations; what is no range is counted or names something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from smprof_desktop.importers.nsight_database import ABSENT, I64, Lose, Rows, Texts
from smprof_desktop.importers.nsight_process import ProcessImport

_RANGES = (59, 60, 70, 71)
_BEGINS = (35, 37, 66, 68)
_ENDS = (36, 38, 67, 69)
_MARKS = (34, 65)
_CATEGORIES = (33, 64)
_THREADS = (39, 72)
_DOMAIN = 75
_SILENT = (76,)
"""The end of a domain says nothing."""

_SAID = ("eventType", "text", "textId", "domainId", "category", "jsonText", "jsonTextId", "endGlobalTid")
_MOST_NAME_CHARACTERS = 200

Timed = Callable[[Rows], tuple[Rows, dict[str, I64]]]


class NvtxImport:
    """The NVTX events of one export. Ranges without an end wait until every other slice is known."""

    def __init__(self, texts: Texts, lose: Lose) -> None:
        self._texts = texts
        self._lose = lose
        self._timed: Timed | None = None
        self._open: list[tuple[ProcessImport, Rows]] = []
        self._domains: dict[tuple[int, int], str] = {}
        self._categories: dict[tuple[int, int, int], str] = {}

    def read(self, rows: Rows, parts: Iterator[tuple[ProcessImport, Rows]], timed: Timed) -> None:
        """Write the closed ranges of all processes. `timed` gives start and duration of rows that have both."""
        self._timed = timed
        for process, part in parts:
            kind = part.integer("eventType")
            self._learn(process, part, kind)
            begun = np.isin(kind, _BEGINS)
            ranges = np.isin(kind, _RANGES) | begun | (kind == ABSENT)
            is_open = ranges & ((part.integer("end") == ABSENT) | begun) & (part.integer("start") != ABSENT)
            self._count("instant", np.isin(kind, _MARKS), rows.table, "marks")
            self._count("unmatched_end", np.isin(kind, _ENDS), rows.table, "")
            known = ranges | np.isin(kind, (*_MARKS, *_ENDS, *_CATEGORIES, *_THREADS, _DOMAIN, *_SILENT))
            for number in np.unique(kind[~known]).tolist():
                self._count("unshown_record", kind == number, rows.table, f"events of type {number}")
            if is_open.any():
                self._open.append((process, part.take(np.flatnonzero(is_open))))
            closed = np.flatnonzero(ranges & ~is_open)
            if len(closed):
                self._write(process, *timed(part.take(closed)))

    def write_open(self) -> None:
        """Draw the ranges that have no end to the last end of their process."""
        for process, rows in self._open:
            assert self._timed is not None
            rows.integers["end"] = rows.integer("start")
            rows, times = self._timed(rows)
            if not rows.count:
                continue
            self._lose("unmatched_begin", rows.count, f"table {rows.table}")
            start = times["start_ns"]
            last = max(int(start.max()), process.window_ns[1] if process.window_ns is not None else int(start.max()))
            self._write(process, rows, {"start_ns": start, "duration_ns": last - start})

    def _count(self, kind: str, mask: Any, table: str, what: str) -> None:
        self._lose(kind, int(np.count_nonzero(mask)), f"table {table}: {what}" if what else f"table {table}")

    def _codes(self, rows: Rows) -> I64:
        """Texts of the events: inline, else by id."""
        by_id = self._texts.of_ids(rows.integer("textId"))
        inline = rows.texts.get("text")
        return by_id if inline is None else np.where(inline >= 0, inline, by_id)

    def _learn(self, process: ProcessImport, rows: Rows, kind: I64) -> None:
        """Names of domains, categories and threads."""
        naming = np.flatnonzero(np.isin(kind, (*_CATEGORIES, *_THREADS, _DOMAIN)))
        if not len(naming):
            return
        part = rows.take(naming)
        columns = (kind[naming], part.integer("domainId"), part.integer("category"), part.integer("globalTid"))
        for (event, domain, category, thread), code in zip(
            zip(*(column.tolist() for column in columns), strict=True), self._codes(part).tolist(), strict=True
        ):
            text = " ".join(self._texts.text(code).split())[:_MOST_NAME_CHARACTERS]
            if event == _DOMAIN:
                self._domains[process.key, domain] = text
            elif event in _CATEGORIES:
                self._categories[process.key, domain, category] = text
            else:
                process.thread_names[thread] = text

    def _write(self, process: ProcessImport, rows: Rows, times: dict[str, I64]) -> None:
        if not rows.count:
            return
        codes = self._codes(rows)
        missing = codes < 0
        asked = missing & (rows.integer("textId") != ABSENT)
        self._count("missing_names", asked, rows.table, "")
        if missing.any():
            codes = np.where(missing, self._texts.code(b"unnamed (NVTX)"), codes)
        process.annotations(rows, process.name_ids(codes), times, _SAID, self._told(process, rows))

    def _told(self, process: ProcessImport, rows: Rows) -> dict[str, list[Any]]:
        """Domain, category, JSON payload and the thread of the end, in words."""
        told: dict[str, list[Any]] = {}
        domain, category = rows.integer("domainId"), rows.integer("category")
        if (domain > 0).any():
            names = {number: self._domains.get((process.key, number)) or number for number in set(domain.tolist())}
            told["domain"] = [names[number] if number > 0 else None for number in domain.tolist()]
        if (category > 0).any():
            told["category"] = [
                (self._categories.get((process.key, place, number)) or number) if number > 0 else None
                for place, number in zip(domain.tolist(), category.tolist(), strict=True)
            ]
        payload = self._texts.of_ids(rows.integer("jsonTextId"))
        if "jsonText" in rows.texts:
            payload = np.where(rows.texts["jsonText"] >= 0, rows.texts["jsonText"], payload)
        if (payload >= 0).any():
            told["payload"] = [self._texts.text(code) if code >= 0 else None for code in payload.tolist()]
        end_thread = rows.integer("endGlobalTid")
        elsewhere = (end_thread != ABSENT) & (end_thread != rows.integer("globalTid"))
        if elsewhere.any():
            threads = (end_thread & ((1 << 24) - 1)).tolist()
            told["end thread"] = [
                thread if other else None for thread, other in zip(threads, elsewhere.tolist(), strict=True)
            ]
        return told
