"""A child process that imports one damaged trace after the other, as the importer's own children do."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from smprof.profile.manifest import ProfileError
from smprof.profile.reader import Profile
from smprof_desktop.importers import convert


class Died(Exception):
    """The child crashed, or did not answer in time."""


class Child:
    """Starts when first asked, and again after it died."""

    def __init__(self, deadline_seconds: float) -> None:
        self._deadline_seconds = deadline_seconds
        self._process: Any = None
        self._pipe: Connection | None = None

    def import_file(self, path: Path, out: Path) -> dict[str, Any]:
        """What became of a trace. Raises Died."""
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        try:
            self._pipe.send_bytes(json.dumps([str(path), str(out)]).encode())
            if not self._pipe.poll(self._deadline_seconds):
                raise Died(f"no answer within {self._deadline_seconds:g} s")
            answer: dict[str, Any] = json.loads(self._pipe.recv_bytes())
            return answer
        except (EOFError, OSError):
            self._process.join(5)
            raise Died(f"exit status {self._process.exitcode}") from None
        finally:
            if not self._process.is_alive() or self._pipe.poll():
                self.stop()

    def restart(self) -> None:
        """End the child at once; the next question starts another."""
        self.stop()

    def stop(self) -> None:
        """End the child."""
        if self._pipe is not None:
            self._pipe.close()
            self._process.kill()
            self._process.join()
            self._process.close()
            self._pipe = None


def _serve(pipe: Connection) -> None:
    while True:
        try:
            path, out = json.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            return
        pipe.send_bytes(json.dumps(_answer(Path(path), Path(out))).encode())


def _answer(path: Path, out: Path) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    try:
        convert.import_file(path, out)
        answer |= _account(Profile.open(out))
    except ProfileError as error:
        answer["refused"] = str(error)
    except Exception as error:
        answer["fault"] = f"{type(error).__name__}: {error}"
    gc.collect()
    return answer | resources()


def _account(profile: Profile) -> dict[str, Any]:
    losses: Counter[str] = Counter()
    for loss in profile.losses:
        losses[loss.kind] += loss.count
    tables = ("device", "host", "annotation")
    slices = sum(len(process.table(table)["start_ns"]) for process in profile.processes for table in tables)
    for process in profile.processes:
        for table in (*tables, "counter"):
            if len(process.table(table)):
                process.args_of(table, len(process.table(table)) - 1)
    markers = sum(len(process.info.metadata.get("instants", [])) for process in profile.processes)
    counters = sum(len(process.table("counter")) for process in profile.processes)
    return {"slices": slices, "markers": markers, "counters": counters, "losses": dict(losses)}


def resources() -> dict[str, int]:
    """Resident memory in bytes and open files of this process, where the system tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return {"resident": pages * os.sysconf("SC_PAGE_SIZE"), "files": len(os.listdir("/proc/self/fd"))}
    except OSError:
        return {"resident": 0, "files": 0}
