"""Exports that are cut, damaged or hostile: what can be read is shown, the rest counted, nothing crashes."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smprof.profile.manifest import ProfileError
from smprof.profile.reader import Profile
from smprof_desktop.importers import convert, nsight_process
from smprof_desktop.importers.nsight_database import Database
from tests.importers.test_nsight import KERNEL, RUNTIME, Tables, api, check, database, globally, kernel

ROWS = 400
TRACE: Tables = {
    KERNEL: [kernel(1000 * n + 500, 1000 * n + 900, n + 1) for n in range(ROWS)],
    RUNTIME: [api(1000 * n, 1000 * n + 100, n + 1) for n in range(ROWS)],
}


def imported(path: Path, out: Path) -> Profile:
    convert.import_file(path, out)
    return Profile.open(out)


def imported_or_refused(path: Path, out: Path) -> Profile | None:
    """The profile, or None where the file is refused, which has to be in one sentence."""
    said = ""
    try:
        return imported(path, out)
    except ProfileError as error:
        said = str(error)
    assert said.endswith(".")
    assert "\n" not in said
    return None


def losses(profile: Profile) -> Counter[str]:
    counts: Counter[str] = Counter()
    for loss in profile.losses:
        counts[loss.kind] += loss.count
    return counts


def times(profile: Profile, table: str) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    for process in profile.processes:
        columns = process.table(table)
        found |= set(zip(columns["start_ns"].tolist(), columns["duration_ns"].tolist(), strict=True))
    return found


def test_a_file_that_ends_early_gives_what_it_still_holds(traces: Path, tmp_path: Path) -> None:
    profile = imported(traces / "broken" / "truncated.sqlite", tmp_path / "out")
    whole = imported(traces / "nsys" / "nsysai_mfu_2gpu_before.sqlite", tmp_path / "whole")
    assert times(profile, "device") < times(whole, "device")
    assert len(times(profile, "device")) > 200
    assert losses(profile)["truncated_source"] > 0
    assert any(KERNEL in loss.detail for loss in profile.losses)


def test_cut_at_every_page(tmp_path: Path) -> None:
    """Nothing is made up: what is shown is part of the whole, and whatever is missing is counted."""
    data = database(tmp_path / "whole", TRACE).read_bytes()
    whole = imported(tmp_path / "whole", tmp_path / "whole.profile")
    shown = 0
    for size in range(0, len(data), 4096):
        path = tmp_path / f"cut-{size}"
        path.write_bytes(data[:size])
        profile = imported_or_refused(path, tmp_path / f"{size}.profile")
        if profile is None:
            continue
        for table in ("device", "host"):
            assert times(profile, table) <= times(whole, table)
        assert losses(profile)["truncated_source"] > 0
        shown += len(times(profile, "device")) + len(times(profile, "host"))
    assert shown > 0


def test_a_damaged_page_costs_its_rows_alone(tmp_path: Path) -> None:
    path = database(tmp_path / "trace", TRACE)
    data = bytearray(path.read_bytes())
    page = next(
        at for at in range(4096, len(data), 4096) if data[at] == 0x0D and at > len(data) // 3
    )  # a leaf of a table
    data[page : page + 8] = b"\xff" * 8
    path.write_bytes(bytes(data))
    profile = imported(path, tmp_path / "out")
    read = len(times(profile, "device")) + len(times(profile, "host"))
    lost = losses(profile)["truncated_source"]
    assert 0 < lost < 200
    assert read + lost == 2 * ROWS


def test_a_flipped_byte_in_every_page(tmp_path: Path) -> None:
    data = database(tmp_path / "whole", TRACE).read_bytes()
    generator = random.Random(5)
    for number, page in enumerate(range(0, len(data), 4096)):
        for place in (page + generator.randrange(12), page + generator.randrange(4096)):
            damaged = bytearray(data)
            damaged[place] ^= 1 << generator.randrange(8)
            path = tmp_path / f"{number}-{place}"
            path.write_bytes(bytes(damaged))
            imported_or_refused(path, tmp_path / f"{number}-{place}.profile")


def test_wrong_types_nulls_and_huge_numbers(tmp_path: Path) -> None:
    odd: list[dict[str, Any]] = [
        {"start": b"\xff\x00"}, {"start": "soon"}, {"start": None}, {"end": None}, {"end": 3.5},
        {"start": (1 << 63) - 1, "end": (1 << 63) - 1}, {"end": 1}, {"start": -(1 << 63) + 1},
    ]  # fmt: skip
    fine: list[dict[str, Any]] = [
        {"start": "100"}, {"start": 100.0}, {"deviceId": 1 << 40}, {"streamId": "x"}, {"correlationId": -(1 << 63)},
        {"demangledName": b"\x00"}, {"demangledName": None, "shortName": None, "mangledName": None},
        {"gridX": "wide", "registersPerThread": None}, {"globalPid": "?"}, {"globalPid": None},
    ]  # fmt: skip
    rows = [{**kernel(100, 200, 5), **change} for change in (*odd, *fine)]
    path = tmp_path / "db"
    database(path, {})
    with sqlite3.connect(path) as connection:
        columns = ", ".join(f'"{column}"' for column in rows[0])
        connection.execute(f"CREATE TABLE {KERNEL} ({columns})")
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {KERNEL} VALUES ({marks})", [list(row.values()) for row in rows])
    connection.close()
    profile = imported(path, tmp_path / "out")
    assert [len(process.table("device")) for process in profile.processes] == [len(fine)]
    assert times(profile, "device") == {(100, 100)}
    assert losses(profile) == Counter(
        {"no_start": 3, "no_duration": 2, "time_overflow": 2, "negative_duration": 1, "unplaced_slice": 2}
    )


def test_names_of_every_kind(tmp_path: Path) -> None:
    database(tmp_path / "db", {}, strings=())
    with sqlite3.connect(tmp_path / "db") as connection:
        connection.execute("DROP TABLE StringIds")
        connection.execute("CREATE TABLE StringIds (id, value)")
        values = [(1, b"caf\xe9"), (2, 17), (3, "a\0b"), (3, "again"), (4, None), ("x", "y"), (5, "x" * 100_000)]
        connection.executemany("INSERT INTO StringIds VALUES (?, ?)", values)
        connection.execute("CREATE TABLE NVTX_EVENTS (start, end, eventType, textId, globalTid)")
        rows = [(n, n + 1, 59, n, globally(9, 11)) for n in range(1, 6)]
        connection.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?)", rows)
    connection.close()
    profile = imported(tmp_path / "db", tmp_path / "out")
    process = profile.processes[0]
    names = [process.names.text(name) for name in process.table("annotation")["name_id"].tolist()]
    assert names == ["caf\ufffd", "17", "a\0b", "unnamed (NVTX)", "x" * 100_000]
    assert losses(profile) == Counter({"invalid_text": 1, "missing_names": 1})


def test_views_triggers_and_virtual_tables_are_never_run(tmp_path: Path) -> None:
    script = f"""
        CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
            SELECT i AS start, i + 1 AS "end", 0 AS deviceId, 7 AS streamId, 1 AS copyKind FROM n;
        CREATE VIEW NVTX_EVENTS AS SELECT 1 AS start, 2 AS "end", 59 AS eventType, load_extension('x') AS text;
        CREATE TRIGGER t AFTER INSERT ON {KERNEL} BEGIN DELETE FROM StringIds; END;
        CREATE TABLE "quoted "" name" (start INTEGER, "end" INTEGER, globalTid INTEGER, "odd ] col" TEXT);
        INSERT INTO "quoted "" name" VALUES (5, 6, 4294967295, 'x');
    """
    try:
        sqlite3.connect(":memory:").execute("CREATE VIRTUAL TABLE t USING fts5(a)")
        script += "CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_MEMSET USING fts5(start, end);"
    except sqlite3.OperationalError:
        pass
    database(tmp_path / "db", {KERNEL: [kernel(1, 2, 0)]}, script=script)
    profile = imported(tmp_path / "db", tmp_path / "out")
    assert times(profile, "device") == {(1, 1)}
    assert times(profile, "host") == {(5, 1)}
    assert times(profile, "annotation") == set()


def test_a_table_of_another_shape_under_a_known_name(tmp_path: Path) -> None:
    tables: Tables = {
        KERNEL: [{"colour": 5}],
        "NVTX_EVENTS": [{"start": 1, "end": 2}],
        "TARGET_INFO_GPU": [{"x": 1}],
        "ThreadNames": [{"globalTid": "x", "nameId": "y"}],
        "TARGET_INFO_SESSION_START_TIME": [{"utcEpochNs": "x"}],
    }
    check(
        tmp_path,
        tables,
        """
        clock relative None
        process 0 pid=None rank=None window=1:2 host=algo-1
          thread -2 thread not recorded
          annotation host -2 1+1 unnamed (NVTX)
        lost no_start 1 table CUPTI_ACTIVITY_KIND_KERNEL
        """,
    )


def test_nothing_readable_is_one_sentence(tmp_path: Path) -> None:
    for number, data in enumerate((b"", b"\0" * 84, b"\xff" * 4000)):
        path = tmp_path / str(number)
        path.write_bytes(b"SQLite format 3\0" + data)
        with pytest.raises(ProfileError, match=r"damaged SQLite database|not of Nsight") as error:
            imported(path, tmp_path / "out")
        assert "\n" not in str(error.value)
        assert str(error.value).endswith(".")


def test_distinct_rows_are_right_also_where_they_mix_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    columns = [generator.integers(0, 4, 500), generator.integers(-3, 2, 500), np.full(500, 9)]

    def right() -> None:
        first, inverse = nsight_process.distinct(columns)
        rows = list(zip(*(values.tolist() for values in columns), strict=True))
        assert [rows[position] for position in first[inverse].tolist()] == rows
        assert len(first) == len(set(rows))

    right()
    monkeypatch.setattr(nsight_process, "_MIX", np.uint64(0))
    right()


def test_a_tree_that_leads_to_the_same_page_again_and_again_ends(tmp_path: Path) -> None:
    path = database(tmp_path / "db", TRACE)
    data = bytearray(path.read_bytes())
    with sqlite3.connect(path) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (KERNEL,)).fetchone()[0]
    connection.close()
    at = (root - 1) * 4096
    assert data[at] == 0x05
    cells = int.from_bytes(data[at + 3 : at + 5], "big")
    leaf = data[at + 8 : at + 12]
    for cell in range(cells):
        place = at + int.from_bytes(data[at + 12 + 2 * cell : at + 14 + 2 * cell], "big")
        data[place : place + 4] = leaf
    data[at + 8 : at + 12] = leaf
    path.write_bytes(bytes(data))
    with Database(path, lambda kind, count, detail: None) as opened:
        opened._most_rows = 50
        assert opened.read(KERNEL).count <= 50 + 20_000
    assert times(imported(path, tmp_path / "out"), "device")
