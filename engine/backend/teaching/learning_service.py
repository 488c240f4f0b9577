"""Lets the drafter learn on its own thread while no one waits for a reply."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import psutil

from engine.backend.teaching.era import Era
from engine.backend.teaching.learning_time import LearningTime
from engine.backend.teaching.pupil import Forgotten, Outdated, Pupil
from engine.backend.teaching.self_distillation import OpenBeside, SelfDistillation, TargetAtHand, local_hour
from engine.speculation.drafter.shape import MOST_WEIGHTS
from engine.values.config import LearningSettings
from engine.values.conversations import ChatTurn, Message, Role
from engine.values.errors import ConversationMissing, MendableError
from engine.values.events import DrafterLearned, LearningChanged, Listener
from engine.values.learned import AdapterRecord, FingerprintPair, Lesson, VerifiedReply

if TYPE_CHECKING:
    from engine.backend.storage import Repository
    from engine.speculation.model.interface import Vocabulary
    from engine.speculation.proposers.drafting import Drafting, NgramMemory, Teachable

_logger = logging.getLogger("slipstream.learning")

_MAX_STORED_LESSONS = 2000  # of a vocabulary
_REST_AFTER_S = 300.0  # without anything to learn; making the training copy of the weights takes a second or two
_LOOK_AGAIN_S = 30.0  # whether the machine is still on battery
_NICENESS = 10  # of the thread, where threads have one


class _Preempted(Exception):
    """A reply is to be written, learning is switched off, or the app is closing."""


class LearningService:
    """Decides when the drafter in use learns, and with what. The chat thread calls `take` and `pause`, any thread the
    other methods. Failures are only logged, since no one waits for the result.
    """

    def __init__(
        self,
        open_repository: Callable[[], Repository],
        settings: LearningSettings,
        emit: Listener,
        on_battery: Callable[[], bool] | None = None,
        ngrams: Callable[[], NgramMemory] | None = None,
        open_beside: OpenBeside | None = None,
        clock: Callable[[], float] = time.monotonic,
        hour: Callable[[], int] = local_hour,
    ) -> None:
        """Its thread begins with the first drafter. `ngrams` returns those of the current era. Without `open_beside`
        nothing is self-distilled."""
        self.era = Era()
        self._ngrams = ngrams
        self._open_repository = open_repository
        self._settings = settings
        self._emit = emit
        self._on_battery = on_battery or _on_battery
        self._self_distillation = SelfDistillation(
            open_repository, open_beside, self.era, self._on_battery, clock, hour
        )
        self._changed = threading.Condition()
        self._drafting: Drafting | None = None
        self._changes: list[Callable[[Pupil], None]] = []  # to make before the next step
        self._pupil: Pupil | None = None  # of the learner's thread
        self._time = LearningTime(open_repository)  # of the learner's thread
        self._worked_at: float | None = None  # likewise; None: the pupil rests
        self._num_waiting = 0
        self._is_held = False
        self._told = LearningChanged(is_learning=False)
        self._closed = False
        self._thread: threading.Thread | None = None

    @property
    def is_enabled(self) -> bool:
        return self._settings.enabled

    @property
    def wants_distributions(self) -> bool:
        """True if replies should carry the target's distributions."""
        return self._settings.enabled and self.can_learn

    @property
    def can_learn(self) -> bool:
        """True if a drafter is in use that learns adapters."""
        return _pupil_of(self._drafting) is not None

    @property
    def awaits_power(self) -> bool:
        """True if nothing is learned until the machine is plugged in."""
        return not self._settings.on_battery and self._on_battery()

    @property
    def self_distilled_per_s(self) -> float | None:
        """Tokens that the target in use writes in a second of self-distillation; None: unknown."""
        return self._self_distillation.tokens_per_s

    @property
    def pair(self) -> FingerprintPair | None:
        """The fingerprints of the target and the drafter in use."""
        drafting = self._drafting
        return None if drafting is None else drafting.pair

    def change(self, settings: LearningSettings) -> None:
        """Takes effect at once, even in the middle of a step or a pause."""
        with self._changed:
            self._settings = settings
            self._self_distillation.renew()  # more may be granted
            self._self_distillation.interrupt()
            self._changed.notify()

    def detach(self) -> Drafting | None:
        """Stops learning until a drafter is opened, as another drafter or target is coming. Returns the one that was
        learning, for `reattach` if that fails."""
        with self._changed:
            before, self._drafting = self._drafting, None
            self._self_distillation.interrupt()
        return before

    def reattach(self, drafting: Drafting | None) -> None:
        """Lets this drafter learn again, unless another one was opened meanwhile."""
        with self._changed:
            self._drafting = self._drafting or drafting
            self._changed.notify()

    def open(self, drafting: Drafting, era: int | None = None) -> None:
        """Lets this drafter learn, from its stored adapter on, before anybody drafts with it. Its n-grams are those of
        that era."""
        can_learn = _pupil_of(drafting) is not None
        with self.era.held():
            if era is not None and era != self.era.number:
                self._renew_ngrams(drafting)
            stored = self._use_stored_adapter(drafting)
            if stored is not None:
                self._emit(DrafterLearned(stored.number, stored.num_learned))
            with self._changed:
                self._drafting = drafting
                self._tell(is_learning=False)
                if self._thread is None and not self._closed and can_learn:
                    self._thread = threading.Thread(target=self._run, name="slipstream-learner", daemon=True)
                    self._thread.start()
                self._changed.notify()

    @contextmanager
    def exchanging(self) -> Iterator[None]:
        """Any other thread may change in the store what was learned. What is learned until then and not stored is
        dropped; the drafter and its learner continue with the changed store."""
        with self.era.ending():
            try:
                yield
            finally:  # a failure may leave part of it changed
                with self._changed:
                    self.era.begin_next()
                    self._changes.clear()  # the store has them
                    self._self_distillation.renew()
                    self._self_distillation.interrupt()
                    drafting = self._drafting
                    self._changed.notify()
                if drafting is not None:
                    self._use_stored_adapter(drafting)
                    self._renew_ngrams(drafting)

    def take(
        self, message: Message, turns: Sequence[ChatTurn], reply: VerifiedReply | None, vocabulary: Vocabulary
    ) -> None:
        """A stored reply to learn from, unless it repeated itself without end; the turns it answers, and the vocabulary
        it was written in."""
        drafting, era = self._drafting, self.era.number
        if reply is None or drafting is None or drafting.vocabulary != vocabulary:
            return
        self._self_distillation.renew()
        if message.statistics is not None and message.statistics.repeats:
            return
        try:
            system_prompt = next((turn.text for turn in turns if turn.role is Role.SYSTEM), "")
            self._open_repository().save_lesson(
                drafting.target_fingerprint, message.id, reply, _MAX_STORED_LESSONS, system_prompt
            )
        except ConversationMissing:
            return  # deleted meanwhile
        except MendableError as error:
            _logger.warning("a lesson was not stored: %s", error)
        lesson = Lesson(message.id, message.conversation_id, message.created_at, tuple(turns), reply)

        def learn(pupil: Pupil) -> None:
            if pupil.drafting is drafting.teachable:
                pupil.take(lesson)

        with self._changed:
            if era == self.era.number:  # otherwise forgotten, or loaded from the store
                self._changes.append(learn)
                self._changed.notify()

    def forget(self, conversation_id: int) -> None:
        """Learns nothing more from it."""
        self._tell_pupil(lambda pupil: pupil.forget(conversation_id))

    def restore(self, conversation_id: int) -> None:
        """Learns from it again."""
        self._tell_pupil(lambda pupil: pupil.restore(conversation_id))

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Someone waits for a reply inside."""
        with self._changed:
            self._num_waiting += 1
            self._self_distillation.interrupt()
            self._tell(is_learning=False)  # not when the step has noticed, which may take a moment
        try:
            yield
        finally:
            with self._changed:
                self._num_waiting -= 1
                self._self_distillation.begin_lull()
                self._tell(self._is_due and self._has_work)
                self._changed.notify()

    def hold(self, is_held: bool) -> None:
        """The user's own pause: nothing is learned until it is ended."""
        with self._changed:
            self._is_held = is_held
            self._self_distillation.interrupt()
            self._tell(is_learning=False)
            self._changed.notify()

    def self_distil_with(self, at_hand: TargetAtHand | None) -> None:
        """The target in use; None: it is being closed. Returns once no other one is at work."""
        with self._changed:
            self._self_distillation.use(None)
            self.end_self_distillation()
            self._self_distillation.use(at_hand)

    def end_self_distillation(self) -> None:
        """Interrupts it until no one waits any more. Returns when its memory is free."""
        with self._changed:
            self._self_distillation.interrupt()
            self._changed.wait_for(lambda: not self._self_distillation.is_under_way)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._self_distillation.interrupt()
            self._changed.notify()

    def join(self, timeout_s: float) -> bool:
        """False if the thread is still busy after `timeout_s`."""
        if self._thread is None:
            return True
        self._thread.join(max(0.0, timeout_s))
        return not self._thread.is_alive()

    def _tell_pupil(self, change: Callable[[Pupil], None]) -> None:
        with self._changed:
            self._changes.append(change)
            self._self_distillation.renew()
            self._self_distillation.interrupt()
            self._changed.notify()

    def _run(self) -> None:
        _lower_priority()
        while True:
            with self._changed:
                self._tell(self._is_due and self._has_work)
                self._changed.wait_for(lambda: self._closed or self._is_due or self._may_self_distil, _LOOK_AGAIN_S)
                if self._closed:
                    break
                drafting, settings, era = _pupil_of(self._drafting), self._settings, self.era.number
                is_due = self._is_due
                if is_due:
                    self._tell(self._has_work)
                    changes, self._changes = self._changes, []
                elif self._may_self_distil:
                    self._tell(is_learning=False, is_self_distilling=True)
                    assert drafting is not None
                    lessons = self._self_distillation.begin(settings, drafting.pair[1])
            if not (is_due or self._self_distillation.is_under_way):
                self._rest_for_long()
                continue
            assert drafting is not None
            try:
                if is_due:
                    self._learn(drafting, era, changes)
                    self._rest(settings)
                else:
                    self._self_distil(drafting, lessons)
            except (_Preempted, Outdated):
                pass
            except Forgotten:
                self._pupil = None
            except BaseException:  # panics of Rust libraries are no Exception
                _logger.exception("learning failed; it begins again with the next reply")
                self._pupil = None
                with self._changed:
                    self._tell(is_learning=False)
                    self._changed.wait_for(lambda: self._closed or bool(self._changes))
            self._time.save(is_resting=not (self._changes or self._has_work))
        self._time.save()

    def _tell(self, is_learning: bool, is_self_distilling: bool = False) -> None:
        """Where that has changed; with the lock, so that nothing is told out of order."""
        can_learn = self._drafting is None or _pupil_of(self._drafting) is not None
        now = LearningChanged(is_learning, self._is_held, can_learn, is_self_distilling)
        if now != self._told:
            self._told = now
            self._emit(now)

    def _learn(self, drafting: Teachable, era: int, changes: Sequence[Callable[[Pupil], None]]) -> None:
        """One step."""
        pupil = self._pupil
        if pupil is None or pupil.drafting is not drafting or pupil.era != era:
            self._pupil = pupil = None  # before there is another one
            self._pupil = pupil = Pupil(drafting, self._open_repository(), self._emit, self.era, era)
        for change in changes:
            change(pupil)
        self._worked_at = time.monotonic()
        with self._time.running():
            pupil.work(self._check)

    def _self_distil(self, drafting: Teachable, lessons: Iterator[Lesson]) -> None:
        try:
            self._give_back()  # self-distillation takes memory, too
            for lesson in lessons:
                with self._changed:
                    self._changes.append(partial(_give, drafting, lesson))
        finally:
            with self._changed:
                self._self_distillation.end()
                self._changed.notify_all()

    @property
    def _may_self_distil(self) -> bool:
        """Nothing is to be learned; the drafter would learn from what the target in use writes."""
        drafting, at_hand = _pupil_of(self._drafting), self._self_distillation.at_hand
        if drafting is None or at_hand is None or drafting.vocabulary != at_hand.target.vocabulary:
            return False
        if self._is_due or self._must_wait or not self._settings.enabled:
            return False
        return self._self_distillation.is_due(self._settings) and not self.awaits_power

    @property
    def _is_due(self) -> bool:
        if _pupil_of(self._drafting) is None or self._must_wait or not self._settings.enabled:
            return False
        pupil = self._pupil
        is_current = pupil is not None and pupil.drafting is _pupil_of(self._drafting) and pupil.era == self.era.number
        if is_current and not (self._changes or self._has_work):
            return False
        return not self.awaits_power

    @property
    def _must_wait(self) -> bool:
        return self._is_held or self._num_waiting > 0

    @property
    def _has_work(self) -> bool:
        return self._pupil is not None and self._pupil.has_work

    def _use_stored_adapter(self, drafting: Drafting) -> AdapterRecord | None:
        """Lets the drafter use the published adapter, and returns it; None for one that has none or takes none."""
        from engine.speculation.learning.judge import strength_of

        teachable = drafting.teachable
        if teachable is None:
            return None
        try:
            repository = self._open_repository()
            stored = repository.published_adapter(*drafting.pair)
            if stored is None:
                teachable.use(None)
            else:
                known = repository.candidate(*drafting.pair)
                strength = strength_of(() if known is None else known.capital)
                teachable.use(teachable.read_adapter(stored.weights), strength)
        except MendableError as error:
            _logger.warning("the adapter is not used: %s", error)
            teachable.use(None)
            return None
        return stored

    def _renew_ngrams(self, drafting: Drafting) -> None:
        if self._ngrams is None:
            return
        try:
            drafting.renew_ngrams(self._ngrams())
        except MendableError as error:
            _logger.warning("n-grams were not loaded: %s", error)

    def _check(self) -> None:
        if self._must_wait or self._closed or not self._settings.enabled:
            raise _Preempted

    def _rest_for_long(self) -> None:
        """Gives back memory where nothing was learned for a while."""
        if self._worked_at is not None and time.monotonic() - self._worked_at >= _REST_AFTER_S:
            self._give_back()

    def _give_back(self) -> None:
        """The pupil's memory, until there is something to learn."""
        if self._pupil is not None and self._worked_at is not None:
            self._pupil.rest()
            self._worked_at = None

    def _rest(self, settings: LearningSettings) -> None:
        """Rests until the last step has taken no more than its share of the time, or the settings change."""
        rest_s = self._time.last_s * (1 / settings.share - 1)
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._settings is not settings, rest_s)


def _give(drafting: Teachable, lesson: Lesson, pupil: Pupil) -> None:
    """Hands the pupil of that drafter what was self-distilled; another one reads it from the store."""
    if pupil.drafting is drafting:
        pupil.take(lesson)


def _pupil_of(drafting: Drafting | None) -> Teachable | None:
    """The drafter, where it can learn."""
    teachable = None if drafting is None else drafting.teachable
    return teachable if teachable is not None and teachable.num_weights <= MOST_WEIGHTS else None


def _on_battery() -> bool:
    """False if the platform does not say."""
    try:
        battery = psutil.sensors_battery()
    except (OSError, AttributeError):  # a machine that hides it; a platform that psutil does not support
        return False
    return battery is not None and battery.power_plugged is False


def _lower_priority() -> None:
    """Everything else runs first; threads that torch starts for this one inherit it."""
    if sys.platform == "linux":
        with suppress(OSError):  # the priority is lower already
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
