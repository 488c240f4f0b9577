"""Teaches a drafter what its target writes for this user: an adapter, trained on the latest replies and on older ones.

It follows OmniDraft's online training (arXiv 2507.02659, algorithm 2) and adds replay, so that old topics are not
forgotten, and a judge. A new reply is scored first, with each adapter in question; then the judge says whether another
one is to be used; then it is learned from, and the next one is scored. The learner is synchronous and works in small
steps; its driver decides when.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from engine.speculation.drafter.adapter import Adapter
from engine.speculation.drafter.model import LlamaWeights
from engine.speculation.drafter.shape import LlamaShape
from engine.speculation.learning.adapting import Check
from engine.speculation.learning.judge import Capital, Judge, RoundCounts, Ruling, Score, expected_rounds
from engine.speculation.learning.remembered import RecentTexts, Remembered
from engine.speculation.learning.samples import CorpusLesson, Labels, LabelTable, Sample, SampleMaker
from engine.speculation.learning.training import Example, Training, TrainingSettings
from engine.values.conversations import ChatTurn
from engine.values.learned import NO_GAIN, Gain, VerifiedReply
from engine.values.memory import return_free_memory


@dataclass(frozen=True, slots=True)
class LearnerSettings:
    training: TrainingSettings = TrainingSettings()
    replies_per_lesson: int = 4  # read for each new reply, at first: the reply itself, and older ones again
    max_replies_per_lesson: int = 8  # while adapters get better; otherwise ever fewer are read
    max_tokens: int = 200_000  # of the replies to learn from
    max_distilled: int = 25_000  # of those from self-distillation, in addition: about a hundred replies
    remembers: bool = True  # whether drafts are made with memory, so that scores include it


_NUM_NEWEST = 16  # replies, from which every second reply that is read is chosen
_READS_BETWEEN_SWEEPS = 8  # until free memory is returned
_MIN_READS = 2  # for each new reply


@dataclass(slots=True, eq=False)
class _Unscored:
    """A new reply, and what it takes to score it."""

    example: Example
    conversation: int
    table: LabelTable  # the target's distributions at the temperature of the reply
    temperature: float
    remembered: Remembered | None = None  # what memory knew of it, once that was asked
    rounds: list[float] = field(default_factory=list)  # found so far, as `Score` has them in its order


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    number: int  # of the reply
    score: Score
    ruling: Ruling
    adapter: Adapter | None  # in use from now on; None: the original drafter
    gain: Gain  # of what is in use now, on replies since it is
    capital: tuple[float, ...]  # see `judge.Capital`

    @property
    def is_publication(self) -> bool:
        return self.ruling is Ruling.PUBLISHED

    @property
    def begins_anew(self) -> bool:
        """True if the candidate is what is in use."""
        return self.ruling is not Ruling.KEPT

    @property
    def is_change(self) -> bool:
        return self.ruling in (Ruling.PUBLISHED, Ruling.RETURNED, Ruling.RESET)


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
        self._earlier: Adapter | None = None
        self._random = np.random.default_rng(settings.training.seed)
        self._unscored: deque[_Unscored] = deque()
        self._examples: dict[int, Example] = {}  # to learn from, oldest first
        self._distilled: dict[int, Example] = {}  # from self-distillation, with negative numbers
        self._memory = RecentTexts()  # of replies that were scored, and those that need not be
        self._to_remember: list[Example] = []  # that came after one which is yet to be scored without them
        self._prompts: set[tuple[int, int]] = set()  # that were answered: conversations and digests of the turns
        self._ruled: tuple[int, Score, Ruling] | None = None  # of the reply with that number; not carried out yet
        self._reads = settings.replies_per_lesson
        self._num_due = 0  # replies to read
        self._num_read = 0
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
        capital: Sequence[float] = (),
        remembers: bool = True,
    ) -> Learner:
        """A learner for a drafter with these weights, which uses `adapter`; see `Teachable.make_learner`."""
        settings = settings or LearnerSettings()
        settings = replace(settings, remembers=settings.remembers and remembers)
        training = Training(shape, weights, settings.training, adapter)
        if candidate is not None and candidate.rank == training.adapter.rank:
            training.start_from(candidate)
        return cls(training, maker, settings, adapter, Judge(Capital.of(capital), RoundCounts.of(gain)))

    @property
    def has_work(self) -> bool:
        return bool(self._unscored) or self._ruled is not None or self._may_read

    @property
    def _may_read(self) -> bool:
        return self._num_due > 0 and bool(self._examples)

    @property
    def candidate(self) -> Adapter:
        return self._training.adapter

    @property
    def adapters(self) -> tuple[Adapter | None, ...]:
        """The one used before and the one in use."""
        return self._earlier, self._published

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
        from self-distillation, which are never new."""
        if number in {*self._examples, *self._distilled, *(each.example.number for each in self._unscored)}:
            return
        visible = self._maker.visible(reply.tokens)
        ids = np.concatenate([np.zeros(1, np.int32), reply.tokens[visible]])
        lesson = CorpusLesson(number, tuple(turns), ids, 1)
        labels = Labels(reply.top_tokens[visible], reply.top_logs[visible])
        samples, table = self._maker.make([lesson], {number: labels})
        if not samples:
            return
        example, prompt = Example(number, samples[0], table), (conversation, hash(tuple(turns)))
        if is_new and not is_scored and prompt not in self._prompts:
            if reply.temperature not in (0, 1):
                _, table = self._maker.make([lesson], {number: labels.at(reply.temperature)})
            self._unscored.append(_Unscored(example, conversation, table, reply.temperature))
        else:
            self._judge.know(conversation, example.num_tokens)
            self._learn_from(example, is_new)
        self._prompts.add(prompt)

    def _learn_from(self, example: Example, is_new: bool) -> None:
        kept = self._distilled if example.number < 0 else self._examples
        kept[example.number] = example
        if self._settings.remembers and example.number >= 0:
            self._to_remember.append(example)
        self._remember()
        self._num_due += self._reads if is_new else 0
        self._thin_out()

    def _remember(self) -> None:
        until = min((each.example.number for each in self._unscored), default=math.inf)
        for example in [each for each in self._to_remember if each.number < until]:
            self._memory.add(example.number, example.sample.tokens)
        self._to_remember = [each for each in self._to_remember if each.number >= until]

    def rest(self) -> None:
        """Frees memory: nothing is to be learned for a while."""
        self._training.rest()
        return_free_memory()

    def forget(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._examples.pop(number, None)
            self._distilled.pop(number, None)
        self._memory.forget(numbers)
        self._to_remember = [each for each in self._to_remember if each.number not in numbers]
        self._unscored = deque(each for each in self._unscored if each.example.number not in numbers)
        self._remember()
        for each in self._unscored:
            each.remembered, each.rounds = None, []  # what was forgotten may be in it

    def work(self, check: Check) -> Trial | None:
        """One step: scores a new reply with one adapter, or reads a reply. Returns the outcome of a reply that is
        scored. `check` is called often and may raise: the step is then repeated the next time."""
        if self._ruled is not None:
            return self._carry_out(*self._ruled)
        if self._unscored and (not self._may_read or self._unscored[0].rounds):
            return self._score(self._unscored[0], check)
        self._training.read(self._choose(), check)
        self._num_due -= 1
        self._num_read += 1
        if self._num_read % _READS_BETWEEN_SWEEPS == 0:
            return_free_memory()
        return None

    def _score(self, new: _Unscored, check: Check) -> Trial | None:
        """Scores with one more adapter, including what memory makes of it; after the last one, the judge hears of
        it."""
        if new.remembered is None:
            new.remembered = self._recalled(new.example.sample, check)
        adapters = (None, *self.adapters)
        number, sample = len(new.rounds), new.example.sample
        adapter = adapters[number] if number < len(adapters) else self.candidate
        if number < len(adapters) and any(adapter is known for known in adapters[:number]):
            new.rounds.append(new.rounds[adapters.index(adapter)])
        else:
            chances = self._training.chances(adapter, sample, new.table, new.remembered, new.temperature, check)
            new.rounds.append(float(expected_rounds(chances)))
        if number < len(adapters):
            return None
        self._unscored.remove(new)
        score = Score(new.conversation, new.example.num_tokens, *new.rounds)
        ruling = self._judge.hear(score)
        self._learn_from(new.example, is_new=True)
        self._ruled = new.example.number, score, ruling
        return self._carry_out(*self._ruled)

    def _recalled(self, sample: Sample, check: Check) -> Remembered:
        if self._settings.remembers:
            return self._memory.of(sample, check)
        return Remembered.nothing(len(sample.tokens) - sample.reply_start)

    def _carry_out(self, number: int, score: Score, ruling: Ruling) -> Trial:
        match ruling:
            case Ruling.PUBLISHED:
                self._earlier, self._published = self._published, self._training.adapter
                self._reads = min(2 * self._reads, self._settings.max_replies_per_lesson)
            case Ruling.RETURNED:
                self._published = self._earlier
            case Ruling.RESET:
                self._earlier = self._published = None
            case _:
                pass
        if ruling in (Ruling.RETURNED, Ruling.RESET, Ruling.DROPPED):
            self._training.start_from(self._published)
            self._reads = max(_MIN_READS, self._reads // 2)
        self._ruled = None
        return_free_memory()
        return Trial(number, score, ruling, self._published, self._judge.since.gain, self._judge.capital.numbers)

    def _choose(self) -> Example:
        replies = list(self._examples.values())
        pool = replies[-_NUM_NEWEST:] if self._random.random() < 0.5 else [*self._distilled.values(), *replies]
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


def _num_tokens(examples: Mapping[int, Example]) -> int:
    return sum(len(example.sample.tokens) for example in examples.values())
