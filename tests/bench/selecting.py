"""Click slices all over a profile's timeline; print how long until arrow and details are there, as JSON.

    selecting.py PROFILE [PLACES]

At each of some random places the view is narrow enough for slices to be seen and stands until it is final. Then slices
of it are clicked: kernels, calls and operators, whatever is drawn. The time runs from the press of the button until the
arrow is painted and the details are filled in. `first_median_ms`, `first_p90_ms`: of the first click at each place,
where what is told of a slice has yet to be read. `median_ms`, `p90_ms`, `most_ms`: of all clicks. `own_median_ms`: the
processor time of this process, all its threads, on a machine that others use too.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

PLACES = 40
CLICKS = 5
SIZE_PX = (1790, 1100)
SLICES_IN_VIEW = 40
LEAST_PX = 4.0


def main(folder: Path, places: int = PLACES) -> None:
    """Measure one profile that was opened before: the first pass over it is not measured."""
    with tempfile.TemporaryDirectory() as kept:
        for _ in range(2):
            numbers = clicked(folder, places, Path(kept) / "checked.json")
    print(json.dumps(numbers))


def clicked(folder: Path, places: int, memory: Path) -> dict[str, float]:
    """Measure one profile, read as others' profiles are: through the guard."""
    # Imported here, since the guard's child imports this file and needs none of it.
    import numpy as np
    from PySide6.QtCore import QPoint, Qt
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication

    from smprof.profile.guard import Guard
    from smprof.profile.reader import Profile
    from smprof_desktop.session import Session
    from smprof_desktop.settings import Settings
    from smprof_desktop.sources.checked import CheckedFiles
    from smprof_desktop.tasks import Tasks
    from smprof_desktop.window.timeline_page import TimelinePage

    application = QApplication.instance() or QApplication([])
    session, tasks = Session(), Tasks()
    page = TimelinePage(session, tasks, Settings(None))
    page.resize(*SIZE_PX)
    page.show()
    profile = Profile.open(folder, Guard(memory=CheckedFiles(memory)))
    session.open(profile)
    timeline, dice = page.timeline, random.Random(11)

    def settle() -> None:
        while not (tasks.is_idle and page.is_final):  # the first costs nothing, the second a frame
            application.processEvents()
            time.sleep(0.0005)
        application.processEvents()

    settle()
    slices = sum(len(process.table(name)) for process in profile.processes for name in ("device", "host", "annotation"))
    width_ns = max((profile.end_ns - profile.begin_ns) * SLICES_IN_VIEW * len(profile.processes) // slices, 1_000)
    first, every, own = [], [], []
    for _ in range(places):
        session.select(None)
        begin = profile.begin_ns + int(dice.random() * (profile.end_ns - profile.begin_ns - width_ns))
        session.show(begin, begin + width_ns)
        bar = timeline.verticalScrollBar()
        bar.setValue(int(dice.random() * bar.maximum()))
        settle()
        for click in range(CLICKS):
            drawing = timeline.draw_list()
            assert drawing is not None
            rects = drawing.slices
            middle_x, middle_y = rects.x_px + rects.width_px / 2, rects.y_px + rects.height_px / 2
            inside = (middle_x > drawing.header_px) & (middle_x < drawing.width_px) & (rects.width_px >= LEAST_PX)
            inside &= (middle_y > drawing.top_px) & (middle_y < timeline.viewport().height() - 4)
            seen = np.flatnonzero(inside)
            if not len(seen):
                break
            chosen = int(seen[dice.randrange(len(seen))])
            point = QPoint(round(float(middle_x[chosen])), round(float(middle_y[chosen])))
            begun, begun_own = time.perf_counter(), time.process_time()
            QTest.mouseClick(timeline.viewport(), Qt.MouseButton.LeftButton, pos=point)
            settle()
            took_ms = (time.perf_counter() - begun) * 1000
            if session.selection is not None:
                every.append(took_ms)
                own.append((time.process_time() - begun_own) * 1000)
                first += [took_ms] if click == 0 else []
    numbers = {
        "slices": slices,
        "clicks": len(every),
        "median_ms": float(np.median(every)),
        "p90_ms": float(np.quantile(every, 0.9)),
        "most_ms": max(every),
        "own_median_ms": float(np.median(own)),
        "first_median_ms": float(np.median(first)),
        "first_p90_ms": float(np.quantile(first, 0.9)),
    }
    session.close()
    tasks.close()
    profile.close()
    page.deleteLater()
    return numbers


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
