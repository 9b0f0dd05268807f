"""Profiles that others wrote: a file that stops the reader stops only the child that reads first."""

from __future__ import annotations

import os
import signal
import threading
import time
import zlib
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smprof.profile import contents, storage
from smprof.profile import guard as guard_module
from smprof.profile.guard import Guard
from smprof.profile.manifest import Host, Manifest, Process, ProfileError
from smprof.profile.reader import Profile
from smprof.profile.writer import ProfileWriter

STOPS = "stops-the-reader"


def serve_and_die(pipe: Connection) -> None:
    """The child, but for a file of a certain name, which kills it as a bug in a decoder would."""
    read = contents.open_parquet

    def deadly(folder: Path, named: storage.TableFile) -> pq.ParquetFile:
        if (folder / f"{named.name}.{STOPS}").exists():
            os.kill(os.getpid(), signal.SIGSEGV)
        return read(folder, named)

    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(guard_module, "open_parquet", deadly)
    monkeypatch.setattr(contents, "open_parquet", deadly)
    guard_module.serve_requests(pipe)


def serve_slowly(pipe: Connection) -> None:
    """The child, but for its pace."""
    time.sleep(60)


@pytest.fixture
def guard() -> Iterator[Guard]:
    made = Guard()
    yield made
    made.close()


@pytest.fixture
def deadly_guard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Guard]:
    made = Guard(serve_and_die)
    yield made
    made.close()


def write(folder: Path, merge: bool = True) -> Path:
    writer = ProfileWriter(folder, Manifest(name="test", hosts=[Host("algo-1")]), segment_rows=100)
    process = writer.process(Process("algo-1", "0", rank=0))
    for begin in range(0, 500, 100):
        at = np.arange(begin, begin + 100, dtype=np.int64)
        calls = {"kind": ["api"] * 100, "thread": np.full(100, 3), "start_ns": 100 * at, "duration_ns": np.full(100, 9)}
        process.append("host", {**calls, "name_id": process.name_ids(["launch"] * 100), "correlation": at + 1})
    writer.finish(merge)
    return folder


@pytest.mark.parametrize("merge", [True, False])
def test_a_guarded_profile_reads_as_any_other(tmp_path: Path, guard: Guard, merge: bool) -> None:
    folder = write(tmp_path / "p", merge)
    opened, guarded = Profile.open(folder), Profile.open(folder, guard)
    for column in ("start_ns", "depth", "kind", "name_id"):
        assert (guarded.processes[0].table("host")[column] == opened.processes[0].table("host")[column]).all()
    assert guarded.processes[0].names.texts == ["launch"]
    assert (guarded.losses, guarded.end_ns) == ([], opened.end_ns)


def test_a_file_that_stops_the_reader_is_lost_and_counted(tmp_path: Path, deadly_guard: Guard) -> None:
    folder = write(tmp_path / "p", merge=False)
    (folder / "algo-1" / "0" / f"host-000002.parquet.{STOPS}").touch()
    opened = Profile.open(folder, deadly_guard)
    assert len(opened.processes[0].table("host")) == 400
    [loss] = opened.losses
    assert (loss.kind, loss.count) == ("damaged_segment", 100)
    assert "host-000002.parquet: reading it stops the reader" in loss.detail


def test_a_merged_file_that_stops_the_reader_costs_its_table_only(tmp_path: Path, deadly_guard: Guard) -> None:
    folder = write(tmp_path / "p")
    path = next(folder.rglob("names-*.parquet"))
    (path.parent / f"{path.name}.{STOPS}").touch()
    opened = Profile.open(folder, deadly_guard)
    assert len(opened.processes[0].table("host")) == 500
    assert opened.processes[0].names.text(0) == "(name lost)"
    assert opened.processes[0].table("host")["name_id"].tolist() == [-1] * 500
    assert {(loss.kind, loss.count) for loss in opened.losses} == {("damaged_segment", 1), ("missing_names", 500)}


def test_copies_go_with_the_guard(tmp_path: Path, guard: Guard) -> None:
    opened = Profile.open(write(tmp_path / "p", merge=False), guard)
    assert len(opened.processes[0].table("host")) == 500
    copy = guard._held.folders[0]
    assert copy.is_dir()
    opened.close()
    guard.close()
    assert not copy.exists()


def test_rows_that_a_small_file_cannot_hold_are_refused(tmp_path: Path, guard: Guard) -> None:
    folder = tmp_path / "p" / "algo-1" / "0"
    write(tmp_path / "p")
    rows = 20_000_000
    path = folder / "counter-000001-000001.parquet"
    claim = pa.table({"id": pa.array(np.zeros(rows, np.int64))})
    pq.write_table(claim, path, compression="zstd", use_dictionary=False, column_encoding="DELTA_BINARY_PACKED")
    content = path.read_bytes()
    assert len(content) < 200_000
    line = storage.JournalLine("counter-000001-000001.parquet", "counter", rows, len(content), zlib.crc32(content), ())
    storage.append_to_journal(folder, [line])
    opened = Profile.open(tmp_path / "p", guard)
    assert len(opened.processes[0].table("counter")) == 0
    assert [(loss.kind, loss.count) for loss in opened.losses] == [("damaged_segment", rows)]


def test_closing_does_not_wait_for_an_answer(tmp_path: Path) -> None:
    folder = write(tmp_path / "p")
    path = next(folder.rglob("host-*.parquet"))
    slow = Guard(serve_slowly)

    def ask() -> None:
        with pytest.raises(ProfileError, match="stops the reader"):
            slow.check(path, ())

    asked = threading.Thread(target=ask)
    asked.start()
    while slow._held.child is None or not slow._held.child.is_alive():
        time.sleep(0.01)
    begin = time.monotonic()
    slow.close()
    assert time.monotonic() - begin < 5
    asked.join()


def test_a_guard_that_cannot_answer_says_so_in_a_sentence(tmp_path: Path, deadly_guard: Guard) -> None:
    folder = write(tmp_path / "p")
    path = next(folder.rglob("host-*.parquet"))
    (path.parent / f"{path.name}.{STOPS}").touch()
    with pytest.raises(ProfileError, match=r"host-000001-000005\.parquet is damaged in a way that stops the reader"):
        deadly_guard.check(path, ("id",))
    assert deadly_guard.check(next(folder.rglob("names-*.parquet")), ()) is None
