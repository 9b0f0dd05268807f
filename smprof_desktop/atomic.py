"""Folders that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from smprof.profile.manifest import MANIFEST_NAME, ProfileError


def check_free(out: Path) -> None:
    """Raise ProfileError unless `out` is a new or empty folder in a folder that can be made."""
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise ProfileError(f"{out} exists and is not an empty folder; choose another.")
    except OSError as error:
        raise ProfileError(f"{out} cannot be written: {error.strerror or error}; choose another place.") from None


@dataclass(frozen=True)
class Work:
    """Empty folders to write into: `whole` becomes what was asked for, `aside` goes in any case."""

    whole: Path
    aside: Path


@contextmanager
def new_folder(out: Path) -> Iterator[Work]:
    """Folders beside `out`, of which `whole` becomes `out` once the block ends well; nothing stays if it does not.

    Raises ProfileError where `out` is not new or empty, or cannot be written.
    """
    check_free(out)
    out = out.absolute()
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    work = Work(part / "whole", part / "aside")
    try:
        shutil.rmtree(part, ignore_errors=True)
        work.whole.mkdir(parents=True)
        work.aside.mkdir()
        yield work
        check_free(out)
        if not out.exists():
            os.replace(work.whole, out)
        else:
            # It may be the folder that someone stands in: it is filled, not replaced. The manifest makes it a profile.
            for entry in sorted(work.whole.iterdir(), key=lambda path: path.name == MANIFEST_NAME):
                os.replace(entry, out / entry.name)
    except OSError as error:
        raise ProfileError(
            f"The profile cannot be written to {out}: {error.strerror or error}; choose another folder."
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
