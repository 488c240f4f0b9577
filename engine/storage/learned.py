"""The part of the repository that keeps what is learned from chats: n-grams, recall, lessons and adapters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime

from sqlalchemy import select

from engine.errors import AdapterMissing, ConversationMissing
from engine.messages.history import History
from engine.messages.learned import (
    AdapterRecord,
    AdapterSummary,
    ImportOutcome,
    Learned,
    LearnedSummary,
    LessonRecord,
    NgramRecord,
    RecallText,
    VerifiedReply,
)
from engine.storage import adapters, erasure, whole
from engine.storage.backup import backups, forget_learned
from engine.storage.failures import told_in_words
from engine.storage.history import add_learning, read_history
from engine.storage.lessons import read_lessons, write_lesson
from engine.storage.ngrams import read_ngrams, write_ngrams
from engine.storage.recall import read_missing, read_recall, write_recall
from engine.storage.schema import MessageRow
from engine.storage.transactions import Transactions

MOST_ADAPTERS = 8  # kept of a pair, to go back to


class LearnedRepository(Transactions):
    """N-grams belong to a pair of vocabularies, adapters to a target's vocabulary and a drafter, recall and lessons to
    a target's vocabulary and a message. Vocabularies and drafters are named by their fingerprints.

    Recall and lessons go with their messages. N-grams and adapters come from many chats and outlive the deleting of
    one: none of its texts can be read from them, only traces of what was said. `forget_learned` removes them.
    """

    def load_ngrams(self, target_fingerprint: str, drafter_fingerprint: str) -> tuple[NgramRecord, ...]:
        """What was learned for this pair of vocabularies, in no particular order. Damaged rows are left out.

        N-grams come from what targets wrote. They keep no order of the text and belong to no conversation, so they
        outlive the deleting of one; but a target repeats names and words that a user typed, and pieces of these may
        be among them. `forget_learned` removes them.
        """
        with self._reading() as connection:
            return read_ngrams(connection, target_fingerprint, drafter_fingerprint)

    def save_ngrams(self, target_fingerprint: str, drafter_fingerprint: str, changed: Sequence[NgramRecord]) -> None:
        """Adds or replaces these, all or none; a record with count 0 removes its n-gram. Others stay as they are.

        Where a string comes twice, the later record counts. Raises ValueError for a record that is none: an empty
        string, an id that is no token, a negative count.
        """
        if not changed:
            return
        with self._writing() as connection:
            write_ngrams(connection, target_fingerprint, drafter_fingerprint, changed)

    def load_recall(
        self, fingerprint: str, most_tokens: int, conversation_id: int | None = None
    ) -> tuple[RecallText, ...]:
        """The messages of conversations that are not deleted, of one or all, in the tokens of the vocabulary with this
        fingerprint as far as these are known: the latest ones, at most `most_tokens` in all, oldest first.

        The arrays may not be written to. Whether the tokens are any of that vocabulary is for the caller to check.
        """
        with self._reading() as connection:
            return read_recall(connection, fingerprint, most_tokens, conversation_id)

    def save_recall(self, fingerprint: str, tokens: Mapping[int, Sequence[int]]) -> None:
        """Keeps the tokens of messages, by their ids, for as long as the messages are kept. Raises ConversationMissing
        when one of the messages is gone; then none are kept."""
        if not tokens:
            return
        with self._writing() as connection:
            found = select(MessageRow.id).where(MessageRow.id.in_(tokens))
            if len(connection.execute(found).all()) < len(tokens):
                raise ConversationMissing("This message is no longer in the store.")
            write_recall(connection, fingerprint, tokens)

    def messages_without_recall(self, fingerprint: str, before_id: int, limit: int) -> tuple[tuple[int, int, str], ...]:
        """At most `limit` messages older than `before_id` whose tokens are not known: ids, ids of their conversations,
        and texts, latest first."""
        with self._reading() as connection:
            return read_missing(connection, fingerprint, before_id, limit)

    def load_lessons(self, fingerprint: str, most: int | None = None) -> tuple[LessonRecord, ...]:
        """The latest `most` lessons (None: all) in the vocabulary with this fingerprint, of conversations that are not
        deleted, oldest first. Damaged ones are left out.

        The arrays may not be written to. Whether the tokens are any of that vocabulary is for the caller to check.
        """
        with self._reading() as connection:
            return read_lessons(connection, fingerprint, most)

    def save_lesson(
        self, fingerprint: str, message_id: int, reply: VerifiedReply, most: int, system_prompt: str | None = None
    ) -> None:
        """Keeps what a reply teaches for as long as its message is kept, in place of what it taught before, with the
        system prompt that it was given; None: that which its conversation has now.

        Of more than `most` lessons in this vocabulary the latest quarter stays, and of the others some at random (the
        same ones on every machine), so that they thin out with age.

        Raises ConversationMissing when the message is gone, and ValueError for what is no lesson.
        """
        with self._writing() as connection:
            if connection.execute(select(MessageRow.id).where(MessageRow.id == message_id)).one_or_none() is None:
                raise ConversationMissing("This message is no longer in the store.")
            write_lesson(connection, fingerprint, message_id, reply, most, system_prompt)

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
        """Keeps an adapter, see AdapterRecord, and puts it in use instead of others. The last `most` of the pair are
        kept. Raises ValueError for figures that are none, and for weights of no bytes."""
        pair = target_fingerprint, drafter_fingerprint
        new = AdapterSummary(0, datetime.now(UTC), before, after, num_replies, num_learned, is_published=True)
        with self._writing() as connection:
            kept = adapters.write_adapter(connection, *pair, new, weights)
            adapters.publish(connection, *pair, kept.number)
            adapters.thin_out(connection, *pair, most)
        return kept

    def publish_adapter(self, target_fingerprint: str, drafter_fingerprint: str, number: int | None) -> None:
        """Puts this adapter in use instead of others; None: no adapter, the drafter as it came.

        Raises AdapterMissing for a number that is none of this pair, and leaves in use what is.
        """
        with self._writing() as connection:
            if not adapters.publish(connection, target_fingerprint, drafter_fingerprint, number):
                raise AdapterMissing(
                    f"Adapter {number} is no longer in the store; choose another one, or the drafter without any."
                )

    def published_adapter(self, target_fingerprint: str, drafter_fingerprint: str) -> AdapterRecord | None:
        """The one in use; None also where it is damaged."""
        with self._reading() as connection:
            return adapters.read_published(connection, target_fingerprint, drafter_fingerprint)

    def list_adapters(self, target_fingerprint: str, drafter_fingerprint: str) -> tuple[AdapterSummary, ...]:
        """Newest first. Damaged ones are left out."""
        with self._reading() as connection:
            return tuple(adapters.read_summaries(connection, target_fingerprint, drafter_fingerprint))

    def summarize_learned(self) -> LearnedSummary:
        """How much is learned, and how fast the targets wrote."""
        with self._reading() as connection:
            return whole.summarize(connection)

    def read_history(self) -> History:
        """How fast replies came, and what was learned meanwhile. Damaged rows are left out."""
        with self._reading() as connection:
            return read_history(connection)

    def add_learning_time(self, day: date, seconds: float) -> None:
        """So much longer the drafter has learned on this day, by the clock of the machine."""
        with self._writing() as connection:
            add_learning(connection, day, seconds)

    def load_learned(self, recall_tokens: int) -> Learned:
        """All that can go into a profile, as of one moment; of every vocabulary the latest `recall_tokens` to recall.
        Damaged rows are left out."""
        with self._reading() as connection:
            return whole.read_all(connection, recall_tokens)

    def add_learned(self, learned: Learned, replace: bool = False) -> ImportOutcome:
        """Joins what came with a profile with what is here, all or nothing: n-grams by their larger count, adapters
        under new numbers, in use only where none is, and texts to recall that are not known yet. What is here already
        is not added twice.

        With `replace`, the n-grams, adapters and imported texts of the store are removed first. Raises ValueError for
        records that could not be read again.
        """
        with self._writing() as connection:
            if replace:
                whole.delete_replaceable(connection)
                erasure.announce(connection)
            outcome = whole.add_all(connection, learned)
        if replace:
            self._finish_erasure()
        return outcome

    def forget_learned(self) -> None:
        """Removes all n-grams, adapters, lessons, recall and times of learning for good, from the files as
        `purge_deleted` does. What is kept of chats stays; recall comes to know them again when a target reads them."""
        with self._writing() as connection:
            for backup in backups(self._path):
                with told_in_words(backup):
                    forget_learned(backup)
            whole.delete_all(connection)
            erasure.announce(connection)
        self._finish_erasure()
