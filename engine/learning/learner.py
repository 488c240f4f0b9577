"""Teaches a drafter what its target writes for this user: an adapter, trained on the latest replies and on older ones,
and published only if it drafts better on replies that it did not learn from.

It follows OmniDraft's online training (arXiv 2507.02659, algorithm 2) and adds replay, so that old topics are not
forgotten, some of the latest replies held back to judge by, and a rollback. It is synchronous and in small steps; its
driver decides when.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import torch

from engine.drafter.adapter import Adapter, adapted
from engine.drafter.model import LlamaWeights
from engine.drafter.shape import LlamaShape
from engine.learning.acceptance_head import fit_head
from engine.learning.adapting import AdaptedModel, Check
from engine.learning.evaluation import accepted_per_round
from engine.learning.samples import MAX_TOKENS, CorpusLesson, Labels, Sample, SampleMaker
from engine.learning.training import Example, Training, TrainingSettings
from engine.memory import return_free_memory
from engine.messages.conversations import ChatTurn
from engine.messages.learned import VerifiedReply


@dataclass(frozen=True, slots=True)
class LearnerSettings:
    training: TrainingSettings = TrainingSettings()
    replies_per_lesson: int = 8  # that are read for each new reply, at first: the reply itself, and older ones again
    max_replies_per_lesson: int = 16  # while adapters get better; otherwise ever fewer are read
    judge_every: int = 8  # new replies
    max_tokens: int = 200_000  # of the replies to learn from


_HELD_BACK_EVERY = 5  # one of so many numbers is of a reply to judge by: the same ones after a restart
_MAX_HELD_BACK = 24  # beyond that, the oldest of them is learned from
_MIN_HELD_BACK = 4  # for a judgement
_NUM_NEWEST = 16  # replies, from which every second reply that is read is chosen
_NUM_FOR_HEAD = 64  # replies that the acceptance head learns from
_READS_BETWEEN_SWEEPS = 8  # until free memory is returned
_MIN_READS = 2  # for each new reply
_MAX_FAILURES = 4  # judgements in a row without a better adapter; then it starts from the published one


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a judgement: tokens accepted per round on the replies that were held back."""

    base: float  # of the original drafter
    published: float  # of the adapter in use
    candidate: float
    num_replies: int
    adapter: Adapter | None = None  # to use from now on, where that changed; one without effect: the original drafter
    is_rollback: bool = False  # whether it is an earlier adapter


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """An adapter, and its scores on replies held back, by number."""

    adapter: Adapter
    scores: dict[int, float] = field(default_factory=dict)


class Learner:
    """Trains one drafter for one target. Replies are handed to it and read in small steps of work; every so often a
    step judges the adapter that came of it. Used by one thread at a time."""

    def __init__(
        self,
        shape: LlamaShape,
        weights: LlamaWeights,
        maker: SampleMaker,
        settings: LearnerSettings = LearnerSettings(),
        published: Adapter | None = None,
    ) -> None:
        """`weights` are the drafter's own, and only read; `published` is the adapter to continue from."""
        self._settings = settings
        self._maker = maker
        self._shape = shape
        self._weights = weights
        self._training = Training(shape, weights, settings.training, published)
        self._base = self._published = self._previous = _Scored(self._training.adapter)
        self._random = np.random.default_rng(settings.training.seed)
        self._examples: dict[int, Example] = {}  # to learn from, oldest first
        self._held_back: dict[int, Example] = {}  # to judge by
        self._reads = settings.replies_per_lesson
        self._num_due = 0  # replies to read
        self._num_read = 0  # since the last judgement
        self._num_failed = 0
        if published is not None:
            self._published = _Scored(published)
        self._start_from(self._published.adapter)
        return_free_memory()  # of the learner before this one

    @property
    def has_work(self) -> bool:
        return (self._num_due > 0 and bool(self._examples)) or self._is_trial_due

    @property
    def adapters(self) -> tuple[Adapter, ...]:
        """Those that a rollback may return to: none (the original drafter), the one used before, and the one in use."""
        return self._base.adapter, self._previous.adapter, self._published.adapter

    def take(self, number: int, turns: Sequence[ChatTurn], reply: VerifiedReply, is_new: bool = True) -> None:
        """A reply and the turns it answers; later ones have higher numbers. One that is not new was learned from
        before: it is read again only beside new ones. One that is known is ignored."""
        if number in self._examples or number in self._held_back:
            return
        visible = self._maker.visible(reply.tokens)
        ids = np.concatenate([np.zeros(1, np.int32), reply.tokens[visible]])
        lesson = CorpusLesson(number, tuple(turns), ids, 1)
        labels = Labels(reply.top_tokens[visible], reply.top_logs[visible])
        samples, table = self._maker.make([lesson], {number: labels})
        if samples:
            self._add(Example(number, samples[0], table))
            self._num_due += self._reads if is_new else 0

    def _add(self, example: Example) -> None:
        if example.number % _HELD_BACK_EVERY == 0:
            self._held_back[example.number] = example
            if len(self._held_back) > _MAX_HELD_BACK:
                oldest = self._held_back.pop(min(self._held_back))
                self._examples = {oldest.number: oldest, **self._examples}  # among the older ones
        else:
            self._examples[example.number] = example
        self._thin_out()

    def rest(self) -> None:
        """Gives back memory: nothing is to be learned for a while."""
        self._training.rest()
        return_free_memory()

    def forget(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._examples.pop(number, None)
            self._held_back.pop(number, None)

    def work(self, check: Check) -> Trial | None:
        """Reads one reply, or judges and returns the outcome. `check` is called often and may raise: the step is then
        begun anew the next time."""
        if self._is_trial_due:
            trial = self._judge(check)
            self._num_read = 0
            return_free_memory()
            return trial
        self._training.read(self._choose(), check)
        self._num_due -= 1
        self._num_read += 1
        if self._num_read % _READS_BETWEEN_SWEEPS == 0:
            return_free_memory()
        return None

    @property
    def _is_trial_due(self) -> bool:
        is_much = self._num_read >= self._settings.judge_every * self._reads
        return is_much and len(self._held_back) >= _MIN_HELD_BACK

    def _choose(self) -> Example:
        numbers = list(self._examples)
        pool = numbers[-_NUM_NEWEST:] if self._random.random() < 0.5 else numbers
        return self._examples[pool[int(self._random.integers(len(pool)))]]

    def _judge(self, check: Check) -> Trial:
        candidate = _Scored(self._training.adapter)
        base, previous, published, found = (
            self._scores(each, check) for each in (self._base, self._previous, self._published, candidate)
        )
        trial = Trial(float(base.mean()), float(published.mean()), float(found.mean()), len(self._held_back))
        if _is_better(found, published):
            better = _Scored(self._with_head(candidate.adapter, check), candidate.scores)
            self._previous, self._published, self._num_failed = self._published, better, 0
            self._reads = min(2 * self._reads, self._settings.max_replies_per_lesson)
            return replace(trial, adapter=better.adapter)
        self._num_failed += 1
        self._reads = max(_MIN_READS, self._reads // 2)
        for earlier, scores in ((self._previous, previous), (self._base, base)):
            if earlier is not self._published and _is_better(scores, published):
                self._published = earlier
                self._start_from(earlier.adapter)
                return replace(trial, adapter=earlier.adapter, is_rollback=True)
        if self._num_failed >= _MAX_FAILURES:
            self._start_from(self._published.adapter)
        return trial

    def _with_head(self, adapter: Adapter, check: Check) -> Adapter:
        latest = [example.sample for example in list(self._examples.values())[-_NUM_FOR_HEAD:]]
        judges = [example.sample for example in self._held_back.values()]
        return replace(adapter, head=fit_head(self._as_used(adapter, check), latest, judges, check))

    def _as_used(self, adapter: Adapter, check: Check) -> AdaptedModel:
        """The drafter as it would run: with the adapter in its matrices, rounded as they are."""
        return AdaptedModel(self._shape, adapted(self._weights, adapter, check), 1, MAX_TOKENS)

    def _start_from(self, adapter: Adapter) -> None:
        self._training.start_from(adapter)
        self._num_failed = 0

    def _scores(self, scored: _Scored, check: Check) -> npt.NDArray[np.float64]:
        """Tokens accepted per round, for each reply held back; each is computed once."""
        missing = [number for number in self._held_back if number not in scored.scores]
        if missing:
            model = self._as_used(scored.adapter, check)
            return_free_memory()
            for number in missing:
                scored.scores[number] = _score(model, self._held_back[number].sample, check)
        return np.array([scored.scores[number] for number in self._held_back])

    def _thin_out(self) -> None:
        """While there are too many tokens, drops any of the older replies: the older, the fewer are left."""
        while sum(len(example.sample.tokens) for example in self._examples.values()) > self._settings.max_tokens:
            old = list(self._examples)[:-_NUM_NEWEST]
            if not old:
                return
            del self._examples[old[int(self._random.integers(len(old)))]]


@torch.no_grad()
def _score(model: AdaptedModel, sample: Sample, check: Check) -> float:
    states = model.states(sample.tokens[:-1].tolist(), check)[sample.reply_start - 1 :]
    likeliest = model.logits(states, check).argmax(-1).numpy()
    return accepted_per_round(likeliest == sample.tokens[sample.reply_start :])


def _is_better(these: npt.NDArray[np.float64], those: npt.NDArray[np.float64]) -> bool:
    """Reply by reply: by more than half the standard error of the difference, which happens by chance one time in
    three. An adapter that is not really better does worse on later replies, and is rolled back."""
    difference = these - those
    error = float(difference.std(ddof=1)) / len(difference) ** 0.5
    return bool(difference.mean() > max(error / 2, 1e-6))
