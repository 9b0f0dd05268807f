"""The left pane's list of pages."""

from __future__ import annotations

from PySide6.QtWidgets import QListWidget


class PageList(QListWidget):
    """A list without type-ahead: a single letter meant for a page must not lead to another one."""

    def keyboardSearch(self, search: str) -> None:
        """Look for nothing."""
