"""What is kept, found again, bounded, and shared with other programs."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from smprof.profile.manifest import Manifest
from smprof_desktop.sources import store as stores
from smprof_desktop.sources.store import Store, key_of


def make(size_bytes: int = 10, said: list[str] | None = None):  # type: ignore[no-untyped-def]
    def write(out: Path) -> None:
        out.mkdir()
        (out / "data").write_bytes(b"x" * size_bytes)
        Manifest().write(out)
        if said is not None:
            said.append(out.name)

    return write


def age(store: Store, key: str, seconds: float) -> None:
    past = time.time() - seconds
    os.utime(store.folder / key / "used", (past, past))


def test_the_second_time_nothing_is_made(tmp_path: Path) -> None:
    store, said = Store(tmp_path), list[str]()
    first = store.put("k", make(said=said))
    assert store.put("k", make(said=said)) == first == store.get("k")
    assert said == ["profile"]
    assert store.get("other") is None


def test_it_lies_in_the_cache_of_the_user(own_home: Path) -> None:
    assert own_home in Store().folder.parents


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def fail(out: Path) -> None:
        out.mkdir()
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        store.put("k", fail)
    assert list(tmp_path.iterdir()) == [] and store.get("k") is None


def test_the_least_recently_used_go_first_and_what_was_used_lately_stays(tmp_path: Path) -> None:
    store = Store(tmp_path, limit_bytes=30_000)
    for key in ("a", "b", "c"):
        store.put(key, make(8000))
    for key, seconds in (("a", 3e6), ("b", 2e6), ("c", 1e6)):
        age(store, key, seconds)
    store.get("a")
    store.put("d", make(8000))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c", "d"]
    store.put("e", make(50_000))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "d", "e"]


def test_another_program_that_was_faster_wins(tmp_path: Path) -> None:
    ours, theirs = Store(tmp_path), Store(tmp_path)

    def slowly(out: Path) -> None:
        make()(out)
        theirs.put("k", make(77))

    kept = ours.put("k", slowly)
    assert (kept / "data").stat().st_size == 77
    assert [path.name for path in tmp_path.iterdir()] == ["k"]


def test_an_incomplete_entry_is_made_anew(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (tmp_path / "k" / "profile").mkdir(parents=True)
    assert store.get("k") is None
    assert (store.put("k", make()) / "manifest.json").is_file()


def test_what_was_left_half_written_goes_after_a_day(tmp_path: Path) -> None:
    old, new = tmp_path / ".old.part", tmp_path / ".new.part"
    for folder in (old, new):
        folder.mkdir()
    past = time.time() - 2 * stores._HALF_WRITTEN_SECONDS
    os.utime(old, (past, past))
    Store(tmp_path).put("k", make())
    assert not old.exists() and new.exists()


def test_the_key_is_that_of_contents_and_names_in_any_order(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text("1")
    b.write_text("2")
    key = key_of([a, b], "v1")
    assert key == key_of([b, a], "v1")
    assert key != key_of([a, b], "v2")
    assert key != key_of([a], "v1")
    b.write_text("3")
    assert key != key_of([a, b], "v1")
