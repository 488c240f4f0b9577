"""Teaches the acceptance head: which of the drafter's likeliest tokens the target wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional

from engine.drafter.model import AcceptanceHead, features
from engine.learning.adapting import AdaptedModel, Check
from engine.learning.samples import Sample

_PENALTY = 1e-3  # of the squares of the weights of the state, whose parts count as of variance 1 / their number
_MOST_STEPS = 60
_FEWEST_GUESSES = 1000


@dataclass(frozen=True, slots=True)
class _Guesses:
    states: torch.Tensor  # float32 [guesses, hidden]
    features: torch.Tensor  # float32 [guesses, 3]
    stood: torch.Tensor  # float32 [guesses]: 1 or 0


def fit_head(
    model: AdaptedModel, samples: Sequence[Sample], judges: Sequence[Sample], check: Check
) -> AcceptanceHead | None:
    """One for the model as it is now, from the replies of `samples`; None where it tells less about those of `judges`
    than the probability of a guess alone."""
    known, unknown = _guesses(model, samples, check), _guesses(model, judges, check)
    if len(known.stood) < _FEWEST_GUESSES or not len(unknown.stood):
        return None
    simple = _fit(known, check, with_state=False)
    head = _fit(known, check, with_state=True)
    return head if _surprise(head, unknown) < _surprise(simple, unknown) else None


@torch.no_grad()
def _guesses(model: AdaptedModel, samples: Sequence[Sample], check: Check) -> _Guesses:
    states, probabilities, stood = [], [], []
    for sample in samples:
        own = model.states(sample.tokens[:-1].tolist(), check)[sample.reply_start - 1 :]
        likeliest, tokens = model.logits(own, check).softmax(-1).max(-1)
        states.append(own)
        probabilities.append(likeliest)
        stood.append((tokens == torch.from_numpy(sample.tokens[sample.reply_start :])).float())
    if not samples:
        empty = torch.zeros(0)
        return _Guesses(torch.zeros((0, model.shape.hidden)), features(empty), empty)
    return _Guesses(torch.cat(states), features(torch.cat(probabilities)), torch.cat(stood))


def _fit(guesses: _Guesses, check: Check, with_state: bool) -> AcceptanceHead:
    """By L-BFGS: some ten thousand guesses take half a second."""
    scale = guesses.states.std(0).clamp_min(1e-3) * guesses.states.shape[1] ** 0.5
    inputs = torch.cat((guesses.features, guesses.states / scale), 1) if with_state else guesses.features
    weights = torch.zeros(inputs.shape[1], requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=_MOST_STEPS, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        check()
        optimizer.zero_grad()
        found = functional.binary_cross_entropy_with_logits(inputs @ weights, guesses.stood)
        found = found + _PENALTY * weights[guesses.features.shape[1] :].square().sum()
        found.backward()  # type: ignore[no-untyped-call]
        return found

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    found = weights.detach()
    of_state = found[guesses.features.shape[1] :] / scale if with_state else torch.zeros(guesses.states.shape[1])
    return AcceptanceHead(of_state, found[: guesses.features.shape[1]].clone())


def _surprise(head: AcceptanceHead, guesses: _Guesses) -> float:
    """Logarithmic loss, for each guess."""
    scores = guesses.features @ head.of_probability + guesses.states @ head.of_state
    return float(functional.binary_cross_entropy_with_logits(scores, guesses.stood))
