"""Files that are written for the user: what is replaced, what is written into, and what is refused beforehand."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from smprof.profile.manifest import ProfileError
from smprof_desktop import destination
from tests.make_profile import write_profile

needs_fifos = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_bytes(b"old")
    with file.open("rb") as reader:
        destination.write(file, b"new")
        assert reader.read() == b"old", "who reads it sees one or the other"
    assert file.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["r.json"]


@needs_fifos
def test_a_pipe_is_written_into_and_stays(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    destination.check(pipe)
    destination.write(pipe, b"figures")
    reader.join(10)
    assert read == [b"figures"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_through_a_link_the_file_it_leads_to_is_written(tmp_path: Path) -> None:
    folder, link, dangling = tmp_path / "there", tmp_path / "link", tmp_path / "dangling"
    folder.mkdir()
    (folder / "r.json").write_bytes(b"old")
    link.symlink_to(folder / "r.json")
    dangling.symlink_to(folder / "fresh.json")
    for path in (link, dangling):
        destination.check(path)
        destination.write(path, b"new")
        assert path.is_symlink() and path.read_bytes() == b"new"
    assert sorted(os.listdir(folder)) == ["fresh.json", "r.json"]


def test_what_cannot_be_written_is_refused_beforehand(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"^The folder of .*/nowhere/q\.json does not exist; create it first\.$"):
        destination.check(tmp_path / "nowhere" / "q.json")
    with pytest.raises(ProfileError, match=r"is a folder; name a file to write\.$"):
        destination.check(tmp_path)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "q.json")
    with pytest.raises(ProfileError, match="does not exist"):
        destination.check(tmp_path / "dangling")


def test_a_failure_while_writing_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ProfileError) as refusal:
        destination.write(tmp_path / "nowhere" / "q.json", b"")
    assert str(refusal.value) == (
        f"The file cannot be written to {tmp_path}/nowhere/q.json: no such file or directory; choose another place."
    )


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    file = tmp_path / "r.json"
    file.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ProfileError, match="no space left on device"):
        destination.write(file, b"new")
    assert os.listdir(tmp_path) == ["r.json"] and file.read_bytes() == b"old"


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="this system does not name standard output")
def test_standard_output_by_its_path(tmp_path: Path) -> None:
    script = (
        "from pathlib import Path; from smprof_desktop import destination\n"
        "print('first'); destination.write(Path('/dev/stdout'), b'second\\n'); print('third')"
    )
    command = [sys.executable, "-c", script]
    lines = b"first\nsecond\nthird\n"
    assert subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout == lines
    log = tmp_path / "log"
    log.write_bytes(b"before\n")
    with log.open("ab") as stream:
        subprocess.run(command, check=True, stdout=stream)
    assert log.read_bytes() == b"before\n" + lines, "what it is appended to is not replaced"


def test_the_report_says_so_before_it_reads_anything(tmp_path: Path) -> None:
    profile = write_profile(tmp_path / "p", "kernel 0/7 0+5 gemm")
    (profile / "manifest.json").write_text("damaged")
    for option in ("--json", "--html"):
        command = [sys.executable, "-m", "smprof_desktop.cli", "report", str(profile), option, str(tmp_path / "no/q")]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
        assert done.returncode == 1
        assert done.stderr == f"smprof-desktop: The folder of {tmp_path}/no/q does not exist; create it first.\n"
