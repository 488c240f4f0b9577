"""Adds up how fast replies came, and how long was spent learning; the repository opens the transactions."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import date, timedelta
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.dialects.sqlite import insert

from engine.backend.storage import adapters, ngrams, recall
from engine.backend.storage.columns import read_time
from engine.backend.storage.connections import raw_rows
from engine.backend.storage.schema import LearningDayRow
from engine.backend.storage.scores import SOUND
from engine.backend.storage.texts import unique
from engine.values.history import NUMBERS, AdapterNote, History, LearningDay, Portion, Tally, total
from engine.values.learned import ModelUse, ScoredReplies, TargetStatistics
from engine.values.remote import SERVER_IDENTITY, host_of, server_of
from engine.values.replies import MOSTLY_REUSED, REUSE, ProposerCounts, TextKind
from engine.values.speed import SLOWER, Hindrance

# What a server guesses says nothing of this machine.
_OWN = f"substr(target, 1, {len(SERVER_IDENTITY)}) <> '{SERVER_IDENTITY}'"
# By the names of the fields of `Tally`.
_SUMS = {
    "num_replies": "count(*)",
    "num_tokens": "total(reply_tokens)",
    "num_timed": "total(timed)",
    "seconds": "total(reply_s)",
    "num_thought": "total(num_thought)",
    "thought_s": "total(thought_s)",
    "num_rounds": f"total(iif({_OWN}, num_rounds, 0))",
    "num_in_rounds": f"total(iif({_OWN}, num_rounds + num_accepted, 0))",
    "num_drafted": f"total(iif({_OWN}, num_drafted, 0))",
    "num_accepted": f"total(iif({_OWN}, num_accepted, 0))",
    "parted_s": "total(iif(check_s > 0, reply_s, 0))",
    "draft_s": "total(iif(check_s > 0, draft_s, 0))",
    "check_s": "total(check_s)",
    "saved_s": "total(reply_s * (over_plain - 1))",
    # What all proposers save of a reply, together with the time of drafting, is `saved_s`. Each has saved a plain
    # token's time with every accepted token, and has cost its share, by drafted tokens, of what is neither plain passes
    # nor drafting. Drafting is not recall's: looking text up takes next to nothing.
    "recall_saved_s": f"""total(iif({_OWN}, reply_s * over_plain / timed * (recalled + num_rounds * recall_share)
    - (reply_s - draft_s) * recall_share, 0))""",
    "num_unpaid": f"total(hindrance = '{Hindrance.COSTS}')",
    "num_unrepeated": f"total(hindrance IN ('{Hindrance.NOTHING}', '{Hindrance.LITTLE}'))",
    "num_slow": f"total(0 < ratio AND ratio < {SLOWER})",
}
_SUMS = {name: f"{added} FILTER (WHERE NOT repeats)" for name, added in _SUMS.items()}
_SUMS["num_repeating"] = "count(*) FILTER (WHERE repeats)"
# Who wrote a reply: an identity, which may be empty, a sign that is in none, and a name.
_BETWEEN = "\x1f"
_WRITER = f"iif(typeof(target_identity) = 'text', target_identity, '') || char({ord(_BETWEEN)}) || target_name"
# Of all thoughts of a reply, as `columns.Thoughts` writes them.
_OF_THOUGHTS = """
iif(thoughts <> '[]' AND json_valid(thoughts),
(SELECT total(json_extract(value, '$[{place}]')) FROM json_each(thoughts)), 0)
"""
_OF_RECALL = f"""
(SELECT total(reply_proposers.{{counted}}) FROM reply_proposers
WHERE reply_proposers.message_id = {{message}} AND reply_proposers.key = '{REUSE}')
"""
_REUSED = _OF_RECALL.format(counted="num_accepted", message="reply_statistics.message_id")
# SQLite adds up faster than the rows can be read. `timed`: see `ReplyStatistics.tokens_per_s`; `over_plain`: see
# `ReplyStatistics.speedup`. What a server says of its own speed-up was not measured here.
_REPLIES = f"""
WITH replies AS (
    SELECT messages.id AS id, messages.conversation_id AS chat, messages.created_at AS at,
    date(messages.created_at, 'localtime') AS day, {_WRITER} AS target, kind,
    max(0, reply_tokens - (stop_reason <> 'end')) AS timed, reply_tokens, reply_s, num_rounds, num_drafted,
    num_accepted, draft_s, check_s, plain_tokens_per_s, hindrance, repeats,
    iif(target_identity LIKE '{SERVER_IDENTITY}%', 0, ratio) AS ratio,
    iif(reply_tokens > 0, {_REUSED} >= {MOSTLY_REUSED} * reply_tokens, 0) AS reuses,
    {_OF_THOUGHTS.format(place=3)} AS num_thought, {_OF_THOUGHTS.format(place=2)} AS thought_s
    FROM reply_statistics JOIN messages ON messages.id = reply_statistics.message_id
    JOIN conversations ON conversations.id = messages.conversation_id
    WHERE conversations.deleted_at IS NULL AND typeof(messages.target_name) = 'text' AND day IS NOT NULL
)"""
_PORTIONS = f"""{_REPLIES}, compared AS MATERIALIZED (
    SELECT *, CASE WHEN typeof(ratio) = 'real' AND ratio > 0 THEN ratio
    WHEN min(timed, reply_s, plain_tokens_per_s) > 0 THEN timed / plain_tokens_per_s / reply_s END AS over_plain,
    {_OF_RECALL.format(counted="num_accepted", message="replies.id")} AS recalled,
    nullif({_OF_RECALL.format(counted="num_drafted", message="replies.id")}, 0) / num_drafted AS recall_share
    FROM replies
)
SELECT chat, day, target, kind, reuses, min(at),
json_group_array(over_plain) FILTER (WHERE NOT repeats AND over_plain > 0),
{", ".join(_SUMS[name] for name in NUMBERS)}
FROM compared GROUP BY chat, day, target, kind, reuses ORDER BY min(at)
"""
_PROPOSERS = f"""{_REPLIES}
SELECT chat, day, target, kind, reuses, key, total(reply_proposers.num_rounds), total(reply_proposers.num_drafted),
total(reply_proposers.num_accepted) FROM replies JOIN reply_proposers ON message_id = id
WHERE typeof(key) = 'text' AND NOT repeats AND {_OWN} GROUP BY chat, day, target, kind, reuses, key ORDER BY key
"""
_SCORED = f"""{_REPLIES}
SELECT chat, day, target, kind, reuses, count(*), total(num_tokens), total(rounds_before), total(rounds_after)
FROM replies JOIN scores ON message_id = id WHERE {SOUND} GROUP BY chat, day, target, kind, reuses
"""
_TAUGHT = f"""
SELECT DISTINCT fingerprint, {_WRITER} FROM lessons JOIN vocabularies ON vocabularies.id = vocabulary_id
JOIN messages ON messages.id = message_id WHERE typeof(target_name) = 'text'
"""
_VOCABULARIES = "SELECT identity, vocabulary FROM targets WHERE vocabulary <> '' AND typeof(vocabulary) = 'text'"
_LATELY = timedelta(days=7)
_DAYS = """
SELECT day, seconds FROM learning_days WHERE date(day) = day AND typeof(seconds) = 'real' AND seconds > 0 ORDER BY day
"""
_KINDS = {kind.value: kind for kind in TextKind}
_COUNTS = {field.name for field in fields(Tally) if field.type == "int"}
_new = insert(LearningDayRow)
_LEARNED = _new.on_conflict_do_update(
    index_elements=[LearningDayRow.day], set_={"seconds": LearningDayRow.seconds + _new.excluded.seconds}
)


def read_history(connection: Connection) -> History:
    """Leaves out what is damaged."""
    portions, names = _read_portions(connection)
    sizes = recall.read_sizes(connection).values()
    return History(
        days=_joined(portions, lambda portion: portion.day),
        chats=_joined(portions, lambda portion: portion.conversation_id),
        adapters=_read_adapters(connection, names),
        learning=_read_learning(connection),
        num_ngrams=sum(ngrams.count_ngrams(connection).values()),
        num_recall_texts=sum(size.num_texts for size in sizes),
        num_recall_tokens=sum(size.num_tokens for size in sizes),
    )


def read_statistics(connection: Connection) -> tuple[TargetStatistics, ...]:
    """How each target wrote, by name."""
    return _statistics_of(_read_portions(connection)[0])


def _statistics_of(portions: Sequence[Portion]) -> tuple[TargetStatistics, ...]:
    by_name = _by_target(portions)
    return tuple(_statistics(name, total(by_name[name])) for name in sorted(by_name))


def read_models(
    connection: Connection, today: date, target_names: Mapping[str, Sequence[str]]
) -> tuple[tuple[ModelUse, ...], tuple[TargetStatistics, ...]]:
    """How each target wrote until today, by name, and as `read_statistics`. The first leaves out those whose replies
    tell nothing; there, replies without an identity count for the vocabulary whose targets are called so."""
    portions, names = _read_portions(connection)
    lately = _by_target([portion for portion in portions if portion.day > today - _LATELY])
    vocabularies: dict[str, str] = dict(raw_rows(connection, _VOCABULARIES))
    taught: dict[str, str] = {writer: vocabulary for vocabulary, writer in raw_rows(connection, _TAUGHT)}
    called = {name: vocabulary for vocabulary, known in target_names.items() for name in known}
    models = []
    for name, tallies in sorted(_by_target(portions).items()):
        writers = [writer for writer, known in names.items() if known == name]
        identity = next(filter(None, (_parted(writer)[0] for writer in writers)), "")
        by_name = None if identity else called.get(name)
        vocabulary = next(filter(None, (vocabularies.get(identity), *map(taught.get, writers), by_name)), "")
        models.append(_model(name, identity, vocabulary, total(tallies), total(lately.get(name, ()))))
    return tuple(model for model in models if model.num_replies), _statistics_of(portions)


def _model(name: str, identity: str, vocabulary: str, tally: Tally, lately: Tally) -> ModelUse:
    speedup = tally.speedup
    return ModelUse(
        name=name,
        identity=identity,
        vocabulary=vocabulary,
        num_replies=tally.num_replies,
        num_tokens=tally.num_tokens,
        tokens_per_s=tally.tokens_per_s,
        speedup=None if speedup is None else (speedup.ratio, speedup.error),
        num_recalled=sum(counts.num_accepted for counts in tally.proposers if counts.key == REUSE),
        recall_saved_s=None if speedup is None else (lately.recall_saved_s, tally.recall_saved_s),
    )


def _by_target(portions: Sequence[Portion]) -> dict[str, list[Tally]]:
    found: dict[str, list[Tally]] = defaultdict(list)
    for portion in portions:
        found[portion.target_name].append(portion.tally)
    return found


def _statistics(name: str, tally: Tally) -> TargetStatistics:
    speedup = tally.speedup
    return TargetStatistics(
        name=name,
        num_replies=tally.num_replies,
        num_tokens=tally.num_tokens,
        seconds=tally.seconds,
        tokens_per_round=tally.tokens_per_round,
        speedup=None if speedup is None else speedup.ratio,
    )


def add_learning(connection: Connection, day: date, seconds: float) -> None:
    connection.execute(_LEARNED, {"day": day.isoformat(), "seconds": float(seconds)})


def _read_portions(connection: Connection) -> tuple[list[Portion], dict[str, str]]:
    """Portions of one chat on one day each, oldest first, and the names of the writers in them."""
    portions: list[Portion] = []
    proposers: dict[tuple[object, ...], list[ProposerCounts]] = defaultdict(list)
    for *group, key, num_rounds, num_drafted, num_accepted in raw_rows(connection, _PROPOSERS):
        proposers[tuple(group)].append(ProposerCounts(key, int(num_rounds), int(num_drafted), int(num_accepted)))
    scored = {
        (chat, day, target, kind, reuses): (ScoredReplies(chat, number, int(num_tokens), before, after),)
        for chat, day, target, kind, reuses, number, num_tokens, before, after in raw_rows(connection, _SCORED)
    }
    for chat, day, target, kind, reuses, at, ratios, *sums in raw_rows(connection, _PORTIONS):
        began_at = read_time(at)
        if began_at is not None and kind in _KINDS:
            group = chat, day, target, kind, reuses
            tally = replace(_tally(sums, json.loads(ratios), proposers.get(group, ())), scored=scored.get(group, ()))
            portions.append(Portion(chat, began_at, date.fromisoformat(day), target, _KINDS[kind], tally, bool(reuses)))
    names = _names([portion.target_name for portion in portions])
    return [replace(portion, target_name=names[portion.target_name]) for portion in portions], names


def _names(writers: Sequence[str]) -> dict[str, str]:
    """What to call the writers, which come oldest first: a target as in its latest reply, with a number where an
    earlier target is called so, and with the host where it is on a server. Replies without an identity count for the
    first target of their name on this machine."""
    names: dict[str, str] = {}  # by identity
    first: dict[str, str] = {}  # identities by name
    for identity, name in map(_parted, writers):
        if identity:
            host = host_of(server_of(identity))
            names[identity] = f"{name} ({host})" if host else name
            if not host:
                first.setdefault(name, identity)
    taken: set[str] = set()
    for identity, name in names.items():
        names[identity] = unique(name, taken)
        taken.add(names[identity])
    found = {writer: _parted(writer) for writer in writers}
    return {writer: names.get(identity or first.get(name, ""), name) for writer, (identity, name) in found.items()}


def _parted(writer: str) -> tuple[str, str]:
    identity, _, name = writer.partition(_BETWEEN)
    return identity, name


def _joined(portions: Sequence[Portion], key: Callable[[Portion], Hashable]) -> tuple[Portion, ...]:
    """Those of one target and kind that have the same key, and are alike in whether they reuse text, become one, in the
    place of the first."""
    alike: dict[Hashable, list[Portion]] = defaultdict(list)
    for portion in portions:
        alike[key(portion), portion.target_name, portion.kind, portion.reuses].append(portion)
    return tuple(those[0] if len(those) == 1 else _sum(those) for those in alike.values())


def _sum(portions: Sequence[Portion]) -> Portion:
    return replace(portions[0], tally=total(portion.tally for portion in portions))


def _tally(sums: Sequence[float], ratios: Sequence[float], proposers: Sequence[ProposerCounts]) -> Tally:
    values: dict[str, Any] = {
        name: int(value) if name in _COUNTS else value for name, value in zip(NUMBERS, sums, strict=True)
    }
    return Tally(**values, ratios=tuple(ratios), proposers=tuple(proposers))


def _read_adapters(connection: Connection, names: dict[str, str]) -> tuple[AdapterNote, ...]:
    targets: dict[str, set[str]] = defaultdict(set)
    for vocabulary, writer in raw_rows(connection, _TAUGHT):
        targets[vocabulary].add(names.get(writer) or _parted(writer)[1])
    notes = [
        AdapterNote(
            number=found.number,
            created_at=found.created_at,
            before=found.before if found.is_measured else 0.0,
            after=found.after if found.is_measured else 0.0,
            num_learned=found.num_learned,
            is_published=found.is_published,
            target_names=tuple(sorted(targets[target])),
        )
        for target, drafter in adapters.read_pairs(connection)
        for found in adapters.read_summaries(connection, (target, drafter))
    ]
    return tuple(sorted(notes, key=lambda note: (note.created_at, note.number)))


def _read_learning(connection: Connection) -> tuple[LearningDay, ...]:
    return tuple(LearningDay(date.fromisoformat(day), seconds) for day, seconds in raw_rows(connection, _DAYS))
