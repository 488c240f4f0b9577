"""The connections of the server, which programs cannot use up.

uvicorn waits for ever for the head of a request, and for a client that does not read its reply. Here each has its time.
A connection that waits for its program also makes room for a new one, whichever waits longest; one that is being
answered never does. So a program that holds connections loses them, and all others are let in.

Each has a number, which tells the requests of programs without a key apart, and knows whose program asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from enum import Enum, auto
from functools import partial
from itertools import count
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from engine.backend.server.peers import SOCKET, own_socket
from engine.values.serving import ServerLimits

_NUMBERS = count(1)
_GLANCE_S = 1.0
_OWN, _OTHERS = "own", "others"  # users of this machine
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n"


class Wait(Enum):
    """What the program at the other end has to do next."""

    HEAD = auto()  # send the lines before a request
    BODY = auto()  # send the request itself: `reading.py` has a time for it
    READING = auto()  # take what was written
    NEXT = auto()  # ask again
    LISTENING = auto()  # let its request be answered: it has sent the next one already


class Connections:
    """All connections of a server, whose own thread calls all methods."""

    def __init__(self, limits: ServerLimits, is_local: bool) -> None:
        self._limits = limits
        self.is_local = is_local
        self._times_s = {Wait.HEAD: limits.head_s, Wait.READING: limits.reading_s, Wait.NEXT: limits.next_s}
        self._connections: set[Connection] = set()

    @property
    def protocol(self) -> type[asyncio.Protocol]:
        """The factory that uvicorn calls for each connection."""
        return cast(type[asyncio.Protocol], partial(Connection, self))

    def enter(self, new: Connection) -> None:
        """Lets a connection in, or refuses it. The user whom the server is for may hold all that are allowed, others a
        share."""
        alike = [each for each in self._connections if each.holder == new.holder]
        most = self._limits.connections if new.holder == _OWN else self._limits.share
        is_room = len(alike) < most or self._ends_one_of(alike)
        if is_room and (len(self._connections) < self._limits.connections or self._ends_one_of(self._connections)):
            self._connections.add(new)
        else:
            new.refuse()

    def leave(self, connection: Connection) -> None:
        self._connections.discard(connection)

    async def watch(self) -> None:
        times = self._times_s.values()
        while True:
            await asyncio.sleep(min(_GLANCE_S, *(each / 4 for each in times)))
            for each in [*self._connections]:
                wait = each.look()
                if wait in self._times_s and each.waited_s > self._times_s[wait]:
                    self._end(each)

    def close(self) -> None:
        """Ends all that wait for their programs."""
        for each in [*self._connections]:
            if each.look() is not None:
                self._end(each)

    def _ends_one_of(self, connections: Iterable[Connection]) -> bool:
        waiting = [each for each in connections if each.look() is not None]
        if waiting:
            self._end(max(waiting, key=lambda each: each.waited_s))
        return bool(waiting)

    def _end(self, connection: Connection) -> None:
        self.leave(connection)
        connection.transport.abort()  # `close` would wait until all is taken that was written


class Connection(H11Protocol):
    def __init__(self, connections: Connections, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._all = connections
        self._wait: Wait | None = Wait.HEAD
        self._since = self.loop.time()
        self.holder = ""  # who is to share connections: users of this machine, or an address of another one

    @property
    def waited_s(self) -> float:
        return self.loop.time() - self._since

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        there, here = (transport.get_extra_info(name) for name in ("peername", "sockname"))
        own = own_socket(transport.get_extra_info("socket").family, there, here)
        self.holder = (_OWN if own else _OTHERS) if self._all.is_local else str(there[0])
        self.app_state = {**self.app_state, "connection": next(_NUMBERS), SOCKET: own}
        self._all.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.leave(self)
        super().connection_lost(exc)

    def refuse(self) -> None:
        self.transport.write(_FULL)
        self.transport.close()

    def look(self) -> Wait | None:
        """What it waits for; None: it is being answered. `waited_s` counts from the first look that saw it."""
        wait = self._waits_for()
        if wait is not self._wait:
            self._wait, self._since = wait, self.loop.time()
        return wait

    def _waits_for(self) -> Wait | None:
        if self.transport.get_write_buffer_size():
            return Wait.READING
        if self.cycle is None:
            return Wait.HEAD
        has_more = bool(self.conn.trailing_data[0])
        if not self.cycle.response_complete:
            return Wait.BODY if self.cycle.more_body else Wait.LISTENING if has_more else None
        return Wait.HEAD if has_more or self.conn.their_state is h11.SEND_BODY else Wait.NEXT
