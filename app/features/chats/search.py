"""Finds words in all conversations, and shows the place that was chosen."""

from __future__ import annotations

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge, Request
from app.features.chats.conversations import ConversationsController
from app.features.controller import Controller
from app.main_window import MainWindow
from app.widgets.throttle import Throttle
from engine.values.conversations import SearchHit
from engine.values.events import (
    ConversationChanged,
    ConversationForgotten,
    ConversationOpened,
    ConversationsChanged,
    ConversationsDeleted,
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
        self._request: Request[tuple[SearchHit, ...]] | None = None  # the search under way
        self._wanted: SearchHit | None = None  # to be revealed when its conversation is open
        self._again = Throttle(self._ask, _AGAIN_MS, parent=self)
        window.conversations.search.searched.connect(self._search)
        window.conversations.results.opened.connect(self._open)
        window.conversations.chosen.connect(self._forget_wanted)
        bridge.listen(ConversationOpened, self._reveal)
        bridge.listen(EverythingForgotten, self._on_everything_forgotten)
        for change in _CHANGES:
            bridge.listen(change, self._on_change)

    @Slot(str)
    def _search(self, words: str) -> None:
        if words != self._words:
            self._words = words
            self._ask()

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

    def _on_change(self, _change: Event) -> None:
        if self._words:
            self._again.request()

    def _on_everything_forgotten(self, _event: EverythingForgotten) -> None:
        self._wanted = None
        if self._words:
            self._window.conversations.show_hits(())  # at once: they quote the chats
            self._ask()

    def kept(self) -> str:
        return self._words

    def resume(self, kept: str) -> None:
        self._window.conversations.search.setText(kept)

    def _ask(self) -> None:
        if self._request is not None:
            self._request.drop()
            self._request = None
        if self._words:
            self._request = self._bridge.ask(self._bridge.engine.chats.search, self._words)
            self._request.answered.connect(self._window.conversations.show_hits)

    def _reveal(self, event: ConversationOpened) -> None:
        hit = self._wanted
        if hit is None or hit.conversation.id != event.conversation.summary.id:
            return
        self._wanted = None
        if hit.message_id is not None and not self._window.transcript.reveal(hit.message_id):
            self._window.toasts.show_info(
                self.tr("These words are in another version of this chat, which is not shown.")
            )
