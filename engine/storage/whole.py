"""All that is learned: read for a profile, joined with one, deleted; the repository opens the transactions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, delete

from engine.messages.learned import AdapterRecord, ImportOutcome, Learned, LearnedSummary, RecallText
from engine.storage import adapters, lessons, ngrams, recall
from engine.storage.learned_sizes import read_extents
from engine.storage.ngram_merge import changes_by
from engine.storage.schema import AdapterRow, ImportedRecallRow, LearningDayRow, VocabularyPairRow, VocabularyRow
from engine.storage.statistics import read_statistics


def read_all(connection: Connection, recall_tokens: int) -> Learned:
    """Of every vocabulary, at most so many tokens to recall."""
    ngrams_of = {pair: ngrams.read_ngrams(connection, *pair) for pair in ngrams.count_ngrams(connection)}
    adapters_of = {pair: adapters.read_adapters(connection, *pair) for pair in adapters.read_pairs(connection)}
    texts_of = {
        vocabulary: _texts(recall.read_recall(connection, vocabulary, recall_tokens, None))
        for vocabulary in recall.read_sizes(connection)
    }
    return Learned(
        ngrams={pair: found for pair, found in ngrams_of.items() if found},
        adapters={pair: found for pair, found in adapters_of.items() if found},
        recall={vocabulary: found for vocabulary, found in texts_of.items() if found},
        statistics=read_statistics(connection),
    )


def summarize(connection: Connection) -> LearnedSummary:
    extents = read_extents(connection)
    return LearnedSummary(
        ngrams=ngrams.count_ngrams(connection),
        adapters={
            pair: tuple(found)
            for pair in adapters.read_pairs(connection)
            if (found := adapters.read_summaries(connection, *pair))
        },
        recall=recall.read_sizes(connection),
        lessons=lessons.count_lessons(connection),
        target_names=lessons.read_target_names(connection),
        statistics=read_statistics(connection),
        num_bytes={vocabulary: extent.num_bytes for vocabulary, extent in extents.items()},
        since={vocabulary: extent.since for vocabulary, extent in extents.items() if extent.since is not None},
    )


def add_all(connection: Connection, learned: Learned) -> ImportOutcome:
    """Joins what came with a profile with what is here; a second time changes nothing. Statistics are left aside:
    they tell of replies that are in another store."""
    num_ngrams = num_adapters = num_published = num_texts = 0
    for pair, imported in learned.ngrams.items():
        changed = changes_by(imported, ngrams.read_ngrams(connection, *pair))
        if changed:
            ngrams.write_ngrams(connection, *pair, changed)
        num_ngrams += len(changed)
    for pair, found in learned.adapters.items():
        added, published = _add_adapters(connection, *pair, found)
        num_adapters += added
        num_published += published
    for vocabulary, texts in learned.recall.items():
        num_texts += recall.add_imported(connection, vocabulary, texts)
    return ImportOutcome(num_ngrams, num_adapters, num_published, num_texts)


def delete_replaceable(connection: Connection) -> None:
    """What a profile can take the place of. Lessons and the recall of messages go with the chats of this store."""
    for table in (VocabularyPairRow, AdapterRow, ImportedRecallRow):
        connection.execute(delete(table))


def delete_all(connection: Connection) -> None:
    """Vocabularies take along recall and lessons, and pairs of them their n-grams."""
    for table in (VocabularyPairRow, AdapterRow, VocabularyRow, LearningDayRow):
        connection.execute(delete(table))


def _texts(remembered: tuple[RecallText, ...]) -> tuple[npt.NDArray[np.int32], ...]:
    """Without those that say nothing, and those that are damaged."""
    return tuple(text.tokens for text in remembered if len(text.tokens) and int(text.tokens.min()) >= 0)


def _add_adapters(
    connection: Connection, target_fingerprint: str, drafter_fingerprint: str, imported: tuple[AdapterRecord, ...]
) -> tuple[int, bool]:
    """How many were new, and whether one of them came into use: only where none is, as the store's own was judged by
    its user's chats."""
    pair = target_fingerprint, drafter_fingerprint
    numbers = {adapter.weights: adapter.number for adapter in adapters.read_adapters(connection, *pair)}
    num_known = len(numbers)
    chosen = None
    for adapter in imported:
        if adapter.weights not in numbers:
            new = replace(adapter, is_published=False)
            numbers[adapter.weights] = adapters.write_adapter(connection, *pair, new, adapter.weights).number
        if adapter.is_published:
            chosen = numbers[adapter.weights]
    publishes = chosen is not None and not adapters.is_any_published(connection, *pair)
    if publishes:
        adapters.publish(connection, *pair, chosen)
    return len(numbers) - num_known, publishes
