"""The sidecar: where it lies, what it keeps, and what damage or another window does to it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof.profile.manifest import ProfileError
from smprof.profile.reader import Profile
from smprof_desktop import notes, resources
from smprof_desktop.notes import MAX_FILE_BYTES, NOTES, Notes, key_of
from smprof_desktop.session import Session
from smprof_desktop.sources.store import Store
from tests.make_profile import write_profile

TEXT = """
process 0 pid=100 window=0:100
kernel 0/7 20+10 gemm
"""
MARK = {"begin_ns": 1, "end_ns": 1, "text": "here"}


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return write_profile(tmp_path / "run", TEXT)


def test_beside_a_profile_of_the_users_own(profile: Path) -> None:
    before = bytes_of(profile)
    mine = Notes.of(Profile.open(profile))
    assert mine.get("marks") == []
    assert not profile.with_name("run.notes.json").exists()  # to look is not to write
    mine.set("marks", [MARK])
    assert json.loads(profile.with_name("run.notes.json").read_bytes()) == {"marks": [MARK]}
    assert Notes.of(Profile.open(profile)).get("marks") == [MARK]
    assert bytes_of(profile) == before


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="this system tells owners apart otherwise")
def test_read_only_profile_is_noted_in_the_data_folder(
    profile: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile.with_name("run.notes.json").write_text('{"pinned": ["theirs"]}')
    monkeypatch.setattr(os, "getuid", lambda: 12_345)  # to the owner, and to root, all can be written
    opened = Profile.open(profile)
    mine = Notes.of(opened)
    assert mine.get("pinned") == ["theirs"]  # what lies beside it is where the user's own begin
    mine.set("marks", [MARK])
    assert json.loads(profile.with_name("run.notes.json").read_bytes()) == {"pinned": ["theirs"]}
    assert mine.path is not None
    assert mine.path.is_relative_to(own_home)
    assert mine.path.stem == key_of(opened)
    again = Notes.of(Profile.open(shutil.copytree(profile, profile.parent / "elsewhere")))
    assert (again.get("marks"), again.get("pinned")) == ([MARK], ["theirs"])


def test_imports_of_the_store_and_the_sample_are_noted_in_the_data_folder(
    profile: Path, tmp_path: Path, own_home: Path
) -> None:
    kept = Store(tmp_path / "store").put("key", lambda out: shutil.copytree(profile, out))
    for folder in (kept, resources.path(resources.SAMPLE_PROFILE)):
        path = Notes.of(Profile.open(folder)).path
        assert path is not None
        assert path.is_relative_to(own_home)


def test_several_profiles_have_notes_of_their_own(profile: Path, tmp_path: Path, own_home: Path) -> None:
    other = write_profile(tmp_path / "other", TEXT)
    both = Notes.of(Profile.combine([Profile.open(profile), Profile.open(other)]))
    both.set("hidden", ["a"])
    assert both.path is not None
    assert both.path.is_relative_to(own_home)
    assert Notes.of(Profile.open(profile)).get("hidden") == []
    again = Profile.combine([Profile.open(profile), Profile.open(other)])
    assert Notes.of(again).get("hidden") == ["a"]


def test_key_follows_what_the_profile_holds_not_its_name(profile: Path, tmp_path: Path) -> None:
    opened, moved = Profile.open(profile), Profile.open(shutil.copytree(profile, tmp_path / "moved"))
    moved.manifest.name = "another name"
    assert key_of(moved) == key_of(opened)
    moved.processes[0].info.windows_ns.append([5, 6])
    assert key_of(moved) != key_of(opened)


def test_two_windows_lose_none_of_each_others_notes(tmp_path: Path) -> None:
    path = tmp_path / "run.notes.json"
    one, two = Notes(path), Notes(path)
    heard: list[str] = []
    two.changed.connect(heard.append)
    one.set("pinned", ["a"])
    two.set("hidden", ["b"])
    assert heard == ["hidden", "pinned"]
    assert two.get("pinned") == ["a"]
    two.set("pinned", ["c"])
    one.set("marks", [MARK])
    assert json.loads(path.read_bytes()) == {"hidden": ["b"], "marks": [MARK], "pinned": ["c"]}
    assert (one.get("hidden"), one.get("pinned")) == (["b"], ["c"])


def test_unknown_keys_and_fields_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.notes.json"
    path.write_text(json.dumps({"of a newer version": {"a": [1, None]}, "marks": [{**MARK, "colour": "red"}]}))
    mine = Notes(path)
    mine.set("pinned", ["a"])
    assert json.loads(path.read_bytes()) == {
        "of a newer version": {"a": [1, None]},
        "marks": [{**MARK, "colour": "red"}],
        "pinned": ["a"],
    }
    assert mine.notice == ""
    assert os.listdir(tmp_path) == ["run.notes.json"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[1]",
        b"null",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"a": ' * 100_000,
        b'{"marks": [{"begin_ns": 1' + b"0" * 10_000 + b"}]}",
        b" " * (MAX_FILE_BYTES + 1),
        b'{"marks": 3, "pinned": {"a": 1}, "hidden": [1], "order": [[]]}',
        b'{"marks": [{"begin_ns": 1e3, "end_ns": true, "text": null}, 5, null]}',
        b'{"marks": [{"begin_ns": 9223372036854775808, "end_ns": 9223372036854775808, "text": ""}]}',
    ],
)
def test_damaged_notes_are_empty_told_of_and_kept_aside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.notes.json"
    path.write_bytes(content)
    mine = Notes(path)
    assert all(mine.get(key) == note.default for key, note in NOTES.items())
    assert mine.notice.count(str(path)) == 1
    assert path.read_bytes() == content
    mine.set("pinned", ["a"])
    assert Notes(path).get("pinned") == ["a"]
    assert Notes(path).notice == ""
    assert (tmp_path / "run.notes.json.damaged-1").read_bytes() == content


def test_what_is_sound_beside_damage_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.notes.json"
    path.write_text(json.dumps({"marks": [MARK, {"begin_ns": 2, "end_ns": 1, "text": "backwards"}], "pinned": ["a"]}))
    mine = Notes(path)
    assert (mine.get("marks"), mine.get("pinned")) == ([MARK], ["a"])
    assert "damaged in part" in mine.notice


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such pipes")
def test_pipe_in_place_of_the_notes_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.notes.json")
    assert "no file" in Notes(tmp_path / "run.notes.json").notice


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_link_in_place_of_the_notes_leads_no_write_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "target.json").write_text("{}")
    (tmp_path / "run.notes.json").symlink_to(tmp_path / "target.json")
    Notes(tmp_path / "run.notes.json").set("pinned", ["a"])
    assert (tmp_path / "target.json").read_text() == "{}"
    assert Notes(tmp_path / "run.notes.json").get("pinned") == ["a"]


def test_wrong_values_and_unknown_keys_are_refused(tmp_path: Path) -> None:
    mine = Notes(tmp_path / "run.notes.json")
    with pytest.raises(KeyError):
        mine.get("nothing")
    with pytest.raises(KeyError):
        mine.set("nothing", [])
    for key, value in {"marks": [{"text": "no time"}], "pinned": "a", "hidden": [1], "order": {"a": "b"}}.items():
        with pytest.raises(ValueError, match=key):
            mine.set(key, value)
    assert not os.listdir(tmp_path)


def test_notes_that_cannot_be_written_last_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    mine = Notes(tmp_path / "file" / "run.notes.json")
    told: list[str] = []
    mine.failed.connect(told.append)
    mine.set("pinned", ["a"])
    assert mine.get("pinned") == ["a"]
    assert len(told) == 1
    assert str(tmp_path / "file") in told[0]


def test_notes_do_not_grow_without_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "MAX_FILE_BYTES", 500)
    mine = Notes(tmp_path / "run.notes.json")
    told: list[str] = []
    mine.failed.connect(told.append)
    mine.set("pinned", ["a"])
    mine.set("hidden", ["b" * 600])
    assert len(told) == 1
    assert Notes(mine.path).get("pinned") == ["a"]


def test_session_has_the_notes_before_it_tells_of_the_profile(profile: Path) -> None:
    session = Session(Notes.of)
    paths: list[Path | None] = []
    session.profile_changed.connect(lambda _: paths.append(session.notes.path))
    session.open(Profile.open(profile), ["run"])
    assert session.targets == ("run",)
    session.close()
    assert paths == [profile.with_name("run.notes.json"), None]
    assert not session.targets


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*NOTES, "begin_ns", "x"]), inner),
    max_leaves=12,
)


@given(document=_json)
def test_whatever_a_file_holds_is_read_to_sound_values(
    document: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("notes") / "run.notes.json"
    path.write_text(json.dumps(document))
    try:
        mine = Notes(path)
    except ProfileError:
        pytest.fail("notes must never keep a profile from opening")
    for key, note in NOTES.items():
        assert note.sound(mine.get(key)) == mine.get(key)
    mine.set("pinned", ["only this"])
    assert Notes(path).get("pinned") == ["only this"]
    assert Notes(path).notice == ""


def test_a_change_to_a_part_begins_with_what_another_window_left(tmp_path: Path) -> None:
    path = tmp_path / "run.notes.json"
    one, two = Notes(path), Notes(path)
    one.set("pinned", ["a"])
    heard: list[str] = []
    two.changed.connect(heard.append)
    two.set("pinned", [*two.fresh("pinned"), "b"])
    assert json.loads(path.read_bytes()) == {"pinned": ["a", "b"]}
    assert heard == ["pinned", "pinned"]


def test_lent_values_show_until_they_are_set_and_are_not_written(tmp_path: Path) -> None:
    path = tmp_path / "run.notes.json"
    mine = Notes(path)
    mine.set("pinned", ["mine"])
    heard: list[str] = []
    mine.changed.connect(heard.append)
    mine.lend({"pinned": ["theirs"], "hidden": []})
    assert (mine.get("pinned"), heard) == (["theirs"], ["pinned"])
    mine.set("hidden", ["a"])
    assert json.loads(path.read_bytes()) == {"hidden": ["a"], "pinned": ["mine"]}
    mine.set("pinned", ["theirs", "more"])
    assert json.loads(path.read_bytes())["pinned"] == ["theirs", "more"]
    with pytest.raises(ValueError, match="pinned"):
        mine.lend({"pinned": "a"})
