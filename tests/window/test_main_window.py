"""The window: every page by keyboard, loading with progress, cancel, errors, drop, unload, both themes."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QListWidget, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from smprof.profile.guard import Guard
from smprof.profile.manifest import ProfileError
from smprof.profile.reader import Profile
from smprof_desktop import cli
from smprof_desktop.command_table import conflicts
from smprof_desktop.dashboard.legend import Legend
from smprof_desktop.dashboard.view import DashboardView
from smprof_desktop.progress import CancelCheck, Progress
from smprof_desktop.settings import Settings
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.timeline.widget import TimelineWidget
from smprof_desktop.window.commands import COMMANDS, PAGES, TABLE
from smprof_desktop.window.fields import CopyTable
from smprof_desktop.window.loading_line import LoadingLine
from smprof_desktop.window.main_window import MainWindow
from smprof_desktop.window.timeline_page import TimelinePage
from tests.make_profile import write_profile
from tests.window.conftest import Loader

Widget = TypeVar("Widget", bound=QWidget)


def press(qtbot: QtBot, window: MainWindow, keys: str) -> None:
    """Press a key sequence on whatever has the keyboard."""
    combination = QKeySequence(keys)[0]  # type: ignore[index]
    QTest.keyClick(QApplication.focusWidget() or window, combination.key(), combination.keyboardModifiers())


def button(window: MainWindow, text: str) -> QPushButton:
    """The button of that text on the page that is shown."""
    return next(found for found in window.page.findChildren(QPushButton) if found.text() == text and found.isVisible())


def child(parent: QWidget, kind: type[Widget], name: str = "") -> Widget:
    """The one widget of that kind, and name if given."""
    found = parent.findChild(kind, name) if name else parent.findChild(kind)
    assert isinstance(found, kind)
    return found


def drop(window: MainWindow, urls: list[QUrl]) -> None:
    """Drag URLs over the window and let go."""
    data = QMimeData()
    data.setUrls(urls)
    where, action, keys = QPointF(300, 300), Qt.DropAction.CopyAction, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(where.toPoint(), action, data, Qt.MouseButton.LeftButton, keys)
    QApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(window, QDropEvent(where, action, data, Qt.MouseButton.LeftButton, keys))


@pytest.mark.parametrize("number", range(1, len(PAGES) + 1))
def test_every_page_has_a_key(window: MainWindow, qtbot: QtBot, number: int) -> None:
    press(qtbot, window, f"Ctrl+{number}")
    assert window.page_key == PAGES[number - 1].key and window.page.isVisible()
    labels = [found.text() for found in window.findChildren(QLabel, "page_title")]
    assert labels == [PAGES[number - 1].title]


def test_the_left_pane_is_walked_with_the_arrow_keys(window: MainWindow, qtbot: QtBot) -> None:
    navigation = child(window, QListWidget, "navigation")
    navigation.setFocus()
    seen = [window.page_key]
    for _ in PAGES[1:]:
        QTest.keyClick(navigation, Qt.Key.Key_Down)
        seen.append(window.page_key)
    assert seen == [page.key for page in PAGES]


@pytest.mark.parametrize("page", [page.key for page in PAGES])
def test_every_control_is_reached_by_tab(window: MainWindow, qtbot: QtBot, load: Callable[[], None], page: str) -> None:
    load()
    window.show_page(page)
    qtbot.wait(5)
    kinds = (QPushButton, QLineEdit, QListWidget)
    controls = {found for kind in kinds for found in window.page.findChildren(kind) if found.isVisible()}
    controls = {found for found in controls if found.isEnabled()}
    reached: set[QWidget] = set()
    widget: QWidget | None = window
    for _ in range(500):
        widget = widget.nextInFocusChain() if widget is not None else None
        if widget is not None and widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
            reached.add(widget)
    assert controls <= reached


def test_f6_switches_between_pane_and_page(window: MainWindow, qtbot: QtBot) -> None:
    window.show_page("settings")
    navigation = child(window, QListWidget, "navigation")
    navigation.setFocus()
    press(qtbot, window, "F6")
    focused = QApplication.focusWidget()
    assert focused is not None and window.page.isAncestorOf(focused)
    press(qtbot, window, "F6")
    assert QApplication.focusWidget() is navigation


def test_the_timeline_has_the_keyboard_once_it_is_shown(
    window: MainWindow, qtbot: QtBot, load: Callable[[], None]
) -> None:
    load()
    navigation = child(window, QListWidget, "navigation")
    navigation.setFocus()
    press(qtbot, window, "Ctrl+3")
    timeline = child(window.page, TimelineWidget)
    assert QApplication.focusWidget() is timeline
    qtbot.waitUntil(lambda: window.is_final)
    span_ns = window.session.end_ns - window.session.begin_ns
    press(qtbot, window, "W")
    assert window.session.end_ns - window.session.begin_ns < span_ns
    window.show_page("load")
    place = navigation.visualItemRect(navigation.item(2)).center()
    QTest.mouseClick(navigation.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert window.page_key == "timeline" and QApplication.focusWidget() is timeline


@pytest.mark.parametrize(("page", "kind"), [("timeline", TimelineWidget), ("load", QLineEdit)])
def test_a_page_that_is_gone_to_before_the_window_is_shown_has_the_keyboard(
    window: MainWindow, qtbot: QtBot, page: str, kind: type[QWidget]
) -> None:
    window.hide()
    window.go_to_page(page)
    window.show()
    assert window.focusWidget() is child(window.page, kind)


def test_letters_in_the_left_pane_switch_no_page(window: MainWindow, qtbot: QtBot) -> None:
    navigation = child(window, QListWidget, "navigation")
    navigation.setFocus()
    for letter in "wasdf[tik":
        QTest.keyClicks(navigation, letter)
        assert window.page_key == "load"


def test_following_a_row_of_the_details_leaves_the_keyboard_in_the_timeline(
    window: MainWindow, qtbot: QtBot, load: Callable[[], None]
) -> None:
    load()
    window.go_to_page("timeline")
    window.session.select(SliceRef(0, "device", 0))
    qtbot.waitUntil(lambda: window.is_final)
    page = window.page
    assert isinstance(page, TimelinePage)
    table = child(page.details, CopyTable)
    table.setFocus()
    row = next(row for row in range(table.rowCount()) if "cudaLaunchKernel" in table.texts(row))
    table.setCurrentCell(row, 0)
    QTest.keyClick(table, Qt.Key.Key_Return)
    assert window.session.selection == SliceRef(0, "host", 0)
    assert QApplication.focusWidget() is child(window.page, TimelineWidget)


def test_the_sample_profile_is_opened_from_the_menu_and_the_load_page(window: MainWindow, qtbot: QtBot) -> None:
    action = next(found for command, found in window._actions if command.id == "open_sample")
    for ask in (action.trigger, button(window, "Open the sample profile").click):
        ask()
        qtbot.waitUntil(lambda: window.is_final and window.session.profile is not None)
        assert window.session.profile is not None and window.session.profile.manifest.synthetic
        window.unload()


def test_no_key_is_given_twice_and_every_slot_is_there(window: MainWindow) -> None:
    keys = [key for command in TABLE for key in command.keys]
    assert conflicts(TABLE) == [] and all(QKeySequence(key).count() == 1 for key in keys)
    assert len({QKeySequence(key).toString() for key in keys}) == len(keys)
    assert all(callable(getattr(window, command.slot)) for command in COMMANDS)


def test_the_command_line_knows_the_same_pages() -> None:
    assert tuple(page.key for page in PAGES) == cli.PAGES


def test_loading_leads_to_the_dashboard(window: MainWindow, load: Callable[[], None], folder: Path) -> None:
    load()
    assert window.page_key == "dashboard"
    assert window.windowTitle() == "job<1> & co — SMProf Desktop"
    assert window.settings.recent() == [(str(folder),)]


def test_progress_is_plain_text_with_a_cancel(window: MainWindow, qtbot: QtBot, loader: Loader, folder: Path) -> None:
    loader.hold = True
    window.load([str(folder)])
    qtbot.waitUntil(lambda: any(found.text() == "Reading <b>this</b>" for found in window.findChildren(QLabel)))
    assert all(found.textFormat() == Qt.TextFormat.PlainText for found in window.findChildren(QLabel))
    assert not window.is_final
    button(window, "Cancel").click()
    qtbot.waitUntil(lambda: window.is_final)
    assert window.load_page.error == "Loading was cancelled; nothing was changed."
    assert window.session.profile is None and window.tasks.is_idle


def test_every_page_tells_what_is_being_loaded(
    window: MainWindow, qtbot: QtBot, loader: Loader, load: Callable[[], None], folder: Path
) -> None:
    load()
    loader.hold = True
    window.load([str(folder)])
    line = child(window, LoadingLine)
    for page in PAGES:
        window.show_page(page.key)
        qtbot.waitUntil(
            lambda: any(
                found.isVisible() for found in window.findChildren(QLabel) if found.text() == "Reading <b>this</b>"
            )
        )
        assert line.isVisible() == (page.key != "load")
    QTest.mouseClick(child(line, QPushButton), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.is_final)
    assert not line.isVisible() and window.session.profile is not None


def test_closing_while_loading_is_at_once(window: MainWindow, loader: Loader, folder: Path) -> None:
    loader.hold = True
    window.load([str(folder)])
    assert window.close() and window.tasks.is_idle


def test_an_error_is_one_sentence_on_the_page_and_keeps_the_profile(
    window: MainWindow, qtbot: QtBot, load: Callable[[], None]
) -> None:
    load()
    window.load(["/nowhere/<x>"])
    qtbot.waitUntil(lambda: bool(window.load_page.error))
    assert window.page_key == "load"
    assert window.load_page.error == "There is nothing at /nowhere/<x>; check the path."
    assert window.session.profile is not None


def test_a_profile_that_a_page_cannot_show_is_refused_in_one_sentence(
    window: MainWindow, qtbot: QtBot, folder: Path
) -> None:
    def cannot(profile: object) -> None:
        if profile is not None:
            raise ProfileError("A segment is damaged; load the profile again.")

    window.session.profile_changed.connect(cannot)
    window.load([str(folder)])
    qtbot.waitUntil(lambda: bool(window.load_page.error))
    assert window.load_page.error == "A segment is damaged; load the profile again."
    assert window.session.profile is None and window.page_key == "load"
    window.session.profile_changed.disconnect(cannot)


def test_the_newest_of_two_loads_counts(window: MainWindow, qtbot: QtBot, loader: Loader, folder: Path) -> None:
    loader.hold = True
    window.load(["/first"])
    window.load([str(folder)])
    loader.go.set()
    qtbot.waitUntil(lambda: window.session.profile is not None)
    qtbot.waitUntil(lambda: window.tasks.is_idle)
    assert window.load_page.error == "" and window.page_key == "dashboard"


def test_a_dropped_file_is_loaded(window: MainWindow, qtbot: QtBot, loader: Loader, folder: Path) -> None:
    window.show_page("settings")
    drop(window, [QUrl.fromLocalFile(str(folder))])
    qtbot.waitUntil(lambda: window.session.profile is not None)
    assert loader.asked == [(str(folder),)]


def test_several_dropped_files_are_one_profile(window: MainWindow, qtbot: QtBot, loader: Loader) -> None:
    drop(window, [QUrl.fromLocalFile("/a.json"), QUrl.fromLocalFile("/b.json")])
    qtbot.waitUntil(lambda: bool(loader.asked))
    assert loader.asked == [("/a.json", "/b.json")]


def test_a_dropped_web_address_is_refused_in_one_sentence(window: MainWindow, loader: Loader) -> None:
    drop(window, [QUrl("https://example.com/trace.json")])
    assert "not a file on this machine" in window.load_page.error and loader.asked == []


@pytest.mark.parametrize("page", [page.key for page in PAGES])
def test_nothing_on_a_page_swallows_a_drop(window: MainWindow, load: Callable[[], None], page: str) -> None:
    load()
    window.show_page(page)
    assert [found for found in window.page.findChildren(QWidget) if found.acceptDrops() and found.isVisible()] == []


def test_unloading_leaves_the_load_page(window: MainWindow, qtbot: QtBot, load: Callable[[], None]) -> None:
    load()
    for page in PAGES:
        window.show_page(page.key)
    window.show_page("load")
    button(window, "Unload").click()
    assert window.session.profile is None and window.page_key == "load" and window.windowTitle() == "SMProf Desktop"
    for page in PAGES:
        window.show_page(page.key)
        assert window.is_final


def descriptors() -> set[str]:
    """What the program has open on disk and to others, as the system names it; what is garbage is not held."""
    gc.collect()
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"/proc/self/fd/{name}"))
    return {name for name in found if "job" in name or "smprof-" in name or name.startswith("pipe:")}


@pytest.fixture
def guarded(window: MainWindow) -> Callable[[], list[str]]:
    """Profiles are read by a guard first; what is left of guards: children and copies."""
    resource_tracker.ensure_running()  # one for all children there will ever be
    before = {child.pid for child in multiprocessing.active_children()}
    folders = set(Path(tempfile.gettempdir()).glob("smprof-*"))

    def open_guarded(targets: Sequence[str], progress: Progress, cancelled: CancelCheck) -> Profile:
        profile = Profile.open(Path(targets[0]), Guard())
        for process in profile.processes:
            process.table("device")
        progress(0.5, "opened")
        deadline = time.monotonic() + 5
        while "slow" in targets[0] and not cancelled() and time.monotonic() < deadline:
            time.sleep(0.002)
        return profile

    def left() -> list[str]:
        children = [f"child {c.pid}" for c in multiprocessing.active_children() if c.pid not in before]
        return children + [str(found) for found in set(Path(tempfile.gettempdir()).glob("smprof-*")) - folders]

    window._open_targets = open_guarded
    return left


def damaged(folder: Path, name: str) -> Path:
    """A copy whose segments the guard has to piece together."""
    copy = folder.parent / name
    shutil.copytree(folder, copy)
    for journal in copy.rglob("journal*"):
        journal.unlink()
    return copy


def test_unloaded_and_replaced_profiles_leave_nothing_open(
    window: MainWindow, qtbot: QtBot, guarded: Callable[[], list[str]], folder: Path
) -> None:
    first, second = damaged(folder, "job-1"), damaged(folder, "job-2")
    before = descriptors()
    window.load([str(first)])
    qtbot.waitUntil(lambda: window.session.profile is not None)
    for page in PAGES:
        window.show_page(page.key)
    assert sum(entry.startswith("child") for entry in guarded()) == 1
    one = window.session.profile
    window.load([str(second)])
    qtbot.waitUntil(lambda: window.session.profile is not one)
    qtbot.waitUntil(lambda: sum(entry.startswith("child") for entry in guarded()) == 1 and len(guarded()) == 2)
    window.unload()
    qtbot.waitUntil(lambda: window.tasks.is_idle)
    assert guarded() == [] and descriptors() == before


def test_a_cancelled_and_a_superseded_load_leave_nothing_open(
    window: MainWindow, qtbot: QtBot, guarded: Callable[[], list[str]], folder: Path
) -> None:
    slow, other = damaged(folder, "slow job"), damaged(folder, "slow job 2")
    before = descriptors()
    window.load([str(slow)])
    qtbot.waitUntil(lambda: bool(guarded()))
    window.load([str(other)])
    qtbot.waitUntil(lambda: len(guarded()) >= 2)
    window.cancel_loading()
    qtbot.waitUntil(lambda: window.tasks.is_idle)
    assert guarded() == [] and descriptors() == before


def test_closing_ends_within_a_second_whatever_runs(
    window: MainWindow, qtbot: QtBot, guarded: Callable[[], list[str]], folder: Path
) -> None:
    window.load([str(damaged(folder, "job-1"))])
    qtbot.waitUntil(lambda: window.session.profile is not None)
    window.load([str(damaged(folder, "slow job"))])
    qtbot.waitUntil(lambda: len(guarded()) >= 3)
    began_s = time.monotonic()
    window.close()
    assert time.monotonic() - began_s < 5  # what it closes would go on for a minute
    assert guarded() == []


def test_a_load_begins_while_the_pages_keep_every_worker(
    window: MainWindow, qtbot: QtBot, load: Callable[[], None], folder: Path
) -> None:
    load()
    go = threading.Event()
    for number in range(4):
        window.tasks.start(f"busy {number}", lambda progress, cancelled: go.wait(10))
    first = window.session.profile
    window.load([str(folder)])
    qtbot.waitUntil(lambda: window.session.profile is not first)
    go.set()


def test_a_path_is_typed_and_loaded_with_enter(window: MainWindow, qtbot: QtBot, loader: Loader, folder: Path) -> None:
    path = child(window.page, QLineEdit)
    QTest.keyClicks(path, f'  "{folder}" ')
    QTest.keyClick(path, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.session.profile is not None)
    assert loader.asked == [(str(folder),)]


def test_a_recent_target_is_loaded_with_enter_and_forgotten_with_delete(
    window: MainWindow, qtbot: QtBot, loader: Loader, settings: Settings, folder: Path
) -> None:
    settings.add_recent((str(folder),))
    settings.add_recent(("/old/one",))
    recent = child(window.page, QListWidget)
    recent.setFocus()
    recent.setCurrentRow(0)
    QTest.keyClick(recent, Qt.Key.Key_Delete)
    assert settings.recent() == [(str(folder),)]
    recent.setCurrentRow(0)
    QTest.keyClick(recent, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.session.profile is not None)
    assert loader.asked == [(str(folder),)]


def test_a_synthetic_profile_says_so_on_every_page(window: MainWindow, qtbot: QtBot, folder: Path) -> None:
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"synthetic": false', '"synthetic": true'))
    window.load([str(folder)])
    qtbot.waitUntil(lambda: window.session.profile is not None)
    for page in PAGES:
        window.show_page(page.key)
        shown = [found.text() for found in window.findChildren(QLabel) if found.isVisible()]
        assert "SYNTHETIC" in shown
    assert "(synthetic)" in window.windowTitle()


def test_the_other_theme_repaints_every_page(window: MainWindow, qtbot: QtBot, load: Callable[[], None]) -> None:
    load()
    for page in PAGES:
        window.show_page(page.key)
        qtbot.waitUntil(lambda: window.is_final)
    for theme, is_dark in (("dark", True), ("light", False), ("dark", True)):
        window.settings.set("theme", theme)
        for page in PAGES:
            window.show_page(page.key)
            qtbot.wait(1)
            image = window.grab().toImage()
            lightness = sorted(
                image.pixelColor(x, y).lightness()
                for x in range(9, image.width(), 40)
                for y in range(9, image.height(), 40)
            )
            median = lightness[len(lightness) // 2]
            assert (median < 80) if is_dark else (median > 175), (theme, page.key, median)


def test_the_loaded_profile_section(window: MainWindow, load: Callable[[], None]) -> None:
    load()
    window.show_page("load")
    table = child(window.page, CopyTable)
    rows = {name: value for name, value in map(table.texts, range(table.rowCount()))}  # noqa: C416 - mypy sees no pairs
    assert rows == {
        "Name": "job<1> & co",
        "Hosts": "1: algo-1",
        "Processes": "1, ranks 0",
        "Devices": "1: NVIDIA H100",
        "Span": "60 ns",
        "Slices": "4",
        "Losses": "3 — see Information",
    }
    table.copy_selected()
    assert QGuiApplication.clipboard().text().splitlines()[1] == "Hosts\t1: algo-1"


def test_the_geometry_is_kept(window: MainWindow, settings: Settings) -> None:
    window.resize(700, 500)
    window.close()
    other = MainWindow(window.session, window.tasks, settings, window._open_targets)
    assert (other.width(), other.height()) == (700, 500)
    other.deleteLater()


def test_back_and_forward_by_key(window: MainWindow, qtbot: QtBot, load: Callable[[], None]) -> None:
    load()
    window.session.show(10, 20)
    press(qtbot, window, "Alt+Left")
    assert (window.session.begin_ns, window.session.end_ns) == (0, 60)
    press(qtbot, window, "Alt+Right")
    assert (window.session.begin_ns, window.session.end_ns) == (10, 20)


def test_a_kernel_of_the_dashboard_leads_to_its_longest_execution(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    text = (
        "process 0\nkernel 0/7 100+30 gemm\nkernel 0/7 1000+40 gemm\nkernel 0/7 2000+10 relu\n"
        "process 1\nkernel 0/7 500+20 gemm\nkernel 0/7 700+15 relu"
    )
    window.load([str(write_profile(tmp_path / "kernels", text))])
    qtbot.waitUntil(lambda: window.is_final and window.session.profile is not None)
    dashboard = window.page
    assert isinstance(dashboard, DashboardView)

    def opened(key: str, name: str) -> tuple[SliceRef | None, int, int]:
        window.show_page("dashboard")
        qtbot.waitUntil(lambda: window.is_final)
        legend = next(card for card in dashboard.cards if card.panel.key == key).findChild(Legend)
        assert isinstance(legend, Legend)
        legend.selectRow([row[0] for row in legend.rows.rows].index(name))
        qtbot.keyClick(legend, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: window.page_key == "timeline" and window.is_final)
        return window.session.selection, window.session.begin_ns, window.session.end_ns

    assert opened("top_kernels_by_time", "gemm") == (SliceRef(0, "device", 1), 960, 1080)
    assert opened("top_kernels_by_count", "relu") == (SliceRef(1, "device", 1), 685, 730)
    window.go_back()
    assert (window.session.begin_ns, window.session.end_ns) == (960, 1080)
    dashboard.show_range(90, 600)
    assert opened("top_kernels_by_time", "gemm") == (SliceRef(0, "device", 0), 70, 160)
    assert window.session.profile is not None
    timeline = window.page.findChild(TimelineWidget)
    assert isinstance(timeline, TimelineWidget)
    assert (timeline.view.begin_ns, timeline.view.end_ns) == (70, 160)
