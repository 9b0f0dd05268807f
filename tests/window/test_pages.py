"""The pages by themselves: the selection's details, information with every loss, the keys."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import current_thread, main_thread

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QLabel, QMenu
from pytestqt.qtbot import QtBot

from smprof.profile.manifest import Clock, ProfileError
from smprof.profile.reader import Profile
from smprof.profile.schema import LOSS_KINDS
from smprof_desktop import report
from smprof_desktop.analysis import ledger, slices
from smprof_desktop.analysis.ledger import unlinked_of
from smprof_desktop.session import Session, SliceRef
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline.keys import GESTURES
from smprof_desktop.window.commands import TABLE, TIMELINE_IDS
from smprof_desktop.window.details import LEADS, DetailsPane
from smprof_desktop.window.facts import _clock_rows, _ranges, information, summary
from smprof_desktop.window.fields import CopyTable
from smprof_desktop.window.information_page import InformationPage
from smprof_desktop.window.main_window import MainWindow
from smprof_desktop.window.shortcuts_page import ShortcutsPage
from smprof_desktop.window.timeline_page import TimelinePage
from tests.make_profile import make_profile
from tests.window.conftest import TEXT


def rows(table: CopyTable) -> list[list[str]]:
    """Every row of a table."""
    return [table.texts(row) for row in range(table.rowCount())]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session()
    session.open(make_profile(tmp_path / "profile", TEXT))
    return session


@pytest.fixture
def tasks(qtbot: QtBot) -> Iterator[Tasks]:
    tasks = Tasks()
    yield tasks
    assert tasks.close()


@pytest.fixture
def pane(qtbot: QtBot, session: Session, tasks: Tasks) -> DetailsPane:
    pane = DetailsPane(session, tasks)
    qtbot.addWidget(pane)
    pane.resize(600, 300)
    pane.show()
    return pane


def test_the_details_lead_from_execution_to_launch_and_back(qtbot: QtBot, session: Session, pane: DetailsPane) -> None:
    session.select(SliceRef(0, "device", 0))
    qtbot.waitUntil(lambda: pane.is_final)
    assert ["Name", "gemm<float>", ""] in rows(pane.table)
    row = next(row for row, cells in enumerate(rows(pane.table)) if cells[-1] == LEADS and "cudaLaunch" in cells[1])
    pane.table.setCurrentCell(row, 0)
    QTest.keyClick(pane.table, Qt.Key.Key_Return)
    assert session.selection == SliceRef(0, "host", 0)
    qtbot.waitUntil(lambda: pane.is_final)
    row = next(row for row, cells in enumerate(rows(pane.table)) if cells[-1] == LEADS and "gemm" in " ".join(cells))
    pane.table.cellActivated.emit(row, 0)
    assert session.selection == SliceRef(0, "device", 0)
    session.select(None)
    assert pane.table.rowCount() == 0 and not pane.table.isVisible()


def test_details_are_greyed_until_the_newest_are_there(
    qtbot: QtBot, session: Session, pane: DetailsPane, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    asked: list[SliceRef] = []
    original = slices.describe

    def slow(profile: Profile, ref: SliceRef, form: str) -> tuple[slices.Section, ...]:
        asked.append(ref)
        go.wait(10)
        return original(profile, ref, form)

    session.select(SliceRef(0, "device", 0))
    qtbot.waitUntil(lambda: pane.is_final)
    monkeypatch.setattr(slices, "describe", slow)
    session.select(SliceRef(0, "device", 1))
    session.select(SliceRef(0, "host", 0))
    assert not pane.table.isEnabled() and ["Name", "gemm<float>", ""] in rows(pane.table)
    go.set()
    qtbot.waitUntil(lambda: pane.is_final)
    assert pane.table.isEnabled() and ["Name", "cudaLaunchKernel", ""] in rows(pane.table)
    asked.clear()
    pane.hide()
    session.select(SliceRef(0, "device", 1))
    qtbot.wait(20)
    assert asked == []
    pane.show()
    qtbot.waitUntil(lambda: ["Name", "lonely", ""] in rows(pane.table))
    assert asked == [SliceRef(0, "device", 1)]


def test_details_that_cannot_be_read_are_one_sentence(
    qtbot: QtBot, session: Session, pane: DetailsPane, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(profile: Profile, ref: SliceRef, form: str) -> tuple[slices.Section, ...]:
        raise ProfileError("The column is damaged; load the profile again.")

    monkeypatch.setattr(slices, "describe", damaged)
    session.select(SliceRef(0, "device", 0))
    qtbot.waitUntil(lambda: pane.is_final)
    assert not pane.table.isVisible() and "The column is damaged" in pane.findChildren(QLabel)[0].text()


def test_the_details_are_copied_as_text(qtbot: QtBot, session: Session, pane: DetailsPane) -> None:
    session.select(SliceRef(0, "device", 0))
    qtbot.waitUntil(lambda: pane.is_final)
    pane.table.copy_selected()
    assert "Name\tgemm<float>" in QGuiApplication.clipboard().text()


def test_one_click_follows_a_row_and_only_once(qtbot: QtBot, session: Session, pane: DetailsPane) -> None:
    session.select(SliceRef(0, "device", 0))
    qtbot.waitUntil(lambda: pane.is_final)

    def place(column: int, text: str) -> QPoint:
        row = next(row for row, cells in enumerate(rows(pane.table)) if text in cells)
        return pane.table.visualRect(pane.table.model().index(row, column)).center()

    view, left = pane.table.viewport(), Qt.MouseButton.LeftButton
    QTest.mouseClick(view, left, pos=place(0, "Name"))
    assert session.selection == SliceRef(0, "device", 0)
    launch = place(1, "cudaLaunchKernel")
    QTest.mouseClick(view, left, Qt.KeyboardModifier.ControlModifier, launch)
    assert session.selection == SliceRef(0, "device", 0)
    QTest.mouseClick(view, left, pos=launch)
    assert session.selection == SliceRef(0, "host", 0)
    qtbot.waitUntil(lambda: pane.is_final)
    back = place(1, "gemm<float>")
    QTest.mouseDClick(view, left, pos=back)  # the second half of the double click
    assert session.selection == SliceRef(0, "host", 0)


def test_a_new_selection_is_shown_from_its_top(qtbot: QtBot, session: Session, pane: DetailsPane) -> None:
    pane.resize(600, 120)
    session.select(SliceRef(0, "device", 0))
    qtbot.waitUntil(lambda: pane.is_final)
    pane.table.scrollToBottom()
    assert pane.table.verticalScrollBar().value() > 0
    session.select(SliceRef(0, "host", 0))
    qtbot.waitUntil(lambda: pane.is_final)
    assert pane.table.verticalScrollBar().value() == 0


def test_a_value_is_copied_bare_and_a_row_with_its_label(qtbot: QtBot, session: Session, pane: DetailsPane) -> None:
    session.select(SliceRef(0, "device", 0))
    qtbot.waitUntil(lambda: pane.is_final)
    row = next(row for row, cells in enumerate(rows(pane.table)) if "Launched by" in cells)
    pane.table.setCurrentCell(row, 0)
    pane.activateWindow()
    pane.table.setFocus()
    qtbot.waitUntil(pane.table.hasFocus)
    QTest.keyClick(pane.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "cudaLaunchKernel"
    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(pane.table, Qt.Key.Key_C, modifiers)
    assert QGuiApplication.clipboard().text() == "Launched by\tcudaLaunchKernel"
    assert [action.text() for action in pane.table.actions()] == ["Copy value", "Copy row"]


@pytest.mark.parametrize(("width", "height", "least_share"), [(1280, 800, 0.66), (900, 600, 0.6)])
def test_the_timeline_has_most_of_its_page(
    window: MainWindow, qtbot: QtBot, load: Callable[[], None], width: int, height: int, least_share: float
) -> None:
    load()
    window.resize(1280, 800)
    window.go_to_page("timeline")
    page = window.page
    assert isinstance(page, TimelinePage)
    window.resize(width, height)
    qtbot.waitUntil(lambda: window.is_final and page.details.height() < 80)

    def share() -> float:
        return page.timeline.height() / page.height()

    window.session.select(SliceRef(0, "device", 0))
    qtbot.waitUntil(lambda: window.is_final)
    assert least_share <= share() <= 0.72
    page._splitter.moveSplitter(round(page.height() * 0.5), 1)
    window.session.select(None)
    assert page.details.height() < 80
    window.session.select(SliceRef(0, "device", 1))
    assert 0.48 <= share() <= 0.52
    assert 0.48 <= window.settings.get("details_share") <= 0.52


def test_every_loss_is_listed_with_its_meaning(qtbot: QtBot, session: Session, tasks: Tasks) -> None:
    page = InformationPage(session, tasks)
    qtbot.addWidget(page)
    page.show()
    qtbot.waitUntil(lambda: page.is_final)
    cells = [row for table in page.findChildren(CopyTable) for row in rows(table)]
    assert ["gap_value", "2", "algo-1, process 0: where it was", LOSS_KINDS["gap_value"]] in cells
    assert all(any(row[0] == loss.kind for row in cells) for loss in session.profile.losses)  # type: ignore[union-attr]


def test_executions_without_a_launch_are_losses_on_both_pages_and_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile, counted = make_profile(tmp_path / "profile", "kernel 0/7 0+5 a corr=3\nkernel 0/7 9+5 a"), []

    def count(of: Profile) -> list[dict[str, int]]:
        counted.append(of)
        return unlinked_of(of)

    monkeypatch.setattr(ledger, "unlinked_of", count)
    assert ("Losses", "2 — see Information") in summary(profile)
    (losses,) = (table for table in information(profile) if table.title == "Losses")
    meaning = LOSS_KINDS["unlinked_execution"]
    assert losses.rows == (
        ("unlinked_execution", "1", "no correlation id was recorded", meaning),
        ("unlinked_execution", "1", "no API call with its correlation id was recorded", meaning),
    )
    assert [(row[0], int(row[1])) for row in losses.rows] == [
        (loss["kind"], loss["count"]) for loss in report.build(profile)["losses"]
    ]
    assert counted == [profile]


def test_losses_are_counted_beside_the_window(
    window: MainWindow, load: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []

    def count(of: Profile) -> list[dict[str, int]]:
        threads.append(current_thread())
        return unlinked_of(of)

    monkeypatch.setattr(ledger, "unlinked_of", count)
    window.unload()
    load()
    for page in ("load", "information"):
        window.show_page(page)
    assert len(threads) == 1 and threads[0] is not main_thread()


def test_information_of_a_profile_without_anything(qtbot: QtBot, tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "profile", "")
    assert summary(profile)[0] == ("Name", "tiny")
    assert all(table.rows or table.empty for table in information(profile))


def facts(profile: Profile, title: str) -> tuple[tuple[str, ...], ...]:
    """The rows of one table of the Information page."""
    (rows,) = (table.rows for table in information(profile) if table.title == title)
    return rows


def test_a_device_that_every_process_lists_is_one_row(tmp_path: Path) -> None:
    lines = []
    for host in ("algo-1", "algo-2"):
        lines.append(f"host {host}")
        for rank in range(4):
            lines.append(f"process {rank}")
            lines += [f"device {index} H100 {'used' if index == rank < 3 else ''}" for index in range(4)]
    rows = facts(make_profile(tmp_path / "profile", "\n".join(lines)), "Devices")
    assert [row[:6] for row in rows] == [
        (host, str(index), "H100", "–", "not known" if index == 3 else str(index), "4 processes")
        for host in ("algo-1", "algo-2")
        for index in range(4)
    ]


def test_devices_that_may_be_several_are_not_drawn_together(tmp_path: Path) -> None:
    text = "process 0\ndevice 0 H100 used\nprocess 1\ndevice 0 H100 used\nprocess 2\ndevice 0 A100 used"
    rows = facts(make_profile(tmp_path / "profile", text), "Devices")
    assert [(row[1], row[2], row[4], row[5]) for row in rows] == [
        ("0", "H100", "0", "2 processes"),
        ("0", "H100", "1", "2 processes"),
        ("0", "A100", "2", "1 process"),
    ]


def test_windows_are_readable_and_exact(tmp_path: Path) -> None:
    text = "process 0 windows=1000:2500,4000:1500001000\nkernel 0/7 1000+5 gemm"
    rows = facts(make_profile(tmp_path / "profile", text), "Processes")
    assert rows[0][-1] == "0 ns … 1.500 µs (0 … 1,500 ns), 3.000 µs … 1.500 s (3,000 … 1,500,000,000 ns)"


@pytest.mark.parametrize(
    ("numbers", "text"), [([], "none"), ([3], "3"), ([0, 1, 2, 3], "0–3"), ([0, 2, 3, 7], "0, 2–3, 7")]
)
def test_ranks_are_drawn_together(numbers: list[int], text: str) -> None:
    assert _ranges(numbers) == text


def test_the_clock_is_told_to_the_nanosecond() -> None:
    assert _clock_rows(Clock("unix"), 1_700_000_000_123_456_789)[1] == (
        "Begins at",
        "1,700,000,000,123,456,789 ns = 2023-11-14 22:13:20.123456789 UTC",
    )
    assert _clock_rows(Clock("relative"), 5)[1] == ("Begins at", "5 ns")
    assert _clock_rows(Clock("unix"), (1 << 63) - 1)[1][1].endswith("UTC")


def shortcuts(page: ShortcutsPage) -> dict[str, str]:
    """Keys by what they do, of all tables of the page."""
    return {row[1]: row[0] for table in page.findChildren(CopyTable) for row in rows(table)}


def choose_command(page: ShortcutsPage, meaning: str) -> None:
    for table in page.findChildren(CopyTable):
        for row, texts in enumerate(rows(table)):
            if texts[1] == meaning:
                table.setCurrentCell(row, 0)


def test_every_command_is_on_the_shortcuts_page_with_the_keys_in_force(qtbot: QtBot) -> None:
    page = ShortcutsPage(Settings(None))
    qtbot.addWidget(page)
    told = shortcuts(page)
    assert {command.meaning or command.title for command in TABLE} <= told.keys()
    assert {gesture.title for gesture in GESTURES} <= told.keys()
    assert told["Return to the view before"] == "Alt+Left" and told["Next match"] == "N or F3"


def test_keys_are_changed_on_the_shortcuts_page(window: MainWindow, qtbot: QtBot, load: Callable[[], None]) -> None:
    load()
    window.go_to_page("timeline")
    timeline_page = window.page
    assert isinstance(timeline_page, TimelinePage)
    qtbot.waitUntil(lambda: window.is_final)
    window.go_to_page("shortcuts")
    page = window.page
    assert isinstance(page, ShortcutsPage)
    choose_command(page, "Fit the whole profile")
    qtbot.keyClick(page.edit, Qt.Key.Key_F)
    page.replace.click()
    assert "“Fit the selection; once more: its surroundings” already" in page.message.text()
    assert window.settings.get("keys") == {}
    qtbot.keyClick(page.edit, Qt.Key.Key_0)
    page.replace.click()
    assert window.settings.get("keys") == {"fit_all": ["0"]} and not page.message.isVisible()
    assert shortcuts(page)["Fit the whole profile"] == "0"
    timeline = timeline_page.timeline
    window.go_to_page("timeline")
    window.session.show(10, 20)
    qtbot.keyClick(timeline, Qt.Key.Key_Home)
    assert (timeline.view.begin_ns, timeline.view.end_ns) == (10, 20), "the former key does nothing any more"
    qtbot.keyClick(timeline, Qt.Key.Key_0)
    assert timeline.view.begin_ns <= 0 and timeline.view.end_ns > 20
    page.reset.click()
    assert window.settings.get("keys") == {} and shortcuts(page)["Fit the whole profile"] == "Home"


def test_keys_of_the_window_are_changed_too(window: MainWindow, qtbot: QtBot) -> None:
    window.settings.set("keys", {"page_settings": ["Ctrl+Alt+S"]})
    window.activateWindow()
    qtbot.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier)
    assert window.page_key == "settings"
    window.settings.set("keys", {})
    window.show_page("load")
    qtbot.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier)
    assert window.page_key == "load"


def test_the_timeline_has_a_menu_with_its_keys(window: MainWindow, qtbot: QtBot, load: Callable[[], None]) -> None:
    menu = window._menus.menus["Timeline"]
    parts = [action.menu() for action in menu.actions()]
    entries = {entry.text(): entry for part in parts if isinstance(part, QMenu) for entry in part.actions()}
    assert len(entries) == len(TIMELINE_IDS) and not entries["Fit the whole profile\tHome"].isEnabled()
    load()
    entries["Search all names\t/"].trigger()
    assert window.page_key == "timeline"
    window.settings.set("keys", {"search": []})
    assert entries["Search all names\t/"].text() == "Search all names"


def test_a_choice_on_the_settings_page_takes_effect(window: MainWindow, load: Callable[[], None]) -> None:
    window.show_page("settings")
    box = window.page.findChild(QComboBox)
    assert isinstance(box, QComboBox)
    box.setCurrentText("Dark")
    assert window.settings.get("theme") == "dark"
    window.settings.set("theme", "light")
    assert box.currentText() == "Light"
