"""Memory that all requests may take together, from when they arrive until they are answered."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from engine.backend.server.refusals import unread


class Share:
    """Memory that one request takes."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._num_bytes = 0

    def resize(self, num_bytes: int) -> None:
        """Raises RequestRefused where that is more than is left."""
        if num_bytes - self._num_bytes > self._room.num_free:
            raise unread(
                503,
                "Other requests take all the memory that Slipstream has for requests; send this one again in a moment.",
                headers={"Retry-After": "2"},
            )
        self._room.num_free -= num_bytes - self._num_bytes
        self._num_bytes = num_bytes

    def end(self) -> None:
        self._room.num_free += self._num_bytes
        self._num_bytes = 0


class Room:
    """Gives each request its share, in `request.state`."""

    def __init__(self, application: ASGIApp, num_bytes: int) -> None:
        self._application = application
        self.num_free = num_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        share = Share(self)
        scope.setdefault("state", {})["share"] = share
        try:
            await self._application(scope, receive, send)
        finally:
            share.end()
