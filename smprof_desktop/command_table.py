"""What a command is, which keys it has, and how these are changed. The commands themselves stand where they are done:
`timeline.keys` and `window.commands`, which joins both to one table for menus, palette and help. No Qt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MAX_KEYS = 4
"""Keys of one command."""
_MODIFIERS = ("ctrl", "alt", "shift", "meta")


@dataclass(frozen=True)
class Command:
    """Something that can be done by a key, from a menu or from the palette.

    `keys` are Qt key sequences of one key each, the first one is shown. Letters that act `by_place` are the keys where
    a US keyboard has them, on any layout. What `is_held` goes on while the key is. Commands up to the next one that
    names a `group` belong to the same.
    """

    id: str
    title: str
    keys: tuple[str, ...] = ()
    by_place: bool = False
    is_held: bool = False
    group: str = ""
    meaning: str = ""
    """What it does, as the help says it, where the title does not."""


class KeyConflict(ValueError):
    """Keys that a command cannot have, and why, as one sentence."""


def normal(key: str) -> str:
    """A key sequence such that two of the same keys are equal: `shift+CTRL+a` and `Ctrl+Shift+A`."""
    key = key.strip().lower()
    # The last plus may be the key itself: "ctrl++".
    parts = [*key[:-2].split("+"), "+"] if key.endswith("++") else [key] if key == "+" else key.split("+")
    return "+".join([*sorted(parts[:-1], key=_order), parts[-1]])


def joined(*tables: Iterable[Command]) -> tuple[Command, ...]:
    """The commands of several tables as one; of those with the same id the first."""
    found: dict[str, Command] = {}
    for table in tables:
        for command in table:
            found.setdefault(command.id, command)
    return tuple(found.values())


def groups_of(commands: Iterable[Command]) -> list[tuple[str, list[Command]]]:
    """The groups of commands, in the order in which they are first named."""
    found: dict[str, list[Command]] = {}
    group = ""
    for command in commands:
        group = command.group or group
        found.setdefault(group, []).append(command)
    return list(found.items())


def keys_in_force(commands: Sequence[Command], changed: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The keys of each command: its own, or those that the user has given it.

    `changed` comes from a file that anyone may have written: what is no list of keys, what belongs to no command and a
    key that another command has already is passed over.
    """
    given = {command.id: keys for command in commands if (keys := _keys_of(changed.get(command.id))) is not None}
    found: dict[str, tuple[str, ...]] = {}
    taken: set[str] = set()
    # What was not changed stays; of changes that contradict each other the first in the table counts.
    for command in sorted(commands, key=lambda command: command.id in given):
        keys = tuple(key for key in given.get(command.id, command.keys) if normal(key) not in taken)
        taken.update(map(normal, keys))
        found[command.id] = keys
    return found


def changed_keys(
    commands: Sequence[Command], changed: Mapping[str, Any], command_id: str, keys: Sequence[str] | None
) -> dict[str, Any]:
    """`changed` with other keys for a command; None: its own again. Raises KeyConflict."""
    by_id = {command.id: command for command in commands}
    command = by_id[command_id]
    rest = {key: value for key, value in changed.items() if key != command_id}
    wanted = command.keys if keys is None else tuple(dict.fromkeys(keys))
    if len(wanted) > MAX_KEYS:
        raise KeyConflict(f"{command.title} can have {MAX_KEYS} keys at most; remove one first.")
    others = keys_in_force([other for other in commands if other.id != command_id], rest)
    for other_id, other_keys in others.items():
        for key in other_keys:
            if normal(key) in map(normal, wanted):
                title = by_id[other_id].title
                raise KeyConflict(f"{key} is the key of “{title}” already; give that another key first.")
    return rest if keys is None or wanted == command.keys else {**rest, command_id: list(wanted)}


def conflicts(commands: Iterable[Command]) -> list[tuple[str, str, str]]:
    """(key, command, other command) of each key that two commands of a table have."""
    found = []
    owners: dict[str, str] = {}
    for command in commands:
        for key in command.keys:
            owner = owners.setdefault(normal(key), command.id)
            if owner != command.id:
                found.append((key, owner, command.id))
    return found


def _order(part: str) -> int:
    return _MODIFIERS.index(part) if part in _MODIFIERS else len(_MODIFIERS)


def _keys_of(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not all(isinstance(key, str) and 0 < len(key) <= 40 for key in value):
        return None
    return tuple(value[:MAX_KEYS])
