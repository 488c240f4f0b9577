from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QDoubleSpinBox, QLabel, QLineEdit, QSpinBox, QWidget

from app.settings.declaration import NotInRange, Setting
from app.text.numbers import formatted
from app.text.translation import translate
from app.widgets.parts import set_up
from engine.values.parameters import Parameter

_EDGE_PX = 9  # from the unit to the border, as from a number without one
_GAP_PX = 4
_MOST = 2**31 - 1  # that a spin box holds


class NumberField(QLineEdit):
    """A number in a field. Up and Down step through the range; a number outside of it is reported and never taken."""

    chosen = Signal(object)  # another value of the setting, None where it has none
    refused = Signal(bool)  # whether the text is no value

    def __init__(self, setting: Setting, unset: str, parent: QWidget | None = None) -> None:
        super().__init__(parent, placeholderText=unset, alignment=Qt.AlignmentFlag.AlignRight)
        self._setting = setting
        self._value: float | None = None
        self._unit = set_up(QLabel(self), kind="quiet")
        self._unit.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.textChanged.connect(self._place_unit)
        self.textEdited.connect(self._on_edited)
        self.editingFinished.connect(self._on_finished)

    def set_value(self, value: float | None) -> None:
        self._value = value
        if not self.hasFocus() or self._read() != value:
            self.setText(self._setting.written(value))
        self.refused.emit(False)

    def set_unit(self, words: str) -> None:
        """The unit after the number, where there is one."""
        self._unit.setText(words)
        self._place_unit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_unit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._place_unit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1, Qt.Key.Key_PageUp: 10, Qt.Key.Key_PageDown: -10}
        if event.key() in steps:
            self._step(steps[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the wheel scrolls the page, and never changes the value under the pointer

    @Slot()
    def _place_unit(self) -> None:
        hint = self._unit.sizeHint()
        self._unit.setGeometry(self.width() - hint.width() - _EDGE_PX, 0, hint.width(), self.height())
        is_shown = bool(self._unit.text() and self.text())
        self._unit.setVisible(is_shown)
        self.setTextMargins(0, 0, hint.width() + _GAP_PX if is_shown else 0, 0)

    def _step(self, steps: int) -> None:
        if self._value is None:  # from the lowest on
            value = self._setting.stepped(self._setting.number.step * max(0, steps), 0)
        else:
            value = self._setting.stepped(self._value, steps)
        self.setText(self._setting.written(value))
        self._take(value)

    def _read(self) -> float | str | None:
        """The value, or the text if it is invalid."""
        try:
            return self._setting.read(self.text())
        except NotInRange:
            return self.text()

    def _take(self, value: float | None) -> None:
        self.refused.emit(False)
        if value != self._value:
            self._value = value
            self.chosen.emit(value)

    @Slot()
    def _on_edited(self) -> None:
        value = self._read()
        if isinstance(value, str):
            self.refused.emit(True)
        else:
            self._take(value)

    @Slot()
    def _on_finished(self) -> None:
        value = self._read()
        if not isinstance(value, str):
            self.setText(self._setting.written(value))


def number_box(parameter: Parameter, width_px: int, parent: QWidget) -> QSpinBox | QDoubleSpinBox:
    """A field with arrows for an engine parameter, with its declared range and words."""
    box: QSpinBox | QDoubleSpinBox
    if parameter.is_whole:
        box = QSpinBox(parent)
        box.setRange(int(parameter.low), int(min(parameter.high, _MOST)))
        box.setSingleStep(int(parameter.step))
        box.setGroupSeparatorShown(parameter.step > 1)  # not in a seed, which is no amount
    else:
        box = _DecimalBox(parent)
        box.setDecimals(2)
        box.setRange(parameter.low, parameter.high)
        box.setSingleStep(parameter.step)
    box.setMinimumWidth(width_px)
    box.setAlignment(Qt.AlignmentFlag.AlignRight)
    name, tip = translate("Settings", parameter.title), translate("Settings", parameter.explanation)
    return set_up(box, kind="field", name=name, tip=tip)


class _DecimalBox(QDoubleSpinBox):
    """Writes a number as other fields and sentences do: 0.8, not 0.80."""

    def textFromValue(self, value: float) -> str:
        return formatted(round(value, self.decimals()), "g")


def label_of(field: QWidget, parent: QWidget) -> QLabel:
    """The name of a field, shown next to it."""
    label = set_up(QLabel(field.accessibleName(), parent), tip=field.toolTip())
    label.setBuddy(field)
    return label


def show_number(box: QSpinBox | QDoubleSpinBox, value: float) -> None:
    """Shows the value, clamped to the field's range."""
    if isinstance(box, QSpinBox):
        box.setValue(int(min(value, _MOST)))
    else:
        box.setValue(value)
