"""Timed and tested passes of a target, over tokens of a real text.

A model that is a mixture of experts reads the weights of those experts that its tokens need: a pass over one token many
times would take hardly longer than a pass over one.
"""

from __future__ import annotations

from itertools import cycle, islice

import numpy as np

from engine.speculation.model.interface import BranchingTarget, Target, TargetFeature, TokenizingVocabulary
from engine.values.clock import now
from engine.values.errors import TargetUnusable
from engine.values.stop_signal import StopSignal

# Of logits computed again, as a share of their spread: other kernels for batches of another size make it up to 0.12, a
# failed rollback more than 1.
_LARGEST_DEVIATION = 0.4

_TEXT = """\
The old harbour wakes slowly. Gulls argue over scraps, ropes creak, and somebody whistles behind a blue door while the
first boat leaves for open water with five people aboard. Why does nobody sell coffee here? Perhaps because rain was
expected; it never came.

def average(values: list[float], default=0.0):
    if not values:
        return default  # nothing to divide by
    total = sum(value * 2 for value in values)
    print(f"{len(values)} numbers, mean {total / 2:.3f}")

1. Boil 250 g of potatoes, 2. chop onions and parsley, 3. season with salt, pepper, lemon juice.
"""


def sample_tokens(source: TokenizingVocabulary, count: int) -> list[int]:
    """Ordinary tokens, the same every time and all different: those of a text in their order, then others. They are
    repeated only if the vocabulary has fewer."""
    vocabulary = source.vocabulary
    ordinary = (token for token in (*source.tokenize(_TEXT), *range(len(vocabulary))) if token not in vocabulary.silent)
    distinct = list(islice(dict.fromkeys(ordinary), count)) or [0]
    return list(islice(cycle(distinct), count))


def time_pass(target: Target, tokens: list[int], stop: StopSignal) -> float:
    """Seconds of a pass over `tokens` after what the target holds, with logits for each of them. It holds the same
    again afterwards, or nothing if it cannot roll back that far. Raises Interrupted."""
    num_held, began = target.num_held, now()
    target.evaluate(tokens, len(tokens), stop)
    seconds = now() - began
    target.roll_back(num_held)
    return seconds


def tested_features(target: BranchingTarget, longest_draft: int, stop: StopSignal) -> frozenset[TargetFeature]:
    """Tests whether a draft can be taken back: after the longest one was, its tokens must get the logits as before.
    And whether one may branch: on a branch they must get them, too. Raises TargetUnusable or Interrupted."""
    limits = target.limits
    longest = min(longest_draft, limits.max_rollback, limits.max_rows, limits.max_tokens - 1, limits.context_size - 1)
    first, *draft = sample_tokens(target, 1 + longest)
    before = target.evaluate([first, *draft], len(draft), stop).copy()
    if not np.isfinite(before.max()):
        raise TargetUnusable(
            "{name} does not compute numbers; it is damaged: download it again.", name=target.description.path.name
        )
    features: set[TargetFeature] = set()
    if target.roll_back(1):  # few of them again: in a slow model every token counts
        deviations: list[float] = []
        if limits.max_branches > 1 and limits.rolls_back_freely and longest > 2:
            again = target.evaluate_tree(draft[0], [draft[2], draft[1]], [-1, -1], stop)[[0, 2]]
        else:
            again = target.evaluate(draft[:1], 1, stop)
        for wanted, row in zip(before, again, strict=False):
            deviations.append(float((row - wanted).std() / wanted.std()))
        for feature, deviation in zip((TargetFeature.ROLLBACK, TargetFeature.BRANCHES), deviations, strict=False):
            if deviation > _LARGEST_DEVIATION:
                break
            features.add(feature)
    return frozenset(features)
