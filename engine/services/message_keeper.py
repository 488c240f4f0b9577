"""Stores prompts and replies: a reply as it grows, and what the store refuses as soon as it takes that."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from engine.errors import ConversationMissing, StoreUnusable
from engine.messages.commands import Command, KeepReply, StoreHeld
from engine.messages.conversations import Conversation, Message, Role
from engine.messages.events import Listener, MessageStored, StoreBehind
from engine.stop_signal import StopSignal
from engine.storage import Repository

_logger = logging.getLogger("slipstream.store")

_PAUSE_S = 1.0  # until the store is asked again
_LOOK_S = 0.05
_WAITING = "Another program has locked the store of your chats; close that program, or wait."


@dataclass(frozen=True, slots=True)
class _Written:
    message: Message
    target_identity: str | None = None


class MessageKeeper:
    """What the store refuses (the disk is full, another program has locked it) is held in memory, oldest first, and the
    chat goes on with it. Until such a message is stored, it has a number below 0 for an id. Of a conversation or a
    message that is removed meanwhile nothing is stored. Any thread may call any method.
    """

    def __init__(self, repository: Repository, emit: Listener, post: Callable[[Command], object]) -> None:
        self._repository = repository
        self._emit = emit
        self._post = post
        self._lock = threading.RLock()
        self._held: dict[int, _Written] = {}  # by id
        self._ids: dict[int, int] = {}  # of messages that were held, by their numbers
        self._numbers = itertools.count(-1, -1)
        self._is_trying = False  # `StoreHeld` is posted
        self._reply = 0  # the number of the one that is being written
        self._part: Message | None = None  # what is stored of that
        repository.tell_waiting(self._on_waiting)

    def add_prompt(self, conversation_id: int, parent_id: int | None, text: str) -> Message:
        """Raises ConversationMissing; StoreUnusable is only told."""
        with self._lock:
            return self._put(_Written(replace(self._new(conversation_id, parent_id, Role.USER), text=text)))

    def begin_reply(self) -> int:
        """Its number, for `KeepReply`. One is written at a time."""
        with self._lock:
            self._reply += 1
            self._part = None
            return self._reply

    def keep(self, part: KeepReply) -> None:
        """Nothing happens after `finish`, or where the store does not take it: the next part or the end follows."""
        with self._lock:
            if part.number != self._reply:
                return
            try:
                self._store_held()
                self._part = self._store(self._written(part))
            except (StoreUnusable, ConversationMissing) as error:
                _logger.info("a part of a reply was not stored: %s", error)

    def finish(self, reply: KeepReply) -> Message:
        """The end of the reply. Raises ConversationMissing; StoreUnusable is only told."""
        with self._lock:
            written = self._written(reply)
            self._reply += 1  # parts that are still on their way are late
            return self._put(written)

    def over(self, conversation: Conversation) -> Conversation:
        """With what is held of it: where that was written, it is the end of the branch."""
        with self._lock:
            messages = list(conversation.messages)
            for held in (each.message for each in self._held.values()):
                ids = [message.id for message in messages]
                if held.conversation_id != conversation.summary.id:
                    continue
                if held.id in ids:
                    messages[ids.index(held.id)] = held
                elif held.parent_id is None or held.parent_id in ids:
                    place = 0 if held.parent_id is None else ids.index(held.parent_id) + 1
                    messages[place:] = [held]
        return replace(conversation, messages=tuple(messages))

    def id_of(self, message_id: int) -> int:
        """In the store, of a message that is or was held. Raises StoreUnusable if it still cannot be stored."""
        with self._lock:
            if message_id < 0:
                self._store_held()
            return self._ids.get(message_id, message_id)

    def store_held(self, by_hand: bool, stop: StopSignal) -> None:
        """If the store still refuses, StoreUnusable is raised `by_hand`; else it is asked again soon, until `stop`."""
        try:
            with self._lock:
                self._store_held()
                self._is_trying = False
        except StoreUnusable:
            if by_hand:
                raise
            end = time.monotonic() + _PAUSE_S
            while time.monotonic() < end and not stop.is_set():
                time.sleep(_LOOK_S)
            self._post(StoreHeld())  # in vain where the app is being closed

    def _new(self, conversation_id: int, parent_id: int | None, role: Role) -> Message:
        return Message(next(self._numbers), conversation_id, parent_id, role, "", datetime.now(UTC))

    def _written(self, reply: KeepReply) -> _Written:
        message = self._part or self._new(reply.conversation_id, reply.prompt_id, Role.ASSISTANT)
        message = replace(message, text=reply.text, target_name=reply.target_name, statistics=reply.statistics)
        return _Written(message, reply.target_identity)

    def _put(self, written: _Written) -> Message:
        try:
            self._store_held()
            return self._store(written)
        except StoreUnusable as error:
            self._held[written.message.id] = written
            self._tell(str(error))
            if not self._is_trying:
                self._is_trying = True
                self._post(StoreHeld())
            return written.message

    def _store_held(self) -> None:
        """What was removed meanwhile is dropped. Raises StoreUnusable."""
        if not self._held:
            return
        for number, written in list(self._held.items()):
            try:
                stored = self._store(written)
            except ConversationMissing:
                del self._held[number]
                continue
            del self._held[number]
            self._ids[number] = stored.id
            self._emit(MessageStored(number, stored, self._repository.find_siblings(stored)))
        self._tell("")

    def _store(self, written: _Written) -> Message:
        message = written.message
        if message.id > 0:
            return self._repository.rewrite_message(message)
        parent_id = None if message.parent_id is None else self._ids.get(message.parent_id, message.parent_id)
        return self._repository.add_message(
            message.conversation_id,
            parent_id,
            message.role,
            message.text,
            message.target_name,
            message.statistics,
            written.target_identity,
        )

    def _on_waiting(self, is_waiting: bool) -> None:
        """Without the lock: its owner may be the one who waits."""
        self._tell(_WAITING if is_waiting else "")

    def _tell(self, sentence: str) -> None:
        self._emit(StoreBehind(sentence, tuple(each.message for each in list(self._held.values()))))
