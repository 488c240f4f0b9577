"""Short messages of the app, above the prompt box."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QWidget

from app.text.unseen import sentence
from app.theme import ThemeKeeper
from app.widgets.icon_button import CopyButton, IconButton
from app.widgets.layouts import Placed, in_column, in_row
from app.widgets.parts import Sign, announce, button

MOST_TOASTS = 2
INFO_MS = 7_000
_LONG_WORD = re.compile(r"\S{30,}")
_SIGN = re.compile(r"[/\\_.,:;?&=-]")  # a long word is broken after these rather than anywhere in it
_LONG_PART = re.compile(rf"[^{_SIGN.pattern[1:-1]}]{{30,}}")
_BREAK = "\u200b"  # of no width; a line may end there


class ToastKind(StrEnum):
    INFO = "info"
    ERROR = "error"


class Toast(QFrame):
    """One message."""

    acted = Signal()  # its action button was pressed; it closes
    closed = Signal()  # it is hidden, for whatever reason

    def __init__(
        self, keeper: ThemeKeeper, text: str, kind: ToastKind, action: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.kind = kind
        self.setProperty("kind", "toast")
        self.setProperty("level", kind.value)
        icon, token = ("error", "error") if kind == ToastKind.ERROR else ("info", "accent")
        sign = Sign(keeper, icon, token, self, icon_px=16, width_px=20)
        self.words = _Words(text, self)
        row = in_row([sign, Placed(self.words, 1)], inside=self, margins=(12, 6, 6, 6), spacing=6)
        self.action_button: QPushButton | None = None
        if action:
            self.action_button = button(action, "link", self, self._on_action, has_hand=True)
            row.addWidget(self.action_button)
        if kind == ToastKind.ERROR:  # users may send it to get help
            self.copy_button = CopyButton(keeper, self.tr("Copy this message"), self)
            self.copy_button.pressed_for_text.connect(self._copy)
            row.addWidget(self.copy_button)
        self.close_button = IconButton(keeper, "close", self.tr("Dismiss"), self.dismiss, icon_px=15, parent=self)
        row.addWidget(self.close_button)
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self.dismiss)

    @property
    def awaits_user(self) -> bool:
        """True if it may still need an action from the user."""
        return self.kind == ToastKind.ERROR or self.action_button is not None

    def close_after(self, time_ms: int) -> None:
        self._timer.start(time_ms)

    @Slot()
    def dismiss(self) -> None:
        self._timer.stop()
        self.hide()
        self.closed.emit()

    @Slot()
    def _on_action(self) -> None:
        self.acted.emit()
        self.dismiss()

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.words.text())


class Toasts(QWidget):
    """Shows at most two messages, or three while two are errors, latest at the bottom. Errors stay until they are
    closed or two newer ones come, other messages for some seconds."""

    error_shown = Signal(str)  # its text

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._toasts: list[Toast] = []
        self._column = in_column([], inside=self, spacing=6)
        self.hide()

    @property
    def shown(self) -> tuple[Toast, ...]:
        return tuple(self._toasts)

    def show_info(
        self, text: str, action: str = "", on_action: Callable[[], None] | None = None, time_ms: int = INFO_MS
    ) -> Toast:
        toast = self._show(text, ToastKind.INFO, action, on_action)
        toast.close_after(time_ms)
        return toast

    def show_error(self, text: str, action: str = "", on_action: Callable[[], None] | None = None) -> Toast:
        for toast in self._toasts:
            if toast.kind == ToastKind.ERROR and toast.words.text() == text:
                toast.dismiss()
                break
        shown = self._show(text, ToastKind.ERROR, action, on_action)
        self.error_shown.emit(text)
        return shown

    def dismiss(self, toast: Toast) -> None:
        """Dismisses the toast, unless it has gone already."""
        if toast in self._toasts:
            toast.dismiss()

    def clear_errors(self) -> None:
        """Dismisses errors, as something works again."""
        for toast in self.shown:
            if toast.kind == ToastKind.ERROR:
                toast.dismiss()

    def clear(self) -> None:
        for toast in self.shown:
            toast.dismiss()

    def _show(self, text: str, kind: ToastKind, action: str, on_action: Callable[[], None] | None) -> Toast:
        while len(self._toasts) >= MOST_TOASTS:
            oldest = self._replaceable(kind)
            if oldest is None:
                break
            oldest.dismiss()
        toast = Toast(self._keeper, text, kind, action, self)
        if on_action is not None:
            toast.acted.connect(on_action)
        toast.closed.connect(self._on_closed)
        self._toasts.append(toast)
        self._column.addWidget(toast)
        self.show()
        toast.show()
        announce(toast, text)
        return toast

    def _replaceable(self, kind: ToastKind) -> Toast | None:
        """The oldest info; only an error replaces an error."""
        infos = [toast for toast in self._toasts if toast.kind == ToastKind.INFO]
        return infos[0] if infos else self._toasts[0] if kind == ToastKind.ERROR else None

    @Slot()
    def _on_closed(self) -> None:
        for toast in self.shown:
            if toast.isHidden():
                self._toasts.remove(toast)
                self._column.removeWidget(toast)
                toast.deleteLater()
        self.setVisible(bool(self._toasts))


class _Words(QLabel):
    """Sentences whose long words may be broken: a path can be wider than the window."""

    def __init__(self, text: str, parent: QWidget) -> None:
        breakable = _breakable(text)
        super().__init__(breakable, parent, textFormat=Qt.TextFormat.PlainText, wordWrap=True)
        self._text = text
        self.setAccessibleName(text)
        if breakable == text:  # else a copy would contain the breaks; that of the button does not
            self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def setText(self, text: str) -> None:
        self._text = text
        super().setText(_breakable(text))

    def text(self) -> str:
        return self._text


def _breakable(text: str) -> str:
    """Long words with places where a line may break."""

    def broken(word: re.Match[str]) -> str:
        parts = _LONG_PART.sub(lambda part: _BREAK.join(part[0]), word[0])
        return _SIGN.sub(rf"\g<0>{_BREAK}", parts)

    return _LONG_WORD.sub(broken, sentence(text))
