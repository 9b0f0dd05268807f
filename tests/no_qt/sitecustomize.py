"""Makes Python behave as if Qt were not installed."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec

BLOCKED = ("PySide6", "shiboken6", "pyqtgraph")


class _Blocker:
    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r} (Qt is blocked in this run)", name=name)
        return None


def block() -> None:
    """Let every later import of Qt fail."""
    loaded = [name for name in BLOCKED if name in sys.modules]
    if loaded:
        raise RuntimeError(f"{loaded[0]} is imported already: too late to block it")
    sys.meta_path.insert(0, _Blocker())


if __name__ == "sitecustomize":
    block()
