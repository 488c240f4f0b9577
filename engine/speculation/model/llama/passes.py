"""Timed passes of a target, over tokens of a real text.

A model that is a mixture of experts reads the weights of those experts that its tokens need: a pass over one token many
times would take hardly longer than a pass over one.
"""

from __future__ import annotations

from itertools import cycle, islice

from engine.speculation.model.interface import Target, TokenizingVocabulary
from engine.values.clock import now
from engine.values.stop_signal import StopSignal

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
