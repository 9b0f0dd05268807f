"""Reads Parquet that others wrote in a child process first, so that a file which crashes the reader crashes only that.

Messages between the two are JSON. The child gets no more address space than it may need, where the system can limit it.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import pyarrow as pa

from smprof.profile.assemble import assemble
from smprof.profile.contents import list_process, one_line, open_parquet, read_column, salvage
from smprof.profile.manifest import Loss, ProfileError
from smprof.profile.merge import write_merged
from smprof.profile.schema import column
from smprof.profile.storage import parse_file_name

MAX_CHILD_BYTES = 16 << 30
"""Address space of the child: a file that claims more than this is refused, not believed."""

_PATIENCE_SECONDS = 30.0
_PATIENCE_BYTES_PER_SECOND = 2 << 20
"""How long one answer may take: so much, and as long as reading the file at this pace."""


class Guard:
    """A child process that reads first. Starts when first needed; safe to use from several threads."""

    def __init__(self, serve: Callable[[Connection], None] | None = None) -> None:
        self._serve = serve_requests if serve is None else serve
        self._lock = threading.Lock()
        self._held = _Held()
        # A guard that nobody holds any more takes its child and its copies along.
        self._finalizer = weakref.finalize(self, self._held.release)

    def start(self) -> None:
        """Start the child now, so that it is there when it is asked."""
        with self._lock:
            self._start()

    def check(self, path: Path, columns: Sequence[str], groups: Sequence[int] | None = None) -> str | None:
        """Why these columns (none named: all) of a file, or of some of its row groups, cannot be read, or None."""
        request: dict[str, Any] = {"do": "check", "path": str(path), "columns": list(columns)}
        if groups is not None:
            request["groups"] = list(groups)
        answer = self._ask(request, path.stat().st_size)
        why: str | None = answer["why"]
        return why

    def merged_copy(self, folder: Path, version: int) -> tuple[Path, list[Loss]]:
        """A merged copy of what can be read of a process folder, and what was lost. It goes when the guard is closed.

        A file that crashes the child is left out and counted whole.
        """
        listing = list_process(folder)
        size = sum((folder / named.name).stat().st_size for files in listing.files.values() for named in files)
        out = Path(tempfile.mkdtemp(prefix="smprof-"))
        self._held.folders.append(out)
        skipped: list[str] = []
        for _ in range(2):
            try:
                request = {"do": "merge", "folder": str(folder), "version": version, "out": str(out), "skip": skipped}
                answer = self._ask(request, size)
            except ProfileError:
                # Which file it was, only reading them one by one can tell.
                skipped = [name for name in self._names_of(folder) if self._crashes(folder / name)]
                continue
            if answer["why"]:
                raise ProfileError(f"{folder} cannot be read: {answer['why']}; load the profile again.")
            return out, [Loss(**loss) for loss in answer["losses"]]
        raise ProfileError(f"{folder} cannot be read: reading it stops the reader; load the profile again.")

    def close(self) -> None:
        """Stop the child at once, also while it answers, and remove the copies it made. It can be used again."""
        child = self._held.child
        if child is not None:
            # Whoever waits for an answer sees the pipe close, and lets go of the lock.
            with suppress(ValueError):
                child.kill()
        with self._lock:
            self._held.release()

    def _names_of(self, folder: Path) -> list[str]:
        return [named.name for files in list_process(folder).files.values() for named in files]

    def _crashes(self, path: Path) -> bool:
        try:
            self.check(path, ())
        except ProfileError:
            return True
        return False

    def _ask(self, request: dict[str, Any], size_bytes: int) -> dict[str, Any]:
        patience = _PATIENCE_SECONDS + size_bytes / _PATIENCE_BYTES_PER_SECOND
        with self._lock:
            pipe = self._start()
            try:
                pipe.send_bytes(json.dumps(request).encode())
                if not pipe.poll(patience):
                    self._held.drop_child()
                    raise ProfileError(f"{request.get('path', request.get('folder'))} takes too long to read.")
                answer: dict[str, Any] = json.loads(pipe.recv_bytes(16 << 20))
                return answer
            except (EOFError, OSError, ValueError):
                self._held.drop_child()
                name = request.get("path", request.get("folder"))
                raise ProfileError(
                    f"{name} is damaged in a way that stops the reader; load the profile again."
                ) from None

    def _start(self) -> Connection:
        held = self._held
        if held.pipe is None or held.child is None or not held.child.is_alive():
            held.drop_child()
            context = multiprocessing.get_context("spawn")
            held.pipe, theirs = context.Pipe()
            child = context.Process(target=self._serve, args=(theirs,), daemon=True, name="smprof-guard")
            child.start()
            held.child = child
            theirs.close()
        return held.pipe


class _Held:
    """What a guard holds outside the program's memory."""

    def __init__(self) -> None:
        self.child: SpawnProcess | None = None
        self.pipe: Connection | None = None
        self.folders: list[Path] = []

    def drop_child(self) -> None:
        """End the child, at once if it does not go by itself when its pipe closes."""
        if self.pipe is not None:
            self.pipe.close()
            self.pipe = None
        if self.child is not None:
            self.child.join(0.2)
            if self.child.is_alive():
                self.child.kill()
                self.child.join(5)
            self.child.close()
            self.child = None

    def release(self) -> None:
        """End the child and remove the copies."""
        self.drop_child()
        while self.folders:
            shutil.rmtree(self.folders.pop(), ignore_errors=True)


def serve_requests(pipe: Connection) -> None:
    """The child: answer requests until the pipe closes."""
    _limit_memory()
    while True:
        try:
            request = json.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            return
        pipe.send_bytes(json.dumps(_answer(request)).encode())


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = MAX_CHILD_BYTES if most == resource.RLIM_INFINITY else min(MAX_CHILD_BYTES, most)
    # A system may refuse less than a process has already: the limit is a help, not a promise.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        if request["do"] == "check":
            _read(Path(request["path"]), request["columns"], request.get("groups"))
            return {"why": None}
        tables, losses, covered = salvage(Path(request["folder"]), request["version"], frozenset(request["skip"]))
        write_merged(Path(request["out"]), assemble(tables), covered)
        return {"why": None, "losses": [asdict(loss) for loss in losses]}
    except MemoryError:
        return {"why": "it claims more than fits in memory"}
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        return {"why": one_line(error)}


def _read(path: Path, columns: Sequence[str], groups: Sequence[int] | None) -> None:
    named = parse_file_name(path.name)
    if named is None:
        raise ValueError("not a table file")
    with open_parquet(path.parent, named) as file:
        names = columns or list(file.schema_arrow.names)
        for name in names:
            try:
                wanted = column(named.table, name)
            except KeyError:
                continue
            read_column(file, wanted, groups)
