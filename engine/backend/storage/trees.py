"""Whole conversations with all their branches: read to be exported, written when they are imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, LargeBinary, insert, select, type_coerce

from engine.backend.storage.columns import beginning_of
from engine.backend.storage.order import FoldersByName, folder_name
from engine.backend.storage.pictures import add_pictures
from engine.backend.storage.schema import ConversationRow, MessageRow
from engine.backend.storage.texts import encodable, fit_title
from engine.values.conversations import ConversationTree, TreeMessage

_MOST_AT_ONCE = 1_000  # messages that are written together
_MOST_CHARACTERS = 2**20  # of these
_MESSAGES = select(MessageRow.__table__).order_by(MessageRow.id)  # a parent is always older than its children

_PRESENT = (  # with texts as the bytes they are stored in: decoding and encoding long ones would hold up other threads
    select(
        MessageRow.conversation_id,
        MessageRow.id.label("number"),
        MessageRow.parent_id.label("parent"),
        MessageRow.role,
        MessageRow.created_at,
        type_coerce(beginning_of(MessageRow.text), LargeBinary).label("text"),
    )
    .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
    .where(ConversationRow.deleted_at.is_(None))
    .order_by(MessageRow.conversation_id, MessageRow.id)
)


def read_tree(connection: Connection, conversation_id: int) -> ConversationTree:
    """The conversation must be there."""
    row = connection.execute(select(ConversationRow.__table__).where(ConversationRow.id == conversation_id)).one()
    messages = connection.execute(_MESSAGES.where(MessageRow.conversation_id == conversation_id))
    times = row.created_at, row.updated_at
    return ConversationTree(
        row.title,
        row.system_prompt,
        *times,
        tuple(map(_message, messages)),
        row.head_message_id,
        folder=folder_name(connection, row.folder_id),
        is_pinned=row.pinned_at is not None,
        is_archived=row.archived_at is not None,
    )


class KnownTrees:
    """What is in the store, as digests of every message with all messages before it.

    Times are not compared with a file that has none.
    """

    def __init__(self, connection: Connection, check: Callable[[], None]) -> None:
        """`check` is called before each conversation, and may raise."""
        self._digests: set[bytes] = set()
        rows = connection.execute(_PRESENT)
        for _, of_conversation in groupby(rows, lambda row: row.conversation_id):
            check()
            self._digests.update(*_digests(of_conversation))

    def add(self, tree: ConversationTree) -> bool:
        """False for a tree that is known, as it is or with messages that were added since."""
        has_times = all(message.created_at for message in tree.messages)
        digests = list(_digests(tree.messages))
        if all(pair[has_times] in self._digests for pair in digests):
            return False
        self._digests.update(*digests)
        return True


def _digests(messages: Iterable[Any]) -> Iterator[tuple[bytes, bytes]]:
    """Digests of each message of a tree, or row of `_PRESENT`, without times and with them."""
    of: dict[int | None, tuple[bytes, bytes]] = {None: (b"", b"times")}
    for message in messages:
        if message.parent not in of:
            continue  # a damaged store
        time = message.created_at.astimezone(UTC).isoformat() if message.created_at else ""
        text = message.text if isinstance(message.text, bytes) else encodable(message.text).encode()
        text_digest = sha256(text).digest()
        before, before_with_times = of[message.parent]
        of[message.number] = (
            sha256(before + f"{message.role}\0".encode() + text_digest).digest(),
            sha256(before_with_times + f"{message.role}\0{time}\0".encode() + text_digest).digest(),
        )
        yield of[message.number]


class TreeWriter:
    """Writes conversations in a transaction in which no one else writes: many at once, because SQLAlchemy takes far
    longer for a statement than SQLite for a row. `flush` must follow."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._folders = FoldersByName(connection)
        self._next_conversation = _next_id(connection, ConversationRow)
        self._next_message = _next_id(connection, MessageRow)
        self._conversations: list[dict[str, Any]] = []
        self._messages: list[dict[str, Any]] = []
        self._num_characters = 0  # of these

    def write(self, tree: ConversationTree) -> None:
        """An unknown time counts as now."""
        now = datetime.now(UTC)
        times = [message.created_at for message in tree.messages if message.created_at]
        created_at = tree.created_at or min(times, default=now)
        number, self._next_conversation = self._next_conversation, self._next_conversation + 1
        ids = {message.number: each for each, message in enumerate(tree.messages, self._next_message)}
        self._next_message += len(ids)
        self._conversations.append(
            {
                "id": number,
                "title": fit_title(tree.title),
                "system_prompt": encodable(tree.system_prompt),
                "created_at": created_at,
                "updated_at": tree.updated_at or max(times, default=now),
                "folder_id": self._folders.number_of(tree.folder),
                "pinned_at": now if tree.is_pinned else None,
                "archived_at": now if tree.is_archived else None,
                "head_message_id": max(ids.values(), default=None) if tree.head is None else ids[tree.head],
            }
        )
        for message in tree.messages:
            self._messages.append(
                {
                    "id": ids[message.number],
                    "conversation_id": number,
                    "parent_id": None if message.parent is None else ids[message.parent],
                    "role": message.role,
                    "text": encodable(message.text),
                    "created_at": message.created_at or created_at,
                    "target_name": None if message.target_name is None else encodable(message.target_name),
                    "thoughts": message.thoughts,
                    "calls": message.calls,
                    "result": message.result,
                }
            )
            self._num_characters += len(message.text)
        if tree.pictures or len(self._messages) >= _MOST_AT_ONCE or self._num_characters >= _MOST_CHARACTERS:
            self.flush()
            add_pictures(self._connection, number, tree.pictures)

    def flush(self) -> None:
        """Parents stand before their children."""
        for row, values in ((ConversationRow, self._conversations), (MessageRow, self._messages)):
            if values:
                self._connection.execute(insert(row), values)
                values.clear()
        self._num_characters = 0


def _next_id(connection: Connection, row: type[ConversationRow] | type[MessageRow]) -> int:
    """One that was never used, not even by what is deleted now."""
    last = connection.exec_driver_sql("SELECT seq FROM sqlite_sequence WHERE name = ?", (row.__tablename__,))
    return (last.scalar_one_or_none() or 0) + 1


def _message(row: Any) -> TreeMessage:
    said = row.role, row.text, row.created_at, row.target_name, row.thoughts, row.calls, row.result
    return TreeMessage(row.id, row.parent_id, *said)
