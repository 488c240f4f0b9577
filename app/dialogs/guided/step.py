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
    """Its title and what its main button says are those of its class.

    Signals:
        changed(): its state has changed.
    """

    changed = Signal()

    def __init__(self, title: str, action: str, parent: QWidget) -> None:
        """`action`: what there is to do, on the button."""
        super().__init__(parent)
        self.setObjectName("inside")
        self.title, self.action = title, action
        self.state = State.OPEN
        self.can_begin = True

    def set_state(self, state: State) -> None:
        self.state = state
        self.changed.emit()
