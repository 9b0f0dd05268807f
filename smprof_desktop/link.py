"""A view of a profile as a command line that opens it elsewhere, and slices named exactly. No Qt."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from smprof.profile.schema import SLICE_TABLES
from smprof_desktop.analysis import slices
from smprof_desktop.slice_ref import SliceRef

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile, Profile

PROGRAM = "smprof-desktop"
MAX_NAME = 120
"""Characters of a name that a slice's own text holds."""
_CUT = "…"
_EXACT = re.compile(rf"#(.+)/({'|'.join(SLICE_TABLES)})/(\d{{1,19}})@(-?\d{{1,19}}):(.*)", re.DOTALL)


def command_line(targets: Sequence[str], options: Sequence[tuple[str, str]], windows: bool = os.name == "nt") -> str:
    """The command that opens targets with options, `("range", "0:5")`, quoted for the shells of the platform."""
    words = [PROGRAM, *targets, *(f"--{name}={value}" for name, value in options)]
    return subprocess.list2cmdline(words) if windows else shlex.join(words)


def exact(profile: Profile, ref: SliceRef) -> str:
    """A slice as `#HOST/PROCESS/TABLE/ROW@START:NAME`, START in ns from the profile's start: what `--select` takes.

    A name goes as far as it is printable and short, and ends in an ellipsis where there is more.
    """
    process = profile.processes[ref.process]
    start_ns, _ = slices.times_of(profile, ref)
    name = slices.name_of(process, ref.table, ref.row)
    return f"#{_named(process)}/{ref.table}/{ref.row}@{start_ns - profile.begin_ns}:{_short(name)}"


def find_exact(profile: Profile, text: str) -> SliceRef | None:
    """The slice that such a text names: at that row if it is there, else the one of that start and name.

    None where there is none, and for every other text.
    """
    parts = _EXACT.fullmatch(text)
    if parts is None:
        return None
    where, table, row, since_ns, name = parts[1], parts[2], int(parts[3]), int(parts[4]), parts[5]
    start_ns = profile.begin_ns + since_ns
    if not -(1 << 63) <= start_ns < 1 << 63:
        return None
    for index, process in enumerate(profile.processes):
        if _named(process) != where:
            continue
        starts_ns = process.table(table)["start_ns"]
        rows = [row] if row < len(starts_ns) and int(starts_ns[row]) == start_ns else []
        for found in [*rows, *np.flatnonzero(starts_ns == start_ns).tolist()]:
            if _short(slices.name_of(process, table, found)) == name:
                return SliceRef(index, table, found)
    return None


def _named(process: ProcessProfile) -> str:
    return f"{process.info.host}/{process.info.process}"


def _short(name: str) -> str:
    end = next((at for at, character in enumerate(name[: MAX_NAME + 1]) if not character.isprintable()), len(name))
    end = min(end, MAX_NAME)
    return name if end >= len(name) else name[:end] + _CUT
