"""A bound on what a server sends before its answer begins. HTTP lets it announce any number of times that the answer is
still to come; the library reads on without reporting it."""

from __future__ import annotations

from collections.abc import Callable
from ssl import SSLContext
from typing import Any

import httpx2

MOST_BYTES = 1 << 20  # of headers and announcements: tens of thousands of the latter


class BoundedHeads(httpx2.AsyncHTTPTransport):
    """The transport of one request. `refusal` makes what is raised if a server sends more."""

    def __init__(self, verify: SSLContext | bool, refusal: Callable[[], Exception]) -> None:
        super().__init__(verify=verify, trust_env=False)
        self._refusal = refusal
        self._left: int | None = MOST_BYTES  # None: the answer has begun, and is counted where it is read
        pool: Any = self._pool  # the library has no other door
        pool._network_backend = _Backend(pool._network_backend, self._count)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        self._left = None
        return response

    def _count(self, num_bytes: int) -> None:
        if self._left is None:
            return
        self._left -= num_bytes
        if self._left < 0:
            raise self._refusal()


class _Backend:
    """Passes everything on, and has the streams that it opens counted."""

    def __init__(self, backend: Any, count: Callable[[int], None]) -> None:
        self._backend = backend
        self._count = count

    async def connect_tcp(self, *arguments: Any, **options: Any) -> _Stream:
        return _Stream(await self._backend.connect_tcp(*arguments, **options), self._count)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


class _Stream:
    def __init__(self, stream: Any, count: Callable[[int], None]) -> None:
        self._stream = stream
        self._count = count

    async def read(self, *arguments: Any, **options: Any) -> bytes:
        data: bytes = await self._stream.read(*arguments, **options)
        self._count(len(data))
        return data

    async def start_tls(self, *arguments: Any, **options: Any) -> _Stream:
        return _Stream(await self._stream.start_tls(*arguments, **options), self._count)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
