"""A switch: on or off, at once."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QWidget

from app.theme import ThemeKeeper

_WIDTH_PX = 26
_HEIGHT_PX = 14
_AROUND_PX = 3  # for the frame of keyboard focus
_DISABLED = 0.35  # opacity


class Switch(QCheckBox):
    """A check box that is drawn as a switch, without words."""

    def __init__(self, keeper: ThemeKeeper, name: str, parent: QWidget | None = None) -> None:
        """`name` is for screen readers."""
        super().__init__(parent)
        self._keeper = keeper
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        keeper.changed.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        px = self._keeper.px
        return QSize(px(_WIDTH_PX) + 2 * _AROUND_PX, px(_HEIGHT_PX) + 2 * _AROUND_PX)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def hitButton(self, place: QPoint) -> bool:
        return self.rect().contains(place)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        theme, size = self._keeper.theme, self.sizeHint()
        inside = QRectF(0, 0, size.width(), size.height())
        inside.moveCenter(QRectF(self.rect()).center())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 1))
            painter.drawRoundedRect(inside.adjusted(0.5, 0.5, -0.5, -0.5), inside.height() / 2, inside.height() / 2)
        painter.setOpacity(1.0 if self.isEnabled() else _DISABLED)
        track = inside.adjusted(_AROUND_PX, _AROUND_PX, -_AROUND_PX, -_AROUND_PX)
        is_on = self.isChecked()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.accent if is_on else theme.faint))
        painter.drawRoundedRect(track, track.height() / 2, track.height() / 2)
        knob = QRectF(0, 0, track.height() - 4, track.height() - 4)
        knob.moveCenter(track.center())
        knob.moveLeft(track.right() - knob.width() - 2 if is_on else track.left() + 2)
        painter.setBrush(QColor(theme.on_accent if is_on else theme.surface))
        painter.drawEllipse(knob)
        painter.end()
