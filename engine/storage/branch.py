"""Reads the current branch of a conversation: from its head along `parent_id` to the root, in one statement."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from engine.records import Message, ReplyStatistics
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


def read_branch(connection: Connection, head_message_id: int | None) -> tuple[Message, ...]:
    """Root first; empty without a head."""
    return tuple(map(_message, connection.execute(_BRANCH, {"head": head_message_id})))


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
