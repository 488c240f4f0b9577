"""What a round costs on this machine: passes of the target, measured before the first one and learned from then on."""

from __future__ import annotations

from statistics import median

from engine.clock import now
from engine.messages.pace import KnownCosts
from engine.numerics.draft_length import USUAL_LENGTH, PassCosts
from engine.numerics.estimates import Baseline
from engine.stop_signal import StopSignal
from engine.target.interface import Target
from engine.target.passes import sample_tokens, time_pass

# Tokens of a pass, in the order in which they are worth knowing: kernels take rows in pairs, fours and eights, so that
# seven can cost more than eight, and nothing in between can be guessed.
_MEASURED = (1, 2, 4, 8, 3, 6, 5, 16, 7, 12, 10, 9, 11, 13, 14, 15)
_MEASURED_IF_SLOW = (4, 8)  # at least the first of them, however long it takes: nothing else says what drafts cost
_SLOW_SHARE = 16  # of the budget: a pass that takes more than a sixteenth of it is slow
_REPEATS = 2
_SPACING = 96  # drafted rounds one after the other, where plain decoding is known as well as is tolerated
_LEAST_SPACING, _MOST_SPACED = 48, 2.5  # however little is known of it; times as many, however much
_TOLERATED = 0.01  # standard error of the speed of plain decoding, as a share of it


def measure_passes(
    target: Target, stop: StopSignal, known: KnownCosts | None = None, budget_s: float = 1.0
) -> PassCosts:
    """Measures V(n) on the target itself, which holds nothing before and after, in about `budget_s`; a target whose
    passes are slow is timed with few of them. Of one whose costs are `known` from earlier only V(1) is measured, which
    tells how fast the machine is today. Raises Interrupted."""
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
                changes_s.append(times[0] - times[1])  # not the least, which would be less by luck
    finally:
        target.roll_back(0)
    change_s = min(max(0.0, median(changes_s)), seconds[1] / 2) if changes_s else 0.0
    passes = PassCosts(seconds, change_s, num_measured=1 if is_slow else _REPEATS)
    if known is not None:
        passes.know(known)
    return passes


class RoundCosts:
    """Seconds of rounds by the rows of their pass, of a change of their number, and of a round without a draft."""

    def __init__(self, passes: PassCosts) -> None:
        self.passes = passes
        self.baseline = Baseline(passes.of(1))
        self.last_rows = 1
        self._rounds_since_plain = 0

    @property
    def wants_plain(self) -> bool:
        """Whether what is known of plain decoding is getting old; the less sure it is, the sooner."""
        spacing = _SPACING * _TOLERATED / max(self.baseline.error, _TOLERATED / _MOST_SPACED)
        return self._rounds_since_plain >= max(spacing, _LEAST_SPACING)

    @property
    def change_to_draft_s(self) -> float:
        """How much more the changes take that come with a draft: there, and some time back again. Having drafted, going
        back costs as much as another number of rows does."""
        return 2 * self.passes.change_s if self.last_rows == 1 else self.passes.change_s

    def enter(self, num_held: int) -> None:
        """The target holds so many tokens now."""
        if self.passes.enter(num_held):
            self.baseline.move()

    def learn(self, num_rows: int, seconds: float) -> float:
        """A round with a pass of so many rows took so long, without the passes of drafters. Of that, what a change of
        rows is known to take."""
        passes = self.passes
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
