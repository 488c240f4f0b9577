"""Where popups of the window are."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget

_MARGIN_PX = 8  # between a popup and the border of the window
_GAP_PX = 4


def place_below(popup: QWidget, widget: QWidget, width: int, heights: tuple[int, int]) -> None:
    """Below the widget, within the window: as high as there is room, from the least to the wanted of these heights."""
    window = widget.window()
    first, last = window.mapToGlobal(QPoint(0, 0)), window.mapToGlobal(QPoint(window.width(), window.height()))
    place = widget.mapToGlobal(QPoint(0, widget.height() + _GAP_PX))
    width = min(width, window.width() - 2 * _MARGIN_PX)
    least, wanted = heights
    height = max(least, min(wanted, last.y() - place.y() - _MARGIN_PX))
    left = max(first.x() + _MARGIN_PX, min(place.x(), last.x() - _MARGIN_PX - width))
    popup.setGeometry(left, place.y(), width, height)
