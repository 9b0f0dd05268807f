"""Everything a trace said is still there: events rebuilt from a profile are those of its source, as multisets.

Where the two may differ, a rule says so and why; every rule is one of the constants or functions marked `Rule`.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import pytest

from smprof.profile.reader import ProcessProfile, Profile
from smprof.profile.schema import COPY_KINDS, DEVICE_KINDS, HOST_KINDS, SIDES, SLICE_TABLES
from smprof_desktop.importers import convert
from smprof_desktop.importers.pieces import CATEGORIES

Record = tuple[Any, ...]

OWNERS = (*SLICE_TABLES, "counter")

# Rule: these keys are columns, where a whole number in a string is taken for the number it holds.
COLUMNS = {
    "correlation": "correlation",
    "external_id": "External id",
    "sequence": "Sequence number",
    "forward_thread": "Fwd thread id",
    "context": "context",
    "graph": "graph id",
    "graph_node": "graph node id",
    "bytes": "bytes",
}
COLUMNS_OF = {
    "device": ("correlation", "external_id", "context", "graph", "graph_node", "bytes"),
    "host": ("correlation", "external_id", "sequence", "forward_thread"),
    "annotation": ("external_id",),
}
SHAPES = {"registers_per_thread": "registers per thread", "shared_memory_bytes": "shared memory"}
# Rule: these are kept as doubles, as which every JSON reader reads them.
DOUBLES = {
    "blocks_per_sm": "blocks per SM",
    "warps_per_sm": "warps per SM",
    "occupancy_percent": "est. achieved occupancy %",
}
MEMORY = {
    "Total Allocated": "memory allocated [bytes]",
    "Total Reserved": "memory reserved [bytes]",
    "Bytes": "memory change [bytes]",
}


class Digits(str):
    """A JSON number with a fraction or exponent, digit by digit."""

    __slots__ = ()


def parsed(text: str | bytes) -> Any:
    return json.loads(text, parse_float=Digits)


def nanoseconds(us: Any) -> int:
    return int((Decimal(str(us)) * 1000).to_integral_value(ROUND_HALF_EVEN))


def frozen(args: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Arguments in comparable form; fractions keep their digits and their type."""
    return tuple(sorted((key, f"{type(value).__name__} {value!r}") for key, value in args.items()))


def imported(path: Path, out: Path) -> Profile:
    convert.import_file(path, out)
    return Profile.open(out)


def events_of(path: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    data = path.read_bytes()
    document = parsed(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    if isinstance(document, list):
        return document, {}
    events: list[dict[str, Any]] = document.pop("traceEvents")
    return events, document


# ---- what the profile says


class Rebuilt:
    """The events of one process of a profile."""

    def __init__(self, process: ProcessProfile) -> None:
        self.process = process
        self._args: defaultdict[tuple[str, int], dict[str, Any]] = defaultdict(dict)
        table = process.table("args")
        for owner, key, row, integer, text in zip(
            table["table"].tolist(), table.texts("key"), table["id"].tolist(), table["integer"].tolist(),
            table.texts("text"), strict=True,
        ):  # fmt: skip
            self._args[OWNERS[owner], row][str(key)] = integer if text is None else parsed(text)
        self._launch_external = process.table("host")["external_id"].tolist()

    def host(self) -> Iterator[tuple[Any, Record]]:
        """(thread, event) of every host slice; a synchronisation record has a device and stream instead."""
        table = self.process.table("host")
        columns = self._columns("host")
        rows = zip(table["kind"].tolist(), table["thread"].tolist(), *self._slices("host"), strict=True)
        places = zip(table["device"].tolist(), table["stream"].tolist(), strict=True)
        for row, ((kind, thread, *slice_), place) in enumerate(zip(rows, places, strict=True)):
            args = columns[row] | self._args.pop(("host", row), {})
            if HOST_KINDS[kind] == "sync":
                yield place, ("sync", *slice_, frozen(args))
            else:
                yield thread, (HOST_KINDS[kind], *slice_, frozen(args))

    def device(self) -> Iterator[tuple[Any, Record]]:
        table, shapes = self.process.table("device"), self.process.table("shapes")
        columns = self._columns("device")
        by_shape = [self._shape(shapes, row) for row in range(len(shapes))]
        names = [self.process.names.text(name) for name in shapes["name_id"].tolist()]
        rows = zip(
            table["kind"].tolist(), table["device"].tolist(), table["stream"].tolist(), table["start_ns"].tolist(),
            table["duration_ns"].tolist(), table["shape_id"].tolist(), table["launch"].tolist(),
            table["copy_kind"].tolist(), strict=True,
        )  # fmt: skip
        for row, (kind, device, stream, start, duration, shape, launch, copy) in enumerate(rows):
            args = columns[row] | by_shape[shape] | self._args.pop(("device", row), {})
            # Rule: the external id stands with the launch, where it is the same.
            if launch != -1 and self._launch_external[launch] != -1:
                args.setdefault("External id", self._launch_external[launch])
            # Rule: the direction of a copy is a column; the argument `kind` repeats it where the name does not.
            if copy != -1 and COPY_KINDS[copy] not in names[shape]:
                args.setdefault("kind", COPY_KINDS[copy])
            yield (device, stream), (DEVICE_KINDS[kind], names[shape], start, duration, frozen(args))

    def annotations(self) -> Iterator[tuple[Any, Record]]:
        table = self.process.table("annotation")
        columns = self._columns("annotation")
        places = zip(*(table[name].tolist() for name in ("side", "thread", "device", "stream")), strict=True)
        for row, ((side, thread, device, stream), slice_) in enumerate(
            zip(places, zip(*self._slices("annotation"), strict=True), strict=True)
        ):
            args = columns[row] | self._args.pop(("annotation", row), {})
            yield (
                thread if SIDES[side] == "host" else (device, stream),
                (f"annotation {SIDES[side]}", *slice_, frozen(args)),
            )

    def counters(self) -> Iterator[Record]:
        """(name, time, value, device), and for the last of each record its arguments."""
        table = self.process.table("counter")
        for row, (name, time, value, device) in enumerate(
            zip(*(table[c].tolist() for c in ("name_id", "time_ns", "value", "device")), strict=True)
        ):
            yield self.process.names.text(name), time, value, device, frozen(self._args.pop(("counter", row), {}))

    def nothing_left(self) -> bool:
        """Whether every argument belonged to a row."""
        return not self._args

    def _slices(self, table: str) -> tuple[list[str], list[int], list[int]]:
        columns = self.process.table(table)
        names = [self.process.names.text(name) for name in columns["name_id"].tolist()]
        return names, columns["start_ns"].tolist(), columns["duration_ns"].tolist()

    def _columns(self, table: str) -> list[dict[str, Any]]:
        columns = self.process.table(table)
        rows: list[dict[str, Any]] = [{} for _ in range(len(columns))]
        for name in COLUMNS_OF[table]:
            for row, value in zip(rows, columns[name].tolist(), strict=True):
                if value != -1:
                    row[COLUMNS[name]] = value
        return rows

    def _shape(self, shapes: Any, row: int) -> dict[str, Any]:
        args: dict[str, Any] = {}
        for what in ("grid", "block"):
            if shapes[f"{what}_x"][row] != -1:
                args[what] = [int(shapes[f"{what}_{axis}"][row]) for axis in "xyz"]
        args |= {key: int(shapes[name][row]) for name, key in SHAPES.items() if shapes[name][row] != -1}
        return args | {
            key: float(shapes[name][row]) for name, key in DOUBLES.items() if shapes[name][row] == shapes[name][row]
        }


# ---- what the source says


def expected_args(event: dict[str, Any], kind: str) -> dict[str, Any]:
    args = dict(event.get("args") or {})
    if "external id" in args:  # Rule: torch up to 1.11 spelled the key so on some events.
        args["External id"] = args.pop("external id")
    for name, key in COLUMNS.items():
        value = args.get(key) if name in COLUMNS_OF["device" if kind in DEVICE_KINDS else "host"] else None
        if isinstance(value, str) and not isinstance(value, Digits) and value.removeprefix("-").isdigit():
            args[key] = int(value)
    if kind in DEVICE_KINDS:
        args |= {key: float(args[key]) for key in DOUBLES.values() if key in args}
    if kind in (*DEVICE_KINDS, "sync", "annotation device"):
        # Rule: device and stream are the place of the slice.
        args.pop("device", None)
        args.pop("stream", None)
    if kind == "other":  # Rule: a kind of slice that has no kind of its own keeps its category.
        args |= {"cat": event["cat"]} if event.get("cat") else {}
    return args


def expected_kind(event: dict[str, Any]) -> str:
    table, kind = CATEGORIES.get(event["cat"], ("host", "other"))
    if event["cat"] == "Operator" and event["name"].startswith("ProfilerStep#"):
        return "annotation host"  # Rule: torch up to 1.11 filed its steps among the operators.
    return f"annotation {kind}" if table == "annotation" else kind


def expected_place(event: dict[str, Any], kind: str) -> Any:
    if kind in (*DEVICE_KINDS, "sync", "annotation device"):
        args = event.get("args") or {}
        stream = args.get("stream", event["tid"])
        return int(args.get("device", event["pid"])), int(str(stream).removeprefix("stream "))
    return event["pid"], event["tid"]


def by_place(records: Iterator[tuple[Any, Record]]) -> dict[Any, Counter[Record]]:
    found: defaultdict[Any, Counter[Record]] = defaultdict(Counter)
    for place, record in records:
        found[place][record] += 1
    return dict(found)


def kineto_paths() -> list[Any]:
    names = (
        "hta_amd_mi250_minitoy_rocm62", "hta_cpu_only_rank34_large", "hta_diff_control", "hta_diff_test",
        "hta_large_integer_rank70", "hta_nccl_data", "hta_simple_add_a100", "kineto_resnet50_nw0_2021a.pt.trace",
        "tl_h100_owlv2", "tl_h100_qwen15_05b", "tl_mi300_qwen15_05b",
    )  # fmt: skip
    ranks = [f"param_dlrm_8rank/worker{rank}_step_12.*.pt.trace" for rank in range(8)]
    return [pytest.param(f"{name}.json.gz", id=name.split("/")[-1][:28]) for name in (*names, *ranks)]


def test_every_kineto_trace_is_among_these(traces: Path) -> None:
    listed = {path for param in kineto_paths() for path in (traces / "kineto").glob(str(param.values[0]))}
    assert listed == set((traces / "kineto").rglob("*.gz"))


@pytest.mark.parametrize("pattern", kineto_paths())
def test_kineto(traces: Path, tmp_path: Path, pattern: str) -> None:
    [path] = (traces / "kineto").glob(pattern)
    events, keys = events_of(path)
    profile = imported(path, tmp_path / "out")
    assert profile.losses == []
    [process] = profile.processes
    rebuilt = Rebuilt(process)

    wanted: defaultdict[Any, Counter[Record]] = defaultdict(Counter)
    for event in events:
        if event["ph"] == "X":
            kind = expected_kind(event)
            times = nanoseconds(event["ts"]), nanoseconds(event["dur"])
            record = (kind, event["name"], *times, frozen(expected_args(event, kind)))
            wanted[kind in DEVICE_KINDS, kind, expected_place(event, kind)][record] += 1
    device = {place: records for (on_device, _kind, place), records in wanted.items() if on_device}
    merged: defaultdict[Any, Counter[Record]] = defaultdict(Counter)
    for (on_device, _kind, place), records in wanted.items():
        if on_device:
            merged[place] += records
    assert by_place(rebuilt.device()) == merged and set(device) == set(merged)

    placed = {k: v for k, v in wanted.items() if k[1] in ("sync", "annotation device")}
    on_threads: defaultdict[Any, Counter[Record]] = defaultdict(Counter)
    for (on_device, kind, place), records in wanted.items():
        if not on_device and (on_device, kind, place) not in placed:
            on_threads[place] += records
    got: defaultdict[Any, Counter[Record]] = defaultdict(Counter)
    beside: Counter[tuple[Any, Record]] = Counter()
    for place, record in (*rebuilt.host(), *rebuilt.annotations()):
        if isinstance(place, tuple):
            beside[place, record] += 1
        else:
            got[place][record] += 1
    assert beside == Counter(
        {(place, record): n for (_d, _k, place), records in placed.items() for record, n in records.items()}
    )
    # Rule: a thread that the operating system does not number goes by a stand-in; its slices tell which it is.
    assert Counter(frozenset(records.items()) for records in got.values()) == Counter(
        frozenset(records.items()) for records in on_threads.values()
    )
    for (_pid, tid), records in on_threads.items():
        if str(tid).isdigit() and int(tid) > 0:
            assert got[int(tid)] == records

    check_memory(events, rebuilt)
    assert rebuilt.nothing_left()
    check_flows(events, process)
    check_facts(events, keys, profile)


def check_memory(events: list[dict[str, Any]], rebuilt: Rebuilt) -> None:
    values: Counter[Record] = Counter()
    others: Counter[Record] = Counter()
    for event in events:
        if event["name"] != "[memory]":
            continue
        args = dict(event["args"])
        on_device = args.get("Device Type", 0) > 0
        device = args.pop("Device Id") if on_device else -1
        for key, name in MEMORY.items():
            if key in args:
                values[name, nanoseconds(event["ts"]), float(args.pop(key)), device] += 1
        # Rule: which thread asked for the memory stands among the arguments of its record's last counter.
        others[nanoseconds(event["ts"]), frozen(args | {"pid": int(event["pid"]), "tid": int(event["tid"])})] += 1
    counters = list(rebuilt.counters())
    assert Counter(counter[:4] for counter in counters) == values
    assert Counter((time, args) for _name, time, _value, _device, args in counters if args) == others


def check_flows(events: list[dict[str, Any]], process: ProcessProfile) -> None:
    """Rule: a flow says what correlation ids and sequence numbers say already."""
    known = {*process.table("host")["correlation"].tolist(), *process.table("device")["correlation"].tolist()}
    flows = [event for event in events if event["ph"] in "sft"]
    assert {event["id"] for event in flows if event.get("cat") != "fwdbwd"} <= known
    if any(event.get("cat") == "fwdbwd" for event in flows):
        assert (process.table("host")["sequence"] != -1).any()


def check_facts(events: list[dict[str, Any]], keys: dict[str, Any], profile: Profile) -> None:
    """What the trace says about itself, its threads and processes."""
    info = profile.processes[0].info
    for key, value in keys.items():
        if key == "deviceProperties":
            for entry in value:
                device = next(device for device in info.devices if device.index == entry["id"])
                said = {"id": device.index, "name": device.name, "totalGlobalMem": device.memory_bytes}
                assert {k: entry[k] for k in said if k in entry} == {k: v for k, v in said.items() if k in entry}
                assert device.properties.keys() | said.keys() >= entry.keys()
        elif key == "baseTimeNanoseconds":
            assert profile.manifest.clock.unix_offset_ns in (value, 0)
        else:
            assert info.metadata[key] == as_doubles(value), key
    markers = [event for event in events if event["ph"] == "i" and event["name"] != "[memory]"]
    assert [(m["name"], m["time_ns"], m["pid"], m["tid"], m["s"]) for m in info.metadata.get("instants", [])] == [
        (event["name"], nanoseconds(event["ts"]), event["pid"], event["tid"], event["s"]) for event in markers
    ]
    # Rule: of names that a file repeats, the last counts; those of threads without slices are of no use.
    names = {
        int(event["tid"]): event["args"]["name"].strip()
        for event in events
        if event["ph"] == "M" and event["name"] == "thread_name" and str(event["tid"]).isdigit()
    }
    for thread in info.threads:
        if thread.id > 0:
            assert names.get(thread.id, "") in thread.name
    if any(event["ph"] == "M" and event["name"] == "process_labels" for event in events):
        assert info.metadata["process_labels"]


def as_doubles(value: Any) -> Any:
    """Rule: fractions in what a trace says about itself are doubles, as every JSON reader reads them."""
    if isinstance(value, dict):
        return {key: as_doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_doubles(item) for item in value]
    return float(value) if isinstance(value, Digits) else value


# ---- Chrome traces in general


def chrome_names() -> list[str]:
    flows = [f"perfetto_flow_events_json_v{version}.json" for version in (1, 2)]
    others = (
        "end-event-with-empty-stack", "invalid-x-nesting", "mismatched-args", "multiprocess", "only-begin-events",
        "out-of-order", "simple-object", "unbalanced-name", "zero-duration-events",
    )  # fmt: skip
    return flows + [f"speedscope_{name}.json" for name in others]


@pytest.mark.parametrize("name", chrome_names())
def test_chrome(traces: Path, tmp_path: Path, name: str) -> None:
    events, _keys = events_of(traces / "chrome" / name)
    profile = imported(traces / "chrome" / name, tmp_path / "out")
    got: Counter[Record] = Counter()
    for process in profile.processes:
        rebuilt = Rebuilt(process)
        for _thread, (kind, *slice_) in rebuilt.host():
            assert kind == "other"
            got[(process.info.pid, *slice_)] += 1
        assert rebuilt.nothing_left()
    lost = Counter({loss.kind: loss.count for loss in profile.losses})
    for event in events:
        pid, phase, label = event["pid"], event["ph"], event.get("name", "")
        start, own = nanoseconds(event.get("ts", 0)), fields_of(event)
        if phase == "X" and "dur" not in event:
            lost["no_duration"] -= 1
        elif phase == "X":
            assert_taken(got, (pid, label, start, nanoseconds(event["dur"]), frozen(own)))
        elif phase in "isft":
            # Rule: what has no length says by its phase what it is.
            assert_taken(got, (pid, label, start, 0, frozen(own | {"ph": phase})))
    # Rule: a begin is the start of a slice and an end its end, with the arguments of both.
    begins = Counter((e["pid"], e["name"], nanoseconds(e["ts"])) for e in events if e["ph"] == "B")
    ends = Counter((e["pid"], e["name"], nanoseconds(e["ts"])) for e in events if e["ph"] == "E")
    assert Counter((pid, label, start) for pid, label, start, _duration, _args in got.elements()) == begins
    closed = Counter((pid, label, start + duration) for pid, label, start, duration, _args in got.elements())
    assert (ends - closed).total() == lost["unmatched_end"]
    for event in events:
        if event["ph"] in "BE":
            said = {value for _key, value in frozen(fields_of(event))}
            assert any(said <= {v for _k, v in row[4]} for row in got) or lost["unmatched_end"]
    assert not any(count for kind, count in lost.items() if not kind.startswith("unmatched"))


def fields_of(event: dict[str, Any]) -> dict[str, Any]:
    """Rule: fields without a place of their own stand among the arguments."""
    placed = {"ph", "name", "pid", "tid", "ts", "dur", "args"}
    args: dict[str, Any] = event.get("args", {})
    return {key: value for key, value in event.items() if key not in placed} | args


def assert_taken(got: Counter[Record], record: Record) -> None:
    assert got[record] > 0, record
    got[record] -= 1
    if not got[record]:
        del got[record]
