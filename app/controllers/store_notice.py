"""Says, as long as it is so, that the store does not take what is written."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QGuiApplication

from app.controllers.controller import Controller
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from engine import StoreHeld
from engine.messages.conversations import Message
from engine.messages.events import Event, EverythingForgotten, StoreBehind

SUBJECT = "store"


class StoreNotice(Controller):
    """A bar with the reason, and buttons to copy what is in memory alone and to try again. The engine tries again by
    itself, too."""

    def __init__(self, window: MainWindow, bridge: EngineBridge) -> None:
        super().__init__(window, bridge)
        self._unstored: tuple[Message, ...] = ()

    def _on_event(self, event: Event) -> None:
        match event:
            case StoreBehind(sentence, unstored):
                self._unstored = unstored
                self._show(sentence)
            case EverythingForgotten():
                self._show("")

    def _show(self, sentence: str) -> None:
        if not sentence:
            self._window.notices.dismiss(SUBJECT)
            return
        actions = (
            (self.tr("Copy"), self._copy),
            (self.tr("Try again"), self._try_again),
        )
        kept = self.tr("What is not stored yet stays in this window, and is stored as soon as possible.")
        self._window.notices.show_notice(SUBJECT, f"{sentence} {kept}", actions if self._unstored else ())

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText("\n\n".join(message.text for message in self._unstored))

    @Slot()
    def _try_again(self) -> None:
        self._bridge.post(StoreHeld(by_hand=True))
