"""The keys of all actions: the present ones, the usual ones, and which ones the user may choose.

The actions of the window are the only list of shortcuts. An action is identified by its object name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from PySide6.QtCore import QKeyCombination, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from app.text.translation import translate

_USUAL = "usual_keys"  # property of an action
_PORTABLE = QKeySequence.SequenceFormat.PortableText
_NATIVE = QKeySequence.SequenceFormat.NativeText
_TYPING = (
    Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.GroupSwitchModifier
)
_MOVING = frozenset(
    {
        Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_End,
        Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab,
        Qt.Key.Key_Backtab, Qt.Key.Key_Backspace, Qt.Key.Key_Delete, Qt.Key.Key_Insert, Qt.Key.Key_Space,
    }
)  # fmt: skip
_EDITING = (
    QKeySequence.StandardKey.Copy,
    QKeySequence.StandardKey.Cut,
    QKeySequence.StandardKey.Paste,
    QKeySequence.StandardKey.SelectAll,
    QKeySequence.StandardKey.Undo,
    QKeySequence.StandardKey.Redo,
)


@dataclass(frozen=True, slots=True)
class Shortcut:
    """Keys as Qt writes them in files: alternatives are separated by `; `, and no keys are an empty text."""

    name: str
    words: str
    keys: str
    usual_keys: str


@dataclass(frozen=True, slots=True)
class KeyProblem:
    """Why an action cannot have some keys."""

    sentence: str
    owner: str = ""  # the action that has them


def native(keys: str) -> str:
    return ", ".join(sequence.toString(_NATIVE) for sequence in _sequences(keys))


def written(sequences: Iterable[QKeySequence]) -> str:
    """Keys as Qt writes them in files."""
    return "; ".join(sequence.toString(_PORTABLE) for sequence in sequences if not sequence.isEmpty())


class Shortcuts:
    """The actions of one window, which may grow in number."""

    def __init__(self, window: QWidget) -> None:
        self._window = window

    def shown(self) -> tuple[Shortcut, ...]:
        return tuple(
            Shortcut(name, _words(action), written(action.shortcuts()), self._usual(action))
            for name, action in self._actions().items()
        )

    def use(self, chosen: Mapping[str, str]) -> str:
        """Gives actions their chosen keys, and others their defaults unless these are taken. Returns a sentence on what
        could not be used, or nothing."""
        actions = self._actions()
        taken: set[str] = set()
        assigned: dict[str, list[QKeySequence]] = {}
        wrong = []
        for name, keys in chosen.items():
            sequences = _sequences(keys)
            texts = {sequence.toString(_PORTABLE) for sequence in sequences}
            if name not in actions:
                continue  # an action of another version
            if not _is_sound(keys) or texts & taken:
                wrong.append(_words(actions[name]))
            else:
                assigned[name] = sequences
                taken |= texts
        for name, action in actions.items():
            if name not in assigned:
                usual = _sequences(self._usual(action))
                assigned[name] = [sequence for sequence in usual if sequence.toString(_PORTABLE) not in taken]
        for name, sequences in assigned.items():
            if actions[name].shortcuts() != sequences:
                actions[name].setShortcuts(sequences)
        sentence = translate(
            "Shortcuts", "The keys of these actions were invalid and are back to their defaults: {names}."
        )
        return sentence.format(names=", ".join(wrong)) if wrong else ""

    def problem(self, name: str, keys: str) -> KeyProblem | None:
        """Why the action may not have these keys; None if it may."""
        sequences = _sequences(keys)
        if any(_is_needed(sequence) for sequence in sequences):
            sentence = translate(
                "Shortcuts", "{keys} is needed for typing; choose other keys, such as Ctrl and a letter."
            )
            return KeyProblem(sentence.format(keys=native(keys)))
        for other, action in self._actions().items():
            if other != name and any(sequence in action.shortcuts() for sequence in sequences):
                sentence = translate("Shortcuts", "{keys} is already used for “{action}”.")
                return KeyProblem(sentence.format(keys=native(keys), action=_words(action)), other)
        return None

    def chosen(self, changes: Mapping[str, str] | None = None) -> dict[str, str]:
        """All keys that differ from the defaults after these changes, by action."""
        shown = ((each.name, (changes or {}).get(each.name, each.keys), each.usual_keys) for each in self.shown())
        return {name: keys for name, keys, usual in shown if keys != usual}

    def swapped(self, name: str, keys: str, owner: str) -> dict[str, str]:
        """The chosen keys after swapping: the action gets these, and `owner` those of the action."""
        return self.chosen({name: keys, owner: written(self._actions()[name].shortcuts())})

    def _actions(self) -> dict[str, QAction]:
        """The actions by name; their default keys are noted when they are first seen."""
        actions = {action.objectName(): action for action in self._window.actions() if action.objectName()}
        for action in actions.values():
            if action.property(_USUAL) is None:
                action.setProperty(_USUAL, written(action.shortcuts()))
        return actions

    def _usual(self, action: QAction) -> str:
        return str(action.property(_USUAL))


def fixed_keys(sends_with_ctrl: bool) -> tuple[tuple[str, str], ...]:
    """Keys that belong to a widget and cannot be changed, and their effects."""
    send, break_line = ("Ctrl+Enter", "Enter; Shift+Enter") if sends_with_ctrl else ("Enter", "Shift+Enter")
    return (
        (send, translate("Shortcuts", "Send the message")),
        (break_line, translate("Shortcuts", "New line")),
        ("Up", translate("Shortcuts", "In the empty message box: edit the last message")),
        ("/", translate("Shortcuts", "At the beginning of a line: your prompts")),
        ("F2; Del", translate("Shortcuts", "In the list: rename or delete the chat")),
        ("Shift+Del", translate("Shortcuts", "In the list: delete the chat permanently")),
        ("Left; Right", translate("Shortcuts", "In the list: close or open a folder")),
        ("Ctrl+Enter", translate("Shortcuts", "On a folder: start a chat in it")),
        ("Shift+Up; Shift+Down; Ctrl+A", translate("Shortcuts", "In the list: select several chats, or all")),
        ("Del", translate("Shortcuts", "On a button of a message: delete the message")),
        ("PgUp; PgDown", translate("Shortcuts", "Scroll the chat")),
    )


def _sequences(keys: str) -> list[QKeySequence]:
    return [sequence for sequence in QKeySequence.listFromString(keys, _PORTABLE) if not sequence.isEmpty()]


def _is_sound(keys: str) -> bool:
    """True if Qt knows every key of the text, and all of them may be chosen."""
    sequences = _sequences(keys)
    parts = [part for part in keys.split("; ") if part]
    known = all(_first(sequence).key() != Qt.Key.Key_unknown for sequence in sequences)
    return known and len(parts) == len(sequences) and not any(map(_is_needed, sequences))


def _is_needed(sequence: QKeySequence) -> bool:
    """True if typing needs these keys: they write, move in a text or change it."""
    if any(sequence in QKeySequence.keyBindings(key) for key in _EDITING):
        return True
    key, modifiers = _first(sequence).key(), _first(sequence).keyboardModifiers()
    plain = not modifiers & ~_TYPING
    if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and modifiers & Qt.KeyboardModifier.ControlModifier:
        return True
    writes = key.value < Qt.Key.Key_Escape.value  # signs of all alphabets come before the keys that have none
    return plain and (writes or key in _MOVING)


def _first(sequence: QKeySequence) -> QKeyCombination:
    combination: QKeyCombination = cast(Any, sequence)[0]  # which Qt's types do not know of
    return combination


def _words(action: QAction) -> str:
    return action.text().replace("&", "").removesuffix("…")
