"""The rows of one rank of a synthetic run: what happened, as columns for the profile's writer."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.schema import ANNOTATION_SOURCES, COPY_KINDS, DEVICE_KINDS, HOST_KINDS, NONE, SIDES
from smprof.profile.writer import ProcessWriter
from smprof_desktop.synthesize.counters import GpuCounters
from smprof_desktop.synthesize.kernels import ALL_REDUCE, KERNELS, Shape
from smprof_desktop.synthesize.model import ANNOTATION_LEVEL, BACKWARD, SECTIONS, Unit
from smprof_desktop.synthesize.run import Happened, Plan
from smprof_desktop.synthesize.timing import COPY_BYTES_PER_NS, MARGIN_NS

COMPUTE_STREAM, COLLECTIVE_STREAM, COPY_STREAM = 7, 20, 24
FLUSH_ROWS = 100_000
_WEIGHT_BYTES, _ACTIVATION_BYTES = 11 << 30, 22 << 30
STEP_ROWS = 5
"""Slices of a step beside those of its micro-batches."""

_API, _OP, _PYTHON, _SYNC = (HOST_KINDS.index(kind) for kind in ("api", "op", "python", "sync"))
_KERNEL, _MEMCPY, _MEMSET = (DEVICE_KINDS.index(kind) for kind in ("kernel", "memcpy", "memset"))

Columns = dict[str, NDArray[Any]]


class RankRows:
    """Writes the slices of one rank, a micro-batch at a time."""

    def __init__(
        self, plan: Plan, rank: int, writer: ProcessWriter, gpu: GpuCounters, main: int, autograd: int, loader: int
    ) -> None:
        self._gpu = gpu
        self._plan = plan
        self._rank = rank
        self._writer = writer
        self._main, self._autograd, self._loader = main, autograd, loader
        self._device = rank % plan.devices
        self._names: dict[str, int] = {}
        unit = plan.pace.unit
        self._name_of = writer.name_ids(unit.names)
        shapes = {key: self._shape(shape) for key, shape in KERNELS.items()}
        self._shape_of = np.array([shapes[key] for key in unit.shape], np.int32)
        self._api_of = np.array([self._name(KERNELS[key].api) for key in unit.shape], np.int32)
        self._collective_shape = self._shape(ALL_REDUCE)
        self._copy_shapes = {
            kind: writer.shape_id(self._name(name))
            for kind, name in {
                "HtoD": "Memcpy HtoD (Pinned -> Device)",
                "DtoH": "Memcpy DtoH (Device -> Pinned)",
                "set": "Memset (Device)",
            }.items()
        }
        self._next_correlation = 1_000 + 17 * rank
        self._next_external = 1
        self._next_sequence = 0
        self._fetch_end = 0
        self._step_begin = 0
        self._waiting: dict[tuple[str, str], list[Columns]] = defaultdict(list)
        self._waiting_rows = 0

    def write(self, happened: Happened) -> None:
        """Add a micro-batch and, with the last one of a step, the step itself."""
        host = self._host_rows(happened)
        self._device_rows(happened, host)
        self._annotations(happened)
        if happened.is_last:
            self._step(happened)
        if self._waiting_rows >= FLUSH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Hand over what is still held."""
        for (table, _), batches in self._waiting.items():
            self._writer.append(table, {key: np.concatenate([batch[key] for batch in batches]) for key in batches[0]})
        self._waiting.clear()
        self._waiting_rows = 0

    def _name(self, text: str) -> int:
        if text not in self._names:
            self._names[text] = self._writer.name_id(text)
        return self._names[text]

    def _shape(self, shape: Shape) -> int:
        return self._writer.shape_id(
            self._name(shape.name),
            grid=shape.grid,
            block=shape.block,
            registers=shape.registers,
            shared_memory_bytes=shape.shared_memory_bytes,
            occupancy_percent=shape.occupancy_percent,
        )

    def _add(self, table: str, variant: str, columns: Columns) -> None:
        """Hold rows back until there are many. Rows of one variant have the same columns."""
        self._waiting[table, variant].append(columns)
        self._waiting_rows += len(columns["start_ns"])

    def _host_rows(self, happened: Happened) -> _HostRows:
        rows = _HostRows(self._plan.pace.unit, happened, self._seed(happened))
        rows.add_spans(self._main, self._autograd, self._name_of)
        rows.add_launches(self._main, self._autograd, self._api_of)
        rows.add_copies(self._main, self._name)
        if happened.is_last:
            rows.add_collectives(self._autograd, self._name)
        rows.add_read_back(self._main, self._name)
        columns, self._next_correlation, self._next_external = rows.finish(
            self._next_correlation, self._next_external, self._next_sequence
        )
        self._next_sequence += self._plan.pace.unit.sequences
        self._add("host", "", columns)
        self._add_sync_record(happened, int(columns["correlation"][rows.wait_row]))
        rows.correlation = columns["correlation"]
        return rows

    def _seed(self, happened: Happened) -> tuple[int, ...]:
        return (self._plan.seed, 4, self._rank, happened.step, happened.micro_batch)

    def _add_sync_record(self, happened: Happened, correlation: int) -> None:
        back = happened.back
        start, end = back.wait + 700, max(back.wait + 900, back.copy_device_end + 2_500)
        self._add(
            "host",
            "sync",
            {
                "kind": np.array([_SYNC], np.uint8),
                "thread": np.array([NONE]),
                "start_ns": np.array([start]),
                "duration_ns": np.array([end - start]),
                "name_id": np.array([self._name("Stream Synchronize")], np.int32),
                "correlation": np.array([correlation]),
                "device": np.array([self._device], np.int32),
                "stream": np.array([COMPUTE_STREAM]),
            },
        )

    def _device_rows(self, happened: Happened, host: _HostRows) -> None:
        launches, back = happened.launches, happened.back
        count = launches.done
        starts = [launches.device_start_ns[:count]]
        ends = [launches.device_end_ns[:count]]
        streams = [np.full(count, COMPUTE_STREAM)]
        shapes = [self._shape_of[:count]]
        correlations = [host.correlation[host.launch_rows]]
        if happened.collective_device_ns is not None and happened.collective_device_end_ns is not None:
            buckets = len(happened.collective_device_ns)
            starts.append(happened.collective_device_ns)
            ends.append(happened.collective_device_end_ns)
            streams.append(np.full(buckets, COLLECTIVE_STREAM))
            shapes.append(np.full(buckets, self._collective_shape, np.int32))
            correlations.append(host.correlation[host.collective_rows])
        start, end = np.concatenate(starts), np.concatenate(ends)
        self._gpu.add_busy(start, end)
        self._gpu.add_memory(*self._memory(happened))
        self._add("device", "kernel", self._device_columns(
            _KERNEL, np.concatenate(streams), start, end, np.concatenate(shapes), np.concatenate(correlations)
        ))  # fmt: skip
        copy_correlation = host.correlation[host.copy_rows]
        copy_start = np.append(launches.copy_device[:2], back.copy_device)
        copy_end = np.append(launches.copy_device_end[:2], back.copy_device_end)
        columns = self._device_columns(
            _MEMCPY,
            np.array([COPY_STREAM, COPY_STREAM, COMPUTE_STREAM]),
            copy_start,
            copy_end,
            np.array([self._copy_shapes[kind] for kind in ("HtoD", "HtoD", "DtoH")], np.int32),
            np.append(copy_correlation[:2], host.correlation[host.read_back_row]),
        )
        columns["bytes"] = np.append((copy_end - copy_start)[:2] * COPY_BYTES_PER_NS // 512 * 512, 4)
        columns["copy_kind"] = np.array([COPY_KINDS.index(kind) for kind in ("HtoD", "HtoD", "DtoH")], np.uint8)
        self._add("device", "memcpy", columns)
        columns = self._device_columns(
            _MEMSET,
            np.array([COMPUTE_STREAM]),
            launches.copy_device[2:],
            launches.copy_device_end[2:],
            np.array([self._copy_shapes["set"]], np.int32),
            copy_correlation[2:],
        )
        columns["bytes"] = np.array([4 << 20])
        self._add("device", "memset", columns)

    def _memory(self, happened: Happened) -> tuple[NDArray[Any], NDArray[Any]]:
        """Allocated memory: activations pile up in the forward pass and go in the backward pass."""
        unit, launches = self._plan.pace.unit, happened.launches
        turn = int(np.searchsorted(unit.section, BACKWARD))
        points = np.unique(np.linspace(0, launches.done - 1, 9).astype(np.int64))
        height = np.where(points < turn, points / turn, 1 - (points - turn) / max(launches.done - turn, 1))
        held = _WEIGHT_BYTES + height * _ACTIVATION_BYTES * (0.99 + 0.02 * happened.draws.uniform[42])
        return launches.device_start_ns[points], np.floor(held / 512) * 512

    def _device_columns(
        self,
        kind: int,
        stream: NDArray[Any],
        start: NDArray[Any],
        end: NDArray[Any],
        shape: NDArray[Any],
        correlation: NDArray[Any],
    ) -> Columns:
        count = len(start)
        return {
            "kind": np.full(count, kind, np.uint8),
            "device": np.full(count, self._device, np.int32),
            "stream": stream.astype(np.int64),
            "start_ns": start,
            "duration_ns": end - start,
            "shape_id": shape,
            "correlation": correlation,
            "context": np.ones(count, np.int64),
        }

    def _annotations(self, happened: Happened) -> None:
        unit, launches = self._plan.pace.unit, happened.launches
        section = unit.section[: launches.done]
        present = np.unique(section)
        first, last = np.searchsorted(section, present), np.searchsorted(section, present, "right") - 1
        margin = ANNOTATION_LEVEL * MARGIN_NS
        start = launches.start_ns[first] - margin
        names = np.array([self._name(SECTIONS[number]) for number in present], np.int32)
        self._add_annotations(start, launches.end_ns[last] + margin, names)

    def _add_annotations(self, start: NDArray[Any], end: NDArray[Any], names: NDArray[Any]) -> None:
        count = len(start)
        self._add("annotation", "", {
            "side": np.full(count, SIDES.index("host"), np.uint8),
            "thread": np.full(count, self._main),
            "start_ns": start,
            "duration_ns": end - start,
            "name_id": names,
            "source": np.full(count, ANNOTATION_SOURCES.index("smprof"), np.uint8),
        })  # fmt: skip

    def _step(self, happened: Happened) -> None:
        """The step itself, the wait for its data, and the thread that loaded it."""
        begin, end, data = happened.step_begin_ns, happened.back.op_end + 8_000, happened.data_ns
        name = self._writer.name_id(f"step_{happened.step}")
        self._add_annotations(np.array([begin]), np.array([end]), np.array([name], np.int32))
        step_ns = max(begin - self._step_begin, 0) if self._step_begin else 0
        fetch = max(self._fetch_end, self._step_begin) + 200_000 if self._step_begin else begin + 20_000
        # A batch is fetched while the step before it runs; only where that takes longer does the step wait.
        waits = data - begin > 1_000_000
        fetch_end = data - 18_000 if waits else fetch + int(step_ns * (0.5 + 0.1 * happened.draws.uniform[41]))
        fetch_end = max(min(fetch_end, data - 18_000), fetch + 60_000)
        self._fetch_end, self._step_begin = fetch_end, begin
        rows = (
            (_PYTHON, self._main, begin + 5_000, end - 3_000, "train.py(84): train_step"),
            (
                _OP,
                self._main,
                begin + 9_000,
                data - 3_000,
                "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            ),
            (_PYTHON, self._loader, fetch, fetch_end, "torch/utils/data/_utils/worker.py: fetch"),
            (
                _PYTHON,
                self._loader,
                fetch_end - (fetch_end - fetch) // 6,
                fetch_end - 4_000,
                "dataset.py(41): collate_tokens",
            ),
        )
        start = np.array([row[2] for row in rows])
        count = len(rows)
        self._add("host", "step", {
            "kind": np.array([row[0] for row in rows], np.uint8),
            "thread": np.array([row[1] for row in rows]),
            "start_ns": start,
            "duration_ns": np.array([row[3] for row in rows]) - start,
            "name_id": np.array([self._name(row[4]) for row in rows], np.int32),
            "correlation": np.full(count, NONE),
        })  # fmt: skip


class _HostRows:
    """The host slices of one micro-batch while they are put together. `external`: the row whose external id an API call
    carries."""

    def __init__(self, unit: Unit, happened: Happened, seed: tuple[int, ...]) -> None:
        self._unit = unit
        self._happened = happened
        self._random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        self._parts: list[Columns] = []
        self._count = 0
        self.launch_rows = self.collective_rows = self.copy_rows = np.zeros(0, np.int64)
        self.read_back_row = self.wait_row = 0
        self.correlation: NDArray[Any] = np.zeros(0, np.int64)
        self._span_row = np.zeros(0, np.int64)

    def add_spans(self, main: int, autograd: int, name_of: NDArray[Any]) -> None:
        """Operators and modules around the launches, operators without a kernel, and the frame that waits for
        backward."""
        launches, spans = self._happened.launches, self._unit.spans
        kept = np.flatnonzero(spans.last < launches.done)
        first, last, level = spans.first[kept], spans.last[kept], spans.level[kept]
        jitter = (self._random.random((2, len(kept))) * 400).astype(np.int64)
        is_backward = self._unit.section[first] == BACKWARD
        sequence = spans.sequence[kept]
        rows = self._add(
            spans.kind[kept],
            np.where(is_backward, autograd, main),
            launches.start_ns[first] - level * MARGIN_NS - jitter[0],
            launches.end_ns[last] + level * MARGIN_NS + jitter[1],
            name_of[spans.name[kept]],
            sequence=sequence,
            forward_thread=np.where(is_backward & (sequence >= 0), 1, NONE),
        )
        self._span_row = np.full(len(spans.first), NONE)
        self._span_row[kept] = rows
        leaves = self._unit.leaf_kernel < launches.done
        kernel = self._unit.leaf_kernel[leaves]
        u = self._random.random((2, len(kernel)))
        start = launches.start_ns[kernel] - 2_550 + (u[0] * 50).astype(np.int64)
        threads = np.where(self._unit.section[kernel] == BACKWARD, autograd, main)
        self._add(
            _OP, threads, start, start + 500 + (u[1] * 200).astype(np.int64), name_of[self._unit.leaf_name[leaves]]
        )

    def add_launches(self, main: int, autograd: int, api_of: NDArray[Any]) -> None:
        """The API call of each kernel."""
        launches = self._happened.launches
        done = launches.done
        threads = np.where(self._unit.section[:done] == BACKWARD, autograd, main)
        external = self._span_row[self._unit.op_span[:done]]
        self.launch_rows = self._add(
            _API, threads, launches.start_ns[:done], launches.end_ns[:done], api_of[:done], external
        )

    def add_copies(self, main: int, name: Any) -> None:
        """The batch on its way to the GPU, and the memset."""
        launches = self._happened.launches
        start, end = launches.copy_api, launches.copy_api_end
        ops = np.array([name("aten::copy_"), name("aten::copy_"), name("aten::zero_")], np.int32)
        apis = np.array([name("cudaMemcpyAsync"), name("cudaMemcpyAsync"), name("cudaMemsetAsync")], np.int32)
        around = self._add(_OP, main, start - 3_000, end + 1_500, ops)
        self.copy_rows = self._add(_API, main, start, end, apis, around)
        section = self._unit.section[: launches.done]
        backward = np.flatnonzero(section == BACKWARD)
        margin = (ANNOTATION_LEVEL - 1) * MARGIN_NS + 600
        frame = launches.start_ns[backward[:1]] - margin, launches.end_ns[backward[-1:]] + margin
        self._add(_PYTHON, main, *frame, np.array([name("torch/_tensor.py: backward")], np.int32))

    def add_collectives(self, autograd: int, name: Any) -> None:
        """Each all-reduce: an event on the compute stream, a wait for it, the launch, and the operator around them."""
        start = self._happened.collective_start_ns
        if start is None:
            return
        u = (self._random.random((4, len(start))) * 700).astype(np.int64)

        def names(text: str) -> NDArray[Any]:
            return np.full(len(start), name(text), np.int32)

        around = self._add(_OP, autograd, start - 11_000 + u[0], start + 8_000, names("nccl:all_reduce"))
        self._add(_API, autograd, start - 9_000, start - 8_200 + u[1], names("cudaEventRecord"), around)
        self._add(_API, autograd, start - 5_500, start - 4_700 + u[2], names("cudaStreamWaitEvent"), around)
        self.collective_rows = self._add(_API, autograd, start, start + 5_600 + u[3], names(ALL_REDUCE.api), around)

    def add_read_back(self, main: int, name: Any) -> None:
        """Reading the loss back: the copy, and the wait for all that was launched before it."""
        back = self._happened.back

        def one(kind: int, start: int, end: int, text: str, external: NDArray[Any] | None = None) -> NDArray[Any]:
            return self._add(kind, main, np.array([start]), np.array([end]), np.array([name(text)], np.int32), external)

        one(_OP, back.copy_api - 6_000, back.op_end, "aten::item")
        scalar = one(_OP, back.copy_api - 3_000, back.op_end - 1_200, "aten::_local_scalar_dense")
        self.read_back_row = int(one(_API, back.copy_api, back.copy_api_end, "cudaMemcpyAsync", scalar)[0])
        self.wait_row = int(one(_API, back.wait, back.wait_end, "cudaStreamSynchronize", scalar)[0])

    def finish(self, correlation: int, external: int, sequence: int) -> tuple[Columns, int, int]:
        """The columns, with ids counted in the order of the starts; and the next ids."""
        columns = {key: np.concatenate([part[key] for part in self._parts]) for key in self._parts[0]}
        calls = np.flatnonzero(columns["kind"] == _API)
        ops = np.flatnonzero(columns["kind"] == _OP)
        columns["correlation"] = _numbered(columns["start_ns"], calls, correlation)
        ids = _numbered(columns["start_ns"], ops, external)
        around = columns.pop("around")
        columns["external_id"] = np.where(around >= 0, ids[around], ids)
        columns["sequence"] = np.where(columns["sequence"] >= 0, columns["sequence"] + sequence, NONE)
        return columns, correlation + len(calls), external + len(ops)

    def _add(
        self,
        kind: int | NDArray[Any],
        thread: int | NDArray[Any],
        start: NDArray[Any],
        end: NDArray[Any],
        names: NDArray[Any],
        around: NDArray[Any] | None = None,
        sequence: NDArray[Any] | None = None,
        forward_thread: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Add slices [start, end). Returns their rows."""
        count = len(start)
        none = np.full(count, NONE)
        self._parts.append(
            {
                "kind": np.broadcast_to(np.asarray(kind, np.uint8), count),
                "thread": np.broadcast_to(np.asarray(thread, np.int64), count),
                "start_ns": start,
                "duration_ns": end - start,
                "name_id": names,
                "around": none if around is None else around,
                "sequence": none if sequence is None else sequence,
                "forward_thread": none if forward_thread is None else forward_thread,
            }
        )
        self._count += count
        return np.arange(self._count - count, self._count)


def _numbered(start: NDArray[Any], rows: NDArray[Any], first: int) -> NDArray[Any]:
    """Numbers from `first` on for those rows in the order of their starts; NONE for the others."""
    numbers = np.full(len(start), NONE)
    numbers[rows[np.argsort(start[rows], kind="stable")]] = first + np.arange(len(rows))
    return numbers
