"""Steps by name, and what annotations did on the GPU against a twin that asks every execution of every annotation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from smprof.profile.layout import group_bounds, nesting
from smprof.profile.schema import HOST_KINDS
from smprof_desktop.analysis import causes, steps
from smprof_desktop.analysis.executions import part

API, OP = HOST_KINDS.index("api"), HOST_KINDS.index("op")


class Memory(dict[str, NDArray[np.int64]]):
    """A table in memory: its length is that of its columns."""

    def __len__(self) -> int:
        return len(next(iter(self.values())))


@pytest.mark.parametrize(
    ("name", "is_step", "stem"),
    [
        ("step_12", True, "step"),
        ("Step 12", True, "Step"),
        ("ITER#3", True, "ITER"),
        ("train_step-7", True, "train_step"),
        ("batch9", True, "batch"),
        ("ProfilerStep#551", True, "ProfilerStep"),
        ("profilerstep#1", True, "profilerstep"),
        ("ProfilerStep 1", False, "ProfilerStep"),
        ("step", False, "step"),
        ("step_12 ", False, "step_12 "),
        ("step_12\n", False, "step_12\n"),
        ("my step_1", False, "my step"),
        ("Optimizer.step#SGD.step", False, "Optimizer.step#SGD.step"),
        ("step__1", False, "step_"),
        ("123", False, "123"),
        ("forward", False, "forward"),
    ],
)
def test_what_is_a_step(name: str, is_step: bool, stem: str) -> None:
    assert steps.is_step(name) is is_step
    assert steps.stem(name) == stem


def test_a_name_or_stem_taken_as_the_step() -> None:
    assert steps.is_step("epoch 3", "epoch 3")
    assert steps.is_step("epoch 3", "epoch")
    assert not steps.is_step("step_1", "epoch")


def annotation_table(rows: list[tuple[int, int, int]]) -> Memory:
    """(thread, start, duration), laid out and sorted as in a merged profile."""
    columns = np.array(rows, np.int64).reshape(-1, 3)
    columns = columns[np.lexsort((-columns[:, 2], columns[:, 1], columns[:, 0]))]
    depth, _ = nesting(group_bounds(columns[:, 0]), columns[:, 1], columns[:, 2])
    order = np.lexsort((columns[:, 2], columns[:, 1], depth, columns[:, 0]))
    thread, start_ns, duration_ns = columns[order].T
    return Memory(
        thread=thread,
        depth=depth[order].astype(np.int64),
        start_ns=start_ns,
        duration_ns=duration_ns,
        side=np.zeros(len(rows), np.int64),
        name_id=np.arange(len(rows)),
    )


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 30), st.integers(0, 20)), max_size=8),
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(0, 40), st.integers(-2, 40), st.integers(0, 12), st.booleans()),
        max_size=10,
    ),
)
def test_on_the_gpu_counts_what_was_launched_inside(
    annotated: list[tuple[int, int, int]], executed: list[tuple[int, int, int, int, bool]]
) -> None:
    table = annotation_table(annotated)
    count = len(executed)
    launched = np.array(executed, np.int64).reshape(-1, 5)
    host = Memory(
        kind=np.full(count, API),
        thread=launched[:, 0],
        start_ns=launched[:, 1],
        duration_ns=np.ones(count, np.int64),
        sequence=np.full(count, -1),
        forward_thread=np.full(count, -1),
    )
    device = Memory(start_ns=launched[:, 1] + launched[:, 2], duration_ns=launched[:, 3])
    launch = np.where(launched[:, 4] != 0, np.arange(count), -1)
    found = steps.on_gpu(part(table), part(device), launch, host)
    alone = len({thread for thread, _, _ in annotated}) == 1
    for row in range(len(table)):
        begin, end = int(table["start_ns"][row]), int(table["start_ns"][row] + table["duration_ns"][row])
        mine = [
            (start + after, start + after + duration)
            for thread, start, after, duration, linked in executed
            if linked and begin <= start < end and (thread == table["thread"][row] or alone)
        ]
        assert bool(found.launched[row]) == bool(mine)
        assert int(found.busy_ns[row]) == len({moment for first, last in mine for moment in range(first, last)})
        assert int(found.span_ns[row]) == (max(end for _, end in mine) - min(first for first, _ in mine) if mine else 0)


def operators(rows: list[tuple[int, int, int, int, int]]) -> causes.Operators:
    """(thread, start, duration, sequence, forward thread's number)."""
    return causes.Operators(*np.array(rows, np.int64).reshape(-1, 5).T)


def test_the_forward_thread_is_the_one_whose_sequences_match() -> None:
    recorded = operators(
        [
            (100, 0, 5, 1, 0),
            (100, 6, 5, 2, 0),
            (100, 12, 5, 3, 0),  # forward on thread 100
            (200, 0, 5, 1, 0),  # another forward thread, whose sequence 1 collides
            (300, 30, 5, 3, 1),
            (300, 36, 5, 2, 1),
            (300, 42, 5, 1, 1),  # backward for number 1
        ]
    )
    assert causes.forward_threads(recorded) == {1: 100}


def test_backward_launches_belong_to_the_forward_thread() -> None:
    recorded = operators([(100, 0, 5, 1, 0), (300, 30, 10, 1, 1)])
    threads, times_ns = np.array([100, 300, 300, 400]), np.array([2, 35, 50, 35])
    caused = causes.causing_threads(recorded, threads, times_ns, np.array([100, 300]))
    none = int(causes.NO_THREAD)
    assert caused.tolist() == [none, 100, 100, none], "thread 300 works for 100 only; thread 400 for nobody known"


def test_one_backward_thread_for_two_forward_threads() -> None:
    recorded = operators(
        [(100, 0, 5, 1, 0), (200, 0, 5, 7, 0), (300, 30, 10, 1, 1), (300, 50, 10, 7, 2), (300, 52, 4, 7, 2)]
    )
    times_ns = np.array([30, 45, 53])
    caused = causes.causing_threads(recorded, np.full(3, 300), times_ns, np.array([100, 200]))
    assert caused.tolist() == [100, int(causes.NO_THREAD), 200], "between the two it cannot be told"
