"""What is known of a reply's speed, in a popup."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QWidget

from app.widgets.layouts import Placed, in_column
from app.widgets.parts import ENTER_KEYS, button, line

_MARGIN_PX = 14
_MOST_CHARACTERS = 60  # of a line
_ABOVE_PX = 6  # between it and the widget that opens it
_KEPT = (Qt.Key.Key_Tab, Qt.Key.Key_Backtab, *ENTER_KEYS, Qt.Key.Key_Space)


class SpeedDetails(QFrame):
    """A sentence, a table, and a button that leads to the figures of all replies. Whatever is typed closes it, and goes
    where the keyboard was before."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self._window = parent.window()
        self.setProperty("kind", "popup")
        self.setAttribute(Qt.WidgetAttribute.WA_NoMouseReplay)  # a click on what opened it closes it
        self.setAccessibleName(self.tr("Speed of this reply"))
        self.table = QLabel(self, textFormat=Qt.TextFormat.RichText)
        self.more_button = button(self.tr("Speed of all replies…"), "link", self, self.close)
        self.more_button.setAutoDefault(True)  # Enter presses it
        in_column(
            [self.table, line(self), Placed(self.more_button, alignment=Qt.AlignmentFlag.AlignLeft)],
            inside=self,
            margins=(_MARGIN_PX, 10, _MARGIN_PX, 8),
            spacing=6,
        )

    def show_html(self, html: str) -> None:
        self.table.setText(html)
        self.table.setWordWrap(False)
        most = min(_MOST_CHARACTERS * self.fontMetrics().averageCharWidth(), self._window.width() - 4 * _MARGIN_PX)
        self.table.setFixedWidth(min(self.table.sizeHint().width(), most))
        self.table.setWordWrap(True)
        if self.isVisible():
            self.adjustSize()

    def open_above(self, widget: QWidget) -> None:
        """Above the widget, with its left border, within its window."""
        self.adjustSize()
        place = widget.mapToGlobal(QPoint(0, -self.height() - _ABOVE_PX))
        window = widget.window()
        last = window.mapToGlobal(QPoint(window.width(), 0)).x() - self.width() - _ABOVE_PX
        self.move(min(place.x(), last), max(place.y(), window.mapToGlobal(QPoint(0, 0)).y()))
        self.show()
        self.more_button.setFocus(Qt.FocusReason.PopupFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _KEPT:
            super().keyPressEvent(event)
            return
        self.close()
        before = self._window.focusWidget()
        if event.text() and event.key() != Qt.Key.Key_Escape and before is not None:
            QApplication.sendEvent(before, event)
