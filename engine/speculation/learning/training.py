"""Trains the adapter of one drafter, reply by reply."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from engine.speculation.drafter.adapter import Adapter, layer_of, matrix_sizes
from engine.speculation.drafter.model import LlamaWeights
from engine.speculation.drafter.shape import LlamaShape
from engine.speculation.learning.adapting import AdaptedModel, Check
from engine.speculation.learning.evaluation import chances
from engine.speculation.learning.losses import drift, losses, wanted
from engine.speculation.learning.remembered import Remembered
from engine.speculation.learning.samples import MAX_TOKENS, LabelTable, Sample

_MOST_USUAL = 8  # tokens at a place
_ROWS = 32  # of a vocabulary's size that are held at a time, and computed between two checks
_MOST = 1.0  # norm of the gradients of a step


class AdamW:
    def __init__(
        self,
        parameters: Sequence[torch.Tensor],
        learning_rate: float,
        betas: tuple[float, float] = (0.9, 0.99),
        decay: float = 0.01,
        epsilon: float = 1e-8,
    ) -> None:
        self._parameters = list(parameters)
        self._rate, self._betas, self._decay, self._epsilon = learning_rate, betas, decay, epsilon
        self._means = [torch.zeros_like(each) for each in self._parameters]
        self._squares = [torch.zeros_like(each) for each in self._parameters]
        self._num_steps = 0

    @torch.no_grad()
    def step(self, gradients: Sequence[torch.Tensor], most: float) -> None:
        """Gradients of a norm above `most` are scaled down to it."""
        norm = float(torch.stack(torch._foreach_norm(list(gradients))).norm())
        gradients = torch._foreach_mul(list(gradients), min(1.0, most / (norm + 1e-6)))
        self._num_steps += 1
        of_mean, of_square = self._betas
        torch._foreach_mul_(self._parameters, 1 - self._rate * self._decay)
        torch._foreach_lerp_(self._means, gradients, 1 - of_mean)
        torch._foreach_mul_(self._squares, of_square)
        torch._foreach_addcmul_(self._squares, gradients, gradients, 1 - of_square)
        sizes = torch._foreach_sqrt(self._squares)
        torch._foreach_div_(sizes, (1 - of_square**self._num_steps) ** 0.5)
        torch._foreach_add_(sizes, self._epsilon)
        torch._foreach_addcdiv_(self._parameters, self._means, sizes, -self._rate / (1 - of_mean**self._num_steps))


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    rank: int = 8
    learning_rate: float = 1e-3
    token_share: float = 0.2  # of the loss, where the target's distribution is known: the token that it wrote
    batch: int = 2  # replies of an optimizer step
    averaging: float = 0.9  # what a step leaves of the average of those before
    anchor: float = 0.5  # weight of how far the drafter moves from the original
    strength: float = 0.5  # the share of what was learned that is added
    layers: int = 15  # the last ones of a drafter, which are added to
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Usual:
    """What the original drafter makes of the n places of a lesson: its k likeliest tokens."""

    tokens: torch.Tensor  # int32 [n, k]
    probabilities: torch.Tensor  # float16 [n, k]


@dataclass(slots=True, eq=False)
class Example:
    """A lesson in the drafter's tokens."""

    number: int
    sample: Sample
    table: LabelTable
    usual: Usual | None = None  # once it was read

    @property
    def num_tokens(self) -> int:
        return len(self.sample.tokens) - self.sample.reply_start


class Training:
    """An adapter, the optimizer that moves it, and the gradients gathered for its next step."""

    def __init__(
        self, shape: LlamaShape, weights: LlamaWeights, settings: TrainingSettings, published: Adapter | None = None
    ) -> None:
        """`weights` are the drafter's own, and only read. Goes on from `published`, or from the drafter itself."""
        self._settings = settings
        self._shape = shape
        upper = range(shape.num_layers - settings.layers, shape.num_layers)
        names = {name for name in matrix_sizes(shape) if layer_of(name, shape) in upper}
        rank = settings.rank
        if published is not None:
            names, rank = names | published.parts.keys(), published.rank
        self._model = AdaptedModel(shape, weights, rank, MAX_TOKENS, settings.seed, names=names)
        self.start_from(published)

    @property
    def adapter(self) -> Adapter:
        """A copy of the average of the latest steps, at the strength that is wanted."""
        return self._model.as_adapter(self._average).times(self._settings.strength)

    def rest(self) -> None:
        self._model.rest()

    def start_from(self, adapter: Adapter | None) -> None:
        """Goes on from this adapter, of the same rank, or from the original drafter, with nothing gathered."""
        self._model.start_from(adapter and adapter.times(1 / self._settings.strength))
        self._optimizer = AdamW(self._model.parameters, self._settings.learning_rate)
        self._average = [parameter.detach().clone() for parameter in self._model.parameters]
        self._num_steps = 0
        self._gradients: list[torch.Tensor] = []
        self._num_gradients = 0

    def read(self, example: Example, check: Check) -> None:
        """Learns from one reply. `check` is called often and may raise: then nothing changes."""
        sample = example.sample
        want = wanted(sample.tokens, sample.weights, sample.rows, example.table, self._shape.outputs)
        if not len(want.places):
            return
        total, num_places = float(want.weights.sum()), len(want.places)
        if example.usual is None:
            example.usual = self._usual(sample, want.places, check)
        usual = example.usual

        def loss(logits: torch.Tensor, rows: slice) -> torch.Tensor:
            part = want.part(rows)
            found = losses(logits, part, self._settings.token_share)
            moved = drift(logits, usual.tokens[rows].long(), usual.probabilities[rows].float())
            return (found * part.weights).sum() / total + self._settings.anchor * moved.sum() / num_places

        value, gradients = self._model.gradients(sample.tokens[:-1].tolist(), want.places, loss, check)
        if not math.isfinite(value):
            return
        if self._gradients:
            torch._foreach_add_(self._gradients, gradients)
        else:
            self._gradients = gradients
        self._num_gradients += 1
        if self._num_gradients >= self._settings.batch:
            self._step()

    def chances(
        self,
        adapter: Adapter | None,
        sample: Sample,
        table: LabelTable,
        remembered: Remembered,
        temperature: float,
        check: Check,
    ) -> npt.NDArray[np.float64]:
        """Calls `evaluation.chances` for the drafter with that adapter, or the original one."""
        return chances(self._model.carrying(adapter), sample, table, remembered, temperature, check)

    @torch.no_grad()
    def _usual(self, sample: Sample, places: torch.Tensor, check: Check) -> Usual:
        original = self._model.carrying(None)
        states = original.states(sample.tokens[:-1].tolist(), check)[places]
        parts = [original.logits(rows, check).softmax(-1).topk(_MOST_USUAL) for rows in torch.split(states, _ROWS)]
        tokens, probabilities = (torch.cat([part[at] for part in parts]) for at in (1, 0))
        return Usual(tokens.int(), probabilities.half())

    def _step(self) -> None:
        torch._foreach_div_(self._gradients, self._num_gradients)
        self._optimizer.step(self._gradients, _MOST)
        self._gradients, self._num_gradients = [], 0
        self._num_steps += 1
        share = max(1 - self._settings.averaging, 3 / (4 + self._num_steps))  # so that the first steps count little
        torch._foreach_lerp_(self._average, [each.detach() for each in self._model.parameters], share)
