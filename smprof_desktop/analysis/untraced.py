"""What the records of a process tell of executions that were not recorded, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smprof.profile.manifest import Loss
from smprof.profile.schema import HOST_KINDS

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile

MISSING, LOOPS = "missing_executions", "untraced_iterations"

NOT_RECORDED = (
    "No GPU activity was recorded.",
    "Record with EnableCuda set to 1, or with ProfilerActivity.CUDA where the trace is PyTorch's.",
)
_RECORD_AGAIN = (
    "record again with a CUPTI as new as the driver, GPU activities on, and no other GPU profiler or debugger attached"
)
_MEASURE_WHOLE = "iterations after the first are missing in counts and times: time the whole launch by an annotation"

_LAUNCHES = re.compile(r"(?!.*HostFunc)\w*(?:launch|memcpy|memset)", re.IGNORECASE)
"""API calls that make a GPU run something, whatever the toolkit calls them; a host function runs on no GPU."""
_LOOP_CALL = "GraphConditionalHandleCreate"
_LOOP_KERNELS = ("SetWhileCondition", "SetForCondition")
"""Parts of the names of kernels that decide on another iteration: signs of a graph made before the recording."""

_VERSIONS = (("cupti_version", "CUPTI"), ("cuda_driver_version", "CUDA driver"), ("cuda_runtime_version", "runtime"))
_API = HOST_KINDS.index("api")


def of_process(process: ProcessProfile) -> list[Loss]:
    """Launches without a single execution, and loops on the device, as lines of the ledger.

    Reads the names, and columns only where one of them gives a reason.
    """
    where = f"{process.info.host}, process {process.info.process}"
    found = []
    launches = launches_without_executions(process)
    if launches:
        versions = _versions(process.info.metadata)
        found.append(Loss(MISSING, launches, f"{where}: {versions}{_RECORD_AGAIN}"))
    for count, name in _loops(process):
        found.append(Loss(LOOPS, count, f"{where}: {name}; {_MEASURE_WHOLE}"))
    return found


def launches_without_executions(process: ProcessProfile) -> int:
    """How many launches a process recorded, where it recorded not one execution; else 0."""
    if len(process.table("device")):
        return 0
    return sum(count for _, count in _calls(process, lambda name: _LAUNCHES.match(name) is not None))


def why_no_device(losses: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Why there is no GPU activity at all, and how to get some, in sentences, from the `losses` of a report."""
    missing = [loss for loss in losses if loss["kind"] == MISSING]
    if not missing:
        return NOT_RECORDED
    launches = sum(loss["count"] for loss in missing)
    more = f" (and {len(missing) - 1:,} more, see the losses)" if len(missing) > 1 else ""
    return (
        f"No GPU activity was recorded, although {launches:,} launches were: the profiler lost the executions.",
        f"{missing[0]['detail']}{more}.",
    )


def _loops(process: ProcessProfile) -> Iterable[tuple[int, str]]:
    """Signs of loops on the device: how often, and the name of the call or kernel."""
    calls = list(_calls(process, lambda name: _LOOP_CALL in name))
    if calls:
        return [(count, name) for name, count in calls]
    names = _matching(process, lambda name: any(part in name for part in _LOOP_KERNELS))
    if not len(names):
        return []
    device = process.table("device")
    held = device.columns_held()
    shapes = np.flatnonzero(np.isin(process.table("shapes")["name_id"], names))
    count = int(np.count_nonzero(np.isin(device["shape_id"], shapes)))
    device.forget(held)
    return [(count, process.names.text(int(names[0])))] if count else []


def _calls(process: ProcessProfile, is_wanted: Callable[[str], bool]) -> Iterable[tuple[str, int]]:
    """Name and number of the API calls whose names are wanted."""
    names = _matching(process, is_wanted)
    if not len(names):
        return
    host = process.table("host")
    held = host.columns_held()
    kinds = host["kind"]
    first, behind = (int(np.searchsorted(kinds, _API, side)) for side in ("left", "right"))
    counts = np.bincount(np.maximum(host.part("name_id", first, behind), 0), minlength=len(process.names))
    host.forget(held)
    yield from ((process.names.text(int(name)), int(counts[name])) for name in names if counts[name])


def _matching(process: ProcessProfile, is_wanted: Callable[[str], bool]) -> NDArray[np.int64]:
    return np.array([at for at, text in enumerate(process.names.texts) if is_wanted(text)], np.int64)


def _versions(metadata: Mapping[str, Any]) -> str:
    """The versions that a trace names, as the beginning of a sentence; nothing where it names none."""
    told = [
        f"{label} {_version(metadata[key])}"
        for key, label in _VERSIONS
        if isinstance(metadata.get(key), int) and not isinstance(metadata[key], bool)
    ]
    return f"{', '.join(told)}; " if told else ""


def _version(number: int) -> str:
    """12060, as CUDA counts, is 12.6."""
    return f"{number // 1000}.{number % 1000 // 10}" if 1000 <= number < 100_000 else str(number)
