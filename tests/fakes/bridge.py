"""A bridge without an engine: commands are written down, events are what the test emits."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from engine import Command, LoadTarget, StopSignal


class FakeBridge(QObject):
    """Has the interface of `app.engine_bridge.EngineBridge`."""

    happened = Signal(object)

    def __init__(self) -> None:
        super().__init__()
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
