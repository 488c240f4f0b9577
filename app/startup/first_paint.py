"""Paints the window before anything else is imported or made, and imports that piece after piece.

All of it in one go holds the interface thread up for a third of a second. What the user does meanwhile waits, as nobody
listens yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from app.main_window import MainWindow
from app.settings.look import read_look
from app.theme import ThemeKeeper, apply_theme

PATIENCE_MS = 500  # a window that opens below others or minimized is not painted
# In this order, each imports only a part of what is slow.
PIECES = (
    "importlib.metadata",
    "pydantic_core.core_schema",
    "pydantic.fields",
    "pydantic.main",
    "app.settings.declaration",
    "app.settings.app_settings",
    "engine.values.history",
    "engine.values.learned",
    "engine.values.events",
    "engine.values.orders",
    "engine.backend.teaching.learning_service",
    "engine.factory",
    "engine.threads",
    "app.features.chat.chat",
    "app.features.chat.chat_settings",
    "app.features.settings.settings_dialog",
    "app.features.personalization.personal_dialog",
    "app.features.personalization.personal",
    "app.features.settings.settings",
    "app.features.presets.preset_library",
    "app.features.library.library_dialog",
    "app.features.library.library",
    "app.wiring",
    "app.language_change",
)


@dataclass(frozen=True, slots=True)
class OpenedWindow:
    """A window that is shown and does nothing yet."""

    window: MainWindow
    theme: ThemeKeeper


def open_window(application: QApplication, folder: Path) -> OpenedWindow:
    """Opens the window and returns when it is painted. `folder` holds all files of the program."""
    look = read_look(folder)
    theme = apply_theme(application, look.theme, look.text_size)
    window = MainWindow(theme)
    window.restore(look.window)
    window.transcript.welcome.show_introduction(not look.has_chatted)
    window.show()
    wait_for_first_paint(window)
    return OpenedWindow(window, theme)


class _UntilPainted(QEventLoop):
    """Ends when a widget that it filters the events of is painted."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self.quit()
        return super().eventFilter(watched, event)


def wait_for_first_paint(window: QWidget) -> None:
    """Returns when the window is painted, or after a short wait, without handling input meanwhile."""
    loop = _UntilPainted()
    window.installEventFilter(loop)
    QTimer.singleShot(PATIENCE_MS, loop, loop.quit)
    loop.exec(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents)
    window.removeEventFilter(loop)


def import_in_pieces(pieces: Iterable[str] = PIECES) -> None:
    for piece in pieces:
        import_module(piece)
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents)
