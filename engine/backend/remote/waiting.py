"""Runs what waits for a network so that Stop ends it at once, whatever it waits for."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from engine.backend.remote.failures import Stopped
from engine.values.stop_signal import StopSignal

_LOOK_S = 0.02  # between two looks at the stop signal, which wakes no thread
_FAREWELL_S = 0.5  # for which something that was cancelled may take
_T = TypeVar("_T")


class OutOfTime(Exception):
    pass


class _Loop(asyncio.SelectorEventLoop):
    async def getaddrinfo(self, host: Any, port: Any, **more: Any) -> Any:
        """Resolves on a daemon thread, which does not delay the end of the program: a resolver may be silent for
        long."""
        found: asyncio.Future[Any] = self.create_future()

        def tell(result: Any, error: Exception | None) -> None:
            if not found.done():
                found.set_result(result) if error is None else found.set_exception(error)

        def look() -> None:
            told: tuple[Any, Exception | None]
            try:
                told = socket.getaddrinfo(host, port, **more), None
            except Exception as error:
                told = None, error
            if not self.is_closed():
                try:
                    self.call_soon_threadsafe(tell, *told)
                except RuntimeError:  # it was closed just now
                    return

        threading.Thread(target=look, name="slipstream-resolver", daemon=True).start()
        return await found


class EventLoopThread:
    """One thread's own event loop, which runs one piece of work at a time."""

    def __init__(self, stop: StopSignal) -> None:
        self._stop = stop
        self._loop = _Loop()

    def run(self, work: Coroutine[Any, Any, _T], limit_s: float) -> _T:
        """Raises Stopped, OutOfTime, and what the work raises."""
        return self._loop.run_until_complete(self._watched(work, limit_s))

    async def _watched(self, work: Coroutine[Any, Any, _T], limit_s: float) -> _T:
        task = asyncio.ensure_future(work)
        end = time.monotonic() + limit_s
        try:
            while not task.done():
                if self._stop.is_set():
                    raise Stopped
                if time.monotonic() >= end:
                    raise OutOfTime
                await asyncio.wait({task}, timeout=_LOOK_S)
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=_FAREWELL_S)

    def close(self, *works: Coroutine[Any, Any, object]) -> None:
        """Runs these first, each for a moment at most."""
        try:
            for work in works:
                self._loop.run_until_complete(asyncio.wait({self._loop.create_task(_quiet(work))}, timeout=_FAREWELL_S))
        finally:
            self._loop.close()


async def _quiet(work: Coroutine[Any, Any, object]) -> None:
    """A connection that cannot be closed in good order is closed all the same."""
    try:
        await work
    except Exception:
        return


def rest(seconds: float, stop: StopSignal) -> None:
    """Raises Stopped."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if stop.is_set():
            raise Stopped
        time.sleep(min(_LOOK_S, max(0.0, end - time.monotonic())))
