"""Decides from later replies which adapter a drafter should use: pure numbers, without any drafter.

Every reply is scored before anything is learned from it (prequentially, Dawid 1984). What counts is what a user waits
for, rounds of the target: those that the reply would have taken, in expectation, with each adapter's drafts. They are
added up over replies, so that a long reply counts for more.

A candidate is published when a bet against "it saves no rounds" has turned 1 into 20 (testing by betting, Shafer 2021;
Waudby-Smith & Ramdas, arXiv 2010.09686). If no candidate is any good, the bet wins that much with a probability of at
most 1/20 (Ville's inequality): however often one looks, however the candidate changes while it is judged, and however
many are dropped meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from engine.values.learned import NO_GAIN, Gain

DRAFT_LENGTH = 4
ERROR = 0.05  # at most, of ever publishing where no candidate is better than what is in use
RETURN_ERRORS = 2.0  # standard errors by which what is published must have become worse than what it replaced

# Of the gamblers, from what each owns: one waits, one is careful and wins where little is saved, one is bold.
_STAKES = (0.0, 0.3, 0.9)
_SHARES = (0.2, 0.2, 0.6)  # of what all own, at the beginning
_HANDED_ON = 0.01  # of what all own is dealt out again before every bet: a gambler who lost can win again
_LARGEST = 0.1  # share of a usual reply's rounds, the most that one reply can save or lose in the eyes of the gamblers
_MOST_WEIGHT = 50.0  # replies: a new one changes by as much what is usual
_MOST_TOKENS = 384  # of one conversation that can be evidence: as of one long reply
_FEWEST_CHATS = 6  # before what is published can be returned from
# Of the rounds of a reply, what candidates saved that were published, and how far replies differed (decision 26).
_USUAL_SAVED, _USUAL_SPREAD = 0.018, 0.04
_MOST_LEFT = 999  # replies, that a forecast reaches

Floats = npt.NDArray[np.float64]


def expected_rounds(chances: Floats) -> Floats:
    """The rounds that a reply takes with drafts of DRAFT_LENGTH tokens, shape [...], where `chances`, shape [..., n],
    are those that the draft's token at a place of the reply is accepted, given that those before it were."""
    length = chances.shape[-1]
    padded = np.concatenate([chances, np.zeros((*chances.shape[:-1], DRAFT_LENGTH))], -1)
    begins = np.zeros((*chances.shape[:-1], length + DRAFT_LENGTH + 1))  # the chances that a round begins there
    begins[..., 0] = 1
    for place in range(length):
        goes_on = begins[..., place].copy()
        for drafted in range(place, place + DRAFT_LENGTH):
            accepted = goes_on * padded[..., drafted]
            begins[..., drafted + 1] += goes_on - accepted  # the token that was recovered is written, too
            goes_on = accepted
        begins[..., place + DRAFT_LENGTH + 1] += goes_on
    total: Floats = begins[..., :length].sum(-1)
    return total


@dataclass(frozen=True, slots=True)
class Score:
    """The rounds that a reply would have taken."""

    conversation: int
    num_tokens: int  # the drafter's
    original: float  # with the original drafter
    earlier: float  # with what was in use before
    published: float  # with what is in use
    candidate: float  # with what training has come to


@dataclass(frozen=True, slots=True)
class Bets:
    """The capital of gamblers who bet on one outcome at every reply, each staking a different share of it."""

    owned: tuple[float, ...] = _SHARES

    @property
    def total(self) -> float:
        """The capital of all. It never rises in expectation, unless the outcome has been more likely than not."""
        return sum(self.owned)

    @property
    def is_won(self) -> bool:
        return self.total >= 1 / ERROR

    def after(self, gain: float) -> Bets:
        """The bets after one reply. `gain`: from -1 to 1, with an expectation of at most 0 if the gamblers are
        wrong."""
        kept, dealt = 1 - _HANDED_ON, _HANDED_ON * self.total
        before = (kept * each + dealt * share for each, share in zip(self.owned, _SHARES, strict=True))
        return Bets(tuple(each * (1 + stake * gain) for each, stake in zip(before, _STAKES, strict=True)))

    @property
    def num_left(self) -> int:
        """The approximate number of further replies it takes to win, with a candidate that is as good as usual."""
        bets, number = self, 0
        while not bets.is_won and number < _MOST_LEFT:
            number += 1
            spread = -_USUAL_SPREAD if number % 2 else _USUAL_SPREAD
            bets = bets.after((_USUAL_SAVED + spread) / _LARGEST)
        return number


@dataclass(slots=True)
class RoundCounts:
    """The rounds of the same replies with one adapter and with another one."""

    num_replies: int = 0
    num_tokens: int = 0
    before: float = 0.0  # rounds with the one
    after: float = 0.0  # rounds with the other
    closed: tuple[int, float] = (0, 0.0)  # chats that are known by their sum alone: how many; the sum of squares
    chats: dict[int, float] = field(default_factory=dict)  # rounds that the other saved, by conversation

    def add(self, score: Score, before: float, after: float) -> None:
        self.num_replies += 1
        self.num_tokens += score.num_tokens
        self.before += before
        self.after += after
        self.chats[score.conversation] = self.chats.get(score.conversation, 0.0) + before - after

    @property
    def num_chats(self) -> int:
        return self.closed[0] + len(self.chats)

    @property
    def saved(self) -> float:
        return self.before - self.after

    @property
    def error(self) -> float:
        """The standard error of `saved`, as a sum over conversations drawn independently."""
        number = self.num_chats
        if number < 2:
            return float("inf")
        squares = self.closed[1] + sum(saved**2 for saved in self.chats.values())
        return float((max(0.0, squares - self.saved**2 / number) * number / (number - 1)) ** 0.5)

    @property
    def gain(self) -> Gain:
        if not self.num_tokens:
            return NO_GAIN
        before, after = self.num_tokens / self.before - 1, self.num_tokens / self.after - 1
        error = self.error * self.num_tokens / self.after**2 if self.num_chats > 1 else 0.0
        return Gain(before, after, error, self.num_replies, self.num_chats, self.num_tokens)

    @classmethod
    def of(cls, gain: Gain) -> RoundCounts:
        """Counts that go on from what is known of these replies."""
        if not (gain.num_tokens and gain.num_chats):
            return cls()
        before, after = gain.num_tokens / (1 + gain.before), gain.num_tokens / (1 + gain.after)
        error, number = gain.error * after**2 / gain.num_tokens, gain.num_chats
        squares = (error**2 * (number - 1) + (before - after) ** 2) / number
        return cls(gain.num_replies, gain.num_tokens, before, after, (number, squares))

    @property
    def is_worse(self) -> bool:
        return self.num_chats >= _FEWEST_CHATS and self.saved < -RETURN_ERRORS * self.error


class Ruling(StrEnum):
    KEPT = "kept"  # nothing
    PUBLISHED = "published"  # the candidate is to be used
    DROPPED = "dropped"  # training is to begin again from what is in use
    RETURNED = "returned"  # what was in use before is to be used again
    RESET = "reset"  # the original drafter is to be used again


@dataclass(slots=True)
class Capital:
    """What is known of the candidates since one was published last: a few numbers, which can be stored."""

    better: Bets = Bets()  # that they save rounds
    worse: Bets = Bets()  # that the latest line of them loses some
    usual: float = 0.0  # rounds of a reply
    weight: float = 0.0  # replies that this is known from

    @property
    def numbers(self) -> tuple[float, ...]:
        return (*self.better.owned, *self.worse.owned, self.usual, self.weight)

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Capital:
        """The capital of these numbers, or a new one if there are none or they are damaged."""
        size = len(_STAKES)
        if len(numbers) != 2 * size + 2 or not all(0 <= number < float("inf") for number in numbers):
            return cls()
        return cls(Bets(tuple(numbers[:size])), Bets(tuple(numbers[size : 2 * size])), numbers[-2], numbers[-1])

    def take(self, saved: float, rounds: float) -> None:
        """Takes in the rounds that the candidate saved, and those with what is in use."""
        self.weight = min(self.weight + 1, _MOST_WEIGHT)
        self.usual += (rounds - self.usual) / self.weight
        gain = max(-1.0, min(1.0, saved / (_LARGEST * self.usual)))
        self.better, self.worse = self.better.after(gain), self.worse.after(-gain)


class Judge:
    """Hears the scores of replies one after the other, each before anything is learned from the reply.

    The candidate may have learned from earlier turns of a conversation, and do better on later ones for that alone. So
    each conversation is evidence as far as one long reply would be, and no further.
    """

    def __init__(self, capital: Capital | None = None, since: RoundCounts | None = None) -> None:
        """Goes on from what is known of candidates, and from rounds with what is in use and with the original
        drafter."""
        self.capital = capital or Capital()
        self.since = since or RoundCounts()
        self._since_earlier = RoundCounts()
        self._told: dict[int, int] = {}  # tokens of each conversation that candidates could have learned from

    def know(self, conversation: int, num_tokens: int) -> None:
        """Notes a reply of that conversation that was learned from without having been scored here."""
        self._told[conversation] = self._told.get(conversation, 0) + num_tokens

    def hear(self, score: Score) -> Ruling:
        told = self._told.get(score.conversation, 0)
        share = min(1.0, max(0, _MOST_TOKENS - told) / max(1, score.num_tokens))
        self.know(score.conversation, score.num_tokens)
        self.capital.take(share * (score.published - score.candidate), score.published)
        self.since.add(score, score.original, score.published)
        self._since_earlier.add(score, score.earlier, score.published)
        if self.capital.better.is_won:
            return self._restart(Ruling.PUBLISHED)
        if self._since_earlier.is_worse:
            return self._restart(Ruling.RETURNED)
        if self.since.is_worse:
            return self._restart(Ruling.RESET)
        if self.capital.worse.is_won:
            self.capital.worse = Bets()
            return Ruling.DROPPED
        return Ruling.KEPT

    def _restart(self, ruling: Ruling) -> Ruling:
        """Begins again, since something else is in use from here on."""
        self.capital = Capital(usual=self.capital.usual, weight=self.capital.weight)
        self.since, self._since_earlier = RoundCounts(), RoundCounts()
        self._told.clear()
        return ruling
