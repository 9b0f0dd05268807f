"""Work beside the window: on threads, with progress and cancel, answers by ticket number on the GUI thread.

Heavy work runs in child processes that a task's function starts and that watch `cancelled`; the thread only waits.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, Signal

from smprof.profile.manifest import ProfileError
from smprof_desktop.progress import CancelCheck, Cancelled, Progress

WORKERS = 2
"""Threads for what pages ask of the open profile. What the user waits for has a thread of its own: see `start`."""

CLOSE_TIMEOUT_S = 1.0

_log = logging.getLogger(__name__)

T = TypeVar("T")
Work = Callable[[Progress, CancelCheck], T]


_NO_RESULT = object()


def _ignore(*_: object) -> None:
    """An answer that nobody waits for."""


@dataclass(eq=False)
class _Task:
    """One piece of work and who is told how it went."""

    ticket: int
    kind: str
    work: Work[Any]
    done: Callable[[Any], object]
    failed: Callable[[str], object]
    cancelled: Callable[[], object]
    progressed: Callable[[float, str], object]
    dropped: Callable[[Any], object] = _ignore
    reads: object = None
    stop: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    result: Any = _NO_RESULT
    superseded: bool = False

    def drop(self) -> None:
        """Hand over a result that nobody will hear of."""
        result, self.result = self.result, _NO_RESULT
        if result is not _NO_RESULT:
            self.dropped(result)


class Tasks(QObject):
    """Runs functions on threads; belongs to the GUI thread, where every answer is given.

    Of one kind only the newest task counts: a newer one cancels the older, whose answer nobody hears.

    Signals:
        idle_changed(bool): True once nothing runs, waits or has an answer still to give.
    """

    idle_changed = Signal(bool)
    _arrived = Signal()

    def __init__(self, parent: QObject | None = None, workers: int = WORKERS) -> None:
        super().__init__(parent)
        self._workers = workers
        self._lock = threading.Lock()
        self._waiting: deque[_Task] = deque()
        self._answers: deque[tuple[_Task, Callable[[], object]]] = deque()
        self._progress: dict[int, tuple[_Task, float, str]] = {}
        self._is_posted = False
        self._threads: set[threading.Thread] = set()
        self._running = 0
        self._open: dict[int, _Task] = {}
        self._is_closed = False
        self._last_ticket = 0
        self._arrived.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    @property
    def is_closed(self) -> bool:
        """Whether no task can start any more."""
        return self._is_closed

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs, waits or has an answer still to give."""
        return not self._open

    def start(
        self,
        kind: str,
        work: Work[T],
        done: Callable[[T], object] = _ignore,
        failed: Callable[[str], object] = _ignore,
        cancelled: Callable[[], object] = _ignore,
        progressed: Callable[[float, str], object] = _ignore,
        *,
        dropped: Callable[[T], object] = _ignore,
        reads: object = None,
        alone: bool = False,
    ) -> int:
        """Run `work(progress, cancelled)` on a thread and return its ticket number.

        Exactly one of `done(result)`, `failed(sentence)` and `cancelled()` is called, after the work has ended,
        unless a newer task of the kind took its place. Raises RuntimeError after `close`.

        Args:
            dropped: called with a result that came too late to be told, on any thread: what it holds has to be let go.
            reads: what the work reads, for `let_go`.
            alone: begin at once, on a thread of its own, however much the others have to do.
        """
        if self._is_closed:
            raise RuntimeError("no task can start once the window is closed")
        for older in [task for task in self._open.values() if task.kind == kind]:
            older.superseded = True
            self.cancel(older.ticket)
        was_idle = self.is_idle
        self._last_ticket += 1
        task = _Task(self._last_ticket, kind, work, done, failed, cancelled, progressed, dropped, reads)
        self._open[task.ticket] = task
        with self._lock:
            if alone:
                self._begin(partial(self._do, task))
            else:
                self._waiting.append(task)
                if self._running < self._workers:
                    self._running += 1
                    self._begin(self._work)
        if was_idle:
            self.idle_changed.emit(False)
        return task.ticket

    def cancel(self, ticket: int) -> None:
        """Ask the task to stop; `cancelled` follows once it has, also where its result is there but not yet told."""
        task = self._open.get(ticket)
        if task is None:
            return
        task.stop.set()
        with self._lock:
            if task in self._waiting:
                self._waiting.remove(task)
                task.ended.set()
                self._answer(task, task.cancelled)

    def cancel_kind(self, kind: str) -> None:
        """Ask every task of the kind to stop."""
        for task in [task for task in self._open.values() if task.kind == kind]:
            self.cancel(task.ticket)

    def let_go(self, reads: object, release: Callable[[], object]) -> None:
        """Cancel every task that reads this, and call `release` on a thread: at once, and when the last has ended.

        At once, because a task may be waiting for what only the release brings to an end; and again, because what it
        asked for last may have taken hold of the thing anew.
        """
        readers = [task for task in self._open.values() if task.reads is reads]
        for task in readers:
            self.cancel(task.ticket)

        def work(_progress: Progress, _cancelled: CancelCheck) -> None:
            release()
            for task in readers:
                task.ended.wait()
            if readers:
                release()

        self.start(f"let go {self._last_ticket + 1}", work, alone=True)

    def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> bool:
        """Cancel everything, wait for the threads and say whether all ended in time. No answer is given any more."""
        self._is_closed = True
        with self._lock:
            for task in self._waiting:
                task.ended.set()
            self._waiting.clear()
            threads = list(self._threads)
        for task in self._open.values():
            task.stop.set()
        self._open.clear()
        deadline = time.monotonic() + timeout_s
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        for task, _ in self._answers:
            task.drop()
        return not any(thread.is_alive() for thread in threads)

    def _begin(self, run: Callable[[], object]) -> None:
        """Start a thread. The lock is held."""

        def body() -> None:
            try:
                run()
            finally:
                with self._lock:
                    self._threads.discard(threading.current_thread())

        thread = threading.Thread(target=body, name=f"task {self._last_ticket}", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _work(self) -> None:
        """A worker thread: takes waiting tasks until there is none, then ends."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._running -= 1
                    return
                task = self._waiting.popleft()
            self._do(task)

    def _do(self, task: _Task) -> None:
        """Do a task and have its answer given. On a thread of its own or a worker's."""
        outcome = self._outcome(task)
        task.ended.set()
        with self._lock:
            self._answer(task, outcome)

    def _outcome(self, task: _Task) -> Callable[[], object]:
        """Do the work; the call that tells how it went. On the worker thread."""

        def progress(share: float, what: str) -> None:
            with self._lock:
                self._progress[task.ticket] = (task, share, what)
                self._post()

        try:
            task.result = task.work(progress, task.stop.is_set)
        except Cancelled:
            return task.cancelled
        except BaseException as error:  # the thread must answer whatever happened
            if task.stop.is_set():
                return task.cancelled
            sentence = sentence_of(error)
            return lambda: task.failed(sentence)
        if task.stop.is_set():
            task.drop()
            return task.cancelled
        return lambda: task.done(task.result)

    def _answer(self, task: _Task, call: Callable[[], object]) -> None:
        """Have `call` made on the GUI thread. The lock is held."""
        self._answers.append((task, call))
        self._post()

    def _post(self) -> None:
        """Wake the GUI thread, once for everything that waits there. The lock is held."""
        if self._is_posted or self._is_closed:
            return
        self._is_posted = True
        try:
            self._arrived.emit()
        except RuntimeError:  # the window and this object are gone
            _log.debug("an answer came after the window was gone")

    def _deliver(self) -> None:
        """Give what has arrived. On the GUI thread."""
        with self._lock:
            self._is_posted = False
            progress, self._progress = self._progress, {}
            answers = list(self._answers)
            self._answers.clear()
        if self._is_closed:
            return
        for task, share, what in progress.values():
            if not task.superseded and task.ticket in self._open:
                task.progressed(share, what)
        faults = []
        for task, call in answers:
            self._open.pop(task.ticket, None)
            if task.stop.is_set():
                # It ended just before it was cancelled, or a newer one took its place: nobody wants its result.
                call = task.cancelled
                if task.result is not _NO_RESULT:
                    with self._lock:
                        self._begin(task.drop)
            try:
                if not task.superseded:
                    call()
            except Exception as error:  # the answers behind it are still to be given
                faults.append(error)
        if answers and self.is_idle:
            self.idle_changed.emit(True)
        if faults:
            raise faults[0]


def sentence_of(error: BaseException) -> str:
    """One sentence for the user: what is wrong, where, what to do. What is our own fault goes to the log in full."""
    if isinstance(error, ProfileError):
        return str(error)
    if isinstance(error, MemoryError):
        return "There is not enough memory for this: close other programs, or load fewer files at once."
    if isinstance(error, OSError) and error.strerror:
        where = f" {error.filename!s}:" if error.filename else ""
        return f"The system refused{where} {error.strerror.lower()}; put that right and try again."
    _log.error("a task failed", exc_info=error)
    return f"This failed by a fault of the program ({type(error).__name__}: {error}); please report it."
