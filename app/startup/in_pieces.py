"""Imports what the window is given its life by, piece after piece, so that it is painted meanwhile.

All of it in one go holds the interface thread up for a third of a second. What the user does meanwhile waits, as nobody
listens yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from PySide6.QtCore import QCoreApplication, QEventLoop

# In an order in which each brings along but a part of what is slow.
PIECES = (
    "importlib.metadata",
    "pydantic_core.core_schema",
    "pydantic.fields",
    "pydantic.main",
    "app.settings.declaration",
    "app.settings.app_settings",
    "engine.messages.history",
    "engine.messages.learned",
    "engine.messages.events",
    "engine.messages.commands",
    "engine.services.learning_service",
    "engine.factory",
    "engine.threads",
    "app.controllers.chat",
    "app.controllers.chat_settings",
    "app.dialogs.settings_dialog",
    "app.dialogs.personal_dialog",
    "app.controllers.personal",
    "app.controllers.settings",
    "app.dialogs.library.library_dialog",
    "app.controllers.library",
    "app.wiring",
)


def import_in_pieces(pieces: Iterable[str] = PIECES) -> None:
    for piece in pieces:
        import_module(piece)
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents)
