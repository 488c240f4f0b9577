from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from app.main_window import MainWindow

_HOVER = Qt.WidgetAttribute.WA_UnderMouse


def test_the_menu_and_its_submenus_stay_within_the_window(window: MainWindow) -> None:
    button = window.target_bar.menu_button
    menu = button.menu()
    for width in (640, 690):  # the screen has 800
        window.resize(width, 600)
        window.move(100, 40)
        QApplication.processEvents()
        menu.popup(button.mapToGlobal(QPoint(0, button.height())))  # where Qt opens it
        area = window.geometry()
        room = range(area.left(), area.left() + area.width() + 1)
        assert menu.x() in room
        assert menu.x() + menu.width() in room
        for action in menu.actions():
            submenu = action.menu()
            if isinstance(submenu, QMenu):
                submenu.popup(menu.mapToGlobal(menu.actionGeometry(action).topRight()))
                assert submenu.x() + submenu.width() <= menu.x(), "beside it, on the other side"
                assert submenu.x() in room
                submenu.close()
        menu.close()


@pytest.mark.parametrize("is_over", [False, True])
def test_a_button_is_not_highlighted_once_its_menu_is_closed_elsewhere(
    qtbot: QtBot, window: MainWindow, is_over: bool
) -> None:
    button = window.target_bar.menu_button
    for popup, opener in ((button.menu(), button), (window.target_bar.picker, window.target_bar.name)):
        if isinstance(popup, QMenu):
            popup.popup(button.mapToGlobal(QPoint(0, button.height())))
        else:
            window.target_bar.open_picker()
        qtbot.waitUntil(popup.isVisible)
        opener.setAttribute(_HOVER)  # the mouse was over it when it was pressed, and Qt tells of no leaving
        QCursor.setPos(opener.mapToGlobal(opener.rect().center() if is_over else QPoint(-200, 300)))
        popup.close()
        assert opener.testAttribute(_HOVER) is is_over
