"""Files that the user names to be written: checked before any work, replaced whole, devices and pipes left in place."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

from smprof.profile.manifest import ProfileError, write_atomically


def check(path: Path) -> None:
    """Raises ProfileError, one sentence, where `path` cannot be a file to write."""
    try:
        if path.is_dir():
            raise ProfileError(f"{path} is a folder; name a file to write.")
        folder = Path(os.path.realpath(path)).parent
        if not path.exists() and not folder.is_dir():
            raise ProfileError(f"The folder of {path} does not exist; create it first.")
        if not os.access(path if path.exists() else folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as error:
        raise _refused(path, error) from None


def write(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, and through a link the file that it leads to.

    What is no regular file (a device, a pipe, standard output by its path) is opened and written, never replaced.
    Raises ProfileError: one sentence.
    """
    try:
        found = path.stat() if path.exists() else None
        if found is not None and _is_standard_output(found):
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        elif found is not None and not (stat.S_ISREG(found.st_mode) and os.access(_real(path).parent, os.W_OK)):
            with path.open("wb") as stream:
                stream.write(content)
        else:
            write_atomically(_real(path), content)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise _refused(path, error) from None


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _is_standard_output(found: os.stat_result) -> bool:
    """Whether this is the file, device or pipe that standard output already goes to."""
    try:
        return os.path.samestat(found, os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):  # closed, or replaced by something in memory
        return False


def _refused(path: Path, error: OSError | ValueError) -> ProfileError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ProfileError(f"The file cannot be written to {path}: {reason.lower()}; choose another place.")
