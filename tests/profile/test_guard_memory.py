"""What a guard need not read again: files read whole without harm, as long as they are the same."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from smprof.profile import contents
from smprof.profile import guard as guard_module
from smprof.profile.guard import Guard
from smprof.profile.manifest import ProfileError
from smprof.profile.reader import Profile
from smprof.profile.schema import Column
from tests.profile.test_guard import STOPS, serve_and_die, serve_slowly, write


class Remembered:
    """A memory that lasts as long as the test."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, int]] = {}

    def recall(self, key: str) -> Mapping[str, int] | None:
        return self.files.get(key)

    def remember(self, key: str, read: Mapping[str, int]) -> None:
        known = self.files.setdefault(key, {})
        known.update({name: known.get(name, 0) | bits for name, bits in read.items()})

    def save(self) -> None:
        pass


class Counting(Guard):
    """A guard that counts what its child is asked."""

    def __init__(self, memory: Remembered, serve: Callable[[Connection], None] | None = None) -> None:
        super().__init__(serve, memory=memory)
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def _ask(self, request: dict[str, Any], size_bytes: int) -> dict[str, Any]:
        self.asked.append((Path(request.get("path", "")).name.partition("-")[0], tuple(request.get("columns", ()))))
        return super()._ask(request, size_bytes)


def read(folder: Path, memory: Remembered, *columns: str) -> list[tuple[str, tuple[str, ...]]]:
    """Open a profile, read columns of `host`, and tell what the child was asked for that."""
    opened = Profile.open(folder, guard := Counting(memory))
    for column in columns:
        assert len(opened.processes[0].table("host")[column]) == 500
    assert opened.losses == []
    if not guard.asked:
        assert guard._held.child is None
    opened.close()
    return guard.asked


@pytest.fixture(params=["small files", "large files"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "large files":
        monkeypatch.setattr(guard_module, "_SMALL_BYTES", 0)
    return write(tmp_path / "p")


def test_what_was_read_is_not_read_again(folder: Path) -> None:
    memory = Remembered()
    assert read(folder, memory, "start_ns", "name_id")
    assert read(folder, memory, "start_ns", "name_id") == []


def test_a_small_file_is_read_whole_by_one_request(tmp_path: Path) -> None:
    asked = read(write(tmp_path / "p"), Remembered(), "start_ns", "name_id", "duration_ns")
    assert asked and all(columns == () for _, columns in asked)
    assert len({table for table, _ in asked}) == len(asked)


def test_of_a_large_file_only_what_was_read_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_module, "_SMALL_BYTES", 0)
    folder, memory = write(tmp_path / "p"), Remembered()
    read(folder, memory, "start_ns")
    assert read(folder, memory, "start_ns", "duration_ns") == [("host", ("duration_ns",))]


def test_row_groups_are_known_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_module, "_SMALL_BYTES", 0)
    path = next(write(tmp_path / "p").rglob("host-*.parquet"))
    table = pq.read_table(path)
    pq.write_table(table, path, row_group_size=100)
    guard = Counting(Remembered())
    for groups in ([0, 2], [2], [0], [2, 0], [1]):
        assert guard.check(path, ("start_ns",), groups, crc32=1) is None
    assert len(guard.asked) == 2
    assert guard.check(path, ("start_ns",), range(3), crc32=1) is None and len(guard.asked) == 2
    assert guard.check(path, ("start_ns",), range(5), crc32=1) is None and len(guard.asked) == 3
    assert guard.check(path, ("start_ns",), range(5), crc32=2) is None and len(guard.asked) == 4
    assert guard.check(path, ("start_ns",), range(5)) is None and len(guard.asked) == 5
    assert "group" in str(guard.check(path, ("start_ns",), (5000,), crc32=1))
    guard.close()


@pytest.mark.parametrize("how", ["written over", "put in its place"])
def test_a_changed_file_is_read_again_though_its_time_says_otherwise(folder: Path, how: str) -> None:
    memory = Remembered()
    read(folder, memory, "start_ns")
    path = next(folder.rglob("host-*.parquet"))
    found, content = path.stat(), path.read_bytes()
    if how == "written over":
        path.write_bytes(content)
    else:
        shutil.copyfile(path, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert path.stat().st_mtime_ns == found.st_mtime_ns
    again = read(folder, memory, "start_ns")
    assert again and {table for table, _ in again} == {"host"}


def test_a_file_that_changes_while_its_profile_is_open_is_read_again(folder: Path) -> None:
    opened = Profile.open(folder, guard := Counting(Remembered()))
    table = opened.processes[0].table("host")
    before = table["start_ns"].tolist()
    table.forget()
    guard.asked.clear()
    assert table["start_ns"].tolist() == before and guard.asked == []
    table.forget()
    path = next(folder.rglob("host-*.parquet"))
    path.write_bytes(path.read_bytes())
    assert table["start_ns"].tolist() == before and guard.asked
    opened.close()


def test_what_stopped_the_reader_is_never_remembered(tmp_path: Path) -> None:
    folder, memory = write(tmp_path / "p"), Remembered()
    path = next(folder.rglob("names-*.parquet"))
    (path.parent / f"{path.name}.{STOPS}").touch()
    for _ in range(2):
        opened = Profile.open(folder, Counting(memory, serve_and_die))
        assert len(opened.processes[0].table("host")) == 500
        assert [loss.kind for loss in opened.losses] == ["damaged_segment"]
        opened.close()


def serve_and_die_of_a_column(pipe: Connection) -> None:
    """The child, but for one column, which kills it."""
    usual = contents.read_column

    def deadly(file: pq.ParquetFile, column: Column, groups: Any = None) -> Any:
        if column.name == "correlation":
            os.kill(os.getpid(), signal.SIGSEGV)
        return usual(file, column, groups)

    pytest.MonkeyPatch().setattr(guard_module, "read_column", deadly)
    guard_module.serve_requests(pipe)


def test_a_column_that_stops_the_reader_costs_no_other_one(folder: Path) -> None:
    opened = Profile.open(folder, Counting(Remembered(), serve_and_die_of_a_column))
    host = opened.processes[0].table("host")
    assert host["start_ns"][-1] == 49_900 and opened.losses == []
    with pytest.raises(ProfileError, match="stops the reader"):
        host["correlation"]
    assert host["duration_ns"].tolist() == [9] * 500
    opened.close()


def test_a_guard_that_is_closed_while_it_is_asked_starts_no_other_child(tmp_path: Path) -> None:
    path = next(write(tmp_path / "p").rglob("host-*.parquet"))
    slow = Counting(Remembered(), serve_slowly)

    def ask() -> None:
        with pytest.raises(ProfileError):
            slow.check(path, ("id",), (), crc32=1)

    asked = threading.Thread(target=ask)
    asked.start()
    while slow._held.child is None or not slow._held.child.is_alive():
        time.sleep(0.01)
    slow.close()
    asked.join()
    assert slow.asked == [("host", ())] and slow._held.child is None
