"""What the parts of a round take on this machine, learned while it runs."""

from __future__ import annotations

from engine.numerics.baseline import Baseline
from engine.numerics.draft import Draft
from engine.numerics.draft_length import MAX_LENGTH, PassCosts, best_gain

_PRIOR_STEP_SHARE = 0.15  # of a one-row pass, for guessing a token
_READ_SHARE = 1 / 8  # of a step, for reading one of many tokens at once
_MEMORY = 0.9
_LARGEST_SURPRISE = 2.0
_HIGHEST_CHANCE = 0.8  # no text is guessed better for long, and costs are known to some tenths only
_ROUNDS_UNTIL_COSTS_CHANGE = 64


class RoundCosts:
    """Seconds: of passes, of a slow proposer's guesses and its reading, and of a round without a draft."""

    def __init__(self, passes: PassCosts, step_s: float | None = None) -> None:
        """`step_s`: seconds that a guess takes; None = to be learned."""
        self.passes = passes
        self.baseline = Baseline(passes.of(1))
        self.switch_s = 0.0  # what a pass over one row takes more after one over several
        self.can_pay = False  # whether a slow proposer's guesses would be worth their time, if nearly all stood
        self.rounds_since_plain = 0
        self.last_rows = 1
        self._step_is_given = step_s is not None
        self._num_rounds = 0
        self._set_step(_PRIOR_STEP_SHARE * passes.of(1) if step_s is None else step_s)

    def expect_step(self, seconds: float) -> None:
        """What a guess takes, before any was made."""
        if not self._step_is_given:
            self._set_step(seconds)
        self.can_pay = self._could_pay()

    def enter(self, num_held: int) -> None:
        """The target holds so many tokens now."""
        if self.passes.enter(num_held):
            self.baseline.move()

    def learn_step(self, draft: Draft, num_unread: int) -> float:
        """What the guesses of a draft took, but for reading what others wrote."""
        if self._step_is_given:
            return self.step_s * draft.num_steps
        if draft.reading_s > 0:
            self.read_s += (1 - _MEMORY) * (draft.reading_s / max(1, num_unread) - self.read_s)
        num_steps = draft.num_steps - (draft.reading_s > 0)
        seconds = draft.drafter_s - draft.reading_s
        if num_steps > 0:
            seen = min(seconds / num_steps, _LARGEST_SURPRISE * self.step_s)
            self.step_s += (1 - _MEMORY) * (seen - self.step_s)
        return seconds

    def learn_pass(self, num_rows: int, seconds: float) -> None:
        """A pass, and the acceptance after it, took so long."""
        single_s = self.passes.of(1)
        if num_rows == 1 and self.last_rows > 1:  # llama.cpp builds another graph
            surplus = min(max(0.0, seconds - single_s), single_s / _LARGEST_SURPRISE)
            self.switch_s += (1 - _MEMORY) * (surplus - self.switch_s)
        else:
            self.passes.refine(num_rows, seconds)
            if num_rows == 1:
                self.baseline.note(seconds)
                self.rounds_since_plain = 0
        self.rounds_since_plain += num_rows > 1
        self.last_rows = num_rows
        self._num_rounds += 1
        if self._num_rounds % _ROUNDS_UNTIL_COSTS_CHANGE == 0:
            self.can_pay = self._could_pay()

    def _set_step(self, seconds: float) -> None:
        self.step_s = seconds  # for guessing one token
        self.read_s = 0.0 if self._step_is_given else seconds * _READ_SHARE  # for reading one of many

    def _could_pay(self) -> bool:
        rate = 1 / self.passes.of(1)
        _, gain = best_gain(self.passes, [_HIGHEST_CHANCE] * MAX_LENGTH, rate, 1, self.step_s)
        return gain > rate * self.step_s
