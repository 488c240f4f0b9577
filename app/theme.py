"""The look of the app: colour tokens, and the palette and style sheet made from them.

Two files in `resources/themes` hold the colours, one template holds the style sheet. Widgets that paint by themselves
get a `ThemeKeeper` handed down and draw again when it says that the theme has changed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QIcon, QPalette
from PySide6.QtWidgets import QApplication

from app.icons import line_icon

THEMES = files("resources") / "themes"


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours as `#rrggbb`, named for what they are used for."""

    name: str
    dark: bool
    window: str  # behind the conversation
    sidebar: str
    surface: str  # raised things: prompt box, menus, toasts
    bubble: str  # the user's messages
    hover: str
    selected: str
    border: str
    border_strong: str
    text: str
    quiet: str  # second-rank text
    faint: str  # third-rank text and placeholders
    accent: str
    accent_hover: str
    on_accent: str
    text_selection: str
    code_background: str
    code_header: str
    inline_code: str
    link: str
    warning: str
    error: str
    error_background: str
    scroll_bar: str
    code_keyword: str
    code_name: str
    code_string: str
    code_number: str
    code_comment: str
    code_type: str
    code_error: str
    origin_drafter: str  # behind what the drafter guessed
    origin_recall: str  # behind what was recalled

    def palette(self) -> QPalette:
        palette = QPalette()
        for role, colour in (
            (QPalette.ColorRole.Window, self.window),
            (QPalette.ColorRole.WindowText, self.text),
            (QPalette.ColorRole.Base, self.surface),
            (QPalette.ColorRole.AlternateBase, self.hover),
            (QPalette.ColorRole.ToolTipBase, self.surface),
            (QPalette.ColorRole.ToolTipText, self.text),
            (QPalette.ColorRole.PlaceholderText, self.faint),
            (QPalette.ColorRole.Text, self.text),
            (QPalette.ColorRole.Button, self.surface),
            (QPalette.ColorRole.ButtonText, self.text),
            (QPalette.ColorRole.Light, self.surface),
            (QPalette.ColorRole.Midlight, self.hover),
            (QPalette.ColorRole.Mid, self.border),
            (QPalette.ColorRole.Dark, self.border_strong),
            (QPalette.ColorRole.Highlight, self.text_selection),
            (QPalette.ColorRole.HighlightedText, self.text),
            (QPalette.ColorRole.Accent, self.accent),
            (QPalette.ColorRole.Link, self.link),
            (QPalette.ColorRole.LinkVisited, self.link),
        ):
            palette.setColor(role, QColor(colour))
        for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
            palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(self.faint))
        return palette

    def style_sheet(self) -> str:
        template = (THEMES / "style.qss").read_text("utf-8")
        colours = {field.name: str(getattr(self, field.name)) for field in fields(self)}
        words = {**colours, "themes": Path(str(THEMES)).as_posix()}  # where pictures lie
        return re.sub(r"@([a-z_]+)", lambda match: words[match[1]], template)


def load_theme(name: str) -> Theme:
    """The theme `resources/themes/<name>.json`; a missing or unknown token is a TypeError."""
    return Theme(**json.loads((THEMES / f"{name}.json").read_text("utf-8")))


class ThemeKeeper(QObject):
    """Holds the theme in use and follows the system between light and dark.

    Signals:
        changed(Theme): the colours are others now; palette and style sheet are already applied.
    """

    changed = Signal(Theme)

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app
        self._icons: dict[tuple[str, str], QIcon] = {}
        hints = app.styleHints()
        self._use(_theme_for(hints.colorScheme()))
        hints.colorSchemeChanged.connect(self.show_scheme)

    @property
    def theme(self) -> Theme:
        return self._theme

    def icon(self, name: str, token: str = "quiet") -> QIcon:
        """The line icon `name` in the colour `token` of the theme in use."""
        key = (name, token)
        if key not in self._icons:
            self._icons[key] = line_icon(name, getattr(self._theme, token), self._theme.faint)
        return self._icons[key]

    @Slot(Qt.ColorScheme)
    def show_scheme(self, scheme: Qt.ColorScheme) -> None:
        theme = _theme_for(scheme)
        if theme != self._theme:
            self._use(theme)
            self.changed.emit(theme)

    def _use(self, theme: Theme) -> None:
        self._theme = theme
        self._icons.clear()
        self._app.setPalette(theme.palette())
        self._app.setStyleSheet(theme.style_sheet())


def _theme_for(scheme: Qt.ColorScheme) -> Theme:
    return load_theme("dark" if scheme == Qt.ColorScheme.Dark else "light")


def apply_theme(app: QApplication) -> ThemeKeeper:
    """Gives the app its style; the keeper belongs to the app."""
    app.setStyle("Fusion")
    return ThemeKeeper(app)
