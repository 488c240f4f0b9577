"""A drafter that learns: stored replies go to its learner, and what came of them drafts and is stored."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from engine.backend.teaching.era import Era
from engine.values.errors import AdapterUnusable, StoreUnusable
from engine.values.events import DrafterLearned, LearnedGrew, Listener
from engine.values.learned import NO_GAIN, CandidateRecord, Lesson, TextLesson

if TYPE_CHECKING:
    from engine.backend.storage import Repository
    from engine.speculation.drafter.adapter import Adapter
    from engine.speculation.learning.learner import Learner, Trial
    from engine.speculation.proposers.drafting import Teachable

_logger = logging.getLogger("slipstream.learning")

_MAX_LOADED = 400  # lessons at a start: about as many as a learner has room for
_MAX_DUE = 64  # of these, the latest that count as new
_MAX_TEXTS = 100  # of lessons of other targets, with which a pair begins
_MAX_SELF_DISTILLED = 100  # of self-distilled ones that are in memory at once
_SAVE_EVERY = 8  # replies, where nothing is left to do: the candidate takes some megabytes
_MOST_UNSAVED = 64  # replies, which a sudden end may lose
_SHARE_OF_OTHERS = 1 / 3  # of the tokens of another target, as which they count for this one


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
        adapter = None if stored is None else self._read(stored.weights)
        stored = stored if adapter is not None else None
        known = repository.candidate(*self._pair)
        candidate = self._read(known.weights) if known is not None and known.weights else None
        numbers: Sequence[float] = () if known is None else known.capital
        texts: Sequence[TextLesson] = ()
        if stored is None and known is None:
            candidate, numbers = self._begun_by_others()
            if candidate is None:
                texts = repository.load_text_lessons(drafting.target_fingerprint, _MAX_TEXTS)
        self._learner: Learner = drafting.make_learner(
            adapter=adapter, candidate=candidate, gain=NO_GAIN if stored is None else stored.gain, numbers=numbers
        )
        self._in_use = self._learner.in_use
        self._number = stored.number if stored else None  # of the adapter in use
        self._is_known = known is not None  # whether the store has a candidate
        self._scored_until = 0 if known is None else known.scored_until
        self._num_learned = known.num_learned if known else stored.num_learned if stored else 0
        self._num_unsaved = 0  # replies scored or self-distilled since the candidate was stored
        self._conversations: dict[int, int] = {}  # of each lesson that is waiting or was taken, by its message
        self._new: set[int] = set()  # messages whose lessons the learner was given, and is learning from
        self._counted: set[int] = set()  # messages whose lessons are in `_num_learned`
        self._waiting: deque[tuple[Lesson, bool]] = deque()  # and whether it is new
        self._may_have_unread = True  # self-distilled replies
        for lesson in texts:
            self._conversations[lesson.message_id] = lesson.conversation_id
            self._learner.take_text(lesson.message_id, lesson.turns, lesson.text)
        lessons = self._load()
        self._learned_until = 0  # the last message that was learned from
        if known is not None:
            self._learned_until = known.learned_until
        elif stored is not None:
            before = (each.message_id for each in lessons if each.created_at <= stored.created_at)
            self._learned_until = max([0, *before])
        self._take_stored(lessons)

    @property
    def has_work(self) -> bool:
        return bool(self._waiting) or self._learner.has_work or self._may_have_unread

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
        self._take_stored([each for each in self._load() if each.conversation_id == conversation_id])

    def work(self, check: Callable[[], None]) -> None:
        """One step, which ends early if `check` raises. Raises Forgotten and Outdated."""
        if self._waiting:
            check()
            self._learn_from(*self._waiting[0])
            self._waiting.popleft()  # not before the learner has it: `has_work` is read meanwhile
            return
        if self._learner.has_work:
            trial = self._learner.work(check)
            if trial is not None:
                self._take_note(trial)
            if self._learner.in_use is not self._in_use:
                self._use()
        elif self._may_have_unread:
            self._may_have_unread = self._take_self_distilled()
        if not self.has_work:
            self._has_learned(max(self._conversations, default=0))
        if self._num_unsaved >= (_MOST_UNSAVED if self.has_work else _SAVE_EVERY):
            with self._current():
                self._save_candidate(self._learner.candidate.to_bytes())

    def _load(self) -> list[Lesson]:
        """What is stored, without what was self-distilled and is yet to be read. First what was self-distilled: a reply
        to the same prompt is no evidence then."""
        fingerprint, read = self.drafting.target_fingerprint, self._repository.self_distilled_read(*self._pair)
        self_distilled = self._repository.load_self_distilled(fingerprint, _MAX_SELF_DISTILLED)
        known = (each for each in self_distilled if each.message_id >= read.until)
        return [*known, *self._repository.load_lessons(fingerprint, _MAX_LOADED)]

    def _take_self_distilled(self) -> bool:
        """Takes the next ones that are yet to be read; False if there are none."""
        fingerprint, read = self.drafting.target_fingerprint, self._repository.self_distilled_read(*self._pair)
        lessons = self._repository.load_self_distilled(fingerprint, _MAX_SELF_DISTILLED, read.until)
        for lesson in lessons:
            self.take(lesson)
        return bool(lessons)

    def _take_stored(self, lessons: Sequence[Lesson]) -> None:
        """New are the latest of those that were not learned from yet, and none that were self-distilled."""
        since = sorted(lesson.message_id for lesson in lessons if lesson.message_id > self._learned_until)
        for lesson in lessons:
            self.take(lesson, lesson.message_id in since[-_MAX_DUE:])

    def _learn_from(self, lesson: Lesson, is_new: bool) -> None:
        """Skips a damaged lesson: the learner must not read what is no token."""
        number, reply = lesson.message_id, lesson.reply
        if max(int(reply.tokens.max()), int(reply.top_tokens.max())) < len(self.drafting.vocabulary):
            is_scored = number <= self._scored_until
            self._learner.take(number, lesson.conversation_id, lesson.turns, reply, is_new, is_scored)
            if is_new and number > 0:
                self._new.add(number)
        if number < 0:
            self._num_unsaved += 1
            try:
                self._repository.note_self_distilled_read(*self._pair, lesson)
            except StoreUnusable as error:
                _logger.warning("how much was read was not stored: %s", error)

    def _has_learned(self, until: int) -> None:
        """Counts all new replies up to that message as learned from."""
        done = {number for number in self._new if number <= until}
        self._new -= done
        self._num_learned += len(done - self._counted)  # one may have been forgotten and come back
        self._counted |= done
        self._learned_until = max(self._learned_until, until)

    def _read(self, weights: bytes) -> Adapter | None:
        try:
            return self.drafting.read_adapter(weights)
        except AdapterUnusable as error:
            _logger.warning("%s", error)
            return None

    @contextmanager
    def _current(self) -> Iterator[None]:
        """What is stored inside was learned from what is still there. Raises Forgotten and Outdated."""
        with self._eras.lasting(self.era) as lasts:
            if not lasts:
                raise Outdated
            if (self._new or self._counted) and not self._repository.load_lessons(self.drafting.target_fingerprint, 1):
                self.drafting.use(None)
                raise Forgotten  # by another process
            yield

    def _take_note(self, trial: Trial) -> None:
        with self._current():
            self._has_learned(trial.number - 1)  # before it was scored
            self._scored_until = max(self._scored_until, trial.number)
            self._num_unsaved += 1
            score = trial.score
            try:
                self._repository.save_score(*self._pair, trial.number, score.num_tokens, score.original, score.in_use)
                self._repository.note_trial(*self._pair, trial.gain, self._scored_until, trial.numbers)
                if not self._is_known:  # the first one: what it showed is to be seen, and kept
                    self._save_candidate(b"")
            except StoreUnusable as error:  # the next note has all of this one but its score
                _logger.warning("what a reply showed was not stored: %s", error)
        self._emit(LearnedGrew())

    def _save_candidate(self, weights: bytes) -> None:
        numbers = self._learner.numbers
        record = CandidateRecord(
            self._number, self._scored_until, self._learned_until, self._num_learned, numbers, weights
        )
        self._repository.save_candidate(*self._pair, record)
        self._num_unsaved, self._is_known = 0, True

    def _use(self) -> None:
        """Has something else draft: another adapter, or another share of it."""
        in_use, adapter = self._learner.in_use, self._learner.in_use.adapter
        with self._current():
            if adapter is not self._in_use.adapter:
                if adapter is None:
                    self._repository.publish_adapter(*self._pair, None)
                    self._number = None
                else:
                    new = adapter.to_bytes()
                    saved = self._repository.save_adapter(*self._pair, 0.0, 0.0, 0, self._num_learned, new)
                    self._number = saved.number
                self._save_candidate(b"")
            self._in_use = in_use
            self.drafting.use(adapter, in_use.strength)
        self._emit(DrafterLearned(self._number, self._num_learned))

    def _begun_by_others(self) -> tuple[Adapter | None, Sequence[float]]:
        """What this drafter learned for another target, with which it begins here."""
        other = self._repository.adapter_of_others(*self._pair)
        adapter = None if other is None else self._read(other[0].weights)
        if other is None or adapter is None:
            return None, ()
        from engine.speculation.learning.judge import Evidence

        return adapter, Evidence(num_tokens=_SHARE_OF_OTHERS * Evidence.of(other[1]).num_tokens).numbers
