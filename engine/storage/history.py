"""Adds up how fast replies came, and how long was spent learning; the repository opens the transactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from contextlib import closing
from dataclasses import fields, replace
from datetime import date
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.dialects.sqlite import insert

from engine.messages.history import AdapterNote, History, LearningDay, Portion, Tally, total
from engine.messages.replies import TextKind
from engine.storage import adapters, lessons, ngrams, recall
from engine.storage.schema import LearningDayRow, read_time

# By the names of the fields of `Tally`.
_SUMS = {
    "num_replies": "count(*)",
    "num_tokens": "total(reply_tokens)",
    "num_timed": "total(timed)",
    "seconds": "total(reply_s)",
    "num_rounds": "total(num_rounds)",
    "num_in_rounds": "total(num_rounds + num_accepted)",
    "num_drafted": "total(num_drafted)",
    "num_accepted": "total(num_accepted)",
    "drafter_accepted": "total(drafter_accepted)",
    "recall_accepted": "total(recall_accepted)",
    "parted_s": "total(iif(check_s > 0, reply_s, 0))",
    "draft_s": "total(iif(check_s > 0, draft_s, 0))",
    "check_s": "total(check_s)",
    "num_compared": "count(plain_s)",
    "plain_s": "total(plain_s)",
    "compared_s": "total(iif(plain_s > 0, reply_s, 0))",
    "plain_squares": "total(plain_s * plain_s)",
    "compared_squares": "total(iif(plain_s > 0, reply_s * reply_s, 0))",
    "products": "total(plain_s * reply_s)",
    "plain_variance": "total(plain_s * plain_error * plain_s * plain_error)",
}
# SQLite adds up quicker than the rows can be read. `timed`: see `ReplyStatistics.tokens_per_s`.
_PORTIONS = f"""
WITH replies AS (
    SELECT messages.conversation_id AS chat, messages.created_at AS at, messages.target_name AS target, kind,
    max(0, reply_tokens - (stop_reason <> 'end')) AS timed, reply_tokens, reply_s, num_rounds, num_drafted,
    num_accepted, drafter_accepted, recall_accepted, draft_s, check_s, plain_tokens_per_s, plain_error
    FROM reply_statistics JOIN messages ON messages.id = reply_statistics.message_id
    JOIN conversations ON conversations.id = messages.conversation_id
    WHERE conversations.deleted_at IS NULL AND typeof(messages.target_name) = 'text'
), compared AS MATERIALIZED (
    SELECT *, date(at, 'localtime') AS day,
    iif(timed > 0 AND reply_s > 0 AND plain_tokens_per_s > 0, timed / plain_tokens_per_s, NULL) AS plain_s
    FROM replies
)
SELECT chat, min(at), day, target, kind, {", ".join(_SUMS[field.name] for field in fields(Tally))}
FROM compared WHERE day IS NOT NULL GROUP BY chat, day, target, kind ORDER BY min(at)
"""
_DAYS = """
SELECT day, seconds FROM learning_days WHERE date(day) = day AND typeof(seconds) = 'real' AND seconds > 0 ORDER BY day
"""
_KINDS = {kind.value: kind for kind in TextKind}
_IS_COUNT = tuple(field.type == "int" for field in fields(Tally))
_new = insert(LearningDayRow)
_LEARNED = _new.on_conflict_do_update(
    index_elements=[LearningDayRow.day], set_={"seconds": LearningDayRow.seconds + _new.excluded.seconds}
)


def read_history(connection: Connection) -> History:
    """Leaves out what is damaged."""
    portions = _read_portions(connection)
    sizes = recall.read_sizes(connection).values()
    return History(
        days=_joined(portions, lambda portion: portion.day),
        chats=_joined(portions, lambda portion: portion.conversation_id),
        adapters=_read_adapters(connection),
        learning=_read_learning(connection),
        num_ngrams=sum(ngrams.count_ngrams(connection).values()),
        num_recall_texts=sum(size.num_texts for size in sizes),
        num_recall_tokens=sum(size.num_tokens for size in sizes),
    )


def add_learning(connection: Connection, day: date, seconds: float) -> None:
    connection.execute(_LEARNED, {"day": day.isoformat(), "seconds": float(seconds)})


def _read_portions(connection: Connection) -> list[Portion]:
    """Of one chat on one day each, oldest first."""
    portions: list[Portion] = []
    with closing(connection.connection.cursor()) as cursor:
        for chat, at, day, target, kind, *sums in cursor.execute(_PORTIONS):
            began_at = read_time(at)
            if began_at is not None and kind in _KINDS:
                portions.append(Portion(chat, began_at, date.fromisoformat(day), target, _KINDS[kind], _tally(sums)))
    return portions


def _joined(portions: Sequence[Portion], key: Callable[[Portion], Hashable]) -> tuple[Portion, ...]:
    """Those of one target and kind that have the same key become one, in the place of the first."""
    alike: dict[Hashable, list[Portion]] = defaultdict(list)
    for portion in portions:
        alike[key(portion), portion.target_name, portion.kind].append(portion)
    return tuple(those[0] if len(those) == 1 else _sum(those) for those in alike.values())


def _sum(portions: Sequence[Portion]) -> Portion:
    return replace(portions[0], tally=total(portion.tally for portion in portions))


def _tally(sums: list[float]) -> Tally:
    values: Any = [int(value) if is_count else value for is_count, value in zip(_IS_COUNT, sums, strict=True)]
    return Tally(*values)


def _read_adapters(connection: Connection) -> tuple[AdapterNote, ...]:
    names = lessons.read_target_names(connection)
    notes = [
        AdapterNote(
            number=found.number,
            created_at=found.created_at,
            before=found.before,
            after=found.after,
            num_learned=found.num_learned,
            is_published=found.is_published,
            target_names=names.get(target, ()),
        )
        for target, drafter in adapters.read_pairs(connection)
        for found in adapters.read_summaries(connection, target, drafter)
    ]
    return tuple(sorted(notes, key=lambda note: (note.created_at, note.number)))


def _read_learning(connection: Connection) -> tuple[LearningDay, ...]:
    with closing(connection.connection.cursor()) as cursor:
        found = cursor.execute(_DAYS).fetchall()
    return tuple(LearningDay(date.fromisoformat(day), seconds) for day, seconds in found)
