"""How large windows are: never larger than their screen, and on each screen as the user left them there."""

from __future__ import annotations

import json
from collections.abc import Sequence

from PySide6.QtCore import QObject, QPoint, QSize, Qt
from PySide6.QtWidgets import QWidget

_FRAME_PX = QSize(8, 44)  # what desktops draw around a window; the true one is known only once it is shown
_LARGE = Qt.WindowState.WindowMaximized | Qt.WindowState.WindowFullScreen


class WindowSizes(QObject):
    """Belongs to the main window, and holds the sizes that the user gave to it and to its dialogs."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._kept: dict[str, Sequence[int]] = {}  # px, by window and screen

    @classmethod
    def of(cls, window: QWidget) -> WindowSizes | None:
        """The sizes of the app to which the window belongs."""
        owner: QWidget | None = window
        while owner is not None:
            found = owner.findChild(cls, options=Qt.FindChildOption.FindDirectChildrenOnly)
            if isinstance(found, cls):
                return found
            owner = owner.parentWidget()
        return None

    def keep(self, window: QWidget) -> None:
        if not window.windowState() & _LARGE:
            self._kept[_key(window)] = (window.width(), window.height())

    def kept(self, window: QWidget) -> QSize | None:
        size = self._kept.get(_key(window))
        return None if size is None else QSize(*size)

    def to_text(self) -> str:
        return json.dumps(self._kept)

    def take_text(self, text: str) -> None:
        """Reads what `to_text` wrote, ignoring what is invalid."""
        try:
            told = json.loads(text)
        except ValueError:
            return
        if isinstance(told, dict):
            self._kept = {str(key): size for key, size in told.items() if _is_size(size)}


def room_for(window: QWidget) -> QSize:
    """The largest size at which the window and its frame fit on its screen."""
    known = window.frameSize() - window.size() if window.isVisible() else QSize()
    return window.screen().availableSize() - known.expandedTo(_FRAME_PX)


def hold_on_screen(window: QWidget) -> None:
    """Moves the window until all of it is visible."""
    frame, room = window.frameGeometry(), window.screen().availableGeometry()
    left = max(room.left(), min(frame.left(), room.right() + 1 - frame.width()))
    top = max(room.top(), min(frame.top(), room.bottom() + 1 - frame.height()))
    if frame.topLeft() != QPoint(left, top):
        window.move(left, top)


def _key(window: QWidget) -> str:
    screen = window.screen()
    return f"{type(window).__name__} on {screen.name()} {screen.size().width()}×{screen.size().height()}"


def _is_size(size: object) -> bool:
    return isinstance(size, list) and len(size) == 2 and all(isinstance(px, int) and 0 < px < 1 << 15 for px in size)
