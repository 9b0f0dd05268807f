"""What guards have read, from one program to the next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof_desktop.sources import checked
from smprof_desktop.sources.checked import CheckedFiles

GOOD = b'{"file": "a-1", "read": {"start_ns": "5"}}\n'


def test_what_was_read_is_known_to_the_next_program(tmp_path: Path) -> None:
    first = CheckedFiles(tmp_path / "cache" / "c")
    assert first.recall("a-1") is None
    first.remember("a-1", {"start_ns": 5})
    first.remember("a-1", {"start_ns": 2, "id": 0})
    first.remember("b-1", {})
    assert CheckedFiles(first.path).recall("a-1") is None
    first.save()
    second = CheckedFiles(first.path)
    assert second.recall("a-1") == {"start_ns": 7, "id": 0} and second.recall("b-1") == {}
    assert [path.name for path in first.path.parent.iterdir()] == ["c"]


def test_it_lies_among_the_caches(own_home: Path) -> None:
    CheckedFiles().remember("a-1", {"id": 1})
    kept = CheckedFiles()
    kept.remember("a-1", {"id": 1})
    kept.save()
    assert kept.path.is_file() and own_home in kept.path.parents and kept.path.parent.name == "smprof-desktop"


def test_programs_add_to_one_memory(tmp_path: Path) -> None:
    one, two = CheckedFiles(tmp_path / "c"), CheckedFiles(tmp_path / "c")
    one.remember("a-1", {"id": 1})
    two.remember("a-1", {"id": 2})
    two.remember("b-1", {"id": 4})
    one.save()
    two.save()
    one.remember("c-1", {"id": 8})
    one.save()
    known = CheckedFiles(tmp_path / "c")
    assert [known.recall(key) for key in ("a-1", "b-1", "c-1")] == [{"id": 3}, {"id": 4}, {"id": 8}]


def test_the_least_recently_opened_go_first(tmp_path: Path) -> None:
    memory = CheckedFiles(tmp_path / "c", most_files=3)
    for key in ("a", "b", "c"):
        memory.remember(key, {"id": 1})
        memory.save()
    later = CheckedFiles(tmp_path / "c", most_files=3)
    assert later.recall("a") is not None
    later.remember("d", {"id": 1})
    later.save()
    assert [json.loads(line)["file"] for line in later.path.read_text().splitlines()] == ["c", "a", "d"]


def test_it_stays_bounded_while_a_program_runs(tmp_path: Path) -> None:
    memory = CheckedFiles(tmp_path / "c", most_files=10)
    for number in range(100):
        memory.remember(f"f-{number}", {"id": 1})
        assert memory._files is not None and len(memory._files) <= 20
        assert len(memory._used) <= 20
    memory.save()
    assert [json.loads(line)["file"] for line in memory.path.read_text().splitlines()][-1] == "f-99"
    assert len(memory.path.read_text().splitlines()) == 10


def test_it_is_written_no_longer_than_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked, "MAX_BYTES", 1000)
    memory = CheckedFiles(tmp_path / "c")
    for number in range(20):
        memory.remember(f"f-{number}", {"id": 1 << 400})
    memory.save()
    assert 500 < memory.path.stat().st_size <= 1000
    kept = CheckedFiles(tmp_path / "c")
    assert kept.recall("f-19") == {"id": 1 << 400} and kept.recall("f-0") is None


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        GOOD + b"no JSON\n",
        GOOD + b"[1, 2]\n",
        GOOD + b'"file"\n',
        GOOD + b'{"file": 3, "read": {}}\n',
        GOOD + b'{"file": "b", "read": ["start_ns"]}\n',
        GOOD + b'{"file": "b", "read": {"start_ns": 5}}\n',
        GOOD + b'{"file": "b", "read": {"start_ns": "-5"}}\n',
        GOOD + b'{"file": "b", "read": {"../x": "5"}}\n',
        GOOD + b'{"file": "b/c", "read": {}}\n',
        GOOD + b'{"file": "b", "read": {"start_ns": "' + b"f" * 2000 + b'"}}\n',
        GOOD + b"[" * 100_000 + b"\n",
        GOOD + b"\xff\xfe\n",
        GOOD + b" " * (checked.MAX_BYTES + 1),
    ],
    ids=range(14),
)
def test_a_damaged_memory_is_an_empty_one(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "c"
    path.write_bytes(GOOD)
    assert CheckedFiles(path).recall("a-1") == {"start_ns": 5}
    path.write_bytes(content)
    memory = CheckedFiles(path)
    assert memory.recall("a-1") is None
    memory.remember("b-1", {"id": 1})
    memory.save()
    assert CheckedFiles(path).recall("b-1") == {"id": 1}


@given(content=st.binary(max_size=200))
def test_no_content_harms(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any content"
    path.write_bytes(GOOD + content)
    assert CheckedFiles(path).recall("a-1") in (None, {"start_ns": 5})


def test_one_that_cannot_be_written_serves_while_the_program_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    memory = CheckedFiles(tmp_path / "file" / "c")
    memory.remember("a-1", {"id": 1})
    memory.save()
    assert memory.recall("a-1") == {"id": 1}
