"""What long work tells whoever waits for it, and how it is stopped. No Qt."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Called with the share done, 0 to 1, and what is being done, as plain text."""

CancelCheck = Callable[[], bool]
"""True once the work should stop."""


class Cancelled(Exception):
    """The work was cancelled: everything half-written is gone."""


def silent(share: float, what: str) -> None:
    """A Progress that tells nobody."""


def never() -> bool:
    """A CancelCheck that never asks to stop."""
    return False
