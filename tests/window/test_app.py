"""The application as a whole: pictures of pages, the exit, what is imported at the start."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from smprof.profile.manifest import ProfileError
from smprof_desktop import app
from smprof_desktop.session import SliceRef
from smprof_desktop.window.commands import PAGES
from smprof_desktop.window.main_window import MainWindow
from tests.make_profile import write_profile
from tests.window.conftest import TEXT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_profile(tmp_path / "job", TEXT, "job")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", [page.key for page in PAGES])
def test_every_page_is_drawn_in_the_size_asked_for(
    qtbot: QtBot, qapp: QApplication, folder: Path, tmp_path: Path, page: str, theme: str
) -> None:
    out = tmp_path / "page.png"
    app.snapshot([str(folder)], page, out, (900, 600), theme=theme)
    image = QImage(str(out))
    assert (image.width(), image.height()) == (900, 600)
    assert len({image.pixel(x, y) for x in range(0, 900, 7) for y in range(0, 600, 7)}) > 20
    assert (image.pixelColor(890, 50).lightness() > 128) == (theme == "light")


def test_a_picture_is_the_same_every_time(qtbot: QtBot, qapp: QApplication, folder: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        app.snapshot([str(folder)], "dashboard", tmp_path / name, (1000, 700))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_range_and_a_selection_change_the_timeline(
    qtbot: QtBot, qapp: QApplication, folder: Path, tmp_path: Path
) -> None:
    pictures = []
    for index, asked in enumerate(({}, {"range_ns": (10, 30)}, {"range_ns": (10, 30), "select": "gemm"})):
        app.snapshot([str(folder)], "timeline", tmp_path / str(index), (900, 600), **asked)  # type: ignore[arg-type]
        pictures.append((tmp_path / str(index)).read_bytes())
    assert len(set(pictures)) == 3


def test_a_range_changes_the_dashboard(qtbot: QtBot, qapp: QApplication, folder: Path, tmp_path: Path) -> None:
    asked: list[tuple[int, int] | None] = [None, (0, 60), (25, 45), (45, 50)]
    for index, range_ns in enumerate(asked):
        app.snapshot([str(folder)], "dashboard", tmp_path / str(index), (900, 600), range_ns)
    assert len({(tmp_path / str(index)).read_bytes() for index in range(len(asked))}) == len(asked)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"select": "no such kernel"},
            "No slice's name contains 'no such kernel'; check the spelling, capitals count.",
        ),
        (
            {"size": (100_000, 10)},
            "A picture of 100000x10 at scale 1 is not possible; give sides of 1 to 32000 pixels.",
        ),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(
    qtbot: QtBot, qapp: QApplication, folder: Path, tmp_path: Path, arguments: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ProfileError) as raised:
        app.snapshot([str(folder)], "timeline", tmp_path / "x.png", **arguments)  # type: ignore[arg-type]
    assert str(raised.value) == sentence and not (tmp_path / "x.png").exists()


def test_a_picture_that_cannot_be_written_is_one_sentence(
    qtbot: QtBot, qapp: QApplication, folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(ProfileError, match=r"cannot be written to .*nowhere"):
        app.snapshot([str(folder)], "load", tmp_path / "nowhere" / "x.png")


def test_without_a_display_it_says_what_to_do() -> None:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    }
    code = "from smprof_desktop import app, cli; cli.check_targets = lambda _: None; raise SystemExit(cli.main([]))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("smprof-desktop: There is no display") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(("range_ns", "shown"), [((10, 30), (10, 30)), (None, (10, 40))])
def test_the_window_shows_what_the_command_line_asks_for(
    qtbot: QtBot, qapp: QApplication, folder: Path, range_ns: tuple[int, int] | None, shown: tuple[int, int]
) -> None:
    seen: list[object] = []

    def look() -> None:
        window = next(found for found in qapp.topLevelWidgets() if isinstance(found, MainWindow) and found.isVisible())
        session = window.session
        if session.profile is None or not window.is_final:
            return
        seen.extend((window.page_key, session.begin_ns, session.end_ns, session.selection, window.settings.recent()))
        timer.stop()
        window.close()

    timer = QTimer()
    timer.timeout.connect(look)
    timer.start(5)
    assert app.run([str(folder)], "timeline", range_ns, "gemm") == 0
    assert seen == ["timeline", *shown, SliceRef(0, "device", 0), [(str(folder),)]]


def test_a_guards_child_is_ready_once_the_window_is_there_and_goes_with_it(qtbot: QtBot, qapp: QApplication) -> None:
    seen: list[str] = []
    give_up_s = time.monotonic() + 60

    def look() -> None:
        window = next((found for found in qapp.topLevelWidgets() if isinstance(found, MainWindow)), None)
        children = [child.name for child in multiprocessing.active_children() if child.name == "smprof-guard"]
        if window is not None and (children or time.monotonic() > give_up_s):
            seen.extend(children)
            timer.stop()
            window.close()

    timer = QTimer()
    timer.timeout.connect(look)
    timer.start(5)
    assert app.run([]) == 0
    assert seen == ["smprof-guard"]
    assert not [child for child in multiprocessing.active_children() if child.name == "smprof-guard"]


def test_a_display_that_is_not_there_is_one_sentence_and_no_abort() -> None:
    environment = {**os.environ, "DISPLAY": ":4711", "QT_QPA_PLATFORM": "xcb"}
    code = "from smprof_desktop import app; raise SystemExit(app.run([]))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("smprof-desktop: No window can be opened here: ") and done.stderr.count("\n") == 1


def test_ctrl_c_closes_the_window_and_leaves_nothing(folder: Path) -> None:
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from smprof_desktop import app; print('up', flush=True); raise SystemExit(app.run([]))",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None and child.stdout.readline() == "up\n"
        time.sleep(1.5)
        child.send_signal(signal.SIGINT)
        out, errors = child.communicate(timeout=20)
    finally:
        child.kill()
    assert (child.returncode, out, errors) == (0, "", "")


def test_the_window_does_not_wait_for_what_only_pages_need() -> None:
    code = (
        "import sys, smprof_desktop.app\n"
        "print([m for m in ('pyqtgraph', 'boto3', 'pyarrow.parquet', 'pyarrow.dataset', 'msgspec', 'duckdb') if "
        "m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_a_step_and_a_section_of_the_command_line_are_shown(qtbot: QtBot, tmp_path: Path) -> None:
    profile = write_profile(tmp_path / "profile", "annotation 1 0+60 load_1\nannotation 1 70+20 load_2")
    made = {}
    for name, step, section in (("plain", None, None), ("step", "load", None), ("section", None, "Overview")):
        app.snapshot([str(profile)], "dashboard", tmp_path / name, (1280, 2600), step=step, section=section)
        made[name] = (tmp_path / name).read_bytes()
    assert made["plain"] == made["section"] != made["step"]
    with pytest.raises(ProfileError, match="no section"):
        app.snapshot([str(profile)], "dashboard", tmp_path / "none", section="Nope")
