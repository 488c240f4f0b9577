"""Keeps Python's cyclic garbage collection on the interface thread.

By itself it runs on whichever thread happens to allocate, and a widget or timer it frees on another thread than its own
leaves Qt with a pointer to nothing: a crash seen when code was lexed beside the interface. calibre does the same.
"""

from __future__ import annotations

import gc
import sys

from PySide6.QtCore import QObject, QTimer, Slot

_INTERVAL_MS = 1000
_START_MS = 10_000  # by then most is imported
_MANY_MODULES = 50  # imported since: torch comes late where the machine is slow, and other pages when they are opened


class InterfaceGarbage(QObject):
    """Switches automatic collection off for the life of the app and collects on a timer of its own thread instead."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._thresholds = gc.get_threshold()
        self._num_modules = 0  # when what existed was frozen
        self._timer = QTimer(self, interval=_INTERVAL_MS)
        self._timer.timeout.connect(self._collect)
        QTimer.singleShot(_START_MS, self, self._begin)

    @Slot()
    def _begin(self) -> None:
        self._freeze()
        self._timer.start()

    def _freeze(self) -> None:
        """What exists by now is code and will stay: looking at it again would hold up the interface."""
        gc.freeze()
        self._num_modules = len(sys.modules)

    @Slot()
    def _collect(self) -> None:
        """The oldest generation that is due, as Python's own rule has it."""
        if len(sys.modules) > self._num_modules + _MANY_MODULES:
            self._freeze()
        counts = gc.get_count()
        for generation in (2, 1, 0):
            if counts[generation] > self._thresholds[generation]:
                gc.collect(generation)
                break
