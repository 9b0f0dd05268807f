"""Kernel names as the user wants to read them: each worked out once, and never for long in one frame. No Qt."""

from __future__ import annotations

import time

from smprof_desktop.analysis.names import FORMS, in_form

MAX_KEPT = 100_000
FRAME_BUDGET_S = 0.002
"""What working out names may take of one frame; making a C++ symbol readable takes up to some milliseconds."""


class ShownNames:
    """Recorded names → names in one of names.FORMS."""

    def __init__(self, form: str = FORMS[0]) -> None:
        self.form = form
        self.is_late = False
        """Whether some names since `begin_frame` are as recorded for want of time."""
        self._deadline_s = 0.0
        self._known: dict[str, str] = {}

    def use(self, form: str) -> None:
        """Show names in that form from now on."""
        if form != self.form:
            self.form = form
            self._known.clear()

    def begin_frame(self) -> None:
        """From here on only what the budget allows is worked out; one name at least."""
        self.is_late = False
        self._deadline_s = time.perf_counter() + FRAME_BUDGET_S

    def text(self, recorded: str) -> str:
        """The name of a kernel, or as recorded where the frame has no time left."""
        if self.form == FORMS[0]:
            return recorded
        found = self._known.get(recorded)
        if found is None:
            if time.perf_counter() > self._deadline_s:
                self.is_late = True
                return recorded
            if len(self._known) >= MAX_KEPT:
                self._known.clear()
            found = self._known[recorded] = in_form(recorded, self.form)
        return found

    def text_now(self, recorded: str) -> str:
        """The name of a kernel, whatever time it takes: for a single one."""
        return in_form(recorded, self.form)
