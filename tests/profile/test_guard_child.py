"""The guard's child and the one started ahead: used, renewed, and gone with whoever started it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from smprof.profile.guard import Guard
from smprof.profile.guard_child import Child, Serve, Spare
from smprof.profile.reader import Profile
from tests.profile.test_guard import STOPS, serve_and_die, write

REPOSITORY = Path(__file__).resolve().parents[2]
HEAVY = ("PySide6", "pyqtgraph", "smprof_desktop", "pyarrow.dataset", "pyarrow.pandas_compat", "pandas", "ctypes.util")


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def spare() -> Iterator[Spare]:
    made = Spare(renew_seconds=0.05)
    yield made
    made.close()


def ready(spare: Spare) -> Child:
    """The child that is ready, started where there is none."""
    spare.start()
    assert spare._child is not None
    return spare._child


def test_the_spare_is_used_and_renewed(tmp_path: Path, spare: Spare) -> None:
    first = ready(spare)
    spare.start()
    assert spare._child is first
    opened = Profile.open(write(tmp_path / "p"), guard := Guard(spare=spare))
    assert opened.processes[0].table("host")["start_ns"][-1] == 49_900
    assert guard._held.child is first
    wait_until(lambda: spare._child is not None)
    assert spare._child is not first
    opened.close()
    assert spare._child is not None and spare._child.is_alive()


def test_a_spare_that_died_is_not_handed_out(tmp_path: Path, spare: Spare) -> None:
    dead = ready(spare)
    dead.kill()
    wait_until(lambda: not dead.is_alive())
    opened = Profile.open(write(tmp_path / "p"), guard := Guard(spare=spare))
    assert len(opened.processes[0].table("host")["start_ns"]) == 500 and opened.losses == []
    assert guard._held.child is not dead
    wait_until(lambda: spare._child is not None)
    opened.close()


def test_a_closed_spare_starts_no_more(spare: Spare) -> None:
    child = ready(spare)
    spare.close()
    with pytest.raises(ValueError, match="closed"):  # it was ended and let go
        child.is_alive()
    spare.start()
    assert spare.take() is None and spare._child is None


def test_a_file_that_stops_the_spare_is_lost_and_counted(tmp_path: Path) -> None:
    folder = write(tmp_path / "p")
    path = next(folder.rglob("names-*.parquet"))
    (path.parent / f"{path.name}.{STOPS}").touch()
    spare = Spare(serve_and_die, renew_seconds=0.05)
    ready(spare)
    opened = Profile.open(folder, Guard(serve_and_die, spare))
    assert len(opened.processes[0].table("host")) == 500
    assert opened.processes[0].table("host")["name_id"].tolist() == [-1] * 500
    assert {(loss.kind, loss.count) for loss in opened.losses} == {("damaged_segment", 1), ("missing_names", 500)}
    opened.close()
    spare.close()


def test_interrupting_the_program_leaves_the_child_alone(tmp_path: Path, spare: Spare) -> None:
    path = next(write(tmp_path / "p").rglob("host-*.parquet"))
    child = ready(spare)
    guard = Guard(spare=spare)
    assert guard.check(path, ()) is None
    assert child._process.pid is not None
    os.kill(child._process.pid, signal.SIGINT)
    assert guard.check(path, ()) is None
    assert guard._held.child is child
    guard.close()


PROGRAM = """
import time
from smprof.profile.guard import serve_requests
from smprof.profile.guard_child import Spare
from tests.profile.test_guard import serve_slowly
if __name__ == "__main__":
    spare = Spare({serve})
    spare.start()
    print(spare._child._process.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("serve", ["serve_requests", "serve_slowly"], ids=["waiting", "answering"])
def test_no_child_outlives_a_program_that_is_killed(serve: str) -> None:
    program = [sys.executable, "-c", PROGRAM.format(serve=serve)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, cwd=REPOSITORY, text=True) as killed:
        assert killed.stdout is not None
        pid = int(killed.stdout.readline())
        assert is_running(pid)
        killed.kill()
    wait_until(lambda: not is_running(pid))


def is_running(pid: int) -> bool:
    """Whether there is such a process that is not merely waiting for someone to take note of its end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def modules_after(what: str) -> set[str]:
    code = f"import json, sys; {what}; print(json.dumps(list(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return set(json.loads(out))


def test_the_child_loads_what_it_reads_with_and_no_more() -> None:
    loaded = modules_after("import smprof.profile.guard")
    assert "pyarrow.parquet" in loaded
    assert not loaded & {*HEAVY, "smprof.profile.assemble", "smprof.profile.merge", "smprof.profile.reader"}


def test_starting_a_child_loads_no_decoder() -> None:
    assert not modules_after("import smprof.profile.guard_child") & {"numpy", "pyarrow"}


def test_serve_is_what_a_child_does_by_default(tmp_path: Path) -> None:
    path = next(write(tmp_path / "p").rglob("host-*.parquet"))
    serve: Serve | None = None
    child = Child(serve)
    child.pipe.send_bytes(json.dumps({"do": "check", "path": str(path), "columns": ["start_ns"]}).encode())
    assert json.loads(child.pipe.recv_bytes()) == {"why": None}
    child.end()
