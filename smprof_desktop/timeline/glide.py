"""Movement that goes on while a key is held, at the pace of the screen instead of the keyboard's repetition."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer

TICK_MS = 16
HOLD_S = 0.2
"""A key held shorter than that is one step."""
STEPS_PER_S, MOST_STEPS_PER_S, SPEED_UP_S = 6.0, 14.0, 1.5
"""The pace at first, at last, and after how long it is reached."""
LONGEST_TICK_S = 0.1
"""A frame that took longer counts as that long, or a slow one would throw the view far ahead."""


class Glide(QObject):
    """Calls `move(steps)` with fractions of a step while a key is held. No timer runs while none is."""

    def __init__(self, parent: QObject, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(parent)
        self._clock = clock
        self._move: Callable[[float], None] | None = None
        self._key = 0
        self._since_s = self._last_s = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self.tick)

    @property
    def is_active(self) -> bool:
        """Whether a key is held."""
        return self._move is not None

    def start(self, key: int, move: Callable[[float], None]) -> None:
        """A key went down: one step now, more while it is held. What was held before is let go."""
        self._key, self._move = key, move
        self._since_s = self._last_s = self._clock()
        self._timer.start()
        move(1.0)

    def release(self, key: int) -> None:
        """A key went up."""
        if key == self._key:
            self.stop()

    def stop(self) -> None:
        """Let go of the key: it went up, or whoever would hear of that is no longer listening."""
        self._timer.stop()
        self._move = None

    def tick(self) -> None:
        """Move as far as the time since the last tick asks."""
        now_s = self._clock()
        passed_s = min(now_s - self._last_s, LONGEST_TICK_S)
        self._last_s = now_s
        held_s = now_s - self._since_s - HOLD_S
        if self._move is None or held_s <= 0:
            return
        pace = STEPS_PER_S + (MOST_STEPS_PER_S - STEPS_PER_S) * min(held_s / SPEED_UP_S, 1.0)
        self._move(passed_s * pace)
