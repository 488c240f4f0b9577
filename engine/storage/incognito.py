"""Conversations that leave no trace: held in memory, and gone when the process ends."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

from engine.errors import ConversationMissing
from engine.records import Conversation, ConversationSummary, Message, ReplyStatistics, Role
from engine.storage.wording import fit_title

_FIRST_ID = 2**40  # beyond any that the file gives, so that an id says where its conversation is


class IncognitoConversations:
    """Any thread may call any method; they do what the repository's methods of the same names do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids = count(_FIRST_ID)
        self._opened: dict[int, Conversation] = {}  # with all that was said, branches left behind included
        self._deleted: set[int] = set()

    def __contains__(self, conversation_id: int | None) -> bool:
        return conversation_id is not None and conversation_id >= _FIRST_ID

    def list_conversations(self) -> list[ConversationSummary]:
        with self._lock:
            return [each.summary for number, each in self._opened.items() if number not in self._deleted]

    def create_conversation(self, title: str, system_prompt: str) -> ConversationSummary:
        with self._lock:
            summary = ConversationSummary(next(self._ids), fit_title(title), datetime.now(UTC), incognito=True)
            self._opened[summary.id] = Conversation(summary, system_prompt, ())
            return summary

    def open_conversation(self, conversation_id: int) -> Conversation:
        with self._lock:
            conversation = self._find(conversation_id)
            messages = {message.id: message for message in conversation.messages}
            branch: list[Message] = []
            head = max(messages, default=None)
            while head is not None:
                branch.insert(0, messages[head])
                head = messages[head].parent_id
            return replace(conversation, messages=tuple(branch))

    def rename_conversation(self, conversation_id: int, title: str) -> ConversationSummary:
        with self._lock:
            conversation = self._find(conversation_id)
            summary = replace(conversation.summary, title=fit_title(title))
            self._opened[conversation_id] = replace(conversation, summary=summary)
            return summary

    def delete_conversation(self, conversation_id: int) -> ConversationSummary:
        with self._lock:
            conversation = self._find(conversation_id, even_deleted=True)
            self._deleted.add(conversation_id)
            return conversation.summary

    def restore_conversation(self, conversation_id: int) -> ConversationSummary:
        with self._lock:
            conversation = self._find(conversation_id, even_deleted=True)
            self._deleted.discard(conversation_id)
            return conversation.summary

    def forget_all(self) -> int:
        """Tells how many there were."""
        with self._lock:
            num_opened = len(self._opened)
            self._opened.clear()
            self._deleted.clear()
            return num_opened

    def add_message(
        self,
        conversation_id: int,
        parent_id: int | None,
        role: Role,
        text: str,
        target_name: str | None,
        statistics: ReplyStatistics | None,
    ) -> Message:
        with self._lock:
            conversation = self._find(conversation_id, even_deleted=True)
            if parent_id is not None and parent_id not in {message.id for message in conversation.messages}:
                raise ConversationMissing("This message is no longer in the store.")
            now = datetime.now(UTC)
            message = Message(next(self._ids), conversation_id, parent_id, role, text, now, target_name, statistics)
            self._opened[conversation_id] = replace(
                conversation,
                summary=replace(conversation.summary, updated_at=now),
                messages=(*conversation.messages, message),
            )
            return message

    def _find(self, conversation_id: int, *, even_deleted: bool = False) -> Conversation:
        if conversation_id not in self._opened or (conversation_id in self._deleted and not even_deleted):
            raise ConversationMissing("This conversation is no longer in the store.")
        return self._opened[conversation_id]
