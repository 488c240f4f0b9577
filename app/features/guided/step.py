"""A step of the guided start: a page, and how far it is."""

from __future__ import annotations

from enum import Enum, auto

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget


class State(Enum):
    OPEN = auto()
    RUNNING = auto()
    DONE = auto()


class StepPage(QWidget):
    """A page that has a title, and a name for what there is to do on it.

    Signals:
        changed(): its state has changed.
    """

    changed = Signal()

    def __init__(self, title: str, action: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("inside")
        self.title, self.action = title, action
        self.state = State.OPEN
        self.can_begin = True  # what there is to do

    def set_state(self, state: State) -> None:
        self.state = state
        self.changed.emit()
