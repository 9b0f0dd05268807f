"""The one place that builds everything and connects it: the window for a person, or one page as a picture."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QBuffer,
    QCoreApplication,
    QEvent,
    QEventLoop,
    QIODevice,
    QMessageLogContext,
    QSocketNotifier,
    Qt,
    QtMsgType,
    qInstallMessageHandler,
    qWarning,
)
from PySide6.QtGui import QColor, QFont, QPixmap
from PySide6.QtWidgets import QApplication

from smprof.profile.guard_child import Spare
from smprof.profile.manifest import ProfileError
from smprof_desktop import destination
from smprof_desktop.notes import Notes
from smprof_desktop.progress import CancelCheck, Progress, silent
from smprof_desktop.session import Session
from smprof_desktop.settings import Settings
from smprof_desktop.tasks import Tasks, sentence_of
from smprof_desktop.window.icons import icon
from smprof_desktop.window.main_window import TITLE, Found, MainWindow, find_with_times
from smprof_desktop.window.theme import ThemeSwitch

if TYPE_CHECKING:
    from smprof.profile.reader import Profile
    from smprof_desktop.timeline.lane_view import LaneView

Range = tuple[int, int]
"""[begin, end) in ns from the profile's start, as the command line gives it."""

SNAPSHOT_FONT, SNAPSHOT_FONT_PT = "DejaVu Sans", 9
SNAPSHOT_TIMEOUT_S = 600.0
MAX_SIDE_PX = 32_000

_HARMLESS = (
    # The offscreen platform says this of every window.
    "This plugin does not support propagateSizeHints()",
    "This plugin does not support raise()",
)


def run(
    targets: Sequence[str],
    page: str | None = None,
    range_ns: Range | None = None,
    select: str | None = None,
    lanes: LaneView | None = None,
    step: str | None = None,
) -> int:
    """Open the window, load the targets beside it, return the exit code once it is closed.

    `page`, `range_ns`, `select`, `lanes` and `step` are shown once the targets are loaded; without targets `page`
    at once.
    Without a range the selected slice is framed.

    Raises:
        ProfileError: there is no display to open a window on.
    """
    _need_display()
    said: list[str] = []
    handler_before = qInstallMessageHandler(partial(_on_start_message, said))
    application = _application()
    qInstallMessageHandler(_on_qt_message)
    for text in said:
        qWarning(text)
    settings = Settings(Settings.user_path())
    session, tasks = Session(Notes.of), Tasks()
    spare = Spare()
    window = MainWindow(session, tasks, settings, partial(_open_targets, spare=spare))
    themes = ThemeSwitch(application, settings)
    window.painted.connect(spare.start)  # first: it gets ready beside what follows
    window.painted.connect(window.painter_switch.start)
    if targets:
        # Imports on the task's thread would hold up the first picture.
        window.painted.connect(
            lambda: window.load(
                targets, lambda: _show_asked(window, page or "dashboard", range_ns, select, lanes, step)
            )
        )
    elif page is not None:
        window.go_to_page(page)
    window.show()
    hook_before = sys.excepthook
    sys.excepthook = partial(_on_fault, window)
    try:
        with _closed_by_interrupt(window):
            code = application.exec()
    finally:
        sys.excepthook = hook_before
        spare.close()
    tasks.close()
    window.deleteLater()
    themes.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    qInstallMessageHandler(handler_before)
    return code


def snapshot(
    targets: Sequence[str],
    page: str,
    out: Path,
    size: tuple[int, int] = (1280, 800),
    range_ns: Range | None = None,
    select: str | None = None,
    theme: str = "light",
    scale: float = 1.0,
    progress: Progress = silent,
    lanes: LaneView | None = None,
    step: str | None = None,
    section: str | None = None,
) -> None:
    """Write one page as a PNG of `size` × `scale` pixels, without a screen, once everything visible on it is final.

    Reads and writes no settings, and always draws in one font, so that the same profile gives the same picture.

    Raises:
        ProfileError: a target cannot be opened, nothing is named `select`, or the picture cannot be written.
    """
    if not all(1 <= side * scale <= MAX_SIDE_PX for side in size):
        raise ProfileError(
            f"A picture of {size[0]}x{size[1]} at scale {scale:g} is not possible; give sides of 1 to "
            f"{MAX_SIDE_PX} pixels."
        )
    if QApplication.instance() is None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        os.environ["QT_SCALE_FACTOR"] = f"{scale:g}"
    application = _application()
    old_handler = qInstallMessageHandler(_on_qt_message)
    font_before = application.font()
    application.setFont(QFont(SNAPSHOT_FONT, SNAPSHOT_FONT_PT))
    settings = Settings(None)
    settings.set("theme", theme)
    session, tasks = Session(), Tasks()
    themes = ThemeSwitch(application, settings)
    window = MainWindow(session, tasks, settings, _open_targets)
    try:
        window.resize(*size)
        window.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
        window.show()
        if targets:
            session.open(_open_targets(targets, progress, lambda: False), targets)
        _show_asked(window, page, range_ns, select, lanes, step, must_find=True)
        if section is not None and not (hasattr(window.page, "show_section") and window.page.show_section(section)):
            raise ProfileError(f"There is no section {section[:200]!r} on this page; write it as its tab does.")
        _wait_until_final(application, window, tasks)
        _write(window, out, scale)
    finally:
        window.close()  # first: it lets go of the profile by a task
        tasks.close()
        window.deleteLater()
        themes.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        application.setFont(font_before)
        qInstallMessageHandler(old_handler)


def _application() -> QApplication:
    application = QApplication.instance()
    if not isinstance(application, QApplication):
        QApplication.setHighDpiScaleFactorRoundingPolicy(Qt.HighDpiScaleFactorRoundingPolicy.PassThrough)
        application = QApplication(["smprof-desktop"])
    application.setApplicationName("smprof-desktop")
    application.setApplicationDisplayName(TITLE)
    application.setDesktopFileName("smprof-desktop")
    application.setStyle("Fusion")
    application.setWindowIcon(icon("smprof-desktop", QColor("#000000"), scale=8))
    return application


def _open_targets(
    targets: Sequence[str], progress: Progress, cancelled: CancelCheck, spare: Spare | None = None
) -> Profile:
    """`targets.open_targets`, imported on first use: what reads profiles must not hold up the window."""
    from smprof_desktop.targets import open_targets

    return open_targets(targets, progress, cancelled, spare=spare)


def _show_asked(
    window: MainWindow,
    page: str,
    range_ns: Range | None,
    select: str | None,
    lanes: LaneView | None = None,
    step: str | None = None,
    must_find: bool = False,
) -> None:
    """Show the page, range, slice and lanes of the command line. Raises ProfileError, or says it in the window."""
    profile = window.session.profile
    if profile is not None and step is not None:
        window.session.notes.lend({"step": step[:1_000]})  # shown, not noted
    window.go_to_page(page)
    if profile is None:
        return

    def show(found: Found | None) -> None:
        if select is not None and found is None:
            sentence = f"No slice's name contains {select[:200]!r}; check the spelling, capitals count."
            if must_find:
                raise ProfileError(sentence)
            window.show_error(sentence)
        if found is not None and range_ns is None:
            window.frame(*found)
        elif found is not None:
            window.session.select(found[0])
        if range_ns is not None:  # last: selecting moves the view to the slice
            begin_ns, end_ns = (profile.begin_ns + edge_ns for edge_ns in range_ns)
            window.session.show(begin_ns, end_ns)
            if hasattr(window.page, "show_range"):  # a page of figures, which does not follow what the timeline shows
                window.page.show_range(begin_ns, end_ns)
        if lanes is not None:
            window.show_lanes(lanes)

    if select is None:
        show(None)
    elif must_find:
        show(find_with_times(profile, select))
    else:
        window.look_for(select, show)


def _wait_until_final(application: QApplication, window: MainWindow, tasks: Tasks) -> None:
    deadline = time.monotonic() + SNAPSHOT_TIMEOUT_S
    while not (window.is_final and tasks.is_idle):
        if time.monotonic() > deadline:
            raise ProfileError(
                f"The page was not finished after {SNAPSHOT_TIMEOUT_S:.0f} seconds; choose a smaller range or profile."
            )
        application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 50)
        time.sleep(0.002)
    for _ in range(3):  # layouts that the last figure set off
        QCoreApplication.sendPostedEvents()
        application.processEvents()


def _write(window: MainWindow, out: Path, scale: float) -> None:
    pixmap = QPixmap(round(window.width() * scale), round(window.height() * scale))
    pixmap.setDevicePixelRatio(scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    window.render(pixmap)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not pixmap.toImage().save(buffer, "PNG"):  # type: ignore[call-overload]
        raise ProfileError("The picture could not be made; give a smaller size.")
    destination.write(out, bytes(buffer.data().data()))


def _need_display() -> None:
    """Without a display Qt would abort the process; say what to do instead."""
    is_unix_desktop = sys.platform not in ("win32", "darwin")
    if is_unix_desktop and not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")):
        raise ProfileError(
            "There is no display to open a window on: start this on a desktop, or use `smprof-desktop snapshot` "
            "and `report`."
        )


def _on_start_message(said: list[str], kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
    """Where Qt finds no way to show a window it aborts the process, after some lines: say one, and end in order."""
    if kind != QtMsgType.QtFatalMsg:
        said.append(text)
        return
    reason = " ".join((said or [text])[0].split()).rstrip(".")
    print(
        f"smprof-desktop: No window can be opened here: {reason}; check the display and the libraries that `make "
        "setup` names, or use `smprof-desktop snapshot` and `report`.",
        file=sys.stderr,
        flush=True,
    )
    os._exit(1)


def _on_qt_message(_kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
    if not any(harmless in text for harmless in _HARMLESS):
        print(f"smprof-desktop: Qt says: {text}", file=sys.stderr)


def _on_fault(
    window: MainWindow, kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    """What no code caught: in full to the terminal, one sentence to the window, and the window goes on."""
    sys.__excepthook__(kind, error, traceback)
    window.show_fault(sentence_of(error))


@contextmanager
def _closed_by_interrupt(window: MainWindow) -> Iterator[None]:
    """Close the window on Ctrl+C in the terminal: Python sees a signal only once it runs, so its byte wakes Qt up."""
    reading, writing = socket.socketpair()
    with reading, writing:
        reading.setblocking(False)
        writing.setblocking(False)
        notifier = QSocketNotifier(reading.fileno(), QSocketNotifier.Type.Read)

        def awake() -> None:
            try:
                reading.recv(64)
            except BlockingIOError:
                return

        def interrupted(_signal: int, _frame: object) -> None:
            window.close()
            QApplication.quit()

        notifier.activated.connect(awake)
        fd_before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        before = [(number, signal.signal(number, interrupted)) for number in (signal.SIGINT, signal.SIGTERM)]
        try:
            yield
        finally:
            notifier.setEnabled(False)
            signal.set_wakeup_fd(fd_before)
            for number, handler in before:
                signal.signal(number, handler)
