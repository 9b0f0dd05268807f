"""A `.nsys-rep` report → its SQLite export, by the `nsys` on the PATH. Reports themselves are NVIDIA's own format."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from smprof.profile.manifest import ProfileError

_MOST_ERROR_CHARACTERS = 300
_MOST_ERROR_BYTES = 64 << 10
_END_SECONDS = 2.0


def require_exporter(path: Path) -> str:
    """The `nsys` on the PATH. Raises ProfileError with the command to type where there is none."""
    found = shutil.which("nsys")
    if found is None:
        command = _command("nsys", path, path.with_suffix(".sqlite"))
        shown = subprocess.list2cmdline(command) if os.name == "nt" else shlex.join(command)
        raise ProfileError(
            f"{path} is an Nsight Systems report, and there is no nsys on the PATH to export it; "
            f"run `{shown}` where Nsight Systems is installed and open the database."
        )
    return found


def without_exported(paths: list[Path]) -> list[Path]:
    """The same files but for reports whose export is among them: `nsys stats` leaves it beside the report."""
    exports = {path.with_suffix("") for path in paths if path.suffix == ".sqlite"}
    return [path for path in paths if path.suffix != ".nsys-rep" or path.with_suffix("") not in exports]


@contextmanager
def exported(path: Path, beside: Path) -> Iterator[Path]:
    """The SQLite export of the report at `path`, in a temporary folder next to `beside`, gone afterwards.

    Ending this process by SIGTERM, as a cancelled import does, ends nsys first. Raises ProfileError.
    """
    nsys = require_exporter(path)
    with tempfile.TemporaryDirectory(prefix=".nsys-", dir=beside.parent) as folder:
        database = Path(folder) / "export.sqlite"
        _run(_command(nsys, path, database), path, Path(folder))
        if not database.is_file():
            raise ProfileError(f"{path} cannot be exported: nsys wrote no database; try a newer Nsight Systems.")
        yield database


def _command(nsys: str, path: Path, database: Path) -> list[str]:
    # An absolute path never begins with a dash.
    return [nsys, "export", "--type", "sqlite", "--output", str(database.absolute()), str(path.absolute())]


def _run(command: list[str], path: Path, folder: Path) -> None:
    with (folder / "stderr").open("w+b") as errors:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd=folder,
                start_new_session=os.name == "posix",
            )
        except OSError as error:
            raise ProfileError(f"{path} cannot be exported: nsys does not start ({error.strerror or error}).") from None
        try:
            with _ended_with_us():
                status = process.wait()
        finally:
            _end(process)
        if status == 0:
            return
        errors.seek(max(errors.seek(0, os.SEEK_END) - _MOST_ERROR_BYTES, 0))
        lines = errors.read().decode("utf-8", "replace").strip().splitlines() or [f"exit status {status}"]
        raise ProfileError(
            f"{path} cannot be exported by nsys: {lines[-1].strip().rstrip('.')[:_MOST_ERROR_CHARACTERS]}; "
            "it may be damaged, or need a newer Nsight Systems."
        )


@contextmanager
def _ended_with_us() -> Iterator[None]:
    """Let SIGTERM raise SystemExit here, so that what was started is ended too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End nsys, and on POSIX all that it started."""
    if process.poll() is not None:
        return
    for kill in (False, True):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL if kill else signal.SIGTERM)
        elif kill:
            process.kill()
        else:
            process.terminate()
        try:
            process.wait(_END_SECONDS / 2)
            return
        except subprocess.TimeoutExpired:
            continue
