"""Carries out commands that concern the servers of targets. Each may wait for a network, and is stopped at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.errors import CertificateUntrusted
from engine.messages.commands import (
    AgreeToServer,
    ListServers,
    LookAtServer,
    RemoteCommand,
    RemoveServer,
    SaveServer,
)
from engine.messages.events import Listener, ServerSeen, ServersListed, ServerUntrusted
from engine.messages.remote import RemoteServer
from engine.remote.address import normalized, way_notice
from engine.remote.connection import ServerConnection
from engine.remote.keys import checked_key
from engine.remote.servers import Servers
from engine.remote.targets import certificate_at, looked_at
from engine.stop_signal import StopSignal


@dataclass(frozen=True)
class RemoteService:
    _servers: Servers
    _emit: Listener

    def handle(self, command: RemoteCommand, stop: StopSignal) -> None:
        """Raises MendableError."""
        match command:
            case LookAtServer():
                self._look(command, stop)
                return
            case SaveServer(server, key, replaces):
                self._servers.save(server, key, replaces)
            case RemoveServer(address):
                self._servers.remove(address)
            case AgreeToServer(address):
                self._servers.agree(address)
            case ListServers():
                pass
        self._emit(ServersListed(self._servers.all(), self._servers.keys.notice))

    def _look(self, command: LookAtServer, stop: StopSignal) -> None:
        address = normalized(command.address)
        known = self._servers.of(address)
        connection = self._connection(command, address, known)
        try:
            seen = looked_at(connection, stop)
        except CertificateUntrusted as error:
            shown = certificate_at(address, stop)
            has_changed = bool(known and known.certificate and known.certificate != shown)
            self._emit(ServerUntrusted(command, address, shown, str(error), has_changed))
            return
        if known is not None:
            seen = replace(seen, name=known.name, has_key=known.has_key, is_agreed=known.is_agreed)
        self._emit(ServerSeen(command, seen, way_notice(seen)))

    def _connection(self, command: LookAtServer, address: str, known: RemoteServer | None) -> ServerConnection:
        certificate = command.certificate.lower()
        if known is not None:
            kept = self._servers.connection(address)
            key = kept.key if command.key is None else checked_key(command.key)
            return ServerConnection(address, key, certificate or kept.certificate)
        return ServerConnection(address, checked_key(command.key or ""), certificate)
