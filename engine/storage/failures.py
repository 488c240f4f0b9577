"""Says in one sentence why the store cannot be used, and what to do."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from engine.config import DATA_DIR_VARIABLE
from engine.errors import StoreUnusable

_ELSEWHERE = f"choose another data folder with {DATA_DIR_VARIABLE}"


def damaged(path: Path) -> StoreUnusable:
    return StoreUnusable(
        f"The store {path} is damaged or is not a store of Slipstream; "
        f"put a backup in its place, move it away to begin an empty one, or {_ELSEWHERE}."
    )


def from_newer_version(path: Path) -> StoreUnusable:
    return StoreUnusable(
        f"The store {path} was written by a newer version of Slipstream; install that version or {_ELSEWHERE}."
    )


def from_before_release(path: Path) -> StoreUnusable:
    return StoreUnusable(
        f"The store {path} is from before the first release of Slipstream, and released versions cannot read it; "
        f"move it away to begin an empty one, or {_ELSEWHERE}."
    )


def is_a_folder(path: Path) -> StoreUnusable:
    return StoreUnusable(f"A folder stands where the store {path} should be; move it away or {_ELSEWHERE}.")


def folder_not_created(folder: Path, reason: OSError) -> StoreUnusable:
    return StoreUnusable(f"The data folder {folder} cannot be created ({reason.strerror}); {_ELSEWHERE}.")


def _read_only(path: Path) -> StoreUnusable:
    return StoreUnusable(
        f"The store {path} cannot be written; make it and its folder writable for you, or {_ELSEWHERE}."
    )


def _full(path: Path) -> StoreUnusable:
    return StoreUnusable(f"The disk that holds the store {path} is full; free some space and try again.")


def _locked(path: Path) -> StoreUnusable:
    return StoreUnusable(f"The store {path} is locked by another program; close that program and try again.")


def _not_opened(path: Path) -> StoreUnusable:
    return StoreUnusable(
        f"The store {path} cannot be opened; check that its folder is there and that you may read and write it, "
        f"or {_ELSEWHERE}."
    )


def _disk_error(path: Path) -> StoreUnusable:
    return StoreUnusable(
        f"The disk failed while the store {path} was in use; check the disk and try again, or {_ELSEWHERE}."
    )


_BY_SQLITE_CODE = {
    sqlite3.SQLITE_CORRUPT: damaged,
    sqlite3.SQLITE_NOTADB: damaged,
    sqlite3.SQLITE_FORMAT: damaged,
    sqlite3.SQLITE_READONLY: _read_only,
    sqlite3.SQLITE_PERM: _read_only,
    sqlite3.SQLITE_FULL: _full,
    sqlite3.SQLITE_BUSY: _locked,
    sqlite3.SQLITE_LOCKED: _locked,
    sqlite3.SQLITE_PROTOCOL: _locked,
    sqlite3.SQLITE_CANTOPEN: _not_opened,
    sqlite3.SQLITE_IOERR: _disk_error,
}
_BY_ERRNO = {
    errno.ENOSPC: _full,
    errno.EDQUOT: _full,
    errno.EACCES: _read_only,
    errno.EPERM: _read_only,
    errno.EROFS: _read_only,
    errno.EIO: _disk_error,
}


def is_locked(error: DBAPIError) -> bool:
    return _primary_code(error.orig) == sqlite3.SQLITE_BUSY


def _primary_code(error: BaseException | None) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)  # missing where the module itself raised
    return None if code is None else int(code) & 0xFF


def _store_unusable(error: sqlite3.Error, path: Path) -> StoreUnusable | None:
    """None for an error of ours, such as a broken constraint."""
    if "decode to UTF-8" in str(error):  # raised by Python's module, for bytes that we never wrote
        return damaged(path)
    code = _primary_code(error)
    sentence = None if code is None else _BY_SQLITE_CODE.get(code)
    return None if sentence is None else sentence(path)


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Raises failures of disk and file as StoreUnusable, and our own errors as they are."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        found = _store_unusable(cause, path) if isinstance(cause, sqlite3.Error) else None
        if found is None:
            raise
        raise found from error
    except OSError as error:
        raise _BY_ERRNO.get(error.errno or 0, _not_opened)(path) from error
