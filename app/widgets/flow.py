"""A row that goes on in the next line where there is no room: words are longer in some languages than in others."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """Its widgets from left to right, each as large as it likes; those of a line stand in its middle."""

    def __init__(self, widgets: Sequence[QWidget], spacing: int = 8, line_spacing: int = 6) -> None:
        super().__init__()
        self._items: list[QLayoutItem] = []
        self._spacing, self._line_spacing = spacing, line_spacing
        self.setContentsMargins(0, 0, 0, 0)
        for widget in widgets:
            self.addWidget(widget)

    def addItem(self, item: QLayoutItem, /) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int, /) -> QLayoutItem:
        return self._items[index] if 0 <= index < len(self._items) else None  # type: ignore[return-value]

    def takeAt(self, index: int, /) -> QLayoutItem:
        return self._items.pop(index) if 0 <= index < len(self._items) else None  # type: ignore[return-value]

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int, /) -> int:
        lines = self._lines(width)
        return sum(map(_height, lines)) + self._line_spacing * max(0, len(lines) - 1)

    def sizeHint(self) -> QSize:
        """One line with all items."""
        shown = self._shown()
        width = sum(each.sizeHint().width() for each in shown) + self._spacing * max(0, len(shown) - 1)
        return QSize(width, _height(shown))

    def minimumSize(self) -> QSize:
        """One line for each item."""
        shown = self._shown()
        return QSize(max((each.minimumSize().width() for each in shown), default=0), _height(shown))

    def setGeometry(self, rect: QRect, /) -> None:
        super().setGeometry(rect)
        top = rect.y()
        for line in self._lines(rect.width()):
            left, height = rect.x(), _height(line)
            for item in line:
                size = item.sizeHint().boundedTo(QSize(rect.width(), height))
                item.setGeometry(QRect(QPoint(left, top + (height - size.height()) // 2), size))
                left += size.width() + self._spacing
            top += height + self._line_spacing

    def _lines(self, width: int) -> list[list[QLayoutItem]]:
        lines: list[list[QLayoutItem]] = []
        left = 0
        for item in self._shown():
            wanted = item.sizeHint().width()
            if not lines or left + wanted > width:
                lines.append([])
                left = 0
            lines[-1].append(item)
            left += wanted + self._spacing
        return lines

    def _shown(self) -> list[QLayoutItem]:
        return [each for each in self._items if not each.isEmpty()]


def _height(items: Sequence[QLayoutItem]) -> int:
    return max((each.sizeHint().height() for each in items), default=0)
