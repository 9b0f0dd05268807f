"""Folders that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smprof.profile.manifest import MANIFEST_NAME, ProfileError


def check_free(out: Path) -> None:
    """Raise ProfileError unless `out` is a new or empty folder in a folder that can be made."""
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise ProfileError(f"{out} is there already and is not empty; give a new or empty folder.")
    except OSError as error:
        raise ProfileError(f"{out} cannot be written: {error.strerror or error}; choose another place.") from None


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A folder beside `out` to write into, which becomes `out` once the block ends well and goes if it does not.

    Raises ProfileError where `out` is not new or empty.
    """
    check_free(out)
    out = out.absolute()
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        yield part
        if not out.exists():
            os.replace(part, out)
        else:
            # It may be the folder that someone stands in: it is filled, not replaced. The manifest makes it a profile.
            for entry in sorted(part.iterdir(), key=lambda path: path.name == MANIFEST_NAME):
                os.replace(entry, out / entry.name)
    finally:
        shutil.rmtree(part, ignore_errors=True)
