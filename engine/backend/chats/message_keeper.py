"""Stores prompts and replies: a reply as it grows, and what the store refuses as soon as it takes that."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from weakref import WeakKeyDictionary

from engine.backend.storage import Repository
from engine.values.conversations import Conversation, ConversationSummary, Message, Role
from engine.values.errors import ConversationMissing, StoreUnusable
from engine.values.events import Listener, MessageStored, StoreBehind
from engine.values.orders import Send
from engine.values.pictures import Picture
from engine.values.prompts import title_of
from engine.values.remote import server_of
from engine.values.replies import ReplyStatistics, Thought
from engine.values.sentences import say, template
from engine.values.stop_signal import StopSignal
from engine.values.tools import ToolCall, ToolResult

_logger = logging.getLogger("slipstream.store")

_PAUSE_S = 1.0  # until the store is asked again
_WAITING = say("Another program has locked your chats; close that program, or wait.")
_BROKEN = template("Something went wrong inside Slipstream ({reason}), and a message is not stored.")


@dataclass(frozen=True, slots=True)
class _Written:
    message: Message
    target_identity: str | None = None
    pictures: Collection[Picture] = ()  # that come with it


@dataclass(frozen=True, slots=True)
class ReplyToKeep:
    """A reply as far as it has come."""

    number: int  # of the reply, since the start
    conversation_id: int
    prompt_id: int
    text: str
    thoughts: tuple[Thought, ...]
    statistics: ReplyStatistics
    target_name: str
    target_identity: str | None
    calls: tuple[ToolCall, ...] = ()  # of a whole reply


class MessageKeeper:
    """What the store refuses (the disk is full, another program has locked it) is held in memory, oldest first, and the
    chat goes on with it. Until such a message is stored, it has a number below 0 for an id. Of a conversation or a
    message that is removed meanwhile nothing is stored. Any thread may call any method.
    """

    def __init__(self, repository: Repository, emit: Listener, try_again: Callable[[], object]) -> None:
        """`try_again` has another thread call `store_held`."""
        self._repository = repository
        self._emit = emit
        self._try_again = try_again
        self._lock = threading.RLock()
        self._held: dict[int, _Written] = {}  # by id
        self._ids: dict[int, int] = {}  # of messages that were held, by their numbers
        self._numbers = itertools.count(-1, -1)
        self._ahead: WeakKeyDictionary[StopSignal, Message] = WeakKeyDictionary()
        self._refusal = ""  # why the last one was not stored
        self._timer: threading.Timer | None = None  # until it is tried again
        self._is_closed = False
        self._reply = 0  # the number of the one that is being written
        self._part: Message | None = None  # what is stored of that
        self._telling = threading.Lock()  # so that the last report is the true one
        self._num_waiting = 0  # for another program
        self._told = StoreBehind("")
        repository.tell_waiting(self._on_waiting)

    def begin(
        self, asked: Send, system_prompt: str, is_stopped: Callable[[], bool] = lambda: False
    ) -> ConversationSummary:
        """A new conversation for what is asked, without its prompt. Raises StoreUnusable."""
        return self._repository.create_conversation(
            title_of(asked.prompt), system_prompt, asked.incognito, asked.sampling, is_stopped, asked.folder_id
        )

    def add_prompt(
        self, conversation_id: int, parent_id: int | None, text: str, pictures: Collection[Picture] = ()
    ) -> Message:
        """`pictures`: new ones that it names. Raises ConversationMissing; StoreUnusable is only reported."""
        with self._lock:
            new = replace(self._new(conversation_id, parent_id, Role.USER), text=text)
            return self._put(_Written(new, pictures=pictures))

    def note_ahead(self, stop: StopSignal, prompt: Message) -> None:
        """Notes a prompt that was stored before its request began; `stop` is the signal of that request."""
        self._ahead[stop] = prompt

    def take_ahead(self, stop: StopSignal) -> Message | None:
        """The prompt that was stored while the request with this signal had to wait, if any."""
        return self._ahead.pop(stop, None)

    def add_result(self, conversation_id: int, parent_id: int, text: str, result: ToolResult) -> Message:
        """Stores what came of a call. Raises ConversationMissing; StoreUnusable is only reported."""
        with self._lock:
            new = replace(self._new(conversation_id, parent_id, Role.TOOL), text=text, result=result)
            return self._put(_Written(new))

    def begin_reply(self) -> int:
        """Its number, for `ReplyToKeep`. One is written at a time."""
        with self._lock:
            self._reply += 1
            self._part = None
            return self._reply

    def keep(self, part: ReplyToKeep) -> None:
        """Nothing happens after `finish`, or where the store does not take it: the next part or the end follows."""
        with self._lock:
            if part.number != self._reply:
                return
            try:
                self._store_held()
                self._part = self._attempt(self._written(part)) or self._part
            except (StoreUnusable, ConversationMissing) as error:
                _logger.info("a part of a reply was not stored: %s", error)

    def finish(self, reply: ReplyToKeep) -> Message:
        """Stores the whole reply. Raises ConversationMissing; StoreUnusable is only reported."""
        with self._lock:
            written = self._written(reply)
            self._reply += 1  # parts that are still on their way are late
            return self._put(written)

    def over(self, conversation: Conversation) -> Conversation:
        """The conversation with its held messages: they replace what is stored of them, or end its branch."""
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

    def find_pictures(self, conversation_id: int, digests: Collection[str]) -> dict[str, Picture]:
        """Pictures of the conversation by digest, stored or held."""
        with self._lock:
            written = [each for each in self._held.values() if each.message.conversation_id == conversation_id]
            held = {each.digest: each for one in written for each in one.pictures if each.digest in digests}
        return held | self._repository.find_pictures(conversation_id, [each for each in digests if each not in held])

    def id_of(self, message_id: int) -> int:
        """The id in the store of a message that is or was held. Raises StoreUnusable if it still cannot be stored."""
        with self._lock:
            if message_id < 0:
                self._store_held()
                if message_id in self._held:
                    raise StoreUnusable(self._refusal)
            return self._ids.get(message_id, message_id)

    def siblings_of(self, message: Message) -> tuple[int, ...]:
        """Siblings as in `Conversation.siblings`; also empty if they cannot be read: the message is reported anyway."""
        if message.id < 0:
            return ()
        try:
            return self._repository.find_siblings(message)
        except Exception as error:  # whose words may be the user's
            _logger.warning("what is beside message %d was not read: %s", message.id, type(error))
            return ()

    def store_held(self, by_hand: bool = False) -> None:
        """Stores what the store refused until now; `MessageStored` reports each message. Raises StoreUnusable only if
        the user asked for it `by_hand`; the store is asked again soon in any case."""
        with self._lock:
            try:
                self._store_held()
            except StoreUnusable as error:
                self._refusal = str(error)
                self._tell()
                if by_hand:
                    raise
            finally:
                if self._held:
                    self._ask_again()

    def close(self) -> None:
        """Has the store asked one last time, without waiting for it."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._held:
            self._try_again()

    def _ask_again(self) -> None:
        """Tries again after a pause, on a timer's thread: pausing the writer would keep readers waiting."""
        if self._timer is None and not self._is_closed:
            self._timer = threading.Timer(_PAUSE_S, self._on_pause_over)
            self._timer.daemon = True
            self._timer.start()

    def _on_pause_over(self) -> None:
        self._timer = None
        self._try_again()

    def _new(self, conversation_id: int, parent_id: int | None, role: Role) -> Message:
        return Message(next(self._numbers), conversation_id, parent_id, role, "", datetime.now(UTC))

    def _written(self, reply: ReplyToKeep) -> _Written:
        message = self._part or self._new(reply.conversation_id, reply.prompt_id, Role.ASSISTANT)
        message = replace(
            message,
            text=reply.text,
            thoughts=reply.thoughts,
            calls=reply.calls,
            target_name=reply.target_name,
            statistics=reply.statistics,
            server=server_of(reply.target_identity),
        )
        return _Written(message, reply.target_identity)

    def _put(self, written: _Written) -> Message:
        try:
            self._store_held()
            if stored := self._attempt(written):
                return stored
        except StoreUnusable as error:
            self._refusal = str(error)
        self._held[written.message.id] = written
        self._ask_again()
        self._tell()
        return written.message

    def _store_held(self) -> None:
        """What was removed meanwhile is dropped. Raises StoreUnusable."""
        if not self._held:
            return
        for number, written in list(self._held.items()):
            try:
                stored = self._attempt(written)
            except ConversationMissing:
                del self._held[number]
                continue
            if stored is not None:
                del self._held[number]
                self._ids[number] = stored.id
                self._emit(MessageStored(number, stored, self.siblings_of(stored)))
        self._tell()

    def _attempt(self, written: _Written) -> Message | None:
        """None if that, or what it follows, has an error of its own: the others are stored nevertheless. Raises
        StoreUnusable and ConversationMissing."""
        parent_id = written.message.parent_id or 0
        if parent_id < 0 and parent_id in self._held:
            return None
        try:
            return self._store(written)
        except (StoreUnusable, ConversationMissing):
            raise
        except Exception as error:  # whose words may be the user's
            refusal = say(_BROKEN, reason=type(error).__name__)
            if refusal != self._refusal:  # else it is logged already
                _logger.error("message %d was not stored: %s", written.message.id, type(error))
            self._refusal = refusal
            return None

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
            message.thoughts,
            written.pictures,
            message.calls,
            message.result,
        )

    def _on_waiting(self, is_waiting: bool) -> None:
        """Does not take `_lock`: its owner may be the one that waits."""
        with self._telling:
            self._num_waiting += 1 if is_waiting else -1
            self._tell_state()

    def _tell(self) -> None:
        with self._telling:
            self._tell_state()

    def _tell_state(self) -> None:
        unstored = tuple(each.message for each in list(self._held.values()))
        sentence = self._refusal if unstored else ""
        behind = StoreBehind(_WAITING if self._num_waiting else sentence, unstored)
        if behind != self._told:
            self._told = behind
            self._emit(behind)
