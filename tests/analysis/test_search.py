"""Searching names: what matches, how many slices, and the walk over them against a slow, obvious twin."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smprof.profile.manifest import Manifest, ProfileError
from smprof.profile.manifest import Process as ProcessInfo
from smprof.profile.reader import Profile
from smprof.profile.schema import SLICE_TABLES
from smprof.profile.writer import ProfileWriter
from smprof_desktop.analysis import slices
from smprof_desktop.analysis.search import MAX_PATTERN, NameList, Query, Search, SliceIndex
from smprof_desktop.analysis.sections import name_of
from smprof_desktop.progress import Cancelled
from smprof_desktop.slice_ref import SliceRef
from tests.make_profile import make_profile

TEXT = """
process 0 window=0:1000
thread 1 main
device 0 H100 used
annotation 1 0+500 step_0
api 1 100+20 cudaLaunchKernel corr=5
kernel 0/7 300+200 gemm<float> corr=5
kernel 0/7 600+10 Gemm(int)
kernel 0/8 300+7 _ZN2at6native4copyEi
process 1 window=0:1000
thread 1 main
device 1 H100 used
kernel 1/7 200+9 gemm<float>
kernel 1/7 600+11 a.b
"""


def read(profile: Profile) -> SliceIndex:
    return SliceIndex.read(profile, NameList.read(profile))


def searched(index: SliceIndex, text: str, is_regex: bool = False) -> Search:
    return Search(index, index.names.matching(Query(text, is_regex)))


def walked(index: SliceIndex, search: Search, step: int = 1) -> list[tuple[int, str]]:
    """Start and name of every match in the order of the walk."""
    found: list[tuple[int, str]] = []
    ref = search.walk(-(1 << 62) if step > 0 else 1 << 62, step)
    while ref is not None:
        process = index.profile.processes[ref.process]
        found.append((slices.times_of(index.profile, ref)[0], name_of(process, ref.table, ref.row)))
        assert len(found) < 1000
        ref = search.walk(search.place_of(ref), step)
    return found


def listed(index: SliceIndex, search: Search) -> list[tuple[str, int, int]]:
    names = search.names
    rows = zip(names.numbers.tolist(), names.counts.tolist(), names.total_ns.tolist(), strict=True)
    return [(index.names.text(number), count, total_ns) for number, count, total_ns in rows]


def test_names_of_all_processes_are_counted_and_walked_by_start(tmp_path: Path) -> None:
    index = read(make_profile(tmp_path, TEXT))
    search = searched(index, "gemm")
    assert search.slices == 3
    assert listed(index, search) == [("gemm<float>", 2, 209), ("Gemm(int)", 1, 10)]
    expected = [(200, "gemm<float>"), (300, "gemm<float>"), (600, "Gemm(int)")]
    assert walked(index, search) == expected
    assert walked(index, search, -1) == expected[::-1]
    assert walked(index, search.only(int(search.names.numbers[0]))) == expected[:2]


def test_the_first_match_is_the_one_that_select_finds(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, TEXT)
    index = read(profile)
    for text in ("gemm", "e", "step_0", "a.b"):
        search = searched(index, text)
        found = slices.find(profile, text)
        if text != "gemm":  # `find` heeds capitals
            assert search.walk(-(1 << 62), 1) == found


def test_capitals_count_where_the_query_has_some(tmp_path: Path) -> None:
    index = read(make_profile(tmp_path, TEXT))
    assert searched(index, "Gemm").slices == 1
    assert searched(index, r"^gemm\S*$", True).slices == 3, "the capital of an escape asks for nothing"
    assert searched(index, r"^Gemm\S*$", True).slices == 1


def test_plain_text_is_no_pattern(tmp_path: Path) -> None:
    index = read(make_profile(tmp_path, TEXT))
    assert listed(index, searched(index, "a.b")) == [("a.b", 1, 11)]
    assert searched(index, "m(i").slices == 1 and searched(index, "[").slices == 0
    assert searched(index, "a.b|step", True).slices == 2


def test_mangled_names_are_found_as_recorded_and_as_read(tmp_path: Path) -> None:
    index = read(make_profile(tmp_path, TEXT))
    assert searched(index, "_ZN2at").slices == 1
    assert searched(index, "at::native::copy").slices == 1
    assert searched(index, r"native::co.y\(int\)", True).slices == 1


@pytest.mark.parametrize("text", ["(", "*", "a{1001}", "[z-a]", "(?=x)", r"\1", "x" * (MAX_PATTERN + 1)])
def test_what_is_no_pattern_is_said_in_one_sentence(tmp_path: Path, text: str) -> None:
    names = NameList.read(make_profile(tmp_path, TEXT))
    with pytest.raises(ProfileError) as refused:
        names.matching(Query(text, True))
    assert "\n" not in str(refused.value) and str(refused.value).endswith(".")


def test_a_pattern_that_makes_others_hang_does_not(tmp_path: Path) -> None:
    """Python's own expressions would take 2^60 steps for it."""
    name = "a" * 60
    index = read(make_profile(tmp_path, f"process 0 window=0:9\ndevice 0 X used\nkernel 0/7 1+1 {name}!"))
    begin_s = time.perf_counter()
    assert searched(index, "(a|aa)+$", True).slices == 0
    assert time.perf_counter() - begin_s < 60


def test_lost_names_are_found_by_what_is_shown(tmp_path: Path) -> None:
    writer = ProfileWriter(tmp_path, Manifest())
    process = writer.process(ProcessInfo(host="h", process="0"))
    first = np.zeros(1, int)
    columns = {"start_ns": [5], "duration_ns": [2], "name_id": [77], "thread": [1], "side": first, "source": first}
    process.append("annotation", columns)
    writer.finish()
    index = read(Profile.open(tmp_path))
    assert listed(index, searched(index, "name lost")) == [("(name lost)", 1, 2)]


def test_a_profile_without_slices_has_no_matches(tmp_path: Path) -> None:
    index = read(make_profile(tmp_path, "process 0 window=0:10"))
    assert searched(index, "a").slices == 0 and searched(index, "a").walk(0, 1) is None


def test_it_stops_when_asked_to(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, TEXT)
    names = NameList.read(profile)
    with pytest.raises(Cancelled):
        SliceIndex.read(profile, names, cancelled=lambda: True)
    with pytest.raises(Cancelled):
        names.matching(Query("gemm"), cancelled=lambda: True)


def test_totals_beyond_what_a_float_counts_are_exact(tmp_path: Path) -> None:
    lines = "\n".join(f"annotation {thread} 0+{(1 << 60) + 1} long" for thread in range(3))
    index = read(make_profile(tmp_path, f"process 0 window=0:10\n{lines}"))
    assert listed(index, searched(index, "long")) == [("long", 3, 3 * ((1 << 60) + 1))]


NAMES = ("gemm", "Gemm_a", "copy", "step_1", "x.y", "o")


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 30), st.integers(0, 5), st.integers(0, 5)),
        max_size=40,
    ),
    text=st.sampled_from(("gemm", "m", "p$", "^x", "step|copy", ".")),
    at_ns=st.integers(-2, 34),
)
def test_the_walk_equals_a_slow_one(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, int, int, int, int]],
    text: str,
    at_ns: int,
) -> None:
    folder = tmp_path_factory.mktemp("search")
    lines: list[str] = []
    for number in range(2):
        lines.append(f"process {number} window=0:40")
        for process, stream, start, duration, name in rows:
            if process == number:
                where = "annotation 1" if stream == 2 else f"kernel 0/{stream}"
                lines.append(f"{where} {start}+{duration} {NAMES[name]}")
    profile = make_profile(folder, "\n".join(lines))
    index = read(profile)
    search = searched(index, text, True)
    every: list[tuple[tuple[int, int, int, int], SliceRef]] = []
    for number, reader in enumerate(profile.processes):
        for place, table in enumerate(SLICE_TABLES):
            for row in range(len(reader.table(table))):
                if re.search(text, name_of(reader, table, row), re.IGNORECASE):
                    ref = SliceRef(number, table, row)
                    every.append(((slices.times_of(profile, ref)[0], number, place, row), ref))
    every.sort(key=lambda entry: entry[0])
    assert search.slices == len(every)
    assert int(np.sum(search.names.counts)) == len(every)
    places = [entry[0] for entry in every]
    assert [search.place_of(ref) for _, ref in every] == places
    for position, (place_of, _ref) in enumerate(every):
        after = search.walk(place_of, 1)
        before = search.walk(place_of, -1)
        assert after == (every[position + 1][1] if position + 1 < len(every) else None)
        assert before == (every[position - 1][1] if position else None)
    later = [ref for place_of, ref in every if place_of[0] >= at_ns]
    earlier = [ref for place_of, ref in every if place_of[0] <= at_ns]
    assert search.walk(at_ns, 1) == (later[0] if later else None)
    assert search.walk(at_ns, -1) == (earlier[-1] if earlier else None)
