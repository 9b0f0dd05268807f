"""What leads out of the window: links that open the same view, excerpts with their marks, pictures; the Marks pane."""

from __future__ import annotations

import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit
from pytestqt.qtbot import QtBot

from smprof.profile.reader import Profile
from smprof_desktop import app, cli
from smprof_desktop.notes import Notes
from smprof_desktop.session import Area, Session
from smprof_desktop.settings import Settings
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline import marks
from smprof_desktop.timeline.draw_list import DrawList, Rects
from smprof_desktop.timeline.marks import Mark
from smprof_desktop.timeline.widget import TimelineWidget
from smprof_desktop.window.excerpt_dialog import ExcerptDialog
from smprof_desktop.window.main_window import MainWindow
from smprof_desktop.window.marks_pane import LENGTH, TEXT, TIME
from smprof_desktop.window.sharing import SVG
from smprof_desktop.window.timeline_page import TimelinePage
from tests.make_profile import write_profile
from tests.window.conftest import Loader

PROFILE = "\n".join(
    [
        "process 0 pid=1 window=0:100000",
        "thread 1 main",
        'device 0 "NVIDIA H100" used',
        "annotation 1 0+40000 step_0",
        "annotation 1 50000+50000 step_1",
        "api 1 10000+2000 cudaLaunchKernel corr=5",
        'kernel 0/7 30000+20000 "gemm<float> & co" corr=5',
        *(f"kernel 0/{stream} {40_000 + stream * 100}+9000 kernel_{stream}" for stream in range(8, 40)),
        "op 1 9000+5000 /home/alice/model.py(3):forward",
    ]
)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A profile on disk, of which no byte may change whatever is done with it."""
    made = write_profile(tmp_path / "my run's", PROFILE, "my run")
    before = bytes_of(made)
    yield made
    assert bytes_of(made) == before


class Windows:
    """Makes windows that keep notes, and closes them."""

    def __init__(self, qtbot: QtBot) -> None:
        self._qtbot = qtbot
        self._made: list[MainWindow] = []

    def open(self) -> MainWindow:
        window = MainWindow(Session(Notes.of), Tasks(), Settings(None), Loader())
        self._qtbot.addWidget(window)
        window.resize(1280, 800)
        window.statusBar()  # once there, it takes room
        window.show()
        window.activateWindow()
        self._qtbot.waitExposed(window)
        self._made.append(window)
        return window

    def close(self) -> None:
        for window in self._made:
            window.close()
            assert window.tasks.close()


@pytest.fixture
def windows(qtbot: QtBot) -> Iterator[Windows]:
    made = Windows(qtbot)
    yield made
    made.close()


@pytest.fixture
def shown(qtbot: QtBot, windows: Windows, folder: Path) -> MainWindow:
    """A window that shows the profile on the Timeline page."""
    window = windows.open()
    window.load([str(folder)], lambda: window.go_to_page("timeline"))
    qtbot.waitUntil(lambda: window.is_final and window.session.profile is not None and window.page_key == "timeline")
    qtbot.waitUntil(lambda: timeline_of(window).scene is not None and window.is_final)
    return window


def page_of(window: MainWindow) -> TimelinePage:
    page = window.page
    assert isinstance(page, TimelinePage)
    return page


def timeline_of(window: MainWindow) -> TimelineWidget:
    return page_of(window).timeline


def drawn(timeline: TimelineWidget) -> dict[str, Any]:
    """What is drawn, but for where the keyboard and the pointer are."""
    drawing = timeline.draw_list()
    assert drawing is not None
    headers = tuple(header._replace(is_focused=False, is_hovered=False) for header in drawing.headers)
    values: dict[str, Any] = {}
    for name, value in vars(replace(drawing, headers=headers)).items():
        is_rects = isinstance(value, Rects)
        values[name] = {key: column.tolist() for key, column in vars(value).items()} if is_rects else value
    return values


def copied_link(window: MainWindow, qtbot: QtBot) -> str:
    QGuiApplication.clipboard().setText("")
    qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() != "")
    return QGuiApplication.clipboard().text()


def opened_by(line: str, windows: Windows, qtbot: QtBot) -> MainWindow:
    """The window that a command line opens, but for the process around it."""
    program, *words = shlex.split(line)
    assert program == "smprof-desktop"
    options = cli._parse(words)
    window = windows.open()
    window.load(
        options.targets,
        lambda: app._show_asked(window, options.page, options.range_ns, options.select, options.lanes),
    )
    qtbot.waitUntil(lambda: window.session.profile is not None and window.page_key == options.page)
    if options.page == "timeline":
        qtbot.waitUntil(lambda: timeline_of(window).scene is not None and not timeline_of(window).restoring.is_waiting)
    qtbot.waitUntil(lambda: window.is_final and window.tasks.is_idle)
    return window


def arranged(window: MainWindow, qtbot: QtBot) -> None:
    """Move, select, open, pin and hide as a user would, then scroll."""
    timeline = timeline_of(window)
    tree = timeline.opened_scene().tree
    window.session.select(SliceRef(0, "device", 20))
    qtbot.waitUntil(lambda: window.is_final)
    window.session.show(-500, 70_000)
    streams = [lane.key for lane in tree.walk() if lane.kind == "stream"]
    threads = next(lane.key for lane in tree.walk() if lane.kind == "threads")
    timeline.set_expanded(timeline.expanded - {threads})
    timeline.arranging.toggle_pin(streams[3])
    timeline.arranging.hide(streams[5])
    timeline.arranging.move(1, streams[7])
    placed = timeline.opened_scene().placed(timeline.frame())
    at = placed.layout.index[streams[9]]
    timeline.verticalScrollBar().setValue(round(float(placed.layout.top_px[at]) - placed.stuck_px))
    qtbot.waitUntil(lambda: window.is_final)


@pytest.mark.skipif(sys.platform == "win32", reason="what shlex reads is a POSIX shell's line")
def test_a_copied_link_opens_the_same_view(shown: MainWindow, windows: Windows, qtbot: QtBot, folder: Path) -> None:
    arranged(shown, qtbot)
    line = copied_link(shown, qtbot)
    assert timeline_of(shown).verticalScrollBar().value() > 0
    notes_before = folder.with_name("my run's.notes.json").read_bytes()
    Notes.of(Profile.open(folder)).set("pinned", [])  # whoever opens the link has other notes
    other = opened_by(line, windows, qtbot)
    first, second = timeline_of(shown), timeline_of(other)
    assert (other.session.begin_ns, other.session.end_ns) == (shown.session.begin_ns, shown.session.end_ns)
    assert other.session.selection == shown.session.selection == SliceRef(0, "device", 20)
    every = {lane.key for lane in first.opened_scene().tree.walk() if lane.can_expand}
    assert second.expanded & every == first.expanded & every
    assert second.verticalScrollBar().value() == first.verticalScrollBar().value()
    assert drawn(second) == drawn(first)
    # To look is not to note.
    assert Notes.of(Profile.open(folder)).get("pinned") == []
    folder.with_name("my run's.notes.json").write_bytes(notes_before)


@pytest.mark.skipif(sys.platform == "win32", reason="what shlex reads is a POSIX shell's line")
def test_a_copied_link_with_nothing_changed_is_short_and_opens_the_page(
    shown: MainWindow, windows: Windows, qtbot: QtBot, folder: Path
) -> None:
    line = copied_link(shown, qtbot)
    assert shlex.split(line)[1:] == [str(folder), "--page=timeline", "--range=0:100000"]
    shown.go_to_page("information")
    assert shlex.split(copied_link(shown, qtbot))[1:] == [str(folder), "--page=information"]
    assert drawn(timeline_of(opened_by(line, windows, qtbot))) == drawn(timeline_of_built(shown))


def timeline_of_built(window: MainWindow) -> TimelineWidget:
    window.go_to_page("timeline")
    return timeline_of(window)


@pytest.mark.skipif(sys.platform == "win32", reason="what shlex reads is a POSIX shell's line")
def test_a_copied_link_makes_the_same_snapshot_as_its_parts(
    shown: MainWindow, qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> None:
    arranged(shown, qtbot)
    words = shlex.split(copied_link(shown, qtbot))[1:]
    pictures = []
    for number, options in enumerate((words, words, [word for word in words if not word.startswith("--lanes")])):
        out = tmp_path / f"{number}.png"
        assert cli.main(["snapshot", *options, "-o", str(out)]) == 0
        pictures.append(out.read_bytes())
    assert pictures[0] == pictures[1] != pictures[2]


def test_lanes_that_are_none_are_refused_in_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([str(folder), "--lanes=fly:a"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "fly:a" in said


def test_the_picture_is_saved_as_png_and_svg(
    shown: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks.add(shown.session.notes, Mark(20_000, 20_000, "a <b> & c"))
    qtbot.waitUntil(lambda: shown.is_final)
    for name, kind in (("x.png", ""), ("x", SVG)):
        monkeypatch.setattr(
            QFileDialog, "getSaveFileName", lambda *_, name=name, kind=kind: (str(tmp_path / name), kind)
        )
        qtbot.keyClick(shown, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    drawing = timeline_of(shown).draw_list()
    assert drawing is not None
    image = QImage(str(tmp_path / "x.png"))
    assert (image.width(), image.height()) == (round(drawing.width_px), round(drawing.height_px))
    root = ElementTree.parse(tmp_path / "x.svg").getroot()
    texts = {"".join(node.itertext()) for node in root.iter() if node.tag.endswith("text")}
    assert {"a <b> & c", "step_0", "step_1", "gemm<float> & co", "stream 7"} <= texts
    assert {label.text for label in drawing.labels} <= texts
    assert rects_of(root) >= filled(drawing)


def rects_of(root: ElementTree.Element) -> Counter[tuple[int, ...]]:
    """Rectangles of an SVG: x, y, width, height."""
    found: Counter[tuple[int, ...]] = Counter()
    for node in root.iter():
        if node.tag.endswith("rect"):
            found[tuple(round(float(node.attrib[key])) for key in ("x", "y", "width", "height"))] += 1
    return found


def filled(drawing: DrawList) -> Counter[tuple[int, ...]]:
    """The same of the slices and columns of a draw list."""
    found: Counter[tuple[int, ...]] = Counter()
    for rects in (drawing.slices, drawing.columns, drawing.ticks):
        for x, y, width, height in zip(rects.x_px, rects.y_px, rects.width_px, rects.height_px, strict=True):
            left, top = round(x), round(y)
            found[left, top, max(round(x + width) - left, 1), max(round(y + height) - top, 1)] += 1
    return found


def dialog_of(window: MainWindow, qtbot: QtBot) -> ExcerptDialog:
    qtbot.keyClick(window, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    dialog = window.findChild(ExcerptDialog)
    assert isinstance(dialog, ExcerptDialog)
    qtbot.waitUntil(lambda: dialog.findings.rowCount() > 0)
    return dialog


def test_an_excerpt_of_the_visible_range_takes_its_marks_along(shown: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    for mark in (
        Mark(45_000, 45_000, "see /home/alice/notes.txt"),
        Mark(10_000, 41_000, "reaches in"),
        Mark(80_000, 80_000, "outside"),
    ):
        marks.add(shown.session.notes, mark)
    shown.session.show(40_000, 60_000)
    dialog = dialog_of(shown, qtbot)
    kinds = {dialog.findings.texts(row)[0] for row in range(dialog.findings.rowCount())}
    assert "path" in kinds or "user" in kinds
    dialog.out.setText(str(tmp_path / "excerpt"))
    qtbot.mouseClick(dialog.export, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.note.text().startswith("Written"))
    written = Profile.open(tmp_path / "excerpt")
    assert "step_1" in written.processes[0].names.texts
    kept = marks.marks_of(Notes.of(written))
    assert [(mark.begin_ns, mark.end_ns) for mark in kept] == [(10_000, 41_000), (45_000, 45_000)]
    assert kept[0].text == "reaches in"
    assert "alice" not in kept[1].text
    assert "alice" not in "".join(written.processes[0].names.texts)
    qtbot.mouseClick(dialog.close_button, Qt.MouseButton.LeftButton)


def test_an_excerpt_of_the_selected_area_as_json_with_everything_kept(
    shown: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    shown.session.select_area(Area(9_000, 13_000))
    dialog = dialog_of(shown, qtbot)
    dialog.as_chrome.click()
    assert dialog.out.text().endswith("excerpt.json.gz")
    assert dialog.note.text().startswith("This is taken out")
    dialog.redacts.click()
    assert dialog.note.text().startswith("This stays")
    dialog.out.setText(str(tmp_path / "part.json"))
    qtbot.mouseClick(dialog.export, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.note.text().startswith("Written"))
    text = (tmp_path / "part.json").read_text()
    assert "alice" in text
    assert "cudaLaunchKernel" in text
    assert "kernel_20" not in text
    dialog.close()


def test_an_excerpt_never_goes_into_the_open_profile_and_can_be_cancelled(
    shown: MainWindow, qtbot: QtBot, folder: Path, tmp_path: Path
) -> None:
    dialog = dialog_of(shown, qtbot)
    for out in (folder, folder / "part", folder / ".." / folder.name / "x"):
        dialog.out.setText(str(out))
        qtbot.mouseClick(dialog.export, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: dialog.export.isEnabled())
        assert "lies in the profile" in dialog.note.text()
    dialog.out.setText(str(tmp_path / "cancelled"))
    qtbot.mouseClick(dialog.export, Qt.MouseButton.LeftButton)
    assert dialog.close_button.text() == "Cancel"
    qtbot.mouseClick(dialog.close_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.export.isEnabled())
    assert "nothing was written" in dialog.note.text()
    assert not (tmp_path / "cancelled").exists()
    shown.unload()  # what the dialog is about is gone
    qtbot.waitUntil(lambda: shown.findChild(ExcerptDialog) is None)


def test_the_marks_pane_lists_sorts_goes_to_edits_copies_and_removes(shown: MainWindow, qtbot: QtBot) -> None:
    page, timeline = page_of(shown), timeline_of(shown)
    for mark in (Mark(70_000, 70_000, "beta"), Mark(20_000, 22_000, "alpha"), Mark(50_000, 50_000, "gamma")):
        marks.add(shown.session.notes, mark)
    qtbot.keyClick(timeline, Qt.Key.Key_M, Qt.KeyboardModifier.AltModifier)
    pane, table = page.marks, page.marks.table
    assert page.panes.currentWidget() is pane
    assert [table.texts(row)[TEXT] for row in range(3)] == ["alpha", "gamma", "beta"]
    assert table.texts(0)[LENGTH] == "2 µs"
    table.sortByColumn(TEXT, Qt.SortOrder.AscendingOrder)
    assert [table.texts(row)[TEXT] for row in range(3)] == ["alpha", "beta", "gamma"]
    shown.session.show(40_000, 80_000)
    item = table.item(2, TIME)
    assert item is not None
    place = table.visualItemRect(item).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert timeline.marking.selected == Mark(50_000, 50_000, "gamma")
    assert (timeline.view.begin_ns + timeline.view.end_ns) // 2 == pytest.approx(50_000, abs=50)
    timeline.marking.go_to(Mark(20_000, 22_000, "alpha"))
    assert table.currentRow() == 0  # the row of the flag that was gone to
    table.setFocus()
    table.setCurrentCell(2, TEXT)
    qtbot.keyClick(table, Qt.Key.Key_F2)
    editor = table.findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    editor.selectAll()
    qtbot.keyClicks(editor, "aaa")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: Mark(50_000, 50_000, "aaa") in marks.marks_of(shown.session.notes))
    qtbot.waitUntil(lambda: [table.texts(row)[TEXT] for row in range(3)] == ["aaa", "alpha", "beta"])
    table.clearSelection()
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert re.fullmatch(r".* s\t\taaa\n.* s\t2 µs\talpha\n.* s\t\tbeta", QGuiApplication.clipboard().text())
    table.selectRow(1)
    qtbot.keyClick(table, Qt.Key.Key_Delete)
    assert [mark.text for mark in marks.marks_of(shown.session.notes)] == ["aaa", "beta"]
    table.selectAll()
    qtbot.keyClick(table, Qt.Key.Key_Delete)
    assert pane.is_empty
    assert marks.marks_of(shown.session.notes) == ()


def test_damaged_notes_are_told_of_along_the_bottom(windows: Windows, qtbot: QtBot, folder: Path) -> None:
    folder.with_name("my run's.notes.json").write_text("{")
    window = windows.open()
    window.load([str(folder)])
    qtbot.waitUntil(lambda: "damaged" in window.statusBar().currentMessage())
