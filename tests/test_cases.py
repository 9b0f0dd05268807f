"""The faults that users of other viewers reported, by number: each names the tests that hold its right value.

Cases that no other test holds have theirs here.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from smprof.profile.manifest import Clock, Manifest
from smprof.profile.reader import Profile
from smprof.profile.schema import HOST_KINDS
from smprof_desktop import report
from smprof_desktop.importers import convert
from tests.importers.imported_text import Trace, imported_text
from tests.make_profile import make_profile

TESTS = Path(__file__).parent
KINETO = "importers/test_kineto.py::"
HERE = "test_cases.py::"

CASES: dict[int, tuple[str, ...]] = {
    # A. Malformed or unusual content
    1: (f"{KINETO}test_a1_one_bad_quote_costs_one_event_and_says_where",),
    2: (f"{KINETO}test_a2_a4_h60_h63_names_come_back_as_they_were",),
    4: (f"{KINETO}test_a2_a4_h60_h63_names_come_back_as_they_were",),
    6: (f"{KINETO}test_a6_values_that_are_no_numbers_are_gaps",),
    7: (
        f"{KINETO}test_a7_an_empty_trace_is_an_empty_profile",
        f"{KINETO}test_a7_metadata_only_and_repeated",
        "test_report.py::test_an_empty_profile",
    ),
    8: ("test_report.py::test_no_steps",),
    9: (
        f"{KINETO}test_a9_unknown_keys_before_and_after_the_events",
        "importers/test_detect.py::test_foreign_files_are_named_with_what_to_do",
    ),
    10: ("test_report.py::test_only_cpu_operators", f"{HERE}test_a10_a_memset_without_a_call_for_it"),
    11: (f"{HERE}test_a11_c31_the_order_of_records_does_not_matter",),
    12: (f"{HERE}test_a12_a_cut_file_says_where_it_ends_and_keeps_what_stood_before",),
    13: (
        "profile/test_damage.py::test_cut_at_every_step",
        "profile/test_damage.py::test_a_byte_flipped_in_every_step_and_in_every_footer",
        "profile/test_guard.py::test_a_file_that_stops_the_reader_is_lost_and_counted",
    ),
    14: (f"{HERE}test_a14_counters_without_values_are_gaps",),
    # B. Time and clock
    16: (f"{HERE}test_b16_kernels_of_another_clock_are_kept_and_counted",),
    17: (f"{HERE}test_b17_calls_without_any_kernel_say_so",),
    18: (f"{KINETO}test_b18_nesting_survives_at_nanoseconds",),
    19: (
        f"{KINETO}test_b19_b21_far_negative_and_overflowing_times",
        "test_report.py::test_times_further_apart_than_64_bits_are_exact",
    ),
    21: (f"{KINETO}test_b19_b21_far_negative_and_overflowing_times",),
    22: (f"{HERE}test_b22_what_is_known_of_a_clocks_drift_is_kept",),
    23: (
        "profile/test_assemble.py::test_links_equal_their_definition",
        f"{HERE}test_a11_c31_the_order_of_records_does_not_matter",
    ),
    # C. Correlation and arrows
    26: (f"{KINETO}test_c26_c27_g55_the_correlation_id_decides_whatever_the_call_is_named",),
    27: (
        f"{KINETO}test_c26_c27_g55_the_correlation_id_decides_whatever_the_call_is_named",
        "timeline/test_scene.py::test_driver_and_runtime_calls_of_one_id_make_one_arrow",
    ),
    29: (
        f"{KINETO}test_c29_flows_link_where_correlation_ids_are_missing",
        "test_report.py::test_unlinked_executions_are_counted_with_the_reason",
    ),
    30: (f"{HERE}test_c30_a_wait_is_linked_to_no_event_record",),
    31: (f"{HERE}test_a11_c31_the_order_of_records_does_not_matter",),
    33: (f"{KINETO}test_c33_synchronisation_records_lie_beside_the_streams",),
    34: ("timeline/test_scene.py::test_the_arrow_runs_from_start_edge_to_start_edge",),
    # D. Overlap and lane layout
    35: (
        f"{KINETO}test_d35_kernels_that_overlap_on_one_stream_are_all_there",
        "test_report.py::test_overlapping_kernels_of_one_stream_are_both_there",
    ),
    37: (f"{KINETO}test_d37_python_frames_modules_and_record_functions_are_kept",),
    38: (f"{HERE}test_d38_a_parent_lies_above_children_that_were_recorded_first",),
    39: (f"{HERE}test_d39_hundreds_of_streams_stay_what_they_are",),
    # E. Huge data
    41: (
        "importers/test_hostile.py::test_a_small_file_that_unpacks_to_anything_is_refused",
        "importers/test_convert.py::test_cancelling_removes_everything",
    ),
    42: ("importers/test_convert.py::test_eight_real_ranks_are_one_host_in_any_order",),
    45: (f"{HERE}test_e45_nothing_is_capped_silently", "importers/test_round_trip.py::test_kineto"),
    # G. Device graphs
    55: (f"{KINETO}test_c26_c27_g55_the_correlation_id_decides_whatever_the_call_is_named",),
    56: (f"{HERE}test_g56_g58_executions_of_a_graph_whose_launch_is_unknown_are_not_guessed",),
    58: (f"{HERE}test_g56_g58_executions_of_a_graph_whose_launch_is_unknown_are_not_guessed",),
    59: (f"{HERE}test_g59_a_graph_launched_by_the_driver_owns_its_kernels",),
    # H. Names
    60: (
        f"{KINETO}test_a2_a4_h60_h63_names_come_back_as_they_were",
        "analysis/test_names.py::test_a_symbol_of_thousands_of_characters_has_no_cap",
    ),
    63: (
        f"{KINETO}test_a2_a4_h60_h63_names_come_back_as_they_were",
        "analysis/test_names.py::test_what_is_no_symbol_stays_as_it_was_recorded",
    ),
}

LAUNCH = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 10, "dur": 3}
KERNEL = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20, "dur": 5}


@pytest.mark.parametrize("number", CASES)
def test_every_case_names_tests_that_exist(number: int) -> None:
    assert CASES[number]
    for test in CASES[number]:
        path, _, name = test.partition("::")
        tree = ast.parse((TESTS / path).read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test


def opened(tmp_path: Path, trace: Trace) -> Profile:
    path = tmp_path / "trace.json"
    path.write_bytes(trace if isinstance(trace, bytes) else json.dumps(trace).encode())
    convert.import_file(path, tmp_path / "out")
    return Profile.open(tmp_path / "out")


def test_a10_a_memset_without_a_call_for_it(tmp_path: Path) -> None:
    memset = {**KERNEL, "cat": "gpu_memset", "name": "Memset (Device)", "args": {"correlation": 77, "bytes": 64}}
    figures = report.build(opened(tmp_path, [memset]))
    assert figures["memory_ops"] == [{"kind": "Memset", "count": 1, "total_ns": 5000, "bytes": 64}]
    assert [(loss["kind"], loss["count"]) for loss in figures["losses"]] == [("unlinked_execution", 1)]


def test_a11_c31_the_order_of_records_does_not_matter(tmp_path: Path) -> None:
    collective = {"Collective name": "allreduce", "In msg nelems": 1024, "dtype": "Float", "Group size": 8}
    trace: list[dict[str, Any]] = []
    for step in range(20):
        t, number = 100 * step, step + 1
        ids = {"correlation": number, "External id": number}
        trace += [
            {**LAUNCH, "cat": "cpu_op", "name": "nccl:all_reduce", "ts": t, "dur": 50, "args": {"External id": number}},
            {**LAUNCH, "ts": t + 5, "args": ids},
            {**KERNEL, "name": "ncclDevKernel", "ts": t + 30 - step, "args": {**ids, **collective}},
        ]
    as_recorded = imported_text(tmp_path / "recorded", trace)
    assert as_recorded.count("<- cudaLaunchKernel") == 20 and as_recorded.count('"Collective name"') == 20
    for seed in range(3):
        shuffled = trace.copy()
        Random(seed).shuffle(shuffled)
        assert imported_text(tmp_path / str(seed), shuffled) == as_recorded


def test_a12_a_cut_file_says_where_it_ends_and_keeps_what_stood_before(tmp_path: Path) -> None:
    text = json.dumps(
        {"schemaVersion": 1, "traceEvents": [{**LAUNCH, "ts": n, "args": {"correlation": n}} for n in range(1, 9)]}
    )
    cut = text[: text.index('"ts": 6')]
    profile = opened(tmp_path, cut.encode())
    assert profile.processes[0].table("host")["correlation"].tolist() == [1, 2, 3, 4, 5]
    [loss] = profile.losses
    assert (loss.kind, loss.count) == ("truncated_source", 1)
    assert f"ends at byte {len(cut)}, inside the list of events" in loss.detail


def test_a14_counters_without_values_are_gaps(tmp_path: Path) -> None:
    common = {"ph": "C", "name": "pmc", "pid": 9, "tid": 0, "ts": 1}
    trace = [{**common, "args": {}}, common, {**common, "ts": 2, "id": 0, "args": {"value": 4}}]
    profile = opened(tmp_path, trace)
    counter = profile.processes[0].table("counter")
    samples = sorted(zip(counter["time_ns"].tolist(), np.nan_to_num(counter["value"], nan=-1).tolist(), strict=True))
    assert samples == [(1000, -1), (1000, -1), (2000, 4)]
    assert [(loss.kind, loss.count) for loss in profile.losses] == [("gap_value", 2)]


def test_b16_kernels_of_another_clock_are_kept_and_counted(tmp_path: Path) -> None:
    """The head records of a session about 1e14 ns off: shown where they say they are, and counted as negative."""
    off_us = 10**11
    trace = []
    for number in range(1, 6):
        args = {"correlation": number}
        trace.append({**LAUNCH, "ts": off_us + 10 * number, "args": args})
        trace.append({**KERNEL, "ts": 10 * number + (0 if number < 3 else off_us), "args": args})
    profile = opened(tmp_path, trace)
    starts = sorted(profile.processes[0].table("device")["start_ns"].tolist())
    assert starts == [10_000, 20_000, *(off_us * 1000 + 10_000 * number for number in (3, 4, 5))]
    latency = report.build(profile)["latency"]["kernels"]
    assert (latency["linked"], latency["negative"], latency["min_ns"]) == (5, 2, -off_us * 1000)


def test_b17_calls_without_any_kernel_say_so(tmp_path: Path) -> None:
    """All kernels out of range: no device is shown, and the launches without execution are what is there."""
    profile = opened(tmp_path, [{**LAUNCH, "args": {"correlation": 1}}])
    figures = report.build(profile)
    assert figures["devices"] == figures["kernels"] == []
    assert figures["profile"]["slices"]["api"] == 1 and figures["profile"]["slices"]["device"] == 0
    assert (figures["latency"]["kernels"]["linked"], figures["latency"]["kernels"]["median_ns"]) == (0, None)


def test_b22_what_is_known_of_a_clocks_drift_is_kept(tmp_path: Path) -> None:
    clock = Clock("relative", 5, drift_ppm=-3.25, uncertainty_ns=400)
    (tmp_path / "p").mkdir()
    Manifest(clock=clock).write(tmp_path / "p")
    assert Profile.open(tmp_path / "p").manifest.clock == clock


def test_c30_a_wait_is_linked_to_no_event_record(tmp_path: Path) -> None:
    """What it says of that event stays an argument: the event may be of the future or of another session."""
    says = {"wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 900, "wait_on_cuda_event_id": 3}
    wait = {**KERNEL, "cat": "cuda_sync", "name": "Stream Wait Event", "args": {**says, "correlation": 5, "stream": 8}}
    record = {**LAUNCH, "name": "cudaEventRecord", "ts": 9000, "args": {"correlation": 900}}
    profile = opened(tmp_path, [wait, record])
    [process] = profile.processes
    host = process.table("host")
    row = host["kind"].tolist().index(HOST_KINDS.index("sync"))
    assert process.args_of("host", row) == says
    assert host["correlation"][row] == 5 and host["op"].tolist() == [-1, -1]


def test_d38_a_parent_lies_above_children_that_were_recorded_first(tmp_path: Path) -> None:
    op = {"ph": "X", "cat": "cpu_op", "pid": 9, "tid": 9}
    children = [{**op, "name": f"child {n}", "ts": 10 * n, "dur": 10} for n in range(10)]
    profile = opened(tmp_path, [*children, {**op, "name": "parent", "ts": 0, "dur": 100}])
    [process] = profile.processes
    host = process.table("host")
    depth = {process.names.text(n): d for n, d in zip(host["name_id"].tolist(), host["depth"].tolist(), strict=True)}
    assert depth == {"parent": 0, **{f"child {n}": 1 for n in range(10)}}


def test_d39_hundreds_of_streams_stay_what_they_are(tmp_path: Path) -> None:
    """Streams of replayed graphs hold a kernel or two each; none of them is moved, merged or left out."""
    trace = [{**KERNEL, "tid": 20 + n % 300, "ts": n, "dur": 0.5, "args": {"graph id": 1}} for n in range(450)]
    device = opened(tmp_path, trace).processes[0].table("device")
    assert sorted(device["stream"].tolist()) == sorted(20 + n % 300 for n in range(450))
    assert device["row"].tolist() == [0] * 450


def test_e45_nothing_is_capped_silently(tmp_path: Path) -> None:
    """More markers than the manifest takes are counted; slices have no limit."""
    marker = {"ph": "i", "s": "g", "name": "mark", "pid": "Traces", "tid": "t", "ts": 1}
    op = {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 9, "tid": 9, "dur": 1}
    profile = opened(tmp_path, [*[marker] * 1000, *({**op, "ts": 2 * n} for n in range(60_000))])
    [process] = profile.processes
    assert len(process.table("host")) == 60_000
    kept = len(process.info.metadata["instants"])
    assert [(loss.kind, loss.count) for loss in profile.losses] == [("instant", 1000 - kept)]


def test_g56_g58_executions_of_a_graph_whose_launch_is_unknown_are_not_guessed(tmp_path: Path) -> None:
    """Made before the capture, or looped on the device: shown, counted as unlinked, linked to nothing."""
    known = {"graph id": 3, "graph node id": 30}
    trace = [
        {**LAUNCH, "name": "cudaGraphLaunch", "args": {"correlation": 6}},
        {**KERNEL, "args": {**known, "correlation": 6}},
        {**KERNEL, "ts": 30, "args": {**known, "correlation": 2}},
        {**KERNEL, "ts": 40, "args": {**known, "correlation": 0}},
    ]
    profile = opened(tmp_path, trace)
    assert profile.processes[0].table("device")["launch"].tolist() == [0, -1, -1]
    figures = report.build(profile)
    latency = figures["latency"]["kernels"]
    assert (latency["linked"], latency["unlinked"], latency["via_graph_launch"]) == (1, 2, 1)
    assert sum(loss["count"] for loss in figures["losses"] if loss["kind"] == "unlinked_execution") == 2


def test_g59_a_graph_launched_by_the_driver_owns_its_kernels(tmp_path: Path) -> None:
    figures = report.build(
        make_profile(
            tmp_path, "api 1 0+5 cuGraphLaunch corr=4\n" + "".join(f"kernel 0/7 {n}0+5 k corr=4\n" for n in (1, 2, 3))
        )
    )
    assert (figures["latency"]["kernels"]["linked"], figures["latency"]["kernels"]["via_graph_launch"]) == (3, 3)
