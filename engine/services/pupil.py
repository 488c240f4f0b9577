"""A drafter that learns: stored replies go to its learner, and what proves better is published."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import AdapterUnusable
from engine.messages.events import DrafterLearned, Listener
from engine.messages.learned import Lesson
from engine.services.era import Era

if TYPE_CHECKING:
    from engine.drafter.adapter import Adapter
    from engine.learning.learner import Learner, Trial
    from engine.proposers.drafting import Teachable
    from engine.storage import Repository

_logger = logging.getLogger("slipstream.learning")

_MAX_LOADED = 400  # lessons at a start: about as many as a learner has room for
_MAX_DUE = 16  # of these, the latest that count as new


class Forgotten(Exception):
    """The lessons are no longer in the store, so nothing learned from them may be published."""


class Outdated(Exception):
    """Its era is over: the user forgot or replaced what was learned."""


class Pupil:
    """Owns the learner of one drafter, for one era. Only the learner's thread uses it."""

    def __init__(self, drafting: Teachable, repository: Repository, emit: Listener, eras: Era, era: int) -> None:
        self.drafting = drafting
        self.era = era
        self._eras = eras
        self._repository = repository
        self._emit = emit
        self._pair = drafting.pair
        stored = repository.published_adapter(*self._pair)
        adapter = None
        if stored is not None:
            try:
                adapter = drafting.read_adapter(stored.weights)
            except AdapterUnusable as error:
                _logger.warning("%s", error)
                stored = None
        self._learner: Learner = drafting.make_learner(adapter=adapter)
        self._numbers: list[tuple[Adapter, int]] = [(adapter, stored.number)] if adapter and stored else []
        self._num_learned = stored.num_learned if stored else 0
        self._learned_until = stored.created_at if stored else None
        self._conversations: dict[int, int] = {}  # of each lesson that is waiting or was taken, by its message
        self._counted: set[int] = set()  # messages whose lessons are in `_num_learned`
        self._waiting: deque[tuple[Lesson, bool]] = deque()  # and whether it is new
        self._load()

    @property
    def has_work(self) -> bool:
        return bool(self._waiting) or self._learner.has_work

    def take(self, lesson: Lesson, is_new: bool = True) -> None:
        if lesson.message_id not in self._conversations:
            self._conversations[lesson.message_id] = lesson.conversation_id
            self._waiting.append((lesson, is_new))

    def forget(self, conversation_id: int) -> None:
        forgotten = [message for message, chat in self._conversations.items() if chat == conversation_id]
        for message in forgotten:
            del self._conversations[message]
        self._waiting = deque(each for each in self._waiting if each[0].conversation_id != conversation_id)
        self._learner.forget(forgotten)

    def rest(self) -> None:
        """Gives back memory until there is something to learn."""
        self._learner.rest()

    def restore(self, conversation_id: int) -> None:
        self._load(conversation_id)

    def work(self, check: Callable[[], None]) -> None:
        """One step, which ends early if `check` raises. Raises Forgotten and Outdated."""
        if self._waiting:
            check()
            self._learn_from(*self._waiting[0])
            self._waiting.popleft()  # not before the learner has it: `has_work` is read meanwhile
        elif self._learner.has_work:
            trial = self._learner.work(check)
            if trial is not None and trial.adapter is not None:
                self._use(trial, trial.adapter)

    def _load(self, conversation_id: int | None = None) -> None:
        """Takes the stored lessons; new are the latest of those since the adapter in use."""
        lessons = self._repository.load_lessons(self.drafting.target_fingerprint, _MAX_LOADED)
        lessons = tuple(each for each in lessons if conversation_id in (None, each.conversation_id))
        until = self._learned_until
        since = sorted(lesson.message_id for lesson in lessons if until is None or lesson.created_at > until)
        for lesson in lessons:
            self.take(lesson, lesson.message_id in since[-_MAX_DUE:])

    def _learn_from(self, lesson: Lesson, is_new: bool) -> None:
        """Skips a damaged lesson: the learner must not read what is no token."""
        tokens, distributions = lesson.reply.tokens, lesson.reply.top_tokens
        if max(int(tokens.max()), int(distributions.max())) < len(self.drafting.vocabulary):
            self._learner.take(lesson.message_id, lesson.turns, lesson.reply, is_new)
            if is_new and lesson.message_id not in self._counted:  # it may have been forgotten and come back
                self._counted.add(lesson.message_id)
                self._num_learned += 1

    def _use(self, trial: Trial, adapter: Adapter) -> None:
        with self._eras.lasting(self.era) as lasts:
            if not lasts:
                raise Outdated
            if not self._repository.load_lessons(self.drafting.target_fingerprint, 1):
                self.drafting.use(None)
                raise Forgotten  # by another process
            self._publish(trial, adapter)

    def _publish(self, trial: Trial, adapter: Adapter) -> None:
        number: int | None
        if trial.is_rollback:
            number = next((number for known, number in self._numbers if known is adapter), None)
            self._repository.publish_adapter(*self._pair, number)
        else:
            number = self._repository.save_adapter(
                *self._pair,
                trial.base,
                trial.candidate,
                trial.num_replies,
                self._num_learned,
                adapter.to_bytes(),
            ).number
            self._numbers.append((adapter, number))
        within_reach = self._learner.adapters
        self._numbers = [each for each in self._numbers if any(each[0] is known for known in within_reach)]
        self.drafting.use(adapter)
        self._emit(DrafterLearned(number, trial.base, trial.candidate, self._num_learned))
