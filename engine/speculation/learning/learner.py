"""Teaches a drafter what its target writes for this user: an adapter, trained on the latest replies and on older ones.

It follows OmniDraft's online training (arXiv 2507.02659, algorithm 2) and adds replay, so that old topics are not
forgotten, and a judge. A new reply is scored first, with several shares of the adapter in use; then the judge says
which share drafts; then it is learned from, and the next one is scored. The adapter in use is replaced by what training
has come to whenever that has learned from half as much again: each change has the drafter read again what it holds. The
learner is synchronous and works in small steps; its driver decides when.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.speculation.drafter.adapter import Adapter, share_of
from engine.speculation.drafter.model import LlamaWeights
from engine.speculation.drafter.shape import LlamaShape
from engine.speculation.learning.adapting import Check
from engine.speculation.learning.judge import (
    STRENGTHS,
    Evidence,
    Judge,
    RoundCounts,
    Ruling,
    Score,
    expected_rounds,
)
from engine.speculation.learning.remembered import RecentTexts, Remembered
from engine.speculation.learning.samples import (
    CorpusLesson,
    Labels,
    LabelTable,
    Sample,
    SampleMaker,
    Tokens,
    whole_text,
)
from engine.speculation.learning.training import Example, Training, TrainingSettings
from engine.values.conversations import ChatTurn
from engine.values.learned import NO_GAIN, Gain, VerifiedReply
from engine.values.memory import return_free_memory


@dataclass(frozen=True, slots=True)
class LearnerSettings:
    training: TrainingSettings = TrainingSettings()
    num_again: int = 1  # samples that are read again for each new one
    first_tokens: int = 1_000  # learned from before anything is published
    growth: float = 1.5  # of the tokens learned from, from one publication to the next
    max_tokens: int = 200_000  # of the replies to learn from
    max_distilled: int = 25_000  # of those from self-distillation that are kept to be read again
    remembers: bool = True  # whether drafts are made with memory, so that scores include it


_NUM_NEWEST = 16  # samples, from which every second one that is read again is chosen
_READS_BETWEEN_SWEEPS = 8  # until free memory is returned


@dataclass(slots=True, eq=False)
class _Unscored:
    """A new reply, and what it takes to score it. Of a long one, its first sample is scored."""

    examples: list[Example]
    conversation: int
    table: LabelTable  # the target's distributions at the temperature of the reply
    temperature: float
    remembered: Remembered | None = None  # what memory knew of it, once that was asked

    @property
    def number(self) -> int:
        return self.examples[0].number


@dataclass(frozen=True, slots=True, eq=False)
class InUse:
    """What drafts from now on."""

    adapter: Adapter | None = None  # all that was learned; None: the original drafter
    strength: float = 1.0  # the share of it that drafts


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    number: int  # of the reply
    score: Score
    ruling: Ruling
    gain: Gain  # of what is in use now, on replies since it was published
    numbers: tuple[float, ...]  # see `judge.Evidence`


class Learner:
    """Teaches one drafter for one target. Replies are handed to it, scored, and read in small steps of work. Used by
    one thread at a time."""

    def __init__(
        self,
        training: Training,
        maker: SampleMaker,
        settings: LearnerSettings = LearnerSettings(),
        published: Adapter | None = None,
        judge: Judge | None = None,
    ) -> None:
        """`published` is the adapter in use, if any; `training` goes on from it, or from what came of it so far, which
        `judge` knows."""
        self._settings = settings
        self._maker = maker
        self._training = training
        self._judge = judge or Judge()
        self._published = published
        self._tokens_published = training.num_tokens if published is not None else 0
        self._random = np.random.default_rng(settings.training.seed)
        self._unscored: deque[_Unscored] = deque()
        self._unread: deque[Example] = deque()
        self._examples: dict[int, list[Example]] = {}  # to learn from, oldest first
        self._distilled: dict[int, list[Example]] = {}  # from self-distillation, with negative numbers
        self._memory = RecentTexts()  # of replies that were scored, and those that need not be
        self._to_remember: list[tuple[int, Tokens]] = []  # after one which is yet to be scored without them
        self._prompts: set[tuple[int, int]] = set()  # that were answered: conversations and digests of the turns
        self._num_again = 0  # samples to read again
        self._num_read = 0
        self._in_use = InUse(published, self._judge.evidence.strengths.strength)
        return_free_memory()  # of the learner before this one

    @classmethod
    def going_on(
        cls,
        shape: LlamaShape,
        weights: LlamaWeights,
        maker: SampleMaker,
        settings: LearnerSettings | None = None,
        *,
        adapter: Adapter | None = None,
        candidate: Adapter | None = None,
        gain: Gain = NO_GAIN,
        numbers: Sequence[float] = (),
        remembers: bool = True,
    ) -> Learner:
        """A learner for a drafter with these weights, which uses `adapter`; see `Teachable.make_learner`."""
        settings = settings or LearnerSettings()
        settings = replace(settings, remembers=settings.remembers and remembers)
        evidence = Evidence.of(numbers)
        training = Training(shape, weights, settings.training, candidate or adapter, int(evidence.num_tokens))
        return cls(training, maker, settings, adapter, Judge(evidence, RoundCounts.of(gain)))

    @property
    def has_work(self) -> bool:
        return bool(self._unscored or self._unread or self._may_read_again or self._may_publish)

    @property
    def _may_read_again(self) -> bool:
        return self._num_again > 0 and bool(self._examples)

    @property
    def _may_publish(self) -> bool:
        """What training has come to never learned from what is yet to be scored."""
        least = max(self._settings.first_tokens, self._settings.growth * self._tokens_published)
        return self._training.num_tokens >= least

    @property
    def candidate(self) -> Adapter:
        return self._training.adapter

    @property
    def in_use(self) -> InUse:
        """Another object whenever something else is to draft."""
        return self._in_use

    @property
    def numbers(self) -> tuple[float, ...]:
        """What is known, see `judge.Evidence`."""
        self._judge.evidence.num_tokens = float(self._training.num_tokens)
        return self._judge.evidence.numbers

    def take(
        self,
        number: int,
        conversation: int,
        turns: Sequence[ChatTurn],
        reply: VerifiedReply,
        is_new: bool = True,
        is_scored: bool = False,
    ) -> None:
        """Takes a reply and the turns it answers; later ones have higher numbers. One that is not new was learned from
        before: it is read again only along with new ones. One that is known is ignored. One that `is_scored` already,
        or answers the same turns as another one of its conversation, is no evidence. Negative numbers belong to replies
        from self-distillation, which are no evidence either."""
        if number in {*self._examples, *self._distilled, *(each.number for each in self._unscored)}:
            return
        visible = self._maker.visible(reply.tokens)
        ids = np.concatenate([np.zeros(1, np.int32), reply.tokens[visible]])
        lesson = CorpusLesson(number, tuple(turns), ids, 1)
        labels = Labels(reply.top_tokens[visible], reply.top_logs[visible])
        samples, table = self._maker.make([lesson], {number: labels})
        if not samples:
            return
        examples, prompt = [Example(number, each, table) for each in samples], (conversation, hash(tuple(turns)))
        if number >= 0 and is_new and not is_scored and prompt not in self._prompts:
            if reply.temperature not in (0, 1):
                _, table = self._maker.make([lesson], {number: labels.at(reply.temperature)})
            self._unscored.append(_Unscored(examples, conversation, table, reply.temperature))
        else:
            self._learn_from(examples, is_new)
        self._prompts.add(prompt)

    def take_text(self, number: int, turns: Sequence[ChatTurn], text: str) -> None:
        """Takes what a target with another vocabulary replied; it is read once, and is no evidence."""
        self._unread += [Example(number, each, LabelTable.of((), 1)) for each in self._maker.of_text(turns, text)]

    def _learn_from(self, examples: list[Example], is_new: bool) -> None:
        number = examples[0].number
        kept = self._distilled if number < 0 else self._examples
        kept[number] = examples
        if self._settings.remembers and number >= 0:
            self._to_remember.append((number, whole_text([each.sample for each in examples])))
        self._remember()
        if is_new:
            self._unread += examples
        self._thin_out()

    def _remember(self) -> None:
        until = min((each.number for each in self._unscored), default=math.inf)
        for number, tokens in self._to_remember:
            if number < until:
                self._memory.add(number, tokens)
        self._to_remember = [each for each in self._to_remember if each[0] >= until]

    def rest(self) -> None:
        """Frees memory: nothing is to be learned for a while."""
        self._training.rest()
        return_free_memory()

    def forget(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._examples.pop(number, None)
            self._distilled.pop(number, None)
        self._memory.forget(numbers)
        self._to_remember = [each for each in self._to_remember if each[0] not in numbers]
        self._unread = deque(each for each in self._unread if each.number not in numbers)
        self._unscored = deque(each for each in self._unscored if each.number not in numbers)
        self._remember()
        for each in self._unscored:
            each.remembered = None  # what was forgotten may be in it

    def work(self, check: Check) -> Trial | None:
        """One step: puts what was learned in use, scores a new reply with several shares of that, or reads a sample.
        Returns the outcome of a reply that is scored. `check` is called often and may raise: the step is then repeated
        the next time."""
        if self._may_publish:
            self._publish()
        elif self._unscored:
            return self._score(self._unscored[0], check)
        elif self._unread:
            self._read(self._unread[0], check)
            example = self._unread.popleft()
            self._training.count(example.num_tokens)
            self._num_again += self._settings.num_again
        elif self._may_read_again:
            self._read(self._choose(), check)
            self._num_again -= 1
        return None

    def _read(self, example: Example, check: Check) -> None:
        self._training.read(example, check)
        self._num_read += 1
        if self._num_read % _READS_BETWEEN_SWEEPS == 0:
            return_free_memory()

    def _publish(self) -> None:
        self._judge.note_published(is_first=self._published is None)
        self._published, self._tokens_published = self._training.adapter, self._training.num_tokens
        self._use()

    def _use(self) -> None:
        self._in_use = InUse(self._published, self._judge.evidence.strengths.strength)

    def _score(self, new: _Unscored, check: Check) -> Trial:
        """Scores with each share, including what memory makes of it, and has the judge hear of it."""
        example = new.examples[0]
        if new.remembered is None:
            new.remembered = self._recalled(example.sample, check)
        shares = [share_of(self._published, strength) for strength in STRENGTHS]
        found = self._training.chances(shares, example.sample, new.table, new.remembered, new.temperature, check)
        rounds = tuple(float(expected_rounds(each)) for each in found)
        self._unscored.remove(new)
        chosen = self._judge.evidence.strengths.chosen
        score = Score(new.conversation, example.num_tokens, rounds, chosen)
        ruling = self._judge.hear(score, float(self._random.random()))
        if ruling is Ruling.STARTED_OVER:
            self._training.start_over()
            self._published, self._tokens_published = None, 0
        if ruling is Ruling.STARTED_OVER or self._judge.evidence.strengths.chosen != chosen:
            self._use()
        self._learn_from(new.examples, is_new=True)
        return_free_memory()
        return Trial(example.number, score, ruling, self._judge.since.gain, self.numbers)

    def _recalled(self, sample: Sample, check: Check) -> Remembered:
        if self._settings.remembers:
            return self._memory.of(sample, check)
        return Remembered.nothing(len(sample.tokens) - sample.reply_start)

    def _choose(self) -> Example:
        replies = [each for examples in self._examples.values() for each in examples]
        if self._random.random() < 0.5:
            pool = replies[-_NUM_NEWEST:]
        else:
            pool = [*(each for examples in self._distilled.values() for each in examples), *replies]
        return pool[int(self._random.integers(len(pool)))]

    def _thin_out(self) -> None:
        """Drops some of the older replies while there are too many tokens: the older, the fewer are left. Of those from
        self-distillation the oldest go."""
        while _num_tokens(self._distilled) > self._settings.max_distilled:
            del self._distilled[next(iter(self._distilled))]
        while _num_tokens(self._examples) > self._settings.max_tokens:
            old = list(self._examples)[:-_NUM_NEWEST]
            if not old:
                return
            del self._examples[old[int(self._random.integers(len(old)))]]


def _num_tokens(kept: Mapping[int, Sequence[Example]]) -> int:
    return sum(len(each.sample.tokens) for examples in kept.values() for each in examples)
