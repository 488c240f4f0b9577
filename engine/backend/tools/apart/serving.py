"""The process that speaks with servers: what it is asked comes through a pipe, as JSON, and so does what it answers."""

from __future__ import annotations

import json
import signal
import threading
from multiprocessing.connection import Connection as Pipe
from typing import Any

import anyio
from anyio.abc import TaskGroup
from anyio.from_thread import start_blocking_portal

from engine.backend.tools.apart.connection import ToolConnection
from engine.backend.tools.apart.descendants import Descendants
from engine.backend.tools.apart.failures import ServerFailed, first_failure


def serve(pipe: Pipe, mark: str) -> None:
    """Runs until the pipe is closed. `mark`: of everything started here."""
    signal.signal(signal.SIGTERM, _leave)
    with start_blocking_portal() as portal:
        serving = portal.call(_Serving, pipe, mark)
        running = portal.start_task_soon(serving.run)
        try:
            while True:
                question = json.loads(pipe.recv_bytes())
                portal.call(serving.take, question)
                if question["do"] == "close":
                    break
        except (EOFError, OSError):
            portal.call(serving.close)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it is leaving
        running.result(10.0)


def _leave(_number: int, _frame: object) -> None:
    """The servers are to be ended first."""
    raise EOFError


class _Serving:
    """All on one event loop."""

    def __init__(self, pipe: Pipe, mark: str) -> None:
        self._pipe = pipe
        self._descendants = Descendants(mark)
        self._writing = threading.Lock()
        self._connections: dict[str, ToolConnection] = {}  # by name, with those that are being started
        self._scopes: dict[int, anyio.CancelScope] = {}  # of what is being done, by the number of the question
        self._tasks: TaskGroup | None = None
        self._closing = anyio.Event()
        self._can_begin = anyio.Event()

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            self._can_begin.set()
            tasks.start_soon(self._descendants.reap)
            await self._closing.wait()
            for each in self._connections.values():
                each.end()
            with anyio.move_on_after(3.0):
                while any(not each.is_over for each in self._connections.values()):
                    await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()

    def close(self) -> None:
        self._closing.set()

    async def take(self, question: dict[str, Any]) -> None:
        await self._can_begin.wait()
        assert self._tasks is not None
        if question["do"] == "close":
            self.close()
            return
        if question["do"] == "cancel":
            scope = self._scopes.get(question["id"])
            if scope is not None:
                scope.cancel()
            return
        self._tasks.start_soon(self._answer, question)

    async def _answer(self, question: dict[str, Any]) -> None:
        number = question["id"]
        with anyio.CancelScope() as scope:
            self._scopes[number] = scope
            try:
                self._send({"id": number, "answer": await self._done(question)})
            except ServerFailed as failure:
                self._send({"id": number, "kind": failure.kind, "detail": failure.detail})
            except anyio.get_cancelled_exc_class():
                raise
            except Exception as error:
                self._send({"id": number, "kind": "failed", "detail": first_failure(error).detail})
            finally:
                del self._scopes[number]
        found = self._connections.get(question["server"]["name"])
        if scope.cancelled_caught and question["do"] != "end" and found is not None:
            await found.look()

    async def _done(self, question: dict[str, Any]) -> Any:
        server = question["server"]
        if question["do"] == "end":
            found = self._connections.get(server["name"])
            if found is not None:
                found.end()
                while not found.is_over:
                    await anyio.sleep(0.01)
            return None
        connection = await self._connected(server, question["start_s"])
        if question["do"] == "list":
            return connection.tools
        return await connection.call(question["tool"], question["arguments"], question["seconds"])

    def _known(self, server: dict[str, Any]) -> ToolConnection | None:
        found = self._connections.get(server["name"])
        return found if found is not None and found.is_usable and found.given == server else None

    async def _connected(self, server: dict[str, Any], seconds: float) -> ToolConnection:
        """The one that runs, or a new one. Raises ServerFailed."""
        assert self._tasks is not None
        if (found := self._known(server)) is not None:
            await found.settle()
        if (found := self._known(server)) is not None:
            await found.wait_ready()
            return found
        before = self._connections.get(server["name"])
        if before is not None:
            before.end()
            while not before.is_over:
                await anyio.sleep(0.01)
        connection = self._connections[server["name"]] = ToolConnection(
            given=server,
            tell=self._tell,
            on_start=lambda number: self._send({"server": server["name"], "process": number}),
            descendants=self._descendants,
        )
        await connection.start(self._tasks, seconds)
        return connection

    def _tell(self, name: str, failure: ServerFailed | None) -> None:
        told = {"server": name, "kind": "", "detail": ""}
        if failure is not None:
            told |= {"kind": failure.kind, "detail": failure.detail}
        self._send(told)

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message, ensure_ascii=True).encode()
        try:
            with self._writing:
                self._pipe.send_bytes(data)
        except (OSError, ValueError):
            self._closing.set()  # the other end is gone
