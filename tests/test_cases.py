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

from smprof.profile.manifest import Manifest, Process
from smprof.profile.reader import Profile
from smprof.profile.schema import HOST_KINDS
from smprof.profile.writer import ProfileWriter
from smprof_desktop import report
from smprof_desktop.dashboard.figures import Missing
from smprof_desktop.dashboard.overview import gpu_active_time
from smprof_desktop.dashboard.panels import PANELS
from smprof_desktop.dashboard.scope import Scope
from smprof_desktop.exporters import chrome
from smprof_desktop.importers import convert
from smprof_desktop.timeline import lanes
from smprof_desktop.window import facts
from tests.importers import test_nsight as nsight
from tests.importers.imported_text import Trace, imported_text, text_of
from tests.importers.measured import measured_import
from tests.make_profile import make_profile

TESTS = Path(__file__).parent
KINETO = "importers/test_kineto.py::"
HERE = "test_cases.py::"

CASES: dict[int, tuple[str, ...]] = {
    # A. Malformed or unusual content
    1: (f"{KINETO}test_a1_one_bad_quote_costs_one_event_and_says_where",),
    2: (
        f"{KINETO}test_a2_a4_h60_h63_names_come_back_as_they_were",
        "exporters/test_chrome.py::test_odd_texts_make_valid_json",
    ),
    4: (f"{KINETO}test_a2_a4_h60_h63_names_come_back_as_they_were",),
    6: (
        f"{KINETO}test_a6_values_that_are_no_numbers_are_gaps",
        "timeline/test_scene.py::test_counters_are_curves_with_gaps",
    ),
    7: (
        f"{KINETO}test_a7_an_empty_trace_is_an_empty_profile",
        f"{KINETO}test_a7_metadata_only_and_repeated",
        "test_report.py::test_an_empty_profile",
        "dashboard/test_panels.py::test_where_there_is_nothing_at_all_no_advice_is_given",
    ),
    8: ("test_report.py::test_no_steps",),
    9: (
        f"{KINETO}test_a9_unknown_keys_before_and_after_the_events",
        "importers/test_detect.py::test_foreign_files_are_named_with_what_to_do",
    ),
    10: ("test_report.py::test_only_cpu_operators", f"{HERE}test_a10_a_memset_without_a_call_for_it"),
    11: (
        f"{HERE}test_a11_c31_the_order_of_records_does_not_matter",
        f"{HERE}test_a11_b23_the_order_of_rows_in_an_export_does_not_matter",
    ),
    12: (f"{HERE}test_a12_a_cut_file_says_where_it_ends_and_keeps_what_stood_before",),
    13: (
        "profile/test_damage.py::test_cut_at_every_step",
        "profile/test_damage.py::test_a_byte_flipped_in_every_step_and_in_every_footer",
        "profile/test_guard.py::test_a_file_that_stops_the_reader_is_lost_and_counted",
    ),
    14: (f"{HERE}test_a14_counters_without_values_are_gaps",),
    # B. Time and clock
    16: (
        f"{HERE}test_b16_kernels_of_another_clock_are_kept_and_counted",
        f"{HERE}test_b16_kernels_outside_of_the_session_are_counted_though_no_launch_tells",
        f"{HERE}test_b16_counted_also_where_segments_are_merged",
    ),
    17: (
        f"{HERE}test_b17_launches_without_any_execution_say_why_everywhere",
        f"{HERE}test_b17_an_export_without_executions_says_so",
        f"{HERE}test_b17_nothing_is_said_where_executions_were_recorded_or_nothing_was_launched",
    ),
    18: (f"{KINETO}test_b18_nesting_survives_at_nanoseconds",),
    19: (
        f"{KINETO}test_b19_b21_far_negative_and_overflowing_times",
        "test_report.py::test_times_further_apart_than_64_bits_are_exact",
    ),
    21: (
        f"{KINETO}test_b19_b21_far_negative_and_overflowing_times",
        "timeline/test_scene.py::test_times_beyond_two_to_the_32_microseconds_are_drawn_right",
    ),
    22: (
        "profile/test_clock.py::test_six_hours_of_50_ppm_are_exact_to_the_ns",
        "profile/test_clock.py::test_six_hours_of_drift_are_taken_out_where_profiles_join",
        "profile/test_clock.py::test_points_of_synchronisation_are_met_and_joined_by_straight_lines",
    ),
    23: (
        "timeline/test_window_of_lane.py::test_columns_equal_the_twin",
        "profile/test_assemble.py::test_links_equal_their_definition",
        f"{HERE}test_a11_c31_the_order_of_records_does_not_matter",
    ),
    # C. Correlation and arrows
    26: (f"{KINETO}test_c26_c27_g55_the_correlation_id_decides_whatever_the_call_is_named",),
    27: (
        f"{KINETO}test_c26_c27_g55_the_correlation_id_decides_whatever_the_call_is_named",
        "timeline/test_scene.py::test_driver_and_runtime_calls_of_one_id_make_one_arrow",
        "analysis/test_linked.py::test_calls_that_share_an_id_are_told_and_which_one_counts",
    ),
    29: (
        f"{KINETO}test_c29_flows_link_where_correlation_ids_are_missing",
        "test_report.py::test_unlinked_executions_are_counted_with_the_reason",
        "timeline/test_arrows.py::test_a_link_that_should_be_there_and_is_not_has_a_mark",
    ),
    30: (f"{HERE}test_c30_a_wait_is_linked_to_no_event_record",),
    31: (f"{HERE}test_a11_c31_the_order_of_records_does_not_matter",),
    33: (
        f"{KINETO}test_c33_synchronisation_records_lie_beside_the_streams",
        "timeline/test_scene.py::test_a_synchronisation_record_never_hides_a_kernel",
    ),
    34: ("timeline/test_scene.py::test_the_arrow_runs_from_start_edge_to_start_edge",),
    # D. Overlap and lane layout
    35: (
        f"{KINETO}test_d35_kernels_that_overlap_on_one_stream_are_all_there",
        "test_report.py::test_overlapping_kernels_of_one_stream_are_both_there",
        "timeline/test_scene.py::test_overlapping_slices_of_one_stream_are_both_drawn_on_two_rows",
        "timeline/test_level.py::test_overlapping_slices_and_instants_are_all_in_the_picture",
    ),
    37: (
        f"{KINETO}test_d37_python_frames_modules_and_record_functions_are_kept",
        "timeline/test_scene.py::test_deeply_nested_frames_are_all_drawn",
        "timeline/test_level.py::test_overlapping_slices_and_instants_are_all_in_the_picture",
    ),
    38: (
        f"{HERE}test_d38_a_parent_lies_above_children_that_were_recorded_first",
        "timeline/test_level.py::test_long_parents_are_painted_above_their_children",
    ),
    39: (
        f"{HERE}test_d39_hundreds_of_streams_stay_what_they_are",
        "timeline/test_packing.py::test_every_slice_is_drawn_once_and_where_it_was_recorded",
        "timeline/test_packing.py::test_a_trace_of_replayed_graphs_loses_nothing",
    ),
    # E. Huge data
    41: (
        "importers/test_hostile.py::test_a_small_file_that_unpacks_to_anything_is_refused",
        "importers/test_convert.py::test_cancelling_removes_everything",
        f"{HERE}test_e41_an_import_takes_less_than_three_times_the_text",
        f"{HERE}test_e41_e42_an_import_tells_how_far_it_is",
    ),
    42: (
        f"{HERE}test_e41_e42_an_import_tells_how_far_it_is",
        f"{HERE}test_e41_an_import_takes_less_than_three_times_the_text",
    ),
    43: (
        "analysis/test_durations.py::test_a_million_slices_are_reduced_without_a_stack_of_them",
        "analysis/test_area.py::test_totals_equal_a_slow_twin",
    ),
    44: ("timeline/test_searching.py::test_the_search_covers_the_whole_profile_not_the_view",),
    45: (f"{HERE}test_e45_nothing_is_capped_silently", "importers/test_round_trip.py::test_kineto"),
    47: (
        "analysis/test_durations.py::test_every_duration_is_in_exactly_one_bin",
        "analysis/test_durations.py::test_linear_bins_are_of_one_whole_width",
    ),
    48: (
        "timeline/test_gestures.py::test_e48_after_fast_scrolling_and_zooming_the_picture_is_whole",
        "window/test_never_waits.py::test_the_window_goes_on_while_columns_are_read",
    ),
    # F. Several ranks
    49: ("dashboard/test_idle_and_ranks.py::test_f49_f50_clocks_that_are_not_aligned_are_not_compared",),
    50: ("dashboard/test_idle_and_ranks.py::test_f49_f50_clocks_that_are_not_aligned_are_not_compared",),
    51: ("dashboard/test_idle_and_ranks.py::test_f51_waiting_for_the_last_rank_is_no_transfer",),
    53: ("dashboard/test_idle_and_ranks.py::test_f53_all_ranks_stand_on_one_page",),
    # G. Device graphs
    55: (f"{KINETO}test_c26_c27_g55_the_correlation_id_decides_whatever_the_call_is_named",),
    56: (
        f"{HERE}test_g56_loops_on_the_device_are_warned_of_whoever_recorded_them",
        f"{HERE}test_g56_a_loop_that_was_made_before_the_recording_is_told_by_its_kernel",
        f"{HERE}test_g56_g58_executions_of_a_graph_whose_launch_is_unknown_are_not_guessed",
    ),
    58: (f"{HERE}test_g56_g58_executions_of_a_graph_whose_launch_is_unknown_are_not_guessed",),
    59: (f"{HERE}test_g59_a_graph_launched_by_the_driver_owns_its_kernels",),
    # H. Names
    60: (
        f"{KINETO}test_a2_a4_h60_h63_names_come_back_as_they_were",
        "analysis/test_names.py::test_a_symbol_of_thousands_of_characters_has_no_cap",
        "timeline/test_scene.py::test_kernels_are_called_as_recorded_demangled_or_by_their_function",
        "test_report.py::test_long_names_lose_their_middle",
    ),
    63: (
        f"{KINETO}test_a2_a4_h60_h63_names_come_back_as_they_were",
        "analysis/test_names.py::test_what_is_no_symbol_stays_as_it_was_recorded",
    ),
    # I. The window
    64: (
        "timeline/test_gestures.py::test_i64_another_screen_scale_has_everything_drawn_anew",
        "timeline/test_opengl.py::test_both_painters_give_the_same_picture",
    ),
    65: (
        "timeline/test_key_events.py::test_letters_of_movement_act_by_place_and_signs_by_character",
        "window/test_pages.py::test_keys_are_changed_on_the_shortcuts_page",
    ),
    67: ("timeline/test_gestures.py::test_i67_in_a_window_of_its_own_it_goes_on_drawing",),
    68: (
        "timeline/test_axis.py::test_every_tick_reads_as_the_time_where_it_stands",
        "timeline/test_viewport.py::test_neighbouring_nanoseconds_stay_apart_at_todays_date",
        "timeline/test_viewport.py::test_zooming_in_and_out_again_returns",
        "timeline/test_viewport.py::test_no_gesture_leaves_the_limits",
    ),
    70: (
        "timeline/test_gestures.py::test_a_touchpad_never_does_two_things_in_one_gesture",
        "timeline/test_gestures.py::test_fine_turns_of_a_wheel_add_up",
        "timeline/test_gestures.py::test_a_release_that_was_not_heard_of_leaves_nothing_held",
        "timeline/test_gestures.py::test_a_held_key_is_let_go_with_the_focus",
    ),
    69: (
        "timeline/test_opengl.py::test_both_painters_give_the_same_picture",
        "timeline/test_opengl.py::test_software_opengl_counts_as_none",
        "timeline/test_opengl.py::test_a_failing_driver_leaves_the_raster_painter_and_one_notice",
        "timeline/test_opengl.py::test_a_context_that_never_comes_is_noticed",
    ),
    66: ("timeline/test_colours.py::test_labels_and_arrows_are_readable",),
    71: (
        "timeline/test_arranging.py::test_pins_outlast_loading_and_unpinning_another",
        "timeline/test_arrangement.py::test_unpinning_one_leaves_the_others",
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
    tmp_path.mkdir(exist_ok=True)
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


def test_a11_b23_the_order_of_rows_in_an_export_does_not_matter(tmp_path: Path) -> None:
    """One event out of order is no reason to give up at 27 %."""
    calls = [nsight.api(100 * n, 100 * n + 9, n) for n in range(1, 30)]
    kernels = [nsight.kernel(100 * n + 50 - n, 100 * n + 70, n) for n in range(1, 30)]
    texts = []
    for seed in range(3):
        for rows in (calls, kernels) if seed else ():
            Random(seed).shuffle(rows)
        path = nsight.database(tmp_path / f"{seed}.sqlite", {nsight.KERNEL: kernels, nsight.RUNTIME: calls})
        convert.import_file(path, tmp_path / str(seed))
        texts.append(text_of(Profile.open(tmp_path / str(seed))))
    assert texts[0].count("<- cudaLaunchKernel") == 29 and texts[0] == texts[1] == texts[2] and "lost" not in texts[0]


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
    figures = report.build(profile)
    latency = figures["latency"]["kernels"]
    assert (latency["linked"], latency["negative"], latency["min_ns"]) == (5, 2, -off_us * 1000)
    [loss] = figures["losses"]
    assert (loss["kind"], loss["count"]) == ("early_execution", 2)
    assert loss["detail"].endswith("the first by 100,000,000,000,000 ns: GPU 0, stream 7, correlation 1")


def test_b16_kernels_outside_of_the_session_are_counted_though_no_launch_tells(tmp_path: Path) -> None:
    session = {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler"}
    trace = [
        {**session, "ts": 100, "dur": 900},
        {**LAUNCH, "ts": 200},
        *({**KERNEL, "ts": ts, "args": {"correlation": ts}} for ts in (94, 95, 999, 1000)),
        *({**KERNEL, "ts": ts, "args": {"correlation": ts}} for ts in (1001, 10**9, 93)),
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(trace))
    profile = Profile.open(convert.import_traces([path], tmp_path / "out"))
    device = profile.processes[0].table("device")
    assert len(device) == 7 and device["start_ns"].max() == 10**12, "all are kept, where they say they are"
    [loss] = [loss for loss in profile.losses if loss.kind == "outside_session"]
    assert (loss.count, loss.detail) == (4, "algo-1, process 9: the first on GPU 0, stream 7, correlation 93")
    inside = opened(tmp_path / "inside", trace[:6])
    assert [loss.count for loss in inside.losses if loss.kind == "outside_session"] == [1], "it ends before 100 µs"


def test_b16_counted_also_where_segments_are_merged(tmp_path: Path) -> None:
    count = 1_500
    writer = ProfileWriter(tmp_path / "p", Manifest(), segment_rows=400)
    process = writer.process(Process("algo-1", "0"))
    name = process.name_id("k")
    times = {"start_ns": [1_000 + n for n in range(count)], "duration_ns": [1] * count}
    ids = {"correlation": list(range(1, count + 1))}
    process.append("host", {**times, **ids, "kind": ["api"] * count, "thread": [1] * count, "name_id": [name] * count})
    times["start_ns"] = [start_ns - (5 if 30 <= n < 70 else 0) for n, start_ns in enumerate(times["start_ns"])]
    placed = {"kind": ["kernel"] * count, "device": [2] * count, "stream": [9] * count}
    process.append("device", {**times, **ids, **placed, "shape_id": [process.shape_id(name)] * count})
    writer.finish()
    [loss] = Profile.open(tmp_path / "p").losses
    detail = "algo-1, process 0: the first by 5 ns: GPU 2, stream 9, correlation 31"
    assert (loss.kind, loss.count, loss.detail) == ("early_execution", 40, detail)


def test_b17_launches_without_any_execution_say_why_everywhere(tmp_path: Path) -> None:
    """All kernels out of range: ledger, report, panels and timeline say that they are missing, why, and what to do."""
    calls = [{**LAUNCH, "ts": 10 * n, "args": {"correlation": n}} for n in range(1, 7)]
    calls += [
        {**LAUNCH, "name": "hipMemcpyWithStream", "ts": 80, "args": {"correlation": 8}},
        {**LAUNCH, "name": "cuLaunchHostFunc", "ts": 90, "args": {"correlation": 9}},
        {**LAUNCH, "name": "cudaStreamSynchronize", "ts": 95, "args": {"correlation": 10}},
    ]
    versions = {"cupti_version": 18, "cuda_runtime_version": 12010, "cuda_driver_version": 12060}
    profile = opened(tmp_path, {"schemaVersion": 1, **versions, "traceEvents": calls})
    figures = report.build(profile)
    assert figures["devices"] == figures["kernels"] == []
    [loss] = figures["losses"]
    assert (loss["kind"], loss["count"]) == ("missing_executions", 7)
    assert "CUPTI 18, CUDA driver 12.6, runtime 12.1; record again with" in loss["detail"]
    assert [(found.kind, found.count) for found in facts.losses_of(profile)] == [("missing_executions", 7)]
    text = report.text(figures)
    assert "No GPU activity was recorded, although 7 launches were" in text and "CUPTI 18" in text
    for panel in PANELS:
        figure = panel.figure(Scope(profile))
        assert isinstance(figure, Missing)
        if panel.needs[0].startswith("device."):
            assert "although 7 launches were" in figure.reason and "record again with" in figure.reason
    for begin_ns, end_ns in ((0, 50_000), (None, 50_000)):
        figure = gpu_active_time(Scope(profile, begin_ns, end_ns))
        assert isinstance(figure, Missing) and "although 7 launches were" in figure.reason
    [lane] = [lane for lane in lanes.build(profile).walk() if lane.kind == "device"]
    assert (lane.label, lane.detail) == ("GPU: no executions", "7 launches without an execution: see the losses")


def test_b17_an_export_without_executions_says_so(tmp_path: Path) -> None:
    calls = [nsight.api(10 * n, 10 * n + 5, n) for n in range(1, 4)]
    nsight.database(tmp_path / "trace.sqlite", {nsight.RUNTIME: calls})
    convert.import_file(tmp_path / "trace.sqlite", tmp_path / "out")
    figures = report.build(Profile.open(tmp_path / "out"))
    assert [(loss["kind"], loss["count"]) for loss in figures["losses"]] == [("missing_executions", 3)]


@pytest.mark.parametrize(
    "text",
    [
        "api 1 0+5 cudaLaunchKernel corr=1\nkernel 0/7 9+5 k corr=2",
        "api 1 0+5 cudaGetDeviceCount corr=1\napi 1 6+5 cudaLaunchHostFunc corr=2",
        "op 1 0+5 launch_something\npython 1 0+5 memset",
    ],
)
def test_b17_nothing_is_said_where_executions_were_recorded_or_nothing_was_launched(tmp_path: Path, text: str) -> None:
    profile = make_profile(tmp_path / "p", text)
    assert "missing_executions" not in {loss["kind"] for loss in report.build(profile)["losses"]}
    assert "GPU: no executions" not in lanes.build(profile).text()


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


def long_text(path: Path, megabytes: int) -> Path:
    """A trace of launches and kernels with their arguments, of about that length."""
    args = {"device": 0, "stream": 7, "grid": [8, 1, 1], "block": [128, 1, 1], "registers per thread": 32, "queued": 0}
    number = 0
    with path.open("w") as stream:
        stream.write('{"schemaVersion": 1, "traceEvents": [')
        while stream.tell() < megabytes << 20:
            events = []
            for _ in range(1_000):
                number += 1
                ids = {"correlation": number, "External id": number}
                events.append({**LAUNCH, "ts": 10 * number, "args": {**ids, "cbid": 211}})
                events.append({**KERNEL, "ts": 10 * number + 4, "name": f"k{number % 50}", "args": {**ids, **args}})
            stream.write(("," if number > 1_000 else "") + json.dumps(events)[1:-1])
        stream.write("]}")
    return path


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell how much memory was used")
def test_e41_an_import_takes_less_than_three_times_the_text(tmp_path: Path) -> None:
    """A text of 3 GB must not take 25."""
    short, long = long_text(tmp_path / "short.json", 2), long_text(tmp_path / "long.json", 40)
    outcomes = [measured_import(path, tmp_path / f"{path.stem}.out") for path in (short, long)]
    assert [outcome.sentence for outcome in outcomes] == [None, None]
    grown_bytes = outcomes[1].peak_bytes - outcomes[0].peak_bytes
    assert 0 < grown_bytes < 3 * (long.stat().st_size - short.stat().st_size)


def test_e41_e42_an_import_tells_how_far_it_is(tmp_path: Path) -> None:
    said: list[tuple[float, str]] = []
    path = long_text(tmp_path / "long.json", 12)
    convert.import_traces([path], tmp_path / "out", lambda share, what: said.append((share, what)))
    shares = [share for share, _ in said]
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert len({share for share in shares if 0 < share < 0.99}) >= 3, "on the way, not at its end"
    assert {what for _, what in said[:-1]} == {"reading long.json"}


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


LOOP = "cudaGraphConditionalHandleCreate"


def test_g56_loops_on_the_device_are_warned_of_whoever_recorded_them(tmp_path: Path) -> None:
    """Only the first iteration of a while node is traced: the ledger says so, once for each process and call."""
    create = {**LAUNCH, "name": LOOP, "ts": 3, "dur": 1}
    kineto = [{**create, "args": {"correlation": 1}}, {**create, "ts": 5, "args": {"correlation": 2}}, LAUNCH, KERNEL]
    driver = [{**create, "cat": "cuda_driver", "name": f"{LOOP.replace('cuda', 'cu')}_v2"}, KERNEL]
    (tmp_path / "nsight").mkdir()
    tables = {nsight.RUNTIME: [nsight.api(1, 2, 1, name="read")], nsight.KERNEL: [nsight.kernel(3, 4, 1)]}
    strings = [LOOP if text == "read" else text for text in nsight.STRINGS]
    nsight.database(tmp_path / "nsight" / "trace.sqlite", tables, strings)
    convert.import_file(tmp_path / "nsight" / "trace.sqlite", tmp_path / "nsight" / "out")
    written = chrome.write_chrome(opened(tmp_path / "written", kineto), tmp_path / "written" / "chrome.json")
    for profile, count, name in (
        (opened(tmp_path / "kineto", kineto), 2, LOOP),
        (opened(tmp_path / "driver", driver), 1, "cuGraphConditionalHandleCreate_v2"),
        (opened(tmp_path / "chrome", written.read_bytes()), 2, LOOP),
        (Profile.open(tmp_path / "nsight" / "out"), 1, LOOP),
    ):
        [loss] = [loss for loss in report.build(profile)["losses"] if loss["kind"] == "untraced_iterations"]
        process = profile.processes[0].info
        assert loss["count"] == count
        assert loss["detail"].startswith(f"{process.host}, process {process.process}: {name}; iterations after the")
        assert "time the whole launch by an annotation" in loss["detail"]
        assert "untraced_iterations" in {found.kind for found in facts.losses_of(profile)}


def test_g56_a_loop_that_was_made_before_the_recording_is_told_by_its_kernel(tmp_path: Path) -> None:
    loops = "api 1 0+5 cudaGraphLaunch corr=1\nkernel 0/7 9+5 'xla::SetWhileCondition(unsigned long)' corr=1\n"
    figures = report.build(make_profile(tmp_path / "p", loops + "kernel 0/7 20+5 gemm corr=1"))
    [loss] = figures["losses"]
    assert (loss["kind"], loss["count"]) == ("untraced_iterations", 1)
    branch = "api 1 0+5 cudaGraphLaunch corr=1\nkernel 0/7 9+5 SetIfCondition corr=1"
    assert report.build(make_profile(tmp_path / "q", branch))["losses"] == [], "a branch has no iterations"


def test_g59_a_graph_launched_by_the_driver_owns_its_kernels(tmp_path: Path) -> None:
    figures = report.build(
        make_profile(
            tmp_path, "api 1 0+5 cuGraphLaunch corr=4\n" + "".join(f"kernel 0/7 {n}0+5 k corr=4\n" for n in (1, 2, 3))
        )
    )
    assert (figures["latency"]["kernels"]["linked"], figures["latency"]["kernels"]["via_graph_launch"]) == (3, 3)
