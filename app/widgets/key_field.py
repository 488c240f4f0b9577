from __future__ import annotations

from PySide6.QtCore import QEvent, QKeyCombination, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QWidget

from app.settings.shortcuts import native
from app.widgets.parts import Button

_MODIFIERS = frozenset(
    {
        Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_AltGr, Qt.Key.Key_Meta, Qt.Key.Key_Super_L,
        Qt.Key.Key_Super_R, Qt.Key.Key_CapsLock, Qt.Key.Key_NumLock, Qt.Key.Key_unknown,
    }
)  # fmt: skip


class KeyField(Button):
    """Shows the keys of an action; after a click it takes the next keys that are pressed. Esc leaves it as it was,
    Backspace removes the keys, and Tab goes on.

    Signals:
        chosen(str): other keys, as Qt writes them in files; empty for none.
    """

    chosen = Signal(str)

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
