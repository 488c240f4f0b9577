"""Says in one sentence why the store cannot be used, and what to do."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from engine.values.config import DATA_DIR_VARIABLE
from engine.values.errors import StoreUnusable
from engine.values.sentences import say, template

_LEAST_ROOM = 1 << 20  # bytes
_ELSEWHERE = say("choose another data folder with {variable}", variable=DATA_DIR_VARIABLE)


DAMAGED = template(
    "The chat database {path} is damaged or is not Slipstream's; put a backup in its place, move it away to start "
    "with an empty one, or {elsewhere}."
)
FROM_NEWER_VERSION = template(
    "The chat database {path} was written by a newer version of Slipstream; install that version or {elsewhere}."
)
FROM_BEFORE_RELEASE = template(
    "The chat database {path} is from before the first release of Slipstream, and released versions cannot read "
    "it; move it away to start with an empty one, or {elsewhere}."
)
IS_A_FOLDER = template("There is a folder where the chat database {path} should be; move it away or {elsewhere}.")
FOLDER_NOT_CREATED = template("The data folder {path} cannot be created ({reason}); {elsewhere}.")
_READ_ONLY = template(
    "The chat database {path} cannot be written; make it and its folder writable for you, or {elsewhere}."
)
_FULL = template("The disk with the chat database {path} is full; free some space and try again.")
_LOCKED = template("The chat database {path} is locked by another program; close that program and try again.")
_NOT_OPENED = template(
    "The chat database {path} cannot be opened; check that its folder exists and that you may read and write it, "
    "or {elsewhere}."
)
_DISK_ERROR = template(
    "The disk failed while the chat database {path} was in use; check the disk and try again, or {elsewhere}."
)

_BY_SQLITE_CODE = {
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: DAMAGED,
    sqlite3.SQLITE_FORMAT: DAMAGED,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_PROTOCOL: _LOCKED,
    sqlite3.SQLITE_CANTOPEN: _NOT_OPENED,
    sqlite3.SQLITE_IOERR: _DISK_ERROR,
}
_BY_ERRNO = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EACCES: _READ_ONLY,
    errno.EPERM: _READ_ONLY,
    errno.EROFS: _READ_ONLY,
    errno.EIO: _DISK_ERROR,
}


def is_locked(error: BaseException | None) -> bool:
    return _primary_code(error) == sqlite3.SQLITE_BUSY


def is_full(error: BaseException | None) -> bool:
    return _primary_code(error) == sqlite3.SQLITE_FULL


def _primary_code(error: BaseException | None) -> int | None:
    if isinstance(error, DBAPIError):
        error = error.orig
    code = getattr(error, "sqlite_errorcode", None)  # missing where the module itself raised
    return None if code is None else int(code) & 0xFF


def unusable(sentence: str, path: Path, reason: str | None = None) -> StoreUnusable:
    return StoreUnusable(sentence, path=path, elsewhere=_ELSEWHERE, reason=reason)


def _sentence_for(error: BaseException | None, path: Path) -> str | None:
    """None for an error of ours, such as a broken constraint."""
    if isinstance(error, sqlite3.Error) and "decode to UTF-8" in str(error):
        return DAMAGED  # raised by Python's module, for bytes that we never wrote
    code = _primary_code(error) or 0
    if code == sqlite3.SQLITE_IOERR and _has_no_room(path):
        return _FULL  # where SQLite can make no room for the index of its log, it names no other reason
    return _BY_SQLITE_CODE.get(code)


def _has_no_room(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _LEAST_ROOM
    except OSError:
        return False


@contextmanager
def as_store_errors(path: Path) -> Iterator[None]:
    """Raises failures of disk and file as StoreUnusable, and our own errors as they are."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        sentence = _sentence_for(error.orig if isinstance(error, DBAPIError) else error, path)
        if sentence is None:
            raise
        raise unusable(sentence, path) from error
    except OSError as error:
        raise unusable(_BY_ERRNO.get(error.errno or 0, _NOT_OPENED), path) from error
