"""Profiles written, read, merged, damaged and upgraded."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import duckdb
import format_sample
import format_tables
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smprof.profile import storage
from smprof.profile.manifest import Clock, Host, Manifest, Process, ProfileError
from smprof.profile.merge import merge_process
from smprof.profile.reader import Profile
from smprof.profile.schema import LOST_NAME, NONE, TABLES
from smprof.profile.upgrade import Step, upgrade_document, upgrade_table
from smprof.profile.writer import SEGMENT_SECONDS, ProfileWriter

SAMPLES = Path(__file__).parent / "samples"


def write(folder: Path, merge: bool = True, segment_rows: int | None = 250_000, rows: int = 1_000) -> Path:
    """One process with `rows` kernels and as many launches."""
    writer = ProfileWriter(folder, Manifest(name="test", hosts=[Host("algo-1")]), segment_rows)
    process = writer.process(Process("algo-1", "0", rank=0))
    for begin in range(0, rows, 100):
        at = np.arange(begin, begin + 100, dtype=np.int64)
        names = process.name_ids([f"kernel {i % 13} of {begin // 500}" for i in at.tolist()])
        shapes = [process.shape_id(name, (i % 5, 1, 1)) for i, name in zip(at.tolist(), names.tolist(), strict=True)]
        process.append(
            "device",
            {
                "kind": np.zeros(100, np.int8),
                "device": np.zeros(100, np.int32),
                "stream": 7 + at % 2,
                "start_ns": 50 + 100 * at[::-1],
                "duration_ns": 40 + at % 150,
                "shape_id": shapes,
                "correlation": at[::-1] + 1,
            },
        )
        calls = {"kind": ["api"] * 100, "thread": np.full(100, 3), "start_ns": 100 * at, "duration_ns": np.full(100, 9)}
        ids = process.append("host", {**calls, "name_id": process.name_ids(["launch"] * 100), "correlation": at + 1})
        process.append("args", {"table": ["host"], "key": ["x"], "id": ids[3:4], "integer": at[:1]})
    writer.finish(merge)
    return folder


def everything(profile: Profile) -> dict[str, dict[str, list[Any]]]:
    """All tables as lists, a gap as None."""
    process = profile.processes[0]
    found: dict[str, dict[str, list[Any]]] = {}
    for table, columns in TABLES.items():
        opened = process.table(table)
        found[table] = {
            column.name: [None if value != value else value for value in values.tolist()]
            if isinstance(values := opened._get(column.name), np.ndarray)
            else values.to_pylist()
            for column in columns
        }
    return found


@pytest.fixture
def merged(tmp_path: Path) -> Path:
    return write(tmp_path / "merged")


@pytest.fixture
def segments(tmp_path: Path) -> Path:
    return write(tmp_path / "segments", merge=False, segment_rows=300)


def test_unmerged_segments_read_as_the_merged_profile(merged: Path, segments: Path) -> None:
    assert len(list(segments.rglob("device-*.parquet"))) > 2
    assert everything(Profile.open(segments)) == everything(Profile.open(merged))
    merge_process(segments / "algo-1" / "0")
    assert len(list(segments.rglob("device-*.parquet"))) == 1
    opened = Profile.open(segments)
    assert everything(opened) == everything(Profile.open(merged))
    assert opened.losses == []


def test_a_merge_that_was_cut_off_before_the_journal_counts_nothing_twice(segments: Path, tmp_path: Path) -> None:
    expected = everything(Profile.open(segments))
    folder = segments / "algo-1" / "0"
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    merge_process(folder)
    for name in ("device", "host"):
        path = next(folder.glob(f"{name}-*.parquet"))
        shutil.copy(path, copy / path.name)
    shutil.rmtree(folder)
    shutil.move(copy, folder)
    opened = Profile.open(segments)
    assert everything(opened) == expected


def test_a_merge_that_was_cut_off_before_the_clean_up_counts_nothing_twice(segments: Path) -> None:
    expected = everything(Profile.open(segments))
    folder = segments / "algo-1" / "0"
    kept = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
    merge_process(folder)
    for name, content in kept.items():
        (folder / name).write_bytes(content)
    opened = Profile.open(segments)
    assert everything(opened) == expected
    assert opened.losses == []


def test_parts_of_columns_are_read_by_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage.encode, "__defaults__", (64,))
    folder = write(tmp_path / "p")
    whole = Profile.open(folder).processes[0].table("device")
    rng = np.random.default_rng(3)
    for name in ("start_ns", "stream", "bytes", "kind", "id", "shape_id"):
        values = whole[name]
        for _ in range(40):
            begin, end = sorted(rng.integers(0, 1_001, 2).tolist())
            few = rng.integers(begin, max(end, begin + 1), 3) % 1_000
            table = Profile.open(folder).processes[0].table("device")
            assert table.part(name, begin, end).tolist() == values[begin:end].tolist()
            assert table.at(name, few).tolist() == values[few].tolist()
    table = Profile.open(folder).processes[0].table("device")
    table.part("start_ns", 70, 100)
    table.at("start_ns", np.array([5, 999]))
    assert sorted(table._pieces) == [("start_ns", 0), ("start_ns", 1), ("start_ns", 15)]
    assert table._columns == {}


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one"), write(tmp_path / "two")
    files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(two) for path in two.rglob("*") if path.is_file())
    assert all((one / name).read_bytes() == (two / name).read_bytes() for name in files)


def test_a_recorder_closes_segments_by_age_and_nothing_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(0, 10**6, 4))
    monkeypatch.setattr("smprof.profile.writer.time.monotonic", lambda: float(next(now)))
    row = {"name_id": [0], "time_ns": [1], "value": [1.0]}
    found = {}
    for seconds in (None, SEGMENT_SECONDS):
        writer = ProfileWriter(tmp_path / str(seconds), Manifest(), segment_seconds=seconds)
        process = writer.process(Process("h", "0"))
        process.name_id("counter")
        for _ in range(9):
            process.append("counter", row)
        found[seconds] = sorted(path.name for path in process.folder.glob("counter-*"))
        writer.finish()
        assert len(Profile.open(tmp_path / str(seconds)).processes[0].table("counter")) == 9
    assert found == {None: [], SEGMENT_SECONDS: ["counter-000001.parquet", "counter-000002.parquet"]}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.one_of(st.text(), st.binary(), st.text(st.characters(categories=["Cs"]))), max_size=20))
def test_names_survive_byte_for_byte(tmp_path_factory: pytest.TempPathFactory, names: list[str | bytes]) -> None:
    folder = tmp_path_factory.mktemp("names") / "p"
    writer = ProfileWriter(folder, Manifest(hosts=[Host("h")]))
    process = writer.process(Process("h", "0"))
    ids = process.name_ids(names).tolist()
    writer.finish()
    opened = Profile.open(folder).processes[0].names
    for name, name_id in zip(names, ids, strict=True):
        assert opened.raw(name_id) == (name if isinstance(name, bytes) else name.encode("utf-8", "surrogatepass"))


def test_a_name_of_a_million_characters_survives(tmp_path: Path) -> None:
    name = "void cutlass::Kernel<" + "🙂<int>, " * 125_000 + ">"
    writer = ProfileWriter(tmp_path / "p", Manifest(hosts=[Host("h")]))
    name_id = writer.process(Process("h", "0")).name_id(name)
    writer.finish()
    assert Profile.open(tmp_path / "p").processes[0].names.text(name_id) == name


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0x40
    path.write_bytes(content)


def damaged_segment(folder: Path) -> None:
    flip(folder / "device-000002.parquet", 200)


def cut_segment(folder: Path) -> None:
    path = folder / "device-000002.parquet"
    path.write_bytes(path.read_bytes()[:-500])


def missing_segment(folder: Path) -> None:
    (folder / "device-000002.parquet").unlink()


def foreign_segment(folder: Path) -> None:
    shutil.copy(folder / "host-000001.parquet", folder / "device-000002.parquet")


@pytest.mark.parametrize("damage", [damaged_segment, cut_segment, missing_segment, foreign_segment])
def test_damage_to_one_segment_costs_that_segment_and_is_counted(
    segments: Path, damage: Callable[[Path], None]
) -> None:
    folder = segments / "algo-1" / "0"
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    lost = next(line["rows"] for line in lines if line["file"] == "device-000002.parquet")
    damage(folder)
    opened = Profile.open(segments)
    assert len(opened.processes[0].table("device")) == 1_000 - lost
    assert len(opened.processes[0].table("host")) == 1_000
    [loss] = opened.losses
    assert loss.kind in ("damaged_segment", "missing_segment")
    assert loss.count == lost
    assert "device-000002.parquet" in loss.detail


def test_a_damaged_merged_file_costs_its_row_group_only(merged: Path) -> None:
    flip(next(merged.rglob("host-*.parquet")), 300)
    opened = Profile.open(merged)
    assert len(opened.processes[0].table("device")) == 1_000
    assert len(opened.processes[0].table("host")) == 0
    assert [(loss.kind, loss.count) for loss in opened.losses] == [("damaged_segment", 1_000)]
    assert set(opened.processes[0].table("device")["launch"].tolist()) == {NONE}


def test_lost_names_are_said_to_be_lost(segments: Path) -> None:
    (segments / "algo-1" / "0" / "names-000002.parquet").unlink()
    opened = Profile.open(segments)
    names = opened.processes[0].names
    texts = {names.text(int(i)) for i in opened.processes[0].table("shapes")["name_id"]}
    assert LOST_NAME in texts
    assert "kernel 3 of 0" in texts
    assert any(loss.kind == "missing_segment" for loss in opened.losses)


def test_a_segment_without_a_journal_line_is_read_and_flagged(segments: Path) -> None:
    journal = segments / "algo-1" / "0" / "journal.jsonl"
    kept = [line for line in journal.read_text().splitlines() if "host-000002" not in line]
    journal.write_text("\n".join([*kept, '{"file": "host-0000']))
    opened = Profile.open(segments)
    assert len(opened.processes[0].table("host")) == 1_000
    assert {loss.kind for loss in opened.losses} == {"unjournaled_segment", "damaged_journal"}


def test_a_missing_ladder_is_made_anew(merged: Path) -> None:
    expected = everything(Profile.open(merged))
    next(merged.rglob("ladder-*.parquet")).unlink()
    opened = Profile.open(merged)
    assert everything(opened) == expected
    assert [loss.kind for loss in opened.losses] == ["missing_segment"]


def test_damaged_files_are_not_merged(segments: Path) -> None:
    damaged_segment(segments / "algo-1" / "0")
    with pytest.raises(ProfileError, match=r"device-000002\.parquet"):
        merge_process(segments / "algo-1" / "0")
    assert len(list(segments.rglob("host-*.parquet"))) > 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "holds no profile"),
        ("{", "is not JSON"),
        ("[]", "states no format version"),
        ('{"version": 99}', "update SMProf Desktop"),
        ('{"version": 1, "processes": {}}', "is not a list"),
        ('{"version": 1, "processes": [{"host": "a", "process": "0", "folder": "../x"}]}', "is not allowed"),
        ('{"version": 1, "processes": [{"host": "a", "process": "0", "folder": "/etc"}]}', "is not allowed"),
        ('{"version": 1, "processes": [{"host": "a", "process": "0", "folder": "a/./0"}]}', "is not allowed"),
        ('{"version": 1, "processes": [{"host": 5, "process": "0", "folder": "a"}]}', "wrong type"),
        ('{"version": 1, "losses": [{"kind": "made up", "count": 1}]}', "no such kind of loss"),
        ('{"version": 1, "x": ' + "[" * 100_000 + "}", "is not JSON"),
    ],
)
def test_a_manifest_that_cannot_be_read_says_so_in_one_sentence(
    tmp_path: Path, content: str | None, sentence: str
) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(ProfileError, match=sentence) as caught:
        Profile.open(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_profile_is_not_written_over_another(merged: Path) -> None:
    with pytest.raises(ProfileError, match="is not empty"):
        ProfileWriter(merged, Manifest())


@pytest.mark.parametrize(
    ("table", "columns", "message"),
    [
        ("host", {"kind": ["api"], "start_ns": [1], "duration_ns": [1], "name_id": [0]}, "needs the column thread"),
        (
            "host",
            {"kind": ["nothing"], "thread": [1], "start_ns": [1], "duration_ns": [1], "name_id": [0]},
            "does not take",
        ),
        ("counter", {"time_ns": [1, 2], "name_id": [0]}, "has 1 values, not 2"),
        ("counter", {"time_ns": [1.5], "name_id": [0]}, "takes integers"),
        ("counter", {"when": [1]}, "takes no column"),
    ],
)
def test_the_writer_refuses_what_the_schema_does_not_hold(
    tmp_path: Path, table: str, columns: dict[str, Any], message: str
) -> None:
    process = ProfileWriter(tmp_path / "p", Manifest()).process(Process("h", "0"))
    with pytest.raises(ValueError, match=message):
        process.append(table, columns)


def test_hosts_and_processes_of_any_name_get_folders_of_their_own(tmp_path: Path) -> None:
    writer = ProfileWriter(tmp_path / "p", Manifest())
    names = [
        ("../..", "/"),
        ("..\\..", "con"),
        ("ALGO", "0"),
        ("algo", "0"),
        ("é" * 300, "x" * 300),
        ("", ""),
        ("CON", "aux"),
    ]
    folders = [writer.process(Process(host, name)).info.folder for host, name in names]
    assert len({folder.lower() for folder in folders}) == len(names)
    assert folders[-1] == "CON-/aux-"
    writer.finish()
    assert [p.info.host for p in Profile.open(tmp_path / "p").processes] == [host for host, _ in names]
    assert all(path.resolve().is_relative_to(tmp_path.resolve()) for path in tmp_path.rglob("*"))


def with_clock(folder: Path, clock: Clock, **process: Any) -> Path:
    document = json.loads((folder / "manifest.json").read_text())
    document["clock"] = asdict(clock)
    document["processes"][0].update(process)
    (folder / "manifest.json").write_text(json.dumps(document))
    return folder


def test_two_profiles_become_one(merged: Path, segments: Path) -> None:
    for folder in (merged, segments):
        with_clock(folder, Clock("unix"))
    both = Profile.combine([Profile.open(merged), Profile.open(segments)])
    assert [(p.info.host, p.info.process) for p in both.processes] == [("algo-1", "0"), ("algo-1", "0-2")]
    assert [(loss.kind, loss.count) for loss in both.losses] == [("duplicate_process", 1)]
    assert (both.begin_ns, both.end_ns) == (0, Profile.open(merged).end_ns)


@pytest.mark.parametrize("merge", [True, False])
def test_profiles_of_different_clocks_are_aligned(tmp_path: Path, merge: bool) -> None:
    one = with_clock(write(tmp_path / "one", merge), Clock("relative", 1_000_000))
    two = with_clock(write(tmp_path / "two", merge), Clock("unix"), windows_ns=[[0, 9]], process="1")
    alone, both = Profile.open(two), Profile.combine([Profile.open(one), Profile.open(two)])
    moved, still = both.processes[1], alone.processes[0]
    assert both.processes[0].table("device")["start_ns"].min() == 50
    for table, column in (("device", "start_ns"), ("host", "start_ns"), ("lane_rows", "begin_ns")):
        assert (moved.table(table)[column] == still.table(table)[column] - 1_000_000).all()
    assert (moved.table("device").part("start_ns", 5, 7) == still.table("device")["start_ns"][5:7] - 1_000_000).all()
    assert moved.info.windows_ns == [[-1_000_000, -999_991]]
    assert both.begin_ns == alone.begin_ns - 1_000_000
    ladder, lanes = moved.table("ladder"), moved.table("lane_rows")
    assert len(ladder) == len(still.table("ladder")) or len(ladder) > 0
    row = int(ladder["lane_row"][0])
    step = ladder["level"] == ladder["level"][0]
    assert int(ladder["busy_ns"][step & (ladder["lane_row"] == row)].sum()) == int(lanes["busy_ns"][row])


def test_a_clock_that_is_not_known_is_not_mixed_with_one_that_is(merged: Path, segments: Path) -> None:
    with_clock(merged, Clock("unix"))
    with pytest.raises(ProfileError, match="does not say from which moment"):
        Profile.combine([Profile.open(merged), Profile.open(segments)])
    with_clock(merged, Clock("relative"))
    both = Profile.combine([Profile.open(merged), Profile.open(segments)])
    assert {(loss.kind, loss.count) for loss in both.losses} == {("unaligned_clock", 2), ("duplicate_process", 1)}


def test_a_gpu_seen_again_in_another_profile_is_one_of_the_next_host(merged: Path, segments: Path) -> None:
    device = [{"index": 0, "used": True}]
    with_clock(merged, Clock("unix"), devices=device)
    with_clock(segments, Clock("unix"), devices=device, process="1")
    both = Profile.combine([Profile.open(merged), Profile.open(segments)])
    assert [(p.info.host, p.info.process) for p in both.processes] == [("algo-1", "0"), ("algo-2", "1")]
    assert [host.name for host in both.manifest.hosts] == ["algo-1", "algo-2"]


def test_reading_keeps_no_file_open(merged: Path) -> None:
    opened = Profile.open(merged)
    before = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    for table, columns in TABLES.items():
        for column in columns:
            opened.processes[0].table(table)._get(column.name)
    assert (len(list(Path("/proc/self/fd").iterdir())) if before else 0) <= before


def rewrite(folder: Path, table: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Write a merged table anew, with a journal line that fits."""
    place = folder / "algo-1" / "0"
    opened = Profile.open(folder).processes[0].table(table)
    columns = {column.name: opened._get(column.name) for column in TABLES[table]}
    columns = {name: values.copy() if isinstance(values, np.ndarray) else values for name, values in columns.items()}
    change(columns)
    journal = place / "journal.jsonl"
    lines = [storage.parse_journal_line(text) for text in journal.read_text().splitlines()]
    name = next(line.file for line in lines if line is not None and line.table == table)
    fresh = storage.write_table(place, name, columns)
    storage.replace_journal(
        place, [fresh if line is not None and line.table == table else line for line in lines if line]
    )


def test_links_and_durations_that_cannot_be_true_are_harmless_and_counted(merged: Path) -> None:
    def spoil(columns: dict[str, Any]) -> None:
        columns["launch"][:3] = 10**9
        columns["duration_ns"][5] = -7
        columns["shape_id"][9] = 10**6

    rewrite(merged, "device", spoil)
    opened = Profile.open(merged)
    device = opened.processes[0].table("device")
    assert device["launch"][:3].tolist() == [NONE] * 3
    assert int(device["duration_ns"][5]) == 0
    assert int(device["shape_id"][9]) == NONE
    expected = {("damaged_segment", 3), ("damaged_segment", 1), ("missing_names", 1)}
    assert {(loss.kind, loss.count) for loss in opened.losses} == expected
    opened.processes[0].forget()
    assert int(device["duration_ns"][5]) == 0
    assert len(opened.losses) == 3


def test_slices_out_of_order_are_refused(merged: Path) -> None:
    def swap(columns: dict[str, Any]) -> None:
        columns["start_ns"][[10, 11]] = columns["start_ns"][[11, 10]]

    rewrite(merged, "host", swap)
    with pytest.raises(ProfileError, match="not in the order"):
        Profile.open(merged).processes[0].table("host")["start_ns"]


def test_a_shortage_of_files_is_not_taken_for_damage(merged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: Any, **__: Any) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("smprof.profile.reader.open_parquet", none_left)
    with pytest.raises(ProfileError, match="Too many open files; close other programs"):
        Profile.open(merged).processes[0].table("host")


def test_the_sample_of_version_1_opens(tmp_path: Path) -> None:
    format_sample.write_sample(tmp_path / "now")
    then, now = Profile.open(SAMPLES / "v1"), Profile.open(tmp_path / "now")
    assert everything(then) == everything(now)
    assert then.manifest == now.manifest
    process = then.processes[0]
    assert process.names.raw(4) == b"caf\xff"
    assert process.names.raw(5) == b"lone \xed\xa0\x80"
    op = int(process.table("host")["op"][0])
    assert process.args_of("host", op) == {"Input Dims": [[2, 3], []], "Ev Idx": 7}


def test_an_upgrade_runs_every_step_once() -> None:
    def rename(name: str, table: pa.Table) -> pa.Table:
        return table.rename_columns({"start": "start_ns"}) if name == "device" else table

    steps = {
        1: Step(lambda document: {**document, "seen": [*document.get("seen", []), 1]}, rename),
        2: Step(lambda document: {**document, "seen": [*document.get("seen", []), 2]}, lambda name, table: table),
    }
    assert upgrade_document({"version": 1}, steps, 3) == {"version": 3, "seen": [1, 2]}
    assert upgrade_document({"version": 2}, steps, 3) == {"version": 3, "seen": [2]}
    assert upgrade_table("device", pa.table({"start": [1]}), 1, steps, 3).column_names == ["start_ns"]


def test_the_format_page_says_what_the_schema_says() -> None:
    text = format_tables.FORMAT.read_text(encoding="utf-8")
    assert format_tables.filled(text) == text


def test_a_stranger_reads_a_profile_with_duckdb_alone() -> None:
    """Only what FORMAT.md says: file names, columns, joins."""
    folder = SAMPLES / "v1"
    manifest = json.loads((folder / "manifest.json").read_text())
    place = folder / manifest["processes"][0]["folder"]
    database = duckdb.connect()
    for table in TABLES:
        database.execute(f"CREATE VIEW {table} AS SELECT * FROM '{place.as_posix()}/{table}-*.parquet'")
    kernels = database.execute(
        """SELECT n.name, count(*), sum(d.duration_ns) FROM device d JOIN shapes s ON s.id = d.shape_id
           JOIN names n ON n.id = s.name_id WHERE d.kind = 'kernel' GROUP BY n.name ORDER BY 3 DESC, 1"""
    ).fetchall()
    assert [(name[:20], count, total) for name, count, total in kernels] == [
        ("tick", 300, 1350),
        ("gemm", 1, 50),
        ("void cutlass::Kernel", 1, 40),
        ("caf\N{REPLACEMENT CHARACTER}", 1, 5),
    ]
    latencies = database.execute(
        "SELECT d.start_ns - h.start_ns FROM device d JOIN host h ON h.id = d.launch ORDER BY 1"
    ).fetchall()
    assert latencies == [(80,), (83,), (370,)]
    assert database.execute("SELECT raw FROM names WHERE raw IS NOT NULL ORDER BY id").fetchall() == [
        (b"caf\xff",),
        (b"lone \xed\xa0\x80",),
    ]
    assert database.execute("SELECT value FROM counter ORDER BY time_ns").fetchall() == [(1024.0,), (None,), (2048.5,)]
    operators = """SELECT call.start_ns, n.name FROM host call JOIN host op ON op.id = call.op
                   JOIN names n ON n.id = op.name_id ORDER BY 1"""
    assert database.execute(operators).fetchall() == [(20, "aten::mm"), (30, "aten::mm")]
    assert database.execute("SELECT DISTINCT kind FROM host ORDER BY 1").fetchall() == [
        (kind,) for kind in ("api", "op", "other", "overhead", "python", "sync")
    ]
    assert database.execute(
        "SELECT lane_rows.kind, row, end_row - begin_row FROM lane_rows WHERE \"table\" = 'device' ORDER BY id"
    ).fetchall() == [
        *(("kernel", 0, 1), ("mixed", 0, 2), ("kernel", 1, 1), ("memset", 0, 1), ("kernel", 0, 300)),
        ("union", None, 5),
    ]
    assert database.execute("SELECT device, stream, busy_ns FROM lane_rows WHERE kind = 'union'").fetchall() == [
        (0, None, 80)
    ]
    assert database.execute("SELECT level, sum(busy_ns), sum(slices) FROM ladder GROUP BY level").fetchall() == [
        (8, 1350, 300)
    ]


def test_journal_lines_that_name_other_files_are_damaged() -> None:
    good = storage.JournalLine("device-000001.parquet", "device", 5, 100, 7, ((90, 1), (10, 2)))
    assert storage.parse_journal_line(good.text()) == good
    for text in (
        "",
        "[]",
        "{}",
        good.text().replace("device-0", "../device-0"),
        good.text().replace("100", "-1"),
        good.text().replace("[90, 1]", "[90]"),
    ):
        assert storage.parse_journal_line(text) is None
