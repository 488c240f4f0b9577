"""Keys of servers of tools: values of environment variables and headers that are secrets. They are kept where the keys
of all servers are, never in the settings, where a placeholder stands for each.

A key is kept for one place, a program or a host: a placeholder in the settings of another server stands for nothing.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol
from urllib.parse import urlsplit

from engine.backend.tools.interface import ServerUnusable
from engine.values.sentences import Told, say
from engine.values.tools import ToolServer

_PLACEHOLDER = re.compile(r"kept-key:[0-9a-f]{16}")
_OF_KEYS = re.compile(
    "key|token|secret|pass|pwd|auth|credential|cookie|bearer|session|private|signature|dsn|connection|pat$",
    re.IGNORECASE,
)
_RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_+=-]{20,}")
_WITH_PASSWORD = re.compile(r"\w+://[^/\s]*@")
_PLAIN_HEADERS = ("accept", "accept-language", "content-type", "user-agent")


class KeyStore(Protocol):
    @property
    def notice(self) -> Told: ...
    def get(self, name: str) -> str: ...
    def put(self, name: str, key: str) -> bool: ...
    def remove(self, name: str) -> None: ...


class ToolKeys:
    """Any thread may call any method, and wait for a keyring that asks its user."""

    def __init__(self, store: KeyStore) -> None:
        self._store = store

    def keep(self, servers: Sequence[ToolServer], only_if_lasting: bool = False) -> tuple[tuple[ToolServer, ...], Told]:
        """Keeps them as `kept` does, and returns what the user should know: that keys cannot be kept, and why; usually
        empty."""
        return self.kept(servers, only_if_lasting), self._store.notice

    def kept(self, servers: Sequence[ToolServer], only_if_lasting: bool = False) -> tuple[ToolServer, ...]:
        """The same servers, with placeholders for their keys. `only_if_lasting`: where a key would not outlive the
        program, all stay as they are."""
        names: list[str] = []
        kept = []
        for server in servers:
            env, headers = (
                tuple((name, self._placed(server, name, value, names, is_header)) for name, value in pairs)
                for pairs, is_header in ((server.env, False), (server.headers, True))
            )
            kept.append(replace(server, env=env, headers=headers))
        if only_if_lasting and "" in names:
            for name in filter(None, names):
                self._store.remove(name)
            return tuple(servers)
        return tuple(kept)

    def filled(self, server: ToolServer) -> ToolServer:
        """Fills in its keys. Raises ServerUnusable if one is unknown."""
        env, headers = (
            tuple((name, self._key(server, name, value)) for name, value in pairs)
            for pairs in (server.env, server.headers)
        )
        return replace(server, env=env, headers=headers)

    def forget_unused(self, before: Sequence[ToolServer], now: Sequence[ToolServer]) -> None:
        for name in {*_names(before)} - {*_names(now)}:
            self._store.remove(name)

    def _placed(self, server: ToolServer, name: str, value: str, names: list[str], is_header: bool) -> str:
        """Adds to `names` what the key is kept under; empty for one that does not outlive the program."""
        if not _is_key(name, value, is_header):
            return value
        placeholder = f"kept-key:{secrets.token_hex(8)}"
        kept_as = _name(server, placeholder)
        outlives = self._store.put(kept_as, value)
        names += [kept_as] if outlives else [kept_as, ""]
        return placeholder

    def _key(self, server: ToolServer, name: str, value: str) -> str:
        if not _PLACEHOLDER.fullmatch(value):
            return value
        if not (key := self._store.get(_name(server, value))):
            sentence = say(
                "The key {name} of the tool server {server} is missing; enter it again under ☰ → Tools… → As JSON.",
                name=name,
                server=server.name,
            )
            raise ServerUnusable(sentence)
        return key


def has_keys(servers: Sequence[ToolServer], but_for: Sequence[ToolServer] = ()) -> bool:
    """True if the settings of these servers contain keys rather than placeholders; those that `but_for` has do not
    count."""
    known = {pair for each in but_for for pair in (*each.env, *each.headers)}
    return any(
        pair not in known and _is_key(*pair, is_header)
        for server in servers
        for pairs, is_header in ((server.env, False), (server.headers, True))
        for pair in pairs
    )


def _is_key(name: str, value: str, is_header: bool) -> bool:
    """Rather too many than too few."""
    if not value or _PLACEHOLDER.fullmatch(value):
        return False
    if is_header:
        return name.lower() not in _PLAIN_HEADERS
    return bool(_OF_KEYS.search(name) or _RANDOM.fullmatch(value) or _WITH_PASSWORD.match(value))


def _names(servers: Sequence[ToolServer]) -> Iterator[str]:
    for server in servers:
        for _, value in (*server.env, *server.headers):
            if _PLACEHOLDER.fullmatch(value):
                yield _name(server, value)


def _name(server: ToolServer, placeholder: str) -> str:
    place = urlsplit(server.url).netloc.lower() if server.url else server.command
    return f"tool server {place} {placeholder}"
