"""What operators, modules and annotations cost, against a twin that asks for each execution what stands around it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smprof.profile.reader import ProcessProfile, Profile
from smprof_desktop.analysis import claims, operators
from smprof_desktop.analysis.causes import NO_THREAD, causing_threads
from smprof_desktop.analysis.claims import NOBODY
from smprof_desktop.analysis.enclosing import forward_of
from smprof_desktop.analysis.executions import part
from smprof_desktop.analysis.linked import MODULE_PREFIX
from smprof_desktop.analysis.statistics import P99, quantiles
from smprof_desktop.analysis.steps import operators_of
from smprof_desktop.dashboard import annotation_panels, operator_panels
from smprof_desktop.dashboard.annotation_panels import ANNOTATION_PANELS, BUSY_COLUMN, SPAN_COLUMN
from smprof_desktop.dashboard.figures import Figure, Missing, Table
from smprof_desktop.dashboard.operator_panels import BACKWARD_COLUMN, DEVICE_COLUMN, OPERATOR_PANELS, OWN_COLUMN
from smprof_desktop.dashboard.panel import Panel
from smprof_desktop.dashboard.scope import Scope
from smprof_desktop.progress import never
from tests.make_profile import make_profile

PANELS = (*OPERATOR_PANELS, *ANNOTATION_PANELS)
SPANS = st.tuples(st.integers(1, 2), st.integers(0, 24), st.sampled_from([0, 2, 6, 12, 25]))
OPS = st.lists(st.tuples(SPANS, st.sampled_from("xyz"), st.integers(-1, 1), st.integers(0, 3)), max_size=9)
MODULES = st.lists(
    st.tuples(SPANS, st.sampled_from(["nn.Module: A", "nn.Module: A", "nn.Module: B", "main.py(3)"])), max_size=9
)
ANNOTATIONS = st.lists(st.tuples(SPANS, st.sampled_from(["step_1", "step_2", "load"])), max_size=6)
LAUNCHES = st.lists(
    st.tuples(SPANS, st.integers(0, 80), st.integers(1, 9), st.sampled_from([True, True, True, False])), max_size=9
)
RANGES = st.one_of(st.none(), st.none(), st.tuples(st.integers(0, 60), st.integers(1, 40)))


@contextmanager
def scope_of(text: str, span: tuple[int, int] | None) -> Iterator[Scope]:
    """A scope of a profile in a folder of its own, which a test that hypothesis calls again needs."""
    with tempfile.TemporaryDirectory() as folder:
        begin_ns, end_ns = (span[0], sum(span)) if span else (None, None)
        yield Scope(make_profile(Path(folder) / "profile", text), begin_ns, end_ns)


def text_of(ops: list[Any], modules: list[Any], annotations: list[Any], launches: list[Any]) -> str:
    """The same lines in two processes, the second without annotations."""
    lines = []
    for (thread, start, duration), name, sequence, forward in ops:
        is_backward = forward and thread == 2
        numbered = "" if sequence < 0 else f" sequence={sequence}" + (" forward=1" if is_backward else "")
        lines.append(f"op {thread} {start}+{duration} {name}{numbered}")
    lines += [f'python {thread} {start}+{duration} "{name}"' for (thread, start, duration), name in modules]
    for at, ((thread, start, duration), began, length, is_linked) in enumerate(launches):
        kind = "memcpy" if at % 4 == 3 else "kernel"
        lines.append(f"{kind} 0/{7 + at % 2} {began}+{length} k" + (f" corr={at + 1}" if is_linked else ""))
        lines.append(f"api {thread} {start}+{min(duration, 3)} cudaLaunchKernel corr={at + 1}")
    noted = [f"annotation {thread} {start}+{duration} {name}" for (thread, start, duration), name in annotations]
    return "\n".join(["process 0", *lines, *noted, "process 1", *lines])


class Twin:
    """For each execution of one process in a range: the names around it, the innermost one, those of its forward."""

    def __init__(self, process: ProcessProfile, scope: Scope, kind: str) -> None:
        self.process, self.kind = process, kind
        device, host = process.table("device"), process.table("host")
        self.beneath: dict[str, int] = {}
        self.own: dict[str, int] = {}
        self.backward: dict[str, int] = {}
        self.outside = self.unlinked = 0
        self._tree = operators.tree(host)
        executions = part(device, scope.begin_ns, scope.end_ns)
        for row, duration in zip(executions.positions().tolist(), executions.duration_ns.tolist(), strict=True):
            launch = int(device["launch"][row])
            if launch < 0:
                self.unlinked += duration
                continue
            around, innermost = self._around_launch(launch)
            for name in around:
                self.beneath[name] = self.beneath.get(name, 0) + duration
            forward = self._forward(launch)
            if forward is not None:
                joined, inner = self._around_forward(forward)
                for name in joined:
                    self.backward[name] = self.backward.get(name, 0) + duration
                if kind == "module" and innermost is None:
                    innermost = inner
            if innermost is None:
                self.outside += duration
            else:
                self.own[innermost] = self.own.get(innermost, 0) + duration

    def _name(self, table: str, row: int) -> str:
        return self.process.names.text(int(self.process.table(table)["name_id"][row]))

    def _calls(self, operator: int) -> list[int]:
        rows = []
        while operator >= 0:
            rows.append(self._tree.first + operator)
            operator = int(self._tree.parent[operator])
        return rows

    def _around_launch(self, launch: int) -> tuple[set[str], str | None]:
        host = self.process.table("host")
        if self.kind == "operator":
            chain = self._calls(int(host["op"][launch]) - self._tree.first) if host["op"][launch] >= 0 else []
            names = [self._name("host", row) for row in chain]
            return set(names), names[0] if names else None
        thread, time = int(host["thread"][launch]), int(host["start_ns"][launch])
        around, innermost = self._open_at(thread, time)
        if self.kind == "annotation":
            annotated = self.process.table("annotation")["thread"].astype(np.int64)
            cause = causing_threads(operators_of(host), np.array([thread]), np.array([time]), annotated)[0]
            if cause != NO_THREAD:
                more, inner = self._open_at(int(cause), time)
                return around | more, innermost if innermost is not None else inner
        return around, innermost

    def _around_forward(self, forward: int) -> tuple[set[str], str | None]:
        if self.kind == "operator":
            return {self._name("host", row) for row in self._calls(forward - self._tree.first)}, None
        host = self.process.table("host")
        return self._open_at(int(host["thread"][forward]), int(host["start_ns"][forward]))

    def _open_at(self, thread: int, time: int) -> tuple[set[str], str | None]:
        table = "annotation" if self.kind == "annotation" else "host"
        columns = self.process.table(table)
        found = []
        for row in range(len(columns)):
            start, duration = int(columns["start_ns"][row]), int(columns["duration_ns"][row])
            name = self._name(table, row)
            if self.kind == "module" and not name.startswith(MODULE_PREFIX):
                continue
            if columns["thread"][row] == thread and start <= time < start + duration:
                found.append((start, -duration, int(columns["depth"][row]), name))
        return {name for *_, name in found}, max(found)[3] if found else None

    def _forward(self, launch: int) -> int | None:
        op = int(self.process.table("host")["op"][launch])
        if op < 0:
            return None
        return next(
            (f for row in self._calls(op - self._tree.first) if (f := forward_of(self.process, row)) is not None), None
        )


FIGURES: dict[str, Callable[[Scope], Figure]] = {
    "operator": operator_panels.by_operator,
    "module": operator_panels.by_module,
    "annotation": operator_panels.by_annotation,
}


def added(columns: list[dict[str, int]]) -> dict[str, int]:
    """Sums by name of what is above 0, without the prefix of modules."""
    found: dict[str, int] = {}
    for column in columns:
        for name, value in column.items():
            found[name.removeprefix(MODULE_PREFIX)] = found.get(name.removeprefix(MODULE_PREFIX), 0) + value
    return {name: value for name, value in found.items() if value}


@settings(max_examples=80)
@given(OPS, MODULES, ANNOTATIONS, LAUNCHES, RANGES)
def test_each_execution_counts_where_it_was_launched(
    ops: list[Any],
    modules: list[Any],
    annotations: list[Any],
    launches: list[Any],
    span: tuple[int, int] | None,
) -> None:
    with scope_of(text_of(ops, modules, annotations, launches), span) as scope:
        for kind in FIGURES:
            check(scope, kind)


def check(scope: Scope, kind: str) -> None:
    """One table against the twins of its processes."""
    table = FIGURES[kind](scope)
    if isinstance(table, Missing):
        return
    assert isinstance(table, Table) and table.totals is not None
    twins = [Twin(process, scope, kind) for process in scope.profile.processes]
    rows = [row for row in table.rows if not row[0].startswith("(")]
    for column, expected in (
        (DEVICE_COLUMN, [twin.beneath for twin in twins]),
        (OWN_COLUMN, [twin.own for twin in twins]),
        (BACKWARD_COLUMN, [twin.backward for twin in twins]),
    ):
        assert {row[0]: row[column] for row in rows if row[column]} == added(expected)
    rest = {row[0]: row[OWN_COLUMN] for row in table.rows if row[0].startswith("(")}
    outside, unlinked = sum(twin.outside for twin in twins), sum(twin.unlinked for twin in twins)
    assert sorted(rest.values()) == sorted(value for value in (outside, unlinked) if value)
    activities = scope.report()["activities"]
    device_ns = sum(activities[name] for name in ("kernel_ns", "memcpy_ns", "memset_ns"))
    assert table.totals[OWN_COLUMN] == sum(row[OWN_COLUMN] for row in table.rows) == device_ns
    check_doors(table, scope.profile)


def check_doors(table: Table, profile: Profile) -> None:
    """Each door leads to slices that sum to its number."""
    for place, row in enumerate(table.rows):
        door = table.doors[place]
        assert door is not None and door.find(profile, never).total_ns == row[DEVICE_COLUMN]
        for column in (OWN_COLUMN, BACKWARD_COLUMN, 2):
            door = table.column_doors[column][place]
            if row[column] is not None:
                assert door is not None
                found = door.find(profile, never)
                assert found.total_ns == row[column]
                assert column != 2 or len(found) == row[1]


@settings(max_examples=40)
@given(ANNOTATIONS, OPS, LAUNCHES, RANGES)
def test_annotations_by_stem_and_name(
    annotations: list[Any], ops: list[Any], launches: list[Any], span: tuple[int, int] | None
) -> None:
    with scope_of(text_of(ops, [], annotations, launches), span) as scope:
        told = scope.report()["annotations"]
        by_stem, by_name = annotation_panels.by_stem(scope), annotation_panels.by_name(scope)
        if not told:
            assert isinstance(by_stem, Missing) and isinstance(by_name, Missing)
            return
        for table, key in ((by_stem, "stem"), (by_name, "name")):
            assert isinstance(table, Table)
            busy = [row[BUSY_COLUMN] or 0 for row in table.rows]
            assert busy == sorted(busy, reverse=True)
            assert {row[0] for row in table.rows} == {row[key] for row in told}
            for place, row in enumerate(table.rows):
                mine = [entry for entry in told if entry[key] == row[0]]
                spans, busies = ([entry[name] for entry in mine] for name in ("gpu_span_ns", "gpu_busy_ns"))
                known = [value for value in spans if value is not None]
                assert row[SPAN_COLUMN] == (sum(known) if known else None)
                door = table.doors[place]
                assert door is not None
                found = door.find(scope.profile, never)
                durations = (found.end_ns - found.start_ns).tolist()
                assert (row[1], row[2], row[6]) == (len(durations), sum(durations), max(durations))
                assert [row[5]] == quantiles(np.array(durations), (P99,))
                for column, values in ((SPAN_COLUMN, spans), (BUSY_COLUMN, busies)):
                    door = table.column_doors[column][place]
                    assert door is not None
                    assert door.find(scope.profile, never).total_ns == sum(value or 0 for value in values)


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(0, 9), st.integers(-1, 2), st.integers(0, 1)), min_size=1, max_size=14
    )
)
def test_forward_operators_are_joined_by_sequence_number(ops: list[tuple[int, int, int, int]]) -> None:
    columns = np.array(ops, np.int64).T
    thread, start_ns, sequence, forward_thread = columns
    depth = np.arange(len(ops)) % 3
    found = claims.forward_operators(thread, depth, start_ns, sequence, forward_thread)
    for row in range(len(ops)):
        candidates = [
            (int(start_ns[other]), int(depth[other]), other)
            for other in range(len(ops))
            if sequence[other] == sequence[row] >= 0
            and forward_thread[other] <= 0
            and thread[other] != thread[row]
            and forward_thread[row] > 0
        ]
        assert found[row] == (min(candidates)[2] if candidates else NOBODY)


def test_an_execution_of_two_threads_annotations_of_one_name_counts_once(tmp_path: Path) -> None:
    """The thread that launched and the one that it worked for are both inside "step"."""
    text = """
op 1 0+5 linear sequence=4
op 2 10+20 backward sequence=4 forward=1
api 2 12+2 cudaLaunchKernel corr=1
kernel 0/7 20+6 gemm corr=1
annotation 1 0+40 step
annotation 2 8+30 step
"""
    table = operator_panels.by_annotation(Scope(make_profile(tmp_path / "profile", text)))
    assert isinstance(table, Table)
    assert [row[:1] + row[4:6] + row[7:] for row in table.rows] == [("step", 6, 6, 6)]


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.key)
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("process 0", "This profile holds no events."),
        ("counter 5 power 3", "No "),
        ("kernel 0/7 0+10 a", "No "),
    ],
)
def test_where_there_is_nothing_the_reason_is_said(tmp_path: Path, panel: Panel, text: str, reason: str) -> None:
    figure: Figure = panel.figure(Scope(make_profile(tmp_path / "profile", text)))
    assert isinstance(figure, Missing) and figure.reason.startswith(reason)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.key)
def test_the_host_alone_is_an_answer_too(tmp_path: Path, panel: Panel) -> None:
    text = 'op 1 0+10 aten::mm\npython 1 0+20 "nn.Module: Linear_0"\nannotation 1 0+30 step_0'
    table = panel.figure(Scope(make_profile(tmp_path / "profile", text)))
    assert isinstance(table, Table) and len(table.rows) == 1
    assert table.rows[0][1] == 1


LAYERS = """
op 1 0+30 outer sequence=0
op 1 2+10 inner sequence=1
op 1 3+4 inner
python 1 0+40 "nn.Module: Net"
python 1 1+14 "nn.Module: Block"
python 1 2+10 "nn.Module: Block"
annotation 1 0+100 step_0
api 1 4+1 cudaLaunchKernel corr=1
api 1 13+1 cudaLaunchKernel corr=2
api 1 35+1 cudaLaunchKernel corr=3
op 2 50+30 backward sequence=1 forward=1
op 2 55+10 grad
api 2 56+1 cudaLaunchKernel corr=4
kernel 0/7 5+1 a corr=1
kernel 0/7 14+10 a corr=2
kernel 0/7 36+100 a corr=3
kernel 0/7 200+1000 a corr=4
kernel 0/7 2000+10000 b
"""


def test_layers_of_a_model_forward_and_backward(tmp_path: Path) -> None:
    scope = Scope(make_profile(tmp_path / "profile", LAYERS))
    columns = (0, DEVICE_COLUMN, OWN_COLUMN, BACKWARD_COLUMN)
    found = {}
    for kind, figure in FIGURES.items():
        table = figure(scope)
        assert isinstance(table, Table)
        found[kind] = [tuple(row[column] for column in columns) for row in table.rows]
    assert found == {
        "operator": [
            ("backward", 1_000, 0, 0),
            ("grad", 1_000, 1_000, 0),
            ("outer", 11, 10, 1_000),
            ("inner", 1, 1, 1_000),
            ("(in no operator)", 100, 100, None),
            ("(launch not recorded)", 10_000, 10_000, None),
        ],
        "module": [
            ("Net", 111, 100, 1_000),
            ("Block", 11, 1_011, 1_000),
            ("(launch not recorded)", 10_000, 10_000, None),
        ],
        "annotation": [("step_0", 1_111, 1_111, 1_000), ("(launch not recorded)", 10_000, 10_000, None)],
    }
