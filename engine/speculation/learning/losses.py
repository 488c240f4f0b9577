"""The loss of a drafter, token by token, for drafting otherwise than its target.

The target's distribution is one over the drafter's tokens: pushed down onto the trie of strings (see
`numerics.acceptance`), it gives at each node the probabilities of the children, provided that no stop happened there.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import torch

from engine.speculation.learning.samples import LabelTable

_PIECE_SHARE = 0.2  # λ of OmniDraft's hybrid loss
_BLEND = 3.0  # η of the LK blend
_MIN_PROBABILITY = 1e-6


class Loss(StrEnum):
    DISTRIBUTION = "distribution"  # KL(P‖Q), with a share of −log Q of the written token
    HYBRID = "hybrid"  # OmniDraft (arXiv 2507.02659), eq. 3: KL(Q‖P) on single tokens, and λ times −log Q on pieces
    LK = "lk"  # LK losses (arXiv 2602.23881): λ KL(P‖Q) + (1 − λ) TV(P, Q) with λ = exp(−η α), α the acceptance


@dataclass(frozen=True, slots=True)
class TrainingPlaces:
    """What a drafter should predict at n places of one or more samples."""

    places: torch.Tensor  # int64 [n], of the tokens before
    tokens: torch.Tensor  # int64 [n], that were written
    guessable: torch.Tensor  # bool [n]: whether the drafter can guess the token at all
    weights: torch.Tensor  # float32 [n]
    known: torch.Tensor  # int64 [m]: those of the n with a distribution
    top_tokens: torch.Tensor  # int64 [m, k]
    distribution: torch.Tensor  # float32 [m, k]

    def to(self, device: str) -> TrainingPlaces:
        return TrainingPlaces(*(getattr(self, field.name).to(device) for field in fields(self)))

    def part(self, rows: slice) -> TrainingPlaces:
        """What is wanted at some of the n places."""
        chosen = (self.known >= rows.start) & (self.known < rows.stop)
        return TrainingPlaces(
            self.places[rows],
            self.tokens[rows],
            self.guessable[rows],
            self.weights[rows],
            self.known[chosen] - rows.start,
            self.top_tokens[chosen],
            self.distribution[chosen],
        )


def wanted(
    tokens: npt.NDArray[np.integer],
    weights: npt.NDArray[np.float32],
    rows: npt.NDArray[np.int32],
    table: LabelTable,
    num_outputs: int,
) -> TrainingPlaces:
    """The places of one sample, or of several of the same length [samples, length]; then `places` count through the
    samples, without the last token of each."""
    tokens, weights, rows = tokens[..., 1:].ravel(), weights[..., 1:].ravel(), rows[..., 1:].ravel()
    places = np.flatnonzero((weights > 0) & ((tokens < num_outputs) | (rows >= 0)))
    rows = rows[places]
    known = np.flatnonzero(rows >= 0)
    chosen = torch.from_numpy(tokens[places].astype(np.int64))
    return TrainingPlaces(
        places=torch.from_numpy(places),
        tokens=torch.where(chosen < num_outputs, chosen, 0),
        guessable=chosen < num_outputs,
        weights=torch.from_numpy(weights[places]),
        known=torch.from_numpy(known),
        top_tokens=torch.from_numpy(table.tokens[rows[known]].astype(np.int64)),
        distribution=torch.from_numpy(table.probabilities[rows[known]].astype(np.float32)),
    )


def losses(kind: Loss, logits: torch.Tensor, want: TrainingPlaces, token_share: float) -> torch.Tensor:
    """The losses, [n], one for each place; `logits` are the drafter's there, float32 [n, outputs]."""
    sums = logits.logsumexp(-1)
    written = (sums - logits.gather(1, want.tokens[:, None])[:, 0]) * want.guessable
    logs = logits[want.known[:, None], want.top_tokens] - sums[want.known, None]  # of Q
    match kind:
        case Loss.DISTRIBUTION:
            by_distribution = _mixed(_forward(want.distribution, logs), written[want.known], token_share)
        case Loss.HYBRID:
            by_distribution = _reverse(want.distribution, logs)
            written = _PIECE_SHARE * written
        case Loss.LK:
            by_distribution = _mixed(_blended(want.distribution, logs), written[want.known], token_share)
    return written.index_copy(0, want.known, by_distribution)


def drift(logits: torch.Tensor, tokens: torch.Tensor, probabilities: torch.Tensor) -> torch.Tensor:
    """The distance of the drafter from the original O, [n]: KL(O‖Q), as far as O's likeliest tokens go; these and their
    probabilities are [n, k], `logits` as above."""
    logs = logits.gather(1, tokens) - logits.logsumexp(-1, keepdim=True)
    return (probabilities * (probabilities.clamp_min(_MIN_PROBABILITY).log() - logs)).sum(-1)


def _mixed(by_distribution: torch.Tensor, written: torch.Tensor, token_share: float) -> torch.Tensor:
    return (1 - token_share) * by_distribution + token_share * written


def _forward(distribution: torch.Tensor, logs: torch.Tensor) -> torch.Tensor:
    return -(distribution * logs).sum(-1)


def _reverse(distribution: torch.Tensor, logs: torch.Tensor) -> torch.Tensor:
    """The reverse divergence, in which all tokens that the distribution leaves out are one more outcome."""
    q = logs.exp() * (distribution > 0)
    rest_q, rest_p = ((1 - named.sum(-1)).clamp_min(_MIN_PROBABILITY) for named in (q, distribution))
    named = (q * (logs - distribution.clamp_min(_MIN_PROBABILITY).log())).sum(-1)
    return named + rest_q * (rest_q.log() - rest_p.log())


def _blended(distribution: torch.Tensor, logs: torch.Tensor) -> torch.Tensor:
    accepted = torch.minimum(distribution, logs.exp()).sum(-1)
    share = torch.exp(-_BLEND * accepted.detach())
    return share * _forward(distribution, logs) + (1 - share) * (1 - accepted)
