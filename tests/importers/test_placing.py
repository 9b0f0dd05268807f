"""Who is which process of which host."""

from __future__ import annotations

from itertools import permutations

import pytest

from smprof.profile.manifest import Device, Process
from smprof_desktop.importers.facts import host_of_file
from smprof_desktop.importers.placing import Placed, place_processes


def placed(rank: int | None, pid: int | None, device: int | None, host: str = "", file: str = "f") -> Placed:
    devices = [Device(9), *([Device(device, used=True)] if device is not None else [])]
    return Placed(Process(host, "", pid=pid, rank=rank, devices=devices), f"sha-{file}", file)


def names(traces: list[Placed]) -> list[str]:
    return [f"{trace.process.host}/{trace.process.process}" for trace in place_processes(traces)]


def test_a_device_seen_again_starts_the_next_host_in_any_order_of_files() -> None:
    for order in permutations([(0, 0), (1, 1), (2, 0), (3, 1), (4, 0)]):
        assert names([placed(rank, 100 + rank, device) for rank, device in order]) == [
            "algo-1/0", "algo-1/1", "algo-2/2", "algo-2/3", "algo-3/4",
        ]  # fmt: skip


def test_hosts_given_by_names_stay() -> None:
    traces = [placed(1, 7, 0, host="nodeb"), placed(0, 7, 0, host="nodea"), placed(2, 8, 0, host="nodea")]
    assert names(traces) == ["nodea/0", "nodea/2", "nodeb/1"]


def test_more_than_ten_hosts_sort_by_number() -> None:
    assert names([placed(rank, rank, 0) for rank in range(12)])[-1] == "algo-12/11"


def test_without_rank_the_pid_names_and_cpu_only_processes_share_a_host() -> None:
    assert names([placed(None, 20, None), placed(None, 10, None)]) == ["algo-1/10", "algo-1/20"]
    assert names([placed(None, None, None)]) == ["algo-1/0"]


def test_ranks_and_pids_recorded_twice_are_kept_apart_and_counted() -> None:
    traces = [placed(0, 5, 0, file="a"), placed(0, 5, 0, file="b"), placed(0, 5, 0, file="c")]
    assert names(traces) == ["algo-1/0", "algo-1/5", "algo-1/5-2"]
    assert [bool(trace.renamed) for trace in traces] == [False, True, True]


@pytest.mark.parametrize(
    ("name", "pids", "host"),
    [
        ("ip-10-0-0-1.ec2_4711.1694128201545.pt.trace.json", {4711}, "ip-10-0-0-1.ec2"),
        ("node_a_4711.1.pt.trace.json.gz", {1, 4711}, "node_a"),
        ("worker0_step_12.1694128201545.pt.trace.json.gz", {59811}, ""),
        ("worker0.1694128201545.pt.trace.json.gz", {59811}, ""),
        ("trace.json", {1}, ""),
    ],
)
def test_a_host_is_believed_where_its_pid_occurs_in_the_file(name: str, pids: set[int], host: str) -> None:
    assert host_of_file(name, pids) == host
