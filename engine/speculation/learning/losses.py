"""The loss of a drafter, token by token: KL(P‖Q) from the target's distribution P, with a share of −log Q of the token
that was written.

P is a distribution over the drafter's tokens: pushed down onto the trie of strings (see `numerics.acceptance`), it
gives at each node the probabilities of the children, provided that no stop happened there.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import torch

from engine.speculation.learning.samples import LabelTable

_MIN_PROBABILITY = 1e-6


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


def losses(logits: torch.Tensor, want: TrainingPlaces, token_share: float) -> torch.Tensor:
    """The losses, [n], one for each place; `logits` are the drafter's there, float32 [n, outputs]. If the distribution
    is not known, the written token alone counts."""
    sums = logits.logsumexp(-1)
    written = (sums - logits.gather(1, want.tokens[:, None])[:, 0]) * want.guessable
    logs = logits[want.known[:, None], want.top_tokens] - sums[want.known, None]  # of Q
    by_distribution = -(want.distribution * logs).sum(-1)
    mixed = (1 - token_share) * by_distribution + token_share * written[want.known]
    return written.index_copy(0, want.known, mixed)


def drift(logits: torch.Tensor, tokens: torch.Tensor, probabilities: torch.Tensor) -> torch.Tensor:
    """The distance of the drafter from the original O, [n]: KL(O‖Q), as far as O's likeliest tokens go; these and their
    probabilities are [n, k], `logits` as above."""
    logs = logits.gather(1, tokens) - logits.logsumexp(-1, keepdim=True)
    return (probabilities * (probabilities.clamp_min(_MIN_PROBABILITY).log() - logs)).sum(-1)
