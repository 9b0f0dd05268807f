"""Show the dashboard for an opened profile and print how long its first panels, and all of Overview, took to be there.

first_panels.py PROFILE
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from PySide6.QtWidgets import QApplication

from smprof_desktop.dashboard.view import DashboardView
from smprof_desktop.session import Session
from smprof_desktop.tasks import Tasks

# isort: split
from smprof.profile.reader import Profile

FIRST = ("gpu_active_time", "gpu_utilization_over_time")
LONGEST_S = 60.0


def main() -> None:
    """From the moment that the session has the profile until the cards are drawn."""
    application = QApplication([])
    session, tasks = Session(), Tasks()
    view = DashboardView(session, tasks)
    view.resize(1280, 800)
    view.show()
    application.processEvents()
    profile = Profile.open(Path(sys.argv[1]))
    first = [card for card in view.cards if card.panel.key in FIRST]
    assert len(first) == len(FIRST)
    begin_s = time.perf_counter()
    session.open(profile)
    seconds: dict[str, float] = {}
    while not view.is_final and time.perf_counter() < begin_s + LONGEST_S:
        application.processEvents()
        time.sleep(0.001)
        if "seconds" not in seconds and all(card.state == "shown" for card in first):
            view.grab()
            seconds["seconds"] = time.perf_counter() - begin_s
    seconds["all_seconds"] = time.perf_counter() - begin_s
    tasks.close()
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
