"""V(n) of several forms of the same weights, timed in turns, so that the drift of the machine's speed falls on all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from engine.proposers.costs import measure_passes
from engine.stop_signal import StopSignal
from engine.target.interface import Target

NUM_TOKENS = (1, 2, 4, 8)
_TURN_PASSES = 40  # one-token passes whose time a turn may take: enough for each number of tokens three times
_MIN_TURN_S = 0.2
_TO_SIGMA = 1.4826  # of the median deviation from the median, for a normal distribution

Turn = Mapping[int, float]  # V(n) in seconds, by n


def time_turn(target: Target, stop: StopSignal) -> Turn:
    """The target holds nothing before and after. Raises Interrupted."""
    quick_look = measure_passes(target, stop, budget_s=0.0).of(1)
    costs = measure_passes(target, stop, budget_s=max(_MIN_TURN_S, _TURN_PASSES * quick_look))
    most = min(target.limits.max_rows, target.limits.max_tokens, target.limits.context_size)
    return {num_tokens: costs.of(num_tokens) for num_tokens in NUM_TOKENS if num_tokens <= most}


def medians(turns: Sequence[Turn]) -> dict[int, float]:
    return {num_tokens: median(turn[num_tokens] for turn in turns) for num_tokens in turns[0]}


def ratios(turns: Sequence[Turn], others: Sequence[Turn]) -> tuple[dict[int, float], float]:
    """V(n) of `others` over that of the turns beside them, and the largest standard error of these ratios, as a share
    of one."""
    found: dict[int, float] = {}
    worst = 0.0
    for num_tokens in turns[0]:
        each = [other[num_tokens] / turn[num_tokens] for turn, other in zip(turns, others, strict=True)]
        middle = median(each)
        spread = _TO_SIGMA * median(abs(ratio - middle) for ratio in each)
        found[num_tokens] = middle
        worst = max(worst, spread / middle / math.sqrt(len(each)))
    return found, worst
