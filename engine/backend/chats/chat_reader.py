"""Reads stored chats, also while a reply is being written."""

from __future__ import annotations

from dataclasses import dataclass

from engine.backend.chats.message_keeper import MessageKeeper
from engine.backend.storage import Repository
from engine.values.conversations import Conversation, SearchHit
from engine.values.errors import Cancelled
from engine.values.events import ConversationOpened, ConversationsListed, FoldersListed, Listener
from engine.values.history import History
from engine.values.pictures import Picture
from engine.values.requests import NEVER
from engine.values.stop_signal import StopSignal
from engine.values.tools import AllowedTool


@dataclass(frozen=True)
class ChatReader:
    """All methods raise StoreUnusable, those that take a conversation ConversationMissing as well."""

    _repository: Repository
    _keeper: MessageKeeper
    _emit: Listener

    def list_all(self) -> None:
        """Emits `ConversationsListed`."""
        self._emit(ConversationsListed(self._repository.list_conversations()))

    def list_folders(self) -> None:
        """Emits `FoldersListed`."""
        self._emit(FoldersListed(self._repository.list_folders()))

    def open(self, conversation_id: int) -> Conversation:
        """The conversation on its current branch, which `ConversationOpened` also reports."""
        opened = self._keeper.over(self._repository.open_conversation(conversation_id))
        self._emit(ConversationOpened(opened))
        return opened

    def picture(self, conversation_id: int, digest: str) -> Picture | None:
        """None: the conversation does not hold it, or it is damaged."""
        return self._keeper.find_pictures(conversation_id, [digest]).get(digest)

    def search(self, words: str, stop: StopSignal = NEVER) -> tuple[SearchHit, ...]:
        """Last used conversations first; no more than a list can show. Raises Cancelled."""
        hits = self._repository.search(words, stop.is_set)
        if stop.is_set():
            raise Cancelled("The search was replaced by another one.")
        return hits

    def history(self) -> History:
        """The speed of all stored replies."""
        return self._repository.read_history()

    def allowed_tools(self) -> tuple[AllowedTool, ...]:
        """Those that are not asked for again."""
        return self._repository.allowed_tools()
