"""The servers of tools, as the user sets them up."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from engine.backend.tools.interface import ToolHost
from engine.backend.tools.keys import ToolKeys
from engine.values.errors import MendableError
from engine.values.events import Listener, ToolsListed
from engine.values.requests import NEVER
from engine.values.stop_signal import StopSignal
from engine.values.tools import ToolServer


@dataclass(frozen=True)
class ToolService:
    """The host emits `ToolServerChanged` whenever a server is started, has ended or failed."""

    _host: ToolHost
    _keys: ToolKeys
    _emit: Listener

    def use(self, servers: Sequence[ToolServer]) -> None:
        """These servers are there from now on. Starts none of them; ends those that are gone, or were changed."""
        before = self._host.servers
        self._host.use(servers)
        self._keys.forget_unused(before, servers)

    def end(self, names: Sequence[str] | None = None) -> None:
        """Ends servers, by default all; they are started again when they are used."""
        self._host.end(names)

    def list_tools(self, names: Sequence[str] | None = None, stop: StopSignal = NEVER) -> None:
        """Starts servers, by default all that are on, and asks what they offer, all at once: each may take a while.
        Emits `ToolsListed` for each; the host reports why one failed."""
        if names is None:
            names = [each.name for each in self._host.servers if each.is_on]
        threads = [threading.Thread(target=self._list_one, args=(name, stop), daemon=True) for name in names]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def _list_one(self, name: str, stop: StopSignal) -> None:
        try:
            self._emit(ToolsListed(name, self._host.tools_of(name, stop)))
        except MendableError:
            return  # the host has reported why
