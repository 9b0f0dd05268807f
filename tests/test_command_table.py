"""The table of commands: no key is given twice, and what a user changes holds against all others."""

from __future__ import annotations

from typing import Any

import pytest

from smprof_desktop.command_table import (
    Command,
    KeyConflict,
    changed_keys,
    conflicts,
    groups_of,
    joined,
    keys_in_force,
    normal,
)

COMMANDS = (
    Command("zoom", "Zoom in", ("W", "Ctrl++"), group="Move"),
    Command("fit", "Fit", ("F",)),
    Command("search", "Search", ("/", "Ctrl+F"), group="Search"),
    Command("bare", "Without a key"),
)


def test_a_key_is_the_same_however_it_is_written() -> None:
    assert normal("ctrl+SHIFT+p") == normal("Shift+Ctrl+P") != normal("Ctrl+P")
    assert normal("Ctrl++") == "ctrl++" and normal("+") == "+" and normal("Ctrl+Shift++") == normal("Shift+Ctrl++")
    assert normal(" F3 ") == "f3"


def test_two_commands_with_one_key_are_found() -> None:
    assert conflicts(COMMANDS) == []
    assert conflicts((*COMMANDS, Command("x", "X", ("ctrl+f",)))) == [("ctrl+f", "search", "x")]
    assert conflicts((Command("x", "X", ("A", "a")),)) == []


def test_groups_run_until_the_next_one() -> None:
    assert [(group, [command.id for command in commands]) for group, commands in groups_of(COMMANDS)] == [
        ("Move", ["zoom", "fit"]),
        ("Search", ["search", "bare"]),
    ]


def test_of_commands_with_one_id_the_first_counts() -> None:
    other = Command("fit", "Fit otherwise", ("G",))
    assert joined(COMMANDS, (other,)) == COMMANDS


def test_keys_are_changed_and_given_back() -> None:
    changed = changed_keys(COMMANDS, {}, "fit", ["G", "G"])
    assert changed == {"fit": ["G"]} and keys_in_force(COMMANDS, changed)["fit"] == ("G",)
    assert changed_keys(COMMANDS, changed, "fit", ["F"]) == {}, "its own keys are no change"
    assert changed_keys(COMMANDS, changed, "fit", None) == {}
    assert keys_in_force(COMMANDS, changed_keys(COMMANDS, changed, "fit", []))["fit"] == ()


def test_a_key_that_another_command_has_is_refused_with_a_sentence() -> None:
    with pytest.raises(KeyConflict, match=r"“Search”.*give that another key first\."):
        changed_keys(COMMANDS, {}, "fit", ["ctrl+f"])
    moved = changed_keys(COMMANDS, {}, "search", ["S"])
    assert changed_keys(COMMANDS, moved, "fit", ["Ctrl+F"])["fit"] == ["Ctrl+F"]
    both = changed_keys(COMMANDS, moved, "fit", ["Ctrl+F"])
    with pytest.raises(KeyConflict):
        changed_keys(COMMANDS, both, "search", None)
    with pytest.raises(KeyConflict, match="at most"):
        changed_keys(COMMANDS, {}, "fit", list("abcde"))


@pytest.mark.parametrize("keys", ["G", 7, None, [7], [""], ["x" * 99], {"a": 1}])
def test_what_is_no_list_of_keys_is_passed_over(keys: Any) -> None:
    found = keys_in_force(COMMANDS, {"fit": keys, "nobody": ["Q"]})
    assert found == {command.id: command.keys for command in COMMANDS}


def test_changes_that_contradict_each_other_leave_each_key_to_one_command() -> None:
    found = keys_in_force(COMMANDS, {"zoom": ["F", "X"], "search": ["X", "Y"]})
    assert found == {"zoom": ("X",), "fit": ("F",), "search": ("Y",), "bare": ()}
