"""A server at an address: streamable HTTP, with bounds on what it may send."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client

from engine.backend.tools.apart.descendants import Descendants
from engine.backend.tools.apart.failures import ServerFailed
from engine.backend.tools.apart.stdio import MOST_LINE, Allowance

_CONNECT_S = 20.0
_READ_S = 300.0  # a call ends long before


class HttpServer:
    """Has the interface of `StdioServer`."""

    def __init__(
        self, given: dict[str, Any], allowance: Allowance, _on_start: Callable[[int], None], _descendants: Descendants
    ) -> None:
        self._given = given
        self._allowance = allowance
        self.has_ended = anyio.Event()
        self.last_words = ""
        self.failure: ServerFailed | None = None

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Any, Any]]:
        headers = dict(self._given["headers"]) | {"Accept-Encoding": "identity"}
        timeout = httpx2.Timeout(_CONNECT_S, read=_READ_S)
        bounded = _Bounded(self._failed, self._allowance)
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout, transport=bounded, trust_env=True) as client,
            streamable_http_client(self._given["url"], http_client=client, max_sse_event_size=MOST_LINE) as streams,
        ):
            yield streams

    def _failed(self, failure: ServerFailed) -> None:
        self.failure = self.failure or failure


class _Bounded(httpx2.AsyncHTTPTransport):
    """Counts what comes, and takes nothing that is compressed: a small file may become a large one."""

    def __init__(self, tell: Any, allowance: Allowance) -> None:
        super().__init__()
        self._tell = tell
        self._allowance = allowance

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await super().handle_async_request(request)
        except httpx2.TransportError as error:
            self._tell(ServerFailed("not_reached", str(error)))
            raise
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise self._refused(ServerFailed("unreadable"))
        if response.status_code in (401, 403):
            self._tell(ServerFailed("not_authorized", str(response.status_code)))
        elif response.status_code >= 400 and request.method == "POST":
            self._tell(ServerFailed("not_reached", f"HTTP {response.status_code}"))
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, self)
        return response

    def count(self, num_bytes: int) -> None:
        try:
            self._allowance.take(num_bytes)
        except ServerFailed as failure:
            raise self._refused(failure) from None

    def _refused(self, failure: ServerFailed) -> Exception:
        self._tell(failure)
        return httpx2.ReadError(failure.kind)


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, counting: _Bounded) -> None:
        self._stream = stream
        self._counting = counting

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._counting.count(len(chunk))
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
