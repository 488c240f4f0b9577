"""Conversations that leave no trace: held in memory, and gone when the process ends."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

from engine.config import OwnSampling
from engine.errors import ConversationMissing
from engine.messages.conversations import Conversation, ConversationSummary, ConversationTree, Message, Role, SearchHit
from engine.messages.replies import ReplyStatistics
from engine.storage import heads
from engine.storage.branch import siblings_of
from engine.storage.matching import occur
from engine.storage.search import hit_of, missing_in
from engine.storage.trees import tree_of
from engine.storage.wording import fit_title

# Beyond any that the file gives, so that an id says where its conversation is; and small enough for signals of the
# window, whose numbers have 32 bits.
_FIRST_ID = 2**30


class IncognitoConversations:
    """Any thread may call any method; they do what the repository's methods of the same names do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids = count(_FIRST_ID)
        self._opened: dict[int, Conversation] = {}  # with all that was said, branches left behind included
        self._heads: dict[int, int] = {}  # the leaf of each current branch
        self._left: dict[int, heads.Heads] = {}  # of the branches that are not
        self._deleted: set[int] = set()

    def __contains__(self, conversation_id: int | None) -> bool:
        return conversation_id is not None and conversation_id >= _FIRST_ID

    def list_conversations(self) -> list[ConversationSummary]:
        with self._lock:
            return [each.summary for number, each in self._opened.items() if number not in self._deleted]

    def create_conversation(self, title: str, system_prompt: str, sampling: OwnSampling) -> ConversationSummary:
        with self._lock:
            summary = ConversationSummary(next(self._ids), fit_title(title), datetime.now(UTC), incognito=True)
            self._opened[summary.id] = Conversation(summary, system_prompt, (), sampling)
            return summary

    def open_conversation(self, conversation_id: int) -> Conversation:
        with self._lock:
            conversation = self._find(conversation_id)
            return _branch(conversation, self._heads.get(conversation_id))

    def open_branch(self, conversation_id: int, message_id: int) -> Conversation:
        with self._lock:
            return _branch(self._find(conversation_id, message_id), message_id)

    def show_branch(self, conversation_id: int, message_id: int) -> Conversation:
        with self._lock:
            conversation = self._find(conversation_id, message_id)
            self._leave(conversation_id)
            below = {message_id}
            for message in conversation.messages:  # a parent is always older than its children
                if message.parent_id in below:
                    below.add(message.id)
            self._heads[conversation_id] = heads.latest_of(self._left[conversation_id], below)
            return _branch(conversation, self._heads[conversation_id])

    def find_siblings(self, message: Message) -> tuple[int, ...]:
        with self._lock:
            conversation = self._find(message.conversation_id, even_deleted=True)
            return siblings_of((message,), _links(conversation)).get(message.id, ())

    def change_conversation(
        self, conversation_id: int, system_prompt: str, sampling: OwnSampling
    ) -> ConversationSummary:
        with self._lock:
            conversation = self._find(conversation_id)
            self._opened[conversation_id] = replace(conversation, system_prompt=system_prompt, sampling=sampling)
            return conversation.summary

    def save_draft(self, conversation_id: int, text: str) -> None:
        with self._lock:
            conversation = self._find(conversation_id, even_deleted=True)
            self._opened[conversation_id] = replace(conversation, draft=text)

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

    def forget_conversation(self, conversation_id: int) -> ConversationSummary:
        with self._lock:
            conversation = self._find(conversation_id, even_deleted=True)
            del self._opened[conversation_id]
            self._heads.pop(conversation_id, None)
            self._left.pop(conversation_id, None)
            self._deleted.discard(conversation_id)
            return conversation.summary

    def search(self, words: Sequence[str]) -> list[SearchHit]:
        hits = []
        for summary in self.list_conversations():
            try:
                branch = {message.id for message in self.open_conversation(summary.id).messages}
                with self._lock:
                    messages = self._find(summary.id).messages
            except ConversationMissing:
                continue  # deleted meanwhile
            missing = missing_in(summary.title, words)
            holding = [
                (message.id, message.text)
                for message in reversed(messages)
                if len(missing) and occur(missing, message.text.casefold())
            ]
            if holding or not missing:
                hits.append(hit_of(summary, holding, words, branch))
        return hits

    def read_tree(self, conversation_id: int) -> ConversationTree:
        with self._lock:
            conversation = self._find(conversation_id)
            head = self._heads.get(conversation_id)
        summary, messages = conversation.summary, conversation.messages
        return tree_of(summary.title, conversation.system_prompt, summary.updated_at, messages, head)

    def forget_all(self) -> int:
        """Tells how many there were."""
        with self._lock:
            num_opened = len(self._opened)
            self._opened.clear()
            self._deleted.clear()
            self._heads.clear()
            self._left.clear()
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
            conversation = self._find(conversation_id, parent_id, even_deleted=True)
            now = datetime.now(UTC)
            message = Message(next(self._ids), conversation_id, parent_id, role, text, now, target_name, statistics)
            self._opened[conversation_id] = replace(
                conversation,
                summary=replace(conversation.summary, updated_at=now),
                messages=(*conversation.messages, message),
            )
            if self._heads.get(conversation_id) != parent_id:
                self._leave(conversation_id)
            self._heads[conversation_id] = message.id
            return message

    def _leave(self, conversation_id: int) -> None:
        left = self._left.get(conversation_id, ())
        self._left[conversation_id] = heads.with_left(left, self._heads.get(conversation_id))

    def _find(self, conversation_id: int, message_id: int | None = None, *, even_deleted: bool = False) -> Conversation:
        if conversation_id not in self._opened or (conversation_id in self._deleted and not even_deleted):
            raise ConversationMissing("This chat is no longer in the store.")
        conversation = self._opened[conversation_id]
        if message_id is not None and message_id not in {message.id for message in conversation.messages}:
            raise ConversationMissing("This message is no longer in the store.")
        return conversation


def _branch(conversation: Conversation, head: int | None) -> Conversation:
    """With the messages from the root to this one alone."""
    messages = {message.id: message for message in conversation.messages}
    branch: list[Message] = []
    while head is not None:
        branch.insert(0, messages[head])
        head = messages[head].parent_id
    return replace(conversation, messages=tuple(branch), siblings=siblings_of(branch, _links(conversation)))


def _links(conversation: Conversation) -> list[tuple[int | None, int]]:
    return [(message.parent_id, message.id) for message in conversation.messages]
