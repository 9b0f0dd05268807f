"""Device slices of a trace: placed, shaped, and held back until every launch is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smprof.profile.schema import COPY_KINDS, DEVICE_KINDS, NONE
from smprof_desktop.importers.arguments import Arguments, Leftover
from smprof_desktop.importers.document import Event
from smprof_desktop.importers.rows import ARGS_TABLES, ArgRows, Recorder, Sink, append_args
from smprof_desktop.importers.threads import Id, number

I64 = NDArray[np.int64]

_COPY_KIND = re.compile("|".join(COPY_KINDS[:-1]))
_STREAM = re.compile(r"\s*stream\s+(-?\d{1,18})\s*", re.IGNORECASE)
_INT32_MAX = (1 << 31) - 1
_TRIPLE = msgspec.json.Decoder(tuple[int, int, int])


@dataclass
class Chunk:
    """Device slices of one category and piece; `lanes` are their pids and tids where no correlation is recorded."""

    kind: int
    device: I64
    stream: I64
    start_ns: I64
    duration_ns: I64
    shape_id: I64
    correlation: I64
    external_id: I64
    context: I64
    graph: I64
    graph_node: I64
    bytes: I64
    copy_kind: I64
    lanes: list[tuple[Id, Id]]
    args: ArgRows | None


def place(events: Sequence[Event], arguments: Arguments) -> tuple[I64, I64, I64]:
    """Device and stream of events, and the positions of those that lack one of them.

    They come from the arguments, else from pid and tid (`stream 7` is 7), else they are -1.
    """
    device = arguments.take_integers("device", low=0, high=_INT32_MAX)
    stream = arguments.take_integers("stream", low=0)
    for column, ids, high in (
        (device, [e.pid for e in events], _INT32_MAX),
        (stream, [e.tid for e in events], (1 << 63) - 1),
    ):
        missing = np.flatnonzero(column == NONE)
        if len(missing):
            known = {value: _place_of(value, high) for value in set(ids)}
            column[missing] = [known[ids[row]] for row in missing.tolist()]
    return device, stream, np.flatnonzero((device == NONE) | (stream == NONE))


def _place_of(value: Id, high: int) -> int:
    found = _STREAM.fullmatch(value) if isinstance(value, str) else None
    place_of = int(found[1]) if found else number(value)
    return place_of if isinstance(place_of, int) and 0 <= place_of <= high else NONE


class Executions:
    """The device slices of one process."""

    def __init__(self, process: Sink) -> None:
        self.chunks: list[Chunk] = []
        self._process = process
        self._shapes: dict[tuple[Any, ...], int] = {}
        self._copy_kinds: dict[int, int] = {}

    def add(
        self,
        kind: str,
        events: list[Event],
        start_ns: I64,
        duration_ns: I64,
        name_ids: I64,
        arguments: Arguments,
        text_of: Callable[[int], str],
    ) -> I64:
        """Hold slices back; the positions of those without device or stream. `text_of` gives the text of a name id."""
        device, stream, unplaced = place(events, arguments)
        take = arguments.take_integers
        correlation = take("correlation", low=1)
        missing = np.flatnonzero(correlation == NONE).tolist()
        copy_kind = np.full(len(events), NONE, dtype=np.int64)
        if kind == "memcpy":
            copy_kind = self._copy_kinds_of(name_ids, arguments, text_of)
        self.chunks.append(
            Chunk(
                kind=DEVICE_KINDS.index(kind),
                device=device,
                stream=stream,
                start_ns=start_ns,
                duration_ns=duration_ns,
                shape_id=self._shape_ids(name_ids, arguments),
                correlation=correlation,
                external_id=take("External id", "external id"),
                context=take("context", low=0),
                graph=take("graph id", low=0),
                graph_node=take("graph node id", low=0),
                bytes=take("bytes", low=0),
                copy_kind=copy_kind,
                lanes=[(events[row].pid, events[row].tid) for row in missing],
                args=_args_of(arguments),
            )
        )
        return unplaced

    def column(self, name: str) -> I64:
        """One column of all slices held back."""
        parts = [getattr(chunk, name) for chunk in self.chunks]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def without_correlation(self) -> list[tuple[Chunk, int, tuple[Id, Id]]]:
        """Chunk, position and (pid, tid) of every slice without correlation id."""
        return [
            (chunk, row, lane)
            for chunk in self.chunks
            for row, lane in zip(np.flatnonzero(chunk.correlation == NONE).tolist(), chunk.lanes, strict=True)
        ]

    def write(self, launch_correlation: I64, launch_external: I64, launch_start_ns: I64) -> None:
        """Write all slices, with the external id only where it differs from that of the launch.

        The columns are of all API calls.
        """
        order = np.lexsort((launch_start_ns, launch_correlation))
        ids, first = np.unique(launch_correlation[order], return_index=True)
        external = launch_external[order][first]
        for chunk in self.chunks:
            if len(ids):
                at = np.minimum(np.searchsorted(ids, chunk.correlation), len(ids) - 1)
                same = (ids[at] == chunk.correlation) & (chunk.correlation > 0) & (external[at] == chunk.external_id)
                chunk.external_id = np.where(same, NONE, chunk.external_id)
            written = self._process.append(
                "device",
                {
                    "kind": np.full(len(chunk.device), chunk.kind, dtype=np.uint8),
                    **{name: getattr(chunk, name) for name in WRITTEN},
                    **(
                        {"copy_kind": [COPY_KINDS[kind] for kind in chunk.copy_kind.tolist()]}
                        if chunk.kind == 1
                        else {}
                    ),
                },
            )
            if chunk.args is not None:
                bases = np.zeros(len(ARGS_TABLES), dtype=np.int64)
                bases[ARGS_TABLES.index("device")] = written[0]
                append_args(self._process, chunk.args, bases)

    def _shape_ids(self, name_ids: I64, arguments: Arguments) -> I64:
        columns: list[list[Any]] = [name_ids.tolist()]
        columns += [arguments.take_parsed(key, _triple) for key in ("grid", "block")]
        for key in ("registers per thread", "shared memory"):
            columns.append([None if value == NONE else value for value in arguments.take_integers(key, low=0).tolist()])
        for key in ("blocks per SM", "warps per SM", "est. achieved occupancy %"):
            columns.append([None if value != value else value for value in arguments.take_floats(key).tolist()])
        known, ids = self._shapes, []
        for shape in zip(*columns, strict=True):
            found = known.get(shape)
            if found is None:
                found = known[shape] = self._process.shape_id(*shape)
            ids.append(found)
        return np.array(ids, dtype=np.int64)

    def _copy_kinds_of(self, name_ids: I64, arguments: Arguments, text_of: Callable[[int], str]) -> I64:
        """Direction by the name, by the argument `kind` where the name does not tell, else Other."""
        for name in set(name_ids.tolist()) - self._copy_kinds.keys():
            self._copy_kinds[name] = _copy_kind(text_of(name))
        kinds = np.array([self._copy_kinds[name] for name in name_ids.tolist()], dtype=np.int64)
        untold = np.flatnonzero(kinds == NONE)
        if len(untold):
            stated = arguments.take_parsed("kind", lambda text: _stated_kind(text))
            kinds[untold] = [
                COPY_KINDS.index("Other") if stated[row] is None else stated[row] for row in untold.tolist()
            ]
        return kinds


WRITTEN = (
    "device",
    "stream",
    "start_ns",
    "duration_ns",
    "shape_id",
    "correlation",
    "external_id",
    "context",
    "graph",
    "graph_node",
    "bytes",
)


def _args_of(arguments: Arguments) -> ArgRows | None:
    """What no column took of the arguments of device slices, whose ids count from 0."""
    recorder = Recorder()
    write_leftovers(recorder, "device", np.arange(len(arguments), dtype=np.int64), arguments.leftovers())
    return recorder.finish().args


def write_leftovers(process: Sink, table: str, ids: I64, leftovers: Iterable[Leftover]) -> None:
    """Write what no column took of the arguments of rows that were given `ids`."""
    code = ARGS_TABLES.index(table)
    for left in leftovers:
        for part in _writable(left):
            columns = {
                "table": np.full(len(part.rows), code, dtype=np.uint8),
                "key": part.keys(),
                "id": ids[part.rows],
                "integer": part.integers,
                "text": part.texts,
            }
            process.append("args", columns)


def _writable(left: Leftover) -> Iterable[Leftover]:
    """The leftover with every integer NONE, which means absent in a column of integers, as text."""
    if left.integers is None or not (left.integers == NONE).any():
        return (left,)
    none = left.integers == NONE
    texts = pa.repeat(pa.scalar(str(NONE), pa.large_string()), int(none.sum()))
    as_text = Leftover(left.key_of(none), left.rows[none], None, texts)
    rest = Leftover(left.key_of(~none), left.rows[~none], left.integers[~none], None)
    return (as_text, rest) if len(rest.rows) else (as_text,)


def _triple(text: bytes) -> tuple[int, int, int] | None:
    try:
        triple = _TRIPLE.decode(text)
    except msgspec.DecodeError:
        return None
    return triple if all(0 <= value < 1 << 63 for value in triple) else None


def _copy_kind(text: str) -> int:
    found = _COPY_KIND.search(text)
    return COPY_KINDS.index(found[0]) if found else NONE


def _stated_kind(text: bytes) -> int | None:
    kind = _copy_kind(text.decode(errors="replace"))
    return None if kind == NONE else kind
