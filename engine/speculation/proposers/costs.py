"""What a round costs on this machine: passes and guesses, measured before the first round and learned from then on."""

from __future__ import annotations

from statistics import median

from engine.speculation.model.interface import Target
from engine.speculation.model.llama.passes import sample_tokens, time_pass
from engine.speculation.numerics.draft import Draft
from engine.speculation.numerics.draft_length import USUAL_LENGTH, PassCosts, best_gain
from engine.speculation.numerics.estimates import Baseline
from engine.values.clock import now
from engine.values.draft_policy import KnownCosts
from engine.values.stop_signal import StopSignal

# Tokens of a pass, in the order in which they are worth knowing: kernels take rows in pairs, fours and eights, so that
# seven can cost more than eight, and nothing in between can be guessed.
_MEASURED = (1, 2, 4, 8, 3, 6, 5, 16, 7, 12, 10, 9, 11, 13, 14, 15)
_MEASURED_IF_SLOW = (4, 8)  # at least the first of them, however long it takes: nothing else says what drafts cost
_SLOW_SHARE = 16  # of the budget: a pass that takes more than a sixteenth of it is slow
_REPEATS = 2
_SPACING = 96  # drafted rounds in a row if plain decoding is known to within `_TOLERATED`
_LEAST_SPACING, _MOST_SPACED = 48, 2.5  # the fewest, however little is known; at most times as many, however much
_TOLERATED = 0.01  # standard error of the speed of plain decoding, as a share of it
_READ_SHARE = 1 / 8  # of a step, for reading one of many tokens at once
_COST_MEMORY = 0.9
_READ_PRIOR = 64  # tokens that what was expected of reading counts for
_READ_MEMORY = 4096  # tokens: what the newest readings count for at most
_LARGEST_SURPRISE = 2.0
_HIGHEST_CHANCE = 0.8  # no text is guessed better for long, and costs are known to some tenths only


def measure_passes(
    target: Target, stop: StopSignal, known: KnownCosts | None = None, budget_s: float = 1.0
) -> PassCosts:
    """Measures V(n) on the target itself, which holds nothing before and after, in about `budget_s`; slow targets are
    timed with fewer passes. If costs are `known` from earlier, only V(1) is measured, to tell today's speed of the
    machine. Raises Interrupted."""
    limit = min(target.limits.max_rows, target.limits.max_tokens, target.limits.context_size // 2, USUAL_LENGTH + 1)
    tokens = sample_tokens(target, limit)
    began = now()
    changes_s: list[float] = []
    try:
        seconds = {1: time_pass(target, tokens[:1], stop)}
        is_slow = seconds[1] > budget_s / _SLOW_SHARE
        for num_tokens in _MEASURED_IF_SLOW if is_slow else _MEASURED:
            if num_tokens > limit or (known is not None and num_tokens > 1):
                continue
            if now() - began > budget_s and len(seconds) > 1:
                break
            times = [time_pass(target, tokens[:num_tokens], stop) for _ in range(1 if is_slow else 1 + _REPEATS)]
            seconds[num_tokens] = min(times[1:] or times)  # the first of several builds the graph of this size
            if not is_slow:
                changes_s.append(times[0] - times[1])  # not their least, which luck would make too small
    finally:
        target.roll_back(0)
    change_s = min(max(0.0, median(changes_s)), seconds[1] / 2) if changes_s else 0.0
    passes = PassCosts(seconds, change_s, num_measured=1 if is_slow else _REPEATS)
    if known is not None:
        passes.know(known)
    return passes


class RoundCosts:
    """The seconds of rounds: by the rows of their pass, for a change in that number, and without a draft."""

    def __init__(self, passes: PassCosts) -> None:
        self.passes = passes
        self.baseline = Baseline(passes.of(1))
        self.last_rows = 1
        self._rounds_since_plain = 0

    @property
    def wants_plain(self) -> bool:
        """True if the speed of plain decoding should be measured again: the less certain it is, the sooner."""
        spacing = _SPACING * _TOLERATED / max(self.baseline.error, _TOLERATED / _MOST_SPACED)
        return self._rounds_since_plain >= max(spacing, _LEAST_SPACING)

    @property
    def change_to_draft_s(self) -> float:
        """Extra seconds for the changes in the number of rows that a draft brings: to it and back. After a draft, going
        back costs as much as another number of rows."""
        return 2 * self.passes.change_s if self.last_rows == 1 else self.passes.change_s

    def enter(self, num_held: int) -> None:
        if self.passes.enter(num_held):
            self.baseline.move()

    def learn(self, draft: Draft, seconds: float, own_s: float = 0.0) -> float:
        """Learns from the pass and the rollback of a round with this draft, and from what the round took besides,
        without the drafters' passes. Returns the part that a change in the number of rows is known to take."""
        passes, num_rows = self.passes, len(draft.tokens) + 1
        passes.note_own(draft, own_s)
        has_changed = num_rows != self.last_rows
        self.last_rows = num_rows
        self._rounds_since_plain += num_rows > 1
        if has_changed and num_rows == 1:  # llama.cpp builds another graph; of V(1) it says nothing
            passes.refine_change(seconds - passes.of(1))
            return passes.change_s
        change_s = passes.change_s if has_changed else 0.0
        passes.refine(num_rows, seconds - change_s)
        if num_rows == 1:
            self.baseline.note(seconds)
            self._rounds_since_plain = 0
        return change_s


class StepCosts:
    """The seconds it takes a costly proposer to guess a token, with what we make of it, and to read one."""

    def __init__(self, passes: PassCosts, expected_s: float, is_given: bool = False) -> None:
        """`expected_s`: for guessing one token. If it `is_given`, it stays, and reading costs nothing."""
        self._passes = passes
        self._is_given = is_given
        self._pass_s = expected_s  # of a pass that guesses one token
        self.read_s = 0.0 if is_given else expected_s * _READ_SHARE  # of reading one of many
        self._num_read = float(_READ_PRIOR)  # tokens that this was seen in
        self.can_pay = False  # whether guesses would be worth their time if nearly all were accepted
        self.weigh()

    @property
    def step_s(self) -> float:
        """Of guessing one token."""
        return self._pass_s if self._is_given else self._pass_s + self._passes.own.step_s

    def learn(self, draft: Draft) -> float:
        """Learns from a draft. Returns the seconds its guesses took, without reading what was written meanwhile."""
        if self._is_given:
            return self._pass_s * draft.num_steps
        if draft.num_read:
            self._num_read = min(self._num_read + draft.num_read, _READ_MEMORY)
            newest = min(1.0, draft.num_read / self._num_read)
            self.read_s += newest * (draft.reading_s / draft.num_read - self.read_s)
        num_steps = draft.num_steps - (draft.reading_s > 0)
        seconds = draft.drafter_s - draft.reading_s
        if num_steps > 0:
            seen = min(seconds / num_steps, _LARGEST_SURPRISE * self._pass_s)
            self._pass_s += (1 - _COST_MEMORY) * (seen - self._pass_s)
        return seconds + self._passes.own.step_s * draft.num_steps

    def expect(self, step_s: float) -> None:
        """Sets the seconds of a guess, as measured on an idle machine."""
        if not self._is_given:
            self._pass_s = step_s
            self.weigh()

    def weigh(self) -> None:
        """Decides whether guesses can pay, from the costs known now."""
        passes, rate = self._passes, 1 / self._passes.plain_s
        _, gain = best_gain(passes, [_HIGHEST_CHANCE] * USUAL_LENGTH, rate, 1, self.step_s)
        self.can_pay = gain > rate * (self.step_s + passes.own.drafted_s)
