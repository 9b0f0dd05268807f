"""An import in a process of its own, and the most memory that it took."""

from __future__ import annotations

import json
import multiprocessing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from smprof.profile.manifest import ProfileError
from smprof_desktop.importers import convert


@dataclass
class Outcome:
    """`sentence`: why the file was refused; None where it was not. `peak_bytes`: 0 where the system does not tell."""

    sentence: str | None
    peak_bytes: int


def measured_import(path: Path, out: Path, deadline_seconds: float = 300) -> Outcome:
    """Import `path` into `out`. Raises AssertionError where the process crashes or takes too long."""
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    process = context.Process(target=_run, args=(theirs, path, out))
    process.start()
    theirs.close()
    try:
        assert pipe.poll(deadline_seconds), f"no end within {deadline_seconds} s"
        sentence, peak_bytes = json.loads(pipe.recv_bytes())
    except EOFError:
        process.join()
        raise AssertionError(f"the import crashed: exit status {process.exitcode}") from None
    finally:
        if process.is_alive():
            process.join(5)
        process.kill()
        process.join()
        pipe.close()
    return Outcome(sentence, peak_bytes)


def _run(pipe: Connection, path: Path, out: Path) -> None:
    sentence = None
    try:
        convert.import_file(path, out)
    except ProfileError as error:
        sentence = str(error)
    pipe.send_bytes(json.dumps([sentence, _peak_bytes()]).encode())


def _peak_bytes() -> int:
    """The high-water mark of this program; that of `getrusage` is handed on from the program that started it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM")), 0)
