"""Which painter draws the timeline: OpenGL where the machine really has it, otherwise Qt's raster engine.

The window begins with the raster painter. What OpenGL there is, a child process finds out meanwhile (`probe`); nothing
of its answer is kept, for it holds for this display and this driver only.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from smprof_desktop.settings import Settings

if TYPE_CHECKING:  # the window is there before what draws timelines is read
    from smprof_desktop.timeline.widget import TimelineWidget

AUTO, OPENGL, RASTER = "auto", "OpenGL", "raster"
"""Values of the setting `painter`."""
PROBE = ["-P", "-m", "smprof_desktop.timeline.probe"]
"""-P: the folder that the application was started in is no place to take modules from."""
PROBE_MS = 15_000
FIRST_FRAME_MS = 3_000
"""A window that is to be seen and has painted nothing for so long by OpenGL never will."""
MAX_ANSWER_BYTES = 10_000

SOFTWARE = (
    "llvmpipe",
    "softpipe",
    "swrast",
    "swr (",
    "swiftshader",
    "software",  # Mesa's "Software Rasterizer", "Apple Software Renderer"
    "gdi generic",
    "microsoft basic render",
)
"""What the names of renderers hold, in small letters, that compute on the CPU: slower than the raster painter."""


@dataclass(frozen=True)
class Answer:
    """What OpenGL there is: the driver's name for itself, and why it cannot be used, or nothing."""

    renderer: str = ""
    fault: str = ""


def is_software(renderer: str) -> bool:
    """Whether a renderer of that name draws without a GPU."""
    name = renderer.lower()
    return any(sign in name for sign in SOFTWARE)


def uses_opengl(setting: str, answer: Answer) -> bool:
    """Whether to paint by OpenGL: where it works, and is not software unless the setting forces it."""
    if setting == RASTER or answer.fault:
        return False
    return setting == OPENGL or not is_software(answer.renderer)


def parsed(output: bytes) -> Answer:
    """The answer of a probe from what it wrote; whatever is wrong with that is a fault of the driver."""
    try:
        document = json.loads(output[:MAX_ANSWER_BYTES].decode().strip().splitlines()[-1])
        renderer, fault = document["renderer"], document["fault"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return Answer(fault="the graphics driver ended the process that tried it")
    return Answer(str(renderer), str(fault))


class PainterSwitch(QObject):
    """Gives the timelines of a window the painter that the setting and the machine allow.

    Signals:
        failed(str): OpenGL was to be used and does not work, as one sentence; the raster painter is in its place.
    """

    failed = Signal(str)

    def __init__(self, window: QWidget, settings: Settings) -> None:
        super().__init__(window)
        self.answer: Answer | None = None
        self.is_opengl = False
        self._window = window
        self._settings = settings
        self._timelines: list[TimelineWidget] = []
        self._placeholder: QWidget | None = None
        self._process: QProcess | None = None
        self._is_started = False
        self._first_frame = QTimer(self)
        self._first_frame.setInterval(FIRST_FRAME_MS)
        self._first_frame.timeout.connect(self._need_frames)
        settings.changed.connect(self._on_setting)

    def start(self) -> None:
        """Begin to choose. Without this all is painted by the raster painter."""
        self._is_started = True
        self._choose()

    def stop(self) -> None:
        """End what still runs; what is painted stays as it is."""
        self._is_started = False
        self._first_frame.stop()
        self._end_probe()

    def serve(self, timeline: TimelineWidget) -> None:
        """Choose this timeline's painter from now on."""
        self._timelines.append(timeline)
        # Later: a viewport cannot be replaced while it paints.
        timeline.painting_failed.connect(self._fall_back, Qt.ConnectionType.QueuedConnection)
        if self.is_opengl:
            self._give_opengl(timeline)

    def _on_setting(self, key: str) -> None:
        if key == "painter" and self._is_started:
            self._choose()

    def _choose(self) -> None:
        self._end_probe()
        if self._settings.get("painter") == RASTER:
            self._use_raster()
        else:
            self._probe()

    def _probe(self) -> None:
        process = QProcess(self)
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert("QT_QPA_PLATFORM", QGuiApplication.platformName())
        # Or every start would show a second icon in the dock for a moment.
        environment.insert("QT_MAC_DISABLE_FOREGROUND_APPLICATION_TRANSFORM", "1")
        process.setProcessEnvironment(environment)
        process.setStandardErrorFile(QProcess.nullDevice())
        process.finished.connect(self._on_probed)
        process.errorOccurred.connect(self._on_probe_error)
        QTimer.singleShot(PROBE_MS, process, process.kill)
        self._process = process
        process.start(sys.executable, PROBE)

    def _end_probe(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.finished.disconnect(self._on_probed)
        process.errorOccurred.disconnect(self._on_probe_error)
        if process.state() != QProcess.ProcessState.NotRunning:
            process.kill()
            process.waitForFinished(1_000)
        process.deleteLater()

    def _on_probe_error(self, error: QProcess.ProcessError) -> None:
        """A child that crashes also finishes; one that cannot start does not."""
        if error == QProcess.ProcessError.FailedToStart:
            self._on_probed()

    def _on_probed(self) -> None:
        process = self._process
        if process is None:
            return
        self.answer = parsed(bytes(process.readAllStandardOutput().data()))
        self._end_probe()
        setting = self._settings.get("painter")
        if uses_opengl(setting, self.answer):
            self._use_opengl()
            return
        self._use_raster()
        if setting == OPENGL:
            self._tell(self.answer.fault)

    def _use_opengl(self) -> None:
        if self.is_opengl:
            return
        from smprof_desktop.timeline.gl_canvas import GlCanvas

        self.is_opengl = True
        is_active = self._window.isActiveWindow()
        if not self._timelines:
            # The first such widget has Qt make the window anew: better now than when the page is first looked at.
            self._placeholder = GlCanvas(self._window)
            self._placeholder.hide()
        for timeline in self._timelines:
            self._give_opengl(timeline)
        if is_active:  # a window made anew has not got the keyboard
            self._window.activateWindow()

    def _give_opengl(self, timeline: TimelineWidget) -> None:
        from smprof_desktop.timeline.gl_canvas import GlCanvas

        canvas = GlCanvas()
        timeline.paint_on(canvas, canvas.make_painter)
        self._first_frame.start()

    def _use_raster(self) -> None:
        if not self.is_opengl:
            return
        from smprof_desktop.timeline.paint_raster import RasterPainter

        self.is_opengl = False
        self._first_frame.stop()
        for timeline in self._timelines:
            timeline.paint_on(QWidget(), RasterPainter)
        if self._placeholder is not None:
            self._placeholder.setParent(None)
            self._placeholder.deleteLater()
            self._placeholder = None
        # Qt goes on putting the whole window together by OpenGL until the window is made anew.
        is_shown, is_active = self._window.isVisible(), self._window.isActiveWindow()
        self._window.destroy()
        if is_shown:
            self._window.show()
        if is_active:
            self._window.activateWindow()

    def _need_frames(self) -> None:
        """See that what is looked at gets painted: a context that Qt cannot make says nothing."""
        handle = self._window.windowHandle()
        if handle is None or not handle.isExposed():
            return
        seen = [timeline for timeline in self._timelines if timeline.isVisible()]
        if not seen:
            return
        self._first_frame.stop()
        if any(timeline.frames_painted == 0 for timeline in seen):
            self._fall_back("nothing came of it")

    def _fall_back(self, reason: str) -> None:
        if self.is_opengl:
            self._use_raster()
            self._tell(reason)

    def _tell(self, reason: str) -> None:
        self.failed.emit(f"OpenGL does not work here: {reason}; the timeline is drawn without it.")
