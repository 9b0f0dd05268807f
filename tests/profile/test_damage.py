"""Whatever happens to a profile's files: the damaged part alone is lost and counted, and nothing is silently wrong."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smprof.profile import storage
from smprof.profile.manifest import Host, Manifest, Process, ProfileError
from smprof.profile.reader import Profile
from smprof.profile.schema import LOST_NAME
from smprof.profile.writer import ProfileWriter

STEP_BYTES = 4096
ROWS = 6_000


def write(folder: Path, merge: bool, seed: int) -> Path:
    """One process with random kernels, calls, annotations and counters, in files of several pages and row groups."""
    rng = np.random.default_rng(seed)
    writer = ProfileWriter(folder, Manifest(name="test", hosts=[Host("algo-1")]), segment_rows=2_500)
    process = writer.process(Process("algo-1", "0", rank=0))
    for _ in range(6):
        count = ROWS // 6
        start = rng.integers(0, 10**9, count)
        names = process.name_ids([f"kernel {i} {'x' * int(i % 97)}" for i in rng.integers(0, 400, count)])
        shapes = [process.shape_id(int(name), (int(name) % 7, 1, 1)) for name in names]
        process.append(
            "device",
            {
                "kind": np.zeros(count, np.int8),
                "device": np.zeros(count, np.int32),
                "stream": rng.integers(6, 9, count),
                "start_ns": start,
                "duration_ns": rng.integers(0, 10**5, count),
                "shape_id": shapes,
                "correlation": rng.integers(1, 10**6, count),
            },
        )
        calls = {"kind": ["api"] * count, "thread": rng.integers(1, 4, count), "start_ns": start, "name_id": names}
        ids = process.append("host", {**calls, "duration_ns": rng.integers(0, 10**5, count)})
        process.append("args", {"table": ["host"] * 9, "key": ["k"] * 9, "id": ids[:9], "integer": start[:9]})
        process.append("counter", {"name_id": names[:50], "time_ns": start[:50], "value": rng.random(50)})
    writer.finish(merge)
    return folder


def rows_of(profile: Profile) -> dict[str, Counter[tuple[Any, ...]]]:
    """Every row of the recorded tables as what it means; names that are lost read as None."""
    process = profile.processes[0]
    text = process.names.text
    shapes = process.table("shapes")["name_id"].tolist()

    def named(name_id: int) -> str | None:
        name = text(name_id)
        return None if name == LOST_NAME else name

    device, host, counter = process.table("device"), process.table("host"), process.table("counter")
    found = {
        "device": zip(
            *(device[c].tolist() for c in ("stream", "start_ns", "duration_ns", "correlation")),
            [named(shapes[s]) if 0 <= s < len(shapes) else None for s in device["shape_id"].tolist()],
            strict=True,
        ),
        "host": zip(
            *(host[c].tolist() for c in ("thread", "start_ns", "duration_ns")),
            [named(n) for n in host["name_id"].tolist()],
            strict=True,
        ),
        "counter": zip(
            *(counter[c].tolist() for c in ("time_ns", "value")),
            [named(n) for n in counter["name_id"].tolist()],
            strict=True,
        ),
    }
    return {table: Counter(rows) for table, rows in found.items()}


def hold(folder: Path, whole: dict[str, Counter[tuple[Any, ...]]]) -> None:
    """Open a damaged profile and compare it with what it was."""
    try:
        opened = Profile.open(folder)
        got = rows_of(opened)
    except ProfileError as error:
        if "\n" in str(error):
            pytest.fail(f"not one sentence: {error}")
        return
    lost = 0
    for table, rows in whole.items():
        nameless = Counter({(*row[:-1], None): 0 for row in rows})
        for row, count in rows.items():
            nameless[(*row[:-1], None)] += count
        for row, count in got[table].items():
            if row[-1] is not None:
                assert rows[row] >= count, f"a row that was never recorded: {row}"
            else:
                assert nameless[row] >= 1, f"a row that was never recorded: {row}"
        assert got[table].total() <= rows.total()
        lost += rows.total() - got[table].total()
    losses = opened.losses
    counted = sum(loss.count for loss in losses if loss.kind in ("damaged_segment", "missing_segment"))
    assert counted >= lost
    if got != whole:
        assert losses


@pytest.fixture(scope="module", params=[True, False], ids=["merged", "segments"])
def original(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("original") / "p", request.param, seed=1)


@pytest.fixture
def damaged(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "p"))


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def is_merged(folder: Path) -> bool:
    named = [storage.parse_file_name(path.name) for path in files_of(folder)]
    return any(name is not None and name.merged for name in named)


def each_damage(path: Path, harm: Callable[[bytes, int], bytes], positions: list[int]) -> Iterator[None]:
    content = path.read_bytes()
    for position in positions:
        path.write_bytes(harm(content, position))
        yield
    path.write_bytes(content)


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :]


def test_cut_at_every_step(original: Path, damaged: Path) -> None:
    whole = rows_of(Profile.open(original))
    for path in files_of(damaged):
        cuts = list(range(0, path.stat().st_size, STEP_BYTES))
        for _ in each_damage(path, lambda content, at: content[:at], cuts):
            hold(damaged, whole)


def test_a_byte_flipped_in_every_step_and_in_every_footer(original: Path, damaged: Path) -> None:
    whole = rows_of(Profile.open(original))
    for path in files_of(damaged):
        size = path.stat().st_size
        places = sorted({*range(7, size, STEP_BYTES), *range(max(size - 200, 0), size, 40), size - 1, size - 6})
        for _ in each_damage(path, flipped, [place for place in places if 0 <= place < size]):
            hold(damaged, whole)


def test_every_file_missing(original: Path, damaged: Path) -> None:
    whole = rows_of(Profile.open(original))
    for path in files_of(damaged):
        content = path.read_bytes()
        path.unlink()
        hold(damaged, whole)
        path.write_bytes(content)


def test_every_file_swapped_or_from_another_profile(original: Path, damaged: Path, tmp_path: Path) -> None:
    whole = rows_of(Profile.open(original))
    merged = is_merged(original)
    other = write(tmp_path / "other", merged, seed=2)
    files = [path for path in files_of(damaged) if path.suffix == ".parquet"]
    for index, path in enumerate(files):
        content = path.read_bytes()
        stranger = other / path.relative_to(damaged)
        for replacement in (files[index - 1], stranger):
            if replacement.is_file():
                path.write_bytes(replacement.read_bytes())
                hold(damaged, whole)
        path.write_bytes(content)
    hold(damaged, whole)


def test_a_journal_from_another_profile(original: Path, damaged: Path, tmp_path: Path) -> None:
    merged = is_merged(original)
    other = write(tmp_path / "other", merged, seed=2)
    whole = rows_of(Profile.open(original))
    shutil.copy(next(other.rglob("journal.jsonl")), next(damaged.rglob("journal.jsonl")))
    hold(damaged, whole)


def test_each_line_of_a_journal_damaged(original: Path, damaged: Path) -> None:
    """A file that no line names any more is read all the same, and flagged."""
    whole = rows_of(Profile.open(original))
    journal = next(damaged.rglob("journal.jsonl"))
    lines = journal.read_bytes().splitlines(keepends=True)
    for index, line in enumerate(lines):
        for broken in (b"{" + line, line.replace(b'"file": "', b'"file": "x'), b""):
            journal.write_bytes(b"".join([*lines[:index], broken, *lines[index + 1 :]]))
            hold(damaged, whole)
            opened = Profile.open(damaged)
            assert rows_of(opened) == whole
            assert "unjournaled_segment" in {loss.kind for loss in opened.losses}


def test_a_merged_file_waits_for_the_journal_while_its_segments_are_there(tmp_path: Path) -> None:
    """So it stands after a crash between writing the file and replacing the journal."""
    folder = write(tmp_path / "p", merge=False, seed=1)
    whole = rows_of(Profile.open(folder))
    merged = write(tmp_path / "merged", merge=True, seed=1)
    for path in merged.rglob("host-*.parquet"):
        shutil.copy(path, folder / path.relative_to(merged))
    opened = Profile.open(folder)
    assert rows_of(opened) == whole and opened.losses == []
