"""A pytest plugin: run the tests that need no window as if Qt were not installed.

    python -m pytest -p no:pytest-qt -p tests.without_qt

Importing PySide6 or pyqtgraph raises ImportError, in the tests and in the child processes that they start. An import
blocker rather than a second environment: that would cost another 300 MB installation on each bare machine to learn the
same.

A test file is left out where it speaks of Qt itself, or where it says so: `needs_qt = True`. What is left must import
and pass.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.no_qt import sitecustomize

_QT = re.compile(r"PySide6|pyqtgraph|\bqtbot\b|\bqapp\b|^needs_qt = True$", re.MULTILINE)
_LONG = (
    "soak/",
    "profile/",
    "importers/test_hostile.py",
    "importers/test_round_trip.py",
    "importers/test_real_traces.py",
    "dashboard/test_idle_and_ranks.py",
    "dashboard/test_kernel_and_memory_panels.py",
    "dashboard/test_operator_panels.py",
    "dashboard/test_launch_panels.py",
)
"""Left out as well: minutes of damage, size and random profiles, which import nothing that other tests do not."""

BLOCKER = Path(__file__).parent / "no_qt"

sitecustomize.block()
# Child processes start with it: Python imports `sitecustomize` from the path before anything else.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(BLOCKER), os.environ.get("PYTHONPATH"))))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Accept the settings of pytest-qt, which is not loaded in this run."""
    for name in ("qt_api", "qt_log_level_fail", "qt_log_ignore", "qt_qapp_name", "qt_default_raising"):
        parser.addini(name, "of pytest-qt; without meaning here")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out test files that need Qt."""
    if collection_path.suffix == ".py" and collection_path.name.startswith("test_"):
        place = collection_path.relative_to(Path(__file__).parent).as_posix()
        return True if place.startswith(_LONG) or _QT.search(collection_path.read_text(encoding="utf-8")) else None
    return None
