"""TARGETs → one profile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smprof.profile.guard import Guard
from smprof.profile.manifest import ProfileError
from smprof_desktop.importers import convert
from smprof_desktop.progress import Cancelled
from smprof_desktop.sources.store import Store
from smprof_desktop.synthesize import synthesize
from smprof_desktop.targets import open_targets


def write_trace(path: Path, rank: int, device: int) -> Path:
    kernel = {"ph": "X", "cat": "kernel", "name": f"k{rank}", "pid": device, "tid": 7, "ts": 20, "dur": 5}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": rank}, "traceEvents": [kernel]}))
    return path


def names(*targets: Path) -> list[str]:
    profile = open_targets([str(target) for target in targets])
    return [f"{process.info.host}/{process.info.process}" for process in profile.processes]


def test_files_together_are_one_import_and_a_folder_of_traces_is_the_same(tmp_path: Path) -> None:
    files = [write_trace(tmp_path / f"r{rank}.json", rank, rank % 2) for rank in range(4)]
    (tmp_path / "notes.txt").write_text("hello")
    assert names(*files) == names(tmp_path) == ["algo-1/0", "algo-1/1", "algo-2/2", "algo-2/3"]
    assert len(list(Store().folder.iterdir())) == 1


def test_the_second_time_nothing_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = write_trace(tmp_path / "a.json", 0, 0)
    first = names(trace)
    monkeypatch.setattr(convert, "import_traces", lambda *_: pytest.fail("imported again"))
    assert names(trace, trace) == first


@pytest.mark.parametrize("damage", ["manifest", "segments"])
def test_an_import_that_the_disk_lost_a_part_of_is_made_anew(tmp_path: Path, damage: str) -> None:
    trace = write_trace(tmp_path / "a.json", 0, 0)
    first = names(trace)
    (entry,) = Store().folder.iterdir()
    files = sorted((entry / "profile").rglob("*.parquet"))
    assert files
    if damage == "manifest":
        (entry / "profile" / "manifest.json").write_text("{")
    for file in files if damage == "segments" else []:
        file.write_bytes(file.read_bytes()[:-3])
    profile = open_targets([str(trace)])
    assert [f"{process.info.host}/{process.info.process}" for process in profile.processes] == first
    assert [process.names.text(0) for process in profile.processes] == ["k0"]
    assert len(profile.processes[0].table("device")) == 1 and profile.losses == []


def test_profiles_and_traces_are_combined(tmp_path: Path) -> None:
    one = write_trace(tmp_path / "a.json", 0, 0)
    two = write_trace(tmp_path / "b.json", 1, 1)
    profile = convert.import_traces([one], tmp_path / "profile")
    assert len(names(profile, two)) == 2
    assert names(profile) == ["algo-1/0"]


def test_a_folder_with_one_profile_opens_it_and_with_several_asks(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "a.json", 0, 0)
    (tmp_path / "runs").mkdir()
    convert.import_traces([trace], tmp_path / "runs" / "one")
    assert names(tmp_path / "runs") == ["algo-1/0"]
    convert.import_traces([trace], tmp_path / "runs" / "two")
    with pytest.raises(ProfileError, match=r"holds 2 profiles \(one, two\)"):
        names(tmp_path / "runs")


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("none", "does not exist"),
        ("empty", "neither a profile nor a trace"),
        ("text.json", "no trace"),
        ("s3://b/k", "local files"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(tmp_path: Path, target: str, says: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.json").write_text("hello")
    with pytest.raises(ProfileError, match=says) as error:
        open_targets([target if "://" in target else str(tmp_path / target)])
    assert str(error.value).endswith(".") and "\n" not in str(error.value)
    with pytest.raises(ProfileError, match="nothing to open"):
        open_targets([])


def test_a_trace_of_a_kind_to_come_says_so(traces: Path) -> None:
    with pytest.raises(ProfileError, match="XPlane"):
        open_targets([str(traces / "xplane")])


def test_cancelling_leaves_no_import(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "a.json", 0, 0)
    with pytest.raises(Cancelled):
        open_targets([str(trace)], cancelled=lambda: True)
    assert not Store().folder.exists() or list(Store().folder.iterdir()) == []


def test_what_a_folder_of_traces_holds_that_is_not_read_is_counted(tmp_path: Path) -> None:
    write_trace(tmp_path / "r0.json", 0, 0)
    (tmp_path / "r1.json").write_text("")
    (tmp_path / "r2.json.gz").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 5\n")
    (tmp_path / "notes.txt").write_text("hello")
    convert.import_traces([write_trace(tmp_path / "other" / "x.json", 5, 0)], tmp_path / "profile")
    profile = open_targets([str(tmp_path)])
    losses = [loss for loss in profile.losses if loss.kind == "unread_file"]
    assert sum(loss.count for loss in losses) == 3
    assert {name for name in ("r1.json", "r2.json.gz", "profile") for loss in losses if name in loss.detail} == {
        "r1.json",
        "r2.json.gz",
        "profile",
    }


def test_the_same_traces_in_another_folder_are_called_after_it(tmp_path: Path) -> None:
    names = []
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        for rank in range(2):
            write_trace(tmp_path / folder / f"r{rank}.json", rank, rank)
        names.append(open_targets([str(tmp_path / folder)]).manifest.name)
    assert names == ["first", "second"]


def test_traces_whose_clocks_cannot_be_compared_say_so(tmp_path: Path) -> None:
    for rank in range(2):
        write_trace(tmp_path / f"r{rank}.json", rank, rank)
    [loss] = [loss for loss in open_targets([str(tmp_path)]).losses if loss.kind == "unaligned_clock"]
    assert (loss.count, loss.detail) == (2, "r0.json, r1.json")


def test_a_profile_that_was_opened_before_is_not_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = synthesize(tmp_path / "p", slices=2_000, hosts=1, devices=1, steps=2)
    for _ in range(2):
        profile = open_targets([str(folder)])
        assert len(profile.processes[0].table("device")["start_ns"])
        profile.close()
        monkeypatch.setattr(Guard, "_ask", lambda *_: pytest.fail("read again"))
