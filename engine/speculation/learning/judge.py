"""Decides from later replies how much of what a drafter learned drafts, and what may be said of it: pure numbers,
without any drafter.

Every reply is scored before anything is learned from it (prequentially, Dawid 1984). What counts is what a user waits
for, rounds of the target: those that the reply would have taken, in expectation, with each share of what was learned.
They are added up over replies, so that a long reply counts for more.

Which share drafts is decided by Hedge with a share of the weights dealt out again (Freund & Schapire 1997; Herbster &
Warmuth 1998): over T replies it loses at most ln(4) / η + η T / 8, and a little for each change, more than the best
share would have, in tenths of a usual reply. So a little of what was learned is used at once, and harm soon ends.

That learning saves rounds is claimed when a bet against it has turned 1 into 20 (testing by betting, Shafer 2021;
Waudby-Smith & Ramdas, arXiv 2010.09686). If it saves none, the bet wins that much with a probability of at most 1/20
(Ville's inequality): however often one looks, and whatever drafts meanwhile. A bet needs no independent replies, so
each turn of a chat is evidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from engine.values.learned import NO_GAIN, Gain

DRAFT_LENGTH = 4
STRENGTHS = (0.0, 0.25, 0.5, 1.0)  # shares of what was learned that may draft; the first is the original drafter
ERROR = 0.05  # at most, of ever claiming that learning saves rounds where it saves none

# Of the gamblers, from what each owns: one waits, one is careful and wins where little is saved, one is bold.
_STAKES = (0.0, 0.3, 0.9)
_SHARES = (0.2, 0.2, 0.6)  # of what all own, at the beginning
_HANDED_ON = 0.01  # of what all own is dealt out again before every bet: a gambler who lost can win again
_LARGEST = 0.1  # share of a usual reply's rounds, the most that one reply can save or lose in the eyes of the gamblers
_MOST_WEIGHT = 50.0  # replies: a new one changes by as much what is usual
_RATE = 1.0  # η of Hedge, for losses in tenths of a usual reply's rounds
_DEALT = 0.01  # of the weights is dealt out again after every reply: what is best may change
_FIRST_WEIGHTS = (0.2, 0.35, 0.3, 0.15)  # what was learned from few replies is best used in small part
_FIRST_CHOSEN = 1  # of STRENGTHS
_MILDEST = 1
# Of the rounds of a reply, what adapters saved that proved better, and how far replies differed (decision 26).
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
    rounds: tuple[float, ...]  # with each of STRENGTHS of what was learned
    chosen: int  # of STRENGTHS: what drafts

    @property
    def original(self) -> float:
        return self.rounds[0]

    @property
    def in_use(self) -> float:
        return self.rounds[self.chosen]


@dataclass(frozen=True, slots=True)
class Strengths:
    """The weights of Hedge, which add up to 1, and the one of STRENGTHS that drafts, drawn by them."""

    weights: tuple[float, ...] = _FIRST_WEIGHTS
    chosen: int = _FIRST_CHOSEN

    def after(self, losses: Sequence[float], dice: float) -> Strengths:
        """The strengths after one reply. `losses` are from 0 to 1; `dice` is drawn from 0 to 1.

        Another one is drawn as seldom as the weights allow, by maximal coupling: every change has the drafter read
        again what it holds.
        """
        grown = [weight * math.exp(-_RATE * loss) for weight, loss in zip(self.weights, losses, strict=True)]
        kept = (1 - _DEALT) / sum(grown)
        weights = tuple(kept * each + _DEALT / len(grown) for each in grown)
        stays = weights[self.chosen] / self.weights[self.chosen]
        if dice < stays:
            return Strengths(weights, self.chosen)
        rises = [max(0.0, new - old) for new, old in zip(weights, self.weights, strict=True)]
        left = sum(rises) * (dice - stays) / (1 - stays)
        ends = accumulate(rises)
        return Strengths(weights, next((place for place, end in enumerate(ends) if left < end), self.chosen))

    @property
    def strength(self) -> float:
        return STRENGTHS[self.chosen]


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
        """The approximate number of further replies it takes to win, if learning saves as much as usual."""
        bets, number = self, 0
        while not bets.is_won and number < _MOST_LEFT:
            number += 1
            spread = -_USUAL_SPREAD if number % 2 else _USUAL_SPREAD
            bets = bets.after((_USUAL_SAVED + spread) / _LARGEST)
        return number


@dataclass(slots=True)
class RoundCounts:
    """The rounds of the same replies with the original drafter and with what was in use."""

    num_replies: int = 0
    num_tokens: int = 0
    before: float = 0.0  # rounds with the original drafter
    after: float = 0.0  # rounds with what was in use
    closed: tuple[int, float] = (0, 0.0)  # chats that are known by their sum alone: how many; the sum of squares
    chats: dict[int, float] = field(default_factory=dict)  # rounds that were saved, by conversation

    def add(self, score: Score) -> None:
        self.num_replies += 1
        self.num_tokens += score.num_tokens
        self.before += score.original
        self.after += score.in_use
        saved = score.original - score.in_use
        self.chats[score.conversation] = self.chats.get(score.conversation, 0.0) + saved

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


class Ruling(StrEnum):
    KEPT = "kept"  # nothing
    PROVEN = "proven"  # learning saves rounds: from here on that may be said
    STARTED_OVER = "restarted"  # training is to begin again from the original drafter


@dataclass(slots=True)
class Evidence:
    """What is known of what was learned: a few numbers, which can be stored."""

    better: Bets = Bets()  # that what drafts saves rounds; won once and for all
    worse: Bets = Bets()  # that the least of what was learned costs some
    usual: float = 0.0  # rounds of a reply
    weight: float = 0.0  # replies that this is known from
    strengths: Strengths = Strengths(chosen=len(STRENGTHS) - 1)  # before anything was learned here
    num_tokens: float = 0.0  # that were learned from

    @property
    def numbers(self) -> tuple[float, ...]:
        bets = (*self.better.owned, *self.worse.owned, self.usual, self.weight)
        return (*bets, *self.strengths.weights, float(self.strengths.chosen), self.num_tokens)

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Evidence:
        """The evidence of these numbers, or none if there are none or they are damaged."""
        size, num_strengths = len(_STAKES), len(STRENGTHS)
        is_sound = len(numbers) == 2 * size + num_strengths + 4 and all(0 <= each < math.inf for each in numbers)
        if not is_sound:
            return cls()
        owned, (usual, weight), (*weights, chosen, num_tokens) = (
            numbers[: 2 * size],
            numbers[2 * size : 2 * size + 2],
            numbers[2 * size + 2 :],
        )
        if chosen not in range(num_strengths) or min(weights) <= 0:
            return cls()
        strengths = Strengths(tuple(weights), int(chosen))
        return cls(Bets(tuple(owned[:size])), Bets(tuple(owned[size:])), usual, weight, strengths, num_tokens)

    def take(self, score: Score, dice: float) -> None:
        """Takes in a reply; see `Strengths.after`."""
        self.weight = min(self.weight + 1, _MOST_WEIGHT)
        self.usual += (score.original - self.usual) / self.weight
        large = _LARGEST * self.usual
        gains = [max(-1.0, min(1.0, (score.original - each) / large)) for each in score.rounds]
        if not self.better.is_won:
            self.better = self.better.after(gains[score.chosen])
        self.worse = self.worse.after(-gains[_MILDEST])
        best = max(gains)
        self.strengths = self.strengths.after([min(1.0, best - each) for each in gains], dice)


def strength_of(numbers: Sequence[float]) -> float:
    """The share of what was learned that drafts, by the numbers of its evidence."""
    return Evidence.of(numbers).strengths.strength


class Judge:
    """Hears the scores of replies one after the other, each before anything is learned from the reply."""

    def __init__(self, evidence: Evidence | None = None, since: RoundCounts | None = None) -> None:
        """Goes on from what is known, and from rounds since the adapter in use was published."""
        self.evidence = evidence or Evidence()
        self.since = since or RoundCounts()

    def hear(self, score: Score, dice: float) -> Ruling:
        was_won = self.evidence.better.is_won
        self.evidence.take(score, dice)
        self.since.add(score)
        if self.evidence.worse.is_won:
            self.evidence = Evidence(usual=self.evidence.usual, weight=self.evidence.weight)
            self.since = RoundCounts()
            return Ruling.STARTED_OVER
        return Ruling.PROVEN if self.evidence.better.is_won and not was_won else Ruling.KEPT

    def note_published(self, is_first: bool) -> None:
        """Something newer drafts from here on; the first that was learned here begins with little of it."""
        self.since = RoundCounts()
        if is_first:
            self.evidence.strengths = Strengths()
