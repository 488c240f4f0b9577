"""What is known of a reply's speed, in a popup."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QFormLayout, QFrame, QWidget

from app.widgets.layouts import Placed, in_column
from app.widgets.parts import ENTER_KEYS, Sentences, button, line, set_up

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
        self.title = set_up(Sentences("", self), kind="title")
        self.note = Sentences("", self)
        self.table = QFormLayout(
            horizontalSpacing=_MARGIN_PX,
            verticalSpacing=4,
            labelAlignment=Qt.AlignmentFlag.AlignLeft,
            fieldGrowthPolicy=QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow,
        )
        self.rows: list[tuple[Sentences, Sentences]] = []  # names and values; those that were not needed are hidden
        self.more_button = button(self.tr("Speed of all replies…"), "link", self, self.close)
        more = Placed(self.more_button, alignment=Qt.AlignmentFlag.AlignLeft)
        in_column(
            [self.title, self.note, self.table, line(self), more],
            inside=self,
            margins=(_MARGIN_PX, 10, _MARGIN_PX, 8),
            spacing=6,
        )

    def show_facts(self, title: str, note: str, rows: Sequence[tuple[str, str]]) -> None:
        """`rows`: names, and what they stand for."""
        self.title.setText(title)
        self.note.setText(note)
        self.note.setVisible(bool(note))
        while len(self.rows) < len(rows):
            name, value = set_up(Sentences("", self), kind="quiet"), Sentences("", self)
            name.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)  # beside the first line
            self.rows.append((name, value))
            self.table.addRow(*self.rows[-1])
        for number, labels in enumerate(self.rows):
            self.table.setRowVisible(number, number < len(rows))
            for label, said in zip(labels, rows[number] if number < len(rows) else ("", ""), strict=True):
                label.setText(said)
        self._fit()

    def _fit(self) -> None:
        """As wide as the longest line, and no wider than lines can be read and the window is."""
        labels = (self.title, self.note, *(label for row in self.rows for label in row))
        for label in labels:
            label.ensurePolished()  # else its font may be another one
            label.setWordWrap(False)
        most = min(_MOST_CHARACTERS * self.fontMetrics().averageCharWidth(), self._window.width() - 4 * _MARGIN_PX)
        inside = self.layout()
        assert inside is not None
        width = min(inside.sizeHint().width(), most)
        for label in (self.title, self.note, *(value for _, value in self.rows)):
            label.setWordWrap(True)
        self.table.invalidate()  # it does not hear that lines may break
        self.setFixedSize(width, inside.totalHeightForWidth(width))

    def open_above(self, widget: QWidget) -> None:
        """Above the widget, with its left border, within its window."""
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
