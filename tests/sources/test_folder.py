"""Profiles and traces of a folder, and nothing else in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from smprof.profile.manifest import Manifest, ProfileError
from smprof_desktop.importers.detect import detect
from smprof_desktop.sources.folder import listing, natural


def test_a_folder_with_all_sorts_of_things(tmp_path: Path) -> None:
    (tmp_path / "rank10.json").write_text('{"traceEvents": [{"ph": "X", "cat": "kernel"}]}')
    (tmp_path / "rank2.json").write_text('[{"ph": "X"}]')
    (tmp_path / "README.md").write_text("# hello")
    (tmp_path / ".hidden.json").write_text('[{"ph": "X"}]')
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "run.notes.json").write_text('{"marks": []}')
    (tmp_path / "plain").mkdir()
    (tmp_path / "run" / "algo-1").mkdir(parents=True)
    Manifest().write(tmp_path / "run")
    (tmp_path / "run" / "algo-1" / "x").write_bytes(b"1" * 1000)
    listed = listing(tmp_path, detect)
    assert len(listed.refused) == 1 and "empty.json" in listed.refused[0]
    found = listed.entries
    assert [(entry.name, entry.kind) for entry in found] == [
        ("rank2.json", "chrome"),
        ("rank10.json", "kineto"),
        ("run", "profile"),
    ]
    assert found[2].size_bytes == 1000 + (tmp_path / "run" / "manifest.json").stat().st_size
    assert found[0].size_bytes == 13 and found[0].modified_s == (tmp_path / "rank2.json").stat().st_mtime


def test_what_cannot_be_listed_is_said(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="does not exist"):
        listing(tmp_path / "none", detect)
    (tmp_path / "file").write_text("x")
    with pytest.raises(ProfileError, match="not a folder"):
        listing(tmp_path / "file", detect)


def test_numbers_in_names_sort_as_numbers() -> None:
    names = ["w10.2", "w2", "w", "w2.10", "w2.9", "٣", "a" * 10, "0" * 5000]
    assert sorted(names, key=natural)[1:] == ["a" * 10, "w", "w2", "w2.9", "w2.10", "w10.2", "٣"]
