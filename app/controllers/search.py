"""Finds words in all conversations, and shows the place that was chosen."""

from __future__ import annotations

from PySide6.QtCore import Slot

from app.controllers.controller import Controller
from app.controllers.conversations import ConversationsController
from app.engine_bridge import EngineBridge, Posted
from app.main_window import MainWindow
from app.widgets.throttle import Throttle
from engine import SearchConversations
from engine.messages.conversations import SearchHit
from engine.messages.events import (
    ConversationChanged,
    ConversationForgotten,
    ConversationOpened,
    ConversationsChanged,
    ConversationsDeleted,
    ConversationsFound,
    ConversationsImported,
    Event,
    EverythingForgotten,
)

_CHANGES = (
    ConversationChanged,
    ConversationsChanged,
    ConversationsDeleted,
    ConversationForgotten,
    ConversationsImported,
)
_AGAIN_MS = 500  # between searches for the same words, when conversations change


class SearchController(Controller):
    """Searches while the user types, and reveals the message that was found. Made after the chat controller, which has
    to show the conversation first."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, conversations: ConversationsController) -> None:
        super().__init__(window, bridge)
        self._conversations = conversations
        self._words = ""
        self._request: Posted | None = None  # the search under way
        self._wanted: SearchHit | None = None  # to be revealed when its conversation is open
        self._again = Throttle(self._post, _AGAIN_MS, parent=self)
        window.conversations.search.searched.connect(self._search)
        window.conversations.results.opened.connect(self._open)
        window.conversations.chosen.connect(self._forget_wanted)

    @Slot(str)
    def _search(self, words: str) -> None:
        if words != self._words:
            self._words = words
            self._post()

    @Slot(SearchHit)
    def _open(self, hit: SearchHit) -> None:
        conversations, number = self._window.conversations, hit.conversation.id
        if conversations.chosen_id != number:
            conversations.chosen.emit(number)
        elif hit.message_id is not None and not self._window.transcript.reveal(hit.message_id):
            self._conversations.read(number)  # it may have grown a branch since
        else:
            return
        self._wanted = hit

    @Slot(int)
    def _forget_wanted(self, _conversation_id: int) -> None:
        self._wanted = None

    def _on_event(self, event: Event) -> None:
        match event:
            case ConversationsFound(words, hits) if words and words == self._words:
                self._window.conversations.show_hits(hits)
            case ConversationOpened(conversation):
                self._reveal(conversation.summary.id)
            case _ if isinstance(event, _CHANGES):
                if self._words:
                    self._again.request()
            case EverythingForgotten():
                self._wanted = None
                if self._words:
                    self._window.conversations.show_hits(())  # at once: they quote the chats
                    self._post()

    def kept(self) -> str:
        return self._words

    def resume(self, kept: str) -> None:
        self._window.conversations.search.setText(kept)

    def _post(self) -> None:
        if self._request is not None:
            self._request.stop()
        self._request = self._bridge.post(SearchConversations(self._words)) if self._words else None

    def _reveal(self, conversation_id: int) -> None:
        hit = self._wanted
        if hit is None or hit.conversation.id != conversation_id:
            return
        self._wanted = None
        if hit.message_id is not None and not self._window.transcript.reveal(hit.message_id):
            self._window.toasts.show_info(
                self.tr("These words are in another version of this chat, which is not shown.")
            )
