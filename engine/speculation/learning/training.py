"""Trains the adapter of one drafter, reply by reply."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from engine.speculation.drafter.adapter import Adapter, layer_of, matrix_sizes
from engine.speculation.drafter.model import LlamaWeights
from engine.speculation.drafter.shape import LlamaShape
from engine.speculation.learning.adapting import AdaptedModel, Check, never_stop
from engine.speculation.learning.evaluation import chances_from
from engine.speculation.learning.losses import drift, losses, wanted
from engine.speculation.learning.remembered import Remembered
from engine.speculation.learning.samples import MAX_TOKENS, LabelTable, Sample

_MOST_USUAL = 8  # tokens at a place
_MOST = 1.0  # norm of the gradients of a step
_PART = 16  # parameters that a step moves at once: a few milliseconds


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
    def steps(self, gradients: Sequence[torch.Tensor], most: float) -> Iterator[slice]:
        """One step in parts: yields which parameters were moved. Gradients of a norm above `most` are scaled down to
        it."""
        norm = float(torch.stack(torch._foreach_norm(list(gradients))).norm())
        scale = min(1.0, most / (norm + 1e-6))
        self._num_steps += 1
        of_mean, of_square = self._betas
        for first in range(0, len(self._parameters), _PART):
            part = slice(first, first + _PART)
            few, means, squares = (each[part] for each in (self._parameters, self._means, self._squares))
            slopes = torch._foreach_mul(list(gradients[part]), scale)
            torch._foreach_mul_(few, 1 - self._rate * self._decay)
            torch._foreach_lerp_(means, slopes, 1 - of_mean)
            torch._foreach_mul_(squares, of_square)
            torch._foreach_addcmul_(squares, slopes, slopes, 1 - of_square)
            sizes = torch._foreach_sqrt(squares)
            torch._foreach_div_(sizes, (1 - of_square**self._num_steps) ** 0.5)
            torch._foreach_add_(sizes, self._epsilon)
            torch._foreach_addcdiv_(few, means, sizes, -self._rate / (1 - of_mean**self._num_steps))
            yield part


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    rank: int = 32
    learning_rate: float = 1e-3
    token_share: float = 0.2  # of the loss, where the target's distribution is known: the token that it wrote
    batch: int = 2  # samples of an optimizer step
    averaging: float = 0.9  # what a step leaves of the average of those before
    anchor: float = 0.5  # weight of how far the drafter moves from the original, at first
    anchored: tuple[int, int] = (1_500, 15_000)  # tokens learned from, between which it fades by their logarithm
    layers: tuple[tuple[int, int], ...] = ((0, 8), (15_000, 15), (150_000, 1_000))  # by tokens: last ones that learn
    seed: int = 0

    def anchor_after(self, num_tokens: int) -> float:
        begins, ends = self.anchored
        left = math.log(ends / max(1, num_tokens)) / math.log(ends / begins)
        return self.anchor * min(1.0, max(0.0, left))

    def layers_after(self, num_tokens: int) -> int:
        """How many of the last layers are added to."""
        return max(layers for since, layers in self.layers if num_tokens >= since)


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
        self,
        shape: LlamaShape,
        weights: LlamaWeights,
        settings: TrainingSettings,
        adapter: Adapter | None = None,
        num_tokens: int = 0,
    ) -> None:
        """`weights` are the drafter's own, and only read. Goes on from an adapter that learned from so many tokens, or
        from the drafter itself."""
        self._settings = settings
        self._shape, self._weights = shape, weights
        self._begin(adapter, num_tokens)

    @property
    def adapter(self) -> Adapter:
        """A copy of the average of the latest steps."""
        self._finish(never_stop)
        return self._model.as_adapter(self._average)

    @property
    def num_tokens(self) -> int:
        """That were learned from."""
        return self._num_tokens

    def rest(self) -> None:
        self._model.rest()

    def start_over(self) -> None:
        """Begins again with the original drafter."""
        self._begin(None, 0)

    def count(self, num_tokens: int) -> None:
        """So many more tokens are learned from: the more there are, the more layers learn, and the further they may
        move from the original."""
        layers = self._settings.layers_after(self._num_tokens)
        self._num_tokens += num_tokens
        if min(self._settings.layers_after(self._num_tokens), self._shape.num_layers) > layers:
            self._begin(self.adapter, self._num_tokens)

    def _begin(self, adapter: Adapter | None, num_tokens: int) -> None:
        self._num_tokens = num_tokens
        shape, rank, known = self._shape, self._settings.rank, set[str]()
        if adapter is not None:
            known, rank = {*adapter.parts}, max(rank, adapter.rank)
        first = shape.num_layers - self._settings.layers_after(num_tokens)
        names = known | {name for name in matrix_sizes(shape) if first <= layer_of(name, shape) < shape.num_layers}
        self._model = AdaptedModel(shape, self._weights, rank, MAX_TOKENS, self._settings.seed, names=names)
        self._model.start_from(adapter)
        self._optimizer = AdamW(self._model.parameters, self._settings.learning_rate)
        self._average = [parameter.detach().clone() for parameter in self._model.parameters]
        self._num_steps = 0
        self._gradients: list[torch.Tensor] = []
        self._num_gradients = 0
        self._step: Iterator[None] = iter(())  # the rest of the latest one

    def read(self, example: Example, check: Check) -> None:
        """Learns from one reply. `check` is called often and may raise: then nothing of it counts."""
        self._finish(check)
        sample = example.sample
        want = wanted(sample.tokens, sample.weights, sample.rows, example.table, self._shape.outputs)
        if not len(want.places):
            return
        total, num_places = float(want.weights.sum()), len(want.places)
        anchor = self._settings.anchor_after(self._num_tokens)
        if anchor and example.usual is None:
            example.usual = self._usual(sample, want.places, check)
        usual = example.usual

        def loss(logits: torch.Tensor, rows: slice) -> torch.Tensor:
            part = want.part(rows)
            found = (losses(logits, part, self._settings.token_share) * part.weights).sum() / total
            if not anchor or usual is None:
                return found
            moved = drift(logits, usual.tokens[rows].long(), usual.probabilities[rows].float())
            return found + anchor * moved.sum() / num_places

        value, gradients = self._model.gradients(sample.tokens[:-1].tolist(), want.places, loss, check)
        if not math.isfinite(value):
            return
        if self._gradients:
            torch._foreach_add_(self._gradients, gradients)
        else:
            self._gradients = gradients
        self._num_gradients += 1
        if self._num_gradients >= self._settings.batch:
            self._step = self._steps()

    def chances(
        self,
        adapters: Sequence[Adapter | None],
        sample: Sample,
        table: LabelTable,
        remembered: Remembered,
        temperature: float,
        check: Check,
    ) -> list[npt.NDArray[np.float64]]:
        """What `evaluation.chances_from` returns for the drafter with each adapter; None: for the original one."""
        states = self._model.states_of(adapters, sample.tokens[:-1].tolist(), check)
        found: dict[int, npt.NDArray[np.float64]] = {}
        for adapter, of_adapter in zip(adapters, states, strict=True):
            if id(adapter) not in found:
                model = self._model.carrying(adapter)
                found[id(adapter)] = chances_from(model, of_adapter, sample, table, remembered, temperature, check)
        return [found[id(adapter)] for adapter in adapters]

    @torch.no_grad()
    def _usual(self, sample: Sample, places: torch.Tensor, check: Check) -> Usual:
        original = self._model.carrying(None)
        states = original.states(sample.tokens[:-1].tolist(), check)[places]
        parts = [few.softmax(-1).topk(_MOST_USUAL) for _, few in original.logits_by_rows(states, check)]
        tokens, probabilities = (torch.cat([part[at] for part in parts]) for at in (1, 0))
        return Usual(tokens.int(), probabilities.half())

    def _finish(self, check: Check) -> None:
        """What is left of a step, which also goes on after `check` raised."""
        check()
        for _ in self._step:
            check()

    @torch.no_grad()
    def _steps(self) -> Iterator[None]:
        """In parts of a few milliseconds."""
        gradients = torch._foreach_div(self._gradients, self._num_gradients)
        self._gradients, self._num_gradients = [], 0
        self._num_steps += 1
        share = max(1 - self._settings.averaging, 3 / (4 + self._num_steps))  # so that the first steps count little
        for part in self._optimizer.steps(gradients, _MOST):
            torch._foreach_lerp_(self._average[part], [each.detach() for each in self._model.parameters[part]], share)
            yield
