"""Reads, writes and merges the n-grams of a pair of vocabularies. The repository opens the transactions.

A string of tokens is stored as little-endian int32, so that a store can move to any machine.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from sqlalchemy import Connection, bindparam, delete, func, select

from engine.backend.storage.columns import upsert
from engine.backend.storage.connections import raw_rows
from engine.backend.storage.recall import id_of
from engine.backend.storage.schema import NgramRow, VocabularyPairRow
from engine.values.learned import FingerprintPair, NgramRecord

_TOKEN_BYTES = 4
_NUM_TOKENS = 2**31  # the ids that fit
_COUNTERS = range(2**63)  # what SQLite can hold

# SQLite holds any kind of value in any column, whatever the schema says, so damaged rows are left out here.
_READ = f"""
SELECT string, token, count, doubts, last_use FROM ngrams
WHERE pair_id = (SELECT id FROM vocabulary_pairs WHERE target_fingerprint = ? AND drafter_fingerprint = ?)
AND typeof(string) = 'blob' AND length(string) > 0 AND length(string) % {_TOKEN_BYTES} = 0
AND typeof(token) = 'integer' AND token BETWEEN 0 AND {_NUM_TOKENS - 1}
AND typeof(count) = 'integer' AND count > 0
AND typeof(doubts) = 'integer' AND doubts >= 0
AND typeof(last_use) = 'integer' AND last_use >= 0
"""
_NUMBERS = ("token", "count", "doubts", "last_use")
_REMOVE = delete(NgramRow).where(NgramRow.pair_id == bindparam("pair"), NgramRow.string == bindparam("bytes"))
_SAVE = upsert(NgramRow, *_NUMBERS)


def read_ngrams(connection: Connection, pair: FingerprintPair) -> tuple[NgramRecord, ...]:
    """Leaves out damaged rows: they are no reason to lose the others."""
    found = [
        NgramRecord(_layout(len(string) // _TOKEN_BYTES).unpack(string), *numbers)
        for string, *numbers in raw_rows(connection, _READ, *pair)
    ]
    return tuple(ngram for ngram in found if min(ngram.string) >= 0)


def count_ngrams(connection: Connection) -> dict[FingerprintPair, int]:
    """Counts for every pair that has any, including damaged ones."""
    counted = (
        select(VocabularyPairRow.target_fingerprint, VocabularyPairRow.drafter_fingerprint, func.count())
        .join(NgramRow, NgramRow.pair_id == VocabularyPairRow.id)
        .group_by(VocabularyPairRow.id)
    )
    return {(target, drafter): count for target, drafter, count in connection.execute(counted)}


def write_ngrams(connection: Connection, pair: FingerprintPair, changed: Sequence[NgramRecord]) -> None:
    """The later of two records with the same string counts. Raises ValueError for an invalid record."""
    latest = {_packed(record): record for record in changed}
    pair_id = id_of(connection, VocabularyPairRow, target_fingerprint=pair[0], drafter_fingerprint=pair[1])
    removed = [{"pair": pair_id, "bytes": string} for string, record in latest.items() if not record.count]
    saved = [
        {"pair_id": pair_id, "string": string} | {name: getattr(record, name) for name in _NUMBERS}
        for string, record in latest.items()
        if record.count
    ]
    if removed:
        connection.execute(_REMOVE, removed)
    if saved:
        connection.execute(_SAVE, saved)


def changes_by(imported: Sequence[NgramRecord], own: Sequence[NgramRecord]) -> list[NgramRecord]:
    """What to write so that the store's `own` n-grams include the `imported` ones; nothing when they are merged again.

    The larger count of a token is taken, as a sum would count chats again that both have counted. Of two tokens for one
    string, the one seen more often is taken; on a draw, the store's own. Each cache has a time of its own: the latest
    use of both counts as now, so that neither's n-grams are evicted first.
    """
    by_string = {ngram.string: ngram for ngram in own}
    newest = max((ngram.last_use for ngram in imported), default=0)
    later = max((ngram.last_use for ngram in own), default=newest) - newest
    merged = (
        _merged(replace(ngram, last_use=max(0, ngram.last_use + later)), by_string.get(ngram.string))
        for ngram in imported
    )
    return [ngram for ngram in merged if ngram != by_string.get(ngram.string)]


def _merged(ngram: NgramRecord, known: NgramRecord | None) -> NgramRecord:
    if known is None:
        return ngram
    last_use = max(ngram.last_use, known.last_use)
    if ngram.token != known.token:
        return replace(ngram, last_use=last_use) if ngram.count > known.count else known
    count, doubts = max(ngram.count, known.count), max(ngram.doubts, known.doubts)
    return replace(known, count=count, doubts=doubts, last_use=last_use)


@lru_cache(maxsize=256)
def _layout(num_tokens: int) -> struct.Struct:
    return struct.Struct(f"<{num_tokens}i")


def _packed(record: NgramRecord) -> bytes:
    numbers = (record.count, record.doubts, record.last_use)
    tokens = (*record.string, record.token)
    if not record.string or not all(0 <= token < _NUM_TOKENS for token in tokens):
        raise ValueError("An n-gram to be saved has no tokens, or numbers among them that are no tokens.")
    if not all(number in _COUNTERS for number in numbers):
        raise ValueError("An n-gram to be saved has a negative count.")
    return _layout(len(record.string)).pack(*record.string)
