"""The part of the repository for what is learned from chats: n-grams, recall, lessons and adapters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime

from sqlalchemy import Connection, select

from engine.backend.storage import adapters, scores, whole
from engine.backend.storage.erasing import Due, delete_all
from engine.backend.storage.history import add_learning, read_history
from engine.backend.storage.lessons import (
    count_exercises,
    note_read,
    read_exercise,
    read_exercises,
    read_lessons,
    read_progress,
    read_self_distilled,
    read_text_lessons,
    write_lesson,
    write_self_distilled,
)
from engine.backend.storage.ngrams import read_ngrams, write_ngrams
from engine.backend.storage.recall import read_missing, read_recall, write_recall
from engine.backend.storage.schema import Holds, MessageRow, SelfDistilledRow, rows_holding
from engine.backend.storage.transactions import SHORT_PATIENCE_S, Transactions
from engine.values.errors import AdapterUnusable, ConversationMissing
from engine.values.history import History
from engine.values.learned import (
    AdapterRecord,
    AdapterSummary,
    CandidateRecord,
    ComparedReply,
    Exercise,
    Gain,
    ImportOutcome,
    Learned,
    LearnedSummary,
    Lesson,
    NgramRecord,
    RecallText,
    SelfDistilledRead,
    TextLesson,
    VerifiedReply,
)

MOST_ADAPTERS = 4  # stored for a pair, to go back to


class LearnedRepository(Transactions):
    """N-grams belong to a pair of vocabularies, adapters to a target's vocabulary and a drafter, recall and lessons to
    a target's vocabulary and a message. Vocabularies and drafters are named by their fingerprints.

    Recall, lessons and self-distilled replies are deleted with their messages. N-grams and adapters come from many
    chats and stay when one is deleted: they hold none of its texts, only traces of what was said. `forget_learned`
    removes them.
    """

    def load_ngrams(self, target_fingerprint: str, drafter_fingerprint: str) -> tuple[NgramRecord, ...]:
        """Those of this pair of vocabularies, in no particular order, without damaged rows. A target repeats names and
        words that a user typed, so pieces of these may be among them, also of deleted chats."""
        with self._reading() as connection:
            return read_ngrams(connection, (target_fingerprint, drafter_fingerprint))

    def save_ngrams(self, target_fingerprint: str, drafter_fingerprint: str, changed: Sequence[NgramRecord]) -> None:
        """Adds or replaces these, all or none; a record with count 0 removes its n-gram. Of two records with the same
        string, the later counts. Raises ValueError for an empty string, an id that is no token, or a negative count.
        """
        if not changed:
            return
        with self._writing() as connection:
            write_ngrams(connection, (target_fingerprint, drafter_fingerprint), changed)

    def load_recall(
        self, fingerprint: str, most_tokens: int, conversation_id: int | None = None
    ) -> tuple[RecallText, ...]:
        """The latest messages of one conversation, or of all that are not deleted, whose tokens in this vocabulary are
        known: at most `most_tokens` in all, oldest first. The arrays are read-only and may hold ids that are not in the
        vocabulary."""
        with self._reading() as connection:
            return read_recall(connection, fingerprint, most_tokens, conversation_id)

    def save_recall(self, fingerprint: str, tokens: Mapping[int, Sequence[int]]) -> None:
        """Stores the tokens of messages, by their ids. Raises ConversationMissing when one of the messages is gone, and
        then stores none."""
        if not tokens:
            return
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            _check_messages(connection, tokens)
            write_recall(connection, fingerprint, tokens)

    def messages_without_recall(self, fingerprint: str, before_id: int, limit: int) -> tuple[tuple[int, int, str], ...]:
        """The latest messages, `limit` at most, that are older than `before_id` and whose tokens are unknown, latest
        first: their ids, the ids of their conversations, and their texts."""
        with self._reading() as connection:
            return read_missing(connection, fingerprint, before_id, limit)

    def load_lessons(self, fingerprint: str, most: int | None = None) -> tuple[Lesson, ...]:
        """The latest `most` lessons (None: all) in this vocabulary, of conversations that are not deleted, oldest
        first, without damaged ones. The arrays are read-only and may hold ids that are not in the vocabulary."""
        with self._reading() as connection:
            return read_lessons(connection, fingerprint, most)

    def load_text_lessons(self, fingerprint: str, most: int) -> tuple[TextLesson, ...]:
        """The latest `most` lessons in other vocabularies than this, as `load_lessons` orders them."""
        with self._reading() as connection:
            return read_text_lessons(connection, fingerprint, most)

    def save_lesson(
        self, fingerprint: str, message_id: int, reply: VerifiedReply, most: int, system_prompt: str | None = None
    ) -> None:
        """Stores the lesson of a reply, in place of an earlier one, with the system prompt that the reply was given;
        None: the one that its conversation has now. Of more than `most` lessons in this vocabulary the latest quarter
        stays, and of the others some at random (the same ones on every machine).

        Raises ConversationMissing when the message is gone, and ValueError for an invalid lesson.
        """
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            _check_messages(connection, [message_id])
            write_lesson(connection, fingerprint, message_id, reply, most, system_prompt)

    def list_exercises(self, fingerprint: str, num_prompts: int, most_answers: int) -> tuple[Exercise, ...]:
        """The latest prompts of chats that are not deleted, if they have fewer self-distilled answers: the fewest
        first, and of these the latest."""
        with self._reading() as connection:
            return read_exercises(connection, fingerprint, num_prompts, most_answers)

    def count_exercises(self, fingerprint: str) -> int:
        """How many of the shipped exercises the target has gone through; more than there are when it began again."""
        with self._reading() as connection:
            return count_exercises(connection, fingerprint)

    def save_self_distilled(
        self, fingerprint: str, exercise: Exercise, reply: VerifiedReply, most_tokens: int
    ) -> Lesson:
        """Stores a self-distilled reply, and returns it as `load_self_distilled` will. Replies to messages and those to
        shipped prompts have room for `most_tokens` each in this vocabulary; the oldest go. Raises ConversationMissing
        when the turns that it answers are not in the store as they were, and ValueError for an invalid reply."""
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            if exercise.message_id is not None and read_exercise(connection, exercise.message_id) != exercise:
                raise ConversationMissing("This message no longer exists.")
            return write_self_distilled(connection, fingerprint, exercise, reply, most_tokens)

    def load_self_distilled(self, fingerprint: str, most: int, after: int | None = None) -> tuple[Lesson, ...]:
        """Loads self-distilled replies as `load_lessons` loads lessons. With `after`, the `message_id` of one of them
        or 0: the next ones after it, instead of the latest."""
        with self._reading() as connection:
            return read_self_distilled(connection, fingerprint, most, after)

    def self_distilled_read(self, target_fingerprint: str, drafter_fingerprint: str) -> SelfDistilledRead:
        """How much of them this drafter has read."""
        with self._reading() as connection:
            return read_progress(connection, (target_fingerprint, drafter_fingerprint))

    def note_self_distilled_read(self, target_fingerprint: str, drafter_fingerprint: str, lesson: Lesson) -> None:
        """Counts a self-distilled reply as read by this drafter; one that is counted already, or is older than one that
        is, counts no more."""
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            pair, num_tokens = (target_fingerprint, drafter_fingerprint), len(lesson.reply.tokens)
            note_read(connection, pair, -lesson.message_id, num_tokens)

    def erase_self_distilled(self) -> None:
        """Removes all self-distilled replies for good; `finish_erasure` is to follow. What was learned from them stays,
        and how much was read."""
        with self._writing() as connection:
            delete_all(connection, [SelfDistilledRow], Due.PAGES | Due.SELF_DISTILLED)

    def save_adapter(
        self,
        target_fingerprint: str,
        drafter_fingerprint: str,
        before: float,
        after: float,
        num_replies: int,
        num_learned: int,
        weights: bytes,
        most: int = MOST_ADAPTERS,
    ) -> AdapterSummary:
        """Stores an adapter, see AdapterRecord, and puts it in use instead of others. The last `most` of the pair stay.
        Raises ValueError for invalid figures, and for empty weights."""
        pair = target_fingerprint, drafter_fingerprint
        new = AdapterSummary(0, datetime.now(UTC), before, after, num_replies, num_learned, is_published=True)
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            saved = adapters.write_adapter(connection, pair, new, weights)
            adapters.publish(connection, pair, saved.number)
            adapters.thin_out(connection, pair, most)
        return saved

    def publish_adapter(self, target_fingerprint: str, drafter_fingerprint: str, number: int | None) -> None:
        """Puts this adapter in use instead of others; None: the original drafter. Raises AdapterUnusable for a number
        that this pair does not have."""
        with self._writing() as connection:
            if not adapters.publish(connection, (target_fingerprint, drafter_fingerprint), number):
                raise AdapterUnusable(
                    "Adapter {snapshot} no longer exists; choose another one, or the drafter without any.",
                    snapshot=number,
                )

    def save_score(
        self,
        target_fingerprint: str,
        drafter_fingerprint: str,
        message_id: int,
        num_tokens: int,
        before: float,
        after: float,
    ) -> None:
        """The rounds that the reply in this message would have taken with the original drafter, and with what is in
        use; `num_tokens` are the drafter's. Nothing is stored of a reply that is gone. Raises ValueError for invalid
        figures."""
        pair = target_fingerprint, drafter_fingerprint
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            scores.write_score(connection, pair, message_id, num_tokens, before, after)

    def compared_replies(self, target_fingerprint: str, drafter_fingerprint: str) -> tuple[ComparedReply, ...]:
        """The last `RECENT_REPLIES` that came while an adapter was in use, latest first, without those deleted."""
        with self._reading() as connection:
            return scores.read_compared(connection, (target_fingerprint, drafter_fingerprint))

    def note_trial(
        self, target_fingerprint: str, drafter_fingerprint: str, gain: Gain, scored_until: int, capital: Sequence[float]
    ) -> None:
        """What came of the reply in message `scored_until`: what the adapter in use brought so far, and what is known
        of the candidate, see CandidateRecord. Raises ValueError for invalid figures."""
        pair = target_fingerprint, drafter_fingerprint
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            adapters.note_gain(connection, pair, gain)
            adapters.note_candidate(connection, pair, scored_until, capital)

    def save_candidate(self, target_fingerprint: str, drafter_fingerprint: str, candidate: CandidateRecord) -> None:
        """Replaces the one before. Raises ValueError for invalid numbers."""
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            adapters.write_candidate(connection, (target_fingerprint, drafter_fingerprint), candidate)

    def candidate(self, target_fingerprint: str, drafter_fingerprint: str) -> CandidateRecord | None:
        """The one for the place of the adapter in use; None also when it is damaged."""
        pair = target_fingerprint, drafter_fingerprint
        with self._reading() as connection:
            found = adapters.read_candidate(connection, pair)
            published = adapters.published_number(connection, pair)
        return found if found is not None and found.adapter == published else None

    def published_adapter(self, target_fingerprint: str, drafter_fingerprint: str) -> AdapterRecord | None:
        """The one in use; None also when it is damaged."""
        with self._reading() as connection:
            return adapters.read_published(connection, (target_fingerprint, drafter_fingerprint))

    def adapter_of_others(
        self, target_fingerprint: str, drafter_fingerprint: str
    ) -> tuple[AdapterRecord, tuple[float, ...]] | None:
        """What this drafter uses for the other target that it learned from last, with what is known of it, see
        CandidateRecord."""
        with self._reading() as connection:
            other = adapters.read_of_others(connection, (target_fingerprint, drafter_fingerprint))
            if other is None:
                return None
            found, known = adapters.read_published(connection, other), adapters.read_candidate(connection, other)
        return None if found is None else (found, () if known is None else known.capital)

    def adapter(self, target_fingerprint: str, drafter_fingerprint: str, number: int) -> AdapterRecord | None:
        """The one of that number; None also when it is damaged."""
        with self._reading() as connection:
            found = adapters.read_adapters(connection, (target_fingerprint, drafter_fingerprint))
        return next((each for each in found if each.number == number), None)

    def list_adapters(self, target_fingerprint: str, drafter_fingerprint: str) -> tuple[AdapterSummary, ...]:
        """Newest first, without damaged ones."""
        with self._reading() as connection:
            return tuple(adapters.read_summaries(connection, (target_fingerprint, drafter_fingerprint)))

    def summarize_learned(self) -> LearnedSummary:
        """How much was learned, and how fast the targets wrote."""
        with self._reading() as connection:
            return whole.summarize(connection)

    def read_history(self) -> History:
        """How fast replies came, and what was learned meanwhile, without damaged rows."""
        with self._reading() as connection:
            return read_history(connection)

    def add_learning_time(self, day: date, seconds: float) -> None:
        """Adds to the time that the drafter learned on this day, in local time."""
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            add_learning(connection, day, seconds)

    def load_learned(self, recall_tokens: int) -> Learned:
        """Everything that a profile carries, at one moment, without damaged rows; for each vocabulary the latest
        `recall_tokens` of recall."""
        with self._reading() as connection:
            return whole.read_all(connection, recall_tokens)

    def add_learned(self, learned: Learned, replace: bool = False) -> ImportOutcome:
        """Merges a profile into the store, all or nothing: n-grams by their larger count, adapters under new numbers,
        in use only where none is, and texts for recall that are not known yet. With `replace`, what the store has of
        these is removed first, and `finish_erasure` is to follow. Raises ValueError for invalid records."""
        with self._writing() as connection:
            if replace:
                in_profile = [row for row in rows_holding(Holds.LEARNED) if row.in_profile]
                delete_all(connection, in_profile)
            return whole.add_all(connection, learned)

    def forget_learned(self) -> None:
        """Removes everything that was learned for good; `finish_erasure` is to follow. Chats stay, and recall reads
        them again when a target is loaded."""
        with self._writing() as connection:
            delete_all(connection, rows_holding(Holds.LEARNED), Due.PAGES | Due.LEARNED)


def _check_messages(connection: Connection, ids: Collection[int]) -> None:
    found = select(MessageRow.id).where(MessageRow.id.in_(ids))
    if len(connection.execute(found).all()) < len(ids):
        raise ConversationMissing("This message no longer exists.")
