"""Carries out what concerns the servers of tools themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.errors import MendableError
from engine.messages.commands import EndToolServers, KeepToolKeys, ListTools, ToolCommand, UseTools
from engine.messages.events import Listener, ToolKeysKept, ToolsListed
from engine.stop_signal import StopSignal
from engine.tools.interface import ToolHost
from engine.tools.keys import ToolKeys


@dataclass(frozen=True)
class ToolService:
    _host: ToolHost
    _keys: ToolKeys
    _key_notice: Callable[[], str]
    _emit: Listener

    def handle(self, command: ToolCommand, stop: StopSignal) -> None:
        match command:
            case UseTools(servers):
                before = self._host.servers
                self._host.use(servers)
                self._keys.forget_unused(before, servers)
            case KeepToolKeys(servers, only_if_lasting):
                self._emit(ToolKeysKept(self._keys.kept(servers, only_if_lasting), self._key_notice()))
            case EndToolServers(names):
                self._host.end(names)
            case ListTools(names):
                on = [each.name for each in self._host.servers if each.is_on]
                self._list(on if names is None else names, stop)

    def _list(self, names: Sequence[str], stop: StopSignal) -> None:
        """All at once: each may take its time."""
        threads = [threading.Thread(target=self._list_one, args=(name, stop), daemon=True) for name in names]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def _list_one(self, name: str, stop: StopSignal) -> None:
        try:
            self._emit(ToolsListed(name, self._host.tools_of(name, stop)))
        except MendableError:
            return  # the host has told why
