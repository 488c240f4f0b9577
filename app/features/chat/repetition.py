"""Offers to stop a reply that repeats itself without end."""

from __future__ import annotations

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge
from app.features.chats.conversations import ConversationsController
from app.features.controller import Controller
from app.main_window import MainWindow
from engine import ReplyCommand
from engine.values.events import Failed, ReplyFinished, ReplyRepeats

SUBJECT = "repetition"


class RepetitionController(Controller):
    """Shows a notice in the chat of the reply until it ends, or the user dismisses it. Nothing is stopped unasked."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, conversations: ConversationsController) -> None:
        super().__init__(window, bridge)
        self._conversations = conversations
        self._repeats_in: int | None = None  # the chat of the reply; None: there is nothing to tell
        conversations.moved.connect(self._show)
        bridge.listen(ReplyRepeats, self._on_repeating)
        bridge.listen(ReplyFinished, self._on_finished)
        bridge.listen(Failed, self._on_failed)

    def _on_repeating(self, event: ReplyRepeats) -> None:
        self._repeats_in = event.conversation_id
        self._show()

    def _on_finished(self, _reply: ReplyFinished) -> None:
        self._end()

    def _on_failed(self, failed: Failed) -> None:
        if isinstance(failed.command, ReplyCommand):
            self._end()

    @Slot()
    def _show(self) -> None:
        if self._repeats_in is None or self._repeats_in != self._conversations.open_id:
            self._window.notices.dismiss(SUBJECT)
            return
        stop = (self.tr("Stop"), self._window.stop_action.trigger)
        bar = self._window.notices.show_notice(SUBJECT, self.tr("This reply keeps repeating itself."), [stop])
        bar.closed.connect(self._end)

    @Slot()
    def _end(self) -> None:
        self._repeats_in = None
        self._show()
