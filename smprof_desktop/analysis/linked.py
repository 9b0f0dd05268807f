"""What is told of a slice's links: its launch and what it waited for, what it launched, where it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from smprof.profile.schema import HOST_KINDS, SIDES
from smprof_desktop.analysis.enclosing import Launched, Surroundings, backward_of, forward_of
from smprof_desktop.analysis.launches import (
    calls_with,
    executions_of,
    launch_of,
    queue_of,
    why_nothing_ran,
    why_unlinked,
)
from smprof_desktop.analysis.quantities import exact_time_text, time_text
from smprof_desktop.analysis.sections import TITLES, Rows, Section, kind_of, name_of, thread_text
from smprof_desktop.analysis.statistics import exact_sum
from smprof_desktop.slice_ref import SliceRef

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile

MODULE_PREFIX = "nn.Module: "
MAX_FRAMES = 40
MAX_EXECUTIONS = 10
MAX_DUPLICATES = 10

FROM_START = (
    "Start of the execution minus start of the API call that launched it: the call itself, the time behind earlier "
    "work of the stream, and the rest. Below 0 where the execution is recorded to start first; nothing is cut off."
)
FROM_END = "Start of the execution minus end of its launch; below 0 where it started before the call returned."
QUEUED = "Of that, the time in which earlier work of the same stream still ran."
OVERHEAD = "What is left of the latency: neither the API call nor earlier work of the stream explains it."
BACKWARDS = "The execution is recorded to start before its launch does, so one of the two clocks is off."
DUPLICATE = (
    "Several API calls carry the same correlation id, as where a runtime call makes a driver call. The one that starts "
    "first counts as the launch."
)
SUM = "A plain sum: where executions overlap, that time counts twice."


def launch(process: ProcessProfile, ref: SliceRef) -> Section:
    """Of an execution: what launched it, how long it took to start and why, and its ids."""
    rows = Rows("Launch")
    device, host, found = process.table("device"), process.table("host"), launch_of(process, ref.row)
    if found is None:
        rows.add("Launched by", f"not known: {why_unlinked(process, ref.row)}")
    else:
        rows.add("Launched by", name_of(process, "host", found), SliceRef(ref.process, "host", found))
        _latency(rows, process, ref.row, found)
        rows.add("Launching thread", thread_text(process, host.value("thread", found)))
        _duplicates(rows, process, ref.process, host.value("correlation", found), found)
    for label, column in (
        ("Correlation", "correlation"),
        ("External id", "external_id"),
        ("Context", "context"),
        ("Graph", "graph"),
        ("Graph node", "graph_node"),
    ):
        rows.id(label, device.value(column, ref.row))
    return rows.section()


def executions(process: ProcessProfile, ref: SliceRef) -> Section:
    """Of an API call: what it launched, or why nothing is known of it."""
    rows = Rows("Executions")
    host = process.table("host")
    launched = executions_of(process, ref.row)
    correlation = host.value("correlation", ref.row)
    if not len(launched):
        why = why_nothing_ran(process, ref.row)
        if why:
            rows.add("Launched", f"not known: {why}")
            calls = calls_with(process, correlation)
            if calls[0] != ref.row:
                rows.add("That call", name_of(process, "host", calls[0]), SliceRef(ref.process, "host", calls[0]))
        return rows.section()
    device, launch_ns = process.table("device"), host.value("start_ns", ref.row)
    starts_ns = device.at("start_ns", launched)
    order = np.argsort(starts_ns, kind="stable")
    launched, starts_ns = launched[order], starts_ns[order]
    rows.add("Launched", f"{len(launched):,} executions" if len(launched) > 1 else "1 execution")
    if len(launched) > 1:
        rows.add("Device time", exact_time_text(exact_sum(device.at("duration_ns", launched))), tip=SUM)
    if (early := int((starts_ns < launch_ns).sum())) > 0:
        rows.add("Starts before its launch", "yes" if len(launched) == 1 else f"{early:,} of them", tip=BACKWARDS)
    shown = zip(launched[:MAX_EXECUTIONS].tolist(), starts_ns[:MAX_EXECUTIONS].tolist(), strict=True)
    for row, start_ns in shown:
        after_ns = start_ns - launch_ns
        label = f"after {time_text(after_ns)}" if after_ns >= 0 else f"{time_text(-after_ns)} before"
        rows.add(label, name_of(process, "device", row), SliceRef(ref.process, "device", row), tip=FROM_START)
    if len(launched) > MAX_EXECUTIONS:
        rows.add("and", f"{len(launched) - MAX_EXECUTIONS:,} more: Connections lists all of them")
    _duplicates(rows, process, ref.process, correlation, ref.row)
    return rows.section()


def inside(process: ProcessProfile, ref: SliceRef) -> Section:
    """Of an operator, frame or annotation: what was launched inside it.

    Of an annotation that is also what other threads launched on its thread's behalf, as in the report.
    """
    rows = Rows("Launched inside")
    columns, around = process.table(ref.table), Surroundings(process)
    thread = columns.value("thread", ref.row)
    start_ns, duration_ns = around.times(ref.table, ref.row)
    ask = around.caused_inside if ref.table == "annotation" else around.launched_inside
    found: Launched = ask(thread, start_ns, start_ns + duration_ns)
    if not len(found.rows):
        return rows.section()
    rows.add("API calls", f"{found.calls:,} that launched something")
    rows.add("Executions", f"{len(found.rows):,}")
    rows.add("Device time", exact_time_text(found.total_ns), tip=SUM)
    first, last, longest = int(found.rows[0]), int(found.rows[-1]), found.longest
    for label, row in (("First", first), ("Longest", longest), ("Last", last)):
        if label == "First" or row != first:
            text = f"{name_of(process, 'device', row)} ({time_text(process.table('device').value('duration_ns', row))})"
            rows.add(label, text, SliceRef(ref.process, "device", row))
    return rows.section()


def chain(process: ProcessProfile, ref: SliceRef) -> Section:
    """From the user's code to the slice: annotations, Python frames, modules, operators, launch, execution."""
    rows = Rows("Comes from")
    found = launch_of(process, ref.row) if ref.table == "device" else None
    if found is not None:
        anchor = SliceRef(ref.process, "host", found)
    elif _is_on_thread(process, ref):
        anchor = ref
    else:
        return rows.section()
    around = Surroundings(process)
    thread = process.table(anchor.table).value("thread", anchor.row)
    time_ns, duration_ns = around.times(anchor.table, anchor.row)
    span = thread, time_ns, time_ns + duration_ns
    for row in around.around("annotation", "host", *span):
        outer = SliceRef(ref.process, "annotation", row)
        if outer != anchor:
            rows.add("Annotation", name_of(process, "annotation", row), outer)
    frames = [row for row in around.around("host", "python", *span) if SliceRef(ref.process, "host", row) != anchor]
    _frames(rows, process, ref.process, frames)
    operators = around.operators_around(anchor.row) if anchor.table == "host" else around.around("host", "op", *span)
    for row in operators:
        rows.add("Operator", name_of(process, "host", row), SliceRef(ref.process, "host", row))
        _forward(rows, process, ref.process, row)
    if anchor == ref and ref.table == "host":
        _forward(rows, process, ref.process, ref.row)
        for row in backward_of(process, ref.row)[:MAX_EXECUTIONS]:
            rows.add("Backward operator", name_of(process, "host", row), SliceRef(ref.process, "host", row))
    if found is not None:
        rows.add("Launch", name_of(process, "host", found), anchor)
        rows.add(TITLES[kind_of(process, ref)], name_of(process, "device", ref.row))
    return rows.section()


def _is_on_thread(process: ProcessProfile, ref: SliceRef) -> bool:
    """Whether a slice stands on the lane of a thread."""
    if ref.table == "annotation":
        return process.table("annotation").value("side", ref.row) == SIDES.index("host")
    return ref.table == "host" and process.table("host").value("kind", ref.row) != HOST_KINDS.index("sync")


def same_id(process: ProcessProfile, ref: SliceRef) -> Section:
    """Of a synchronisation record the API call that it was recorded for, of such a call its records."""
    rows = Rows("Synchronisation")
    host = process.table("host")
    sync, api = HOST_KINDS.index("sync"), HOST_KINDS.index("api")
    correlation, kind = host.value("correlation", ref.row), host.value("kind", ref.row)
    if correlation <= 0 or kind not in (sync, api):
        return rows.section()
    others = host.rows_with("correlation", correlation)
    others = others[host.at("kind", others) == (api if kind == sync else sync)]
    for row in others[:MAX_DUPLICATES].tolist():
        label = "Recorded for" if kind == sync else "Record"
        rows.add(label, name_of(process, "host", row), SliceRef(ref.process, "host", row))
    return rows.section()


def _latency(rows: Rows, process: ProcessProfile, device_row: int, host_row: int) -> None:
    device, host = process.table("device"), process.table("host")
    start_ns, launch_ns = device.value("start_ns", device_row), host.value("start_ns", host_row)
    end_ns = launch_ns + host.value("duration_ns", host_row)
    rows.add("Latency from launch start", exact_time_text(start_ns - launch_ns), tip=FROM_START)
    rows.add("Latency from launch end", exact_time_text(start_ns - end_ns), tip=FROM_END)
    if start_ns < launch_ns:
        rows.add("Starts before its launch", f"by {exact_time_text(launch_ns - start_ns)}", tip=BACKWARDS)
    elif start_ns > end_ns:
        queue = queue_of(process, device_row, end_ns)
        if queue.ahead:
            work = "execution" if queue.ahead == 1 else "executions"
            text = f"{exact_time_text(queue.queued_ns)}, {queue.ahead:,} earlier {work} of the stream"
            rows.add("of it queued", text, tip=QUEUED)
            rows.add("of it launch overhead", exact_time_text(start_ns - end_ns - queue.queued_ns), tip=OVERHEAD)


def _duplicates(rows: Rows, process: ProcessProfile, index: int, correlation: int, taken: int) -> None:
    """The other API calls with the launch's id, and why it was taken."""
    calls = [row for row in calls_with(process, correlation) if row != taken]
    if not calls:
        return
    rows.add("Calls with its id", f"{len(calls) + 1:,}; the one that starts first is taken", tip=DUPLICATE)
    for row in calls[:MAX_DUPLICATES]:
        rows.add("also", name_of(process, "host", row), SliceRef(index, "host", row), tip=DUPLICATE)
    if len(calls) > MAX_DUPLICATES:
        rows.add("and", f"{len(calls) - MAX_DUPLICATES:,} more")


def _frames(rows: Rows, process: ProcessProfile, index: int, frames: Iterable[int]) -> None:
    """Python frames and modules, outermost first: all modules, and of the frames the inner ones."""
    named = [(row, name_of(process, "host", row)) for row in frames]
    plain = [row for row, name in named if not name.startswith(MODULE_PREFIX)]
    if len(plain) > MAX_FRAMES:
        rows.add("Python frames", f"{len(plain) - MAX_FRAMES} outer ones are left out")
    kept = set(plain[-MAX_FRAMES:])
    for row, name in named:
        if name.startswith(MODULE_PREFIX):
            rows.add("Module", name[len(MODULE_PREFIX) :], SliceRef(index, "host", row))
        elif row in kept:
            rows.add("Python frame", name, SliceRef(index, "host", row))


def _forward(rows: Rows, process: ProcessProfile, index: int, row: int) -> None:
    forward = forward_of(process, row)
    if forward is not None:
        rows.add("of the forward operator", name_of(process, "host", forward), SliceRef(index, "host", forward))
