"""The library of prompts in the message box: `/` at the beginning of a line opens it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QInputMethodEvent, QKeyEvent, QTextCursor
from PySide6.QtWidgets import QWidget

from app.theme import ThemeKeeper
from app.widgets.parts import ENTER_KEYS
from app.widgets.prompt.prompt_editor import LONGEST_PASTED, PromptEditor, is_too_long
from app.widgets.prompt.prompt_filling import PromptFilling, has_clipboard, pieces
from app.widgets.prompt.prompt_menu import MANAGE, PromptMenu
from engine.values.order import LibraryPrompt

_SLASH = "/"
_STEPS = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
_MOST_SOUGHT = 60  # characters after the slash


class PromptLibrary(QObject):
    """Watches the keys of one editor; what is no longer looked for or filled in, it leaves as it was typed."""

    manage_requested = Signal()  # show the library
    variable_asked = Signal(str)  # the variable of this name is to be filled in now; empty: none any more

    def __init__(self, keeper: ThemeKeeper, editor: PromptEditor, box: QWidget) -> None:
        super().__init__(editor)
        self._editor = editor
        self._box = box  # that the menu is above
        self._prompts: Sequence[LibraryPrompt] = ()
        self._slash: QTextCursor | None = None  # before the slash, while prompts are looked for
        self._shown: str | None = None  # what is looked for
        self._is_coming = False  # the slash that opens the menu
        self.menu = PromptMenu(keeper, box)
        self.menu.used.connect(self._use)
        self.filling = PromptFilling(keeper, editor)
        self.filling.asked.connect(self.variable_asked)
        self.filling.ended.connect(lambda: self.variable_asked.emit(""))
        editor.installEventFilter(self)
        editor.cursorPositionChanged.connect(self._follow)
        editor.textChanged.connect(self._follow)
        editor.focused.connect(self._on_focused)

    def set_prompts(self, prompts: Sequence[LibraryPrompt]) -> None:
        self._prompts = prompts

    # Qt's own

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and watched is self._editor:
            if event.type() == QEvent.Type.ShortcutOverride and event.key() == Qt.Key.Key_Escape and self._is_busy():
                event.accept()  # else it would stop a reply
                return True
            if event.type() == QEvent.Type.KeyPress:
                return self._is_key_taken(event)
        elif isinstance(event, QInputMethodEvent) and event.commitString() == _SLASH:
            self._await_slash()
        return super().eventFilter(watched, event)

    def _is_busy(self) -> bool:
        return self.menu.isVisible() or self.filling.is_under_way

    def _is_key_taken(self, event: QKeyEvent) -> bool:
        key = event.key()
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if event.text() == _SLASH:
            self._await_slash()
            return False
        if self.menu.isVisible():
            return self._is_taken_by_menu(key, modifiers)
        return self.filling.is_under_way and self._is_taken_by_filling(key, modifiers)

    def _is_taken_by_menu(self, key: int, modifiers: Qt.KeyboardModifier) -> bool:
        if key == Qt.Key.Key_Escape:
            self._leave()
        elif modifiers:
            return False
        elif key in _STEPS:
            self.menu.move(_STEPS[Qt.Key(key)])
        elif key in (*ENTER_KEYS, Qt.Key.Key_Tab):
            self.menu.view.use_current()
        else:
            return False
        return True

    def _is_taken_by_filling(self, key: int, modifiers: Qt.KeyboardModifier) -> bool:
        if key == Qt.Key.Key_Escape:
            self.filling.end()
        elif key == Qt.Key.Key_Tab and not modifiers:
            self.filling.go_on()
        elif key == Qt.Key.Key_Backtab:
            self.filling.go_on(backwards=True)
        elif key in ENTER_KEYS and self._editor.is_sending(modifiers):
            return self.filling.ask_for_rest()
        else:
            return False
        return True

    # The slash

    def _await_slash(self) -> None:
        cursor = self._editor.textCursor()
        cursor.setPosition(cursor.selectionStart())
        self._is_coming = cursor.atBlockStart()

    @Slot()
    def _follow(self) -> None:
        """Follows what is typed after the slash."""
        if self._is_coming:
            cursor = self._editor.textCursor()
            if not cursor.block().text().startswith(_SLASH) or cursor.positionInBlock() != 1:
                return  # it is not there yet
            self._is_coming = False
            cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock)
            cursor.setKeepPositionOnInsert(True)
            self._slash = cursor
        if self._slash is None:
            return
        before, self._shown = self._shown, self._sought()
        if self._shown is None:
            self._leave()
        elif self._shown != before:
            self.menu.show_prompts(self._prompts, self._shown, self._box)

    def _sought(self) -> str | None:
        """The words after the slash; None: it is gone, or something else is being written."""
        here = self._editor.textCursor()
        if self._slash is None or here.hasSelection() or here.block() != self._slash.block():
            return None
        found = self._typed(self._slash).selectedText()
        return found[1:] if found.startswith(_SLASH) and len(found) <= _MOST_SOUGHT else None

    def _typed(self, slash: QTextCursor) -> QTextCursor:
        """The text from the slash to the cursor."""
        typed = QTextCursor(self._editor.document())
        typed.setPosition(slash.position())
        typed.setPosition(self._editor.textCursor().position(), QTextCursor.MoveMode.KeepAnchor)
        return typed

    def _leave(self) -> None:
        self._slash = self._shown = None
        self._is_coming = False
        self.menu.hide()

    @Slot(bool)
    def _on_focused(self, focused: bool) -> None:
        if not focused:
            self._leave()

    @Slot(object)
    def _use(self, key: object) -> None:
        """Replaces the slash and what follows by the prompt."""
        if self._slash is None:
            return
        typed = self._typed(self._slash)
        self._leave()
        if key == MANAGE:
            typed.removeSelectedText()
            self.manage_requested.emit()
            return
        prompt = next((each for each in self._prompts if each.id == key), None)
        if prompt is not None:
            self.put_in(typed, prompt)

    def put_in(self, place: QTextCursor, prompt: LibraryPrompt) -> None:
        """Inserts a prompt, or attaches it if it is too long for the box."""
        if is_too_long(prompt.text) or len(prompt.text) > LONGEST_PASTED:
            place.removeSelectedText()
            self._editor.long_pasted.emit(prompt.text)
            return
        copied = QGuiApplication.clipboard().text() if has_clipboard(prompt.text) else ""
        fits = len(copied) <= LONGEST_PASTED and not is_too_long(copied)
        self.filling.put_in(place, pieces(prompt.text, copied if fits else ""))
