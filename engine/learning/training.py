"""Trains the adapter of one drafter, reply by reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

from engine.drafter.adapter import Adapter
from engine.drafter.model import LlamaWeights
from engine.drafter.shape import LlamaShape
from engine.learning.acceptance_head import fit_head
from engine.learning.adapting import AdaptedModel, Check
from engine.learning.evaluation import chances
from engine.learning.losses import Loss, losses, wanted
from engine.learning.samples import MAX_TOKENS, LabelTable, Sample

_JUDGES_OF_HEAD = 4  # one of so many replies tells whether an acceptance head is better than none


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    rank: int = 32
    learning_rate: float = 3e-4
    loss: Loss = Loss.DISTRIBUTION
    token_share: float = 0.2  # of the loss, where the target's distribution is known: the token that it wrote
    batch: int = 8  # replies of an optimizer step
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """A lesson in the drafter's tokens."""

    number: int
    sample: Sample
    table: LabelTable

    @property
    def num_tokens(self) -> int:
        """Of the reply."""
        return len(self.sample.tokens) - self.sample.reply_start


class Training:
    """An adapter, the optimizer that moves it, and the gradients gathered for its next step."""

    def __init__(
        self, shape: LlamaShape, weights: LlamaWeights, settings: TrainingSettings, published: Adapter | None = None
    ) -> None:
        """`weights` are the drafter's own, and only read. It goes on from `published`, or from the drafter itself."""
        self._settings = settings
        self._shape = shape
        rank = settings.rank if published is None else published.rank
        self._model = AdaptedModel(shape, weights, rank, MAX_TOKENS, settings.seed)
        self.start_from(published)

    @property
    def adapter(self) -> Adapter:
        """A copy of the adapter as it is now."""
        return self._model.adapter

    def start_from(self, adapter: Adapter | None) -> None:
        """Goes on from this adapter, of the same rank, or from the original drafter, with nothing gathered."""
        self._model.start_from(adapter)
        self._optimizer = torch.optim.AdamW(
            self._model.parameters, lr=self._settings.learning_rate, betas=(0.9, 0.99), weight_decay=0.01
        )
        self._gradients: list[torch.Tensor] = []
        self._num_gradients = 0

    def read(self, example: Example, check: Check) -> None:
        """Learns from one reply. `check` is called often and may raise: then nothing changes."""
        sample = example.sample
        want = wanted(sample.tokens, sample.weights, sample.rows, example.table, self._shape.outputs)
        if not len(want.places):
            return
        states = self._model.states(sample.tokens[:-1].tolist(), check)
        logits = self._model.logits(states[want.places], check)
        each = losses(self._settings.loss, logits, want, self._settings.token_share)
        loss = (each * want.weights).sum() / want.weights.sum()
        gradients = torch.autograd.grad(loss, self._model.parameters)  # all of them or, if `check` raises, none
        if not bool(torch.isfinite(loss)):
            return
        if self._gradients:
            torch._foreach_add_(self._gradients, list(gradients))
        else:
            self._gradients = list(gradients)
        self._num_gradients += 1
        if self._num_gradients >= self._settings.batch:
            self._step()

    def chances(
        self, adapter: Adapter | None, sample: Sample, table: LabelTable, temperature: float, check: Check
    ) -> npt.NDArray[np.float64]:
        """As `evaluation.chances`, for the drafter with that adapter, or as it came."""
        return chances(self._model.carrying(adapter), sample, table, temperature, check)

    def finished(self, samples: Sequence[Sample], check: Check) -> Adapter:
        """The adapter as it is now, with an acceptance head made from these replies, the oldest first."""
        num_judges = len(samples) // _JUDGES_OF_HEAD
        head = fit_head(self._model, samples[num_judges:], samples[:num_judges], check)
        return replace(self.adapter, head=head)

    def _step(self) -> None:
        for parameter, gradient in zip(self._model.parameters, self._gradients, strict=True):
            parameter.grad = gradient / self._num_gradients
        torch.nn.utils.clip_grad_norm_(self._model.parameters, 1.0)
        self._optimizer.step()
        self._gradients, self._num_gradients = [], 0
