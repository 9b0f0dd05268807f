"""The timeline's commands and their keys: one table for the widget, the menus and the help. `id` is what
`TimelineWidget.run` takes."""

from __future__ import annotations

from dataclasses import dataclass

from smprof_desktop.command_table import Command

COMMANDS: tuple[Command, ...] = (
    Command("zoom_in", "Zoom in", ("W", "Ctrl++", "Ctrl+="), by_place=True, is_held=True, group="Move"),
    Command("zoom_out", "Zoom out", ("S", "Ctrl+-"), by_place=True, is_held=True),
    Command("pan_left", "Move to earlier times", ("A", "Left"), by_place=True, is_held=True),
    Command("pan_right", "Move to later times", ("D", "Right"), by_place=True, is_held=True),
    Command("fit_selection", "Fit the selection; once more: its surroundings", ("F",)),
    Command("fit_all", "Fit the whole profile", ("Home",)),
    Command("lane_up", "Lane above", ("Up",), group="Lanes"),
    Command("lane_down", "Lane below", ("Down",)),
    Command("page_up", "Scroll lanes up", ("PgUp",)),
    Command("page_down", "Scroll lanes down", ("PgDown",)),
    Command("toggle_lane", "Expand or collapse the lane", ("Return", "Enter", "Space")),
    Command("toggle_below", "Expand or collapse the lane and all below it", ("Shift+Return", "Shift+Enter")),
    Command("pin_lane", "Pin the lane to the top, or unpin it", ("P",)),
    Command("hide_lane", "Hide the lane", ("H",)),
    Command("show_lanes", "Show all hidden lanes", ("Shift+H",)),
    Command("move_lane_up", "Move the lane up in its group", ("Ctrl+Up",)),
    Command("move_lane_down", "Move the lane down in its group", ("Ctrl+Down",)),
    Command("filter_lanes", "Filter lanes by name", ("Ctrl+L",)),
    Command("lane_menu", "Menu of the lane", ("Menu", "Shift+F10")),
    Command("link_back", "From an execution to its launch", ("[",), group="Slices and links"),
    Command("link_forward", "From a launch to its execution; once more: the next execution", ("]",)),
    Command("all_links", "Show all links in view, or hide them", ("L",)),
    Command("previous_slice", "Previous slice of the lane", (",",)),
    Command("next_slice", "Next slice of the lane", (".",)),
    Command("search", "Search all names", ("/", "Ctrl+F"), group="Search"),
    Command("next_match", "Next match", ("N", "F3")),
    Command("previous_match", "Match before", ("Shift+N", "Shift+F3")),
    Command("list_matches", "List the matching names", ("Alt+N",)),
    Command("switch_time", "Times from the start, by the clock, in UTC", ("Alt+T",), group="Time, marks and steps"),
    Command("mark", "Mark the selected slice's start, or the time at the pointer", ("M",)),
    Command("mark_range", "Mark the selected area or slice as a range", ("Shift+M",)),
    Command("edit_mark", "Edit the selected mark's text", ("F2",)),
    Command("remove_mark", "Remove the selected mark", ("Del",)),
    Command("list_marks", "List the marks", ("Alt+M",)),
    Command("previous_step", "Step before", ("Shift+Left",)),
    Command("next_step", "Next step", ("Shift+Right",)),
    Command("ruler", "Take the ruler: drag to measure; once more: put it away", ("R",)),
    Command("select_area", "Select the selected slice's time, else all that is seen, as an area", ("Ctrl+A",)),
    Command("show_area", "Show the totals of the area", ("Alt+A",)),
    Command("show_histogram", "Show the durations of the selected slice's name", ("Alt+D",)),
    Command("deselect", "Select nothing", ("Esc",)),
    Command("back", "Back to the view before", ("Alt+Left",)),
    Command("forward", "Forward again", ("Alt+Right",)),
)


@dataclass(frozen=True)
class Gesture:
    """Something the mouse does in the timeline, for the help."""

    title: str
    gesture: str


GESTURES: tuple[Gesture, ...] = (
    Gesture("Scroll lanes", "Wheel"),
    Gesture("Move in time", "Shift+Wheel, or sideways"),
    Gesture("Zoom at the pointer", "Ctrl+Wheel"),
    Gesture("Move in time and lanes", "Drag"),
    Gesture("Select an area", "Shift+Drag; a setting swaps it with dragging"),
    Gesture("Select an area of all lanes", "Drag on the time axis"),
    Gesture("Move an end of the area", "Drag it on the time axis"),
    Gesture("Measure, while the ruler is taken", "Drag"),
    Gesture("Measure and select without snapping to edges", "Alt+Drag"),
    Gesture("Move in the whole profile", "Click or drag in the strip on top"),
    Gesture("Widen or narrow what is seen", "Drag an edge of the strip's handle, or turn the wheel over it"),
    Gesture("Zoom", "Two fingers apart or together"),
    Gesture("Times from the start or by the clock", "Click left of the time axis"),
    Gesture("Select a slice", "Click"),
    Gesture("Select the other end of a link out of view", "Click on its note"),
    Gesture("Go to a mark", "Click on its flag"),
    Gesture("Edit a mark's text", "Double-click on its flag"),
    Gesture("Zoom to a step", "Double-click on its bar"),
    Gesture("Zoom to a slice", "Double-click"),
    Gesture("Expand or collapse", "Click on a header"),
    Gesture("Expand or collapse all below", "Shift+Click on a header"),
    Gesture("Pin a lane to the top, or unpin it", "Click on the pin in its header"),
    Gesture("Move a lane in its group", "Drag its header up or down"),
    Gesture("Menu of a lane", "Right-click on its header"),
    Gesture("Width of the header column", "Drag its edge"),
)
