"""Run as a script on a display with OpenGL: a timeline whose painter is switched, and what came of it as JSON.

    python -m tests.timeline.opengl_switch SCENARIO

`test_opengl.py` names the scenarios and judges.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QApplication, QLabel, QMainWindow

from smprof.profile.reader import Profile
from smprof_desktop import resources
from smprof_desktop.session import Session
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks
from smprof_desktop.timeline import paint_gl, painters
from smprof_desktop.timeline.painters import PainterSwitch
from smprof_desktop.timeline.widget import TimelineWidget

PATIENCE_S = 30.0


class Stage:
    """A shown window with a timeline on the sample profile."""

    def __init__(self, setting: str) -> None:
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        self._application = application
        self.settings, self.session, self.tasks = Settings(None), Session(), Tasks()
        self.settings.set("painter", setting)
        self.session.open(Profile.open(resources.path(resources.SAMPLE_PROFILE)))
        self.window = QMainWindow()
        self.timeline = TimelineWidget(self.session, self.tasks)
        self.note = QLabel("over the timeline", self.timeline.viewport())
        self.window.setCentralWidget(self.timeline)
        self.window.resize(900, 500)
        self.window.show()
        self.switch = PainterSwitch(self.window, self.settings)
        self.notices: list[str] = []
        self.switch.failed.connect(self.notices.append)
        self.switch.serve(self.timeline)
        self.wait(lambda: self.timeline.is_final)

    def start(self) -> None:
        """Have the painter chosen, and wait for the choice and its first frame."""
        self.switch.start()
        self.wait(lambda: self.switch.answer is not None)
        self.wait(lambda: self.timeline.frames_painted > 0)
        self.settle()

    def choose(self, setting: str) -> None:
        """Change the setting, as the Settings page does."""
        self.switch.answer = None
        self.settings.set("painter", setting)
        self.wait(lambda: setting == painters.RASTER or self.switch.answer is not None)
        self.settle()

    def repaint(self) -> None:
        """Another view, painted."""
        before = self.timeline.frames_painted
        self.timeline.zoom(0.8, 200.0)
        self.wait(lambda: self.timeline.frames_painted > before or bool(self.notices))
        self.settle()

    def wait(self, condition: Callable[[], bool]) -> None:
        """Run the event loop until something is so."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, "it did not come"
            self._application.processEvents()
            time.sleep(0.005)

    def settle(self) -> None:
        """Run the event loop for what follows at once."""
        for _ in range(20):
            self._application.processEvents()
            time.sleep(0.005)

    def state(self) -> dict[str, Any]:
        """What is so now."""
        viewport, handle = self.timeline.viewport(), self.window.windowHandle()
        return {
            "viewport": type(viewport).__name__,
            "is_opengl": self.switch.is_opengl,
            "frames": self.timeline.frames_painted,
            "surface": handle.surfaceType().name,
            "is_shown": self.window.isVisible() and viewport.isVisible(),
            "tracks_mouse": viewport.hasMouseTracking(),
            "keeps_children": self.note.parent() is viewport,
            "colours": self._colours(),
            "notices": list(self.notices),
        }

    def close(self) -> None:
        """Let go of everything."""
        self.switch.stop()
        self.window.close()
        self.session.close()
        assert self.tasks.close()
        self.settle()

    def _colours(self) -> int:
        """How many colours the screen shows where the timeline is."""
        image = self.window.screen().grabWindow(self.window.winId()).toImage()
        return len({image.pixel(x, y) for y in range(0, image.height(), 5) for x in range(0, image.width(), 5)})


def auto() -> list[dict[str, Any]]:
    """What the machine has decides."""
    stage = Stage(painters.AUTO)
    stage.start()
    states = [stage.state()]
    assert stage.switch.answer is not None
    states[0]["renderer"] = stage.switch.answer.renderer
    stage.close()
    return states


def forced() -> list[dict[str, Any]]:
    """OpenGL by the setting, then raster, then OpenGL again."""
    stage = Stage(painters.OPENGL)
    stage.start()
    states = [stage.state()]
    stage.repaint()
    for setting in (painters.RASTER, painters.OPENGL):
        stage.choose(setting)
        stage.repaint()
        states.append(stage.state())
    stage.close()
    return states


def bad_shader() -> list[dict[str, Any]]:
    """A driver that does not take the shaders."""
    with tempfile.TemporaryDirectory() as folder:
        shader = Path(folder, "shader")
        shader.write_text("void main() { this is no shader }")
        path = resources.path
        resources.path = lambda name: shader if name.startswith("shaders/") else path(name)
        return _failing(lambda: None)


def gl_error() -> list[dict[str, Any]]:
    """A driver that reports an error in the middle of a session."""

    def spoil() -> None:
        draw = paint_gl.RectBatch._draw

        def draw_badly(batch: Any, functions: Any, parts: Any) -> None:
            draw(batch, functions, parts)
            functions.glEnable(0xDEAD)

        setattr(paint_gl.RectBatch, "_draw", draw_badly)  # noqa: B010 - a method, says the type checker

    return _failing(spoil)


def _failing(spoil: Callable[[], None]) -> list[dict[str, Any]]:
    stage = Stage(painters.OPENGL)
    stage.switch.start()
    stage.wait(lambda: stage.switch.answer is not None)
    stage.settle()
    states = [stage.state()]
    spoil()
    stage.repaint()
    stage.repaint()
    states.append(stage.state())
    stage.close()
    return states


def moved() -> list[dict[str, Any]]:
    """The timeline comes to another window: its context is destroyed and another one made."""
    stage = Stage(painters.OPENGL)
    stage.start()
    destroyed: list[bool] = []
    viewport: Any = stage.timeline.viewport()
    viewport.context().aboutToBeDestroyed.connect(lambda: destroyed.append(True))
    before, first = stage.timeline.frames_painted, stage.window
    stage.window = QMainWindow()
    stage.window.resize(900, 500)
    stage.window.setCentralWidget(stage.timeline)
    stage.window.show()
    stage.wait(lambda: stage.timeline.frames_painted > before)
    stage.repaint()
    states = [stage.state()]
    states[0]["destroyed"] = len(destroyed)
    stage.close()
    first.close()
    return states


def no_context() -> list[dict[str, Any]]:
    """The probe promised what the window does not get."""
    painters.FIRST_FRAME_MS = 200
    stage = Stage(painters.OPENGL)
    stage.switch._use_opengl()
    stage.wait(lambda: bool(stage.notices))
    stage.settle()
    stage.repaint()
    states = [stage.state()]
    stage.close()
    return states


def none() -> list[dict[str, Any]]:
    """OpenGL is wanted where there is none."""
    stage = Stage(painters.OPENGL)
    stage.start()
    states = [stage.state()]
    stage.close()
    return states


SCENARIOS = {scenario.__name__: scenario for scenario in (auto, forced, bad_shader, gl_error, moved, no_context, none)}


if __name__ == "__main__":
    application = QApplication(["test"])
    application.setQuitOnLastWindowClosed(False)
    print(json.dumps(SCENARIOS[sys.argv[1]]()))
