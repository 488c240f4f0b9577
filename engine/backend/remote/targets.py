"""Makes a writer from a reference: the one way to a target on a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from engine.backend.remote.address import normalized, way_notice
from engine.backend.remote.connection import ServerConnection, shown_certificate
from engine.backend.remote.discovery import look_at
from engine.backend.remote.failures import Stopped
from engine.backend.remote.servers import Servers
from engine.backend.remote.writer import RemoteWriter
from engine.values.errors import Cancelled, NotPossible, RemoteFailed, ServerNotAgreed
from engine.values.remote import RemoteModel, RemoteServer, split_reference
from engine.values.sentences import say, together
from engine.values.stop_signal import StopSignal


class RemoteTargets:
    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    def open(self, reference: str, stop: StopSignal) -> RemoteWriter:
        """Asks the server whether it has the model, and what that can do; nothing of a chat is sent. Raises NotPossible
        for a server that is not in the list, RemoteFailed, and Cancelled."""
        written, model = split_reference(reference)
        address = normalized(written)
        if self._servers.of(address) is None:
            raise NotPossible("The server at {address} is not in the list; add it first.", address=address)
        seen = looked_at(self._servers.connection(address), stop)
        found = chosen_model(seen, model)
        server = self._servers.note(address, seen.kind, seen.models)

        def connect() -> ServerConnection:
            self.check_agreed(address)  # the certificate may be another one than when the request began
            return self._servers.connection(address)

        return RemoteWriter(server, found, connect)

    def check_agreed(self, address: str) -> None:
        """Raises ServerNotAgreed where no chats may be sent there, and NotPossible where it is not in the list."""
        server = self._servers.of(address)
        if server is None:
            raise NotPossible("The server at {address} is not in the list; add it first.", address=address)
        if not server.is_agreed:
            raise ServerNotAgreed(ask_to_agree(server))


def looked_at(connection: ServerConnection, stop: StopSignal) -> RemoteServer:
    """Raises RemoteFailed and Cancelled."""
    with _asking(connection.host):
        return look_at(connection, stop)


def certificate_at(address: str, stop: StopSignal) -> str:
    """The SHA-256 of the certificate that is shown there. Raises RemoteFailed and Cancelled."""
    with _asking(address):
        return shown_certificate(address, stop)


@contextmanager
def _asking(host: str) -> Iterator[None]:
    try:
        yield
    except Stopped:
        raise Cancelled("Asking {host} was cancelled.", host=host) from None


def chosen_model(server: RemoteServer, model: str) -> RemoteModel:
    """The model with this name; the only one if no name is given. Raises RemoteFailed."""
    if not server.models:
        raise RemoteFailed("{host} has no model for chats; load one there first.", host=server.host)
    if not model and len(server.models) == 1:
        return server.models[0]
    for each in server.models:
        if model == each.id:
            return each
    listed = ", ".join(each.id for each in server.models[:5])
    raise RemoteFailed(
        "{host} has no model {model}; it has: {listed}.", host=server.host, model=model or "-", listed=listed
    )


def ask_to_agree(server: RemoteServer) -> str:
    told = say(
        "No chat has been sent to {name} ({address}) yet. Whoever runs that server can read what you send there, with "
        "all earlier messages of the chat.",
        name=server.name,
        address=server.address,
    )
    return together(told, way_notice(server))
