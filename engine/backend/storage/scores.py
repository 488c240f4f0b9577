"""Reads and writes what replies have shown of learning, before they were learned from. The repository opens the
transactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, insert, literal, select

from engine.backend.storage.columns import read_time
from engine.backend.storage.connections import raw_rows
from engine.backend.storage.schema import MessageRow, ScoreRow, VocabularyRow
from engine.values.learned import RECENT_REPLIES, Benefit, ComparedReply, FingerprintPair, PairBenefit, ScoredReplies
from engine.values.replies import TextKind

_MOST = 1e9  # rounds of a reply, far above any
# SQLite holds any kind of value in any column, whatever the schema says, so damaged rows are left out here.
SOUND = f"""typeof(num_tokens) = 'integer' AND num_tokens BETWEEN 1 AND {_MOST}
AND typeof(rounds_before) = 'real' AND rounds_before BETWEEN 0.01 AND {_MOST}
AND typeof(rounds_after) = 'real' AND rounds_after BETWEEN 0.01 AND {_MOST}"""
# Without an adapter the original drafter is in use, and both are the same number.
_READ = f"""
SELECT fingerprint, drafter_fingerprint, title, messages.created_at, coalesce(kind, 'prose') AS written,
conversation_id, num_tokens, rounds_before, rounds_after
FROM scores JOIN vocabularies ON vocabularies.id = vocabulary_id
JOIN messages ON messages.id = scores.message_id JOIN conversations ON conversations.id = conversation_id
LEFT JOIN reply_statistics ON reply_statistics.message_id = messages.id
WHERE conversations.deleted_at IS NULL AND rounds_before <> rounds_after AND typeof(drafter_fingerprint) = 'text'
AND typeof(title) = 'text' AND typeof(messages.created_at) = 'text' AND date(messages.created_at) IS NOT NULL
AND written IN ({", ".join(f"'{kind.value}'" for kind in TextKind)}) AND {SOUND} AND {{which}}
ORDER BY messages.id {{way}} LIMIT {{most}}
"""
_BENEFITS = _READ.format(which="TRUE", way="ASC", most=-1)
_LATEST = _READ.format(which="fingerprint = ? AND drafter_fingerprint = ?", way="DESC", most=RECENT_REPLIES)
_COUNT = f"""
SELECT fingerprint, drafter_fingerprint, count(*) FROM scores JOIN vocabularies ON vocabularies.id = vocabulary_id
JOIN messages ON messages.id = scores.message_id JOIN conversations ON conversations.id = conversation_id
WHERE conversations.deleted_at IS NULL AND typeof(drafter_fingerprint) = 'text' AND {SOUND} GROUP BY 1, 2
"""
_COLUMNS = ("vocabulary_id", "drafter_fingerprint", "message_id", "num_tokens", "rounds_before", "rounds_after")


def write_score(
    connection: Connection, pair: FingerprintPair, message_id: int, num_tokens: int, before: float, after: float
) -> None:
    """Rounds with the original drafter and with what is in use, in place of earlier ones. Nothing happens where the
    message is gone, or nothing was learned in this vocabulary. Raises ValueError for invalid figures."""
    if not (1 <= num_tokens <= _MOST and all(0.01 <= rounds <= _MOST for rounds in (before, after))):
        raise ValueError("A score to be saved has no tokens, or no rounds.")
    figures = (literal(pair[1]), MessageRow.id, literal(num_tokens), literal(float(before)), literal(float(after)))
    found = select(VocabularyRow.id, *figures).join(MessageRow, MessageRow.id == message_id)
    found = found.where(VocabularyRow.fingerprint == pair[0])
    connection.execute(insert(ScoreRow).prefix_with("OR REPLACE").from_select(_COLUMNS, found))


def read_benefits(connection: Connection) -> Mapping[FingerprintPair, PairBenefit]:
    """Leaves out replies that are deleted."""
    scored: dict[FingerprintPair, list[tuple[TextKind, ScoredReplies]]] = defaultdict(list)
    for target, drafter, _, _, kind, chat, *figures in raw_rows(connection, _BENEFITS):
        scored[target, drafter].append((TextKind(kind), ScoredReplies(chat, 1, *figures)))
    found = {pair: _benefit(replies) for pair, replies in scored.items()}
    return {pair: benefit for pair, benefit in found.items() if benefit is not None}


def read_compared(connection: Connection, pair: FingerprintPair) -> tuple[ComparedReply, ...]:
    """The replies that `PairBenefit.recent` is of, latest first."""
    return tuple(
        ComparedReply(title, when, ScoredReplies(chat, 1, *figures))
        for _, _, title, at, _, chat, *figures in raw_rows(connection, _LATEST, *pair)
        if (when := read_time(at)) is not None
    )


def count_scores(connection: Connection) -> Mapping[FingerprintPair, int]:
    """Leaves out replies that are deleted."""
    return {(target, drafter): number for target, drafter, number in raw_rows(connection, _COUNT)}


def _benefit(replies: Sequence[tuple[TextKind, ScoredReplies]]) -> PairBenefit | None:
    """The benefit of one drafter for one target, from its replies, oldest first."""
    of_kinds: dict[TextKind, list[ScoredReplies]] = defaultdict(list)
    for kind, scored in replies:
        of_kinds[kind].append(scored)
    kinds = {kind: benefit for kind in TextKind if (benefit := Benefit.of(of_kinds[kind])) is not None}
    whole, recent = (Benefit.of(scored for _, scored in some) for some in (replies, replies[-RECENT_REPLIES:]))
    return PairBenefit(whole, recent, kinds) if whole is not None and recent is not None else None
