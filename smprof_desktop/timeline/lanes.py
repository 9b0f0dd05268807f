"""The tree of lanes of a profile: host → CPU, GPUs → process → device, streams, host threads. No Qt, no slices read.

Only the manifest and the small tables `lane_rows` and `counter` are read, so a tree costs lanes, not slices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import NONE, SLICE_TABLES
from smprof_desktop.analysis.untraced import launches_without_executions
from smprof_desktop.analysis.utilization import devices_of
from smprof_desktop.slice_ref import SliceRef

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

GROUPS = ("host", "cpu", "gpus", "process", "device", "threads")
SLICE_LANES = ("stream", "marks", "sync", "thread")
CURVES = ("utilization", "counter")
UTILIZATIONS = ("utilization", "host", "gpus", "process", "device")
"""Kinds whose busy share is of the windows in which their processes recorded; that of the others is of the view."""
_UNIT = re.compile(r"[(\[]([^()\[\]]+)[)\]]$|(%|\b[bB]ytes|\bm?W|\b[kMG]?Hz|°C|\b[kMG]?B/s)$")

_Spans = Mapping[tuple[int, str], tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]


@dataclass(frozen=True)
class Row:
    """One drawn line of a lane: lane rows (`lane_rows.id`) of one process whose slices do not overlap."""

    process: int
    lane_rows: tuple[int, ...]


@dataclass(frozen=True)
class BusySource:
    """Lane rows whose union counts as busy: those of a device, of a stream, or the outermost ones of threads.

    `union` is the lane row that holds that union where the profile stores it, else NONE.
    """

    process: int
    lane_rows: tuple[int, ...]
    union: int = NONE


@dataclass(frozen=True)
class CounterRange:
    """Samples of one counter: positions [begin, end) of the counter table of one process, by time."""

    process: int
    begin: int
    end: int


@dataclass(frozen=True, eq=False)
class Lane:
    """A node of the tree.

    `key` is stable from one opening of the profile to the next. `kind` is one of GROUPS, of SLICE_LANES (marks:
    annotations that a recorder projected onto a device; sync: synchronisation records) or of CURVES.
    The lane's busy share, its density while collapsed and its curve are the mean over `busy` of each source's share:
    of the view, or, where `is_of_windows`, of the part of the view in which the source's process recorded.
    """

    key: str
    label: str
    kind: str
    level: int = 0
    children: tuple[Lane, ...] = ()
    rows: tuple[Row, ...] = ()
    busy: tuple[BusySource, ...] = ()
    counters: tuple[CounterRange, ...] = ()
    """What a counter lane is the mean of."""
    unit: str = ""
    """Of a counter lane."""
    detail: str = ""
    packed: int = 0
    """How many lanes were joined into this one, or into those below it; 0: it is as it was recorded."""

    @property
    def can_expand(self) -> bool:
        """Whether collapsing it would hide anything."""
        return bool(self.children) or len(self.rows) > 1

    @property
    def is_dense_when_collapsed(self) -> bool:
        """Whether its first row does not tell of the others, as the outermost slices of a thread do."""
        return self.kind in ("stream", "marks", "sync") and len(self.rows) > 1

    @property
    def is_of_windows(self) -> bool:
        """Whether the busy share is a utilization: of the windows in which its processes recorded."""
        return self.kind in UTILIZATIONS

    def walk(self) -> Iterator[Lane]:
        """This lane and everything below it, in order."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, eq=False)
class LaneTree:
    """All lanes of a profile."""

    roots: tuple[Lane, ...]
    by_key: Mapping[str, Lane]
    parents: Mapping[str, str]
    """Key of a lane → key of the group that it stands in."""
    places: Mapping[tuple[int, int], tuple[str, int]] = field(default_factory=dict)
    """(process, lane row) → key of the lane and index of the drawn row."""
    spans: _Spans = field(default_factory=dict)
    """(process, table) → begin_row, end_row and id of its lane rows, by begin_row."""

    @cached_property
    def paths(self) -> dict[str, str]:
        """Key of a lane → its name and those of the groups around it, as a filter compares them."""
        found: dict[str, str] = {}
        for lane in self.walk():
            around = found.get(self.parents.get(lane.key, ""), "")
            found[lane.key] = f"{around}\n{lane.label.casefold()}"
        return found

    def walk(self) -> Iterator[Lane]:
        """Every lane, from top to bottom."""
        for root in self.roots:
            yield from root.walk()

    def lane_row(self, ref: SliceRef) -> int | None:
        """The lane row that a slice stands in; None where there is no such slice."""
        span = self.spans.get((ref.process, ref.table))
        if span is None:
            return None
        begins, ends, ids = span
        at = int(np.searchsorted(begins, ref.row, "right")) - 1
        return int(ids[at]) if at >= 0 and ref.row < int(ends[at]) else None

    def place(self, ref: SliceRef) -> tuple[str, int] | None:
        """Key of the lane and index of the drawn row in which a slice stands; None where there is no such slice."""
        lane_row = self.lane_row(ref)
        return self.places.get((ref.process, lane_row)) if lane_row is not None else None

    def ancestors(self, key: str) -> list[str]:
        """Keys of the groups that a lane stands in, innermost first."""
        found = []
        while (parent := self.parents.get(key)) is not None:
            found.append(parent)
            key = parent
        return found

    def default_expanded(self) -> frozenset[str]:
        """What is open at first: every group down to the streams; host threads only of the first of many processes."""
        processes = [lane for lane in self.walk() if lane.kind == "process"]
        opened = {lane.key for lane in self.walk() if lane.kind in ("host", "gpus", "process", "device", "stream")}
        for process in processes if len(processes) <= 2 else processes[:1]:
            opened |= {lane.key for lane in process.walk() if lane.can_expand}
        return frozenset(opened)

    def text(self, indent: str = "  ") -> str:
        """The tree as indented text, a line for each lane, with the number of its rows where there are several."""
        return "".join(
            f"{indent * lane.level}{lane.label}{f' [{len(lane.rows)}]' if len(lane.rows) > 1 else ''}\n"
            for lane in self.walk()
        )


def build(profile: Profile) -> LaneTree:
    """The tree of a profile. Costs its lanes, whatever the number of slices."""
    host_names = list(
        dict.fromkeys([host.name for host in profile.manifest.hosts] + [p.info.host for p in profile.processes])
    )
    roots: list[Lane] = []
    for name in host_names:
        members = [i for i, process in enumerate(profile.processes) if process.info.host == name]
        if members:
            members.sort(key=lambda i: _process_order(profile.processes[i], i))
            roots.append(_host(profile, len(roots), name, members))
    return tree_of(tuple(roots), _spans(profile))


def tree_of(roots: tuple[Lane, ...], spans: _Spans) -> LaneTree:
    """The tree under these hosts, with what is looked up in it."""
    by_key: dict[str, Lane] = {}
    parents: dict[str, str] = {}
    places: dict[tuple[int, int], tuple[str, int]] = {}
    for lane in (lane for root in roots for lane in root.walk()):
        by_key[lane.key] = lane
        parents.update({child.key: lane.key for child in lane.children})
        for index, row in enumerate(lane.rows):
            places.update({(row.process, lane_row): (lane.key, index) for lane_row in row.lane_rows})
    return LaneTree(roots, by_key, parents, places, spans)


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key in which `stream 10` follows `stream 9`."""
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.findall(r"\d+|\D+", text))


def unit_of(name: str) -> str:
    """The unit that a counter's name ends with: `GPU memory (bytes)` or `power W`; empty where it tells none."""
    found = _UNIT.search(name.strip())
    return (found.group(1) or found.group(2)).strip() if found else ""


def _spans(profile: Profile) -> _Spans:
    spans = {}
    for index, process in enumerate(profile.processes):
        lane_rows = process.table("lane_rows")
        for table_index, table in enumerate(SLICE_TABLES):
            ids = np.flatnonzero((lane_rows["table"] == table_index) & (lane_rows["row"] != NONE))
            begins, ends = lane_rows["begin_row"][ids], lane_rows["end_row"][ids]
            order = np.argsort(begins, kind="stable")
            spans[index, table] = (begins[order], ends[order], ids[order])
    return spans


def _process_order(process: ProcessProfile, index: int) -> tuple[bool, int, int, int]:
    info = process.info
    return info.rank is None, info.rank or 0, info.pid or 0, index


def _host(profile: Profile, host_index: int, name: str, members: list[int]) -> Lane:
    key = f"host:{name}"
    parts = [_ProcessLanes(profile.processes[i], i, host_index) for i in members]
    children: list[Lane] = []
    shared = _counters_of_host(parts)
    if shared:
        lanes = _counter_lanes(f"{key}/cpu", shared, level=2)
        first = lanes[0]
        children.append(
            Lane(
                f"{key}/cpu",
                "CPU",
                "cpu",
                1,
                tuple(lanes),
                counters=first.counters,
                unit=first.unit,
                detail=first.label,
            )
        )
    with_gpu = [part for part in parts if part.devices]
    busy = tuple(source for part in with_gpu for source in part.device_sources())
    if with_gpu:
        gpus = f"{key}/gpus"
        detail = f"mean of {len(busy)} GPU{'s' if len(busy) != 1 else ''}"
        lanes = [Lane(f"{gpus}/utilization", "SUM Utilization", "utilization", 2, busy=busy, detail=detail)]
        lanes += [part.lane(gpus, 2) for part in with_gpu]
        children.append(Lane(gpus, "GPUs", "gpus", 1, tuple(lanes), busy=busy, detail=detail))
    children += [part.lane(key, 1) for part in parts if not part.devices]
    instance = next((host.instance_type for host in profile.manifest.hosts if host.name == name), "")
    busy = busy or tuple(source for lane in children for source in lane.busy)
    return Lane(key, name, "host", 0, tuple(children), busy=busy, detail=instance)


_Counters = dict[tuple[int, str], dict[int, list[CounterRange]]]
"""(device, name) → CPU (NONE: not of one CPU) → samples."""


def _counters_of_host(parts: list[_ProcessLanes]) -> _Counters:
    """Takes from the processes what is not of a GPU and recorded by one process alone: that is the host's own."""
    shared: _Counters = {}
    for key in sorted(
        {key for part in parts for key in part.counters if key[0] == NONE}, key=lambda k: natural_key(k[1])
    ):
        owners = [part for part in parts if key in part.counters]
        if len(owners) == 1:
            shared[key] = owners[0].counters.pop(key)
    # Utilization is what users look for first.
    return dict(sorted(shared.items(), key=lambda item: "utilization" not in item[0][1].lower()))


def _counter_lanes(parent: str, counters: _Counters, level: int, prefix: str = "") -> list[Lane]:
    lanes = []
    for (device, name), by_cpu in counters.items():
        key, unit = f"{parent}/counter:{device}:{name}", unit_of(name)
        cpus = sorted(cpu for cpu in by_cpu if cpu != NONE)
        children = tuple(
            Lane(f"{key}/cpu:{cpu}", f"CPU {cpu}", "counter", level + 1, (), (), (), tuple(by_cpu[cpu]), unit, name)
            for cpu in cpus
        )
        whole = tuple(by_cpu.get(NONE, ())) or tuple(r for cpu in cpus for r in by_cpu[cpu])
        detail = f"mean of {len(cpus)} CPUs" if NONE not in by_cpu and len(cpus) > 1 else ""
        label = prefix + name.removeprefix("GPU ") if prefix else name
        lanes.append(Lane(key, label, "counter", level, children, (), (), whole, unit, detail))
    return lanes


class _ProcessLanes:
    """What one process contributes: its lane rows by device, stream and thread, its counters."""

    def __init__(self, process: ProcessProfile, index: int, host_index: int) -> None:
        self.info = process.info
        self.index = index
        self.host_index = host_index
        self.counters = _counters(process, index)
        self.streams: dict[tuple[int, int], dict[int, list[int]]] = {}
        self.marks: dict[tuple[int, int], dict[int, list[int]]] = {}
        self.syncs: dict[tuple[int, int], dict[int, list[int]]] = {}
        self.threads: dict[int, dict[int, list[int]]] = {}
        self.unions: dict[int, int] = {}
        """Device → the lane row of all its streams as one."""
        self.own_rows: set[int] = set()
        """Lane rows of what the recorder did itself, which would make every moment busy."""
        table = process.table("lane_rows")
        kinds = table.texts("kind")
        columns = [table[name].tolist() for name in ("table", "device", "stream", "thread", "row")]
        for lane_row, (table_index, device, stream, thread, row) in enumerate(zip(*columns, strict=True)):
            kind = kinds[lane_row]
            if row == NONE:
                self.unions[device] = lane_row
                continue
            if SLICE_TABLES[table_index] == "device":
                target = self.streams.setdefault((device, stream), {})
            elif SLICE_TABLES[table_index] == "annotation" and kind == "device":
                target = self.marks.setdefault((device, stream), {})
            elif kind == "sync":
                target = self.syncs.setdefault((device, stream), {})
            else:
                target = self.threads.setdefault(thread, {})
                if kind in ("other", "overhead"):
                    self.own_rows.add(lane_row)
            target.setdefault(row, []).append(lane_row)
        used = {device for device, _ in (*self.streams, *self.marks) if device != NONE}
        used |= {device for device, _ in self.syncs if device in {d.index for d in self.info.devices} or device in used}
        self.used = devices_of(process)
        """The devices that count in a mean; of the others there are only marks and synchronisations to show."""
        self.devices = sorted(used | set(self.used) | {device for device, _ in self.streams})
        self.untraced = launches_without_executions(process)

    def device_sources(self) -> list[BusySource]:
        return [self._device_source(device) for device in self.used]

    def lane(self, parent: str, level: int) -> Lane:
        key = f"{parent}/process:{self.info.process}"
        children: list[Lane] = []
        for device in self.devices:
            name = f"GPU-{device}" if device >= 0 else "GPU not recorded"
            model = next((d.name for d in self.info.devices if d.index == device), "")
            is_used = device in self.used
            busy: tuple[BusySource, ...] = (self._device_source(device),) if is_used else ()
            gpu = f"{key}/gpu:{device}"
            if is_used:
                children.append(Lane(f"{gpu}/utilization", f"{name} utilization", "utilization", level + 1, busy=busy))
            own = {k: v for k, v in self.counters.items() if k[0] == device}
            children += _counter_lanes(gpu, own, level + 1, f"{name} ")
            lanes = tuple(self._stream_lanes(gpu, device, level + 2))
            children.append(
                Lane(f"{gpu}/device", f"{name} device", "device", level + 1, lanes, busy=busy, detail=model)
            )
        if self.untraced:
            detail = f"{self.untraced:,} launches without an execution: see the losses"
            children.append(Lane(f"{key}/gpu:none", "GPU: no executions", "device", level + 1, detail=detail))
        rest = {k: v for k, v in self.counters.items() if k[0] not in self.devices}
        children += _counter_lanes(key, rest, level + 1)
        children += self._host_lanes(key, level + 1)
        busy = tuple(self.device_sources()) or (self._thread_source(),)
        return Lane(key, self._label(), "process", level, tuple(children), busy=busy, detail=self.info.name)

    def _label(self) -> str:
        info = self.info
        label = (
            f"HOST-{self.host_index} PID-{info.pid}"
            if info.pid is not None
            else f"HOST-{self.host_index} {info.process}"
        )
        return label if info.rank is None else f"{label} · rank {info.rank}"

    def _device_source(self, device: int) -> BusySource:
        rows = [
            r for (d, _), lines in sorted(self.streams.items()) if d == device for line in lines.values() for r in line
        ]
        return BusySource(self.index, tuple(rows), self.unions.get(device, NONE))

    def _thread_source(self) -> BusySource:
        """Any thread busy, what the recorder did itself aside unless there is nothing else."""
        rows = [r for lines in self.threads.values() for r in lines.get(0, ())]
        return BusySource(self.index, tuple(r for r in rows if r not in self.own_rows) or tuple(rows))

    def _rows(self, lines: dict[int, list[int]]) -> tuple[Row, ...]:
        return tuple(Row(self.index, tuple(lines[number])) for number in sorted(lines))

    def _stream_lanes(self, parent: str, device: int, level: int) -> Iterator[Lane]:
        for stream in sorted({s for d, s in (*self.streams, *self.marks, *self.syncs) if d == device}):
            name = f"stream {stream}" if stream != NONE else "stream not recorded"
            for kind, label, source in (
                ("marks", f"annotations · {name}", self.marks),
                ("stream", name, self.streams),
                ("sync", f"synchronisation · {name}", self.syncs),
            ):
                lines = source.get((device, stream))
                if lines:
                    rows = self._rows(lines)
                    everything = BusySource(self.index, tuple(r for row in rows for r in row.lane_rows))
                    yield Lane(f"{parent}/{kind}:{stream}", label, kind, level, rows=rows, busy=(everything,))

    def _host_lanes(self, parent: str, level: int) -> list[Lane]:
        lanes: list[Lane] = []
        inner = level + (1 if self.devices else 0)
        host_key = f"{parent}/threads" if self.devices else parent
        for thread in self._thread_order():
            rows = self._rows(self.threads[thread])
            outermost = BusySource(self.index, rows[0].lane_rows)
            lanes.append(
                Lane(
                    f"{host_key}/thread:{thread}",
                    self._thread_label(thread),
                    "thread",
                    inner,
                    rows=rows,
                    busy=(outermost,),
                )
            )
        for device, stream in sorted(self.syncs):
            if device not in self.devices:
                rows = self._rows(self.syncs[device, stream])
                source = BusySource(self.index, tuple(r for row in rows for r in row.lane_rows))
                label = "synchronisation" if stream == NONE else f"synchronisation · stream {stream}"
                lanes.append(
                    Lane(f"{host_key}/sync:{device}:{stream}", label, "sync", inner, rows=rows, busy=(source,))
                )
        if not self.devices or not lanes:
            return lanes
        numbers = ", ".join(str(device) for device in self.devices if device >= 0)
        return [
            Lane(
                host_key,
                f"GPU-{numbers} host",
                "threads",
                level,
                tuple(lanes),
                busy=(self._thread_source(),),
                detail="any thread busy",
            )
        ]

    def _thread_order(self) -> list[int]:
        """The main thread, then as the manifest lists them, then by number."""
        listed = {thread.id: position for position, thread in enumerate(self.info.threads)}
        return sorted(self.threads, key=lambda t: (t != self.info.pid, listed.get(t, len(listed)), t))

    def _thread_label(self, thread: int) -> str:
        name = next((t.name for t in self.info.threads if t.id == thread), "")
        if thread < 0 or str(thread) in name:
            return name or "thread not recorded"
        return f"{name} {thread}" if name else f"thread {thread}"


def _counters(process: ProcessProfile, index: int) -> _Counters:
    table = process.table("counter")
    if len(table) == 0:
        return {}
    columns = [table[name] for name in ("device", "cpu", "name_id")]
    changed = np.zeros(len(table) - 1, bool)
    for column in columns:
        changed |= column[1:] != column[:-1]
    bounds = [0, *(np.flatnonzero(changed) + 1).tolist(), len(table)]
    found: _Counters = {}
    for begin, end in pairwise(bounds):
        device, cpu, name_id = (int(column[begin]) for column in columns)
        samples = CounterRange(index, begin, end)
        found.setdefault((device, process.names.text(name_id)), {}).setdefault(cpu, []).append(samples)
    return found
