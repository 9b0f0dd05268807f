"""What leads out of a figure: its slices as CSV, and the step in a copied link."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from smprof_desktop.analysis.doors import Chosen
from smprof_desktop.dashboard.scope import Scope
from smprof_desktop.dashboard.view import Opened
from smprof_desktop.window import slices_pane
from smprof_desktop.window.main_window import MainWindow
from smprof_desktop.window.timeline_page import TimelinePage
from tests.make_profile import write_profile

TEXT = (
    "kernel 0/7 100+30 =gemm\nkernel 0/7 1000+40 _Z4gemmILi4EEvPf\nkernel 0/7 2000+10 relu\nannotation 1 0+60 epoch_1"
)


def loaded(window: MainWindow, qtbot: QtBot, folder: Path) -> Scope:
    window.load([str(write_profile(folder, TEXT))])
    qtbot.waitUntil(lambda: window.is_final and window.session.profile is not None)
    assert window.session.profile is not None
    return Scope(window.session.profile)


def test_the_slices_of_a_figure_are_saved_whole(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    scope = loaded(window, qtbot, tmp_path / "kernels")
    window.settings.set("names", "base")
    window.show_slices(Opened("Time spent", Chosen("device", ("kernel",)).door("Kernels", "all"), scope, None))
    qtbot.waitUntil(lambda: window.is_final)
    page = window.page
    assert isinstance(page, TimelinePage)
    path = tmp_path / "slices.csv"
    page.slices.save_to(path)
    qtbot.waitUntil(lambda: str(path) in page.slices.head.text())
    header, *rows = csv.reader(path.read_text("utf-8-sig").splitlines())
    assert header == ["name", "start_ns", "duration_ns", "lane", "process"]
    assert [row[:3] for row in rows] == [
        ["_Z4gemmILi4EEvPf", "1000", "40"],
        ["'=gemm", "100", "30"],  # no formula for a spreadsheet
        ["relu", "2000", "10"],
    ]
    assert page.slices.model.listing is not None
    parts = slices_pane.csv_lines(page.slices.model.listing, np.zeros(0, np.int64), 0)
    assert b"".join(parts).count(b"\n") == 1
    page.slices.save_to(tmp_path / "no folder" / "slices.csv")
    qtbot.waitUntil(lambda: "no folder" in page.slices.head.text())
    assert "Saved" not in page.slices.head.text()


def test_a_copied_link_names_the_step(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    loaded(window, qtbot, tmp_path / "kernels")
    window.copy_link()
    assert "--step" not in QGuiApplication.clipboard().text()
    window.session.notes.set("step", "epoch_*")
    window.copy_link()
    assert "--step=epoch_*" in QGuiApplication.clipboard().text()
