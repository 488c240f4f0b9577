"""The field that prompts are written in, new ones and earlier ones that are edited."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QMimeData, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QDragEnterEvent,
    QFocusEvent,
    QImage,
    QInputMethodEvent,
    QKeyEvent,
    QResizeEvent,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from app.theme import ThemeKeeper
from app.widgets.appearance import reading_font
from app.widgets.layouts import Stretch, in_column, in_row
from app.widgets.parts import ENTER_KEYS, button, set_up, words
from app.widgets.prompt.attachment_chips import AttachmentChips
from app.widgets.prompt.pictures import Pictures
from app.widgets.words.prose import wrap_mode
from engine.values.prompts import MOST_PASTED, join_prompt, split_pictures

BUTTON_PX = 32  # the height of the button next to it, and so of one line
SHARE_OF_WINDOW = 0.4  # the largest share of its height that a field takes
_LONGEST = 100_000  # characters of a field …
_MOST_LINES = 5_000
LONGEST_PASTED = 20_000  # … and of them at once
_MOST_LINES_PASTED = 1_000
_MOST_BYTES = 4 * (MOST_PASTED + 2)  # that a text which may be pasted takes
_MARGIN_PX = 12  # of an earlier prompt
_PICTURE_KINDS = ("image/png", "image/jpeg", "image/webp")
_BREAKING = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier)


def is_too_long(text: str) -> bool:
    """True if a field with this text would freeze the window."""
    return len(text) > _LONGEST or text.count("\n") > _MOST_LINES


class PromptEditor(QPlainTextEdit):
    """Plain text whose height follows its lines."""

    submit_requested = Signal()  # this and the next two: keys that mean more than text
    stop_requested = Signal()
    pages_requested = Signal(int)
    up_pressed_while_empty = Signal()  # the Up arrow, while there is no text
    focused = Signal(bool)  # it has the keyboard now, or has lost it
    # (str) a text that is too long for the field, which stays as it is; of one that is longer than may be pasted, a
    # beginning that is longer, too (a str that Qt need not copy)
    long_pasted = Signal(object)
    files_pasted = Signal(list)  # files that were copied, by their paths
    picture_pasted = Signal(object)  # (bytes | QImage) a picture, as a file of any kind or as it is drawn

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._scrolls = False
        self._hint = ""
        self.sends_with_ctrl = False
        self._least_px = BUTTON_PX
        self._composing = False  # with an input method, whose Enter chooses a character
        self.setProperty("kind", "prompt")
        self.setAccessibleName(self.tr("Message"))
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
        """Sets whether only Ctrl+Enter sends and Enter breaks the line, instead of Enter and Shift+Enter."""
        self.sends_with_ctrl = with_ctrl
        self.setAccessibleDescription(
            self.tr("Ctrl+Enter sends, Enter starts a new line")
            if with_ctrl
            else self.tr("Enter sends, Shift+Enter starts a new line")
        )

    def set_hint(self, words: str) -> None:
        """Sets the line shown while there is no text."""
        self._hint = words
        self._show_hint()

    def set_text(self, text: str) -> None:
        """Sets the text and puts the cursor at its end."""
        self.clear()
        self._wrap(text)
        self.setPlainText(text)
        self.moveCursor(self.textCursor().MoveOperation.End)

    def set_least_height(self, height_px: int) -> None:
        self._least_px = height_px

    def fit(self, highest: int) -> None:
        """Takes the height of its lines, from one line to `highest` pixels."""
        metrics = self.fontMetrics()
        higher = max(0, metrics.size(0, self._hint).height() - metrics.size(0, "x").height())  # letters of another font
        padding = max(0, self._least_px - metrics.lineSpacing() - higher)
        wanted = padding + (higher if self.document().isEmpty() else 0)
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
        self._show_hint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_hint()
        if not self._scrolls:  # it scrolled to its cursor before it grew
            self.verticalScrollBar().setValue(0)

    def sizeHint(self) -> QSize:
        return QSize(200, self.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if event.key() in ENTER_KEYS and self._composing:
            event.accept()
        elif event.key() in ENTER_KEYS and self.is_sending(modifiers):
            self.submit_requested.emit()
        elif event.key() in ENTER_KEYS and modifiers in _BREAKING:
            self.insertPlainText("\n")
            self.ensureCursorVisible()
        elif event.key() == Qt.Key.Key_Up and not modifiers and self.document().isEmpty():
            self.up_pressed_while_empty.emit()
        elif event.key() == Qt.Key.Key_Escape:
            self.stop_requested.emit()
        elif event.key() in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown) and not self.verticalScrollBar().isVisible():
            self.pages_requested.emit(-1 if event.key() == Qt.Key.Key_PageUp else 1)
        else:
            super().keyPressEvent(event)

    def _show_hint(self) -> None:
        """Shows the hint, shortened to the width."""
        room = self.viewport().width() - 2
        self.setPlaceholderText(self.fontMetrics().elidedText(self._hint, Qt.TextElideMode.ElideRight, room))
        self.viewport().update()  # which Qt forgets

    def is_sending(self, modifiers: Qt.KeyboardModifier) -> bool:
        """True if Enter with these modifiers sends; Ctrl+Enter always does."""
        alone = modifiers == Qt.KeyboardModifier.NoModifier
        return modifiers == Qt.KeyboardModifier.ControlModifier or (alone and not self.sends_with_ctrl)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls():
            event.ignore()  # files are dropped on the window
        else:
            super().dragEnterEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasText() or _has_picture(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Sources with words and a picture, such as table cells, are pasted as words."""
        paths = [url.toLocalFile() for url in source.urls()]
        if paths and all(paths):
            self.files_pasted.emit(paths)
            return
        text = _words_in(source)
        if _has_picture(source) and (source.hasUrls() or not text.strip()):
            self.picture_pasted.emit(_picture_in(source))
            return
        room = _LONGEST - self.document().characterCount()
        if len(text) > min(room, LONGEST_PASTED) or text.count("\n") > _MOST_LINES_PASTED:
            self.long_pasted.emit(text)
        else:
            self._wrap(text)
            self.insertPlainText(text)

    def write(self, place: QTextCursor, text: str) -> None:
        """Replaces the cursor's selection."""
        self._wrap(text)
        place.insertText(text)

    def _wrap(self, text: str) -> None:
        """Chooses how lines wrap for this text, which is about to be in the field."""
        if self.document().isEmpty() or wrap_mode(text) is QTextOption.WrapMode.WrapAnywhere:
            self.setWordWrapMode(wrap_mode(text))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focused.emit(False)


def _words_in(source: QMimeData) -> str:
    """The text, or the beginning of one that is too long to paste: Qt takes long to hand over all of it."""
    raw = source.data("text/plain")
    if raw.size() > _MOST_BYTES:
        return bytes(raw.left(_MOST_BYTES).data()).decode(errors="ignore")
    return source.text() if source.hasText() else ""


def _has_picture(source: QMimeData) -> bool:
    return source.hasImage() or any(map(source.hasFormat, _PICTURE_KINDS))


def _picture_in(source: QMimeData) -> bytes | QImage:
    """The picture, encoded if the source has it so: that takes no time."""
    kind = next((kind for kind in _PICTURE_KINDS if source.hasFormat(kind)), None)
    return QImage(source.imageData()) if kind is None else bytes(source.data(kind).data())


class PromptRevision(QFrame):
    """A prompt that is edited where it is shown: Enter sends it, Esc leaves it as it was. Its pictures can be removed,
    and its files are edited as text."""

    submitted = Signal(str)  # the new prompt
    cancelled = Signal()  # nothing changes
    edited = Signal()  # its text has changed, and maybe its height

    def __init__(self, text: str, keeper: ThemeKeeper, pictures: Pictures, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "prompt")
        self.setProperty("active", "true")
        attached, typed = split_pictures(text)
        self._begun = text, attached, typed
        self.chips = AttachmentChips(keeper, pictures, self)
        self.chips.set_attachments(attached)
        self.chips.changed.connect(self._on_text_changed)
        self.chips.height_changed.connect(self.edited)
        self.editor = set_up(PromptEditor(self), name=self.tr("Edit your message"))
        self.editor.set_text(typed)
        self.editor.submit_requested.connect(self._submit)
        self.editor.stop_requested.connect(self.cancelled)
        self.editor.textChanged.connect(self._on_text_changed)
        self.notice = words("", self, kind="quiet")
        self.notice.hide()
        self.editor.long_pasted.connect(self._on_long_pasted)
        for signal in (self.editor.files_pasted, self.editor.picture_pasted):
            signal.connect(self._on_files_pasted)
        leave, send = self.tr("Cancel"), self.tr("Send")
        leaves = self.tr("Discards your changes  (Esc)")
        sends = self.tr("Sends it like this; the old version stays as another branch  (Enter)")
        self.cancel_button = button(leave, "outlined", self, self.cancelled, tip=leaves, has_hand=True)
        self.send_button = button(send, "primary", self, self._submit, tip=sends, has_hand=True)
        buttons = in_row([Stretch(), self.cancel_button, self.send_button], spacing=8)
        margins = (_MARGIN_PX + 2, _MARGIN_PX - 4, _MARGIN_PX, _MARGIN_PX - 2)
        self._column = in_column(
            [self.chips, self.editor, self.notice, buttons], inside=self, margins=margins, spacing=6
        )
        self.setFocusProxy(self.editor)

    @property
    def text(self) -> str:
        """The whole prompt, unchanged where it was not edited."""
        whole, *begun = self._begun
        attached, typed = self.chips.attachments, self.editor.toPlainText()
        return whole if [attached, typed] == begun else join_prompt(attached, typed)

    def arrange(self, width: int, highest: int) -> int:
        """Takes this width, and returns the height it needs: at most about `highest` pixels of text."""
        self.setFixedWidth(width)
        margins = self._column.contentsMargins()
        inner = width - margins.left() - margins.right()
        self.chips.set_width(inner)
        self.editor.setFixedWidth(inner)
        self.editor.fit(highest)
        height = self._column.sizeHint().height()
        self.setFixedHeight(height)
        return height

    @Slot()
    def _submit(self) -> None:
        text = self.text.strip()
        if text:
            self.submitted.emit(text)

    @Slot()
    def _on_long_pasted(self) -> None:
        self._refuse(self.tr("What you pasted is too long here. Attach it to a new message instead."))

    @Slot()
    def _on_files_pasted(self) -> None:
        self._refuse(self.tr("Files and pictures cannot be added here. Attach them to a new message instead."))

    def _refuse(self, sentence: str) -> None:
        self.notice.setText(sentence)
        self.notice.show()
        self.edited.emit()

    @Slot()
    def _on_text_changed(self) -> None:
        self.notice.hide()
        self.send_button.setEnabled(bool(self.text.strip()))
        self.edited.emit()
