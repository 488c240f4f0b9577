"""Restores the cached part of a prompt in a target, instead of reading it again, and copies what is to be cached."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from engine.speculation.decoding.session import Session, before_pictures
from engine.speculation.model.files.prompt_cache import PART_TOKENS, CacheKey, Chat, Lacking, PromptCache
from engine.speculation.model.interface import SavedPart, Target, TargetFeature, keeping
from engine.speculation.numerics.draft import common_prefix_length
from engine.values.stop_signal import StopSignal

_FEWEST = 64  # tokens that are worth looking for
_FEWEST_TIMED = 32  # tokens from which the speed of reading is known
_LOADED_BYTES_PER_S = 500e6  # from an ordinary disk, checked and given to llama.cpp
_GAIN = 2  # times as fast as reading again, or it is not worth the disk

_logger = logging.getLogger("slipstream.prompt_cache")


@dataclass(frozen=True, slots=True)
class UnkeptPart:
    """A part to be written into the prompt cache."""

    key: CacheKey
    chat: Chat
    lacking: Lacking
    tokens: tuple[int, ...]
    saved: SavedPart


class Reopening:
    """The prompt cache of one target. The thread that owns the target calls all methods."""

    def __init__(self, target: Target, cache: PromptCache, identity: str) -> None:
        """`identity`: of the model's file."""
        self._cache = cache
        self._vocabulary = target.vocabulary
        self._cuts = keeping(target).saves_parts
        self._rolls_back = target.limits.rolls_back_freely
        self._key = CacheKey.of(identity, keeping(target).layout)
        self._token_s = 0.0  # to read one; 0: not known
        self._is_worth_it = True
        cache.drop_other_layouts(self._key)

    @classmethod
    def of(cls, target: Target, cache: PromptCache, identity: str) -> Reopening | None:
        """The prompt cache of a target; None if nothing of it can be kept, or its file is not known."""
        can = TargetFeature.KEEPS in target.features and bool(identity)
        return cls(target, cache, identity) if can else None

    def is_worth(self, held: Sequence[int], tokens: Sequence[int]) -> bool:
        """True if much of a prompt would be read again."""
        return len(tokens) - self._usable(held, tokens) >= _FEWEST

    def known(self, conversation: Hashable) -> list[int]:
        """The tokens that are cached of a conversation; empty if it is new."""
        tokens = self._cache.latest(self._key, conversation) if isinstance(conversation, int) else []
        return tokens if all(0 <= token < len(self._vocabulary) for token in tokens) else []

    def reopen(self, session: Session, tokens: Sequence[int], stop: StopSignal) -> None:
        """Has the session hold the beginning of `tokens` as far as that is cached, all but the last one at most. There
        are no pictures among them."""
        held = session.tokens
        usable = self._usable(before_pictures(held, session.runs), tokens)
        if len(tokens) - usable < _FEWEST:
            return
        steps = self._cache.find(self._key, tokens[:-1], self._cuts)
        if not steps or steps[-1].end - usable < _FEWEST:
            return
        session.keep(usable)
        for step in steps:
            if stop.is_set():
                return
            if step.end <= len(held):
                continue
            saved = self._cache.read(step)
            if saved is None:
                return
            if not session.restore(saved, tokens[: step.end]):
                self._cache.refuse(step)
                return
        _logger.info("%d of %d tokens were not read again", len(held) - usable, len(tokens))

    def note_speed(self, num_tokens: int, seconds: float) -> None:
        """Notes the seconds it took to read `num_tokens`."""
        if num_tokens >= _FEWEST_TIMED:
            self._token_s = seconds / num_tokens

    def copy(self, session: Session, chat: Chat) -> UnkeptPart | None:
        held = tuple(before_pictures(session.tokens, session.runs))
        if len(held) < PART_TOKENS or not self._is_worth_it:
            return None
        lacking = self._cache.lacking(self._key, held, self._cuts)
        saved = None if lacking is None else session.save(lacking.start, lacking.end)
        if lacking is None or saved is None:
            return None
        bytes_per_token = len(saved.data) / (lacking.end - lacking.start)
        if self._token_s and bytes_per_token / _LOADED_BYTES_PER_S * _GAIN > self._token_s:
            self._is_worth_it = False
            _logger.info("nothing is kept of what this model reads: it reads as fast as a disk")
            return None
        return UnkeptPart(self._key, chat, lacking, held[lacking.start : lacking.end], saved)

    def _usable(self, held: Sequence[int], tokens: Sequence[int]) -> int:
        """The number of tokens that need not be read, as the target holds them."""
        common = common_prefix_length(held, tokens)
        return common if self._rolls_back or common == len(held) else 0
