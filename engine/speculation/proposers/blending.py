"""A drafter's next token, weighed against what the user's texts usually go on with.

Both are distributions of the next draft token: q as the drafter computes it, and m, what is expected of the target's
tokens, pushed down onto the trie of their strings. What is drafted comes from q' = (1 − wM) q + w m, where M = Σ m is
1 at most. As q' is a row of logits like any other, everything after it stays exact: the likeliest path, pruning, draws,
and the probabilities that the acceptance rule gets. The weight w of each kind of expectation is learned
from what is written: it is the share of the written token's probability that came from m, on average (as EM has it).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.speculation.drafter.interface import LogitRow
from engine.speculation.native import rows
from engine.speculation.numerics.habits import Expected
from engine.speculation.numerics.string_trie import StringTrie

_HALF = 0.5
Expect = Callable[[Sequence[int]], Expected | None]  # after these tokens of the target


@dataclass(frozen=True, slots=True)
class Hopes:
    masses: Mapping[int, float]  # by draft token; they sum to 1 at most
    kind: int  # as in `Expected`


@dataclass(frozen=True, slots=True)
class Blend:
    """How a token's distribution was mixed."""

    kind: int
    shares: Mapping[int, float]  # by draft token: of its probability, what came from the expectation

    def share_of(self, token: int) -> float:
        return self.shares.get(token, 0.0)


@dataclass(frozen=True, slots=True)
class DraftOutlook:
    """The logits that the next draft token is taken from."""

    logits: LogitRow  # shape (vocabulary,)
    likeliest: int
    total: float  # log of the sum of their exponentials
    blend: Blend | None = None  # None: the drafter's alone

    def probability(self, token: int) -> float:
        return math.exp(float(self.logits[token]) - self.total)


def outlook_of(logits: LogitRow) -> DraftOutlook:
    """The logits alone; their total is finite if they are numbers."""
    return DraftOutlook(logits, *rows.outlook(logits))


def blended(outlook: DraftOutlook, hopes: Hopes, weight: float) -> DraftOutlook:
    """The mixture, up to a constant. `weight` is above 0 and below 1."""
    tokens, masses = [*hopes.masses], np.array([*hopes.masses.values()])
    left = 1 - weight * float(masses.sum())  # to the drafter
    ours = np.exp(outlook.logits[tokens].astype(np.float64) - outlook.total)
    theirs = masses * (weight / left)
    logits = outlook.logits.copy()
    logits[tokens] = np.log(ours + theirs) + outlook.total
    shares = dict(zip(tokens, (theirs / (ours + theirs)).tolist(), strict=True))
    return DraftOutlook(logits, rows.best(logits)[0], outlook.total - math.log(left), Blend(hopes.kind, shares))


def hopes_at(
    expect: Expect, settled: Sequence[int], trie: StringTrie, path: Sequence[int], likeliest: int
) -> Hopes | None:
    """Expectations for the draft token after `settled`, tokens of the target, and after the draft tokens of an open
    one, which are its `path` through the trie. `likeliest`: what the drafter guesses. None where nothing is
    expected."""
    masses: dict[int, float] = {}
    begun, kind, stop = expect(settled), -1, 1.0
    node = trie.node(path)
    if path and node is not None:
        stop = 0.0
        for token, probability in begun.probabilities.items() if begun else ():
            string = trie.string_of(token)
            if string == tuple(path):
                stop = probability
            elif string[: len(path)] == tuple(path):
                following = string[len(path)]
                masses[following] = masses.get(following, 0.0) + probability
        known = stop + sum(masses.values())
        if begun is not None and known > 0:
            kind, stop = begun.kind, stop / known
            masses = {token: mass / known for token, mass in masses.items()}
        elif likeliest not in node.children:  # it was not expected, and ends here
            stop = 1.0
        begun = expect([*settled, node.token]) if stop > 0 and node.token is not None else None
    if begun is not None:
        kind = begun.kind if stop >= _HALF else kind
        for token, probability in begun.probabilities.items():
            for first in trie.string_of(token)[:1]:
                masses[first] = masses.get(first, 0.0) + stop * probability
    return Hopes(masses, kind) if masses else None
