"""A message of the system, outside of the window."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

_SHOWN_MS = 10_000


class DesktopNotice(QObject):
    """Where the system has a tray, messages come from an icon there: Qt shows none without it. So there is an icon as
    long as a message waits to be seen, and none before or after. Elsewhere the window asks for attention in the way of
    the system: its entry in the task bar blinks, its icon in the dock jumps.

    Signals:
        clicked(): the message, or its icon, was clicked.
    """

    clicked = Signal()

    def __init__(self, window: QWidget, icon: QIcon) -> None:
        super().__init__(window)
        self._window = window
        self._icon = icon
        self._tray: QSystemTrayIcon | None = None

    def show(self, title: str, text: str) -> None:
        if not (QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages()):
            QApplication.alert(self._window)
            return
        if self._tray is None:
            self._tray = QSystemTrayIcon(self._icon, self)
            self._tray.messageClicked.connect(self.clicked)
            self._tray.activated.connect(self.clicked)
        self._tray.setToolTip(title)
        self._tray.show()
        self._tray.showMessage(title, text, self._icon, _SHOWN_MS)

    def hide(self) -> None:
        """Nothing waits to be seen any more."""
        if self._tray is not None:
            self._tray.hide()
            self._tray.deleteLater()
            self._tray = None
