"""Reads branches of a conversation: from a message along `parent_id` to the root, in one statement, and what stands
beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select

from engine.messages.conversations import Message
from engine.messages.replies import ReplyStatistics
from engine.storage.schema import MessageRow, ReplyStatisticsRow

_STATISTICS = tuple(getattr(ReplyStatisticsRow, field.name) for field in fields(ReplyStatistics))

_link = select(MessageRow.id, MessageRow.parent_id)
_links = _link.where(MessageRow.id == bindparam("head")).cte("branch", recursive=True)
# UNION drops what was seen before, so that a circle in a damaged file comes to an end.
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
    links = connection.execute(_LINKS_OF_ALL, {"conversation": conversation_id})
    return siblings_of(branch, [(row.parent_id, row.id) for row in links])


def siblings_of(branch: Sequence[Message], links: Sequence[tuple[int | None, int]]) -> dict[int, tuple[int, ...]]:
    """`links` are the parents and ids of all messages of the conversation, by id."""
    children: dict[int | None, list[int]] = defaultdict(list)
    for parent_id, message_id in links:
        children[parent_id].append(message_id)
    return {
        message.id: tuple(children[message.parent_id]) for message in branch if len(children[message.parent_id]) > 1
    }


def read_children(connection: Connection, conversation_id: int, parent_id: int | None) -> tuple[int, ...]:
    """The ids of the messages under this one, oldest first; the roots for None."""
    wanted = {"conversation": conversation_id, "parent": parent_id or 0}
    return tuple(connection.execute(_BESIDE, wanted).scalars())


def read_below(connection: Connection, message_id: int) -> set[int]:
    """The ids of this message and of all that hang from it. The largest is the leaf that was written last."""
    return set(connection.execute(_IDS_BELOW, {"top": message_id}).scalars())


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
