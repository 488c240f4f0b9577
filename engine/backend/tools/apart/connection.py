"""One server: started, asked what it offers, called, ended. It gets nothing of what a server may ask its client for:
neither the model, nor the user, nor folders."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError

from engine.backend.tools.apart.descendants import Descendants
from engine.backend.tools.apart.failures import ServerFailed, first_failure
from engine.backend.tools.apart.http import HttpServer
from engine.backend.tools.apart.results import MOST_PAGES, MOST_TOOLS, answer_of, tool_of
from engine.backend.tools.apart.stdio import Allowance, StdioServer

_PING_S = 2.0
_RESULT: TypeAdapter[Any] = TypeAdapter(types.CallToolResult)
_CLOSED = -32000
_TIMED_OUT = -32001


class ToolConnection:
    """A connection to one server, from `start` to the end of its task. One that has ended is not used again."""

    def __init__(
        self,
        given: dict[str, Any],
        tell: Callable[[str, ServerFailed | None], None],
        on_start: Callable[[int], None],
        descendants: Descendants,
    ) -> None:
        """`tell` is called at the end, with the failure if there was one. `on_start` gets the process id, if it is a
        process."""
        self.given = given
        self._tell = tell
        self._allowance = Allowance()
        server = HttpServer if given["url"] else StdioServer
        self._server = server(given, self._allowance, on_start, descendants)
        self._client: Client | None = None
        self._ready = anyio.Event()
        self._ending = anyio.CancelScope()
        self._looked = anyio.Event()  # not set while it is looked whether it still answers
        self._looked.set()
        self.failure: ServerFailed | None = None
        self.tools: list[dict[str, str]] = []
        self.is_over = False

    @property
    def is_usable(self) -> bool:
        """True while it runs or is being started."""
        return not (self.is_over or self._ending.cancel_called or self._server.has_ended.is_set())

    async def start(self, tasks: TaskGroup, seconds: float) -> None:
        """Raises ServerFailed."""
        tasks.start_soon(self._run, seconds)
        await self.wait_ready()

    async def wait_ready(self) -> None:
        await self._ready.wait()
        if self._client is None or self.is_over:
            raise self.failure or ServerFailed("ended", self._server.last_words)

    async def call(self, tool: str, arguments: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Raises ServerFailed."""
        self._allowance.renew()
        assert self._client is not None
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=arguments))
        try:
            with anyio.fail_after(seconds + 1):
                result = await self._client.session.send_request(request, _RESULT, seconds)
        except TimeoutError:
            self.end(ServerFailed("hangs"))
            raise ServerFailed("hangs") from None
        except MCPError as error:
            raise self._failure_of(error) from error
        except ValidationError as error:
            raise ServerFailed("asks" if "input_required" in str(error) else "unreadable") from error
        except anyio.get_cancelled_exc_class():
            raise
        except Exception as error:
            raise self._server.failure or first_failure(error) from error
        return answer_of(result)

    def _failure_of(self, error: MCPError) -> ServerFailed:
        if self._server.failure is not None:
            return self._server.failure
        if error.error.code == _TIMED_OUT or "timed out" in error.error.message.lower():
            self.end(ServerFailed("hangs"))
            return ServerFailed("hangs")
        if error.error.code == _CLOSED or self._server.has_ended.is_set():
            return ServerFailed("ended", self._server.last_words)
        return ServerFailed("says", error.error.message[:2_000])

    async def look(self) -> None:
        """Ends a server that no longer answers; called after a call was given up."""
        if self._client is None or not self.is_usable:
            self.end()  # no caller waits for it to start any more
            return
        self._looked = anyio.Event()
        try:
            with anyio.fail_after(_PING_S):
                await self._client.session.send_ping()
        except (TimeoutError, MCPError):
            self.end(ServerFailed("hangs"))
        finally:
            self._looked.set()

    async def settle(self) -> None:
        """Waits until it is known whether it still answers."""
        await self._looked.wait()

    def end(self, failure: ServerFailed | None = None) -> None:
        self.failure = self.failure or failure
        self._ending.cancel()

    async def _run(self, seconds: float) -> None:
        try:
            with self._ending:
                await self._serve(seconds)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:
            self.failure = self.failure or self._server.failure or self._why(error)
        finally:
            self.is_over = True
            self._ready.set()
            self._tell(self.given["name"], self.failure)

    def _why(self, error: BaseException) -> ServerFailed:
        found = first_failure(error)
        if found.kind == "failed" and (self._server.has_ended.is_set() or "closed" in found.detail.lower()):
            return ServerFailed("ended", self._server.last_words or found.detail)
        return found

    async def _serve(self, seconds: float) -> None:
        info = types.Implementation(name="slipstream", version=version("slipstream"))
        with anyio.move_on_after(seconds) as starting:
            async with Client(
                self._server.streams(), client_info=info, cache=None, message_handler=self._on_message
            ) as client:
                self._allowance.renew()
                await self._list(client)
                starting.deadline = float("inf")
                self._client = client
                self._ready.set()
                await self._server.has_ended.wait()
        if starting.cancelled_caught:
            raise ServerFailed("no_start", self._server.last_words)
        raise self._server.failure or ServerFailed("ended", self._server.last_words)

    async def _list(self, client: Client) -> None:
        tools: list[dict[str, str]] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            params = None if cursor is None else types.PaginatedRequestParams(cursor=cursor)
            found = await client.session.list_tools(params=params)
            tools += [tool for each in found.tools if (tool := tool_of(each)) is not None]
            cursor = found.next_cursor
            if cursor is None or len(tools) >= MOST_TOOLS:
                break
        self.tools = tools[:MOST_TOOLS]

    async def _on_message(self, message: Any) -> None:
        """What it offers has changed: it is asked again when it is used next."""
        if isinstance(message, types.ToolListChangedNotification) and self._client is not None:
            self._tell(self.given["name"], ServerFailed("changed"))
            try:
                with anyio.fail_after(_PING_S):
                    await self._list(self._client)
            except (TimeoutError, MCPError, ValidationError):
                self.end(ServerFailed("hangs"))
