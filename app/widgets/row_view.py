from __future__ import annotations

from abc import abstractmethod

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget


class RowView(QWidget):
    """A widget in a `VirtualColumn`: takes a width and says how high it is.

    Signals:
        height_changed(): what is shown has changed; the column arranges the row again.
    """

    height_changed = Signal()

    @abstractmethod
    def arrange(self, width: int) -> int:
        """Places the children for this width and returns the height; the column sets the geometry."""
