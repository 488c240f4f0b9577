"""Who may speak with the server: before a request is read, its `Host`, `Origin` and key are looked at.

A page in a browser can send requests to this machine, under a name of its own that it has point here (DNS rebinding),
or from its own origin. So `Host` must be a name of this machine, and what browsers say of a page is refused, unless the
user has allowed that page. Programs send neither.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.errors import FileUnusable
from engine.messages.serving import Client, ServerSettings, is_loopback
from engine.server.clients import Clients
from engine.server.refusals import RequestRefused

_OPEN = frozenset({"/health", "/v1/health"})  # says only whether there is a model
_MOST_HEADERS = 100
_WRONG_KEYS = 20  # in a minute, from one address; then it has to wait
_MINUTE_S = 60.0


class Guard:
    """The outermost part of the application."""

    def __init__(self, application: ASGIApp, settings: ServerSettings, clients: Clients) -> None:
        self._application = application
        self._settings = settings
        self._clients = clients
        self._wrong: dict[str, list[float]] = {}  # times of wrong keys, by address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # no WebSocket is spoken here
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008, "reason": "This server speaks HTTP alone."})
            return
        headers = _headers(scope)
        origin = headers.get("origin", "")
        try:
            self._check(scope, headers)
            scope.setdefault("state", {})["client"] = self._client(scope, headers)
        except RequestRefused as refusal:
            await _response(refusal, scope)(scope, receive, send)
            return
        if origin:  # one that is allowed
            await self._for_page(scope, receive, send, origin, headers)
        else:
            await self._application(scope, receive, send)

    def _check(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Raises RequestRefused."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self._is_ours(headers["host"]):
            raise RequestRefused(
                403,
                "This server answers to the names of its own machine alone: use http://127.0.0.1 with its port, or "
                "have its user allow the name with --name.",
                "host_not_allowed",
            )
        origin = headers.get("origin")
        is_page = headers.get("sec-fetch-site", "none") != "none" or headers.get("sec-fetch-mode") == "navigate"
        if (origin is not None or is_page) and origin not in self._settings.origins:
            raise RequestRefused(
                403,
                "Pages in a browser may not use this server, unless its user allows their origin with --origin.",
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
        anybody = Client(is_remembered=self._settings.is_remembered)
        if scope["path"] in _OPEN or scope["method"] == "OPTIONS":
            return anybody
        key = headers.get("x-api-key", "")
        scheme, _, token = headers.get("authorization", "").partition(" ")
        key = token.strip() if scheme.lower() == "bearer" else key
        needs_key = self._settings.needs_key or not self._settings.is_local
        address = str((scope.get("client") or ("", 0))[0])
        if needs_key and self._has_to_wait(address):
            raise RequestRefused(
                429, "Too many wrong keys came from here; wait a minute.", headers={"Retry-After": "60"}
            )
        try:
            known = self._clients.of_key(key) if key else None
        except FileUnusable as error:
            raise RequestRefused(503, str(error)) from error
        if known is not None:
            return known
        if not needs_key:
            return anybody
        if key:
            self._wrong.setdefault(address, []).append(time.monotonic())
        raise RequestRefused(
            401,
            "This key is not known here; `slipstream clients add NAME` makes one."
            if key
            else "This server wants a key: send it as `Authorization: Bearer KEY`.",
            "invalid_api_key",
            headers={"WWW-Authenticate": "Bearer"},
        )

    def _has_to_wait(self, address: str) -> bool:
        since = time.monotonic() - _MINUTE_S
        self._wrong = {
            each: recent for each, times in self._wrong.items() if (recent := [t for t in times if t > since])
        }
        return len(self._wrong.get(address, ())) >= _WRONG_KEYS

    async def _for_page(
        self, scope: Scope, receive: Receive, send: Send, origin: str, headers: Mapping[str, str]
    ) -> None:
        allowed = {
            "access-control-allow-origin": origin,
            "access-control-allow-methods": "GET, POST",
            "access-control-allow-headers": headers.get("access-control-request-headers", "*")[:1000],
            "vary": "Origin",
        }
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
    """The last of each name."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"][:_MOST_HEADERS]}


def _response(refusal: RequestRefused, scope: Scope) -> JSONResponse:
    told: dict[str, Any] = refusal.as_anthropic() if is_anthropic(scope["path"]) else refusal.as_openai()
    return JSONResponse(told, refusal.status, {**refusal.headers, "Connection": "close"})


def is_anthropic(path: str) -> bool:
    return path.startswith("/v1/messages")
