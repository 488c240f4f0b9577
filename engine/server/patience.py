"""What uvicorn's connections lack. Those on which the lines before a request do not arrive in time are closed: uvicorn
waits for ever. Each has a number, by which requests are told apart that come from programs without a key, and knows
whose program asks."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from engine.server.peers import IS_OWN, is_own

_NUMBERS = count(1)


def patient(head_s: float) -> type[asyncio.Protocol]:
    class Patient(H11Protocol):
        _waiting: asyncio.TimerHandle | None = None

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.app_state = {**self.app_state, "connection": next(_NUMBERS)}

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            ends = [transport.get_extra_info(name) for name in ("peername", "sockname")]
            self.app_state = {**self.app_state, IS_OWN: is_own(transport.get_extra_info("socket").family, *ends)}
            self._look()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._look()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def _look(self) -> None:
            is_asked = self.cycle is not None and not self.cycle.response_complete
            if is_asked:
                self._forget()
            elif self._waiting is None:
                self._waiting = self.loop.call_later(head_s, self._end)

        def _forget(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

        def _end(self) -> None:
            self._waiting = None
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    return Patient
