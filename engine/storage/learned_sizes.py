"""How much room what is learned takes, and since when there is any; the repository opens the transactions."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from engine.storage.times import read_time

_NGRAM_BYTES = 12  # of an n-gram's numbers: small ones, which SQLite packs

_EXTENTS = f"""
SELECT fingerprint, sum(num_bytes), min(since) FROM (
    SELECT target_fingerprint AS fingerprint, length(weights) AS num_bytes, created_at AS since FROM adapters
    UNION ALL
    SELECT target_fingerprint, length(string) + {_NGRAM_BYTES}, NULL FROM ngrams
    JOIN vocabulary_pairs ON vocabulary_pairs.id = pair_id
    UNION ALL
    SELECT fingerprint, length(tokens) + length(law_tokens) + length(law_logs) + length(system_prompt),
    messages.created_at FROM lessons
    JOIN vocabularies ON vocabularies.id = vocabulary_id JOIN messages ON messages.id = message_id
    UNION ALL
    SELECT fingerprint, length(tokens), NULL FROM recall JOIN vocabularies ON vocabularies.id = vocabulary_id
    UNION ALL
    SELECT fingerprint, length(tokens), NULL FROM imported_recall JOIN vocabularies ON vocabularies.id = vocabulary_id
) GROUP BY fingerprint
"""


@dataclass(frozen=True, slots=True)
class Extent:
    num_bytes: int  # about
    since: datetime | None  # of the oldest lesson or adapter


def read_extents(connection: Connection) -> dict[str, Extent]:
    """By the fingerprint of a target's vocabulary."""
    with closing(connection.connection.cursor()) as cursor:
        rows = cursor.execute(_EXTENTS).fetchall()
    return {
        fingerprint: Extent(int(num_bytes or 0), read_time(since) if isinstance(since, str) else None)
        for fingerprint, num_bytes, since in rows
    }
