"""The servers that a user has set up, in a file of the data folder. Their keys are elsewhere (`keys.py`)."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from engine.errors import FileUnusable, NotPossible
from engine.messages.remote import RemoteModel, RemoteServer, ServerKind, reference_of
from engine.places import SERVERS
from engine.remote.address import normalized
from engine.remote.connection import Connection
from engine.remote.keys import Keys, checked_key
from engine.whole_file import whole_file

MOST_MODELS = 1_000  # of one server
_MOST_SERVERS = 200
_MOST_BYTES = 16_000_000
LONGEST_NAME = 60  # characters, of a server for people


@dataclass(frozen=True, slots=True)
class _Kept:
    server: RemoteServer
    key_name: str = ""  # of its key among all keys; empty: it has none


class Servers:
    """Any thread may call any method; another program may change the file meanwhile. All raise FileUnusable."""

    def __init__(self, data_dir: Path, keys: Keys) -> None:
        self._path = data_dir / SERVERS
        self._lock = threading.RLock()
        self.keys = keys

    def all(self) -> tuple[RemoteServer, ...]:
        """By name."""
        told = (self._told(each) for each in self._read())
        return tuple(sorted(told, key=lambda each: (each.name.casefold(), each.address)))

    def of(self, address: str) -> RemoteServer | None:
        found = self._find(address)
        return None if found is None else self._told(found)

    def connection(self, address: str) -> Connection:
        """With the key and the certificate that are kept for it. Raises NotPossible for a server that is not there."""
        found = self._find(address)
        if found is None:
            raise NotPossible("There is no server at {address} in the list any more; add it again.", address=address)
        return Connection(address, self._key(found), found.server.certificate)

    def save(self, server: RemoteServer, key: str | None = None, replaces: str = "") -> RemoteServer:
        """As `SaveServer` says. Raises SettingInvalid and NotPossible, too."""
        address = normalized(server.address)
        with self._lock:
            known = self._read()
            before = next((each for each in known if each.server.address == address), None)
            gone = {address, replaces} - {""}
            others = [each for each in known if each.server.address not in gone]
            if len(others) >= _MOST_SERVERS:
                raise NotPossible("There can be {most} servers; remove one first.", most=_MOST_SERVERS)
            key_name = before.key_name if before is not None else ""
            new_key = None if key is None else checked_key(key)
            has_key = before is not None and before.server.has_key
            if new_key:
                key_name = f"{address} {secrets.token_hex(8)}"
                has_key = self.keys.put(key_name, new_key)
            elif new_key is not None:
                key_name, has_key = "", False
            certificate = server.certificate.lower()
            is_same = before is not None and before.server.certificate == certificate
            kept = replace(
                server,
                name=_free_name(server, address, {each.server.name for each in others}),
                address=address,
                has_key=has_key,
                certificate=certificate,
                is_agreed=is_same and before is not None and before.server.is_agreed,
                models=tuple(
                    replace(each, reference=reference_of(address, each.id)) for each in server.models[:MOST_MODELS]
                ),
            )
            self._write([*others, new := _Kept(kept, key_name)])
            left = {each.key_name for each in known} - {each.key_name for each in (*others, new)} - {""}
        for name in left:
            self.keys.remove(name)
        return self._told(new)

    def remove(self, address: str) -> None:
        """With its key."""
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
                raise NotPossible(
                    "There is no server at {address} in the list any more; add it again.", address=address
                )
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
                known: Sequence[_Kept] = self._read()
            except FileUnusable:
                known = ()
            self._path.unlink(missing_ok=True)
        for each in known:
            if each.key_name:
                self.keys.remove(each.key_name)

    def _told(self, kept: _Kept) -> RemoteServer:
        return replace(kept.server, has_key=kept.server.has_key or self.keys.holds(kept.key_name))

    def _key(self, kept: _Kept) -> str:
        return self.keys.get(kept.key_name) if kept.key_name else ""

    def _find(self, address: str) -> _Kept | None:
        return next((each for each in self._read() if each.server.address == address), None)

    def _read(self) -> list[_Kept]:
        with self._lock:
            try:
                with self._path.open("rb") as file:
                    found = json.loads(file.read(_MOST_BYTES))
                return [_kept(each) for each in found]
            except FileNotFoundError:
                return []
            except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
                raise FileUnusable(
                    "{path} cannot be read, so no server is known; remove it, and add your servers again.",
                    path=self._path,
                ) from error

    def _write(self, servers: Iterable[_Kept]) -> None:
        text = json.dumps([asdict(each) for each in servers], indent=1)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(self._path) as file:
                file.write(text.encode())
        except OSError as error:
            raise FileUnusable("{path} cannot be written: {reason}.", path=self._path, reason=error.strerror) from error


def _kept(found: dict[str, Any]) -> _Kept:
    """Raises KeyError, ValueError and TypeError."""
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
    return _Kept(server, str(found["key_name"]))


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
