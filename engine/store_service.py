"""Carries out what a user asks of the kept conversations, beside a reply that is being written."""

from __future__ import annotations

from engine.commands import (
    DeleteConversation,
    ListConversations,
    OpenConversation,
    RenameConversation,
    RestoreConversation,
    StoreCommand,
)
from engine.events import ConversationChanged, ConversationDeleted, ConversationOpened, ConversationsListed, Listener
from engine.storage import Repository


class StoreService:
    def __init__(self, repository: Repository, emit: Listener) -> None:
        self._repository = repository
        self._emit = emit

    def handle(self, command: StoreCommand) -> None:
        match command:
            case ListConversations():
                self._emit(ConversationsListed(self._repository.list_conversations()))
            case OpenConversation(conversation_id):
                self._emit(ConversationOpened(self._repository.open_conversation(conversation_id)))
            case RenameConversation(conversation_id, title):
                self._emit(ConversationChanged(self._repository.rename_conversation(conversation_id, title)))
            case DeleteConversation(conversation_id):
                self._emit(ConversationDeleted(self._repository.delete_conversation(conversation_id)))
            case RestoreConversation(conversation_id):
                self._emit(ConversationChanged(self._repository.restore_conversation(conversation_id)))
