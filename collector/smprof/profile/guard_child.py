"""The child process of a guard, and one started ahead of need. Importing this costs neither program a decoder."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection

Serve = Callable[[Connection], None]
"""What a child does: answer requests until the pipe closes."""

RENEW_SECONDS = 5.0
"""How long after a spare was taken the next one starts: what it was taken for comes first."""


class Child:
    """A process that answers requests through `pipe`. It ends with the program, however that ends."""

    def __init__(self, serve: Serve | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_run, args=(theirs, serve), daemon=True, name="smprof-guard")
        try:
            self._process.start()
        except BaseException:
            self.pipe.close()
            raise
        finally:
            theirs.close()

    def is_alive(self) -> bool:
        """Whether it runs. Raises ValueError once it was ended."""
        return self._process.is_alive()

    def kill(self) -> None:
        """Stop it at once; whoever waits for its answer sees the pipe close."""
        with suppress(ValueError):  # another thread has ended it
            self._process.kill()

    def end(self, patience_seconds: float = 0.0) -> None:
        """Close the pipe, which makes it go, and make it go if it does not."""
        self.pipe.close()
        self._process.join(patience_seconds)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(5)
        with suppress(ValueError):  # not even that helped: the system has it
            self._process.close()


class Spare:
    """One child started ahead, for whoever needs one next. Safe to use from several threads."""

    def __init__(self, serve: Serve | None = None, renew_seconds: float = RENEW_SECONDS) -> None:
        self._serve = serve
        self._renew_seconds = renew_seconds
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._timer: threading.Timer | None = None
        self._is_closed = False

    def start(self) -> None:
        """Have a child ready, where the system gives one; nothing where there is one already."""
        with self._lock:
            if self._is_closed or (self._child is not None and self._child.is_alive()):
                return
            self._drop()
            with suppress(OSError):
                self._child = Child(self._serve)

    def take(self) -> Child | None:
        """The child that is ready, which belongs to the caller from now on; None where none is."""
        with self._lock:
            child, self._child = self._child, None
            if child is None:
                return None
            if not self._is_closed and (self._timer is None or not self._timer.is_alive()):
                self._timer = threading.Timer(self._renew_seconds, self.start)
                self._timer.daemon = True
                self._timer.start()
            if child.is_alive():
                return child
            child.end()
            return None

    def close(self) -> None:
        """End the child that is ready, and start no more."""
        with self._lock:
            self._is_closed = True
            self._drop()
            timer = self._timer
        if timer is not None:
            timer.cancel()
            timer.join()

    def _drop(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None


def _run(pipe: Connection, serve: Serve | None) -> None:
    # Ctrl+C in a terminal reaches all its processes: what becomes of this one is for the program to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="parent's end", daemon=True).start()
    if serve is None:
        from smprof.profile.guard import serve_requests  # here, since it loads pyarrow: who starts a child need not

        serve_requests(pipe)
    else:
        serve(pipe)


def _end_with_parent() -> None:
    """End when the program is gone, also in the middle of an answer: nobody waits for it any more."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
