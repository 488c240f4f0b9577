"""Reads and writes lessons, the replies that a drafter learns from: those of chats, and those that the target wrote to
stored prompts again (self-distillation). The repository opens the transactions.

A row has what its message lacks: the reply in the target's tokens, the distribution before each, and the system prompt
of that time. Numbers are little-endian, so that a store can move to any machine.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from engine.backend.storage.columns import read_time, thoughts_from, upsert
from engine.backend.storage.connections import raw_rows
from engine.backend.storage.recall import id_of
from engine.backend.storage.schema import (
    ConversationRow,
    LessonRow,
    MessageRow,
    SelfDistilledReadRow,
    SelfDistilledRow,
    VocabularyRow,
)
from engine.backend.storage.texts import encodable
from engine.values.config import OwnSampling
from engine.values.conversations import ChatTurn, Role
from engine.values.learned import Exercise, FingerprintPair, Lesson, SelfDistilledRead, TextLesson, VerifiedReply
from engine.values.prompts import with_names
from engine.values.replies import joined_thoughts

_TOKEN_BYTES = 4
_LOG_BYTES = 2
_NUM_TOKENS = 2**31  # the ids that fit
_HIGHEST = 1e3  # temperature, far above any that can be set
TurnsById = dict[int, tuple[int | None, ChatTurn]]  # with the id of the parent of each
_ROLES = {role.value: role for role in Role}
_PICTURE = "[picture: {}]"  # in place of one: a drafter sees none
_LATEST_SHARE = 4  # one in this many is among the latest, which all stay

# SQLite holds any kind of value in any column, whatever the schema says, so damaged rows are left out here.
_READ = f"""
SELECT {{number}}, conversations.id, {{made}}, {{answered}}, {{prompt}}, {{table}}.system_prompt,
temperature, width, tokens, law_tokens, law_logs FROM {{table}} LEFT JOIN messages ON messages.id = {{table}}.message_id
LEFT JOIN conversations ON conversations.id = messages.conversation_id
WHERE vocabulary_id = (SELECT id FROM vocabularies WHERE fingerprint = ?) AND {{follows}}
AND (typeof({{prompt}}) = 'text' OR conversations.id IS NOT NULL) AND conversations.deleted_at IS NULL
AND typeof({{table}}.system_prompt) = 'text' AND typeof({{made}}) = 'text'
AND typeof(temperature) = 'real' AND temperature BETWEEN 0 AND {_HIGHEST}
AND typeof(width) = 'integer' AND width > 0
AND typeof(tokens) = 'blob' AND length(tokens) > 0 AND length(tokens) % {_TOKEN_BYTES} = 0
AND typeof(law_tokens) = 'blob' AND length(law_tokens) = length(tokens) * width
AND typeof(law_logs) = 'blob' AND length(law_logs) * {_TOKEN_BYTES} = length(law_tokens) * {_LOG_BYTES}
ORDER BY {{latest}} {{way}} LIMIT ?
"""
# All branches at once: UNION takes a message that many lessons share, or that is in a cycle, only once.
_BRANCHES = """
WITH RECURSIVE answered(id) AS (
    SELECT {answered} FROM {table} JOIN messages ON messages.id = {table}.message_id
    WHERE vocabulary_id = (SELECT id FROM vocabularies WHERE fingerprint = ?)
    UNION SELECT messages.parent_id FROM messages JOIN answered ON messages.id = answered.id
)
SELECT messages.id, messages.parent_id, messages.role, messages.text, messages.thoughts FROM messages
JOIN answered ON answered.id = messages.id WHERE typeof(messages.text) = 'text'
"""
_LESSONS = {
    "table": "lessons",
    "number": "lessons.message_id",
    "latest": "lessons.message_id",
    "prompt": "NULL",
    "follows": "lessons.message_id > ?",
    "way": "DESC",
    "made": "messages.created_at",
    "answered": "messages.parent_id",
}
_SELF_DISTILLED = {
    "table": "practice",
    "number": "-practice.id",
    "latest": "practice.id",
    "prompt": "practice.prompt",
    "follows": "practice.id > -?",
    "way": "DESC",
    "made": "practice.created_at",
    "answered": "practice.message_id",
}
_IN_ORDER = _SELF_DISTILLED | {"way": "ASC"}
_PROMPT_NOW = (
    select(ConversationRow.system_prompt)
    .join(MessageRow, MessageRow.conversation_id == ConversationRow.id)
    .where(MessageRow.id == bindparam("message"))
)
_SAVE = upsert(LessonRow, "width", "tokens", "law_tokens", "law_logs", "system_prompt", "temperature")

_MOST_SELF_DISTILLED_BYTES = (
    2**16
)  # of a message in a chat that is answered again: longer ones find no room, and decoding takes time
_NUM_ANSWERS = """
SELECT count(*) FROM practice WHERE practice.message_id = messages.id
AND vocabulary_id = (SELECT id FROM vocabularies WHERE fingerprint = ?)
"""
_PROMPT_ROWS = f"""
FROM messages JOIN conversations ON conversations.id = messages.conversation_id
WHERE messages.role = '{Role.USER.value}' AND conversations.deleted_at IS NULL
AND typeof(conversations.system_prompt) = 'text' AND typeof(messages.text) = 'text' AND messages.text != ''
AND NOT EXISTS (SELECT 1 FROM pictures WHERE pictures.conversation_id = conversations.id)
"""
_LATEST_PROMPTS = (
    f"SELECT messages.id, ({_NUM_ANSWERS}) AS num_answers {_PROMPT_ROWS} ORDER BY messages.id DESC LIMIT ?"
)
_FEWEST = f"SELECT id FROM ({_LATEST_PROMPTS}) WHERE num_answers < ? ORDER BY num_answers, id DESC"
_PROMPTED_CHATS = f"""
SELECT messages.id, conversations.id, conversations.system_prompt, conversations.sampling {_PROMPT_ROWS}
AND messages.id IN (SELECT value FROM json_each(?))
"""
_BRANCHES_ABOVE = f"""
WITH RECURSIVE branch(id) AS (
    SELECT value FROM json_each(?)
    UNION SELECT messages.parent_id FROM messages JOIN branch ON messages.id = branch.id
)
SELECT messages.id, messages.parent_id, messages.role, messages.text, messages.thoughts FROM messages
JOIN branch ON branch.id = messages.id WHERE typeof(messages.text) = 'text'
AND length(CAST(messages.text AS BLOB)) <= {_MOST_SELF_DISTILLED_BYTES}
"""

# Those of messages and shipped ones apart: neither makes room for the other.
_REMOVE_OLDEST = f"""
DELETE FROM practice WHERE id IN (SELECT id FROM (
    SELECT id, sum(length(tokens) / {_TOKEN_BYTES}) OVER (ORDER BY id DESC) AS so_far FROM practice
    WHERE vocabulary_id = ? AND (message_id IS NULL) = ?
) WHERE so_far > ?)
"""
_PROGRESS = """
SELECT until, num_tokens FROM practice_read
WHERE vocabulary_id = (SELECT id FROM vocabularies WHERE fingerprint = ?) AND drafter_fingerprint = ?
AND typeof(until) = 'integer' AND typeof(num_tokens) = 'integer'
"""
_UNREAD = f"""
SELECT sum(length(tokens) / {_TOKEN_BYTES}) FROM practice
WHERE vocabulary_id = (SELECT id FROM vocabularies WHERE fingerprint = ?) AND id > ?
"""
_NOTE_READ = """
INSERT INTO practice_read (vocabulary_id, drafter_fingerprint, until, num_tokens) VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET until = excluded.until, num_tokens = practice_read.num_tokens + excluded.num_tokens
WHERE excluded.until > practice_read.until
"""


def read_lessons(connection: Connection, fingerprint: str, most: int | None) -> tuple[Lesson, ...]:
    """The latest, oldest first, without those of deleted conversations, damaged ones, and those whose branch is
    incomplete."""
    return tuple(reversed(_read(connection, _LESSONS, fingerprint, most)))


def read_text_lessons(connection: Connection, fingerprint: str, most: int) -> tuple[TextLesson, ...]:
    """The latest lessons of all other vocabularies, oldest first, as texts."""
    others = connection.execute(select(VocabularyRow.fingerprint).where(VocabularyRow.fingerprint != fingerprint))
    found = [lesson for (other,) in others.all() for lesson in read_lessons(connection, other, most)]
    latest = sorted(found, key=lambda lesson: lesson.message_id)[-most:]
    wanted = select(MessageRow.id, MessageRow.text).where(MessageRow.id.in_([each.message_id for each in latest]))
    texts: dict[int, str] = dict(connection.execute(wanted).all())
    lessons = (TextLesson(each.message_id, each.conversation_id, each.turns, texts[each.message_id]) for each in latest)
    return tuple(each for each in lessons if isinstance(each.text, str) and each.text)


def read_self_distilled(connection: Connection, fingerprint: str, most: int, after: int | None) -> tuple[Lesson, ...]:
    """Self-distilled replies, oldest first: the latest, or those that follow the one whose `message_id` is `after`."""
    if after is None:
        return tuple(reversed(_read(connection, _SELF_DISTILLED, fingerprint, most)))
    return tuple(_read(connection, _IN_ORDER, fingerprint, most, after))


def _read(
    connection: Connection, names: Mapping[str, str], fingerprint: str, most: int | None, after: int = 0
) -> list[Lesson]:
    lessons = []
    above = _turns_by_id(raw_rows(connection, _BRANCHES.format_map(names), fingerprint))
    for message_id, found_in, created_at, parent_id, prompt, system_prompt, *values in raw_rows(
        connection, _READ.format_map(names), fingerprint, after, -1 if most is None else most
    ):
        turns = _turns_of(system_prompt, above, message_id, parent_id)
        reply = _reply(*values)
        made = read_time(created_at)
        if turns is not None and reply is not None and made is not None:
            if prompt is not None:
                turns = (*turns, ChatTurn(Role.USER, prompt))
            lessons.append(Lesson(message_id, message_id if found_in is None else found_in, made, turns, reply))
    return lessons


def _turns_by_id(rows: Iterable[Any]) -> TurnsById:
    """Rows of ids, parents, roles, texts and thoughts."""
    return {
        number: (parent, ChatTurn(_ROLES[role], with_names(text, _PICTURE), joined_thoughts(thoughts_from(thoughts))))
        for number, parent, role, text, thoughts in rows
        if role in _ROLES  # else it is damaged
    }


def count_lessons(connection: Connection) -> dict[str, int]:
    """The lessons of each vocabulary, including damaged ones and those of deleted conversations."""
    return _count(connection, LessonRow)


def count_self_distilled(connection: Connection) -> dict[str, int]:
    """The self-distilled replies of each vocabulary."""
    return _count(connection, SelfDistilledRow)


def _count(connection: Connection, row: type[LessonRow] | type[SelfDistilledRow]) -> dict[str, int]:
    counted = (
        select(VocabularyRow.fingerprint, func.count())
        .join(row, row.vocabulary_id == VocabularyRow.id)
        .group_by(VocabularyRow.id)
    )
    return dict(connection.execute(counted).all())


def write_lesson(
    connection: Connection,
    fingerprint: str,
    message_id: int,
    reply: VerifiedReply,
    most: int,
    system_prompt: str | None,
) -> None:
    """Raises ValueError for an invalid lesson, and when none may be stored."""
    row = _row_of(reply)
    if most < 1:
        raise ValueError("Of the lessons to be saved, there is room for none.")
    vocabulary_id = id_of(connection, VocabularyRow, fingerprint=fingerprint)
    if system_prompt is None:
        system_prompt = connection.execute(_PROMPT_NOW, {"message": message_id}).scalar_one()
    known = {"vocabulary_id": vocabulary_id, "message_id": message_id, "system_prompt": encodable(system_prompt)}
    connection.execute(_SAVE, {**known, **row})
    _thin_out(connection, vocabulary_id, most, chance=random.Random(message_id))


def _thin_out(connection: Connection, vocabulary_id: int, most: int, chance: random.Random) -> None:
    """Removes some before the latest at random: lessons get rarer with age, and no topic ends on one day."""
    ids = select(LessonRow.message_id).where(LessonRow.vocabulary_id == vocabulary_id).order_by(LessonRow.message_id)
    stored = connection.execute(ids).scalars().all()
    if len(stored) <= most:
        return
    older = stored[: -max(1, most // _LATEST_SHARE)]
    gone = chance.sample(older, len(stored) - most)
    of_vocabulary = LessonRow.vocabulary_id == vocabulary_id
    connection.execute(delete(LessonRow).where(of_vocabulary, LessonRow.message_id.in_(gone)))


def read_exercises(
    connection: Connection, fingerprint: str, num_prompts: int, most_answers: int
) -> tuple[Exercise, ...]:
    found = raw_rows(connection, _FEWEST, fingerprint, num_prompts, most_answers)
    return _exercises(connection, [number for (number,) in found])


def read_exercise(connection: Connection, message_id: int) -> Exercise | None:
    """None where there is no such prompt any more, or its chat was deleted."""
    return next(iter(_exercises(connection, [message_id])), None)


def _exercises(connection: Connection, ids: list[int]) -> tuple[Exercise, ...]:
    above = _turns_by_id(raw_rows(connection, _BRANCHES_ABOVE, json.dumps(ids)))
    exercises = {}
    for number, found_in, system_prompt, sampling in raw_rows(connection, _PROMPTED_CHATS, json.dumps(ids)):
        turns = _turns_of(system_prompt, above, -1, number)
        if turns is not None:
            exercises[number] = Exercise(number, found_in, turns, OwnSampling.from_json(sampling))
    return tuple(exercises[number] for number in ids if number in exercises)


def count_exercises(connection: Connection, fingerprint: str) -> int:
    """How many shipped ones the target was through with."""
    known = select(VocabularyRow.num_exercises).where(VocabularyRow.fingerprint == fingerprint)
    return connection.execute(known).scalar_one_or_none() or 0


def write_self_distilled(
    connection: Connection, fingerprint: str, exercise: Exercise, reply: VerifiedReply, most_tokens: int
) -> Lesson:
    """Raises ValueError for an invalid reply."""
    row = _row_of(reply)
    vocabulary_id = id_of(connection, VocabularyRow, fingerprint=fingerprint)
    first, now, is_shipped = exercise.turns[0], datetime.now(UTC), exercise.message_id is None
    new = insert(SelfDistilledRow).values(
        vocabulary_id=vocabulary_id,
        message_id=exercise.message_id,
        prompt=encodable(exercise.turns[-1].text) if is_shipped else None,
        created_at=now,
        system_prompt=encodable(first.text) if first.role is Role.SYSTEM else "",
        **row,
    )
    number = connection.execute(new).lastrowid
    connection.exec_driver_sql(_REMOVE_OLDEST, (vocabulary_id, is_shipped, most_tokens))
    if is_shipped:
        gone_through = func.max(VocabularyRow.num_exercises, exercise.number + 1)
        of_vocabulary = VocabularyRow.id == vocabulary_id
        connection.execute(update(VocabularyRow).where(of_vocabulary).values(num_exercises=gone_through))
    found_in = -number if exercise.conversation_id is None else exercise.conversation_id
    return Lesson(-number, found_in, now, exercise.turns, reply)


def read_progress(connection: Connection, pair: FingerprintPair) -> SelfDistilledRead:
    found = raw_rows(connection, _PROGRESS, *pair)
    until, num_tokens = next(iter(found), (0, 0))
    ((num_unread,),) = raw_rows(connection, _UNREAD, pair[0], until)
    return SelfDistilledRead(-until, num_tokens, num_unread or 0)


def count_read(connection: Connection) -> dict[FingerprintPair, int]:
    """How many tokens of self-distilled replies each drafter has read of each vocabulary."""
    read = SelfDistilledReadRow
    counted = select(VocabularyRow.fingerprint, read.drafter_fingerprint, read.num_tokens).join(
        VocabularyRow, VocabularyRow.id == read.vocabulary_id
    )
    return {(target, drafter): number for target, drafter, number in connection.execute(counted)}


def note_read(connection: Connection, pair: FingerprintPair, number: int, num_tokens: int) -> None:
    """That the drafter has read the reply of that number, once."""
    fingerprint, drafter = pair
    vocabulary_id = id_of(connection, VocabularyRow, fingerprint=fingerprint)
    connection.exec_driver_sql(_NOTE_READ, (vocabulary_id, drafter, number, num_tokens))


def forget_self_distilled(connection: Connection, conversation_id: int) -> None:
    """Removes the self-distilled replies to the prompts of a conversation; the prompts can be answered again."""
    of_chat = select(MessageRow.id).where(MessageRow.conversation_id == conversation_id)
    connection.execute(delete(SelfDistilledRow).where(SelfDistilledRow.message_id.in_(of_chat)))


def _row_of(reply: VerifiedReply) -> dict[str, object]:
    """Its columns. Raises ValueError."""
    tokens, law_tokens, law_logs = reply.tokens, reply.top_tokens, reply.top_logs
    if law_tokens.shape != law_logs.shape or law_tokens.shape[:1] != tokens.shape or law_tokens.ndim != 2:
        raise ValueError("A lesson to be saved has no row of tokens with a distribution for each.")
    if not (law_tokens.size and _are_tokens(tokens) and _are_tokens(law_tokens) and _are_logs(law_logs)):
        raise ValueError("A lesson to be saved has numbers that are no tokens, or no probabilities.")
    if not 0 <= reply.temperature <= _HIGHEST:
        raise ValueError("A lesson to be saved has a temperature that there is not.")
    return {
        "temperature": float(reply.temperature),
        "width": law_tokens.shape[1],
        "tokens": tokens.astype("<i4").tobytes(),
        "law_tokens": law_tokens.astype("<i4").tobytes(),
        "law_logs": law_logs.astype("<f2").tobytes(),
    }


def _reply(temperature: float, width: int, tokens: bytes, law_tokens: bytes, law_logs: bytes) -> VerifiedReply | None:
    row = np.frombuffer(tokens, "<i4").astype(np.int32, copy=False)
    ids = np.frombuffer(law_tokens, "<i4").astype(np.int32, copy=False).reshape(-1, width)
    logs = np.frombuffer(law_logs, "<f2").astype(np.float16, copy=False).reshape(-1, width)
    is_whole = _are_tokens(row) and _are_tokens(ids) and _are_logs(logs)
    return VerifiedReply(row, ids, logs, temperature) if is_whole else None


def _are_tokens(ids: npt.NDArray[Any]) -> bool:
    return ids.dtype.kind in "iu" and int(ids.min()) >= 0 and int(ids.max()) < _NUM_TOKENS


def _are_logs(logs: npt.NDArray[Any]) -> bool:
    """A probability of zero is valid. One above 1 by more than rounding is not, nor is NaN, which compares as false."""
    return logs.dtype.kind == "f" and bool((logs < 0.01).all())


def _turns_of(
    system_prompt: str, above: TurnsById, message_id: int, parent_id: int | None
) -> tuple[ChatTurn, ...] | None:
    """The turns that were rendered for the reply, without empty ones. `message_id`: of the reply; negative for one that
    is no message. None if a message is missing, or has a younger parent, which happens in damaged files."""
    turns: list[ChatTurn] = []
    while parent_id is not None:
        if parent_id not in above or 0 < message_id <= parent_id:
            return None
        message_id, (parent_id, turn) = parent_id, above[parent_id]
        if turn.text:
            turns.append(turn)
    if system_prompt.strip():
        turns.append(ChatTurn(Role.SYSTEM, system_prompt))
    return tuple(reversed(turns))
