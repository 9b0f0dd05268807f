"""The OpenGL painter under Mesa's software OpenGL on a virtual display: the raster picture, and every way back.

Each test looks at what a script left that ran on the display: this process has none.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from smprof_desktop.settings import SETTINGS, Settings
from smprof_desktop.timeline import painters
from smprof_desktop.timeline.painters import AUTO, OPENGL, RASTER, Answer, PainterSwitch, parsed, uses_opengl
from tests.timeline.opengl_frames import HEADER_PX

REPOSITORY = Path(__file__).resolve().parents[2]
START_S, RUN_S = 20.0, 300.0
VIEWS = ("whole", "collapsed", "zoomed_0.1", "zoomed_0.004", "selected", "narrow", "marked", "measured", "pinned")
SMOOTHED = 24
"""Steps of 255 by which anti-aliasing may take a pixel beyond the colours around it."""
MOST_SMOOTHED, MOST_BEYOND = 0.015, 0.0005
"""Shares of a picture: pixels of glyphs and arrows that differ by more, and those of them that lie beyond what is
around (thin strokes at 150 %)."""


@pytest.fixture(scope="module")
def display() -> Iterator[dict[str, str]]:
    """The environment of a process that draws on a virtual display, by Mesa's llvmpipe."""
    server = shutil.which("Xvfb")
    if server is None:
        pytest.skip("there is no Xvfb; install it with `make setup`")
    reading, writing = os.pipe()
    command = [server, "-displayfd", str(writing), "-screen", "0", "2400x1600x24", "-nolisten", "tcp"]
    process = subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        number = b""
        while not number.endswith(b"\n"):
            if not select.select([reading], [], [], START_S)[0]:
                pytest.skip("Xvfb does not start here")
            piece = os.read(reading, 16)
            if not piece:
                pytest.skip("Xvfb does not start here")
            number += piece
        environment = {name: value for name, value in os.environ.items() if name != "WAYLAND_DISPLAY"}
        environment |= {
            "DISPLAY": f":{number.decode().strip()}",
            "QT_QPA_PLATFORM": "xcb",
            "LIBGL_ALWAYS_SOFTWARE": "1",
            "GALLIUM_DRIVER": "llvmpipe",
        }
        answer = parsed(subprocess.run([sys.executable, *painters.PROBE], env=environment, capture_output=True).stdout)
        if "llvmpipe" not in answer.renderer:
            pytest.skip(f"Mesa's llvmpipe is not here ({answer}); install libgl1-mesa-dri with `make setup-test`")
        yield environment
    finally:
        os.close(reading)
        process.terminate()
        process.wait()


def run(module: str, argument: str, environment: dict[str, str], **more: str) -> str:
    """What a script of this folder writes."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.timeline.{module}", argument],
        env=environment | more,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=RUN_S,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


def states_of(scenario: str, environment: dict[str, str], **more: str) -> list[dict[str, Any]]:
    """What came of a scenario; whatever it was, the timeline is to be seen."""
    states: list[dict[str, Any]] = json.loads(run("opengl_switch", scenario, environment, **more).splitlines()[-1])
    for state in states:
        assert state["is_shown"] and state["tracks_mouse"] and state["keeps_children"]
        assert state["viewport"] == ("GlCanvas" if state["is_opengl"] else "QWidget")
    assert states[-1]["frames"] > 0 and states[-1]["colours"] > 50
    return states


def pixels(path: Path) -> NDArray[np.int16]:
    image = QImage(str(path)).convertToFormat(QImage.Format.Format_RGB32)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1, 4)
    return rows[:, : image.width(), :3].astype(np.int16)


def is_smoothing(first: NDArray[np.int16], second: NDArray[np.int16]) -> NDArray[np.bool_]:
    """Where the two differ: whether the second lies between the colours that are next to it in the first."""
    rows, columns = np.nonzero((first != second).any(2))
    padded = np.pad(first, ((1, 1), (1, 1), (0, 0)), mode="edge")
    around = np.stack([padded[rows + y, columns + x] for y in range(3) for x in range(3)])
    there = second[rows, columns]
    inside = (there >= around.min(0) - SMOOTHED) & (there <= around.max(0) + SMOOTHED)
    return np.asarray(inside.all(1))


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
def test_both_painters_give_the_same_picture(display: dict[str, str], tmp_path: Path, ratio: float) -> None:
    run("opengl_frames", str(tmp_path), display, QT_SCALE_FACTOR=str(ratio))
    pairs = sorted(tmp_path.glob("*.raster.png"))
    assert len(pairs) == len(VIEWS) * 2 * 2
    for path in pairs:
        raster, opengl = pixels(path), pixels(path.with_name(path.name.replace(".raster.", ".opengl.")))
        assert raster.shape == opengl.shape == (600 * ratio, 1000 * ratio, 3)
        differs = np.abs(raster - opengl).max(2)
        assert (differs > SMOOTHED).mean() < MOST_SMOOTHED, path.name
        for first, second in ((raster, opengl), (opengl, raster)):
            assert (~is_smoothing(first, second)).sum() < MOST_BEYOND * differs.size, path.name
        if "-bare" in path.name:
            assert not differs[:, round(HEADER_PX * ratio) :].any(), path.name
        assert len(np.unique(raster[..., 1])) > 5


def test_software_opengl_counts_as_none(display: dict[str, str]) -> None:
    (state,) = states_of("auto", display)
    assert "llvmpipe" in state["renderer"]
    assert not state["is_opengl"] and state["surface"] == "RasterSurface" and state["notices"] == []


def test_the_setting_forces_either_while_the_window_is_open(display: dict[str, str]) -> None:
    states = states_of("forced", display)
    assert [state["is_opengl"] for state in states] == [True, False, True]
    assert [state["surface"] for state in states] == ["OpenGLSurface", "RasterSurface", "OpenGLSurface"]
    assert all(state["notices"] == [] and state["frames"] > 0 for state in states)


@pytest.mark.parametrize("scenario", ["bad_shader", "gl_error"])
def test_a_failing_driver_leaves_the_raster_painter_and_one_notice(display: dict[str, str], scenario: str) -> None:
    before, after = states_of(scenario, display)
    assert before["is_opengl"] == (scenario == "gl_error")
    assert not after["is_opengl"] and after["surface"] == "RasterSurface"
    (notice,) = after["notices"]
    reason = {"bad_shader": "does not take the timeline's shaders", "gl_error": "reports error 0x0500"}[scenario]
    assert notice == f"OpenGL does not work here: the graphics driver {reason}; the timeline is drawn without it."


def test_a_timeline_in_another_window_goes_on_in_another_context(display: dict[str, str]) -> None:
    (state,) = states_of("moved", display)
    assert state["destroyed"] == 1
    assert state["is_opengl"] and state["notices"] == []


def test_a_context_that_never_comes_is_noticed(display: dict[str, str]) -> None:
    (state,) = states_of("no_context", display, QT_XCB_GL_INTEGRATION="none")
    assert not state["is_opengl"] and state["surface"] == "RasterSurface"
    assert len(state["notices"]) == 1 and state["notices"][0].startswith("OpenGL does not work here: ")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [("QT_XCB_GL_INTEGRATION", "none", "there is none"), ("MESA_GL_VERSION_OVERRIDE", "2.1", "OpenGL is 2.1, not 3.3")],
)
def test_opengl_that_is_forced_and_not_there_is_said(
    display: dict[str, str], name: str, value: str, reason: str
) -> None:
    (state,) = states_of("none", display, **{name: value})
    assert not state["is_opengl"] and state["surface"] == "RasterSurface"
    assert len(state["notices"]) == 1 and reason in state["notices"][0]


HARDWARE = [
    "NVIDIA GeForce RTX 4090/PCIe/SSE2",
    "Mesa Intel(R) UHD Graphics 620 (KBL GT2)",
    "AMD Radeon RX 6800 (radeonsi, navi21, LLVM 17.0.6, DRM 3.54)",
    "Apple M2 Pro",
    "SVGA3D; build: RELEASE;  LLVM;",
    "ANGLE (Intel, Intel(R) Iris(R) Xe Graphics Direct3D11 vs_5_0 ps_5_0)",
    "virgl (NVIDIA GeForce GTX 1080)",
]
SOFTWARE = [
    "llvmpipe (LLVM 15.0.6, 256 bits)",
    "softpipe",
    "Gallium 0.4 on swrast",
    "SWR (LLVM 10.0.0, 256 bits)",
    "Google SwiftShader",
    "ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero) (0x0000C0DE)), SwiftShader driver)",
    "Software Rasterizer",
    "Apple Software Renderer",
    "GDI Generic",
    "D3D12 (Microsoft Basic Render Driver)",
    "zink Vulkan 1.3 (llvmpipe (LLVM 17.0.6, 256 bits) (MESA_LLVMPIPE))",
    "virgl (LLVMPIPE (LLVM 15.0.7, 256 bits))",
]


@pytest.mark.parametrize("renderer", [*HARDWARE, *SOFTWARE])
def test_what_the_machine_really_has_decides(renderer: str) -> None:
    assert uses_opengl(AUTO, Answer(renderer)) == (renderer in HARDWARE)
    assert uses_opengl(OPENGL, Answer(renderer))
    assert not uses_opengl(RASTER, Answer(renderer))
    assert not any(uses_opengl(setting, Answer(renderer, "it draws wrongly")) for setting in (AUTO, OPENGL, RASTER))


def test_the_choices_are_those_of_the_setting() -> None:
    assert SETTINGS["painter"].choices == (AUTO, OPENGL, RASTER) and SETTINGS["painter"].default == AUTO


@pytest.mark.parametrize(
    "output", [b"", b"\xff\xfe", b"Segmentation", b"[1]", b"{}", b'{"renderer": "x"}', b"[" * 9999]
)
def test_an_answer_that_is_none_is_a_fault(output: bytes) -> None:
    assert parsed(output) == Answer(fault="the graphics driver ended the process that tried it")


@pytest.mark.parametrize("code", ["import os; os.abort()", "import time; time.sleep(600)", "print('no answer')"])
def test_a_driver_that_crashes_or_hangs_takes_only_the_probe_along(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setattr(painters, "PROBE", ["-c", code])
    monkeypatch.setattr(painters, "PROBE_MS", 1_500)
    assert _notice(qtbot) == (
        "OpenGL does not work here: the graphics driver ended the process that tried it; "
        "the timeline is drawn without it."
    )


def test_without_a_program_to_run_there_is_no_opengl(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/there/is/no/python")
    assert "OpenGL does not work here" in _notice(qtbot)


def test_without_a_display_there_is_no_opengl(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    assert _notice(qtbot) == "OpenGL does not work here: there is none; the timeline is drawn without it."


def test_a_window_that_closes_ends_the_probe(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(painters, "PROBE", ["-c", "import time; time.sleep(600)"])
    switch = _switch(qtbot, AUTO)
    switch.start()
    process = switch._process
    assert process is not None and process.waitForStarted()
    switch.stop()
    assert process.state() == process.ProcessState.NotRunning and switch.answer is None


def _switch(qtbot: QtBot, setting: str) -> PainterSwitch:
    from PySide6.QtWidgets import QWidget

    window, settings = QWidget(), Settings(None)
    qtbot.addWidget(window)
    settings.set("painter", setting)
    switch = PainterSwitch(window, settings)
    window.switch = switch  # type: ignore[attr-defined]
    return switch


def _notice(qtbot: QtBot) -> str:
    switch = _switch(qtbot, OPENGL)
    with qtbot.waitSignal(switch.failed, timeout=60_000) as heard:
        switch.start()
    assert not switch.is_opengl
    switch.stop()
    return str(heard.args[0])
