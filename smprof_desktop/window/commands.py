"""The table of commands and their keys: it feeds the menus, the shortcuts and the Keyboard shortcuts page."""

from __future__ import annotations

from dataclasses import dataclass


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
class Command:
    """Something the window does. `keys` are Qt key sequences; `slot` is a method of the window."""

    name: str
    menu: str
    title: str
    keys: tuple[str, ...]
    meaning: str
    slot: str
    argument: str | None = None
    needs_profile: bool = False


COMMANDS: tuple[Command, ...] = (
    Command(
        "open_files",
        "File",
        "Open trace files…",
        ("Ctrl+O",),
        "Choose trace files; several are the processes of one profile",
        "choose_files",
    ),
    Command(
        "open_folder",
        "File",
        "Open folder…",
        ("Ctrl+Shift+O",),
        "Choose a profile folder or a folder of traces",
        "choose_folder",
    ),
    Command(
        "open_sample",
        "File",
        "Open the sample profile",
        (),
        "Load the small synthetic profile that comes with the application",
        "open_sample",
    ),
    Command(
        "export_excerpt",
        "File",
        "Export excerpt…",
        ("Ctrl+E",),
        "Write the visible or selected range as a profile of its own, or as trace-event JSON",
        "export_excerpt",
        needs_profile=True,
    ),
    Command(
        "save_picture",
        "File",
        "Save picture…",
        ("Ctrl+Shift+S",),
        "Save the timeline as it is seen, as PNG or SVG",
        "save_picture",
        needs_profile=True,
    ),
    Command(
        "copy_link",
        "File",
        "Copy link",
        ("Ctrl+K",),
        "Copy a command line that opens this view elsewhere: range, lanes, selection",
        "copy_link",
        needs_profile=True,
    ),
    Command("cancel", "File", "Cancel loading", ("Ctrl+.",), "Stop what is being loaded", "cancel_loading"),
    Command("unload", "File", "Unload profile", ("Ctrl+W",), "Unload the profile", "unload", needs_profile=True),
    Command("quit", "File", "Quit", ("Ctrl+Q",), "Close the window and stop everything that runs", "close"),
    *(
        Command(
            f"page_{page.key}",
            "Go",
            page.title,
            (f"Ctrl+{number}",),
            f"Show the page {page.title}",
            "go_to_page",
            page.key,
        )
        for number, page in enumerate(PAGES, 1)
    ),
    Command("back", "Go", "Back", ("Alt+Left",), "Return to the view before", "go_back", needs_profile=True),
    Command("forward", "Go", "Forward", ("Alt+Right",), "Forward to the next view", "go_forward", needs_profile=True),
    Command(
        "switch_pane",
        "View",
        "Switch between left pane and page",
        ("F6",),
        "Switch between page list and page",
        "switch_pane",
    ),
    Command("theme", "View", "Switch between light and dark", ("Ctrl+Shift+L",), "Set the other theme", "switch_theme"),
    Command("full_screen", "View", "Full screen", ("F11",), "Full screen on or off", "switch_full_screen"),
    Command("shortcuts", "Help", "Keyboard shortcuts", ("F1", "?"), "Show every key", "go_to_page", "shortcuts"),
)
