"""Open a profile in a timeline, wait for its first whole picture, and look into it; print seconds and bytes.

    first_picture.py PROFILE [MEMORY]

`seconds`: from the request to open until every visible row is painted; the window was there before, as it is for who
opens something. MEMORY keeps what the guard has read: the second time, the profile is one that was opened before.
`resident_bytes`: of the whole process after a flight of views from the whole to 1 us, half of them wider than 1 %.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

VIEWS = 120
SIZE_PX = (1790, 1100)
SPARE_READY_S = 1.0


def main(folder: Path, memory: Path | None = None) -> None:
    """Measure one profile, read as others' profiles are: through the guard."""
    # Imported here, since the guard's child imports this file and needs none of it.
    from PySide6.QtWidgets import QApplication

    from smprof.profile.guard import Guard
    from smprof.profile.guard_child import Spare
    from smprof.profile.reader import Profile
    from smprof_desktop.session import Session
    from smprof_desktop.sources.checked import CheckedFiles
    from smprof_desktop.tasks import Tasks
    from smprof_desktop.timeline.widget import TimelineWidget

    application = QApplication([])
    session = Session()
    tasks = Tasks()
    timeline = TimelineWidget(session, tasks)
    timeline.resize(*SIZE_PX)
    timeline.show()
    application.processEvents()
    spare = Spare()
    spare.start()
    time.sleep(SPARE_READY_S)

    def settle() -> None:
        while not timeline.is_final:
            application.processEvents()
            time.sleep(0.01)
        timeline.grab()

    begin_ns = time.monotonic_ns()
    profile = Profile.open(folder, Guard(spare=spare, memory=CheckedFiles(memory) if memory is not None else None))
    session.open(profile)
    settle()
    seconds = (time.monotonic_ns() - begin_ns) / 1e9
    dice = random.Random(7)
    begin, end = session.begin_ns, session.end_ns
    for number in range(VIEWS):
        width = max(1_000, int((end - begin) * 10 ** -(dice.random() * (2 if number % 2 else 6))))
        at = begin + int(dice.random() * max(end - begin - width, 1))
        session.show(at, at + width, False)
        timeline.grab()
        application.processEvents()
    settle()
    slices = sum(len(process.table(name)) for process in profile.processes for name in ("device", "host", "annotation"))
    numbers = {"seconds": seconds, "slices": slices, "resident_bytes": resident_bytes()}
    tasks.close()
    profile.close()
    spare.close()
    print(json.dumps(numbers))


def resident_bytes() -> int:
    """What the process holds in memory now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no resident memory in /proc/self/status")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
