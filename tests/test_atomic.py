"""Folders that are there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from smprof.profile.manifest import ProfileError
from smprof_desktop.atomic import new_folder
from smprof_desktop.synthesize import synthesize


def fill(folder: Path) -> None:
    (folder / "manifest.json").write_text("{}")
    (folder / "algo-1").mkdir()
    (folder / "algo-1" / "data").write_text("x")


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_appears_whole(tmp_path: Path, there: bool) -> None:
    out = tmp_path / "a" / "out"
    if there:
        out.mkdir(parents=True)
    with new_folder(out) as work:
        fill(work.whole)
        (work.aside / "scratch").mkdir()
        assert not out.exists() or list(out.iterdir()) == []
    assert sorted(path.name for path in out.rglob("*")) == ["algo-1", "data", "manifest.json"]
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_nothing_is_left_of_a_failure(tmp_path: Path) -> None:
    def fail() -> None:
        with new_folder(tmp_path / "out") as work:
            fill(work.whole)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_stays(tmp_path: Path) -> None:
    fill(tmp_path)
    with pytest.raises(ProfileError, match="not an empty folder"), new_folder(tmp_path):
        pass
    assert (tmp_path / "algo-1" / "data").read_text() == "x"


def test_the_folder_one_stands_in_can_be_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    synthesize(Path("."), hosts=1, devices=1, steps=1)
    assert (tmp_path / "manifest.json").is_file()
    assert list(Path().iterdir())
