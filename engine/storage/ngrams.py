"""Reads and writes the n-grams of a pair of vocabularies; the repository opens the transactions.

A string of tokens is kept as little-endian int32, so that a store can be carried to any machine.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import closing
from functools import lru_cache

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, func, select
from sqlalchemy.dialects.sqlite import insert

from engine.messages.learned import FingerprintPair, NgramRecord
from engine.storage.schema import NgramRow, VocabularyPairRow

_TOKEN_BYTES = 4
_NUM_TOKENS = 2**31  # the ids that fit
_COUNTERS = range(2**63)  # what SQLite can hold

# SQLite holds any kind of value in any column, whatever the schema says: what is damaged is left out here.
_READ = f"""
SELECT string, token, count, doubts, last_use FROM ngrams
WHERE pair_id = (SELECT id FROM vocabulary_pairs WHERE target_fingerprint = ? AND drafter_fingerprint = ?)
AND typeof(string) = 'blob' AND length(string) > 0 AND length(string) % {_TOKEN_BYTES} = 0
AND typeof(token) = 'integer' AND token BETWEEN 0 AND {_NUM_TOKENS - 1}
AND typeof(count) = 'integer' AND count > 0
AND typeof(doubts) = 'integer' AND doubts >= 0
AND typeof(last_use) = 'integer' AND last_use >= 0
"""
_REMOVE = delete(NgramRow).where(NgramRow.pair_id == bindparam("pair"), NgramRow.string == bindparam("bytes"))
_new = insert(NgramRow)
_KEEP = _new.on_conflict_do_update(
    index_elements=[NgramRow.pair_id, NgramRow.string],
    set_={name: _new.excluded[name] for name in ("token", "count", "doubts", "last_use")},
)


def read_ngrams(connection: Connection, target_fingerprint: str, drafter_fingerprint: str) -> tuple[NgramRecord, ...]:
    """Leaves out rows that cannot be n-grams: damage to a few of them is no reason to lose the others."""
    # SQLite's own cursor: SQLAlchemy's rows would double the time that 50,000 of them take.
    with closing(connection.connection.cursor()) as cursor:
        cursor.execute(_READ, (target_fingerprint, drafter_fingerprint))
        found = [
            NgramRecord(_layout(len(string) // _TOKEN_BYTES).unpack(string), token, count, doubts, last_use)
            for string, token, count, doubts, last_use in cursor.fetchall()
        ]
    return tuple(ngram for ngram in found if min(ngram.string) >= 0)


def count_ngrams(connection: Connection) -> dict[FingerprintPair, int]:
    """Of every pair that has any, the damaged ones included."""
    counted = (
        select(VocabularyPairRow.target_fingerprint, VocabularyPairRow.drafter_fingerprint, func.count())
        .join(NgramRow, NgramRow.pair_id == VocabularyPairRow.id)
        .group_by(VocabularyPairRow.id)
    )
    return {(target, drafter): count for target, drafter, count in connection.execute(counted)}


def write_ngrams(
    connection: Connection, target_fingerprint: str, drafter_fingerprint: str, changed: Sequence[NgramRecord]
) -> None:
    """Where a string comes twice, the later record counts. Raises ValueError for what could not be read again."""
    latest = {_packed(record): record for record in changed}
    pair_id = _make_pair(connection, target_fingerprint, drafter_fingerprint)
    removed = [{"pair": pair_id, "bytes": string} for string, record in latest.items() if not record.count]
    kept = [
        {
            "pair_id": pair_id,
            "string": string,
            "token": record.token,
            "count": record.count,
            "doubts": record.doubts,
            "last_use": record.last_use,
        }
        for string, record in latest.items()
        if record.count
    ]
    if removed:
        connection.execute(_REMOVE, removed)
    if kept:
        connection.execute(_KEEP, kept)


def _is_pair(target_fingerprint: str, drafter_fingerprint: str) -> ColumnElement[bool]:
    return and_(
        VocabularyPairRow.target_fingerprint == target_fingerprint,
        VocabularyPairRow.drafter_fingerprint == drafter_fingerprint,
    )


def _make_pair(connection: Connection, target_fingerprint: str, drafter_fingerprint: str) -> int:
    pair = insert(VocabularyPairRow).values(
        target_fingerprint=target_fingerprint, drafter_fingerprint=drafter_fingerprint
    )
    connection.execute(pair.on_conflict_do_nothing())
    known = select(VocabularyPairRow.id).where(_is_pair(target_fingerprint, drafter_fingerprint))
    return connection.execute(known).scalar_one()


@lru_cache(maxsize=256)
def _layout(num_tokens: int) -> struct.Struct:
    return struct.Struct(f"<{num_tokens}i")


def _packed(record: NgramRecord) -> bytes:
    numbers = (record.count, record.doubts, record.last_use)
    tokens = (*record.string, record.token)
    if not record.string or not all(0 <= token < _NUM_TOKENS for token in tokens):
        raise ValueError("An n-gram to be kept has no tokens, or numbers among them that are no tokens.")
    if not all(number in _COUNTERS for number in numbers):
        raise ValueError("An n-gram to be kept has a negative count.")
    return _layout(len(record.string)).pack(*record.string)
