"""What popups and menus of the window have in common: where they are, and their keys."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QCursor, QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QAbstractButton, QFrame, QLineEdit, QMenu, QWidget
from shiboken6 import isValid

from app.widgets.parts import ENTER_KEYS
from app.widgets.rows_view import RowsView

_MARGIN_PX = 8  # between a popup and the border of the window
_GAP_PX = 4
_TO_LIST = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, *ENTER_KEYS)


class Popup(QFrame):
    """Esc closes it."""

    opener: QWidget | None = None  # what it was opened with

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setProperty("kind", "popup")

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if self.opener is not None and isValid(self.opener):
            end_hover(self.opener)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)


class SearchedPopup(Popup):
    """The keyboard is in `search`, whose keys also move in `view` and use the row that it is at."""

    search: QLineEdit
    view: RowsView

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.search and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self.search_key(event)
        return super().eventFilter(watched, event)

    def search_key(self, event: QKeyEvent) -> bool:
        """Handles a key in the field, and returns whether the field should not get it."""
        if event.key() in _TO_LIST:
            self.view.keyPressEvent(event)
        elif event.key() == Qt.Key.Key_Escape:  # the field would only empty itself
            self.close()
        else:
            return False
        return True


class WindowMenu(QMenu):
    """A menu that stays within its window, where that is wide enough. It belongs to the button that opens it, a submenu
    to the menu that it is in."""

    def __init__(self, owner: QWidget) -> None:
        super().__init__(owner)
        self._owner: QWidget = owner._owner if isinstance(owner, WindowMenu) else owner  # a part of the window

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        window, owner = self._owner.window(), self.parentWidget()
        first = window.mapToGlobal(QPoint()).x()
        left = first + window.width() - self.width()
        if left < self.x() and isinstance(owner, QMenu):
            left = owner.x() - self.width()  # on the other side of it
        if left < self.x():
            self.move(max(first, left), self.y())

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if isinstance(self.parentWidget(), QAbstractButton) and isValid(self._owner):
            end_hover(self._owner)


def end_hover(widget: QWidget) -> None:
    """Ends the hover: Qt does not tell a widget that the mouse has left it while a popup was open."""
    if not widget.rect().contains(widget.mapFromGlobal(QCursor.pos())):
        widget.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, False)
        widget.update()


def place_below(popup: Popup, widget: QWidget, width: int, heights: tuple[int, int]) -> None:
    """Places the popup below the widget, within the window, and as high as possible between the least and the wanted
    height."""
    popup.opener = widget
    window = widget.window()
    first, last = window.mapToGlobal(QPoint(0, 0)), window.mapToGlobal(QPoint(window.width(), window.height()))
    place = widget.mapToGlobal(QPoint(0, widget.height() + _GAP_PX))
    width = min(width, window.width() - 2 * _MARGIN_PX)
    least, wanted = heights
    height = max(least, min(wanted, last.y() - place.y() - _MARGIN_PX))
    left = max(first.x() + _MARGIN_PX, min(place.x(), last.x() - _MARGIN_PX - width))
    popup.setGeometry(left, place.y(), width, height)
