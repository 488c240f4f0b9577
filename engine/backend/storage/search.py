"""Finds conversations by words in their titles and messages.

There is no index: it would hold the words of deleted chats. SQLite first sifts the texts by ASCII letters, and what it
lets pass is compared as people read it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, takewhile
from typing import Any

from sqlalchemy import ColumnElement, Connection, LargeBinary, Text, and_, cast, func, or_, select, type_coerce

from engine.backend.storage.branch import links_up
from engine.backend.storage.columns import beginning_of, calls_from, pieces_of, thoughts_from
from engine.backend.storage.connections import raw_rows
from engine.backend.storage.schema import ConversationRow, MessageRow
from engine.backend.storage.summaries import SUMMARIES, summary_of
from engine.backend.storage.texts import holds_all, snippet_of
from engine.values.conversations import ConversationSummary, SearchHit
from engine.values.prompts import NAMES_PICTURE, with_names
from engine.values.replies import joined_thoughts

MOST_HITS = 100
_SIFTED_LENGTH = 100  # characters of a word that SQLite compares; it refuses very long patterns
_AT_ONCE = 500  # conversations named in one statement
_LONG_BYTES = 2**20  # of what a message holds as JSON: more is read by SQLite, while other threads go on
_LONG = (
    "SELECT CAST({value} AS BLOB) FROM json_each((SELECT {column} FROM messages WHERE id = ? AND json_valid({column})))"
)
_LONG_THOUGHTS = _LONG.format(column="thoughts", value="value ->> 1")
_LONG_CALLS = _LONG.format(column="calls", value="(value ->> 2) || ' ' || (value ->> 3)")
_HELD = (  # as bytes: long texts are decoded in pieces
    MessageRow.id,
    type_coerce(beginning_of(MessageRow.text), LargeBinary).label("text"),
    cast(MessageRow.thoughts, LargeBinary).label("thoughts"),
    cast(MessageRow.calls, LargeBinary).label("calls"),
)

_Found = tuple[int, int]  # id of a message, and which of its parts it is found in


def find_conversations(connection: Connection, words: Sequence[str], stopped: Callable[[], bool]) -> list[SearchHit]:
    """The last used conversations with all these words in the title and one message together."""
    listed = SUMMARIES.add_columns(ConversationRow.head_message_id).where(ConversationRow.deleted_at.is_(None))
    latest_first = listed.order_by(ConversationRow.updated_at.desc(), ConversationRow.id.desc())
    rows = connection.execute(latest_first).all()
    heads = {row.id: row.head_message_id for row in rows}
    summaries = [summary_of(row) for row in rows]
    messages: dict[int, list[_Found]] = dict(_holding(connection, words, stopped))
    missing = {each.id: _missing_in(each.title, words) for each in summaries}
    partly = [number for number, lacks in missing.items() if lacks and len(lacks) < len(words)]
    for lacks, numbers in _by_missing(partly, missing):
        messages.update(_holding(connection, lacks, stopped, numbers))

    found = [each for each in summaries if each.id in messages or not missing[each.id]][:MOST_HITS]
    branches = _branches(connection, [head for each in found if (head := heads[each.id]) is not None])
    return [_hit_of(connection, each, messages.get(each.id, ()), words, branches) for each in found]


def _missing_in(text: str, words: Sequence[str]) -> tuple[str, ...]:
    """The words that are not in a text."""
    folded = text.casefold()
    return tuple(word for word in words if word not in folded)


def _hit_of(
    connection: Connection,
    conversation: ConversationSummary,
    messages: Sequence[_Found],
    words: Sequence[str],
    branch: set[int],
) -> SearchHit:
    """`messages` are those with the words, latest first; one of the current branch is preferred."""
    if not messages:
        return SearchHit(conversation, None, "", ())
    number, part = next((each for each in messages if each[0] in branch), messages[0])
    held = connection.execute(select(*_HELD).where(MessageRow.id == number)).one()
    read = _PARTS[part]
    return SearchHit(conversation, number, *snippet_of(lambda: read(connection, held), words), read is _thoughts)


def _by_missing(
    numbers: Sequence[int], missing: dict[int, tuple[str, ...]]
) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    for lacks, group in groupby(sorted(numbers, key=missing.__getitem__), missing.__getitem__):
        together = list(group)
        for begin in range(0, len(together), _AT_ONCE):
            yield lacks, together[begin : begin + _AT_ONCE]


def _holding(
    connection: Connection, words: Sequence[str], stopped: Callable[[], bool], numbers: Sequence[int] | None = None
) -> Iterator[tuple[int, list[_Found]]]:
    """Conversations (of these; None: of all) and their messages with all the words, latest first."""
    wanted = (
        select(MessageRow.conversation_id, *_HELD)
        .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
        .where(ConversationRow.deleted_at.is_(None), _sieve(words))
        .order_by(ConversationRow.updated_at.desc(), ConversationRow.id.desc(), MessageRow.id.desc())
    )
    if numbers is not None:
        wanted = wanted.where(ConversationRow.id.in_(numbers))
    num_found = 0
    for number, rows in groupby(connection.execute(wanted), lambda row: int(row[0])):
        if stopped() or num_found == MOST_HITS:
            return
        messages = [(row.id, part) for row in rows if (part := _part_with(connection, row, words, stopped)) is not None]
        if messages:
            num_found += 1
            yield number, messages


def _part_with(connection: Connection, held: Any, words: Sequence[str], stopped: Callable[[], bool]) -> int | None:
    """Which part of a message has all the words: its text as people read it, its thoughts, or what it calls."""
    for part, read in enumerate(_PARTS):
        if holds_all(takewhile(lambda _piece: not stopped(), read(connection, held)), words):
            return part
    return None


def _text(_connection: Connection, held: Any) -> Iterator[str]:
    pieces = pieces_of(held.text)
    return iter((with_names("".join(pieces)),)) if NAMES_PICTURE.encode() in held.text else pieces


def _thoughts(connection: Connection, held: Any) -> Iterator[str]:
    if len(held.thoughts) <= _LONG_BYTES:
        return iter((joined_thoughts(thoughts_from(held.thoughts)),))
    return _long(connection, _LONG_THOUGHTS, held.id, "\n\n")


def _calls(connection: Connection, held: Any) -> Iterator[str]:
    if len(held.calls) <= _LONG_BYTES:
        return iter(("\n".join(f"{call.tool} {call.arguments}" for call in calls_from(held.calls)),))
    return _long(connection, _LONG_CALLS, held.id, "\n")


def _long(connection: Connection, statement: str, number: int, between: str) -> Iterator[str]:
    for place, (raw,) in enumerate(raw_rows(connection, statement, number)):
        if place:
            yield between
        yield from pieces_of(raw or b"")


_PARTS: tuple[Callable[[Connection, Any], Iterator[str]], ...] = (_text, _thoughts, _calls)


def _sieve(words: Sequence[str]) -> ColumnElement[bool]:
    """Lets all texts with these case-folded words pass, and others: SQLite compares ASCII letters alone."""
    held_in = MessageRow.text, MessageRow.thoughts, MessageRow.calls
    columns: list[ColumnElement[str]] = [type_coerce(each, Text) for each in held_in]
    beyond_ascii = or_(*(func.length(each) != func.length(cast(each, LargeBinary)) for each in columns))
    if not all(map(str.isascii, words)):
        return beyond_ascii
    cut = [word[:_SIFTED_LENGTH] for word in words]
    in_json = [json.dumps(word)[1:-1] for word in cut]  # as thoughts and calls are stored
    in_calls = [json.dumps(word)[1:-1] for word in in_json]  # whose arguments are JSON themselves
    patterns = cut, in_json, in_calls
    held = (
        and_(*(column.contains(word, autoescape=True) for word in wanted))
        for column, wanted in zip(columns, patterns, strict=True)
    )
    return or_(*held, beyond_ascii)


def _branches(connection: Connection, heads: Sequence[int]) -> set[int]:
    """The messages of the branches with these heads."""
    return set(connection.execute(select(links_up(MessageRow.id.in_(heads)).c.id)).scalars())
