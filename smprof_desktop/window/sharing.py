"""What leads out of the window: a link to the view, an excerpt of the profile, a picture of the timeline."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from smprof.profile.manifest import ProfileError
from smprof_desktop.analysis.quantities import elide_middle
from smprof_desktop.progress import CancelCheck, Progress

if TYPE_CHECKING:
    from smprof.profile.reader import Profile
    from smprof_desktop.slice_ref import SliceRef
    from smprof_desktop.timeline.widget import TimelineWidget
    from smprof_desktop.window.excerpt_dialog import ExcerptDialog
    from smprof_desktop.window.main_window import MainWindow

LINKING = "link"
"""Kind of task."""
PNG, SVG = "PNG picture (*.png)", "SVG drawing (*.svg)"


class Sharing:
    """The commands of the main window that hand something on."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._dialog: ExcerptDialog | None = None
        """The one that is open: two would stop each other's work."""

    def copy_link(self) -> None:
        """Put the command line on the clipboard that opens this view elsewhere."""
        window, profile = self._window, self._window.session.profile
        if profile is None:
            return
        if not window.session.targets:
            window.show_fault("It is not known what this profile was opened from; open it again to copy a link.")
            return
        page = window.page_key
        options = [("page", page)]
        timeline = self._timeline() if page == "timeline" else None
        if timeline is not None:
            begin_ns, end_ns = window.session.begin_ns - profile.begin_ns, window.session.end_ns - profile.begin_ns
            options.append(("range", f"{begin_ns}:{end_ns}"))
            lanes = timeline.restoring.view().text()
            if lanes:
                options.append(("lanes", lanes))
        step = window.session.notes.get("step")
        if step:
            options.append(("step", step))
        selection = window.session.selection if timeline is not None else None
        targets = window.session.targets
        if selection is None:
            self._copy(targets, options, "")
            return
        window.tasks.start(
            LINKING,
            partial(_exact, profile, selection),
            partial(self._copy, targets, options),
            window.show_fault,
            reads=profile,
        )

    def export_excerpt(self) -> None:
        """Ask what of the visible or selected range to write as a profile of its own, and write it."""
        from smprof_desktop.window.excerpt_dialog import ExcerptDialog

        window, session = self._window, self._window.session
        if session.profile is None:
            return
        area = session.area
        begin_ns, end_ns = (session.begin_ns, session.end_ns) if area is None else (area.begin_ns, area.end_ns)
        if self._dialog is not None:
            self._dialog.raise_()
            self._dialog.activateWindow()
            return
        dialog = self._dialog = ExcerptDialog(window, session, window.tasks, window.settings, begin_ns, end_ns)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.destroyed.connect(self._on_dialog_gone)
        dialog.show()

    def _on_dialog_gone(self) -> None:
        self._dialog = None

    def save_picture(self) -> None:
        """Ask where to, and save the timeline as it is seen."""
        window, timeline = self._window, self._timeline()
        if timeline is None or timeline.scene is None:
            window.show_fault("There is no timeline to save yet; open the Timeline page first.")
            return
        folder = Path(window.settings.get("folder") or ".")
        name, kind = QFileDialog.getSaveFileName(window, "Save picture", str(folder / "timeline.png"), f"{PNG};;{SVG}")
        if not name:
            return
        path = Path(name)
        if path.suffix.lower() not in (".png", ".svg"):
            path = path.with_name(path.name + (".svg" if kind == SVG else ".png"))
        from smprof_desktop import destination

        try:
            destination.write(path, self._picture(timeline, path.suffix.lower() == ".svg"))
        except ProfileError as error:
            window.show_fault(str(error))
            return
        window.settings.set("folder", str(path.parent))
        window.show_fault(f"The picture is saved as {path}.")

    def _timeline(self) -> TimelineWidget | None:
        """The timeline, if the Timeline page was ever shown."""
        from smprof_desktop.window.timeline_page import TimelinePage

        page = self._window.built_page("timeline")
        return page.timeline if isinstance(page, TimelinePage) else None

    def _copy(self, targets: tuple[str, ...], options: list[tuple[str, str]], select: str) -> None:
        selected = [("select", select)] if select else []
        from smprof_desktop import link

        line = link.command_line(targets, [*options, *selected])
        QGuiApplication.clipboard().setText(line)
        self._window.show_fault(f"Copied: {elide_middle(line, 160)}")

    @staticmethod
    def _picture(timeline: TimelineWidget, is_svg: bool) -> bytes:
        from smprof_desktop.timeline import picture

        drawing, painter = timeline.opened_scene().draw(timeline.frame()), timeline.painter()
        if is_svg:
            return picture.svg(drawing, painter.theme, painter.font)
        return picture.png(drawing, painter.theme, painter.font, timeline.devicePixelRatioF())


def _exact(profile: Profile, ref: SliceRef, _progress: Progress, _cancelled: CancelCheck) -> str:
    from smprof_desktop import link

    return link.exact(profile, ref)
