"""Reads Parquet that others wrote in a child process first, so that a file which crashes the reader crashes only that.

Messages between the two are JSON. The child gets no more address space than it may need, where the system can limit it.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from smprof.profile.contents import list_process, one_line, open_parquet, read_column, salvage
from smprof.profile.guard_child import Child, Serve, Spare
from smprof.profile.manifest import Loss, ProfileError
from smprof.profile.schema import column
from smprof.profile.storage import parse_file_name

MAX_CHILD_BYTES = 16 << 30
"""Address space of the child: a file that claims more than this is refused, not believed."""

_PATIENCE_SECONDS = 30.0
_PATIENCE_BYTES_PER_SECOND = 2 << 20
"""How long one answer may take: so much, and as long as reading the file at this pace."""

_SMALL_BYTES = 256 << 10
"""Files up to this size are read whole when first asked for, where that can be remembered: one answer, not twenty."""
_WHOLE = "all"
"""Stands for every column in what is remembered; no column is called so."""

_GROUPS_REMEMBERED = 4096
"""Files of more row groups are read first each time: real ones have some hundreds at most."""


class Memory(Protocol):
    """What guards have read of files without harm, by a file's key: each column's row groups, as bits of a number.

    Safe to use from several threads.
    """

    def recall(self, key: str) -> Mapping[str, int] | None:
        """What was read of a file; None where nothing is known of it, not even that its footer reads."""

    def remember(self, key: str, read: Mapping[str, int]) -> None:
        """Add to what was read of a file."""

    def save(self) -> None:
        """Keep what was added for programs to come."""


class Guard:
    """A child process that reads first. Starts when first needed; safe to use from several threads.

    With a `spare` its child is that one, where one is ready. With a `memory` it does not read again what a guard has
    read whole without harm before, here or in an earlier program. That may be trusted since

    - what is remembered belongs to the bytes: a key holds the CRC-32 that the reader found all bytes to have at this
      opening, as their journal says, and the file's device, inode, size, and times of change, looked up anew before
      each reading. Whatever changes a file, by chance or by overwriting it in place with its old mtime, changes its
      ctime, which no program can set; so does replacing it, which also changes the inode. A CRC-32 alone could be
      forged, times alone would pass over a disk that loses bits. (Where ctime is the time of creation, as on Windows,
      a forger who overwrites a file in place, restores its mtime and meets its CRC-32 gets past. So does one who does
      it within the tick of the file system's clock.)
    - whoever gets past wins nothing but a crash of the program: the child reads with the same rights, so it holds back
      crashes, not intruders;
    - another version of the decoder may stop where this one did not: the key holds it, too;
    - only what was read well is remembered, and only where the file was the same before and after;
    - copied or moved to another disk a file is another one, and is read again, which costs time only.
    """

    def __init__(self, serve: Serve | None = None, spare: Spare | None = None, memory: Memory | None = None) -> None:
        self._serve = serve
        self._spare = spare
        self._memory = memory
        self._lock = threading.Lock()
        self._held = _Held(memory)
        self._times_closed = 0
        # A guard that nobody holds any more takes its child and its copies along.
        self._finalizer = weakref.finalize(self, self._held.release)

    def start(self) -> None:
        """Start the child now, so that it is there when it is asked."""
        with self._lock:
            self._start()

    def knows(self, path: Path, crc32: int) -> bool:
        """Whether the file was read before, at least its footer: no child will be needed to open it."""
        return self._memory is not None and self._memory.recall(_key(path.stat(), crc32)) is not None

    def check(
        self, path: Path, columns: Sequence[str], groups: Sequence[int] | None = None, crc32: int | None = None
    ) -> str | None:
        """Why these columns (none named: all) of a file, or of some of its row groups, cannot be read, or None.

        `crc32` is what all bytes of the file were found to have since it was opened; without it, or without `groups`,
        nothing is remembered.
        """
        memory = self._memory
        if memory is None or crc32 is None or not columns or groups is None:
            return self._refusal(path, columns, groups)
        if max(groups, default=0) >= _GROUPS_REMEMBERED:
            return self._refusal(path, columns, groups)
        found = path.stat()
        key, read = _key(found, crc32), dict.fromkeys(columns, sum(1 << group for group in set(groups)))
        known = memory.recall(key)
        if known is not None and _covers(known, read):
            return None
        why: str | None = None
        if known is None and found.st_size <= _SMALL_BYTES and self._reads_whole(path):
            read = {_WHOLE: 1}
        else:
            why = self._refusal(path, columns, groups)
        if why is None and _key(path.stat(), crc32) == key:
            memory.remember(key, read)
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
            except _Closed:
                raise
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
        self._times_closed += 1
        child = self._held.child
        if child is not None:
            child.kill()  # whoever waits for an answer lets go of the lock
        with self._lock:
            self._held.release()

    def _names_of(self, folder: Path) -> list[str]:
        return [named.name for files in list_process(folder).files.values() for named in files]

    def _crashes(self, path: Path) -> bool:
        try:
            self._refusal(path, (), None)
        except _Closed:
            raise
        except ProfileError:
            return True
        return False

    def _reads_whole(self, path: Path) -> bool:
        """Whether all of a file reads. Where not, it may still be another column than the one that is wanted."""
        try:
            return self._refusal(path, (), None) is None
        except _Closed:
            raise
        except ProfileError:
            return False

    def _refusal(self, path: Path, columns: Sequence[str], groups: Sequence[int] | None) -> str | None:
        request: dict[str, Any] = {"do": "check", "path": str(path), "columns": list(columns)}
        if groups is not None:
            request["groups"] = list(groups)
        why: str | None = self._ask(request, path.stat().st_size)["why"]
        return why

    def _ask(self, request: dict[str, Any], size_bytes: int) -> dict[str, Any]:
        patience = _PATIENCE_SECONDS + size_bytes / _PATIENCE_BYTES_PER_SECOND
        times_closed = self._times_closed
        with self._lock:
            if self._times_closed != times_closed:
                raise _Closed("The profile was closed while it was being read.")
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
                kind = ProfileError if self._times_closed == times_closed else _Closed
                raise kind(f"{name} is damaged in a way that stops the reader; load the profile again.") from None

    def _start(self) -> Connection:
        held = self._held
        if held.child is None or not held.child.is_alive():
            held.drop_child()
            held.child = (self._spare.take() if self._spare is not None else None) or Child(self._serve)
        return held.child.pipe


class _Closed(ProfileError):
    """The guard was closed while it was asked: nothing to try once more, which would start another child."""


class _Held:
    """What a guard holds outside the program's memory."""

    def __init__(self, memory: Memory | None) -> None:
        self.child: Child | None = None
        self.folders: list[Path] = []
        self.memory = memory

    def drop_child(self) -> None:
        """End the child, at once if it does not go by itself when its pipe closes."""
        if self.child is not None:
            self.child.end(patience_seconds=0.2)
            self.child = None

    def release(self) -> None:
        """End the child, remove the copies and keep what was learnt."""
        self.drop_child()
        while self.folders:
            shutil.rmtree(self.folders.pop(), ignore_errors=True)
        if self.memory is not None:
            self.memory.save()


def _covers(known: Mapping[str, int], read: Mapping[str, int]) -> bool:
    return _WHOLE in known or not any(bits & ~known.get(name, 0) for name, bits in read.items())


def _key(found: os.stat_result, crc32: int) -> str:
    """What tells the bytes of a file from those of any other, and of the same file at another time."""
    numbers = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, crc32)
    return "-".join((pa.__version__, *(f"{number & (1 << 128) - 1:x}" for number in numbers)))


def serve_requests(pipe: Connection) -> None:
    """The child: answer requests until the pipe closes."""
    _limit_memory()
    while True:
        try:
            request = json.loads(pipe.recv_bytes())
            pipe.send_bytes(json.dumps(_answer(request)).encode())
        except (EOFError, OSError):
            return


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
        # Imported here: few profiles need to be pieced together, and all wait for the child to start.
        from smprof.profile.assemble import assemble
        from smprof.profile.merge import write_merged
        from smprof.profile.scratch import Scratch

        folder, out = Path(request["folder"]), Path(request["out"])
        tables, losses, covered = salvage(folder, request["version"], frozenset(request["skip"]), Scratch(out))
        write_merged(out, assemble(tables), covered)
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
