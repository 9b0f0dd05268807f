"""The rows of one process → trace events as JSON text, a stretch of rows at a time and whole columns at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smprof.profile.reader import ProcessProfile
from smprof.profile.schema import COPY_KINDS, DEVICE_KINDS, HOST_KINDS, LOST_NAME, NONE, SIDES
from smprof_desktop.analysis.executions import Columns
from smprof_desktop.exporters.arguments import RowArguments
from smprof_desktop.exporters.counter_events import CounterEvents
from smprof_desktop.exporters.json_text import by_code, integers, join, member, members, microseconds, quoted
from smprof_desktop.exporters.redaction import Redactor
from smprof_desktop.exporters.selection import Selection
from smprof_desktop.exporters.tracks import ROWS_AT_ONCE, Tracks, places_of

I64 = NDArray[np.int64]


MOST_CORRELATION = 1 << 53
"""Ids from here on are written as they are: readers that take every number for a double could not tell them apart."""

_API, _OP, _SYNC, _OTHER = (HOST_KINDS.index(kind) for kind in ("api", "op", "sync", "other"))
_MEMCPY = DEVICE_KINDS.index("memcpy")
_OTHER_COPY = COPY_KINDS.index("Other")
_DEVICE_SIDE = SIDES.index("device")
_DEVICE_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
_HOST_CATEGORIES = ("cuda_runtime", "cpu_op", "python_function", "cuda_sync", "overhead", "")
_SIDE_CATEGORIES = ("user_annotation", "gpu_user_annotation")
_DRIVER, _HIP = "cuda_driver", "hip_runtime"
_DRIVER_CALL = re.compile(r"cu[A-Z]")
_SHAPE_NUMBERS = {
    "registers_per_thread": "registers per thread",
    "shared_memory_bytes": "shared memory",
    "blocks_per_sm": "blocks per SM",
    "warps_per_sm": "warps per SM",
    "occupancy_percent": "est. achieved occupancy %",
}


class ProcessEvents:
    """The events of the selected rows of one process. `raise_by` is added to every correlation id."""

    def __init__(
        self, process: ProcessProfile, selection: Selection, tracks: Tracks, redactor: Redactor, raise_by: int
    ) -> None:
        self._process = process
        self._selection = selection
        self._tracks = tracks
        self._redactor = redactor
        self._raise_by = raise_by
        texts = [redactor.name(text) for text in self._names()]
        self._name_texts = texts
        # The last one is what a lost name reads as, where NONE leads to.
        self._quoted = pa.array([*map(quoted, texts), quoted(LOST_NAME)], pa.large_string())

    def greatest_correlation(self) -> int:
        """The greatest correlation id of the process, 0 where there is none."""
        return max(0, *(int(self._process.table(name)["correlation"].max(initial=0)) for name in ("device", "host")))

    def texts(self) -> Iterator[tuple[int, str]]:
        """How many rows each time, and their events with commas between them."""
        for table, text_of in (
            ("host", self._host),
            ("device", self._device),
            ("annotation", self._annotations),
        ):
            source, arguments_of = self._process.table(table), RowArguments(self._process, table, self._redactor)
            for rows in self._stretches(table):
                yield len(rows), _joined(text_of(source, rows, arguments_of))
        counters = CounterEvents(self._process, self._tracks, RowArguments(self._process, "counter", self._redactor))
        for count, texts in counters.texts(self._selection.rows["counter"], self.name_of):
            yield count, _joined(texts)
        yield from self._flows()

    def _names(self) -> list[str]:
        names = self._process.names
        texts = list(names.texts)
        raws = self._process.table("names").arrow("raw")
        for name_id in np.flatnonzero(raws.is_valid().to_numpy(zero_copy_only=False)).tolist() if len(names) else ():
            try:
                # A lone surrogate can be written as an escape; other bytes that are no text cannot.
                texts[name_id] = names.raw(name_id).decode("utf-8", "surrogatepass")
            except UnicodeDecodeError:
                continue
        return texts

    def _stretches(self, table: str) -> Iterator[I64]:
        rows = self._selection.rows[table]
        for begin in range(0, len(rows), ROWS_AT_ONCE):
            yield rows[begin : begin + ROWS_AT_ONCE]

    def name_of(self, name_ids: NDArray[Any]) -> Any:
        """The names of those ids, as JSON."""
        return self._quoted.take(pa.array(np.where(name_ids < 0, len(self._quoted) - 1, name_ids)))

    def _correlation(self, table: Columns, rows: I64) -> Any:
        values = table["correlation"][rows]
        raised = (values != NONE) & (values < MOST_CORRELATION)
        return integers(np.where(raised, values + self._raise_by, values))

    def _host(self, table: Columns, rows: I64, arguments_of: RowArguments) -> Any:
        kinds, name_ids = table["kind"][rows], table["name_id"][rows]
        is_sync = kinds == _SYNC
        # What the category was that has no kind of its own stands among the arguments.
        free, taken = arguments_of.of(rows, {"cat": kinds == _OTHER})
        args = members(
            member("External id", integers(table["external_id"][rows])),
            member("correlation", self._correlation(table, rows)),
            member("Sequence number", integers(table["sequence"][rows])),
            member("Fwd thread id", integers(table["forward_thread"][rows])),
            member("device", integers(np.where(is_sync, table["device"][rows], NONE))),
            member("stream", integers(np.where(is_sync, table["stream"][rows], NONE))),
            free,
        )
        places = places_of(
            lambda sync, device, stream, thread: (
                self._tracks.beside_stream(device, stream, "synchronisation records")
                if sync
                else self._tracks.thread(thread)
            ),
            is_sync,
            np.where(is_sync, table["device"][rows], NONE),
            np.where(is_sync, table["stream"][rows], NONE),
            np.where(is_sync, NONE, table["thread"][rows]),
        )
        categories = self._host_categories(kinds, name_ids)
        if "cat" in taken:
            categories = pc.coalesce(taken["cat"], categories)
        return _slices(table, rows, categories, self.name_of(name_ids), places, args)

    def _host_categories(self, kinds: NDArray[Any], name_ids: NDArray[Any]) -> Any:
        """Categories as JSON. Which interface an API call belongs to is told by its name alone."""
        texts = [*map(quoted, (*_HOST_CATEGORIES, _DRIVER, _HIP))]
        codes = kinds.astype(np.int64)
        calls = np.flatnonzero(kinds == _API)
        used, where = np.unique(name_ids[calls], return_inverse=True)
        of_name = [self._category_of_call(name_id) for name_id in used.tolist()]
        codes[calls] = np.array(of_name, np.int64)[where]
        return by_code(texts, np.where(codes < 0, _OTHER, codes))

    def _category_of_call(self, name_id: int) -> int:
        name = self._name_texts[name_id] if 0 <= name_id < len(self._name_texts) else ""
        if name.startswith("hip"):
            return len(_HOST_CATEGORIES) + 1
        return len(_HOST_CATEGORIES) if _DRIVER_CALL.match(name) else _API

    def _device(self, table: Columns, rows: I64, arguments_of: RowArguments) -> Any:
        shapes = self._process.table("shapes")
        shape_ids, kinds = table["shape_id"][rows], table["kind"][rows]
        launch = table["launch"][rows]
        host = self._process.table("host")
        external = table["external_id"][rows]
        if len(host):
            of_launch = host["external_id"][np.clip(launch, 0, len(host) - 1)]
            external = np.where((external == NONE) & (launch >= 0), of_launch, external)
        used, where = np.unique(shape_ids, return_inverse=True)
        name_ids = np.where(used >= 0, shapes["name_id"][np.maximum(used, 0)] if len(shapes) else NONE, NONE)
        free, _ = arguments_of.of(rows)
        args = members(
            member("External id", integers(external)),
            member("device", integers(table["device"][rows])),
            member("context", integers(table["context"][rows])),
            member("stream", integers(table["stream"][rows])),
            member("correlation", self._correlation(table, rows)),
            member("graph id", integers(table["graph"][rows])),
            member("graph node id", integers(table["graph_node"][rows])),
            member("bytes", integers(table["bytes"][rows])),
            member("kind", self._copy_kinds(table["copy_kind"][rows], kinds, name_ids, where)),
            pa.array([_shape(shapes, shape_id) for shape_id in used.tolist()], pa.large_string()).take(pa.array(where)),
            free,
        )
        places = places_of(self._tracks.stream, table["device"][rows], table["stream"][rows], table["row"][rows])
        categories = by_code([*map(quoted, _DEVICE_CATEGORIES)], np.maximum(kinds, 0))
        return _slices(table, rows, categories, self.name_of(name_ids[where]), places, args)

    def _copy_kinds(self, codes: NDArray[Any], kinds: NDArray[Any], name_ids: NDArray[Any], where: I64) -> Any:
        """The direction of copies whose name does not tell it."""
        texts = [self._process.names.text(name_id) for name_id in name_ids.tolist()]
        quiet = [not any(kind in text for kind in COPY_KINDS[:_OTHER_COPY]) for text in texts]
        shown = (kinds == _MEMCPY) & (codes >= 0) & (codes != _OTHER_COPY)
        shown &= np.array(quiet, np.bool_)[where]
        return by_code([*map(quoted, COPY_KINDS)], np.where(shown, codes, NONE))

    def _annotations(self, table: Columns, rows: I64, arguments_of: RowArguments) -> Any:
        sides = table["side"][rows]
        on_device = sides == _DEVICE_SIDE
        device = np.where(on_device, table["device"][rows], NONE)
        stream = np.where(on_device, table["stream"][rows], NONE)
        free, _ = arguments_of.of(rows)
        args = members(
            member("External id", integers(table["external_id"][rows])),
            member("device", integers(device)),
            member("stream", integers(stream)),
            free,
        )
        places = places_of(
            lambda projected, device, stream, thread: (
                self._tracks.beside_stream(device, stream, "annotations") if projected else self._tracks.thread(thread)
            ),
            on_device,
            device,
            stream,
            np.where(on_device, NONE, table["thread"][rows]),
        )
        categories = by_code([*map(quoted, _SIDE_CATEGORIES)], np.maximum(sides, 0))
        return _slices(table, rows, categories, self.name_of(table["name_id"][rows]), places, args)

    def _flows(self) -> Iterator[tuple[int, str]]:
        """An arrow from each launch to each of its executions, by correlation id."""
        device, host = self._process.table("device"), self._process.table("host")
        kept_calls = self._selection.rows["host"]
        launched: list[I64] = []
        for rows in self._stretches("device"):
            launch = device["launch"][rows]
            linked = np.flatnonzero((launch >= 0) & (launch < len(host)))
            rows = rows[linked]
            launched.append(np.unique(launch[linked]))
            places = places_of(self._tracks.stream, device["device"][rows], device["stream"][rows], device["row"][rows])
            yield 0, _joined(_flow("f", ',"bp":"e"', self._correlation(device, rows), places, device["start_ns"][rows]))
        calls = np.unique(np.concatenate(launched)) if launched else kept_calls[:0]
        for begin in range(0, len(calls), ROWS_AT_ONCE):
            rows = calls[begin : begin + ROWS_AT_ONCE]
            places = places_of(self._tracks.thread, host["thread"][rows])
            yield 0, _joined(_flow("s", "", self._correlation(host, rows), places, host["start_ns"][rows]))


def _slices(table: Columns, rows: I64, categories: Any, names: Any, places: Any, args: Any) -> Any:
    return join(
        '{"ph":"X","cat":',
        categories,
        ',"name":',
        names,
        ",",
        places,
        ',"ts":',
        microseconds(table["start_ns"][rows]),
        ',"dur":',
        microseconds(table["duration_ns"][rows]),
        ',"args":{',
        args,
        "}}",
    )


def _flow(phase: str, more: str, ids: Any, places: Any, times_ns: I64) -> Any:
    head = f'{{"ph":"{phase}","cat":"ac2g","name":"ac2g","id":'
    return join(head, ids, ",", places, ',"ts":', microseconds(times_ns), f"{more}}}")


def _shape(shapes: Columns, shape_id: int) -> str | None:
    """The members of a launch shape; None where nothing of it is known."""
    if not 0 <= shape_id < len(shapes):
        return None
    parts = []
    for column, key in _SHAPE_NUMBERS.items():
        value = shapes[column][shape_id].item()
        if value != NONE and value == value:
            parts.append(f"{quoted(key)}:{value!r}")
    for what in ("grid", "block"):
        sizes = [shapes[f"{what}_{axis}"][shape_id].item() for axis in "xyz"]
        if sizes[0] != NONE:
            parts.append(f'"{what}":[{",".join(str(1 if size == NONE else size) for size in sizes)}]')
    return ",".join(parts) or None


def _joined(texts: Any) -> str:
    return ",\n".join(texts.to_pylist())
