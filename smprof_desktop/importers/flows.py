"""Flow events: a second opinion on what launched what. Correlation ids decide; a flow helps where one is missing.

A flow from a call to an execution adds nothing where either carries its id as correlation id, and one from a forward to
a backward operator nothing where operators carry sequence numbers. What adds nothing is no loss; the rest is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
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


@dataclass
class FlowIds:
    """The ids of flow events of one category, and how many have none that is an integer."""

    ids: I64
    without_number: int = 0

    def joined(self, before: FlowIds | None) -> FlowIds:
        """These behind those before."""
        if before is None:
            return self
        return FlowIds(np.concatenate((before.ids, self.ids)), before.without_number + self.without_number)


def flow_ids(events: Sequence[Event]) -> dict[str, FlowIds]:
    """The ids of flow events by category."""
    by_category: defaultdict[str, list[Any]] = defaultdict(list)
    for event in events:
        by_category[event.cat].append(event.id)
    found: dict[str, FlowIds] = {}
    for category, ids in by_category.items():
        try:
            found[category] = FlowIds(np.array(_INTEGERS.decode(b"[" + b",".join(ids) + b"]"), dtype=np.int64))
        except (msgspec.DecodeError, OverflowError):
            numbers = [integer_of(bytes(flow)) for flow in ids]
            whole = np.array([value for value in numbers if value is not None], dtype=np.int64)
            found[category] = FlowIds(whole, numbers.count(None))
    return found


class Flows:
    """The flow events of one process: their ids, by category."""

    def __init__(self) -> None:
        self._ids: defaultdict[str, list[FlowIds]] = defaultdict(list)
        self._used: set[int] = set()

    @property
    def any(self) -> bool:
        """Whether there are flow events."""
        return bool(self._ids)

    def add(self, flows: Mapping[str, FlowIds]) -> None:
        """Note the flow events of one piece."""
        for category, ids in flows.items():
            self._ids[category].append(ids)

    def link(
        self,
        flows: Iterable[tuple[int, Event]],
        bare: list[tuple[Chunk, int, tuple[Id, Id]]],
        calls: Mapping[tuple[int, int], list[Call]],
        threads: Threads,
        free_ids: Iterator[int],
    ) -> dict[int, int]:
        """Set the correlation of executions without one from the flows that end where they start.

        `calls` are by thread and start. One without correlation id is given one of its own, the next of `free_ids`;
        gives call number → it.
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
                    made[call] = next(free_ids)
                correlation = made[call]
            if not chunk.correlation.flags.writeable:
                chunk.correlation = chunk.correlation.copy()
            chunk.correlation[row] = correlation
            flow_id = integer_of(key_of_flow[1])
            if flow_id is not None:
                self._used.add(flow_id)
        return made

    def count_losses(self, correlations: I64, sequences: bool, lose: Callable[[str, int, str], None]) -> None:
        """Count the flows that join nothing: their id is no correlation id, and no flow above used it."""
        known = np.union1d(correlations, np.fromiter(self._used, np.int64, len(self._used)))
        for category, parts in self._ids.items():
            ids = np.concatenate([part.ids for part in parts])
            if category == FORWARD_BACKWARD:
                lost = 0 if sequences else len(ids)
            else:
                lost = int(np.count_nonzero(~np.isin(ids, known)))
            lost += sum(part.without_number for part in parts)
            if lost:
                lose("flow", lost, category[:60])


def free_ids(taken: I64) -> Iterator[int]:
    """Ids above 0 that are none of `taken`, ascending."""
    highest = int(taken.max(initial=0))
    if highest < 1 << 62:
        yield from count(highest + 1)
    known = set(taken.tolist())
    yield from (number_of for number_of in count(1) if number_of not in known)
