"""Widgets of rows in a `VirtualColumn`: their interface, notes, the dots of a reply that is awaited, and a flash."""

from __future__ import annotations

from abc import abstractmethod
from math import cos, pi

from PySide6.QtCore import QEasingCurve, QEvent, QObject, QPointF, QSize, Qt, QTimer, QVariantAnimation, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QWidget

from app.theme import ThemeKeeper
from app.widgets.appearance import reading_font
from app.widgets.parts import discard, set_up

_FRAME_MS = 60
_FRAMES = 20  # of one pulse
_DOT_PX = 7.0
_FLASH_MS = 1_800
_STRENGTH = 56  # of 255, at first


class RowView(QWidget):
    """A widget in a `VirtualColumn`, as high as its contents need at a given width."""

    height_changed = Signal()  # the contents have changed; the column arranges the row again

    @abstractmethod
    def arrange(self, width: int) -> int:
        """Places the children for this width and returns the height; the column sets the geometry."""

    def leave(self) -> None:
        discard(self)


class NoteView(RowView):
    """A quiet, centred sentence between messages."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        label = QLabel(text, self, textFormat=Qt.TextFormat.PlainText, wordWrap=True)
        self._label = set_up(label, kind="faint")
        self._label.setAlignment(Qt.AlignmentFlag.AlignCenter)

    def arrange(self, width: int) -> int:
        height = self._label.heightForWidth(width)
        self._label.setGeometry(0, 10, width, height)
        return height + 20


class WaitingDots(QWidget):
    """Three pulsing dots in place of a reply, and maybe a few words."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.words = ""
        self._frame = 0
        self.setFont(reading_font())
        self.setAccessibleName(self.tr("Preparing the reply"))
        self._timer = QTimer(self, interval=_FRAME_MS)
        self._timer.timeout.connect(self._step)
        self._timer.start()

    def set_words(self, words: str) -> None:
        self.words = words
        self.setAccessibleDescription(words)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(260, self.fontMetrics().height() + 12)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        colour = QColor(self._keeper.theme.quiet)
        middle = self.height() / 2
        for dot in range(3):
            phase = 2 * pi * (self._frame / _FRAMES - dot / 6)
            colour.setAlphaF(0.55 - 0.4 * cos(phase))
            painter.setBrush(colour)
            painter.drawEllipse(QPointF(_DOT_PX / 2 + 1 + dot * _DOT_PX * 1.8, middle), _DOT_PX / 2, _DOT_PX / 2)
        if self.words:
            painter.setPen(QColor(self._keeper.theme.quiet))
            area = self.rect().adjusted(int(_DOT_PX * 6.5), 0, 0, 0)
            painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self.words)
        painter.end()

    @Slot()
    def _step(self) -> None:
        self._frame = (self._frame + 1) % _FRAMES
        self.update()


class Flash(QWidget):
    """A tint over all of its parent that fades and then is deleted."""

    def __init__(self, colour: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._colour = QColor(colour)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setGeometry(parent.rect())
        parent.installEventFilter(self)
        self._fading = QVariantAnimation(self, startValue=_STRENGTH, endValue=0, duration=_FLASH_MS)
        self._fading.setEasingCurve(QEasingCurve.Type.InCubic)
        self._fading.valueChanged.connect(self.update)
        self._fading.finished.connect(self.deleteLater)
        self._fading.start()
        self.raise_()
        self.show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and isinstance(watched, QWidget):
            self.setGeometry(watched.rect())
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._colour.setAlpha(int(self._fading.currentValue() or 0))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._colour)
        painter.drawRoundedRect(self.rect().adjusted(0, 2, 0, -2), 12, 12)
        painter.end()
