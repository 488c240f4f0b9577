from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from app.widgets.keyboard_focus import show_keyboard_focus


class ScrollingPage(QScrollArea):
    """More than fits, from top to bottom: the keyboard can come here to scroll. It is never narrower than what is in
    it, as nothing scrolls sideways."""

    def __init__(self, name: str, inside: QWidget | None = None, parent: QWidget | None = None) -> None:
        """`name` is what a screen reader says."""
        super().__init__(parent)
        self.setProperty("kind", "page")
        self.setAccessibleName(name)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        if inside is not None:
            self.setWidget(inside)

    def minimumSizeHint(self) -> QSize:
        hint, inside = super().minimumSizeHint(), self.widget()
        if inside is None:
            return hint
        beside = self.verticalScrollBar().sizeHint().width() + 2 * self.frameWidth()
        return hint.expandedTo(QSize(inside.minimumSizeHint().width() + beside, 0))

    def sizeHint(self) -> QSize:
        return super().sizeHint().expandedTo(self.minimumSizeHint())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()  # what is in it takes another width
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        show_keyboard_focus(self, event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        show_keyboard_focus(self, event)
