"""A server that is a program: its pipes, with bounds on what it may send.

The package's own transport puts a line together however long it grows, and reads on whatever is sent.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream
from mcp.client.stdio import get_default_environment
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.os.win32.utilities import close_process_job, create_windows_process, terminate_windows_process_tree
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from engine.backend.tools.apart.descendants import Descendants
from engine.backend.tools.apart.failures import ServerFailed
from engine.backend.tools.left_behind import MARK
from engine.values.places import expanded

MOST_LINE = 4 << 20  # bytes of one message
MOST_BYTES = 32 << 20  # that a server may send for one request, and all that it says besides
MOST_MESSAGES = 5_000  # that it may send for one request
_STDERR_KEPT = 4_000  # bytes: the last words of a server that dies
_FLUSH_S, _LEAVE_S, _KILL_S = 0.3, 0.7, 0.7
# Desktops start programs without what a shell adds to the path.
_MORE_PATHS = ("/usr/local/bin", "/opt/homebrew/bin", "~/.local/bin", "~/.cargo/bin", "~/.bun/bin", "~/.deno/bin")


class Allowance:
    """What a server may still send."""

    def __init__(self) -> None:
        self._bytes = self._messages = 0
        self.renew()

    def renew(self) -> None:
        """Called before each request."""
        self._bytes, self._messages = MOST_BYTES, MOST_MESSAGES

    def take(self, num_bytes: int, num_messages: int = 0) -> None:
        """Raises ServerFailed."""
        self._bytes -= num_bytes
        self._messages -= num_messages
        if self._bytes < 0 or self._messages < 0:
            raise ServerFailed("floods")


class StdioServer:
    """Enter `streams` once; `last_words` is what it has written to standard error."""

    def __init__(
        self, given: dict[str, Any], allowance: Allowance, on_start: Callable[[int], None], descendants: Descendants
    ) -> None:
        """`on_start` gets the process id."""
        self._on_start = on_start
        self._descendants = descendants
        self._given = given
        self._allowance = allowance
        self._words = b""
        self.has_ended = anyio.Event()
        self.failure: ServerFailed | None = None

    @property
    def last_words(self) -> str:
        lines = self._words.decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:200] if lines else ""

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Any, Any]]:
        """Raises ServerFailed where it cannot be started."""
        mark = self._descendants.begin()
        try:
            process = await self._started(mark)
        except BaseException:
            await self._end_descendants(mark)
            raise
        self._descendants.started(mark, process.pid)
        self._on_start(process.pid)
        read_in, read_out = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write_in, write_out = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read, process, read_in)
                tasks.start_soon(self._write, process, write_out)
                if process.stderr is not None:
                    tasks.start_soon(self._listen, process.stderr)
                try:
                    yield read_out, write_in
                finally:
                    with anyio.CancelScope(shield=True):
                        write_in.close()
                        read_out.close()
                        await _stop(process)
                    tasks.cancel_scope.cancel()
        finally:
            for stream in (read_in, read_out, write_in, write_out):
                stream.close()
            with anyio.CancelScope(shield=True):
                await _kill(process)
            await self._end_descendants(mark)

    async def _end_descendants(self, mark: str) -> None:
        with anyio.CancelScope(shield=True):
            await self._descendants.end(mark)

    async def _started(self, mark: str) -> Any:
        command, arguments = self._given["command"], self._given["args"]
        env = get_default_environment() | dict(self._given["env"]) | {MARK: mark}
        more = [str(expanded(each)) for each in _MORE_PATHS] if sys.platform != "win32" else []
        env["PATH"] = _joined_path([env.get("PATH", ""), *more])
        folder = self._given["folder"] or None
        found = shutil.which(str(expanded(command)), path=env["PATH"])
        if found is None:
            raise ServerFailed("not_found", command)
        if folder is not None and not expanded(folder).is_dir():
            raise ServerFailed("no_folder", folder)
        folder = folder and str(expanded(folder))
        try:
            if sys.platform == "win32":
                return await create_windows_process(found, arguments, env, subprocess.DEVNULL, folder)  # type: ignore[arg-type]
            return await anyio.open_process(
                [found, *arguments], env=env, stderr=subprocess.PIPE, cwd=folder, start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise ServerFailed("not_started", getattr(error, "strerror", None) or str(error)) from error

    async def _read(self, process: Any, into: Any) -> None:
        try:
            async with into:
                buffer = b""
                async for chunk in process.stdout:
                    self._allowance.take(len(chunk))
                    *lines, buffer = (buffer + chunk).split(b"\n")
                    if len(buffer) > MOST_LINE or any(len(line) > MOST_LINE for line in lines):
                        raise ServerFailed("floods")
                    self._allowance.take(0, len(lines))
                    for line in lines:
                        if (message := _message(line)) is not None:
                            await into.send(message)
        except ServerFailed as failure:
            self.failure = failure
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            pass  # it is over
        finally:
            self.has_ended.set()

    async def _write(self, process: Any, out_of: Any) -> None:
        try:
            async with out_of:
                async for each in out_of:
                    text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(text.encode() + b"\n")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            self.has_ended.set()

    async def _listen(self, stream: ByteReceiveStream) -> None:
        """Reads what it logs, so that its pipe does not fill up."""
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            async for chunk in stream:
                self._words = (self._words + chunk)[-_STDERR_KEPT:]
                if len(chunk) > 60_000:
                    await anyio.sleep(0.01)  # one that floods here waits


def _message(line: bytes) -> SessionMessage | None:
    """None for what is no message: some servers greet. Raises ServerFailed for one that cannot be read."""
    bare = line.strip()
    if not bare.startswith(b"{"):
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(bare, by_name=False))
    except ValueError as error:
        raise ServerFailed("unreadable") from error


def _joined_path(parts: list[str]) -> str:
    return (";" if sys.platform == "win32" else ":").join(filter(None, parts))


async def _stop(process: Any) -> None:
    """Closes its input, as the protocol requires, and kills it if it does not end then."""
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError), anyio.move_on_after(_FLUSH_S):
        await process.stdin.aclose()
    with anyio.move_on_after(_LEAVE_S):
        while process.returncode is None:
            await anyio.sleep(0.01)
    await _kill(process)


async def _kill(process: Any) -> None:
    """Kills everything it has started too."""
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        if sys.platform == "win32":
            await terminate_windows_process_tree(process)
            close_process_job(process)
        else:
            await terminate_posix_process_tree(process, _KILL_S)
        await process.stdout.aclose()
