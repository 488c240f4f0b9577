"""Texts to recall, in step with the store: what chats add, what is deleted, and what was written with other targets."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from engine.backend.storage import Repository
from engine.speculation.model.interface import Target
from engine.speculation.model.prompt_text import PromptText
from engine.speculation.numerics.suffix_index import SuffixIndex
from engine.speculation.proposers.recall import MOST_TOKENS, RecallTexts
from engine.values.conversations import Message
from engine.values.errors import ConversationMissing, MendableError
from engine.values.learned import RecallText
from engine.values.owner import USER, Owner
from engine.values.prompts import split_pictures

_logger = logging.getLogger("slipstream.recall")

_BEYOND_ALL = 2**62  # no message has such an id
_SLICE_S = 0.02  # of tokenizing, before others may have the thread
_PIECE = 8_000  # characters that are tokenized at once, about: a few milliseconds
_MOST_TOKENS = MOST_TOKENS // 4  # of one text: it must not take the place of all others
_MESSAGES_AT_ONCE = 8
_MOST_BESIDE = 100_000  # characters: they are tokenized and indexed while a program waits
_MOST_CLIENTS = 8  # whose own texts they may quote
_OVERLAP = 32  # old tokens indexed with a continuation, so that the place where it begins is found, too

_Text = tuple[int, int, Sequence[int]]  # ids of message and conversation, and the tokens


@dataclass(slots=True)
class _Begun:
    """A text that is being tokenized, piece by piece: a long one would keep a prompt waiting."""

    message_id: int
    conversation_id: int
    text: str
    place: int = 0  # up to where it is tokenized
    tokens: list[int] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return self.place == len(self.text) or len(self.tokens) >= _MOST_TOKENS

    def go_on(self, tokenize: Callable[[str], list[int]]) -> None:
        end = self.place + _PIECE
        if end < len(self.text):  # between two words, where there are any
            end = max(self.text.rfind(" ", self.place + 1, end), self.text.rfind("\n", self.place + 1, end))
            end = end if end > 0 else self.place + _PIECE
        self.tokens += tokenize(self.text[self.place : end])
        self.place = min(end, len(self.text))


class Recall:
    """Texts to recall for the target in use. The chat thread calls `open`, `add`, `add_continuation`, `catch_up` and
    `restart`, any thread the other methods. Failures of the store are only logged, since no caller waits for them.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._lock = threading.RLock()  # for adding texts, or replacing all of them
        self._texts = RecallTexts()
        self._fingerprint = ""
        self._num_tokens = 0  # of the vocabulary
        self._tokenize: Callable[[str], list[int]] = _nothing
        self._forgotten: set[int] = set()  # conversations; a reply may still be added to one
        self._before_id = 0  # messages from here on are known, or were tried
        self._begun: _Begun | None = None
        self._beside: tuple[Owner, tuple[SuffixIndex, ...]] = USER, ()
        self._own: OrderedDict[str, RecallTexts] = OrderedDict()  # of clients, by their keys, since the start

    def open(self, target: Target) -> None:
        """Recalls texts in this target's tokens from now on."""
        vocabulary = target.vocabulary
        self._tokenize = lambda text: target.tokenize(PromptText(text))
        self._num_tokens = len(vocabulary)
        name = vocabulary.fingerprint
        with self._lock:
            if name != self._fingerprint:
                self._fingerprint = name
                if not self._load():
                    self._fingerprint = ""  # so that the next time tries again

    def rest(self) -> None:
        """No target writes here for now; the one before is let go."""
        self._tokenize = _nothing
        self._begun = None

    @property
    def vocabulary(self) -> str:
        """Fingerprint of the vocabulary of the target in use; empty: none writes here."""
        return "" if self._tokenize is _nothing else self._fingerprint

    def reload(self) -> None:
        """The texts in the store were replaced or forgotten."""
        with self._lock:
            if self._fingerprint:
                self._load()

    def indexes(self, owner: Owner = USER) -> Sequence[SuffixIndex]:
        """Indexes of the texts that a reply for this owner may quote."""
        texts = self._texts if owner.drafts_from_chats else self._own.get(owner.key)
        stored = () if texts is None else texts.indexes
        whose, beside = self._beside
        return (*stored, *beside) if beside and whose == owner else stored

    @contextmanager
    def beside(self, text: str, owner: Owner, look_up: Callable[[], None]) -> Iterator[None]:
        """Recalls from this text, too, for this owner, inside. The chat thread calls it; what `look_up` raises between
        two pieces ends it."""
        begun = _Begun(0, 0, text[:_MOST_BESIDE])
        while not begun.is_done:
            look_up()
            begun.go_on(self._tokenize)
        self._beside = owner, (SuffixIndex([np.asarray(begun.tokens, np.int32)]),) if text else ()
        try:
            yield
        finally:
            self._beside = USER, ()

    def add(self, message: Message, tokens: Sequence[int] | None = None, owner: Owner = USER) -> None:
        """A stored message, and its tokens if the target wrote it. A long text is left to `catch_up`. `owner`: who may
        quote it until the next start, besides the user."""
        if tokens is None and len(message.text) > _PIECE:
            self.restart()
        else:
            known = self._tokenize(split_pictures(message.text)[1]) if tokens is None else tokens
            text = message.id, message.conversation_id, known
            if self._save([text]) and not owner.is_user:
                self._texts_of(owner).add(self._recalled([text]))

    def _texts_of(self, client: Owner) -> RecallTexts:
        """Its own."""
        with self._lock:
            texts = self._own.pop(client.key, None) or RecallTexts()
            self._own[client.key] = texts
            if len(self._own) > _MOST_CLIENTS:
                self._own.popitem(last=False)
            return texts

    def add_continuation(self, before: Message, message: Message, tokens: Sequence[int], num_new: int) -> None:
        """A stored reply that continues another one by `num_new` tokens, and replaces it."""
        new = tokens[-(num_new + _OVERLAP) :] if self._texts.knows(before.id) else tokens
        self._save(
            [(before.id, before.conversation_id, ()), (message.id, message.conversation_id, tokens)],
            [(message.id, message.conversation_id, new)],
        )

    def catch_up(self) -> bool:
        """Adds a few messages of chats with other targets, latest first, or a part of a long one. False when there are
        no more."""
        until = time.monotonic() + _SLICE_S
        with self._lock:
            waiting = self._waiting()
            if not waiting:
                return False
            texts: list[_Text] = []
            for begun in waiting:
                begun.go_on(self._tokenize)
                while not begun.is_done and time.monotonic() < until:
                    begun.go_on(self._tokenize)
                if not begun.is_done:
                    self._begun = begun
                    break
                texts.append((begun.message_id, begun.conversation_id, begun.tokens))
                self._before_id = begun.message_id
                if time.monotonic() >= until:
                    break
            return (not texts or self._save(texts)) and self._texts.num_tokens < MOST_TOKENS

    def _waiting(self) -> Sequence[_Begun]:
        """The next messages to be tokenized; none when all are, or the store fails."""
        if self._begun is not None:
            begun, self._begun = self._begun, None
            return [begun]
        try:
            missing = self._repository.messages_without_recall(self._fingerprint, self._before_id, _MESSAGES_AT_ONCE)
        except MendableError as error:
            _logger.warning("recall was not brought up to date: %s", error)
            return ()
        if not missing:
            self._before_id = 0
        return [_Begun(number, found_in, split_pictures(text)[1]) for number, found_in, text in missing]

    def restart(self) -> None:
        """Lets `catch_up` begin again with the latest message, as older ones have been added."""
        self._before_id = _BEYOND_ALL
        self._begun = None

    def forget(self, conversation_id: int) -> None:
        self._forgotten.add(conversation_id)
        for texts in (self._texts, *self._own.values()):
            texts.forget(conversation_id)

    def restore(self, conversation_id: int) -> None:
        self._forgotten.discard(conversation_id)
        with self._lock:
            self._texts.add(self._loaded(conversation_id) or ())
            self.restart()  # some of it may be in the tokens of other targets only

    @contextmanager
    def without(self, conversation_ids: Sequence[int]) -> Iterator[None]:
        """Recalls nothing from these conversations inside. Takes no longer for many than for one."""
        self._texts.forget(*conversation_ids)
        try:
            yield
        finally:
            with self._lock:
                wanted = set(conversation_ids) - self._forgotten  # meanwhile, on another thread
                if wanted:
                    loaded = self._loaded(None) or ()
                    self._texts.add([text for text in loaded if text.conversation_id in wanted])

    def _load(self) -> bool:
        self._own.clear()
        self._texts = RecallTexts()  # tokens of another target must not be found, even if loading fails
        self.restart()
        texts = self._loaded(None)
        if texts is None:
            return False
        self._texts = RecallTexts(texts)
        self._texts.forget(*tuple(self._forgotten))  # meanwhile, on another thread
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

    def _save(self, texts: Sequence[_Text], indexed: Sequence[_Text] | None = None) -> bool:
        """Stores `texts`; False if the store refuses. Until the next start, `indexed` are found instead of them."""
        with self._lock:
            try:
                self._repository.save_recall(self._fingerprint, {number: tokens for number, _, tokens in texts})
            except ConversationMissing:
                return True  # deleted meanwhile
            except MendableError as error:
                _logger.warning("recall was not stored: %s", error)
                return False
            self._texts.add(self._recalled(texts if indexed is None else indexed))
            return True

    def _recalled(self, texts: Sequence[_Text]) -> Iterator[RecallText]:
        return (
            RecallText(number, conversation, np.asarray(tokens, np.int32))
            for number, conversation, tokens in texts
            if conversation not in self._forgotten
        )


def _nothing(_text: str) -> list[int]:
    return []
