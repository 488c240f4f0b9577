from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt, Slot
from PySide6.QtGui import QFont, QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QStyle, QStyleOptionButton, QStylePainter, QWidget

from app.theme import ThemeKeeper

_PADDING_PX = 8
_GAP_PX = 5
_ARROW_PX = 14
_LEAST_PX = 90


class NameButton(QPushButton):
    """A name with an arrow that says that there is more to choose from. A long name is shortened where there is no
    room; a screen reader is told all of it."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.setProperty("kind", "name")
        font = QFont(self.font())
        font.setWeight(QFont.Weight.DemiBold)
        self.setFont(font)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        keeper.changed.connect(self._draw)

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        width = metrics.horizontalAdvance(self.text()) + _GAP_PX + _ARROW_PX + 2 * _PADDING_PX + 2
        return QSize(width, metrics.height() + 12)

    def minimumSizeHint(self) -> QSize:
        hint = self.sizeHint()
        return QSize(min(hint.width(), _LEAST_PX), hint.height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        option = QStyleOptionButton()
        self.initStyleOption(option)
        option.text = ""
        painter = QStylePainter(self)
        painter.drawControl(QStyle.ControlElement.CE_PushButton, option)
        room = self.rect().adjusted(_PADDING_PX, 0, -_PADDING_PX - _ARROW_PX - _GAP_PX, 0)
        words = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideMiddle, room.width())
        painter.setFont(self.font())
        painter.setPen(self.palette().buttonText().color())
        painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)
        left = room.left() + self.fontMetrics().horizontalAdvance(words) + _GAP_PX
        arrow = QRect(left, (self.height() - _ARROW_PX) // 2 + 1, _ARROW_PX, _ARROW_PX)
        self._keeper.icon("chevron").paint(painter, arrow)

    @Slot()
    def _draw(self) -> None:
        self.update()
