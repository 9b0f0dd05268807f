"""A main window on settings in memory, whose loading the test controls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from smprof.profile.manifest import ProfileError
from smprof.profile.reader import Profile
from smprof_desktop.progress import CancelCheck, Cancelled, Progress
from smprof_desktop.session import Session
from smprof_desktop.settings import Settings
from tests.make_profile import write_profile

if TYPE_CHECKING:  # this file is read also where there is no Qt
    from PySide6.QtWidgets import QApplication
    from pytestqt.qtbot import QtBot

    from smprof_desktop.window.main_window import MainWindow

TEXT = """
process 0 window=0:100
thread 1 main
device 0 "NVIDIA H100" used
kernel 0/7 20+10 gemm<float> corr=5 grid=8,1,1
kernel 0/7 40+10 lonely
api 1 10+3 cudaLaunchKernel corr=5
annotation 1 0+60 step_0
loss gap_value 2 "where it was"
"""


class Loader:
    """Opens profile folders, as `targets.open_targets` does. `hold` makes it wait until cancelled or let go."""

    def __init__(self) -> None:
        self.hold = False
        self.go = threading.Event()
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, targets: Sequence[str], progress: Progress, cancelled: CancelCheck) -> Profile:
        self.asked.append(tuple(targets))
        progress(0.25, "Reading <b>this</b>")
        while self.hold and not self.go.wait(0.002):
            if cancelled():
                raise Cancelled
        if not Path(targets[0]).exists():
            raise ProfileError(f"There is nothing at {targets[0]}; check the path.")
        return Profile.open(Path(targets[0]))


@pytest.fixture(autouse=True)
def unchanged_application(qapp: QApplication) -> Iterator[None]:
    """Give the application its looks back: all tests share it."""
    sheet, palette, font = qapp.styleSheet(), qapp.palette(), qapp.font()
    yield
    qapp.setStyleSheet(sheet)
    qapp.setPalette(palette)
    qapp.setFont(font)


@pytest.fixture
def loader() -> Loader:
    return Loader()


@pytest.fixture
def settings() -> Settings:
    return Settings(None)


@pytest.fixture
def window(qtbot: QtBot, qapp: QApplication, loader: Loader, settings: Settings) -> Iterator[MainWindow]:
    """A shown window, closed at the end with nothing left running."""
    from smprof_desktop.tasks import Tasks
    from smprof_desktop.window.main_window import MainWindow
    from smprof_desktop.window.theme import ThemeSwitch

    themes = ThemeSwitch(qapp, settings)
    window = MainWindow(Session(), Tasks(), settings, loader)
    qtbot.addWidget(window)
    window.show()
    window.activateWindow()
    qtbot.waitExposed(window)
    yield window
    loader.go.set()
    window.close()
    assert window.tasks.close()
    themes.deleteLater()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A profile on disk."""
    return write_profile(tmp_path / "job<1>", TEXT, "job<1> & co")


@pytest.fixture
def load(window: MainWindow, qtbot: QtBot, folder: Path) -> Callable[[], None]:
    """Loads the profile and waits until all of the dashboard is there."""

    def load() -> None:
        window.load([str(folder)])
        qtbot.waitUntil(lambda: window.is_final and window.session.profile is not None)

    return load
