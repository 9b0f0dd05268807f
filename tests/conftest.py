"""What every test gets: a home of its own, no window system, and a check that nothing it started still runs."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

# The same examples on every run, so that a red run stays red; HYPOTHESIS_PROFILE=explore looks for new ones.
# No deadline: a busy machine is no fault of the code.
hypothesis.settings.register_profile("test", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=2_000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "test")

# Before anything imports Qt: tests draw without a screen, at one scale, whatever machine they run on.
os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["QT_SCALE_FACTOR"] = "1"
os.environ.pop("QT_STYLE_OVERRIDE", None)

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of real public traces: $SMPROF_TRACES, otherwise ../shared/traces beside the repository."""
    place = Path(os.environ.get("SMPROF_TRACES") or REPOSITORY.parent / "shared" / "traces")
    if not place.is_dir():
        pytest.skip(f"the reference traces are not at {place}; name their folder in SMPROF_TRACES")
    return place


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty home folder, so that no test reads or writes the user's settings, caches or kept profiles."""
    home = tmp_path_factory.mktemp("home")
    for variable in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.setenv(variable, str(home))
    for variable, folder in {
        "XDG_CACHE_HOME": ".cache",
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
    }.items():
        monkeypatch.setenv(variable, str(home / folder))
    return home


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """Fail a test that leaves a Python thread or a child process behind."""
    threads_before = set(threading.enumerate())
    children_before = {child.pid for child in multiprocessing.active_children()}
    yield
    deadline = time.monotonic() + 5
    while True:
        left: list[str] = [
            f"thread {thread.name}"
            for thread in threading.enumerate()
            # A thread that something else started and that merely ran Python once is listed for ever as a dummy.
            if thread not in threads_before and not isinstance(thread, threading._DummyThread)
        ]
        left += [
            f"process {child.pid}" for child in multiprocessing.active_children() if child.pid not in children_before
        ]
        if not left:
            return
        if time.monotonic() > deadline:
            pytest.fail(f"left running: {', '.join(left)}")
        time.sleep(0.01)
