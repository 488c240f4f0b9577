"""Proposers for tests: the real neural one over a fake drafter, one that guesses at random, and scripted ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from engine.speculation.decoding.speculation import Speculation
from engine.speculation.model.interface import Vocabulary
from engine.speculation.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.numerics.ngram_cache import NgramCache
from engine.speculation.numerics.string_trie import StringTrie
from engine.speculation.numerics.vocabulary_map import VocabularyMap
from engine.speculation.proposers.catalogue import DRAFTER, RECALL
from engine.speculation.proposers.costly import Always
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Context, Proposer, Worth
from engine.speculation.proposers.shared_vocabulary import SharedVocabularyDrafter
from engine.speculation.proposers.translated import TranslatedDrafter
from engine.values.origins import Origin
from tests.fakes.drafter import FakeDrafter, FakeDrafterVocabulary, Logits

FREE = FixedCosts({1: 1.0, 16: 1.0})  # passes that cost the same whatever their length: any guess is worth checking


class Generous:
    """Implements `proposers.interface.Worth`: every token is worth its time."""

    def is_checked(self, chances: Sequence[float]) -> bool:  # noqa: ARG002
        return True

    def goes_on(self, chances: Sequence[float]) -> bool:  # noqa: ARG002
        return True


class RandomProposer(Proposer):
    """Drafts random tokens, ends of the reply among them."""

    origin = Origin("random", "Random", "", "")
    continues = True

    def __init__(self, num_tokens: int, seed: int = 0, is_free: bool = False) -> None:
        self.is_free = is_free
        self._num_tokens = num_tokens
        self._random = np.random.default_rng(seed)

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        length = int(self._random.integers(0, limit + 1))
        tokens = self._random.integers(0, self._num_tokens, length).tolist()
        return Draft(tuple(tokens), chances=(0.5,) * length, num_steps=length, proposer=self.origin.key)

    def num_unread(self, context: Context) -> int:  # noqa: ARG002
        return 1


class FakeRecall(Proposer):
    """Drafts these tokens again and again, with these chances. Records the contexts and verdicts that it gets."""

    origin = RECALL
    is_free = True

    def __init__(self, tokens: Sequence[int] = (), chances: Sequence[float] = ()) -> None:
        self.tokens = tuple(tokens)
        self.chances = tuple(chances)
        self.parents: tuple[int, ...] = ()
        self.tokens_behind: tuple[int, ...] = ()  # after another's guess
        self.asked: list[Context] = []
        self.followed: list[Context] = []
        self.verdicts: list[Verdict] = []
        self.num_replies = 0

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        self.asked.append(context)
        if not self.tokens:
            return NO_DRAFT
        if self.parents and context.max_branches > 1:
            return Draft(self.tokens, chances=self.chances, proposer=self.origin.key, parents=self.parents)
        return Draft(self.tokens[:limit], chances=self.chances[:limit], proposer=self.origin.key)

    def follow(self, context: Context, limit: int) -> Draft:
        self.followed.append(context)
        if not self.tokens_behind:
            return NO_DRAFT
        chances = (0.9,) * len(self.tokens_behind[:limit])
        return Draft(self.tokens_behind[:limit], chances=chances, proposer=self.origin.key)

    def observe(self, verdict: Verdict) -> None:
        self.verdicts.append(verdict)

    def end_reply(self) -> None:
        self.num_replies += 1


class FakeSlow(Proposer):
    """Each of its tokens has the same chance and takes `step_s` to draft; reading what is unread takes `reading_s`.
    Records the contexts and verdicts that it gets."""

    origin = DRAFTER
    continues = True

    def __init__(self, chance: float, step_s: float = 0.0, origin: Origin = DRAFTER) -> None:
        self.origin = origin
        self.chance = chance
        self.step_s = step_s
        self.unread = 1
        self.reading_s = 0.0
        self.asked: list[Context] = []
        self.verdicts: list[Verdict] = []
        self.num_replies = 0

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:
        self.asked.append(context)
        chances: list[float] = []
        num_steps = 0
        while len(chances) < limit:
            num_steps += 1
            chances.append(self.chance)
            if not worth.is_checked(chances):
                chances.pop()
                break
            if not worth.goes_on(chances):
                break
        reading_s, num_read = self.reading_s, self.unread if self.reading_s else 0
        self.reading_s, self.unread = 0.0, 1
        return Draft(
            tuple(range(len(chances))),
            chances=tuple(chances),
            num_steps=num_steps + (reading_s > 0),
            drafter_s=num_steps * self.step_s + reading_s,
            reading_s=reading_s,
            num_read=num_read,
            proposer=self.origin.key,
        )

    def observe(self, verdict: Verdict) -> None:
        self.verdicts.append(verdict)

    def num_unread(self, context: Context) -> int:  # noqa: ARG002
        return self.unread

    def measure_cost(self) -> float:
        return self.step_s

    def end_reply(self) -> None:
        self.num_replies += 1


def neural_proposer(
    target: Vocabulary, logits: Logits, merge: bool = True, max_held: int = 4096, label: str = "the drafter"
) -> TranslatedDrafter:
    vocabulary = FakeDrafterVocabulary()
    strings = _strings(target)
    trie = StringTrie(strings) if merge else _direct_trie(target)  # merging changes its own
    cache = NgramCache(trie) if merge else None
    return TranslatedDrafter(FakeDrafter(logits, max_held), vocabulary, target, trie, cache, label=label)


def sharing_proposer(target: Vocabulary, logits: Logits, max_held: int = 4096) -> SharedVocabularyDrafter:
    """Its drafter has the target's vocabulary."""
    pieces = [b"" if token in target.special else piece for token, piece in enumerate(target.pieces)]
    return SharedVocabularyDrafter(FakeDrafter(logits, max_held), pieces, target)


@cache
def _strings(target: Vocabulary) -> VocabularyMap:
    vocabulary = FakeDrafterVocabulary()
    return VocabularyMap.build(target.pieces, target.special, vocabulary.pieces, vocabulary.encode_many)


@cache
def _direct_trie(target: Vocabulary) -> StringTrie:
    return StringTrie(_strings(target).only_direct())


def drafting(proposer: Proposer, length: int = 4) -> Speculation:
    """Speculation in which the proposer drafts `length` tokens in every round."""
    return Speculation(DraftPolicy(FREE, [proposer], step_s=0.0, always=Always(length, length)))


class KnowingChooser(DraftPolicy):
    """Knows from the beginning what costly proposers gain."""

    def join(self, proposer: Proposer) -> None:
        super().join(proposer)
        for candidate in self._costly:
            while not candidate.standing.is_known:
                candidate.standing.note(0.1, 0.0, (0.5, 0.5), rate=1.0)


def choosing(*proposers: Proposer) -> Speculation:
    """Speculation in which guesses cost nothing: free proposers guess wherever they can, and the others continue."""
    return Speculation(KnowingChooser(FREE, proposers, step_s=0.0))
