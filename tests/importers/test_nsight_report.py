"""Reports of Nsight Systems are exported by the nsys on the PATH; where there is none, the command is shown."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path

import pytest

from smprof.profile.manifest import ProfileError
from smprof.profile.reader import Profile
from smprof_desktop.importers import convert
from smprof_desktop.importers.detect import detect
from smprof_desktop.progress import Cancelled
from smprof_desktop.targets import open_targets
from tests.importers.test_nsight import KERNEL, database, kernel

REPORT = b"NVIDIA Tegra Profiler Report\n\x00\x01" + b"\x07" * 100

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-in for nsys is a shell script")


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "user's folder" / "-run 1"
    path.parent.mkdir()
    path.write_bytes(REPORT)
    return path


def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put an `nsys` of this shell text on the PATH: it is called as `nsys export --type sqlite --output OUT REPORT`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    nsys = folder / "nsys"
    nsys.write_text(f"#!/bin/sh\n{script}\n")
    nsys.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_without_nsys_the_exact_command_is_shown(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ProfileError, match="no nsys on the PATH") as error:
        detect(report)
    command = str(error.value).split("`")[1]
    assert shlex.split(command) == [
        "nsys", "export", "--type", "sqlite", "--output", str(report.with_suffix(".sqlite")), str(report),
    ]  # fmt: skip
    with pytest.raises(ProfileError, match="no nsys on the PATH"):
        convert.import_traces([report], report.parent / "out")


def test_a_report_is_exported_and_imported(tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = database(tmp_path / "made.sqlite", {KERNEL: [kernel(5, 8, 0)]})
    check = f'[ "$1 $2 $3 $4" = "export --type sqlite --output" ] && [ "$6" = {shlex.quote(str(report))} ]'
    stand_in(tmp_path, monkeypatch, f'{check} && cp {shlex.quote(str(made))} "$5" && echo "$5" > {tmp_path}/where')
    out = convert.import_traces([report], tmp_path / "out")
    profile = Profile.open(out)
    assert [len(process.table("device")) for process in profile.processes] == [1]
    assert profile.manifest.sources[0]["name"] == "-run 1"
    assert profile.manifest.sources[0]["format"] == "nsys-rep"
    assert [entry.name for entry in report.parent.iterdir()] == ["-run 1"]
    assert not Path((tmp_path / "where").read_text().strip()).parent.exists()


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo first >&2; echo 'unsupported version.' >&2; exit 3", "by nsys: unsupported version; it may"),
        ("exit 4", "exit status 4"),
        ("exit 0", "wrote no database"),
        ('echo "no database" > "$5"', "no trace|not|damaged"),
    ],
)
def test_what_nsys_cannot_export_is_one_sentence(
    tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str
) -> None:
    stand_in(tmp_path, monkeypatch, script)
    with pytest.raises(ProfileError, match=says) as error:
        convert.import_traces([report], tmp_path / "out")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_cancelling_ends_nsys_and_leaves_nothing(tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, f"echo $$ > {tmp_path}/started; sleep 600 & wait")
    started = tmp_path / "started"
    with pytest.raises(Cancelled):
        convert.import_traces(
            [report], tmp_path / "out", cancelled=lambda: started.exists() and started.stat().st_size > 0
        )
    pid = int(started.read_text())
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and running(pid):
        time.sleep(0.02)
    assert not running(pid)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["bin", "started", "user's folder"]


def running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    if status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_folder_with_a_report_and_its_export_holds_one_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "exit 9")
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "report1.nsys-rep").write_bytes(REPORT)
    database(folder / "report1.sqlite", {KERNEL: [kernel(5, 8, 0)]})
    assert len(open_targets([str(folder)]).processes) == 1
