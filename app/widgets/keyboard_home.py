"""Where the keyboard is: in the message box, unless the user put it elsewhere."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QApplication,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

_TEXT = (QLineEdit, QTextEdit, QPlainTextEdit)
_PRESSES = (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick)
_COMMANDS = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
_ALT_GR = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier  # as Windows reports it


class KeyboardHome(QObject):
    """Brings the keyboard back to the message box, its home, after whatever is done in the window.

    It comes home when the mouse was used, and when the widget that had it goes away or a dialog closes. It stays in a
    field that takes text, in text or in several rows that are selected, and where Tab, an arrow key or an assistive
    program brought it: Space and Enter press what was reached. Whatever is typed or pasted anywhere else comes home,
    too.
    """

    def __init__(self, window: QWidget, home: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._home = home
        self._by_mouse = False  # the user acted last
        self._pressed_in: QWidget | None = None  # had the keyboard when a mouse button went down
        self._return = QTimer(self, singleShot=True, interval=0)  # when all that an action does is done
        self._return.timeout.connect(self._bring_home)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._on_focus_changed)

    def watch(self) -> None:
        """Starts watching once the window is shown: the window handle gets keys and clicks before all widgets."""
        self._window.windowHandle().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            self._by_mouse = False
            focused = QApplication.focusWidget()
            if focused is not None and self._is_meant_for_home(event, focused):
                self._home.setFocus()  # and Qt gives it this key
        elif isinstance(event, QMouseEvent) and event.type() in _PRESSES:
            self._by_mouse = True
            self._pressed_in = QApplication.focusWidget()
        elif isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseButtonRelease:
            pressed = self._window.childAt(event.position().toPoint())
            focused = QApplication.focusWidget()
            is_kept = focused is self._pressed_in
            if focused and is_kept and isinstance(pressed, QAbstractButton) and not focused.isAncestorOf(pressed):
                self._home.setFocus()  # also from a field that was being written in
            self._return.start()
        return super().eventFilter(watched, event)

    def _is_meant_for_home(self, event: QKeyEvent, focused: QWidget) -> bool:
        if QApplication.activePopupWidget() is not None or _takes_text(focused):
            return False
        if event.key() == Qt.Key.Key_Space and not event.modifiers() & _COMMANDS:
            return isinstance(focused, QAbstractScrollArea) and not isinstance(focused, QAbstractItemView)
        is_typed = event.text().isprintable() and bool(event.text())
        is_command = event.modifiers() & _COMMANDS not in (Qt.KeyboardModifier.NoModifier, _ALT_GR)
        return (is_typed and not is_command) or event.matches(QKeySequence.StandardKey.Paste)

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        if new is not None and new.window() is not self._window:
            return
        has_fallen = old is None or new is None or not old.isVisible() or not old.isEnabled()
        if has_fallen or self._by_mouse:
            self._return.start()
        else:
            self._return.stop()  # the keyboard was led on from where it had fallen

    @Slot()
    def _bring_home(self) -> None:
        is_elsewhere = not self._window.isActiveWindow() or QApplication.activePopupWidget() is not None
        if is_elsewhere or QApplication.mouseButtons() != Qt.MouseButton.NoButton:
            return  # a button that loses the focus while it is down is not pressed
        focused = QApplication.focusWidget()
        if focused is None or not (_takes_text(focused) or _has_selection(focused)):
            self._home.setFocus()


def _takes_text(widget: QWidget) -> bool:
    return isinstance(widget, _TEXT) and not widget.isReadOnly()


def _has_selection(widget: QWidget) -> bool:
    if isinstance(widget, QAbstractItemView):  # several things, to be dealt with together
        return len(widget.selectedIndexes()) > 1
    if isinstance(widget, QTextEdit | QPlainTextEdit):
        return widget.textCursor().hasSelection()
    return isinstance(widget, QLabel) and widget.hasSelectedText()
