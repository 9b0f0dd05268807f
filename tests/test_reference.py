"""Reports of real traces against exact answers that were worked out independently, by decimal arithmetic."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from smprof.profile.reader import Profile
from smprof_desktop import report
from smprof_desktop.importers.convert import import_traces
from tests.test_report import keep_invariants

WHOLE = {
    "hta_diff_test": "hta_diff_test.json.gz",
    "kineto_resnet50_nw0_2021a": "kineto_resnet50_nw0_2021a.pt.trace.json.gz",
    "tl_h100_owlv2": "tl_h100_owlv2.json.gz",
}
RANKS = "param_dlrm_8rank"


@pytest.fixture(scope="module")
def profiles(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Profile]:
    folder = tmp_path_factory.mktemp("imports")
    opened = {
        name: Profile.open(import_traces([traces / "kineto" / file], folder / name)) for name, file in WHOLE.items()
    }
    opened[RANKS] = Profile.open(import_traces(sorted((traces / "kineto" / RANKS).iterdir()), folder / RANKS))
    return opened


def top(kernels: list[dict[str, Any]], key: str) -> list[tuple[str, int, int]]:
    rows = sorted(kernels, key=lambda row: (-row[key], row["name"]))[:15]
    return [(row["name"], row["count"], row["total_ns"]) for row in rows]


@pytest.mark.parametrize("name", list(WHOLE))
def test_every_figure_of_a_trace(name: str, traces: Path, profiles: dict[str, Profile]) -> None:
    want = json.loads((traces / "reference" / f"{name}.json").read_text())
    got = report.build(profiles[name])
    keep_invariants(got)
    assert sum(row["count"] for row in got["kernels"]) == want["kernels"]["count"]
    assert got["activities"]["kernel_ns"] == want["kernels"]["total_ns"]
    assert len(got["kernels"]) == want["kernels"]["distinct_names"]
    for order, key in (("by_total", "total_ns"), ("by_count", "count")):
        assert top(got["kernels"], key) == [(r["name"], r["count"], r["total_ns"]) for r in want["kernels"][order]]
    copies = {row["kind"]: (row["count"], row["total_ns"], row["bytes"]) for row in got["memory_ops"]}
    sets = copies.pop("Memset", (0, 0, 0))
    assert copies == {
        kind: (row["count"], row["total_ns"], row["bytes"]) for kind, row in want["memcpy"]["by_direction"].items()
    }
    assert sets[:2] == (want["memset"]["count"], want["memset"]["total_ns"])
    assert {row["name"]: row["total_ns"] for row in got["syncs"]} == {
        sync: row["total_ns"] for sync, row in want["sync_api"]["by_name"].items()
    }
    assert [d["active_ns"] for d in got["devices"] if d["active_ns"]] == sorted(
        d["gpu_active_ns"] for d in want["devices"].values() if d["gpu_active_ns"]
    )
    assert got["profile"]["span_ns"] >= want["span_all_ns"], "the span counts the profiler's own record too"
    assert {d["window_ns"] for d in got["devices"]} == {want["span_all_ns"]}


@pytest.mark.parametrize("name", list(WHOLE))
def test_links_and_latencies_of_a_trace(name: str, traces: Path, profiles: dict[str, Profile]) -> None:
    want = json.loads((traces / "reference" / f"{name}.json").read_text())["launch_latency"]["kernels"]
    got = report.build(profiles[name])["latency"]["kernels"]
    start = want["start_to_start"]
    assert got == {
        "linked": want["matched"],
        "unlinked": want["unmatched_correlation"] + want["no_correlation"],
        "min_ns": start["min_ns"],
        "median_ns": round(start["median_ns"]),
        "p99_ns": round(start["p99_linear_ns"]),
        "max_ns": start["max_ns"],
        "negative": start["negative"],
        "via_graph_launch": want["via_graph_launch"],
    }


@pytest.mark.parametrize("name", list(WHOLE))
def test_steps_of_a_trace(name: str, traces: Path, profiles: dict[str, Profile]) -> None:
    want = json.loads((traces / "reference" / f"{name}.json").read_text()).get("profiler_steps", [])
    got = report.build(profiles[name])["steps"]
    assert [(step["name"], step["duration_ns"]) for step in got if step["name"].startswith("ProfilerStep")] == [
        (step["name"], step["dur_ns"]) for step in want
    ]


def test_eight_ranks_are_one_profile(traces: Path, profiles: dict[str, Profile]) -> None:
    want = [json.loads(path.read_text()) for path in sorted((traces / "reference" / "dlrm_8rank").iterdir())]
    got = report.build(profiles[RANKS])
    keep_invariants(got)
    assert got["activities"]["kernel_ns"] == sum(rank["kernels"]["total_ns"] for rank in want)
    assert got["latency"]["kernels"]["linked"] == sum(rank["launch_latency"]["kernels"]["matched"] for rank in want)
    assert [device["process"] for device in got["devices"] if device["active_ns"]] == [str(rank) for rank in range(8)]
    assert [device["active_ns"] for device in got["devices"] if device["active_ns"]] == [
        device["gpu_active_ns"] for rank in want for device in rank["devices"].values() if device["gpu_active_ns"]
    ]


@pytest.mark.parametrize("name", [*WHOLE, RANKS])
@pytest.mark.parametrize(("begin", "end"), [(0, 10), (31, 32), (47, 53), (80, 200), (-5, 40)])
def test_any_range_of_a_trace_keeps_the_invariants(
    name: str, begin: int, end: int, profiles: dict[str, Profile]
) -> None:
    profile = profiles[name]
    hundredth_ns = (profile.end_ns - profile.begin_ns) // 100
    figures = report.build(profile, profile.begin_ns + begin * hundredth_ns, profile.begin_ns + end * hundredth_ns)
    keep_invariants(figures)
    assert figures["profile"]["slices"]["annotation"] + figures["profile"]["slices"]["op"] > 0 or name == RANKS


def test_backward_kernels_belong_to_their_step(traces: Path, profiles: dict[str, Profile]) -> None:
    """In this trace steps run on thread 2568503 and autograd on 2575472; both launch kernels of a step."""
    rows = json.loads(gzip.decompress((traces / "kineto" / WHOLE["hta_diff_test"]).read_bytes()))["traceEvents"]
    slices = [row for row in rows if row.get("ph") == "X"]
    launches = {
        row["args"]["correlation"]: row for row in slices if row["cat"] in ("cuda_runtime", "Runtime", "cuda_driver")
    }
    executions = [
        (row, launches[row["args"]["correlation"]])
        for row in slices
        if row["cat"] in ("kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset")
        and row["args"]["correlation"] in launches
    ]
    assert {launch["tid"] for _, launch in executions} == {2568503, 2575472}
    steps = [row for row in slices if row["name"].startswith("ProfilerStep") and row["cat"] == "user_annotation"]
    want = {}
    for step in steps:
        inside = [
            (row["ts"] * 1000, (row["ts"] + row["dur"]) * 1000)
            for row, launch in executions
            if step["ts"] <= launch["ts"] < step["ts"] + step["dur"]
        ]
        busy_ns = reached_ns = 0
        for begin_ns, end_ns in sorted(inside):
            busy_ns += max(end_ns - max(begin_ns, reached_ns), 0)
            reached_ns = max(reached_ns, end_ns)
        want[step["name"]] = (busy_ns, reached_ns - min(inside)[0]) if inside else (None, None)
    got = report.build(profiles["hta_diff_test"])["annotations"]
    assert len(want) == 6
    assert {row["name"]: (row["gpu_busy_ns"], row["gpu_span_ns"]) for row in got if row["name"] in want} == want
