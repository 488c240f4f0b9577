"""What a drafter loses by guessing otherwise than its target, token by token of the drafter.

The target's distribution stands on the drafter's tokens: pushed down onto the trie of strings (see
`engine.numerics.acceptance`) it says at each node which child comes next, given that none of them was what did not
happen there, the stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import torch

from engine.learning.samples import LabelTable, Sample

_PIECE_SHARE = 0.2  # λ of OmniDraft's hybrid loss
_BLEND = 3.0  # η of the LK blend
_LEAST = 1e-6  # probability


class Loss(StrEnum):
    DISTRIBUTION = "distribution"  # KL(P‖Q), with a share of −log Q of what was written
    HYBRID = "hybrid"  # OmniDraft (arXiv 2507.02659), eq. 3: KL(Q‖P) on single tokens, and λ times −log Q on pieces
    LK = "lk"  # LK losses (arXiv 2602.23881): λ KL(P‖Q) + (1 − λ) TV(P, Q) with λ = exp(−η α), α the acceptance


@dataclass(frozen=True, slots=True)
class Wanted:
    """What there is to learn about some places of a conversation, n of them."""

    places: torch.Tensor  # int64 [n], of the tokens before them
    tokens: torch.Tensor  # int64 [n]: what was written
    guessable: torch.Tensor  # bool [n]: whether the drafter can guess it at all
    weights: torch.Tensor  # float32 [n]
    known: torch.Tensor  # int64 [m]: which of them have a distribution
    top_tokens: torch.Tensor  # int64 [m, k]
    distribution: torch.Tensor  # float32 [m, k]


def wanted(sample: Sample, table: LabelTable, num_outputs: int) -> Wanted:
    """Of one sample."""
    tokens, weights, rows = sample.tokens[1:], sample.weights[1:], sample.rows[1:]
    places = np.flatnonzero((weights > 0) & ((tokens < num_outputs) | (rows >= 0)))
    rows = rows[places]
    known = np.flatnonzero(rows >= 0)
    chosen = torch.from_numpy(tokens[places].astype(np.int64))
    return Wanted(
        places=torch.from_numpy(places),
        tokens=torch.where(chosen < num_outputs, chosen, 0),
        guessable=chosen < num_outputs,
        weights=torch.from_numpy(weights[places]),
        known=torch.from_numpy(known),
        top_tokens=torch.from_numpy(table.tokens[rows[known]].astype(np.int64)),
        distribution=torch.from_numpy(table.probabilities[rows[known]].astype(np.float32)),
    )


def losses(kind: Loss, logits: torch.Tensor, want: Wanted, token_share: float) -> torch.Tensor:
    """[n], one for each place; `logits` are the drafter's there, float32 [n, outputs]."""
    sums = logits.logsumexp(-1)
    written = (sums - logits.gather(1, want.tokens[:, None])[:, 0]) * want.guessable
    logs = (
        logits[want.known[:, None], want.top_tokens] - sums[want.known, None]
    )  # of Q, for the target's likeliest tokens
    match kind:
        case Loss.DISTRIBUTION:
            by_distribution = _mixed(_forward(want.distribution, logs), written[want.known], token_share)
        case Loss.HYBRID:
            by_distribution = _reverse(want.distribution, logs)
            written = _PIECE_SHARE * written
        case Loss.LK:
            by_distribution = _mixed(_blended(want.distribution, logs), written[want.known], token_share)
    return written.index_copy(0, want.known, by_distribution)


def _mixed(by_distribution: torch.Tensor, written: torch.Tensor, token_share: float) -> torch.Tensor:
    return (1 - token_share) * by_distribution + token_share * written


def _forward(distribution: torch.Tensor, logs: torch.Tensor) -> torch.Tensor:
    return -(distribution * logs).sum(-1)


def _reverse(distribution: torch.Tensor, logs: torch.Tensor) -> torch.Tensor:
    """What the distribution does not name is one outcome more."""
    q = logs.exp() * (distribution > 0)
    rest_q, rest_p = (1 - q.sum(-1)).clamp_min(_LEAST), (1 - distribution.sum(-1)).clamp_min(_LEAST)
    named = (q * (logs - distribution.clamp_min(_LEAST).log())).sum(-1)
    return named + rest_q * (rest_q.log() - rest_p.log())


def _blended(distribution: torch.Tensor, logs: torch.Tensor) -> torch.Tensor:
    accepted = torch.minimum(distribution, logs.exp()).sum(-1)
    share = torch.exp(-_BLEND * accepted.detach())
    return share * _forward(distribution, logs) + (1 - share) * (1 - accepted)
