"""What to expect of a target on this machine, from what passes and steps cost here and how often guesses are usually
right. What is said never exceeds what the costs of passes allow if every guess was right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from engine.backend.library.suggestions import times_as_long
from engine.speculation.numerics.draft_length import PassCosts
from engine.speculation.proposers.selection import STEP_OVERHEAD_S, WORTHWHILE, Pair, expected_speedup
from engine.values.outlook import Outlook, Span
from engine.values.speed import SLOWER
from engine.values.targets import Suggestion

_PLAIN_OFF = 1.25  # times: how far an estimate of the plain speed from another model is off; seen were 0.92 and 1.16
_MEASURED_OFF = 1.05  # the same, of one that was measured
_ONE_TARGET = 0.05  # logarithm of a ratio of sizes
_STEEPER = 1.3  # times as much that a row may cost more on a model that was not measured
BUILT_IN_STEP_S = 0.002  # of the drafter that is built in, which drafts for the starter
_CHANCE_OFF = 0.12  # of a usual chance, in either direction: text is more or less easily guessed
# Chance that a token of a copy follows its original, and share of the tokens that stand in copies, where a text is
# quoted, corrected or changed: docs/decisions/0053-the-first-run.md.
_COPIED = ((0.88, 0.70), (0.95, 0.85), (0.98, 0.95))


@dataclass(frozen=True, slots=True)
class MeasuredPasses:
    """What the passes of a target cost on this machine."""

    read_bytes: float  # of its weights, for each token
    seconds: Mapping[int, float]  # V(n), for some n from 1 on

    def is_like(self, other: MeasuredPasses) -> bool:
        """True if both may belong to one target, whose file is a little larger than its weights."""
        return abs(math.log(self.read_bytes / other.read_bytes)) < _ONE_TARGET

    def scaled(self, read_bytes: float) -> PassCosts:
        """The costs of a target that reads this many bytes for each token: all passes change by the same factor as
        V(1).

        What more rows cost depends on how fast the machine computes and how fast it reads; both grow with the
        weights, so the shape stays (docs/decisions/0053-the-first-run.md has how far that holds)."""
        factor = times_as_long(read_bytes, self.read_bytes)
        return PassCosts({num: seconds * factor for num, seconds in sound(self.seconds).items()})


def sound(seconds: Mapping[int, float]) -> dict[int, float]:
    """V(n) without what cannot be: a pass over fewer tokens is no dearer than one over more, which it could be part of,
    and one over n no dearer than n passes. What was measured otherwise was something else that the machine did."""
    found: dict[int, float] = {}
    least = math.inf
    for num in sorted(seconds, reverse=True):
        least = found[num] = min(least, seconds[num])
    return {num: min(each, num * found[1]) for num, each in sorted(found.items())}


def starter_step(starter_bytes: int, measured: Sequence[MeasuredPasses]) -> float:
    """Seconds of a guess of the starter where it drafts for larger targets: a pass of its own, and what goes with it;
    0 where nothing was measured."""
    nearest = _nearest(starter_bytes, measured)
    return 0.0 if nearest is None else STEP_OVERHEAD_S + nearest.scaled(starter_bytes).of(1)


def expect(
    name: str,
    read_bytes: float,
    measured: Sequence[MeasuredPasses],
    step_s: float,
    pair: Pair,
    suggestion: Suggestion | None = None,
) -> Outlook | None:
    """What to expect of a target that reads this many bytes for each token, from the measured one that is nearest in
    size; None if nothing was measured. `step_s`: of a drafter that guesses as `pair` usually does."""
    nearest = _nearest(read_bytes, measured)
    if nearest is None:
        return None
    is_measured = suggestion is None
    passes = nearest.scaled(read_bytes)
    plain = _around(1 / passes.of(1), _MEASURED_OFF if is_measured else _PLAIN_OFF)
    costs = (passes if is_measured else _steeper(passes, max(nearest.seconds)), passes, passes)
    new_text = _spanned(*map(partial(_guessing, pair, step_s), costs, (-_CHANCE_OFF, 0.0, _CHANCE_OFF)))
    copies = _spanned(*map(_copying, costs, *zip(*_COPIED, strict=True)))
    return Outlook(name, suggestion, plain, new_text, copies)


def _nearest(read_bytes: float, measured: Sequence[MeasuredPasses]) -> MeasuredPasses | None:
    return min(measured, key=lambda each: abs(math.log(each.read_bytes / read_bytes)), default=None)


def _guessing(pair: Pair, step_s: float, passes: PassCosts, change: float) -> float:
    """Times plain; a drafter that does not pay is not loaded. `change`: of the usual chances."""
    first, following = (max(0.0, chance + change) for chance in pair.value)
    speedup = expected_speedup(passes, first, following, step_s)
    return speedup if speedup >= WORTHWHILE else 1.0


def _copying(passes: PassCosts, chance: float, share: float) -> float:
    """Times plain, where such a share of the tokens is drafted, and right with that chance; guesses cost nothing."""
    ratio = max(1.0, expected_speedup(passes, chance, chance, 0.0))
    return 1 / (share / ratio + 1 - share)


def _spanned(low: float, middle: float, high: float) -> Span:
    """Where nothing pays, looking whether it does costs a little."""
    return Span(low if low > 1 else SLOWER, middle, high)


def _around(middle: float, off: float) -> Span:
    return Span(middle / off, middle, middle * off)


def _steeper(passes: PassCosts, most: int) -> PassCosts:
    single_s = passes.of(1)
    rows = range(1, most + 1)
    return PassCosts({num: min(num, 1 + _STEEPER * (passes.of(num) / single_s - 1)) * single_s for num in rows})
