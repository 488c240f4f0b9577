"""What a costly proposer's guesses cost, and how it is doing: both learned from every asking."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from engine.messages.pace import KnownStanding
from engine.numerics.draft import Draft
from engine.numerics.draft_length import USUAL_LENGTH, PassCosts, best_gain

_READ_SHARE = 1 / 8  # of a step, for reading one of many tokens at once
_COST_MEMORY = 0.9
_LARGEST_SURPRISE = 2.0
_HIGHEST_CHANCE = 0.8  # no text is guessed better for long, and costs are known to some tenths only
_NEWEST = 0.12  # weight of the newest asking, in the long run
_NEWEST_AFTER_LONG = 0.5  # the same, after others were asked for long
_SURE = (0.45, 0.7, 0.88)  # borders between chances: where one guess is sure, the next often is
_FIRST_ASKINGS = 4  # are made before anything is concluded
_FIRST_REST, _LONGEST_REST = 4, 64  # rounds without asking, when it did not pay


class StepCosts:
    """Seconds that guessing and reading a token take."""

    def __init__(self, passes: PassCosts, expected_s: float, is_given: bool = False) -> None:
        """`expected_s`: of guessing one token; where it `is_given` it stays, and reading costs nothing."""
        self._passes = passes
        self._is_given = is_given
        self.step_s = expected_s  # of guessing one token
        self.read_s = 0.0 if is_given else expected_s * _READ_SHARE  # of reading one of many
        self.can_pay = False  # whether guesses would be worth their time if nearly all were accepted
        self.weigh()

    def learn(self, draft: Draft, num_unread: int) -> float:
        """The seconds that the guesses of a draft took, without catching up on what others wrote."""
        if self._is_given:
            return self.step_s * draft.num_steps
        if draft.reading_s > 0:
            self.read_s += (1 - _COST_MEMORY) * (draft.reading_s / max(1, num_unread) - self.read_s)
        num_steps = draft.num_steps - (draft.reading_s > 0)
        seconds = draft.drafter_s - draft.reading_s
        if num_steps > 0:
            seen = min(seconds / num_steps, _LARGEST_SURPRISE * self.step_s)
            self.step_s += (1 - _COST_MEMORY) * (seen - self.step_s)
        return seconds

    def expect(self, step_s: float) -> None:
        """A guess takes so long, as was measured without anything else going on."""
        if not self._is_given:
            self.step_s = step_s
            self.weigh()

    def weigh(self) -> None:
        """Finds out whether guesses can pay, by the costs as they are known now."""
        rate = 1 / self._passes.of(1)
        _, gain = best_gain(self._passes, [_HIGHEST_CHANCE] * USUAL_LENGTH, rate, 1, self.step_s)
        self.can_pay = gain > rate * self.step_s


class Standing:
    """How a costly proposer is doing, and when it is worth asking.

    Gain and cost of an asking are expected from chances rather than counted from luck: tokens that are accepted, and
    seconds of guessing and checking. A proposer that does not pay rests, longer each time, and is tried again; while
    tries pay they go on, so that prose that turns into code is noticed within a few rounds.
    """

    def __init__(self) -> None:
        self.tokens = 0.0  # of an asking, running mean
        self.seconds = 0.0
        self._next_chances = [0.5] * (len(_SURE) + 1)  # of a token, by how sure the one before it was; running means
        self.num_askings = 0
        self._rest = _FIRST_REST
        self._rounds_to_rest = 0
        self._rounds_passed_over = 0

    @property
    def is_known(self) -> bool:
        return self.num_askings >= _FIRST_ASKINGS

    @property
    def is_resting(self) -> bool:
        return self._rounds_to_rest > 0

    @property
    def is_stale(self) -> bool:
        """Whether others were asked for so long that this says little about the text at hand."""
        return self._rounds_passed_over >= _LONGEST_REST

    @property
    def known(self) -> KnownStanding:
        return KnownStanding(self.num_askings, self.tokens, self.seconds, tuple(self._next_chances))

    def know(self, known: KnownStanding) -> None:
        """Takes over how it was doing earlier."""
        if len(known.next_chances) == len(self._next_chances):
            self.num_askings, self.tokens, self.seconds = known.num_askings, known.tokens, known.seconds
            self._next_chances = [*known.next_chances]

    def gain(self, rate: float) -> float:
        """Tokens that an asking gains, at `rate` tokens per second otherwise."""
        return self.tokens - rate * self.seconds

    def next_chance(self, before: float) -> float:
        """Of a token after one of that chance."""
        return self._next_chances[bisect_right(_SURE, before)]

    def pause(self, passed_over: bool = False) -> None:
        """A round without asking it; `passed_over`: another costly proposer was asked."""
        self._rounds_to_rest = max(0, self._rounds_to_rest - 1)
        self._rounds_passed_over += passed_over

    def note(self, tokens: float, seconds: float, chances: Sequence[float], rate: float) -> None:
        """An asking is expected to gain so many tokens in so many seconds; `chances` are those of its tokens."""
        self.num_askings += 1
        newest = max(_NEWEST_AFTER_LONG if self.is_stale else _NEWEST, 1 / self.num_askings)
        self._rounds_passed_over = 0
        self.tokens += newest * (tokens - self.tokens)
        self.seconds += newest * (seconds - self.seconds)
        for before, chance in pairwise(chances):
            place = bisect_right(_SURE, before)
            self._next_chances[place] += _NEWEST / 4 * (chance - self._next_chances[place])
        if not self.is_known:
            return
        if self.gain(rate) > 0:
            self._rest = _FIRST_REST
        elif tokens <= rate * seconds:
            self._rounds_to_rest = self._rest
            self._rest = min(2 * self._rest, _LONGEST_REST)
