"""Takes single messages out of a conversation, and puts them back.

What leaves keeps the tree well-formed: no prompt follows a prompt, and no reply a reply. So a prompt leaves with all
versions of its reply, and what was said after these moves up; a reply leaves alone where it ends its branch, and
elsewhere with its prompt. An answer that called tools leaves as a whole: all its replies, and the results between
them. Pictures leave with the last prompt that names them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Column, Connection, Select, Table, delete, insert, select, update

from engine.backend.storage.erasing import note_rows
from engine.backend.storage.lessons import forget_self_distilled
from engine.backend.storage.pictures import add_pictures, take_unnamed
from engine.backend.storage.schema import Base, Holds, MessageRow, rows_holding
from engine.values.conversations import Role
from engine.values.pictures import Picture

_LINKS = select(MessageRow.id, MessageRow.parent_id, MessageRow.role).order_by(MessageRow.id)


@dataclass(frozen=True, slots=True)
class Removed:
    """What is needed to put messages back. What was learned from them is not kept."""

    conversation_id: int
    ids: tuple[int, ...]
    parent_id: int | None  # of the first
    moved: tuple[tuple[int, int | None], ...]  # messages that moved up, with their parents before
    rows: tuple[tuple[Table, tuple[dict[str, Any], ...]], ...]  # of each table, messages first
    pictures: tuple[Picture, ...] = ()  # that nothing else names
    titles: tuple[str, str] = ("", "")  # of the conversation, before and after

    @property
    def prompts(self) -> tuple[str, ...]:
        return tuple(row["text"] for row in self.rows[0][1] if row["role"] == Role.USER)


def remove(connection: Connection, conversation_id: int, message_id: int) -> Removed | None:
    """The message must be one of the conversation. None, and nothing happens, if no other would be left."""
    parents: dict[int, int | None] = {}
    roles: dict[int, Role] = {}
    children: dict[int | None, list[int]] = defaultdict(list)
    for number, parent_id, role in connection.execute(_LINKS.where(MessageRow.conversation_id == conversation_id)):
        parents[number], roles[number] = parent_id, role
        children[parent_id].append(number)
    top = message_id
    while not _ends(message_id, roles, children) and roles[top] != Role.USER and (above := parents[top]) is not None:
        top = above
    while (above := parents[top]) is not None and len(children[above]) == 1 and Role.TOOL in (roles[top], roles[above]):
        top = above
    gone, moved, below = [top], [], [*children[top]]
    while below:
        number = below.pop()
        if roles[number] == Role.USER:
            moved.append((number, parents[number]))
        else:
            gone.append(number)
            below += children[number]
    if len(gone) == len(parents):
        return None
    rows = tuple(
        (column.table, tuple(dict(row) for row in connection.execute(_rows_of(column, gone)).mappings()))
        for column in _columns()
    )
    _move(connection, [(number, parents[top]) for number, _ in moved])
    forget_self_distilled(connection, conversation_id)  # what was said later may repeat what leaves
    note_rows(connection, MessageRow, gone)
    for number in sorted(gone, reverse=True):  # a parent is always older than its children
        connection.execute(delete(MessageRow).where(MessageRow.id == number))
    removed = Removed(conversation_id, tuple(gone), parents[top], tuple(moved), rows)
    return replace(removed, pictures=take_unnamed(connection, conversation_id, removed.prompts))


def _ends(message_id: int, roles: dict[int, Role], children: dict[int | None, list[int]]) -> bool:
    """True if nothing follows but the rest of the same answer."""
    below = [*children[message_id]]
    for number in below:
        below += children[number]
    return not below or (Role.TOOL in (roles[message_id], roles[below[0]]) and Role.USER not in map(roles.get, below))


def put_back(connection: Connection, removed: Removed) -> None:
    for table, rows in removed.rows:
        if rows:
            connection.execute(insert(table), list(rows))
    add_pictures(connection, removed.conversation_id, removed.pictures)
    _move(connection, removed.moved)


def _move(connection: Connection, parents: Iterable[tuple[int, int | None]]) -> None:
    for number, parent_id in parents:
        connection.execute(update(MessageRow).where(MessageRow.id == number).values(parent_id=parent_id))


def _columns() -> list[Column[Any]]:
    """The ids of messages, and what refers to them in other tables of chats."""
    messages = Base.metadata.tables[MessageRow.__tablename__]
    others = (Base.metadata.tables[row.__tablename__] for row in rows_holding(Holds.CHATS) if row is not MessageRow)
    keys = (key for table in others for key in table.foreign_keys if key.column is messages.c.id)
    return [messages.c.id, *(key.parent for key in keys)]


def _rows_of(column: Column[Any], ids: Sequence[int]) -> Select[Any]:
    return select(column.table).where(column.in_(ids)).order_by(column)
