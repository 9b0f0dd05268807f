"""Command lines that open a view elsewhere: quoting, slices named exactly, and how the lanes stand."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smprof_desktop import link
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline import lanes
from smprof_desktop.timeline.lane_view import ALL, LaneView, differences
from tests.make_profile import make_profile

TEXT = """
process 0 pid=1 window=0:1000
thread 1 main
api 1 5+1 launch corr=1
kernel 0/7 20+10 same
kernel 0/8 20+10 same
kernel 0/8 40+10 "it's a <b>name</b>"
process 1 pid=2 window=0:1000
kernel 0/7 20+10 same
"""


@pytest.mark.skipif(sys.platform == "win32", reason="this shell is not there")
@pytest.mark.parametrize(
    "target", ["/plain", "/with space/x", "/it's", '/"quoted"', "/$HOME/`x`/!x", "/a\nb", "/ü;&|<>"]
)
def test_a_shell_reads_every_target_as_it_is(target: str) -> None:
    line = link.command_line([target], [("select", "#a/0/device/1@2:x y 'z'")], windows=False)
    script = line.replace(link.PROGRAM, "printf '%s\\0'", 1)
    said = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout.decode()
    assert said.split("\0")[:-1] == [target, "--select=#a/0/device/1@2:x y 'z'"]


def test_windows_quotes_by_its_own_rules() -> None:
    line = link.command_line([r"C:\my runs\a"], [("range", "0:5")], windows=True)
    assert line == r'smprof-desktop "C:\my runs\a" --range=0:5'


def test_every_slice_is_named_exactly_and_found_again(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, TEXT)
    for index, process in enumerate(profile.processes):
        for table in ("device", "host"):
            for row in range(len(process.table(table))):
                ref = SliceRef(index, table, row)
                assert link.find_exact(profile, link.exact(profile, ref)) == ref
    assert link.exact(profile, SliceRef(0, "device", 2)) == "#algo-1/0/device/2@35:it's a <b>name</b>"


def test_a_slice_is_found_by_start_and_name_where_rows_have_moved(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, TEXT)
    assert link.find_exact(profile, "#algo-1/0/device/77@35:it's a <b>name</b>") == SliceRef(0, "device", 2)
    assert link.find_exact(profile, "#algo-1/0/device/0@35:it's a <b>name</b>") == SliceRef(0, "device", 2)
    for text in (
        "same",
        "#1",
        "#algo-1/0/device/2@36:it's a <b>name</b>",
        "#algo-1/0/device/2@35:other",
        "#algo-9/0/device/2@35:same",
        f"#algo-1/0/device/2@{10**30}:same",
        f"#algo-1/0/device/{10**30}@36:same",
    ):
        assert link.find_exact(profile, text) is None


def test_long_and_unprintable_names_are_cut(tmp_path: Path) -> None:
    profile = make_profile(tmp_path, f"kernel 0/7 1+1 {'x' * 300}\nkernel 0/7 5+1 {'x' * 299}y")
    texts = [link.exact(profile, SliceRef(0, "device", row)) for row in (0, 1)]
    assert all(len(text) < 200 for text in texts)
    assert [link.find_exact(profile, text) for text in texts] == [SliceRef(0, "device", 0), SliceRef(0, "device", 1)]


keys = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(lambda key: key != ALL)


@given(
    view=st.builds(
        LaneView,
        *[st.lists(keys, max_size=3).map(tuple) for _ in range(5)],
        st.dictionaries(keys, st.lists(keys, max_size=3).map(tuple), max_size=2),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        st.one_of(st.just(""), keys),
    )
)
def test_what_is_written_of_the_lanes_is_read_back(view: LaneView) -> None:
    text = view.text()
    assert LaneView.parse(text) == view
    assert shlex.split(shlex.quote(text)) == [text]


@pytest.mark.parametrize("text", ["x", "open", "fly:a", "open:a,,close:b", ","])
def test_a_text_of_other_words_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is none of"):
        LaneView.parse(text)


def test_what_is_open_is_told_by_what_differs(tmp_path: Path) -> None:
    tree = lanes.build(make_profile(tmp_path, TEXT))
    first = tree.default_expanded()
    every = frozenset(lane.key for lane in tree.walk() if lane.can_expand)
    root = tree.roots[0].key
    for expanded in (first, every, frozenset(), first ^ {root}, frozenset({root})):
        opened, closed = differences(tree, expanded)
        view = LaneView.parse(LaneView(opened, closed).text())
        assert view.expanded(tree) & every == expanded & every
    assert differences(tree, first & every) == ((), ())
    assert LaneView(("no such lane",)).expanded(tree) == first & tree.by_key.keys()
