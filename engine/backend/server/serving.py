"""The server, on a thread of its own."""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.backend.server.clients import Clients
from engine.backend.server.desk import Desk, ServedTarget
from engine.backend.server.peers import tells_users
from engine.values.config import ReplySettings
from engine.values.errors import NotPossible, SettingInvalid
from engine.values.serving import ServerSettings

if TYPE_CHECKING:
    import uvicorn

    from engine.backend.server.connections import Connections

_BACKLOG = 128
_PATIENCE_S = 0.5  # for replies that are on their way when it is closed

_logger = logging.getLogger("slipstream.server")


class Server:
    """Answers programs for as long as it is open."""

    def __init__(
        self,
        settings: ServerSettings,
        data_dir: Path,
        target: ServedTarget,
        reply_settings: Callable[[], ReplySettings] = ReplySettings,
    ) -> None:
        self._settings = settings
        self._clients = Clients(data_dir)
        self._desk = Desk(target, reply_settings, settings.limits)
        self._server: uvicorn.Server | None = None
        self._connections: Connections | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.address = ""  # while it is open

    @property
    def needs_key(self) -> bool:
        """True if every program needs a key while the server is open."""
        return self._settings.needs_key or not self._settings.is_local

    def open(self) -> str:
        """Its address. Raises NotPossible if that cannot be used, and SettingInvalid if other machines reach the server
        and no program has a key. If the system does not say whose program asks, every one needs a key."""
        settings = self._settings = replace(self._settings, needs_key=self._settings.needs_key or not tells_users())
        if not settings.is_local and not self._clients.all():
            raise SettingInvalid(
                "A server at {host} can be reached from other computers, so every program needs a key: create one "
                "with `slipstream clients add NAME` first.",
                host=settings.host,
            )
        listening = _listen(settings)
        try:
            import uvicorn

            from engine.backend.server.application import make_application
            from engine.backend.server.connections import Connections

            for name in ("uvicorn", "sse_starlette"):  # whose words may be the user's
                logging.getLogger(name).addHandler(logging.NullHandler())
                logging.getLogger(name).propagate = False
            self._connections = Connections(settings.limits, settings.is_local)
            self._server = uvicorn.Server(
                uvicorn.Config(
                    make_application(self._desk, settings, self._clients),
                    http=self._connections.protocol,
                    loop="asyncio",
                    ws="none",
                    lifespan="off",
                    log_config=None,
                    access_log=False,
                    server_header=False,
                    proxy_headers=False,  # what a client says of itself is not where it is
                    backlog=_BACKLOG,
                    timeout_keep_alive=math.ceil(settings.limits.next_s),
                    timeout_graceful_shutdown=1,
                )
            )
        except BaseException:
            listening.close()
            raise
        host, port = listening.getsockname()[:2]
        self.address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._thread = threading.Thread(target=self._run, args=(listening,), name="slipstream-server", daemon=True)
        self._thread.start()
        return self.address

    def close(self) -> None:
        """Ends the replies that are on their way. Any thread."""
        loop, server = self._loop, self._server
        if loop is not None and server is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._end)
            server.should_exit = True
        if self._thread is not None:
            self._thread.join(_PATIENCE_S)

    def _end(self) -> None:
        self._desk.close()
        if self._connections is not None:
            self._connections.close()

    def _run(self, listening: socket.socket) -> None:
        server, connections = self._server, self._connections
        assert server is not None
        assert connections is not None

        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            watching = asyncio.create_task(connections.watch())
            await server.serve([listening])
            watching.cancel()

        try:
            asyncio.run(serve())
        except Exception:
            _logger.exception("the server ended")
        finally:
            listening.close()


def _listen(settings: ServerSettings) -> socket.socket:
    """Raises NotPossible."""
    host, port = settings.host, settings.port
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise NotPossible("{host} is not an address of this computer; choose another one.", host=host) from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise NotPossible("Another program already uses port {port}; choose another port.", port=port) from error
        if error.errno == errno.EACCES:
            raise NotPossible("Port {port} is reserved for the system; choose one from 1024 on.", port=port) from error
        raise NotPossible("{host} is not an address of this computer; choose another one.", host=host) from error
    return listening
