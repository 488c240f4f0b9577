"""Lets the drafter learn on a thread of its own, while nobody waits for a reply."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import psutil

from engine.config import LearningSettings
from engine.errors import AdapterUnusable, ConversationMissing, MendableError
from engine.messages.conversations import ChatTurn, Message, Role
from engine.messages.events import DrafterLearned, Listener
from engine.messages.learned import AdapterRecord, Lesson, VerifiedReply
from engine.services.era import Era
from engine.services.learning_time import LearningTime

if TYPE_CHECKING:
    from engine.drafter.adapter import Adapter
    from engine.learning.learner import Learner, Trial
    from engine.messages.learned import FingerprintPair
    from engine.proposers.drafting import Drafting, NgramMemory
    from engine.storage import Repository
    from engine.target.interface import Vocabulary

_logger = logging.getLogger("slipstream.learning")

_MOST_LESSONS = 2000  # that the store keeps of a vocabulary
_MOST_TAKEN_UP = 400  # of these at a start: about what a learner has room for
_MOST_DUE = 16  # of these that are learned from as if they were new
_MOST_WEIGHTS = 400_000_000  # of a drafter that learns: beyond, a step takes too long, and its memory too much
_LOOK_AGAIN_S = 30.0  # whether the machine is on battery still
_NICENESS = 10  # of the thread, where threads have one


class _Forgotten(Exception):
    """What was learned from is no longer in the store."""


class _Outdated(Exception):
    """What is learned was exchanged for something else, or forgotten, by the user."""


class _SomebodyWaits(Exception):
    """A reply is to be written, learning is switched off, or the app is being closed."""


class LearningService:
    """For the drafter in use. The thread of the target calls `take` and `pause`, any thread the rest.

    Nobody asked for it and nobody misses it: where it fails it says so in the log alone.
    """

    def __init__(
        self,
        open_repository: Callable[[], Repository],
        settings: LearningSettings,
        emit: Listener,
        on_battery: Callable[[], bool] | None = None,
        ngrams: Callable[[], NgramMemory] | None = None,
    ) -> None:
        """Its thread begins with the first drafter. `ngrams` gives those that are kept in the era at hand."""
        self.era = Era()
        self._ngrams = ngrams
        self._open_repository = open_repository
        self._settings = settings
        self._emit = emit
        self._on_battery = on_battery or _on_battery
        self._changed = threading.Condition()
        self._drafting: Drafting | None = None
        self._new: list[Lesson] = []
        self._forgotten: list[int] = []  # conversations
        self._restored: list[int] = []  # conversations
        self._pupil: _Pupil | None = None  # of the thread
        self._time = LearningTime(open_repository)  # of the thread
        self._num_waiting = 0
        self._closed = False
        self._thread: threading.Thread | None = None

    @property
    def is_enabled(self) -> bool:
        return self._settings.enabled

    @property
    def wants_distributions(self) -> bool:
        """Whether replies should say what the target thought."""
        return self._settings.enabled and _can_learn(self._drafting)

    @property
    def pair(self) -> FingerprintPair | None:
        """The target's vocabulary and the drafter that are in use."""
        drafting = self._drafting
        return None if drafting is None else (drafting.target_fingerprint, drafting.drafter_fingerprint)

    def change(self, settings: LearningSettings) -> None:
        """Holds at once, in the middle of a step or of the rest after it."""
        with self._changed:
            self._settings = settings
            self._changed.notify()

    def detach(self) -> Drafting | None:
        """Stops learning until a drafter is opened, as another drafter or target is coming. Returns the one that was
        learning, for `reattach` if that fails."""
        with self._changed:
            before, self._drafting, self._new = self._drafting, None, []
        return before

    def reattach(self, drafting: Drafting | None) -> None:
        """Lets this drafter learn again, unless another one was opened meanwhile."""
        with self._changed:
            self._drafting = self._drafting or drafting
            self._changed.notify()

    def open(self, drafting: Drafting, era: int | None = None) -> None:
        """From now on this drafter learns; it goes on with what it learned before. Nobody drafts with it yet. Its
        n-grams are those of that era."""
        if not _can_learn(drafting):
            _logger.info("the drafter is too large to learn")
        with self.era.held():
            if era is not None and era != self.era.number:
                self._renew_ngrams(drafting)
            kept = self._take_up_adapter(drafting)
            if kept is not None:
                self._emit(DrafterLearned(kept.number, kept.before, kept.after, kept.num_learned, is_return=False))
            with self._changed:
                self._drafting, self._new = drafting, []
                if self._thread is None and not self._closed and _can_learn(drafting):
                    self._thread = threading.Thread(target=self._run, name="slipstream-learner", daemon=True)
                    self._thread.start()
                self._changed.notify()

    @contextmanager
    def exchanging(self) -> Iterator[None]:
        """What is learned may be changed in the store meanwhile, by any thread but the learner's. What was learned
        until then and is not kept yet never will be; from the next reply on the drafter works with what is there then,
        and learning goes on from that."""
        with self.era.ending():
            try:
                yield
            finally:  # also of what failed, a part may be done
                with self._changed:
                    self.era.begin_next()
                    self._new, self._forgotten, self._restored = [], [], []  # the store knows
                    drafting = self._drafting
                    self._changed.notify()
                if drafting is not None:
                    self._take_up_adapter(drafting)
                    self._renew_ngrams(drafting)

    def take(
        self, message: Message, turns: Sequence[ChatTurn], reply: VerifiedReply | None, vocabulary: Vocabulary
    ) -> None:
        """A reply to learn from, that has been kept, the turns it answers, and the vocabulary it was written in."""
        drafting, era = self._drafting, self.era.number
        if reply is None or drafting is None or drafting.vocabulary != vocabulary:
            return
        try:
            repository = self._open_repository()
            system_prompt = next((turn.text for turn in turns if turn.role is Role.SYSTEM), "")
            fingerprint = drafting.target_fingerprint
            repository.save_lesson(fingerprint, message.id, reply, _MOST_LESSONS, system_prompt)
        except ConversationMissing:
            return  # deleted meanwhile
        except MendableError as error:
            _logger.warning("a reply was not kept to learn from: %s", error)
        with self._changed:
            if era != self.era.number:  # forgotten, or in the store in time for who learns from now on
                return
            self._new.append(Lesson(message.id, message.conversation_id, message.created_at, tuple(turns), reply))
            self._changed.notify()

    def forget(self, conversation_id: int) -> None:
        """Nothing more is learned from it."""
        with self._changed:
            self._new = [lesson for lesson in self._new if lesson.conversation_id != conversation_id]
            self._forgotten.append(conversation_id)
            self._changed.notify()

    def restore(self, conversation_id: int) -> None:
        """It is learned from again."""
        with self._changed:
            self._restored.append(conversation_id)
            self._changed.notify()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Somebody waits meanwhile."""
        with self._changed:
            self._num_waiting += 1
        try:
            yield
        finally:
            with self._changed:
                self._num_waiting -= 1
                self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def join(self, timeout_s: float) -> bool:
        """False if the thread is still busy after `timeout_s`."""
        if self._thread is None:
            return True
        self._thread.join(max(0.0, timeout_s))
        return not self._thread.is_alive()

    def _run(self) -> None:
        _step_back()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._is_due, _LOOK_AGAIN_S)
                if self._closed:
                    break
                if not self._is_due:
                    continue
                drafting, settings, era = self._drafting, self._settings, self.era.number
                new, self._new = self._new, []
                forgotten, self._forgotten = self._forgotten, []
                restored, self._restored = self._restored, []
            assert drafting is not None
            try:
                self._rest(settings, self._learn(drafting, era, new, forgotten, restored))
            except (_SomebodyWaits, _Outdated):
                pass
            except _Forgotten:
                self._pupil = None
            except BaseException:  # panics of Rust libraries are no Exception
                _logger.exception("learning failed; it begins again with the next reply")
                self._pupil = None
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or bool(self._new))
            self._time.keep(is_resting=not (self._new or self._has_work))
        self._time.keep()

    def _learn(
        self,
        drafting: Drafting,
        era: int,
        new: Sequence[Lesson],
        forgotten: Sequence[int],
        restored: Sequence[int],
    ) -> float:
        """One step; the seconds it took."""
        pupil = self._pupil
        if pupil is None or pupil.drafting is not drafting or pupil.era != era:
            # The store knows what is new.
            self._pupil = pupil = _Pupil(drafting, self._open_repository(), self._emit, self.era, era)
        else:
            pupil.take(new)
        pupil.forget(forgotten)
        pupil.restore(restored)
        with self._time.running():
            return pupil.work(self._check)

    @property
    def _is_due(self) -> bool:
        if not _can_learn(self._drafting) or self._num_waiting or not self._settings.enabled:
            return False
        pupil = self._pupil
        is_known = pupil is not None and pupil.drafting is self._drafting and pupil.era == self.era.number
        if is_known and not (self._new or self._forgotten or self._restored or self._has_work):
            return False
        return self._settings.on_battery or not self._on_battery()

    @property
    def _has_work(self) -> bool:
        return self._pupil is not None and self._pupil.has_work

    def _take_up_adapter(self, drafting: Drafting) -> AdapterRecord | None:
        """Has the drafter use the one that the store says is in use, and tells which."""
        try:
            kept = self._open_repository().published_adapter(drafting.target_fingerprint, drafting.drafter_fingerprint)
            drafting.use(None if kept is None else drafting.read_adapter(kept.weights))
        except MendableError as error:
            _logger.warning("what the drafter had learned is not used: %s", error)
            drafting.use(None)
            return None
        return kept

    def _renew_ngrams(self, drafting: Drafting) -> None:
        if self._ngrams is None:
            return
        try:
            drafting.renew_ngrams(self._ngrams())
        except MendableError as error:
            _logger.warning("n-grams were not loaded: %s", error)

    def _check(self) -> None:
        if self._num_waiting or self._closed or not self._settings.enabled:
            raise _SomebodyWaits

    def _rest(self, settings: LearningSettings, busy_s: float) -> None:
        """After a step of `busy_s`, for as long as leaves it its share of the time under these settings."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or self._settings is not settings, busy_s * (1 / settings.share - 1)
            )


class _Pupil:
    """A drafter and its learner; on the thread of the learner alone."""

    def __init__(self, drafting: Drafting, repository: Repository, emit: Listener, eras: Era, era: int) -> None:
        """What it learns is kept for as long as `era` lasts."""
        self.drafting = drafting
        self.era = era
        self._eras = eras
        self._repository = repository
        self._emit = emit
        self._pair = (drafting.target_fingerprint, drafting.drafter_fingerprint)
        kept = repository.published_adapter(*self._pair)
        adapter = None
        if kept is not None:
            try:
                adapter = drafting.read_adapter(kept.weights)
            except AdapterUnusable as error:
                _logger.warning("%s", error)
                kept = None
        self._learner: Learner = drafting.make_learner(adapter=adapter)
        self._numbers: list[tuple[Adapter, int]] = [(adapter, kept.number)] if adapter and kept else []
        self._num_learned = kept.num_learned if kept else 0
        self._conversations: dict[int, list[int]] = {}  # and the lessons in them
        lessons = repository.load_lessons(drafting.target_fingerprint, _MOST_TAKEN_UP)
        self._learned_until = kept.created_at if kept else None
        self._waiting = deque(self._lessons(lessons))

    @property
    def has_work(self) -> bool:
        return bool(self._waiting) or self._learner.has_work

    def take(self, lessons: Sequence[Lesson]) -> None:
        self._waiting.extend((lesson, True) for lesson in lessons)

    def forget(self, conversations: Sequence[int]) -> None:
        if not conversations:
            return
        self._waiting = deque(each for each in self._waiting if each[0].conversation_id not in conversations)
        for conversation_id in conversations:
            self._learner.forget(self._conversations.pop(conversation_id, ()))

    def restore(self, conversations: Sequence[int]) -> None:
        """Those that are in the store; lessons that the learner knows are left alone by it."""
        if conversations:
            lessons = self._repository.load_lessons(self._pair[0], _MOST_TAKEN_UP)
            self._waiting.extend(self._lessons([each for each in lessons if each.conversation_id in conversations]))

    def work(self, check: Callable[[], None]) -> float:
        """One step; the seconds it took. Raises _Forgotten."""
        began = time.perf_counter()
        if self._waiting:
            check()
            lesson, is_new = self._waiting.popleft()
            self._take(lesson, is_new)
        elif self._learner.has_work:
            trial = self._learner.work(check)
            if trial is not None and trial.adapter is not None:
                self._use(trial, trial.adapter)
        return time.perf_counter() - began

    def _lessons(self, lessons: Sequence[Lesson]) -> Iterator[tuple[Lesson, bool]]:
        """With whether they are new: the latest of those that came after the adapter in use."""
        until = self._learned_until
        since = sorted(lesson.message_id for lesson in lessons if until is None or lesson.created_at > until)
        due = set(since[-_MOST_DUE:])
        return ((lesson, lesson.message_id in due) for lesson in lessons)

    def _take(self, lesson: Lesson, is_new: bool) -> None:
        """A damaged file must not make the learner read what is no token."""
        tokens, distributions = lesson.reply.tokens, lesson.reply.top_tokens
        if max(int(tokens.max()), int(distributions.max())) >= len(self.drafting.vocabulary):
            return
        self._conversations.setdefault(lesson.conversation_id, []).append(lesson.message_id)
        self._learner.take(lesson.message_id, lesson.turns, lesson.reply, is_new)
        self._num_learned += is_new

    def _use(self, trial: Trial, adapter: Adapter) -> None:
        with self._eras.lasting(self.era) as lasts:
            if not lasts:
                raise _Outdated
            if not self._repository.load_lessons(self._pair[0], 1):
                self.drafting.use(None)
                raise _Forgotten  # by another process: what was learned from them is to be forgotten as well
            self._publish(trial, adapter)

    def _publish(self, trial: Trial, adapter: Adapter) -> None:
        number: int | None
        if trial.is_return:
            number = next((number for known, number in self._numbers if known is adapter), None)
            self._repository.publish_adapter(*self._pair, number)
        else:
            number = self._repository.save_adapter(
                *self._pair, trial.base, trial.candidate, trial.num_replies, self._num_learned, adapter.to_bytes()
            ).number
            self._numbers.append((adapter, number))
        within_reach = self._learner.adapters
        self._numbers = [each for each in self._numbers if any(each[0] is known for known in within_reach)]
        self.drafting.use(adapter)
        self._emit(DrafterLearned(number, trial.base, trial.candidate, self._num_learned, trial.is_return))


def _can_learn(drafting: Drafting | None) -> bool:
    return drafting is not None and drafting.num_weights <= _MOST_WEIGHTS


def _on_battery() -> bool:
    """False where the platform does not tell."""
    try:
        battery = psutil.sensors_battery()
    except (OSError, AttributeError):  # a machine that hides it; a platform that psutil knows nothing about
        return False
    return battery is not None and battery.power_plugged is False


def _step_back() -> None:
    """Whatever else runs goes first, the threads that torch starts for this one included."""
    if sys.platform == "linux":
        with suppress(OSError):  # who runs further back already
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
