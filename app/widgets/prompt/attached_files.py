"""The attachments of a prompt, in the transcript: whole files, and passages of them."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QFrame, QLabel, QPlainTextEdit, QWidget

from app.text.amounts import size_words
from app.text.numbers import whole
from app.text.translation import translate
from app.text.unseen import in_tip, mark_of, one_line
from app.theme import Theme, ThemeKeeper
from app.widgets.appearance import code_font
from app.widgets.parts import Button, set_up
from app.widgets.prompt.attachment_chip import words_of_pages
from app.widgets.words.joined_text import JoinedText
from app.widgets.words.prose import HELD, shape_of_mark, with_places
from engine.values.passages import by_document, is_prose
from engine.values.prompts import Attachment

_GAP_PX = 6
_LINES = 14  # of an opened file, at most
_WIDEST_NAME_PX = 230
_SHOWN_CHARACTERS = 10_000


class AttachedFiles(QWidget):
    """A button for each file, which shows its text below, or hides it again. Passages of a document are one file; below
    a `heading`, which says what they are, each stands alone."""

    height_changed = Signal()  # a file was opened or closed

    def __init__(
        self,
        keeper: ThemeKeeper,
        attachments: tuple[Attachment, ...],
        parent: QWidget | None = None,
        heading: str = "",
    ) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._heading = set_up(QLabel(heading, self), kind="quiet")
        self._heading.setVisible(bool(heading))
        files = tuple((each, 0) for each in attachments) if heading else by_document(attachments)
        self._attachments = tuple(attachment for attachment, _ in files)
        self._opened: Attachment | None = None
        self.buttons = [self._button(file, "" if heading else _words_of(file, parts)) for file, parts in files]
        self.text = set_up(_Text(self), kind="attached")
        self.text.hide()
        keeper.changed.connect(self._draw)
        self._draw()

    def ideal_width(self, widest: int) -> int:
        if self._opened is not None:
            return widest
        return min(widest, sum(button.sizeHint().width() + _GAP_PX for button in self.buttons) - _GAP_PX)

    def arrange(self, width: int) -> int:
        """Takes this width, and returns the height it needs."""
        x = y = bottom = 0
        if not self._heading.isHidden():
            self._heading.setGeometry(0, 0, width, self._heading.sizeHint().height())
            y = bottom = self._heading.height() + _GAP_PX // 2
        for button in self.buttons:
            size = button.sizeHint()
            wide = min(width, size.width())
            if x and x + wide > width:
                x, y = 0, y + size.height() + _GAP_PX
            button.setGeometry(x, y, wide, size.height())
            x += wide + _GAP_PX
            bottom = y + size.height()
        if self._opened is not None:
            self.text.setGeometry(0, bottom + _GAP_PX, width, self.text.height())
            lines = min(_LINES, ceil(self.text.document().size().height()))
            has_bar = self.text.lineWrapMode() is _Text.LineWrapMode.NoWrap  # below
            height = lines * self.text.fontMetrics().lineSpacing() + (34 if has_bar else 28)
            self.text.setGeometry(0, bottom + _GAP_PX, width, height)
            bottom += _GAP_PX + height
        self.resize(width, bottom)
        return bottom

    def _button(self, attachment: Attachment, about: str) -> Button:
        tip = self.tr("Show or hide the text of {file}").format(file=in_tip(attachment.name))
        made = set_up(Button(self), kind="file", name=", ".join(filter(None, [attachment.name, about])), tip=tip)
        name = made.fontMetrics().elidedText(one_line(attachment.name), Qt.TextElideMode.ElideMiddle, _WIDEST_NAME_PX)
        made.setText(" · ".join(filter(None, [name, about])).replace("&", "&&"))
        made.setCheckable(True)
        made.clicked.connect(self._on_clicked)
        return made

    @Slot()
    def _on_clicked(self) -> None:
        clicked = self.sender()
        self._opened = None
        for button, attachment in zip(self.buttons, self._attachments, strict=True):
            button.setChecked(button is clicked and button.isChecked())
            if button.isChecked():
                self._opened = attachment
        self._write()
        self.text.setVisible(self._opened is not None)
        self.height_changed.emit()

    def _write(self) -> None:
        if self._opened is not None:
            text = self._opened.text
            beginning = text[:_SHOWN_CHARACTERS]
            if len(text) > _SHOWN_CHARACTERS:
                words = self.tr("The first {shown} of {all} characters are shown.")
                beginning += "\n\n" + words.format(shown=whole(_SHOWN_CHARACTERS), all=whole(len(text)))
            self.text.set_wrapping(is_prose(self._opened))
            self.text.write(beginning, self._keeper.theme)
            self.text.setAccessibleName(self.tr("Text of {file}").format(file=self._opened.name))

    @Slot()
    def _draw(self) -> None:
        for button in self.buttons:
            button.setIcon(self._keeper.icon("attach"))
        self._write()


def _words_of(file: Attachment, num_passages: int) -> str:
    """A button's words after the name."""
    if num_passages:
        return translate("Amounts", "%n passage(s)", "", num_passages)
    return " · ".join([*words_of_pages(file.text), size_words(file.num_bytes)])


class _Text(JoinedText, QPlainTextEdit):
    is_code = True

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, readOnly=True, undoRedoEnabled=False, tabChangesFocus=True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFont(code_font())
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)

    def set_wrapping(self, wraps: bool) -> None:
        """Sets whether lines wrap, which those of code and tables do not."""
        self.setLineWrapMode(self.LineWrapMode.WidgetWidth if wraps else self.LineWrapMode.NoWrap)

    def write(self, text: str, theme: Theme) -> None:
        """Shows this text, with marks for invisible signs."""
        held, unseen = with_places(text)
        first, *parts = held.split(HELD)
        self.setPlainText(first)
        place = QTextCursor(self.document())
        place.movePosition(place.MoveOperation.End)
        plain = QTextCharFormat()
        place.beginEditBlock()  # laid out once, at the end
        shapes = {signs: shape_of_mark(signs, plain, theme) for signs in set(unseen)}
        for signs, part in zip(unseen, parts, strict=True):
            place.insertText(mark_of(signs), shapes[signs])
            place.insertText(part, plain)
        place.endEditBlock()
