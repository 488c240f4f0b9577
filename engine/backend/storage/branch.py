"""Reads branches of a conversation: from a message along `parent_id` to the root, in one statement, and the siblings
of its messages. Writes the statistics that it reads with them.

A branch is named by its leaf, its head. The heads that the user left are stored with their conversation as JSON, latest
last, so that flipping back leads to where one was.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import CTE, ColumnElement, Connection, Integer, Row, bindparam, cast, delete, func, insert, select

from engine.backend.storage.columns import Heads
from engine.backend.storage.schema import MessageRow, ReplyProposerRow, ReplyStatisticsRow
from engine.values.conversations import Message
from engine.values.remote import server_of
from engine.values.replies import ProposerCounts, ReplyStatistics

_MOST_HEADS = 64  # that are stored for a conversation
_FIGURES = tuple(field.name for field in fields(ReplyStatistics) if field.name != "proposers")
_counts = (ReplyProposerRow.num_rounds, ReplyProposerRow.num_drafted, ReplyProposerRow.num_accepted)
# As JSON, so that one statement reads a branch. The casts are for a damaged file, where any column holds any value.
_proposers = (
    select(func.json_group_array(func.json_array(ReplyProposerRow.key, *(cast(each, Integer) for each in _counts))))
    .where(ReplyProposerRow.message_id == MessageRow.id, func.typeof(ReplyProposerRow.key) == "text")
    .correlate(MessageRow)
    .scalar_subquery()
)
_STATISTICS = (*(getattr(ReplyStatisticsRow, name) for name in _FIGURES), _proposers)


def links_up(first: ColumnElement[bool]) -> CTE:
    """The ids of these messages and of all above them. UNION drops rows it has seen, so that a cycle in a damaged file
    ends."""
    link = select(MessageRow.id, MessageRow.parent_id)
    links = link.where(first).cte("branch", recursive=True)
    return links.union(link.join(links, MessageRow.id == links.c.parent_id))


_links = links_up(MessageRow.id == bindparam("head"))
_BRANCH = (
    select(*MessageRow.__table__.columns, *_STATISTICS)
    .join(_links, _links.c.id == MessageRow.id)
    .outerjoin(ReplyStatisticsRow, ReplyStatisticsRow.message_id == MessageRow.id)
    .order_by(MessageRow.id)  # a parent is always older than its children
)
_below = select(MessageRow.id).where(MessageRow.id == bindparam("top")).cte("below", recursive=True)
_below = _below.union(select(MessageRow.id).join(_below, MessageRow.parent_id == _below.c.id))
_IDS_BELOW = select(_below.c.id)
_writer = func.iif(func.typeof(MessageRow.target_identity) == "text", MessageRow.target_identity, None)
_LINKS_OF_ALL = (
    select(MessageRow.parent_id, MessageRow.id, _writer)
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


def read_siblings_and_servers(
    connection: Connection, conversation_id: int, branch: Sequence[Message]
) -> tuple[dict[int, tuple[int, ...]], tuple[str, ...]]:
    """`Conversation.siblings` and `Conversation.servers`."""
    children: dict[int | None, list[int]] = defaultdict(list)
    writers: dict[str, None] = {}  # in their order
    for parent_id, message_id, writer in connection.execute(_LINKS_OF_ALL, {"conversation": conversation_id}):
        children[parent_id].append(message_id)
        writers.setdefault(writer)
    siblings = {
        message.id: tuple(children[message.parent_id]) for message in branch if len(children[message.parent_id]) > 1
    }
    return siblings, tuple(dict.fromkeys(filter(None, map(server_of, writers))))


def read_children(connection: Connection, conversation_id: int, parent_id: int | None) -> tuple[int, ...]:
    """The ids of the messages under this one, oldest first; the roots for None."""
    wanted = {"conversation": conversation_id, "parent": parent_id or 0}
    return tuple(connection.execute(_BESIDE, wanted).scalars())


def read_below(connection: Connection, message_id: int | None, conversation_id: int = 0) -> set[int]:
    """The ids of this message and of all below it; None: all of the conversation. The largest is the leaf that was
    written last."""
    if message_id is None:
        return {row.id for row in connection.execute(_LINKS_OF_ALL, {"conversation": conversation_id})}
    return set(connection.execute(_IDS_BELOW, {"top": message_id}).scalars())


def write_statistics(connection: Connection, message_id: int, statistics: ReplyStatistics) -> None:
    """Replaces earlier ones."""
    for row in (ReplyStatisticsRow, ReplyProposerRow):
        connection.execute(delete(row).where(row.message_id == message_id))
    figures = {name: getattr(statistics, name) for name in _FIGURES}
    connection.execute(insert(ReplyStatisticsRow).values(message_id=message_id, **figures))
    proposers = [{"message_id": message_id, **asdict(counts)} for counts in statistics.proposers]
    if proposers:
        connection.execute(insert(ReplyProposerRow), proposers)


def with_left(heads: Heads, head: int | None) -> Heads:
    """Adds the head that is no longer the current one; None: there was none."""
    return heads if head is None else (*(each for each in heads if each != head), head)[-_MOST_HEADS:]


def latest_of(heads: Heads, below: Set[int]) -> int:
    """The head among these messages that was left last, or else the message written last."""
    return next((head for head in reversed(heads) if head in below), max(below))


def _message(row: Row[Any]) -> Message:
    return Message(
        id=row.id,
        conversation_id=row.conversation_id,
        parent_id=row.parent_id,
        role=row.role,
        text=row.text,
        created_at=row.created_at,
        target_name=row.target_name,
        statistics=_statistics(*row[-len(_STATISTICS) :]),
        thoughts=row.thoughts,
        calls=row.calls,
        result=row.result,
        server=server_of(row.target_identity),
    )


def _statistics(*values: Any) -> ReplyStatistics | None:
    *figures, proposers = values
    if figures[0] is None:  # a message without statistics
        return None
    figures.append(tuple(ProposerCounts(*each) for each in sorted(json.loads(proposers))))
    return ReplyStatistics(*figures)
