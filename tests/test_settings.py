"""The settings: kept, tolerant, never the real user's in tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smprof_desktop.settings import MAX_RECENT, SETTINGS, Settings


def test_what_is_set_is_there_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "settings.json"
    Settings(path).set("theme", "dark")
    Settings(path).add_recent(("/a/trace.json.gz", "/a/b"))
    again = Settings(path)
    assert again.get("theme") == "dark" and again.recent() == [("/a/trace.json.gz", "/a/b")]
    assert [entry.name for entry in path.parent.iterdir()] == ["settings.json"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'{"theme": 3, "recent": [[], [1], "x"]}', b"\xff\xfe", b"[" * 100_000]
)
def test_a_damaged_file_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    settings = Settings(path)
    assert settings.get("theme") == "system" and settings.recent() == []
    settings.set("theme", "light")
    assert Settings(path).get("theme") == "light"


def test_the_settings_of_a_newer_version_survive(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"of_tomorrow": [1, 2], "theme": "dark"}')
    Settings(path).set("theme", "light")
    assert json.loads(path.read_text()) == {"of_tomorrow": [1, 2], "theme": "light"}


def test_a_value_that_a_setting_cannot_have_is_refused() -> None:
    settings = Settings(None)
    with pytest.raises(ValueError, match="theme cannot be"):
        settings.set("theme", "mauve")
    with pytest.raises(KeyError):
        settings.set("colour", "mauve")


def test_a_change_is_announced_once() -> None:
    settings = Settings(None)
    heard: list[str] = []
    settings.changed.connect(heard.append)
    settings.set("theme", "dark")
    settings.set("theme", "dark")
    assert heard == ["theme"]


def test_recent_targets_are_few_and_the_latest_first() -> None:
    settings = Settings(None)
    for index in range(MAX_RECENT + 5):
        settings.add_recent((f"/{index}",))
    settings.add_recent(("/10",))
    assert len(settings.recent()) == MAX_RECENT and settings.recent()[:2] == [("/10",), (f"/{MAX_RECENT + 4}",)]
    settings.remove_recent(("/10",))
    assert ("/10",) not in settings.recent()


def test_a_home_that_cannot_be_written_does_not_stop_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = Settings(tmp_path / "file" / "settings.json")
    settings.set("theme", "dark")
    assert settings.get("theme") == "dark"


def test_every_default_is_allowed() -> None:
    assert all(not setting.choices or setting.default in setting.choices for setting in SETTINGS.values())
