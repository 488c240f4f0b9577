"""Reads and writes the tokens of messages, in one vocabulary or another; the repository opens the transactions.

Tokens are kept as little-endian int32, so that a store can be carried to any machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

import numpy as np
from sqlalchemy import Connection
from sqlalchemy.dialects.sqlite import insert

from engine.records import RecallText
from engine.storage.schema import RecallRow
from engine.storage.vocabularies import make_vocabulary

_TOKEN_BYTES = 4

# SQLite holds any kind of value in any column, whatever the schema says: what is damaged is left out here.
_READ = f"""
SELECT recall.message_id, messages.conversation_id, recall.tokens FROM recall
JOIN messages ON messages.id = recall.message_id JOIN conversations ON conversations.id = messages.conversation_id
WHERE recall.vocabulary_id = (SELECT id FROM vocabularies WHERE fingerprint = ?) AND conversations.deleted_at IS NULL
AND (?2 IS NULL OR conversations.id = ?2)
AND typeof(recall.tokens) = 'blob' AND length(recall.tokens) % {_TOKEN_BYTES} = 0
ORDER BY recall.message_id DESC
"""
_MISSING = """
SELECT messages.id, messages.conversation_id, messages.text FROM messages
JOIN conversations ON conversations.id = messages.conversation_id
WHERE messages.id < ? AND conversations.deleted_at IS NULL AND typeof(messages.text) = 'text' AND NOT EXISTS (
    SELECT 1 FROM recall WHERE recall.message_id = messages.id
    AND recall.vocabulary_id = (SELECT id FROM vocabularies WHERE fingerprint = ?))
ORDER BY messages.id DESC LIMIT ?
"""
_new = insert(RecallRow)
_KEEP = _new.on_conflict_do_update(
    index_elements=[RecallRow.vocabulary_id, RecallRow.message_id], set_={"tokens": _new.excluded.tokens}
)


def read_recall(
    connection: Connection, fingerprint: str, most_tokens: int, conversation_id: int | None
) -> tuple[RecallText, ...]:
    """Oldest first; of all that there is, the latest `most_tokens`."""
    texts: list[RecallText] = []
    num_tokens = 0
    with closing(connection.connection.cursor()) as cursor:
        for message_id, found_in, blob in cursor.execute(_READ, (fingerprint, conversation_id)):
            tokens = np.frombuffer(blob, "<i4").astype(np.int32, copy=False)
            num_tokens += len(tokens)
            if num_tokens > most_tokens:
                break
            texts.append(RecallText(message_id, found_in, tokens))
    return tuple(reversed(texts))


def read_missing(
    connection: Connection, fingerprint: str, before_id: int, limit: int
) -> tuple[tuple[int, int, str], ...]:
    """Messages whose tokens in this vocabulary are not known: their ids, conversations and texts, latest first."""
    with closing(connection.connection.cursor()) as cursor:
        return tuple(cursor.execute(_MISSING, (before_id, fingerprint, limit)).fetchall())


def write_recall(connection: Connection, fingerprint: str, tokens: Mapping[int, Sequence[int]]) -> None:
    vocabulary_id = make_vocabulary(connection, fingerprint)
    rows = [
        {"vocabulary_id": vocabulary_id, "message_id": message_id, "tokens": np.asarray(ids, "<i4").tobytes()}
        for message_id, ids in tokens.items()
    ]
    connection.execute(_KEEP, rows)
