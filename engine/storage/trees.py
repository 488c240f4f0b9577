"""Whole conversations with all their branches: read to be exported, written when they are imported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, insert, select, update

from engine.messages.conversations import ConversationTree, TreeMessage
from engine.storage.schema import ConversationRow, MessageRow
from engine.storage.texts import encodable, fit_title

_MESSAGES = select(MessageRow.__table__).order_by(MessageRow.id)  # a parent is always older than its children


def read_tree(connection: Connection, conversation_id: int) -> ConversationTree:
    """The conversation must be there."""
    row = connection.execute(select(ConversationRow.__table__).where(ConversationRow.id == conversation_id)).one()
    messages = connection.execute(_MESSAGES.where(MessageRow.conversation_id == conversation_id))
    times = row.created_at, row.updated_at
    return ConversationTree(row.title, row.system_prompt, *times, tuple(map(_message, messages)), row.head_message_id)


class KnownTrees:
    """What is in the store, as digests of every message with all messages before it.

    Times are not compared with a file that has none.
    """

    def __init__(self, connection: Connection) -> None:
        self._digests: set[bytes] = set()
        present = _MESSAGES.join(ConversationRow, ConversationRow.id == MessageRow.conversation_id).where(
            ConversationRow.deleted_at.is_(None)
        )
        rows = connection.execute(present.order_by(None).order_by(MessageRow.conversation_id, MessageRow.id))
        for _, of_conversation in groupby(rows, lambda row: row.conversation_id):
            self._take(list(map(_message, of_conversation)))

    def add(self, tree: ConversationTree) -> bool:
        """False for a tree that is known, as it is or with messages that were added since."""
        has_times = all(message.created_at for message in tree.messages)
        digests = set(_digests(tree.messages, has_times))
        if digests <= self._digests:
            return False
        self._take(tree.messages)
        return True

    def _take(self, messages: Sequence[TreeMessage]) -> None:
        for with_times in (True, False):
            self._digests.update(_digests(messages, with_times))


def _digests(messages: Iterable[TreeMessage], with_times: bool) -> Iterator[bytes]:
    of: dict[int | None, bytes] = {None: b"times" if with_times else b""}
    for message in messages:
        if message.parent not in of:
            continue  # a damaged store
        time = message.created_at.astimezone(UTC).isoformat() if with_times and message.created_at else ""
        digest = sha256(of[message.parent] + f"{message.role}\0{time}\0".encode())
        digest.update(encodable(message.text).encode())
        of[message.number] = digest.digest()
        yield of[message.number]


def write_tree(connection: Connection, tree: ConversationTree) -> None:
    """An unknown time counts as now."""
    now = datetime.now(UTC)
    times = [message.created_at for message in tree.messages if message.created_at]
    created_at = tree.created_at or min(times, default=now)
    new = insert(ConversationRow).values(
        title=fit_title(tree.title),
        system_prompt=encodable(tree.system_prompt),
        created_at=created_at,
        updated_at=tree.updated_at or max(times, default=now),
    )
    conversation_id = connection.execute(new).lastrowid
    if not tree.messages:
        return
    first = _next_message_id(connection)
    ids = {message.number: first + place for place, message in enumerate(tree.messages)}
    rows = [
        {
            "id": ids[message.number],
            "conversation_id": conversation_id,
            "parent_id": None if message.parent is None else ids[message.parent],
            "role": message.role,
            "text": encodable(message.text),
            "created_at": message.created_at or created_at,
            "target_name": None if message.target_name is None else encodable(message.target_name),
        }
        for message in tree.messages
    ]
    connection.execute(insert(MessageRow), rows)
    head = max(ids.values()) if tree.head is None else ids[tree.head]
    change = update(ConversationRow).where(ConversationRow.id == conversation_id)
    connection.execute(change.values(head_message_id=head))


def _next_message_id(connection: Connection) -> int:
    """An id that was never used, not even by a message that is deleted now."""
    last = connection.exec_driver_sql("SELECT seq FROM sqlite_sequence WHERE name = 'messages'").scalar_one_or_none()
    return (last or 0) + 1


def _message(row: Any) -> TreeMessage:
    return TreeMessage(row.id, row.parent_id, row.role, row.text, row.created_at, row.target_name)
