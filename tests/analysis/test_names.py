"""Names that are no text: told apart by their bytes, shown as text."""

from __future__ import annotations

from smprof_desktop.analysis.names import readable, shown


def test_a_stand_in_is_shown_where_it_is_the_only_one() -> None:
    assert shown(["plain", "k\udcff", "\xe9"]) == {"k\udcff": "k\ufffd"}


def test_names_that_share_a_stand_in_show_their_bytes() -> None:
    for other in ("k\udcfe", "k\ufffd"):
        assert shown(["k\udcff", other])["k\udcff"] == "k\\xff"


def test_readable_writes_lone_surrogates_out() -> None:
    assert readable("t\udce9 \ud800 \xe9 k") == "t\\xe9 \\ud800 \xe9 k"
