"""Reads branches of a conversation: from a message along `parent_id` to the root, in one statement, and the siblings
of its messages.

A branch is named by its leaf, its head. The heads that the user left are stored with their conversation as JSON, latest
last, so that flipping back leads to where one was.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select

from engine.messages.conversations import Message
from engine.messages.replies import ReplyStatistics
from engine.storage.schema import MessageRow, ReplyStatisticsRow

Heads = tuple[int, ...]  # ids of messages

_MOST_HEADS = 64  # that are stored for a conversation
_STATISTICS = tuple(getattr(ReplyStatisticsRow, field.name) for field in fields(ReplyStatistics))

_link = select(MessageRow.id, MessageRow.parent_id)
_links = _link.where(MessageRow.id == bindparam("head")).cte("branch", recursive=True)
# UNION drops rows it has seen, so that a cycle in a damaged file ends.
_links = _links.union(_link.join(_links, MessageRow.id == _links.c.parent_id))
_BRANCH = (
    select(*MessageRow.__table__.columns, *_STATISTICS)
    .join(_links, _links.c.id == MessageRow.id)
    .outerjoin(ReplyStatisticsRow, ReplyStatisticsRow.message_id == MessageRow.id)
    .order_by(MessageRow.id)  # a parent is always older than its children
)
_below = select(MessageRow.id).where(MessageRow.id == bindparam("top")).cte("below", recursive=True)
_below = _below.union(select(MessageRow.id).join(_below, MessageRow.parent_id == _below.c.id))
_IDS_BELOW = select(_below.c.id)
_LINKS_OF_ALL = (
    select(MessageRow.parent_id, MessageRow.id)
    .where(MessageRow.conversation_id == bindparam("conversation"))
    .order_by(MessageRow.id)
)
_BESIDE = (
    select(MessageRow.id)
    .where(
        MessageRow.conversation_id == bindparam("conversation"),
        func.coalesce(MessageRow.parent_id, 0) == bindparam("parent"),  # ids begin with 1
    )
    .order_by(MessageRow.id)
)


def read_branch(connection: Connection, head_message_id: int | None) -> tuple[Message, ...]:
    """Root first; empty without a head."""
    return tuple(map(_message, connection.execute(_BRANCH, {"head": head_message_id})))


def read_siblings(
    connection: Connection, conversation_id: int, branch: Sequence[Message]
) -> dict[int, tuple[int, ...]]:
    """As `Conversation.siblings` has them."""
    children: dict[int | None, list[int]] = defaultdict(list)
    for parent_id, message_id in connection.execute(_LINKS_OF_ALL, {"conversation": conversation_id}):
        children[parent_id].append(message_id)
    return {
        message.id: tuple(children[message.parent_id]) for message in branch if len(children[message.parent_id]) > 1
    }


def read_children(connection: Connection, conversation_id: int, parent_id: int | None) -> tuple[int, ...]:
    """The ids of the messages under this one, oldest first; the roots for None."""
    wanted = {"conversation": conversation_id, "parent": parent_id or 0}
    return tuple(connection.execute(_BESIDE, wanted).scalars())


def read_below(connection: Connection, message_id: int) -> set[int]:
    """The ids of this message and of all below it. The largest is the leaf that was written last."""
    return set(connection.execute(_IDS_BELOW, {"top": message_id}).scalars())


def with_left(heads: Heads, head: int | None) -> Heads:
    """With the head that is no longer the current one; None: there was none."""
    return heads if head is None else (*(each for each in heads if each != head), head)[-_MOST_HEADS:]


def latest_of(heads: Heads, below: Set[int]) -> int:
    """Of these messages, which are below one, the head that was left last, or else the message written last."""
    return next((head for head in reversed(heads) if head in below), max(below))


def heads_to_json(heads: Heads) -> str:
    return json.dumps(heads, separators=(",", ":"))


def heads_from_json(stored: str) -> Heads:
    """Leaves out what is not an id."""
    try:
        found = json.loads(stored)
    except (TypeError, ValueError, RecursionError):  # SQLite holds any kind of value in any column
        return ()
    return tuple(each for each in found if type(each) is int) if isinstance(found, list) else ()


def _message(row: Row[Any]) -> Message:
    numbers = row[-len(_STATISTICS) :]
    return Message(
        id=row.id,
        conversation_id=row.conversation_id,
        parent_id=row.parent_id,
        role=row.role,
        text=row.text,
        created_at=row.created_at,
        target_name=row.target_name,
        statistics=None if numbers[0] is None else ReplyStatistics(*numbers),
    )
