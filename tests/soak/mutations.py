"""Seeded damage to traces and profiles. Everything follows from the random numbers that are handed in."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from random import Random
from typing import Any

_TOKENS = (
    b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"null", b"NaN", b"-", b"1e999", b"\0", b"\xff", b'"ph"', b"\n",
    b"9" * 20, b'"\\ud800"', b"[" * 2000, b'{"a":' * 2000, b"0" * 5000, b"]}", b'"traceEvents":[', b"\x1f\x8b", b"true",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1 << 31, (1 << 63) - 1, -(1 << 63), 1 << 63, 10**40, 0.5, -1e308, 1e-320, "", "7", "-5", "NaN",
    "stream 3", "x" * 5000, "\u0000", "é漢🙂", [], [1, 2, 3], [[[]]], {}, {"a": {"b": [1]}},
)  # fmt: skip
SHOWN_PHASES = ("X", "i", "I", "B", "b", "n")
"""Phases each of whose events is a slice, a marker, or a counted loss."""

FLIP, EDIT, CUT, SPLICE, TOKENS = range(5)


def damaged_bytes(data: bytes, chance: Random) -> tuple[bytes, int]:
    """`data` with bytes flipped, edited, cut off, moved or exchanged for tokens; and which of these it was."""
    text = bytearray(data)
    how = chance.randrange(5)
    at = chance.randrange(len(text))
    if how == FLIP:
        text[at] ^= 1 << chance.randrange(8)
    elif how == EDIT:
        for _ in range(chance.choice([2, 5, 30, 300])):
            text[chance.randrange(len(text))] = chance.randrange(256)
    elif how == CUT:
        if chance.random() < 0.5:
            del text[at:]
        else:
            del text[at : at + chance.choice([1, 2, 10, 400, 20_000])]
    elif how == SPLICE:
        begin = chance.randrange(len(text))
        text[at:at] = text[begin : begin + chance.choice([1, 50, 3000, 30_000])]
    else:
        for _ in range(chance.choice([1, 1, 3, 12])):
            at = chance.randrange(len(text))
            text[at : at + chance.choice([0, 1, 3])] = chance.choice(_TOKENS)
    return bytes(text), how


def changed_events(events: list[dict[str, Any]], chance: Random) -> list[dict[str, Any]]:
    """As many events, some with values exchanged, taken from others or left out, or of another phase."""
    changed = [dict(event) for event in events]
    for _ in range(chance.choice([1, 10, 100])):
        event, other = chance.choice(changed), chance.choice(changed)
        what = chance.randrange(6)
        if what == 0 and event["ph"] in "XiI":
            event[chance.choice(["ts", "dur"])] = chance.choice(_VALUES)
        elif what == 1:
            event[chance.choice(["name", "pid", "tid", "cat", "id", "s"])] = chance.choice(_VALUES)
        elif what == 2 and isinstance(event.get("args"), dict) and event["args"]:
            key = chance.choice(list(event["args"]))
            event["args"] = {**event["args"], key: chance.choice(_VALUES)}
        elif what == 3:
            event["args"] = chance.choice([*_VALUES, other.get("args")])
        elif what == 4 and event["ph"] in "XiI":
            event.pop(chance.choice(["ts", "dur", "name", "pid", "tid", "args"]), None)
        elif event["ph"] == "X" and "ts" in event and _is_time(event["ts"]):
            event["ph"] = chance.choice([*SHOWN_PHASES, "E", "e", "C", "M", "s", "f", "Q"])
            event.setdefault("id", 1)
            event[f"extra {chance.randrange(3)}"] = chance.choice(_VALUES)
    return changed


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15


def damage_profile(folder: Path, chance: Random) -> bool:
    """Flip, cut, exchange or remove a file of a profile, or a value of its manifest.

    Gives whether checksums can tell: half of the time the journal is made to agree with what was changed.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = chance.choice(files)
    content = bytearray(path.read_bytes())
    how = chance.randrange(6)
    if path.name == "manifest.json" and how < 4:
        path.write_text(json.dumps(_changed_value(json.loads(content), chance)))
        return False
    if how == 0 or not content:
        path.unlink()
        return True
    if how == 1:
        del content[chance.randrange(len(content)) :]
    elif how == 2:
        content[:] = chance.choice(files).read_bytes()
    else:
        for _ in range(chance.choice([1, 1, 8, 100])):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    if path.suffix == ".parquet" and chance.random() < 0.5:
        _agree(path)
        return False
    return True


def _agree(path: Path) -> None:
    """Write length and checksum of a file anew into its journal."""
    journal = path.parent / "journal.jsonl"
    if not journal.exists():
        return
    lines = []
    for line in journal.read_text().splitlines():
        entry = json.loads(line)
        if entry["file"] == path.name:
            content = path.read_bytes()
            entry |= {"bytes": len(content), "crc32": zlib.crc32(content), "pieces": []}
        lines.append(json.dumps(entry))
    journal.write_text("\n".join(lines) + "\n")


def _changed_value(value: Any, chance: Random) -> Any:
    """A JSON value with one of the values in it exchanged."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        return {**value, key: _changed_value(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        return [*value[:at], _changed_value(value[at], chance), *value[at + 1 :]]
    return chance.choice(_VALUES)
