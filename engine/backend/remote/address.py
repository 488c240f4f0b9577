"""Addresses of servers, as people write them and in the one form that they are known by."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from engine.values.errors import SettingInvalid
from engine.values.remote import RemoteServer
from engine.values.sentences import say
from engine.values.serving import is_loopback

_LONGEST = 500  # characters
_USUAL_PORTS = {"http": 80, "https": 443}
_USUAL_PATH = "/v1"
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,252}[a-z0-9_.])?")
_PATH = re.compile(r"[A-Za-z0-9._~/@:+-]*")
_ENDINGS = ("/chat/completions", "/completions", "/models")  # that people copy with it


def normalized(text: str) -> str:
    """`localhost:8080` becomes `http://localhost:8080/v1`. Without a scheme, an address on this machine or in its
    network is taken for http, any other for https. Raises SettingInvalid."""
    written = text.strip()
    if not written or len(written) > _LONGEST or not written.isprintable() or " " in written:
        raise _no_address(text)
    try:
        if "://" not in written:
            written = f"{_usual_scheme(written)}://{written}"
        parts = urlsplit(written)
        port = parts.port
    except ValueError:
        raise _no_address(text) from None
    if parts.scheme not in _USUAL_PORTS or not parts.hostname:
        raise _no_address(text)
    if parts.username is not None or parts.password is not None or parts.query:
        raise SettingInvalid("A key or password does not belong in an address; enter the key in its own field.")
    host = _host(parts, text)
    ending = "" if port in (None, _USUAL_PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{ending}{_path(parts, text)}"


def way_notice(server: RemoteServer) -> str:
    """What the user should know about the connection, in a sentence; empty if it cannot be read on the way."""
    if server.is_encrypted or server.is_local:
        return ""
    return say(
        "The connection to {host} is not encrypted: anyone on the network between can read the chats and the key. "
        "Use https or a tunnel, unless you trust that network.",
        host=server.host,
    )


def _usual_scheme(written: str) -> str:
    host = urlsplit(f"//{written}").hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "http" if is_loopback(host) or "." not in host or host.endswith((".local", ".lan")) else "https"
    return "http" if address.is_private or address.is_loopback or address.is_link_local else "https"


def _host(parts: SplitResult, text: str) -> str:
    host = (parts.hostname or "").lower()
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            host = host if host.isascii() else host.encode("idna").decode()
        except UnicodeError:
            raise _no_address(text) from None
        if not _HOST.fullmatch(host) or ".." in host:
            raise _no_address(text) from None
        return host
    return f"[{address}]" if address.version == 6 else str(address)


def _path(parts: SplitResult, text: str) -> str:
    path = parts.path.rstrip("/")
    for ending in _ENDINGS:
        path = path.removesuffix(ending).rstrip("/")
    if not _PATH.fullmatch(path) or ".." in path:
        raise _no_address(text)
    return path or _USUAL_PATH


def _no_address(text: str) -> SettingInvalid:
    return SettingInvalid(
        "“{text}” is not the address of a server; write one like this: http://192.168.1.5:8080/v1",
        text=text.strip()[:80],
    )
