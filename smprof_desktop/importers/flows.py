"""Flow events: a second opinion on what launched what. Correlation ids decide; a flow helps where one is missing.

A flow from a call to an execution adds nothing where either carries its id as correlation id, and one from a forward to
a backward operator nothing where operators carry sequence numbers. What adds nothing is no loss; the rest is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from smprof_desktop.importers.arguments import integer_of
from smprof_desktop.importers.document import Event
from smprof_desktop.importers.executions import Chunk
from smprof_desktop.importers.threads import Id, Threads, number

I64 = NDArray[np.int64]

Call = tuple[int, int, int | None]
"""Duration and correlation id of an API call; its number instead, where it has no correlation id."""

FORWARD_BACKWARD = "fwdbwd"
_INTEGERS = msgspec.json.Decoder(list[int])


class Flows:
    """The flow events of one process: their ids, by category."""

    def __init__(self) -> None:
        self.any = False
        self._ids: defaultdict[str, list[I64]] = defaultdict(list)
        self._without_number: Counter[str] = Counter()
        self._used: set[int] = set()

    def add(self, events: list[Event]) -> None:
        """Note the flow events of one piece."""
        self.any = True
        by_category: defaultdict[str, list[Any]] = defaultdict(list)
        for event in events:
            by_category[event.cat].append(event.id)
        for category, ids in by_category.items():
            try:
                self._ids[category].append(np.array(_INTEGERS.decode(b"[" + b",".join(ids) + b"]"), dtype=np.int64))
            except (msgspec.DecodeError, OverflowError):
                numbers = [integer_of(bytes(flow)) for flow in ids]
                self._without_number[category] += numbers.count(None)
                self._ids[category].append(np.array([value for value in numbers if value is not None], dtype=np.int64))

    def link(
        self,
        flows: Iterable[tuple[int, Event]],
        bare: list[tuple[Chunk, int, tuple[Id, Id]]],
        calls: Mapping[tuple[int, int], list[Call]],
        threads: Threads,
        next_correlation: int,
    ) -> dict[int, int]:
        """Set the correlation of executions without one from the flows that end where they start.

        `calls` are by thread and start. One without correlation id is given one of its own, from `next_correlation`
        on; gives call number → it.
        """
        ends: dict[tuple[Id, Id, int], tuple[str, bytes]] = {}
        begins: dict[tuple[str, bytes], tuple[Id, Id, int]] = {}
        for time_ns, flow in flows:
            key = flow.cat, bytes(flow.id)
            if flow.cat == FORWARD_BACKWARD:
                continue
            if flow.ph == "s":
                begins.setdefault(key, (flow.pid, flow.tid, time_ns))
            else:
                ends[number(flow.pid), number(flow.tid), time_ns] = key
        made: dict[int, int] = {}
        for chunk, row, (pid, tid) in bare:
            key_of_flow = ends.get((number(pid), number(tid), int(chunk.start_ns[row])))
            begin = begins.get(key_of_flow) if key_of_flow is not None else None
            if begin is None or key_of_flow is None:
                continue
            at = calls.get((threads.id(begin[0], begin[1]), begin[2]))
            if not at:
                continue
            _duration, correlation, call = max(at, key=lambda item: item[0])
            if call is not None:
                if call not in made:
                    made[call] = next_correlation + len(made)
                correlation = made[call]
            chunk.correlation[row] = correlation
            flow_id = integer_of(key_of_flow[1])
            if flow_id is not None:
                self._used.add(flow_id)
        return made

    def count_losses(self, correlations: I64, sequences: bool, lose: Callable[[str, int, str], None]) -> None:
        """Count the flows that join nothing: their id is no correlation id, and no flow above used it."""
        known = np.union1d(correlations, np.fromiter(self._used, np.int64, len(self._used)))
        for category, parts in self._ids.items():
            ids = np.concatenate(parts)
            if category == FORWARD_BACKWARD:
                lost = 0 if sequences else len(ids)
            else:
                lost = int(np.count_nonzero(~np.isin(ids, known)))
            lost += self._without_number[category]
            if lost:
                lose("flow", lost, category[:60])
