"""Icons drawn from the SVG files in `resources/icons`, in a colour of the theme."""

from __future__ import annotations

from importlib.resources import files

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

ICONS = files("resources") / "icons"
_LINE_ICON_SIZES = (16, 20, 32, 48)
_APP_ICON_SIZES = (16, 24, 32, 48, 64, 128, 256)


def line_icon(name: str, colour: str, disabled_colour: str | None = None) -> QIcon:
    """The icon `name` in one colour; `disabled_colour` is that of a button that cannot be pressed."""
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
