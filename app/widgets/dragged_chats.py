"""Conversations while they are dragged from one place of the sidebar to another."""

from __future__ import annotations

import json
from collections.abc import Sequence

from PySide6.QtCore import QMimeData, QRect, Qt
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import QWidget

from app.theme import ThemeKeeper
from app.widgets.rows_view import draw_line

CHATS = "application/x-slipstream-chats"  # ids as JSON
_MOST_BYTES = 1 << 20
_SIZE_PX = (200, 32)
_EDGE_PX = 12


def chats_data(ids: Sequence[int]) -> QMimeData:
    """What is dragged."""
    data = QMimeData()
    data.setData(CHATS, json.dumps(list(ids)).encode())
    return data


def dragged_ids(data: QMimeData) -> tuple[int, ...]:
    """Of conversations; empty for anything else, as whatever is dropped may come from another program."""
    raw = data.data(CHATS)
    if not 0 < raw.size() <= _MOST_BYTES:
        return ()
    try:
        found = json.loads(bytes(raw.data()))
    except (ValueError, RecursionError):
        return ()
    return tuple(each for each in found if type(each) is int) if isinstance(found, list) else ()


def dragged_pixmap(keeper: ThemeKeeper, words: str, widget: QWidget) -> QPixmap:
    """What is under the pointer meanwhile, in the widget's font."""
    theme, ratio = keeper.theme, widget.devicePixelRatioF()
    width, height = map(keeper.px, _SIZE_PX)
    pixmap = QPixmap(round(width * ratio), round(height * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(widget.font())
    painter.setBrush(QColor(theme.surface))
    painter.setPen(QColor(theme.accent))
    painter.drawRoundedRect(1, 1, width - 2, height - 2, 8, 8)
    draw_line(painter, QRect(_EDGE_PX, 0, width - 2 * _EDGE_PX, height), theme.text, words)
    painter.end()
    return pixmap
