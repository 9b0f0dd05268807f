"""The session: what is open, seen and selected, and the way back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from smprof_desktop import session as session_module
from smprof_desktop.session import Area, Session, SliceRef


def profile(begin_ns: int = 0, end_ns: int = 1_000) -> Any:
    """All that a session asks of a profile."""
    return SimpleNamespace(begin_ns=begin_ns, end_ns=end_ns)


@pytest.fixture
def session() -> Session:
    """A session on a profile of [0, 1000)."""
    session = Session()
    session.open(profile())
    return session


def view(session: Session) -> tuple[int, int]:
    """The visible range."""
    return session.begin_ns, session.end_ns


def test_opening_shows_the_whole_profile_and_says_so_once_all_is_in_place() -> None:
    session = Session()
    heard: list[Any] = []
    session.profile_changed.connect(lambda opened: heard.append(("profile", opened is session.profile, view(session))))
    session.range_changed.connect(lambda begin_ns, end_ns: heard.append(("range", begin_ns, end_ns)))
    session.open(profile(-5, 10**18))
    assert heard == [("profile", True, (-5, 10**18)), ("range", -5, 10**18)]


def test_opening_another_profile_drops_selection_and_history(session: Session) -> None:
    session.select(SliceRef(0, "device", 3))
    session.show(10, 20)
    heard: list[SliceRef | None] = []
    session.selection_changed.connect(heard.append)
    session.open(profile(0, 50))
    assert session.selection is None and heard == [None]
    assert not session.can_go_back and view(session) == (0, 50)


def test_an_area_is_selected_and_goes_with_the_profile(session: Session) -> None:
    heard: list[Area | None] = []
    session.area_changed.connect(heard.append)
    session.select_area(Area(5, 5, ("a",)))
    session.select_area(Area(5, 6, ("a",)))
    assert session.area == Area(5, 6, ("a",)) and heard == [session.area]
    session.open(profile(0, 50))
    assert heard[-1] is None
    assert session.area is None


def test_closing_leaves_nothing(session: Session) -> None:
    session.close()
    session.show(1, 2)
    session.select(SliceRef(0, "device", 0))
    session.back()
    assert session.profile is None and session.selection is None and view(session) == (0, 0)


def test_back_and_forward_walk_the_views(session: Session) -> None:
    session.show(10, 20)
    session.show(12, 14)
    session.back()
    assert view(session) == (10, 20)
    session.back()
    assert view(session) == (0, 1_000) and not session.can_go_back
    session.back()
    assert view(session) == (0, 1_000)
    session.forward()
    session.forward()
    assert view(session) == (12, 14) and not session.can_go_forward
    session.back()
    session.show(1, 2)
    assert not session.can_go_forward
    session.back()
    assert view(session) == (10, 20)


def test_the_same_view_again_is_one_step_and_one_signal(session: Session) -> None:
    heard: list[tuple[int, int]] = []
    session.range_changed.connect(lambda begin_ns, end_ns: heard.append((begin_ns, end_ns)))
    for _ in range(3):
        session.show(10, 20)
    assert heard == [(10, 20)]
    session.back()
    assert view(session) == (0, 1_000)


def test_a_movement_is_one_step(session: Session) -> None:
    for begin_ns in range(1, 50):
        session.show(begin_ns, begin_ns + 100, remember=False)
    session.show(49, 149)
    session.back()
    assert view(session) == (0, 1_000)
    session.forward()
    assert view(session) == (49, 149)


def test_a_view_that_was_not_remembered_is_still_found_by_forward(session: Session) -> None:
    session.show(10, 20)
    session.show(11, 21, remember=False)
    session.back()
    assert view(session) == (10, 20)
    session.forward()
    assert view(session) == (11, 21)


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ((5, 5), (5, 6)),
        ((5, 1), (5, 6)),
        ((-(1 << 70), 1 << 70), (-(1 << 63), (1 << 63) - 1)),
        (((1 << 63) - 1, 1 << 63), ((1 << 63) - 2, (1 << 63) - 1)),
        ((np.int64(3), np.int64((1 << 63) - 1)), (3, (1 << 63) - 1)),
    ],
)
def test_a_range_fits_in_64_bits_and_holds_a_nanosecond(session: Session, asked: Any, shown: tuple[int, int]) -> None:
    session.show(*asked)
    assert view(session) == shown and type(session.begin_ns) is int


def test_an_empty_profile_has_a_range() -> None:
    session = Session()
    session.open(profile(0, 0))
    assert view(session) == (0, 1)


def test_the_history_is_bounded(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "MAX_VIEWS", 3)
    for begin_ns in range(10):
        session.show(begin_ns, 500)
    for _ in range(10):
        session.back()
    assert view(session) == (7, 500)


def test_selecting_the_same_slice_again_is_silent(session: Session) -> None:
    heard: list[SliceRef | None] = []
    session.selection_changed.connect(heard.append)
    session.select(SliceRef(0, "device", 1))
    session.select(SliceRef(0, "device", 1))
    session.select(None)
    assert heard == [SliceRef(0, "device", 1), None]
