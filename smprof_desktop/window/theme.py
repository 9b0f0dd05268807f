"""Light and dark: the colours of the window, as Qt's palette and one style sheet."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from smprof_desktop.settings import Settings


@dataclass(frozen=True)
class Theme:
    """Colours as #rrggbb. Everything drawn takes them from the palette, so that one change repaints all."""

    name: str
    window: str
    base: str
    alternate: str
    pane: str
    text: str
    muted: str
    border: str
    accent: str
    accent_text: str
    link: str
    hover: str
    warning: str
    warning_text: str
    error: str


LIGHT = Theme(
    "light", window="#f3f5f7", base="#ffffff", alternate="#f6f8fa", pane="#e8ecf0", text="#1b2128", muted="#5a6673",
    border="#d0d7de", accent="#1f66b8", accent_text="#ffffff", link="#1f66b8", hover="#dbe3eb",
    warning="#fff2cc", warning_text="#6b4a00", error="#b3261e",
)  # fmt: skip
DARK = Theme(
    "dark", window="#1d2025", base="#16181c", alternate="#1b1e23", pane="#181a1f", text="#dee3e9", muted="#97a2af",
    border="#343a43", accent="#2f78c9", accent_text="#ffffff", link="#6fabec", hover="#2a2f37",
    warning="#4a3a10", warning_text="#ffdf8e", error="#ff8a80",
)  # fmt: skip


_DARK_FIELDS = """
    #card QSpinBox {{ background: {theme.hover}; }}
    QComboBox[editable="true"] {{ background: {theme.base}; border: 1px solid {theme.border};
        border-radius: 3px; padding: 1px 3px; }}"""
"""Qt draws the edges of these darker than the window: in the dark they cannot be seen."""


class ThemeSwitch(QObject):
    """Keeps the application's palette and style sheet at what the `theme` setting and the desktop ask for."""

    def __init__(self, application: QApplication, settings: Settings) -> None:
        super().__init__(application)
        self._application = application
        self._settings = settings
        settings.changed.connect(self._on_setting)
        application.styleHints().colorSchemeChanged.connect(self.apply)
        self.apply()

    @property
    def theme(self) -> Theme:
        """The theme that should be in force."""
        wanted = self._settings.get("theme")
        if wanted == "system":
            is_dark = self._application.styleHints().colorScheme() == Qt.ColorScheme.Dark
            return DARK if is_dark else LIGHT
        return DARK if wanted == "dark" else LIGHT

    def apply(self) -> None:
        """Put the theme in force; every widget repaints."""
        theme = self.theme
        self._application.setPalette(palette(theme))
        self._application.setStyleSheet(style_sheet(theme))

    def _on_setting(self, key: str) -> None:
        if key == "theme":
            self.apply()


def palette(theme: Theme) -> QPalette:
    """Qt's palette for a theme."""
    result = QPalette(QColor(theme.window))
    roles = QPalette.ColorRole
    for role, colour in (
        (roles.Window, theme.window), (roles.WindowText, theme.text), (roles.Base, theme.base),
        (roles.Text, theme.text),
        (roles.AlternateBase, theme.alternate), (roles.Button, theme.window), (roles.ButtonText, theme.text),
        (roles.BrightText, theme.error), (roles.Highlight, theme.accent), (roles.HighlightedText, theme.accent_text),
        (roles.ToolTipBase, theme.base), (roles.ToolTipText, theme.text), (roles.PlaceholderText, theme.muted),
        (roles.Mid, theme.border), (roles.Link, theme.link), (roles.Accent, theme.accent),
    ):  # fmt: skip
        result.setColor(role, QColor(colour))
    for role in (roles.WindowText, roles.Text, roles.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, role, QColor(theme.muted))
    return result


def style_sheet(theme: Theme) -> str:
    """What the palette cannot say: the left pane, cards, headings, thin lines."""
    return f"""
    QMenuBar {{ background: {theme.pane}; padding: 1px; }}
    QMenuBar::item {{ padding: 3px 9px; background: transparent; }}
    QMenuBar::item:selected {{ background: {theme.hover}; }}
    #navigation {{ background: {theme.pane}; border: none; padding: 6px 6px; outline: none; }}
    #navigation::item {{ padding: 0 8px; border-radius: 4px; color: {theme.text}; }}
    #navigation::item:hover {{ background: {theme.hover}; }}
    #navigation::item:selected {{ background: {theme.accent}; color: {theme.accent_text}; }}
    #navigation:focus {{ border-right: 2px solid {theme.accent}; }}
    #pane {{ background: {theme.pane}; border-right: 1px solid {theme.border}; }}
    #header {{ background: {theme.window}; border-bottom: 1px solid {theme.border}; }}
    #loading_line {{ background: {theme.pane}; border-bottom: 1px solid {theme.border}; }}
    #loading_line QPushButton {{ padding: 1px 9px; }}
    #page_title {{ font-size: 12pt; font-weight: 600; }}
    #muted, #pane_note {{ color: {theme.muted}; }}
    #pane_note {{ padding: 8px 12px; }}
    #badge {{ background: {theme.warning}; color: {theme.warning_text}; border-radius: 3px; padding: 1px 7px;
        font-weight: 600; }}
    #notice {{ background: {theme.warning}; color: {theme.warning_text}; border-radius: 3px; padding: 6px 9px; }}
    #error {{ color: {theme.error}; }}
    #section {{ font-size: 10pt; font-weight: 600; padding-top: 2px; }}
    #card {{ background: {theme.base}; border: 1px solid {theme.border}; border-radius: 5px; }}
    #card_title {{ font-weight: 600; }}
    #palette {{ background: {theme.pane}; border: 1px solid {theme.accent}; border-radius: 5px; }}
    QTableView, QListView {{ border: 1px solid {theme.border}; }}
    QTableView::item {{ padding: 0 7px; }}
    QHeaderView::section {{ background: {theme.window}; color: {theme.muted}; border: none;
        border-bottom: 1px solid {theme.border}; padding: 3px 10px; }}
    #legend {{ border: none; background: {theme.base}; }}
    #legend::item {{ padding: 0 2px 0 3px; }}
    QLineEdit {{ background: {theme.base}; border: 1px solid {theme.border}; border-radius: 3px; padding: 3px 5px; }}
    {_DARK_FIELDS.format(theme=theme) if theme is DARK else ""}
    QPushButton {{ background: {theme.pane}; border: 1px solid {theme.border}; border-radius: 3px; padding: 4px 12px; }}
    QPushButton:hover {{ background: {theme.hover}; }}
    QPushButton:pressed {{ background: {theme.border}; }}
    QPushButton:disabled {{ color: {theme.muted}; background: {theme.window}; }}
    QLineEdit:focus, QPushButton:focus {{ border: 1px solid {theme.accent}; }}
    QSplitter::handle {{ background: {theme.border}; }}
    QToolTip {{ background: {theme.base}; color: {theme.text}; border: 1px solid {theme.border}; }}
    QStatusBar {{ background: {theme.pane}; color: {theme.muted}; }}
    """
