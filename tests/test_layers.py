"""What import-linter cannot see: which part of Qt a module imports.

Needs no Qt itself: it reads the source.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import smprof_desktop

PACKAGE = Path(smprof_desktop.__file__).parent


def imported(file: Path) -> set[str]:
    """Every module that a file imports, at any depth."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


@pytest.mark.parametrize("name", ["tasks.py", "settings.py"])
def test_tasks_and_settings_know_no_more_of_qt_than_its_core(name: str) -> None:
    qt = {module for module in imported(PACKAGE / name) if module.startswith(("PySide6.", "pyqtgraph"))}
    assert {".".join(module.split(".")[:2]) for module in qt} <= {"PySide6.QtCore"}


def test_nothing_is_pickled() -> None:
    files = [file for folder in (PACKAGE, PACKAGE.parent / "collector") for file in folder.rglob("*.py")]
    assert len(files) > 30
    assert [file.name for file in files if imported(file) & {"pickle", "cPickle", "dill", "shelve", "marshal"}] == []
