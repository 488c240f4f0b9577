"""The look of the app: colour tokens, and the palette and style sheet made from them.

Two files in `resources/themes` hold the colours, one template holds the style sheet. Widgets that paint by themselves
get a `ThemeKeeper` handed down and draw again when the theme has changed. Icons are drawn from the SVG files in
`resources/icons`, in a colour of the theme.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QCoreApplication, QEvent, QObject, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QComboBox, QDialog, QLabel, QProxyStyle, QStyledItemDelegate, QWidget

from engine.values.origins import Origin

THEMES = files("resources") / "themes"
ICONS = files("resources") / "icons"
_LINE_ICON_SIZES = (16, 20, 32, 48)
_APP_ICON_SIZES = (16, 24, 32, 48, 64, 128, 256)
_USUAL_FONT = "usual font"
_POLISHED = Qt.WidgetAttribute.WA_WState_Polished
_OWN_STYLE = Qt.WidgetAttribute.WA_SetStyle
_THIN_PX = 2  # a line, which stays as it is
_SCHEMES = {
    "system": Qt.ColorScheme.Unknown,
    "light": Qt.ColorScheme.Light,
    "dark": Qt.ColorScheme.Dark,
}


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours as `#rrggbb`, named for what they are used for."""

    name: str
    dark: bool
    window: str  # background of the conversation
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

    def tint(self, origin: Origin) -> str:
        """The background of text of this origin; the window's colour where it has none."""
        return (origin.dark if self.dark else origin.light) or self.window

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

    def style_sheet(self, scale: float = 1.0) -> str:
        """Lengths are multiplied by `scale`, except for thin lines."""
        template = (THEMES / "style.qss").read_text("utf-8")
        colours = {field.name: str(getattr(self, field.name)) for field in fields(self)}
        words = {**colours, "themes": Path(str(THEMES)).as_posix()}  # where pictures lie
        scaled = re.sub(r"\b(\d+)(px|pt)", lambda match: f"{_scaled(int(match[1]), scale)}{match[2]}", template)
        return re.sub(r"@([a-z_]+)", lambda match: words[match[1]], scaled)


def _scaled(length_px: int, scale: float) -> int:
    return length_px if length_px <= _THIN_PX else round(length_px * scale)


def load_theme(name: str) -> Theme:
    """The theme `resources/themes/<name>.json`; a missing or unknown token is a TypeError."""
    return Theme(**json.loads((THEMES / f"{name}.json").read_text("utf-8")))


class ThemeKeeper(QObject):
    """Holds the theme and the size of text in use, for all widgets. By default it follows the system between light and
    dark."""

    changed = Signal(Theme)  # colours or sizes have changed; font, palette and style sheet are applied already

    def __init__(self, app: QApplication, scheme: str = "system", text_percent: int = 100) -> None:
        super().__init__(app)
        self._app = app
        self._icons: dict[tuple[str, str, str], QIcon] = {}  # by name and colours
        self._usual_font = _usual_font(app)
        self._scheme = scheme
        self.scale = text_percent / 100  # how much larger than usual everything is
        self.theme = _theme_for(self._set_system_scheme(scheme))
        self._apply()
        app.styleHints().colorSchemeChanged.connect(self.show_scheme)

    def px(self, length_px: float) -> int:
        """A length in pixels that scales with the text."""
        return round(length_px * self.scale)

    def icon(self, name: str, token: str = "quiet") -> QIcon:
        """The line icon `name` in the colour `token` of the theme in use."""
        key = (name, getattr(self.theme, token), self.theme.faint)
        if key not in self._icons:
            self._icons[key] = line_icon(*key)
        return self._icons[key]

    def choose(self, scheme: str, text_percent: int) -> None:
        """`scheme` is `system`, `light` or `dark`; `text_percent` is of the system's own size."""
        if scheme == self._scheme and text_percent / 100 == self.scale:
            return
        self.scale = text_percent / 100
        if scheme != self._scheme:
            self._scheme = ""  # Qt's signal of the change is ignored
            self.theme = _theme_for(self._set_system_scheme(scheme))
            self._scheme = scheme
        self._apply()
        self.changed.emit(self.theme)

    @Slot(Qt.ColorScheme)
    def show_scheme(self, scheme: Qt.ColorScheme) -> None:
        """Follows the system's light or dark scheme."""
        theme = _theme_for(scheme)
        if self._scheme == "system" and theme != self.theme:
            self.theme = theme
            self._apply()
            self.changed.emit(theme)

    def _set_system_scheme(self, scheme: str) -> Qt.ColorScheme:
        """Sets the scheme of what the system draws itself: window frames and its dialogs."""
        hints = self._app.styleHints()
        hints.setColorScheme(_SCHEMES[scheme])
        return hints.colorScheme() if scheme == "system" else _SCHEMES[scheme]

    def _apply(self) -> None:
        font = QFont(self._usual_font)
        font.setPointSizeF(font.pointSizeF() * self.scale)
        with _hidden_windows_left_out(self._app):
            self._app.setStyleSheet("")  # Qt takes twice as long to replace a sheet by another
            if font != self._app.font():
                self._app.setFont(font)
            self._app.setPalette(self.theme.palette())
            self._app.setStyleSheet(self.theme.style_sheet(self.scale))
        for window in self._app.topLevelWidgets():
            if not isinstance(window, StyledWhenShown) or not window.is_late:
                _hand_down_font(window)


class StyledWhenShown(QDialog):
    """A window that is left out of a change of the theme or the size of text while it is hidden, and calls `take_style`
    before it is shown. Most widgets of the app are in hidden windows, and Qt would polish and lay out all of them with
    every step of the size."""

    is_late = False  # it has not taken the last change

    def take_style(self) -> None:
        if not self.is_late:
            return
        self.is_late = False
        for widget in (self, *self.findChildren(QWidget)):
            widget.ensurePolished()
            if not widget.testAttribute(_POLISHED):
                widget.style().polish(widget)
                widget.setAttribute(_POLISHED)
                QCoreApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))
        _hand_down_font(self)


@contextmanager
def _hidden_windows_left_out(app: QApplication) -> Iterator[None]:
    """Hides widgets from Qt, which neither polishes those that it takes for unpolished, nor informs those with a style
    of their own."""
    windows = [each for each in app.topLevelWidgets() if isinstance(each, StyledWhenShown) and each.isHidden()]
    widgets = [each for window in windows for each in (window, *window.findChildren(QWidget))]
    left_out = [each for each in widgets if not each.window().isVisible()]
    for widget in left_out:
        widget.setAttribute(_POLISHED, False)
        widget.setAttribute(_OWN_STYLE)
    try:
        yield
    finally:
        for widget in left_out:
            widget.setAttribute(_OWN_STYLE, False)
        for window in windows:
            window.is_late = True


def _hand_down_font(window: QWidget) -> None:
    """Passes the font down: Qt informs widgets in no order, so some would take over their parents' old font."""
    for widget in window.findChildren(QWidget):  # parents come first
        parent = widget.parentWidget()
        if parent is None or widget.window() is not window or widget.font().resolveMask():
            continue
        if widget.font() != parent.font():
            widget.setFont(QFont())


def _theme_for(scheme: Qt.ColorScheme) -> Theme:
    return load_theme("dark" if scheme == Qt.ColorScheme.Dark else "light")


def _usual_font(app: QApplication) -> QFont:
    """The system's own font, regardless of an earlier keeper."""
    usual = app.property(_USUAL_FONT)
    if isinstance(usual, QFont):
        return usual
    app.setProperty(_USUAL_FONT, app.font())
    return app.font()


def text_px(length_px: float) -> int:
    """A length that scales with the text, for code without a keeper."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    return round(length_px * app.font().pointSizeF() / _usual_font(app).pointSizeF())


def apply_theme(app: QApplication, scheme: str = "system", text_percent: int = 100) -> ThemeKeeper:
    """Gives the app its style; the keeper belongs to the app."""
    app.setStyle(_PlainStyle("Fusion"))
    return ThemeKeeper(app, scheme, text_percent)


class _PlainStyle(QProxyStyle):
    """Words are shown as they are. Qt would take those of a label or a tooltip for HTML where they look like it, and
    open the files that they name, on this machine or another; what is meant as HTML says so (`Qt.RichText`)."""

    def polish(self, what: Any) -> None:
        """Runs before a widget's first layout; Qt makes a label for each tooltip, too."""
        super().polish(what)
        if isinstance(what, QLabel) and what.textFormat() is Qt.TextFormat.AutoText:
            what.setTextFormat(Qt.TextFormat.PlainText)
        elif isinstance(what, QComboBox) and not isinstance(what.itemDelegate(), QStyledItemDelegate):
            what.setItemDelegate(QStyledItemDelegate(what))  # Qt's own takes nothing of the style sheet


def line_icon(name: str, colour: str, disabled_colour: str | None = None) -> QIcon:
    """The icon `name` in one colour; `disabled_colour` is for buttons that cannot be pressed."""
    icon = QIcon()
    for mode, tint in ((QIcon.Mode.Normal, colour), (QIcon.Mode.Disabled, disabled_colour or colour)):
        renderer = _renderer((ICONS / f"{name}.svg").read_text("utf-8").replace("currentColor", tint))
        for size in _LINE_ICON_SIZES:
            icon.addPixmap(_draw(renderer, size), mode)
    return icon


def app_icon() -> QIcon:
    icon = QIcon()
    renderer = _renderer((ICONS / "slipstream.svg").read_text("utf-8"))
    for size in _APP_ICON_SIZES:
        icon.addPixmap(_draw(renderer, size))
    return icon


def _renderer(svg: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(svg.encode()))


def _draw(renderer: QSvgRenderer, size: int) -> QPixmap:
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, size, size))
    painter.end()
    return pixmap
