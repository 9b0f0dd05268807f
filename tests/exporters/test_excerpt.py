"""Excerpts: what they keep and leave out, that their figures are the original's, and what they refuse."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smprof.profile.manifest import Device, Manifest, Process, ProfileError
from smprof.profile.reader import ProcessProfile, Profile
from smprof.profile.writer import ProfileWriter
from smprof_desktop import report
from smprof_desktop.exporters.excerpt import write_excerpt
from smprof_desktop.exporters.selection import named, select
from smprof_desktop.importers.convert import import_traces
from smprof_desktop.progress import Cancelled
from smprof_desktop.synthesize import synthesize
from tests.importers.imported_text import text_of
from tests.make_profile import make_profile

TINY = """
host algo-1
process 0 pid=100 window=0:1000
thread 1 main
device 0 "NVIDIA H200" used
device 1 "NVIDIA H200"
annotation 1 0+900 step_0
annotation 1 700+40 late
op 1 10+80 aten::early external=3
api 1 20+10 cudaLaunchKernel corr=5 external=3
arg note "5"
op 1 400+50 aten::inside
api 1 410+10 cudaLaunchKernel corr=6
api 1 500+10 cudaGraphLaunch corr=7
op 1 800+50 aten::after
kernel 0/7 300+50 first corr=5 grid=8,1,1 block=128,1,1
arg stamp "[1.50, 2]"
kernel 0/7 600+10 second corr=6 grid=4,1,1
kernel 1/7 520+10 third corr=7
kernel 1/7 900+10 fourth corr=7
kernel 0/9 100+10 gone
counter 10 memory 1.0 device=0
counter 200 memory 2.0 device=0
counter 350 memory gap device=0
counter 950 memory 4.0 device=0
loss gap_value 1 "somewhere"
host algo-2
process 1 pid=101 window=0:1000
kernel 0/7 400+10 other
loss gap_value 2 "elsewhere"
"""


def figures(profile: Profile, begin_ns: int | None = None, end_ns: int | None = None) -> dict[str, Any]:
    """The report of a range, with the starts of steps in the profile's clock and without what says how long it is."""
    document = report.build(profile, begin_ns, end_ns)
    del document["asked"]
    document["profile"] = {
        key: value for key, value in document["profile"].items() if key not in ("begin_ns", "span_ns")
    }
    document["steps"] = [{**step, "start_ns": step["start_ns"] + profile.begin_ns} for step in document["steps"]]
    return document


def excerpt_of(profile: Profile, out: Path, begin_ns: int | None, end_ns: int | None, **options: Any) -> Profile:
    return Profile.open(write_excerpt(profile, out, begin_ns, end_ns, **options))


def test_an_excerpt_keeps_what_overlaps_whole_and_what_its_links_need(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "whole", TINY)
    part = excerpt_of(profile, tmp_path / "part", 320, 525, processes=named(profile, ["algo-1/0"]))
    assert text_of(part, "") == "\n".join(
        [
            "clock relative None",
            "process 0 pid=100 rank=None window=320:525 host=algo-1",
            "  thread 1 main",
            "  device 0 'NVIDIA H200' used",
            "  device 1 'NVIDIA H200' used",
            "  op 1.1 10+80 aten::early external_id=3",
            '  api 1.2 20+10 cudaLaunchKernel correlation=5 external_id=3 {"note": 5}',
            "  op 1.1 400+50 aten::inside",
            "  api 1.2 410+10 cudaLaunchKernel correlation=6",
            "  api 1.1 500+10 cudaGraphLaunch correlation=7",
            "  kernel 0/7.0 300+50 first grid=8,1,1 block=128,1,1 correlation=5 <- cudaLaunchKernel@20"
            ' {"stamp": [1.5, 2]}',
            "  kernel 1/7.0 520+10 third correlation=7 <- cudaGraphLaunch@500",
            "  kernel 0/7.0 600+10 second grid=4,1,1 block=-1,-1,-1 correlation=6 <- cudaLaunchKernel@410",
            "  kernel 1/7.0 900+10 fourth correlation=7 <- cudaGraphLaunch@500",
            "  annotation host 1 0+900 step_0",
            "  counter 200 memory 2 device=0",
            "  counter 350 memory gap device=0",
            "lost gap_value 1 algo-1, process 0: somewhere",
        ]
    )
    process = part.processes[0]
    assert " ".join(sorted(process.names.texts)) == (
        "aten::early aten::inside cudaGraphLaunch cudaLaunchKernel first fourth memory second step_0 third"
    )
    assert process.table("args").texts("text") == ["[1.50, 2]", None]
    assert [host.name for host in part.manifest.hosts] == ["algo-1"]
    left_out = {"device": 1, "host": 1, "annotation": 1, "counter": 2}
    assert process.info.metadata["excerpt"] == {"begin_ns": 320, "end_ns": 525, "left_out": left_out}
    assert part.manifest.sources == [
        {
            "name": "tiny",
            "format": "excerpt of a profile",
            "excerpt": {"begin_ns": 320, "end_ns": 525, "left_out": {"processes": 1, **left_out, "device": 2}},
        }
    ]


def test_without_a_range_everything_is_kept(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "whole", TINY)
    copy = excerpt_of(profile, tmp_path / "copy", None, None)
    assert text_of(copy) == text_of(profile)
    assert copy.manifest.sources == [] and "excerpt" not in copy.processes[0].info.metadata


def test_a_process_that_did_not_record_in_the_range_keeps_an_empty_window(tmp_path: Path) -> None:
    text = TINY.replace("window=0:1000\nkernel 0/7 400", "window=390:1000\nkernel 0/7 400")
    profile = make_profile(tmp_path / "whole", text)
    part = excerpt_of(profile, tmp_path / "part", 310, 330)
    assert [process.info.windows_ns for process in part.processes] == [[[310, 330]], [[310, 310]]]
    assert figures(part, 310, 330)["devices"] == figures(profile, 310, 330)["devices"]


@pytest.mark.parametrize("seed", range(4))
def test_figures_of_a_synthetic_excerpt_are_those_of_the_range(tmp_path: Path, seed: int) -> None:
    profile = Profile.open(synthesize(tmp_path / "whole", 1, 2, 4, None, seed))
    choose = random.Random(seed)
    for index in range(3):
        begin_ns = choose.randrange(profile.begin_ns, profile.end_ns)
        end_ns = begin_ns + choose.randrange(1, (profile.end_ns - profile.begin_ns) // 3)
        part = excerpt_of(profile, tmp_path / f"part-{index}", begin_ns, end_ns)
        assert figures(part, begin_ns, end_ns) == figures(profile, begin_ns, end_ns)


@pytest.mark.parametrize(
    "pattern", ["param_dlrm_8rank/*.gz", "hta_diff_test.json.gz", "tl_h100_owlv2.json.gz", "kineto_resnet50*.gz"]
)
def test_figures_of_a_real_excerpt_are_those_of_the_range(traces: Path, tmp_path: Path, pattern: str) -> None:
    profile = Profile.open(import_traces(sorted((traces / "kineto").glob(pattern)), tmp_path / "whole"))
    span_ns = profile.end_ns - profile.begin_ns
    for index, (first, last) in enumerate(((0.3, 0.5), (0.61, 0.62), (0.0, 0.2))):
        begin_ns, end_ns = profile.begin_ns + int(span_ns * first), profile.begin_ns + int(span_ns * last)
        part = excerpt_of(profile, tmp_path / f"part-{index}", begin_ns, end_ns)
        assert figures(part, begin_ns, end_ns) == figures(profile, begin_ns, end_ns)
        assert sum(len(p.table("host")) for p in part.processes) < sum(len(p.table("host")) for p in profile.processes)


def obvious_selection(process: ProcessProfile, begin_ns: int, end_ns: int) -> tuple[set[int], set[int]]:
    """Device and host rows that an excerpt must keep, row by row, without the operators that tell for whom."""

    def touches(table: str, row: int) -> bool:
        start = int(process.table(table)["start_ns"][row])
        end = start + int(process.table(table)["duration_ns"][row])
        return start < end_ns and (end > begin_ns or start >= begin_ns)

    device, host = process.table("device"), process.table("host")
    device_rows = {row for row in range(len(device)) if touches("device", row)}
    host_rows = {row for row in range(len(host)) if touches("host", row)}
    host_rows |= {int(device["launch"][row]) for row in device_rows if device["launch"][row] >= 0}
    device_rows |= {row for row in range(len(device)) if int(device["launch"][row]) in host_rows}
    host_rows |= {int(host["op"][row]) for row in host_rows if host["op"][row] >= 0}
    return device_rows, host_rows


@pytest.mark.parametrize("seed", range(20))
def test_the_selection_is_that_of_the_slow_obvious_way(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    lines = []
    for number in range(60):
        start, corr = choose.randrange(1000), choose.randrange(1, 25)
        lines.append(
            choose.choice(
                [
                    f"kernel 0/{choose.randrange(2)} {start}+{choose.randrange(60)} k{number} corr={corr}",
                    f"api 1 {start}+{choose.randrange(20)} a{number} corr={corr}",
                    f"op 1 {start // 100 * 100}+{choose.randrange(100)} o{number}",
                ]
            )
        )
    process = make_profile(tmp_path / "p", "\n".join(lines)).processes[0]
    begin_ns = choose.randrange(1000)
    end_ns = begin_ns + choose.randrange(1, 300)
    chosen = select(process, begin_ns, end_ns)
    device_rows, host_rows = obvious_selection(process, begin_ns, end_ns)
    assert set(chosen.rows["device"].tolist()) == device_rows
    kept = set(chosen.rows["host"].tolist())
    assert host_rows <= kept
    # Beyond that only operators around kept operators.
    assert all(process.names.text(process.table("host")["name_id"][row]).startswith("o") for row in kept - host_rows)


def test_for_whom_a_backward_thread_works_is_known_in_the_excerpt_too(tmp_path: Path) -> None:
    profile = make_profile(
        tmp_path / "whole",
        """
        annotation 1 0+1000 step_0
        annotation 3 0+1000 other
        op 1 10+20 aten::mm sequence=4
        op 2 100+50 MmBackward sequence=4 forward=1
        api 2 500+5 cudaLaunchKernel corr=8
        kernel 0/7 510+20 grad corr=8
        """,
    )
    part = excerpt_of(profile, tmp_path / "part", 490, 600)
    assert figures(part, 490, 600) == figures(profile, 490, 600)
    busy = {row["name"]: row["gpu_busy_ns"] for row in figures(part, 490, 600)["annotations"]}
    assert busy == {"step_0": 20, "other": None}


def test_names_that_are_no_unicode_keep_their_bytes(tmp_path: Path) -> None:
    writer = ProfileWriter(tmp_path / "whole", Manifest(name="odd"))
    process = writer.process(Process("algo-1", "0", devices=[Device(0, used=True)]))
    name_ids = process.name_ids([b"\xff\xfe kernel", "lone \ud83d surrogate"])
    process.append(
        "host",
        {"kind": ["op", "op"], "thread": [1, 1], "start_ns": [0, 50], "duration_ns": [5, 5], "name_id": name_ids},
    )
    writer.finish()
    whole = Profile.open(tmp_path / "whole")
    part = excerpt_of(whole, tmp_path / "part", 0, 100)
    names = part.processes[0].names
    assert {names.raw(name_id) for name_id in range(2)} == {b"\xff\xfe kernel", b"lone \xed\xa0\xbd surrogate"}
    # Counted once, when they were recorded, and not again when they are copied.
    assert part.losses == whole.losses and {loss.kind for loss in part.losses} == {"invalid_text"}


def test_what_cannot_be_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "whole", TINY)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("x")
    with pytest.raises(ProfileError, match=r"taken exists and is not an empty folder; choose another\.$"):
        write_excerpt(profile, tmp_path / "taken")
    with pytest.raises(ProfileError, match=r"^Nothing was recorded in that range; "):
        write_excerpt(profile, tmp_path / "part", -500, -400)
    with pytest.raises(ProfileError, match=r"^No process is called x/1; the profile has algo-1/0, algo-2/1\.$"):
        named(profile, ["x/1"])
    (tmp_path / "part").mkdir()
    asked = iter([False, False, True])
    with pytest.raises(Cancelled):
        write_excerpt(profile, tmp_path / "part", cancelled=lambda: next(asked))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part", "taken", "whole"]
    told: list[float] = []
    write_excerpt(profile, tmp_path / "part", progress=lambda share, what: told.append(share))
    assert told == sorted(told) and told[0] == 0 and told[-1] == 1
    assert Profile.open(tmp_path / "part").begin_ns == 0


def test_the_profile_that_is_read_stays_unread(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "whole", TINY)
    write_excerpt(profile, tmp_path / "part", 320, 525)
    assert all(process._tables is None for process in profile.processes)
    assert isinstance(profile.processes[0].table("device")["start_ns"], np.ndarray)
