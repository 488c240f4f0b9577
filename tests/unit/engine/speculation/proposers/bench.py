"""A drafter's proposer over a fake drafter, with all its parts in reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.speculation.numerics.draft import Draft
from engine.speculation.numerics.ngram_cache import NgramCache
from engine.speculation.numerics.sampling import RandomDice
from engine.speculation.numerics.string_trie import StringTrie
from engine.speculation.numerics.vocabulary_map import VocabularyMap
from engine.speculation.proposers.interface import Context, Worth
from engine.speculation.proposers.translated import TranslatedDrafter
from engine.values.config import SamplingSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.learned import NgramRecord
from engine.values.owner import USER, Owner
from tests.fakes.drafter import PIECES, FakeDrafter, FakeDrafterVocabulary, Logits, guesses
from tests.fakes.proposers import Generous
from tests.fakes.target import NUM_THOUGHTS, FakeTarget
from tests.fakes.target import PIECES as TARGET_PIECES

GREEDY = SamplingSettings(temperature=0)
TURNS = (ChatTurn(Role.USER, "Say it."),)
TEXT = "the thing is in the inn and the inn is theirs"


class Bench:
    def __init__(self, text: str = TEXT, logits: Logits | None = None, max_held: int = 4096) -> None:
        self.target = FakeTarget()
        vocabulary = FakeDrafterVocabulary()
        known = self.target.vocabulary
        strings = VocabularyMap.build(known.pieces, known.special, vocabulary.pieces, vocabulary.encode_many)
        self.trie = StringTrie(strings)
        self.cache = NgramCache(self.trie)
        self.drafter = FakeDrafter(logits or guesses(text), max_held)
        self.kept: list[NgramRecord] = []
        self.proposer = TranslatedDrafter(self.drafter, vocabulary, known, self.trie, self.cache, self.kept.extend)

    def propose(
        self,
        reply: Sequence[int],
        limit: int = 4,
        turns: Sequence[ChatTurn] = TURNS,
        sampling: SamplingSettings = GREEDY,
    ) -> tuple[int, ...]:
        return self.draft(reply, limit, Generous(), turns=turns, sampling=sampling).tokens

    def draft(
        self,
        reply: Sequence[int],
        limit: int = 4,
        worth: Worth | None = None,
        ahead: Sequence[int] = (),
        turns: Sequence[ChatTurn] = TURNS,
        sampling: SamplingSettings = GREEDY,
        owner: Owner = USER,
    ) -> Draft:
        context = replace(context_of(reply, turns), sampling=sampling, ahead=tuple(ahead), owner=owner)
        return self.proposer.propose(context, limit, worth or Generous())

    def held(self) -> str:
        return b"".join(PIECES[token] for token in self.drafter.held).decode("utf-8", "replace")


def context_of(reply: Sequence[int], turns: Sequence[ChatTurn] = TURNS) -> Context:
    """Three tokens of a prompt, and the reply, of which the last is pending."""
    thoughts = TEXT.encode()[len(reply) - 1 :][:NUM_THOUGHTS].ljust(NUM_THOUGHTS, b" ")
    state = np.array([*thoughts], np.float32)
    return Context(turns, [1, 2, 3, *reply[:-1]], reply[-1], 3, GREEDY, RandomDice(0), state=state)


def tokens_of(text: str) -> list[int]:
    return FakeTarget().tokenize(text)


def bytes_of(tokens: Sequence[int]) -> bytes:
    return b"".join(TARGET_PIECES[token] for token in tokens)
