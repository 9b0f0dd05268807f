"""The window never waits for the disk: with slow reading it goes on, and ends with the right picture."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QElapsedTimer, QPoint, Qt, QTimer
from PySide6.QtGui import QFontMetricsF
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from smprof.profile.contents import read_column
from smprof.profile.manifest import ProfileError
from smprof.profile.reader import Profile
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.synthesize import synthesize
from smprof_desktop.timeline import step_list
from smprof_desktop.timeline.scene import Opened, Scene
from smprof_desktop.timeline.widget import TimelineWidget
from smprof_desktop.window.main_window import MainWindow
from smprof_desktop.window.timeline_page import TimelinePage

LOAD_S = 0.12
GAPS_OF_A_BUSY_MACHINE = 3
"""A window that waited would stop for each of the dozens of loads; a machine with other work stops it now and then."""


class Pulse:
    """A timer that should fire every 5 ms; `waits` counts how often it was kept for as long as a load takes."""

    def __init__(self) -> None:
        self.waits = 0
        self._clock = QElapsedTimer()
        self._clock.start()
        self._timer = QTimer()
        self._timer.timeout.connect(self._beat)
        self._timer.start(5)

    def _beat(self) -> None:
        self.waits += self._clock.restart() / 1000 >= LOAD_S

    def stop(self) -> None:
        self._beat()
        self._timer.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A profile of 60,000 slices: enough for a ladder, which tells no more when one looks closer."""
    out = tmp_path_factory.mktemp("run") / "profile"
    return synthesize(out, 1, 2, 6, 60_000, 1, lambda share, what: None, lambda: False)


@pytest.fixture
def slow_loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every read of a column takes its time; names those that the window's own thread was made to wait for."""
    waited: list[str] = []

    def read(file: Any, wanted: Any, *arguments: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            waited.append(wanted.name)
        time.sleep(LOAD_S)
        return read_column(file, wanted, *arguments)

    monkeypatch.setattr("smprof.profile.reader.read_column", read)
    return waited


def timeline_of(window: MainWindow) -> TimelineWidget:
    window.show_page("timeline")
    assert isinstance(window.page, TimelinePage)
    return window.page.timeline


def test_the_window_goes_on_while_columns_are_read(
    window: MainWindow, qtbot: QtBot, folder: Path, slow_loads: list[str]
) -> None:
    window.settings.set("theme", "light")
    for page in ("information", "dashboard", "timeline", "load"):
        window.show_page(page)  # what pages import is not what is measured
    timeline = timeline_of(window)
    pulse = Pulse()
    window.load([str(folder)])
    qtbot.waitUntil(lambda: window.session.profile is not None, timeout=60_000)
    profile = window.session.profile
    assert profile is not None
    window.show_page("timeline")
    qtbot.waitUntil(lambda: timeline.scene is not None, timeout=60_000)
    middle = (profile.begin_ns + profile.end_ns) // 2
    for span_ns in (2_000_000_000, 200_000_000, 20_000_000, 2_000_000, 200_000):
        window.session.show(middle, middle + span_ns)
        qtbot.wait(60)
        QTest.mouseMove(timeline.viewport(), QPoint(700, 300))
        QTest.mouseClick(timeline.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(700, 300))
    for row in (3, 3_000, 6_000):  # by what else selects: a door in a table, a search
        window.session.select(SliceRef(0, "device", row))
        for key in (Qt.Key.Key_BracketLeft, Qt.Key.Key_F, Qt.Key.Key_Period, Qt.Key.Key_W):
            QTest.keyClick(timeline, key)
            qtbot.wait(30)
    window.show_page("information")
    qtbot.wait(60)
    window.show_page("timeline")
    window.session.show(middle, middle + 2_000_000)
    qtbot.waitUntil(lambda: window.is_final and window.tasks.is_idle, timeout=120_000)
    pulse.stop()
    assert slow_loads == []
    assert pulse.waits <= GAPS_OF_A_BUSY_MACHINE

    drawing, frame = timeline.draw_list(), timeline.frame()
    assert timeline.scene is not None
    font = QFontMetricsF(timeline.painter().small)
    scene = Scene(Opened.read(Profile.open(folder)), font.horizontalAdvance, timeline.scene.metrics)
    assert timeline.session.selection is not None
    scene.strips.steps = step_list.read(scene.profile, timeline.session.selection.process, lambda: False)
    fresh = scene.draw(frame)
    assert drawing is not None and drawing.is_final and len(drawing.slices) > 0
    for part in ("columns", "slices", "ticks", "curves", "overview"):
        one, other = getattr(drawing, part), getattr(fresh, part)
        assert np.array_equal(one.x_px, other.x_px) and np.array_equal(one.width_px, other.width_px)
        assert np.array_equal(one.height_px, other.height_px) and np.array_equal(one.colour, other.colour)
    assert drawing.labels == fresh.labels and drawing.arrows == fresh.arrows
    assert [header.share for header in drawing.headers] == [header.share for header in fresh.headers]


def test_a_part_that_cannot_be_read_is_told_and_the_rest_is_drawn(
    window: MainWindow, qtbot: QtBot, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def read(file: Any, wanted: Any, *arguments: Any) -> Any:
        if wanted.name == "shape_id":
            raise ValueError("of all things")
        return read_column(file, wanted, *arguments)

    window.load([str(folder)])
    qtbot.waitUntil(lambda: window.session.profile is not None and window.is_final, timeout=60_000)
    monkeypatch.setattr("smprof.profile.reader.read_column", read)
    profile = window.session.profile
    assert profile is not None
    for process in profile.processes:
        process.forget()
    with pytest.raises(ProfileError):
        _ = profile.processes[0].table("device")["shape_id"]
    timeline = timeline_of(window)
    middle = (profile.begin_ns + profile.end_ns) // 2
    window.session.show(middle, middle + 200_000)
    qtbot.waitUntil(lambda: window.is_final, timeout=60_000)
    assert "cannot be read" in window.statusBar().currentMessage()
    drawing = timeline.draw_list()
    assert drawing is not None and drawing.is_final and len(drawing.slices) > 0


def test_a_move_of_the_user_outlasts_the_reveal_of_a_slice_that_was_read_late(
    window: MainWindow, qtbot: QtBot, folder: Path, slow_loads: list[str]
) -> None:
    window.load([str(folder)])
    qtbot.waitUntil(lambda: window.session.profile is not None, timeout=60_000)
    profile, timeline = window.session.profile, timeline_of(window)
    assert profile is not None
    qtbot.waitUntil(lambda: timeline.scene is not None, timeout=60_000)
    for process in profile.processes:
        process.forget()
    begin = profile.begin_ns
    window.session.show(begin, begin + 1_000)
    window.session.select(SliceRef(0, "device", 6_000))
    window.session.show(begin + 5_000, begin + 9_000)
    qtbot.waitUntil(lambda: window.is_final, timeout=60_000)
    assert (window.session.begin_ns, window.session.end_ns) == (begin + 5_000, begin + 9_000)
    window.session.select(SliceRef(0, "device", 3_000))
    qtbot.waitUntil(lambda: window.is_final, timeout=60_000)
    start_ns = int(profile.processes[0].table("device")["start_ns"][3_000])
    assert window.session.begin_ns <= start_ns < window.session.end_ns


def test_a_range_that_is_asked_for_with_a_slice_stands_though_the_timeline_opens_late(
    window: MainWindow, qtbot: QtBot, folder: Path, slow_loads: list[str]
) -> None:
    window.load([str(folder)], lambda: None)
    qtbot.waitUntil(lambda: window.session.profile is not None, timeout=60_000)
    timeline, begin = timeline_of(window), window.session.begin_ns
    assert timeline.scene is None
    window.session.select(SliceRef(0, "device", 6_000))
    window.session.show(begin + 5_000, begin + 9_000)
    qtbot.waitUntil(lambda: window.is_final, timeout=60_000)
    assert (window.session.begin_ns, window.session.end_ns) == (begin + 5_000, begin + 9_000)
