"""Finds conversations by words in their titles and messages.

There is no index: it would hold the words of deleted chats. SQLite first sifts the texts by ASCII letters, and what it
lets pass is compared as people read it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import groupby

from sqlalchemy import ColumnElement, Connection, LargeBinary, Text, and_, cast, func, or_, select, type_coerce

from engine.messages.conversations import ConversationSummary, SearchHit
from engine.messages.prompts import with_names
from engine.messages.replies import Thought, joined_thoughts
from engine.storage.branch import links_up
from engine.storage.schema import ConversationRow, MessageRow
from engine.storage.texts import snippet_of
from engine.storage.tool_columns import Calls
from engine.storage.transactions import is_incognito

MOST_HITS = 100
_SIFTED_LENGTH = 100  # characters of a word that SQLite compares; it refuses very long patterns
_AT_ONCE = 500  # conversations named in one statement

_Found = tuple[int, str, bool]  # id and text of a message, or of its thoughts


def summary_of(conversation_id: int, title: str, updated_at: datetime) -> ConversationSummary:
    return ConversationSummary(conversation_id, title, updated_at, incognito=is_incognito(conversation_id))


def find_conversations(connection: Connection, words: Sequence[str], stopped: Callable[[], bool]) -> list[SearchHit]:
    """The last used conversations with all these words in the title and one message together."""
    columns = (ConversationRow.id, ConversationRow.title, ConversationRow.updated_at, ConversationRow.head_message_id)
    listed = select(*columns).where(ConversationRow.deleted_at.is_(None))
    latest_first = listed.order_by(ConversationRow.updated_at.desc(), ConversationRow.id.desc())
    rows = connection.execute(latest_first).all()
    heads = {row.id: row.head_message_id for row in rows}
    summaries = [summary_of(*row[:3]) for row in rows]
    messages: dict[int, list[_Found]] = dict(_holding(connection, words, stopped))
    missing = {each.id: _missing_in(each.title, words) for each in summaries}
    partly = [number for number, lacks in missing.items() if lacks and len(lacks) < len(words)]
    for lacks, numbers in _by_missing(partly, missing):
        messages.update(_holding(connection, lacks, stopped, numbers))

    found = [each for each in summaries if each.id in messages or not missing[each.id]][:MOST_HITS]
    branches = _branches(connection, [head for each in found if (head := heads[each.id]) is not None])
    return [_hit_of(each, messages.get(each.id, ()), words, branches) for each in found]


def _missing_in(text: str, words: Sequence[str]) -> tuple[str, ...]:
    """The words that are not in a text."""
    folded = text.casefold()
    return tuple(word for word in words if word not in folded)


def _hit_of(
    conversation: ConversationSummary, messages: Sequence[_Found], words: Sequence[str], branch: set[int]
) -> SearchHit:
    """`messages` are those with the words, latest first; one of the current branch is preferred."""
    if not messages:
        return SearchHit(conversation, None, "", ())
    number, text, is_thought = next((each for each in messages if each[0] in branch), messages[0])
    return SearchHit(conversation, number, *snippet_of(text, words), is_thought)


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
        select(MessageRow.conversation_id, MessageRow.id, MessageRow.text, MessageRow.thoughts, MessageRow.calls)
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
        messages = [each for row in rows for each in _found_in(*row[1:], words)]
        if messages:
            num_found += 1
            yield number, messages


def _found_in(
    number: int, text: str, thoughts: tuple[Thought, ...], calls: Calls, words: Sequence[str]
) -> Iterator[_Found]:
    """In the text of a message as people read it, or else in its thoughts, or in what it calls."""
    called = "\n".join(f"{call.tool} {call.arguments}" for call in calls)
    for each, is_thought in ((with_names(text), False), (joined_thoughts(thoughts), True), (called, False)):
        if not _missing_in(each, words):
            yield number, each, is_thought
            return


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
