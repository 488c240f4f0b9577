"""Connections on which the lines before a request do not arrive in time are closed: uvicorn waits for ever."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol


def patient(head_s: float) -> type[asyncio.Protocol]:
    class Patient(H11Protocol):
        _waiting: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
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
