"""The free-form arguments of some rows on their way out: found by row, without what is private."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smprof.profile.reader import ProcessProfile
from smprof.profile.schema import NONE, column
from smprof_desktop.exporters import json_text
from smprof_desktop.exporters.json_text import join, quoted
from smprof_desktop.exporters.private_text import REDACTED, kind_of_key
from smprof_desktop.exporters.redaction import Redactor

I64 = NDArray[np.int64]

TABLES = column("args", "table").choices


def stretch_of(process: ProcessProfile, table: str) -> tuple[int, int]:
    """First and behind-last position of a table's arguments: the arguments are sorted by table."""
    codes = process.table("args")["table"]
    code = TABLES.index(table)
    return int(np.searchsorted(codes, code, "left")), int(np.searchsorted(codes, code, "right"))


def columns(process: ProcessProfile, at: I64, redactor: Redactor) -> tuple[Any, Any, Any]:
    """Keys (text), integers (null where absent) and texts (JSON, null where absent) of the arguments at positions."""
    args = process.table("args")
    where = pa.array(at)
    keys, texts = args.arrow("key").take(where), args.arrow("text").take(where)
    # An integer of NONE stands in `text`, so NONE is absence here.
    integers = pa.array(args["integer"][at], mask=args["integer"][at] == NONE)
    if redactor.keep or not len(at):
        return keys, integers, texts
    encoded = keys.dictionary_encode()
    names: list[str] = encoded.dictionary.to_pylist()
    by_key = encoded.indices.to_numpy(zero_copy_only=False)
    maybe = pc.fill_null(pc.match_substring_regex(texts, redactor.suspicious), False)
    private = np.array([kind_of_key(name) is not None for name in names], bool)[by_key]
    hits = np.flatnonzero(pc.or_(maybe, pa.array(private)).to_numpy(zero_copy_only=False))
    if len(hits):
        known: dict[tuple[int, str], str] = {}
        chosen = texts.take(pa.array(hits)).to_pylist()
        numbers = integers.take(pa.array(hits)).to_pylist()
        new: list[str | None] = []
        for row, text, number in zip(hits.tolist(), chosen, numbers, strict=True):
            key = int(by_key[row])
            if text is None:
                new.append(json.dumps(REDACTED))
                continue
            if (key, text) not in known:
                known[key, text] = redactor.json_text(names[key], text)
            new.append(known[key, text])
            assert number is None
        mask = np.zeros(len(at), bool)
        mask[hits] = True
        texts = pc.replace_with_mask(texts, pa.array(mask), pa.array(new, texts.type))
        integers = pc.if_else(pa.array(mask), pa.scalar(None, pa.int64()), integers)
    renamed = pa.array([redactor.text(name, "names of arguments", keep_file=True) for name in names], pa.string())
    return renamed.take(encoded.indices), integers, texts


class RowArguments:
    """The arguments of one table's rows, as JSON text."""

    def __init__(self, process: ProcessProfile, table: str, redactor: Redactor) -> None:
        self._process = process
        self._redactor = redactor
        self._first, behind = stretch_of(process, table)
        ids = process.table("args")["id"][self._first : behind]
        # Sorted by row, and within one as they stand: by key.
        self._order = np.argsort(ids, kind="stable")
        self._ids = ids[self._order]

    def has(self, rows: I64) -> NDArray[np.bool_]:
        """Which rows have any."""
        return np.isin(rows, self._ids)

    def of(self, rows: I64, take: Mapping[str, NDArray[np.bool_] | None] | None = None) -> tuple[Any, dict[str, Any]]:
        """The members of each row, null where it has none. `rows` ascend.

        Those named in `take` are not among them: the second result has their values by key, null where there are none.
        A mask limits that to rows whose value is a text.
        """
        none = pa.nulls(len(rows), pa.large_string())
        if not len(self._ids) or not len(rows):
            return none, {}
        low, high = np.searchsorted(self._ids, rows[0], "left"), np.searchsorted(self._ids, rows[-1], "right")
        owners = np.searchsorted(rows, self._ids[low:high])
        mine = np.flatnonzero(rows[np.minimum(owners, len(rows) - 1)] == self._ids[low:high])
        owners, at = owners[mine], self._order[low:high][mine] + self._first
        keys, numbers, texts = columns(self._process, at, self._redactor)
        null = pa.scalar("null", pa.large_string())
        values = pc.coalesce(json_text.valid(texts), pc.cast(numbers, pa.large_string()), null)
        left = np.ones(len(at), np.bool_)
        taken = {}
        for key, mask in (take or {}).items():
            wanted = np.asarray(pc.equal(keys, key))
            if mask is not None:
                wanted = wanted & mask[owners] & np.asarray(pc.starts_with(values, '"'))
            found = np.flatnonzero(wanted)
            source = np.full(len(rows), NONE, np.int64)
            source[owners[found]] = found  # of several the last, which was written last
            taken[key] = values.take(pa.array(source, mask=source < 0))
            left[source[source >= 0]] = False
        if not left.all():
            kept = np.flatnonzero(left)
            owners, keys, values = owners[kept], keys.take(pa.array(kept)), values.take(pa.array(kept))
        encoded = keys.dictionary_encode()
        labels = pa.array([f"{quoted(key)}:" for key in encoded.dictionary.to_pylist()], pa.large_string())
        return json_text.grouped(owners, join(labels.take(encoded.indices), values), len(rows)), taken
