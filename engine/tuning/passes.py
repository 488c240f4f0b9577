"""V(n) of several forms of the same weights, timed in turns, so that the drift of the machine's speed falls on all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from engine.stop_signal import StopSignal
from engine.target.interface import Target
from engine.target.passes import sample_tokens, time_pass

NUM_TOKENS = (1, 2, 4, 8)
_REPEATS = 2
_FEWEST_TURNS = 3  # that tell how far they spread
_TO_SIGMA = 1.4826  # of the median deviation from the median, for a normal distribution

Turn = Mapping[int, float]  # V(n) in seconds, by n


def time_turn(target: Target, stop: StopSignal) -> Turn:
    """The target holds nothing before and after. Raises Interrupted."""
    limits = target.limits
    most = min(limits.max_rows, limits.max_tokens, limits.context_size)
    tokens = sample_tokens(target, max(NUM_TOKENS))
    turn: dict[int, float] = {}
    target.roll_back(0)
    for num_tokens in NUM_TOKENS:
        if num_tokens <= most:
            times = [time_pass(target, tokens[:num_tokens], stop) for _ in range(1 + _REPEATS)]
            turn[num_tokens] = min(times[1:])  # the first one builds the graph of this size
    return turn


def medians(turns: Sequence[Turn]) -> dict[int, float]:
    return {num_tokens: median(turn[num_tokens] for turn in turns) for num_tokens in turns[0]}


def ratios(turns: Sequence[Turn], others: Sequence[Turn]) -> tuple[dict[int, float], float]:
    """V(n) of `others` over that of the turns beside them, and the largest standard error of these ratios, as a share
    of one."""
    found: dict[int, float] = {}
    worst = 0.0 if len(turns) >= _FEWEST_TURNS else 1.0
    for num_tokens in turns[0]:
        each = [other[num_tokens] / turn[num_tokens] for turn, other in zip(turns, others, strict=True)]
        middle = median(each)
        spread = _TO_SIGMA * median(abs(ratio - middle) for ratio in each)
        found[num_tokens] = middle
        worst = max(worst, spread / middle / math.sqrt(len(each)))
    return found, worst
