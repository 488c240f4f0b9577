"""The rows of the window of settings: a control, what it means, and a button that resets it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QKeyCombination, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QFocusEvent, QKeyEvent, QKeySequence, QWheelEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QPlainTextEdit, QWidget

from app.settings.declaration import Kind, Setting, SettingsPage, SettingValue
from app.settings.shortcuts import KeyProblem, Shortcut, native
from app.text.numbers import formatted, whole
from app.text.translation import translate
from app.theme import ThemeKeeper
from app.widgets.appearance import restyle
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Placed, Stretch, in_grid, in_row
from app.widgets.number_field import NumberField
from app.widgets.parts import Button, button, keep_place, set_up, show_text

_MODIFIERS = frozenset(
    {
        Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_AltGr, Qt.Key.Key_Meta, Qt.Key.Key_Super_L,
        Qt.Key.Key_Super_R, Qt.Key.Key_CapsLock, Qt.Key.Key_NumLock, Qt.Key.Key_unknown,
    }
)  # fmt: skip


class KeyField(Button):
    """Shows the keys of an action; after a click it takes the next keys that are pressed. Esc leaves it as it was,
    Backspace removes the keys, and Tab goes on."""

    chosen = Signal(str)  # other keys, as Qt writes them in files; empty for none

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, autoDefault=False)
        self._keys = ""
        self._listening = False
        self.setProperty("kind", "outlined")
        self.clicked.connect(lambda: self._listen(not self._listening))

    def set_keys(self, keys: str) -> None:
        self._keys = keys
        self._listen(False)

    def event(self, event: QEvent) -> bool:
        if self._listening and event.type() == QEvent.Type.ShortcutOverride:
            event.accept()  # else the action with these keys would run
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._listening:
            super().keyPressEvent(event)
        elif event.key() in _MODIFIERS:
            event.accept()  # the key that goes with it comes later
        else:
            event.accept()
            self._listen(False)
            if event.key() == Qt.Key.Key_Backspace and not event.modifiers():
                self.chosen.emit("")
            elif event.key() != Qt.Key.Key_Escape:
                self.chosen.emit(_text(event))

    def focusNextPrevChild(self, next: bool) -> bool:
        self._listen(False)
        return super().focusNextPrevChild(next)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._listen(False)
        super().focusOutEvent(event)

    def _listen(self, listening: bool) -> None:
        self._listening = listening
        self.setText(self.tr("Press keys…") if listening else native(self._keys) or self.tr("None"))


def _text(event: QKeyEvent) -> str:
    modifiers = event.modifiers() & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.GroupSwitchModifier)
    sequence = QKeySequence(QKeyCombination(modifiers, Qt.Key(event.key())))
    return sequence.toString(QKeySequence.SequenceFormat.PortableText)


FIELD_PX = 150
TEXT_LINES = 4
TYPING_PAUSE_MS = 400


class OptionRow(QWidget):
    """A name with a control to its right, a description below, and a sentence where something is wrong."""

    reset_requested = Signal()  # the usual value is wanted

    def __init__(
        self, keeper: ThemeKeeper, group: SettingsPage, name: str, description: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.group = group
        self.name = name
        self.description = description
        self._keeper = keeper
        label = QLabel(name, self, wordWrap=True)
        self._about = set_up(QLabel(description, self, wordWrap=True), kind="quiet")
        self._about.setVisible(bool(description))
        self.problem = set_up(QLabel(self, wordWrap=True), kind="problem")
        self.problem.hide()
        reset = self.tr("Reset “{name}” to its default").format(name=name)
        self.reset_button = keep_place(
            IconButton(keeper, "reset", reset, self.reset_requested, icon_px=15, parent=self)
        )
        self._control = in_row([Stretch()], spacing=6)
        self._grid = in_grid(
            [[label, self._control, self.reset_button], [Placed(self._about, columns=2)]],
            inside=self,
            margins=(0, 7, 0, 7),
            spacing=(10, 2),
            stretches=(3, 2),
        )
        self._grid.addWidget(self.problem, 3, 0, 1, 2)

    def is_about(self, words: str) -> bool:
        """True if name, description and page together contain all of these words."""
        page = translate("Settings", self.group.value)
        own = " ".join((self.name, self.description, page)).casefold()
        return all(word in own for word in words.casefold().split())

    def describe(self, description: str) -> None:
        """Replaces the description."""
        self.description = description
        show_text(self._about, description)

    def show_problem(self, sentence: str) -> None:
        self._say(sentence, "problem")

    def show_note(self, sentence: str) -> None:
        """Shows a remark about the setting that is not a problem."""
        self._say(sentence, "quiet")

    def _say(self, sentence: str, kind: str) -> None:
        restyle(self.problem, kind=kind)
        show_text(self.problem, sentence)


class SettingRow(OptionRow):
    """One setting."""

    chosen = Signal(object)  # the user wants another value

    def __init__(self, keeper: ThemeKeeper, setting: Setting, parent: QWidget | None = None) -> None:
        name, about = (translate("Settings", words) for words in (setting.label, setting.description))
        super().__init__(keeper, setting.group, name, about, parent)
        self.setting = setting
        self._pause = QTimer(self, singleShot=True, interval=TYPING_PAUSE_MS)
        self._pause.timeout.connect(self._on_text)
        self.control = set_up(self._make_control(), name=name, about=about)
        if setting.kind is Kind.TEXT:
            self._grid.addWidget(self.control, 2, 0, 1, 2)
        else:
            self._control.addWidget(self.control)
        self._fit()
        keeper.changed.connect(self._fit)

    def show_value(self, value: SettingValue) -> None:
        control = self.control
        if isinstance(control, QCheckBox):
            control.setChecked(bool(value))
        elif isinstance(control, QComboBox):
            control.setCurrentIndex(control.findData(value))
        elif isinstance(control, NumberField) and not isinstance(value, str):
            control.set_value(value)
        elif isinstance(control, QPlainTextEdit) and control.toPlainText() != value:
            control.setPlainText(str(value))
        self.reset_button.setVisible(value != self.setting.default)

    def describe(self, description: str) -> None:
        super().describe(description)
        self.control.setAccessibleDescription(description)

    def finish(self) -> None:
        """Takes over text typed a moment ago."""
        if self._pause.isActive():
            self._pause.stop()
            self._on_text()

    def _make_control(self) -> QWidget:
        setting = self.setting
        if setting.kind is Kind.SWITCH:
            switch = QCheckBox(self)
            switch.toggled.connect(self.chosen.emit)
            return switch
        if setting.kind is Kind.CHOICE:
            choice = ChoiceBox(self)
            for value, words in setting.choices:
                choice.addItem(translate("Settings", words), value)
            choice.activated.connect(lambda: self.chosen.emit(choice.currentData()))
            return choice
        if setting.kind is Kind.TEXT:
            text = set_up(QPlainTextEdit(self, tabChangesFocus=True), kind="field")
            text.textChanged.connect(self._pause.start)
            return text
        number = NumberField(setting, _unset(setting), self)
        number.set_unit(translate("Settings", setting.number.unit))
        number.chosen.connect(self.chosen)
        number.refused.connect(lambda refused: self.show_problem(range_words(self.setting) if refused else ""))
        return number

    @Slot()
    def _on_text(self) -> None:
        if isinstance(self.control, QPlainTextEdit):
            self.chosen.emit(self.control.toPlainText())

    @Slot()
    def _fit(self) -> None:
        if isinstance(self.control, QPlainTextEdit):
            self.control.setFixedHeight(self.control.fontMetrics().lineSpacing() * TEXT_LINES + self._keeper.px(14))
        elif isinstance(self.control, QComboBox):
            self.control.setMinimumWidth(max(self._keeper.px(FIELD_PX), self.control.sizeHint().width()))
        elif isinstance(self.control, NumberField):
            self.control.setFixedWidth(self._keeper.px(FIELD_PX))


class ShortcutRow(OptionRow):
    """The keys of one action."""

    chosen = Signal(str)  # other keys are wanted, empty for none
    swap_requested = Signal(str, str)  # these keys are wanted, and that action has them

    def __init__(self, keeper: ThemeKeeper, shortcut: Shortcut, parent: QWidget | None = None) -> None:
        super().__init__(keeper, SettingsPage.SHORTCUTS, shortcut.words, "", parent)
        self._wanted = ""
        self._owner = ""
        tip = self.tr("Press this, then the new keys. Backspace: no keys. Esc: cancel.")
        self.field = set_up(KeyField(self), tip=tip)
        self.field.chosen.connect(self.chosen)
        self._control.addWidget(self.field)
        swap = self.tr("Swap")
        self.swap_button = button(swap, "link", self, lambda: self.swap_requested.emit(self._wanted, self._owner))
        self.swap_button.hide()
        self._grid.addWidget(self.swap_button, 4, 0, Qt.AlignmentFlag.AlignLeft)
        keeper.changed.connect(self._fit)
        self.show_shortcut(shortcut)

    def show_shortcut(self, shortcut: Shortcut) -> None:
        self.shortcut = shortcut
        self.field.set_keys(shortcut.keys)
        self._name_field()
        self.reset_button.setVisible(shortcut.keys != shortcut.usual_keys)
        self._fit()
        self.show_problem("")
        self.swap_button.hide()

    def _name_field(self) -> None:
        self.field.setAccessibleName(f"{self.shortcut.words}: {self.field.text()}")

    def refuse(self, keys: str, problem: KeyProblem) -> None:
        """Says that these keys cannot be chosen, or only by a swap."""
        self.show_problem(problem.sentence)
        self._wanted, self._owner = keys, problem.owner
        self.swap_button.setVisible(bool(problem.owner))

    @Slot()
    def _fit(self) -> None:
        self.field.setMinimumWidth(max(self._keeper.px(FIELD_PX), self.field.sizeHint().width()))


class LinkRow(OptionRow):
    """Opens a window of its own, or does what its button says."""

    def __init__(
        self,
        keeper: ThemeKeeper,
        group: SettingsPage,
        action: QAction,
        description: str,
        parent: QWidget | None = None,
        button_words: str = "",
    ) -> None:
        super().__init__(keeper, group, action.text().removesuffix("…"), description, parent)
        self.button = button(button_words or self.tr("Open…"), "outlined", self, action.trigger)
        self.button.setAccessibleName(action.text())
        self._control.addWidget(self.button)
        self.reset_button.hide()


def range_words(setting: Setting) -> str:
    """Says what may be typed."""
    is_whole = setting.kind is Kind.WHOLE_NUMBER
    kind = translate("Settings", "a whole number") if is_whole else translate("Settings", "a number")
    words = translate("Settings", "Choose {kind} from {low} to {high}")
    words = words.format(kind=kind, low=_limit(setting.number.low), high=_limit(setting.number.high))
    if setting.number.is_optional:
        words += translate("Settings", ", or nothing for “{unset}”").format(unset=_unset(setting))
    return words + "."


def _limit(number: float) -> str:
    return whole(number) if number == round(number) else formatted(number, "g")


def _unset(setting: Setting) -> str:
    words = translate("Settings", setting.number.unset)
    return words[:1].upper() + words[1:]


class ChoiceBox(QComboBox):
    """A choice as wide as its longest option in any language."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, sizeAdjustPolicy=QComboBox.SizeAdjustPolicy.AdjustToContents)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the wheel scrolls the page, and never changes the value under the pointer
