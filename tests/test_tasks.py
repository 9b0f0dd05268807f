"""Tasks: answers on the GUI thread, newest wins, cancel and close leave nothing behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from smprof.profile.manifest import ProfileError
from smprof_desktop.progress import CancelCheck, Cancelled, Progress
from smprof_desktop.tasks import Tasks, sentence_of


@pytest.fixture
def tasks(qtbot: QtBot) -> Iterator[Tasks]:
    """A runner that must end with no thread left."""
    before = set(threading.enumerate())
    tasks = Tasks()
    yield tasks
    assert tasks.close()
    assert set(threading.enumerate()) <= before


def answer(number: int, progress: Progress, cancelled: CancelCheck) -> int:
    """Work that is done at once."""
    return number


def until_stopped(progress: Progress, cancelled: CancelCheck) -> None:
    """Work that ends only when cancelled."""
    while not cancelled():
        time.sleep(0.001)
    raise Cancelled


def test_the_result_comes_on_the_gui_thread(tasks: Tasks, qtbot: QtBot) -> None:
    heard: list[Any] = []
    tasks.start(
        "x",
        lambda progress, cancelled: threading.get_ident(),
        lambda ident: heard.append((ident, threading.get_ident())),
    )
    qtbot.waitUntil(lambda: tasks.is_idle)
    ((worker, answered),) = heard
    assert worker != threading.get_ident() == answered


def test_progress_comes_in_order_and_before_the_result(tasks: Tasks, qtbot: QtBot) -> None:
    heard: list[Any] = []

    def work(progress: Progress, cancelled: CancelCheck) -> str:
        for step in range(1_000):
            progress(step / 1_000, f"step {step}")
        return "done"

    tasks.start("x", work, heard.append, progressed=lambda share, what: heard.append(share))
    qtbot.waitUntil(lambda: tasks.is_idle)
    assert heard[-1] == "done" and heard[-2] == 0.999 and heard[:-1] == sorted(heard[:-1])


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ProfileError("It is not there."), "It is not there."),
        (
            FileNotFoundError(2, "No such file or directory", "/x"),
            "The system refused /x: no such file or directory; put that right and try again.",
        ),
        (MemoryError(), "There is not enough memory for this: close other programs, or load fewer files at once."),
        (KeyError("boom"), "This failed by a fault of the program (KeyError: 'boom'); please report it."),
    ],
)
def test_a_failure_is_one_sentence(tasks: Tasks, qtbot: QtBot, error: Exception, sentence: str) -> None:
    heard: list[str] = []

    def work(progress: Progress, cancelled: CancelCheck) -> None:
        raise error

    tasks.start("x", work, lambda _: heard.append("done"), heard.append)
    qtbot.waitUntil(lambda: tasks.is_idle)
    assert heard == [sentence] and "\n" not in sentence_of(error)


def test_only_the_newest_of_a_kind_is_heard(tasks: Tasks, qtbot: QtBot) -> None:
    heard: list[Any] = []
    for number in range(20):
        tasks.start(
            "x",
            partial(answer, number),
            heard.append,
            heard.append,
            lambda: heard.append("cancelled"),
        )
    tasks.start("y", lambda progress, cancelled: "y", heard.append)
    qtbot.waitUntil(lambda: tasks.is_idle)
    assert sorted(map(str, heard)) == ["19", "y"]


def test_cancel_is_heard_after_the_work_has_ended(tasks: Tasks, qtbot: QtBot) -> None:
    heard: list[str] = []
    begun, ended = threading.Event(), threading.Event()

    def work(progress: Progress, cancelled: CancelCheck) -> None:
        begun.set()
        try:
            until_stopped(progress, cancelled)
        finally:
            ended.set()

    ticket = tasks.start(
        "x", work, lambda _: heard.append("done"), heard.append, lambda: heard.append(f"cancelled {ended.is_set()}")
    )
    assert begun.wait(5)
    tasks.cancel(ticket)
    qtbot.waitUntil(lambda: tasks.is_idle)
    assert heard == ["cancelled True"]
    tasks.cancel(ticket)


def test_a_result_that_comes_in_spite_of_a_cancel_is_dropped(tasks: Tasks, qtbot: QtBot) -> None:
    heard: list[str] = []
    go = threading.Event()
    ticket = tasks.start(
        "x",
        lambda progress, cancelled: go.wait(5),
        lambda _: heard.append("done"),
        cancelled=lambda: heard.append("cancelled"),
    )
    tasks.cancel(ticket)
    go.set()
    qtbot.waitUntil(lambda: tasks.is_idle)
    assert heard == ["cancelled"]


def test_what_waits_for_a_thread_can_be_cancelled(qtbot: QtBot) -> None:
    tasks = Tasks(workers=1)
    heard: list[str] = []
    tasks.start("long", until_stopped)
    ticket = tasks.start(
        "x", lambda progress, cancelled: heard.append("ran"), cancelled=lambda: heard.append("cancelled")
    )
    tasks.cancel(ticket)
    qtbot.waitUntil(lambda: bool(heard))
    assert heard == ["cancelled"] and not tasks.is_idle
    assert tasks.close()


def test_what_stands_alone_begins_while_all_workers_are_busy(qtbot: QtBot) -> None:
    tasks = Tasks(workers=2)
    heard: list[str] = []
    for number in range(4):
        tasks.start(f"busy {number}", until_stopped)
    tasks.start("load", lambda progress, cancelled: "loaded", heard.append, alone=True)
    qtbot.waitUntil(lambda: heard == ["loaded"])
    assert tasks.close()


def test_a_result_that_nobody_hears_is_handed_over_once(qtbot: QtBot) -> None:
    """Cancelled, superseded while it runs, superseded before it is told, and closed: each holds files or a child."""
    tasks = Tasks()
    heard: list[str] = []
    dropped: list[str] = []
    go = threading.Event()

    def work(name: str, progress: Progress, cancelled: CancelCheck) -> str:
        go.wait(5)
        return name

    def start(kind: str, name: str) -> int:
        return tasks.start(kind, partial(work, name), heard.append, dropped=dropped.append, alone=True)

    ticket = start("a", "cancelled")
    tasks.cancel(ticket)
    start("b", "superseded")
    start("b", "heard")
    go.set()
    qtbot.waitUntil(lambda: tasks.is_idle)
    assert (sorted(dropped), heard) == (["cancelled", "superseded"], ["heard"])
    start("c", "overtaken")
    ended = next(iter(tasks._open.values())).ended
    assert ended.wait(5)
    start("c", "told")
    qtbot.waitUntil(lambda: tasks.is_idle)
    assert (dropped[2:], heard[1:]) == (["overtaken"], ["told"])
    start("d", "too late")
    assert next(iter(tasks._open.values())).ended.wait(5)
    assert tasks.close()
    assert (dropped[3:], heard[2:]) == (["too late"], [])


def test_letting_go_cancels_the_readers_and_releases_when_the_last_has_ended(tasks: Tasks, qtbot: QtBot) -> None:
    profile, other = object(), object()
    heard: list[str] = []
    begun, go = threading.Event(), threading.Event()

    def reader(progress: Progress, cancelled: CancelCheck) -> None:
        begun.set()
        go.wait(5)
        heard.append(f"read, cancelled {cancelled()}")

    tasks.start("x", reader, reads=profile)
    ticket = tasks.start("y", until_stopped, cancelled=lambda: heard.append("the other ended"), reads=other)
    assert begun.wait(5)
    tasks.let_go(profile, lambda: heard.append("released"))
    qtbot.waitUntil(lambda: heard == ["released"])
    go.set()
    qtbot.waitUntil(lambda: heard == ["released", "read, cancelled True", "released"])
    tasks.cancel(ticket)
    qtbot.waitUntil(lambda: tasks.is_idle)
    assert heard[-1] == "the other ended"


def test_closing_ends_everything_within_a_second_and_says_nothing_more(qtbot: QtBot) -> None:
    tasks = Tasks()
    before = set(threading.enumerate())
    heard: list[str] = []
    for number in range(8):
        tasks.start(f"kind {number}", until_stopped, lambda _: heard.append("done"), heard.append)
    started = time.monotonic()
    assert tasks.close()
    assert time.monotonic() - started < 5 and set(threading.enumerate()) <= before
    qtbot.wait(20)
    assert heard == []
    with pytest.raises(RuntimeError):
        tasks.start("x", until_stopped)


def test_closing_does_not_wait_for_what_does_not_listen(qtbot: QtBot) -> None:
    tasks = Tasks()
    begun, go = threading.Event(), threading.Event()

    def deaf(progress: Progress, cancelled: CancelCheck) -> None:
        begun.set()
        go.wait(30)

    tasks.start("deaf", deaf)
    assert begun.wait(5)
    assert not tasks.close(timeout_s=0.05)
    go.set()
    for thread in threading.enumerate():
        if thread.name.startswith("task "):
            thread.join(5)


def test_idle_is_announced(tasks: Tasks, qtbot: QtBot) -> None:
    heard: list[bool] = []
    tasks.idle_changed.connect(heard.append)
    tasks.start("x", lambda progress, cancelled: None)
    tasks.start("y", lambda progress, cancelled: None)
    qtbot.waitUntil(lambda: tasks.is_idle)
    assert heard == [False, True]


def test_a_task_may_start_the_next_from_its_answer(tasks: Tasks, qtbot: QtBot, tmp_path: Path) -> None:
    heard: list[str] = []
    tasks.start(
        "x",
        lambda progress, cancelled: "a",
        lambda first: tasks.start("x", lambda progress, cancelled: first + "b", heard.append),
    )
    qtbot.waitUntil(lambda: bool(heard))
    assert heard == ["ab"]


def test_a_result_that_is_cancelled_before_it_is_told_is_never_told(qtbot: QtBot) -> None:
    tasks = Tasks()
    heard: list[str] = []
    dropped: list[str] = []
    ended = threading.Event()

    def work(_progress: object, _cancelled: object) -> str:
        ended.set()
        return "of the profile before"

    tasks.start("read", work, heard.append, cancelled=lambda: heard.append("cancelled"), dropped=dropped.append)
    assert ended.wait(10)
    while not tasks._answers:
        time.sleep(0.001)
    tasks.cancel_kind("read")
    qtbot.waitUntil(lambda: tasks.is_idle and bool(dropped))
    assert heard == ["cancelled"] and dropped == ["of the profile before"]
    assert tasks.close()


def test_an_answer_that_fails_leaves_those_behind_it(qtbot: QtBot) -> None:
    tasks = Tasks()
    heard: list[int] = []

    def fails(_result: object) -> None:
        raise ValueError("of the first")

    with qtbot.captureExceptions() as caught:
        tasks.start("one", lambda _progress, _cancelled: 1, fails)
        tasks.start("two", lambda _progress, _cancelled: 2, heard.append)
        qtbot.waitUntil(lambda: tasks.is_idle and heard == [2] and bool(caught))
    assert str(caught[0][1]) == "of the first"
    assert tasks.close()
