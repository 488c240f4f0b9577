"""Who may speak with the server: before a request is read, its `Host`, `Origin`, user and key are looked at.

A page in a browser can send requests to this machine, under a name of its own that it has point here (DNS rebinding),
or from its own origin. So `Host` must be a name of this machine, and what browsers say of a page is refused, unless the
user has allowed that page. Programs send neither. Those of the user whom the server is for are known by the other end
of their connection (`peers.py`); any other needs a key.
"""

from __future__ import annotations

import ipaddress
import re
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.backend.server.clients import Clients
from engine.backend.server.peers import SOCKET
from engine.backend.server.refusals import RequestRefused
from engine.values.errors import FileUnusable
from engine.values.serving import Client, ServerSettings, is_loopback

_OPEN = frozenset({"/v1/health"})  # says only whether there is a model
_BASES = frozenset({"v1", "api", "openai"})  # of addresses, as programs are told them, once, twice or not at all
_MOST_HEADERS = 100
_PLAIN = re.compile(r"[\w.:/+-]{1,100}", re.ASCII)
_ONCE = ("host", "origin", "sec-fetch-site", "sec-fetch-mode", "authorization", "x-api-key")
_WRONG_KEYS = 20  # in a minute, from one address; after that they are not looked at
_MOST_NOTED = 1_000  # wrong keys, from all addresses
_MINUTE_S = 60.0


class Guard:
    """The outermost part of the application."""

    def __init__(self, application: ASGIApp, settings: ServerSettings, clients: Clients) -> None:
        self._application = application
        self._settings = settings
        self._clients = clients
        self._wrong: deque[tuple[float, str]] = deque(maxlen=_MOST_NOTED)  # when a wrong key came from which address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = {**scope, "path": _canonical(scope.get("path", ""))}
        if scope["type"] != "http":  # no WebSocket is spoken here
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008, "reason": "This server speaks HTTP alone."})
            return
        try:
            headers = _headers(scope)
            self._check(headers)
            scope["state"]["client"] = self._client(scope, headers)
        except RequestRefused as refusal:
            await _response(refusal, scope)(scope, receive, send)
            return
        if origin := headers.get("origin", ""):  # one that is allowed
            await self._for_page(scope, receive, send, origin, headers)
        else:
            await self._application(scope, receive, send)

    def _check(self, headers: Mapping[str, str]) -> None:
        """Raises RequestRefused."""
        if not self._is_ours(headers.get("host", "")):
            raise RequestRefused(
                403,
                "This server answers to the names of its own machine alone: use http://127.0.0.1 with its port, or "
                "have its user allow the name with --name.",
                "host_not_allowed",
            )
        origin = headers.get("origin")
        is_page = headers.get("sec-fetch-site", "none") != "none" or headers.get("sec-fetch-mode") == "navigate"
        if (origin is not None or is_page) and not self._settings.allows(origin):
            told = f"--origin {origin}" if origin is not None and _PLAIN.fullmatch(origin) else "--origin"
            raise RequestRefused(
                403,
                f"Pages in a browser may not use this server, unless its user allows their origin with {told}.",
                "origin_not_allowed",
            )

    def _is_ours(self, host: str) -> bool:
        name, _, port = host.rpartition(":") if not host.endswith("]") and ":" in host else (host, "", "")
        if port and not port.isdecimal():
            return False
        name = name.removeprefix("[").removesuffix("]").rstrip(".").lower()
        if is_loopback(name):
            return True
        if self._settings.is_local:
            return False
        if name in (each.lower() for each in self._settings.names):
            return True
        try:  # no page can have a number point here
            return bool(ipaddress.ip_address(name))
        except ValueError:
            return False

    def _client(self, scope: Scope, headers: Mapping[str, str]) -> Client:
        """Whose key this is. Raises RequestRefused."""
        key = headers.get("x-api-key", "")
        scheme, _, token = headers.get("authorization", "").partition(" ")
        key = token.strip() if scheme.lower() == "bearer" else key
        try:
            known = self._clients.of_key(key) if key else None
        except FileUnusable as error:
            raise RequestRefused(503, str(error)) from error
        if known is not None:
            return known
        is_local = self._settings.is_local
        is_stranger = is_local and not scope["state"].get(SOCKET, 0)
        is_open = scope["path"] in _OPEN or scope["method"] == "OPTIONS" or (is_local and not self._settings.needs_key)
        if is_open and not is_stranger:
            return Client(is_remembered=self._settings.is_remembered)
        if key:
            self._note_wrong(str((scope.get("client") or ("", 0))[0]))
            sentence = "This key is not known here; `slipstream clients add NAME` makes one."
        elif is_stranger and not self._settings.needs_key:
            sentence = "Programs of other users need a key here: send it as `Authorization: Bearer KEY`."
        else:
            sentence = "This server wants a key: send it as `Authorization: Bearer KEY`."
        raise RequestRefused(401, sentence, "invalid_api_key", headers={"WWW-Authenticate": "Bearer"})

    def _note_wrong(self, address: str) -> None:
        """Raises RequestRefused where many came from there. Right keys are let in all the same: another program at the
        same address may have sent the wrong ones."""
        now = time.monotonic()
        while self._wrong and self._wrong[0][0] <= now - _MINUTE_S:
            self._wrong.popleft()
        if sum(each == address for _, each in self._wrong) >= _WRONG_KEYS:
            raise RequestRefused(
                429, "Too many wrong keys came from here; wait a minute.", headers={"Retry-After": "60"}
            )
        self._wrong.append((now, address))

    async def _for_page(
        self, scope: Scope, receive: Receive, send: Send, origin: str, headers: Mapping[str, str]
    ) -> None:
        allowed = {
            "access-control-allow-origin": origin,
            "access-control-allow-methods": "GET, POST",
            "access-control-allow-headers": headers.get("access-control-request-headers", "*")[:1000],
            "vary": "Origin",
        }
        if headers.get("access-control-request-private-network") == "true":
            allowed["access-control-allow-private-network"] = "true"
        if scope["method"] == "OPTIONS":
            await Response(status_code=204, headers=allowed)(scope, receive, send)
            return

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                more = [(name.encode(), value.encode("latin-1", "replace")) for name, value in allowed.items()]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        await self._application(scope, receive, send_with)


def _headers(scope: Scope) -> Mapping[str, str]:
    """Headers by name. Raises RequestRefused if there are too many, or if one that is checked here comes twice: another
    reader might take the other value."""
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    if len(headers) > _MOST_HEADERS:
        raise RequestRefused(431, f"This request has more than {_MOST_HEADERS} headers; send fewer.")
    names = [name for name, _ in headers]
    for once in _ONCE:
        if names.count(once) > 1:
            raise RequestRefused(400, f"This request has the header {once} twice; send it once.")
    return dict(headers)


def _response(refusal: RequestRefused, scope: Scope) -> JSONResponse:
    told: dict[str, Any] = refusal.as_anthropic() if is_anthropic(scope["path"]) else refusal.as_openai()
    return JSONResponse(told, refusal.status, {**refusal.headers, "Connection": "close"})


def _canonical(path: str) -> str:
    """The path of a route: people type the address of a server with a slash or /v1 too many, or too few."""
    parts = [each for each in path.split("/") if each]
    while parts and parts[0] in _BASES:
        del parts[0]
    return "/".join(("/v1", *parts))


def is_anthropic(path: str) -> bool:
    return path.startswith("/v1/messages")
