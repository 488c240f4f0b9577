"""Reads and writes the tokens of messages in the vocabularies of targets. The repository opens the transactions.

Tokens are stored as little-endian int32, so that a store can move to any machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from engine.backend.storage.columns import upsert
from engine.backend.storage.connections import raw_rows
from engine.backend.storage.schema import ImportedRecallRow, RecallRow, VocabularyPairRow, VocabularyRow
from engine.values.learned import RecallSize, RecallText

NO_CONVERSATION = 0  # ids begin with 1
_TOKEN_BYTES = 4
_LONGEST = 1_000_000  # characters of a message; the rest is not recalled
_FIRST_IMPORTED = -(2**62)  # imported texts are numbered from here, below all messages

# SQLite holds any kind of value in any column, whatever the schema says, so damaged rows are left out here.
_READ = f"""
SELECT recall.message_id, messages.conversation_id, recall.tokens FROM recall
JOIN messages ON messages.id = recall.message_id JOIN conversations ON conversations.id = messages.conversation_id
WHERE recall.vocabulary_id = (SELECT id FROM vocabularies WHERE fingerprint = ?) AND conversations.deleted_at IS NULL
AND (?2 IS NULL OR conversations.id = ?2)
AND typeof(recall.tokens) = 'blob' AND length(recall.tokens) % {_TOKEN_BYTES} = 0
ORDER BY recall.message_id DESC
"""
_MISSING = f"""
SELECT messages.id, messages.conversation_id, substr(messages.text, 1, {_LONGEST}) FROM messages
JOIN conversations ON conversations.id = messages.conversation_id
WHERE messages.id < ? AND conversations.deleted_at IS NULL AND typeof(messages.text) = 'text' AND NOT EXISTS (
    SELECT 1 FROM recall WHERE recall.message_id = messages.id
    AND recall.vocabulary_id = (SELECT id FROM vocabularies WHERE fingerprint = ?))
ORDER BY messages.id DESC LIMIT ?
"""
_IMPORTED = f"""
SELECT imported_recall.id, imported_recall.tokens FROM imported_recall
WHERE vocabulary_id = (SELECT id FROM vocabularies WHERE fingerprint = ?)
AND typeof(tokens) = 'blob' AND length(tokens) % {_TOKEN_BYTES} = 0
ORDER BY imported_recall.id DESC
"""
_KNOWN = """
SELECT tokens FROM recall WHERE vocabulary_id = ?1 UNION SELECT tokens FROM imported_recall WHERE vocabulary_id = ?1
"""
_SIZES = """
SELECT fingerprint, count(*), sum(length(tokens)), count(DISTINCT conversation_id) FROM vocabularies JOIN (
    SELECT vocabulary_id, tokens, conversation_id FROM recall JOIN messages ON messages.id = message_id
    JOIN conversations ON conversations.id = conversation_id WHERE conversations.deleted_at IS NULL
    UNION ALL SELECT vocabulary_id, tokens, NULL FROM imported_recall
) ON vocabulary_id = vocabularies.id GROUP BY vocabularies.id
"""
_SAVE = upsert(RecallRow, "tokens")


def read_recall(
    connection: Connection, fingerprint: str, most_tokens: int, conversation_id: int | None
) -> tuple[RecallText, ...]:
    """The latest `most_tokens`, oldest text first. Texts that came with a profile count as older than any message, and
    belong to no conversation."""
    texts: list[RecallText] = []
    room = most_tokens
    for message_id, found_in, blob in _latest_first(connection, fingerprint, conversation_id):
        tokens = np.frombuffer(blob, "<i4").astype(np.int32, copy=False)
        room -= len(tokens)
        if room < 0:
            break
        texts.append(RecallText(message_id, found_in, tokens))
    return tuple(reversed(texts))


def _latest_first(
    connection: Connection, fingerprint: str, conversation_id: int | None
) -> Iterator[tuple[int, int, bytes]]:
    yield from raw_rows(connection, _READ, fingerprint, conversation_id)
    if conversation_id is None:
        for number, blob in raw_rows(connection, _IMPORTED, fingerprint):
            yield number + _FIRST_IMPORTED, NO_CONVERSATION, blob


def read_sizes(connection: Connection) -> dict[str, RecallSize]:
    """Sizes for every vocabulary that has any, including texts that came with profiles."""
    found = raw_rows(connection, _SIZES)
    return {name: RecallSize(texts, num_bytes // _TOKEN_BYTES, chats) for name, texts, num_bytes, chats in found}


def read_missing(
    connection: Connection, fingerprint: str, before_id: int, limit: int
) -> tuple[tuple[int, int, str], ...]:
    """Messages whose tokens in this vocabulary are unknown: their ids, conversations and beginnings, latest first."""
    return tuple(raw_rows(connection, _MISSING, before_id, fingerprint, limit))


def id_of(connection: Connection, row: type[VocabularyRow | VocabularyPairRow], **fingerprints: str) -> int:
    """The id of the row with these fingerprints, which is added where it is missing."""
    connection.execute(insert(row).values(fingerprints).on_conflict_do_nothing())
    return int(connection.execute(select(row.id).filter_by(**fingerprints)).scalar_one())


def write_recall(connection: Connection, fingerprint: str, tokens: Mapping[int, Sequence[int]]) -> None:
    vocabulary_id = id_of(connection, VocabularyRow, fingerprint=fingerprint)
    rows = [
        {"vocabulary_id": vocabulary_id, "message_id": message_id, "tokens": np.asarray(ids, "<i4").tobytes()}
        for message_id, ids in tokens.items()
    ]
    connection.execute(_SAVE, rows)


def add_imported(connection: Connection, fingerprint: str, texts: Sequence[npt.NDArray[np.int32]]) -> int:
    """Adds texts that came with a profile, oldest first, without those that are here already, also as messages.
    Returns how many."""
    vocabulary_id = id_of(connection, VocabularyRow, fingerprint=fingerprint)
    known = set(connection.exec_driver_sql(_KNOWN, (vocabulary_id,)).scalars())
    new: dict[bytes, None] = {}
    for tokens in texts:
        blob = tokens.astype("<i4").tobytes()
        if blob not in known:
            new[blob] = None
    if new:
        rows = [{"vocabulary_id": vocabulary_id, "tokens": blob} for blob in new]
        connection.execute(insert(ImportedRecallRow), rows)
    return len(new)
