"""The tables of a profile, column by column: the one place where the format's names, types and units stand.

FORMAT.md explains them to people; a test holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

VERSION = 1
"""The format's one integer version. Every change to a table adds one and a step in `upgrade.py`."""

NONE = -1
"""What an absent integer reads as in memory. In the files it is null."""

LOST_NAME = "(name lost)"
"""How a name reads whose row is gone."""

DEVICE_KINDS = ("kernel", "memcpy", "memset")
HOST_KINDS = ("api", "op", "python", "sync", "overhead", "other")
SIDES = ("host", "device")
ANNOTATION_SOURCES = ("smprof", "nvtx", "user_annotation")
COPY_KINDS = ("HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "Other")
SLICE_TABLES = ("device", "host", "annotation")
UNION = "union"
"""`lane_rows.kind` of all slices of a device as one. Such a row is no line of a lane: its slices overlap."""

LOSS_KINDS: dict[str, str] = {
    "unreadable_record": "a record of the source that could not be read as an event",
    "no_start": "an event without a readable start time",
    "no_duration": "a slice without a readable duration",
    "negative_duration": "a slice that ends before it starts",
    "time_overflow": "a time that does not fit in 64 bits of nanoseconds",
    "unmatched_begin": "a begin event whose end is missing: drawn to the last end of its thread",
    "unmatched_end": "an end event whose begin is missing",
    "unknown_phase": "an event of a phase that is not shown",
    "instant": "an instant event that is not shown",
    "unshown_record": "a record of a kind that is not shown, such as a CPU sample",
    "flow": "a flow event that neither joins a launch nor a forward operator",
    "gap_value": "a counter value that is not a finite number: read as a gap",
    "invalid_text": "a name that is not valid Unicode: its bytes are kept beside it",
    "unplaced_slice": "a device slice without device or stream: placed on stream -1",
    "unlinked_execution": "an execution whose launch was not recorded",
    "missing_executions": "launches of a process of which not one execution was recorded",
    "early_execution": "an execution that starts before its launch, as one by another clock does: shown where it says",
    "outside_session": "an execution outside of what its profiler says it recorded: shown where it says",
    "untraced_iterations": "a loop on the device: profilers trace its first iteration only, if any",
    "duplicate_process": "a process recorded twice under one host and rank: kept apart by a suffix",
    "unaligned_clock": "traces that do not say from which moment they count time: theirs stand as recorded",
    "unread_file": "a file of the opened folder that could not be read as a trace",
    "truncated_source": "the source ends too early: what stood before the cut was read",
    "missing_segment": "a segment named by the journal that is not there",
    "damaged_segment": "a segment whose bytes do not match the journal or do not decode",
    "unjournaled_segment": "a segment without a journal line: read, but its bytes could not be checked",
    "damaged_journal": "a journal line that does not parse",
    "missing_names": "slices whose name or launch shape is not in the names that could be read",
    "dropped_by_collector": "records that the recorder itself had to drop",
}
"""Every kind of loss, with what it means. A loss of another kind does not exist."""


@dataclass(frozen=True)
class Column:
    """One column: its name carries the unit; `choices` are the only values of an enumeration."""

    name: str
    type: pa.DataType
    meaning: str
    nullable: bool = False
    choices: tuple[str, ...] = ()


_TIME = pa.int64()
_TEXT = pa.large_string()


def _choice(name: str, choices: tuple[str, ...], meaning: str, nullable: bool = False) -> Column:
    return Column(name, pa.dictionary(pa.int32(), pa.string()), meaning, nullable, choices)


TABLES: dict[str, tuple[Column, ...]] = {
    "names": (
        Column("id", pa.int32(), "the id that other tables carry; counted from 0"),
        Column("name", _TEXT, "the name; where the recorded bytes are not UTF-8, a readable stand-in"),
        Column("raw", pa.large_binary(), "the recorded bytes, where they are not valid UTF-8", True),
    ),
    "shapes": (
        Column("id", pa.int32(), "the id that `device` carries; counted from 0"),
        Column("name_id", pa.int32(), "`names.id` of the kernel or memory operation"),
        Column("grid_x", pa.int64(), "blocks in x", True),
        Column("grid_y", pa.int64(), "blocks in y", True),
        Column("grid_z", pa.int64(), "blocks in z", True),
        Column("block_x", pa.int64(), "threads in x", True),
        Column("block_y", pa.int64(), "threads in y", True),
        Column("block_z", pa.int64(), "threads in z", True),
        Column("registers_per_thread", pa.int64(), "registers per thread", True),
        Column("shared_memory_bytes", pa.int64(), "shared memory per block, static and dynamic, in bytes", True),
        Column("blocks_per_sm", pa.float64(), "blocks per multiprocessor, as recorded", True),
        Column("warps_per_sm", pa.float64(), "warps per multiprocessor, as recorded", True),
        Column("occupancy_percent", pa.float64(), "estimated achieved occupancy in percent, as recorded", True),
    ),
    "device": (
        Column("id", pa.int64(), "unique in this table of this process; the position once merged"),
        _choice("kind", DEVICE_KINDS, "what ran"),
        Column("device", pa.int32(), "index of the GPU, as the process numbers it"),
        Column("stream", pa.int64(), "stream id as recorded; -1 where none was"),
        Column("row", pa.int32(), "line of the stream's lane: above 0 only where slices of one stream overlap"),
        Column("start_ns", _TIME, "start, in ns of the profile's clock"),
        Column("duration_ns", _TIME, "length in ns, 0 or more"),
        Column("shape_id", pa.int32(), "`shapes.id`: name and launch shape"),
        Column("correlation", pa.int64(), "correlation id; null where none was recorded", True),
        Column("launch", pa.int64(), "`host.id` of the launch; null where there is none", True),
        Column("external_id", pa.int64(), "external id, where it differs from that of the launch", True),
        Column("context", pa.int64(), "device context", True),
        Column("graph", pa.int64(), "graph id", True),
        Column("graph_node", pa.int64(), "graph node id", True),
        Column("bytes", pa.int64(), "bytes copied or set", True),
        _choice("copy_kind", COPY_KINDS, "direction of a memcpy", True),
    ),
    "host": (
        Column("id", pa.int64(), "unique in this table of this process; the position once merged"),
        _choice(
            "kind",
            HOST_KINDS,
            "api: a runtime or driver call; op: a framework operator; python: a Python frame or "
            "module; sync: a synchronisation record; overhead: of the profiler itself; other",
        ),
        Column("thread", pa.int64(), "thread id as the manifest names it; -1 for synchronisation records"),
        Column("depth", pa.int32(), "line of the thread's lane, 0 on top; counted over all kinds and annotations"),
        Column("start_ns", _TIME, "start, in ns of the profile's clock"),
        Column("duration_ns", _TIME, "length in ns, 0 or more"),
        Column("name_id", pa.int32(), "`names.id`"),
        Column("correlation", pa.int64(), "correlation id of an API call or synchronisation record", True),
        Column("external_id", pa.int64(), "external id, as recorded", True),
        Column("op", pa.int64(), "`host.id` of the operator that an API call belongs to", True),
        Column("sequence", pa.int64(), "autograd sequence number of an operator: equal in forward and backward", True),
        Column(
            "forward_thread", pa.int64(), "the framework's number of the forward thread, on a backward operator", True
        ),
        Column("device", pa.int32(), "device of a synchronisation record", True),
        Column("stream", pa.int64(), "stream of a synchronisation record", True),
    ),
    "annotation": (
        Column("id", pa.int64(), "unique in this table of this process; the position once merged"),
        _choice("side", SIDES, "host: as annotated; device: a copy that a recorder projected onto a device"),
        Column("thread", pa.int64(), "thread id (host side)", True),
        Column("device", pa.int32(), "device (device side)", True),
        Column("stream", pa.int64(), "stream (device side)", True),
        Column("depth", pa.int32(), "line of the lane, 0 on top"),
        Column("start_ns", _TIME, "start, in ns of the profile's clock"),
        Column("duration_ns", _TIME, "length in ns, 0 or more"),
        Column("name_id", pa.int32(), "`names.id`"),
        _choice("source", ANNOTATION_SOURCES, "who recorded it"),
        Column("external_id", pa.int64(), "external id, as recorded", True),
    ),
    "counter": (
        Column("id", pa.int64(), "unique in this table of this process; the position once merged"),
        Column("name_id", pa.int32(), "`names.id`; the name carries the unit"),
        Column("device", pa.int32(), "device that it was read on", True),
        Column("cpu", pa.int32(), "CPU that it was read on", True),
        Column("time_ns", _TIME, "time of the sample, in ns of the profile's clock"),
        Column("value", pa.float64(), "the value; null is a gap", True),
    ),
    "args": (
        _choice("table", (*SLICE_TABLES, "counter"), "table of the row that these belong to"),
        Column("key", pa.dictionary(pa.int32(), pa.string()), "name of the argument, as recorded"),
        Column("id", pa.int64(), "`id` of that row"),
        Column("integer", pa.int64(), "the value, where it is a JSON integer of 64 bits", True),
        Column("text", _TEXT, "the value as JSON text, where it is anything else", True),
    ),
    "lane_rows": (
        Column("id", pa.int32(), "counted from 0: what `ladder` refers to"),
        _choice("table", SLICE_TABLES, "table that the slices stand in"),
        Column(
            "kind",
            pa.dictionary(pa.int32(), pa.string()),
            "the slices' kind (a stream of several: mixed); an annotation's side; "
            "union: all slices of a device whose streams take several lines, as one",
        ),
        Column(
            "device", pa.int32(), "device, for device slices, device-side annotations and synchronisation records", True
        ),
        Column("stream", pa.int64(), "stream, likewise", True),
        Column("thread", pa.int64(), "thread, for host slices and host-side annotations", True),
        Column("row", pa.int32(), "`row` or `depth` of the slices; null for a union alone", True),
        Column("begin_row", pa.int64(), "first position in the table"),
        Column("end_row", pa.int64(), "position behind the last"),
        Column("begin_ns", _TIME, "first start"),
        Column("end_ns", _TIME, "last end"),
        Column("busy_ns", _TIME, "time that the slices cover: within one line they do not overlap"),
    ),
    "ladder": (
        Column("lane_row", pa.int32(), "`lane_rows.id`"),
        Column("level", pa.int8(), "bins of this level are 2^level ns wide"),
        Column("bin", pa.int64(), "bin number: it covers [bin * 2^level, (bin + 1) * 2^level) ns"),
        Column("busy_ns", _TIME, "time in the bin that slices cover"),
        Column(
            "longest",
            pa.int64(),
            "position in the table of the slice touching the bin with the greatest full "
            "duration; ties: the earlier start",
        ),
        Column("slices", pa.int64(), "slices that start in the bin"),
        Column("start_ns", _TIME, "start of the slice that `longest` names"),
        Column("duration_ns", _TIME, "its full duration"),
        Column("name_id", pa.int32(), "its name, so that a picture needs no slice"),
    ),
}

SORT_KEYS: dict[str, tuple[str, ...]] = {
    "names": ("id",),
    "shapes": ("id",),
    "device": ("device", "stream", "row", "start_ns", "duration_ns"),
    "host": ("kind", "device", "stream", "thread", "depth", "start_ns", "duration_ns"),
    "annotation": ("side", "thread", "device", "stream", "depth", "start_ns", "duration_ns"),
    "counter": ("device", "cpu", "name_id", "time_ns"),
    "args": ("table", "key", "id"),
}
"""Order of a merged table. Enumerations sort in the order of their choices, null before everything."""

LANE_KEYS: dict[str, tuple[str, ...]] = {
    "device": ("device", "stream", "row"),
    "host": ("kind", "device", "stream", "thread", "depth"),
    "annotation": ("side", "thread", "device", "stream", "depth"),
}
"""What makes one lane row of each slice table: a leading part of its sort keys."""


def arrow_schema(table: str) -> pa.Schema:
    """The Arrow schema of one table."""
    return pa.schema(pa.field(column.name, column.type, column.nullable) for column in TABLES[table])


def column(table: str, name: str) -> Column:
    """The column of that name. Raises KeyError where the table has none."""
    for candidate in TABLES[table]:
        if candidate.name == name:
            return candidate
    raise KeyError(f"{table}.{name}")
