"""What a table has in memory is handed out at once, whatever other threads read."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from smprof.profile.reader import ProcessProfile, Profile
from smprof.profile.schema import Column
from smprof.profile.table import Table
from tests.make_profile import make_profile

ROWS = 100
ENDS = [30, 60, 100]


def loaded(_wanted: Column) -> NDArray[np.int64]:
    return np.arange(ROWS, dtype=np.int64)


def piece(_wanted: Column, index: int) -> NDArray[np.int64]:
    return np.arange([0, *ENDS][index], ENDS[index], dtype=np.int64)


def test_what_is_held_is_what_was_read() -> None:
    table = Table("device", ROWS, loaded, piece, ENDS)
    assert table.held("start_ns", 0, 10) is None and table.held_at("start_ns", np.array([3])) is None
    assert len(table.held("start_ns", 5, 5)) == 0  # type: ignore[arg-type]
    table.part("start_ns", 35, 40)
    assert table.held("start_ns", 30, 60).tolist() == list(range(30, 60))  # type: ignore[union-attr]
    assert table.held("start_ns", 29, 60) is None
    assert table.held_at("start_ns", np.array([59, 30])).tolist() == [59, 30]  # type: ignore[union-attr]
    assert table.held_at("start_ns", np.array([59, 60])) is None
    table["start_ns"]
    for begin in range(0, ROWS, 7):
        for end in range(begin, ROWS + 9, 11):
            assert np.array_equal(table.held("start_ns", begin, end), table.part("start_ns", begin, end))  # type: ignore[arg-type]
    assert table.held_at("start_ns", np.array([99, 0])).tolist() == [99, 0]  # type: ignore[union-attr]
    table.forget()
    assert table.held("start_ns", 0, 10) is None


def test_what_is_held_does_not_wait_for_a_column_that_is_read() -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(wanted: Column) -> NDArray[np.int64]:
        if wanted.name == "duration_ns":
            begun.set()
            go.wait(30)
        return loaded(wanted)

    table = Table("device", ROWS, slow)
    table["start_ns"]
    reader = threading.Thread(target=lambda: table["duration_ns"])
    reader.start()
    assert begun.wait(10)
    assert table.held("start_ns", 0, ROWS) is not None and table.held("duration_ns", 0, ROWS) is None
    go.set()
    reader.join()


def test_a_profile_is_closed_while_a_column_is_read_that_needs_another_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = make_profile(tmp_path, "kernel 0/7 0+5 gemm")
    begun = threading.Event()
    original = ProcessProfile._from_lane_rows

    def slow(self: ProcessProfile, name: str, wanted: Column, rows: int) -> object:
        begun.set()
        time.sleep(0.1)  # time enough for the closing to begin
        return original(self, name, wanted, rows)

    monkeypatch.setattr(ProcessProfile, "_from_lane_rows", slow)
    reader = threading.Thread(target=lambda: profile.processes[0].table("device")["device"], daemon=True)
    reader.start()
    assert begun.wait(10)
    closer = threading.Thread(target=Profile.close, args=(profile,), daemon=True)
    closer.start()
    for thread in (reader, closer):
        thread.join(10)
        assert not thread.is_alive()


def test_what_is_looked_at_in_passing_is_not_kept() -> None:
    table = Table("device", ROWS, loaded, piece, ENDS)
    assert table.pieces() == [(0, 30), (30, 60), (60, 100)]
    for begin, end in [*table.pieces(), (29, 61), (5, 5), (-3, 400)]:
        assert table.passing("start_ns", begin, end).tolist() == list(range(max(begin, 0), min(end, ROWS)))
    assert table.columns_held() == frozenset()
    table.part("start_ns", 30, 40)
    assert table.passing("start_ns", 30, 60).tolist() == list(range(30, 60))
    whole = Table("device", ROWS, loaded)
    assert whole.pieces() == [(0, ROWS)] and len(whole.passing("start_ns", 10, 20)) == 10
    assert Table("device", 0, loaded).pieces() == []
