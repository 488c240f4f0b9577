"""A bridge whose engine only records commands; the test sends its events."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from PySide6.QtCore import QCoreApplication

from app.engine_bridge import EngineBridge
from engine import Command, Engine, EngineConfig, LoadTarget, StopSignal
from engine.messages.events import Event, Finished


class _Notebook:
    """The part of `engine.Engine` that a bridge uses."""

    def __init__(self) -> None:
        self.posted: list[Command] = []
        self.stops: list[StopSignal] = []
        self.loads: list[LoadTarget] = []  # stays when `posted` is emptied

    def post(self, command: Command) -> StopSignal:
        self.posted.append(command)
        if isinstance(command, LoadTarget):
            self.loads.append(command)
        self.stops.append(StopSignal())
        return self.stops[-1]

    def close(self) -> bool:
        return True


class FakeBridge(EngineBridge):
    """Its requests end as real ones do: when the engine, here the test, reports that they are finished or failed."""

    def __init__(self) -> None:
        notebook = _Notebook()
        super().__init__(EngineConfig(Path()), make_engine=lambda _config, _listener: cast(Engine, notebook))
        self.posted, self.stops, self.loads = notebook.posted, notebook.stops, notebook.loads

    def tell(self, *events: Event) -> None:
        """Sends events as the engine would, and lets the interface handle them."""
        for event in events:
            self._receive(event)
        QCoreApplication.processEvents()

    def finish_all(self) -> None:
        """Carries out whatever was asked, and what is asked because of that."""
        while self._requests:
            self.tell(*(Finished(request.command) for request in self._requests))
