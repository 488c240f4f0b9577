"""Reads and writes the pictures of conversations. The repository opens the transactions.

A picture stays as long as a prompt or the draft of its conversation names it. That a draft has let go of one is seen
when the store is opened: until then the prompt that was made of the draft may still be on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import Connection
from sqlalchemy.dialects.sqlite import insert

from engine.backend.storage.connections import raw_rows
from engine.backend.storage.schema import PictureRow
from engine.values.pictures import MOST_BYTES, MOST_SIDE, Picture
from engine.values.prompts import NAMES_PICTURE, pictures_in

_BEGINNINGS = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
_ADD = insert(PictureRow).on_conflict_do_nothing()
# SQLite holds any kind of value in any column, whatever the schema says, so damaged rows are left out here.
_READ = f"""
SELECT data, width, height FROM pictures WHERE conversation_id = ? AND digest = ?
AND typeof(width) = 'integer' AND width BETWEEN 1 AND {MOST_SIDE}
AND typeof(height) = 'integer' AND height BETWEEN 1 AND {MOST_SIDE}
AND typeof(data) = 'blob' AND length(data) <= {MOST_BYTES}
"""
# Of one conversation, or of all for NULL.
_UNNAMED = f"""
WITH naming(id, text) AS MATERIALIZED (
    SELECT conversation_id, text FROM messages
    WHERE conversation_id IN (SELECT conversation_id FROM pictures WHERE ?1 IS NULL OR conversation_id = ?1)
    AND instr(text, '{NAMES_PICTURE}')
    UNION ALL SELECT id, draft FROM conversations WHERE id IN (SELECT conversation_id FROM pictures)
)
SELECT conversation_id, digest FROM pictures WHERE (?1 IS NULL OR conversation_id = ?1) AND NOT EXISTS (
    SELECT 1 FROM naming WHERE id = conversation_id AND instr(naming.text, '{NAMES_PICTURE}' || digest || ')')
)
"""
_REMOVE = "DELETE FROM pictures WHERE conversation_id = ? AND digest = ?"
REMOVE_UNNAMED = f"DELETE FROM pictures WHERE (conversation_id, digest) IN ({_UNNAMED})"


@dataclass(frozen=True, slots=True)
class StoredPictures:
    """Some of a conversation, for one after the other: all of them may be more than memory is to hold."""

    _find: Callable[[Sequence[str]], dict[str, Picture]]  # as `read_pictures`
    _digests: Sequence[str]

    def __iter__(self) -> Iterator[Picture]:
        for digest in self._digests:
            yield from self._find([digest]).values()


def add_pictures(connection: Connection, conversation_id: int, pictures: Iterable[Picture]) -> None:
    """Those that are here stay as they are."""
    for each in pictures:
        row = {"digest": each.digest, "width": each.width, "height": each.height, "data": each.data}
        connection.execute(_ADD, {"conversation_id": conversation_id, **row})


def read_pictures(connection: Connection, conversation_id: int, digests: Iterable[str]) -> dict[str, Picture]:
    """Pictures by digest, without those that are missing or damaged."""
    found = {}
    for digest in digests:
        for data, width, height in raw_rows(connection, _READ, conversation_id, digest):
            if data.startswith(_BEGINNINGS) and sha256(data).hexdigest() == digest:
                found[digest] = Picture(digest, data, width, height)
    return found


def find_unnamed(connection: Connection, conversation_id: int | None = None) -> list[tuple[int, str]]:
    """Conversations (this one; None: all) and digests of the pictures that nothing names any more."""
    return list(raw_rows(connection, _UNNAMED, conversation_id))


def remove_unnamed(connection: Connection, only: Container[tuple[int, str]]) -> None:
    """Removes those of these conversations and digests that nothing names."""
    for each in find_unnamed(connection):
        if each in only:
            connection.exec_driver_sql(_REMOVE, each)


def take_unnamed(connection: Connection, conversation_id: int, prompts: Iterable[str]) -> tuple[Picture, ...]:
    """Removes what these prompts, which are gone, named and nothing else does; returns what is not damaged of it."""
    named = pictures_in(prompts)
    unnamed = [digest for _, digest in find_unnamed(connection, conversation_id) if digest in named] if named else []
    taken = read_pictures(connection, conversation_id, unnamed)
    for digest in unnamed:
        connection.exec_driver_sql(_REMOVE, (conversation_id, digest))
    return tuple(taken.values())
