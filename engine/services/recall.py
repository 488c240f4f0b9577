"""Keeps what recall remembers true to the store: what chats bring, what is deleted, what another target should know."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from engine.errors import ConversationMissing, MendableError
from engine.messages.conversations import Message
from engine.messages.learned import RecallText
from engine.numerics.suffix_index import SuffixIndex
from engine.proposers.recall import MOST_TOKENS, RecallTexts
from engine.storage import Repository
from engine.target.interface import Target, vocabulary_fingerprint

_logger = logging.getLogger("slipstream.recall")

_LATER_THAN_ALL = 2**62  # than any id of a message
_SLICE_S = 0.02  # of tokenizing, before others may have the thread
_MESSAGES_AT_ONCE = 8
_RUN_UP = 32  # tokens before what is new: where the one leads into the other is found, too

_Text = tuple[int, int, Sequence[int]]  # the numbers of message and conversation, and the tokens


class Recall:
    """For the target in use. The thread of the target calls `open`, `remember`, `catch_up` and `begin_anew`, any
    thread the rest.

    Nobody asked for it and nobody misses it: where the store fails it says so in the log alone.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._lock = threading.RLock()  # of whoever keeps something, or exchanges all of it
        self._remembered = RecallTexts()
        self._fingerprint = ""
        self._num_tokens = 0  # of the vocabulary
        self._tokenize: Callable[[str], list[int]] = lambda _text: []
        self._forgotten: set[int] = set()  # conversations; a reply may still come to one
        self._before_id = 0  # messages from here on are known, or were tried

    def open(self, target: Target) -> None:
        """From now on the memory is in this target's tokens."""
        vocabulary = target.vocabulary
        self._tokenize = target.tokenize
        self._num_tokens = len(vocabulary)
        name = vocabulary_fingerprint(vocabulary)
        with self._lock:
            if name != self._fingerprint:
                self._fingerprint = name
                if not self._load():
                    self._fingerprint = ""  # the next time it is tried again

    def reload(self) -> None:
        """What is remembered was exchanged in the store, or forgotten."""
        with self._lock:
            if self._fingerprint:
                self._load()

    def _load(self) -> bool:
        self._remembered = RecallTexts()  # what is no token of this target must not be found, whatever happens
        self._before_id = _LATER_THAN_ALL
        texts = self._loaded(None)
        if texts is None:
            return False
        self._remembered = RecallTexts(texts)
        self._remembered.forget(*tuple(self._forgotten))  # meanwhile, on another thread
        return True

    def indexes(self) -> Sequence[SuffixIndex]:
        return self._remembered.indexes

    def remember(self, message: Message, tokens: Sequence[int] | None = None) -> None:
        """A message that has been kept; its tokens, where the target wrote them."""
        self._keep([(message.id, message.conversation_id, self._tokenize(message.text) if tokens is None else tokens)])

    def remember_longer(self, before: Message, message: Message, tokens: Sequence[int], num_new: int) -> None:
        """A reply that has been kept and begins with the text of another, which it goes on from: from now on that is
        remembered as a part of it. The last `num_new` of its tokens are new."""
        found = tokens[-(num_new + _RUN_UP) :] if self._remembered.knows(before.id) else tokens
        self._keep(
            [(before.id, before.conversation_id, ()), (message.id, message.conversation_id, tokens)],
            [(message.id, message.conversation_id, found)],
        )

    def catch_up(self) -> bool:
        """Goes on, for a moment, with telling this memory of messages that it does not know, latest first: those of
        chats with other targets. False when there are none left."""
        with self._lock:
            return self._catch_up()

    def _catch_up(self) -> bool:
        began = time.monotonic()
        texts: list[_Text] = []
        try:
            missing = self._repository.messages_without_recall(self._fingerprint, self._before_id, _MESSAGES_AT_ONCE)
        except MendableError as error:
            _logger.warning("recall was not brought up to date: %s", error)
            return False
        if not missing:
            self._before_id = 0
            return False
        for message_id, conversation_id, text in missing:
            texts.append((message_id, conversation_id, self._tokenize(text)))
            self._before_id = message_id
            if time.monotonic() - began > _SLICE_S:
                break
        return self._keep(texts) and self._remembered.num_tokens < MOST_TOKENS

    def begin_anew(self) -> None:
        """Messages have come that `catch_up` passed by."""
        self._before_id = _LATER_THAN_ALL

    def forget(self, conversation_id: int) -> None:
        self._forgotten.add(conversation_id)
        self._remembered.forget(conversation_id)

    @contextmanager
    def without(self, conversation_ids: Sequence[int]) -> Iterator[None]:
        """Meanwhile none of their texts is found. Takes no longer for many than for one."""
        self._remembered.forget(*conversation_ids)
        try:
            yield
        finally:
            with self._lock:
                wanted = set(conversation_ids) - self._forgotten  # meanwhile, on another thread
                if wanted:
                    loaded = self._loaded(None) or ()
                    self._remembered.add([text for text in loaded if text.conversation_id in wanted])

    def restore(self, conversation_id: int) -> None:
        self._forgotten.discard(conversation_id)
        with self._lock:
            self._remembered.add(self._loaded(conversation_id) or ())
            self._before_id = _LATER_THAN_ALL  # some of it may never have been in this vocabulary

    def _keep(self, texts: Sequence[_Text], found: Sequence[_Text] | None = None) -> bool:
        """Whether the store takes more. Until the next start `found` is remembered instead."""
        with self._lock:
            return self._keep_all(texts, found)

    def _keep_all(self, texts: Sequence[_Text], found: Sequence[_Text] | None) -> bool:
        try:
            self._repository.save_recall(self._fingerprint, {number: tokens for number, _, tokens in texts})
        except ConversationMissing:
            return True  # deleted meanwhile
        except MendableError as error:
            _logger.warning("recall was not kept: %s", error)
            return False
        self._remembered.add(
            RecallText(number, conversation, np.asarray(tokens, np.int32))
            for number, conversation, tokens in (texts if found is None else found)
            if conversation not in self._forgotten
        )
        return True

    def _loaded(self, conversation_id: int | None) -> list[RecallText] | None:
        try:
            texts = self._repository.load_recall(self._fingerprint, MOST_TOKENS, conversation_id)
        except MendableError as error:
            _logger.warning("recall was not loaded: %s", error)
            return None
        return [text for text in texts if self._is_sound(text)]

    def _is_sound(self, text: RecallText) -> bool:
        """A damaged file must not make the target evaluate what is no token."""
        return not len(text.tokens) or (int(text.tokens.min()) >= 0 and int(text.tokens.max()) < self._num_tokens)
