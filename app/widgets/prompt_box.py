"""Where the user writes."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QMimeData, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFocusEvent, QInputMethodEvent, QKeyEvent, QResizeEvent, QTextOption
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QSizePolicy, QVBoxLayout, QWidget

from app.theme import ThemeKeeper
from app.widgets.fonts import reading_font
from app.widgets.icon_button import IconButton

SHARE_OF_WINDOW = 0.4  # of its height, at most
BUTTON_PX = 32
_ENTER_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class PromptBox(QWidget):
    """A rounded box that grows with its text.

    Enter sends, Shift+Enter breaks the line. One can always write; sending takes a target that is ready and no reply
    under way, and until then the text stays where it is.

    Signals:
        submitted(str): a prompt to be answered; the box is empty again.
        stop_requested(): the reply under way is to end.
        pages_requested(int): the conversation is to be scrolled by so many pages.
    """

    submitted = Signal(str)
    stop_requested = Signal()
    pages_requested = Signal(int)

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._ready = False
        self._busy = False
        self._keeper = keeper
        self._reason = "The model is still loading"
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.frame = QFrame(self)
        self.frame.setProperty("kind", "prompt")
        self.editor = _Editor(self.frame)
        self.editor.submit_requested.connect(self.submit)
        self.editor.stop_requested.connect(self._on_escape)
        self.editor.pages_requested.connect(self.pages_requested)
        self.editor.focused.connect(self._show_focus)
        self.editor.textChanged.connect(self._on_text_changed)
        self.editor.document().documentLayout().documentSizeChanged.connect(self._fit)
        self.button = IconButton(keeper, "send", "Send  (Enter)", token="on_accent", kind="send", parent=self.frame)
        self.button.clicked.connect(self._on_button)
        self.hint = QLabel(self)
        self.hint.setProperty("kind", "quiet")
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.hint.hide()
        row = QHBoxLayout(self.frame)
        row.setContentsMargins(14, 7, 8, 7)
        row.setSpacing(8)
        row.addWidget(self.editor, 1)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignBottom)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(5)
        column.addWidget(self.hint)
        column.addWidget(self.frame)
        self.setFocusProxy(self.editor)
        self.set_target_name("")
        self._update_button()
        keeper.changed.connect(self._draw_again)
        self._draw_again()

    @property
    def text(self) -> str:
        return self.editor.toPlainText()

    def set_text(self, text: str) -> None:
        self.editor.setPlainText(text)
        self.editor.moveCursor(self.editor.textCursor().MoveOperation.End)

    def set_target_name(self, name: str) -> None:
        self.editor.setPlaceholderText(f"Message {name}…" if name else "Write a message…")
        self.editor.viewport().update()  # Qt does not by itself

    @property
    def sends_with_ctrl(self) -> bool:
        return self.editor.sends_with_ctrl

    def set_sends_with_ctrl(self, with_ctrl: bool) -> None:
        """Whether Ctrl+Enter sends and Enter breaks the line, instead of Enter and Shift+Enter."""
        self.editor.set_sends_with_ctrl(with_ctrl)
        self._update_button()

    def set_ready(self, ready: bool, reason: str = "The model is still loading") -> None:
        """Whether there is a target to send to; `reason` is shown when the user tries although there is none."""
        self._ready = ready
        self._reason = reason
        if ready:
            self.hint.hide()
        self._update_button()

    def set_busy(self, busy: bool) -> None:
        """While a reply is under way, the Send button is a Stop button."""
        self._busy = busy
        if not busy:
            self.hint.hide()
        self._update_button()

    @Slot()
    def submit(self) -> None:
        text = self.editor.toPlainText().strip()
        if not text:
            return
        if self._busy:
            self._show_hint("Wait for the reply to end, or stop it with Esc")
        elif not self._ready:
            self._show_hint(self._reason)
        else:
            self.editor.clear()
            self.submitted.emit(text)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _show_hint(self, words: str) -> None:
        self.hint.setText(words)
        self.hint.show()

    @Slot()
    def _on_button(self) -> None:
        if self._busy:
            self.stop_requested.emit()
        else:
            self.submit()
        self.editor.setFocus()

    @Slot()
    def _on_escape(self) -> None:
        if self._busy:
            self.stop_requested.emit()

    @Slot()
    def _on_text_changed(self) -> None:
        self._fit()
        self.hint.hide()
        self._update_button()

    def _update_button(self) -> None:
        possible = self._busy or (self._ready and not self.editor.document().isEmpty())
        self.button.setEnabled(possible)
        self.button.set_icon("stop" if self._busy else "send")
        keys = "Ctrl+Enter" if self.sends_with_ctrl else "Enter"
        self.button.set_name("Stop  (Esc)" if self._busy else f"Send  ({keys})")

    @Slot(bool)
    def _show_focus(self, focused: bool) -> None:
        self.frame.setProperty("active", "true" if focused else "false")
        self.frame.style().unpolish(self.frame)
        self.frame.style().polish(self.frame)

    @Slot()
    def _draw_again(self) -> None:
        button_px = self._keeper.px(BUTTON_PX)
        self.button.setFixedSize(button_px, button_px)
        self.editor.setFont(reading_font())
        self.editor.viewport().setFont(reading_font())  # the placeholder's, which does not follow under a style sheet
        self.editor.set_least_height(button_px)
        self._fit()

    @Slot()
    def _fit(self) -> None:
        self.editor.fit(int(self.window().height() * SHARE_OF_WINDOW))


class _Editor(QPlainTextEdit):
    """Plain text whose height follows its lines.

    Signals:
        submit_requested(), stop_requested(), pages_requested(int): keys that mean more than text.
        focused(bool): the keyboard came or went.
    """

    submit_requested = Signal()
    stop_requested = Signal()
    pages_requested = Signal(int)
    focused = Signal(bool)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._scrolls = False
        self.sends_with_ctrl = False
        self._least_px = BUTTON_PX  # one line is as high as the button beside it
        self._composing = False  # with an input method, whose Enter chooses a sign
        self.setProperty("kind", "prompt")
        self.setAccessibleName("Message")
        self.set_sends_with_ctrl(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFont(reading_font())
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(0)
        self.viewport().setAutoFillBackground(False)

    def set_sends_with_ctrl(self, with_ctrl: bool) -> None:
        self.sends_with_ctrl = with_ctrl
        self.setAccessibleDescription(
            "Control and Enter send, Enter breaks the line"
            if with_ctrl
            else "Enter sends, Shift and Enter break the line"
        )

    def set_least_height(self, height_px: int) -> None:
        self._least_px = height_px

    def fit(self, highest: int) -> None:
        """Takes the height of its lines, from one line to `highest` pixels."""
        padding = max(0, self._least_px - self.fontMetrics().lineSpacing())
        wanted = padding
        block = self.document().begin()
        while block.isValid() and wanted <= highest:
            wanted += ceil(self.blockBoundingRect(block).height())
            block = block.next()
        below = padding - padding // 2 - 1  # one pixel more for the text, else its last line counts as cut off
        self.setViewportMargins(0, padding // 2, 0, max(0, below))
        self._scrolls = wanted > highest
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if self._scrolls else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)
        self.setFixedHeight(max(self._least_px, min(wanted, highest)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if not self._scrolls:  # it had scrolled to its cursor before it grew
            self.verticalScrollBar().setValue(0)

    def sizeHint(self) -> QSize:
        return QSize(200, self.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if event.key() in _ENTER_KEYS and self._composing:
            event.accept()
        elif event.key() in _ENTER_KEYS and modifiers == self._sending_modifier():
            self.submit_requested.emit()
        elif event.key() in _ENTER_KEYS and modifiers in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.ShiftModifier,
        ):
            self.insertPlainText("\n")
            self.ensureCursorVisible()
        elif event.key() == Qt.Key.Key_Escape:
            self.stop_requested.emit()
        elif event.key() in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown) and not self.verticalScrollBar().isVisible():
            self.pages_requested.emit(-1 if event.key() == Qt.Key.Key_PageUp else 1)
        else:
            super().keyPressEvent(event)

    def _sending_modifier(self) -> Qt.KeyboardModifier:
        return Qt.KeyboardModifier.ControlModifier if self.sends_with_ctrl else Qt.KeyboardModifier.NoModifier

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasText() and not source.hasUrls()  # files that are dropped are the window's

    def insertFromMimeData(self, source: QMimeData) -> None:
        if source.hasText():
            self.insertPlainText(source.text())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focused.emit(False)
