"""A few words on the parts of the window that one needs first, each shown where it is. Nothing moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QFrame, QWidget

from app.theme import ThemeKeeper
from app.widgets.layouts import Part, Stretch, in_column, in_row
from app.widgets.parts import announce, button, words

_WIDTH_PX = 360
_MARGIN_PX = 12  # between the words and the border of the window
_GAP_PX = 10  # between the words and what they are about
_AROUND_PX = 4  # between that and its frame
_RADIUS_PX = 10
_LINE_PX = 2
_SHADE = 0.38


@dataclass(frozen=True, slots=True)
class TourStep:
    part: Callable[[], QWidget]  # of the window, that it is about
    title: str
    text: str


class Tour(QFrame):
    """Words next to one part of the window after the other; the window can be used meanwhile. Esc ends it."""

    ended = Signal(bool)  # it is hidden; true: after its last step

    def __init__(self, keeper: ThemeKeeper, window: QWidget, steps: Callable[[], Sequence[TourStep]]) -> None:
        """`steps` is called for every step: the parts of the window may change."""
        super().__init__(window)
        self._keeper = keeper
        self._window = window
        self._steps = steps
        self._number = 0
        self._step: TourStep | None = None  # that is shown
        self._light = _Spotlight(keeper, window)
        self.setProperty("kind", "toast")
        self.count = words("", self, kind="faint")
        self.title = words("", self, kind="title")
        self.text = words("", self)
        self.skip_button = button(self.tr("Skip"), "link", self, self.end, tip=self.tr("End the tour  (Esc)"))
        self.back_button = button(self.tr("Back"), "outlined", self, lambda: self._show(self._number - 1))
        self.next_button = button("", "primary", self, self._go_on)
        buttons = in_row([self.skip_button, Stretch(), self.back_button, self.next_button], spacing=8)
        parts: list[Part] = [self.count, self.title, self.text, buttons]
        self._column = in_column(parts, inside=self, margins=(16, 12, 16, 12), spacing=6)
        self.hide()
        keeper.changed.connect(self._place)

    def begin(self) -> None:
        """Begins with the first step, even if it is already shown."""
        self._window.installEventFilter(self)
        if handle := self._window.windowHandle():
            handle.installEventFilter(self)  # which gets keys before all widgets
        self._show(0)

    @Slot()
    def end(self) -> None:
        self._leave(is_whole=False)

    def _leave(self, is_whole: bool) -> None:
        if self.isVisible():
            self.hide()
            self._light.hide()
            self.ended.emit(is_whole)

    # Qt's own

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not self.isVisible():
            return False
        if watched is self._window and event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._place()
        if watched is self._window or not isinstance(event, QKeyEvent):
            return False
        if event.type() != QEvent.Type.KeyPress or event.key() != Qt.Key.Key_Escape:
            return False
        self.end()
        return True

    # What happens

    @Slot()
    def _go_on(self) -> None:
        if self._number + 1 == len(self._steps()):
            self._leave(is_whole=True)
        else:
            self._show(self._number + 1)

    def _show(self, number: int) -> None:
        steps = self._steps()
        step, most = steps[number], len(steps)
        self._number, self._step = number, step
        count = self.tr("Tour, {number} of {most}").format(number=number + 1, most=most)
        self.count.setText(count)
        self.title.setText(step.title)
        self.text.setText(step.text)
        self.back_button.setVisible(number > 0)
        self.next_button.setText(self.tr("Done") if number + 1 == most else self.tr("Next"))
        self.setAccessibleName(count)
        self.setAccessibleDescription(f"{step.title}. {step.text}")
        self.show()
        self._place()
        self.next_button.setFocus(Qt.FocusReason.OtherFocusReason)
        announce(self, f"{count}. {self.accessibleDescription()}")

    @Slot()
    def _place(self) -> None:
        """Places the words above the part if there is room, else below it, and always within the window."""
        if self._step is None or not self.isVisible():
            return
        part, room = self._step.part(), self._window.rect()
        about = QRect(part.mapTo(self._window, QPoint(0, 0)), part.size())
        width = min(self._keeper.px(_WIDTH_PX), room.width() - 2 * _MARGIN_PX)
        self.ensurePolished()
        frame = 2 * self.frameWidth()
        height = self._column.totalHeightForWidth(width - frame) + frame
        distance = _GAP_PX + _AROUND_PX
        above = about.top() - distance - height
        top = above if above >= _MARGIN_PX else min(about.bottom() + distance, room.height() - _MARGIN_PX - height)
        left = max(_MARGIN_PX, min(about.left(), room.width() - _MARGIN_PX - width))
        self.setGeometry(left, max(_MARGIN_PX, top), width, height)
        self._light.show_around(about)
        self.raise_()


class _Spotlight(QWidget):
    """Darkens the window but for one part of it."""

    def __init__(self, keeper: ThemeKeeper, window: QWidget) -> None:
        super().__init__(window)
        self._keeper = keeper
        self._about = QRect()
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_around(self, about: QRect) -> None:
        self._about = about.adjusted(-_AROUND_PX, -_AROUND_PX, _AROUND_PX, _AROUND_PX)
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())
        self.raise_()
        self.show()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        inner = QRectF(self._about).intersected(QRectF(self.rect()).adjusted(1, 1, -1, -1))
        shade = QPainterPath()
        shade.addRect(QRectF(self.rect()))
        shade.addRoundedRect(inner, _RADIUS_PX, _RADIUS_PX)
        colour = QColor("black")
        colour.setAlphaF(_SHADE)
        painter.fillPath(shade, colour)
        painter.setPen(QPen(QColor(self._keeper.theme.accent), _LINE_PX))
        painter.drawRoundedRect(inner, _RADIUS_PX, _RADIUS_PX)
        painter.end()
