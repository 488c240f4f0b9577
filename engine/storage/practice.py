"""Writes what was practised, and finds prompts to practise on. The repository opens the transactions; what was
practised is read as lessons are, see lessons.py."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from sqlalchemy import Connection, delete, func, insert, select

from engine.config import OwnSampling
from engine.messages.conversations import Role
from engine.messages.learned import Exercise, Lesson, VerifiedReply
from engine.storage.connections import raw_rows
from engine.storage.lessons import row_of, turns_by_id, turns_of
from engine.storage.recall import id_of
from engine.storage.schema import MessageRow, PracticeRow, VocabularyRow
from engine.storage.texts import encodable

_MOST_BYTES = 2**16  # of a message in a chat that is practised on: longer ones find no room, and decoding takes time
_NUM_ANSWERS = """
SELECT count(*) FROM practice WHERE practice.message_id = messages.id
AND vocabulary_id = (SELECT id FROM vocabularies WHERE fingerprint = ?)
"""
_PROMPT = f"""
FROM messages JOIN conversations ON conversations.id = messages.conversation_id
WHERE messages.role = '{Role.USER.value}' AND conversations.deleted_at IS NULL
AND typeof(conversations.system_prompt) = 'text' AND typeof(messages.text) = 'text' AND messages.text != ''
AND NOT EXISTS (SELECT 1 FROM pictures WHERE pictures.conversation_id = conversations.id)
"""
_LATEST = f"SELECT messages.id, ({_NUM_ANSWERS}) AS num_answers {_PROMPT} ORDER BY messages.id DESC LIMIT ?"
_FEWEST = f"SELECT id FROM ({_LATEST}) WHERE num_answers < ? ORDER BY num_answers, id DESC"
_CHATS = f"""
SELECT messages.id, conversations.id, conversations.system_prompt, conversations.sampling {_PROMPT}
AND messages.id IN (SELECT value FROM json_each(?))
"""
_BRANCHES = f"""
WITH RECURSIVE branch(id) AS (
    SELECT value FROM json_each(?)
    UNION SELECT messages.parent_id FROM messages JOIN branch ON messages.id = branch.id
)
SELECT messages.id, messages.parent_id, messages.role, messages.text, messages.thoughts FROM messages
JOIN branch ON branch.id = messages.id WHERE typeof(messages.text) = 'text'
AND length(CAST(messages.text AS BLOB)) <= {_MOST_BYTES}
"""


def read_exercises(
    connection: Connection, fingerprint: str, num_prompts: int, most_answers: int
) -> tuple[Exercise, ...]:
    found = raw_rows(connection, _FEWEST, fingerprint, num_prompts, most_answers)
    return _exercises(connection, [number for (number,) in found])


def read_exercise(connection: Connection, message_id: int) -> Exercise | None:
    """None where there is no such prompt any more, or its chat was deleted."""
    return next(iter(_exercises(connection, [message_id])), None)


def _exercises(connection: Connection, ids: list[int]) -> tuple[Exercise, ...]:
    above = turns_by_id(raw_rows(connection, _BRANCHES, json.dumps(ids)))
    exercises = {}
    for number, found_in, system_prompt, sampling in raw_rows(connection, _CHATS, json.dumps(ids)):
        turns = turns_of(system_prompt, above, -1, number)
        if turns is not None:
            exercises[number] = Exercise(number, found_in, turns, OwnSampling.from_json(sampling))
    return tuple(exercises[number] for number in ids if number in exercises)


def write_practice(
    connection: Connection, fingerprint: str, exercise: Exercise, reply: VerifiedReply, most: int
) -> Lesson:
    """Raises ValueError for an invalid reply."""
    row = row_of(reply)
    vocabulary_id = id_of(connection, VocabularyRow, fingerprint=fingerprint)
    first, now = exercise.turns[0], datetime.now(UTC)
    new = insert(PracticeRow).values(
        vocabulary_id=vocabulary_id,
        message_id=exercise.message_id,
        created_at=now,
        system_prompt=encodable(first.text) if first.role is Role.SYSTEM else "",
        **row,
    )
    number = connection.execute(new).lastrowid
    of_vocabulary = PracticeRow.vocabulary_id == vocabulary_id
    latest = select(PracticeRow.id).where(of_vocabulary).order_by(PracticeRow.id.desc()).limit(most)
    connection.execute(delete(PracticeRow).where(of_vocabulary, PracticeRow.id.not_in(latest)))
    return Lesson(-number, exercise.conversation_id, now, exercise.turns, reply)


def count_practice(connection: Connection) -> dict[str, int]:
    """By vocabulary."""
    counted = (
        select(VocabularyRow.fingerprint, func.count())
        .join(PracticeRow, PracticeRow.vocabulary_id == VocabularyRow.id)
        .group_by(VocabularyRow.id)
    )
    return dict(connection.execute(counted).all())


def forget_practice(connection: Connection, conversation_id: int) -> None:
    """What was practised on the prompts of a conversation; it can be practised anew."""
    of_chat = select(MessageRow.id).where(MessageRow.conversation_id == conversation_id)
    connection.execute(delete(PracticeRow).where(PracticeRow.message_id.in_(of_chat)))
