"""Targets on servers, from the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engine.backend.remote.address import normalized, way_notice
from engine.backend.remote.connection import ServerConnection
from engine.backend.remote.keys import key_of_environment
from engine.backend.remote.targets import ask_to_agree, certificate_at, chosen_model, looked_at
from engine.backend.remote.writer import RemoteWriter
from engine.opening import open_servers
from engine.values.config import EngineConfig
from engine.values.errors import ServerNotAgreed
from engine.values.remote import RemoteServer, split_reference
from engine.values.stop_signal import StopSignal

Agrees = Callable[[str], bool]  # asks the user this sentence


def look_at_server(address: str, key: str, certificate: str, stop: StopSignal) -> tuple[RemoteServer, str]:
    """What answers there, and what the user should know of the way. An empty key is that of the environment. Keeps
    nothing. Raises SettingInvalid, RemoteFailed, CertificateUntrusted and Cancelled."""
    connection = ServerConnection(normalized(address), key or key_of_environment(), certificate)
    seen = looked_at(connection, stop)
    return seen, way_notice(seen)


def certificate_of(address: str, stop: StopSignal) -> str:
    """The SHA-256 of the certificate that is shown there; nothing is sent. Raises what `look_at_server` raises."""
    return certificate_at(normalized(address), stop)


def open_remote_writer(config: EngineConfig, reference: str, agrees: Agrees, stop: StopSignal) -> RemoteWriter:
    """Also for a server that is not in the list; then nothing of it is kept. Where no chat was sent there yet, the user
    has to agree. Raises SettingInvalid, RemoteFailed, ServerNotAgreed and Cancelled."""
    written, model = split_reference(reference)
    address = normalized(written)
    servers = open_servers(config)
    known = servers.of(address)
    connection = ServerConnection(address) if known is None else servers.connection(address)
    key = key_of_environment()
    connection = replace(connection, key=key) if key else connection
    seen = looked_at(connection, stop)
    found = chosen_model(seen, model)
    server = seen if known is None else replace(known, kind=seen.kind, models=seen.models)
    if not server.is_agreed:
        if not agrees(ask_to_agree(server)):
            raise ServerNotAgreed("Nothing was sent to {address}.", address=address)
        if known is not None:
            servers.agree(address)
    return RemoteWriter(server, found, lambda: connection)
