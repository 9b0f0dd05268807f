"""Links through Qt's own events: the switch for all of them, and notes of ends out of view."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from smprof.profile.manifest import ProfileError
from smprof_desktop.session import Session
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline import all_links
from smprof_desktop.timeline.colours import LIGHT
from smprof_desktop.timeline.widget import TimelineWidget
from tests.make_profile import make_profile
from tests.timeline.test_widget import TEXT, click, name, press

BACKWARDS = "api 1 60000+5000 cudaLaunchKernel corr=5\nkernel 0/7 20000+9000 early corr=5\nkernel 0/7 80000+9 lone"


def shown(qtbot: QtBot, folder: Path, text: str, settings: Settings) -> Iterator[TimelineWidget]:
    session, tasks = Session(), Tasks()
    session.open(make_profile(folder, text))
    made = TimelineWidget(session, tasks, settings)
    qtbot.addWidget(made)
    made.resize(1270, 600)
    with qtbot.waitExposed(made):
        made.show()
    made.setFocus()
    qtbot.waitUntil(lambda: made.is_final)
    yield made
    assert tasks.close()


@pytest.fixture
def settings() -> Settings:
    return Settings(None)


@pytest.fixture
def widget(qtbot: QtBot, tmp_path: Path, settings: Settings) -> Iterator[TimelineWidget]:
    yield from shown(qtbot, tmp_path, TEXT, settings)


@pytest.fixture
def backwards(qtbot: QtBot, tmp_path: Path, settings: Settings) -> Iterator[TimelineWidget]:
    yield from shown(qtbot, tmp_path, BACKWARDS, settings)


def select(qtbot: QtBot, widget: TimelineWidget, text: str) -> None:
    from smprof_desktop.analysis import slices

    assert widget.session.profile is not None
    widget.session.select(slices.find(widget.session.profile, text))
    qtbot.waitUntil(lambda: widget.is_final)


def test_l_shows_all_links_and_hides_them_again(widget: TimelineWidget, qtbot: QtBot, settings: Settings) -> None:
    drawing = widget.draw_list()
    assert drawing is not None and drawing.links == ()
    press(qtbot, widget, Qt.Key.Key_L)
    drawing = widget.draw_list()
    assert settings.get("all_links") and drawing is not None
    assert len(drawing.links) == 3 and drawing.links_note == "3 links in view"
    widget.go_to(widget.view.fitted(58000, 61000, widget.opened_scene().limits))
    qtbot.waitUntil(lambda: widget.is_final)
    drawing = widget.draw_list()
    assert drawing is not None and drawing.links_note == "1 link in view"
    press(qtbot, widget, Qt.Key.Key_L)
    drawing = widget.draw_list()
    assert not settings.get("all_links") and drawing is not None and drawing.links == ()


def test_links_that_cannot_be_read_are_said_once(
    widget: TimelineWidget, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> None:
        raise ProfileError("The column is damaged; load the profile again.")

    said: list[str] = []
    widget.faulted.connect(said.append)
    monkeypatch.setattr(all_links, "find", damaged)
    press(qtbot, widget, Qt.Key.Key_L)
    widget.viewport().repaint()
    qtbot.wait(30)
    assert said == ["The column is damaged; load the profile again."]


def test_a_click_on_the_note_of_a_far_end_selects_it(widget: TimelineWidget, qtbot: QtBot) -> None:
    select(qtbot, widget, "gemm")
    widget.go_to(widget.view.fitted(29000, 32000, widget.opened_scene().limits))
    qtbot.waitUntil(lambda: widget.is_final)
    drawing = widget.draw_list()
    assert drawing is not None
    (note,) = drawing.link_notes
    assert note.text == "← launch 20.000 µs earlier"
    qtbot.mouseMove(widget.viewport(), QPoint(round(note.x_px + 6), round(note.y_px + 5)))
    qtbot.waitUntil(
        lambda: "Click to select it and go there" in [label.text() for label in widget.findChildren(QLabel)]
    )
    click(qtbot, widget, QPoint(round(note.x_px + 5), round(note.y_px + 5)))
    assert name(widget) == "cudaLaunchKernel"
    assert widget.view.begin_ns < 10000 < widget.view.end_ns
    press(qtbot, widget, Qt.Key.Key_BracketRight)
    assert name(widget) == "gemm"
    press(qtbot, widget, Qt.Key.Key_BracketLeft)
    assert name(widget) == "cudaLaunchKernel"


def colours_of(widget: TimelineWidget) -> set[tuple[int, int, int]]:
    """The colours that are painted, exactly."""
    image = widget.viewport().grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    found = (QColor(image.pixel(x, y)) for x in range(300, image.width()) for y in range(40, image.height()))
    return {(colour.red(), colour.green(), colour.blue()) for colour in found}


def test_what_is_wrong_with_a_link_is_painted_in_the_colour_of_warnings(
    backwards: TimelineWidget, qtbot: QtBot
) -> None:
    assert LIGHT.warning not in colours_of(backwards)
    for text in ("early", "lone"):
        select(qtbot, backwards, text)
        assert LIGHT.warning in colours_of(backwards)
        assert LIGHT.arrow not in colours_of(backwards)
