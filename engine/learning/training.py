"""Trains the adapter of one drafter, reply by reply."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from engine.drafter.adapter import Adapter
from engine.drafter.model import LlamaWeights
from engine.drafter.shape import LlamaShape
from engine.learning.adapting import AdaptedModel, Check
from engine.learning.losses import Loss, losses, wanted
from engine.learning.samples import MAX_TOKENS, LabelTable, Sample


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


class Training:
    """An adapter, the optimizer that moves it, and the gradients gathered for its next step."""

    def __init__(
        self, shape: LlamaShape, weights: LlamaWeights, settings: TrainingSettings, published: Adapter | None = None
    ) -> None:
        """`weights` are the drafter's own, and only read. It begins as the drafter itself, with additions of the rank
        of `published` if there is one."""
        self._settings = settings
        self._shape = shape
        rank = settings.rank if published is None else published.rank
        self._model = AdaptedModel(shape, weights, rank, MAX_TOKENS, settings.seed)
        self.start_from(self._model.adapter)

    @property
    def adapter(self) -> Adapter:
        """A copy of the adapter as it is now."""
        return self._model.adapter

    def start_from(self, adapter: Adapter) -> None:
        """Goes on from this adapter, of the same rank, with nothing gathered."""
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

    def _step(self) -> None:
        for parameter, gradient in zip(self._model.parameters, self._gradients, strict=True):
            parameter.grad = gradient / self._num_gradients
        torch.nn.utils.clip_grad_norm_(self._model.parameters, 1.0)
        self._optimizer.step()
        self._gradients, self._num_gradients = [], 0
