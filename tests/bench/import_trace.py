"""Import a trace as the command line does; print the time, and the most memory that all its processes held together.

import_trace.py TRACE.json.gz OUT
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

from smprof_desktop.importers.convert import import_traces

PAGE = os.sysconf("SC_PAGE_SIZE")


def family_bytes() -> int:
    """Resident memory of this process and its descendants: an upper bound, since shared pages count once per
    process."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    family = {os.getpid()}
    while grown := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= grown
    total = 0
    for pid in family:
        try:
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
        except OSError:
            continue
    return total


def main(trace: Path, out: Path) -> None:
    """Import once, watched from a thread."""
    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            peak[0] = max(peak[0], family_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin_ns = time.monotonic_ns()
    import_traces([trace], out)
    seconds = (time.monotonic_ns() - begin_ns) / 1e9
    done.set()
    watcher.join()
    print(json.dumps({"seconds": seconds, "peak_bytes": peak[0]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
