"""Writes conversations to a file, whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from engine.errors import ChatsNotWritten
from engine.exchange import json_format, markdown_format
from engine.messages.conversations import ConversationTree, ExportFormat

_WRITERS = {ExportFormat.JSON: json_format.write, ExportFormat.MARKDOWN: markdown_format.write}
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def write_chats(path: Path, trees: Iterable[ConversationTree], form: ExportFormat, overwrite: bool) -> None:
    """Readable by this user alone. Raises ChatsNotWritten, and what `trees` raises; the file that was there before then
    stays as it was."""
    path = path.absolute()
    _check_free(path, overwrite)
    pieces = _WRITERS[form](trees)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise _not_written(path, error) from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        _check_free(path, overwrite)
        Path(temporary).replace(path)
    except OSError as error:
        raise _not_written(path, error) from error
    finally:
        Path(temporary).unlink(missing_ok=True)


def _check_free(path: Path, overwrite: bool) -> None:
    if path.is_dir():
        raise ChatsNotWritten(f"{path.name} is a folder; give the file another name.")
    if path.exists() and not overwrite:
        raise ChatsNotWritten(f"{path.name} exists already; give the file another name.")


def _not_written(path: Path, error: OSError) -> ChatsNotWritten:
    if error.errno in _FULL:
        return ChatsNotWritten(f"The disk is full, and {path.name} was not written; free some space and try again.")
    if isinstance(error, FileNotFoundError):
        return ChatsNotWritten(f"The folder {path.parent} is not there any more; choose another one.")
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return ChatsNotWritten(f"You may not write to the folder {path.parent}; choose another one.")
    return ChatsNotWritten(f"{path.name} cannot be written ({error.strerror}); choose another place.")
