"""Reads and writes adapters, what drafters have learned for targets. The repository opens the transactions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, select, update

from engine.backend.storage.columns import read_time
from engine.backend.storage.connections import raw_rows
from engine.backend.storage.schema import AdapterRow, CandidateRow
from engine.values.learned import AdapterRecord, AdapterSummary, CandidateRecord, FingerprintPair, Gain

_COUNTERS = range(2**63)  # what SQLite can hold

# SQLite holds any kind of value in any column, whatever the schema says, so damaged rows are left out here.
_READ = """
SELECT id, created_at, accepted_before, accepted_after, num_replies, num_learned, is_published, ordinal, error,
num_chats, num_tokens, {weights} FROM adapters
WHERE target_fingerprint = ? AND drafter_fingerprint = ? AND {which} AND typeof(created_at) = 'text'
AND typeof(accepted_before) = 'real' AND typeof(accepted_after) = 'real'
AND typeof(num_replies) = 'integer' AND num_replies >= 0 AND typeof(num_learned) = 'integer' AND num_learned >= 0
AND typeof(is_published) = 'integer' AND is_published IN (0, 1)
AND typeof(error) = 'real' AND typeof(num_chats) = 'integer' AND num_chats >= 0
AND typeof(num_tokens) = 'integer' AND num_tokens >= 0
AND typeof(ordinal) = 'integer' AND typeof(weights) = 'blob' AND length(weights) > 0
ORDER BY id DESC
"""
_SUMMARIES = _READ.format(weights="NULL", which="TRUE")
_PUBLISHED = _READ.format(weights="weights", which="is_published = 1")
_ALL = _READ.format(weights="weights", which="TRUE")
_OTHERS = """
SELECT target_fingerprint FROM adapters WHERE drafter_fingerprint = ? AND target_fingerprint <> ? AND is_published = 1
ORDER BY id DESC LIMIT 1
"""
_CANDIDATE = """
SELECT adapter, scored_until, learned_until, num_learned, capital, weights FROM candidates
WHERE target_fingerprint = ? AND drafter_fingerprint = ? AND typeof(scored_until) = 'integer'
AND typeof(learned_until) = 'integer' AND typeof(num_learned) = 'integer' AND num_learned >= 0
AND typeof(adapter) IN ('integer', 'null') AND typeof(capital) = 'text' AND typeof(weights) = 'blob'
"""


def read_summaries(connection: Connection, pair: FingerprintPair) -> list[AdapterSummary]:
    """Newest first, without damaged ones."""
    return [summary for summary, _ in _read(connection, _SUMMARIES, pair)]


def read_published(connection: Connection, pair: FingerprintPair) -> AdapterRecord | None:
    found = list(_read(connection, _PUBLISHED, pair))
    return AdapterRecord(**asdict(found[0][0]), weights=found[0][1]) if found else None


def read_of_others(connection: Connection, pair: FingerprintPair) -> FingerprintPair | None:
    """The pair of this drafter and the other target that it learned from last, and still drafts for."""
    target, drafter = pair
    return next(((other, drafter) for (other,) in raw_rows(connection, _OTHERS, drafter, target)), None)


def read_adapters(connection: Connection, pair: FingerprintPair) -> tuple[AdapterRecord, ...]:
    """Oldest first, without damaged ones."""
    found = list(_read(connection, _ALL, pair))
    return tuple(AdapterRecord(**asdict(summary), weights=weights) for summary, weights in reversed(found))


def read_digests(connection: Connection, pair: FingerprintPair) -> dict[bytes, int]:
    """The numbers of the adapters by their weights, without damaged ones."""
    numbers: dict[bytes, int] = {}
    for adapter, weights in _read(connection, _ALL, pair):
        numbers.setdefault(digest_of(weights), adapter.number)
    return numbers


def digest_of(weights: bytes) -> bytes:
    return sha256(weights).digest()


def read_pairs(connection: Connection) -> list[FingerprintPair]:
    """The targets and drafters that have adapters."""
    pairs = select(AdapterRow.target_fingerprint, AdapterRow.drafter_fingerprint).distinct()
    return sorted((target, drafter) for target, drafter in connection.execute(pairs))


def write_adapter(
    connection: Connection, pair: FingerprintPair, adapter: AdapterSummary, weights: bytes
) -> AdapterSummary:
    """Adds the adapter under a new number and ordinal, whatever its own are, and returns it with them. Changes no other
    adapter, even if this one is published. Raises ValueError for an invalid adapter."""
    _check(adapter, weights)
    target_fingerprint, drafter_fingerprint = pair
    of_target = AdapterRow.target_fingerprint == target_fingerprint
    highest = connection.execute(select(func.max(AdapterRow.ordinal)).where(of_target)).scalar_one()
    ordinal = (highest or 0) + 1
    new = insert(AdapterRow).values(
        target_fingerprint=target_fingerprint,
        drafter_fingerprint=drafter_fingerprint,
        created_at=adapter.created_at,
        accepted_before=float(adapter.before),
        accepted_after=float(adapter.after),
        num_replies=adapter.num_replies,
        num_learned=adapter.num_learned,
        is_published=adapter.is_published,
        weights=weights,
        ordinal=ordinal,
        error=float(adapter.error),
        num_chats=adapter.num_chats,
        num_tokens=adapter.num_tokens,
    )
    return replace(adapter, number=int(connection.execute(new).lastrowid), ordinal=ordinal)


def publish(connection: Connection, pair: FingerprintPair, number: int | None) -> bool:
    """Puts this one alone in use, or none. Returns False, and changes nothing, if it does not exist."""
    of_pair = _is_pair(pair)
    if number is not None:
        wanted = select(AdapterRow.id).where(of_pair, AdapterRow.id == number)
        if number not in _COUNTERS or connection.execute(wanted).one_or_none() is None:
            return False
    connection.execute(update(AdapterRow).where(of_pair).values(is_published=AdapterRow.id == number))
    return True


def published_number(connection: Connection, pair: FingerprintPair) -> int | None:
    """The number of the adapter in use, even of a damaged one."""
    published = select(AdapterRow.id).where(_is_pair(pair), AdapterRow.is_published).order_by(AdapterRow.id.desc())
    return connection.execute(published.limit(1)).scalar_one_or_none()


def thin_out(connection: Connection, pair: FingerprintPair, most: int) -> None:
    """Deletes all adapters of the pair but the latest, and the one in use."""
    of_pair = _is_pair(pair)
    latest = select(AdapterRow.id).where(of_pair).order_by(AdapterRow.id.desc()).limit(most)
    connection.execute(delete(AdapterRow).where(of_pair, ~AdapterRow.is_published, AdapterRow.id.not_in(latest)))


def note_gain(connection: Connection, pair: FingerprintPair, gain: Gain) -> None:
    """Replaces what is known of the adapter in use, if there is one. Raises ValueError for invalid figures."""
    _check_gain(gain)
    figures = asdict(gain)
    figures |= {"accepted_before": figures.pop("before"), "accepted_after": figures.pop("after")}
    connection.execute(update(AdapterRow).where(_is_pair(pair), AdapterRow.is_published).values(figures))


def write_candidate(connection: Connection, pair: FingerprintPair, candidate: CandidateRecord) -> None:
    """Replaces the one before. Raises ValueError for invalid numbers."""
    if candidate.num_learned not in _COUNTERS or not _are_figures(*candidate.capital):
        raise ValueError("A candidate to be saved has figures that are none.")
    figures = {**asdict(candidate), "capital": json.dumps(candidate.capital)}
    row = insert(CandidateRow).prefix_with("OR REPLACE")
    connection.execute(row.values(target_fingerprint=pair[0], drafter_fingerprint=pair[1], **figures))


def note_candidate(connection: Connection, pair: FingerprintPair, scored_until: int, capital: Sequence[float]) -> None:
    """Replaces these numbers of the stored one."""
    if not _are_figures(*capital):
        raise ValueError("A candidate to be saved has figures that are none.")
    of_pair = and_(CandidateRow.target_fingerprint == pair[0], CandidateRow.drafter_fingerprint == pair[1])
    numbers = {"scored_until": scored_until, "capital": json.dumps(capital)}
    connection.execute(update(CandidateRow).where(of_pair).values(numbers))


def read_candidate(connection: Connection, pair: FingerprintPair) -> CandidateRecord | None:
    """None also where it is damaged."""
    for adapter, scored, learned, num_learned, capital, weights in raw_rows(connection, _CANDIDATE, *pair):
        try:
            figures = tuple(float(number) for number in json.loads(capital))
        except (TypeError, ValueError, RecursionError):
            return None
        return CandidateRecord(adapter, scored, learned, num_learned, figures, weights)
    return None


def _is_pair(pair: FingerprintPair) -> ColumnElement[bool]:
    return and_(AdapterRow.target_fingerprint == pair[0], AdapterRow.drafter_fingerprint == pair[1])


def _read(connection: Connection, statement: str, pair: FingerprintPair) -> Iterator[tuple[AdapterSummary, bytes]]:
    for row in raw_rows(connection, statement, *pair):
        summary = _summary(*row[:-1])
        if summary is not None:
            yield summary, row[-1]


def _summary(number: int, created_at: str, before: float, after: float, *more: Any) -> AdapterSummary | None:
    made = read_time(created_at)
    num_replies, num_learned, is_published, ordinal, error, num_chats, num_tokens = more
    if made is None or not _are_figures(before, after, error):
        return None
    return AdapterSummary(
        number,
        made,
        before,
        after,
        num_replies,
        num_learned,
        bool(is_published),
        ordinal=ordinal,
        error=error,
        num_chats=num_chats,
        num_tokens=num_tokens,
    )


def _are_figures(*figures: float) -> bool:
    return all(0 <= figure < math.inf for figure in figures)


def _check_gain(gain: Gain) -> None:
    if not _are_figures(gain.before, gain.after, gain.error):
        raise ValueError("An adapter to be saved has figures that are no numbers of tokens.")
    if not all(number in _COUNTERS for number in (gain.num_replies, gain.num_chats, gain.num_tokens)):
        raise ValueError("An adapter to be saved has a negative count.")


def _check(adapter: AdapterSummary, weights: bytes) -> None:
    if not weights:
        raise ValueError("An adapter to be saved has no weights.")
    _check_gain(adapter.gain)
    if adapter.num_learned not in _COUNTERS:
        raise ValueError("An adapter to be saved has a negative count.")
