"""Lets a window be seen before anything else is made."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QEventLoop, QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

PATIENCE_MS = 500  # a window that begins behind others or as an icon is not painted


class _Watcher(QObject):
    """Signals:
    painted(): the widget is being painted.
    """

    painted = Signal()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self.painted.emit()
        return super().eventFilter(watched, event)


def wait_for_first_paint(window: QWidget) -> None:
    """Returns when the window is painted, or after some patience. What the user does meanwhile waits."""
    loop = QEventLoop()
    watcher = _Watcher()
    watcher.painted.connect(loop.quit)
    window.installEventFilter(watcher)
    QTimer.singleShot(PATIENCE_MS, loop, loop.quit)
    loop.exec(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents)
    window.removeEventFilter(watcher)
