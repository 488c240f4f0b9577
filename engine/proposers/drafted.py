"""A drafter as a proposer: what every drafter does, whatever its vocabulary. It reads along and guesses on.

`translated.py` and `shared_vocabulary.py` say what it reads and how its guesses become tokens of the target.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from engine.config import SamplingSettings
from engine.drafter.interface import Drafter, LogitRow
from engine.messages.conversations import ChatTurn
from engine.messages.drafters import Guesses
from engine.messages.learned import NgramRecord
from engine.numerics.draft import NO_DRAFT, Draft, DraftPath, Verdict, common_prefix_length
from engine.numerics.estimates import Calibration
from engine.numerics.ngram_cache import NgramCache
from engine.numerics.string_trie import StringTrie
from engine.proposers.catalogue import DRAFTER
from engine.proposers.interface import Context, Proposer, Supplies, Worth

StoreNgrams = Callable[[Sequence[NgramRecord]], None]

_MOST_CANDIDATES = 64  # of the drafter's distribution: its tail is not worth drawing from
_MEASURED_STEPS = 12
_MOST_CAUGHT_UP = 8  # tokens that one round leaves to be read; more are a prompt, or text written without drafts
_NEWEST_STEP = 0.05  # weight of the newest step
_ROOM_SHARE = 8  # of what the drafter can hold, an eighth is for drafts
_CONFIDENCES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)  # borders between kinds of guesses
_PRIORS = (0.05, 0.12, 0.2, 0.28, 0.36, 0.45, 0.53, 0.62, 0.72, 0.82, 0.9, 0.95)  # that each kind is accepted
_NEGLIGIBLE = 14.0  # logits below the largest: a vocabulary of such tokens has a few hundredths of its weight


class DrafterProposer(Proposer):
    """One drafter for one target.

    It drafts until as many tokens as may be checked are begun: whether the last one would grow is not worth another
    step. Greedy drafts are the drafter's likeliest path and count as certain. Sampled ones carry their path and its
    distributions, drawn from what the target could write. The chance of a token is the share of accepted guesses among
    those for which the drafter's likeliest token had a similar probability.
    """

    origin = DRAFTER
    loads = True
    continues = True

    def __init__(self, drafter: Drafter, label: str = "the drafter") -> None:
        """The drafter is this proposer's alone. `label`: what sentences call it."""
        self._drafter = drafter
        self.label = label
        self._guesses = Guesses()  # since they were taken, of replies that may be learned from
        self._step_s = 0.0  # of guessing one token, running mean
        self._turns: Sequence[ChatTurn] | None = None
        self._held: list[int] = []  # what the drafter holds
        self._num_left_out = 0  # first tokens of prompt and reply, since the drafter cannot hold all
        self._num_followed = 0  # tokens of the target, prompt and reply, that were taken in
        self._calibration = Calibration(_PRIORS)
        self._counts = True  # whether the guesses of the draft under way are to be noted in `guesses`
        self._kinds: list[int] = []  # of the tokens of the draft under way
        self._refused: tuple[int, int] | None = None  # kind and token of the guess that was not worth checking
        self._drafter_s, self._reading_s, self._num_passes, self._num_read = 0.0, 0.0, 0, 0  # of the draft under way

    @classmethod
    def label_of(cls, supplies: Supplies) -> str:
        return supplies.drafter_label()

    @classmethod
    def build(cls, supplies: Supplies, is_cancelled: Callable[[], bool]) -> Proposer:
        assert supplies.load_drafter is not None
        return supplies.load_drafter(is_cancelled)

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:
        self._drafter_s, self._reading_s, self._num_passes, self._num_read = 0.0, 0.0, 0, 0
        self._kinds, self._refused, self._counts = [], None, context.learns
        wanted = self._follow(context)
        if not wanted:
            return NO_DRAFT
        logits = self._catch_up(wanted)
        if context.sampling.temperature == 0:
            return self._guess(logits, limit, worth)
        return self._sample(logits, limit, worth, context)

    def observe(self, verdict: Verdict) -> None:
        start, length = verdict.draft.place_of(self.origin.key)
        num_reached = verdict.num_accepted - start
        for place, kind in enumerate(self._kinds[: max(0, num_reached + 1)]):
            self._note(kind, place, place < num_reached)
        if self._refused is not None and num_reached >= length and start + length < len(verdict.tokens):
            kind, token = self._refused
            self._note(kind, len(self._kinds), self._is_right(token, verdict.tokens[start + length]))
        self._kinds, self._refused = [], None

    def num_unread(self, context: Context) -> int:
        turns = self._turns
        known = turns is context.turns or (turns is not None and list(context.turns[: len(turns)]) == list(turns))
        return max(0, len(context.tokens) + 1 - (self._num_followed if known else 0))

    def measure_cost(self) -> float:
        """Forgets what the drafter holds."""
        self._held.clear()
        self._step_s = measure_step(self._drafter)
        return self._step_s

    def take_guesses(self) -> tuple[Guesses, float]:
        """Those since the last time, and the seconds of one as they are now."""
        guesses, self._guesses = self._guesses, Guesses()
        return guesses, self._step_s

    def offer_ngrams(self, trie: StringTrie, cache: NgramCache, store: StoreNgrams) -> None:  # noqa: ARG002
        """Takes these with the next reply, in place of those it was built with, if it has any. From any thread."""
        return

    def end_reply(self) -> None:
        self._kinds, self._refused = [], None

    @abstractmethod
    def _read_turns(self, context: Context) -> None:
        """A conversation that is new, or went on, is being answered."""

    @abstractmethod
    def _wanted(self, context: Context) -> list[int] | None:
        """All that the drafter should hold, but for the first `_num_left_out` tokens; None where it has no tokens for
        the end of it."""

    @abstractmethod
    def _guess(self, logits: LogitRow, limit: int, worth: Worth) -> Draft:
        """The drafter's likeliest path."""

    @abstractmethod
    def _sample(self, logits: LogitRow, limit: int, worth: Worth, context: Context) -> Draft:
        """A path drawn from its distributions. Whether it goes on may depend on what was drafted so far, but not on
        what would be drawn next."""

    @abstractmethod
    def _is_right(self, guess: int, written: int) -> bool:
        """Whether the target wrote what the drafter guessed."""

    def _follow(self, context: Context) -> list[int] | None:
        """Takes in what was written since the last draft, and returns what the drafter should hold."""
        self._num_followed = len(context.tokens) + 1
        if context.turns is not self._turns:
            self._read_turns(context)
            self._turns = context.turns
            self._num_left_out = 0
            if self._drafter.refresh():
                self._held.clear()
                self._calibration = Calibration(_PRIORS)  # its guesses are different now
        return self._wanted(context)

    def _catch_up(self, wanted: list[int]) -> LogitRow:
        """Makes the drafter hold these tokens, from the first one on that differs. The logits after them."""
        size = self._drafter.max_held
        if len(wanted) > size - size // _ROOM_SHARE:  # half of it leaves, so that this is not to be done again soon
            self._num_left_out += len(wanted) - size // 2
            wanted = wanted[-(size // 2) :]
        self._drafter.roll_back(min(common_prefix_length(self._held, wanted), len(wanted) - 1))
        num_kept = self._drafter.num_held
        del self._held[num_kept:]
        return self._read(wanted[num_kept:])

    def _read(self, tokens: list[int]) -> LogitRow:
        began = time.perf_counter()
        logits = self._drafter.read(tokens)
        seconds = time.perf_counter() - began
        self._drafter_s += seconds
        if len(tokens) > _MOST_CAUGHT_UP:
            self._reading_s += seconds
            self._num_read += len(tokens)
        elif len(tokens) == 1:
            self._step_s += _NEWEST_STEP * (min(seconds, 2 * self._step_s) - self._step_s)
        self._num_passes += 1
        self._held += tokens
        return logits

    def _kind_of(self, logits: LogitRow, token: int) -> int:
        """Of a guess that is the drafter's likeliest token, or what is left when others are ruled out."""
        return kind_of(self._drafter.chance(_probability(logits, token)))

    def _take(self, kind: int, token: int, chances: list[float], worth: Worth) -> bool:
        """Adds the chance of another guess, if that is worth it."""
        chances.append(self._calibration.chance(kind))
        if worth.is_checked(chances):
            return True
        chances.pop()
        self._refused = kind, token
        return False

    def _draft(self, tokens: tuple[int, ...], chances: list[float], path: DraftPath | None = None) -> Draft:
        chances += chances[-1:] * (len(tokens) - len(chances))  # where several tokens spell one of the drafter's
        del self._kinds[len(tokens) :]
        passes = self._num_passes, self._drafter_s, self._reading_s
        return Draft(tokens, path, tuple(chances[: len(tokens)]), *passes, self.origin.key, num_read=self._num_read)

    def _note(self, kind: int, place: int, accepted: bool) -> None:
        self._calibration.note(kind, accepted)
        if self._counts:
            self._guesses = self._guesses.with_one(place, accepted)


def measure_step(drafter: Drafter) -> float:
    """Seconds for reading one token, at best; the drafter holds nothing afterwards."""
    drafter.roll_back(0)
    times = []
    for token in range(_MEASURED_STEPS):
        began = time.perf_counter()
        drafter.read([token])
        times.append(time.perf_counter() - began)
    drafter.roll_back(0)
    return min(times)


@lru_cache(maxsize=8)
def drafting(sampling: SamplingSettings) -> SamplingSettings:
    """What a drafter's distribution is made with: as the target's, so that the two are alike."""
    return replace(
        sampling,
        top_k=min(sampling.top_k or _MOST_CANDIDATES, _MOST_CANDIDATES),
        repetition_penalty=1.0,
        presence_penalty=0.0,
        frequency_penalty=0.0,
    )


def kind_of(confidence: float) -> int:
    return bisect_right(_CONFIDENCES, confidence)


def _probability(logits: LogitRow, token: int) -> float:
    """Of the drafter's token at temperature 1, but for the tail."""
    return 1 / float(np.exp(logits[logits > logits.max() - _NEGLIGIBLE] - logits[token]).sum())
