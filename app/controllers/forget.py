"""Has a conversation removed for good, when the user has said so twice."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Slot

from app.dialogs.question_box import ask, question_box
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from engine import ForgetConversation
from engine.messages.events import ConversationForgotten, Event


class ForgetController(QObject):
    """Connects the list of conversations with one engine."""

    def __init__(self, window: MainWindow, bridge: EngineBridge) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        window.conversations.forget_requested.connect(self._ask)
        bridge.happened.connect(self._on_event, Qt.ConnectionType.QueuedConnection)

    @Slot(int)
    def _ask(self, conversation_id: int) -> None:
        row = self._window.conversations.model.row_of(conversation_id)
        if row is None:
            return
        title = self._window.conversations.model.summary(row).title
        text = self.tr("Forget “{title}” for good?").format(title=title)
        goes = self.tr(
            "Its text is removed from this computer now, with what recall and learning keep of it. "
            "This cannot be undone."
        )
        stays = self.tr(
            "Adapters that were already learned stay, and so do n-grams: how often pieces of words followed each "
            "other, in all chats together."
        )
        forget = self.tr("Forget at once")
        box = question_box(self._window, forget, text, f"{goes}\n\n{stays}")
        ask(box, forget, lambda: self._forget(conversation_id))

    def _forget(self, conversation_id: int) -> None:
        """Also while it is being answered: that reply is given up, and nothing of it is kept."""
        self._bridge.post(ForgetConversation(conversation_id))

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        match event:
            case ConversationForgotten(summary):
                self._window.toasts.show_info(self.tr("“{title}” is gone for good.").format(title=summary.title))
