"""Erases deleted text from the files: from the store, whose pages still hold it, from the copies that migrations left,
and, when everything was forgotten, from whatever else in the data folder may hold a user's words.

A transaction that deletes only notes what is to be erased; `Database.finish_erasure` does it after the commit. What
cannot be done stays noted for the next time, so neither a full disk nor a file that cannot be changed keeps anything
from being deleted.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from enum import IntFlag
from pathlib import Path

from sqlalchemy import Connection, Row, delete, insert, literal, select

from engine.backend.storage import connections, failures
from engine.backend.storage.pictures import REMOVE_UNNAMED
from engine.backend.storage.schema import (
    Base,
    ConversationRow,
    ErasureRow,
    Holds,
    LessonRow,
    MessageRow,
    PictureRow,
    RecallRow,
    SelfDistilledRow,
    rows_holding,
)
from engine.backend.storage.texts import UNTITLED, fit_title
from engine.values.places import Turn, clear_words
from engine.values.prompts import title_of
from engine.values.sentences import say, template

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
_LIVE_BYTES = (
    "SELECT (page_count - freelist_count) * page_size "
    "FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()"
)
# What a message holds of a user's words, and what stands there without it; copies of older stores lack some.
WORDS_OF_MESSAGE = {"text": "''", "thoughts": "'[]'", "calls": "'[]'", "result": "NULL"}
_STEPS = 1000  # of SQLite's machine between two looks whether to stop: about 15 ms in VACUUM
_LOOK_MS = 300  # to wait for readers, at the end
_NO_ROOM = template(
    "Text that you deleted is not overwritten in {path} yet: that needs {size:,.0f} MB of free disk space. It will "
    "be done as soon as there is room."
)
_UNCHANGED = template(
    "Text that you deleted may still be in {path}, which cannot be changed; make it writable, or delete that file if "
    "you do not need it."
)


class Due(IntFlag):
    """What is to be erased; noted in the store as `PRAGMA user_version`."""

    PAGES = 1  # what deleted rows left in the store
    CHATS = 2  # in the copies: rows that `ErasureRow` names
    LEARNED = 4  # in the copies: all that was learned
    FOLDER = 8  # whatever else may hold a user's words, the copies as a whole among it
    SELF_DISTILLED = 16  # in the copies: all replies of that kind


class Postponed(Exception):
    """Others use the store, or the program ends."""


def note(connection: Connection, due: Due) -> None:
    known = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    connection.exec_driver_sql(f"PRAGMA user_version = {int(known | due)}")


def note_rows(connection: Connection, row: type[ConversationRow] | type[MessageRow], ids: Iterable[int]) -> None:
    """That these rows, which are here still, are to be erased from the copies."""
    for number in ids:
        named = select(literal(row.__tablename__), row.id, row.__table__.c.created_at).where(row.id == number)
        connection.execute(insert(ErasureRow).from_select(["holder", "row_id", "created_at"], named))
    note(connection, Due.PAGES | Due.CHATS)


def delete_conversations(connection: Connection, ids: Sequence[int]) -> None:
    """Deletes everything that refers to them too. `finish_erasure` must follow."""
    note_rows(connection, ConversationRow, ids)
    for number in ids:
        connection.execute(delete(ConversationRow).where(ConversationRow.id == number))


def delete_all(connection: Connection, rows: Sequence[type[Base]], due: Due = Due.PAGES) -> None:
    """Empties these tables, which `rows_holding` has put in order. `finish_erasure` is to follow.

    To overwrite what is in them would write as much as they hold, and forgetting is to work on a full disk.
    """
    connection.exec_driver_sql("PRAGMA secure_delete = FAST")
    try:
        for row in rows:
            connection.execute(delete(row))
    finally:
        connection.exec_driver_sql("PRAGMA secure_delete = ON")
    note(connection, Due.PAGES | due)


def read_due(connection: Connection) -> tuple[Due, Sequence[Row[int, str, int, str]]]:
    """What is to be erased, and rows of `ErasureRow`."""
    rows = connection.execute(select(ErasureRow.__table__)).all()
    return Due(connection.exec_driver_sql("PRAGMA user_version").scalar_one()), rows


def settle(connection: Connection, done: Due, named: Iterable[Row[int, str, int, str]]) -> None:
    """Marks this as done, unless more was noted meanwhile."""
    for row in named:
        connection.execute(delete(ErasureRow).where(ErasureRow.id == row.id))
    due, more = read_due(connection)
    if more:
        done &= ~Due.CHATS
    connection.exec_driver_sql(f"PRAGMA user_version = {int(due & ~done)}")


def erase_in_copies(
    path: Path, due: Due, named: Sequence[Row[int, str, int, str]], is_stopped: Callable[[], bool]
) -> list[str]:
    """What was deleted from the store at this path. Returns sentences about what could not be. Raises Postponed."""
    left = []
    for copy in connections.copies(path):
        try:
            _erase_in_copy(copy, due, named, is_stopped)
        except sqlite3.Error as error:
            is_full = failures.is_full(error)
            left.append(no_room(copy, copy.stat().st_size) if is_full else say(_UNCHANGED, path=copy))
    return left


def unchanged(files: Iterable[Path]) -> list[str]:
    """That they could not be cleared."""
    return [say(_UNCHANGED, path=file) for file in files]


def remove_copies(path: Path, due: Due) -> list[str]:
    """All of them if everything was forgotten, else those that are not finished. To be called while no migration is
    under way. Returns what could not be removed, in sentences."""
    if Due.FOLDER in due:
        return unchanged(clear_words(path.parent, Turn.STORE))
    try:
        connections.remove_unfinished(path)
    except OSError as error:
        return unchanged([error.filename])
    return []


def _erase_in_copy(
    copy: Path, due: Due, named: Sequence[Row[int, str, int, str]], is_stopped: Callable[[], bool]
) -> None:
    with closing(connections.raw(copy)) as connection:
        present = {name for (name,) in connection.execute(_TABLES)}
        connection.execute("BEGIN IMMEDIATE").close()
        for _, holder, number, created_at in named:
            same = f"SELECT 1 FROM {holder} WHERE id = ? AND created_at = ?"
            if holder in present and connection.execute(same, (number, created_at)).fetchone():
                if holder == ConversationRow.__tablename__:
                    connection.execute("DELETE FROM conversations WHERE id = ?", (number,)).close()
                else:
                    _empty_message(connection, number, present)
        emptied = rows_holding(Holds.LEARNED) if Due.LEARNED in due else []
        emptied += [SelfDistilledRow] if Due.SELF_DISTILLED in due else []
        for row in emptied:
            if row.__tablename__ in present:
                connection.execute(f"DELETE FROM {row.__tablename__}").close()
        if connection.total_changes:
            connection.execute(f"PRAGMA user_version = {int(Due.PAGES)}").close()
        connection.execute("COMMIT").close()
        if connection.execute("PRAGMA user_version").fetchone() != (0,):
            rewrite(connection, copy.parent, is_stopped)
            connection.execute("PRAGMA user_version = 0").close()


def _empty_message(connection: sqlite3.Connection, number: int, present: Iterable[str]) -> None:
    """Its words, and what refers to it; the tree stays."""
    found = (
        "SELECT text, title, conversation_id FROM messages "
        "JOIN conversations ON conversations.id = conversation_id WHERE messages.id = ?"
    )
    for text, title, conversation_id in connection.execute(found, (number,)).fetchall():
        if title == fit_title(title_of(text)):
            connection.execute("UPDATE conversations SET title = ? WHERE id = ?", (UNTITLED, conversation_id)).close()
    columns = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('messages')")}
    empty = ", ".join(f"{name} = {value}" for name, value in WORDS_OF_MESSAGE.items() if name in columns)
    connection.execute(f"UPDATE messages SET {empty} WHERE id = ?", (number,)).close()
    for row in (RecallRow, LessonRow):
        if row.__tablename__ in present:
            connection.execute(f"DELETE FROM {row.__tablename__} WHERE message_id = ?", (number,)).close()
    if SelfDistilledRow.__tablename__ in present:  # of the whole chat, as where a message is removed
        beside = "SELECT id FROM messages WHERE conversation_id = (SELECT conversation_id FROM messages WHERE id = ?)"
        connection.execute(f"DELETE FROM practice WHERE message_id IN ({beside})", (number,)).close()
    if PictureRow.__tablename__ in present:
        connection.execute(REMOVE_UNNAMED, (None,)).close()


def rewrite(connection: sqlite3.Connection, folder: Path, is_stopped: Callable[[], bool]) -> None:
    """Erases deleted text from a database: `PRAGMA secure_delete` does not overwrite copies of rows that SQLite has
    moved to another page. Only VACUUM, which rewrites the whole file, removes these. Raises Postponed.

    It writes what it keeps to a file in this folder meanwhile: in memory that would be as large as the database.
    """
    connection.execute("PRAGMA temp_store = FILE").close()
    with suppress(sqlite3.OperationalError):  # it must be writable; otherwise the system's own folder
        connection.execute("PRAGMA temp_store_directory = '{}'".format(str(folder).replace("'", "''"))).close()
    try:
        with _stoppable(connection, is_stopped):
            connection.execute("VACUUM").close()
    finally:
        connection.execute("PRAGMA temp_store = MEMORY").close()


@contextmanager
def _stoppable(connection: sqlite3.Connection, is_stopped: Callable[[], bool]) -> Iterator[None]:
    connection.set_progress_handler(is_stopped, _STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise Postponed from error
        raise
    finally:
        connection.set_progress_handler(None, 0)


def empty_log(connection: sqlite3.Connection) -> bool:
    """Writes the new pages over the old ones, which only a checkpoint does. Returns False while there are readers."""
    connection.execute(f"PRAGMA busy_timeout = {_LOOK_MS}").close()
    try:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {round(connections.BUSY_TIMEOUT_S * 1000)}").close()
    return not busy


def room_needed(connection: sqlite3.Connection, path: Path) -> int:
    """How many bytes of room VACUUM would lack: what is kept is written twice. 0: there is enough."""
    (live,) = connection.execute(_LIVE_BYTES).fetchone()
    return 2 * int(live) if shutil.disk_usage(path.parent).free < 2 * live else 0


def no_room(path: Path, num_bytes: int) -> str:
    return say(_NO_ROOM, path=path, size=max(1.0, num_bytes / 1e6))
