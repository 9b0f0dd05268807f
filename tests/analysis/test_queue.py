"""What stood before an execution on its stream."""

from __future__ import annotations

from pathlib import Path

from smprof_desktop.analysis.launches import Queue, queue_of
from tests.make_profile import make_profile


def test_only_the_same_stream_is_waited_for_also_where_it_was_not_recorded(tmp_path: Path) -> None:
    process = make_profile(
        tmp_path, "kernel 0/7 0+50 other\nkernel 0/-1 10+20 first\nkernel 0/-1 40+5 second"
    ).processes[0]
    device = process.table("device")
    (second,) = (row for row in range(3) if device["start_ns"][row] == 40)
    assert "union" in process.table("lane_rows").texts("kind")
    assert queue_of(process, second, 5) == Queue(1, 20)
