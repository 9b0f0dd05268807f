"""The table of commands and their keys: it feeds menus, shortcuts, palette and the Keyboard shortcuts page."""

from __future__ import annotations

from dataclasses import dataclass

from smprof_desktop.command_table import Command, joined
from smprof_desktop.timeline.keys import COMMANDS as TIMELINE_COMMANDS


@dataclass(frozen=True)
class PageEntry:
    """One page of the left pane."""

    key: str
    title: str


PAGES = (
    PageEntry("load", "Load profile"),
    PageEntry("dashboard", "Dashboard"),
    PageEntry("timeline", "Timeline"),
    PageEntry("advice", "Advice"),
    PageEntry("information", "Information"),
    PageEntry("settings", "Settings"),
    PageEntry("shortcuts", "Keyboard shortcuts"),
)
"""In the order of the left pane; the key is what `--page` takes."""


@dataclass(frozen=True)
class WindowCommand(Command):
    """Something the window does. `slot` is one of its methods; `group` names the menu."""

    slot: str = ""
    argument: str | None = None
    needs_profile: bool = False


COMMANDS: tuple[WindowCommand, ...] = (
    WindowCommand(
        "open_files",
        "Open trace files…",
        ("Ctrl+O",),
        group="File",
        meaning="Choose trace files; several are the processes of one profile",
        slot="choose_files",
    ),
    WindowCommand(
        "open_folder",
        "Open folder…",
        ("Ctrl+Shift+O",),
        group="File",
        meaning="Choose a profile folder or a folder of traces",
        slot="choose_folder",
    ),
    WindowCommand(
        "open_sample",
        "Open the sample profile",
        (),
        group="File",
        meaning="Load the small synthetic profile that comes with the application",
        slot="open_sample",
    ),
    WindowCommand(
        "export_excerpt",
        "Export excerpt…",
        ("Ctrl+E",),
        group="File",
        meaning="Write the visible or selected range as a profile of its own, or as trace-event JSON",
        slot="export_excerpt",
        needs_profile=True,
    ),
    WindowCommand(
        "save_picture",
        "Save picture…",
        ("Ctrl+Shift+S",),
        group="File",
        meaning="Save the timeline as it is seen, as PNG or SVG",
        slot="save_picture",
        needs_profile=True,
    ),
    WindowCommand(
        "copy_link",
        "Copy link",
        ("Ctrl+K",),
        group="File",
        meaning="Copy a command line that opens this view elsewhere: range, lanes, selection",
        slot="copy_link",
        needs_profile=True,
    ),
    WindowCommand(
        "cancel",
        "Cancel loading",
        ("Ctrl+.",),
        group="File",
        meaning="Stop what is being loaded",
        slot="cancel_loading",
    ),
    WindowCommand(
        "unload",
        "Unload profile",
        ("Ctrl+W",),
        group="File",
        meaning="Unload the profile",
        slot="unload",
        needs_profile=True,
    ),
    WindowCommand(
        "quit",
        "Quit",
        ("Ctrl+Q",),
        group="File",
        meaning="Close the window and stop everything that runs",
        slot="close",
    ),
    *(
        WindowCommand(
            f"page_{page.key}",
            page.title,
            (f"Ctrl+{number}",),
            group="Go",
            meaning=f"Show the page {page.title}",
            slot="go_to_page",
            argument=page.key,
        )
        for number, page in enumerate(PAGES, 1)
    ),
    WindowCommand(
        "back",
        "Back",
        ("Alt+Left",),
        group="Go",
        meaning="Return to the view before",
        slot="go_back",
        needs_profile=True,
    ),
    WindowCommand(
        "forward",
        "Forward",
        ("Alt+Right",),
        group="Go",
        meaning="Forward to the next view",
        slot="go_forward",
        needs_profile=True,
    ),
    WindowCommand(
        "find_lane",
        "Find lane…",
        ("Ctrl+P",),
        group="Go",
        meaning="Find a lane by a few letters of its name",
        slot="find_lane",
        needs_profile=True,
    ),
    WindowCommand(
        "switch_pane",
        "Switch between left pane and page",
        ("F6",),
        group="View",
        meaning="Switch between page list and page",
        slot="switch_pane",
    ),
    WindowCommand(
        "theme",
        "Switch between light and dark",
        ("Ctrl+Shift+L",),
        group="View",
        meaning="Set the other theme",
        slot="switch_theme",
    ),
    WindowCommand(
        "switch_names",
        "Kernel names: recorded, demangled, base",
        ("Ctrl+Shift+N",),
        group="View",
        meaning="Show kernel names in the next form: as recorded, demangled, the bare function",
        slot="switch_names",
    ),
    *(
        WindowCommand(
            f"names_{form}",
            f"Kernel names {title}",
            group="View",
            meaning=f"Show kernel names {title}",
            slot="set_names",
            argument=form,
        )
        for form, title in (("recorded", "as recorded"), ("demangled", "demangled"), ("base", "as the bare function"))
    ),
    WindowCommand(
        "full_screen", "Full screen", ("F11",), group="View", meaning="Full screen on or off", slot="switch_full_screen"
    ),
    WindowCommand(
        "palette",
        "All commands…",
        ("Ctrl+Shift+P",),
        group="Help",
        meaning="Find a command by a few letters and do it",
        slot="show_palette",
    ),
    WindowCommand(
        "shortcuts",
        "Keyboard shortcuts",
        ("F1", "?"),
        group="Help",
        meaning="Show every key",
        slot="go_to_page",
        argument="shortcuts",
    ),
)

TABLE: tuple[Command, ...] = joined(COMMANDS, TIMELINE_COMMANDS)
"""Everything that can be done: what menus, palette and help are made of."""
TIMELINE_IDS = frozenset(command.id for command in TABLE) - {command.id for command in COMMANDS}
"""What the timeline does and the window does not."""
