"""Teaches a drafter what its target writes for this user: an adapter, trained on the latest replies and on older ones,
and published only when replies that it did not learn from are guessed better with it.

It follows OmniDraft's online training (arXiv 2507.02659, algorithm 2) and adds what that lacks: replay, so that old
topics stay, a slice of the latest replies held back to judge by, and a way back. All of it is synchronous and in small
steps; whoever drives it decides when.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch

from engine.drafter.adapter import Adapter, adapted
from engine.drafter.model import LlamaShape, LlamaWeights
from engine.learning.acceptance import fit_head
from engine.learning.adapting import AdaptedModel, Check
from engine.learning.corpus import CorpusLesson
from engine.learning.evaluation import accepted_per_round
from engine.learning.labels import Labels
from engine.learning.losses import Loss, losses, wanted
from engine.learning.samples import MOST_TOKENS, LabelTable, Sample, SampleMaker
from engine.messages.conversations import ChatTurn
from engine.messages.learned import VerifiedReply


def give_back_unused() -> None:
    """Returns freed memory to the system, in milliseconds: passes over sequences of other lengths leave holes that
    glibc keeps, a megabyte each. Does nothing where the C library has no such function."""
    _trim()(0)


@lru_cache(maxsize=1)
def _trim() -> Callable[[int], object]:
    try:
        trim: Callable[[int], object] = ctypes.CDLL(None).malloc_trim
    except (OSError, TypeError, AttributeError):  # TypeError: on Windows there is no library without a name
        return lambda _pad: None
    return trim


@dataclass(frozen=True, slots=True)
class LearnerSettings:
    rank: int = 32
    learning_rate: float = 3e-4
    loss: Loss = Loss.DISTRIBUTION
    token_share: float = 0.2  # of the loss, where the target's distribution is known: the token it wrote
    batch: int = 8  # replies of an optimizer step
    replies_per_lesson: int = 8  # that are read for each reply that is new, at first: itself, and others once more
    most_replies_per_lesson: int = 16  # while that brings something; while it does not, ever fewer
    judge_every: int = 8  # replies that are new
    most_tokens: int = 200_000  # that are kept to learn from
    seed: int = 0


_HELD_BACK_EVERY = 5  # one of so many numbers is of a reply to judge by: the same ones after a restart
_MOST_HELD_BACK = 24  # beyond, the oldest of them is learned from
_FEWEST_HELD_BACK = 4  # are needed for a judgement
_NEWEST = 16  # replies that half of what is read comes from
_TAUGHT_HEAD = 64  # replies that the acceptance head learns from
_READ_BETWEEN_SWEEPS = 8  # replies
_FEWEST_READS = 2  # for each reply that is new
_FAILURES = 4  # judgements in a row that were for nothing; then it starts from what is published


@dataclass(frozen=True, slots=True, eq=False)
class _Example:
    """A lesson in the drafter's tokens."""

    number: int
    sample: Sample
    table: LabelTable


@dataclass(frozen=True, slots=True)
class Trial:
    """What a judgement found: tokens accepted for each round, over the replies that were held back."""

    base: float  # of the drafter without an adapter
    published: float  # of what is in use
    candidate: float
    num_replies: int
    adapter: Adapter | None  # what is to be used from now on, where that changed; an empty one: the drafter itself
    is_return: bool = False  # whether that is what was used before


@dataclass(frozen=True, slots=True, eq=False)
class _Tried:
    """An adapter, and what was found on replies held back, by number."""

    adapter: Adapter
    scores: dict[int, float] = field(default_factory=dict)


class Learner:
    """Used by one thread at a time."""

    def __init__(
        self,
        shape: LlamaShape,
        weights: LlamaWeights,
        maker: SampleMaker,
        settings: LearnerSettings = LearnerSettings(),
        published: Adapter | None = None,
    ) -> None:
        """`weights` are the drafter's own, and only read; `published` is what it learned before."""
        self._settings = settings
        self._maker = maker
        self._shape = shape
        self._weights = weights
        rank = settings.rank if published is None else published.rank
        self._model = AdaptedModel(shape, weights, rank, MOST_TOKENS, settings.seed)
        self._base = self._published = self._previous = _Tried(self._model.adapter)
        if published is not None:
            self._published = _Tried(published)
            self._model.take(published)
        self._optimizer = self._new_optimizer()
        self._random = np.random.default_rng(settings.seed)
        self._kept: dict[int, _Example] = {}  # to learn from, oldest first
        self._held_back: dict[int, _Example] = {}  # to judge by
        self._reads = settings.replies_per_lesson
        self._num_due = 0  # replies that are still to be read
        self._num_read = 0  # since the last judgement
        self._num_failed = 0
        self._gradients: list[torch.Tensor] = []
        self._num_gradients = 0

    @property
    def has_work(self) -> bool:
        return (self._num_due > 0 and bool(self._kept)) or self._is_trial_due

    @property
    def adapters(self) -> tuple[Adapter, ...]:
        """Those that it may go back to: as the drafter came, what was used before, and what is used."""
        return self._base.adapter, self._previous.adapter, self._published.adapter

    def take(self, number: int, turns: Sequence[ChatTurn], reply: VerifiedReply, is_new: bool = True) -> None:
        """A reply and the turns it answers; later ones have higher numbers. One that is not new was learned from
        already: it is read again only beside new ones. One that is known is left alone."""
        if number in self._kept or number in self._held_back:
            return
        said = self._maker.is_said(reply.tokens)
        ids = np.concatenate([np.zeros(1, np.int32), reply.tokens[said]])
        lesson = CorpusLesson(number, tuple(turns), ids, 1)
        samples, table = self._maker.make([lesson], {number: Labels(reply.top_tokens[said], reply.top_logs[said])})
        if samples:
            self._keep(_Example(number, samples[0], table))
            self._num_due += self._reads if is_new else 0

    def _keep(self, example: _Example) -> None:
        if example.number % _HELD_BACK_EVERY == 0:
            self._held_back[example.number] = example
            if len(self._held_back) > _MOST_HELD_BACK:
                oldest = self._held_back.pop(min(self._held_back))
                self._kept = {oldest.number: oldest, **self._kept}  # among the older ones
        else:
            self._kept[example.number] = example
        self._forget_some()

    def forget(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._kept.pop(number, None)
            self._held_back.pop(number, None)

    def work(self, check: Check) -> Trial | None:
        """Reads one reply, or judges; what a judgement found. `check` is called often and may raise: what was under way
        is then begun anew the next time."""
        if self._is_trial_due:
            trial = self._judge(check)
            self._num_read = 0
            give_back_unused()
            return trial
        self._read(self._choose(), check)
        self._num_due -= 1
        self._num_read += 1
        if self._num_read % _READ_BETWEEN_SWEEPS == 0:
            give_back_unused()
        return None

    @property
    def _is_trial_due(self) -> bool:
        is_much = self._num_read >= self._settings.judge_every * self._reads
        return is_much and len(self._held_back) >= _FEWEST_HELD_BACK

    def _choose(self) -> _Example:
        numbers = list(self._kept)
        newest = numbers[-_NEWEST:]
        chosen = newest if self._random.random() < 0.5 else numbers
        return self._kept[chosen[int(self._random.integers(len(chosen)))]]

    def _read(self, example: _Example, check: Check) -> None:
        want = wanted(example.sample, example.table, self._shape.outputs)
        if not len(want.places):
            return
        states = self._model.states(example.sample.tokens[:-1].tolist(), check)
        logits = self._model.logits(states[want.places], check)
        each = losses(self._settings.loss, logits, want, self._settings.token_share)
        loss = (each * want.weights).sum() / want.weights.sum()
        gradients = torch.autograd.grad(loss, self._model.parameters)  # all of them or, where `check` raises, none
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

    def _judge(self, check: Check) -> Trial:
        candidate = _Tried(self._model.adapter)
        tried = {id(each): each for each in (self._base, self._previous, self._published, candidate)}
        found = {number: self._scores(each, check) for number, each in tried.items()}
        published = found[id(self._published)]
        chosen, is_return = None, False
        if _is_better(found[id(candidate)], published):
            chosen = _Tried(self._with_head(candidate.adapter, check), candidate.scores)
            self._previous, self._num_failed = self._published, 0
            self._reads = min(2 * self._reads, self._settings.most_replies_per_lesson)
        else:
            self._num_failed += 1
            self._reads = max(_FEWEST_READS, self._reads // 2)
            for earlier in (self._previous, self._base):
                if earlier is not self._published and _is_better(found[id(earlier)], published):
                    chosen, is_return = earlier, True
                    break
            if is_return or self._num_failed >= _FAILURES:
                self._start_from((chosen or self._published).adapter)
        trial = Trial(
            base=float(found[id(self._base)].mean()),
            published=float(published.mean()),
            candidate=float(found[id(candidate)].mean()),
            num_replies=len(self._held_back),
            adapter=None if chosen is None else chosen.adapter,
            is_return=is_return,
        )
        self._published = chosen or self._published
        return trial

    def _with_head(self, adapter: Adapter, check: Check) -> Adapter:
        latest = [example.sample for example in list(self._kept.values())[-_TAUGHT_HEAD:]]
        judges = [example.sample for example in self._held_back.values()]
        return replace(adapter, head=fit_head(self._as_used(adapter, check), latest, judges, check))

    def _as_used(self, adapter: Adapter, check: Check) -> AdaptedModel:
        """The drafter as it would run: with the adapter in its matrices, rounded as they are."""
        return AdaptedModel(self._shape, adapted(self._weights, adapter, check), 1, MOST_TOKENS, check=check)

    def _start_from(self, adapter: Adapter) -> None:
        self._model.take(adapter)
        self._optimizer = self._new_optimizer()
        self._gradients, self._num_gradients, self._num_failed = [], 0, 0

    def _scores(self, tried: _Tried, check: Check) -> npt.NDArray[np.float64]:
        """Tokens accepted for each round, for each reply held back; those found before are not looked at again."""
        unknown = [number for number in self._held_back if number not in tried.scores]
        if unknown:
            model = self._as_used(tried.adapter, check)
            give_back_unused()
            for number in unknown:
                tried.scores[number] = _score(model, self._held_back[number].sample, check)
        return np.array([tried.scores[number] for number in self._held_back])

    def _new_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(
            self._model.parameters, lr=self._settings.learning_rate, betas=(0.9, 0.99), weight_decay=0.01
        )

    def _forget_some(self) -> None:
        """Beyond the bound, any of the older replies leaves: what is kept thins out with age, and never ends."""
        while sum(len(example.sample.tokens) for example in self._kept.values()) > self._settings.most_tokens:
            old = list(self._kept)[:-_NEWEST]
            if not old:
                return
            del self._kept[old[int(self._random.integers(len(old)))]]


@torch.no_grad()
def _score(model: AdaptedModel, sample: Sample, check: Check) -> float:
    states = model.states(sample.tokens[:-1].tolist(), check)[sample.reply_start - 1 :]
    guesses = model.logits(states, check).argmax(-1).numpy()
    return accepted_per_round(guesses == sample.tokens[sample.reply_start :])


def _is_better(these: npt.NDArray[np.float64], those: npt.NDArray[np.float64]) -> bool:
    """Reply by reply: by more than half the standard error of the difference, which chance alone makes one time in
    three. What was not better after all does worse on later replies, and is returned from."""
    difference = these - those
    error = float(difference.std(ddof=1)) / len(difference) ** 0.5
    return bool(difference.mean() > max(error / 2, 1e-6))
