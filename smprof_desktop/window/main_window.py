"""The main window: left pane, pages, menus; what is opened here is loaded beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psygnal import EmitLoopError
from PySide6.QtCore import QByteArray, QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QFileDialog,
    QHBoxLayout,
    QListWidgetItem,
    QMainWindow,
    QMenu,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from smprof_desktop import resources
from smprof_desktop.analysis.quantities import elide_middle
from smprof_desktop.command_table import keys_in_force
from smprof_desktop.plain_text import menu_text, tooltip
from smprof_desktop.progress import CancelCheck, Progress
from smprof_desktop.session import Session
from smprof_desktop.settings import SETTINGS, Settings
from smprof_desktop.slice_ref import SliceRef
from smprof_desktop.tasks import Tasks, sentence_of
from smprof_desktop.timeline.painters import PainterSwitch
from smprof_desktop.window.commands import PAGES, TABLE
from smprof_desktop.window.facts import devices_of, summary
from smprof_desktop.window.fields import label
from smprof_desktop.window.icons import icon
from smprof_desktop.window.load_page import LoadPage, targets_text
from smprof_desktop.window.loading_line import LoadingLine
from smprof_desktop.window.menus import Menus, call
from smprof_desktop.window.page_list import PageList
from smprof_desktop.window.palette import Palette, lane_entries
from smprof_desktop.window.sharing import Sharing

if TYPE_CHECKING:
    from smprof.profile.reader import Profile
    from smprof_desktop.dashboard.view import Opened
    from smprof_desktop.timeline.lane_view import LaneView
    from smprof_desktop.timeline.widget import TimelineWidget

OpenTargets = Callable[[Sequence[str], Progress, CancelCheck], "Profile"]

Found = tuple[SliceRef, int, int]
"""A slice, its start and its end in ns."""

TITLE = "SMProf Desktop"
LOADING, FINDING = "load", "find"
FAULT_MS = 20_000
AROUND = 1.0
"""How much of a slice's length is shown on either side of it where a page leads to it."""
ICON_PX = 18
_KEY = Qt.ItemDataRole.UserRole
_TO_COME = {"advice": "Advice is to come: what to change, with its evidence and a jump into the timeline."}


class MainWindow(QMainWindow):
    """Left pane, header and one page at a time. Pages are built when first shown, so that the window is there at once.

    Signals:
        painted(): the window has been drawn for the first time; what may take long begins here.
    """

    painted = Signal()

    def __init__(self, session: Session, tasks: Tasks, settings: Settings, open_targets: OpenTargets) -> None:
        super().__init__()
        self.session, self.tasks, self.settings = session, tasks, settings
        self._open_targets = open_targets
        self._sharing = Sharing(self)
        self._palette = Palette(self)
        self._loading: int | None = None
        self._held: Profile | None = None
        self._is_finding = False
        self._is_painted = False
        self._loading_since = 0.0
        self._pages: dict[str, QWidget] = {}
        self._stack = QStackedWidget()
        self._navigation = PageList()
        self._pane_note = label(name="pane_note", wraps=True)
        self._page_title = label(name="page_title")
        self._profile_name = label(name="muted")
        self._badge = label("SYNTHETIC", "badge")
        self._loading_line = LoadingLine()
        self.painter_switch = PainterSwitch(self, settings)
        self.painter_switch.failed.connect(self.show_fault)
        self.load_page = LoadPage(session, settings)
        self._pages["load"] = self.load_page
        self._stack.addWidget(self.load_page)
        self._build()
        self._build_menus()
        self.load_page.load_asked.connect(self.load)
        self.load_page.unload_asked.connect(self.unload)
        self.load_page.cancel_asked.connect(self.cancel_loading)
        self._loading_line.cancel_asked.connect(self.cancel_loading)
        self.load_page.files_asked.connect(self.choose_files)
        self.load_page.folder_asked.connect(self.choose_folder)
        self.load_page.sample_asked.connect(self.open_sample)
        session.profile_changed.connect(self._show_profile)
        session.history_changed.connect(self._enable_actions)
        self.setAcceptDrops(True)
        self._show_profile()
        self.show_page("load")
        if settings.get("geometry"):
            self.restoreGeometry(QByteArray.fromHex(settings.get("geometry").encode("ascii", "replace")))

    @property
    def page_key(self) -> str:
        """The page that is shown."""
        item = self._navigation.currentItem()
        return str(item.data(_KEY)) if item is not None else "load"

    @property
    def page(self) -> QWidget:
        """The widget of the page that is shown."""
        return self._pages[self.page_key]

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        """The keys of each command of the table, as they are in force."""
        return keys_in_force(TABLE, self.settings.get("keys"))

    def built_page(self, key: str) -> QWidget | None:
        """The page of that key, if it was ever shown."""
        return self._pages.get(key)

    @property
    def is_final(self) -> bool:
        """Whether nothing is being loaded or looked for and the page shows all it will."""
        is_busy = self._loading is not None or self._is_finding
        return not is_busy and bool(getattr(self.page, "is_final", True))

    def load(self, targets: Sequence[str], done: Callable[[], None] | None = None) -> None:
        """Load targets beside the window, then show the dashboard; or call `done` instead."""
        wanted = tuple(targets)
        self._loading_since = time.monotonic()
        self.show_page("load")
        self._show_progress(0.0, f"Loading {elide_middle(targets_text(wanted), 120)}")
        self._loading = self.tasks.start(
            LOADING,
            partial(_open, self._open_targets, wanted),
            partial(self._loaded, wanted, done),
            self._failed,
            self._cancelled,
            self._show_progress,
            dropped=_close,
            alone=True,
        )
        self._enable_actions()

    def cancel_loading(self) -> None:
        """Ask the loading to stop."""
        if self._loading is not None:
            self.load_page.show_cancelling()
            self._loading_line.show_cancelling()
            self.tasks.cancel(self._loading)

    def unload(self) -> None:
        """Let go of the profile and show the Load page."""
        self.session.close()
        self.show_page("load")

    def show_page(self, key: str) -> None:
        """Show the page of that key of PAGES."""
        if key not in self._pages:
            self._pages[key] = self._make_page(key)
            self._stack.addWidget(self._pages[key])
            for area in self._pages[key].findChildren(QAbstractScrollArea):
                area.viewport().setAcceptDrops(False)  # what is dropped is for the window
        number = next(index for index, page in enumerate(PAGES) if page.key == key)
        self._stack.setCurrentWidget(self._pages[key])
        self._page_title.setText(PAGES[number].title)
        if self._navigation.currentRow() != number:
            self._navigation.setCurrentRow(number)
        self._show_loading_line()

    def go_to_page(self, key: str) -> None:
        """Show the page of that key and give it the keyboard."""
        self.show_page(key)
        self._focus_page()

    def show_error(self, sentence: str) -> None:
        """Say on the Load page what went wrong."""
        self.show_page("load")
        self.load_page.show_idle(sentence)

    def show_fault(self, sentence: str) -> None:
        """Say along the bottom, for a while, that something went wrong that no page tells of."""
        self.statusBar().showMessage(sentence, FAULT_MS)

    def look_for(self, text: str, done: Callable[[Found | None], None]) -> None:
        """Look beside the window for the first slice of that name; `done` is given it and its times, or None."""
        if self.session.profile is not None:
            self._look(self.session.profile, partial(_find, self.session.profile, text), done, self.show_error)

    def frame(self, ref: SliceRef, begin_ns: int, end_ns: int) -> None:
        """Select the slice, which lies in [begin_ns, end_ns), and show it with its surroundings."""
        aside_ns = max(1, round((end_ns - begin_ns) * AROUND))
        self.session.show(begin_ns - aside_ns, end_ns + aside_ns)
        self.session.select(None)  # what is selected already would not be brought into sight again
        self.session.select(ref)

    def show_lanes(self, view: LaneView) -> None:
        """Have the lanes stand as a copied link says, if it is the Timeline that is shown."""
        from smprof_desktop.window.timeline_page import TimelinePage

        if isinstance(self.page, TimelinePage):
            self.page.timeline.restoring.ask(view)

    def show_longest(self, kernel: str, range_ns: tuple[int, int] | None = None) -> None:
        """Show the longest execution of that kernel, in the range or at all, on the Timeline, selected and framed."""
        profile = self.session.profile
        if profile is None:
            return

        def show(found: Found | None) -> None:
            if found is not None and self.session.profile is profile:
                self.go_to_page("timeline")
                self.frame(*found)

        self._look(profile, partial(_find_longest, profile, kernel, range_ns), show, self.show_fault)

    def show_slices(self, opened: Opened) -> None:
        """List the slices that sum to a figure below the timeline, and show the longest of them there."""
        from smprof_desktop.window.timeline_page import TimelinePage

        self.go_to_page("timeline")
        if isinstance(self.page, TimelinePage):
            self.page.slices.show_door(opened)
            self.page.show_pane(self.page.slices)

    def show_moment(self, begin_ns: int, end_ns: int) -> None:
        """Show [begin_ns, end_ns), in ns of the profile's clock, on the Timeline."""
        self.go_to_page("timeline")
        self.session.show(begin_ns, end_ns)

    def choose_files(self) -> None:
        """Ask for trace files and load them."""
        names, _ = QFileDialog.getOpenFileNames(self, "Open trace files", self.settings.get("folder"))
        if names:
            self.settings.set("folder", str(Path(names[0]).parent))
            self.load(names)

    def choose_folder(self) -> None:
        """Ask for a folder and load it."""
        name = QFileDialog.getExistingDirectory(
            self, "Open a profile folder or a folder of traces", self.settings.get("folder")
        )
        if name:
            self.settings.set("folder", str(Path(name).parent))
            self.load([name])

    def open_sample(self) -> None:
        """Load the profile that comes with the application."""
        try:
            place = resources.path(resources.SAMPLE_PROFILE)
        except FileNotFoundError as error:
            self.show_error(f"{str(error)[:1].upper()}{str(error)[1:]}.")
            return
        self.load([str(place)])

    def go_back(self) -> None:
        """Return to the view before."""
        self.session.back()

    def go_forward(self) -> None:
        """Undo `go_back`."""
        self.session.forward()

    def find_lane(self) -> None:
        """Ask for a few letters of a lane's name, and go to the lane."""
        self.go_to_page("timeline")
        timeline: TimelineWidget = self.page.timeline  # type: ignore[attr-defined]
        if timeline.scene is None:
            self.show_fault("The timeline is still being prepared; try again in a moment.")
        else:
            self._palette.ask(lane_entries(timeline), "Find a lane by a few letters of its path")

    def show_palette(self) -> None:
        """Ask for a few letters of a command, and do it."""
        self._palette.ask(self._menus.entries(), "Find a command by a few letters")

    def copy_link(self) -> None:
        """Put the command line on the clipboard that opens this view elsewhere."""
        self._sharing.copy_link()

    def export_excerpt(self) -> None:
        """Ask what of the visible or selected range to write as a profile of its own, and write it."""
        self._sharing.export_excerpt()

    def save_picture(self) -> None:
        """Save the timeline as it is seen."""
        self._sharing.save_picture()

    def switch_pane(self) -> None:
        """Move the keyboard from the left pane to the page or back."""
        if self._navigation.hasFocus():
            self._focus_page()
        else:
            self._navigation.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def switch_theme(self) -> None:
        """Set the theme that is not in force."""
        is_dark = self.palette().color(QPalette.ColorRole.Base).lightness() < 128
        self.settings.set("theme", "light" if is_dark else "dark")

    def switch_names(self) -> None:
        """Show kernel names in the next form."""
        forms = SETTINGS["names"].choices
        self.set_names(forms[(forms.index(self.settings.get("names")) + 1) % len(forms)])

    def set_names(self, form: str) -> None:
        """Show kernel names in that form."""
        self.settings.set("names", form)

    def switch_full_screen(self) -> None:
        """Fill the screen, or stop filling it."""
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    def _build(self) -> None:
        self.setWindowTitle(TITLE)
        self.resize(1280, 800)
        self.setMinimumSize(560, 380)
        self._navigation.setObjectName("navigation")
        self._navigation.setAccessibleName("Pages")
        self._navigation.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for page in PAGES:
            item = QListWidgetItem(page.title)
            item.setData(_KEY, page.key)
            item.setSizeHint(QSize(0, self.fontMetrics().height() + 14))
            self._navigation.addItem(item)
        self._navigation.setIconSize(QSize(ICON_PX, ICON_PX))
        self._colour_icons()
        self._navigation.currentItemChanged.connect(lambda _item, _before: self.show_page(self.page_key))
        self._navigation.itemActivated.connect(lambda _: self._focus_page())
        self._navigation.itemClicked.connect(lambda _: self._focus_page())
        pane = QWidget()
        pane.setObjectName("pane")
        pane.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        widest_px = max(self.fontMetrics().horizontalAdvance(page.title) for page in PAGES)
        pane.setFixedWidth(widest_px + ICON_PX + 52)
        column = QVBoxLayout(pane)
        column.setContentsMargins(0, 0, 1, 0)
        column.setSpacing(0)
        column.addWidget(self._navigation, 1)
        column.addWidget(self._pane_note)
        header = QWidget()
        header.setObjectName("header")
        header.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        line = QHBoxLayout(header)
        line.setContentsMargins(16, 7, 16, 7)
        line.setSpacing(10)
        line.addWidget(self._page_title)
        line.addStretch()
        line.addWidget(self._profile_name)
        line.addWidget(self._badge)
        body = QWidget()
        stacked = QVBoxLayout(body)
        stacked.setContentsMargins(0, 0, 0, 0)
        stacked.setSpacing(0)
        stacked.addWidget(header)
        stacked.addWidget(self._loading_line)
        stacked.addWidget(self._stack, 1)
        whole = QWidget()
        row = QHBoxLayout(whole)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(pane)
        row.addWidget(body, 1)
        self.setCentralWidget(whole)

    def _build_menus(self) -> None:
        self._menus = Menus(self, self._run_in_timeline)
        self._actions = self._menus.actions
        file_menu, before = self._menus.menus["File"], self._menus.action("quit")
        self._recent_menu = QMenu("Recent", self)
        self._recent_menu.aboutToShow.connect(self._fill_recent)
        file_menu.insertMenu(before, self._recent_menu)
        file_menu.insertSeparator(before)
        self._use_keys()
        self.settings.changed.connect(lambda key: self._use_keys() if key == "keys" else None)

    def _use_keys(self) -> None:
        """Give every command the keys that are in force."""
        self._menus.use_keys(self.keys)
        page = self.built_page("timeline")
        if page is not None:
            page.timeline.use_keys(self.keys)  # type: ignore[attr-defined]

    def _run_in_timeline(self, command_id: str) -> None:
        """Show the timeline and have it do a command of its own."""
        self.go_to_page("timeline")
        self.page.timeline.run(command_id)  # type: ignore[attr-defined]

    def _make_page(self, key: str) -> QWidget:
        if key == "dashboard":
            from smprof_desktop.dashboard.view import DashboardView  # pyqtgraph takes a third of a second to import

            dashboard = DashboardView(self.session, self.tasks, settings=self.settings)
            dashboard.kernel_opened.connect(lambda name: self.show_longest(name, dashboard.range_ns))
            dashboard.opened.connect(self.show_slices)
            dashboard.moment_opened.connect(self.show_moment)
            return dashboard
        if key == "timeline":
            from smprof_desktop.window.timeline_page import TimelinePage

            timeline = TimelinePage(self.session, self.tasks, self.settings)
            timeline.timeline.use_keys(self.keys)
            timeline.timeline.faulted.connect(self.show_fault)
            self.painter_switch.serve(timeline.timeline)
            return timeline
        if key == "information":
            from smprof_desktop.window.information_page import InformationPage

            return InformationPage(self.session, self.tasks)
        if key == "settings":
            from smprof_desktop.window.settings_page import SettingsPage

            return SettingsPage(self.settings, self.settings.where)
        if key == "shortcuts":
            from smprof_desktop.window.shortcuts_page import ShortcutsPage

            return ShortcutsPage(self.settings)
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(16, 12, 16, 12)
        layout.addWidget(label(_TO_COME[key], "muted", wraps=True))
        layout.addStretch()
        return page

    def _look(
        self,
        profile: Profile,
        work: Callable[[Progress, CancelCheck], Any],
        done: Callable[[Any], None],
        failed: Callable[[str], None],
    ) -> None:
        """Look for something in the profile beside the window; whatever was looked for before is given up."""

        def ended(answer: Callable[[], None]) -> None:
            self._is_finding = False
            answer()

        self._is_finding = True
        self.tasks.start(
            FINDING,
            work,
            lambda found: ended(partial(done, found)),
            lambda sentence: ended(partial(failed, sentence)),
            lambda: ended(lambda: None),
            reads=profile,
        )

    def _show_progress(self, share: float, what: str) -> None:
        self.load_page.show_progress(share, what)
        self._loading_line.show_progress(share, what)

    def _show_loading_line(self) -> None:
        """The Load page tells of the loading itself."""
        self._loading_line.setVisible(self._loading is not None and self.page_key != "load")

    def _loaded(self, targets: tuple[str, ...], done: Callable[[], None] | None, profile: Profile) -> None:
        self._loading = None
        self._show_loading_line()
        self.load_page.show_idle()
        opened = tuple(
            str(Path(target).absolute()) if "://" not in target and Path(target).exists() else target
            for target in targets
        )
        self.settings.add_recent(opened)
        try:
            self.session.open(profile, opened)
        except EmitLoopError as error:  # a page could not show it
            self.session.close()
            self.tasks.let_go(profile, profile.close)  # whoever would have done it may not have heard of it
            self.show_error(sentence_of(error.__cause__ or error))
            return
        if done is None:
            self.go_to_page("dashboard")
        else:
            done()
        self.session.notes.failed.connect(self.show_fault)
        if self.session.notes.notice:
            self.show_fault(self.session.notes.notice)

    def _failed(self, sentence: str) -> None:
        self._loading = None
        self.show_error(sentence)
        self._enable_actions()

    def _cancelled(self) -> None:
        self._loading = None
        self._show_loading_line()
        self.load_page.show_idle("Loading was cancelled; nothing was changed.")
        self._enable_actions()

    def _show_profile(self, _changed: object = None) -> None:
        profile = self.session.profile
        if self._held is not None and self._held is not profile:
            self.tasks.let_go(self._held, self._held.close)
        self._held = profile
        name = "" if profile is None else profile.manifest.name or "without a name"
        is_synthetic = profile is not None and profile.manifest.synthetic
        short = elide_middle(name, 80)
        self.setWindowTitle(f"{short}{' (synthetic)' if is_synthetic else ''} — {TITLE}" if name else TITLE)
        self._profile_name.setText(elide_middle(name, 60))
        self._profile_name.setToolTip(tooltip(name) if name else "")
        self._badge.setVisible(is_synthetic)
        self._pane_note.setText("No profile is loaded." if profile is None else _short_summary(profile))
        self._enable_actions()

    def _enable_actions(self) -> None:
        is_open = self.session.profile is not None
        for command, action in self._actions:
            if command.id == "back":
                action.setEnabled(self.session.can_go_back)
            elif command.id == "forward":
                action.setEnabled(self.session.can_go_forward)
            elif command.id == "cancel":
                action.setEnabled(self._loading is not None)
            elif getattr(command, "needs_profile", True):
                action.setEnabled(is_open)

    def _fill_recent(self) -> None:
        self._recent_menu.clear()
        for targets in self.settings.recent():
            action = self._recent_menu.addAction(menu_text(targets_text(targets)))
            action.triggered.connect(partial(call, self.load, targets))
        if self._recent_menu.isEmpty():
            self._recent_menu.addAction("Nothing was loaded yet").setEnabled(False)

    def _focus_page(self) -> None:
        """Give the keyboard to what the page names for it, else to its first control that takes it."""
        proxy = self.page.focusProxy()
        candidates = [*([proxy] if proxy is not None else []), self.page, *self.page.findChildren(QWidget)]
        for widget in candidates:
            if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisibleTo(self) and widget.isEnabled():
                widget.setFocus(Qt.FocusReason.TabFocusReason)
                return

    def _colour_icons(self) -> None:
        text = self.palette().color(QPalette.ColorRole.Text)
        chosen = self.palette().color(QPalette.ColorRole.HighlightedText)
        for row, page in enumerate(PAGES):
            self._navigation.item(row).setIcon(icon(page.key, text, chosen, max(2.0, self.devicePixelRatioF())))

    def changeEvent(self, event: QEvent) -> None:
        """Draw the icons again in the text's colour when the theme changes."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._navigation.count() == len(PAGES):
            self._colour_icons()

    def event(self, event: QEvent) -> bool:
        """Draw the icons again, sharp, when the window comes to a screen of another scale."""
        if event.type() == QEvent.Type.DevicePixelRatioChange and self._navigation.count() == len(PAGES):
            self._colour_icons()
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Tell once that there is a window to see."""
        super().paintEvent(event)
        if not self._is_painted:
            self._is_painted = True
            QTimer.singleShot(0, self, self.painted.emit)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take files and folders."""
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Load what was dropped; several files are one profile."""
        urls = event.mimeData().urls()
        names = [url.toLocalFile() for url in urls if url.isLocalFile()]
        event.acceptProposedAction()
        if len(names) < len(urls) or not names:
            self.show_error(
                "What was dropped is not a file on this machine; save it here first, then drop it or open its path."
            )
            return
        # Loading starts once the drop is over: the program that it came from waits for the end of this call.
        QTimer.singleShot(0, self, partial(self.load, names))

    def closeEvent(self, event: QCloseEvent) -> None:
        """Keep the window's place and stop everything that runs."""
        self.settings.set("geometry", bytes(self.saveGeometry().toHex().data()).decode("ascii"))
        if self._held is not None and not self.tasks.is_closed:
            self.tasks.let_go(self._held, self._held.close)
        self.painter_switch.stop()
        self.tasks.close()
        super().closeEvent(event)


def find_with_times(profile: Profile, text: str) -> Found | None:
    """The slice that a text names exactly, else what `slices.find` finds, with its start and end in ns."""
    from smprof_desktop import link
    from smprof_desktop.analysis import slices

    ref = link.find_exact(profile, text) or slices.find(profile, text)
    return None if ref is None else (ref, *slices.times_of(profile, ref))


def _open(open_targets: OpenTargets, targets: tuple[str, ...], progress: Progress, cancelled: CancelCheck) -> Profile:
    """Open the targets and read what every page needs at once, all on the task's thread."""
    profile = open_targets(targets, progress, cancelled)
    try:
        progress(1.0, "Reading how much there is")
        summary(profile)
    except BaseException:
        profile.close()
        raise
    return profile


def _find(profile: Profile, text: str, _progress: Progress, _cancelled: CancelCheck) -> Found | None:
    return find_with_times(profile, text)


def _find_longest(
    profile: Profile, kernel: str, range_ns: tuple[int, int] | None, _progress: Progress, cancelled: CancelCheck
) -> Found | None:
    from smprof_desktop.analysis import longest

    begin_ns, end_ns = range_ns or (None, None)
    return longest.execution(profile, kernel, begin_ns, end_ns, cancelled)


def _close(profile: Profile) -> None:
    profile.close()


def _short_summary(profile: Profile) -> str:
    """How much of what, a line each."""
    manifest = profile.manifest
    devices = len(devices_of(manifest))
    parts = ((len(manifest.hosts), "host"), (len(manifest.processes), "process"), (devices, "device"))
    return "\n".join(
        f"{count:,} {name if count == 1 else name + ('es' if name.endswith('s') else 's')}" for count, name in parts
    )
