"""What the rounds of a reply say to the draft policy: what drafting may still lose, how fast the text goes, and whether
to look for guesses at all."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

# Of the loss budget:
_BUDGET_AT_FIRST = 0.3  # tokens
_BUDGET_SHARE = 0.014  # of the tokens written
_PASSED_UP = 0.3  # of what a guess would have gained that was not checked
_LOST_SHARE = 0.5  # of the stake of drafts of which no more is known
_LEAST_BUDGET = -1.0  # tokens; wrong guesses that were not checked take no more than that: a text may change
_AVERSION = 4.0  # tokens to be gained for each token that the budget is expected to lack
# Of recent rounds:
_RATE_MEMORY = 0.9  # of the speed, from round to round: it should be that of the text at hand
_ACTIVITY_MEMORY = 0.97  # of who drafted and how far
# Of looking for guesses:
_CHEAP = 0.3  # tokens: where a second row costs less, every round is looked at
_NEAR = 0.7  # of the cost of a row: a guess of that chance comes near
_FRUITLESS = (6, 12, 24)  # looks in a row, from which on one, two and three rounds are left out


class LossBudget:
    """The tokens that drafting may still lose in a reply: a few at first, plus a share of those written, plus what
    drafts have gained, minus what they have lost.

    A draft that stakes more than that must promise a premium. So a reply is hardly ever slower than plain decoding by
    more than that share, however misleading its text is, and gains in one place pay for boldness in another. Measured
    by counts on 100 replies of the starter with its passes: docs/decisions/0013-pace-and-recall.md.
    """

    def __init__(self) -> None:
        self._tokens = _BUDGET_AT_FIRST

    def caution(self, stake: float, reached: Sequence[float] | None = None) -> float:
        """The premium, in tokens, for a draft that loses `stake` tokens if none of its own is accepted. `reached`: the
        chances that 1, 2, … of them are; None: not known."""
        missing = stake - self._tokens
        if missing <= 0:
            return 0.0
        if reached is None:
            return _AVERSION * missing * _LOST_SHARE
        lost, num_accepted = 0.0, 0
        while num_accepted < missing:
            share = 1 - reached[num_accepted] if num_accepted < len(reached) else 1.0
            lost += share * min(1.0, missing - num_accepted)
            num_accepted += 1
        return _AVERSION * lost

    def note(self, num_written: int, cost: float) -> None:
        """Notes a round that wrote `num_written` tokens. `cost`: its extra time, in tokens of plain decoding."""
        self._tokens += _BUDGET_SHARE * num_written + (num_written - 1) - cost

    def note_passed_up(self, gain: float) -> None:
        """Notes a guess that was not checked and would have gained (or lost) so many tokens."""
        self._tokens = max(self._tokens + _PASSED_UP * gain, min(self._tokens, _LEAST_BUDGET))

    def begin_reply(self) -> None:
        self._tokens = _BUDGET_AT_FIRST


@dataclass(frozen=True, slots=True)
class Activity:
    """What drafting looked like recently, as running means over some thirty rounds."""

    shares: dict[str, float]  # of rounds, by the labels of their proposers, such as “earlier text and drafter”
    length: float  # tokens of a draft


class RecentRounds:
    """Running means over the latest rounds: their speed, who drafted, and how far."""

    def __init__(self, single_s: float) -> None:
        """`single_s`: seconds of a plain round."""
        self._tokens, self._seconds = 1.0, single_s
        self._rounds, self._length = 1.0, 0.0
        self._shares: dict[str, float] = {}

    def note(self, tokens: float, seconds: float, words: str, num_drafted: int) -> None:
        """Notes a round by the tokens expected of it (counted ones say more about luck than about the text) and its
        seconds; `words`: the labels of those who drafted `num_drafted` tokens, empty without a draft."""
        self._tokens = _RATE_MEMORY * self._tokens + tokens
        self._seconds = _RATE_MEMORY * self._seconds + seconds
        self._rounds = _ACTIVITY_MEMORY * self._rounds + 1
        self._length = _ACTIVITY_MEMORY * self._length + num_drafted
        for known in self._shares:
            self._shares[known] *= _ACTIVITY_MEMORY
        if words:
            self._shares[words] = self._shares.get(words, 0.0) + 1

    def forget_activity(self) -> None:
        self._rounds, self._length, self._shares = 1.0, 0.0, {}

    @property
    def rate(self) -> float:
        """Tokens per second."""
        return self._tokens / self._seconds

    @property
    def activity(self) -> Activity:
        drafted = sum(self._shares.values())
        shares = {words: rounds / self._rounds for words, rounds in self._shares.items()}
        return Activity(shares, self._length / drafted if drafted else 0.0)


class Lookout:
    """Whether to ask the free proposers in a round. Where a row costs much and no guess has come near its cost for
    some time, a look every few rounds finds what repeats hardly later, and takes a fraction of the time."""

    def __init__(self) -> None:
        self._num_fruitless = 0  # looks in a row
        self._rounds_to_skip = 0

    def wants_look(self) -> bool:
        self._rounds_to_skip -= 1
        return self._rounds_to_skip < 0

    def note(self, chance: float, cost: float) -> None:
        """Notes a look. `chance`: of the surest first guess, 0: none; `cost`: of its row, in tokens."""
        is_fruitless = cost >= _CHEAP and chance < _NEAR * cost
        self._num_fruitless = self._num_fruitless + 1 if is_fruitless else 0
        self._rounds_to_skip = bisect_right(_FRUITLESS, self._num_fruitless)

    def look_again(self) -> None:
        """Asks in every round again."""
        self._num_fruitless = self._rounds_to_skip = 0
