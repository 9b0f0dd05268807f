"""Idle time, overlap, collectives, steps and ranks: each number against a slow, obvious twin, and behind its door."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smprof.profile.reader import Profile
from smprof_desktop.analysis import collectives
from smprof_desktop.analysis.communication import bus_factor, element_bytes, operation_called, operation_of
from smprof_desktop.analysis.periods import propose
from smprof_desktop.analysis.step_times import spread
from smprof_desktop.dashboard import idle_panels
from smprof_desktop.dashboard.collective_panels import COLLECTIVE_PANELS
from smprof_desktop.dashboard.figures import Bars, Figure, Missing, Pie, Table
from smprof_desktop.dashboard.idle_panels import IDLE_PANELS
from smprof_desktop.dashboard.scope import Scope
from smprof_desktop.dashboard.step_panels import STEP_PANELS
from smprof_desktop.progress import Cancelled
from smprof_desktop.targets import open_targets
from tests.make_profile import make_profile

PANELS = {panel.key: panel for panel in (*IDLE_PANELS, *COLLECTIVE_PANELS, *STEP_PANELS)}
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def figure(key: str, profile: Profile, **more: Any) -> Figure:
    """One panel's figure."""
    return PANELS[key].figure(Scope(profile, **more))


def rows(made: Figure) -> dict[Any, dict[str, Any]]:
    """The rows of a table by their first column, each by the titles of its columns."""
    assert isinstance(made, Table)
    return {row[0]: dict(zip((column.title for column in made.columns), row, strict=True)) for row in made.rows}


def never() -> bool:
    """Not cancelled."""
    return False


Slice = tuple[str, int, int, int, str, int | None]


@st.composite
def device_slices(draw: st.DrawFn) -> Slice:
    """(kind, stream, start, end, name, start of the launch)."""
    kind = draw(st.sampled_from(("kernel", "kernel", "nccl", "memcpy")))
    start = draw(st.integers(0, 120))
    launched = draw(st.none() | st.integers(0, 120))
    name = {"kernel": "gemm", "nccl": NCCL, "memcpy": "Memcpy HtoD"}[kind]
    return kind, draw(st.integers(7, 9)), start, start + draw(st.integers(0, 30)), name, launched


def text_of(slices: list[Slice], windows: list[tuple[int, int]], more: str = "") -> str:
    """The profile of one device."""
    lines = [f"process 0 rank=0 windows={','.join(f'{begin}:{end}' for begin, end in windows)}", "device 0 H100 used"]
    for number, (kind, stream, start, end, name, launched) in enumerate(slices, 1):
        what = "memcpy" if kind == "memcpy" else "kernel"
        lines.append(f'{what} 0/{stream} {start}+{end - start} "{name}" corr={number}')
        if launched is not None:
            lines.append(f"api {number} {launched}+1 cudaLaunchKernel corr={number}")
    return "\n".join(lines) + "\n" + more


def moments(slices: list[Slice], inside: list[int]) -> dict[str, list[int]]:
    """Each ns by what the device did in it."""
    result: dict[str, list[int]] = {name: [] for name in idle_panels.PART_NAMES}
    for at in inside:
        kinds = {kind for kind, _, start, end, _, _ in slices if start <= at < end}
        if {"kernel", "nccl"} <= kinds:
            result["Compute and communication"].append(at)
        elif "kernel" in kinds:
            result["Compute"].append(at)
        elif "nccl" in kinds:
            result["Exposed communication"].append(at)
        else:
            result["Memory" if kinds else "Idle"].append(at)
    return result


def causes(slices: list[Slice], idle: list[int], first_ns: int, below_ns: int) -> dict[str, int]:
    """Idle ns by cause, one by one."""
    result = dict.fromkeys(idle_panels.CAUSE_NAMES, 0)
    real = [one for one in slices if one[2] < one[3]]
    for at in idle:
        before = max([end for _, _, _, end, _, _ in real if end <= at], default=first_ns)
        after = [start for _, _, start, _, _, _ in real if start > at]
        if not after:
            result["Unknown"] += 1
            continue
        # By lane, then lines of it: the first that has a launch.
        launches = [one[5] for one in sorted(real, key=lambda one: one[1]) if one[2] == min(after)]
        launched = next((launch for launch in launches if launch is not None), None)
        short = min(after) - before < below_ns
        if launched is not None and launched > before:
            result["Waiting for the host"] += 1
        elif short:
            result["Between kernels"] += 1
        else:
            result["Unknown" if launched is None else "Other"] += 1
    return result


WINDOWS = st.sets(st.integers(-10, 150), min_size=2, max_size=4).map(
    lambda edges: list(zip(sorted(edges)[::2], sorted(edges)[1::2], strict=False))
)


@settings(max_examples=150)
@given(
    st.lists(device_slices(), max_size=10, unique_by=lambda one: (one[1], one[2])),
    WINDOWS,
    st.none() | st.tuples(st.integers(-5, 100), st.integers(1, 80)),
    st.integers(0, 12),
)
def test_parts_and_causes_equal_a_twin_that_counts_every_ns(
    slices: list[Slice], windows: list[tuple[int, int]], where: tuple[int, int] | None, below_ns: int
) -> None:
    begin, end = (where[0], sum(where)) if where else (None, None)
    inside = [
        at for low, high in windows for at in range(low, high) if begin is None or end is None or begin <= at < end
    ]
    with tempfile.TemporaryDirectory() as folder:
        profile = make_profile(Path(folder) / "p", text_of(slices, windows))
        options = {"begin_ns": begin, "end_ns": end, "options": {"consecutive_ns": below_ns}}
        parts = moments(slices, inside)
        expected = {name: len(each) for name, each in parts.items()}
        pie = figure("overlap", profile, **options)
        if not inside:
            assert isinstance(pie, Missing)
            return
        assert isinstance(pie, Pie)
        assert {share.name: share.value for share in pie.shares} == expected and pie.whole == len(inside)
        why = figure("idle_by_cause", profile, **options)
        if isinstance(why, Pie):
            first_ns = min(low for low, _ in windows)
            assert {share.name: share.value for share in why.shares} == causes(
                slices, parts["Idle"], first_ns, below_ns
            )
        else:
            assert not parts["Idle"]
        for share in (*pie.shares, *(why.shares if isinstance(why, Pie) else ())):
            assert share.door is not None
            found = share.door.find(profile, never)
            assert found.total_ns == share.value
            assert [found.ref(at) is None for at in range(len(found))] == [share.name in ("Idle", *idle_panels.CAUSE_NAMES)] * len(found)  # fmt: skip  # noqa: E501
        table = figure("exposed_communication", profile, **options)
        communication = expected["Compute and communication"] + expected["Exposed communication"]
        if communication:
            assert isinstance(table, Table) and table.doors[0] is not None
            (row,) = rows(table).values()
            assert row["Exposed"] == expected["Exposed communication"] == table.doors[0].find(profile, never).total_ns
            assert row["Overlap"] == pytest.approx(100 * expected["Compute and communication"] / communication)
        else:
            assert isinstance(table, Missing)


@given(st.lists(device_slices(), max_size=8, unique_by=lambda one: (one[1], one[2])))
def test_steps_split_as_their_moments_do(slices: list[Slice]) -> None:
    more = "annotation 99 0+40 step_0\nannotation 99 40+0 step_1\nannotation 99 40+70 step_2\n"
    with tempfile.TemporaryDirectory() as folder:
        profile = make_profile(Path(folder) / "p", text_of(slices, [(0, 160)], more))
        made = figure("steps", profile)
        assert isinstance(made, Bars) and made.names == ("step_0", "step_1", "step_2")
        for at, (begin, end) in enumerate(((0, 40), (40, 40), (40, 110))):
            parts = moments(slices, list(range(begin, end)))
            assert [int(values[at]) for values in made.values] == [len(parts[name]) for name in made.parts]
            door = made.doors[at]
            assert door is not None and door.find(profile, never).total_ns == end - begin


def ranks(starts: list[list[int]], ends: list[list[int]], sequence: bool, more: str = "", hosts: int = 1) -> str:
    """A profile of ranks that run all-reduces over 1,024 floats."""
    lines = []
    for rank, (mine, its_ends) in enumerate(zip(starts, ends, strict=True)):
        lines += [f"host algo-{1 + rank % hosts}", f"process {rank} window=0:10000", f"device {rank} H100 used"]
        for number, (start, end) in enumerate(zip(mine, its_ends, strict=True)):
            lines.append(f'kernel {rank}/20 {start}+{end - start} "{NCCL}"')
            lines += ['arg "Collective name" "\\"allreduce\\""', 'arg "Process Group Name" "\\"0\\""']
            lines += [f'arg "Group size" {len(starts)}', 'arg "In msg nelems" 1024', 'arg "dtype" "\\"Float\\""']
            lines += [f"arg Seq {number}"] if sequence else []
        lines.append(more)
    return "\n".join(lines)


@pytest.mark.parametrize("sequence", [True, False], ids=["by sequence", "by order"])
def test_f51_waiting_for_the_last_rank_is_no_transfer(tmp_path: Path, sequence: bool) -> None:
    profile = make_profile(
        tmp_path / "p", ranks([[100, 5_000], [9_070, 9_200]], [[9_100, 9_260], [9_101, 9_262]], sequence)
    )
    row = rows(figure("collectives", profile))["0"]
    assert (row["Operation"], row["Kernels"], row["Bytes"]) == ("all-reduce", 4, 4 * 4096)
    assert row["Waiting"] == 8_970 + 4_200 and row["Transfer"] == 30 + 31 + 60 + 62
    assert row["Time"] == row["Waiting"] + row["Transfer"] and (row["Matched"], row["Unmatched"]) == (4, 0)
    assert row["Algorithm bandwidth"] == pytest.approx(4 * 4096 * 1e9 / row["Time"])
    assert row["Bus bandwidth of the transfer"] == pytest.approx(4 * 4096 * 1e9 / row["Transfer"])
    late = figure("latest_arrivals", profile)
    assert isinstance(late, Table) and [row[5] for row in late.rows] == [8_970, 4_200]
    assert [row[6] for row in late.rows] == ["Rank 1, GPU 1"] * 2 and ("inferred" in late.note) == (not sequence)
    bars = figure("collectives_by_rank", profile)
    assert isinstance(bars, Bars) and [values.tolist() for values in bars.values] == [[13_170, 0], [90, 93], [0, 0]]
    beside = rows(figure("ranks", profile))
    assert [row["Came last"] for row in beside.values()] == [0, 2]
    assert [row["Waiting in collectives"] for row in beside.values()] == [13_170, 0]


def test_f49_f50_clocks_that_are_not_aligned_are_not_compared(tmp_path: Path) -> None:
    skewed = make_profile(tmp_path / "skewed", ranks([[100], [2_000]], [[150], [2_060]], True))
    row, made = rows(figure("collectives", skewed))["0"], figure("collectives", skewed)
    assert row["Waiting"] is None and row["Transfer"] is None and row["Matched"] == 2
    assert isinstance(made, Table) and collectives.CONTRADICTED in made.note
    late = figure("latest_arrivals", skewed)
    assert isinstance(late, Missing) and collectives.CONTRADICTED in late.reason
    apart = make_profile(tmp_path / "apart", ranks([[100], [120]], [[150], [151]], True, hosts=2))
    made = figure("collectives", apart)
    assert isinstance(made, Table) and rows(made)["0"]["Waiting"] is None and collectives.TWO_HOSTS in made.note
    apart.manifest.clock.uncertainty_ns = 5
    made = figure("collectives", apart)
    assert isinstance(made, Table) and rows(made)["0"]["Waiting"] == 20 and "within 5 ns" in made.note
    apart.manifest.lose("unaligned_clock", 2)
    made = figure("collectives", apart)
    assert isinstance(made, Table) and rows(made)["0"]["Waiting"] is None and collectives.NO_CLOCK in made.note


def test_what_has_no_counterpart_is_counted(tmp_path: Path) -> None:
    uneven = make_profile(tmp_path / "a", ranks([[100, 300], [110]], [[150, 350], [151]], False))
    row, made = rows(figure("collectives", uneven))["0"], figure("collectives", uneven)
    assert (row["Matched"], row["Unmatched"]) == (0, 3) and isinstance(made, Table) and collectives.UNEVEN in made.note
    by_number = make_profile(tmp_path / "b", ranks([[100, 300], [110]], [[150, 350], [151]], True))
    row, made = rows(figure("collectives", by_number))["0"], figure("collectives", by_number)
    assert (row["Matched"], row["Unmatched"]) == (2, 1) and isinstance(made, Table) and collectives.ABSENT in made.note


def test_f53_all_ranks_stand_on_one_page(traces: Path) -> None:
    profile = open_targets([str(traces / "kineto" / "param_dlrm_8rank")])
    beside = figure("ranks", profile)
    assert isinstance(beside, Table) and len(beside.rows) == 8
    for door, row in zip(beside.doors, beside.rows, strict=True):
        assert door is not None and door.find(profile, never).total_ns == row[3]
    (step,) = rows(figure("slowest_ranks", profile)).values()
    assert step["Ranks"] == 8 and step["Slowest rank"] == "Rank 1, GPU 1"
    first, *_ = figure("latest_arrivals", profile).rows  # type: ignore[union-attr]
    # The first all-to-all "takes" 7.6 ms on some ranks, and 11 µs once all have come.
    assert first[3] == 8 and first[5] == 7_624_000 and first[7] == 11_000
    profile.close()


def test_one_rank_of_many_says_that_the_others_are_missing(traces: Path) -> None:
    profile = open_targets([str(traces / "kineto" / "hta_nccl_data.json.gz")])
    made = figure("collectives", profile)
    assert isinstance(made, Table) and collectives.ALONE in made.note
    assert {row["Operation"]: row["Bytes"] for row in rows(made).values()}
    assert [row[3] for row in made.rows] == [15, 6] and all(row[7] is None for row in made.rows)
    profile.close()


def test_steps_beyond_three_deviations_stand_out() -> None:
    assert spread([100] * 30 + [400]).outliers == (30,)
    assert spread([100] * 9 + [10**6]).outliers == () and spread([7]).deviation_ns == 0
    durations = [3, 5, 8, 13, 400, 2, 2, 2, 2, 2, 2, 2, 2, 2]
    found = spread(durations)
    assert found.deviation_ns == pytest.approx(float(np.std(durations))) and found.outliers == (4,)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=60))
def test_outliers_equal_a_twin_in_floats(durations: list[int]) -> None:
    found = spread(durations)
    mean, deviation = float(np.mean(durations)), float(np.std(durations))
    for at, duration in enumerate(durations):
        distance = abs(duration - mean) - 3 * deviation
        if abs(distance) > 1e-3 * max(1.0, deviation):
            assert (at in found.outliers) == (distance > 0)


def test_a_period_is_proposed_only_where_it_is_clear() -> None:
    layer, head, tail = [1, 2, 3, 2], [10, 11, 12, 13], [20, 21, 22]
    step = [*head, *layer * 6, *tail]
    found = propose(np.array(step * 8))
    assert found is not None and found.name_id == 10 and np.diff(found.starts).tolist() == [len(step)] * 7
    # What runs now and then does not make a period of its own.
    logged = [name for at in range(20) for name in (*step, *([99] if at % 5 == 0 else []))]
    found = propose(np.array(logged))
    assert found is not None and len(found.starts) == 20
    assert propose(np.array([5] * 100)) is None and propose(np.array([1, 2, 3])) is None
    assert propose(np.random.default_rng(1).integers(0, 12, 2_000)) is None


def test_steps_are_inferred_and_said_to_be_where_none_is_annotated(tmp_path: Path) -> None:
    lines = ["process 0 window=0:100000"]
    for step in range(6):
        lines += [f"kernel 0/7 {1000 * step + 100 * at}+60 k{at}" for at in range(8)]
    made = figure("steps", make_profile(tmp_path / "p", "\n".join(lines)))
    assert isinstance(made, Bars) and len(made.names) == 5 and "inferred" in made.note
    assert [sum(int(values[at]) for values in made.values) for at in range(5)] == [1_000] * 5
    assert made.doors[0] is not None


@pytest.mark.parametrize("key", PANELS)
@pytest.mark.parametrize(
    "text",
    ["process 0", "thread 1 main\nop 1 0+10 aten::mm", "kernel 0/7 5+10 gemm", "kernel -1/-1 5+10 gemm",
     "counter 5 power 3", "\n".join(f"kernel 0/7 {9 * n}+5 k{n} corr={n}" for n in range(1, 5_001))],
    ids=["empty", "host only", "one kernel", "no device recorded", "counter", "5,000 kernels"],
)  # fmt: skip
def test_every_panel_has_an_answer_or_says_why(tmp_path: Path, key: str, text: str) -> None:
    profile = make_profile(tmp_path / "p", text)
    for scope in (Scope(profile), Scope(profile, 1_000_000, 2_000_000)):
        made = PANELS[key].figure(scope)
        assert isinstance(made, PANELS[key].form) or (isinstance(made, Missing) and made.reason.endswith("."))


def test_a_scope_that_is_cancelled_stops(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "p", "kernel 0/7 5+10 gemm")
    for panel in PANELS.values():
        with pytest.raises(Cancelled):
            panel.figure(Scope(profile, cancelled=lambda: True))


@pytest.mark.parametrize(
    ("kernel", "operation"),
    [
        (NCCL, "all-reduce"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "send/recv"),
        ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", "reduce-scatter"),
        ("ncclAllGatherRingLLKernel_sum_i8(ncclColl)", "all-gather"),
        ("ncclDevKernel_Generic(ncclDevComm*, unsigned long, ncclWork*)", "unknown"),
        ("void vllm::cross_device_reduce_1stage<float, 8>(vllm::RankData*)", "all-reduce"),
        ("ampere_bf16_s16816gemm", None),
        ("void at::native::reduce_kernel<512, 1>(float)", None),
    ],
)
def test_kernels_that_communicate_are_told_by_their_names(kernel: str, operation: str | None) -> None:
    assert operation_of(kernel) == operation


def test_operations_sizes_and_factors() -> None:
    named = {"_allgather_base": "all-gather", "nccl:all_to_all": "all-to-all", "reduce": "reduce", "odd": "odd"}
    assert {text: operation_called(text) for text in named} == named
    assert [element_bytes(text) for text in ("Float", "c10::BFloat16", "Float8_e4m3fn", "Long", "odd")] == [
        4,
        2,
        1,
        8,
        None,
    ]
    assert bus_factor("all-reduce", 8) == (14, 8) and bus_factor("all-gather", 8) == (7, 8)
    assert bus_factor("broadcast", -1) == (1, 1) and bus_factor("all-reduce", -1) is None
