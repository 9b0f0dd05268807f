"""The ledger: one list of losses for the report and the pages."""

from __future__ import annotations

from pathlib import Path

from smprof_desktop import report
from smprof_desktop.analysis import ledger
from tests.make_profile import make_profile

UNLINKED = """
process 0
api 1 0+5 cudaLaunchKernel corr=1
kernel 0/7 10+5 a corr=1
kernel 0/7 20+5 a corr=2
kernel 0/7 30+5 a
loss gap_value 2 "where it was"
process 1
kernel 0/7 20+5 a corr=7
process 2
op 1 0+5 aten::mm
"""


def test_executions_without_a_launch_stand_in_the_ledger_and_in_the_report(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "p", UNLINKED)
    found = [
        (loss.kind, loss.count, loss.detail) for loss in ledger.entries(profile.losses, ledger.unlinked_of(profile))
    ]
    assert found[0][:2] == ("gap_value", 2)
    assert found[1:] == [
        ("unlinked_execution", 1, "no correlation id was recorded"),
        ("unlinked_execution", 2, "no API call with its correlation id was recorded"),
    ]
    assert found == [(loss["kind"], loss["count"], loss["detail"]) for loss in report.build(profile)["losses"]]
    assert profile.processes[0].table("device").columns_held() == set(), "it keeps nothing in memory"
