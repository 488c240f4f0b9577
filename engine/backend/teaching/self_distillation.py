"""Self-distillation: the target in use answers earlier prompts again, and as far as the user grants shipped ones, for
the drafter to learn from. No one sees the replies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from engine.backend.teaching.era import Era
from engine.backend.teaching.exercises import shipped_exercises, shipped_prompts
from engine.values.config import LearningSettings, ReplySettings, SamplingSettings
from engine.values.errors import ConversationMissing, MendableError
from engine.values.learned import Exercise, FingerprintPair, Lesson, VerifiedReply
from engine.values.stop_signal import StopSignal

if TYPE_CHECKING:  # the window is up before numpy and llama.cpp are needed
    from engine.backend.storage import Repository
    from engine.speculation.model.interface import ParallelTarget, Target
    from engine.speculation.numerics.draft_length import PassCosts
    from engine.speculation.replies.side_by_side import Task

_logger = logging.getLogger("slipstream.learning")

CONTEXT_SIZE = 768  # tokens of a sequence
MOST_TOKENS = 200_000  # of replies kept for a vocabulary, to own prompts and to shipped ones: at most 20 MB of each
_MOST_UNREAD = MOST_TOKENS // 2  # by the drafter, before it is given more: so no reply leaves unread
_MAX_TOKENS = 384  # of a reply: more prompts teach more than longer replies
_LULL_S = 120.0  # after the last reply, before it begins
_HOUR_S = 3600.0
_LEAST_S = 30.0  # of the time of an hour: for less it does not begin
_GLANCE_S = 1.0  # from one look at the battery to the next
_TIMES = 2  # a prompt is answered side by side
_MOST_ANSWERS = 4  # to a prompt: then others are better, and in the end none is left
_NUM_PROMPTS = 125  # the latest: few enough that no reply makes room for one to the same prompt
_USUAL_SLOTS, _MOST_SLOTS = 4, 8
_FEWEST_MEASURED = 1000  # tokens, for their speed to count
_ENOUGH = 0.9  # of the most tokens per second that passes over several sequences bring

_Key = tuple[FingerprintPair, int]  # of the target's vocabulary and the drafter; and an era
_Answer = tuple[Exercise, VerifiedReply]
OpenBeside = Callable[["Target", int, int], "ParallelTarget"]  # with numbers of sequences and of tokens of each


@dataclass(frozen=True, slots=True)
class TargetAtHand:
    """The target in use, which goes on with its chat."""

    target: Target
    sampling: Callable[[], SamplingSettings]  # of chats that have none of their own
    passes: Callable[[], PassCosts | None]
    template: str = ""  # of chats; empty: the target's own


class Budget:
    """Time that may be spent within any hour."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._spent: list[tuple[float, float]] = []  # from, until

    def left_s(self, minutes: float) -> float:
        since = self._clock() - _HOUR_S
        self._spent = [each for each in self._spent if each[1] > since]
        return 60 * minutes - sum(until - max(began, since) for began, until in self._spent)

    def note(self, began: float) -> None:
        """It was being spent since then."""
        self._spent.append((began, self._clock()))


class SelfDistillation:
    """Decides when the target answers which prompts again. The learner's thread runs what `begin` returns; any thread
    that holds the lock of the learning service may call the other methods."""

    def __init__(
        self,
        open_repository: Callable[[], Repository],
        open_beside: OpenBeside | None,
        era: Era,
        on_battery: Callable[[], bool],
        clock: Callable[[], float],
        hour: Callable[[], int],
    ) -> None:
        self._open_repository = open_repository
        self._open_beside = open_beside
        self._era = era
        self._on_battery = on_battery
        self._clock = clock
        self._hour = hour
        self._budget = Budget(clock)
        self._quiet_since = clock()
        self._is_through = False  # no prompt is left, or it cannot be done
        self._is_done = self._is_spent = False  # what is under way came to its end; its time did
        self._num_shipped = 0  # prompts answered by what is under way
        self._num_tokens, self._seconds = 0, 0.0  # written with the target at hand, and spent on that
        self._left: list[tuple[_Key, Exercise, VerifiedReply]] = []  # to be stored when no one waits
        self._stop: StopSignal | None = None
        self._at_hand: TargetAtHand | None = None

    @property
    def is_under_way(self) -> bool:
        return self._stop is not None

    @property
    def at_hand(self) -> TargetAtHand | None:
        return self._at_hand

    @property
    def tokens_per_s(self) -> float | None:
        """How fast the target at hand writes to several prompts: as measured, or else by its passes; None: unknown."""
        if self._num_tokens >= _FEWEST_MEASURED and self._seconds > 0:
            return self._num_tokens / self._seconds
        passes = None if self._at_hand is None else self._at_hand.passes()
        return None if passes is None else (slots := num_slots(passes)) / passes.of(slots)

    def use(self, at_hand: TargetAtHand | None) -> None:
        self._at_hand = at_hand
        self._num_tokens, self._seconds = 0, 0.0
        self.renew()

    def renew(self) -> None:
        """There may be prompts again."""
        self._is_through = False

    def begin_lull(self) -> None:
        """No one waits from now on."""
        self._quiet_since = self._clock()

    def interrupt(self) -> None:
        """Takes effect in the middle of a pass, too."""
        if self._stop is not None:
            self._stop.set()

    def is_due(self, settings: LearningSettings) -> bool:
        if self._at_hand is None or self._open_beside is None or self._is_through:
            return False
        if not settings.may_self_distil_at(self._hour()):
            return False
        lull_s = self._clock() - self._quiet_since
        return lull_s >= _LULL_S and self._budget.left_s(settings.self_distillation_minutes) >= _LEAST_S

    def begin(self, settings: LearningSettings, drafter: str) -> Iterator[Lesson]:
        """Returns what is to be gone through without the lock; then `end` is to follow. `drafter`: the fingerprint of
        the one that learns."""
        assert self._at_hand is not None
        self._stop, self._is_done, self._is_spent, self._num_shipped = StopSignal(), False, False, 0
        pair = self._at_hand.target.vocabulary.fingerprint, drafter
        return self._work(settings, self._at_hand, (pair, self._era.number), self._stop)

    def end(self) -> None:
        """After shipped prompts there may be more, once the drafter has read the replies."""
        is_whole = self._is_done and self._stop is not None and not self._stop.is_set()
        self._is_through = is_whole and self._num_shipped == 0
        self._stop = None

    def _work(self, settings: LearningSettings, at_hand: TargetAtHand, key: _Key, stop: StopSignal) -> Iterator[Lesson]:
        """Yields what is stored, until there is nothing to answer, the time is spent, it is interrupted, or the machine
        runs on battery. Failures are only logged, since no one waits for the result."""
        began = self._clock()
        try:
            repository = self._open_repository()
            for exercise, reply in self._replies(repository, at_hand, settings, key, stop):
                self._num_tokens += len(reply.tokens)
                self._num_shipped += exercise.message_id is None
                if stop.is_set() and not self._is_spent:  # someone waits, whose words are stored first
                    self._left.append((key, exercise, reply))
                elif lesson := self._store(repository, key, exercise, reply):
                    yield lesson
            self._is_done = True
        except MendableError as error:
            _logger.warning("self-distillation rests for now: %s", error)
            self._is_done = True
        finally:
            self._budget.note(began)
            self._seconds += self._clock() - began

    def _replies(
        self, repository: Repository, at_hand: TargetAtHand, settings: LearningSettings, key: _Key, stop: StopSignal
    ) -> Iterator[_Answer]:
        """Those that are left from the last time, then new ones: to the user's own prompts, then to shipped ones."""
        from engine.speculation.replies.side_by_side import write_side_by_side

        assert self._open_beside is not None
        left, self._left = self._left, []
        yield from ((exercise, reply) for known, exercise, reply in left if known == key)
        fingerprint, sampling, num_wanted = key[0][0], at_hand.sampling(), _num_wanted(repository, settings, key[0])
        if num_wanted <= 0 and not repository.list_exercises(fingerprint, _NUM_PROMPTS, _MOST_ANSWERS):
            return
        watch = self._watch(settings, stop)
        with closing(self._open_beside(at_hand.target, num_slots(at_hand.passes()), CONTEXT_SIZE)) as target:
            for _ in range(_MOST_ANSWERS // _TIMES):
                if stop.is_set():
                    return
                exercises = repository.list_exercises(fingerprint, _NUM_PROMPTS, _MOST_ANSWERS)
                yield from write_side_by_side(
                    target, _tasks(target, exercises, sampling, at_hand.template), _TIMES, stop, watch
                )
            shipped = islice(shipped_exercises(repository.count_exercises(fingerprint)), len(shipped_prompts()))
            wanted = takewhile(lambda _: num_wanted > 0 and not stop.is_set(), shipped)
            for exercise, reply in write_side_by_side(
                target, _tasks(target, wanted, sampling, at_hand.template), 1, stop, watch
            ):
                num_wanted -= len(reply.tokens)
                yield exercise, reply

    def _store(self, repository: Repository, key: _Key, exercise: Exercise, reply: VerifiedReply) -> Lesson | None:
        """None where it was forgotten, deleted or changed meanwhile."""
        (fingerprint, _), era = key
        with self._era.lasting(era) as lasts:
            if not lasts:
                return None
            try:
                return repository.save_self_distilled(fingerprint, exercise, reply, MOST_TOKENS)
            except ConversationMissing:
                return None

    def _watch(self, settings: LearningSettings, stop: StopSignal) -> Callable[[], None]:
        """Sets `stop` when the time is spent, the night ends, or the machine is unplugged."""
        end = self._clock() + self._budget.left_s(settings.self_distillation_minutes)
        look_at = self._clock()

        def watch() -> None:
            nonlocal look_at
            now = self._clock()
            is_spent = now >= end
            if now >= look_at:
                look_at = now + _GLANCE_S
                is_spent = is_spent or not settings.may_self_distil_at(self._hour())
                is_spent = is_spent or (not settings.on_battery and self._on_battery())
            if is_spent and not stop.is_set():
                self._is_spent = True
                stop.set()

        return watch


def local_hour() -> int:
    return datetime.now().astimezone().hour


def num_slots(passes: PassCosts | None) -> int:
    """How many replies are written side by side: the fewest that bring almost the most tokens per second."""
    if passes is None:
        return _USUAL_SLOTS
    speeds = {num: num / passes.of(num) for num in range(_TIMES, _MOST_SLOTS + 1)}
    return next(num for num, speed in speeds.items() if speed >= _ENOUGH * max(speeds.values()))


def _num_wanted(repository: Repository, settings: LearningSettings, pair: FingerprintPair) -> int:
    """Tokens of replies to shipped prompts that are granted and that the drafter is not behind with."""
    read = repository.self_distilled_read(*pair)
    return min(settings.self_distillation_tokens - read.num_tokens, _MOST_UNREAD) - read.num_unread


def _tasks(
    target: ParallelTarget, exercises: Iterable[Exercise], usual: SamplingSettings, template: str
) -> Iterator[Task[Exercise]]:
    """Those that the target can be asked. At temperature 0 it would only repeat itself."""
    from engine.speculation.replies.prompt import PromptBuilder
    from engine.speculation.replies.side_by_side import Task

    prompts = PromptBuilder(target, template=template)
    for exercise in exercises:
        settings = exercise.sampling.over(ReplySettings(usual))
        sampling = replace(
            settings.sampling, temperature=settings.sampling.temperature or SamplingSettings().temperature
        )
        try:
            prompt = prompts.build(exercise.turns, ()).tokens
        except MendableError:
            continue  # it is too long
        most = min(_MAX_TOKENS, CONTEXT_SIZE - len(prompt), settings.max_tokens or _MAX_TOKENS)
        yield Task(exercise, prompt, sampling, most)
