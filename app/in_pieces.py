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
    "app.setting",
    "app.settings",
    "engine.history",
    "engine.learned",
    "engine.events",
    "engine.commands",
    "engine.services.learning_service",
    "engine.assembly",
    "app.chat_controller",
    "app.conversation_controller",
    "app.dialogs.settings_dialog",
    "app.settings_controller",
    "app.dialogs.personal_dialog",
    "app.personal_controller",
    "app.dialogs.library.library_dialog",
    "app.library",
    "app.assembled",
)


def import_in_pieces(pieces: Iterable[str] = PIECES) -> None:
    for piece in pieces:
        import_module(piece)
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents)
