"""Programs that have a key of their own, and what the user allows each of them.

Keys are not kept, only their digests. They are long and random, so that a digest cannot be guessed back.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from engine.values.errors import FileUnusable, NotPossible
from engine.values.places import CLIENTS
from engine.values.serving import Client
from engine.values.whole_file import plain_file, private_folder, whole_file

_PREFIX = "slip-"
_MOST_BYTES = 1_000_000
_LONGEST_NAME = 60
_DIGEST = re.compile("[0-9a-f]{64}")


class Clients:
    """Those in the file of a data folder; read again where that has changed. Any thread may call any method."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / CLIENTS
        self._stamp: tuple[int, int] | None = None
        self._known: tuple[Client, ...] = ()

    def all(self) -> tuple[Client, ...]:
        """Raises FileUnusable for a file that is damaged: no key is right then."""
        try:
            stat = self._path.stat()
        except FileNotFoundError:
            self._stamp, self._known = None, ()
            return ()
        except OSError as error:
            raise _unreadable(self._path) from error
        stamp = stat.st_mtime_ns, stat.st_size
        if stamp != self._stamp:
            self._known = _read(self._path)
            self._stamp = stamp
        return self._known

    def of_key(self, key: str) -> Client | None:
        """Raises FileUnusable."""
        digest = _digest(key)
        found = [each for each in self.all() if hmac.compare_digest(each.digest, digest)]
        return found[0] if found else None

    def add(self, name: str, is_remembered: bool = False, drafts_from_chats: bool = False) -> str:
        """The key of a new client, shown only this once. Raises NotPossible and FileUnusable."""
        name = " ".join(name.split())
        if not _is_name(name):
            raise NotPossible("A program needs a name of at most {most} letters, as in: my editor", most=_LONGEST_NAME)
        known = self.all()
        if any(each.name == name for each in known):
            raise NotPossible(
                "There is already a program called {name}; choose another name, or remove that one first.", name=name
            )
        key = _PREFIX + secrets.token_urlsafe(32)
        self._write((*known, Client(name, _digest(key), is_remembered, drafts_from_chats)))
        return key

    def change(self, name: str, is_remembered: bool | None = None, drafts_from_chats: bool | None = None) -> None:
        """What is None stays as it is. Raises NotPossible and FileUnusable."""
        known, old = self.all(), self._of(name)
        new = replace(
            old,
            is_remembered=old.is_remembered if is_remembered is None else is_remembered,
            drafts_from_chats=old.drafts_from_chats if drafts_from_chats is None else drafts_from_chats,
        )
        self._write([new if each is old else each for each in known])

    def remove(self, name: str) -> None:
        """Its key is worth nothing from now on. Raises NotPossible and FileUnusable."""
        gone = self._of(name)
        self._write([each for each in self.all() if each.name != gone.name])

    def _of(self, name: str) -> Client:
        for each in self.all():
            if each.name == name:
                return each
        raise NotPossible("There is no program called {name}; `slipstream clients list` shows all.", name=name)

    def _write(self, clients: Sequence[Client]) -> None:
        text = json.dumps([asdict(each) for each in clients], indent=1)
        try:
            private_folder(self._path.parent)
            with whole_file(self._path) as file:
                file.write(text.encode())
        except OSError as error:
            raise FileUnusable("{path} cannot be written: {reason}.", path=self._path, reason=error.strerror) from error


def _read(path: Path) -> tuple[Client, ...]:
    try:
        with plain_file(path) as file:
            found = json.loads(file.read(_MOST_BYTES))
        return tuple(_client(each) for each in found)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unreadable(path) from error


def _unreadable(path: Path) -> FileUnusable:
    return FileUnusable(
        "{path} cannot be read, so programs with a key are not let in; remove it, and add these programs again.",
        path=path,
    )


def _client(found: dict[str, Any]) -> Client:
    """Raises ValueError, KeyError or TypeError for what `Clients` would not have written."""
    name, digest = found["name"], found["digest"]
    if not isinstance(name, str) or not _is_name(name) or not _DIGEST.fullmatch(digest):
        raise ValueError("no program with a key")
    is_remembered, drafts_from_chats = found["is_remembered"], found.get("drafts_from_chats")  # which is newer
    return Client(name, digest, is_remembered is True, drafts_from_chats is True)


def _is_name(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and name.isprintable()


def _digest(key: str) -> str:
    return sha256(key.encode("utf-8", "replace")).hexdigest()
