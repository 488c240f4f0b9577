"""The servers that a user has set up, in a file of the data folder. Their keys are elsewhere (`keys.py`)."""

from __future__ import annotations

import itertools
import json
import re
import secrets
import threading
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from engine.backend.remote.address import normalized
from engine.backend.remote.connection import ServerConnection
from engine.backend.remote.keys import Keys, checked_key
from engine.values.errors import FileUnusable, NotPossible, SettingInvalid
from engine.values.places import SERVERS
from engine.values.remote import LONGEST_NAME, RemoteModel, RemoteServer, ServerKind, reference_of
from engine.values.whole_file import plain_file, private_folder, whole_file

MOST_MODELS = 1_000  # of one server
_MOST_SERVERS = 200
_MOST_BYTES = 16_000_000
_KEY_NAME = re.compile(r'"key_name": "([^"\\]+)"')  # as `_write` writes it: addresses hold no quotes
_UNREADABLE = ValueError, TypeError, AttributeError, RecursionError, SettingInvalid


@dataclass(frozen=True, slots=True)
class _StoredServer:
    server: RemoteServer
    key_name: str = ""  # of its key among all keys; empty: it has none


class Servers:
    """Any thread may call any method; another program may change the file meanwhile. All raise FileUnusable."""

    def __init__(self, data_dir: Path, keys: Keys) -> None:
        self._path = data_dir / SERVERS
        self._lock = threading.RLock()
        self.keys = keys

    def all(self) -> tuple[RemoteServer, ...]:
        """Sorted by name."""
        told = (self._told(each) for each in self._read())
        return tuple(sorted(told, key=lambda each: (each.name.casefold(), each.address)))

    def of(self, address: str) -> RemoteServer | None:
        found = self._find(address)
        return None if found is None else self._told(found)

    def connection(self, address: str) -> ServerConnection:
        """The connection, with the stored key and certificate. Raises NotPossible for a server that is not in the
        list."""
        found = self._find(address)
        if found is None:
            raise _not_there(address)
        return ServerConnection(found.server.address, self._key(found), found.server.certificate)

    def save(self, server: RemoteServer, key: str | None = None, replaces: str = "") -> RemoteServer:
        """Puts it in place of the one with the address `replaces`, or with its own address; else adds it. An empty
        name, or one that is taken, becomes one that is free. Whether it `has_key` and `is_agreed` is not taken from
        it: agreed is what was, as long as address and certificate stay the same.

        The key goes to the keyring of the system. None: the one kept for this address stays, and a new address has
        none, so that no key is sent to a place that it was not meant for; empty: none from now on. Returns the server
        as it is kept. Raises SettingInvalid and NotPossible, too.
        """
        address = normalized(server.address)
        new_key = None if key is None else checked_key(key)
        new_name = f"{address} {secrets.token_hex(8)}" if new_key else ""
        outlives = bool(new_key) and self.keys.put(
            new_name, new_key or ""
        )  # before the lock: a keyring may ask its user
        try:
            return self._save(replace(server, address=address), new_key is not None, new_name, outlives, replaces)
        except BaseException:
            if new_name:
                self.keys.remove(new_name)
            raise

    def _save(
        self, server: RemoteServer, has_other_key: bool, new_name: str, outlives: bool, replaces: str
    ) -> RemoteServer:
        """`new_name`: of its key among all keys, where it `has_other_key` than before; empty: none."""
        address = server.address
        with self._lock:
            known = self._read()
            before = next((each for each in known if each.server.address == address), None)
            gone = {address, replaces} - {""}
            others = [each for each in known if each.server.address not in gone]
            if len(others) >= _MOST_SERVERS:
                raise NotPossible("There can be {most} servers; remove one first.", most=_MOST_SERVERS)
            key_name, has_key = (before.key_name, before.server.has_key) if before is not None else ("", False)
            if has_other_key:
                key_name, has_key = new_name, outlives
            certificate = server.certificate.lower()
            is_same = before is not None and before.server.certificate == certificate
            kept = replace(
                server,
                name=_free_name(server, address, {each.server.name for each in others}),
                has_key=has_key,
                certificate=certificate,
                is_agreed=is_same and before is not None and before.server.is_agreed,
                models=_models_at(address, server.models),
            )
            self._write([*others, new := _StoredServer(kept, key_name)])
            left = {each.key_name for each in known} - {each.key_name for each in (*others, new)} - {""}
        for name in left:
            self.keys.remove(name)
        return self._told(new)

    def note(self, address: str, kind: ServerKind, models: Sequence[RemoteModel]) -> RemoteServer:
        """What was seen there, of a server that is in the list; all else of it stays as it is by now. Raises
        NotPossible for one that is not."""
        with self._lock:
            known = self._read()
            before = next((each for each in known if each.server.address == address), None)
            if before is None:
                raise _not_there(address)
            server = replace(before.server, kind=kind, models=_models_at(address, models))
            if server != before.server:
                self._write([replace(each, server=server) if each is before else each for each in known])
        return self._told(replace(before, server=server))

    def remove(self, address: str) -> None:
        """Removes its key too."""
        with self._lock:
            known = self._read()
            gone = [each for each in known if each.server.address == address]
            self._write([each for each in known if each not in gone])
        for each in gone:
            if each.key_name:
                self.keys.remove(each.key_name)

    def agree(self, address: str) -> None:
        """Raises NotPossible."""
        with self._lock:
            known = self._read()
            if all(each.server.address != address for each in known):
                raise _not_there(address)
            self._write(
                [
                    replace(each, server=replace(each.server, is_agreed=True))
                    if each.server.address == address
                    else each
                    for each in known
                ]
            )

    def forget(self) -> None:
        """All of them, with their keys; a file that cannot be read, too."""
        with self._lock:
            try:
                key_names = {each.key_name for each in self._read()}
            except FileUnusable:
                key_names = self._legible_key_names()
            try:
                self._path.unlink(missing_ok=True)
            except OSError as error:
                raise _unwritable(self._path, error) from error
        for name in key_names - {""}:
            self.keys.remove(name)

    def _legible_key_names(self) -> set[str]:
        """Names of keys found in a file that cannot be read as a whole."""
        try:
            with plain_file(self._path) as file:
                text = file.read(_MOST_BYTES).decode("utf-8", "replace")
        except OSError:
            return set()  # removing it tells why
        return set(itertools.islice((found[1] for found in _KEY_NAME.finditer(text)), _MOST_SERVERS))

    def _told(self, kept: _StoredServer) -> RemoteServer:
        return replace(kept.server, has_key=kept.server.has_key or self.keys.holds(kept.key_name))

    def _key(self, kept: _StoredServer) -> str:
        return self.keys.get(kept.key_name) if kept.key_name else ""

    def _find(self, written: str) -> _StoredServer | None:
        """However its address is written."""
        try:
            address = normalized(written)
        except SettingInvalid:
            return None
        return next((each for each in self._read() if each.server.address == address), None)

    def _read(self) -> list[_StoredServer]:
        with self._lock:
            try:
                with plain_file(self._path) as file:
                    found = json.loads(file.read(_MOST_BYTES))
                return [_kept(each) for each in found]
            except FileNotFoundError:
                return []
            except (OSError, ArithmeticError, LookupError, *_UNREADABLE) as error:
                raise FileUnusable(
                    "{path} cannot be read, so no servers are known; remove it, and add your servers again.",
                    path=self._path,
                ) from error

    def _write(self, servers: Iterable[_StoredServer]) -> None:
        content = json.dumps([asdict(each) for each in servers], ensure_ascii=False).encode("utf-8", "replace")
        if len(content) > _MOST_BYTES:  # as much as is read again
            raise NotPossible("The servers in the list have too many models to store; remove one first.")
        try:
            private_folder(self._path.parent)
            with whole_file(self._path) as file:
                file.write(content)
        except OSError as error:
            raise _unwritable(self._path, error) from error


def _models_at(address: str, models: Sequence[RemoteModel]) -> tuple[RemoteModel, ...]:
    return tuple(replace(each, reference=reference_of(address, each.id)) for each in models[:MOST_MODELS])


def _not_there(address: str) -> NotPossible:
    return NotPossible("The server at {address} is no longer in the list; add it again.", address=address)


def _unwritable(path: Path, error: OSError) -> FileUnusable:
    return FileUnusable("{path} cannot be written: {reason}.", path=path, reason=error.strerror)


def _kept(found: dict[str, Any]) -> _StoredServer:
    """Raises what `_read` takes for a file that cannot be read."""
    told = found["server"]
    address = normalized(str(told["address"]))
    models = tuple(
        RemoteModel(
            id=str(each["id"]),
            reference=reference_of(address, str(each["id"])),
            context_size=int(each["context_size"]),
            **{name: _known(each[name]) for name in ("sees_pictures", "calls_tools", "thinks")},
        )
        for each in told["models"][:MOST_MODELS]
    )
    server = RemoteServer(
        name=str(told["name"]),
        address=address,
        kind=ServerKind(told["kind"]),
        has_key=told["has_key"] is True,
        certificate=str(told["certificate"]),
        is_agreed=told["is_agreed"] is True,
        models=models,
    )
    return _StoredServer(server, str(found["key_name"]))


def _known(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _free_name(server: RemoteServer, address: str, taken: set[str]) -> str:
    name = " ".join("".join(each if each.isprintable() else " " for each in server.name).split())[:LONGEST_NAME]
    name = name or replace(server, address=address).host
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free
