"""Trains the acceptance head: which of the drafter's likeliest tokens did the target write?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional

from engine.speculation.drafter.model import AcceptanceHead, features
from engine.speculation.learning.adapting import AdaptedModel, Check
from engine.speculation.learning.samples import Sample

_PENALTY = 1e-3  # on the squares of the weights of the state, whose components are scaled to variance 1 / their number
_MAX_STEPS = 60  # those that are cut in half included
_LEAST_CURVATURE = 1e-6  # so that there is a step even where a feature never differs
_NEAR_ENOUGH = 1e-6  # what one more step would gain, twice
_ROWS = 64  # whose logits are in memory at once
_ROWS_AT_ONCE = 1024  # of a product, between two checks
_MIN_TOKENS = 1000


@dataclass(frozen=True, slots=True)
class _Examples:
    """The drafter's likeliest token at n places of replies."""

    states: torch.Tensor  # float32 [n, hidden]
    features: torch.Tensor  # float32 [n, 3]
    accepted: torch.Tensor  # float32 [n]: 1 or 0


def fit_head(
    model: AdaptedModel, samples: Sequence[Sample], judges: Sequence[Sample], check: Check
) -> AcceptanceHead | None:
    """A head for the model as it is now, trained on the replies of `samples`; None if it predicts those of `judges` no
    better than the probability of a token alone."""
    training, held_back = _examples(model, samples, check), _examples(model, judges, check)
    if len(training.accepted) < _MIN_TOKENS or not len(held_back.accepted):
        return None
    simple = _fit(training, check, with_state=False)
    head = _fit(training, check, with_state=True)
    return head if _loss(head, held_back) < _loss(simple, held_back) else None


@torch.no_grad()
def _examples(model: AdaptedModel, samples: Sequence[Sample], check: Check) -> _Examples:
    states, probabilities, accepted = [torch.zeros((0, model.shape.hidden))], [torch.zeros(0)], [torch.zeros(0)]
    for sample in samples:
        states.append(model.states(sample.tokens[:-1].tolist(), check)[sample.reply_start - 1 :])
        rows = [model.logits(part, check).softmax(-1).max(-1) for part in torch.split(states[-1], _ROWS)]
        probabilities += [each.values for each in rows]
        likeliest = torch.cat([each.indices for each in rows])
        accepted.append((likeliest == torch.from_numpy(sample.tokens[sample.reply_start :])).float())
    return _Examples(torch.cat(states), features(torch.cat(probabilities)), torch.cat(accepted))


def _fit(examples: _Examples, check: Check, with_state: bool) -> AcceptanceHead:
    """Fits by Newton's method with steps cut in half where they lead too far. torch's optimizers would import a
    compiler, with 70 MB and seconds of the interpreter's lock."""
    num_features, hidden = examples.features.shape[1], examples.states.shape[1]
    scale = examples.states.std(0).clamp_min(1e-3) * hidden**0.5
    inputs = torch.cat((examples.features, examples.states / scale), 1) if with_state else examples.features
    parts = [*zip(torch.split(inputs, _ROWS_AT_ONCE), torch.split(examples.accepted, _ROWS_AT_ONCE), strict=True)]
    penalties = torch.full((inputs.shape[1],), _PENALTY)
    penalties[:num_features] = 0
    weights, step, best = torch.zeros(inputs.shape[1]), torch.zeros(inputs.shape[1]), float("inf")
    for _ in range(_MAX_STEPS):
        check()
        value = _mean_loss(inputs @ weights, examples.accepted) + float(penalties @ weights.square())
        if value > best:
            step /= 2
            weights = weights + step
            continue
        gradient, curvature = 2 * penalties * weights, torch.diag(2 * penalties + _LEAST_CURVATURE)
        for rows, accepted in parts:
            check()
            chances = (rows @ weights).sigmoid()
            gradient += rows.t() @ (chances - accepted) / len(inputs)
            curvature += (rows * (chances * (1 - chances) / len(inputs))[:, None]).t() @ rows
        check()
        best, step = value, torch.linalg.solve(curvature, gradient)
        if float(gradient @ step) < _NEAR_ENOUGH:
            break
        weights = weights - step
    of_state = weights[num_features:] / scale if with_state else torch.zeros(hidden)
    return AcceptanceHead(of_state, weights[:num_features].clone())


def _loss(head: AcceptanceHead, examples: _Examples) -> float:
    scores = examples.features @ head.of_probability + examples.states @ head.of_state
    return _mean_loss(scores, examples.accepted)


def _mean_loss(scores: torch.Tensor, accepted: torch.Tensor) -> float:
    return float(functional.binary_cross_entropy_with_logits(scores, accepted))
