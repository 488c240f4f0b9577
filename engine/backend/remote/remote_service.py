"""The user's servers of targets. Each method may wait for a network or the keyring."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.backend.remote.address import normalized, way_notice
from engine.backend.remote.connection import ServerConnection
from engine.backend.remote.keys import checked_key
from engine.backend.remote.servers import Servers
from engine.backend.remote.targets import certificate_at, looked_at
from engine.values.errors import CertificateUntrusted
from engine.values.events import Listener, ServersListed
from engine.values.remote import RemoteServer, ServerSeen, ServerUntrusted
from engine.values.requests import NEVER
from engine.values.stop_signal import StopSignal


@dataclass(frozen=True)
class RemoteService:
    """All methods raise MendableError. All but `look` emit `ServersListed`."""

    _servers: Servers
    _emit: Listener

    def list_all(self) -> None:
        """Uses no network."""
        self._emit(ServersListed(self._servers.all(), self._servers.keys.notice))

    def look(
        self, address: str, key: str | None = None, certificate: str = "", stop: StopSignal = NEVER
    ) -> ServerSeen | ServerUntrusted:
        """What an address is, and which models it has. Keeps nothing. `address` is as the user wrote it. Without a
        key, the one kept for the address is used; `certificate` is the one the user is about to trust."""
        address, certificate = normalized(address), certificate.lower()
        known = self._servers.of(address)
        if known is None:
            connection = ServerConnection(address, checked_key(key or ""), certificate)
        else:
            kept = self._servers.connection(address)
            used = kept.key if key is None else checked_key(key)
            connection = ServerConnection(address, used, certificate or kept.certificate)
        try:
            seen = looked_at(connection, stop)
        except CertificateUntrusted as error:
            return ServerUntrusted(address, certificate_at(address, stop), str(error))
        if known is not None:
            seen = replace(seen, name=known.name, has_key=known.has_key, is_agreed=known.is_agreed)
        return ServerSeen(seen, way_notice(seen))

    def save(self, server: RemoteServer, key: str | None = None, replaces: str = "") -> RemoteServer:
        """Saves as `Servers.save` does."""
        saved = self._servers.save(server, key, replaces)
        self.list_all()
        return saved

    def remove(self, address: str) -> None:
        """Removes its key too. Chats that it has seen still say so."""
        self._servers.remove(address)
        self.list_all()

    def agree(self, address: str) -> None:
        """The user agrees to send chats there: what failed with ServerNotAgreed may be tried again."""
        self._servers.agree(address)
        self.list_all()
